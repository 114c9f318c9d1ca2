"""Training runs whose results must stay the same bit for bit, and a short record of each result.

`tests/test_bits.py` compares the records with those in `tests/bits.json`. `tools/compare_bits.py` compares two versions of the
library on the same machine, with more runs and without rounding. This file uses only public names of the library, so
that the same file runs with every version.
"""

# ruff: noqa: N802 - a rule has the name of the class that is made from it

import argparse
import dataclasses
import functools
import hashlib
import json
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_svmlight_file

import rosenblatt as rb

LEARNERS = (
    "Perceptron", "AveragedPerceptron", "VotedPerceptron", "PocketPerceptron", "BatchPerceptron", "MarginPerceptron",
    "KernelPerceptron", "Winnow", "PassiveAggressive", "ALMA", "ROMMA", "SecondOrderPerceptron", "AROW",
    "SoftConfidenceWeighted", "ParallelPerceptron",
)  # fmt: skip
"""The learners of the library."""

SCHEMES = ("max", "all", "uniform", "proportional", "ovr")
WHOLE_SET = ("PocketPerceptron", "BatchPerceptron")
"""Learners without `partial_fit` and `learn_one`."""


# ---- user-defined rules, one for each kind of loop ----


@rb.rule(target=1.0)
def Careful(margin, sq_norm, C=0.1):
    """A passive-aggressive step with an upper limit."""
    return min(C, max(0.0, 1.0 - margin) / sq_norm)


@rb.rule(readout="vote", target=0.0)
def Voting(margin, eta0=0.5):
    """The perceptron with a vote as its readout."""
    return eta0 if margin <= 0 else 0.0


@rb.rule(readout="average", target=1.0)
def Doubting(margin, variance, weight, r=0.5):
    """A rule that keeps a variance for each weight."""
    beta = 1.0 / (variance + r / weight) if margin < 1.0 else 0.0
    return (1.0 - margin) * beta, beta


@rb.rule
def Shrinking(margin, sq_norm, w_sq_norm, steps, weight, rate=1.0):
    """A rule that keeps the weights in the unit ball."""
    if margin > 0:
        return 1.0, 0.0
    tau = rate * weight / math.sqrt(steps + 1.0)
    shrink = 1.0 / math.sqrt(max(1.0, w_sq_norm + 2.0 * tau * margin + tau * tau * sq_norm))
    return shrink, shrink * tau


OWN_RULES = {"Careful": Careful, "Voting": Voting, "Doubting": Doubting, "Shrinking": Shrinking}


# ---- data ----


@dataclasses.dataclass(frozen=True)
class Data:
    """Training examples and test examples."""

    X: Any
    y: Any
    X_new: Any


@functools.cache
def data(name: str, folder: str = "") -> Data:
    """The data set of this name: real numbers, whole numbers, or -1 and +1."""
    kind, _, part = name.partition(" ")
    if kind == "a9a":
        return _a9a(folder, part)
    if kind == "noise":
        return _noise(int(part))
    X, y = load_digits(return_X_y=True)
    # 1/17 is not exact in binary: another order of summation gives other bits.
    X = {"digits": X / 17.0, "whole": X, "signs": np.where(X > 8, 1.0, -1.0)}[kind]
    if part == "two":
        X, y = X[np.isin(y, (3, 8))], y[np.isin(y, (3, 8))]
    elif part == "three":
        X, y = X[y < 3], y[y < 3]
    return Data(X[:240], y[:240], X[240:340])


def _noise(classes: int) -> Data:
    """Whole numbers divided by 7 in thirteen columns, some of them 0; the classes are not linearly separable."""
    random = np.random.RandomState(classes)
    y = random.randint(0, classes, 120)
    X = random.randint(-9, 10, (120, 13)) + random.randint(-3, 4, (classes, 13))[y]
    X = np.where(random.randint(0, 4, X.shape) == 0, 0, X) / 7.0
    return Data(X[:90], y[:90], X[90:])


def _a9a(folder: str, part: str) -> Data:
    X, y = load_svmlight_file(str(Path(folder) / "a9a"), n_features=123)
    X, y = sp.csr_array(X), y.astype(int)
    count = 2000 if part == "small" else 30_000
    return Data(X[:count], y[:count], X[30_000:])


