"""Untidy files: what `train` and `predict` take from them, and that nothing goes wrong silently."""

import bz2
import json
import lzma
import os
import random
import zipfile

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

import rosenblatt as rb
from rosenblatt.data import open_stream, read
from tests.cli.helpers import answer, call, numbers, process


@pytest.fixture
def model(tmp_path):
    return tmp_path / "a.model"


def table(path, rows, header=None):
    path.write_text("\n".join(([header] if header else []) + rows) + "\n")
    return path


def texts(path):
    rng = random.Random(0)
    spam, ham = ["win", "free", "prize", "cash", "now"], ["see", "you", "at", "home", "soon"]
    rows = [("spam", spam), ("ham", ham)] * 100
    return table(path, [f"{label}\t{' '.join(rng.choice(words) for _ in range(6))}" for label, words in rows])


def simple(path, count=200, label=lambda x: "yes" if x > 0 else "no", header="x,z,label"):
    rng = random.Random(1)
    rows = [(rng.uniform(-1, 1), rng.uniform(-1, 1)) for _ in range(count)]
    return table(path, [f"{x:.4f},{z:.4f},{label(x)}" for x, z in rows], header)


# ---- what a model remembers ----


def test_piped_text_is_read_as_the_file_that_was_trained_on(tmp_path, model):
    call("train", texts(tmp_path / "k.tsv"), "-m", model, "--label", "0")
    for text in (
        "win a free prize, now\n",
        "win a free prize now\n",
        "win; a free | prize, now\n",
        "win, free,\nprize, now\n",
    ):
        lines = call("predict", model, "-", stdin=text).stdout.split()
        assert set(lines) == {"spam"}, text
        assert len(lines) == text.count("\n")


def test_a_file_with_another_delimiter_is_still_read(tmp_path, model):
    path = simple(tmp_path / "a.csv")
    call("train", path, "-m", model)
    other = tmp_path / "b.csv"
    other.write_text(path.read_text().replace(",", ";"))
    assert call("predict", model, other).stdout == call("predict", model, path).stdout
    assert call("predict", model, "-", stdin=other.read_text()).stdout == call("predict", model, path).stdout


# ---- missing values ----


@pytest.mark.parametrize("word", ["none", "None", "null", "NA", "nan", "?"])
def test_only_the_empty_field_is_a_missing_label(tmp_path, model, word):
    path = simple(tmp_path / "a.csv", label=lambda x: word if x > 0 else "ill")
    facts = answer("train", path, "-m", model)
    assert (set(facts["classes"]), facts["unlabelled"]) == ({word, "ill"}, 0)
    frame = parquet.write_table(pa.table({"x": [1.0, -1.0] * 10, "label": [word, "ill"] * 10}), tmp_path / "a.parquet")
    assert frame is None
    lines = [json.dumps({"x": x, "label": word if x > 0 else "ill"}) for x in (1.0, -1.0) * 10]
    for path in (tmp_path / "a.parquet", table(tmp_path / "a.jsonl", lines)):
        assert set(read(path)[1]) == {word, "ill"}


def test_further_missing_labels_are_named(tmp_path, model):
    path = simple(tmp_path / "a.csv", label=lambda x: "unknown" if x > 0.5 else "b" if x > 0 else "")
    facts = answer("train", path, "-m", model, "--na", "unknown", "--classes", "a,b")
    lines = path.read_text().splitlines()
    assert facts["unlabelled"] == sum(line.endswith(("unknown", ",")) for line in lines)


def test_a_numeric_label_that_is_no_number_is_an_error(tmp_path, model):
    rows = [f"{i % 7},{i % 2}" for i in range(120_000)] + ["1,NA"]
    path = table(tmp_path / "a.csv", rows, "x,label")
    result = call("train", path, "-m", model, code=2)
    assert f"{path}, line 120002" in result.stderr
    assert "'NA'" in result.stderr
    assert "--na NA" in result.stderr
    assert answer("train", path, "-m", model, "--na", "NA")["unlabelled"] == 1


def test_blank_and_padded_numbers(tmp_path):
    rows = ["1, 2 ,y", "2, ,n", " 3 ,\t,y", "4,  NA ,n", "5,6,y"]
    X, y = read(table(tmp_path / "a.csv", rows, "a,b,label"))
    assert X.tolist() == [[1, 2], [2, 0], [3, 0], [4, 0], [5, 6]]
    assert y.tolist() == ["y", "n", "y", "n", "y"]
    X, _ = read(table(tmp_path / "b.csv", ["1, red ,y", "2, NA ,n", "3, ,y"], "a,b,label"), types={"b": "category"})
    assert X.shape == (3, 2)


def test_a_wrong_number_is_named_with_its_line(tmp_path, model):
    rows = [f"{i},{i % 5},{'yn'[i % 2]}" for i in range(1, 40)] * 1500
    rows[50_000] = "2,abc,y"
    path = table(tmp_path / "a.csv", rows, "a,b,label")
    message = call("train", path, "-m", model, code=2).stderr
    assert f"{path}, line 50002: Column 'b' must hold finite numbers" in message
    assert "'abc'" in message
    assert "--types b=category" in message


# ---- labels ----


def test_the_names_of_labels_have_a_priority(tmp_path):
    for header, expected in (
        ("x,y,color,label", "label"), ("y,x,class,z", "class"), ("class,target,x", "target"), ("x,y,z", "y"), ("a,b,c", "c"),
    ):  # fmt: skip
        width = header.count(",") + 1
        path = table(tmp_path / "a.csv", [",".join(str((i + j) % 3) for j in range(width)) for i in range(20)], header)
        assert open_stream(path).encoder.label == expected


