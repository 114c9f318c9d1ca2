"""The averaged perceptron: the mean of the weights after each example."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rosenblatt import AveragedPerceptron, Perceptron
from tests import oracles
from tests.helpers import SCHEMES, blobs, examples, fitted, followed, integer_runs, last_weights


def check(model, run):
    """Compare a run exactly; its mean is rounded once, by the division."""
    assert np.array_equal(last_weights(model), run.W)
    assert (model.mistakes_, model.updates_) == (run.mistakes, run.updates)
    mean = np.hstack([model.coef_, model.intercept_[:, None]])
    np.testing.assert_allclose(mean, run.average(), rtol=1e-13, atol=1e-13)


@examples(100)
@given(integer_runs(), st.booleans())
def test_two_classes(problem, sparse):
    model = fitted(AveragedPerceptron(eta0=2.0), problem, sparse)
    check(model, followed(model, oracles.perceptron(2.0), problem))


@pytest.mark.parametrize("scheme", SCHEMES)
@examples(40)
@given(data=st.data())
def test_many_classes(scheme, data):
    problem = data.draw(integer_runs(4))
    model = fitted(AveragedPerceptron(multiclass=scheme), problem)
    check(model, followed(model, oracles.perceptron(), problem, scheme=scheme))


@given(st.integers(0, 3), st.integers(0, 1000))
def test_exact_where_the_count_is_a_power_of_two(power, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(-4, 5, (2**power * 2, 3)).astype(float), np.arange(2**power * 2) % 2
    run = oracles.learn(oracles.perceptron(), X, y)
    model = AveragedPerceptron(max_iter=1, tol=None, shuffle=False).fit(X, y)
    assert np.array_equal(np.hstack([model.coef_, model.intercept_[:, None]]), run.average())


def test_the_updates_are_those_of_the_perceptron():
    X, y = blobs(classes=3)
    plain, averaged = (cls(max_iter=4, tol=None).fit(X, y) for cls in (Perceptron, AveragedPerceptron))
    assert np.array_equal(last_weights(plain), last_weights(averaged))
    assert plain.mistakes_per_epoch_.tolist() == averaged.mistakes_per_epoch_.tolist()
    assert not np.array_equal(plain.coef_, averaged.coef_)


def test_starting_weights_count_until_the_first_update():
    X, y = np.array([[1.0], [1], [-1], [1]]), [1, 1, 0, 0]
    model = AveragedPerceptron(fit_intercept=False, max_iter=1, tol=None, shuffle=False).fit(X, y, coef_init=[8.0])
    assert model.coef_.item() == (8 + 8 + 8 + 7) / 4


@pytest.mark.slow
def test_a_float32_average_is_kept_in_float64():
    X = np.array([[1.0], [2.0**-30], [2.0**-30]], dtype=np.float32)
    model = AveragedPerceptron(fit_intercept=False, max_iter=1, tol=None, shuffle=False).fit(X, [1, 0, 0])
    assert model.model_.state.u.dtype == np.float64
    assert model.coef_.dtype == np.float32


def test_decisions_use_the_average():
    X, y = blobs()
    model = AveragedPerceptron(max_iter=2, tol=None).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), X @ model.coef_[0] + model.intercept_, rtol=1e-12)
