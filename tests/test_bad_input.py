"""Bad input raises a clear error, and the model stays the same bit for bit."""

import contextlib
import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import rosenblatt as rb
from rosenblatt.model.matrix import Table
from tests.helpers import LEARNERS, ONE_OF_EACH, SECOND_ORDER, STREAMING, blobs, csr, differences, memory

EACH = pytest.mark.parametrize("name", ONE_OF_EACH)
EACH_STREAMING = pytest.mark.parametrize("name", [name for name in ONE_OF_EACH if name in STREAMING])
ALL_CLASSES = list(dict.fromkeys(type(model) for model in LEARNERS.values()))


def before_fit(name, classes=3):
    """A fitted estimator with some history, and its training data."""
    X, y = blobs(40, 4, classes, seed=1)
    model = clone(LEARNERS[name]).set_params(
        max_iter=2, **({"tol": None} if "tol" in LEARNERS[name].get_params() else {})
    )
    return model.fit(X, y), X, y


def spoiled(X, value, row=17, column=2):
    wrong = X.copy()
    wrong[row, column] = value
    return wrong


SMALL_WEIGHTS = {"PA-average", "ROMMA", "ROMMA-aggressive", "ALMA-average", *SECOND_ORDER} - {"SCW-I", "SCW-II"}
"""Learners whose weights may stay so small that every finite row has a finite score."""

FORMS = {"dense": lambda X: X, "sparse": csr, "strided": np.asfortranarray}


@contextlib.contextmanager
def may_overflow():
    """If the block raises an error, its cause is a score that overflows."""
    try:
        yield
    except ValueError as error:
        if "so large that its score overflows" not in str(error):
            raise


def refuses(model, call, message, error=ValueError):
    """The call raises this error and changes nothing."""
    before = memory(model)
    with pytest.raises(error, match=message):
        call()
    assert differences(memory(model), before) == []


# ---- values ----


@EACH
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("value", "word"), [(np.nan, "NaN"), (np.inf, r"infinity \(inf\)"), (-np.inf, r"infinity \(-inf\)")]
)
def test_nan_and_infinity_are_refused(name, form, value, word):
    model, X, y = before_fit(name)
    wrong = FORMS[form](spoiled(X, value))
    message = rf"must be finite numbers; row 17, feature 2 is {word}.*SimpleImputer"
    refuses(model, lambda: model.fit(wrong, y), message)
    refuses(model, lambda: model.predict(wrong), message)
    refuses(model, lambda: model.decision_function(wrong), message)
    if hasattr(model, "partial_fit"):
        refuses(model, lambda: model.partial_fit(wrong, y), message)
        refuses(
            model, lambda: model.learn_one(spoiled(X, value)[17], int(y[17])), rf"finite numbers; .*feature 2 is {word}"
        )
    assert model.predict(X).shape == (40,)


@EACH
def test_a_bad_value_is_refused_even_in_an_example_of_weight_0(name):
    model, X, y = before_fit(name)
    weight = np.ones(40)
    weight[17] = 0
    refuses(model, lambda: model.fit(spoiled(X, np.nan), y, sample_weight=weight), "row 17, feature 2 is NaN")


@EACH
@pytest.mark.parametrize("form", FORMS)
def test_scores_that_overflow_are_refused(name, form):
    model, X, y = before_fit(name)
    wrong = X.copy()
    wrong[17] = [1e308, -1e308, 1e308, -1e308]
    wrong = FORMS[form](wrong)
    message = r"Row 17 of X has values so large that its score overflows; the largest is 1e\+308\. Scale"
    if name in SMALL_WEIGHTS:  # such a row may have a finite score and be correct
        with may_overflow():
            scores = clone(model).fit(wrong, y).decision_function(FORMS[form](X))
            assert np.isfinite(scores).all()
    else:
        refuses(model, lambda: model.fit(wrong, y), message)
    if hasattr(model, "partial_fit") and name not in SMALL_WEIGHTS:
        refuses(model, lambda: model.partial_fit(wrong, y), message)
        refuses(model, lambda: model.learn_one(np.full(4, 1e308), 0), r"so large that its score overflows")
    rows = FORMS[form](np.vstack([np.tile([1e308, -1e308, 1e308, -1e308], (2, 1)), X[0]]))
    if name in SMALL_WEIGHTS:
        with may_overflow():
            assert np.isfinite(model.decision_function(rows)).all()
    else:
        with pytest.raises(ValueError, match="overflows"):
            model.decision_function(rows)


