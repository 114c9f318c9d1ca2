"""Each bound compared with a run of its algorithm, written out in a few lines of NumPy."""

import itertools
import math

import numpy as np
import pytest

from rosenblatt.theory import bounds, certify, radius

SEEDS = range(5)


def separable_data(seed, n=60, d=4, gap=0.1):
    rng = np.random.default_rng(seed)
    u = rng.standard_normal(d)
    u /= np.linalg.norm(u)
    X = rng.standard_normal((400, d))
    X = X[np.abs(X @ u) > gap][:n]
    return X, np.sign(X @ u), u


def run_perceptron(X, y, w=None, rate=1.0, threshold=0.0, epochs=10_000):
    """Return the final weights and the number of updates; stop after an epoch without one."""
    w = np.zeros(X.shape[1]) if w is None else np.array(w, dtype=float)
    updates = 0
    for _ in range(epochs):
        before = updates
        for x, label in zip(X, y):
            if label * (w @ x) <= threshold:
                w = w + rate * label * x
                updates += 1
        if updates == before:
            return w, updates
    return w, updates


@pytest.mark.parametrize("seed", SEEDS)
def test_block_novikoff_and_squeeze(seed):
    X, y, u = separable_data(seed)
    r, gamma = bounds.radius_and_margin(X, y, u)
    w, mistakes = run_perceptron(X, y)
    assert 0 < mistakes <= bounds.block_novikoff(r, gamma)
    assert bounds.squeeze(mistakes, gamma, r, w, 3 * u).holds
    assert not bounds.squeeze(2 * math.ceil((r / gamma) ** 2), gamma, r, w, u).holds
    # The weights of the run give an upper bound of every margin.
    assert gamma <= bounds.margin_from_above(w, mistakes)
    assert certify(X, y, fit_intercept=False).margin[0] <= bounds.margin_from_above(w, mistakes)
    assert mistakes <= certify(X, y, fit_intercept=False).mistake_bound


def test_block_novikoff_is_attained():
    # d orthogonal unit vectors: γ = 1/√d, and each of them is a mistake.
    for d in (1, 4, 9):
        _, mistakes = run_perceptron(np.eye(d), np.ones(d))
        bound = certify(np.eye(d), np.ones(d), fit_intercept=False, tol=1e-9).mistake_bound
        assert mistakes == d
        assert bound == pytest.approx(d)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("rate", [0.1, 1.0, 3.0])
def test_the_bound_from_starting_weights_holds(seed, rate):
    X, y, u = separable_data(seed)
    r, gamma = bounds.radius_and_margin(X, y, u)
    start = -5 * u
    w, mistakes = run_perceptron(X, y, w=start, rate=rate)
    assert mistakes <= bounds.from_starting_weights(r, gamma, 5.0, rate)
    assert gamma <= bounds.margin_from_above(w, mistakes * rate, start)
    assert bounds.from_starting_weights(r, gamma, 0.0, rate) == bounds.block_novikoff(r, gamma)


def test_every_term_of_the_bound_is_needed_for_one_point():
    X, y = np.ones((1, 1)), np.ones(1)
    assert 1 < run_perceptron(X, y, w=[-5.0])[1] == 6 <= bounds.from_starting_weights(1, 1, 5.0) == 11
    assert 1 < run_perceptron(X, y, threshold=5.0)[1] == 6 <= bounds.margin_rule_updates(1, 1, 5.0) == 11


@pytest.mark.parametrize("seed", SEEDS)
def test_the_bound_for_inseparable_data_holds(seed):
    X, y, u = separable_data(seed)
    y[::7] *= -1
    _, mistakes = run_perceptron(X, y, epochs=1)
    r = radius(X, fit_intercept=False)
    for gamma in (0.05, 0.2, 1.0, 3.0):
        assert mistakes <= bounds.not_separable(r, gamma, bounds.hinge_deviation(u, X, y, gamma))
    assert bounds.not_separable(r, 0.3, 0.0) == bounds.block_novikoff(r, 0.3)