@functools.cache
def worked_examples() -> dict[str, Any]:
    """The examples worked out by hand in lecture notes, by name."""
    text = (Path(__file__).parent / "data" / "worked_examples.json").read_text(encoding="utf-8")
    return {example["name"]: example for example in json.loads(text)["binary_passes"]}


# ---- cases ----


@dataclasses.dataclass(frozen=True)
class Case:
    """One training run.

    `how` is "fit", "fit twice", "partial_fit", "classes arrive", "one by one" or "dicts". `rows` is "dense", "columns" (stored
    column by column), "csr" or "csr64" (with 64-bit indices). `start` is whether starting weights are given, `weighted`
    whether the examples have weights. The results of a case that is not `portable` may depend on the kind of CPU.
    """

    data: str
    parameters: dict[str, Any] = dataclasses.field(default_factory=dict)
    how: str = "fit"
    rows: str = "dense"
    dtype: str = "float64"
    start: bool = False
    weighted: bool = False
    portable: bool = True

    @property
    def name(self) -> str:
        """Description of what is special about this case."""
        words = [self.data, self.how, self.rows, self.dtype]
        words = [word for word in words if word not in ("fit", "dense", "float64")]
        words += ["start weights"] * self.start + ["sample weights"] * self.weighted
        return ", ".join(words + [f"{name}={value}" for name, value in self.parameters.items()])


FIXED = {"max_iter": 4, "tol": None}
"""A fixed number of epochs."""


def cases(learner: str, folder: str = "") -> dict[str, Case]:
    """All cases of a learner by name; with those on a9a if the folder of that file is given."""
    if learner == "KernelPerceptron":
        found = [*_kernel_cases(), *(_kernel_a9a_cases() if folder else [])]
    elif learner in OWN_RULES:
        found = _rule_cases("whole" if learner == "Voting" else "digits")
    else:
        found = [*_linear_cases(learner), *_own_cases(learner), *_worked_cases(learner)]
        found += _a9a_cases(learner) if folder else []
    if learner == "BatchPerceptron":
        found = [dataclasses.replace(case, parameters=_for_batches(case.parameters)) for case in found]
    return {case.name: case for case in found if _possible(learner, case)}


