"""Checks for every learner: those of scikit-learn, and other behaviour that its users expect."""

import copy
import inspect
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn.linear_model
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import rosenblatt as rb
from tests import user_rules
from tests.helpers import LEARNERS, STREAMING, assert_same_model, blobs, csr, differences, last_weights, memory

EACH = pytest.mark.parametrize("name", LEARNERS)
EACH_STREAMING = pytest.mark.parametrize("name", STREAMING)

CHECKED = [
    rb.Perceptron(), rb.AveragedPerceptron(), rb.VotedPerceptron(), rb.PocketPerceptron(), rb.BatchPerceptron(),
    rb.MarginPerceptron(), rb.PassiveAggressive(), rb.SecondOrderPerceptron(), rb.AROW(), rb.AROW(covariance="full"),
    rb.SoftConfidenceWeighted(), rb.ROMMA(), rb.ROMMA(variant="aggressive"), rb.ALMA(), rb.ParallelPerceptron(),
    rb.Winnow(balanced=True), rb.Winnow(), user_rules.Cautious(),
]  # fmt: skip
CHECKED += [model for model in LEARNERS.values() if type(model) not in {type(one) for one in CHECKED}]

ONLINE = "an example of weight 2 is one step of double size, not two steps in a row"
EXCUSED = {
    "check_sample_weight_equivalence_on_dense_data": ONLINE,
    "check_sample_weight_equivalence_on_sparse_data": ONLINE,
}


@pytest.mark.slow
@pytest.mark.parametrize("model", CHECKED, ids=repr)
def test_scikit_learns_checks(model):
    excused = {} if isinstance(model, rb.BatchPerceptron) else EXCUSED
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checks use data that fit badly
        results = check_estimator(model, expected_failed_checks=excused, on_fail=None, on_skip=None)
    failed = {r["check_name"]: repr(r["exception"]) for r in results if r["status"] == "failed"}
    assert failed == {}
    assert {r["check_name"] for r in results if r["status"] == "xfail"} <= set(excused)


@EACH
def test_the_public_names(name):
    learner = type(LEARNERS[name])
    assert learner.__name__ in rb.__all__
    assert getattr(rb, learner.__name__) is learner
    assert "{parameters}" not in learner.__doc__
    for parameter in inspect.signature(learner).parameters.values():
        assert parameter.kind is parameter.KEYWORD_ONLY
        assert f"{parameter.name} : " in learner.__doc__, "every parameter must be described"
    fields = [line.split(" :")[0].strip() for line in learner.__doc__.splitlines() if " : " in line]
    extra = set(fields) - set(inspect.signature(learner).parameters)
    assert all(field.endswith("_") for field in extra), "and no other"


def test_the_perceptron_is_a_drop_in_for_that_of_scikit_learn():
    theirs = inspect.signature(sklearn.linear_model.Perceptron).parameters
    ours = inspect.signature(rb.Perceptron).parameters
    for parameter in theirs:
        assert ours[parameter].default == theirs[parameter].default


def test_the_perceptron_gives_the_run_of_scikit_learn():
    """On dense rows in the given order both run the same algorithm; the stopping rules differ, so the epochs are fixed."""
    X, y = blobs(80, 5)
    same = {"shuffle": False, "max_iter": 4, "tol": None}
    ours = rb.Perceptron(**same).fit(X, y)
    theirs = sklearn.linear_model.Perceptron(**same).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-9)


def test_counters_of_examples_and_mistakes():
    X, y = blobs(80, 5)
    same = {"shuffle": False, "max_iter": 4, "tol": None}
    ours = rb.Perceptron(**same).fit(X, y)
    theirs = sklearn.linear_model.Perceptron(**same).fit(X, y)
    assert theirs.t_ == 4 * 80 + 1
    assert ours.examples_ == 4 * 80
    assert 0 < ours.mistakes_ < 80
    assert ours.mistakes_ == ours.mistakes_per_epoch_.sum()
    assert len(ours.mistakes_per_epoch_) == ours.n_iter_ == theirs.n_iter_ == 4


# ---- weights of examples ----


