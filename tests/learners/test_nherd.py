"""NHERD: the steps of AROW, and variances that shrink faster."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rosenblatt import AROW, NHERD
from rosenblatt.learners.nherd import step
from tests import oracles
from tests.helpers import SCHEMES, blobs, csr, examples, fitted, followed, integer_runs, last_weights

COVARIANCES = ("diagonal", "full")


def published(X, y, C, full, epochs=1):
    """The algorithm for two classes as the paper prints it; the last feature is the bias."""
    Z = np.hstack([X, np.ones((len(X), 1))])
    w, sigma = np.zeros(Z.shape[1]), np.eye(Z.shape[1])
    for _ in range(epochs):
        for z, sign in zip(Z, np.where(y == 1, 1.0, -1.0), strict=True):
            margin, variance = sign * (w @ z), z @ sigma @ z
            if margin < 1:
                w = w + sign * (1 - margin) / (variance + 1 / C) * (sigma @ z)
                sigma = sigma - np.outer(sigma @ z, sigma @ z) * (C**2 * variance + 2 * C) / (1 + C * variance) ** 2
                sigma = sigma if full else np.diag(sigma.diagonal())
    return w, sigma


def rule(C):
    """The same factors for the oracle with many classes, weights and starting weights."""

    def factors(m, wrong, v, k):
        c = C * k
        return ((1 - m) / (v + 1 / c), (c * c * v + 2 * c) / (1 + c * v) ** 2) if m < 1 else (0.0, 0.0)

    return factors


def check(model, run):
    np.testing.assert_allclose(last_weights(model), run.W, rtol=1e-9, atol=1e-11)
    assert (model.mistakes_, model.updates_) == (run.mistakes, run.updates)


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("C", [0.1, 1.0, 7.0])
@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_the_published_algorithm(covariance, C, seed):
    X, y = blobs(70, 6, seed=seed)
    w, sigma = published(X, y, C, covariance == "full", epochs=2)
    for form in (X, csr(X)):
        model = NHERD(C=C, covariance=covariance, max_iter=2, tol=None, shuffle=False).fit(form, y)
        np.testing.assert_allclose(last_weights(model)[0], w, rtol=1e-9, atol=1e-11)
        kept = model.model_.memory.content(6)
        if covariance == "full":  # the bias comes first
            order = [*range(1, 7), 0]
            np.testing.assert_allclose(kept[0][0][np.ix_(order, order)], sigma, rtol=1e-8, atol=1e-12)
        else:
            np.testing.assert_allclose(np.append(kept[0], kept[1]), sigma.diagonal(), rtol=1e-9)


@examples(40)
@given(problem=integer_runs(), C=st.sampled_from([0.2, 1.0, 5.0]), sparse=st.booleans())
def test_sample_weights_and_starting_weights(problem, C, sparse):
    model = fitted(NHERD(C=C), problem, sparse)
    run = followed(model, rule(C), problem, oracles.learn_second_order)
    np.testing.assert_allclose(last_weights(model), run.W, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("covariance", COVARIANCES)
def test_many_classes(scheme, covariance):
    X, y = blobs(60, 6, 4, seed=2)
    run = oracles.learn_second_order(rule(0.5), X, y, classes=4, scheme=scheme, epochs=2, full=covariance == "full")
    model = NHERD(C=0.5, multiclass=scheme, covariance=covariance, max_iter=2, tol=None, shuffle=False)
    check(model.fit(X, y), run)
    check(model.fit(csr(X), y), run)


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("classes", [2, 3])
def test_the_average(covariance, classes):
    X, y = blobs(60, 6, classes, seed=3)
    weight = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 2.0], 60)
    model = NHERD(covariance=covariance, readout="average", max_iter=2, tol=None, shuffle=False)
    model.fit(X, y, sample_weight=weight)
    run = oracles.learn_second_order(
        rule(1.0), X, y, classes=classes, epochs=2, full=covariance == "full", weight=weight
    )
    np.testing.assert_allclose(np.hstack([model.coef_, model.intercept_[:, None]]), run.average(), rtol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_the_update_is_the_optimal_map_of_the_gaussian(seed):
    """The problem that the paper solves: a small change of the weights and a small bound on the loss after it.

    It is convex in the new mean and in the matrix A of the map, so a local minimum is the solution.
    """
    rng = np.random.default_rng(seed)
    d, C = 4, float(rng.choice([0.3, 1.0, 4.0]))
    root = rng.normal(size=(d, d))
    sigma, mean, x = root @ root.T + 0.1 * np.eye(d), 0.1 * rng.normal(size=d), rng.normal(size=d)
    inverse, margin, variance = np.linalg.inv(sigma), mean @ x, x @ sigma @ x
    assert margin < 1

    def cost(new, A):
        moved = (new - mean) @ inverse @ (new - mean) + np.trace((A - np.eye(d)).T @ inverse @ (A - np.eye(d)) @ sigma)
        return moved + C * (max(0.0, 1 - x @ new) ** 2 + x @ A @ sigma @ A.T @ x)

    alpha, beta = step(margin, variance, 1.0, C)
    new, A = mean + alpha * sigma @ x, np.eye(d) - np.outer(sigma @ x, x) / (variance + 1 / C)
    np.testing.assert_allclose(
        A @ sigma @ A.T, sigma - beta * np.outer(sigma @ x, sigma @ x), rtol=1e-9, atol=1e-12 * np.abs(sigma).max()
    )
    best = cost(new, A)
    for _ in range(300):
        other = new + 1e-3 * rng.normal(size=d), A + 1e-3 * rng.normal(size=(d, d))
        assert cost(*other) >= best


numbers = st.floats(1e-3, 1e3)


@examples(200)
@given(margin=st.floats(-1e3, 0.999), variance=numbers, C=numbers)
def test_the_step_is_that_of_arow_and_the_variance_smaller(margin, variance, C):
    """The factor of the variance is the square of AROW's: v / (1 + C v)² instead of v / (1 + C v)."""
    alpha, beta = step(margin, variance, 1.0, C)
    assert alpha == pytest.approx((1 - margin) / (variance + 1 / C), rel=1e-12)
    left = variance - beta * variance**2
    assert left == pytest.approx(variance / (1 + C * variance) ** 2, rel=1e-6, abs=1e-12 * variance)


