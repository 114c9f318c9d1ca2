"""The estimator: common checks, streams, readouts, errors."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.utils.estimator_checks import check_estimator

from rosenblatt.learners.kernel_perceptron import KernelPerceptron

EXCUSED = {
    "check_sample_weight_equivalence_on_dense_data": "an online learner visits a repeated example twice",
    "check_sample_weight_equivalence_on_sparse_data": "an online learner visits a repeated example twice",
}
XOR = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
XOR_LABELS = np.array(["same", "other", "other", "same"])


@pytest.mark.parametrize(
    "estimator",
    [
        KernelPerceptron(),
        KernelPerceptron(multiclass="ovr", readout="vote"),
        KernelPerceptron("rbf", readout="average", normalize=True),
        KernelPerceptron(budget=40, budget_policy="random"),
        KernelPerceptron(budget=40, budget_policy="forgetron"),
        KernelPerceptron(budget=40, budget_policy="projectron++"),
    ],
    ids=str,
)
@pytest.mark.slow
def test_scikit_learns_checks(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(estimator, expected_failed_checks=EXCUSED, on_skip=None)


def test_kernels_solve_the_exclusive_or():
    model = KernelPerceptron(degree=2, tol=None).fit(XOR, XOR_LABELS)
    assert model.converged_
    assert model.predict(XOR).tolist() == XOR_LABELS.tolist()
    line = KernelPerceptron(degree=1, tol=None, max_iter=50).fit(XOR, XOR_LABELS)
    assert not line.converged_
    assert line.n_iter_ == 50


def primal(X, y, classes, epochs):
    """The linear perceptron with integer weights, two classes or "max"."""
    W = np.zeros((1 if classes == 2 else classes, X.shape[1]))
    mistakes = 0
    for _ in range(epochs):
        for x, label in zip(X, y, strict=True):
            scores = W @ x
            if classes == 2:
                sign = 2 * label - 1
                if sign * scores[0] <= 0:
                    W[0] += sign * x
                    mistakes += 1
                continue
            rival = max((k for k in range(classes) if k != label), key=lambda k: (scores[k], -k))
            if scores[rival] >= scores[label]:
                W[label] += x
                W[rival] -= x
                mistakes += 1
    return W, mistakes


@given(st.integers(0, 200), st.integers(2, 4), st.integers(1, 3), st.integers(1, 30))
def test_a_linear_kernel_gives_the_primal_perceptron(seed, classes, epochs, block_size):
    rng = np.random.default_rng(seed)
    X = rng.integers(-5, 6, size=(25, 3)).astype(float)
    y = np.r_[np.arange(classes), rng.integers(0, classes, size=25 - classes)]
    model = KernelPerceptron("linear", max_iter=epochs, tol=None, shuffle=False, block_size=block_size).fit(X, y)
    W, mistakes = primal(X, y, classes, epochs)
    assert np.array_equal(model.dual_coef_ @ model.support_vectors_, W)
    assert model.mistakes_ == mistakes == model.mistakes_per_epoch_.sum()
    biased = KernelPerceptron(degree=1, max_iter=epochs, tol=None, shuffle=False).fit(X, y)
    assert biased.mistakes_ == primal(np.c_[X, np.ones(25)], y, classes, epochs)[1]


def same_model(a, b, X):
    assert a.classes_.tolist() == b.classes_.tolist()
    assert np.array_equal(a.support_, b.support_)
    assert np.array_equal(a.dual_coef_, b.dual_coef_)
    assert (a.mistakes_, a.updates_) == (b.mistakes_, b.updates_)
    assert a.mistakes_per_epoch_.tolist() == b.mistakes_per_epoch_.tolist()
    assert np.array_equal(a.decision_function(X), b.decision_function(X))


@given(
    st.integers(0, 200),
    st.integers(1, 4),
    st.integers(1, 12),
    st.sampled_from(["max", "all", "ovr"]),
    st.sampled_from([None, 4]),
    st.sampled_from(["last", "average", "vote"]),
)
def test_single_examples_chunks_and_one_call_give_the_same_model(seed, classes, chunk, multiclass, budget, readout):
    rng = np.random.default_rng(seed)
    X = rng.integers(-4, 5, size=(30, 2)).astype(float)
    y = np.array(list("dbca"))[rng.integers(0, classes, size=30)]
    make = KernelPerceptron(degree=2, multiclass=multiclass, budget=budget, readout="last" if budget else readout)
    whole = clone(make).partial_fit(X, y)
    chunks, ones = clone(make), clone(make)
    for start in range(0, 30, chunk):
        chunks.partial_fit(X[start : start + chunk], y[start : start + chunk])
    answers = []
    for x, label in zip(X, y, strict=True):
        expected = ones.predict_one(x)
        answers.append(ones.learn_one(x, label))
        assert answers[-1] == expected
    assert answers[0] is None
    same_model(whole, chunks, X)
    same_model(whole, ones, X)
    assert whole.classes_.tolist() == sorted(set(y.tolist()))


def test_with_a_third_class_w_becomes_minus_w_and_plus_w():
    X = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0]])
    model = KernelPerceptron("linear").partial_fit(X, ["b", "a", "b"])
    two = model.decision_function(X)
    model.partial_fit(np.zeros((1, 2)), ["c"])
    three = model.decision_function(X)
    assert np.array_equal(three, np.c_[-two, two, np.zeros(3)])


def test_dicts_are_learned_and_checked():
    rows = [{"a": 1.0, "b": 2.0}, {"c": -1.0}, {"a": 0.0, "c": 3.0, "d": 1.0}, {"b": 1.0}] * 5
    labels = ["x", "y", "x", "y"] * 5
    model = KernelPerceptron(degree=2)
    answers = [model.learn_one(row, label) for row, label in zip(rows, labels, strict=True)]
    dense = np.array([[row.get(name, 0.0) for name in "abcd"] for row in rows])
    other = KernelPerceptron(degree=2)
    assert answers == [other.learn_one(row, label) for row, label in zip(dense, labels, strict=True)]
    assert np.array_equal(model.dual_coef_, other.dual_coef_)
    assert model.n_features_in_ == 4
    assert model.predict_one({"never seen": 7.0}) in ("x", "y")
    with pytest.raises(ValueError, match="must be a dict"):
        model.predict_one([1.0, 2.0, 3.0, 4.0])
    with pytest.raises(ValueError, match="must be a 1-D array"):
        other.learn_one({"a": 1.0}, "x")


def test_all_readouts_come_from_one_run():
    X, y = load_digits(return_X_y=True)
    model = KernelPerceptron(degree=2, multiclass="ovr", max_iter=2, tol=None).fit(X[:900], y[:900])
    found = {}
    for readout in ("last", "average", "vote"):
        for normalize in (False, True):
            model.set_params(readout=readout, normalize=normalize)
            found[readout, normalize] = model.score(X[900:], y[900:])
            again = clone(model).fit(X[:900], y[:900])
            assert np.array_equal(model.decision_function(X[900:]), again.decision_function(X[900:]))
    assert found["vote", False] == found["vote", True] > 0.93
    assert found["average", False] > 0.93


def test_a_precomputed_kernel_gives_the_same_model():
    X, y = load_iris(return_X_y=True)
    K = (1 + X @ X.T) ** 3
    direct = KernelPerceptron(max_iter=5, tol=None).fit(X[::2], y[::2])
    given_ = KernelPerceptron("precomputed", max_iter=5, tol=None).fit(K[::2, ::2], y[::2])
    assert np.array_equal(direct.support_, given_.support_)
    assert np.array_equal(direct.predict(X[1::2]), given_.predict(K[1::2, ::2]))
    user = KernelPerceptron(lambda A, B: (1 + A @ B.T) ** 3, max_iter=5, tol=None).fit(X[::2], y[::2])
    assert np.array_equal(direct.support_, user.support_)
    budget = KernelPerceptron("precomputed", max_iter=5, tol=None, budget=9).fit(K[::2, ::2], y[::2])
    assert len(budget.support_) <= 9
    assert budget.predict(K[1::2, ::2]).shape == (75,)


@pytest.mark.slow
@pytest.mark.parametrize("budget_policy", ["random", "forgetron", "projectron++"])
@pytest.mark.parametrize("multiclass", ["max", "all", "uniform", "proportional", "ovr"])
def test_budgets_learn_digits_within_their_budget(budget_policy, multiclass):
    X, y = load_digits(return_X_y=True)
    model = KernelPerceptron(
        "rbf", gamma=1e-3, budget=150, budget_policy=budget_policy, multiclass=multiclass, max_iter=3, tol=None
    ).fit(X[:1200], y[:1200])
    assert len(model.support_) <= 150
    assert model.dual_coef_.shape == (10, len(model.support_))
    assert set(model.support_) <= set(range(1200))
    assert np.array_equal(model.support_vectors_, X[model.support_])
    assert model.score(X[1200:], y[1200:]) > 0.7


def test_all_input_types_give_the_same_model():
    X, y = load_iris(return_X_y=True)
    X = np.round(X * 10)
    frame = pd.DataFrame(X, columns=list("abcd"))
    reference = KernelPerceptron(degree=2, max_iter=3, tol=None).fit(X, y)
    sparse = sp.csr_matrix(X)
    wide = sp.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    half = sp.csr_array(X / 2)
    doubled = sp.csr_array(
        (np.repeat(half.data, 2), np.repeat(half.indices, 2), half.indptr * 2), shape=X.shape
    )  # every entry twice
    for rows in (X.astype(np.float32), sparse, wide, doubled):
        assert np.array_equal(reference.support_, clone(reference).fit(rows, y).support_)
    assert doubled.nnz == 2 * half.nnz, "the matrix of the caller is not changed"
    framed = clone(reference).fit(frame, y)
    assert framed.feature_names_in_.tolist() == list("abcd")
    assert np.array_equal(reference.predict(X), framed.predict(frame))
    assert framed.predict_one(dict(zip("dcba", X[7, ::-1], strict=True))) == framed.predict(frame)[7]


def test_seeds_and_orders():
    X, y = load_iris(return_X_y=True)
    fit = lambda **options: KernelPerceptron(max_iter=2, tol=None, **options).fit(X, y).support_.tolist()  # noqa: E731
    assert fit(random_state=3) == fit(random_state=3)
    assert fit(random_state=3) != fit(random_state=4)
    assert fit(shuffle=False) == fit(shuffle=False, random_state=9)
    assert fit(shuffle="replacement") == fit(shuffle="replacement")
    assert fit(budget=5, random_state=1) == fit(budget=5, random_state=1)


def test_tol_stops_training_and_none_does_not():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), rng.integers(0, 2, size=200)
    stopped = KernelPerceptron(degree=1).fit(X, y)
    assert stopped.n_iter_ < 1000
    assert len(stopped.mistakes_per_epoch_) == stopped.n_iter_
    assert KernelPerceptron(degree=1, tol=None, max_iter=30).fit(X, y).n_iter_ == 30
    with pytest.warns(UserWarning, match="max_iter=2"):
        KernelPerceptron(degree=1, max_iter=2).fit(X, y)


def test_sample_weights_scale_the_updates():
    X, y = np.array([[1.0], [-2.0], [3.0]]), np.array([1, 0, 1])
    model = KernelPerceptron("linear", max_iter=1, tol=None, shuffle=False)
    assert model.fit(X, y, sample_weight=[2.5, 1, 1]).dual_coef_.tolist() == [[2.5]]
    assert model.fit(X, y, sample_weight=[0, 1, 1]).support_.tolist() == [1]
    with pytest.raises(ValueError, match="`sample_weight`"):
        model.fit(X, y, sample_weight=[-1, 1, 1])
    with pytest.raises(ValueError, match="weight"):
        model.fit(X, y, sample_weight=[0, 0, 0])


def test_a_pickled_model_continues():
    X, y = load_iris(return_X_y=True)
    model = KernelPerceptron(readout="vote").fit(X[::2], y[::2])
    again = pickle.loads(pickle.dumps(model))
    same_model(model.partial_fit(X[1::2], y[1::2]), again.partial_fit(X[1::2], y[1::2]), X)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"budget": 0}, "`budget`"),
        ({"budget": 2.5}, "`budget`"),
        ({"budget": 3, "budget_policy": "oldest"}, "`budget_policy`"),
        ({"degree": 0}, "`degree`"),
        ({"readout": "median"}, "`readout`"),
        ({"max_iter": 2.5}, "`max_iter`"),
        ({"tol": -1.0}, "`tol`"),
        ({"kernel": "cubic"}, "`kernel`"),
        ({"gamma": -1.0}, "`gamma`"),
        ({"multiclass": "one"}, "`multiclass`"),
        ({"on_zero": "maybe"}, "`on_zero`"),
        ({"on_zero": "keep"}, "nothing would ever be learned"),
        ({"max_iter": 0}, "`max_iter`"),
        ({"shuffle": "twice"}, "`shuffle`"),
        ({"block_size": 0}, "`block_size`"),
        ({"eta": 0.0, "budget": 3, "budget_policy": "projectron++"}, "`eta`"),
        ({"kernel": lambda A, B: A[:, 0]}, "shape"),
        ({"kernel": lambda A, B: np.full((len(A), len(B)), np.nan)}, "must be finite"),
        ({"kernel": "precomputed"}, "square"),
    ],
)
def test_bad_parameters_do_not_change_the_model(options, words):
    model = KernelPerceptron(degree=2).fit(XOR, XOR_LABELS)
    before = pickle.dumps(model._model.machine)
    attributes = set(vars(model))
    model.set_params(**options)
    with pytest.raises(ValueError, match=words):
        model.fit(np.c_[XOR, XOR][:3, :3] if words != "square" else XOR[:3], XOR_LABELS[:3])
    assert pickle.dumps(model._model.machine) == before
    assert set(vars(model)) == attributes
    assert model.n_features_in_ == 2
    model.set_params(**KernelPerceptron(degree=2).get_params())
    assert model.predict(XOR).tolist() == XOR_LABELS.tolist()


@pytest.mark.parametrize("budget", [None, 3])
@pytest.mark.parametrize("policy", ["random", "forgetron", "projectron++"])
@pytest.mark.parametrize("label", ["same", "a new class"])
def test_a_failed_stream_does_not_change_the_model(budget, policy, label):
    def sometimes_nan(A, B):
        return np.where((np.abs(A).max(axis=1) > 50)[:, None], np.nan, (1 + A @ B.T) ** 2)

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), np.array(["same", "other"])[rng.integers(0, 2, size=30)]
    model = KernelPerceptron(sometimes_nan, budget=budget, budget_policy=policy, block_size=4).partial_fit(X, y)
    scores, support, dual = model.decision_function(X), model.support_, model.dual_coef_
    more, labels = np.r_[-3 * X[:10], [[99.0, 0.0]]], np.r_[y[:9][::-1], [label], ["same"]]
    for attempt in (lambda: model.partial_fit(more, labels), lambda: model.learn_one(more[-1], label)):
        with pytest.raises(ValueError, match="must be finite"):
            attempt()
        assert np.array_equal(model.decision_function(X), scores)
        assert np.array_equal(model.support_, support)
        assert np.array_equal(model.dual_coef_, dual)
        assert model.classes_.tolist() == sorted(set(y.tolist()))
    again = KernelPerceptron(sometimes_nan, budget=budget, budget_policy=policy, block_size=4).partial_fit(X, y)
    same_model(model.partial_fit(more[:9], labels[:9]), again.partial_fit(more[:9], labels[:9]), X)


def test_overflow_is_an_error():
    X = np.array([[1e200, 0.0], [0.0, 1e200]])
    with pytest.raises(ValueError, match="must be finite"):
        KernelPerceptron(degree=3).fit(X, [0, 1])
    model = KernelPerceptron(degree=3, readout="vote").fit(XOR, XOR_LABELS)
    for readout in ("last", "average", "vote"):
        with pytest.raises(ValueError, match="must be finite"):
            model.set_params(readout=readout).predict(X)


def test_unsupported_streams_and_readouts_are_refused():
    with pytest.raises(ValueError, match="precomputed"):
        KernelPerceptron("precomputed").partial_fit(np.eye(2), [0, 1])
    with pytest.raises(ValueError, match='"scale"'):
        KernelPerceptron("rbf", gamma="scale").partial_fit(np.eye(2), [0, 1])
    with pytest.raises(ValueError, match="`gamma`"):
        KernelPerceptron("rbf").learn_one({"a": 1.0}, 0)
    with pytest.raises(ValueError, match="all text or all numbers"):
        KernelPerceptron().partial_fit(np.eye(2), [0, 1]).partial_fit(np.eye(2), ["0", "1"])
    with pytest.raises(ValueError, match="finite"):
        KernelPerceptron().learn_one([np.nan, 1.0], 0)
    with pytest.raises(ValueError, match='must be "last"'):
        KernelPerceptron(budget=3, readout="vote").fit(XOR, XOR_LABELS).predict(XOR)
    model = KernelPerceptron(degree=2).fit(XOR, XOR_LABELS)
    with pytest.raises(ValueError, match="2 values"):
        model.predict_one([1.0, 2.0, 3.0])
    assert KernelPerceptron().predict_one([1.0]) is None


def test_partial_fit_continues_after_fit():
    X, y = load_digits(return_X_y=True)
    model = KernelPerceptron(degree=2, max_iter=2, tol=None, readout="average").fit(X[:600], y[:600])
    support = model.support_
    model.partial_fit(X[600:1200], y[600:1200])
    assert np.array_equal(model.support_[: len(support)], support)
    assert model.support_[len(support) :].min() >= 1200, "numbered after the two passes over 600"
    assert model.score(X[1200:], y[1200:]) > 0.9


def test_keep_can_continue_a_trained_model():
    model = KernelPerceptron("linear").partial_fit([[1.0, 0.0], [-1.0, 0.0]], [1, 0])
    model.set_params(on_zero="keep").partial_fit([[0.0, 5.0], [0.0, -5.0]], [1, 0])
    assert model.mistakes_ == 1, "scores of 0 are no mistakes"
    model.set_params(on_zero="update").partial_fit([[0.0, 5.0]], [1])
    assert model.mistakes_ == 2
