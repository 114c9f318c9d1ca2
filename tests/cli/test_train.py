"""`train`: from a file to a model, its options, its interruption, and its messages on bad input."""

import json
import random
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rosenblatt as rb
from rosenblatt.cli import _examples
from rosenblatt.training.schedule import held_out
from tests.cli.helpers import (
    answer,
    call,
    call_interrupted,
    mails,
    numbers,
    process,
    svmlight,
    wait_until_it_waits,
)
from tests.helpers import assert_same_model, unreadable


@pytest.fixture
def data(tmp_path):
    return numbers(tmp_path / "data.csv")


@pytest.fixture
def model(tmp_path):
    return tmp_path / "a.model"


def test_training_from_a_file(data, model, tmp_path):
    result = call("train", data, "-m", model, "--test", numbers(tmp_path / "test.csv", seed=1))
    assert "PassiveAggressive" in result.stdout
    assert "accuracy" in result.stdout
    assert all(f"\n{name} " in result.stderr for name in ("height", "width", "depth"))
    loaded = rb.load(model)
    assert isinstance(loaded, rb.PassiveAggressive)
    assert loaded.readout == "average"
    assert loaded.classes_.tolist() == ["no", "yes"]
    names = loaded.encoder_.names()
    assert names[:3] == ["height", "width", "depth"]
    assert set(names[3:]) == {"colour=red", "colour=green", "colour=blue"}
    weights = dict(zip(names, loaded.coef_[0], strict=True))
    assert weights["width"] < 0 < weights["height"]
    assert weights["colour=red"] > weights["colour=blue"]


def test_json(data, model, tmp_path):
    facts = answer("train", data, "-m", model, "--epochs", 3, "--test", numbers(tmp_path / "test.csv", seed=1))
    assert facts["algorithm"] == "PassiveAggressive"
    assert facts["examples"] == 300
    assert facts["classes"] == ["no", "yes"]
    assert [epoch["examples"] for epoch in facts["epochs"]] == [300] * 3
    assert facts["test"]["accuracy"] > 0.9
    assert set(facts["test"]) >= {"accuracy", "mistakes", "examples", "confusion", "labels", "roc_auc"}


def test_quiet_prints_nothing(data, model):
    result = call("train", data, "-m", model, "--quiet")
    assert result.stdout == result.stderr == ""


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("perceptron", rb.Perceptron), ("averaged", rb.AveragedPerceptron), ("PassiveAggressive", rb.PassiveAggressive),
        ("margin", rb.MarginPerceptron), ("voted", rb.VotedPerceptron), ("pocket", rb.PocketPerceptron),
        ("batch", rb.BatchPerceptron), ("winnow", rb.Winnow), ("kernel", rb.KernelPerceptron),
    ],
)  # fmt: skip
def test_every_algorithm(name, kind, data, model, tmp_path):
    settings = ["--set", "balanced=true", "--set", "eta=0.1"] if name == "winnow" else []
    facts = answer("train", data, "-m", model, "-a", name, *settings)
    assert facts["algorithm"] == kind.__name__
    assert facts["epochs"]
    assert type(rb.load(model)) is kind
    assert answer("evaluate", model, data)["accuracy"] > 0.85
    call("inspect", model)
    guesses = call("predict", model, data).stdout.split()
    assert len(guesses) == 300


@pytest.mark.parametrize("name", ["averaged", "pocket", "batch", "kernel"])
def test_one_epoch_is_allowed(name, data, model):
    assert len(answer("train", data, "-m", model, "-a", name, "-e", 1)["epochs"]) == 1


def test_the_same_model_as_in_python(tmp_path, model):
    """Without shuffling, training on a file equals `partial_fit` on its rows, epoch by epoch."""
    path = svmlight(tmp_path / "data.svm")
    answer(
        "train",
        path,
        "-m",
        model,
        "-a",
        "passive",
        "--set",
        "C=0.5",
        "--no-shuffle",
        "--epochs",
        3,
        "--set",
        "tol=none",
    )
    X, y = rb.read(path)
    expected = rb.PassiveAggressive(C=0.5)
    for _ in range(3):
        expected.partial_fit(X, y, classes=[-1, 1])
    loaded = rb.load(model)
    assert np.array_equal(loaded.coef_[:, 1:], expected.coef_)  # column 0 of svmlight text is unused
    assert loaded.mistakes_ == expected.mistakes_