def test_predict_does_not_look_at_labels(tmp_path, model):
    call("train", simple(tmp_path / "a.csv", label=lambda x: int(x > 0)), "-m", model)
    unknown = simple(tmp_path / "b.csv", label=lambda x: "unknown")
    same = simple(tmp_path / "c.csv", label=lambda x: int(x > 0))
    assert call("predict", model, unknown).stdout == call("predict", model, same).stdout


def test_fractions_are_not_classes(tmp_path, model):
    path = simple(tmp_path / "a.csv", label=lambda x: round(x, 1) + 0.05)
    message = call("train", path, "-m", model, code=2).stderr
    assert "fraction" in message
    assert "--label" in message
    assert not model.exists()
    assert "fraction" in call("stream", path, code=2).stderr
    assert "fraction" in call("compare", path, code=2).stderr
    lines = [f"{(i % 9) / 4} 1:{i % 5} 2:{i % 3}" for i in range(100)]
    assert "fraction" in call("train", table(tmp_path / "a.svm", lines), "-m", model, code=2).stderr


def test_hundreds_of_classes_are_noted(tmp_path, model):
    rows = [f"{i % 7},{i % 300}" for i in range(900)]
    result = call("train", table(tmp_path / "a.csv", rows, "x,price"), "-m", model, "--epochs", 1)
    assert "300 classes" in result.stderr


def test_a_list_is_not_a_label(tmp_path, model):
    lines = [json.dumps({"x": i % 3, "label": ["a", "b"] if i % 2 else "a"}) for i in range(40)]
    message = call("train", table(tmp_path / "a.jsonl", lines), "-m", model, code=2).stderr
    assert "list" in message
    parquet.write_table(pa.table({"x": [1.0, 2.0], "label": [["a", "b"], ["a"]]}), tmp_path / "a.parquet")
    assert "list" in call("train", tmp_path / "a.parquet", "-m", model, code=2).stderr


# ---- columns that are no features ----


def test_an_index_column_is_left_out(tmp_path, model):
    rng = random.Random(0)
    rows = [rng.uniform(-1, 1) for _ in range(120)]
    for first, name in (("", "pandas"), ('""', "R"), ("Unnamed: 0", "twice")):
        body = [
            f"{f'{chr(34)}{i + 1}{chr(34)}' if name == 'R' else i},{x:.3f},{'ab'[x > 0]}" for i, x in enumerate(rows)
        ]
        path = table(tmp_path / f"{name}.csv", body, f"{first},x,label")
        result = call("train", path, "-m", model)
        assert list(rb.load(model).encoder_.columns) == ["x"], name
        assert "left out" in result.stderr
        assert call("predict", model, path).stdout
    bare = table(tmp_path / "bare.csv", [f"{i},{x:.3f},{'ab'[x > 0]}" for i, x in enumerate(rows)])
    assert list(open_stream(bare).encoder.columns) == ["1"]
    assert list(open_stream(bare, types={"0": "number"}).encoder.columns) == ["0", "1"]
    frames = table(tmp_path / "time.csv", [f"{i},{x:.3f},{'ab'[x > 0]}" for i, x in enumerate(rows)], "hour,x,label")
    assert list(open_stream(frames).encoder.columns) == ["hour", "x"]


INDICES = {
    "filtered": range(3, 63, 3),
    "shuffled": [7, 3, 1, 8, 2, 6, 0, 5, 4],
    "concatenated": [*range(5), *range(5)],
    "short": [0, 1],
    "named": [f"row {i}" for i in range(9)],
}


@pytest.mark.parametrize("name", INDICES)
@pytest.mark.parametrize("first", ["", "Unnamed: 0"])
def test_an_index_in_any_order_is_left_out(tmp_path, name, first):
    path = table(
        tmp_path / "a.csv", [f"{i},{n % 7},{'ab'[n % 2]}" for n, i in enumerate(INDICES[name])], f"{first},x,y"
    )
    encoder = open_stream(path).encoder
    assert (list(encoder.columns), list(encoder.left_out)) == (["x"], [first or "0"])


def test_an_unnamed_column_of_values_is_kept(tmp_path):
    for values in ("1.5 2.5 0.1", "red blue red", "2024-03-31 2024-04-01 2024-05-01"):
        path = table(tmp_path / "a.csv", [f"{v},1.5,{'ab'[n % 2]}" for n, v in enumerate(values.split())], ",x,y")
        assert not open_stream(path).encoder.left_out


def test_the_header_of_a_frame_with_numbers_as_names(tmp_path):
    rows = [f"{i % 7}.5,{i % 5},{'ab'[i % 2]}" for i in range(30)]
    bare = open_stream(table(tmp_path / "bare.csv", rows, "0,1,label"))
    assert (list(bare.encoder.columns), bare.encoder.label) == (["0", "1"], "label")
    with_index = [f"{i},{row}" for i, row in enumerate(rows)]
    for header in (",0,1,label", ",0,1,kind"):
        stream = open_stream(table(tmp_path / "index.csv", with_index, header))
        assert (list(stream.encoder.columns), stream.encoder.label) == (["0", "1"], header[5:])
        assert list(stream.encoder.left_out) == ["Unnamed: 0"]
        assert sum(batch.size for batch in stream) == 30


