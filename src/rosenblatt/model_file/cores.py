"""Conversion of core models to plain values and back; all values that compiled loops use as indices are checked."""

import dataclasses
import json
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.engine.state import counts_and_sums
from rosenblatt.engine.steps import step_parameters
from rosenblatt.model.linear import Model
from rosenblatt.model.past import fill_past, noted
from rosenblatt.model.regression import RealModel
from rosenblatt.model.rule import Penalty, Rule
from rosenblatt.model.vote_log import Support

from .tree import BadModel

Values = dict[str, Any]

_MOST_CLASSES = 1 << 20
_LONGEST = 1 << 32


def _check(sound: Any, what: str) -> None:
    if not sound:
        raise BadModel(f"{what} is not valid")


def _array(value: Any, what: str, kind: str, shape: tuple[int | None, ...]) -> NDArray[Any]:
    """Check that a value is an array of finite numbers with this kind and shape (None: any size)."""
    _check(isinstance(value, np.ndarray) and value.dtype.kind == kind and value.ndim == len(shape), what)
    _check(all(want in (None, have) for want, have in zip(shape, value.shape, strict=True)), what)
    _check(kind != "f" or np.isfinite(value).all(), what)
    array: NDArray[Any] = value
    return array


def _count(value: Any, what: str, most: int = 1 << 62) -> int:
    _check(isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most, what)
    return int(value)


# ---- linear models ----


def linear_values(model: Model) -> Values:
    """Convert a linear model to plain values; arrays are cut to the features in use."""
    rule = {field.name: getattr(model.rule, field.name) for field in dataclasses.fields(Rule) if field.name != "step"}
    rule["penalty"] = None if model.rule.penalty is None else tuple(model.rule.penalty)
    return {
        "rule": rule,
        "readout": model.readout,
        "dtype": model.dtype.name,
        "n_features": model.n_features,
        **({"capacity": min(len(model.state.w), 2 * max(model.n_features, 8))} if model.room_matters else {}),
        "classes": model.classes,
        "features": None if model.features is None else _names_as_bytes(list(model.features)),
        "frozen": model.frozen,
        "arrays": {
            place: {field: _in_use(model, part) for field, part in _distinct(group).items()}
            for place, group in _groups(model).items()
        },
        "memory": [np.ascontiguousarray(array) for array in model.memory.content(model.n_features)],
        "support": None if model.support is None else _support_values(model.support),
        **({"target": [model.center, model.unit, model.spread]} if isinstance(model, RealModel) else {}),
        **({"past": [*noted(model.state), model.state.past_counts]} if model.notes_scores else {}),
    }


_PASSING = (
    "log_rows", "log_ages", "log_steps", "tile", "columns", "amounts", "lagged", "past_scores", "past_labels", "past_counts",
)  # fmt: skip
"""Temporary arrays of a pass, which the next pass does not read, and those that are stored in another way."""


def _groups(model: Model) -> dict[str, dict[str, NDArray[Any]]]:
    """The arrays changed by training, as `state`; the counters are stored as two arrays, `counts` and `sums`."""
    arrays: dict[str, NDArray[Any]] = {}
    for name, part in model.state._asdict().items():
        if name == "tally":
            arrays["counts"], arrays["sums"] = counts_and_sums(model.state)
        else:
            arrays[name] = part
    return {"state": arrays}


def _distinct(group: Any) -> dict[str, NDArray[Any]]:
    """The arrays of a group without temporary ones and without aliases (`v` is usually `w`)."""
    seen: dict[int, str] = {}
    return {
        name: part for name, part in group.items() if name not in _PASSING and seen.setdefault(id(part), name) == name
    }


def _in_use(model: Model, array: NDArray[Any]) -> NDArray[Any]:
    shape = model.state.w.shape
    if array.ndim == len(shape) and array.shape == shape and array.size:
        array = array[: model.n_features]
        return array[:, : model.vectors] if array.ndim == 2 else array
    return array


