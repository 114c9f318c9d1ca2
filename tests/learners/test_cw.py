"""CW: the closest Gaussian of weights with a margin of phi variances."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rosenblatt import CW
from rosenblatt.learners.cw import step
from tests import oracles
from tests.helpers import SCHEMES, blobs, csr, examples, fitted, followed, integer_runs, last_weights

COVARIANCES = ("diagonal", "full")


def published_alpha(m, v, phi):
    """The Lagrange multiplier as the paper prints it."""
    return max(0.0, (-(1 + 2 * phi * m) + math.sqrt((1 + 2 * phi * m) ** 2 - 8 * phi * (m - phi * v))) / (4 * phi * v))


def published(X, y, phi, full, epochs=1):
    """The algorithm for two classes with Σ⁻¹, as in the paper; the last feature is the bias."""
    Z = np.hstack([X, np.ones((len(X), 1))])
    w, sigma, mistakes = np.zeros(Z.shape[1]), np.eye(Z.shape[1]), 0
    for _ in range(epochs):
        for z, sign in zip(Z, np.where(y == 1, 1.0, -1.0), strict=True):
            mistakes += sign * (w @ z) <= 0
            alpha = published_alpha(sign * (w @ z), z @ sigma @ z, phi)
            w = w + alpha * sign * (sigma @ z)
            sigma = np.linalg.inv(np.linalg.inv(sigma) + 2 * alpha * phi * np.outer(z, z))
            sigma = sigma if full else np.diag(sigma.diagonal())
    return w, sigma, mistakes


def rule(phi):
    """The same factors for the oracle with many classes, weights and starting weights."""

    def factors(m, wrong, v, c):
        asked = phi * max(1.0, c)
        alpha = min(1.0, c) * published_alpha(m, v, asked) if m < asked * v else 0.0
        return alpha, 2 * alpha * asked / (1 + 2 * alpha * asked * v)

    return factors


def check(model, run):
    np.testing.assert_allclose(last_weights(model), run.W, rtol=1e-8, atol=1e-10)
    assert (model.mistakes_, model.updates_) == (run.mistakes, run.updates)


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("phi", [0.1, 1.0, 2.0])
@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_the_published_algorithm(covariance, phi, seed):
    X, y = blobs(70, 6, seed=seed)
    w, sigma, mistakes = published(X, y, phi, covariance == "full", epochs=2)
    for form in (X, csr(X)):
        model = CW(phi=phi, covariance=covariance, max_iter=2, tol=None, shuffle=False).fit(form, y)
        np.testing.assert_allclose(last_weights(model)[0], w, rtol=1e-7, atol=1e-9)
        assert model.mistakes_ == mistakes
        kept = model.model_.memory.content(6)
        if covariance == "full":  # the bias comes first
            order = [*range(1, 7), 0]
            np.testing.assert_allclose(kept[0][0][np.ix_(order, order)], sigma, rtol=1e-6, atol=1e-10)
        else:
            np.testing.assert_allclose(np.append(kept[0], kept[1]), sigma.diagonal(), rtol=1e-7)


@examples(40)
@given(problem=integer_runs(on_zero=("update",)), phi=st.sampled_from([0.3, 1.0, 2.0]), sparse=st.booleans())
def test_sample_weights_and_starting_weights(problem, phi, sparse):
    model = fitted(CW(phi=phi), problem, sparse)
    run = followed(model, rule(phi), problem, oracles.learn_second_order)
    np.testing.assert_allclose(last_weights(model), run.W, rtol=1e-7, atol=1e-9)
    if run.closest > 1e-9:  # otherwise rounding may decide whether a score of 0 is a mistake
        assert model.mistakes_ == run.mistakes


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("covariance", COVARIANCES)
def test_many_classes(scheme, covariance):
    X, y = blobs(60, 6, 4, seed=2)
    run = oracles.learn_second_order(rule(0.5), X, y, classes=4, scheme=scheme, epochs=2, full=covariance == "full")
    model = CW(phi=0.5, multiclass=scheme, covariance=covariance, max_iter=2, tol=None, shuffle=False)
    check(model.fit(X, y), run)
    check(model.fit(csr(X), y), run)


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("classes", [2, 3])
def test_the_average(covariance, classes):
    X, y = blobs(60, 6, classes, seed=3)
    weight = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 2.0], 60)
    model = CW(covariance=covariance, readout="average", max_iter=2, tol=None, shuffle=False)
    model.fit(X, y, sample_weight=weight)
    run = oracles.learn_second_order(
        rule(1.0), X, y, classes=classes, epochs=2, full=covariance == "full", weight=weight
    )
    np.testing.assert_allclose(
        np.hstack([model.coef_, model.intercept_[:, None]]), run.average(), rtol=1e-7, atol=1e-10
    )


@pytest.mark.parametrize("seed", range(10))
def test_the_constraint_holds_with_equality_after_an_update(seed):
    """With the full matrix, for an example that the model does not yet satisfy."""
    rng = np.random.default_rng(seed)
    X, y = blobs(30, 4, seed=seed)
    phi = float(rng.choice([0.2, 1.0, 3.0]))
    model = CW(phi=phi, covariance="full").partial_fit(X, y, classes=[0, 1])
    x = rng.normal(size=4)
    label = 1 - int(model.predict([x])[0])
    model.partial_fit([x], [label])
    z = np.append(1.0, x)  # in the matrix the bias comes first
    margin = (2 * label - 1) * model.decision_function([x])[0]
    assert margin == pytest.approx(phi * (z @ model.model_.memory.content(4)[0][0] @ z), rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_no_closer_gaussian_satisfies_the_constraint(seed):
    """The problem that the paper solves. It is convex, so a local minimum is the solution."""
    rng = np.random.default_rng(seed)
    d, phi = 4, float(rng.choice([0.3, 1.0, 2.0]))
    root = rng.normal(size=(d, d))
    sigma, mean, x = root @ root.T + 0.1 * np.eye(d), 0.1 * rng.normal(size=d), rng.normal(size=d)
    inverse = np.linalg.inv(sigma)

    def divergence(new, spread):
        trace = np.trace(inverse @ spread) + (new - mean) @ inverse @ (new - mean)
        return trace - np.linalg.slogdet(spread)[1]

    alpha, beta = step(mean @ x, x @ sigma @ x, 1.0, phi)
    assert alpha > 0
    new, spread = mean + alpha * sigma @ x, sigma - beta * np.outer(sigma @ x, sigma @ x)
    best, tried = divergence(new, spread), 0
    for _ in range(600):
        other, noise = new + 1e-4 * rng.normal(size=d), 1e-4 * rng.normal(size=(d, d))
        wider = spread + noise + noise.T
        if x @ other >= phi * (x @ wider @ x) and np.linalg.eigvalsh(wider)[0] > 0:
            assert divergence(other, wider) >= best
            tried += 1
    assert tried > 50


numbers = st.floats(1e-3, 1e3)


@examples(300)
@given(margin=st.floats(-1e3, 1e3), variance=numbers, phi=numbers)
def test_the_margin_after_an_update_is_phi_variances(margin, variance, phi):
    alpha, beta = step(margin, variance, 1.0, phi)
    if margin >= phi * variance:
        assert (alpha, beta) == (0.0, 0.0)
    else:
        left = variance / (1 + 2 * alpha * phi * variance)
        assert variance - beta * variance**2 == pytest.approx(left, rel=1e-6, abs=1e-12 * variance)
        scale = abs(margin) + phi * left
        assert margin + alpha * variance == pytest.approx(phi * left, rel=1e-9, abs=1e-9 * scale)


@examples(200)
@given(margin=st.floats(-10, 10), variance=st.floats(0.01, 100), phi=st.floats(0.05, 20))
def test_alpha_agrees_with_the_formula_of_the_paper(margin, variance, phi):
    """Both formulas are equal; the paper's loses digits where the constraint is nearly met."""
    assume(margin < 0.9 * phi * variance)
    assert step(margin, variance, 1.0, phi)[0] == pytest.approx(published_alpha(margin, variance, phi), rel=1e-6)


