"""The second-order perceptron: the paper's two-vector form, its bound, and the diagonal."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rosenblatt import SecondOrderPerceptron
from tests import oracles
from tests.helpers import SCHEMES, blobs, csr, examples, fitted, followed, integer_runs, last_weights

COVARIANCES = ("diagonal", "full")


def paper(X, y, a, epochs=1):
    """The form of the paper: A and θ, with the current example included in the prediction. Integers stay exact."""
    A, theta, mistakes = a * np.eye(X.shape[1]), np.zeros(X.shape[1]), 0
    for _ in range(epochs):
        for x, label in zip(X, np.where(y == 1, 1, -1), strict=True):
            if label * (np.linalg.solve(A + np.outer(x, x), theta) @ x) <= 1e-12:
                A, theta, mistakes = A + np.outer(x, x), theta + label * x, mistakes + 1
    return np.linalg.solve(A, theta), mistakes


@pytest.mark.parametrize("a", [0.5, 1.0, 10.0])
@pytest.mark.parametrize("seed", range(5))
def test_agrees_with_the_form_of_the_paper(a, seed):
    X, y = blobs(60, 5, seed=seed)
    Z = np.hstack([X, np.ones((60, 1))])
    w, mistakes = paper(Z, y, a, epochs=2)
    model = SecondOrderPerceptron(a=a, covariance="full", max_iter=2, tol=None, shuffle=False).fit(X, y)
    np.testing.assert_allclose(last_weights(model)[0], w, rtol=1e-9, atol=1e-12)
    assert model.mistakes_ == model.updates_ == mistakes


@examples(50)
@given(problem=integer_runs(), a=st.sampled_from([0.5, 1.0, 4.0]), sparse=st.booleans())
def test_two_classes_with_a_diagonal_bit_for_bit(problem, a, sparse):
    model = fitted(SecondOrderPerceptron(a=a), problem, sparse)
    step = oracles.second_order_perceptron()
    run = followed(model, step, problem, oracles.learn_second_order, initial=1 / a)
    assert np.array_equal(last_weights(model), run.W)
    assert (model.mistakes_, model.updates_) == (run.mistakes, run.updates)


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("scheme", SCHEMES)
@examples(15)
@given(seed=st.integers(0, 10**6))
def test_many_classes(covariance, scheme, seed):
    X, y = blobs(40, 6, 4, seed)
    model = SecondOrderPerceptron(covariance=covariance, multiclass=scheme, max_iter=2, tol=None, shuffle=False)
    model.fit(csr(X), y)
    step = oracles.second_order_perceptron()
    run = oracles.learn_second_order(step, X, y, classes=4, scheme=scheme, epochs=2, full=covariance == "full")
    np.testing.assert_allclose(last_weights(model), run.W, rtol=1e-9, atol=1e-11)
    assert (model.mistakes_, model.updates_) == (run.mistakes, run.updates)


@examples(30)
@given(st.integers(0, 10**6), st.sampled_from([0.1, 1.0, 10.0]))
def test_the_bound_on_mistakes_holds(seed, a):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 4)) * [10, 1, 1, 0.1]
    u = rng.normal(size=4)
    u /= np.linalg.norm(u)
    y = (X @ u + 0.3 * rng.normal(size=80) > 0).astype(int)
    model = SecondOrderPerceptron(a=a, covariance="full", fit_intercept=False)
    wrong = []
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        before = model.mistakes_ if t else 0
        model.partial_fit(x[None], [label], classes=[0, 1])
        if model.mistakes_ > before:
            wrong.append(t)
    S = X[wrong].T @ X[wrong]
    spread = np.log1p(np.linalg.eigvalsh(S).clip(0) / a).sum()
    for gamma in (0.01, 0.1, 1.0):
        short = np.maximum(0, gamma - (2 * y[wrong] - 1) * (X[wrong] @ u)).sum()
        assert len(wrong) <= short / gamma + np.sqrt((a + u @ S @ u) * spread) / gamma + 1e-9


def test_badly_scaled_features_cost_fewer_mistakes_than_the_perceptron():
    from rosenblatt import Perceptron

    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 5)) * [100, 1, 1, 1, 1]
    y = (X[:, 1] - X[:, 2] > 0).astype(int)
    second, first = (
        m.partial_fit(X, y, classes=[0, 1]) for m in (SecondOrderPerceptron(covariance="full"), Perceptron())
    )
    assert second.mistakes_ < first.mistakes_ / 4