def linear_from_values(values: Values, step: Any, make: type[Model]) -> Model:
    """Create a linear model from its values; `step` is the function of its rule, unless `make` is a class that cannot learn."""
    rule = values["rule"]
    known = {field.name for field in dataclasses.fields(Rule)} - {"step"}
    _check(isinstance(rule, dict) and set(rule) | {"penalty"} == known, "the rule")  # older files have no penalty
    penalty = rule.get("penalty")
    sound = isinstance(penalty, tuple) and len(penalty) == 3 and all(isinstance(p, float) and p >= 0 for p in penalty)
    _check(penalty is None or (sound and all(map(math.isfinite, penalty))), "the penalty")
    rule = {**rule, "penalty": None if penalty is None else Penalty(*penalty)}
    _check(
        isinstance(rule["params"], tuple) and all(isinstance(p, float) for p in rule["params"]), "the rule's numbers"
    )
    _check(isinstance(rule["target"], float) and isinstance(rule["fit_intercept"], bool), "the rule")
    _check(
        values["readout"] in ("last", "average", "vote", "committee") and values["dtype"] in ("float32", "float64"),
        "the readout",
    )
    _check(make not in (Model, RealModel) or len(rule["params"]) == len(step_parameters(step)), "the rule's numbers")
    count = _count(values["n_features"], "the number of features", _LONGEST)
    features = None if values["features"] is None else _names_from_bytes(values["features"])
    support = values["support"]
    model = make(
        Rule(step=step, **rule),
        readout=values["readout"],
        n_features=count,  # no spare capacity: on a cluster the weights of all models must have the same size
        dtype=values["dtype"],
        max_support=None if support is None else support["max_updates"],
    )
    if isinstance(model, RealModel):
        scale = values["target"]
        _check(
            isinstance(scale, list) and len(scale) == 3 and all(isinstance(number, float) for number in scale),
            "the scale",
        )
        _check(all(map(math.isfinite, scale)) and scale[1] > 0.0, "the scale of the target")
        model.center, model.unit, model.spread = scale
    classes = values["classes"]
    _check(isinstance(classes, list) and len(classes) <= _MOST_CLASSES, "the list of classes")
    model.add_class(*classes)
    _check(len(model.class_number) == len(classes), "the list of classes")
    if features is not None:
        _check(len(features) == count and isinstance(values["frozen"], bool), "the list of features")
        model.features = features
        model.frozen = values["frozen"]
    capacity = _count(values.get("capacity", count), "the number of features", 2 * max(count, 8))
    if model.room_matters and capacity > count:
        model._reshape(model.vectors, capacity)
    for place, group in _groups(model).items():
        _fill(model, group, values["arrays"][place])
    if model.rule.link != "identity":
        model._relink(model.state, slice(count, None), with_bias=not count)
    stored = values["memory"]
    wanted = model.memory.content(count)
    _check(isinstance(stored, list) and len(stored) == len(wanted), "the memory of the rule")
    for number, target in enumerate(wanted):
        target[...] = _array(stored[number], "the memory of the rule", "f", target.shape)
    if (past := values.get("past")) is not None:
        _fill_past(model, past)
    model.state.counters.logged = 0
    model.state.counters.position = 0
    if model.support is not None:
        _fill_support(model.support, support, model.vectors, count)
    model.state = model.state
    return model


def _fill(model: Model, group: Any, stored: Any) -> None:
    wanted = _distinct(group)
    _check(isinstance(stored, dict) and set(stored) == set(wanted), "the list of arrays")
    for name, target in wanted.items():
        target = _in_use(model, target)  # noqa: PLW2901 - a view of the part in use
        array = _array(stored[name], f"the array `{name}`", target.dtype.kind, target.shape)
        _check(array.dtype == target.dtype, f"the type of the array `{name}`")
        target[...] = array