def test_ids_and_constants_are_left_out(tmp_path, model):
    rng = random.Random(0)
    rows = []
    for _ in range(300):
        x = rng.uniform(-1, 1)
        rows.append(f"{rng.randrange(10**17, 6 * 10**17)},u{rng.randrange(10**9)},{x:.3f},7,only,{'ab'[x > 0]}")
    path = table(tmp_path / "a.csv", rows, "tweet_id,userId,x,version,kind,label")
    result = call("train", path, "-m", model)
    assert list(rb.load(model).encoder_.columns) == ["x"]
    for name in ("tweet_id", "userId", "version", "kind"):
        assert name in result.stderr.partition("left out")[2]
    assert "--types tweet_id=number" in result.stderr
    call("train", path, "-m", model, "--types", "tweet_id=number,version=number")
    assert list(rb.load(model).encoder_.columns) == ["tweet_id", "x", "version"]
    named = table(tmp_path / "valid.csv", [f"{i * i},{i % 2}" for i in range(200)], "grid,label")
    assert list(open_stream(named).encoder.columns) == ["grid"]


def test_a_column_of_large_numbers_is_named(tmp_path, model):
    rng = random.Random(0)
    rows = [(rng.uniform(-1, 1), rng.randrange(10**9, 2 * 10**9)) for _ in range(200)]
    path = table(tmp_path / "a.csv", [f"{x:.3f},{t},{'ab'[x > 0]}" for x, t in rows], "x,seen,label")
    result = call("train", path, "-m", model, "--no-standardize")
    assert "'seen'" in result.stderr
    assert "--types seen=ignore" in result.stderr


# ---- formats ----


def test_an_unreadable_column_of_parquet_can_be_ignored(tmp_path, model):
    path = tmp_path / "a.parquet"
    parquet.write_table(
        pa.table({"x": [1.0, -1.0] * 20, "bin": [b"\x00", b"\xff"] * 20, "label": ["a", "b"] * 20}), path
    )
    assert "--types bin=ignore" in call("train", path, "-m", model, code=2).stderr
    call("train", path, "-m", model, "--types", "bin=ignore")
    assert list(rb.load(model).encoder_.columns) == ["x"]


def test_other_compressions_and_formats(tmp_path, model):
    path = simple(tmp_path / "a.csv")
    expected = read(path)[0]
    for ending, pack in (("bz2", bz2.compress), ("xz", lzma.compress)):
        (tmp_path / f"a.csv.{ending}").write_bytes(pack(path.read_bytes()))
        assert np.array_equal(read(tmp_path / f"a.csv.{ending}")[0], expected)
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.write(path, "a.csv")
    (tmp_path / "wide.csv").write_bytes(path.read_text().encode("utf-16"))
    feather.write_feather(pa.table({"x": [1.0], "label": ["a"]}), tmp_path / "a.feather")
    for name, word in (("a.zip", "unzip"), ("wide.csv", "iconv -f utf-16"), ("a.feather", "Parquet")):
        assert word in call("train", tmp_path / name, "-m", model, code=2).stderr
    sparse = table(tmp_path / "b.svm", ["1 1:1", "0 2:1"])
    message = call("train", path, sparse, "-m", model, code=2).stderr
    assert f"{sparse}: " in message
    assert "same format" in message


# ---- options and output ----


def test_a_report_is_a_page(tmp_path, model):
    message = call("train", simple(tmp_path / "a.csv"), "-m", model, "--report", tmp_path / "x.pdf", code=2).stderr
    assert ".html" in message
    assert not (tmp_path / "x.pdf").exists()
    assert not model.exists()


def test_labels_with_tabs_are_quoted(tmp_path, model):
    lines = [json.dumps({"x": i % 2, "label": "a\tb" if i % 2 else 'c"d'}) for i in range(60)]
    path = table(tmp_path / "a.jsonl", lines)
    call("train", path, "-m", model, "--epochs", 3)
    import csv

    for options in ([], ["--scores"]):
        rows = list(csv.reader(call("predict", model, path, *options).stdout.splitlines(), delimiter="\t"))
        assert {row[0] for row in rows} == {"a\tb", 'c"d'}
        assert {len(row) for row in rows} == {1 + len(options)}


def test_a_closed_pipe_is_success(tmp_path, model):
    path = simple(tmp_path / "a.csv", count=30_000)
    call("train", path, "-m", model, "--epochs", 1)
    running = process("predict", model, path)
    running.stdout.readline()
    running.stdout.close()
    assert running.wait(60) == 0
    assert running.stderr.read() == ""
    running.stderr.close()


@pytest.mark.parametrize("command", ["train", "stream"])
def test_closed_pipes_do_not_keep_a_model_from_being_written(tmp_path, model, command):
    unread, end = os.pipe()
    os.close(unread)
    running = process(command, simple(tmp_path / "a.csv"), "-m", model, stdout=end, stderr=end)
    os.close(end)
    assert running.wait(60) == 0
    assert rb.load(model).classes_.size == 2


@pytest.mark.parametrize(
    ("setting", "instead"),
    [("early_stopping=true", "--holdout"), ("validation_fraction=0.2", "--holdout"), ("random_state=None", "--seed"),
     ("warm_start=true", "--resume"), ("verbose=1", "--quiet")],
)  # fmt: skip
def test_settings_without_effect_are_refused(tmp_path, model, setting, instead):
    message = call("train", simple(tmp_path / "a.csv"), "-m", model, "--set", setting, code=2).stderr
    assert instead in message


