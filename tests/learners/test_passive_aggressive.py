"""Passive-aggressive learning: the smallest step after which the loss is 0."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rosenblatt import PassiveAggressive
from tests import oracles
from tests.helpers import SCHEMES, blobs, examples, fitted, followed, integer_runs, last_weights

VARIANTS = ("PA", "PA-I", "PA-II")


def check(model, run):
    np.testing.assert_allclose(last_weights(model), run.W, rtol=1e-12, atol=1e-13)
    assert (model.mistakes_, model.updates_) == (run.mistakes, run.updates)


@pytest.mark.parametrize("variant", VARIANTS)
@examples(50)
@given(problem=integer_runs(), C=st.sampled_from([0.125, 1.0, 3.0]), sparse=st.booleans())
def test_two_classes(variant, problem, C, sparse):
    model = fitted(PassiveAggressive(variant=variant, C=C), problem, sparse)
    check(model, followed(model, oracles.passive_aggressive(variant, C), problem))


@pytest.mark.parametrize("scheme", SCHEMES)
@examples(40)
@given(problem=integer_runs(3), variant=st.sampled_from(VARIANTS))
def test_many_classes(scheme, problem, variant):
    model = fitted(PassiveAggressive(variant=variant, C=0.5, multiclass=scheme), problem)
    check(model, followed(model, oracles.passive_aggressive(variant, 0.5), problem, scheme=scheme))


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("classes", [2, 3, 7])
def test_real_values(variant, classes):
    X, y = blobs(70, 11, classes)
    run = oracles.learn(oracles.passive_aggressive(variant, 0.1), X, y, classes=classes, epochs=2)
    check(PassiveAggressive(variant=variant, C=0.1, max_iter=2, tol=None, shuffle=False).fit(X, y), run)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("classes", [2, 3])
def test_a_row_whose_squared_length_overflows_is_refused(classes, scheme):
    # Its step, the loss divided by the squared length, would be 0.
    X, y = np.array([[1e200], [1.0], [-1.0]]), np.arange(3) % classes
    with pytest.raises(ValueError, match=r"Row 0 of X has values so large that its score overflows; .* is 1e\+200"):
        PassiveAggressive(multiclass=scheme, shuffle=False).fit(X, y)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_loss_after_a_step_is_zero(classes, fit_intercept):
    X, y = blobs(60, 4, classes, seed=5)
    model = PassiveAggressive(variant="PA", fit_intercept=fit_intercept).partial_fit(
        X[:1], y[:1], classes=range(classes)
    )
    for x, label in zip(X, y, strict=True):
        before = model.decision_function(x[None])[0]
        model.learn_one(x, int(label))
        s = model.decision_function(x[None])[0]
        if classes == 2:
            margin = (2 * label - 1) * s
        else:  # against the class of the highest score; another class may be close
            margin = s[label] - s[max((k for k in range(3) if k != label), key=lambda k: before[k])]
        assert margin >= 1 - 1e-12


@examples(30)
@given(st.integers(0, 10**6))
def test_the_loss_of_a_separable_stream_is_bounded(seed):
    rng = np.random.default_rng(seed)
    u, X = rng.normal(size=5), rng.normal(size=(80, 4))
    s = X @ u[:-1] + u[-1]
    y = (s > 0).astype(int)
    assume(y.min() != y.max())
    u /= np.abs(s).min()
    radius2 = (X**2).sum(axis=1).max() + 1
    total = 0.0
    model = PassiveAggressive(variant="PA").partial_fit(X[:1], y[:1], classes=[0, 1])
    total += 1.0  # from w = 0
    for x, label in zip(X[1:], y[1:], strict=True):
        total += max(0.0, 1 - (2 * label - 1) * model.decision_function(x[None])[0]) ** 2
        model.learn_one(x, int(label))
    assert total <= radius2 * (u @ u) * (1 + 1e-9)
    assert model.mistakes_ <= radius2 * (u @ u) * (1 + 1e-9)


def test_the_norm_includes_the_bias():
    model = PassiveAggressive(variant="PA").partial_fit([[1.0, 2.0]], [1], classes=[0, 1])
    assert model.coef_.tolist() == [[1 / 6, 2 / 6]]
    assert model.intercept_.tolist() == [1 / 6]
    model = PassiveAggressive(variant="PA", fit_intercept=False).partial_fit([[1.0, 2.0]], [1], classes=[0, 1])
    assert model.coef_.tolist() == [[0.2, 0.4]]


def test_c_limits_the_step():
    step = {
        v: PassiveAggressive(variant=v, C=0.05).partial_fit([[1.0, 2.0]], [1], classes=[0, 1]).intercept_.item()
        for v in VARIANTS
    }
    assert step == {"PA": 1 / 6, "PA-I": 0.05, "PA-II": 1 / (6 + 10)}


def test_an_example_of_zeros_changes_nothing():
    for classes in ([0, 1], [0, 1, 2]):
        model = PassiveAggressive(variant="PA", fit_intercept=False).partial_fit([[0.0, 0.0]], [1], classes=classes)
        assert not model.coef_.any()
        assert (model.mistakes_, model.updates_, model.examples_) == (1, 0, 1)
