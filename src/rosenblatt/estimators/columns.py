"""The table of a model of `rosenblatt train` as scikit-learn transformers and as ONNX inputs."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

WORD = r"[0-9A-Za-z_\u00c0-\u1fff\u3040-\U0010ffff]+"
"""A word, as `rosenblatt.engine.text.tokens` finds it."""


class Columns(NamedTuple):
    """What an encoder makes of the columns of a table.

    Attributes
    ----------
    numbers : list of str
        The columns of numbers; the first features are theirs, in this order.
    means, deviations : array or None
        Their scaling, if there is one; a deviation of 0 gives the value 0.
    categories, words : dict of str to dict
        The features of the other columns: each value or word, and the number of its feature.
    log : bool
        Whether the values of words are logarithms, scaled to length 1.
    """

    numbers: list[str]
    means: NDArray[np.float64] | None
    deviations: NDArray[np.float64] | None
    categories: dict[str, dict[str, int]]
    words: dict[str, dict[str, int]]
    log: bool

    @classmethod
    def of(cls, encoder: Any, method: str) -> "Columns":
        """The columns of an encoder; an error if `method` has no form for one of them."""
        for present, what in (
            (encoder.bits is not None, "hashed features (--bits)"),
            (bool(encoder.interactions), "products of columns (--interactions)"),
            (
                bool(encoder.forms),
                f"columns in a form of their own, such as dates or amounts ({', '.join(encoder.forms)})",
            ),
        ):
            if present:
                raise _refused(method, what)
        kinds, names = encoder.columns, encoder.names()
        found: dict[str, dict[str, dict[str, int]]] = {
            kind: {name: {} for name, its in kinds.items() if its == kind} for kind in ("category", "words")
        }
        prefixes = {
            name: f"{name}{'=' if kind == 'category' else ':'}" for name, kind in kinds.items() if kind != "number"
        }
        if list(kinds.values()) == ["words"]:
            prefixes = dict.fromkeys(prefixes, "")
        for number in range(len(encoder.number_columns), len(names)):
            owners = [name for name, prefix in prefixes.items() if names[number].startswith(prefix)]
            if len(owners) != 1:
                raise _refused(method, f"names of columns that begin alike ({', '.join(owners)})")
            found[kinds[owners[0]]][owners[0]][names[number].removeprefix(prefixes[owners[0]])] = number
        moments, means, deviations = encoder.moments, None, None
        if moments is not None:
            means, deviations = moments.mean.copy(), np.sqrt(moments.spread / np.maximum(1.0, moments.count))
        return cls(
            list(encoder.number_columns),
            means,
            deviations,
            found["category"],
            found["words"],
            encoder.word_weights == "log",
        )


def _refused(method: str, what: str) -> ValueError:
    return ValueError(
        f"`{method}` cannot express {what}. Use {method}(encoder=False), whose input has the encoded features in the order of "
        "`encoder_.names()`."
    )


# ---- scikit-learn ----


def as_transformer(columns: Columns) -> tuple[Any, NDArray[np.int64]]:
    """A fitted ColumnTransformer, and the number of the feature in each column of its result."""
    import pandas as pd
    from sklearn.compose import ColumnTransformer
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import Normalizer, OneHotEncoder, StandardScaler

    parts: list[Any] = []
    order = list(range(len(columns.numbers)))
    categories = {name: values for name, values in columns.categories.items() if values}
    words = {name: values for name, values in columns.words.items() if values}
    scaler = StandardScaler()
    if columns.numbers:
        steps: list[Any] = [("scale", scaler)] if columns.means is not None else []
        steps.append(("fill", SimpleImputer(strategy="constant", fill_value=0.0, keep_empty_features=True)))
        parts.append(("numbers", Pipeline(steps), columns.numbers))
    if categories:
        values = [np.array(list(its), dtype=object) for its in categories.values()]
        parts.append(("categories", OneHotEncoder(categories=values, handle_unknown="ignore"), list(categories)))
        order += [number for its in categories.values() for number in its.values()]
    if words:
        counters = [
            (name, TfidfVectorizer(token_pattern=WORD, use_idf=False, sublinear_tf=columns.log, norm=None,
                                   vocabulary={word: place for place, word in enumerate(its)}), name)
            for name, its in words.items()
        ]  # fmt: skip
        counts = ColumnTransformer(counters)
        text = Pipeline([("count", counts), ("scale", Normalizer())]) if columns.log else counts
        parts.append(("words", text, list(words)))
        order += [number for its in words.values() for number in its.values()]
    rows = max([2, *map(len, categories.values())])
    frame = pd.DataFrame(
        {
            **{name: np.arange(rows, dtype=float) for name in columns.numbers},
            **{name: [list(its)[row % len(its)] for row in range(rows)] for name, its in categories.items()},
            **{name: [next(iter(its))] * rows for name, its in words.items()},
        }
    )
    transformer = ColumnTransformer(parts).fit(frame)
    if columns.numbers and columns.means is not None and columns.deviations is not None:
        fitted = transformer.named_transformers_["numbers"].named_steps["scale"]
        fitted.mean_, fitted.var_ = columns.means, columns.deviations**2
        fitted.scale_ = np.where(columns.deviations > 0.0, columns.deviations, 1.0)
    return transformer, np.array(order, np.int64)


def without_constant(coef: NDArray[Any], columns: Columns) -> NDArray[Any]:
    """Weights in which columns whose scaled value is always 0 have the weight 0."""
    made = np.array(coef, dtype=np.float64)
    if columns.deviations is not None:
        made[..., : len(columns.numbers)][..., columns.deviations == 0.0] = 0.0
    return made


# ---- ONNX ----


def as_nodes(columns: Columns, coef: NDArray[Any], intercept: NDArray[Any]) -> tuple[list[Any], list[Any], list[Any]]:
    """Inputs for each column, constants, and nodes that compute `scores`."""
    from onnx import TensorProto, helper, numpy_helper

    if any(columns.words.values()):
        raise _refused("to_onnx", f"words ({', '.join(columns.words)})")
    coef, vectors = without_constant(coef, columns), coef.shape[0]
    inputs, constants, nodes, sums = (
        [],
        [numpy_helper.from_array(intercept.astype(np.float64), "intercepts")],
        [],
        ["intercepts"],
    )

    def constant(name: str, values: Any) -> str:
        constants.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    if columns.numbers:
        inputs += [helper.make_tensor_value_info(name, TensorProto.DOUBLE, ["rows", 1]) for name in columns.numbers]
        nodes.append(helper.make_node("Concat", columns.numbers, ["scores:numbers"], axis=1))
        last = "scores:numbers"
        if columns.means is not None and columns.deviations is not None:
            divisors = np.where(columns.deviations > 0.0, columns.deviations, 1.0)
            nodes.append(helper.make_node("Sub", [last, constant("scores:means", columns.means)], ["scores:centred"]))
            nodes.append(
                helper.make_node("Div", ["scores:centred", constant("scores:deviations", divisors)], ["scores:scaled"])
            )
            last = "scores:scaled"
        nodes.append(helper.make_node("IsNaN", [last], ["scores:missing"]))
        nodes.append(
            helper.make_node("Where", ["scores:missing", constant("scores:zero", 0.0), last], ["scores:filled"])
        )
        weights = constant("scores:weights", np.ascontiguousarray(coef[:, : len(columns.numbers)].T))
        nodes.append(helper.make_node("MatMul", ["scores:filled", weights], ["scores:of numbers"]))
        sums.append("scores:of numbers")
    axis = constant("scores:axis", np.array([1])) if columns.categories else ""
    for name, values in columns.categories.items():
        inputs.append(helper.make_tensor_value_info(name, TensorProto.STRING, ["rows", 1]))
        if not values:
            continue
        numbers = list(values.values())
        table = np.vstack([coef[:, numbers].T, np.zeros((1, vectors))])  # the last row is that of unknown values
        nodes += [
            helper.make_node(
                "LabelEncoder", [name], [f"{name}:number"], domain="ai.onnx.ml", keys_strings=list(values),
                values_int64s=list(range(len(values))), default_int64=len(values),
            ),
            helper.make_node("Squeeze", [f"{name}:number", axis], [f"{name}:row"]),
            helper.make_node("Gather", [constant(f"{name}:weights", table), f"{name}:row"], [f"{name}:scores"], axis=0),
        ]  # fmt: skip
        sums.append(f"{name}:scores")
    nodes += _added(sums)
    return inputs, constants, nodes


def _added(names: Sequence[str]) -> list[Any]:
    """Nodes that add up some values to `scores`."""
    from onnx import helper

    if len(names) == 1:
        return [helper.make_node("Identity", list(names), ["scores"])]
    nodes, last = [], names[0]
    for place, name in enumerate(names[1:], 2):
        total = "scores" if place == len(names) else f"scores:{place}"
        nodes.append(helper.make_node("Add", [last, name], [total]))
        last = total
    return nodes