def test_seeds(data, model, tmp_path):
    other = tmp_path / "b.model"
    for seed, same in ((0, True), (1, False)):
        call("train", data, "-m", model, "-q", "--epochs", 2)
        call("train", data, "-m", other, "-q", "--epochs", 2, "--seed", seed)
        assert np.array_equal(rb.load(model).coef_, rb.load(other).coef_) == same


@pytest.mark.parametrize("options", [[], ["-a", "voted"], ["--holdout", "0.2"], ["-a", "passive", "--bits", "10"]])
def test_data_larger_than_memory_are_read_again_each_epoch(options, tmp_path, model, monkeypatch):
    path = svmlight(tmp_path / "data.svm", count=4000)
    monkeypatch.setattr("rosenblatt.data.streams.BATCH_BYTES", 1 << 14)
    monkeypatch.setattr(_examples, "MEMORY", 1 << 15)
    from rosenblatt.data import open_stream

    monkeypatch.setattr(
        "rosenblatt.cli._session.open_stream", lambda *a, **k: open_stream(*a, batch_bytes=1 << 14, **k)
    )
    monkeypatch.setattr(_examples.Examples.__init__, "__defaults__", (None, 1 << 15))
    facts = answer("train", path, "-m", model, "--epochs", 4, *options)
    assert {epoch["examples"] + epoch["held_out"] for epoch in facts["epochs"]} == {4000}
    if "--holdout" in options:
        assert 0.15 < facts["epochs"][0]["held_out"] / 4000 < 0.25
        assert facts["held_out_accuracy"] > 0.9
    assert answer("evaluate", model, path)["accuracy"] > 0.95


@pytest.mark.parametrize("order", ["sorted", "shuffled", "targets"])
def test_data_larger_than_memory_that_are_sorted_by_label_are_reported(order, tmp_path, model, monkeypatch):
    header, *lines = numbers(tmp_path / "data.csv", count=3000).read_text().splitlines()
    if order == "sorted":
        lines.sort(key=lambda line: line.rpartition(",")[2])
    (tmp_path / "data.csv").write_text("\n".join([header, *lines]) + "\n")
    from rosenblatt.data import open_stream

    monkeypatch.setattr(
        "rosenblatt.cli._session.open_stream", lambda *a, **k: open_stream(*a, batch_bytes=1 << 13, **k)
    )
    monkeypatch.setattr(_examples.Examples.__init__, "__defaults__", (None, 1 << 14))
    options = ["--regression", "--label", 0] if order == "targets" else []
    said = call("train", tmp_path / "data.csv", "-m", model, "--epochs", 2, *options).stderr
    assert said.count("seem to be sorted by their labels") == (order == "sorted")


def test_held_out_examples_are_never_learned(tmp_path, model):
    """Reversing their labels does not change the model."""
    path = numbers(tmp_path / "data.csv", count=400)
    with_them = answer("train", path, "-m", model, "--epochs", 1, "--holdout", 0.5)
    aside = held_out(0, 400, 0.5, 0)
    lines = path.read_text().splitlines()
    flipped = [
        line if n == 0 or not aside[n - 1] else re.sub("(no|yes)$", lambda m: {"no": "yes", "yes": "no"}[m[1]], line)
        for n, line in enumerate(lines)
    ]
    coef = rb.load(model).coef_
    path.write_text("\n".join(flipped) + "\n")
    without = answer("train", path, "-m", model, "--epochs", 1, "--holdout", 0.5)
    assert np.array_equal(rb.load(model).coef_, coef)
    assert with_them["held_out_accuracy"] + without["held_out_accuracy"] == pytest.approx(1.0)


def test_training_stops_after_an_epoch_without_mistakes(tmp_path, model):
    facts = answer(
        "train", svmlight(tmp_path / "data.svm"), "-m", model, "-a", "perceptron", "--epochs", 1000, "--set", "tol=none"
    )
    assert facts["stopped"] == "no mistakes"
    assert facts["epochs"][-1]["mistakes"] == 0
    assert rb.load(model).converged_
    again = ["train", tmp_path / "data.svm", "-m", model, "--epochs", len(facts["epochs"])]
    assert (
        answer(*again, "-a", "perceptron", "--set", "tol=none")["stopped"] == "no mistakes"
    )  # in the last epoch allowed
    assert rb.load(model).converged_
    finished = call(*again, "--resume", code=2).stderr
    assert "finished (no mistakes)" in finished
    assert "Raise it" not in finished


