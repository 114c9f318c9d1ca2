"""The options for columns of words: --words, --ngrams and --char-ngrams."""

import numpy as np
import pandas as pd
import pytest

import rosenblatt as rb
from tests.cli.helpers import call


def table(path, lines):
    path.write_text("\n".join([*lines, ""]))
    return path


def test_phrases_characters_and_tfidf_are_kept_in_the_model(tmp_path):
    rows = [f'"{("free money", "see you")[k % 2]} {k % 9}",{"ab"[k % 2]}' for k in range(60)]
    data = table(tmp_path / "texts.csv", ["text,label", *rows])
    model, streamed = tmp_path / "a.model", tmp_path / "b.model"
    options = ["--words", "tfidf", "--ngrams", "2", "--char-ngrams", "3-4", "--label", "label"]
    shown = call("train", data, "-m", model, "--epochs", "1", *options).stderr
    assert (
        "one feature per phrase of up to 2 words and one feature per sequence of 3 to 4 characters; tf-idf weights"
        in shown
    )
    found = rb.load(model)
    assert found.encoder_.find("free money") >= 0
    assert found.encoder_.find("~fre") >= 0
    assert int(found.encoder_.frequencies.documents[0]) == 60
    assert call("predict", model, data).stdout.split() == [row[-1] for row in rows]
    frame = pd.DataFrame({"text": [row.split('"')[1] for row in rows]})
    assert found.predict(frame).tolist() == [row[-1] for row in rows]
    refused = call("train", data, "-m", model, "--resume", "--ngrams", "3", code=2).stderr
    assert "--ngrams is part of the model" in refused

    whole = tmp_path / "whole.model"
    call("stream", data, "-m", whole, *options)
    one, two = (
        table(tmp_path / "one.csv", ["text,label", *rows[:23]]),
        table(tmp_path / "two.csv", ["text,label", *rows[23:]]),
    )
    call("stream", one, "-m", streamed, *options)
    call("stream", two, "-m", streamed)
    assert rb.load(streamed).encoder_.to_json() == rb.load(whole).encoder_.to_json()
    assert np.array_equal(rb.load(streamed).coef_, rb.load(whole).coef_)
    assert "--words is part" in call("stream", two, "-m", streamed, "--words", "log", code=2).stderr


@pytest.mark.parametrize(
    ("name", "value"), [("--ngrams", "2-1"), ("--ngrams", "x"), ("--char-ngrams", "0"), ("--ngrams", "11")]
)
def test_a_wrong_number_of_words_is_refused(tmp_path, name, value):
    message = call("train", "a.csv", "-m", tmp_path / "a.model", name, value, code=2).stderr
    assert "between 1 and 10, or two as in 2-3" in " ".join(message.split())


def test_compare_takes_the_options_of_words(tmp_path):
    rows = [f'"{("free money", "see you")[k % 2]} {k % 9}",{"ab"[k % 2]}' for k in range(60)]
    data = table(tmp_path / "texts.csv", ["text,label", *rows])
    shown = call(
        "compare",
        data,
        "--only",
        "perceptron",
        "--repeats",
        "1",
        "--ngrams",
        "2-3",
        "--char-ngrams",
        "3",
        "--words",
        "tfidf",
    )
    assert "--words tfidf" in shown.stderr
    assert "--ngrams 2-3 --char-ngrams 1-3" in shown.stderr


def test_tfidf_is_refused_on_a_cluster(tmp_path):
    data = table(tmp_path / "texts.csv", ["text,label", *["free money now,a", "see you soon,b"] * 9])
    message = call("train", data, "-m", tmp_path / "a.model", "--dask", "local", "--words", "tfidf", code=2).stderr
    assert "must be log or counts" in message
