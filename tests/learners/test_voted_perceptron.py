"""The voted perceptron: every weight vector has one vote per example that it survived."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from rosenblatt import Perceptron, VotedPerceptron
from tests import oracles
from tests.helpers import SCHEMES, blobs, csr, examples, fitted, followed, integer_runs, last_weights, memory


@examples(100)
@given(integer_runs(), st.booleans())
def test_two_classes(problem, sparse):
    model = fitted(VotedPerceptron(), problem, sparse)
    run = followed(model, oracles.perceptron(), problem)
    assert np.array_equal(last_weights(model), run.W)
    assert (model.mistakes_, model.updates_) == (run.mistakes, run.updates)
    votes = run.votes(problem["X"])[:, 0]
    assert np.array_equal(model.decision_function(csr(problem["X"]) if sparse else problem["X"]), votes)
    assert np.array_equal(model.predict(problem["X"]), (votes >= 0).astype(int))
    assert model.survived_.sum() == sum(c for _, c in run.after)


@pytest.mark.parametrize("scheme", SCHEMES)
@examples(40)
@given(data=st.data())
def test_many_classes(scheme, data):
    problem = data.draw(integer_runs(3))
    model = fitted(VotedPerceptron(multiclass=scheme), problem)
    run = followed(model, oracles.perceptron(), problem, scheme=scheme)
    assert np.array_equal(last_weights(model), run.W)
    if scheme == "ovr":  # runs of different lengths are brought to one length, which rounds
        np.testing.assert_allclose(model.decision_function(problem["X"]), run.votes(problem["X"]), rtol=1e-12)
    elif scheme != "proportional":  # its fractions are rounded, which decides ties
        assert np.array_equal(model.decision_function(problem["X"]), run.votes(problem["X"], scheme))


def test_the_weight_vectors_can_be_computed_from_the_support():
    X, y = blobs(40, 3)
    model = VotedPerceptron(max_iter=3, tol=None).fit(X, y)
    w = np.cumsum(
        model.dual_coef_ * np.hstack([model.support_, np.ones((len(model.support_), 1))])[model.mistake_rows_], 0
    )
    np.testing.assert_allclose(w[-1:], last_weights(model), rtol=1e-12, atol=1e-12)
    assert len(model.mistake_rows_) == model.mistakes_ == len(model.survived_) - 1
    assert len(np.unique(model.support_, axis=0)) == len(model.support_), "each example occurs once"


def test_more_mistakes_than_the_capacity_of_a_log():
    rng = np.random.default_rng(0)
    X, y = rng.integers(-2, 3, (5000, 2)).astype(float), rng.integers(0, 2, 5000)
    same = {"max_iter": 1, "tol": None, "shuffle": False}
    model, plain = VotedPerceptron(**same).fit(X, y), Perceptron(**same).fit(X, y)
    assert model.mistakes_ == plain.mistakes_ > 2048
    assert len(model.mistake_rows_) == model.mistakes_
    run = oracles.learn(oracles.perceptron(), X, y)
    assert np.array_equal(model.decision_function(X[:4]), run.votes(X[:4])[:, 0])


def test_strided_rows_are_stored_with_their_own_values():
    X, y = blobs(50, 6)
    plain = VotedPerceptron(max_iter=2, tol=None).fit(X, y)
    strided = VotedPerceptron(max_iter=2, tol=None).fit(np.asfortranarray(X), y)
    assert np.array_equal(plain.support_, strided.support_)
    assert np.array_equal(plain.mistake_rows_, strided.mistake_rows_)


def test_it_has_no_single_weight_vector():
    model = VotedPerceptron().fit(*blobs())
    for name in ("coef_", "intercept_"):
        assert not hasattr(model, name)
        with pytest.raises(AttributeError, match="support_"):
            getattr(model, name)
    assert not hasattr(VotedPerceptron(), "support_")


@pytest.mark.parametrize("classes", [2, 3])
def test_max_support_limits_memory_with_a_warning(classes):
    X, y = blobs(200, 4, classes, seed=3)
    y = np.random.default_rng(4).permutation(y)
    capped, free = VotedPerceptron(max_support=10), VotedPerceptron()
    free.partial_fit(X, y)

    def stream():
        for x, label in zip(X, y.tolist(), strict=True):
            capped.learn_one(x, label)
            assert len(capped.mistake_rows_) <= 10

    with pytest.warns(UserWarning, match=r"max_support=10.*AveragedPerceptron"):
        stream()
    assert np.array_equal(last_weights(capped), last_weights(free)), "learning itself does not change"
    assert capped.mistakes_ == free.mistakes_
    assert capped.support_.shape[0] <= 10
    # The votes of the kept vectors equal those of the model without a limit.
    m = len(capped.mistake_rows_)
    assert np.array_equal(capped.survived_[1:], free.survived_[-m:])
    assert np.array_equal(capped.dual_coef_, free.dual_coef_[-m:])
    start = np.hstack([capped.model_.support.start_coef, capped.model_.support.start_bias[:, None]])
    rows = np.hstack([free.support_, np.ones((len(free.support_), 1))])[free.mistake_rows_]
    np.testing.assert_allclose(start, free.model_.support.steps[:-m].T @ rows[:-m], rtol=1e-10, atol=1e-10)


def test_max_support_in_one_fit():
    X, y = blobs(200, 1)
    with pytest.warns(UserWarning, match="lose their votes"):
        model = VotedPerceptron(max_support=7, max_iter=2, tol=None).fit(X, y)
    assert len(model.mistake_rows_) <= 7
    assert model.score(X, y) > 0.6


def test_dense_and_sparse_chunks_share_one_support():
    X, y = blobs(60, 5)
    mixed = VotedPerceptron().partial_fit(X[:30], y[:30]).partial_fit(csr(X[30:]), y[30:])
    other = VotedPerceptron().partial_fit(csr(X[:30]), y[:30]).partial_fit(X[30:], y[30:])
    plain = VotedPerceptron().partial_fit(X, y)
    for model in (mixed, other):
        assert np.array_equal(model.decision_function(X), plain.decision_function(X))
        assert memory(model)["support rows"] == memory(plain)["support rows"]


def test_the_support_is_as_wide_as_the_features():
    model = VotedPerceptron()
    for x, label in [({"a": 1}, "no"), ({"b": 1}, "yes"), ({"c": 2, "a": -1}, "no")]:
        model.learn_one(x, label)
    assert model.support_.shape == (3, 3)
    assert model.n_features_in_ == 3
    assert sp.issparse(model.support_)


def dense(rows):
    return np.asarray(rows.toarray() if sp.issparse(rows) else rows, float)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("trained", ["dense", "sparse", "both"])
def test_a_vote_does_not_depend_on_the_size_or_the_form_of_a_call(trained, classes, dtype):
    rng = np.random.default_rng(classes)
    X = (rng.standard_normal((230, 37)) * (rng.random((230, 37)) < 0.7)).astype(dtype)
    y = rng.integers(0, classes, 230)
    model = VotedPerceptron(fit_intercept=False)
    for part, sparse in ((slice(0, 90), trained != "dense"), (slice(90, 230), trained == "sparse")):
        model.partial_fit(csr(X[part]) if sparse else X[part], y[part])
    # Rows on the boundary of a weight vector of the run: rounding decides its vote.
    steps = model.dual_coef_[:, -1:] - (model.dual_coef_[:, :1] if classes > 2 else 0.0)
    w = np.cumsum(steps * dense(model.support_)[model.mistake_rows_], axis=0)[10::5]
    near = np.vstack([X[:50], *((X[:8] - np.outer(X[:8] @ v, v) / (v @ v)).astype(dtype) for v in w)])
    whole = model.decision_function(near)
    assert np.array_equal(model.decision_function(csr(near)), whole)
    assert np.array_equal(np.concatenate([model.decision_function(x[None]) for x in near]), whole)
    assert np.array_equal(np.concatenate([model.decision_function(csr(x[None])) for x in near]), whole)
    for size in (2, 5, 13, 100):
        parts = [near[start : start + size] for start in range(0, len(near), size)]
        assert np.array_equal(np.concatenate([model.decision_function(part) for part in parts]), whole)
    assert [model.predict_one(x) for x in near[:40]] == model.predict(near[:40]).tolist()


@pytest.mark.filterwarnings("ignore:The vote has reached")
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("most", [1, 7, 20])
def test_a_limit_acts_alike_in_one_call_in_chunks_and_one_by_one(most, classes):
    X, y = blobs(150, 6, classes, seed=3)
    y = np.random.default_rng(4).permutation(y)
    start = classes  # one of each class first
    X, y = np.vstack([X[:start], X]), np.concatenate([np.arange(classes), y])
    whole = VotedPerceptron(max_support=most).partial_fit(X, y)
    chunks, single, sparse = (VotedPerceptron(max_support=most) for _ in range(3))
    for part in (slice(0, 3), slice(3, 40), slice(40, None)):
        chunks.partial_fit(X[part], y[part])
    for x, label in zip(X, y.tolist(), strict=True):
        single.learn_one(x, label)
    sparse.partial_fit(csr(X), y)
    for other in (chunks, single, sparse):
        assert np.array_equal(other.model_.support.start_coef, whole.model_.support.start_coef)
        assert np.array_equal(other.model_.support.start_bias, whole.model_.support.start_bias)
        assert np.array_equal(other.survived_, whole.survived_)
        assert np.array_equal(other.decision_function(X), whole.decision_function(X))
