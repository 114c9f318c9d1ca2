"""Parallel perceptrons: the p-delta rule in plain NumPy, the exclusive or, and refused input."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rosenblatt import ParallelPerceptron, Perceptron
from tests.helpers import assert_same_model, blobs, csr, differences, examples, last_weights, memory


def p_delta(X, y, W, eta, gamma, mu, epochs=1, weight=None):
    """The cases of the paper, with outputs and targets of -1 and +1, and the pull to length 1 of the documentation."""
    Z, W, mistakes = np.hstack([X, np.ones((len(X), 1))]), W.copy(), 0
    weight = np.ones(len(X)) if weight is None else weight
    for _ in range(epochs):
        for z, o, c in zip(Z, np.where(y == 1, 1, -1), weight, strict=True):
            if c == 0:
                continue
            products = W @ z
            output = 1 if (products >= 0).sum() > len(W) / 2 else -1
            mistakes += output != o
            for i, a in enumerate(products):
                if output > o and a >= 0:
                    delta = -1.0
                elif output < o and a < 0:
                    delta = 1.0
                elif output <= o and 0 <= a < gamma:
                    delta = mu
                elif output >= o and -gamma < a < 0:
                    delta = -mu
                else:
                    continue
                W[i] = W[i] / (1 + eta * (W[i] @ W[i] - 1)) + c * eta * delta * z
    return W, mistakes


@pytest.mark.parametrize("n", [3, 7])
@pytest.mark.parametrize("seed", range(4))
def test_agrees_with_the_cases_of_the_paper(n, seed):
    X, y = blobs(80, 6, seed=seed)
    W = np.random.default_rng(seed).normal(size=(n, 7))
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    weight = np.random.default_rng(1).choice([0.0, 0.5, 1.0], 80)
    wanted, mistakes = p_delta(X, y, W, 0.05, 0.2, 0.7, epochs=3, weight=weight)
    fixed = {"max_iter": 3, "tol": None, "shuffle": False}
    for convert in (np.asarray, csr):
        model = ParallelPerceptron(n_perceptrons=n, eta=0.05, gamma=0.2, mu=0.7, **fixed)
        model.fit(convert(X), y, coef_init=W[:, :-1], intercept_init=W[:, -1], sample_weight=weight)
        np.testing.assert_allclose(last_weights(model), wanted, rtol=1e-9, atol=1e-12)
        assert model.mistakes_ == mistakes
        assert model.coef_.shape == (n, 6)


@pytest.mark.parametrize("seed", range(10))
def test_the_exclusive_or_is_learned(seed):
    X, y = [[1, 1], [1, -1], [-1, 1], [-1, -1]], ["even", "odd", "odd", "even"]
    model = ParallelPerceptron(eta=0.05, max_iter=5000, tol=None, random_state=seed).fit(X, y)
    assert model.predict(X).tolist() == y
    assert model.converged_
    assert not Perceptron(max_iter=100, tol=None).fit(X, y).converged_


def test_several_perceptrons_learn_what_one_cannot():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    assert ParallelPerceptron(max_iter=300, tol=None).fit(X, y).score(X, y) > 0.85
    assert Perceptron().fit(X, y).score(X, y) < 0.7


@examples(10)
@given(
    seed=st.integers(0, 10**6), features=st.sampled_from([1, 3, 8, 13]), sizes=st.lists(st.integers(1, 20), max_size=5)
)
def test_chunks_give_the_same_bits_as_one_call(seed, features, sizes):
    X, y = blobs(40, features, 2, seed)
    whole = ParallelPerceptron(eta=0.1).partial_fit(X, y)
    assert_same_model(ParallelPerceptron(eta=0.1).partial_fit(csr(X), y), whole)
    chunks, single, start = ParallelPerceptron(eta=0.1), ParallelPerceptron(eta=0.1), 0
    for size in [*sizes, 40]:
        if start < 40:
            chunks.partial_fit(X[start : start + size], y[start : start + size])
            start += size
    single.partial_fit(X[:1], y[:1])
    for x, label in zip(X[1:], y[1:].tolist(), strict=True):
        single.learn_one(x, label)
    assert_same_model(chunks, whole)
    assert_same_model(single, whole)


def test_the_votes():
    X, y = blobs(60, 4, seed=1)
    model = ParallelPerceptron(n_perceptrons=7).fit(X, y)
    W = last_weights(model)
    votes = np.where(np.hstack([X, np.ones((60, 1))]) @ W.T >= 0, 1, -1).mean(axis=1)
    np.testing.assert_allclose(model.decision_function(X), votes)
    assert np.array_equal(model.predict(X), (votes > 0).astype(int))


def test_a_stream_of_dicts():
    rng = np.random.default_rng(0)
    model = ParallelPerceptron(eta=0.05)
    wrong = 0
    for t in range(3000):
        a, b = rng.choice([-1.0, 1.0], 2)
        label = "odd" if a != b else "even"
        wrong += model.learn_one({"a": a, "b": b} if t % 2 else {"b": b, "a": a}, label) != label and t >= 2000
    assert wrong < 50
    assert model.n_features_in_ == 2


def test_a_third_class_is_refused_and_changes_nothing():
    X, y = blobs(40, 4)
    model = ParallelPerceptron().fit(X, y)
    before = memory(model)
    for call in (lambda: model.partial_fit(X[:2], [0, 2]), lambda: model.learn_one(X[0], 2)):
        with pytest.raises(ValueError, match="Only binary classification is supported"):
            call()
        assert differences(memory(model), before) == []
    with pytest.raises(ValueError, match="supports 2 classes"):
        ParallelPerceptron().fit(X, np.arange(40) % 3)


@pytest.mark.parametrize("value", [1, 2, 4, 2.5, "many", 0, None])
def test_the_number_of_perceptrons_must_be_odd(value):
    with pytest.raises(ValueError, match=r"`n_perceptrons` of ParallelPerceptron must be .*; got .*\. An odd number"):
        ParallelPerceptron(n_perceptrons=value).fit([[0.0], [1.0]], [0, 1])


def test_weights_stay_finite_for_long_examples():
    X, y = blobs(500, 4)
    model = ParallelPerceptron(eta=1.0, max_iter=20, tol=None).fit(1e6 * X, y)
    assert np.isfinite(model.coef_).all()
