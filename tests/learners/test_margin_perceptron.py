"""The margin perceptron: an update when y·score ≤ b."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rosenblatt import MarginPerceptron, Perceptron
from tests import oracles
from tests.helpers import SCHEMES, blobs, examples, fitted, followed, integer_runs, last_weights


@examples(100)
@given(integer_runs(), st.integers(1, 6), st.sampled_from([0.5, 1.0, 2.0]), st.booleans())
def test_two_classes(problem, b, eta0, sparse):
    model = fitted(MarginPerceptron(b=b, eta0=eta0), problem, sparse)
    run = followed(model, oracles.margin_perceptron(b, eta0), problem)
    assert np.array_equal(last_weights(model), run.W)
    assert (model.mistakes_, model.updates_) == (run.mistakes, run.updates)
    assert model.mistakes_per_epoch_.tolist() == run.mistakes_per_epoch


@pytest.mark.parametrize("scheme", SCHEMES)
@examples(40)
@given(data=st.data(), b=st.integers(1, 6))
def test_many_classes(scheme, data, b):
    problem = data.draw(integer_runs(4))
    model = fitted(MarginPerceptron(b=b, multiclass=scheme), problem)
    run = followed(model, oracles.margin_perceptron(b), problem, scheme=scheme)
    assert np.array_equal(last_weights(model), run.W)
    assert (model.mistakes_, model.updates_) == (run.mistakes, run.updates)


@examples(50)
@given(st.integers(0, 10**6), st.integers(1, 5), st.sampled_from([0.5, 1.0, 4.0]), st.floats(0.25, 20))
def test_the_bounds_on_updates_and_margin_hold(seed, d, eta0, b):
    rng = np.random.default_rng(seed)
    u = np.append(rng.integers(-3, 4, d), 1.0)
    X = rng.integers(-3, 4, (20, d)).astype(float)
    s = X @ u[:-1] + u[-1]
    X, s = np.vstack([X[s != 0], u[:-1], -u[:-1]]), np.append(s[s != 0], [u @ u, 1 - u[:-1] @ u[:-1]])
    keep = s != 0
    X, s = X[keep], s[keep]
    y = (s > 0).astype(int)
    if len(set(y.tolist())) < 2:
        X, y, s = np.vstack([X, X[:1] * 0]), np.append(y, 1), np.append(s, 1.0)  # an example with the bias only
        assume(len(set(y.tolist())) == 2)
    radius2, gamma = (X**2).sum(axis=1).max() + 1, np.abs(s).min() / np.linalg.norm(u)
    model = MarginPerceptron(b=b, eta0=eta0, tol=None, max_iter=100_000).fit(X, y)
    beta = b / eta0
    assert model.converged_
    assert model.updates_ <= (radius2 + 2 * beta) / gamma**2 * (1 + 1e-9)
    w = last_weights(model)[0]
    margin = (np.where(y == 1, 1, -1) * (X @ w[:-1] + w[-1])).min() / np.linalg.norm(w)
    assert margin >= beta * gamma / (radius2 + 2 * beta) * (1 - 1e-9)


def test_updates_and_mistakes_have_separate_counters():
    X, y = blobs()
    model = MarginPerceptron(b=2.0, max_iter=3, tol=None).fit(X, y)
    assert model.updates_ > model.mistakes_ > 0
    assert model.updates_per_epoch_.sum() == model.updates_


def test_a_tiny_margin_gives_the_perceptron():
    X, y = blobs(classes=3)
    tiny = MarginPerceptron(b=1e-300, max_iter=3, tol=None).fit(X, y)
    assert np.array_equal(tiny.coef_, Perceptron(max_iter=3, tol=None).fit(X, y).coef_)
