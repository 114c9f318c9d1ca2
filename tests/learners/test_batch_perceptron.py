"""The batch perceptron, its three variants, and the exact line search."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rosenblatt import BatchPerceptron
from rosenblatt.learners.batch_perceptron import FINEST, best_step
from tests import oracles
from tests.helpers import SCHEMES, blobs, examples, fitted, integer_runs, last_weights


def batch(problem, scheme, scale, alpha, epsilon=1e-3):
    """The algorithm of Duda and Hart: sum all mistakes, then take one step."""
    X, y, weight = problem["X"], problem["y"], problem["weight"]
    vectors = 1 if problem["classes"] == 2 else problem["classes"]
    W = np.zeros((vectors, X.shape[1] + 1)) if problem["W"] is None else problem["W"].copy()
    for _ in range(problem["epochs"]):
        delta = scale * oracles.batch_direction(
            W, X, y, scheme=scheme, on_zero=problem["on_zero"], bias=problem["bias"], weight=weight
        )
        if not delta.any():
            break
        W = W + alpha * delta
        if np.linalg.norm(delta) < epsilon:
            break
    return W


@pytest.mark.parametrize("scheme", SCHEMES)
@examples(40)
@given(data=st.data(), classes=st.sampled_from([2, 3]), sparse=st.booleans())
def test_fixed_increment(scheme, data, classes, sparse):
    problem = data.draw(integer_runs(classes))
    if scheme == "proportional":
        problem["epochs"] = 1  # later epochs divide by sums that are not exact floats
    model = fitted(BatchPerceptron(variant="fixed-increment", multiclass=scheme, alpha=2.0), problem, sparse)
    assert np.array_equal(last_weights(model), batch(problem, scheme, 1.0, 2.0))


@examples(60)
@given(integer_runs(), st.sampled_from([0.5, 1.0]))
def test_average(problem, alpha):
    count = len(problem["X"]) if problem["weight"] is None else problem["weight"].sum()
    problem["epochs"] = 1  # later ties depend on the rounding of 1/n
    model = fitted(BatchPerceptron(alpha=alpha), problem)
    np.testing.assert_allclose(last_weights(model), batch(problem, "max", 1 / count, alpha), rtol=1e-13, atol=1e-13)


@given(integer_runs(max_rows=8))
def test_average_over_a_power_of_two_is_exact(problem):
    n = 2 ** int(np.log2(len(problem["X"])))
    problem |= {"X": problem["X"][:n], "y": np.append(problem["y"][: n - 2], [0, 1]), "weight": None}
    model = fitted(BatchPerceptron(), problem)
    assert np.array_equal(last_weights(model), batch(problem, "max", 1 / n, 1.0))


def criterion_along(scores, slopes, y, weight, separate, a):
    """The perceptron criterion at step a, by its definition."""
    S = scores + a * slopes
    if S.shape[1] == 1:
        loss = np.maximum(0, -np.where(y == 1, 1, -1) * S[:, 0])
    elif separate:
        loss = np.maximum(0, -np.where(np.eye(S.shape[1])[y] > 0, 1, -1) * S).sum(axis=1)
    else:
        loss = np.maximum(0, (S - S[np.arange(len(y)), y][:, None]).max(axis=1))
    return float(weight @ loss)


def break_points(scores, slopes, y, separate):
    """Every step at which two lines of an example cross."""
    found = [0.0]
    for s, r, true in zip(scores, slopes, y, strict=True):
        if len(s) == 1 or separate:
            lines = [[(0.0, 0.0), (a, b)] for a, b in zip(s, r, strict=True)]
        else:
            lines = [[(a - s[true], b - r[true]) for a, b in zip(s, r, strict=True)]]
        for group in lines:
            found += [(h2 - h1) / (r1 - r2) for h1, r1 in group for h2, r2 in group if r1 != r2]
    return np.array(sorted({a for a in found if a >= 0}))


@examples(200)
@given(st.data(), st.integers(1, 8), st.sampled_from([1, 3]), st.booleans(), st.booleans())
def test_the_line_search_against_brute_force(data, n, vectors, separate, weighted):
    numbers = arrays(np.int64, (n, vectors), elements=st.integers(-5, 5))
    scores, slopes = data.draw(numbers).astype(float), data.draw(numbers).astype(float)
    y = data.draw(arrays(np.int64, n, elements=st.integers(0, max(1, vectors - 1))))
    weight = data.draw(arrays(np.int64, n, elements=st.integers(0, 3))).astype(float) if weighted else np.zeros(0)
    counts = weight if weighted else np.ones(n)
    step = best_step(scores, slopes, y, weight, separate and vectors > 1)

    def value(a):
        return criterion_along(scores, slopes, y, counts, separate and vectors > 1, a)

    points = break_points(scores, slopes, y, separate and vectors > 1)
    far = 2 * points[-1] + 1
    tried = np.unique(np.concatenate([points, np.linspace(0, far, 50)]))
    values = np.array([value(a) for a in tried])
    if value(far * 2) < value(far) - 1e-9:
        assert step >= points[-1], "the criterion decreases without end: beyond the last corner"
        return
    assert value(step) <= values.min() + 1e-9
    best = points[[value(a) <= values.min() + 1e-9 for a in points]]  # a plateau begins and ends at a corner
    if value(far) > values.min() + 1e-9:
        assert step == pytest.approx((best[0] + best[-1]) / 2, abs=1e-9), "the middle of the plateau"
    else:
        assert step == pytest.approx(2 * best[0], abs=1e-9), "twice the smallest of steps without end"


@pytest.mark.parametrize("scheme", ["max", "uniform", "ovr"])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_line_search_in_a_fit(classes, scheme):
    X, y = blobs(40, 3, classes, seed=6)
    weight = np.random.default_rng(0).integers(1, 4, 40).astype(float)
    separate = scheme == "ovr" and classes > 2
    fits = [
        BatchPerceptron(variant="line-search", max_iter=n, multiclass=scheme).fit(X, y, sample_weight=weight)
        for n in range(1, 8)
    ]
    first = oracles.batch_direction(np.zeros((1 if classes == 2 else 3, 4)), X, y, scheme=scheme, weight=weight)
    np.testing.assert_allclose(last_weights(fits[0]), first, rtol=1e-12, err_msg="the first step is a fixed increment")
    for before, after in pairwise(fits):
        if after.n_iter_ == before.n_iter_:
            break
        W, W_next = last_weights(before), last_weights(after)
        delta = oracles.batch_direction(W, X, y, scheme=scheme, weight=weight)
        step = ((W_next - W) * delta).sum() / (delta * delta).sum()
        np.testing.assert_allclose(W + step * delta, W_next, rtol=1e-9, atol=1e-9)
        extended = np.hstack([X, np.ones((len(X), 1))])
        corners = break_points(extended @ W.T, extended @ delta.T, y, separate)
        values = [oracles.perceptron_criterion(W + a * delta, X, y, weight, separate) for a in corners]
        best = corners[np.argmin(values)]
        if before.n_iter_ > 1:
            assert step == pytest.approx(round(best * FINEST) / FINEST or 1.0, abs=1e-6)


@pytest.mark.parametrize("variant", ["average", "fixed-increment", "line-search"])
def test_separable_data_is_separated(variant):
    X, y = blobs(30, 20, seed=1)
    model = BatchPerceptron(variant=variant, max_iter=5000, epsilon=1e-12).fit(X, y)
    assert model.converged_
    assert model.score(X, y) == 1
    assert model.mistakes_per_epoch_[-1] == 0


def test_training_ends_when_the_step_is_below_epsilon():
    X, y = blobs(60, 2, seed=3)
    y = np.random.default_rng(0).permutation(y)
    short = BatchPerceptron(epsilon=100.0, max_iter=50).fit(X, y)
    assert short.n_iter_ == 1
    assert BatchPerceptron(epsilon=1e-9, max_iter=50).fit(X, y).n_iter_ == 50


def test_counters_cover_whole_epochs():
    X, y = np.array([[1.0], [2], [-1], [-2]]), [1, 1, 0, 0]
    model = BatchPerceptron(fit_intercept=False).fit(X, y)
    assert model.mistakes_per_epoch_.tolist() == [4, 0]
    assert model.mistakes_ == 4
    assert model.coef_.tolist() == [[6 / 4]]


def test_there_are_no_methods_for_streams():
    for name in ("partial_fit", "learn_one", "predict_one"):
        assert not hasattr(BatchPerceptron(), name)