def test_training_stops_without_improvement(tmp_path, model):
    path = tmp_path / "coin.csv"
    rng = np.random.default_rng(0)
    path.write_text("x,label\n" + "".join(f"{rng.random():.3f},{rng.choice(['a', 'b'])}\n" for _ in range(300)))
    assert answer("train", path, "-m", model, "--epochs", 500)["stopped"] == "no improvement"


def test_real_mails_in_one_command(tmp_path, model):
    train, test = mails(tmp_path)
    facts = answer("train", train, "-m", model, "--label", "0", "--test", test)
    assert facts["test"]["accuracy"] > 0.96
    strongest = answer_inspect(model)
    words = {name for name, _ in strongest["spam"]}
    assert words & {"click", "money", "free", "offer", "http", "remove", "your", "mail", "email", "guaranteed"}


def answer_inspect(model):
    return json.loads(call("inspect", model, "--top", 40, "--json").stdout)["strongest"]


def test_standard_input(data, model):
    running = process("train", "-", "-m", model, "--json", stdin=subprocess.PIPE)
    output, errors = running.communicate(data.read_text(), timeout=120)
    assert running.returncode == 0, errors
    facts = json.loads(output)
    assert facts["examples"] == 300
    assert 0 < facts["epochs"][0]["held_out"] < 100
    assert len(facts["epochs"]) > 1


def test_class_weights(tmp_path, model):
    path = numbers(tmp_path / "data.csv")
    answer("train", path, "-m", model, "--set", "class_weight=balanced")
    assert answer("evaluate", model, path)["accuracy"] > 0.8


def test_columns_to_ignore(data, model):
    facts = answer("train", data, "-m", model, "--types", "colour=ignore,width=ignore")
    assert facts["features"] == 2
    assert list(rb.load(model).encoder_.columns) == ["height", "depth"]
    facts = answer(
        "train", data, "-m", model, "--types", "label=ignore,height=category"
    )  # the last column becomes the label
    assert sorted(facts["classes"]) == ["blue", "green", "red"]
    everything = ",".join(f"{name}=ignore" for name in ("height", "width", "depth", "colour", "label"))
    assert "besides the label" in call("train", data, "-m", model, "--types", everything, code=2).stderr


def test_the_report(data, model, tmp_path):
    page = tmp_path / "report.html"
    call("train", data, "-m", model, "--report", page, "-q")
    text = page.read_text()
    assert text.startswith("<!doctype html>")
    for heading in (
        "Training",
        "Accuracy",
        "Largest weights of each class",
        "Linear separability",
        "Data and parameters",
    ):
        assert heading in text
    assert "ROC" in text
    assert text.count("<svg") == 7
    assert not re.search(r"""(src|href)\s*=\s*["']https?:""", text)


def test_names_in_the_report_are_escaped(tmp_path, model):
    path = numbers(tmp_path / "data.csv", classes=("<b>", "a&b", "$x$", "plain"))
    page = tmp_path / "report.html"
    call("train", path, "-m", model, "--report", page, "-q", "--test", path)
    assert "<b>" not in page.read_text()
    assert "&lt;b&gt;" in page.read_text()


# ---- resuming ----


def test_an_interrupted_and_resumed_run_gives_the_same_model(tmp_path, monkeypatch):
    path = svmlight(tmp_path / "data.svm", count=1000)
    monkeypatch.setattr("rosenblatt.training.loop.PIECE", 100)
    options = ["--epochs", 4, "--set", "tol=none", "--holdout", "0.1"]
    whole, parts = tmp_path / "whole.model", tmp_path / "parts.model"
    answer("train", path, "-m", whole, *options)

    pieces = []
    original = _examples.Interrupt.__enter__

    def interrupted(self):
        asks = iter([False] * 12 + [True])
        type(self).asked = property(lambda _: pieces.append(1) or next(asks, True), lambda _, value: None)
        return original(self)

    monkeypatch.setattr(_examples.Interrupt, "__enter__", interrupted)
    result = call("train", path, "-m", parts, *options, code=130)
    assert "--resume" in result.stderr
    assert len(rb.load(parts).training_["run"]["done"]) == 1
    del _examples.Interrupt.asked
    monkeypatch.setattr(_examples.Interrupt, "__enter__", original)
    facts = answer("train", path, "-m", parts, "--resume")
    assert len(facts["epochs"]) == 4
    assert_same_model(rb.load(parts), rb.load(whole))
    assert rb.load(parts).mistakes_per_epoch_.tolist() == rb.load(whole).mistakes_per_epoch_.tolist()


