"""Choosing a learner, cross-validation, the latest examples, and weights of classes in `train`."""

import random
import shlex

import numpy as np
import pytest

import rosenblatt as rb
from rosenblatt.cli import _choice
from rosenblatt.data import read
from rosenblatt.training.schedule import fold_of, held_out
from tests.cli.helpers import answer, call


def table(path, count=300, noise=0.1, seed=0, rows=None):
    rng = random.Random(seed)
    lines = []
    for n in range(count):
        x, z = rng.gauss(0, 1), rng.gauss(0, 1)
        label = "yes" if (x + z > 0.5) != (rng.random() < noise) else "no"
        lines.append(f"{x:.4f},{z:.4f},{n},{1 + n % 28}.{1 + (n * 7) % 12}.{2000 + n % 9},{label}")
    lines = lines if rows is None else rows(lines)
    path.write_text("x,z,step,day,label\n" + "\n".join(lines) + "\n")
    return path


@pytest.fixture
def path(tmp_path):
    return table(tmp_path / "a.csv")


@pytest.fixture
def model(tmp_path):
    return tmp_path / "a.model"


# ---- auto ----


def test_auto_takes_the_best_of_the_comparison(path, model):
    facts = answer("train", path, "-m", model, "--algorithm", "auto")
    chosen = facts["chosen"]
    assert chosen["mistakes"] == min([chosen["mistakes"], *(share for _, share in chosen["others"])])
    assert len(chosen["others"]) > 10
    loaded = rb.load(model)
    assert type(loaded).__name__ == chosen["learner"] == facts["algorithm"]
    assert chosen["settings"].items() <= loaded.get_params().items()
    shown = call("train", path, "-m", model, "--algorithm", "auto").stderr
    line = next(line for line in shown.splitlines() if line.startswith("chosen"))
    other = model.with_name("b.model")
    call("train", path, "-m", other, *shlex.split(line.removeprefix("chosen")))
    assert np.array_equal(rb.load(other).coef_, loaded.coef_), "the options that are shown give the same model"


def test_auto_does_not_see_the_examples_that_are_set_aside(path, tmp_path):
    """Changed labels of the examples set aside change nothing in the choice."""
    out = held_out(0, 300, 0.1, 0)
    flip = {"yes": "no", "no": "yes"}

    def changed(lines):
        parts = [line.rpartition(",") for line in lines]
        return [f"{a},{flip[c] if held else c}" for (a, _, c), held in zip(parts, out, strict=True)]

    other = table(tmp_path / "b.csv", rows=changed)
    found = [answer("train", one, "-m", tmp_path / "m", "--algorithm", "auto")["chosen"] for one in (path, other)]
    assert found[0] == found[1]
    assert found[0]["examples"] == int((~out).sum())


def test_auto_compares_on_a_part_of_many_examples(path, model, monkeypatch):
    monkeypatch.setattr(_choice, "MOST", 50)
    assert answer("train", path, "-m", model, "--algorithm", "auto")["chosen"]["examples"] == 50


@pytest.mark.parametrize("options", [["--set", "C=1"], ["--resume"], ["--dask", "local"], ["--regression"]])
def test_auto_refuses_what_it_cannot_choose(path, model, options):
    call("train", path, "-m", model, "--epochs", 1)
    call("train", path, "-m", model, "--algorithm", "auto", *options, code=2)


def test_auto_needs_a_file(model):
    assert "Save it to a file" in call("train", "-", "-m", model, "-a", "auto", code=2, stdin="x,label\n1,a\n").stderr


# ---- cross-validation ----


def test_cross_validation_by_hand(path, model):
    """Each part is predicted by a model that `fit` makes of the others."""
    options = ["--no-standardize", "--types", "day=ignore", "--epochs", 3, "--set", "tol=None"]
    facts = answer("train", path, "-m", model, "--cv", 3, *options)
    X, y = read(path, types={"day": "ignore"})
    parts = fold_of(0, 300, 3, 0)
    expected = []
    for k in range(3):
        rest = rb.PassiveAggressive(readout="average", max_iter=3, tol=None, random_state=0).fit(
            X[parts != k], y[parts != k]
        )
        expected.append(rest.score(X[parts == k], y[parts == k]))
    assert facts["cross_validation"]["folds"] == pytest.approx(expected, abs=0.06), "only the order of the rows differs"
    assert facts["cross_validation"]["mean"] == pytest.approx(np.mean(facts["cross_validation"]["folds"]))
    call("train", path, "-m", model.with_name("b.model"), *options)
    assert np.array_equal(rb.load(model).coef_, rb.load(model.with_name("b.model")).coef_)
    assert "3 parts" in call("train", path, "-m", model, "--cv", 3, *options).stdout


def test_the_parts_do_not_know_each_other(path, tmp_path):
    """Random labels are predicted no better than by chance, though all rows can be learned by heart."""
    rng = random.Random(1)

    def coins(lines):
        return [f"{line.rpartition(',')[0]},{rng.choice(['yes', 'no'])}" for line in lines]

    noise = table(tmp_path / "b.csv", 600, rows=coins)
    own = ["--types", "step=category"]  # each row has a feature of its own, by which it can be learned by heart
    facts = answer("train", noise, "-m", tmp_path / "m", "--cv", 5, "-a", "perceptron", "--epochs", 20, *own)
    assert abs(facts["cross_validation"]["mean"] - 0.5) < 0.07
    assert facts["training_accuracy"] > 0.9
    parts = fold_of(0, 1000, 7, 3)
    assert set(parts.tolist()) == set(range(7))
    assert np.bincount(parts).min() > 100
    assert np.array_equal(parts[500:], fold_of(500, 500, 7, 3))
    held = held_out(0, 10_000, 0.1, 3)
    assert abs(np.bincount(fold_of(0, 10_000, 5, 3)[held]) - 200).max() < 60, "independent of what is held out"


