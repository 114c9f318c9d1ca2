"""One-vs-rest: each class is trained by a run of its own, which stops by itself, in any number of threads."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Perceptron as ScikitPerceptron
from sklearn.linear_model import SGDClassifier

import rosenblatt as rb
from rosenblatt.model import scores
from tests.helpers import STREAMING, blobs, csr, last_weights

MAX_SEED = np.iinfo(np.int32).max


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def uneven(n=300, classes=4, seed=0):
    """A separable class, some that overlap, and one that is pure noise, so that their runs differ in length."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    X = rng.normal(size=(n, 6)) + np.array([8.0, 1.0, 0.6, 0.0])[:classes][y, None] * np.eye(classes, 6)[y]
    return np.ascontiguousarray(np.round(X, 2)), np.array(["a", "b", "c", "d"])[y]


@pytest.mark.parametrize("form", ["dense", "float32", "csr"])
@pytest.mark.parametrize("tol", [1e-3, 1e-2, 0.1])
@pytest.mark.parametrize("n_iter_no_change", [1, 5])
def test_each_class_stops_where_that_of_scikit_learn_does(tol, n_iter_no_change, form):
    X, y = uneven()
    X = X.astype(np.float32) if form == "float32" else X
    rows = csr(X) if form == "csr" else X
    settings = {"shuffle": False, "tol": tol, "n_iter_no_change": n_iter_no_change, "max_iter": 200}
    settings["fit_intercept"] = form != "csr"  # scikit-learn has another rate for it there
    theirs = ScikitPerceptron(**settings).fit(rows, y)
    ours = rb.Perceptron(multiclass="ovr", **settings).fit(rows, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-4 if form == "float32" else 1e-9, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_)
    assert ours.n_iter_ == theirs.n_iter_


def test_the_average_of_a_class_counts_its_own_epochs():
    X, y = uneven()
    settings = {"shuffle": False, "tol": None, "max_iter": 7}
    theirs = SGDClassifier(
        loss="perceptron", penalty=None, learning_rate="constant", eta0=1.0, average=True, **settings
    ).fit(X, y)
    ours = rb.AveragedPerceptron(multiclass="ovr", **settings).fit(X, y)
    assert len({one.n_iter_ for one in each(rb.AveragedPerceptron(), X, y, **settings)}) > 1, (
        "the runs differ in length"
    )
    np.testing.assert_allclose(ours.coef_[1:], theirs.coef_[1:], rtol=1e-9)


def each(learner, X, y, **settings):
    """A binary learner for each class, with the seed that scikit-learn gives it."""
    labels = np.unique(y)
    seeds = np.random.RandomState(0).randint(MAX_SEED, size=labels.size).tolist()
    return [
        clone(learner).set_params(random_state=seed, **settings).fit(X, y == label)
        for seed, label in zip(seeds, labels, strict=True)
    ]


@pytest.mark.parametrize("name", [name for name in STREAMING if name != "Perceptron-positive"])
def test_it_equals_a_binary_learner_for_each_class(name):
    X, y = uneven()
    learner = clone(STREAMING[name]).set_params(max_iter=30)
    together = clone(learner).set_params(multiclass="ovr").fit(X, y)
    alone = each(learner, X, y)
    assert together.n_iter_ == max(one.n_iter_ for one in alone)
    if name in ("Perceptron", "AveragedPerceptron", "VotedPerceptron", "PA-average", "ROMMA-aggressive"):
        assert len({one.n_iter_ for one in alone}) > 1, "this test needs runs of several lengths"
    assert together.mistakes_ == sum(one.mistakes_ for one in alone) == together.mistakes_per_epoch_.sum()
    assert together.updates_ == sum(one.updates_ for one in alone) == together.updates_per_epoch_.sum()
    first = sum(one.mistakes_per_epoch_[0] for one in alone)
    assert together.mistakes_per_epoch_[0] == first
    assert np.array_equal(last_weights(together), np.vstack([last_weights(one) for one in alone]))
    if name == "VotedPerceptron":
        votes = together.decision_function(X) / together.examples_
        expected = np.column_stack([one.decision_function(X) / one.examples_ for one in alone])
        np.testing.assert_allclose(votes, expected, rtol=1e-9, atol=1e-12)
        return
    scores = np.column_stack([one.decision_function(X) for one in alone])
    np.testing.assert_allclose(together.decision_function(X), scores, rtol=1e-9, atol=1e-9 * np.abs(scores).max())


