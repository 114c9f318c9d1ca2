"""One by one = chunks = one call = dense = sparse, bit for bit; dicts, new features, new classes."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from rosenblatt import AveragedPerceptron, PassiveAggressive, Perceptron, VotedPerceptron
from tests.helpers import STREAMING, assert_same_model, blobs, csr, examples

LEARNERS = pytest.mark.parametrize("learner", STREAMING)


def in_one_call(learner, X, y):
    return clone(STREAMING[learner]).partial_fit(X, y)


def in_chunks(learner, X, y, sizes, convert=lambda X: X):
    model, start = clone(STREAMING[learner]), 0
    for size in sizes:
        if start < len(y):
            model.partial_fit(convert(X[start : start + size]), y[start : start + size])
            start += size
    return model.partial_fit(convert(X[start:]), y[start:]) if start < len(y) else model


def one_by_one(learner, X, y):
    """Begins with a chunk of one row, which determines the dtype of the weights."""
    model = clone(STREAMING[learner]).partial_fit(X[:1], y[:1])
    for x, label in zip(X[1:], y[1:].tolist(), strict=True):
        model.learn_one(x, label)
    return model


def strided(X):
    return np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3]


@LEARNERS
@pytest.mark.parametrize("classes", [2, 3])
@examples(8)
@given(
    seed=st.integers(0, 10**6),
    features=st.sampled_from([1, 3, 7, 8, 9, 13, 17, 24]),
    sizes=st.lists(st.integers(1, 20), max_size=6),
)
def test_all_ways_to_stream_give_the_same_bits(learner, classes, seed, features, sizes):
    X, y = blobs(40, features, classes, seed)
    whole = in_one_call(learner, X, y)
    assert_same_model(in_chunks(learner, X, y, sizes), whole)
    assert_same_model(one_by_one(learner, X, y), whole)
    assert_same_model(in_one_call(learner, csr(X), y), whole)
    assert_same_model(in_chunks(learner, X, y, sizes, csr), whole)
    assert_same_model(in_one_call(learner, np.asfortranarray(X), y), whole)
    assert_same_model(in_chunks(learner, strided(X), y, sizes), whole)


@pytest.mark.parametrize("learner", ["Perceptron", "AveragedPerceptron", "PA-I", "Winnow"])
@pytest.mark.parametrize("classes", [2, 5])
def test_int64_indices_give_the_same_bits(learner, classes):
    X, y = blobs(60, 13, classes, seed=1)
    whole = in_one_call(learner, X, y)
    assert_same_model(in_one_call(learner, csr(X, np.int64), y), whole)
    assert_same_model(in_chunks(learner, X, y, [7, 1, 20], lambda part: csr(part, np.int64)), whole)


@pytest.mark.parametrize("learner", ["Perceptron", "AveragedPerceptron", "VotedPerceptron"])
@pytest.mark.parametrize("classes", [2, 5])
def test_float32_stays_float32_and_gives_the_same_bits(learner, classes):
    for seed in range(4):
        X, y = blobs(60, 13, classes, seed, np.float32)
        whole = in_one_call(learner, X, y)
        assert whole.model_.state.w.dtype == np.float32
        assert_same_model(in_chunks(learner, X, y, [3, 1, 11]), whole)
        assert_same_model(one_by_one(learner, X, y), whole)
        assert_same_model(in_one_call(learner, csr(X), y), whole)
        assert_same_model(in_one_call(learner, np.asfortranarray(X), y), whole)


def test_a_float32_model_takes_float64_rows_as_float32():
    X, y = blobs(60, 13, 3, 0, np.float32)
    whole = in_one_call("Perceptron", X, y)
    mixed = Perceptron().partial_fit(X[:20], y[:20]).partial_fit(X[20:].astype(np.float64), y[20:])
    assert_same_model(mixed, whole)


@LEARNERS
@pytest.mark.parametrize("order", [[1, 0, 2, 3], [3, 1, 0, 2]])
def test_classes_that_arrive_during_a_stream(learner, order):
    X, y = blobs(80, 9, 4, seed=3)
    y = np.array(order)[y]
    place = np.argsort(y, kind="stable").argsort() + np.random.default_rng(0).integers(0, 40, 80)
    late = np.argsort(place, kind="stable")  # the classes arrive roughly in turn
    X, y = X[late], y[late]
    assert len(set(y[:5].tolist())) < 4
    whole = in_one_call(learner, X, y)
    seen = list(dict.fromkeys(y.tolist()))
    assert whole.model_.classes == seen, "inside, the classes are in order of arrival"
    assert whole.classes_.tolist() == sorted(seen)
    assert_same_model(in_chunks(learner, X, y, [1, 7, 2, 30]), whole)
    assert_same_model(one_by_one(learner, X, y), whole)
    assert_same_model(in_one_call(learner, csr(X), y), whole)


@LEARNERS
def test_all_ways_to_stream_support_sample_weights(learner):
    X, y = blobs(50, 9, 3, seed=4)
    weight = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 2.7], 50)
    weight[[0, 3]] = 1.5
    whole = clone(STREAMING[learner]).partial_fit(X, y, sample_weight=weight)
    parts = clone(STREAMING[learner])
    for part in (slice(0, 3), slice(3, 4), slice(4, 50)):
        parts.partial_fit(csr(X[part]), y[part], sample_weight=weight[part])
    assert_same_model(parts, whole)
    single = clone(STREAMING[learner]).partial_fit(X[:1], y[:1], sample_weight=weight[:1])
    for x, label, c in zip(X[1:], y[1:].tolist(), weight[1:], strict=True):
        single.learn_one(x, label, c)
    assert_same_model(single, whole)


def test_unsorted_rows_duplicates_and_explicit_zeros():
    X, y = blobs(40, 11, 3, seed=5)
    rng = np.random.default_rng(0)
    data, indices, indptr = [], [], [0]
    for x in X:
        js = rng.permutation(
            np.concatenate([np.flatnonzero(x), rng.choice(11, 2, replace=False)])
        )  # some entries are zero, some are stored twice
        for j in js:
            twice = (js == j).sum()
            data.append(x[j] / twice)
            indices.append(j)
        indptr.append(len(data))
    S = sp.csr_array((np.array(data), np.array(indices, np.int32), np.array(indptr, np.int32)), shape=X.shape)
    assert np.array_equal(S.toarray(), X), "halves add up exactly"
    for learner in STREAMING:
        assert_same_model(in_one_call(learner, S, y), in_one_call(learner, X, y))


@LEARNERS
def test_fit_with_one_epoch_is_partial_fit(learner):
    X, y = blobs(60, 6, 3, seed=6)
    fitted = clone(STREAMING[learner]).set_params(max_iter=1, tol=None, shuffle=False).fit(X, y)
    streamed = clone(STREAMING[learner]).partial_fit(X, y, classes=[2, 0, 1])
    assert_same_model(fitted, streamed)
    assert np.array_equal(fitted.decision_function(X), streamed.decision_function(X))


@LEARNERS
def test_partial_fit_continues_after_fit(learner):
    X, y = blobs(60, 6, seed=6)
    model = clone(STREAMING[learner]).set_params(max_iter=1, tol=None, shuffle=False).fit(X[:30], y[:30])
    model.partial_fit(X[30:], y[30:])
    assert_same_model(model, clone(STREAMING[learner]).partial_fit(X, y, classes=[0, 1]))


def test_with_a_third_class_w_becomes_minus_w_and_plus_w():
    X, y = blobs(30, 4)
    model = Perceptron(eta0=0.1).partial_fit(X, y, classes=[0, 1])
    w, b = model.coef_[0], model.intercept_[0]
    model.partial_fit(np.zeros((1, 4)), [2], sample_weight=[1e-300])
    assert np.array_equal(model.coef_, [-w, w, 0 * w])
    np.testing.assert_allclose(model.intercept_, [-b, b, 0], atol=1e-200)


# ---- one at a time ----


def test_there_is_no_prediction_before_the_first_label():
    for model in STREAMING.values():
        fresh = clone(model)
        assert fresh.predict_one({"a": 1}) is None
        assert fresh.predict_one([1.0]) is None
        assert fresh.learn_one({"a": 1.0}, "yes") is None
        assert fresh.predict_one({"a": 1.0}) == "yes", "only one class is known"


@LEARNERS
@pytest.mark.parametrize("classes", [2, 4])
def test_learn_one_returns_the_prediction_made_before_learning(learner, classes):
    X, y = blobs(60, 5, classes, seed=8)
    model = clone(STREAMING[learner])
    mistakes = 0
    for t, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
        expected = model.predict_one(x)
        if t > 5:
            assert expected == model.predict(x[None])[0]
        assert model.learn_one(x, label) == expected
        mistakes += expected != label
    assert 0 < model.mistakes_ < 60
    if model.model_.readout == "last":
        assert mistakes - classes <= model.mistakes_ <= mistakes + 6, (
            "without ties and new classes these are the mistakes"
        )


KEYS = ["word", ("pair", 3), 7, None, frozenset({1}), 2.5]


def test_dicts_with_any_hashable_keys():
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, (40, 6)).astype(float)
    y = rng.integers(0, 3, 40)
    for learner, model in STREAMING.items():
        by_dict, by_array = clone(model), clone(model)
        by_dict.learn_one(dict.fromkeys(KEYS, 0.0), "x")
        by_array.learn_one(np.zeros(6), "x")
        for x, label in zip(X, np.array(list("abc"))[y].tolist(), strict=True):
            shuffled = [KEYS[j] for j in rng.permutation(6) if x[j] != 0]
            example = {key: x[KEYS.index(key)] for key in shuffled}
            assert by_dict.predict_one(example) == by_array.predict_one(x)
            assert by_dict.learn_one(example, label) == by_array.learn_one(x, label)
        if learner != "VotedPerceptron":
            assert np.array_equal(by_dict.coef_, by_array.coef_)
        assert by_dict.mistakes_ == by_array.mistakes_
        assert by_dict.n_features_in_ == 6
        assert list(by_dict.model_.features) == KEYS


@LEARNERS
def test_new_features_count_as_0_before(learner):
    rng = np.random.default_rng(1)
    d, n = 50, 120
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.3)
    X *= np.arange(d)[None, :] <= np.arange(n)[:, None]  # feature j is 0 before row j
    X[np.arange(d), np.arange(d)] = 1.0
    y = rng.integers(0, 2, n)
    growing, fixed = clone(STREAMING[learner]), clone(STREAMING[learner])
    for x, label in zip(X, y.tolist(), strict=True):
        example = {f"f{j}": x[j] for j in np.flatnonzero(x)}
        assert growing.learn_one(example, label) == fixed.learn_one(x, label)
    assert growing.n_features_in_ == d
    assert growing.mistakes_ == fixed.mistakes_
    assert np.array_equal(growing.model_.state.w[:d], fixed.model_.state.w)
    assert np.array_equal(growing.predict(X), fixed.predict(X))


def test_values_of_any_number_type():
    model = Perceptron()
    model.learn_one({"a": True, "b": 2, "c": np.float32(0.5), "d": np.int8(-3)}, 1)
    model.learn_one({"a": 1.0, "b": 2.0, "c": 0.5, "d": -3.0}, 0)
    assert model.n_features_in_ == 4
    assert model.learn_one({}, 0) in (0, 1), "an example without features uses the bias"


def test_unknown_features_are_ignored_in_predictions():
    model = Perceptron()
    model.learn_one({"a": 1.0}, "no")
    model.learn_one({"b": 1.0}, "yes")
    assert model.predict_one({"a": 1.0, "new": 100.0}) == model.predict_one({"a": 1.0})
    assert list(model.model_.features) == ["a", "b"]
    assert model.n_features_in_ == 2


def test_dicts_can_follow_a_frame():
    X, y = blobs(60, 3)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = AveragedPerceptron().partial_fit(frame.iloc[:30], y[:30])
    for x, label in zip(X[30:], y[30:].tolist(), strict=True):
        example = dict(zip("cab", x[[2, 0, 1]], strict=True))
        assert model.predict_one(example) == model.predict(pd.DataFrame([x], columns=["a", "b", "c"]))[0]
        model.learn_one(example, label)
    assert np.array_equal(model.coef_, AveragedPerceptron().partial_fit(frame, y).coef_)
    with pytest.raises(ValueError, match=r"frame.*'d'.*Train with dicts"):
        model.learn_one({"a": 1.0, "d": 2.0}, 0)


def test_dicts_after_arrays_are_refused():
    model = Perceptron()
    model.learn_one([1.0, 2.0], 0)
    with pytest.raises(ValueError, match=r"arrays of 2 features.*dict"):
        model.learn_one({"a": 1.0}, 1)
    model = Perceptron()
    model.learn_one({"a": 1.0}, 0)
    with pytest.raises(ValueError, match=r"dicts.*got an array"):
        model.learn_one([1.0], 1)


def test_classes_can_be_given_in_advance():
    X, y = blobs(30, 4, 3)
    names = np.array(["cat", "dog", "eel"])
    model = Perceptron().partial_fit(X, names[y], classes=["eel", "cat", "dog", "fox"])
    assert model.classes_.tolist() == ["cat", "dog", "eel", "fox"]
    assert model.coef_.shape == (4, 4)


def test_class_weights_on_a_stream():
    X, y = blobs(40, 4)
    weight = {0: 3.0, 1: 0.5}
    whole = PassiveAggressive(class_weight=weight).partial_fit(X, y)
    explicit = PassiveAggressive().partial_fit(X, y, sample_weight=np.where(y == 0, 3.0, 0.5))
    assert_same_model(whole, explicit)
    single = PassiveAggressive(class_weight=weight)
    for x, label in zip(X, y.tolist(), strict=True):
        single.learn_one(x, label)
    assert np.array_equal(single.coef_, whole.coef_)
    some = PassiveAggressive(class_weight={0: 3.0})
    for x, label in zip(X, y, strict=True):
        some.partial_fit(x[None], [label])
    expected = PassiveAggressive().partial_fit(X, y, sample_weight=np.where(y == 0, 3.0, 1.0))
    assert np.array_equal(some.coef_, expected.coef_)


def test_balanced_class_weights_are_refused_on_a_stream():
    X, y = blobs()
    for call in (lambda m: m.partial_fit(X, y), lambda m: m.learn_one(X[0], 0)):
        with pytest.raises(ValueError, match=r"class_weight.*dict or None.*'balanced'"):
            call(Perceptron(class_weight="balanced"))


def test_a_voted_stream_of_dicts():
    rng = np.random.default_rng(0)
    X, y = rng.integers(-2, 3, (60, 5)).astype(float), rng.integers(0, 3, 60).tolist()
    by_dict, by_array = VotedPerceptron(), VotedPerceptron()
    for x, label in zip(X, y, strict=True):
        example = {j: x[j] for j in range(5)}
        assert by_dict.learn_one(example, label) == by_array.learn_one(x, label)
    assert by_dict.support_.shape[1] == 5
    assert np.array_equal(by_dict.decision_function(X), by_array.decision_function(X))
