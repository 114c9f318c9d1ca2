"""The pocket: the best weights of the run."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rosenblatt import Perceptron, PocketPerceptron
from tests import oracles
from tests.helpers import ON_ZERO, SCHEMES, blobs, examples, integer_problems


def missed(W, X, y, weight, on_zero="update"):
    """Weighted mistakes of fixed weights on all examples."""
    total = 0.0
    for x, true, c in zip(X, y, weight, strict=True):
        s = oracles.scores(W, x)
        if len(s) == 1:
            wrong = oracles.is_mistake(s[0] if true == 1 else -s[0], true == 1, on_zero)
        else:
            rival = max((k for k in range(len(s)) if k != true), key=lambda k: (s[k], -k))
            wrong = oracles.is_mistake(s[true] - s[rival], true < rival, on_zero)
        total += c * wrong
    return total


def weights(model):
    return np.hstack([model.coef_, model.intercept_[:, None]])


def visited(X, y, classes, scheme, epochs):
    """The weights before the first example and after each."""
    run = oracles.learn(oracles.perceptron(), X, y, classes=classes, scheme=scheme, epochs=epochs)
    return [np.zeros_like(run.W)] + [W for W, _ in run.after]


@pytest.mark.parametrize("scheme", SCHEMES)
@examples(30)
@given(data=st.data(), classes=st.integers(2, 3), epochs=st.integers(1, 5))
def test_the_pocket_contains_weights_of_the_run_and_never_gets_worse(scheme, data, classes, epochs):
    X, y = data.draw(integer_problems(classes))
    model = PocketPerceptron(shuffle=False, max_iter=epochs, multiclass=scheme).fit(X, y)
    seen = visited(X, y, classes, scheme, epochs)
    assert any(np.array_equal(weights(model), W) for W in seen)
    one = np.ones(len(X))
    assert model.pocket_mistakes_ == missed(weights(model), X, y, one)
    assert model.pocket_mistakes_ <= missed(seen[0], X, y, one)
    assert model.pocket_mistakes_ <= missed(seen[-1], X, y, one), "the last weights are checked, too"
    # All weights with the longest run so far in the first epoch were checked.
    record = run = 0
    for before, after in pairwise(seen[: len(X) + 1]):
        run = run + 1 if np.array_equal(before, after) else 0
        if run > record:
            record = run
            assert model.pocket_mistakes_ <= missed(after, X, y, one)


def test_the_updates_do_not_depend_on_the_pocket():
    X, y = blobs(80, 3, seed=1)
    plain = Perceptron(max_iter=10, tol=None).fit(X, y)
    pocket = PocketPerceptron(max_iter=10).fit(X, y)
    assert plain.mistakes_per_epoch_.tolist() == pocket.mistakes_per_epoch_.tolist()
    assert (1 - pocket.score(X, y)) * 80 == pytest.approx(pocket.pocket_mistakes_)
    assert pocket.pocket_mistakes_ <= missed(weights(plain), X, y, np.ones(80))


def test_the_best_weights_of_a_small_set_are_found():
    X = np.array([[0.0], [1], [2], [3], [4], [5]])
    y = np.array([0, 0, 1, 0, 1, 1])
    model = PocketPerceptron(max_iter=300).fit(X, y)
    assert model.pocket_mistakes_ == 1
    assert model.score(X, y) == pytest.approx(5 / 6)
    assert not model.converged_


@pytest.mark.parametrize("on_zero", ON_ZERO[:2])
def test_the_check_uses_sample_weights(on_zero):
    X, y = blobs(60, 3, seed=4)
    y = np.random.default_rng(0).permutation(y)
    weight = np.random.default_rng(1).integers(0, 4, 60).astype(float)
    model = PocketPerceptron(max_iter=20, on_zero=on_zero).fit(X, y, sample_weight=weight)
    assert model.pocket_mistakes_ == missed(weights(model), X, y, weight, on_zero)


def test_the_pocket_improves_with_more_epochs():
    X, y = blobs(100, 2, seed=7)
    y = np.random.default_rng(0).permutation(y)
    better = 0
    for seed in range(5):
        kept = [PocketPerceptron(max_iter=n, random_state=seed).fit(X, y).pocket_mistakes_ for n in (1, 3, 10, 30)]
        assert kept == sorted(kept, reverse=True)
        better += kept[-1] < kept[0]
    assert better


def test_a_separable_set_converges():
    X, y = blobs(30, 20, seed=1)
    model = PocketPerceptron().fit(X, y)
    assert model.converged_
    assert model.pocket_mistakes_ == 0


def test_draws_with_replacement_as_in_gallants_paper():
    X, y = blobs(60, 3, seed=2)
    model = PocketPerceptron(shuffle="replacement", max_iter=20).fit(X, y)
    assert model.pocket_mistakes_ == missed(weights(model), X, y, np.ones(60))


def test_there_are_no_methods_for_streams():
    for name in ("partial_fit", "learn_one", "predict_one"):
        assert not hasattr(PocketPerceptron(), name)