@examples(300)
@given(
    margin=st.floats(-1e6, 1e6),
    variance=st.floats(1e-290, 1e10),
    weight=st.sampled_from([1e-10, 1.0, 100.0]),
    phi=st.sampled_from([1e-300, 1e-6, 1.0, 1e10, 1e154, 1e300, 1.7e308]),
)
def test_steps_stay_finite_and_variances_positive(margin, variance, weight, phi):
    alpha, beta = step(margin, variance, weight, phi)
    assert 0 <= alpha < math.inf
    assert 0 <= beta < math.inf
    assert beta * variance <= 1 + 1e-12, "a variance never becomes negative"


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("phi", [1e-300, 1e-8, 1e8, 1e154, 1e300, 1.7e308])
@pytest.mark.parametrize("classes", [2, 3])
def test_large_phi_keeps_the_model_finite(covariance, phi, classes):
    X, y = blobs(200, 4, classes, seed=3)
    model = CW(phi=phi, covariance=covariance).partial_fit(X, y, classes=range(classes))
    assert np.isfinite(last_weights(model)).all()
    assert all(np.isfinite(array).all() for array in model.model_.memory.content(4))


@examples(50)
@given(seed=st.integers(0, 10**6), k=st.sampled_from([0.1, 1.0, 10.0]))
def test_the_diagonal_of_the_paper_is_smaller(seed, k):
    """The paper adds k x² to the inverse variances; here the diagonal of the new full matrix is used."""
    rng = np.random.default_rng(seed)
    sigma, x = rng.random(4) + 0.01, rng.normal(size=4)
    whole = np.linalg.inv(np.diag(1 / sigma) + k * np.outer(x, x))
    assert (1 / (1 / sigma + k * x**2) <= whole.diagonal() * (1 + 1e-12)).all()