def test_resume_with_more_epochs_and_with_new_data(tmp_path, model, data):
    call("train", data, "-m", model, "-q", "--epochs", 2, "--set", "tol=none")
    finished = call("train", data, "-m", model, "--resume", code=2)
    assert "Raise it" in finished.stderr
    assert len(answer("train", data, "-m", model, "--resume", "--epochs", 5)["epochs"]) == 5
    before = rb.load(model)
    more = numbers(tmp_path / "more.csv", seed=7, classes=("no", "yes", "maybe"))
    facts = answer("train", more, "-m", model, "--resume", "--epochs", 1)
    after = rb.load(model)
    assert facts["classes"] == ["no", "yes", "maybe"]
    assert after.examples_ == before.examples_ + 300


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["-a", "averaged"], "--algorithm must be that of the model"),
        (["--set", "C=3"], "--set cannot change the parameters of an existing model"),
        (["--bits", "12"], "--bits is part of the model"),
        (["--label", "height"], "--label is part of the model"),
        (["--one-based"], "--one-based is part of the model"),
        (["--zero-based"], "--zero-based is part of the model"),
        (["--seed", "0"], "--seed must be that of the run to resume, 3; got 0"),
        (["--shuffle"], "--shuffle must be that of the run to resume, False; got True"),
        (["--holdout", "0.2"], "--holdout must be that of the run to resume, 0.1; got 0.2"),
    ],
)
def test_resume_does_not_change_a_model(options, words, data, model):
    call("train", data, "-m", model, "-q", "--seed", 3, "--no-shuffle", "--holdout", 0.1, "--set", "tol=none")
    assert words in call("train", data, "-m", model, "--resume", "-e", 12, *options, code=2).stderr


def test_resume_with_the_options_of_the_run(data, model):
    options = "--seed", 3, "--no-shuffle", "--holdout", 0.1
    call("train", data, "-m", model, "-q", *options, "--epochs", 2, "--set", "tol=none")
    assert len(answer("train", data, "-m", model, "--resume", *options, "--epochs", 4)["epochs"]) == 4


def test_max_iter_means_epochs(data, model):
    assert len(answer("train", data, "-m", model, "--set", "max_iter=3", "--set", "tol=none")["epochs"]) == 3
    call("train", data, "-m", model, "--set", "max_iter=3", "--epochs", 3)
    for wrong in (["max_iter=3", "--epochs", 4], ["max_iter=0"], ["max_iter=many"]):
        assert "Give only --epochs" in call("train", data, "-m", model, "--set", *wrong, code=2).stderr


@pytest.mark.parametrize("weight", ["balance", 3])
def test_a_bad_class_weight_is_refused(weight, data, model):
    refused = call("train", data, "-m", model, "--set", f"class_weight={weight}", code=2)
    assert (
        f"must be balanced, None, or weights of at least 0 such as spam:5,ham:1; got {str(weight)!r}" in refused.stderr
    )


def test_a_real_interrupt_saves_the_model(tmp_path, model):
    path = svmlight(tmp_path / "data.svm", count=2000)
    running = process("train", path, "-m", model, "--epochs", 10_000_000, "--set", "tol=none", "-a", "passive")
    for line in running.stderr:
        if line.split()[:1] == ["3"]:
            break
    running.send_signal(signal.SIGINT)
    output, errors = running.communicate(timeout=60)
    assert running.returncode == 130, errors
    assert "--resume" in errors
    assert "interrupted" in output
    assert rb.load(model).mistakes_ > 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.model", "data.svm"]


