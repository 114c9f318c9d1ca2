"""ALMA: margins and steps that shrink with every update, weights inside the unit ball."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rosenblatt import ALMA, certify
from tests import oracles
from tests.helpers import SCHEMES, blobs, csr, examples, last_weights


def check(model, run):
    np.testing.assert_allclose(last_weights(model), run.W, rtol=1e-9, atol=1e-11)
    assert (model.mistakes_, model.updates_) == (run.mistakes, run.updates)


@pytest.mark.parametrize(("alpha", "B", "C"), [(0.9, None, math.sqrt(2)), (0.5, None, 0.3), (0.7, 0.2, 1.0)])
@pytest.mark.parametrize("classes", [2, 3, 7])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_agrees_with_the_published_algorithm(alpha, B, C, classes, fit_intercept):
    X, y = blobs(60, 9, classes, seed=1)
    rule = oracles.alma(alpha, math.sqrt(8) / alpha if B is None else B, C)
    run = oracles.learn_shrinking(rule, X, y, classes=classes, bias=fit_intercept, epochs=2)
    model = ALMA(alpha=alpha, B=B, C=C, fit_intercept=fit_intercept, max_iter=2, tol=None, shuffle=False)
    check(model.fit(X, y), run)
    check(model.fit(csr(X), y), run)
    assert (last_weights(model) ** 2).sum() <= 1 + 1e-12


@pytest.mark.parametrize("scheme", SCHEMES)
def test_many_classes(scheme):
    X, y = blobs(60, 6, 4, seed=2)
    run = oracles.learn_shrinking(oracles.alma(0.8, 2.0, 1.0), X, y, classes=4, scheme=scheme)
    check(ALMA(alpha=0.8, B=2.0, C=1.0, multiclass=scheme, max_iter=1, tol=None, shuffle=False).fit(X, y), run)


@pytest.mark.parametrize("classes", [2, 3])
def test_sample_weights_starting_weights_and_the_average(classes):
    X, y = blobs(50, 5, classes, seed=4)
    weight = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 2.0], 50)
    W = 0.1 * np.random.default_rng(1).normal(size=(1 if classes == 2 else 3, 6))
    model = ALMA(readout="average", max_iter=2, tol=None, shuffle=False)
    model.fit(X, y, sample_weight=weight, coef_init=W[:, :-1], intercept_init=W[:, -1])
    rule = oracles.alma(0.9, math.sqrt(8) / 0.9, math.sqrt(2))
    run = oracles.learn_shrinking(rule, X, y, classes=classes, weight=weight, W=W, epochs=2)
    check(model, run)
    np.testing.assert_allclose(np.hstack([model.coef_, model.intercept_[:, None]]), run.average(), rtol=1e-9)


@examples(30)
@given(st.integers(0, 10**6), st.sampled_from([0.2, 0.5, 0.9, 1.0]))
def test_the_bounds_on_updates_and_on_the_margin(seed, alpha):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 4))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    s = X @ rng.normal(size=4)
    keep = np.abs(s) > 0.2
    X, y = X[keep], (s[keep] > 0).astype(int)
    assume(len(set(y.tolist())) == 2)
    margin = certify(X, y, fit_intercept=False).margin[0]
    model = ALMA(alpha=alpha, fit_intercept=False, max_iter=100_000, tol=None).fit(X, y)
    assert model.updates_ <= 2 * (2 / alpha - 1) ** 2 / margin**2 + 8 / alpha - 4 + 1e-9
    assert model.updates_per_epoch_[-1] == 0
    w = model.coef_[0]
    assert ((2 * y - 1) * (X @ w)).min() / np.linalg.norm(w) >= (1 - alpha) * margin - 1e-9


def test_wrong_parameters_are_refused():
    with pytest.raises(ValueError, match=r"`alpha` of ALMA must be a number greater than 0 and at most 1; got 1.5\."):
        ALMA(alpha=1.5).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match=r"`B` of ALMA must be None or a number greater than 0; got -1\. None is"):
        ALMA(B=-1).fit([[0.0], [1.0]], [0, 1])
