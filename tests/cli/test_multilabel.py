"""`train --multilabel`: examples with several labels."""

import csv
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, f1_score, hamming_loss

import rosenblatt as rb
from tests.cli.helpers import answer, call, process

WORDS = {"sport": ["ball", "goal"], "news": ["vote", "law"], "music": ["song", "band"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Articles with a text and a list of topics, as JSON lines and as CSV."""
    place, rng = tmp_path_factory.mktemp("labels"), np.random.default_rng(0)
    rows = []
    for n in range(400):
        topics = [topic for topic in WORDS if rng.random() < 0.4]
        words = [rng.choice(WORDS[topic]) for topic in topics] + rng.choice(["the", "a", "of"], 3).tolist()
        rows.append(
            {"id": f"a{n}", "text": " ".join(rng.permutation(words)), "length": float(rng.normal()), "topics": topics}
        )
    for name, part in (("train", rows[:300]), ("test", rows[300:])):
        (place / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in part))
        with (place / f"{name}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["id", "text", "length", "topics"])
            writer.writerows([row["id"], row["text"], row["length"], " | ".join(row["topics"])] for row in part)
    call("train", place / "train.jsonl", "-m", place / "a.model", "--label", "topics", "--multilabel")
    return place


def truth(folder):
    rows = [json.loads(line) for line in (folder / "test.jsonl").read_text().splitlines()]
    return np.array([[topic in row["topics"] for topic in sorted(WORDS)] for row in rows]).astype(int)


def test_a_list_names_the_option(folder):
    message = call("train", folder / "train.jsonl", "-m", folder / "no.model", "--label", "topics", code=2).stderr
    assert "give --multilabel" in message


def test_lists_of_labels_are_learned_and_measured(folder):
    facts = answer("evaluate", folder / "a.model", folder / "test.jsonl")
    lines = call("predict", folder / "a.model", folder / "test.jsonl", "--json").stdout.splitlines()
    guess = np.array([[topic in json.loads(line)["labels"] for topic in sorted(WORDS)] for line in lines]).astype(int)
    real = truth(folder)
    assert facts["subset_accuracy"] == pytest.approx(accuracy_score(real, guess))
    assert facts["hamming_loss"] == pytest.approx(hamming_loss(real, guess))
    assert facts["micro_f1"] == pytest.approx(f1_score(real, guess, average="micro"))
    assert facts["macro_f1"] == pytest.approx(f1_score(real, guess, average="macro"))
    assert facts["subset_accuracy"] > 0.9
    assert [one["label"] for one in facts["per_label"]] == sorted(WORDS)
    shown = call("evaluate", folder / "a.model", folder / "test.jsonl").stdout
    assert "Hamming loss" in shown
    assert "sport" in shown


def test_a_separator_gives_the_same_model(folder):
    options = ["--label", "topics", "--multilabel", "--separator", "|"]
    facts = answer("train", folder / "train.csv", "-m", folder / "b.model", *options, "--test", folder / "test.csv")
    assert facts["labels"] == sorted(WORDS)
    assert facts["held_out"]["subset_accuracy"] > 0.9
    ours = call("predict", folder / "b.model", folder / "test.csv").stdout.splitlines()
    theirs = [
        json.loads(line)
        for line in call("predict", folder / "a.model", folder / "test.jsonl", "--json").stdout.splitlines()
    ]
    assert [sorted(filter(None, line.strip('"').split("|"))) for line in ours] == [row["labels"] for row in theirs]
    assert facts["test"]["micro_f1"] == answer("evaluate", folder / "b.model", folder / "test.csv")["micro_f1"]


def test_python_gives_the_scores_of_the_command_bit_for_bit(folder):
    model = rb.load(folder / "a.model")
    frame = pd.read_json(folder / "test.jsonl", lines=True, precise_float=True)
    lines = [
        json.loads(line)
        for line in call("predict", folder / "a.model", folder / "test.jsonl", "--json", "-s").stdout.splitlines()
    ]
    scores = np.array([[line[f"score of {topic}"] for topic in sorted(WORDS)] for line in lines])
    assert np.array_equal(model.decision_function(frame), scores)
    assert [list(labels) for labels in model.predict(frame)] == [line["labels"] for line in lines]


def test_options_of_one_label_are_refused(folder):
    train = ["train", folder / "train.jsonl", "-m", folder / "no.model", "--label", "topics", "--multilabel"]
    for option in (["--regression"], ["--dask", "local"], ["--cv", 3], ["--positive", "news"]):
        assert "several labels" in call(*train, *option, code=2).stderr
    for option in (["--top", 2], ["--explain", 2], ["--threshold", 0.5]):
        assert "several labels" in call("predict", folder / "a.model", folder / "test.jsonl", *option, code=2).stderr
    assert "give --multilabel" in call(*train[:-1], "--separator", "|", code=2).stderr.lower()
    (folder / "bad.jsonl").write_text('{"text": "a", "topics": ["a,b"]}\n')
    message = call(
        "train", folder / "bad.jsonl", "-m", folder / "no.model", "--label", "topics", "--multilabel", code=2
    ).stderr
    assert "must not contain the separator ','; got 'a,b'" in message
    (folder / "a.svm").write_text("1 0:1\n0 1:1\n")
    assert "got svmlight" in call("train", folder / "a.svm", "-m", folder / "no.model", "--multilabel", code=2).stderr


def test_a_process_without_scikit_learn_trains_and_shows_a_model(folder):
    """The command line learns without importing scikit-learn, whose base classes the estimators then lack."""
    place = folder / "c.model"
    for arguments in (
        ["train", folder / "train.jsonl", "-m", place, "--label", "topics", "--multilabel", "-q"],
        ["inspect", place, "--json", "--top", 2],
    ):
        running = process(*arguments)
        shown, errors = running.communicate(timeout=120)
        assert (running.returncode, errors) == (0, "")
    facts = json.loads(shown)
    assert facts["algorithm"] == "MultiLabel of PassiveAggressive"
    assert facts["labels"] == sorted(facts["strongest"]) == sorted(WORDS)
    assert {name for name, _ in facts["strongest"]["sport"]} == {"text:ball", "text:goal"}
    assert facts["examples"] == facts["runs"][0]["examples"] == 300
    text = call("inspect", place, "--feature", "text:ball").stdout
    assert "labels      music, news, sport" in text
    message = call("export", place, "--to", "c", code=2).stderr
    assert "predicts one label" in message


def test_records_probabilities_and_reasons(folder):
    model = rb.load(folder / "a.model")
    rows = [json.loads(line) for line in (folder / "test.jsonl").read_text().splitlines()]
    assert [model.predict_one(row) for row in rows[:20]] == model.predict(rows[:20])
    odds, real = model.predict_proba(rows), truth(folder)
    assert -np.log(np.where(real == 1, odds, 1.0 - odds)).mean() < 0.3
    assert list(model.predict_proba_one(rows[0]).items()) == list(zip(sorted(WORDS), odds[0].tolist(), strict=True))
    found = model.explain(rows[0], "news")
    assert (found.label, found.score) == ("news", model.decision_function(rows[:1])[0, 1])
    assert model.explain(rows[0]).score == model.decision_function(rows[:1]).max()
    with pytest.raises(ValueError, match="one of the labels"):
        model.explain(rows[0], "weather")


def test_a_loaded_model_learns_records(folder):
    together, single = (rb.load(folder / "a.model") for _ in range(2))
    rows = [json.loads(line) | {"text": "chess"} for line in (folder / "test.jsonl").read_text().splitlines()][:30]
    labels = [["games", *row["topics"]] for row in rows]
    together.partial_fit(rows, labels)
    for row, wanted in zip(rows, labels, strict=True):
        single.learn_one(row, wanted)
    assert np.array_equal(together.decision_function(rows), single.decision_function(rows))
    assert "games" in together.predict_one({"text": "chess"})
    assert together.predict_proba(rows).shape == (30, 4)
