"""ROMMA: the shortest weights that satisfy two conditions."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rosenblatt import ROMMA, certify
from tests import oracles
from tests.helpers import SCHEMES, blobs, csr, examples, last_weights

VARIANTS = ("ROMMA", "aggressive")
EACH = pytest.mark.parametrize("variant", VARIANTS)


def check(model, run):
    np.testing.assert_allclose(last_weights(model), run.W, rtol=1e-6, atol=1e-6 * np.abs(run.W).max())
    assert (model.mistakes_, model.updates_) == (run.mistakes, run.updates)


@EACH
@pytest.mark.parametrize("classes", [2, 3, 7])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_the_published_algorithm(variant, classes, fit_intercept, seed):
    X, y = blobs(50, 9, classes, seed)
    step = oracles.romma(variant == "aggressive")
    run = oracles.learn_shrinking(step, X, y, classes=classes, bias=fit_intercept)
    model = ROMMA(variant=variant, fit_intercept=fit_intercept, max_iter=1, tol=None, shuffle=False)
    check(model.fit(X, y), run)
    check(model.fit(csr(X), y), run)


@EACH
@pytest.mark.parametrize("scheme", SCHEMES)
def test_many_classes(variant, scheme):
    X, y = blobs(40, 6, 4, seed=2)
    run = oracles.learn_shrinking(oracles.romma(variant == "aggressive"), X, y, classes=4, scheme=scheme)
    check(ROMMA(variant=variant, multiclass=scheme, max_iter=1, tol=None, shuffle=False).fit(X, y), run)


@EACH
@pytest.mark.parametrize("classes", [2, 3])
def test_sample_weights_starting_weights_and_the_average(variant, classes):
    X, y = blobs(50, 5, classes, seed=4)
    weight = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 2.0], 50)
    W = np.random.default_rng(1).normal(size=(1 if classes == 2 else 3, 6))
    model = ROMMA(variant=variant, readout="average", max_iter=1, tol=None, shuffle=False)
    model.fit(X, y, sample_weight=weight, coef_init=W[:, :-1], intercept_init=W[:, -1])
    run = oracles.learn_shrinking(oracles.romma(variant == "aggressive"), X, y, classes=classes, weight=weight, W=W)
    check(model, run)
    mean = run.average()
    np.testing.assert_allclose(
        np.hstack([model.coef_, model.intercept_[:, None]]), mean, rtol=1e-6, atol=1e-6 * np.abs(mean).max()
    )


@EACH
@examples(30)
@given(st.integers(0, 10**6))
def test_the_bound_on_mistakes_holds(variant, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 4))
    s = X @ rng.normal(size=4)
    keep = np.abs(s) > 0.2
    X, y = X[keep], (s[keep] > 0).astype(int)
    assume(y.min() != y.max())
    certificate = certify(X, y, fit_intercept=False)
    model = ROMMA(variant=variant, fit_intercept=False).partial_fit(X, y, classes=[0, 1])
    assert model.mistakes_ <= (certificate.radius / certificate.margin[0]) ** 2


def test_the_aggressive_variant_approaches_the_largest_margin():
    """After convergence y <w, x> >= 1 holds for all examples, and w is nearly the shortest such vector."""
    X, y = blobs(60, 20, seed=3)
    model = ROMMA(variant="aggressive", max_iter=2000, tol=None).fit(X, y)
    certificate = certify(X, y)
    assert model.certificate_.margin[0] > 0.9 * certificate.margin[0]


def test_an_example_worked_out_by_hand():
    model = ROMMA(fit_intercept=False).partial_fit([[3.0, 4.0]], [1], classes=[0, 1])
    np.testing.assert_allclose(model.coef_, [[3 / 25, 4 / 25]])
    model.partial_fit([[3.0, 0.0]], [0])
    w, before = model.coef_[0], np.array([3 / 25, 4 / 25])
    assert w @ [3.0, 0.0] == pytest.approx(-1)
    assert w @ before == pytest.approx(before @ before)


def test_contradicting_labels_do_not_overflow():
    """One feature, no bias: the weights fit the newest label."""
    model = ROMMA(fit_intercept=False).partial_fit([[2.0]] * 5, [1, 0, 1, 0, 1], classes=[0, 1])
    assert model.coef_.tolist() == [[0.5]]
    assert model.mistakes_ == 5


@EACH
def test_growing_weights_keep_their_direction(variant):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20_000, 3)), rng.integers(0, 2, 20_000)
    model = ROMMA(variant=variant).partial_fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert 1e30 < np.linalg.norm(model.coef_) <= 1.001e50
    assert 0.4 < model.mistakes_ / 20_000 < 0.6
