"""Taggers on the command line, in a process of their own where signals or standard input matter."""

import gzip
import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

import rosenblatt
from rosenblatt.cli import _sequences, app

from .problems import assert_same_bits

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
        (["--positive", "A"], "--positive"),
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


UNIVERSAL = """# newdoc
# sent_id = 1
# text = He doesn't sleep .
1\tHe\the\tPRON\tPRP\t_\t3\tnsubj\t_\t_
2-3\tdoesn't\t_\t_\t_\t_\t_\t_\t_\t_
2\tdoes\tdo\tAUX\tVBZ\t_\t3\taux\t_\t_
3\tn't\tnot\tPART\tRB\t_\t3\tadvmod\t_\t_
3.1\tghost\t_\tVERB\t_\t_\t_\t_\t_\t_

# newpar
# text = New York sleeps
1\tNew York\t_\tPROPN\tNNP\t_\t2\tnsubj\t_\t_
2\tsleeps\t_\tVERB\tVBZ\t_\t0\troot\t_\t_
"""


def test_files_of_universal_dependencies(data):
    (data / "ud.conllu").write_text(UNIVERSAL)
    (data / "comments.conll").write_text("# sent_id = 1\na\tX\n\n# three words here\n#tag\tY\n")
    facts = json.loads(run("train", "ud.conllu", "-m", "m", "-f", "conll", "--json").stdout)
    assert (facts["examples"], facts["tokens"], facts["classes"]) == (2, 5, ["PRON", "AUX", "PART", "PROPN", "VERB"])
    assert json.loads(run("evaluate", "m", "ud.conllu", "--json").stdout)["accuracy"] == 1.0
    assert run("tag", "m", "ud.conllu", "-f", "conll").stdout.startswith("He\tPRON\ndoes\tAUX\nn't\tPART\n\nNew York\t")
    run("train", "ud.conllu", "-m", "x", "-f", "conll", "-q", "--label", "XPOS", "-e", 4)
    assert rosenblatt.load("x").classes_.tolist() == ["PRP", "VBZ", "RB", "NNP"]
    assert json.loads(run("evaluate", "x", "ud.conllu", "--json").stdout)["accuracy"] == 1.0
    assert (
        "part of the model" in run("train", "ud.conllu", "-m", "x", "-f", "conll", "--resume", "-l", "1", code=2).stderr
    )
    assert "from 0 to 9" in run("train", "ud.conllu", "-m", "x", "-f", "conll", "-l", "11", code=2).stderr
    found = json.loads(run("train", "comments.conll", "-m", "m", "-f", "conll", "--json").stdout)
    assert (found["examples"], found["classes"]) == (2, ["X", "Y"])


def test_the_tag_can_be_in_any_column(data):
    facts = json.loads(run("train", "train.conll", "-m", "m", "-f", "conll", "--label", "1", "--json").stdout)
    assert "VBZ" in facts["classes"]
    assert json.loads(run("evaluate", "m", "train.conll", "--json").stdout)["accuracy"] == 1.0
    assert "from 0 to 2" in run("train", "train.conll", "-m", "m", "-f", "conll", "--label", "tag", code=2).stderr


def test_a_misspelled_column_is_named(data):
    wrong = run("train", "words.conll", "-m", "m", "-f", "conll", "--set", "templates=wrod[-1]", code=2)
    assert "`wrod`" in wrong.stderr
    run("train", "words.conll", "-m", "m", "-f", "conll", "-q", "--set", "templates=word[-1]")


