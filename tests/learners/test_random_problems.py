"""Every algorithm of the lecture notes against its definition in plain Python, on 300 random problems each.

The values are whole numbers, so that nothing is rounded where the algorithms compare: the runs must agree mistake by mistake.
"""

import random
from fractions import Fraction

import numpy as np
import pytest

from rosenblatt import (
    AveragedPerceptron,
    BatchPerceptron,
    KernelPerceptron,
    Perceptron,
    PocketPerceptron,
    VotedPerceptron,
    Winnow,
)
from tests import oracles
from tests.helpers import FAST, ON_ZERO, fitted, followed, last_weights

COUNT = 30 if FAST else 300


def problems(classes=2, count=COUNT, seed=0, values=range(-3, 4), rows=8, features=3):
    """Small sets of whole numbers in which every class occurs, in the form of `helpers.integer_runs`."""
    rng = random.Random(seed)
    for _ in range(count):
        n, d = rng.randint(classes, max(rows, classes)), rng.randint(1, features)
        y = [*range(classes), *(rng.randrange(classes) for _ in range(n - classes))]
        rng.shuffle(y)
        X = [[rng.choice(values) for _ in range(d)] for _ in range(n)]
        yield {
            "X": np.array(X, float), "y": np.array(y), "classes": classes, "weight": None, "W": None,
            "bias": rng.random() < 0.7, "on_zero": rng.choice(ON_ZERO[:2]), "epochs": rng.randint(1, 6),
        }  # fmt: skip


def separable(count=COUNT, seed=0):
    """Sets of whole numbers that random whole weights separate; the labels are 0 and 1."""
    rng = random.Random(seed)
    while count:
        d = rng.randint(1, 3)
        w, b = [rng.randint(-3, 3) for _ in range(d)], rng.randint(-3, 3)
        X = [[rng.randint(-3, 3) for _ in range(d)] for _ in range(rng.randint(2, 8))]
        scores = [sum(a * v for a, v in zip(w, x, strict=True)) + b for x in X]
        y = [int(s > 0) for s in scores]
        if 0 not in scores and len(set(y)) == 2:
            count -= 1
            yield np.array(X, float), np.array(y)


def test_perceptron():
    for problem in problems():
        model = fitted(Perceptron(), problem)
        run = followed(model, oracles.perceptron(), problem)
        assert np.array_equal(last_weights(model), run.W)
        assert model.mistakes_per_epoch_.tolist() == run.mistakes_per_epoch


def test_averaged_perceptron():
    for problem in problems(seed=1):
        model = fitted(AveragedPerceptron(), problem)
        run = followed(model, oracles.perceptron(), problem)
        average = np.hstack([model.coef_, model.intercept_[:, None]])
        np.testing.assert_allclose(average, run.average(), rtol=1e-13, atol=1e-13)
        assert model.mistakes_per_epoch_.tolist() == run.mistakes_per_epoch


@pytest.mark.slow
def test_voted_perceptron():
    for problem in problems(seed=2):
        model = fitted(VotedPerceptron(), problem)
        run = followed(model, oracles.perceptron(), problem)
        assert np.array_equal(model.decision_function(problem["X"]), run.votes(problem["X"])[:, 0])