@EACH
@pytest.mark.parametrize("classes", [2, 3])
def test_an_example_of_weight_0_is_ignored(name, classes):
    X, y = blobs(60, 5, classes, seed=2)
    weight = np.random.default_rng(0).choice([0.0, 1.0, 2.5], 60)
    kept = weight > 0
    fixed = {"shuffle": False, "tol": None, "max_iter": 3} if "shuffle" in LEARNERS[name].get_params() else {}
    for convert in (np.asarray, csr, np.asfortranarray):
        some, all_ = (clone(LEARNERS[name]).set_params(**fixed) for _ in range(2))
        some.fit(convert(X[kept]), y[kept], sample_weight=weight[kept])
        all_.fit(convert(X), y, sample_weight=weight)
        assert_same_model(some, all_)
        assert some.mistakes_per_epoch_.tolist() == all_.mistakes_per_epoch_.tolist()
        assert some.loss_per_epoch_.tolist() == all_.loss_per_epoch_.tolist()
        assert some.converged_ == all_.converged_
        assert np.array_equal(some.decision_function(X), all_.decision_function(X))


@EACH_STREAMING
def test_an_example_of_weight_0_is_ignored_on_a_stream(name):
    X, y = blobs(60, 5, seed=2)
    weight = np.random.default_rng(0).choice([0.0, 1.0], 60)
    all_ = clone(STREAMING[name]).partial_fit(X, y, classes=[0, 1], sample_weight=weight)
    some = clone(STREAMING[name]).partial_fit(X[weight > 0], y[weight > 0], classes=[0, 1])
    assert_same_model(all_, some)


