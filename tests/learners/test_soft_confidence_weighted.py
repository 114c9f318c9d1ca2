"""Soft confidence-weighted learning: the formulas of the paper, and the constraint that they satisfy."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rosenblatt import SoftConfidenceWeighted
from rosenblatt.learners.soft_confidence_weighted import step
from tests import oracles
from tests.helpers import SCHEMES, blobs, csr, examples, fitted, followed, integer_runs, last_weights

VARIANTS = ("SCW-I", "SCW-II")
EACH = pytest.mark.parametrize("variant", VARIANTS)


def check(model, run):
    np.testing.assert_allclose(last_weights(model), run.W, rtol=1e-8, atol=1e-10)
    assert (model.mistakes_, model.updates_) == (run.mistakes, run.updates)


@EACH
@pytest.mark.parametrize("covariance", ["diagonal", "full"])
@pytest.mark.parametrize("classes", [2, 3, 7])
@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_the_formulas_of_the_paper(variant, covariance, classes, seed):
    X, y = blobs(60, 9, classes, seed)
    C, phi = [0.1, 1.0, 5.0][seed], [0.3, 1.0, 2.0][seed]
    rule = oracles.soft_confidence_weighted(variant, C, phi)
    run = oracles.learn_second_order(rule, X, y, classes=classes, epochs=2, full=covariance == "full")
    model = SoftConfidenceWeighted(
        C=C, phi=phi, variant=variant, covariance=covariance, max_iter=2, tol=None, shuffle=False
    )
    check(model.fit(X, y), run)
    check(model.fit(csr(X), y), run)


@EACH
@examples(30)
@given(problem=integer_runs(on_zero=("update",)), sparse=st.booleans())
def test_sample_weights_and_starting_weights(variant, problem, sparse):
    model = fitted(SoftConfidenceWeighted(C=0.5, phi=0.9, variant=variant), problem, sparse)
    rule = oracles.soft_confidence_weighted(variant, 0.5, 0.9)
    run = followed(model, rule, problem, oracles.learn_second_order)
    np.testing.assert_allclose(last_weights(model), run.W, rtol=1e-8, atol=1e-10)
    if run.closest > 1e-9:  # otherwise rounding may decide whether a score of 0 is a mistake
        assert model.mistakes_ == run.mistakes


@EACH
@pytest.mark.parametrize("scheme", SCHEMES)
def test_many_classes(variant, scheme):
    X, y = blobs(60, 6, 4, seed=5)
    rule = oracles.soft_confidence_weighted(variant, 0.5, 0.7)
    run = oracles.learn_second_order(rule, X, y, classes=4, scheme=scheme)
    model = SoftConfidenceWeighted(
        C=0.5, phi=0.7, variant=variant, multiclass=scheme, max_iter=1, tol=None, shuffle=False
    )
    check(model.fit(X, y), run)


numbers = st.floats(1e-3, 1e3)


@examples(200)
@given(margin=st.floats(-1e3, 1e3), variance=numbers, phi=numbers)
def test_without_a_limit_on_the_step_the_constraint_is_met(margin, variance, phi):
    """After the step the margin is phi standard deviations."""
    alpha, beta = step(margin, variance, 1.0, 1e300, phi, 0.0)
    left = variance - beta * variance * variance
    if margin >= phi * math.sqrt(variance):
        assert (alpha, beta) == (0.0, 0.0)
    else:
        assert left >= 0
        scale = abs(margin) + phi * math.sqrt(variance)
        assert margin + alpha * variance == pytest.approx(phi * math.sqrt(left), rel=1e-6, abs=1e-6 * scale)


@EACH
@examples(200)
@given(
    margin=st.floats(-1e6, 1e6),
    variance=st.floats(1e-300, 1e10),
    C=st.floats(1e-10, 1e10),
    phi=st.sampled_from([1e-6, 1.0, 1e10, 1e100, 1e150, 1e300, 1.7e308]),
)
def test_steps_stay_finite_and_variances_positive(variant, margin, variance, C, phi):
    alpha, beta = step(margin, variance, 1.0, C, phi, float(variant == "SCW-II"))
    assert 0 <= alpha < math.inf
    assert 0 <= beta < math.inf
    assert beta * variance <= 1 + 1e-12, "a variance never becomes negative"


def test_c_limits_the_step():
    model = SoftConfidenceWeighted(C=0.01, phi=1.0).partial_fit([[1.0, 2.0]], [1], classes=[0, 1])
    assert model.coef_.tolist() == [[0.01, 0.02]]
    doubled = SoftConfidenceWeighted(C=0.01).partial_fit([[1.0, 2.0]], [1], classes=[0, 1], sample_weight=[2.0])
    assert doubled.coef_.tolist() == [[0.02, 0.04]]