@pytest.mark.parametrize("scheme", ["max", "all"])
def test_many_classes(scheme):
    for classes in (3, 4, 5):
        for problem in problems(classes, count=COUNT // 3, seed=3):
            model = fitted(Perceptron(multiclass=scheme), problem)
            run = followed(model, oracles.perceptron(), problem, scheme=scheme)
            assert np.array_equal(last_weights(model), run.W)
            assert model.mistakes_per_epoch_.tolist() == run.mistakes_per_epoch


@pytest.mark.parametrize("balanced", [False, True])
def test_winnow(balanced):
    for problem in problems(count=COUNT // 2, seed=4, values=(-1, 1), features=6):
        run = oracles.learn(oracles.perceptron(0.5), link=oracles.winnow_link(balanced), **problem)
        model = fitted(Winnow(eta=0.5, balanced=balanced), problem)
        np.testing.assert_allclose(last_weights(model), run.W, rtol=1e-12, atol=1e-13)
        assert model.mistakes_ == run.mistakes


def test_dual_perceptron():
    for problem in problems(seed=5):
        X, y, epochs = problem["X"], problem["y"], problem["epochs"]
        gram = [[(int(a @ b) + 1) ** 2 for b in X] for a in X]
        counts, missed = oracles.dual_counts(gram, y, epochs)
        model = KernelPerceptron(degree=2, gamma=1.0, coef0=1.0, shuffle=False, tol=None, max_iter=epochs).fit(X, y)
        added = np.zeros(len(y))
        added[model.support_] = np.ravel(model.dual_coef_)
        assert added.tolist() == [count if label == 1 else -count for count, label in zip(counts, y, strict=True)]
        assert model.mistakes_per_epoch_.tolist() == missed


# ---- the pocket ----


def drawn(n, epochs, seed):
    """The examples that `shuffle="replacement"` draws."""
    rng = np.random.RandomState(seed)
    return np.concatenate([rng.randint(0, n, n) for _ in range(epochs)]).tolist()


@pytest.mark.slow
def test_the_pocket_is_never_worse_than_the_textbook():
    """Equal draws; the library checks a weight vector once, the textbook at every correct example."""
    worse, equal = 0, 0
    small, larger = problems(seed=6, count=COUNT - COUNT // 5), problems(seed=61, count=COUNT // 5, rows=60)
    for number, problem in enumerate([*small, *larger]):
        X, y = problem["X"], problem["y"]
        epochs = 1 + 3 * (number % 10)
        model = PocketPerceptron(shuffle="replacement", max_iter=epochs, random_state=number).fit(X, y)
        kept, fewest = oracles.pocket(X, y, drawn(len(y), epochs, number))
        worse += model.pocket_mistakes_ > fewest
        equal += last_weights(model)[0].tolist() == kept
    assert worse == 0
    assert equal >= 0.9 * COUNT, "the last weights are checked in addition, and are rarely better"


@pytest.mark.slow
def test_the_pocket_finds_the_best_line_for_exclusive_or():
    X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    fits = [PocketPerceptron(shuffle="replacement", max_iter=1000, random_state=s).fit(X, y) for s in range(40)]
    assert {model.pocket_mistakes_ for model in fits} == {1}


# ---- batch ----

VARIANTS = ("average", "fixed-increment", "line-search")


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("classes", [2, 3])
def test_batch_agrees_with_exact_arithmetic(variant, classes):
    for number, problem in enumerate(problems(classes, count=COUNT if classes == 2 else COUNT // 3, seed=7)):
        X, y, bias = problem["X"], problem["y"], problem["bias"]
        alpha = (1, Fraction(1, 2))[number % 2]
        W, counts = oracles.exact_batch(X, y, classes=classes, variant=variant, alpha=alpha, epochs=12, bias=bias)
        model = BatchPerceptron(variant=variant, alpha=float(alpha), max_iter=12, fit_intercept=bias, epsilon=1e-9)
        model.fit(X, y)
        assert model.mistakes_per_epoch_.tolist() == counts
        assert last_weights(model).tolist() == [[float(a) for a in w] for w in W]


def test_rounding_decides_no_tie():
    model = BatchPerceptron().fit([[-2], [-1], [2], [-1], [-1]], [-1, 1, 1, 1, 1])
    assert (model.coef_.tolist(), model.intercept_.tolist()) == ([[3 / 5]], [5 / 5])
    assert model.converged_


@pytest.mark.parametrize("alpha", [1.0, 0.1])
def test_average_and_fixed_increment_differ_in_length_only(alpha):
    for X, y in separable(seed=8):
        runs = [BatchPerceptron(variant=v, alpha=alpha, max_iter=3000, epsilon=1e-9).fit(X, y) for v in VARIANTS[:2]]
        average, fixed = runs
        assert average.mistakes_per_epoch_.tolist() == fixed.mistakes_per_epoch_.tolist()
        np.testing.assert_allclose(average.coef_ * len(y), fixed.coef_, rtol=1e-15)
        np.testing.assert_allclose(average.loss_per_epoch_ * len(y), fixed.loss_per_epoch_, rtol=1e-14)
        assert average.converged_


def smallest_exact_margin(model, X, y):
    """The smallest y (<w, x> + b), without rounding."""
    *w, b = map(Fraction, last_weights(model)[0].tolist())
    scores = [sum(a * int(v) for a, v in zip(w, x, strict=True)) + b for x in X]
    return min(s if label == 1 else -s for s, label in zip(scores, y, strict=True))


LANDS_ON_THE_BOUNDARY = [[3, -3], [1, -3]], [1, 0]
EXPLODES = [[-1], [-3], [3], [2], [-2], [0], [3], [2]], [1, 1, 0, 0, 1, 1, 0, 0]


def test_the_line_search_ends_strictly_inside_with_bounded_weights():
    for X, y in [LANDS_ON_THE_BOUNDARY, EXPLODES, *separable(524 if COUNT == 300 else COUNT, seed=9)]:
        model = BatchPerceptron(variant="line-search", max_iter=3000).fit(X, y)
        assert model.converged_
        assert smallest_exact_margin(model, X, y) > 0
        assert np.abs(last_weights(model)).max() <= 100


def test_the_line_search_from_long_starting_weights():
    """The largest step grows with the starting weights, so that they are not left in small steps."""
    X, y = [[3, -3], [1, -3], [2, 1]], [1, 0, 1]
    model = BatchPerceptron(variant="line-search").fit(X, y, coef_init=[-1e6, 2e6], intercept_init=1e6)
    assert model.converged_
    assert model.n_iter_ < 30


# ---- draws with replacement ----

FOUR = [[4, 0], [1, 1], [0, 1], [-2, -2]], [1, 0, 0, 1]


def test_a_lucky_epoch_of_draws_does_not_end_training():
    """An epoch of draws can miss the one example that is still wrong."""
    X, y = FOUR
    runs = [Perceptron(shuffle="replacement", tol=None, max_iter=10_000, random_state=s).fit(X, y) for s in range(100)]
    assert all(run.converged_ for run in runs)
    assert any(0 in run.mistakes_per_epoch_[:-1] for run in runs), "this test needs such an epoch"
    duals = [
        KernelPerceptron(degree=1, shuffle="replacement", tol=None, max_iter=10_000, random_state=s).fit(X, y)
        for s in range(20)
    ]
    assert all(run.converged_ for run in duals)
