"""`trace`: run a learner and record its steps."""

import dataclasses
import re
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rosenblatt.model.scores import positive_first
from rosenblatt.training.schedule import VisitingOrder

from .proof import find_comparator
from .recorder import BatchRecorder, Recorder, readout_of
from .sampling import Sample
from .steps import Floats, Trace

MISTAKE_DRIVEN = {"perceptron", "averaged", "voted", "pocket", "margin"}
"""The learners to which the squeeze of the proof applies."""

MOST_NUMBERS = 50_000_000
"""Limit on the total number of weights in the recorded steps."""


def trace(
    X: Any,
    y: ArrayLike,
    algorithm: str = "perceptron",
    max_iter: int = 1,
    init: ArrayLike | None = None,
    fit_intercept: bool = True,
    on_zero: str = "update",
    *,
    multiclass: str = "max",
    shuffle: bool | str = False,
    classes: ArrayLike | None = None,
    positive: Any = None,
    comparator: Any = "auto",
    limit: int | None = 200,
    **parameters: Any,
) -> Trace:
    """Run a learner and record every step.

    The `fit` of the learner runs one example at a time, so the final weights are exactly those of `fit`, bit for bit.

    Parameters
    ----------
    X : array, frame or CSR matrix of shape (n_examples, n_features)
        The examples.
    y : array of shape (n_examples,)
        Their labels: strings, integers or booleans; two classes or many.
    algorithm : str, default="perceptron"
        The learner: "perceptron", "averaged", "voted", "pocket", "batch", "margin", "passive-aggressive", "winnow",
        "parallel", "kernel", or the name of another estimator of the library.
    max_iter : int, default=1
        Largest number of passes over the data; a pass without a mistake ends the run.
    init : array of shape (n_features + 1,) or (n_classes, n_features + 1), default=None
        Weights to start from, the bias first (none without `fit_intercept`). Two classes have one row, for the positive class.
    fit_intercept : bool, default=True
        Whether there is a bias feature 1. A kernel run has none.
    on_zero : {"update", "positive", "keep"}, default="update"
        A score of exactly 0 counts as a mistake; as a prediction of the positive class; as correct.
    multiclass : {"max", "all", "uniform", "proportional", "ovr"}, default="max"
        Update rule for three or more classes.
    shuffle : bool or "replacement", default=False
        Whether the examples are visited in the given order, in a new order in each pass, or drawn at random.
    classes : array, default=None
        All classes, if some are missing in `y`. For a single label -1 or 1 the other one is added automatically.
    positive : label or None, default=None
        The class +1 of two classes. None: the second in sorted order, and + of signs written as text, such as "-" and "+".
    comparator : "auto", array or None, default="auto"
        The separator u of the squeeze: searched for if the data are small, given (bias first), or none.
    limit : int or None, default=200
        Largest number of steps to keep, at least 4: of a longer run the first, the last and mistakes in between. None keeps all.
    **parameters
        Other parameters of the learner, such as ``eta0``, ``C``, ``variant``, ``kernel`` or ``random_state``.

    Returns
    -------
    Trace

    Examples
    --------
    >>> from rosenblatt import trace
    >>> run = trace([[1, 1], [3, 2], [2, 3]], [-1, 1, -1], init=[-1, 0, 0], on_zero="positive")
    >>> print(run.to_text(columns="notes"))
    step  weights      score                  correct?  update
    ----  -----------  ---------------------  --------  -----------
    1     [-1, 0, 0]   -1·1 + 0·1 + 0·1 = -1  yes       none
    2     [-1, 0, 0]   -1·1 + 0·3 + 0·2 = -1  no        + [1, 3, 2]
    3     [0, 3, 2]    0·1 + 3·2 + 2·3 = 12   no        - [1, 2, 3]
    4     [-1, 1, -1]
    """
    name, learner = find_learner(algorithm)
    check_limit(limit)
    X, names = as_matrix(X)
    labels = np.asarray(y)
    if labels.shape != (X.shape[0],):
        raise ValueError(
            f"`y` of trace must have one label for each of the {X.shape[0]} examples; got the shape {labels.shape}. Pass a "
            "one-dimensional array."
        )
    check_size(X, labels, max_iter, limit)
    if name == "kernel":
        from .kernel import trace_kernel

        refuse(init, "init", "a kernel run has no starting weights: all coefficients start at 0")
        refuse(classes, "classes", "a kernel run takes the classes from y")
        settings = {
            "multiclass": multiclass,
            "on_zero": on_zero,
            "shuffle": shuffle,
            "max_iter": max_iter,
            "positive": positive,
            **parameters,
        }
        return trace_kernel(learner, settings, X, labels, Sample(limit))

    settings = {
        "max_iter": max_iter,
        "fit_intercept": fit_intercept,
        "on_zero": on_zero,
        "multiclass": multiclass,
        "positive": positive,
    }
    fields = {field.name for field in dataclasses.fields(learner)}
    settings.update({key: value for key, value in {"shuffle": shuffle, "tol": None}.items() if key in fields})
    settings.update(parameters)
    unknown = sorted(set(settings) - fields)
    if unknown:
        raise TypeError(
            f"The parameters of trace for algorithm={algorithm!r} must be those of {learner.__name__}; got {unknown[0]!r}. "
            f"Choose from {', '.join(sorted(fields))}."
        )
    if settings.get("early_stopping"):
        raise ValueError(
            "`early_stopping` of trace must be False, because a trace shows every example; got True. Use max_iter to stop."
        )
    if settings.get("penalty") is not None:
        raise ValueError(
            f"`penalty` of trace must be None, because a trace shows the updates of the rule alone; got {settings['penalty']!r}. "
            "Leave it out."
        )
    estimator = learner(**settings)
    if name == "parallel":
        refuse(init, "init", "the starting weights of a committee are random and depend on random_state")
    full_X, full_y, weight = with_all_classes(X, labels, classes)
    coef, intercept = split_init(init, X.shape[1], len(np.unique(full_y)), fit_intercept)
    if positive_first(np.unique(full_y), positive):  # `fit` takes the weights of the second class in sorted order
        coef, intercept = (None if part is None else -part for part in (coef, intercept))

    positive_first(np.unique(full_y), positive, "trace")  # before the search for a separator names another function

    known = weight is None or classes is None  # classes without an example have no margin
    has_proof = name in MISTAKE_DRIVEN and known and estimator.class_weight is None
    if len(np.unique(full_y)) > 2 and multiclass not in ("max", "uniform", "proportional"):
        has_proof = False
    found = find_comparator(X, labels, fit_intercept, comparator, positive) if has_proof else None
    watcher = BatchRecorder if name == "batch" else Recorder
    rate, threshold = float(getattr(estimator, "eta0", 1.0)), float(getattr(estimator, "b", 0.0))
    recorder = watcher(Sample(limit), found, rate, threshold, pocket=name == "pocket")
    if weight is not None and settings.get("shuffle"):
        recorder.order = VisitingOrder(shuffle, estimator.random_state)
    recorder.watch(
        estimator,
        lambda: estimator.fit(full_X, full_y, coef_init=coef, intercept_init=intercept, sample_weight=weight),
    )
    model = estimator.model_
    steps, note = recorder.sample.steps()
    assert recorder.start is not None
    return Trace(
        algorithm=name,
        classes=tuple(model.classes),
        features=((bias_name(names),) if fit_intercept else ()) + names,
        examples=int(X.shape[0]),
        epochs=int(estimator.n_iter_),
        total=recorder.sample.total,
        total_mistakes=int(estimator.mistakes_),
        total_updates=recorder.updates(estimator),
        start=recorder.start,
        weights=readout_of(model),
        steps=steps,
        kind="committee" if name == "parallel" else "weights" if model.rule.link == "identity" else "logarithms",
        comparator=found,
        formula="" if recorder.proof is None else recorder.proof.formula,
        bound=None if recorder.proof is None else recorder.proof.bound,
        survivors=tuple(recorder.survivors),
        note=note,
    )


