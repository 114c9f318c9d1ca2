"""The other commands: predict, evaluate, inspect, stream, trace, certify, and their common behaviour."""

import json
import shutil
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, roc_auc_score

import rosenblatt as rb
from tests.cli.helpers import answer, call, numbers, process, svmlight, wait_until_it_waits

COMMANDS = ["train", "predict", "evaluate", "stream", "inspect", "trace", "certify", "demo"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    numbers(folder / "train.csv")
    numbers(folder / "test.csv", seed=1)
    numbers(folder / "many.csv", classes=("low", "middle", "high"))
    call("train", folder / "train.csv", "-m", folder / "two.model", "-q")
    call("train", folder / "many.csv", "-m", folder / "many.model", "-q")
    return folder


# ---- all commands ----


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command):
    text = call(command, "--help").stdout
    assert "For example:\n" in text
    assert f"    rosenblatt {command} " in text or f"| rosenblatt {command} " in text
    assert command in call("--help").stdout


def test_version():
    assert call("--version").stdout == f"rosenblatt {rb.__version__}\n"


def test_completion_of_algorithms():
    from rosenblatt.cli._options import _algorithms

    assert _algorithms("av") == ["averaged-perceptron"]
    assert "--install-completion" in call("--help").stdout


@pytest.mark.parametrize("command", ["predict", "evaluate", "inspect"])
def test_bad_model_files_are_refused(command, folder, tmp_path):
    data = [] if command == "inspect" else [folder / "test.csv"]
    cut, text, python = tmp_path / "cut", tmp_path / "text", tmp_path / "python"
    cut.write_bytes((folder / "two.model").read_bytes()[:-100])
    shutil.copy(folder / "train.csv", text)
    rb.Perceptron().fit([[0.0], [1.0]], [0, 1]).save(python)
    for path, words in (
        (cut, "damaged or incomplete"),
        (text, "is not a rosenblatt model"),
        (python, "saved from Python"),
        (tmp_path, "directory"),
        (tmp_path / "absent", "No such file"),
    ):
        result = call(command, path, *data, code=2)
        assert words in result.stderr
        assert result.stdout == ""


# ---- predict ----


@pytest.mark.parametrize("name", ["two", "many"])
def test_predictions_are_those_of_the_model(name, folder, tmp_path):
    model = rb.load(folder / f"{name}.model")
    from rosenblatt.data import open_stream

    batches = list(open_stream(str(folder / "test.csv"), encoder=model.encoder_, labelled=False))
    X = batches[0].table(model.n_features_in_).as_scipy()
    expected = model.predict(X).tolist()
    assert call("predict", folder / f"{name}.model", folder / "test.csv").stdout.split("\n")[:-1] == expected
    rows = [
        line.split("\t")
        for line in call("predict", folder / f"{name}.model", folder / "test.csv", "--scores").stdout.splitlines()
    ]
    assert [row[0] for row in rows] == expected
    scores = model.decision_function(X)
    assert np.allclose(
        np.array([[float(s) for s in row[1:]] for row in rows]), scores.reshape(len(rows), -1), rtol=1e-8
    )
    lines = [
        json.loads(line)
        for line in call(
            "predict", folder / f"{name}.model", folder / "test.csv", "--scores", "--json"
        ).stdout.splitlines()
    ]
    assert [line["label"] for line in lines] == expected
    assert set(lines[0]["scores"]) == ({"yes"} if name == "two" else {"low", "middle", "high"})


def test_predictions_are_written_to_a_file_completely_or_not_at_all(folder, tmp_path):
    place = tmp_path / "answers"
    assert call("predict", folder / "two.model", folder / "test.csv", "-o", place).stdout == ""
    assert len(place.read_text().splitlines()) == 300
    place.write_text("before")
    bad = tmp_path / "bad.csv"
    bad.write_text((folder / "test.csv").read_text() + "1,2,inf,red,no\n")
    call("predict", folder / "two.model", bad, "-o", place, code=2)
    assert place.read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answers", "bad.csv"]


