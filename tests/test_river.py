"""The learners as classifiers of river: its own checks, pipelines, ensembles, evaluation."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
from river import checks, compose, datasets, ensemble, evaluate, linear_model, metrics, multiclass, preprocessing

import rosenblatt as rb
import rosenblatt.river as rr
from rosenblatt.learners import classes, regressors

NAMES = sorted(set(rr.__all__) - {"adapt", "StandardScaler"} - set(regressors()))


def test_every_learner_of_streams_has_an_adapter():
    assert set(NAMES) == {name for name in classes() if hasattr(getattr(rb, name), "learn_one")}


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_rivers_own_checks(name):
    checks.check_estimator(getattr(rr, name)(**({"budget": 20} if name == "KernelPerceptron" else {})))


@pytest.mark.parametrize("name", NAMES)
def test_it_learns_what_the_learner_learns(name):
    ours, plain = getattr(rr, name)(), getattr(rb, name)()
    for x, y in datasets.Phishing().take(200):
        assert ours.predict_one(x) == plain.predict_one(x)
        shares = ours.predict_proba_one(x)
        if ours.predict_one(x) is not None and len(shares) > 1:
            assert shares[ours.predict_one(x)] == max(shares.values())
            assert sum(shares.values()) == pytest.approx(1.0)
        assert ours.learn_one(x, y) is None
        plain.learn_one(x, y)
    assert ours.learner.mistakes_ == plain.mistakes_


@pytest.mark.slow
@pytest.mark.parametrize("name", regressors())
def test_rivers_own_checks_of_regressors(name):
    checks.check_estimator(getattr(rr, name)())


@pytest.mark.parametrize("name", regressors())
def test_regressors(name):
    ours, plain = getattr(rr, name)(), getattr(rb, name)()
    for x, y in datasets.TrumpApproval().take(200):
        assert ours.predict_one(x) == plain.predict_one(x)
        ours.learn_one(x, y)
        plain.learn_one(x, y)
    model = preprocessing.StandardScaler() | getattr(rr, name)()
    score = evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    theirs = preprocessing.StandardScaler() | linear_model.LinearRegression()
    assert score.get() < evaluate.progressive_val_score(datasets.TrumpApproval(), theirs, metrics.MAE()).get()


def test_a_pipeline_in_progressive_validation():
    model = preprocessing.StandardScaler() | rr.AROW(r=1.0)
    score = evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    theirs = preprocessing.StandardScaler() | linear_model.PAClassifier()
    assert score.get() > evaluate.progressive_val_score(datasets.Phishing(), theirs, metrics.Accuracy()).get() - 0.02
    ranked = evaluate.progressive_val_score(datasets.Phishing(), model.clone(), metrics.ROCAUC())
    assert ranked.get() > 0.9


def test_ensembles_and_one_vs_rest():
    bag = ensemble.BaggingClassifier(preprocessing.StandardScaler() | rr.AveragedPerceptron(), n_models=3, seed=1)
    assert evaluate.progressive_val_score(datasets.Phishing(), bag, metrics.Accuracy()).get() > 0.8
    images = list(datasets.ImageSegments().take(700))
    for model in (multiclass.OneVsRestClassifier(rr.PassiveAggressive(C=0.1)), rr.PassiveAggressive(C=0.1)):
        made = compose.Pipeline(preprocessing.StandardScaler(), model)
        assert evaluate.progressive_val_score(images, made, metrics.Accuracy()).get() > 0.6


def test_clones_copies_and_pickles():
    model = rr.PassiveAggressive(C=0.3, variant="PA-II")
    model.learn_one({"a": 1.0}, True)
    fresh = model.clone()
    assert (fresh.C, fresh.variant) == (0.3, "PA-II")
    assert fresh.predict_one({"a": 1.0}) is None
    assert model.clone({"C": 2.0}).C == 2.0
    for same in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert same.predict_one({"a": 1.0}) is True
        assert same.learner.coef_.tolist() == model.learner.coef_.tolist()
    assert "C=0.3" in repr(model).replace(" ", "").replace("\n", "")
    assert "max_iter" not in repr(model), "a parameter of fit only"


def test_weights_of_examples_and_a_rule_of_the_users_own():
    once, twice = rr.AROW(), rr.AROW()
    once.learn_one({"a": 1.0}, True, w=2.0)
    twice.learn_one({"a": 1.0}, True)
    once.learn_one({"a": 1.0}, False)
    twice.learn_one({"a": 1.0}, False)
    assert once.learner.coef_.tolist() != twice.learner.coef_.tolist()
    with pytest.raises(ValueError, match="weight of an example must be 1 for KernelPerceptron"):
        rr.KernelPerceptron().learn_one({"a": 1.0}, True, w=2.0)
    with pytest.raises(ValueError, match="`learner` of adapt must be a class"):
        rr.adapt(rb.Perceptron())
    assert issubclass(rr.adapt(rb.Perceptron), type(rr.Perceptron()).__mro__[1])


# ---- the scaler ----


def test_the_scaler_passes_rivers_checks():
    checks.check_estimator(rr.StandardScaler())


@pytest.mark.parametrize("name", ["AROW", "Perceptron"])
def test_the_scaler_gives_the_bits_of_the_command_line(name, tmp_path):
    rng = np.random.default_rng(3)
    X = np.round(rng.normal(size=(300, 4)) * [1, 100, 1e-3, 7] + [0, 5000, 0, -3], 6)
    y = np.where(X[:, 1] / 100 + X[:, 0] > 50, "yes", "no")
    data, stored = tmp_path / "a.csv", tmp_path / "a.model"
    lines = [",".join([*map(repr, row), label]) for row, label in zip(X.tolist(), y, strict=True)]
    data.write_text("\n".join(["a,b,c,d,label", *lines]) + "\n")
    command = [sys.executable, "-m", "rosenblatt.cli", "stream", data, "-m", stored, "--standardize", "-q"]
    subprocess.run([*command, "--algorithm", name.lower()], check=True, capture_output=True)
    model = rr.StandardScaler() | getattr(rr, name)()
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        model.learn_one(dict(zip("abcd", row, strict=True)), label)
    ours, theirs = model[name].learner, rb.load(stored)
    assert ours.coef_.tolist() == theirs.coef_.tolist()
    assert ours.intercept_.tolist() == theirs.intercept_.tolist()


def test_the_scaler_with_features_that_come_and_go():
    scaler = rr.StandardScaler()
    rows = [{"a": 1.0, "t": "x", "b": True}, {"a": 3.0, "c": 5}, {"c": 7.0, "a": None}, {"a": float("nan"), "c": 9.0}]
    for row in rows:
        scaler.learn_one(row)
    assert scaler.transform_one({"a": 3.0, "t": "x", "b": True, "new": 4.0}) == {
        "a": 1.0,
        "t": "x",
        "b": True,
        "new": 0.0,
    }
    assert scaler.transform_one({"a": None, "c": 7.0}) == {"c": 0.0}
    for number in range(100):
        scaler.learn_one({f"f{number}": float(number)})
    assert scaler.transform_one({"a": 1.0}) == {"a": -1.0}
    with pytest.raises(ValueError, match=r"finite numbers; 'a' is inf"):
        scaler.learn_one({"a": float("inf")})