def test_weights_that_overflow_in_the_last_epoch_are_refused():
    model = rb.Perceptron(eta0=1e153, max_iter=1, tol=None, shuffle=False, fit_intercept=False)
    model.fit([[1.0], [-1.0]], [1, 0])
    refuses(model, lambda: model.fit([[1e158], [1.0]], [1, 0], coef_init=[1e150]), "overflows")


def test_float32_overflows_at_its_own_limit():
    X, y = blobs(20, 4, dtype=np.float32)
    wrong = X.copy()
    wrong[3] = [3e38, 3e38, 3e38, 3e38]
    model = rb.Perceptron(max_iter=2, tol=None).fit(X, y)
    refuses(model, lambda: model.fit(wrong, y), "overflows")
    refuses(model, lambda: model.partial_fit(wrong, y), "overflows")
    refuses(model, lambda: model.partial_fit(np.full((1, 4), 1e39), y[:1]), "infinity")


@EACH
@pytest.mark.parametrize("X", [[["a", "b", "c", "d"]] * 40, np.full((40, 4), None), np.full((40, 4), 1j)])
def test_values_that_are_not_numbers_are_refused(name, X):
    model, _, y = before_fit(name)
    refuses(model, lambda: model.fit(X, y), ".", (ValueError, TypeError))


# ---- shapes ----


@EACH
def test_empty_data_are_refused(name):
    model, X, y = before_fit(name)
    refuses(model, lambda: model.fit(X[:0], y[:0]), "0 sample")
    refuses(model, lambda: model.fit(csr(X)[:0], y[:0]), "0 sample")
    refuses(model, lambda: model.fit(X[:, :0], y), "0 feature")
    refuses(model, lambda: model.predict(X[:0]), "0 sample")
    if hasattr(model, "partial_fit"):
        refuses(model, lambda: model.partial_fit(X[:0], y[:0]), "0 sample")


@EACH
def test_mismatched_lengths_are_refused(name):
    model, X, y = before_fit(name)
    message = r"inconsistent numbers of samples.*40.*39"
    refuses(model, lambda: model.fit(X, y[1:]), message)
    refuses(model, lambda: model.fit(X, y, sample_weight=np.ones(39)), "sample_weight")
    if hasattr(model, "partial_fit"):
        refuses(model, lambda: model.partial_fit(X, y[1:]), message)
        refuses(model, lambda: model.partial_fit(X, y, sample_weight=np.ones(41)), "sample_weight")


@EACH
def test_a_wrong_number_of_features_is_refused(name):
    model, X, y = before_fit(name)
    for wrong in (X[:, :3], np.hstack([X, X]), csr(X[:, :3])):
        refuses(model, lambda wrong=wrong: model.predict(wrong), "features")
        if hasattr(model, "partial_fit"):
            refuses(model, lambda wrong=wrong: model.partial_fit(wrong, y), "features")
    refuses(model, lambda: model.predict(X[0]), "2D")
    refuses(model, lambda: model.fit(X[0], y[:4]), "2D")
    if hasattr(model, "learn_one"):
        refuses(model, lambda: model.learn_one(X[0, :3], 0), r"4 features.*shape \(3,\)")
        refuses(model, lambda: model.predict_one(X), r"4 features.*shape \(40, 4\)")


@EACH
def test_a_failed_fit_on_other_columns_changes_nothing(name):
    """scikit-learn stores the columns before validation; a failed fit must not keep them."""
    model, X, y = before_fit(name)
    other = np.hstack([X, X])
    refuses(model, lambda: model.fit(spoiled(other, np.nan), y), "NaN")
    refuses(model, lambda: model.fit(other, np.zeros(40)), "2 classes")
    refuses(model, lambda: model.fit(pd.DataFrame(spoiled(X, np.nan), columns=list("abcd")), y), "NaN")
    assert model.n_features_in_ == 4
    assert not hasattr(model, "feature_names_in_")
    assert model.predict(X).shape == (40,)