def test_shuffle_as_a_setting_is_the_option(tmp_path, model):
    path, other = simple(tmp_path / "a.csv"), tmp_path / "b.model"
    call("train", path, "-m", model, "--set", "shuffle=false", "--epochs", 2)
    call("train", path, "-m", other, "--no-shuffle", "--epochs", 2)
    assert np.array_equal(rb.load(model).coef_, rb.load(other).coef_)
    shuffled = tmp_path / "c.model"
    call("train", path, "-m", shuffled, "--epochs", 2)
    assert not np.array_equal(rb.load(model).coef_, rb.load(shuffled).coef_)


@pytest.mark.parametrize("algorithm", ["pocket", "averaged", "perceptron", "voted", "batch", "kernel", "arow"])
def test_held_out_rows_are_not_learned(tmp_path, model, algorithm):
    """Changed labels of the held-out rows change nothing in the model."""
    from rosenblatt.training.schedule import held_out

    path = simple(tmp_path / "a.csv")
    header, *lines = path.read_text().splitlines()
    out = held_out(0, len(lines), 0.3, 0)
    flip = {"yes": "no", "no": "yes"}
    changed = [
        f"{line.rpartition(',')[0]},{flip[line.rpartition(',')[2]]}" if held else line for line, held in zip(lines, out)
    ]
    options = ["--holdout", "0.3", "-a", algorithm, "--no-standardize", "--epochs"]
    options.append(
        "3" if algorithm in ("pocket", "batch", "kernel") else "1"
    )  # else the best epoch depends on the labels
    call("train", path, "-m", model, *options)
    call("train", table(tmp_path / "b.csv", changed, header), "-m", tmp_path / "b.model", *options)
    one, two = rb.load(model), rb.load(tmp_path / "b.model")
    X = read(path)[0]
    assert np.array_equal(one.decision_function(X), two.decision_function(X))
    assert answer("train", path, "-m", model, *options)["examples"] == int((~out).sum())


# ---- what is reported ----


@pytest.fixture
def noisy(tmp_path):
    rng = random.Random(3)

    def label(x):
        return "yes" if (x > 0) != (rng.random() < 0.25) else "no"

    return simple(tmp_path / "noisy.csv", count=800, label=label)


def test_the_headline_is_the_saved_model(noisy, model):
    facts = answer("train", noisy, "-m", model, "--epochs", 3)
    right = answer("evaluate", model, noisy)["accuracy"]
    assert facts["training_accuracy"] == pytest.approx(right, abs=1e-12)
    text = call("train", noisy, "-m", model, "--epochs", 3).stdout
    assert f"{right:.2%} right on the training data, with the saved model" in text


def test_the_best_epoch_is_kept(noisy, model, tmp_path):
    for algorithm in ("perceptron", "averaged"):
        facts = answer("train", noisy, "-m", model, "-a", algorithm, "--holdout", "0.3", "--epochs", 12)
        shares = [epoch["held_out_accuracy"] for epoch in facts["epochs"]]
        assert facts["held_out_accuracy"] == max(shares)
        best = facts["best_epoch"]
        assert shares[best - 1] == max(shares)
        call("train", noisy, "-m", tmp_path / "b.model", "-a", algorithm, "--holdout", "0.3", "--epochs", best)
        assert np.array_equal(rb.load(model).coef_, rb.load(tmp_path / "b.model").coef_)
    # more epochs later are the same as more epochs at once
    call("train", noisy, "-m", model, "-a", "perceptron", "--holdout", "0.3", "--epochs", 4)
    call("train", noisy, "-m", model, "--resume", "--epochs", 12)
    call("train", noisy, "-m", tmp_path / "b.model", "-a", "perceptron", "--holdout", "0.3", "--epochs", 12)
    assert np.array_equal(rb.load(model).coef_, rb.load(tmp_path / "b.model").coef_)


def test_the_report_counts_the_held_out_rows_apart(noisy, model, tmp_path):
    page = tmp_path / "a.html"
    facts = answer("train", noisy, "-m", model, "--holdout", "0.25", "--report", page)
    out, text = facts["epochs"][0]["held_out"], page.read_text()
    assert f"{facts['held_out_accuracy']:.2%}</span> correct on the {out:,} held-out examples" in text
    assert f"in {out:,} examples" in text


def test_resume_keeps_the_provenance(noisy, model, tmp_path):
    other = numbers(tmp_path / "other.csv")
    call("train", noisy, "-m", model, "--epochs", 2)
    more = tmp_path / "more.csv"
    more.write_text(noisy.read_text().replace("yes", "no", 5))
    call("train", more, "-m", model, "--resume", "--epochs", 1)
    runs = rb.load(model).training_["runs"]
    assert [[name for name, _ in run["data"]] for run in runs] == [[str(noisy)], [str(more)]]
    assert [run["examples"] for run in runs] == [800, 800]
    assert all(run["date"].endswith("Z") and "train" in run["command"] for run in runs)
    shown = call("inspect", model).stdout
    assert str(noisy) in shown
    assert str(more) in shown
    assert other.exists()


# ---- scale ----