@pytest.mark.parametrize(
    ("learner", "signal_sent"),
    [
        (["batch", "--set", "epsilon=1e-300"], signal.SIGINT),
        (["pocket"], signal.SIGINT),
        (["kernel", "--set", "tol=none"], signal.SIGINT),
        (["kernel", "--set", "tol=none"], signal.SIGTERM),
        (["kernel", "--set", "tol=none", "--set", "budget=20"], signal.SIGINT),
    ],
    ids=["batch", "pocket", "kernel", "kernel, terminated", "budget"],
)
def test_an_interrupt_of_a_learner_that_needs_the_whole_set(learner, signal_sent, tmp_path, model):
    path, rng = tmp_path / "noise.csv", random.Random(0)
    path.write_text("".join(f"{rng.gauss(0, 1)},{rng.gauss(0, 1)},{rng.choice('ab')}\n" for _ in range(2000)))
    call("train", path, "-m", tmp_path / "compiled.model", "--epochs", 1, "-a", *learner)
    result = call_interrupted(signal_sent, "train", path, "-m", model, "--epochs", 10_000_000, "-a", *learner)
    assert f"{model} holds the model learned so far" in result.stderr
    assert "cannot be resumed" in result.stderr
    assert "ended by: interrupted" in result.stdout
    assert rb.load(model).mistakes_ > 0


def test_an_interrupt_of_a_kernel_during_an_epoch(tmp_path, model, monkeypatch):
    path = numbers(tmp_path / "data.csv", count=1000)
    asks = iter([False, True])  # after the first block, the second, and from then on
    monkeypatch.setattr(
        _examples.Interrupt, "asked", property(lambda _: next(asks, True), lambda _, value: None), False
    )
    call("train", path, "-m", model, "-a", "kernel", "--set", "block_size=300", code=130)
    run = rb.load(model).training_["run"]
    assert (run["stopped"], run["done"], run["current"]["examples"]) == ("interrupted", [], 600)


def test_an_interrupt_while_waiting_for_standard_input(tmp_path, model):
    path = svmlight(tmp_path / "data.svm")
    running = process("train", "-", "--format", "svmlight", "-m", model, "--holdout", 0, stdin=subprocess.PIPE)
    running.stdin.write(path.read_text() + "+1 3:1 4:")  # the rest of the line is missing
    running.stdin.flush()
    wait_until_it_waits(running)
    running.send_signal(signal.SIGINT)
    running.wait(timeout=30)
    output, errors = running.communicate()
    assert running.returncode == 130, errors
    assert "holds the model learned so far" in errors
    assert "examples   300" in output
    assert rb.load(model).examples_ == 300


def test_an_interrupt_before_anything_is_learned(tmp_path, model):
    running = process("train", "-", "--format", "svmlight", "-m", model, "-a", "pocket", stdin=subprocess.PIPE)
    running.stdin.write("1 1:2\n-1 1:1\n")
    running.stdin.flush()
    wait_until_it_waits(running)
    running.send_signal(signal.SIGTERM)
    assert "before training began" in running.communicate(timeout=30)[1]
    assert running.returncode == 130
    assert not model.exists()


# ---- bad input ----


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["-a", "perzeptron"], "must be one of alma, arow, averaged-perceptron"),
        (["-a", "p"], "which could be"),
        (["--set", "C"], "--set takes NAME=VALUE"),
        (["--set", "nonsense=1"], "--set must name a parameter of PassiveAggressive"),
        (["--set", "C=-1"], "must be a number greater than 0; got -1"),
        (["--bits", "99"], "--bits must be between 1 and 30"),
        (["--bits", "0"], "--bits must be between 1 and 30"),
        (["--types", "height"], "--types takes COLUMN=TYPE"),
        (["--interactions", "height"], "--interactions takes A*B"),
        (["--label", "nowhere"], "nowhere"),
        (["--format", "excel"], "excel"),
        (["--epochs", "0"], "--epochs"),
        (["--holdout", "2"], "--holdout"),
        (["--resume"], "a.model"),
        (["--shards", "4"], "--shards needs --dask"),
        (["--mixing", "mistakes"], "--mixing needs --dask"),
        (["-a", "averaged", "--set", "on_zero=keep"], "on_zero"),
    ],
)
def test_wrong_usage(options, words, data, model):
    result = call("train", data, "-m", model, *options, code=2)
    assert words in result.stderr
    assert result.stdout == ""
    assert not model.exists()


def test_files_that_cannot_be_read(tmp_path, model):
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    heading = tmp_path / "heading.csv"
    heading.write_text("a,b,label\n")
    single = numbers(tmp_path / "single.csv", classes=("only",))
    for path in (empty, heading, single, tmp_path, tmp_path / "absent.csv", tmp_path / "no*match.csv"):
        result = call("train", path, "-m", model, code=2)
        assert result.stderr.startswith("rosenblatt: ") or "rosenblatt: " in result.stderr
        assert not model.exists()
    assert "only" in call("train", single, "-m", model, code=2).stderr


