"""`rosenblatt train` without options: the number of epochs is chosen with a tenth set aside, then all examples are learned."""

import numpy as np
import pytest

import rosenblatt as rb
from rosenblatt.cli import _examples
from rosenblatt.model.calibration import Calibration
from rosenblatt.training.schedule import held_out
from tests.cli.helpers import answer, call, svmlight


@pytest.fixture
def path(tmp_path):
    lines = svmlight(tmp_path / "data.svm", count=600).read_text().splitlines()
    flipped = [line.replace("+1 ", "-1 ", 1) if number % 9 == 0 else line for number, line in enumerate(lines)]
    (tmp_path / "data.svm").write_text("\n".join(flipped) + "\n")
    return tmp_path / "data.svm"


@pytest.fixture
def model(tmp_path):
    return tmp_path / "a.model"


def columns(path):
    """The examples with the columns of the command line, where column 0 of svmlight text is unused."""
    X, y = rb.read(path)
    return np.column_stack([np.zeros(len(y)), X.toarray()]), y


def test_all_examples_are_learned_for_the_best_number_of_epochs(path, model):
    facts = answer("train", path, "-m", model)
    assert facts["relearned"]
    assert facts["examples"] == 600
    assert facts["epochs"][0]["examples"] + facts["epochs"][0]["held_out"] == 600
    X, y = columns(path)
    expected = rb.PassiveAggressive(readout="average", max_iter=facts["best_epoch"], tol=None).fit(X, y)
    loaded = rb.load(model)
    assert np.array_equal(loaded.coef_, expected.coef_)
    assert loaded.n_iter_ == facts["best_epoch"]
    assert loaded.mistakes_per_epoch_.tolist() == expected.mistakes_per_epoch_.tolist()
    assert facts["training_accuracy"] == pytest.approx(expected.score(X, y), abs=1e-12)


def test_probabilities_and_accuracy_come_from_examples_that_were_not_learned_yet(path, model, tmp_path):
    facts = answer("train", path, "-m", model)
    out = held_out(0, 600, 0.1, 0)
    X, y = columns(path)
    kept = tmp_path / "kept.model"  # the run before all examples are learned
    call("train", path, "-m", kept, "--holdout", 0.1, "--epochs", 30)
    before = rb.load(kept)
    assert facts["held_out_accuracy"] == pytest.approx(before.score(X[out], y[out]), abs=1e-12)
    expected = Calibration.of(1).fit(before.decision_function(X[out])[:, None], (y[out] == 1).astype(int))
    assert np.allclose(rb.load(model).calibration_.line, expected.line, rtol=1e-12)


def test_the_report_judges_the_model_that_had_not_learned_the_examples(path, model, tmp_path):
    page = tmp_path / "a.html"
    facts = answer("train", path, "-m", model, "--report", page)
    assert f">{facts['held_out_accuracy']:.2%}</span>" in page.read_text()


def test_more_epochs_later_are_the_same_as_at_once(path, model, tmp_path):
    facts = answer("train", path, "-m", model)
    refused = call("train", path, "-m", model, "--resume", code=2)
    assert "Raise it" in refused.stderr
    more = facts["best_epoch"] + 3
    call("train", path, "-m", model, "--resume", "--epochs", more)
    X, y = columns(path)
    expected = rb.PassiveAggressive(readout="average", max_iter=more, tol=None).fit(X, y)
    assert np.array_equal(rb.load(model).coef_, expected.coef_)


def test_a_holdout_that_was_asked_for_is_never_learned(path, model):
    facts = answer("train", path, "-m", model, "--holdout", 0.1)
    assert not facts["relearned"]
    assert facts["examples"] == facts["epochs"][0]["examples"]


def test_data_larger_than_memory_are_not_learned_again(path, model, monkeypatch):
    monkeypatch.setattr(_examples.Examples.__init__, "__defaults__", (None, 1000))
    facts = answer("train", path, "-m", model)
    assert not facts["relearned"]


@pytest.mark.parametrize("part", ["first", "second"])
def test_an_interrupted_run_goes_on_to_the_same_model(part, path, model, tmp_path, monkeypatch):
    whole = tmp_path / "whole.model"
    facts = answer("train", path, "-m", whole)
    pieces = len(facts["epochs"])
    original = _examples.Interrupt.__enter__
    monkeypatch.setattr("rosenblatt.training.loop.PIECE", 100)
    count = 6 if part == "first" else 7 * pieces + 3  # each epoch asks once for each piece of 100, and once at its end
    seen = []

    def interrupted(self):
        asks = iter([False] * count + [True])
        type(self).asked = property(lambda _: seen.append(1) or next(asks, True), lambda _, value: None)
        return original(self)

    monkeypatch.setattr(_examples.Interrupt, "__enter__", interrupted)
    call("train", path, "-m", model, "-q", code=130)
    del _examples.Interrupt.asked
    monkeypatch.setattr(_examples.Interrupt, "__enter__", original)
    run = rb.load(model).training_["run"]
    assert run["relearns"]
    assert (len(run["done"]) == pieces) == (part == "second")
    again = answer("train", path, "-m", model, "--resume")
    assert again["relearned"]
    assert again["best_epoch"] == facts["best_epoch"]
    first, second = rb.load(model), rb.load(whole)
    assert np.array_equal(first.coef_, second.coef_)
    assert np.array_equal(first.intercept_, second.intercept_)
    assert np.array_equal(first.calibration_.line, second.calibration_.line)
    assert first.mistakes_ == second.mistakes_