def test_cross_validation_of_data_larger_than_memory(path, model, monkeypatch):
    from rosenblatt.cli import _examples

    monkeypatch.setattr(_examples.Examples.__init__, "__defaults__", (None, 1000))
    facts = answer("train", path, "-m", model, "--cv", 3)
    assert facts["cross_validation"]["mean"] > 0.7
    assert "standard input" in call("train", "-", "-m", model, "--cv", 3, code=2, stdin=path.read_text()).stderr


# ---- the latest examples ----


@pytest.mark.parametrize("column", ["step", "day"])
def test_the_latest_examples_are_set_aside(path, model, tmp_path, column):
    facts = answer("train", path, "-m", model, "--split", f"time:{column}", "--holdout", 0.2)
    rows = [line.split(",") for line in path.read_text().splitlines()[1:]]
    keys = [int(row[2]) if column == "step" else tuple(map(int, row[3].split(".")[::-1])) for row in rows]
    cut = sorted(keys)[int(np.ceil(0.8 * len(keys)))]
    late = [key >= cut for key in keys]
    assert facts["epochs"][0]["held_out"] == sum(late)
    assert facts["examples"] == len(late) - sum(late)
    assert facts["split"] == column

    def changed(lines):
        return [f"{line.rpartition(',')[0]},no" if held else line for line, held in zip(lines, late, strict=True)]

    other, options = (
        table(tmp_path / "b.csv", rows=changed),
        ["--split", f"time:{column}", "--epochs", 1, "--holdout", 0.2],
    )
    call("train", path, "-m", model, *options)
    call("train", other, "-m", tmp_path / "b.model", *options)
    assert np.array_equal(rb.load(model).coef_, rb.load(tmp_path / "b.model").coef_), "their labels are not learned"
    assert f"the latest by {column}" in call("train", path, "-m", model, "--split", f"time:{column}").stdout


def test_a_resumed_run_sets_the_same_examples_aside(path, model, tmp_path):
    options = ["--split", "time:step", "--holdout", 0.2, "-a", "perceptron"]
    call("train", path, "-m", model, *options, "--epochs", 2)
    call("train", path, "-m", model, "--resume", "--epochs", 5)
    call("train", path, "-m", tmp_path / "b.model", *options, "--epochs", 5)
    assert np.array_equal(rb.load(model).coef_, rb.load(tmp_path / "b.model").coef_)


@pytest.mark.parametrize(
    ("split", "message"),
    [("step", "time:COLUMN"), ("time:stepp", "Did you mean 'step'?"), ("time:label", "numbers or dates"),
     ("time:one", "different")],
)  # fmt: skip
def test_wrong_splits(path, model, split, message):
    text = path.read_text().splitlines()
    path.write_text("\n".join([f"one,{text[0]}", *(f"1,{line}" for line in text[1:])]) + "\n")
    assert message in call("train", path, "-m", model, "--split", split, code=2).stderr


# ---- weights of classes ----


def test_weights_of_classes(path, model):
    options = ["--epochs", 2, "--set", "tol=None"]
    call("train", path, "-m", model, *options, "--set", "class_weight=yes:3,no:0.5")
    weighted = table(
        path.with_name("w.csv"), rows=lambda lines: [f"{line},{3 if 'yes' in line else 0.5}" for line in lines]
    )
    weighted.write_text(weighted.read_text().replace("day,label", "day,label,w", 1))
    other = model.with_name("b.model")
    call("train", weighted, "-m", other, *options, "--weight", "w")
    assert np.array_equal(rb.load(model).coef_, rb.load(other).coef_)
    assert rb.load(model).class_weight == {"yes": 3.0, "no": 0.5}
    recall = {}
    for weight in ("1", "20"):
        call("train", path, "-m", model, "--set", f"class_weight=yes:{weight}")
        recall[weight] = answer("evaluate", model, path)["per_class"][1]["recall"]
    assert recall["20"] > recall["1"]
    assert "counted by weight" in call("train", path, "-m", model, "--set", "class_weight=yes:2").stdout


def test_weights_of_numbered_classes(tmp_path, model):
    lines = [f"{n % 2} 1:{n % 7} 2:{(n * 5) % 11}" for n in range(80)]
    (tmp_path / "a.svm").write_text("\n".join(lines) + "\n")
    call("train", tmp_path / "a.svm", "-m", model, "--set", "class_weight=1:4", "--epochs", 1)
    plain = model.with_name("b.model")
    call("train", tmp_path / "a.svm", "-m", plain, "--epochs", 1)
    assert not np.array_equal(rb.load(model).coef_, rb.load(plain).coef_)
    call("stream", tmp_path / "a.svm", "--set", "class_weight=1:4")


@pytest.mark.parametrize(
    ("value", "message"), [("yess:2", "Did you mean 'yes'?"), ("yes", "spam:5,ham:1"), ("yes:-1", "at least 0")]
)
def test_wrong_weights_of_classes(path, model, value, message):
    assert message in call("train", path, "-m", model, "--set", f"class_weight={value}", code=2).stderr