def test_a_text_column_as_the_label_is_refused(tmp_path, model):
    path = tmp_path / "mails.tsv"
    path.write_text("".join(f"{'spam' if n % 3 else 'ham'}\tmessage number {n} of many\n" for n in range(300)))
    result = call("train", path, "-m", model, code=2)
    assert "got 300 of them in 300 examples" in result.stderr
    assert "--label" in result.stderr
    assert not model.exists()
    call("train", path, "-m", model, "--label", "0", "-q")


def test_a_bad_line_is_named(tmp_path, model):
    path = svmlight(tmp_path / "data.svm", count=50)
    lines = path.read_text().splitlines()
    lines[30] = "+1 3:abc"
    path.write_text("\n".join(lines) + "\n")
    result = call("train", path, "-m", model, code=2)
    assert "data.svm" in result.stderr
    assert "line 31" in result.stderr
    assert not model.exists()


def test_no_permission(data):
    with unreadable(data) as path:
        result = call("train", path, "-m", path.with_name("a.model"), code=2)
    assert "no permission to read" in result.stderr
    assert str(path) in result.stderr


def test_files_that_cannot_be_written(data, tmp_path):
    for place in (tmp_path, tmp_path / "absent" / "a.model"):
        result = call("train", data, "-m", place, "-q", code=2)
        assert "cannot be written" in result.stderr
    if Path("/dev/full").exists():
        result = call("train", data, "-m", "/dev/full", "-q", code=1)
        assert "No space left on device" in result.stderr
        result = call("train", data, "-m", tmp_path / "a.model", "-q", "--report", "/dev/full", code=1)
        assert "No space left on device" in result.stderr


@pytest.mark.parametrize("test", ["absent.csv", "no*match.csv", "."])
def test_a_missing_test_file_is_found_before_training(test, data, model, tmp_path):
    assert str(tmp_path / test) in call("train", data, "-m", model, "--test", tmp_path / test, code=2).stderr
    assert not model.exists()


def test_an_unknown_label_in_the_test_file_is_named(data, model, tmp_path):
    test = numbers(tmp_path / "test.csv", seed=1, classes=("no", "yes", "maybe"))
    result = call("train", data, "-m", model, "--test", test)
    assert "'maybe' is not a class of the model ('no', 'yes')" in result.stderr
    assert "maybe" in result.stdout


def test_large_numbers_get_a_hint(tmp_path, model):
    path = tmp_path / "data.csv"
    path.write_text("salary,label\n" + "".join(f"{n * 1000},{'rich' if n > 50 else 'poor'}\n" for n in range(100)))
    assert "'salary'" in call("train", path, "-m", model, "--no-standardize").stderr
    assert "'salary'" not in call("train", path, "-m", model).stderr


@pytest.mark.parametrize("kind", ["svm", "csv"])
def test_commands_import_no_heavy_library(tmp_path, kind):
    path, model = tmp_path / f"data.{kind}", tmp_path / "a.model"
    if kind == "svm":
        svmlight(path)
    else:
        path.write_text("size,colour,label\n1,red,yes\n2,blue,no\n,red,yes\n")
    for command in (["train", path, "-m", model, "-q"], ["predict", model, path]):
        script = (
            "import sys\nfrom rosenblatt.cli import main\n"
            f"sys.argv = {['rosenblatt', *map(str, command)]!r}\n"
            "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code\n"
            "heavy = {'sklearn', 'pandas', 'scipy.linalg', 'scipy.sparse', 'matplotlib', 'rich.console'} & set(sys.modules)\n"
            "assert not heavy, heavy\n"
            "import pandas, scipy.linalg  # a program can still import them\n"
        )
        subprocess.run([sys.executable, "-c", script], check=True)


# ---- certificates and runs that continue ----


def test_a_cycle_is_proved_after_features_were_added(tmp_path, model):
    """An svmlight file adds features while it is read, so the model has room for more than it has."""
    path = tmp_path / "data.svm"
    path.write_text("1 1:1 2:1\n-1 1:1 2:0\n-1 2:1\n1 3:0\n")
    call("train", path, "-m", model, "-q", "-a", "perceptron", "--set", "tol=none", "--no-shuffle", "--epochs", 50)
    trained = rb.load(model)
    assert trained.certificate_.status == "inseparable"
    assert trained.training_["run"]["stopped"] == "cycle"
    refused = call("train", path, "-m", model, "--resume", "--epochs", 60, code=2)
    assert "finished (cycle)" in refused.stderr


