"""`MultiLabel`: one binary learner for each label."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, f1_score, hamming_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rosenblatt as rb
from tests.helpers import csr, model_memory

LEARNERS = [None, rb.AROW(r=2.0), rb.Perceptron(shuffle=False, max_iter=5, tol=None), rb.AveragedPerceptron()]
NAMES = np.array(["music", "news", "sport", "a"])


def problem(n=120, seed=0):
    """Examples, an indicator matrix, and the same labels as lists."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    Y = (X @ rng.normal(size=(5, 4)) + 0.3 * rng.normal(size=(n, 4)) > 0.4).astype(int)
    return X, Y, [NAMES[row == 1].tolist() for row in Y]


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_each_label_is_learned_as_by_its_own_learner(learner):
    X, Y, _ = problem()
    model = rb.MultiLabel(learner).fit(X, Y)
    own = rb.PassiveAggressive(readout="average") if learner is None else learner
    for k in range(4):
        single = clone(own).fit(X, Y[:, k])
        assert np.array_equal(model.decision_function(X)[:, k], single.decision_function(X))
    theirs = OneVsRestClassifier(clone(own)).fit(X, Y)
    assert np.array_equal(model.predict(X), theirs.predict(X))
    assert model.score(X, Y) == accuracy_score(Y, model.predict(X)) == theirs.score(X, Y)
    assert hamming_loss(Y, model.predict(X)) < 0.15
    assert f1_score(Y, model.predict(X), average="micro") > 0.8


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_lists_and_matrices_give_the_same(learner):
    X, Y, lists = problem()
    matrix, named = rb.MultiLabel(learner).fit(X, Y), rb.MultiLabel(learner).fit(csr(X), [set(row) for row in lists])
    assert named.classes_.tolist() == sorted(NAMES)
    order = np.argsort(NAMES)
    assert np.array_equal(named.decision_function(X), matrix.decision_function(X)[:, order])
    assert named.predict(X) == [tuple(sorted(NAMES[row == 1])) for row in matrix.predict(X)]
    assert named.score(X, lists) == matrix.score(X, Y)
    assert named.score(X, [[*row, "unknown"] for row in lists]) == 0.0


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_one_by_one_and_in_chunks_give_the_same_bits(learner):
    X, _, lists = problem()
    lists[:10] = [[label for label in row if label != "sport"] for row in lists[:10]]
    whole = rb.MultiLabel(learner).partial_fit(X, lists)
    chunks, single = rb.MultiLabel(learner), rb.MultiLabel(learner)
    for part in np.array_split(np.arange(len(X)), 7):
        chunks.partial_fit(csr(X[part]), [lists[i] for i in part])
    for x, labels in zip(X, lists, strict=True):
        before = single.predict_one(x)
        assert single.learn_one(x, labels) == before
    for other in (chunks, single):
        for label in whole.classes_:
            ours, theirs = (model.models_[model._labels.index(label)] for model in (whole, other))
            assert model_memory(ours) == model_memory(theirs)
    assert whole.predict(X) == [single.predict_one(x) for x in X]


def test_dicts_with_new_names_and_labels():
    model = rb.MultiLabel()
    assert model.predict_one({"a": 1.0}) == ()
    assert model.learn_one({"ball": 1.0}, ["sport"]) == ()
    model.learn_one({"vote": 1.0}, ["news"])
    model.learn_one({"vote": 1.0, "ball": 1.0}, {"news", "sport"})
    assert model.predict_one({"vote": 2.0, "ball": 2.0}) == ("news", "sport")


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_files_go_on_with_the_same_bits(learner, tmp_path):
    X, Y, lists = problem()
    for labels in (Y, lists):
        model = rb.MultiLabel(learner).partial_fit(X[:60], labels[:60])
        model.save(tmp_path / "model")
        copy = rb.load(tmp_path / "model")
        assert repr(copy.learner) == repr(learner)
        assert np.array_equal(copy.decision_function(X), model.decision_function(X))
        for one in (model, copy):
            one.partial_fit(X[60:], labels[60:])
        assert np.array_equal(copy.decision_function(X), model.decision_function(X))
        assert np.array_equal(copy.classes_, model.classes_)


def test_it_works_with_the_tools_of_scikit_learn():
    X, Y, _ = problem()
    model = rb.MultiLabel(rb.AROW())
    assert clone(model).get_params()["learner__r"] == 1.0
    with pytest.raises(NotFittedError):
        model.predict(X)
    assert cross_val_score(model, X, Y, cv=3).mean() > 0.4
    search = GridSearchCV(model, {"learner__r": [0.1, 1.0]}, cv=2, scoring="f1_micro").fit(X, Y)
    assert search.best_score_ > 0.8
    piped = make_pipeline(StandardScaler(), model).fit(X, Y)
    assert piped.predict(X).shape == Y.shape
    assert model.fit(pd.DataFrame(X, columns=list("abcde")), Y).feature_names_in_.tolist() == list("abcde")


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a", "b", "c"], "must be a list, tuple or set of labels; got 'a'"),
        ([["a"], ["b"]], "labels for each of the 3 examples; got those of 2"),
        ([[], [], []], "At least one example must have a label"),
        (np.array([0, 1, 1]), "a matrix of 0 and 1"),
        (np.array([[0, 2], [1, 1], [0, 0]]), "with other values"),
    ],
    ids=str,
)
def test_labels_of_another_form_are_refused(labels, message):
    model = rb.MultiLabel()
    with pytest.raises(ValueError, match=message):
        model.fit(np.eye(3), labels)
    assert not hasattr(model, "models_")


def test_what_does_not_fit_is_refused():
    X, Y, lists = problem()
    model = rb.MultiLabel().partial_fit(X, Y)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match="as an indicator matrix; got lists of labels"):
        model.partial_fit(X, lists)
    bad = X.copy()
    bad[7, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(bad, Y)
    assert np.array_equal(model.decision_function(X), before)
    for learner in (rb.PocketPerceptron(), rb.AROWRegressor(), "perceptron"):
        with pytest.raises(ValueError, match="must be a classifier of this library"):
            rb.MultiLabel(learner).fit(X, Y)
    with pytest.raises(ValueError, match="Use sample_weight"):
        rb.MultiLabel(rb.Perceptron(class_weight="balanced")).fit(X, Y)


def test_probabilities_of_each_label(tmp_path):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(300, 3))
    lists = [[name for name, x in zip("abc", row, strict=True) if x > 0.3] for row in features]
    whole, single = rb.MultiLabel().partial_fit(features, lists), rb.MultiLabel()
    assert not hasattr(single, "predict_proba")
    assert not hasattr(rb.MultiLabel().fit(features, lists), "predict_proba")
    for row, labels in zip(features, lists, strict=True):
        single.learn_one(row, labels)
    odds = whole.predict_proba(features)
    assert np.array_equal(odds, single.predict_proba(features))
    member = np.array([[name in labels for name in "abc"] for labels in lists])
    assert -np.log(np.where(member, odds, 1.0 - odds)).mean() < 0.4
    fitted = rb.MultiLabel().fit(features[:200], lists[:200]).calibrate(features[200:], lists[200:])
    fitted.save(tmp_path / "m")
    assert np.array_equal(rb.load(tmp_path / "m").predict_proba(features), fitted.predict_proba(features))
