"""Taggers on the command line, in a process of their own where signals or standard input matter."""

import gzip
import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

import rosenblatt
from rosenblatt.cli import app

TRAIN = """-DOCSTART- -X- O

He PRP B-NP
reckons VBZ B-VP
the DT B-NP
deficit NN I-NP

Shares NNS B-NP
fell VBD B-VP
. . O
"""


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.conll").write_text(TRAIN * 3)
    (tmp_path / "words.conll").write_text("He\tPRON\nsleeps\tVERB\n\nthe\tDET\nNew York\tNOUN\n")
    return tmp_path


def run(*arguments, code=0):
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert result.exit_code == code, result.output
    return result


def piped(text, *arguments):
    command = [sys.executable, "-m", "rosenblatt.cli", *arguments]
    return subprocess.run(command, input=text, check=True, capture_output=True, text=True).stdout


def test_train_tag_evaluate_and_inspect(data):
    out = run("train", "train.conll", "-m", "m", "--format", "conll", "--test", "train.conll", "-e", "5")
    assert "sentences  6, 21 tokens" in out.stdout
    assert "overall" in out.stdout
    facts = json.loads(run("evaluate", "m", "train.conll", "--json").stdout)
    assert facts["accuracy"] == facts["chunks"]["f1"] == 1.0
    assert facts["tokens"] == 21
    assert facts["types"]["NP"]["true"] == 9
    assert "F1" in run("evaluate", "m", "train.conll").stdout
    tagged = run("tag", "m", "train.conll").stdout
    sentences = TRAIN.replace("-DOCSTART- -X- O\n\n", "") + "\n"
    assert tagged == sentences.replace(" ", "\t") * 3
    shown = run("inspect", "m", "--top", 2).stdout
    assert "for B-NP" in shown
    assert "after" in shown
    strongest = json.loads(run("inspect", "m", "--json", "--top", 3).stdout)["strongest"]
    assert strongest["I-NP"][0][1] > 0


def test_the_command_line_gives_the_bits_of_fit(data):
    run("train", "train.conll", "-m", "m", "-f", "conll", "--seed", 3, "-a", "passive", "-e", 4, "-q")
    model = rosenblatt.load("m")
    X = [[tuple(line.split()[:2]) for line in part.splitlines()] for part in TRAIN.split("\n\n")[1:]] * 3
    y = [[line.split()[2] for line in part.splitlines()] for part in TRAIN.split("\n\n")[1:]] * 3
    fitted = rosenblatt.SequencePerceptron(
        templates="words+pos", columns=["word", "pos"], rule="passive-aggressive", random_state=3, max_iter=4
    ).fit(X, y)
    assert sorted(model.state_features()) == sorted(fitted.state_features())
    assert (model.transitions_ == fitted.transitions_).all()


def test_words_in_tokens_plain_text_and_columns(data):
    run("train", "words.conll", "-m", "m", "-f", "conll", "-q")
    assert piped("He sleeps\n\nthe New\n", "tag", "m", "-").count("\n\n") == 2
    lines = piped("He sleeps, well-known.\n", "tag", "m", "-", "--format", "plain", "--json")
    assert json.loads(lines)["tokens"] == ["He", "sleeps", ",", "well-known", "."]
    assert "New York\tNOUN\n" in run("tag", "m", "words.conll", "--format", "conll").stdout
    with gzip.open("text.gz", "wt") as file:
        file.write("He sleeps\n")
    run("tag", "m", "text.gz", "-o", "out")
    assert (data / "out").read_text() == "He\tPRON\nsleeps\tVERB\n\n"


def test_templates_are_set_by_name_or_one_by_one(data):
    run("train", "train.conll", "-m", "m", "-f", "conll", "-q", "--set", "templates=suffix2(word),pos[-1]|pos[0]")
    names = {name.partition("=")[0] for name, _, _ in rosenblatt.load("m").state_features()}
    assert names == {"suffix2(word)", "pos[-1]|pos[0]"}
    assert "suffixes" in run("train", "train.conll", "-m", "m", "-f", "conll", "--set", "help").stdout


