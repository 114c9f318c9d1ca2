"""Probabilities of every learner, and what must not change through them."""

import numpy as np
import pytest

import rosenblatt as rb
from rosenblatt.learners import classes
from rosenblatt.model.past import noted
from tests.cli.helpers import answer, call, numbers

RNG = np.random.default_rng(0)
X = np.abs(RNG.normal(size=(400, 4)))
TWO = np.array(["no", "yes"])[(X[:, 0] + 0.3 * RNG.normal(size=400) > 0.8).astype(int)]
THREE = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + 0.3 * RNG.normal(size=400), [0.5, 1.0])]


@pytest.mark.parametrize(
    ("name", "y"),
    [(name, TWO) for name in classes()] + [(name, THREE) for name in classes() if name != "ParallelPerceptron"],
)
def test_every_learner_gives_probabilities(name, y, tmp_path):
    learner = getattr(rb, name)
    model = learner().fit(X[:200], y[:200])
    before = model.decision_function(X).copy()
    assert not hasattr(model, "predict_proba")
    model.calibrate(X[200:], y[200:])
    odds = model.predict_proba(X)
    assert odds.sum(axis=1) == pytest.approx(1.0)
    assert np.array_equal(model.decision_function(X), before)
    given = odds[np.arange(400), np.searchsorted(model.classes_, y)]
    shares = [np.mean(y == label) for label in model.classes_]
    assert -np.log(given[200:]).mean() < -sum(share * np.log(share) for share in shares)
    one = model.predict_proba_one(X[0])
    assert list(one) == model.classes_.tolist()
    assert list(one.values()) == pytest.approx(odds[0])
    model.save(tmp_path / "m")
    assert np.array_equal(rb.load(tmp_path / "m").predict_proba(X), odds)


@pytest.mark.parametrize("name", [n for n in classes() if getattr(getattr(rb, n), "partial_fit", None) is not None])
def test_they_follow_the_stream_and_change_nothing(name):
    """Weights and mistakes are the same, bit for bit, with and without probabilities."""
    first = X[:100], TWO[:100], ["no", "yes"]
    plain, with_odds = (getattr(rb, name)().partial_fit(*first) for _ in range(2))
    with_odds.calibrate(X[:100], TWO[:100])
    start = with_odds.predict_proba(X).copy()
    for model in (plain, with_odds):
        model.partial_fit(X[100:300], TWO[100:300])
        for x, label in zip(X[300:], TWO[300:], strict=True):
            model.learn_one(x, label)
    assert np.array_equal(plain.decision_function(X), with_odds.decision_function(X))
    for attribute in ("coef_", "mistakes_", "updates_", "dual_coef_"):
        if hasattr(plain, attribute):
            assert np.array_equal(getattr(plain, attribute), getattr(with_odds, attribute))
    assert with_odds.calibration_.count == 400
    assert not np.array_equal(with_odds.predict_proba(X), start)
    with_odds.fit(X, TWO)
    assert not hasattr(with_odds, "predict_proba"), "those of earlier weights mean nothing"


def test_a_third_class_of_a_kernel():
    model = rb.KernelPerceptron(kernel="rbf").fit(X[:200], TWO[:200]).calibrate(X[200:300], TWO[200:300])
    model.partial_fit(X[300:], np.where(X[300:, 1] > 1, "maybe", TWO[300:]))
    model.learn_one(X[0], "maybe")
    model.learn_one(X[1], "maybe")
    assert model.predict_proba(X).shape == (400, 3)


@pytest.mark.parametrize("algorithm", ["kernel", "voted", "winnow", "parallel", "pocket", "batch-perceptron"])
def test_train_gives_them(tmp_path, algorithm):
    path, model = numbers(tmp_path / "a.csv", 400), tmp_path / "a.model"
    call(
        "train",
        path,
        "-m",
        model,
        "-a",
        algorithm,
        "--holdout",
        0.3,
        *(["--set", "balanced=true"] if algorithm == "winnow" else []),
    )
    facts = answer("evaluate", model, path)
    assert facts["log_loss"] < np.log(2)
    lines = call("predict", model, path, "-p").stdout.splitlines()
    odds = np.array([[float(cell) for cell in line.split("\t")[1:]] for line in lines])
    assert odds.sum(axis=1) == pytest.approx(1.0, abs=1e-6)
    truth = [line.rpartition(",")[2] for line in path.read_text().splitlines()[1:]]
    given = [row[["no", "yes"].index(label)] for row, label in zip(odds, truth, strict=True)]
    assert facts["log_loss"] == pytest.approx(-np.log(given).mean(), abs=1e-5)


