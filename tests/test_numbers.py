"""Numerical limits of the rules with more state than weights: no drift, no NaN, and errors change nothing."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone

import rosenblatt as rb
from tests.helpers import SECOND_ORDER, assert_same_model, blobs, csr, differences, last_weights, memory

RULES = {
    "SOP": rb.SecondOrderPerceptron(),
    "SOP-full": rb.SecondOrderPerceptron(covariance="full"),
    "AROW": rb.AROW(),
    "AROW-full": rb.AROW(covariance="full"),
    "SCW-I": rb.SoftConfidenceWeighted(),
    "SCW-I-full": rb.SoftConfidenceWeighted(covariance="full"),
    "SCW-II": rb.SoftConfidenceWeighted(variant="SCW-II"),
    "ROMMA": rb.ROMMA(),
    "ROMMA-aggressive": rb.ROMMA(variant="aggressive"),
    "ALMA": rb.ALMA(),
    "parallel": rb.ParallelPerceptron(),
}
RULES |= {
    name: model for name, model in SECOND_ORDER.items() if type(model) not in {type(one) for one in RULES.values()}
}
EACH = pytest.mark.parametrize("name", RULES)
EACH_OF_MANY = pytest.mark.parametrize("name", [name for name in RULES if name != "parallel"])
"""Learners for more than two classes."""
EACH_AND_CLASSES = pytest.mark.parametrize(
    ("name", "classes"), [(name, classes) for name in RULES for classes in (2, 3) if (name, classes) != ("parallel", 3)]
)
EACH_SECOND = pytest.mark.parametrize(
    "name", [name for name, model in RULES.items() if "variance" in inspect.signature(model._step).parameters]
)
CLASSES = pytest.mark.parametrize("classes", [2, 3])


def finite(model):
    assert np.isfinite(last_weights(model)).all()
    for array in model.model_.memory.content(model.n_features_in_):
        assert np.isfinite(array).all()


@EACH_AND_CLASSES
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_rows_of_zeros(name, classes, fit_intercept):
    X, y = blobs(60, 4, classes, seed=1)
    X[::3] = 0.0
    model = clone(RULES[name]).set_params(fit_intercept=fit_intercept)
    for form in (X, csr(X)):
        fresh = clone(model).partial_fit(form, y, classes=range(classes))
        finite(fresh)
        if not fit_intercept:
            some = X.any(axis=1)
            without = clone(model).partial_fit(X[some], y[some], classes=range(classes))
            assert np.array_equal(last_weights(fresh), last_weights(without)), "rows of zeros change nothing"


@EACH_AND_CLASSES
def test_constant_features(name, classes):
    """A column of ones beside the bias, one of thousands, and one of a single small value."""
    X, y = blobs(300, 3, classes, seed=2)
    X = np.hstack([X, np.ones((300, 1)), np.full((300, 1), 1000.0), np.full((300, 1), 1e-9)])
    model = clone(RULES[name]).set_params(max_iter=20, tol=None).fit(X, y)
    finite(model)
    assert_same_model(clone(model).fit(csr(X), y), model)


@EACH_SECOND
@CLASSES
def test_variances_that_shrink_to_0(name, classes):
    """One example many times, with alternating labels and huge values: the variance along it vanishes."""
    model = clone(RULES[name])
    X = np.array([[1e8, -1e8, 1e-8]] * 2000)
    model.partial_fit(X, np.arange(2000) % classes, classes=range(classes))
    finite(model)
    sigma = model.model_.memory.content(3)[0]
    if "full" in name:
        assert all(np.array_equal(matrix, matrix.T) for matrix in sigma), "symmetric to the last bit"
        assert all(np.linalg.eigvalsh(matrix).min() > -1e-9 for matrix in sigma)
    else:
        assert (sigma >= 0).all()
        assert sigma.reshape(3, -1)[:2, :classes].min() < 1e-10
    before = last_weights(model)
    model.partial_fit([[0.0, 0.0, 1.0]], [0])
    finite(model)
    assert before.shape == last_weights(model).shape


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
@pytest.mark.parametrize("variant", ["SCW-I", "SCW-II"])
@pytest.mark.parametrize("phi", [1e-300, 1e-8, 1e8, 1e100, 1e154, 1e300, 1.7e308])
@CLASSES
def test_very_large_and_very_small_phi(covariance, variant, phi, classes):
    X, y = blobs(200, 4, classes, seed=3)
    model = rb.SoftConfidenceWeighted(phi=phi, variant=variant, covariance=covariance)
    model.partial_fit(X, y, classes=range(classes))
    finite(model)


@pytest.mark.parametrize("r", [1e-100, 1e-12, 1e12, 1e300])
@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_very_large_and_very_small_r(r, covariance):
    X, y = blobs(200, 4, seed=3)
    finite(rb.AROW(r=r, covariance=covariance).partial_fit(X, y, classes=[0, 1]))
    finite(rb.SecondOrderPerceptron(a=r, covariance=covariance).partial_fit(X, y, classes=[0, 1]))


@EACH
@pytest.mark.parametrize("form", [np.asarray, csr], ids=["dense", "sparse"])
@pytest.mark.parametrize("value", [1e155, 1e308])
def test_squares_that_overflow_are_refused(name, form, value):
    X, y = blobs(40, 4, seed=1)
    model = clone(RULES[name]).partial_fit(X, y, classes=[0, 1])
    wrong = X.copy()
    wrong[17] = [value, -value, value, -value]
    y[17] = 1 - model.predict(wrong[17:18] / value)[0]  # a correct example may have any length
    before = memory(model)
    with pytest.raises(
        ValueError, match=r"Row 0 of X has values so large that its score overflows.*Scale the features"
    ):
        model.partial_fit(form(wrong[17:18]), y[17:18])
    assert differences(memory(model), before) == []
    with pytest.raises(ValueError, match="overflows"):
        model.learn_one(wrong[17], int(y[17]))
    assert differences(memory(model), before) == []
    assert np.isfinite(model.partial_fit(X, y).coef_).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["SOP", "AROW", "AROW-full", "SCW-I", "SCW-II", "ROMMA", "ROMMA-aggressive", "ALMA", "parallel"]
)
def test_ten_million_examples_stay_accurate(name):
    """A long noisy stream whose best answer changes half-way: weights stay finite, and accuracy no worse than guessing."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 4))
    u = np.array([1.0, -1.0, 2.0, 0.0])
    model = clone(RULES[name])
    for part in range(100):
        labels = (X @ (u if part < 50 else -u) + rng.normal(size=100_000) > 0).astype(int)
        before = model.mistakes_ if part else 0
        model.partial_fit(X, labels, classes=[0, 1])
        if part in (10, 49):
            assert model.mistakes_ - before < 35_000
    finite(model)
    assert model.examples_ == 10_000_000
    total = np.square(last_weights(model)).sum()
    if name in ("ROMMA", "ROMMA-aggressive", "ALMA"):
        assert model.model_.memory.content(4)[1].sum() == pytest.approx(total, rel=1e-3), "the stored sum is accurate"