@pytest.mark.parametrize("name", ["Perceptron", "AveragedPerceptron", "VotedPerceptron", "ALMA-average", "AROW-full"])
def test_one_epoch_in_the_given_order_is_a_call_of_partial_fit(name):
    X, y = uneven()
    learner = clone(STREAMING[name]).set_params(multiclass="ovr", shuffle=False, max_iter=1, tol=None)
    whole, stream = clone(learner).fit(X, y), clone(learner).partial_fit(X, y, classes=np.unique(y))
    if name not in ("Perceptron", "AveragedPerceptron", "VotedPerceptron"):  # two loops with other roundings
        np.testing.assert_allclose(last_weights(whole), last_weights(stream), rtol=1e-9)
        np.testing.assert_allclose(whole.decision_function(X), stream.decision_function(X), rtol=1e-9)
        return
    assert np.array_equal(last_weights(whole), last_weights(stream))
    assert np.array_equal(whole.decision_function(X), stream.decision_function(X))
    if name == "VotedPerceptron":
        assert np.array_equal(whole.dual_coef_, stream.dual_coef_)
        assert np.array_equal(whole.support_, stream.support_)


@pytest.mark.parametrize("jobs", [2, 3, -1])
@pytest.mark.parametrize("name", ["Perceptron", "AveragedPerceptron", "VotedPerceptron", "ROMMA", "AROW", "Winnow"])
def test_threads_do_not_change_a_bit(name, jobs, monkeypatch):
    monkeypatch.setattr(scores, "_SMALL", 1)
    monkeypatch.setattr(scores, "cores", lambda: 3)
    X, y = uneven()
    learner = clone(STREAMING[name]).set_params(multiclass="ovr", max_iter=20)
    one, several = clone(learner).fit(X, y), clone(learner).set_params(n_jobs=jobs).fit(X, y)
    for ours, theirs in zip(several.model_.state, one.model_.state, strict=True):
        assert ours.tobytes() == theirs.tobytes()
    assert several.mistakes_per_epoch_.tolist() == one.mistakes_per_epoch_.tolist()
    assert several.certificate_.status == one.certificate_.status


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_bad_value_is_reported_once_and_leaves_the_estimator_as_it_was(jobs, monkeypatch):
    monkeypatch.setattr(scores, "_SMALL", 1)
    X, y = uneven()
    model = rb.Perceptron(multiclass="ovr", n_jobs=jobs).fit(X, y)
    before = model.coef_
    X[17, 2] = np.nan
    with pytest.raises(ValueError, match="row 17, feature 2 is NaN"):
        model.fit(X, y)
    assert np.array_equal(model.coef_, before)


def test_separable_classes_converge_with_a_strict_check_over_all_classes():
    X, y = np.eye(4) * 3.0, list("abcd")
    model = rb.Perceptron(multiclass="ovr", tol=None).fit(X, y)
    assert model.converged_
    assert model.certificate_.status == "separable"
    assert model.certificate_.mistake_bound is None
    assert model.predict(X).tolist() == y


def test_a_warm_start_continues_every_class():
    X, y = uneven()
    steps = rb.Perceptron(multiclass="ovr", warm_start=True, max_iter=1, tol=None, shuffle=False)
    for _ in range(4):
        steps.fit(X, y)
    whole = rb.Perceptron(multiclass="ovr", max_iter=4, tol=None, shuffle=False).fit(X, y)
    assert np.array_equal(steps.coef_, whole.coef_)
    given = rb.Perceptron(multiclass="ovr", max_iter=1, tol=None, shuffle=False)
    given.fit(X, y, coef_init=np.ones((4, 6)), intercept_init=np.ones(4))
    assert not np.array_equal(
        given.coef_, rb.Perceptron(multiclass="ovr", max_iter=1, tol=None, shuffle=False).fit(X, y).coef_
    )


def test_early_stopping_holds_out_what_scikit_learn_holds_out():
    X, y = uneven(500)
    for rows, labels in ((X, y), (X, y == "b")):
        settings = {"early_stopping": True, "validation_fraction": 0.2, "shuffle": False, "tol": 1e-3, "max_iter": 100}
        theirs = ScikitPerceptron(random_state=3, **settings).fit(rows, labels)
        ours = rb.Perceptron(multiclass="ovr", random_state=3, **settings).fit(rows, labels)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9, atol=1e-9)
        assert ours.n_iter_ == theirs.n_iter_


def test_verbose_names_the_class(capsys):
    X, y = uneven()
    rb.Perceptron(multiclass="ovr", max_iter=2, tol=None, verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("class 'a', epoch 1: ")
    assert lines[-1].startswith("class 'd', epoch 2: ")