def _for_batches(parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters for the batch perceptron: without `tol`, which it does not have, and fewer epochs than its default of 1000."""
    return {name: value for name, value in {"max_iter": 30, **parameters}.items() if name != "tol"}


def _possible(learner: str, case: Case) -> bool:
    """Whether a learner has these parameters, supports this way of learning, and supports this number of classes."""
    known = estimator(learner).get_params()
    streaming = case.how not in ("fit", "fit twice")
    many = case.data.endswith(("ten", "three", " 3"))
    return (
        all(name in known for name in case.parameters)
        and not (streaming and learner in WHOLE_SET)
        and not (learner == "ParallelPerceptron" and (many or "multiclass" in case.parameters))
    )


def _linear_cases(learner: str) -> list[Case]:
    """Cases for every linear learner."""
    kind = {"VotedPerceptron": "whole", "Winnow": "signs"}.get(learner, "digits")
    two, three, ten = f"{kind} two", f"{kind} three", f"{kind} ten"
    noise_two, noise_three = ("noise 2", "noise 3") if kind == "digits" else (two, three)
    found = [Case(data_, FIXED, rows=rows) for data_ in (two, ten) for rows in ("dense", "csr")]
    found += [Case(data_, FIXED, rows=rows, dtype="float32") for data_ in (two, ten) for rows in ("dense", "csr")]
    found += [Case(ten, FIXED, rows="columns"), Case(ten, FIXED, rows="csr64")]
    for scheme in SCHEMES:
        found += [Case(noise_three, {**FIXED, "multiclass": scheme, "fit_intercept": False})]
        found += [Case(ten, {**FIXED, "multiclass": scheme, "on_zero": "positive"}, rows="csr", weighted=True)]
        found += [Case(ten, {"multiclass": scheme}, how="partial_fit")]
    for data_ in (two, noise_three):
        found += [
            Case(data_),
            Case(data_, {"tol": None, "max_iter": 25}),
            Case(data_, {"tol": 1e-2, "n_iter_no_change": 2, "random_state": 7}, rows="csr"),
            Case(data_, {**FIXED, "shuffle": False}),
            Case(data_, {**FIXED, "shuffle": "replacement", "random_state": 3}),
            Case(data_, {"early_stopping": True, "validation_fraction": 0.2, "n_iter_no_change": 3}),
            Case(data_, {**FIXED, "class_weight": "balanced"}),
            Case(data_, FIXED, start=True),
            Case(data_, {**FIXED, "on_zero": "keep"}, start=True),
            Case(data_, {**FIXED, "on_zero": "positive"}),
            Case(data_, {**FIXED, "warm_start": True}, how="fit twice"),
            Case(data_, FIXED, how="fit twice"),
            Case(data_, FIXED, weighted=True),
            Case(data_, how="partial_fit"),
            Case(data_, how="partial_fit", rows="csr", weighted=True),
            Case(data_, how="one by one"),
            Case(data_, how="dicts"),
        ]
    found += [
        Case(noise_two, {**FIXED, "fit_intercept": False}),
        Case(noise_two, {"tol": None, "max_iter": 12, "shuffle": False}),
        Case(two, {"class_weight": {3: 2.5}}, how="partial_fit", dtype="float32"),
        Case(ten, how="classes arrive"),
        Case(ten, how="one by one"),
        Case(ten, how="dicts"),
    ]
    # On whole numbers and on signs two of these sets are the same as others above.
    return list({case.name: case for case in found}.values())


VARIANTS: dict[str, list[dict[str, Any]]] = {
    "Perceptron": [{"eta0": 0.3}],
    "AveragedPerceptron": [{"eta0": 0.3}],
    "VotedPerceptron": [{"eta0": 0.5}],
    "PocketPerceptron": [{"eta0": 0.3}],
    "BatchPerceptron": [
        *({"variant": "fixed-increment", "multiclass": scheme} for scheme in SCHEMES),
        *({"variant": "line-search", "multiclass": scheme} for scheme in ("max", "ovr")),
        {"alpha": 0.3, "epsilon": 0.05},
    ],
    "MarginPerceptron": [{"b": 0.75}, {"b": 2.0, "eta0": 0.3, "readout": "average"}],
    "Winnow": [{"balanced": True}, {"balanced": True, "eta": 0.1, "multiclass": "ovr"}],
    "PassiveAggressive": [
        *({"variant": variant, "C": 0.3} for variant in ("PA", "PA-I", "PA-II")),
        {"variant": "PA-II", "readout": "average", "multiclass": "uniform"},
    ],
    "ALMA": [{"alpha": 0.5}, {"alpha": 1.0, "B": 2.0, "C": 1.0}, {"readout": "average", "multiclass": "all"}],
    "ROMMA": [{"variant": "aggressive"}, {"variant": "aggressive", "readout": "average", "multiclass": "ovr"}],
    "SecondOrderPerceptron": [
        {"a": 0.5}, {"covariance": "full"}, {"covariance": "full", "multiclass": "ovr"}, {"readout": "average"},
    ],
    "AROW": [
        {"r": 0.3}, {"covariance": "full"}, {"covariance": "full", "multiclass": "uniform"}, {"readout": "average"},
        {"covariance": "full", "readout": "average"},
    ],
    "SoftConfidenceWeighted": [
        {"C": 0.3, "phi": 0.5}, {"variant": "SCW-II"}, {"covariance": "full"}, {"readout": "average", "C": 0.5},
        {"variant": "SCW-II", "covariance": "full", "multiclass": "ovr"},
    ],
    "ParallelPerceptron": [{"n_perceptrons": 3, "random_state": 4}, {"eta": 0.05, "gamma": 0.3, "mu": 0.8}],
}  # fmt: skip
"""Parameters that only one learner has, tested on a few data sets each."""


def _own_cases(learner: str) -> list[Case]:
    """Cases for the parameters that only this learner has."""
    kind = {"VotedPerceptron": "whole", "Winnow": "signs"}.get(learner, "digits")
    found = []
    for parameters in VARIANTS.get(learner, []):
        fixed = FIXED | parameters
        many = f"{kind} two" if learner == "ParallelPerceptron" else f"{kind} ten"
        found += [Case(f"{kind} three" if kind != "digits" else "noise 2", fixed), Case(many, fixed, rows="csr")]
        found += [Case(f"{kind} two", fixed, weighted=True)]
        found += [Case(many, parameters, how="partial_fit"), Case(f"{kind} two", parameters, how="dicts")]
    if learner == "VotedPerceptron":
        found += [Case("whole ten", {"max_support": 40, **fixed}) for fixed in (FIXED, FIXED | {"multiclass": "ovr"})]
        found += [Case("whole two", {"max_support": 20}, how="partial_fit"), Case("whole two", {"max_support": 20})]
        found += [Case(f"noise {classes}", FIXED, rows=rows) for classes in (2, 3) for rows in ("dense", "csr")]
    return found


def _rule_cases(kind: str) -> list[Case]:
    """Cases for a user-defined rule."""
    two, ten = f"{kind} two", f"{kind} ten"
    return [
        *(Case(data_, FIXED, rows=rows) for data_ in (two, ten) for rows in ("dense", "csr")),
        Case(ten, FIXED, dtype="float32", weighted=True),
        Case(ten, how="partial_fit"),
        Case(two, how="one by one"),
        Case(ten, how="dicts"),
    ]


def _worked_cases(learner: str) -> list[Case]:
    """The examples worked out by hand, with the settings of their source."""
    found = []
    for name, example in worked_examples().items():
        settings = {"on_zero": example["on_zero"], "fit_intercept": example["fit_intercept"], "shuffle": False}
        if not any(example["init"]) and example["on_zero"] == "keep":
            continue  # weights of 0 would stay 0
        start = any(example["init"]) and learner not in ("ParallelPerceptron", "Winnow")  # these do not accept them
        known = estimator(learner).get_params()
        settings = {key: value for key, value in settings.items() if key in known}
        found.append(Case(f"worked {name}", {**settings, "max_iter": 3, "tol": None}, start=start))
    return found


def _kernel_cases() -> list[Case]:
    """Cases for the kernel perceptron; with whole numbers the kernel values are exact on every CPU."""
    two, three, ten = "whole two", "whole three", "whole ten"
    square, gauss = {"degree": 2}, {"kernel": "rbf", "gamma": 0.002}
    found = [Case(ten, {**FIXED, "multiclass": scheme}) for scheme in ("max", "all", "ovr")]
    found += [Case(three, {**FIXED, "multiclass": "uniform"})]
    found += [Case(ten, {**FIXED, "multiclass": scheme}, portable=False) for scheme in ("uniform", "proportional")]
    for readout in ("last", "average", "vote"):
        found += [Case(data_, {**FIXED, "readout": readout}) for data_ in (two, ten)]
        found += [Case(two, {**FIXED, "readout": readout, "normalize": True})]
        found += [Case(ten, {**FIXED, **square, "readout": readout, "multiclass": "ovr"}, rows="csr")]
        found += [Case(three, {**gauss, "readout": readout}, how="partial_fit")]
    found += [Case(data_, {**FIXED, "kernel": "linear"}) for data_ in (two, three)]
    found += [Case(data_, {**FIXED, **gauss}) for data_ in (two, ten)]
    found += [Case("digits two", {**FIXED, "kernel": "rbf", "gamma": gamma}) for gamma in ("auto", "scale")]
    found += [Case("digits two", {**FIXED, "kernel": "sigmoid", "gamma": 0.01, "coef0": 0.0})]
    found += [Case(three, {**FIXED, "kernel": kernel}) for kernel in ("own", "precomputed")]
    for policy in ("random", "forgetron", "projectron++"):
        limited = {"budget": 25, "budget_policy": policy}
        found += [Case(two, {**FIXED, **gauss, **limited}), Case(ten, {**FIXED, **gauss, **limited, "random_state": 5})]
        found += [Case(two, {**gauss, **limited}, how="partial_fit")]
        found += [Case(three, {**gauss, **limited, "multiclass": "ovr"}, how="one by one")]
    found += [
        Case(two),
        Case(ten, {"tol": None, "max_iter": 25}),
        Case(two, {**square, "tol": 1e-2, "n_iter_no_change": 2}, rows="csr"),
        Case(two, {**FIXED, "shuffle": False}),
        Case(ten, {**FIXED, "shuffle": "replacement", "random_state": 3}),
        Case(two, {**FIXED, "on_zero": "positive", "block_size": 16}),
        Case(two, {**FIXED, "coef0": 0.0}),
        Case(two, FIXED, dtype="float32"),
        Case(ten, {**FIXED, **square}, rows="csr", dtype="float32"),
        Case(ten, FIXED, weighted=True),
        Case(ten, square, how="partial_fit"),
        Case(ten, square, how="partial_fit", rows="csr", weighted=True),
        Case(ten, square, how="classes arrive"),
        Case(three, square, how="one by one"),
        Case(three, square, how="dicts"),
    ]
    for name in ("two-dimensional walk", "exclusive-or cycle"):
        walk = {"shuffle": False, "max_iter": 3, "tol": None}
        found += [Case(f"worked {name}", {**walk, "kernel": "linear"}), Case(f"worked {name}", {**walk, **square})]
    return found


def _a9a_cases(learner: str) -> list[Case]:
    """Cases on a9a: 30,000 sparse rows with two classes."""
    found = [Case("a9a", {**FIXED, **parameters}, rows="csr") for parameters in [{}, *VARIANTS.get(learner, [])]]
    return [
        *found,
        Case("a9a", rows="csr"),
        Case("a9a", {"early_stopping": True}, rows="csr"),
        Case("a9a", {**FIXED, "shuffle": "replacement"}, rows="csr", dtype="float32"),
        Case("a9a", how="partial_fit", rows="csr", weighted=True),
        Case("a9a small", FIXED),
        Case("a9a small", how="dicts"),
    ]


def _kernel_a9a_cases() -> list[Case]:
    return [
        Case("a9a small", {**FIXED, "readout": "vote"}, rows="csr"),
        Case("a9a small", {**FIXED, "kernel": "rbf", "gamma": 0.05, "budget": 100}, rows="csr"),
    ]


# ---- running a case ----


def estimator(learner: str, **parameters: Any) -> Any:
    """A new learner of the library, or one made from a rule in this file."""
    if parameters.get("kernel") == "own":
        parameters["kernel"] = _own_kernel
    return (OWN_RULES.get(learner) or getattr(rb, learner))(**parameters)


def _own_kernel(A: Any, B: Any) -> Any:
    return (A @ B.T + 2.0) ** 2


def _prepared(X: Any, case: Case) -> Any:
    """The matrix in the form that the case needs."""
    if case.parameters.get("kernel") == "precomputed":
        return X
    if case.rows.startswith("csr"):
        S = sp.csr_array(X, dtype=case.dtype)
        index = np.int64 if case.rows == "csr64" else np.int32
        S.indptr, S.indices = S.indptr.astype(index), S.indices.astype(index)
        return S
    X = X.toarray() if sp.issparse(X) else X
    return np.asarray(X, dtype=case.dtype, order="F" if case.rows == "columns" else "C")


def _as_dicts(X: Any) -> list[dict[str, float]]:
    X = X.toarray() if sp.issparse(X) else X
    return [{f"x{j}": float(row[j]) for j in np.flatnonzero(row)} for row in X]


def record(learner: str, case: Case, folder: str = "", exact: bool = False) -> dict[str, Any]:
    """Run a case and describe the result in a few short values.

    Arrays are represented by the first 16 digits of a hash of their bytes. Without `exact`, values that depend on the kind of CPU
    or on the C library are rounded first, or left out: see `_rounded` and `_scores_are_exact`.
    """
    if case.data.startswith("worked "):
        return _worked_record(learner, case, exact)
    given = data(case.data, folder)
    X, y, X_new = given.X, given.y, given.X_new
    if case.parameters.get("kernel") == "precomputed":
        X, X_new = X @ X.T, X_new @ X.T
    X, X_new, y = _prepared(X, case), _prepared(X_new, case), np.asarray(y)
    if learner == "KernelPerceptron":
        random_weights = np.random.RandomState(1).choice([0.0, 1.0, 2.0], len(y))
    else:
        random_weights = np.random.RandomState(1).choice([0.0, 0.5, 1.0, 2.25], len(y))
    weight = random_weights if case.weighted else None
    model = estimator(learner, **case.parameters)
    if case.how == "dicts":
        # Kernel values with each row of a stream are computed one row at a time.
        X, X_new = _as_dicts(X[:150]), _as_dicts(X_new)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("error")
        warnings.simplefilter("always", UserWarning)  # training stopped too early, or a vote is full
        guesses = _learn(model, case, X, y, weight)
        told = sorted({warning.category.__name__ for warning in said})
    result = _describe(learner, case, model, X_new, exact)
    if guesses is not None:
        result["guesses"] = _hash_labels(guesses)
    return result | ({"warnings": told} if told else {})


def _learn(model: Any, case: Case, X: Any, y: Any, weight: Any) -> list[Any] | None:
    """Train the model as the case describes; return the predictions made on a stream."""
    if case.how in ("one by one", "dicts"):
        rows = X if case.how == "dicts" else X[:150]
        return [_plain(model.learn_one(x, label)) for x, label in zip(rows, y.tolist())]
    if case.how == "partial_fit":
        for start, stop in ((0, 1), (1, 70), (70, 80), (80, len(y))):
            part = {} if weight is None else {"sample_weight": weight[start:stop]}
            classes = {"classes": np.unique(y)} if start == 0 else {}
            model.partial_fit(X[start:stop], y[start:stop], **classes, **part)
        return None
    if case.how == "classes arrive":
        for start in range(0, len(y), 40):
            part = np.arange(start, min(start + 40, len(y)))
            part = part[y[part] <= 2 + start // 20]
            model.partial_fit(X[part], y[part])
        return None
    options = {} if weight is None else {"sample_weight": weight}
    if case.start:
        vectors = 1 if len(np.unique(y)) == 2 else len(np.unique(y))
        vectors, random = getattr(model, "n_perceptrons", vectors), np.random.RandomState(2)
        least = 1 if isinstance(model, rb.Winnow) else -3
        options["coef_init"] = random.randint(least, 4, (vectors, X.shape[1])) / 8.0
        options["intercept_init"] = random.randint(least, 4, vectors) / 8.0
    if case.how == "fit twice":
        half = len(y) // 2
        model.fit(X[:half], y[:half])
        X, y = X[half:], y[half:]
    model.fit(X, y, **options)
    return None


def _plain(label: Any) -> Any:
    """Convert a label to a type that JSON supports."""
    return label.item() if isinstance(label, np.generic) else label


def _worked_record(learner: str, case: Case, exact: bool) -> dict[str, Any]:
    example = worked_examples()[case.data.removeprefix("worked ")]
    X, y = np.array(example["X"], dtype=float), np.array(example["y"])
    # Two rows of weight 0 make both classes known where the source has examples of only one class.
    X, y = np.vstack([X, np.zeros((2, X.shape[1]))]), np.append(y, [-1, 1])
    options: dict[str, Any] = {"sample_weight": np.append(np.ones(len(y) - 2), [0.0, 0.0])}
    if case.start:
        bias_first = example.get("bias") == "first"
        options["coef_init"] = example["init"][1:] if bias_first else example["init"]
        options["intercept_init"] = example["init"][0] if bias_first else 0.0
    model = estimator(learner, **case.parameters).fit(X, y, **options)
    return _describe(learner, case, model, X, exact)


# ---- describing a result ----


def _describe(learner: str, case: Case, model: Any, X_new: Any, exact: bool) -> dict[str, Any]:
    result: dict[str, Any] = {}
    tidy = _same if exact or learner not in ("Winnow", "ParallelPerceptron") else _rounded
    if learner == "KernelPerceptron":
        if exact or _scores_are_exact(learner, case):
            result["weights"] = _hash(model.support_, model._model.dual().T)
        else:
            result["support"] = _hash(model.support_)
    elif learner in ("VotedPerceptron", "Voting"):
        result["weights"] = _hash(*_votes(model)) if learner == "VotedPerceptron" else None
    else:
        result["weights"] = _hash(*map(tidy, model.model_.coef()))
    if case.how == "dicts":
        result["predictions"] = _hash_labels([_plain(model.predict_one(x)) for x in X_new])
    else:
        if exact or not (learner == "VotedPerceptron" and case.data.startswith("noise")):
            result["predictions"] = _hash_labels(model.predict(X_new).tolist())
        if exact or _scores_are_exact(learner, case):
            scores = model._scores(X_new)  # in the order in which the classes came
            result["scores"] = _hash(tidy(scores[:, 0] if scores.shape[1] == 1 else scores))
    epochs = getattr(model, "mistakes_per_epoch_", None)
    result["mistakes"] = model.mistakes_ if epochs is None else [int(count) for count in epochs]
    result["updates"] = int(model.updates_)
    for name, attribute in (("n_iter", "n_iter_"), ("converged", "converged_")):
        if hasattr(model, attribute):
            result[name] = getattr(model, attribute)
    if hasattr(model, "certificate_"):
        result["status"] = model.certificate_.status
    if hasattr(model, "loss_per_epoch_"):
        result["losses"] = _hash(tidy(model.loss_per_epoch_))
    return {name: value for name, value in result.items() if value is not None}


def _votes(model: Any) -> tuple[Any, ...]:
    """The stored weight vectors of a vote."""
    rows = model.support_
    return (
        rows.toarray() if sp.issparse(rows) else rows,
        model.model_.support.steps,
        model.mistake_rows_,
        model.survived_,
    )


def _scores_are_exact(learner: str, case: Case) -> bool:
    """Whether scores are the same on every CPU.

    Linear learners sum in a fixed order. Matrix products, which give the scores of votes and of the kernel perceptron, do
    not: these scores are the same only if all numbers are whole, because then nothing is rounded.
    """
    if learner != "KernelPerceptron":
        return not (learner == "VotedPerceptron" and case.data.startswith("noise"))
    settings = case.parameters
    whole_steps = settings.get("multiclass", "max") in ("max", "all", "ovr") or case.data == "whole three"
    return (
        case.data.startswith(("whole", "worked"))
        and whole_steps
        and settings.get("kernel", "poly") in ("poly", "linear", "own", "precomputed")
        and settings.get("readout") != "average"
        and not settings.get("normalize")
        and "budget" not in settings
    )


def _same(numbers: Any) -> Any:
    return numbers


def _rounded(numbers: Any) -> Any:
    """Round to nine digits of the largest number: the last bits of exponentials and normal numbers depend on the C library.

    More digits would not find more errors, but more numbers would be close to a rounding limit.
    """
    largest = float(np.abs(numbers).max(initial=0.0)) or 1.0
    return np.round(np.asarray(numbers, dtype=np.float64) / largest, 9) + 0.0


def _hash(*arrays: Any) -> str:
    digest = hashlib.sha256()
    for array in map(np.ascontiguousarray, arrays):
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()[:16]


def _hash_labels(labels: list[Any]) -> str:
    return hashlib.sha256(json.dumps(labels).encode()).hexdigest()[:16]


def main() -> None:
    """Print all records without rounding as JSON, with the path of the library that made them."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--data", default="", help="a folder with the file a9a, for more cases")
    chosen = parser.parse_args()
    records: dict[str, Any] = {}
    for learner in (*LEARNERS, *OWN_RULES):
        records[learner] = {}
        for name, case in cases(learner, chosen.data).items():
            try:
                records[learner][name] = record(learner, case, chosen.data, exact=True)
            except Exception as error:  # noqa: BLE001 - one case that fails must not hide the others
                records[learner][name] = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps({"library": str(Path(rb.__file__).parent), "records": records}))


if __name__ == "__main__":
    main()
