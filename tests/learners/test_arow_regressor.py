"""AROW for regression: a variance for each weight, or recursive least squares with the full matrix."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rosenblatt import AROWRegressor
from tests import oracles
from tests.helpers import csr, examples, last_weights
from tests.test_regression import integer_targets, line


def follow(r, X, y, *, full, epochs=1, weight=None, bias=True):
    """The published algorithm; the weights with the bias last, and the variances."""
    w, sigma = np.zeros(X.shape[1] + 1), np.eye(X.shape[1] + 1)
    for _ in range(epochs):
        for i, x in enumerate(X):
            c = 1.0 if weight is None else weight[i]
            z = np.append(x, float(bias))
            along = sigma @ z
            if c == 0 or z @ along == 0:
                continue
            beta = 1.0 / (z @ along + r / c)
            w += (y[i] - oracles.scores(w[None], x)[0]) * beta * along
            sigma -= beta * np.outer(along, along)
            if not full:
                sigma = np.diag(np.diag(sigma))
    return w, sigma


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
@examples(40)
@given(problem=integer_targets(), r=st.sampled_from([0.1, 1.0, 7.0]), sparse=st.booleans())
def test_the_published_algorithm(covariance, problem, r, sparse):
    X, y, weight, bias = problem
    model = AROWRegressor(
        r=r, covariance=covariance, max_iter=2, tol=None, shuffle=False, fit_intercept=bias
    ).fit(csr(X) if sparse else X, y, sample_weight=weight)  # fmt: skip
    w, sigma = follow(r, X, y, full=covariance == "full", epochs=model.n_iter_, weight=weight, bias=bias)
    np.testing.assert_allclose(last_weights(model)[0], w, rtol=1e-7, atol=1e-9)
    if covariance == "diagonal":
        variances, own = model.model_.memory.content(X.shape[1])
        np.testing.assert_allclose(np.append(variances, own), np.diag(sigma), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("r", [0.5, 10.0])
def test_one_pass_of_the_full_matrix_is_ridge_regression(r):
    X, y = line(50, 4)
    model = AROWRegressor(r=r, covariance="full").partial_fit(X, y)
    Z = np.column_stack([X, np.ones(50)])
    u = np.linalg.solve(Z.T @ Z + r * np.eye(5), Z.T @ y)
    np.testing.assert_allclose(last_weights(model)[0], u, rtol=1e-9)


@examples(20)
@given(st.integers(0, 10**6), st.sampled_from([0.3, 1.0, 20.0]))
def test_the_weighted_loss_is_the_smallest_of_ridge_regression(seed, r):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    model, sigma, total = AROWRegressor(r=r, covariance="full"), np.eye(4), 0.0
    for x, target in zip(X, y, strict=True):
        z = np.append(x, 1.0)
        variance = z @ sigma @ z
        total += r * (target - model.learn_one(x, target)) ** 2 / (variance + r)
        sigma -= np.outer(sigma @ z, sigma @ z) / (variance + r)
    Z = np.column_stack([X, np.ones(40)])
    u = np.linalg.solve(Z.T @ Z + r * np.eye(4), Z.T @ y)
    assert total == pytest.approx(((y - Z @ u) ** 2).sum() + r * (u @ u), rel=1e-9)


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_the_unit_of_the_target_does_not_matter(covariance):
    X, y = line(50, 4)
    small, large = (AROWRegressor(covariance=covariance).partial_fit(X, unit * y) for unit in (1.0, 1024.0))
    assert np.array_equal(1024.0 * small.coef_, large.coef_)
    assert np.array_equal(1024.0 * small.predict(X), large.predict(X))
