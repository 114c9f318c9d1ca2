"""Shared by several test files: the learners, random problems, and the complete state of a model."""

import contextlib
import copy
import dataclasses
import inspect
import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import rosenblatt as rb
from rosenblatt import learners
from rosenblatt.engine.cache import cache_folder
from tests import oracles


def compiled_loops(folder):
    """Fill a cache folder with the loops that are compiled already, without the rules."""
    shutil.copytree(cache_folder(), folder / cache_folder().name, ignore=shutil.ignore_patterns("rule_*", "*.tmp"))


FAST = os.environ.get("ROSENBLATT_TESTS") == "fast"
"""Whether this is `make fast`, which runs a tenth of the random examples."""

SCHEMES = ("max", "all", "uniform", "proportional", "ovr")
ON_ZERO = ("update", "positive", "keep")

STREAMING = {
    "Perceptron": rb.Perceptron(),
    "Perceptron-positive": rb.Perceptron(on_zero="positive", fit_intercept=False, eta0=0.3),
    "AveragedPerceptron": rb.AveragedPerceptron(),
    "VotedPerceptron": rb.VotedPerceptron(),
    "MarginPerceptron": rb.MarginPerceptron(b=0.75),
    "PA": rb.PassiveAggressive(variant="PA"),
    "PA-I": rb.PassiveAggressive(variant="PA-I", C=0.3),
    "PA-II": rb.PassiveAggressive(variant="PA-II", C=0.7, fit_intercept=False),
    "PA-average": rb.PassiveAggressive(C=0.3, readout="average"),
    "ROMMA": rb.ROMMA(),
    "ROMMA-aggressive": rb.ROMMA(variant="aggressive", readout="average"),
    "ALMA": rb.ALMA(),
    "ALMA-average": rb.ALMA(alpha=0.5, readout="average", fit_intercept=False),
    "SOP": rb.SecondOrderPerceptron(a=0.5),
    "SOP-full": rb.SecondOrderPerceptron(covariance="full", fit_intercept=False),
    "AROW": rb.AROW(r=0.7),
    "AROW-full": rb.AROW(covariance="full", readout="average"),
    "SCW-I": rb.SoftConfidenceWeighted(C=0.5),
    "SCW-II": rb.SoftConfidenceWeighted(variant="SCW-II", phi=0.7, readout="average"),
    "Winnow": rb.Winnow(),
    "Winnow-balanced": rb.Winnow(balanced=True, eta=0.1),
    "Perceptron-l1": rb.Perceptron(penalty="l1", alpha=0.01),
    "PA-l2": rb.PassiveAggressive(C=0.3, penalty="l2", alpha=0.2, fit_intercept=False),
    "AveragedPerceptron-elasticnet": rb.AveragedPerceptron(penalty="elasticnet", alpha=0.3, l1_ratio=0.1, eta0=0.5),
}
WHOLE_SET = {
    "PocketPerceptron": rb.PocketPerceptron(max_iter=5),
    "BatchPerceptron": rb.BatchPerceptron(max_iter=20),
    "BatchPerceptron-line-search": rb.BatchPerceptron(max_iter=20, variant="line-search"),
}
OF_THEIR_OWN = {"KernelPerceptron", "ParallelPerceptron"}
"""Learners without one weight per feature and class; they have their own tests."""

_NAMED = {type(model).__name__ for model in (STREAMING | WHOLE_SET).values()}
for _name in sorted(set(learners.classes()) - OF_THEIR_OWN - _NAMED):
    _learner = getattr(rb, _name)
    _models = STREAMING if hasattr(_learner, "partial_fit") else WHOLE_SET
    _models[_name] = _learner()
    if "covariance" in inspect.signature(_learner).parameters:
        _models[f"{_name}-full"] = _learner(covariance="full")
LEARNERS = STREAMING | WHOLE_SET
"""One or more learners of every class, with default parameters if not listed above. Use `sklearn.base.clone`."""

SECOND_ORDER = {
    name: model for name, model in LEARNERS.items() if "variance" in inspect.signature(model._step).parameters
}
"""Learners that keep a variance for each weight."""

ONE_OF_EACH = {type(model).__name__: name for name, model in reversed(LEARNERS.items())}.values()
"""One name for each class, for tests that do not depend on parameters."""

LOOPS = ("Perceptron", "Perceptron-l1", "Winnow-balanced", "ALMA", "AROW", "AROW-full")
"""One name for each kind of loop, for tests of the loops rather than the rules, such as float32."""

AVERAGED = ("AveragedPerceptron", "AveragedPerceptron-elasticnet", "ROMMA-aggressive", "SCW-II")
"""One name for each kind of loop with averages."""