def test_hinge_deviation_includes_the_bias():
    X, y = [[1.0], [2.0]], [-1, 1]
    by_hand = np.linalg.norm(np.maximum(0, 1 - np.array([-1 * (1 - 1.5), 2 - 1.5]) / np.sqrt(1 + 1.5**2)))
    assert bounds.hinge_deviation([1.0], X, y, 1.0, intercept=-1.5) == pytest.approx(by_hand)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("threshold", "rate"), [(0.0, 1.0), (1.0, 1.0), (5.0, 0.5)])
def test_the_bound_of_the_margin_rule_holds(seed, threshold, rate):
    X, y, u = separable_data(seed)
    r, gamma = bounds.radius_and_margin(X, y, u)
    w, updates = run_perceptron(X, y, rate=rate, threshold=threshold)
    assert updates <= bounds.margin_rule_updates(r, gamma, threshold, rate)
    assert (y * (X @ w)).min() / np.linalg.norm(w) >= bounds.margin_rule_margin(r, gamma, threshold, rate)


def run_multiclass(X, y, classes, scheme, epochs=10_000):
    W, mistakes = np.zeros((classes, X.shape[1])), 0
    for _ in range(epochs):
        before = mistakes
        for x, own in zip(X, y):
            scores = W @ x
            rivals = [c for c in range(classes) if c != own and scores[c] >= scores[own]]
            if not rivals:
                continue
            mistakes += 1
            excess = np.array([scores[c] - scores[own] for c in rivals])
            if scheme == "max":
                share = np.eye(len(rivals))[np.argmax(excess)]
            elif scheme == "uniform" or not excess.any():
                share = np.full(len(rivals), 1 / len(rivals))
            else:
                share = excess / excess.sum()
            W[own] += x
            W[rivals] -= share[:, None] * x
        if mistakes == before:
            break
    return mistakes


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("scheme", ["max", "uniform", "proportional"])
def test_the_multiclass_bound_holds(seed, scheme):
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((4, 5))
    X = rng.standard_normal((400, 5))
    scores = np.sort(X @ U.T, axis=1)
    X = X[scores[:, -1] - scores[:, -2] > 0.3][:60]
    y = np.argmax(X @ U.T, axis=1)
    r, gamma = bounds.radius_and_margin(X, y, U)
    assert run_multiclass(X, y, 4, scheme) <= bounds.multiclass(r, gamma)
    assert bounds.multiclass(r, gamma) == 2 * bounds.block_novikoff(r, gamma)
    certificate = certify(X, y, fit_intercept=False)
    assert run_multiclass(X, y, 4, scheme) <= certificate.mistake_bound <= bounds.multiclass(r, gamma) * 1.0000001


def run_winnow(X, y, rate, epochs=2000):
    w, mistakes = np.zeros(X.shape[1]), 0
    for _ in range(epochs):
        before = mistakes
        for x, label in zip(X, y):
            if label * (np.exp(w - w.max()) @ x) <= 0:
                w = w + rate * label * x
                mistakes += 1
        if mistakes == before:
            break
    return mistakes


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("factor", [0.5, 1.0, 1.5])
def test_the_bound_of_winnow_holds(seed, factor):
    rng = np.random.default_rng(seed)
    u = rng.dirichlet(np.full(30, 0.2))
    X = rng.choice([-1.0, 1.0], (600, 30))
    X = X[np.abs(X @ u) > 0.2][:100]
    y = np.sign(X @ u)
    gamma = float((y * (X @ u)).min())
    mistakes = run_winnow(X, y, factor * gamma)
    assert 0 < mistakes <= bounds.winnow(30, gamma, factor * gamma, bounds.entropy(u))
    assert bounds.winnow(30, gamma, gamma) <= bounds.winnow_tuned(30, gamma)
    if factor == 1.0:
        assert mistakes <= bounds.winnow_tuned(30, gamma)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_bounds_of_committees_hold(seed):
    rng = np.random.default_rng(seed)
    p, k = 100, 5
    X = rng.choice([-1.0, 1.0], (400, p))
    y = np.sign(X[:, rng.choice(p, k, replace=False)].sum(axis=1))
    assert 0 < run_perceptron(X, y)[1] <= bounds.committee_perceptron(p, k)
    assert 0 < run_winnow(X, y, 1 / k) <= bounds.committee_winnow(p, k)
    panel = np.zeros(p)
    panel[:k] = 1 / k
    exactly = bounds.winnow(p, 1 / k, 1 / k, bounds.entropy(panel))
    assert exactly <= bounds.committee_winnow(p, k)
    assert exactly == pytest.approx(bounds.committee_winnow(p, k), rel=0.02)