def scaled(path, count=400, sort=False):
    """Two columns of very different scales; the label depends on both alike."""
    rng = random.Random(5)
    rows = []
    for _ in range(count):
        a, b = rng.gauss(0, 1), rng.gauss(0, 1)
        rows.append((f"{1e6 + 1e5 * a:.1f},{1e-3 * b:.7f}", "yes" if a + b > 0 else "no"))
    if sort:
        rows.sort(key=lambda row: row[1])
    return table(path, [",".join(row) for row in rows], "a,b,label")


def test_columns_of_different_scales_need_no_option(tmp_path, model):
    path = scaled(tmp_path / "a.csv")
    assert answer("train", path, "-m", model)["held_out_accuracy"] > 0.9
    assert answer("evaluate", model, path)["accuracy"] > 0.95
    call("train", path, "-m", model, "--no-standardize")
    assert answer("evaluate", model, path)["accuracy"] < 0.9


@pytest.mark.parametrize("memory", [64 << 20, 1 << 10])
def test_a_sorted_file_is_scaled_as_any_other(tmp_path, model, monkeypatch, memory):
    from rosenblatt.cli import _examples, _session

    monkeypatch.setattr(_examples.Examples.__init__, "__defaults__", (None, memory))
    monkeypatch.setattr(_session, "MEMORY", memory)
    call("train", scaled(tmp_path / "a.csv", sort=True), "-m", model)
    assert answer("evaluate", model, tmp_path / "a.csv")["accuracy"] > 0.95


def test_all_rows_in_memory_are_scaled_alike(tmp_path):
    path = scaled(tmp_path / "a.csv", sort=True)
    raw, _ = read(path)
    X, _ = read(path, standardize=True, batch_bytes=512)
    assert np.allclose(X, (raw - raw.mean(axis=0)) / raw.std(axis=0), rtol=0, atol=1e-9)
    mixed = table(tmp_path / "b.csv", [f"{'uv'[n % 2]},{n},{'yn'[n % 2]}" for n in range(50)], "kind,size,label")
    X, _ = read(mixed, standardize=True)
    assert X.sum(axis=0) == pytest.approx([25, 25, 0], abs=1e-9) or X.sum(axis=0) == pytest.approx(
        [0, 25, 25], abs=1e-9
    )


def test_sparse_formats_keep_their_zeros(tmp_path, model):
    path = table(tmp_path / "a.svm", [f"{i % 2} {1 + i % 2}:1000 3:{i % 5}" for i in range(60)])
    call("train", path, "-m", model)
    assert rb.load(model).encoder_.moments is None
    assert "sparse" in call("train", path, "-m", model, "--standardize", code=2).stderr


def test_an_interrupted_run_is_scaled_as_if_it_were_not(tmp_path, model, monkeypatch):
    """The rows after an interruption in the first pass are scaled by the moments of a run without interruption."""
    from rosenblatt.cli import _examples, _session

    path = scaled(tmp_path / "a.csv", count=60_000)
    monkeypatch.setattr(_examples.Examples.__init__, "__defaults__", (None, 1 << 10))
    monkeypatch.setattr(_session, "MEMORY", 1 << 10)
    call("train", path, "-m", tmp_path / "whole.model", "--epochs", 2)

    def stopping(interrupt):
        interrupt.asked = True
        return interrupt

    enter = _examples.Interrupt.__enter__
    monkeypatch.setattr(_examples.Interrupt, "__enter__", lambda self: stopping(enter(self)))
    call("train", path, "-m", model, "--epochs", 2, code=130)
    monkeypatch.setattr(_examples.Interrupt, "__enter__", enter)
    first = rb.load(model)
    assert 0 < first.training_["run"]["current"]["examples"] < 60_000
    assert not first.encoder_.learned_moments
    call("train", path, "-m", model, "--resume")
    one, two = rb.load(model), rb.load(tmp_path / "whole.model")
    assert np.array_equal(one.coef_, two.coef_)
    assert np.array_equal(one.encoder_.moments.mean, two.encoder_.moments.mean)


def test_two_streams_are_one(tmp_path, model):
    header, *lines = scaled(tmp_path / "a.csv").read_text().splitlines()
    call("stream", tmp_path / "a.csv", "-m", tmp_path / "whole.model")
    for part in (lines[:150], lines[150:]):
        call("stream", table(tmp_path / "part.csv", part, header), "-m", model)
    one, two = rb.load(model), rb.load(tmp_path / "whole.model")
    assert np.array_equal(one.coef_, two.coef_)


# ---- words ----


def test_the_weights_of_words(tmp_path):
    path = table(tmp_path / "a.csv", ["b b b a,x,1", "c,y,2", "a c c,x,3", ",y,4"], "text,kind,size")
    types = {"text": "words", "kind": "category", "size": "number"}
    options = {"types": types, "label": "kind", "word_weights": "log"}
    stream = open_stream(path, **options)
    X, _ = read(path, **options)
    names = ["text:b", "text:a", "text:c", "size"]
    list(stream)
    dense = X.toarray()[:, [stream.encoder.find(name) for name in names]]
    three, two = 1 + np.log(3), 1 + np.log(2)
    first, third = np.hypot(three, 1), np.hypot(two, 1)
    expected = [[three / first, 1 / first, 0, 1], [0, 0, 1, 2], [0, 1 / third, two / third, 3], [0, 0, 0, 4]]
    assert dense == pytest.approx(np.array(expected))
    counts, _ = read(path, types=types, label="kind")
    assert sorted(counts.data.tolist()) == [1, 1, 1, 1, 2, 2, 3, 3, 4]
    with_products = {**options, "interactions": [("text", "size")], "bits": 10}
    assert read(path, **with_products)[0].sum() == pytest.approx(X.sum() + 3 + 1 + 2 + 3 + 6, rel=1e-9)