@pytest.mark.parametrize(
    "command",
    [
        ["predict", "two.model", "test.csv", "-o"],
        ["evaluate", "two.model", "test.csv", "--roc"],
        ["stream", "train.csv", "-m"],
        ["trace", "train.csv", "-o"],
    ],
    ids=lambda command: command[0],
)
def test_a_missing_folder_is_named(command, folder, tmp_path):
    result = call(*(folder / word if "." in word else word for word in command), tmp_path / "absent" / "x", code=2)
    assert f"there is no folder {tmp_path / 'absent'}" in result.stderr
    assert result.stdout == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this device exists on Linux only")
@pytest.mark.parametrize(
    "command",
    [["predict", "two.model", "test.csv"], ["inspect", "two.model"], ["--version"], ["train", "--help"]],
    ids=str,
)
def test_a_full_standard_output_is_an_error(command, folder):
    with Path("/dev/full").open("w") as full:
        running = process(*command, cwd=folder, stdout=full)
        _, errors = running.communicate(timeout=60)
    assert (running.returncode, errors) == (1, "rosenblatt: No space left on device\n")


def test_predicting_needs_no_labels(folder, tmp_path):
    path = tmp_path / "new.csv"
    lines = (folder / "test.csv").read_text().splitlines()
    path.write_text("\n".join(line.rpartition(",")[0] for line in lines) + "\n")
    with_labels = call("predict", folder / "two.model", folder / "test.csv").stdout
    assert call("predict", folder / "two.model", path).stdout == with_labels


def test_a_closed_pipe_is_no_error(folder):
    running = process("predict", folder / "two.model", folder / "test.csv")
    running.stdout.readline()
    running.stdout.close()
    assert running.wait(60) in (0, 1)
    assert "Traceback" not in running.stderr.read()
    running.stderr.close()


# ---- evaluate ----


def test_evaluation_agrees_with_scikit_learn(folder):
    facts = answer("evaluate", folder / "two.model", folder / "test.csv")
    truth = [line.rpartition(",")[2] for line in (folder / "test.csv").read_text().splitlines()[1:]]
    rows = [
        line.split("\t")
        for line in call("predict", folder / "two.model", folder / "test.csv", "--scores").stdout.splitlines()
    ]
    guesses = [row[0] for row in rows]
    assert facts["labels"] == ["no", "yes"]
    assert facts["confusion"] == confusion_matrix(truth, guesses, labels=["no", "yes"]).tolist()
    assert facts["examples"] == 300
    assert facts["mistakes"] == sum(a != b for a, b in zip(truth, guesses, strict=True))
    assert facts["accuracy"] == 1 - facts["mistakes"] / 300
    assert facts["roc_auc"] == pytest.approx(
        roc_auc_score([label == "yes" for label in truth], [float(row[1]) for row in rows]), abs=1e-6
    )


def test_evaluation_of_many_classes(folder):
    facts = answer("evaluate", folder / "many.model", folder / "many.csv")
    assert "roc_auc" not in facts
    assert np.sum(facts["confusion"]) == 300
    assert "predicted" in call("evaluate", folder / "many.model", folder / "many.csv").stdout


def test_labels_that_occur_only_in_the_test_file(folder):
    result = call("evaluate", folder / "two.model", folder / "many.csv", "--json")
    facts = json.loads(result.stdout)
    assert facts["accuracy"] == 0.0
    assert facts["labels"][:2] == ["no", "yes"]
    assert set(facts["labels"][2:]) == {"low", "middle", "high"}
    assert "'low'" in result.stderr


def test_missing_columns_are_named(folder, tmp_path):
    path = tmp_path / "other.csv"
    path.write_text("a,label\n1,no\n2,yes\n")
    assert "height" in call("evaluate", folder / "two.model", path, code=2).stderr
    unlabelled = tmp_path / "unlabelled.csv"
    unlabelled.write_text("height,width,depth,colour\n1,2,3,red\n")
    call("evaluate", folder / "two.model", unlabelled, code=2)


def test_the_roc_curve(folder, tmp_path):
    place = tmp_path / "roc.png"
    call("evaluate", folder / "two.model", folder / "test.csv", "--roc", place)
    other = place.with_name("pr.svg")
    call("evaluate", folder / "two.model", folder / "test.csv", "--pr", other)
    assert "<svg" in other.read_text()
    assert place.read_bytes().startswith(b"\x89PNG")
    assert (
        "--roc needs two classes"
        in call("evaluate", folder / "many.model", folder / "many.csv", "--roc", place, code=2).stderr
    )


