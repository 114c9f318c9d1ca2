"""Winnow: multiplicative updates of weights stored as logarithms."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rosenblatt import Winnow
from tests import oracles
from tests.helpers import SCHEMES, examples, fitted, integer_runs, last_weights


def check(model, run):
    np.testing.assert_allclose(last_weights(model), run.W, rtol=1e-12, atol=1e-13)
    assert (model.mistakes_, model.updates_) == (run.mistakes, run.updates)


@pytest.mark.parametrize("balanced", [False, True])
@examples(60)
@given(problem=integer_runs(on_zero=("update", "positive")), eta=st.sampled_from([0.125, 0.5]), sparse=st.booleans())
def test_two_classes(balanced, problem, eta, sparse):
    problem["W"] = None
    run = oracles.learn(oracles.perceptron(eta), link=oracles.winnow_link(balanced), **problem)
    check(fitted(Winnow(eta=eta, balanced=balanced), problem, sparse), run)


@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.parametrize("scheme", SCHEMES)
@examples(20)
@given(problem=integer_runs(3, on_zero=("update", "positive")))
def test_many_classes(scheme, balanced, problem):
    problem["W"] = None
    run = oracles.learn(oracles.perceptron(0.25), scheme=scheme, link=oracles.winnow_link(balanced), **problem)
    check(fitted(Winnow(eta=0.25, balanced=balanced, multiclass=scheme), problem), run)


def test_multiplying_weights_equals_adding_to_their_logarithms():
    rng = np.random.default_rng(0)
    X, y = rng.choice([-1.0, 1.0], (200, 9)), rng.integers(0, 2, 200)
    w, mistakes = np.ones(9), 0
    for x, label in zip(X, y, strict=True):
        sign = 2 * label - 1
        if sign * (w @ x) <= 0:
            w, mistakes = w * np.exp(0.1 * sign * x), mistakes + 1
    model = Winnow(eta=0.1, fit_intercept=False).partial_fit(X, y, classes=[0, 1])
    np.testing.assert_allclose(model.coef_[0], w, rtol=1e-10)
    assert model.mistakes_ == mistakes


def test_starting_weights():
    X, y = np.array([[1.0, -1], [1, 1]]), [1, 0]
    same = {"fit_intercept": False, "max_iter": 1, "tol": None, "shuffle": False}
    plain = Winnow(eta=1.0, **same).fit(X, y, coef_init=[2.0, 0.5])
    np.testing.assert_allclose(plain.coef_[0], [2 / math.e, 0.5 / math.e], rtol=1e-14)
    both = Winnow(eta=1.0, balanced=True, **same).fit(X, y, coef_init=[2.0, -3.0])
    np.testing.assert_allclose(both.coef_[0], [2.0, -3.0], rtol=1e-14)
    with pytest.raises(ValueError, match=r"greater than 0.*balanced=True"):
        Winnow(**same).fit(X, y, coef_init=[2.0, -3.0])


def committee(p, k, n, seed):
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], (n, p))
    panel = rng.choice(p, k, replace=False)
    return X, (X[:, panel].sum(axis=1) > 0).astype(int)


@pytest.mark.parametrize(("p", "k"), [(60, 3), (200, 5), (1000, 5)])
def test_the_bound_for_committees_holds(p, k):
    for seed in range(3):
        X, y = committee(p, k, 1500, seed)
        model = Winnow(eta=1 / k, fit_intercept=False, shuffle=False, tol=None, max_iter=200).fit(X, y)
        assert model.converged_
        assert 0 < model.mistakes_ <= 2 * k * k * math.log(p / k)


@examples(25)
@given(st.integers(0, 10**6), st.sampled_from([0.1, 0.5, 1.0]))
def test_the_general_bound_holds(seed, share):
    rng = np.random.default_rng(seed)
    u = rng.dirichlet(np.full(6, 0.5))
    X = rng.uniform(-1, 1, (60, 6))
    s = X @ u
    X, s = X[np.abs(s) > 0.05], s[np.abs(s) > 0.05]
    y = (s > 0).astype(int)
    assume(len(y) > 0 and y.min() != y.max())
    gamma = np.abs(s).min()
    eta = share * gamma
    entropy = -(u[u > 0] * np.log(u[u > 0])).sum()
    bound = (math.log(6) - entropy) / (eta * gamma - math.log(math.cosh(eta)))
    model = Winnow(eta=eta, fit_intercept=False, tol=None, max_iter=100_000).fit(X, y)
    assert model.mistakes_ <= bound * (1 + 1e-9)
    assert model.converged_


def noise(classes, seed=0, n=40):
    """Random examples without zeros: the weights change at random, and the largest one decides."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 4)), rng.permutation(np.arange(n) % classes)


@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
def test_weights_never_overflow(classes, balanced):
    X, y = noise(classes, seed=classes)
    model = Winnow(eta=150.0, balanced=balanced, max_iter=30, tol=None, shuffle=False).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.decision_function(X)).all()
    assert model.model_.state.counters.shift != 0, "this test must reach the scaling"
    if classes == 2:
        assert model.mistakes_ == scaled_winnow(X, y, classes, 150.0, balanced, 30)


def test_weights_never_vanish():
    """On noise unbalanced Winnow only decreases its weights; they must not all become 0."""
    X, y = noise(2, n=20_000)
    model = Winnow(shuffle=False, tol=None, max_iter=3).fit(X, y)
    assert np.abs(model.coef_).max() > 1e-300
    short = Winnow(eta=20.0, shuffle=False, tol=None, max_iter=30).fit(X[:40], y[:40])
    assert short.mistakes_ == scaled_winnow(X[:40], y[:40], 2, 20.0, False, 30)


def scaled_winnow(X, y, classes, eta, balanced, epochs):
    """Mistakes of Winnow with weights that are rescaled for every prediction."""
    vectors = 1 if classes == 2 else classes
    Z = np.hstack([X, np.ones((len(X), 1))])
    V, mistakes = np.zeros((vectors, Z.shape[1])), 0
    for _ in range(epochs):
        for z, true in zip(Z, y, strict=True):
            top = max(V.max(), -V.min() if balanced else -np.inf)
            W = np.exp(V - top) - (np.exp(-V - top) if balanced else 0)
            s = W @ z
            if vectors == 1:
                sign = 2 * true - 1
                if sign * s[0] <= 0:
                    V, mistakes = V + eta * sign * z, mistakes + 1
            else:
                rival = max((k for k in range(vectors) if k != true), key=lambda k: (s[k], -k))
                if s[true] <= s[rival]:
                    V[true] += eta * z
                    V[rival] -= eta * z
                    mistakes += 1
    return mistakes


def test_negative_weights_need_balanced_winnow():
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (300, 5))
    y = (X[:, 0] - X[:, 1] - X[:, 2] > 0).astype(int)
    assert Winnow(balanced=True, eta=0.3).fit(X, y).score(X, y) == 1
    assert (Winnow(max_iter=5, tol=None).fit(X, y).coef_ > 0).all()