def test_more_epochs_and_new_data_with_resume(data):
    conll = ("-f", "conll", "-q")
    (data / "train.conll").write_text(TRAIN + TRAIN.replace("B-NP", "O"))
    run("train", "train.conll", "-m", "all", *conll, "-e", 6, "--set", "rule=passive-aggressive")
    run("train", "train.conll", "-m", "m", *conll, "-e", 2, "--set", "rule=passive-aggressive")
    run("train", "train.conll", "-m", "m", *conll, "-e", 6, "--resume")
    one, other = rosenblatt.load("m"), rosenblatt.load("all")
    assert sorted(one.state_features()) == sorted(other.state_features())
    assert one.mistakes_ == other.mistakes_
    assert "finished" in run("train", "train.conll", "-m", "m", *conll, "-e", 6, "--resume", code=2).stderr
    (data / "new.conll").write_text("Oil NN X-NEW\n")
    run("train", "new.conll", "-m", "m", *conll, "--resume")
    assert "X-NEW" in rosenblatt.load("m").classes_.tolist()


@pytest.mark.slow
def test_an_interrupted_run_goes_on_where_it_stopped(data):
    (data / "big.conll").write_text((TRAIN + TRAIN.replace("B-NP", "O")) * 1500)
    arguments = [sys.executable, "-m", "rosenblatt.cli", "train", "big.conll", "-f", "conll", "-m"]
    more = ["--set", "rule=passive-aggressive", "--set", "C=0.001", "-e"]
    command = subprocess.Popen([*arguments, "m", *more, "100000"], stderr=subprocess.PIPE, text=True)
    for _ in range(3):
        command.stderr.readline()
    command.send_signal(2)
    assert "--resume" in command.communicate(timeout=60)[1]
    assert command.returncode == 130
    done = rosenblatt.load("m").training_["run"]
    epochs = len(done["done"]) + 1
    assert done["stopped"] == "interrupted"
    subprocess.run([*arguments, "m", "--resume", "-e", str(epochs)], check=True, capture_output=True)
    subprocess.run([*arguments, "all", *more, str(epochs)], check=True, capture_output=True)
    one, other = rosenblatt.load("m"), rosenblatt.load("all")
    assert one.n_iter_ == other.n_iter_ == epochs
    assert sorted(one.state_features()) == sorted(other.state_features())


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a X\nb\n", "line 2"),
        ("a X\n\nb Y Z\n", "line 3"),
        ("a\tX\nb\t\n", "line 2"),
        ("a X\n\\xff Y\n", "line 2"),
        ("\n\n", "no sentence"),
        ("a\n", "two columns"),
    ],
)
def test_broken_columns_are_named(data, text, place):
    (data / "bad.conll").write_bytes(text.encode().replace(b"\\xff", b"\xff"))
    error = run("train", "bad.conll", "-m", "m", "-f", "conll", code=2).stderr
    assert "bad.conll" in error
    assert place in error
    assert not (data / "m").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--holdout", "0.1"], "--holdout"),
        (["--bits", "10"], "--bits"),
        (["-a", "winnow"], "averaged-perceptron"),
        (["--set", "templates=word[0],sufix(word)"], "sufix(word)"),
        (["--set", "templates=lemma[0]"], "lemma"),
        (["--set", "nothing=1"], "nothing"),
        (["--set", "templates=none"], "templates"),
        (["--test", "missing.conll"], "missing.conll"),
    ],
)
def test_options_without_a_meaning_are_refused(data, arguments, words):
    assert words in run("train", "train.conll", "-m", "m", "-f", "conll", *arguments, code=2).stderr
    assert not (data / "m").exists()


def test_a_model_of_the_other_kind_is_refused(data):
    run("train", "train.conll", "-m", "tagger", "-f", "conll", "-q")
    (data / "rows.csv").write_text("a,label\n1,x\n2,y\n")
    run("train", "rows.csv", "-m", "rows", "-q")
    assert "tagger" in run("predict", "tagger", "rows.csv", code=2).stderr
    assert "--format conll" in run("tag", "rows", "rows.csv", code=2).stderr
    assert "--format conll" in run("tag", "tagger", "-", "--format", "tokens", code=2).stderr
    (data / "two.conll").write_text("a X\n")
    assert "3 columns" in run("evaluate", "tagger", "two.conll", code=2).stderr
    assert (
        "--set is part"
        in run("train", "train.conll", "-m", "tagger", "-f", "conll", "--resume", "--set", "C=2", code=2).stderr
    )