def test_a_certificate_counts_only_its_own_run(tmp_path, model):
    rng = np.random.default_rng(0)

    def table(name, X, labels):
        lines = [f"{a:.3f},{b:.3f},{label}" for (a, b), label in zip(X, labels, strict=True)]
        (tmp_path / name).write_text("x,y,label\n" + "\n".join(lines) + "\n")
        return tmp_path / name

    noise = rng.normal(size=(200, 2)) * 5
    hard = table("hard.csv", noise, rng.choice(["a", "b", "c"], 200))
    easy = table("easy.csv", [[1, 0], [2, 0], [0, 1], [0, 2]], ["a", "a", "b", "d"])
    call("train", hard, "-m", model, "-q", "-a", "perceptron", "--label", "label", "--epochs", 2)
    call("train", easy, "-m", model, "-q", "--resume", "--epochs", 200)
    trained = rb.load(model)
    assert trained.certificate_.mistakes == trained.mistakes_per_epoch_.sum() < trained.mistakes_
    assert trained.certificate_.radius <= 3
    assert trained.certificate_.mistake_bound is None, "the starting weights changed with the fourth class"


def test_set_random_state_is_the_seed(tmp_path, data):
    models = {}
    for name, options in {"set": ["--set", "random_state=5"], "seed": ["--seed", 5], "zero": []}.items():
        call("train", data, "-m", tmp_path / name, "-q", "-a", "perceptron", *options)
        models[name] = rb.load(tmp_path / name).coef_
    assert np.array_equal(models["set"], models["seed"])
    assert not np.array_equal(models["set"], models["zero"])
    refused = call("train", data, "-m", tmp_path / "no", "--set", "random_state=5", "--seed", 3, code=2)
    assert "which means the same; got 3" in refused.stderr


def test_balanced_weights_ignore_rows_without_a_label(tmp_path):
    rows = [f"{a},{b},{label}" for a, b, label in [(1, 2, "u"), (2, 1, "u"), (-1, 1, "v"), (3, -2, "u")]]
    for name, lines in {"labelled": rows, "blank": [*rows, "5,5,", "6,6,"]}.items():
        path = tmp_path / f"{name}.csv"
        path.write_text("x,y,label\n" + "\n".join(lines) + "\n")
        call("train", path, "-m", tmp_path / name, "-q", "-a", "perceptron", "--label", "label", "--no-shuffle",
             "--set", "class_weight=balanced", "--epochs", 3, "--no-standardize")  # fmt: skip
    models = [rb.load(tmp_path / name) for name in ("labelled", "blank")]
    assert np.array_equal(models[0].coef_, models[1].coef_)
    assert models[0].loss_per_epoch_.tolist() == models[1].loss_per_epoch_.tolist()


def test_the_pocket_is_judged_on_the_examples_set_aside(tmp_path):
    rng = random.Random(0)
    rows = [[rng.gauss(0, 1) for _ in range(6)] for _ in range(300)]
    lines = [",".join([*(f"{x:.4f}" for x in row), "ab"[sum(row[:3]) + rng.gauss(0, 1.5) > 0]]) for row in rows]
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    facts = answer("train", tmp_path / "a.csv", "-m", tmp_path / "m", "-a", "pocket", "--holdout", 0.3, "-e", 12)
    from rosenblatt.cli._files import load_model, open_data
    from rosenblatt.training.evaluation import evaluate_stream
    from rosenblatt.training.schedule import held_out

    model = load_model(tmp_path / "m")
    stream = open_data([str(tmp_path / "a.csv")], model, labelled=True)
    found = evaluate_stream(model, stream, chosen=lambda first, count: held_out(first, count, 0.3, 0))
    assert found.examples == facts["held_out_examples"]
    assert found.accuracy == pytest.approx(facts["held_out_accuracy"])
    assert facts["best_epoch"] == 12


def test_the_help_names_the_default_learner():
    for command, default in (
        ("train", "passive-aggressive with averaged weights"),
        ("stream", "arow"),
        ("trace", "perceptron"),
    ):
        shown = " ".join(call(command, "--help").stdout.split())
        assert f"Default: {default}" in shown.replace("passive- aggressive", "passive-aggressive"), command