def test_a_matrix_that_does_not_fit_in_memory_is_refused():
    X = csr(np.zeros((2, 20_000)))
    with pytest.raises(
        ValueError, match=r'covariance="full" keeps .* at most 2 GiB in all; got 20,000 .* 3\.0 GiB\. Use cov'
    ):
        rb.AROW(covariance="full").fit(X, [0, 1])
    model = rb.AROW(covariance="full").partial_fit(np.eye(3), [0, 1, 0])
    assert model.coef_.shape == (1, 3)


@EACH_OF_MANY
@pytest.mark.parametrize("scheme", ["max", "ovr"])
@pytest.mark.parametrize("value", [1e155, 1e308])
def test_a_refused_example_of_many_classes_changes_nothing(name, scheme, value):
    X, y = blobs(40, 4, 3, seed=1)
    model = clone(RULES[name]).set_params(multiclass=scheme).partial_fit(X, y, classes=range(3))
    refused = 0
    for label in range(3):
        for signs in ([1, 1, 1, 1], [1, -1, 1, -1], [-1, -1, -1, -1]):
            before = memory(model)
            reason = None
            try:
                model.learn_one(value * np.array(signs, dtype=float), label)
            except ValueError as error:
                reason = str(error)
            if reason is not None:
                assert "overflows" in reason
                assert differences(memory(model), before) == []
                refused += 1
    assert refused > 0
    finite(model)