def test_two_steps_by_hand():
    """phi = 1; the first example is (1) without a bias: m = 0, v = 1, root √(1 + 8) = 3, alpha = 2 / 4, beta = 1 / 2.

    The second is (2) of the other class: m = -1, v = 4 · 1/2 = 2, root √(9 + 16) = 5, alpha = (5 + 1) / 8, beta = 1.5 / (1 + 3).
    """
    model = CW(phi=1.0, fit_intercept=False).partial_fit([[1.0]], [1], classes=[0, 1])
    assert model.coef_.tolist() == [[0.5]]
    assert model.model_.memory.content(1)[0].tolist() == [0.5]
    model.partial_fit([[2.0]], [0])
    w, variance = Fraction(1, 2) - Fraction(3, 4) * 1, Fraction(1, 2) - Fraction(3, 8) * 1
    assert model.coef_.tolist() == [[float(w)]] == [[-0.25]]
    assert model.model_.memory.content(1)[0].tolist() == [float(variance)] == [0.125]
    assert -2 * w == 4 * variance, "the margin is phi variances"


def test_a_sample_weight_below_one_shortens_the_step():
    """A sample weight of 1/2 halves alpha: Σ⁻¹ grows by 2 · 0.25 instead of 2 · 0.5."""
    model = CW(fit_intercept=False).partial_fit([[1.0]], [1], classes=[0, 1], sample_weight=[0.5])
    assert model.coef_.tolist() == [[0.25]]
    assert model.model_.memory.content(1)[0].tolist() == pytest.approx([1 / 1.5], rel=1e-15)


def test_a_sample_weight_above_one_requires_a_larger_margin():
    X, y = [[1.0, 2.0]], [1]
    heavy = CW(phi=0.5).partial_fit(X, y, classes=[0, 1], sample_weight=[3.0])
    assert np.array_equal(heavy.coef_, CW(phi=1.5).partial_fit(X, y, classes=[0, 1]).coef_)


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, "big", None, True])
def test_phi_must_be_positive(value):
    with pytest.raises(
        ValueError, match=rf"`phi` of CW must be a number greater than 0; got {value!r}\. Larger values"
    ):
        CW(phi=value).fit([[0.0], [1.0]], [0, 1])