@pytest.mark.parametrize(
    ("p", "k", "perceptron", "winnow"), [(1000, 5, 5000, 264.9), (10000, 5, 50000, 380.0), (1000, 9, 9000, 763.1)]
)
def test_the_bounds_of_the_committee_in_the_notes(p, k, perceptron, winnow):
    assert bounds.committee_perceptron(p, k) == perceptron
    assert bounds.committee_winnow(p, k) == pytest.approx(winnow, abs=0.05)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_bound_of_parameter_mixing_holds(seed):
    X, y, u = separable_data(seed)
    r, gamma = bounds.radius_and_margin(X, y, u)
    rng = np.random.default_rng(seed)
    shards, mu = np.array_split(np.arange(len(X)), 3), rng.dirichlet(np.ones(3))
    w, spent = np.zeros(X.shape[1]), 0.0
    for _ in range(200):
        runs = [run_perceptron(X[s], y[s], w=w, epochs=1) for s in shards]
        w = sum(m * v for m, (v, _) in zip(mu, runs))
        spent += sum(m * k for m, (_, k) in zip(mu, runs))
    assert 0 < spent <= bounds.parameter_mixing(r, gamma)


@pytest.mark.parametrize(
    "call",
    [
        lambda: bounds.block_novikoff(1, 0),
        lambda: bounds.block_novikoff(1, -0.5),
        lambda: bounds.block_novikoff(-1, 1),
        lambda: bounds.block_novikoff(math.nan, 1),
        lambda: bounds.block_novikoff(1, math.inf),
        lambda: bounds.from_starting_weights(1, 1, -1),
        lambda: bounds.from_starting_weights(1, 1, 1, rate=0),
        lambda: bounds.not_separable(1, 1, -1),
        lambda: bounds.margin_rule_updates(1, 1, -1),
        lambda: bounds.margin_rule_margin(1, 1, 1, rate=-1),
        lambda: bounds.winnow(10, 0.1, 5.0),
        lambda: bounds.winnow(10, 0.1, 0.1, entropy=99),
        lambda: bounds.winnow(0, 0.1, 0.1),
        lambda: bounds.committee_perceptron(10, 4),
        lambda: bounds.committee_winnow(3, 5),
        lambda: bounds.entropy([0.5, 0.6]),
        lambda: bounds.squeeze(1, 1, 1, [1, 2], [1]),
        lambda: bounds.margin_from_above([1], 0),
        lambda: bounds.hinge_deviation([1.0, 2.0], [[1.0], [2.0]], [0, 1], 1.0),
        lambda: bounds.hinge_deviation([1.0], [[1.0], [2.0], [3.0]], [0, 1, 2], 1.0),
    ],
)
def test_errors_have_one_sentence_and_advice(call):
    with pytest.raises(ValueError, match=r"^`\w+`.* must .*; got .*\. \S"):
        call()


def test_edge_cases_of_the_bounds():
    assert bounds.block_novikoff(0, 1) == 0
    assert bounds.winnow(1, 0.5, 0.5) == 0
    assert bounds.margin_rule_margin(0, 1, 0) == 0
    assert bounds.entropy([1.0]) == 0
    grown = [bounds.margin_rule_margin(1, 0.5, b) for b in (0, 1, 10, 1e6)]
    assert all(a < b for a, b in itertools.pairwise(grown))
    assert grown[-1] == pytest.approx(0.25, rel=1e-5)