def test_a_new_estimator_is_not_fitted_after_a_failed_fit():
    X, y = blobs()
    for model in LEARNERS.values():
        fresh = clone(model)
        with pytest.raises(ValueError, match="NaN"):
            fresh.fit(spoiled(X, np.nan), y)
        with pytest.raises(NotFittedError, match="not fitted yet"):
            fresh.predict(X)
        assert not hasattr(fresh, "coef_")


# ---- labels ----


@EACH
def test_a_single_class_is_refused(name):
    model, X, _ = before_fit(name)
    message = rf"{type(model).__name__} must hold at least 2 classes; got 1 class.*partial_fit"
    refuses(model, lambda: model.fit(X, np.ones(40, int)), message)
    refuses(model, lambda: model.fit(X, ["yes"] * 40), message)


@EACH
def test_labels_of_mixed_types_are_refused(name):
    model, X, _ = before_fit(name)
    mixed = np.array([1, "one"] * 20, dtype=object)
    refuses(model, lambda: model.fit(X, mixed), r"(?i)labels? .*(one type|mix).*")
    if hasattr(model, "partial_fit"):
        refuses(model, lambda: model.partial_fit(X, mixed), r"(?i)labels? .*(one type|mix).*")
        refuses(model, lambda: model.partial_fit(X, np.array(["a", "b"] * 20)), r"one type.*'a' after 0.*Convert")
        refuses(model, lambda: model.learn_one(X[0], "a"), r"one type.*'a' after 0.*Convert")


@EACH
@pytest.mark.parametrize("y", [np.linspace(0, 1, 40), np.full(40, np.nan), np.zeros((40, 2), int), [None] * 40])
def test_invalid_labels_are_refused(name, y):
    model, X, _ = before_fit(name)
    refuses(model, lambda: model.fit(X, y), ".", (ValueError, TypeError))
    if hasattr(model, "partial_fit"):
        refuses(model, lambda: model.partial_fit(X, y), ".", (ValueError, TypeError))


# ---- weights ----


@EACH
@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.full(40, -1.0), "[Nn]egative"),
        (np.where(np.arange(40) == 3, -1.0, 1.0), "[Nn]egative"),
        (np.full(40, np.nan), "NaN"),
        (np.full(40, np.inf), "inf"),
        (np.zeros(40), r"(must not all be 0.*only zeros.*Leave sample_weight out|at least one non-zero)"),
        (np.ones((40, 2)), "1D"),
    ],
)
def test_bad_sample_weights_are_refused(name, weight, message):
    model, X, y = before_fit(name)
    refuses(model, lambda: model.fit(X, y, sample_weight=weight), message)


@EACH
def test_bad_starting_weights_are_refused(name):
    model, X, y = before_fit(name, classes=2)
    refuses(model, lambda: model.fit(X, y, coef_init=np.ones(5)), r"coef_init must have the shape \(1, 4\).*got \(5,\)")
    refuses(model, lambda: model.fit(X, y, coef_init=np.ones((2, 4))), r"coef_init must have the shape \(1, 4\)")
    refuses(model, lambda: model.fit(X, y, intercept_init=[1.0, 2.0]), r"intercept_init must hold 1 number.*got 2")
    refuses(model, lambda: model.fit(X, y, coef_init=[1, np.nan, 1, 1]), r"finite; got NaN or infinity.*Leave")
    refuses(model, lambda: model.fit(X, y, intercept_init=np.inf), "finite")


def test_bad_starting_weights_of_many_classes_are_refused():
    model, X, y = before_fit("Perceptron")
    refuses(model, lambda: model.fit(X, y, coef_init=np.ones(4)), r"shape \(3, 4\).*got \(4,\)")
    refuses(model, lambda: model.fit(X, y, intercept_init=1.0), r"3 number\(s\).*got 1")


# ---- parameters ----