def _fill_past(model: Model, past: Any) -> None:
    _check(isinstance(past, list) and len(past) == 3, "the list of scores")
    model.note_scores()
    room = model.state.past_labels.size
    labels = _array(past[1], "the list of scores", "i", (None,))
    scores = _array(past[0], "the list of scores", "f", (labels.size, model.vectors))
    counts = _array(past[2], "the list of scores", "i", (2,))
    _check(labels.size == min(room, counts[1]) and 0 <= counts[1] <= counts[0], "the list of scores")
    _check(((labels >= 0) & (labels < max(1, len(model.classes)))).all(), "the list of scores")
    fill_past(model.state, scores, labels, counts)


def _names_as_bytes(names: list[Any]) -> NDArray[np.uint8]:
    """Names as the bytes of a JSON list; long lists would not fit into the header of a file."""
    names = [name.item() if isinstance(name, np.generic) else name for name in names]
    wrong = [name for name in names if not (name is None or isinstance(name, str | int | float))]
    if wrong:
        raise ValueError(
            f"The names of features in a model file must be strings, numbers, booleans or None; got {wrong[0]!r}. Train with "
            "such names, for instance str(name)."
        )
    # In parts, because other threads wait while one is encoded.
    parts = (json.dumps(names[at : at + 10_000], ensure_ascii=False)[1:-1] for at in range(0, len(names), 10_000))
    return np.frombuffer(f"[{', '.join(parts)}]".encode("utf-8", "surrogatepass"), np.uint8)


def _names_from_bytes(stored: Any) -> dict[Any, int]:
    names = json.loads(_array(stored, "the list of features", "u", (None,)).tobytes().decode("utf-8", "surrogatepass"))
    _check(isinstance(names, list), "the list of features")
    numbered = dict(zip(names, range(len(names)), strict=True))
    _check(len(numbered) == len(names), "the list of features")
    return numbered


def _support_values(support: Support) -> Values:
    _ = support.rows  # joins the blocks
    names = ("max_updates", "start_coef", "start_bias", "start_age", "blocks", "entries", "ages", "steps")
    return {name: getattr(support, name) for name in names}


def _fill_support(support: Support, stored: Any, vectors: int, features: int) -> None:
    entries = _array(stored["entries"], "the list of updates", "i", (None,))
    updates = entries.size
    blocks = stored["blocks"]
    _check(isinstance(blocks, list) and len(blocks) <= 1, "the list of support rows")
    rows = 0
    for block in blocks:
        _check(
            getattr(block, "ndim", 0) == 2 and block.dtype.kind == "f" and block.shape[1] <= features, "a support row"
        )
        _check(np.isfinite(block.data if hasattr(block, "tocsr") else block).all(), "a support row")
        rows += block.shape[0]
    _check(updates == 0 or (entries.min() >= 0 and entries.max() < rows), "the list of updates")
    start = stored["start_coef"]
    if start is not None:
        _array(start, "the starting weights", "f", (vectors, None))
        _check(start.shape[1] <= features, "the starting weights")
    _check(isinstance(stored["start_age"], float), "the age of the starting weights")
    support.start_coef, support.start_age, support.blocks = start, stored["start_age"], blocks
    support.entries = entries
    support.start_bias = _array(stored["start_bias"], "the starting biases", "f", (vectors,))
    support.ages = _array(stored["ages"], "the ages of updates", "f", (updates,))
    support.steps = _array(stored["steps"], "the steps of updates", "f", (updates, vectors))


# ---- kernel machines ----

_EVENTS = ("event_row", "event_time", "event_tau", "event_score", "event_self")


def kernel_values(model: Any) -> Values:
    """Convert a kernel perceptron to plain values; a kernel function of the user is left out."""
    from rosenblatt.dual.machine import Machine

    machine = model.machine
    settings = {field.name: getattr(model.settings, field.name) for field in dataclasses.fields(model.settings)}
    if not isinstance(settings["kernel"], str):
        settings["kernel"] = None
    values: Values = {
        "settings": settings, "classes": model.n_classes, "epochs": list(model.epochs), "on_zero": int(machine.on_zero),
        "seen": machine.n_seen, "mistakes": machine.n_mistakes, "rows": None,
    }  # fmt: skip
    if len(machine.rows):
        block = machine.rows.slice(0, len(machine.rows))
        values["rows"] = {"rows": block.rows, "sq_norms": block.sq_norms, "ids": block.ids}
    if isinstance(machine, Machine):
        values["dual"] = machine.dual.view
        values["records"] = {name: getattr(machine, name).view for name in _EVENTS}
    else:
        values["updates"], values["dual"] = machine.n_updates, machine.dual
        fields = {field.name for field in dataclasses.fields(machine)}
        values["records"] = {name: value for name, value in vars(machine).items() if name not in fields}
    return values