@examples(200)
@given(
    margin=st.floats(-1e6, 2.0),
    variance=st.floats(1e-300, 1e10),
    weight=st.sampled_from([1e-300, 0.5, 1.0, 1e10]),
    C=st.sampled_from([1e-300, 1e-10, 1.0, 1e10, 1e154, 1e300, 1.7e308]),
)
def test_steps_stay_finite_and_variances_positive(margin, variance, weight, C):
    alpha, beta = step(margin, variance, weight, C)
    assert 0 <= alpha < math.inf
    assert 0 <= beta < math.inf
    assert beta * variance <= 1 + 1e-12, "a variance never becomes negative"


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("C", [1e-300, 1e-12, 1e12, 1e300])
@pytest.mark.parametrize("classes", [2, 3])
def test_extreme_c_keeps_the_model_finite(covariance, C, classes):
    X, y = blobs(200, 4, classes, seed=3)
    model = NHERD(C=C, covariance=covariance).partial_fit(X, y, classes=range(classes))
    assert np.isfinite(last_weights(model)).all()
    assert all(np.isfinite(array).all() for array in model.model_.memory.content(4))


def test_two_steps_by_hand():
    """The first example is (1, 2) with the bias: v = 6, c = 1 / (6 + 1/2) = 2 / 13, beta = 2/13 (2 - 12/13) = 28 / 169."""
    first = NHERD(C=2.0).partial_fit([[1.0, 2.0]], [1], classes=[0, 1])
    c, beta = Fraction(2, 13), Fraction(28, 169)
    assert first.coef_[0].tolist() == pytest.approx([float(c), float(2 * c)], rel=1e-15)
    assert first.intercept_[0] == pytest.approx(float(c), rel=1e-15)
    sigma, bias = first.model_.memory.content(2)
    assert [*sigma, *bias] == pytest.approx([float(1 - beta), float(1 - 4 * beta), float(1 - beta)], rel=1e-14)
    # The second is (2, 0) of the other class: score 2 · 2/13 + 2/13 = 6/13, with the variances 141/169 and 141/169.
    second = first.partial_fit([[2.0, 0.0]], [0])
    v = 5 * (1 - beta)
    alpha = (1 + Fraction(6, 13)) / (v + Fraction(1, 2))
    w = [c - 2 * alpha * (1 - beta), 2 * c]
    assert second.coef_[0].tolist() == pytest.approx([float(one) for one in w], rel=1e-14)
    assert second.intercept_[0] == pytest.approx(float(c - alpha * (1 - beta)), rel=1e-14)


def test_sample_weights_multiply_c():
    X, y = [[1.0, 2.0]], [1]
    once = NHERD(C=1.0).partial_fit(X, y, classes=[0, 1], sample_weight=[3.0])
    assert np.array_equal(once.coef_, NHERD(C=3.0).partial_fit(X, y, classes=[0, 1]).coef_)


def test_the_first_step_is_that_of_arow():
    X, y = [[1.0, 2.0]], [1]
    ours, theirs = (model.partial_fit(X, y, classes=[0, 1]) for model in (NHERD(C=0.25), AROW(r=4.0)))
    assert np.array_equal(ours.coef_, theirs.coef_)
    assert (ours.model_.memory.content(2)[0] < theirs.model_.memory.content(2)[0]).all()


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, "big", None, True])
def test_c_must_be_positive(value):
    with pytest.raises(ValueError, match=rf"`C` of NHERD must be a number greater than 0; got {value!r}\. Smaller"):
        NHERD(C=value).fit([[0.0], [1.0]], [0, 1])