# ---- inspect ----


def test_inspect_shows_the_weights(folder):
    facts = json.loads(call("inspect", folder / "two.model", "--json", "--top", 2).stdout)
    model = rb.load(folder / "two.model")
    weights = dict(zip(model.encoder_.names(), model.coef_[0].tolist(), strict=True))
    top = sorted(weights.items(), key=lambda item: -item[1])[:2]
    assert facts["strongest"]["yes"] == [list(pair) for pair in top]
    assert facts["strongest"]["no"][0] == ["width", -weights["width"]]
    assert facts["algorithm"] == "PassiveAggressive"
    text = call("inspect", folder / "two.model").stdout
    assert "for yes" in text
    assert "colour=red" in text


def test_inspect_one_feature(folder):
    facts = json.loads(call("inspect", folder / "many.model", "--feature", "width", "--json").stdout)
    assert set(facts["weights"]["width"]) == {"low", "middle", "high"}
    assert "no feature 'weight'" in call("inspect", folder / "many.model", "--feature", "weight", code=2).stderr


def test_inspect_a_hashed_model(folder, tmp_path):
    model = tmp_path / "hashed.model"
    call("train", folder / "train.csv", "-m", model, "--bits", 8, "-q")
    assert "#" in call("inspect", model, "--top", 3).stdout


# ---- stream ----


def test_the_progress_table(folder):
    lines = call("stream", folder / "train.csv").stdout.splitlines()
    counts = [int(line.split()[0].replace(",", "")) for line in lines[1:]]
    assert counts == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300]


@pytest.mark.parametrize("algorithm", ["perceptron", "averaged", "voted", "passive"])
def test_a_stream_gives_the_model_of_learn_one(algorithm, folder, tmp_path):
    model, place = tmp_path / "s.model", tmp_path / "guesses"
    facts = answer("stream", folder / "many.csv", "-m", model, "-a", algorithm, "-o", place, "--no-standardize")
    learner = type(rb.load(model))()
    lines = [line.split(",") for line in (folder / "many.csv").read_text().splitlines()[1:]]
    guesses = []
    for *values, colour, label in lines:
        x = {**dict(zip(("height", "width", "depth"), map(float, values), strict=True)), f"colour={colour}": 1.0}
        guesses.append(learner.learn_one(x, label))
    truth = [line[-1] for line in lines]
    assert place.read_text().split("\n")[:-1] == ["" if guess is None else guess for guess in guesses]
    assert facts["mistakes"] == sum(guess != label for guess, label in zip(guesses, truth, strict=True))
    assert rb.load(model).classes_.tolist() == learner.classes_.tolist()
    assert rb.load(model).mistakes_ == learner.mistakes_


def test_a_stream_can_be_resumed(folder, tmp_path):
    whole, parts = tmp_path / "whole.model", tmp_path / "parts.model"
    lines = (folder / "train.csv").read_text().splitlines()
    for name, part in (("a", lines[1:120]), ("b", lines[120:])):
        (tmp_path / name).write_text("\n".join([lines[0], *part]) + "\n")
    call("stream", folder / "train.csv", "-m", whole, "-q", "-a", "passive")
    call("stream", tmp_path / "a", "--format", "csv", "-m", parts, "-q", "-a", "passive")
    call("stream", tmp_path / "b", "--format", "csv", "-m", parts, "-q")
    assert np.array_equal(rb.load(whole).coef_, rb.load(parts).coef_)
    assert (
        "--algorithm must be that of the model"
        in call("stream", tmp_path / "b", "-m", parts, "-a", "winnow", code=2).stderr
    )


def test_delayed_labels(folder):
    facts = answer("stream", folder / "train.csv", "--delay", 50)
    assert facts["examples"] == 300
    assert facts["mistakes"] >= 50  # nothing is learned before the first label arrives


def test_learners_without_learn_one_cannot_stream(folder):
    assert (
        "needs a learner that learns example by example"
        in call("stream", folder / "train.csv", "-a", "pocket", code=2).stderr
    )