def examples(count):
    """Number of random examples to run."""
    return settings(max_examples=max(3, count // 10) if FAST else count)


def blobs(n=60, features=5, classes=2, seed=0, dtype=np.float64):
    """Real-valued examples that are not quite linearly separable."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % classes)
    X = rng.normal(size=(n, features)) + 1.2 * rng.normal(size=(classes, features))[y]
    X[rng.random((n, features)) < 0.2] = 0.0
    return np.ascontiguousarray(X, dtype=dtype), y


def csr(X, index=np.int32):
    """The same matrix as CSR with indices of the given type."""
    S = sp.csr_array(X)
    S.indptr, S.indices = S.indptr.astype(index), S.indices.astype(index)
    return S


def _dense(rows):
    return rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows)


def frozen(value):
    """An immutable copy of a value that can be compared."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tolist() if value.dtype == object else value.tobytes()
    if isinstance(value, dict):
        return {key: frozen(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [frozen(part) for part in value]
    if dataclasses.is_dataclass(value):
        return type(value).__name__, {f.name: frozen(getattr(value, f.name)) for f in dataclasses.fields(value)}
    return copy.deepcopy(value)


def memory(estimator):
    """The complete state of an estimator as a dict of bytes and plain values: equal if and only if nothing differs."""
    facts = {f"parameter {name}": repr(value) for name, value in estimator.get_params().items()}
    model = getattr(estimator, "model_", None)
    for name, value in vars(estimator).items():
        if name.endswith("_") and name != "model_":
            facts[f"attribute {name}"] = frozen(value)
    return facts if model is None else facts | model_memory(model)


def model_memory(model, scratch=False):
    """The state of the model inside an estimator, without the scratch space of a pass unless `scratch`."""
    state, d = model.state, model.n_features
    counters = state.counters.copy()
    counters.position = counters.logged = 0
    facts = {
        "classes": list(model.classes),
        "class_number": dict(model.class_number),
        "features": None if model.features is None else dict(model.features),
        "n_features": d,
        "counters": counters.tobytes(),
    }
    for name in ("w", "v", "u"):
        facts[name] = getattr(state, name)[:d].tobytes()
    for name in ("bias", "v_bias", "u_bias"):
        facts[name] = getattr(state, name).tobytes()
    for number, array in enumerate(model.memory.content(d)):
        facts[f"memory {number}"] = array.tobytes()
    if model.support is not None:
        support = model.support
        rows = _dense(support.rows).astype(model.dtype)
        facts |= {
            "support rows": rows[support.entries][:, :d].tobytes(),
            "support ages": support.ages.tobytes(),
            "support steps": support.steps.tobytes(),
            "support start": None if support.start_coef is None else support.start_coef[:, :d].tobytes(),
            "support start bias": support.start_bias.tobytes(),
            "support start age": support.start_age,
        }
    return facts


def differences(a, b):
    """The names of the entries in which two states differ; empty if they are equal bit for bit."""
    return sorted(name for name in a.keys() | b.keys() if a.get(name) != b.get(name))


def assert_same_model(a, b):
    assert differences(model_memory(a.model_), model_memory(b.model_)) == []


@st.composite
def integer_problems(draw, classes=2, low=-3, max_rows=10, max_features=11):
    """X and y with integer values; every class occurs."""
    n = draw(st.integers(classes, max_rows))
    d = draw(st.integers(1, max_features))
    X = draw(arrays(np.int64, (n, d), elements=st.integers(low, 3))).astype(float)
    y = draw(arrays(np.int64, n, elements=st.integers(0, classes - 1)))
    y[draw(st.permutations(range(n)))[:classes]] = np.arange(classes)
    return X, y


@st.composite
def integer_runs(draw, classes=2, max_rows=10, on_zero=ON_ZERO):
    """A problem and its settings: sample weights, starting weights, the convention at zero, the bias."""
    X, y = draw(integer_problems(classes, max_rows=max_rows))
    vectors = 1 if classes == 2 else classes
    weight = draw(st.none() | arrays(np.int64, len(X), elements=st.integers(0, 3)))
    if weight is not None:
        weight = weight.astype(float)
        weight[0] = max(weight[0], 1.0)
    bias = draw(st.booleans())
    word = draw(st.sampled_from(on_zero))
    W = None
    if word == "keep" or draw(st.booleans()):
        W = draw(arrays(np.int64, (vectors, X.shape[1] + 1), elements=st.integers(-2, 2))).astype(float)
        W[0, 0] = W[0, 0] or 1.0
        W[:, -1] *= bias
    return {
        "X": X,
        "y": y,
        "classes": classes,
        "weight": weight,
        "bias": bias,
        "W": W,
        "on_zero": word,
        "epochs": draw(st.integers(1, 4)),
    }


def fitted(estimator, run, sparse=False):
    """Fit an estimator on a run of `integer_runs`, in the given order."""
    parameters = {"on_zero": run["on_zero"], "fit_intercept": run["bias"], "max_iter": run["epochs"]}
    names = estimator.get_params()
    parameters |= {name: value for name, value in (("tol", None), ("shuffle", False)) if name in names}
    W = run["W"]
    return estimator.set_params(**parameters).fit(
        csr(run["X"]) if sparse else run["X"],
        run["y"],
        coef_init=None if W is None else W[:, :-1],
        intercept_init=None if W is None else W[:, -1],
        sample_weight=run["weight"],
    )


def followed(estimator, step, run, learn=oracles.learn, **kwargs):
    """The oracle's run for as many epochs as the estimator took, which must have had a reason to stop before its last."""
    oracle = learn(step, **(run | {"epochs": estimator.n_iter_}), **kwargs)
    if estimator.n_iter_ < run["epochs"] and oracle.mistakes_per_epoch[-1] != 0:
        *earlier, last = oracle.epoch_ends
        assert any(np.array_equal(W, last) for W in earlier), "neither done nor in a cycle"
        assert estimator.certificate_.status == "inseparable"
    return oracle


def last_weights(estimator):
    """The last weights of a run, whatever its readout, with the bias in the last column."""
    model = estimator.model_
    w, bias = model.last()
    w = w[: model.n_features]
    w = w[None, :] if w.ndim == 1 else w[:, : model.vectors].T
    return np.hstack([w, bias[:, None]])


@contextlib.contextmanager
def unreadable(path):
    """A copy of a file without read permission. Root could read it anyway and therefore becomes the user nobody."""
    me, nobody = os.geteuid(), 65534
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        hidden = Path(shutil.copy(path, folder))
        hidden.chmod(0)
        if me == 0:
            os.seteuid(nobody)
        try:
            yield hidden
        finally:
            os.seteuid(me)