def check_limit(limit: Any) -> None:
    """Raise an error for an invalid number of steps."""
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, (int, np.integer)) or limit < 4):
        raise ValueError(
            f"`limit` of trace must be a whole number of at least 4, or None for all steps; got {limit!r}. It is the number of "
            "steps of a long run to keep."
        )


def find_learner(algorithm: Any) -> tuple[str, Any]:
    """The short name of a learner and its class; "averaged", "AveragedPerceptron" and "averaged-perceptron" are the same."""
    from rosenblatt import learners

    known = {_short(name): name for name in learners.names()}
    name = _short(algorithm) if isinstance(algorithm, str) else ""
    if name == "sequence":
        raise ValueError(
            "A trace has rows of numbers; got 'sequence-perceptron', which learns sentences. Call `trace(sentence, tags)` of a "
            "tagger, or `rosenblatt trace --format conll`."
        )
    learner = learners.find(known[name]) if name in known else None
    if learner is None or (name != "kernel" and not hasattr(learner, "_new_model")):
        words = "perceptron, averaged, voted, pocket, batch, margin, passive-aggressive, winnow, parallel, kernel"
        raise ValueError(
            f"`algorithm` of trace must be the name of a learner; got {algorithm!r}. Choose one of {words}."
        )
    return name, learner