POSITIVE = [
    (rb.Perceptron, "eta0"), (rb.AveragedPerceptron, "eta0"), (rb.VotedPerceptron, "eta0"), (rb.PocketPerceptron, "eta0"),
    (rb.MarginPerceptron, "eta0"), (rb.MarginPerceptron, "b"), (rb.PassiveAggressive, "C"), (rb.Winnow, "eta"),
    (rb.ALMA, "alpha"), (rb.ALMA, "C"),
    (rb.SecondOrderPerceptron, "a"), (rb.AROW, "r"), (rb.SoftConfidenceWeighted, "C"), (rb.SoftConfidenceWeighted, "phi"),
    (rb.BatchPerceptron, "alpha"), (rb.BatchPerceptron, "epsilon"),
]  # fmt: skip


@pytest.mark.parametrize(("learner", "parameter"), POSITIVE)
@pytest.mark.parametrize("value", [0, -1, -1e-9, np.nan, np.inf, "big", None, True])
def test_parameters_that_must_be_positive(learner, parameter, value):
    X, y = blobs(10, 2)
    model = learner(max_iter=2).set_params(**{parameter: value})
    message = (
        rf"`{parameter}` of {learner.__name__} must be a number greater than 0( and at most 1)?; got {value!r}\. \w+"
    )
    refuses(model, lambda: model.fit(X, y), message)
    if hasattr(model, "partial_fit"):
        refuses(model, lambda: model.partial_fit(X, y), message)
        refuses(model, lambda: model.learn_one({"a": 1}, 0), message)


@pytest.mark.parametrize("learner", ALL_CLASSES)
@pytest.mark.parametrize("value", [0, -3, 2.5, "many", None, True])
def test_parameters_that_must_be_counts(learner, value):
    X, y = blobs(10, 2)
    for parameter in ("max_iter", "n_iter_no_change", "max_support"):
        model = learner()
        if parameter not in model.get_params() or (parameter == "max_support" and value is None):
            continue
        model.set_params(**{parameter: value})
        none = "None or " if parameter == "max_support" else ""
        message = (
            rf"`{parameter}` of {learner.__name__} must be {none}a whole number of at least 1; got {value!r}\. \w+"
        )
        refuses(model, lambda model=model, message=message: model.fit(X, y), message)


WORDS = ("on_zero", "multiclass", "shuffle", "variant", "covariance", "readout")


@pytest.mark.parametrize(
    ("learner", "parameter"),
    [(learner, word) for learner in ALL_CLASSES for word in WORDS if word in learner().get_params()],
)
@pytest.mark.parametrize("value", ["sometimes", None, 3])
def test_parameters_with_a_list_of_choices(learner, parameter, value):
    X, y = blobs(10, 2)
    model = learner()
    model.set_params(**{parameter: value})
    message = rf"`{parameter}` of {learner.__name__} must be .*'.*; got {value!r}\. \S+"
    refuses(model, lambda: model.fit(X, y), message)


@pytest.mark.parametrize("tol", [-1e-3, "small", np.nan])
def test_a_bad_tol_is_refused(tol):
    refuses(
        model := rb.Perceptron(tol=tol),
        lambda: model.fit(*blobs(10, 2)),
        rf"`tol` of Perceptron must be None or a number of at least 0; got {tol!r}\. None trains",
    )


@pytest.mark.parametrize("fraction", [0, 1, -0.5, 1.5, "half", None])
def test_a_bad_validation_fraction_is_refused(fraction):
    refuses(
        model := rb.Perceptron(early_stopping=True, validation_fraction=fraction),
        lambda: model.fit(*blobs(10, 2)),
        rf"`validation_fraction` of Perceptron must be between 0 and 1; got {fraction!r}\. It is",
    )


def test_bad_parameters_do_not_change_a_fitted_estimator():
    model, X, y = before_fit("Perceptron")
    model.set_params(eta0=-1)
    refuses(model, lambda: model.fit(X, y), "eta0")
    refuses(model, lambda: model.partial_fit(X, y), "eta0")
    assert model.predict(X).shape == (40,)


