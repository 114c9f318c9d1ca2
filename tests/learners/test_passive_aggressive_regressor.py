"""Passive-aggressive regression: the smallest step that brings a prediction to within epsilon of its target."""

import numpy as np
import pytest
import sklearn
import sklearn.linear_model
from hypothesis import given
from hypothesis import strategies as st

from rosenblatt import PassiveAggressiveRegressor
from tests import oracles
from tests.helpers import csr, examples, last_weights
from tests.test_regression import integer_targets, line

VARIANTS = ("PA", "PA-I", "PA-II")


def follow(variant, C, epsilon, X, y, *, epochs=1, weight=None, bias=True):
    """The published algorithm; the weights with the bias last, and the number of updates."""
    w, updates = np.zeros(X.shape[1] + 1), 0
    for _ in range(epochs):
        for i, x in enumerate(X):
            residual = y[i] - oracles.scores(w[None], x)[0]
            loss = max(0.0, abs(residual) - epsilon)
            z = np.append(x, float(bias))
            size = float(oracles.lane_sum(x * x)) + bias
            amount = 0.0
            if size and loss > 0:
                tau = {"PA": loss / size, "PA-I": min(C, loss / size), "PA-II": loss / (size + 1 / (2 * C))}[variant]
                amount = np.sign(residual) * tau * (1.0 if weight is None else weight[i])
            w += amount * z
            updates += amount != 0
    return w, updates


@pytest.mark.parametrize("variant", VARIANTS)
@examples(40)
@given(problem=integer_targets(), epsilon=st.sampled_from([0.0, 0.25, 2.0]), sparse=st.booleans())
def test_the_published_algorithm(variant, problem, epsilon, sparse):
    X, y, weight, bias = problem
    model = PassiveAggressiveRegressor(
        variant=variant, C=0.5, epsilon=epsilon, max_iter=2, tol=None, shuffle=False, fit_intercept=bias
    )
    model.fit(csr(X) if sparse else X, y, sample_weight=weight)
    w, updates = follow(variant, 0.5, epsilon, X, y, epochs=model.n_iter_, weight=weight, bias=bias)
    np.testing.assert_allclose(last_weights(model)[0], w, rtol=1e-12, atol=1e-13)
    assert model.updates_ == updates


@pytest.mark.parametrize("variant", ["PA-I", "PA-II"])
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_without_a_bias_the_steps_are_those_of_scikit_learn(variant):
    if not hasattr(sklearn.linear_model, "PassiveAggressiveRegressor"):
        pytest.skip("scikit-learn has removed its own")
    X, y = line(60, 4)
    loss = "epsilon_insensitive" if variant == "PA-I" else "squared_epsilon_insensitive"
    same = {"C": 0.3, "epsilon": 0.2, "max_iter": 3, "tol": None, "shuffle": False, "fit_intercept": False}
    theirs = sklearn.linear_model.PassiveAggressiveRegressor(loss=loss, **same).fit(X, y)
    ours = PassiveAggressiveRegressor(variant=variant, **same).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9)


def test_the_error_after_a_step_is_epsilon():
    X, y = line(40, 3)
    model = PassiveAggressiveRegressor(variant="PA", epsilon=0.25)
    for x, target in zip(X, y, strict=True):
        error = abs(target - model.learn_one(x, target))
        after = abs(target - model.predict_one(x))
        assert after == pytest.approx(min(error, 0.25), abs=1e-12)


@examples(30)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.5]))
def test_the_loss_is_bounded_if_some_weights_have_none(seed, epsilon):
    rng = np.random.default_rng(seed)
    u, X = rng.normal(size=5), rng.normal(size=(80, 4))
    y = X @ u[:-1] + u[-1] + rng.uniform(-epsilon, epsilon, size=80)
    model, total = PassiveAggressiveRegressor(variant="PA", epsilon=epsilon), 0.0
    for x, target in zip(X, y, strict=True):
        total += max(0.0, abs(target - model.learn_one(x, target)) - epsilon) ** 2
    assert total <= ((X**2).sum(axis=1).max() + 1) * (u @ u) + 1e-9