def _short(name: str) -> str:
    """``AveragedPerceptron`` as "averaged", ``PassiveAggressive`` as "passive-aggressive"."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower().replace("_", "-").replace(" ", "-")
    return words.removesuffix("-perceptron") or words


def as_matrix(X: Any) -> tuple[Any, tuple[str, ...]]:
    """The examples as a float array or CSR matrix, and the names of the features."""
    from sklearn.utils import check_array

    columns = getattr(X, "columns", None)
    matrix = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False)
    if columns is None:
        columns = [f"x{number}" for number in range(1, matrix.shape[1] + 1)]
    return matrix, tuple(str(name) for name in columns)


def bias_name(names: tuple[str, ...]) -> str:
    """Name of the bias: "1", or "bias" if a feature has that name; column names must be unique."""
    name = "bias" if "1" in names else "1"
    while name in names:
        name += "'"
    return name


def check_size(X: Any, y: Any, max_iter: Any, limit: int | None) -> None:
    """Raise an error for a trace that would not fit into memory."""
    vectors = len(np.unique(y))
    rows = X.shape[0] * max_iter if isinstance(max_iter, int) else X.shape[0]
    rows = rows if limit is None else min(limit, rows)
    numbers = rows * (X.shape[1] + 1) * (1 if vectors <= 2 else vectors)
    if numbers > MOST_NUMBERS:
        raise ValueError(
            f"A trace may keep {MOST_NUMBERS:,} weights at most; {rows:,} steps of {numbers // rows:,} weights are "
            f"{numbers:,}. Lower limit to {max(4, MOST_NUMBERS * rows // numbers):,}, or trace fewer features."
        )


def with_all_classes(X: Any, y: Any, classes: Any) -> tuple[Any, Any, Floats | None]:
    """Add an example of weight 0 for each class that is missing in `y`: the class takes part, the example is skipped."""
    present = np.unique(y)
    if classes is None:
        if len(present) > 1 or present[0] not in (-1, 1):
            return X, y, None
        classes = [False, True] if present.dtype == bool else [-1, 1]
    classes = np.unique(np.asarray(classes))
    if not np.isin(present, classes).all():
        raise ValueError(
            f"`classes` of trace must hold every label of y, which has {present.tolist()}; got {classes.tolist()}. Leave it out "
            "if y has all classes."
        )
    absent = np.setdiff1d(classes, present)
    if not len(absent):
        return X, y, None
    weight = np.concatenate([np.ones(len(y)), np.zeros(len(absent))])
    blank = np.zeros((len(absent), X.shape[1]), X.dtype)
    if hasattr(X, "tocsr"):
        from scipy.sparse import csr_matrix, vstack

        return vstack([X, csr_matrix(blank)], format="csr"), np.concatenate([y, absent]), weight
    return np.concatenate([X, blank]), np.concatenate([y, absent]), weight


def split_init(init: Any, features: int, classes: int, fit_intercept: bool) -> tuple[Floats | None, Floats | None]:
    """Split starting weights with the bias first into coef_init and intercept_init."""
    if init is None:
        return None, None
    vectors, width = (1 if classes <= 2 else classes), features + bool(fit_intercept)
    start = np.atleast_2d(np.asarray(init, dtype=np.float64))
    if start.shape != (vectors, width):
        shape = f"{width} numbers" if vectors == 1 else f"{vectors} rows of {width} numbers, one for each class"
        raise ValueError(
            f"`init` of trace must hold {shape}{', the bias first' if fit_intercept else ''}; got the shape "
            f"{np.shape(init)}. Leave it out to start from 0."
        )
    if not fit_intercept:
        return start, None
    return start[:, 1:], start[:, 0]


def refuse(value: Any, name: str, why: str) -> None:
    """Raise an error if an argument was given that is not allowed here."""
    if value is not None:
        raise ValueError(f"`{name}` of trace must be None here, because {why}; got {value!r}. Leave it out.")