def test_words_are_weighted_by_default_and_the_model_knows(tmp_path, model):
    path = texts(tmp_path / "k.tsv")
    call("train", path, "-m", model, "--label", "0")
    assert rb.load(model).encoder_.word_weights == "log"
    call("train", path, "-m", tmp_path / "b.model", "--label", "0", "--words", "counts")
    assert rb.load(tmp_path / "b.model").encoder_.word_weights == "counts"
    one, two = (
        call("predict", place, "-", "-s", stdin="win win win free\n").stdout for place in (model, tmp_path / "b.model")
    )
    assert one != two


def test_a_column_of_weights_weighs(tmp_path, model):
    """A row of weight 0 is not learned, and the weights of a table are those of VW text."""
    rng = random.Random(7)
    rows = [(round(rng.uniform(-1, 1), 3), rng.choice([0, 1, 3])) for _ in range(100)]
    path = table(tmp_path / "a.csv", [f"{x},{w},{int(x > 0) if w else int(x < 0)}" for x, w in rows], "x,w,label")
    text = [f"{int(x > 0) if w else int(x < 0)} {w} | x:{x}" for x, w in rows]
    options = ["-a", "passive", "--epochs", 3, "--no-standardize"]
    call("train", path, "-m", model, "--weight", "w", *options)
    call("train", table(tmp_path / "a.vw", text), "-m", tmp_path / "b.model", *options[:-1])
    one, two = rb.load(model), rb.load(tmp_path / "b.model")
    assert np.array_equal(one.coef_, two.coef_)
    assert one.encoder_.weight == "w"


def test_a_misspelt_column_is_suggested(tmp_path, model):
    path = table(tmp_path / "a.csv", [f"{i},{i * 2},{i % 2}" for i in range(30)], "Height,weight,Outcome")
    for option, meant in ((["--label", "outcom"], "Outcome"), (["--types", "heigt=number"], "Height")):
        assert f"Did you mean {meant!r}?" in call("train", path, "-m", model, *option, code=2).stderr
    assert "Did you mean" not in call("train", path, "-m", model, "--label", "zzz", code=2).stderr


def test_unseen_categories_are_reported(tmp_path, model):
    rows = [f"{'red' if n % 2 else 'blue'},{n % 3},{n % 2}" for n in range(60)]
    call("train", table(tmp_path / "a.csv", rows, "colour,x,label"), "-m", model)
    other = table(tmp_path / "b.csv", ["red,1,1", "pink,1,1", "pink,2,0", "grey,0,0"], "colour,x,label")
    warning = "no effect: column 'colour' in 3 rows ('pink', 'grey')"
    assert warning in call("predict", model, other).stderr
    assert warning in call("evaluate", model, other).stderr
    assert warning in call("train", tmp_path / "a.csv", "-m", tmp_path / "c.model", "--test", other).stderr
    assert answer("evaluate", model, other)["unseen"] == {"colour": {"pink": 2, "grey": 1}}
    assert "no effect" not in call("predict", model, other, "-q").stderr
    assert "no effect" not in call("predict", model, tmp_path / "a.csv").stderr


# ---- what a message says ----


@pytest.fixture(scope="module")
def colours(tmp_path_factory):
    """A table with a header, and a model of it."""
    place, rng = tmp_path_factory.mktemp("colours"), random.Random(0)
    rows = [(rng.gauss(3, 1), rng.randint(0, 5), rng.choice(["red", "blue"])) for _ in range(200)]
    text = "".join(f"{a:.1f},{b},{c}\n" for a, b, c in rows)
    (place / "a.csv").write_text(f"x,y,color\n{text}")
    (place / "a.tsv").write_text(f"x,y,color\n{text}".replace(",", "\t"))
    half = text.index("\n", len(text) // 2) + 1
    (place / "end.csv").write_text(f'x,y,color\n{text}1,2,"red\n')
    (place / "middle.csv").write_text(f'x,y,color\n{text[:half]}1,"2,red\n{text[half:]}')
    call("train", place / "a.csv", "-m", place / "m", "--label", "color", "-e", 1)
    return place


@pytest.mark.parametrize("rows", ["1.2,0,red\n", "1.2,0,red\n1.3,1,blue\n"])
def test_rows_without_the_header_of_the_model(colours, rows):
    error = call("predict", colours / "m", "-", stdin=rows, code=2).stderr
    assert "names of its columns (x, y)" in error
    assert "'1.2,0,red'. Write the names above the rows." in error


@pytest.mark.parametrize("text", ["1.2,0,red\n", "a,b,b\n1,2,x\n"])
def test_options_that_exist_are_advised(tmp_path, text):
    (tmp_path / "a.csv").write_text(text)
    error = call("train", tmp_path / "a.csv", "-m", tmp_path / "m", "--header", code=2).stderr
    assert "--no-header (header=False in Python)" in error


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--weight", "Y"], "got 'Y'. Did you mean 'y'?"),
        (["--interactions", "x*yy"], "got 'yy'. Did you mean 'y'?"),
        (["--types", "X=number"], "Types must name columns (x, y, color); got 'X'. Did you mean 'x'?"),
        (["--words", "tfidf"], "must have a column of words for tf-idf weights (--words tfidf); this one has none"),
        (["--words", "counts"], "--words is for tables with a column of words; this one has none"),
        (["--ngrams", "2"], "must have a column of words for phrases (--ngrams)"),
        (["--char-ngrams", "3", "--words", "tfidf"], "sequences of characters (--char-ngrams) and tf-idf weights"),
    ],
)
def test_names_and_options_that_do_not_fit_the_table(colours, options, message):
    for command in (["train", colours / "a.csv", "-m", colours / "x"], ["stream", colours / "a.csv"]):
        assert message in call(*command, "--label", "color", *options, code=2).stderr


