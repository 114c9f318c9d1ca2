"""`rosenblatt compare`."""

import shlex

import pytest

import rosenblatt as rb
from tests.cli.helpers import answer, call, numbers


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "numbers.csv"
    numbers(path, 200)
    return path


def test_the_table(data):
    lines = call("compare", data, "--repeats", 2, "--only", "perceptron", "--only", "arow").stdout.splitlines()
    assert [line.split("  ")[0] for line in lines[1:]] != []
    assert {line.split("  ")[0] for line in lines[1:]} == {"Perceptron", "AROW", "AROW, full", "most frequent class"}
    assert "mistakes" in lines[0]


def test_json_and_order(data):
    facts = answer("compare", data, "--in-order", "--only", "pa", "--prefix", 0.2)
    assert (facts["repeats"], facts["shuffled"], facts["examples"], facts["scored"]) == (1, False, 200, 160)
    assert facts["standings"][0]["name"].startswith("PA")
    assert facts == facts | answer("compare", data, "--in-order", "--only", "pa", "--prefix", 0.2) | {
        "standings": facts["standings"]
    }, "everything except the times is repeatable"


def test_a_plot_in_a_missing_folder_is_refused(data, tmp_path):
    refused = call("compare", data, "--plot", tmp_path / "absent" / "plot.png", code=2)
    assert "there is no folder" in refused.stderr
    assert not refused.stdout


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_the_plot(data, tmp_path, ending):
    path = tmp_path / f"plot.{ending}"
    call("compare", data, "--repeats", 2, "--only", "perceptron", "--plot", path)
    assert path.stat().st_size > 1000


def test_bad_arguments_are_refused(data):
    assert "--only must begin the name" in call("compare", data, "--only", "nobody", code=2).stderr
    assert "--prefix must be between 0 and 1; got 2" in call("compare", data, "--prefix", 2, code=2).stderr
    assert "nowhere.csv: A file is needed" in call("compare", "nowhere.csv", code=2).stderr


def test_each_row_is_trained_by_its_command(data, tmp_path):
    """The command of a row gives a learner with the settings of the row."""
    options = ["--only", "arow", "--only", "pa-i", "--only", "scw", "--repeats", 2, "--label", "label"]
    facts = answer("compare", data, *options)
    commands = [(one["command"], one["chosen"]) for one in facts["standings"] if one["command"]]
    assert len(commands) >= 4
    shown = call("compare", data, *options).stderr
    for command, chosen in commands:
        assert command in shown
        words = shlex.split(command)
        model = tmp_path / "a.model"
        call(*[model if word == "best.model" else word for word in words[1:]])
        assert any(all(rb.load(model).get_params()[name] == value for name, value in one.items()) for one in chosen)