def test_an_interrupted_stream_saves_its_model(tmp_path):
    model = tmp_path / "live.model"
    running = process("stream", "-", "--format", "svmlight", "-m", model, stdin=subprocess.PIPE)
    path = svmlight(tmp_path / "data.svm")
    running.stdin.write(path.read_text())
    running.stdin.flush()
    for line in running.stdout:
        if line.split()[0] == "128":
            break
    running.send_signal(signal.SIGINT)
    running.stdin.write(path.read_text())
    _, errors = running.communicate(timeout=60)
    assert running.returncode == 130, errors
    assert rb.load(model).examples_ >= 128


def test_an_interrupted_stream_does_not_wait_for_more_input(tmp_path):
    model = tmp_path / "live.model"
    running = process("stream", "-", "--format", "svmlight", "-m", model, stdin=subprocess.PIPE)
    running.stdin.write(svmlight(tmp_path / "data.svm").read_text())
    running.stdin.flush()
    for line in running.stdout:
        if line.split()[0] == "256":
            break
    wait_until_it_waits(running)
    running.send_signal(signal.SIGINT)
    running.wait(timeout=30)
    _, errors = running.communicate()
    assert running.returncode == 130, errors
    assert rb.load(model).examples_ == 300


# ---- trace and certify ----

POINTS = "x,z,label\n1,1,-1\n3,2,1\n2,4,1\n3,4,1\n2,3,-1\n"


@pytest.fixture
def points(tmp_path):
    path = tmp_path / "points.csv"
    path.write_text(POINTS)
    return path


def test_a_trace(points):
    text = call("trace", points, "--init=-1,0,0", "--on-zero", "positive").stdout
    run = rb.trace([[1, 1], [3, 2], [2, 4], [3, 4], [2, 3]], [-1, 1, 1, 1, -1], init=[-1, 0, 0], on_zero="positive")
    assert text == run.to_text() + "\n"


@pytest.mark.parametrize(
    ("form", "words"), [("markdown", "| step"), ("html", "<table"), ("json", '"steps"'), ("csv", "step,")]
)
def test_the_forms_of_a_trace(form, words, points, tmp_path):
    place = tmp_path / "steps"
    call("trace", points, "--to", form, "-o", place)
    assert words in place.read_text()


def test_svmlight_features_count_from_1_unless_0_occurs(tmp_path):
    path = tmp_path / "points.svm"
    path.write_text("1 1:2 2:3\n-1 1:-1 2:1\n")
    run = json.loads(call("trace", path, "--to", "json", "--init=-1,0,0").stdout)
    assert run["features"] == ["1", "x1", "x2"]
    assert run["steps"][0]["x"] == [1, 2, 3]
    run = json.loads(call("trace", path, "--to", "json", "--zero-based").stdout)
    assert run["features"] == ["1", "x0", "x1", "x2"]
    path.write_text("1 0:2 2:3\n-1 0:-1 2:1\n")
    assert json.loads(call("trace", path, "--to", "json").stdout)["features"] == ["1", "x0", "x1", "x2"]


def test_columns_without_a_header_and_the_bias_have_different_names(tmp_path):
    path = tmp_path / "points.csv"
    path.write_text("5,1,-1\n3,2,1\n2,4,1\n")
    text = call("trace", path, "--to", "csv", "--no-header").stdout
    assert "x:bias,x:0,x:1,correct" in text.splitlines()[0]


def test_a_trace_shows_the_names_of_categories(tmp_path):
    path = tmp_path / "colours.csv"
    path.write_text("size,colour,label\n1,red,x\n2,blue,y\n3,red,x\n")
    assert "x:1,x:size,x:colour=red,x:colour=blue" in call("trace", path, "--to", "csv").stdout


def test_a_trace_of_another_algorithm(points):
    assert "passive-aggressive" in call("trace", points, "-a", "passive", "--set", "C=0.5").stdout
    assert "--init takes numbers" in call("trace", points, "--init", "a,b", code=2).stderr


def test_certificates(points, tmp_path):
    facts = json.loads(call("certify", points, "--json").stdout)
    assert facts["status"] == "separable"
    assert facts["verified"]
    assert facts["margin"][0] > 0
    assert "separable" in call("certify", points).stdout
    path = tmp_path / "xor.csv"
    path.write_text("x,z,label\n1,1,a\n-1,-1,a\n1,-1,b\n-1,1,b\n")
    facts = json.loads(call("certify", path, "--json").stdout)
    assert (facts["status"], facts["verified"], facts["mistake_bound"]) == ("inseparable", True, None)