def test_files_of_two_formats(colours):
    error = call("train", colours / "a.csv", colours / "a.tsv", "-m", colours / "x", "--label", "color", code=2).stderr
    assert "the first is csv, this one is tsv. Convert it, or train on the files of one format first" in error
    call("train", colours / "a.csv", "-m", colours / "two", "--label", "color", "-e", 1)
    facts = answer("train", colours / "a.tsv", "-m", colours / "two", "--resume")
    assert facts["examples"] == 200
    shown = answer_of("inspect", colours / "two")
    assert (shown["examples"], len(shown["trained on"])) == (400, 2)


def answer_of(*arguments):
    """The output of a command that has --json, and no --quiet."""
    return json.loads(call(*arguments, "--json").stdout)


@pytest.mark.parametrize(("name", "line"), [("end", 202), ("middle", None)])
def test_a_quote_that_is_not_closed_is_a_bad_row(colours, name, line):
    path, options = colours / f"{name}.csv", ["-m", colours / "x", "--label", "color", "-e", 1]
    assert "A quote must be closed" in call("train", path, *options, code=2).stderr
    shown = call("train", path, *options, "--on-bad-rows", "skip")
    assert f"1 bad row was left out; the first: {path}, line {line or ''}" in shown.stderr
    assert "A quote must be closed" in shown.stderr
    assert "examples   200" in shown.stdout


def test_many_numbers_as_labels(tmp_path):
    rng = random.Random(0)
    for name, most in (("all", 1_000_000), ("some", 300)):
        lines = [f"{rng.random()},{rng.randint(0, most)}" for _ in range(1000)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["x,amount", *lines]) + "\n")
    error = call("train", tmp_path / "all.csv", "-m", tmp_path / "m", code=2).stderr
    assert "If it is a quantity to predict, give --regression; else name its column with --label." in error
    shown = call("train", tmp_path / "some.csv", "-m", tmp_path / "m").stderr
    assert shown.index("few examples of each may be seen") < shown.index("before learning"), "before the first epoch"


def test_too_few_examples_are_refused_before_training(tmp_path):
    for rows, message in (
        ("1,2,a\n", "the labels must have at least 2 classes; got only 'a'"),
        ("1,2,\n3,4,\n", "there is no labelled example to learn from"),
    ):
        (tmp_path / "a.csv").write_text(f"x,y,label\n{rows}")
        error = call("train", tmp_path / "a.csv", "-m", tmp_path / "m", code=2).stderr
        assert message in error
        assert "before learning" not in error
        assert "nan" not in error
    (tmp_path / "a.csv").write_text("x,price\n1,2.5\n")
    error = call("train", tmp_path / "a.csv", "-m", tmp_path / "m", "--regression", code=2).stderr
    assert "all 1 labelled examples would be set aside" in error or "no labelled" in error


def test_the_table_of_labels_and_of_columns_left_out(tmp_path):
    lines = [f"A-{n},{n}%,{n % 7},{'none' if n % 3 else 'NA'}" for n in range(100)]
    (tmp_path / "a.csv").write_text("\n".join(["user_id,share,x,label", *lines]) + "\n")
    shown = call("train", tmp_path / "a.csv", "-m", tmp_path / "m", "-e", 1).stderr
    rows = {line.split()[0]: " ".join(line.split()[1:]) for line in shown.splitlines() if line.strip()}
    assert rows["label"] == "label NA - the label", "these labels are not missing"
    assert rows["user_id"] == "- A-0 - left out: an identifier"
    assert rows["share"].endswith("written as 0%")
    assert "--types user_id=category" in shown
    call("train", tmp_path / "a.csv", "-m", tmp_path / "m", "-e", 1, "--types", "user_id=category")
    (tmp_path / "a.jsonl").write_text("".join(f'{{"x": {n}, "topics": {"[]" if n % 3 else ["a"]}}}\n'.replace("'", '"')
                                              for n in range(60)))  # fmt: skip
    shown = call("train", tmp_path / "a.jsonl", "-m", tmp_path / "m", "--multilabel", "--label", "topics").stderr
    row = next(line for line in shown.splitlines() if line.startswith("topics"))
    assert row.split()[-3:] == ["-", "the", "label"]


def test_the_count_of_examples_set_aside_is_no_weight(tmp_path):
    rng = random.Random(0)
    lines = [f"{x},{'spam' if x + rng.gauss(0, 0.2) > 0.8 else 'ham'}" for x in (rng.random() for _ in range(300))]
    (tmp_path / "a.csv").write_text("\n".join(["x,label", *lines]) + "\n")
    arguments = ["train", tmp_path / "a.csv", "-m", tmp_path / "m"]
    plain, weighted = answer(*arguments), answer(*arguments, "--set", "class_weight=spam:5")
    assert weighted["held_out_examples"] == plain["held_out_examples"] == plain["epochs"][0]["held_out"]
    assert weighted["epochs"][0]["held_out"] > plain["held_out_examples"]
    assert (plain["weighted"], weighted["weighted"]) == (False, True)
    shown = call(*arguments, "--set", "class_weight=spam:5").stdout
    assert f"right on {plain['held_out_examples']} examples set aside" in shown
    assert not {"lucky", "readout_accuracy"} & set(plain["epochs"][0])