@pytest.mark.parametrize("options", [{}, {"readout": "average"}])
@pytest.mark.parametrize("y", [TWO, THREE])
def test_a_stream_gives_them_from_its_beginning(options, y, tmp_path):
    """They come from the scores before learning; how the stream is divided into calls does not matter."""
    whole, parts, stored = (rb.PassiveAggressive(**options) for _ in range(3))
    assert not hasattr(whole, "predict_proba")
    whole.partial_fit(X, y)
    for start in range(0, 200, 40):
        parts.partial_fit(X[start : start + 40], y[start : start + 40])
    for x, label in zip(X[200:], y[200:], strict=True):
        parts.learn_one(x, label)
    stored.partial_fit(X[:150], y[:150]).save(tmp_path / "m")
    stored = rb.load(tmp_path / "m").partial_fit(X[150:], y[150:])
    odds = whole.predict_proba(X)
    for other in (parts, stored):
        assert np.array_equal(other.predict_proba(X), odds)
    assert odds.sum(axis=1) == pytest.approx(1.0)
    given = odds[np.arange(400), np.searchsorted(whole.classes_, y)]
    assert -np.log(given).mean() < 0.8 * np.log(len(whole.classes_))


@pytest.mark.parametrize("options", [{}, {"readout": "average"}])
@pytest.mark.parametrize("y", [TWO, THREE])
def test_the_scores_that_are_noted_are_those_before_learning(options, y):
    model, expected = rb.PassiveAggressive(**options).partial_fit(X[:5], y[:5], classes=np.unique(y)), []
    for x, label in zip(X[5:60], y[5:60], strict=True):
        expected.append(np.atleast_1d(model.model_.scores(model._table(x[None], model.model_))[0]))
        model.learn_one(x, label)
    scores, labels = noted(model.model_.state)
    assert scores[5:] == pytest.approx(np.array(expected), abs=1e-12)
    assert [model.model_.classes[code] for code in labels[5:]] == y[5:60].tolist()


def test_only_some_of_many_examples_are_noted():
    numbers, model = np.tile(X, (10, 1)), rb.Perceptron()
    model.partial_fit(numbers, np.tile(TWO, 10))
    seen, count = model.model_.state.past_counts
    assert (seen, 1024 + 350 < count < 1024 + 400) == (4000, True)
    before = noted(model.model_.state)
    with pytest.raises(ValueError, match="finite"):
        model.partial_fit(np.vstack([X[:50], [[np.nan] * 4]]), TWO[:51])
    assert all(np.array_equal(one, other) for one, other in zip(before, noted(model.model_.state), strict=True))


def test_a_third_class_of_a_stream():
    model = rb.AROW().partial_fit(X[:200], TWO[:200])
    model.learn_one(X[200], "maybe")
    scores, _ = noted(model.model_.state)
    assert np.array_equal(scores[:200, 0], -scores[:200, 1])
    assert not scores[:200, 2].any()
    assert model.predict_proba(X).shape == (400, 3)


def test_notes_change_nothing(monkeypatch):
    """Weights and mistakes are the same, bit for bit."""
    noting = rb.AROW(readout="average").partial_fit(X, THREE)
    monkeypatch.setattr("rosenblatt.model.linear.Model.note_scores", lambda self: None)
    plain = rb.AROW(readout="average").partial_fit(X, THREE)
    assert not hasattr(plain, "predict_proba")
    assert np.array_equal(plain.coef_, noting.coef_)
    assert (plain.mistakes_, plain.updates_) == (noting.mistakes_, noting.updates_)


def test_train_with_epochs_gives_them(tmp_path):
    path, model = numbers(tmp_path / "a.csv", 400), tmp_path / "a.model"
    call("train", path, "-m", model, "-e", 3)
    assert answer("evaluate", model, path)["log_loss"] < np.log(2)
    call("train", path, "-m", tmp_path / "b.model", "-e", 1)
    assert rb.load(tmp_path / "b.model").calibration_.line == pytest.approx(rb.load(model).calibration_.line)