def test_a_warm_start_on_other_data_is_refused():
    model, X, y = before_fit("Perceptron")
    model.set_params(warm_start=True)
    message = r"warm_start of Perceptron needs the classes and the number of features of the last fit.*got.*Make a new estimator"
    refuses(model, lambda: model.fit(X[:, :3], y), message)
    refuses(model, lambda: model.fit(X, y + 1), message)
    refuses(model, lambda: model.fit(X, y > 0), message)


def test_bad_class_weights_are_refused():
    model, X, y = before_fit("Perceptron")
    model.set_params(class_weight={0: 1.0, 7: 2.0})
    refuses(model, lambda: model.fit(X, y), "class_weight")
    model.set_params(class_weight="heavy")
    refuses(model, lambda: model.fit(X, y), "class_weight")


# ---- interrupts ----


@pytest.mark.parametrize(
    ("name", "call"),
    [(name, call) for name in ONE_OF_EACH for call in ("fit", "partial_fit") if hasattr(LEARNERS[name], call)],
)
@pytest.mark.parametrize("at", [0, 1, 4])
def test_an_interrupted_fit_changes_nothing(name, call, at, monkeypatch):
    model, _, _ = before_fit(name)
    X, y = blobs(400, 4, 3, seed=9)
    before = memory(model)
    whole, passed = Table.chunks, []

    def interrupted(self, order):
        for part in whole(self, order):
            passed.append(1)
            if len(passed) > at:
                raise KeyboardInterrupt
            yield part

    monkeypatch.setattr("rosenblatt.model.matrix.CHUNK_BYTES", 1)
    monkeypatch.setattr(Table, "chunks", interrupted)
    with pytest.raises(KeyboardInterrupt):
        getattr(model, call)(X, y)
    monkeypatch.undo()
    assert differences(memory(model), before) == []
    assert getattr(model, call)(X, y).score(X, y) > 0.2, "it can still be trained"


PROGRAM = """
import numpy as np, os, signal, sys, threading, time
from rosenblatt import AveragedPerceptron
rng = np.random.default_rng(0)
X, y = rng.normal(size=(20000, 50)), rng.integers(0, 2, 20000)
model = AveragedPerceptron(max_iter=1, tol=None).fit(X, y)
before = model.coef_.copy(), model.intercept_.copy(), model.mistakes_, model.n_iter_
model.set_params(max_iter=10**6)
signal.signal(signal.SIGINT, signal.default_int_handler)  # also where the parent ignores it, as in the background
threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    model.fit(X, y)
except KeyboardInterrupt:
    assert np.array_equal(model.coef_, before[0]) and np.array_equal(model.intercept_, before[1])
    assert (model.mistakes_, model.n_iter_) == before[2:]
    model.partial_fit(X, y)
    print("as before")
"""


@pytest.mark.skipif(os.name == "nt", reason="signals are different on Windows")
def test_ctrl_c_during_fit_changes_nothing():
    assert signal.SIGINT
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM)], capture_output=True, text=True, timeout=600, check=True
    )
    assert done.stdout.strip() == "as before"


# ---- not fitted ----


@EACH
def test_an_estimator_that_is_not_fitted_raises_not_fitted_error(name):
    model = clone(LEARNERS[name])
    X, _ = blobs()
    for call in (model.predict, model.decision_function):
        with pytest.raises(NotFittedError, match=rf"{type(model).__name__} instance is not fitted yet"):
            call(X)
    for attribute in ("coef_", "intercept_", "classes_", "mistakes_", "updates_", "support_", "n_iter_"):
        assert not hasattr(model, attribute)


def test_bad_rows_in_a_sparse_stream_change_nothing():
    for learner, model in STREAMING.items():
        X, y = blobs(50, 200, 2, seed=3)
        X[:, 6:] = 0
        fitted = clone(model).partial_fit(csr(X), y)
        wrong = sp.csr_array(([1.0, np.nan], [0, 150], [0, 1, 2]), shape=(2, 200))
        refuses(fitted, lambda f=fitted, w=wrong: f.partial_fit(w, [1, 0]), "row 1, feature 150 is NaN")
        assert learner