def test_unknown_labels_that_resemble_classes(tmp_path):
    (tmp_path / "a.csv").write_text("x,label\n" + "1,<=50K\n-1,>50K\n" * 20)
    (tmp_path / "b.csv").write_text("x,label\n" + "1,<=50K.\n-1,>50K.\n" * 20)
    (tmp_path / "c.csv").write_text("x,label\n1,<=50K\n-1,rich\n")
    call("train", tmp_path / "a.csv", "-m", tmp_path / "m", "-e", 1)
    shown = call("evaluate", tmp_path / "m", tmp_path / "b.csv").stderr
    assert "the labels '<=50K.', '>50K.' are not classes of the model ('<=50K', '>50K')" in shown
    assert "one of them counts as a mistake. Does '<=50K.' mean '<=50K'? Then correct the labels." in shown
    shown = call("evaluate", tmp_path / "m", tmp_path / "c.csv").stderr
    assert "the label 'rich' is not a class of the model" in shown
    assert "Does" not in shown


@pytest.mark.parametrize("ending", ["svm", "vw"])
def test_a_feature_that_dominates_is_named(tmp_path, ending):
    rng = random.Random(0)
    rows = [(rng.choice([0, 1]), rng.choice([3, 5]), rng.randint(10**16, 57 * 10**16)) for _ in range(400)]
    bar = "|f" if ending == "vw" else ""
    rows = [(label if rng.random() < 0.9 else 1 - label, label * 2 + 3, big) for label, _, big in rows]
    (tmp_path / f"a.{ending}").write_text("".join(f"{a} {bar} {b}:1 9:{big}\n" for a, b, big in rows))
    path, options = tmp_path / f"a.{ending}", ["-m", tmp_path / "m"]
    shown = call("train", path, *options).stderr
    assert f"feature {'9' if ending == 'svm' else 'f^9'!r} has values of up to 5.7e+17, where" in shown
    assert "Give --words log" in shown
    assert shown.index("dominate") < shown.index("before learning")
    for learner in ("pocket-perceptron", "perceptron"):
        assert call("train", path, *options, "-a", learner).stderr.count("dominate") == 1
    for advice in (["--words", "log"], ["-a", "arow"]):
        assert answer("train", path, *options, *advice)["held_out_accuracy"] > 0.8
    (tmp_path / f"b.{ending}").write_text("".join(f"{a} {bar} {b}:1 9:-{big}\n" for a, b, big in rows))
    shown = call("train", tmp_path / f"b.{ending}", *options).stderr
    assert "Give -a arow" in shown, "a logarithm does not shorten negative values"


def test_counts_of_words_are_recognised(tmp_path):
    rng = random.Random(0)

    def text(values):
        rows = (sorted(rng.sample(range(3000), 12)) for _ in range(200))
        return "".join(f"{rng.choice([0, 1])} {' '.join(f'{n}:{rng.choice(values)}' for n in row)}\n" for row in rows)

    for name, values, expected in (
        ("counts", [1, 1, 1, 2, 7], True),
        ("flags", [1], False),
        ("fractions", [0.5, 1, 2], False),
        ("signs", [-1, 1, 2], False),
    ):
        (tmp_path / f"{name}.svm").write_text(text(values))
        shown = call("train", tmp_path / f"{name}.svm", "-m", tmp_path / "m", "-e", 1).stderr
        assert ("look like counts of words. --words tfidf" in shown) == expected, name
    path = tmp_path / "counts.svm"
    assert "look like" not in call("train", path, "-m", tmp_path / "m", "-e", 1, "--words", "tfidf").stderr


def test_columns_may_be_named_by_numbers_beside_the_label(tmp_path, model):
    rows = [f"{n},{n % 3},{'yn'[n % 2]}" for n in range(60)]
    facts = answer("train", table(tmp_path / "a.csv", rows, "1,2,label"), "-m", model, "-e", 1)
    assert (facts["examples"], facts["classes"]) == (60, ["n", "y"])
    facts = answer("train", table(tmp_path / "b.csv", ["1,2,y", *rows]), "-m", model, "-e", 1)
    assert facts["examples"] == 61, "here y is a class"


def test_a_model_worse_than_the_most_frequent_class_is_named(tmp_path, model):
    rng = random.Random(0)
    points = [(rng.gauss(0, 1), rng.gauss(0, 1)) for _ in range(2000)]
    circle = table(
        tmp_path / "a.csv", [f"{a},{b},{'in' if a * a + b * b < 0.9 else 'out'}" for a, b in points], "a,b,label"
    )
    arguments = ["train", circle, "-m", model, "-a", "perceptron", "--holdout", 0.2, "-e", 1]
    assert "less than always predicting the most frequent class" in call(*arguments).stderr
    facts = answer(*arguments)
    assert facts["held_out_accuracy"] + 0.03 < facts["held_out_majority"] < 0.75
    assert "frequent" not in call("train", simple(tmp_path / "b.csv"), "-m", model).stderr