def test_files_larger_than_memory(data, monkeypatch):
    (data / "big.conll").write_text(TRAIN * 4 + TRAIN.replace("B-NP", "O") * 3)
    options = ("big.conll", "-f", "conll", "-e", "4")
    whole = json.loads(run("train", *options, "-m", "all", "--no-shuffle", "--json").stdout)
    monkeypatch.setattr(_sequences, "MOST", 10)
    parts = json.loads(run("train", *options, "-m", "m", "--no-shuffle", "--json").stdout)
    assert [(e["examples"], e["mistakes"], e["loss"]) for e in whole["epochs"]] == [
        (e["examples"], e["mistakes"], e["loss"]) for e in parts["epochs"]
    ]
    assert (parts["examples"], parts["tokens"]) == (14, 49)
    one, other = rosenblatt.load("all"), rosenblatt.load("m")
    assert_same_bits(one, other)
    assert str(one.certificate_) == str(other.certificate_)
    run("train", *options, "-m", "shuffled", "-q")
    run("train", "big.conll", "-f", "conll", "-e", "2", "-m", "m", "-q")
    run("train", *options, "-m", "m", "--resume", "-q")
    assert_same_bits(rosenblatt.load("shuffled"), rosenblatt.load("m"))


def test_streams_of_sentences(data):
    (data / "big.conll").write_text(TRAIN * 8)
    out = run("stream", "big.conll", "-f", "conll", "-m", "m", "-o", "out").stdout.splitlines()
    assert [line.split()[0] for line in out] == ["sentences", "1", "2", "4", "8", "16"]
    facts = json.loads(run("stream", "big.conll", "-f", "conll", "--json").stdout)
    X = [[tuple(line.split()[:2]) for line in part.splitlines()] for part in TRAIN.split("\n\n")[1:]] * 8
    y = [[line.split()[2] for line in part.splitlines()] for part in TRAIN.split("\n\n")[1:]] * 8
    model = rosenblatt.SequencePerceptron(templates="words+pos", columns=["word", "pos"])
    guesses = [model.learn_one(*pair) or [None] * len(pair[1]) for pair in zip(X, y, strict=True)]
    wrong = sum(a != b for tags, guess in zip(y, guesses, strict=True) for a, b in zip(tags, guess, strict=True))
    assert (facts["sentences"], facts["tokens"], facts["mistakes"]) == (16, 56, wrong)
    assert sorted(rosenblatt.load("m").state_features()) == sorted(model.state_features())
    lines = (data / "out").read_text().splitlines()
    assert [line.split("\t")[2] for line in lines if line] == [tag or "" for tags in guesses for tag in tags]
    run("stream", "big.conll", "-f", "conll", "-m", "m", "-q")
    assert rosenblatt.load("m").mistakes_ >= model.mistakes_
    assert "part of the model" in run("stream", "big.conll", "-f", "conll", "-m", "m", "--bits", "4", code=2).stderr
    assert "--delay" in run("stream", "big.conll", "-f", "conll", "--delay", "4", code=2).stderr
    (data / "empty").write_text("\n")
    assert "no sentence" in run("stream", "empty", "-f", "conll", code=2).stderr


def test_the_trace_of_a_file_of_sentences(data):
    (data / "small.conll").write_text("the DET\ndog NOUN\n\na DET\ndog NOUN\nbarks VERB\n\nthe DET\nbarks VERB\n")
    out = run("trace", "small.conll", "-f", "conll", "--set", "templates=word").stdout
    model = rosenblatt.SequencePerceptron(templates=["word"], readout="last")
    model.partial_fit([["the", "dog"], ["a", "dog", "barks"]], [["DET", "NOUN"], ["DET", "NOUN", "VERB"]])
    last = model.trace(["the", "barks"], ["DET", "VERB"])
    assert out.endswith(f"Sentence 3\n\n{last.to_text()}\n\n")
    out = run("trace", "small.conll", "-f", "conll", "-t", "markdown", "-e", "2").stdout
    assert "## Sentence 3, epoch 2\n\n| token |" in out
    assert "text or markdown" in run("trace", "small.conll", "-f", "conll", "-t", "csv", code=2).stderr


def test_hashed_features_have_bounded_memory(data):
    run("train", "train.conll", "-m", "m", "-f", "conll", "-q", "--bits", "6")
    model = rosenblatt.load("m")
    assert model.n_features_ <= 64
    assert len(model._chain.vocabulary) == 1
    assert json.loads(run("evaluate", "m", "train.conll", "--json").stdout)["accuracy"] > 0.9
    assert "  #" in run("inspect", "m").stdout
    assert "bits" in run("train", "train.conll", "-m", "m", "-f", "conll", "--bits", "40", code=2).stderr