def kernel_from_values(values: Values, kernel: Any, features: int) -> Any:
    """Create a kernel perceptron from its values; `kernel` is used if the file has a kernel function of the user."""
    from rosenblatt.dual.machine import Machine
    from rosenblatt.dual.model import KernelModel, Settings
    from rosenblatt.dual.rows import Block
    from rosenblatt.engine.conventions import OnZero

    settings = dict(values["settings"])
    _check(settings["kernel"] is None or isinstance(settings["kernel"], str), "the kernel")
    if settings["kernel"] is None:
        settings["kernel"] = kernel
    model = KernelModel(Settings(**settings), _count(values["classes"], "the number of classes", _MOST_CLASSES))
    model.epochs = [_count(mistakes, "the mistakes of an epoch") for mistakes in values["epochs"]]
    machine = model.machine
    machine.on_zero = OnZero(values["on_zero"])
    machine.n_seen, machine.n_mistakes = _count(values["seen"], "a count"), _count(values["mistakes"], "a count")
    kept = 0
    if values["rows"] is not None:
        rows, ids = values["rows"]["rows"], _array(values["rows"]["ids"], "the support rows", "i", (None,))
        kept = ids.size
        _check(
            kept > 0 and ids.min() >= 0 and getattr(rows, "ndim", 0) == 2 and rows.dtype.kind == "f", "the support rows"
        )
        _check(rows.shape[0] == kept and rows.shape[1] <= features, "the support rows")
        _check(np.isfinite(rows.data if hasattr(rows, "tocsr") else rows).all(), "the support rows")
        lengths = _array(values["rows"]["sq_norms"], "the lengths of support rows", "f", (kept,))
        block = Block(rows, lengths, ids)
        if isinstance(machine, Machine):
            machine.rows.append(block)
        else:
            _check(kept <= machine.budget, "the support rows")
            machine.rows.block = block
    dual = _array(values["dual"], "the coefficients", "f", (kept, machine.columns))
    records = values["records"]
    if not isinstance(machine, Machine):
        machine.dual, machine.n_updates = dual, _count(values["updates"], "a count")
        _fill_records(machine, records, kept)
        return model
    events = _array(records["event_row"], "the updates", "i", (None,))
    _check(events.size == 0 or (events.min() >= 0 and events.max() < kept), "the updates")
    machine.dual.replace(dual)
    for name in _EVENTS:
        record = getattr(machine, name)
        shape = (events.size, machine.columns) if name in ("event_tau", "event_score") else (events.size,)
        record.extend(_array(records[name], "the updates", record.view.dtype.kind, shape))
    return model


def _fill_records(machine: Any, records: Any, kept: int) -> None:
    """Set the data of a budget policy besides its slots: arrays that grow with them, totals, a random generator."""
    fields = {field.name for field in dataclasses.fields(machine)}
    own = {name: value for name, value in vars(machine).items() if name not in fields}
    _check(isinstance(records, dict) and set(records) == set(own), "the records of the budget")
    for name, empty in own.items():
        value = records[name]
        if isinstance(empty, np.ndarray):
            array = _array(value, f"the record `{name}`", empty.dtype.kind, (None,) * empty.ndim)
            grows = empty.size == 0
            _check(all(size >= kept for size in array.shape) if grows else array.shape == empty.shape, f"`{name}`")
            _check(array.ndim < 2 or array.shape[0] == array.shape[1], f"the record `{name}`")
        _check(type(value) is type(empty), f"the record `{name}`")
        setattr(machine, name, value)