@EACH
def test_weights_of_1_change_nothing(name):
    X, y = blobs(60, 5, 3, seed=2)
    plain, ones = (clone(LEARNERS[name]).set_params(max_iter=3) for _ in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        plain.fit(X, y)
        ones.fit(X, y, sample_weight=np.ones(60))
    assert_same_model(plain, ones)


@EACH
def test_class_weights_act_like_sample_weights(name):
    X, y = blobs(60, 5, 3, seed=2)
    keep = (y != 0) | (np.arange(60) % 3 == 0)
    X, y = X[keep], y[keep]
    balanced = len(y) / (3 * np.bincount(y))
    fixed = {"tol": None, "max_iter": 3} if "tol" in LEARNERS[name].get_params() else {}
    model = clone(LEARNERS[name]).set_params(**fixed)
    explicit = clone(model).fit(X, y, sample_weight=balanced[y])
    assert_same_model(clone(model).set_params(class_weight="balanced").fit(X, y), explicit)
    assert_same_model(clone(model).set_params(class_weight=dict(enumerate(balanced))).fit(X, y), explicit)


def test_class_weights_decide_when_to_stop():
    """`tol` is compared with the weighted loss."""
    X, y = blobs(100, 2, seed=5)
    y = np.random.default_rng(1).permutation(y)
    model = rb.Perceptron(class_weight={0: 5.0, 1: 1.0}, max_iter=1, tol=None, shuffle=False).fit(X, y)
    w, total = np.zeros(3), 0.0
    for x, label in zip(X, y, strict=True):
        c, sign, z = (5.0, -1, np.append(x, 1)) if label == 0 else (1.0, 1, np.append(x, 1))
        total += c * max(0.0, -sign * (w @ z))
        if sign * (w @ z) <= 0:
            w = w + c * sign * z
    assert model.loss_per_epoch_[0] == pytest.approx(total / np.where(y == 0, 5.0, 1.0).sum(), rel=1e-12)


# ---- labels and frames ----

LABELS = {
    "strings": np.array(["eel", "ant", "cat"]),
    "integers": np.array([30, -5, 7]),
    "objects": np.array(["eel", "ant", "cat"], dtype=object),
    "floats": np.array([2.0, 0.0, 1.0]),
}


@EACH
@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_any_kind(name, kind):
    X, y = blobs(60, 5, 3, seed=3)
    names = LABELS[kind]
    place = np.argsort(np.argsort(names))
    model = clone(LEARNERS[name]).set_params(max_iter=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        numbered = clone(model).fit(X, place[y])
        named = clone(model).fit(X, names[y])
    assert named.classes_.tolist() == sorted(names.tolist())
    assert np.array_equal(last_weights(named), last_weights(numbered))
    predicted = named.predict(X)
    assert predicted.tolist() == [sorted(names.tolist())[k] for k in numbered.predict(X)]
    assert np.asarray(predicted).dtype.kind == named.classes_.dtype.kind
    assert named.score(X, names[y]) > 0.5 or "Winnow" in name


@EACH
def test_boolean_labels(name):
    X, y = blobs(60, 5, seed=3)
    model = clone(LEARNERS[name]).fit(X, y == 1)
    assert model.classes_.tolist() == [False, True]
    assert model.predict(X).dtype == bool
    if hasattr(model, "learn_one"):
        assert model.learn_one(X[0], True) in (True, False)


@EACH
@pytest.mark.parametrize(
    "frame", [pd.DataFrame, lambda X, columns: pl.DataFrame(X, schema=columns)], ids=["pandas", "polars"]
)
def test_data_frames_give_the_same_model_as_arrays(name, frame):
    X, y = blobs(60, 3, seed=4)
    columns = ["length", "width", "height"]
    model = clone(LEARNERS[name]).fit(frame(X, columns=columns) if frame is pd.DataFrame else frame(X, columns), y)
    assert model.feature_names_in_.tolist() == columns
    assert model.n_features_in_ == 3
    plain = clone(LEARNERS[name]).fit(X, y)
    assert np.array_equal(last_weights(model), last_weights(plain))
    table = pd.DataFrame(X, columns=columns) if frame is pd.DataFrame else frame(X, columns)
    assert np.array_equal(model.predict(table), plain.predict(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(pd.DataFrame(X, columns=["length", "height", "width"]))


def test_a_frame_of_float32_stays_float32():
    X, y = blobs(30, 3, dtype=np.float32)
    assert rb.Perceptron().fit(pd.DataFrame(X, columns=list("abc")), y).coef_.dtype == np.float32
    assert rb.Perceptron().fit(X, y).coef_.dtype == np.float32
    assert rb.Perceptron().fit(X.astype(np.float16), y).coef_.dtype in (np.float32, np.float64)
    assert rb.Perceptron().fit(X.astype(np.float64), y).coef_.dtype == np.float64


# ---- scikit-learn's tools ----


@EACH
def test_pipelines_and_set_output(name):
    X, y = blobs(90, 4, 3, seed=5)
    frame = pd.DataFrame(X, columns=list("abcd"))
    pipeline = make_pipeline(StandardScaler(), clone(LEARNERS[name])).set_output(transform="pandas")
    pipeline.fit(frame, y)
    assert pipeline[-1].feature_names_in_.tolist() == list("abcd")
    assert pipeline.predict(frame).shape == (90,)
    assert pipeline.score(frame, y) > 0.5 or name == "Winnow"


@pytest.mark.slow
@EACH
def test_grid_search_and_cross_validation(name):
    X, y = blobs(90, 4, 3, seed=5)
    model = clone(LEARNERS[name])
    search = GridSearchCV(model, {"fit_intercept": [True, False], "multiclass": ["max", "ovr"]}, cv=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        search.fit(X, y)
        scores = cross_val_score(clone(model).set_params(**search.best_params_), csr(X), y, cv=3)
    assert search.best_score_ == np.mean(scores), "the best score is the mean of the cross-validation"


@pytest.mark.slow
@EACH
@pytest.mark.parametrize("classes", [2, 3])
def test_calibration(name, classes):
    X, y = blobs(90, 4, classes, seed=5)
    model = CalibratedClassifierCV(clone(LEARNERS[name]), cv=3).fit(X, y)
    probability = model.predict_proba(X)
    assert probability.shape == (90, classes)
    np.testing.assert_allclose(probability.sum(axis=1), 1)


@EACH
def test_clone_pickle_and_deepcopy(name):
    X, y = blobs(60, 5, 3, seed=6)
    model = clone(LEARNERS[name]).set_params(max_iter=4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    empty = clone(model)
    assert empty.get_params() == model.get_params()
    assert not hasattr(empty, "model_")
    for copied in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert differences(memory(copied), memory(model)) == []
        assert np.array_equal(copied.decision_function(X), model.decision_function(X))
        if hasattr(model, "partial_fit"):
            twin = copy.deepcopy(model)
            assert_same_model(copied.partial_fit(X, y), twin.partial_fit(X, y))
            before = memory(model)
            copied.partial_fit(X, y)
            assert differences(memory(model), before) == [], "a copy shares nothing"


# ---- the course of training ----


@EACH
def test_a_seed_fixes_the_run(name):
    X, y = blobs(60, 5, 3, seed=6)
    model = clone(LEARNERS[name]).set_params(max_iter=4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        first = clone(model).fit(X, y)
        assert_same_model(first, clone(model).fit(X, y))
        assert_same_model(first, clone(model).fit(csr(X), y))
        assert_same_model(first, clone(model).fit(np.asfortranarray(X), y))
        if "random_state" not in model.get_params():
            return
        assert_same_model(first, clone(model).set_params(random_state=np.random.RandomState(0)).fit(X, y))
        others = [clone(model).set_params(random_state=seed).fit(X, y) for seed in range(1, 4)]
    assert any(not np.array_equal(last_weights(other), last_weights(first)) for other in others) or "Pocket" in name


def test_fit_starts_again_from_zero():
    X, y = blobs(60, 5, 3, seed=6)
    once = rb.Perceptron(max_iter=3, tol=None).fit(X, y)
    twice = rb.Perceptron(max_iter=3, tol=None).fit(X[:30], y[:30]).fit(X, y)
    assert_same_model(once, twice)


@EACH
def test_a_warm_start_begins_with_the_last_weights(name):
    X, y = blobs(60, 5, 3, seed=6)
    fixed = {"tol": None, "shuffle": False} if "tol" in LEARNERS[name].get_params() else {}
    model = clone(LEARNERS[name]).set_params(warm_start=True, max_iter=2, **fixed)
    model.fit(X, y)
    w = last_weights(model)
    again = clone(model).set_params(warm_start=False).fit(X, y, coef_init=w[:, :-1], intercept_init=w[:, -1])
    model.fit(X, y)
    np.testing.assert_allclose(last_weights(model), last_weights(again), rtol=1e-9, atol=1e-12)
    assert model.mistakes_ == again.mistakes_
    np.testing.assert_allclose(model.decision_function(X), again.decision_function(X), rtol=1e-9, atol=1e-9)


def test_two_warm_starts_equal_one_longer_run():
    X, y = blobs(60, 5, 3, seed=6)
    steps = rb.Perceptron(warm_start=True, max_iter=1, tol=None, shuffle=False)
    for _ in range(4):
        steps.fit(X, y)
    whole = rb.Perceptron(max_iter=4, tol=None, shuffle=False).fit(X, y)
    assert np.array_equal(steps.coef_, whole.coef_)


def test_starting_weights_take_precedence_over_a_warm_start():
    X, y = blobs(60, 5, seed=6)
    fixed = {"max_iter": 1, "tol": None, "shuffle": False}
    model = rb.Perceptron(warm_start=True, **fixed).fit(X, y)
    model.fit(X, y, coef_init=np.ones(5))
    assert np.array_equal(model.coef_, rb.Perceptron(**fixed).fit(X, y, coef_init=np.ones((1, 5))).coef_)


def test_the_orders_of_examples():
    X, y = blobs(200, 5, seed=6)
    y = np.random.default_rng(0).permutation(y)
    fixed = {"max_iter": 1, "tol": None}
    orders = {s: rb.Perceptron(shuffle=s, **fixed).fit(X, y) for s in (True, False, "replacement")}
    assert orders[True].examples_ == orders["replacement"].examples_ == 200
    assert not np.array_equal(orders[True].coef_, orders[False].coef_)
    rng = np.random.RandomState(0)
    order = rng.permutation(200)
    assert np.array_equal(orders[True].coef_, rb.Perceptron(shuffle=False, **fixed).fit(X[order], y[order]).coef_)
    voted = rb.VotedPerceptron(shuffle="replacement", **fixed).fit(X, y)
    assert len(voted.support_) < len(voted.mistake_rows_), "some rows are drawn twice"


def test_each_epoch_has_another_order():
    X, y = blobs(100, 5, seed=6)
    y = np.random.default_rng(0).permutation(y)
    rng = np.random.RandomState(7)
    order = np.concatenate([rng.permutation(100), rng.permutation(100)])
    model = rb.Perceptron(max_iter=2, tol=None, random_state=7).fit(X, y)
    assert np.array_equal(model.coef_, rb.Perceptron().partial_fit(X[order], y[order], classes=[0, 1]).coef_)


def test_early_stopping():
    X, y = blobs(300, 4, seed=2)
    y = np.where(np.random.default_rng(0).random(300) < 0.1, 1 - y, y)
    model = rb.Perceptron(early_stopping=True, validation_fraction=0.2, n_iter_no_change=3, max_iter=500).fit(X, y)
    assert 3 < model.n_iter_ < 500
    assert model.examples_ == 240 * model.n_iter_, "the validation examples are not learned"
    same = rb.Perceptron(early_stopping=True, validation_fraction=0.2, n_iter_no_change=3, max_iter=500).fit(csr(X), y)
    assert np.array_equal(same.coef_, model.coef_)
    for learner in (rb.AveragedPerceptron, rb.VotedPerceptron, rb.PocketPerceptron):
        other = learner(early_stopping=True, tol=1e-3, max_iter=200).fit(X, y)
        assert other.n_iter_ < 200


def test_when_training_ends():
    X, y = blobs(30, 20, seed=1)
    done = rb.Perceptron(tol=None).fit(X, y)
    assert done.converged_
    assert done.mistakes_per_epoch_[-1] == 0
    assert done.n_iter_ < 1000
    Z, z = blobs(200, 2, seed=1)
    z = np.random.default_rng(0).permutation(z)
    stopped = rb.Perceptron().fit(Z, z)
    assert not stopped.converged_
    assert stopped.n_iter_ < 1000, "tol"
    losses = stopped.loss_per_epoch_
    best = np.minimum.accumulate(losses)
    assert (losses[-5:] > best[-6] - 1e-3).all()
    patient = rb.Perceptron(n_iter_no_change=30).fit(Z, z)
    assert patient.n_iter_ > stopped.n_iter_
    with pytest.warns(ConvergenceWarning, match=r"Perceptron stopped after max_iter=2.*Raise max_iter"):
        rb.Perceptron(max_iter=2).fit(Z, z)
    assert rb.Perceptron(max_iter=2, tol=None).fit(Z, z).n_iter_ == 2


def test_converged_checks_all_examples():
    """Sampling with replacement can miss the one bad example; `converged_` checks all of them."""
    X = np.array([[1.0], [-1.0]] * 20 + [[-1.0]])
    y = np.array([1, 0] * 20 + [1])
    settings = {"shuffle": "replacement", "tol": None}
    runs = [rb.Perceptron(max_iter=50, random_state=s, **settings).fit(X, y) for s in range(10)]
    lucky = {
        s: 1 + run.mistakes_per_epoch_.tolist().index(0) for s, run in enumerate(runs) if 0 in run.mistakes_per_epoch_
    }
    assert lucky, "this test needs such a pass"
    runs += [rb.Perceptron(max_iter=n, random_state=s, **settings).fit(X, y) for s, n in lucky.items()]
    assert all(run.mistakes_per_epoch_[-1] == 0 for run in runs[10:])
    assert not any(run.converged_ for run in runs)


def test_verbose_prints_a_line_for_each_epoch(capsys):
    X, y = blobs(30, 4)
    rb.Perceptron(max_iter=2, tol=None, shuffle=False, verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 2
    assert lines[0].startswith("epoch 1: ")
    assert "mistakes" in lines[0]


@EACH
def test_fitted_attributes(name):
    X, y = blobs(60, 5, 3, seed=6)
    model = clone(LEARNERS[name]).set_params(max_iter=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.n_features_in_ == 5
    assert model.n_iter_ == len(model.mistakes_per_epoch_) == len(model.loss_per_epoch_)
    assert model.mistakes_per_epoch_.sum() == model.mistakes_
    assert model.updates_per_epoch_.sum() == model.updates_
    assert isinstance(model.converged_, bool)
    assert model.decision_function(X).shape == (60, 3)
    if "Voted" not in name:
        assert model.coef_.shape == (3, 5)
        assert model.intercept_.shape == (3,)
    if not model.fit_intercept and "Voted" not in name:
        assert not model.intercept_.any()
    binary = clone(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        binary.fit(X[y < 2], y[y < 2])
    assert binary.decision_function(X).shape == (60,)
    if "Voted" not in name:
        assert binary.coef_.shape == (1, 5)
        assert binary.intercept_.shape == (1,)


def test_a_score_of_zero_is_the_second_class_and_a_tie_the_first():
    X = np.zeros((3, 2))
    two = rb.Perceptron(fit_intercept=False, max_iter=1, tol=None).fit(X, ["no", "yes", "no"])
    assert two.predict(X).tolist() == ["yes"] * 3
    three = rb.Perceptron(fit_intercept=False, max_iter=1, tol=None).fit(X, ["c", "b", "a"])
    assert three.predict(X).tolist() == ["a"] * 3
