"""AROW: large steps for weights of large variance, small steps for weights of small variance."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rosenblatt import AROW
from tests import oracles
from tests.helpers import SCHEMES, blobs, csr, examples, fitted, followed, integer_runs, last_weights

COVARIANCES = ("diagonal", "full")


def check(model, run):
    np.testing.assert_allclose(last_weights(model), run.W, rtol=1e-9, atol=1e-11)
    assert (model.mistakes_, model.updates_) == (run.mistakes, run.updates)


@examples(50)
@given(problem=integer_runs(), r=st.sampled_from([0.1, 1.0, 7.0]), sparse=st.booleans())
def test_two_classes_with_a_diagonal_bit_for_bit(problem, r, sparse):
    model = fitted(AROW(r=r), problem, sparse)
    run = followed(model, oracles.arow(r), problem, oracles.learn_second_order)
    assert np.array_equal(last_weights(model), run.W)
    assert (model.mistakes_, model.updates_) == (run.mistakes, run.updates)
    sigma, bias = model.model_.memory.content(problem["X"].shape[1])
    assert np.array_equal(np.append(sigma, bias), run.sigma[0].diagonal())


@pytest.mark.parametrize("scheme", SCHEMES)
@examples(25)
@given(problem=integer_runs(3))
def test_many_classes_with_a_diagonal_bit_for_bit(scheme, problem):
    model = fitted(AROW(r=0.5, multiclass=scheme), problem)
    run = followed(model, oracles.arow(0.5), problem, oracles.learn_second_order, scheme=scheme)
    assert np.array_equal(last_weights(model), run.W)
    assert (model.mistakes_, model.updates_) == (run.mistakes, run.updates)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("seed", range(4))
def test_many_classes_with_full_matrices(scheme, seed):
    X, y = blobs(50, 6, 4, seed)
    run = oracles.learn_second_order(oracles.arow(0.5), X, y, classes=4, scheme=scheme, epochs=2, full=True)
    check(AROW(r=0.5, multiclass=scheme, covariance="full", max_iter=2, tol=None, shuffle=False).fit(csr(X), y), run)


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("classes", [2, 3, 7])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_real_values(covariance, classes, fit_intercept):
    X, y = blobs(70, 11, classes)
    run = oracles.learn_second_order(
        oracles.arow(2.0), X, y, classes=classes, epochs=2, full=covariance == "full", bias=fit_intercept
    )
    model = AROW(r=2.0, covariance=covariance, max_iter=2, tol=None, shuffle=False, fit_intercept=fit_intercept)
    check(model.fit(X, y), run)
    check(model.fit(csr(X), y), run)


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("classes", [2, 3])
def test_the_average(covariance, classes):
    X, y = blobs(60, 6, classes, seed=3)
    weight = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 2.0], 60)
    model = AROW(covariance=covariance, readout="average", max_iter=2, tol=None, shuffle=False)
    model.fit(X, y, sample_weight=weight)
    run = oracles.learn_second_order(
        oracles.arow(), X, y, classes=classes, epochs=2, full=covariance == "full", weight=weight
    )
    np.testing.assert_allclose(np.hstack([model.coef_, model.intercept_[:, None]]), run.average(), rtol=1e-9)


@examples(30)
@given(st.integers(0, 10**6), st.sampled_from([0.1, 1.0, 10.0]))
def test_the_bound_on_mistakes_holds(seed, r):
    """The paper's theorem with the full matrix, for the comparator that made the labels, with several lengths."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 4))
    direction = rng.normal(size=4)
    y = (X @ direction + rng.normal(size=80) > 0).astype(int)
    y[:2] = 0, 1
    model = AROW(r=r, covariance="full", fit_intercept=False).partial_fit(X[:1], y[:1], classes=[0, 1])
    updated, mistakes = [0], 1
    for t in range(1, 80):
        margin = (2 * y[t] - 1) * model.decision_function(X[t : t + 1])[0]
        mistakes += margin <= 0
        if margin < 1:
            updated.append(t)
        model.learn_one(X[t], int(y[t]))
    A = X[updated]
    U = len(updated) - mistakes
    assert (model.mistakes_, model.updates_) == (mistakes, len(updated))
    for length in (0.1, 1.0, 3.0):
        u = length * direction
        hinge = np.maximum(0, 1 - (2 * y[updated] - 1) * (A @ u)).sum()
        spread = np.linalg.slogdet(np.eye(len(A)) + A @ A.T / r)[1]
        assert mistakes <= np.sqrt(r * u @ u + ((A @ u) ** 2).sum()) * np.sqrt(spread + U) + hinge - U + 1e-9


def test_an_example_worked_out_by_hand():
    model = AROW().partial_fit([[1.0, 2.0]], [1], classes=[0, 1])
    assert model.coef_.tolist() == [[1 / 7, 2 / 7]]
    assert model.intercept_.tolist() == [1 / 7]
    sigma, bias = model.model_.memory.content(2)
    np.testing.assert_allclose([*sigma, *bias], [6 / 7, 3 / 7, 6 / 7])


def test_an_example_of_weight_three_divides_r_by_three():
    once = AROW(r=3.0).partial_fit([[1.0, 2.0]], [1], classes=[0, 1], sample_weight=[3.0])
    assert np.array_equal(once.coef_, AROW(r=1.0).partial_fit([[1.0, 2.0]], [1], classes=[0, 1]).coef_)
