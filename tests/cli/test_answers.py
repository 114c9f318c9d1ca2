"""Probabilities, reasons, ids and frames: what a model of `train` says beside its predictions."""

import csv
import json
import math
import random
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

import rosenblatt as rb
from rosenblatt.data import open_stream
from rosenblatt.model.calibration import Calibration, Judgement
from tests.cli.helpers import answer, call


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Customers: an id, numbers with gaps, a category, words, and a label that depends on them with noise."""
    place = tmp_path_factory.mktemp("answers")
    rng = random.Random(0)
    good, bad = ["thanks", "great", "fine"], ["broken", "late", "cancel"]
    rows = []
    for n in range(1500):
        age, spent, plan = rng.gauss(40, 10), rng.expovariate(1 / 500), rng.choice(["basic", "plus", "NA"])
        mood = rng.random()
        text = " ".join(rng.choice(bad if rng.random() < mood else good) for _ in range(4))
        score = 3 * (mood - 0.75) + (age - 40) / 20 + (0.5 if plan == "basic" else 0) + rng.gauss(0, 0.5)
        rows.append(
            [
                f"id{n:04}",
                "" if n % 17 == 0 else f"{age:.2f}",
                f" {spent:.1f}",
                plan,
                text,
                "yes" if score > 0 else "no",
            ]
        )
    header = ["customer_id", "age", "spent", "plan", "message", "churn"]
    for name, part in (("train", rows[:1200]), ("test", rows[1200:])):
        with (place / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([header, *part])
    call("train", place / "train.csv", "-m", place / "a.model", "--label", "churn")
    return place


@pytest.fixture(scope="module")
def model(folder):
    return rb.load(folder / "a.model")


# ---- probabilities ----


def test_probabilities_are_those_of_the_examples_set_aside(folder, model):
    facts = answer("evaluate", folder / "a.model", folder / "test.csv")
    assert facts["calibration_error"] < 0.08
    assert facts["log_loss"] < 0.9 * math.log(2)
    rows = [
        line.split("\t") for line in call("predict", folder / "a.model", folder / "test.csv", "-p").stdout.splitlines()
    ]
    given = np.array([[float(cell) for cell in row[1:]] for row in rows])
    assert given.sum(axis=1) == pytest.approx(1.0, abs=1e-6)
    assert given == pytest.approx(
        model.predict_proba(pd.read_csv(folder / "test.csv", keep_default_na=False)), abs=1e-8
    )
    truth = pd.read_csv(folder / "test.csv")["churn"] == "yes"
    assert facts["log_loss"] == pytest.approx(-np.log(np.where(truth, given[:, 1], given[:, 0])).mean(), abs=1e-6)


def test_probabilities_change_no_weights_and_no_mistakes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    y = np.array(["a", "b", "c"])[(X[:, 0] + rng.normal(size=400) > 0).astype(int) + (X[:, 1] > 1.0)]
    for name in ("Perceptron", "AveragedPerceptron", "AROW"):
        plain, with_odds = (getattr(rb, name)().partial_fit(X[:100], y[:100], ["a", "b", "c"]) for _ in range(2))
        with_odds.calibrate(X[:100], y[:100])
        for part in (slice(100, 250), slice(250, 390)):
            plain.partial_fit(X[part], y[part])
            with_odds.partial_fit(X[part], y[part])
        for x, label in zip(X[390:], y[390:], strict=True):
            assert plain.learn_one(x, label) == with_odds.learn_one(x, label)
        assert np.array_equal(plain.coef_, with_odds.coef_)
        assert plain.mistakes_ == with_odds.mistakes_
        assert with_odds.calibration_.count == 400
        odds = with_odds.predict_proba(X)
        assert odds.sum(axis=1) == pytest.approx(1.0)
        assert list(with_odds.predict_proba_one(X[0])) == with_odds.classes_.tolist()
        assert list(with_odds.predict_proba_one(X[0]).values()) == pytest.approx(odds[0])
        assert "calibration_" not in vars(plain)
        with pytest.raises(AttributeError, match="after `calibrate"):
            getattr(rb, name)().fit(X, y).predict_proba  # noqa: B018


def test_online_scaling_finds_the_true_probabilities():
    """Scores of a known logistic model, of any size, and of a size that grows."""
    rng = np.random.default_rng(1)
    for size in (1e-6, 1.0, 1e6):
        s = rng.normal(size=20_000)
        codes = (rng.random(20_000) < 1 / (1 + np.exp(-(1.5 * s - 1.0)))).astype(int)
        for growth in (np.ones(20_000), np.linspace(1, 3, 20_000)):
            scaling, judgement = Calibration.of(1), Judgement()
            judgement.add(scaling.observe((size * growth * s)[:, None], codes), codes)
            truth = 1 / (1 + np.exp(-(1.5 * s - 1.0)))
            best = -np.log(np.where(codes, truth, 1 - truth)).mean()
            assert judgement.log_loss < best + 0.01
            assert judgement.calibration_error < 0.02
    exact = Calibration.of(1).fit(s[:, None], codes)
    slope, bias = exact.line[0] / [math.sqrt(exact.square[0]), 1]
    assert (slope, bias) == pytest.approx((1.5, -1.0), abs=0.1)


def test_log_loss_and_calibration_error_by_hand():
    judgement = Judgement()
    judgement.add(np.array([[0.25, 0.75], [0.9, 0.1], [0.4, 0.6]]), np.array([1, 1, 0]))
    assert judgement.log_loss == pytest.approx(-(math.log(0.75) + math.log(0.1) + math.log(0.4)) / 3)
    assert judgement.calibration_error == pytest.approx((0.25 + 0.9 + 0.6) / 3)


def test_a_stream_judges_probabilities_before_learning(folder, tmp_path):
    place = tmp_path / "s.model"
    facts = answer("stream", folder / "train.csv", "--label", "churn", "-m", place)
    assert facts["log_loss"] < math.log(2)
    assert facts["calibration_error"] < 0.1
    loaded = rb.load(place)
    assert loaded.calibration_.count > 1100
    again = tmp_path / "again.model"
    loaded.save(again)
    rows = pd.read_csv(folder / "test.csv", keep_default_na=False)
    assert np.array_equal(rb.load(again).predict_proba(rows), loaded.predict_proba(rows))


def test_probabilities_need_examples_set_aside(folder, tmp_path):
    place = tmp_path / "b.model"
    call("train", folder / "train.csv", "-m", place, "--label", "churn", "--epochs", 2, "-a", "voted")
    for options in (["-p"], ["--threshold", "0.3"], ["--cost", "1,2"]):
        assert "--holdout" in call("predict", place, folder / "test.csv", *options, code=2).stderr


# ---- reasons ----


@pytest.mark.parametrize("name", ["Perceptron", "AveragedPerceptron", "AROW", "PassiveAggressive"])
def test_reasons_sum_to_the_score(name):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(200, 6)), rng.integers(0, 3, 200)
    for labels in (y, y > 0):
        fitted = getattr(rb, name)(max_iter=3, tol=None).fit(X, labels)
        for x in X[:5]:
            found = fitted.explain(x)
            assert found.label == fitted.predict([x])[0]
            total = found.bias + math.fsum(found.products)
            assert total == pytest.approx(found.score, rel=1e-12, abs=1e-12)
            assert math.fsum([found.bias, *found.products, *found.rounding]) == found.score
            scores = np.atleast_1d(fitted.decision_function([x])[0])
            assert found.score == pytest.approx(scores.max() if scores.size > 1 else abs(scores[0]))
            sizes = [abs(value * weight) for _, value, weight in found.features]
            assert sizes == sorted(sizes, reverse=True)


@settings(max_examples=60, deadline=None)
@given(
    x=st.lists(st.floats(-1e8, 1e8), min_size=1, max_size=12),
    dtype=st.sampled_from([np.float32, np.float64]),
    readout=st.sampled_from(["last", "average"]),
    most=st.integers(0, 5),
)
def test_the_parts_of_a_score_sum_to_it_exactly(x, dtype, readout, most):
    rng = np.random.default_rng(len(x))
    X, y = rng.normal(size=(30, len(x))).astype(dtype), rng.integers(0, 2, 30)
    for labels in (y == 0, y + rng.integers(0, 2, 30)):
        found = rb.PassiveAggressive(readout=readout).partial_fit(X, labels).explain(np.array(x, dtype))
        parts = [found.bias, *found.products, *found.rounding]
        assert sum(map(Fraction, parts)) == Fraction(found.score)
        facts = found.to_json(most)
        shown = [facts["bias"], *(one["product"] for one in facts["features"]), facts["others"], *facts["rounding"]]
        assert sum(map(Fraction, shown)) == Fraction(facts["score"])


def test_reasons_of_a_table_have_its_names(folder, model):
    record = {"age": 61.0, "spent": 20.0, "plan": "basic", "message": "broken and late, cancel"}
    found = model.explain(record)
    names = [name for name, _, _ in found.features]
    assert {"age", "plan=basic", "message:broken", "message:late", "message:cancel"} <= set(names)
    assert found.label == model.predict_one(record) == "yes"
    assert "message:cancel" in str(found)
    with pytest.raises(ValueError, match="one of the classes"):
        model.explain(record, label="maybe")
    with pytest.raises(ValueError, match="votes"):
        rb.VotedPerceptron().fit([[0.0], [1.0]], [0, 1]).explain([1.0])
    lines = call("predict", folder / "a.model", folder / "test.csv", "--explain", 2).stdout.splitlines()
    assert all(len(line.split("\t")[1].split("; ")) <= 4 for line in lines)
    first = model.explain(pd.read_csv(folder / "test.csv", keep_default_na=False).iloc[0].to_dict())
    parts = lines[0].split("\t")[1].split("; ")
    name, value, weight = first.features[0]
    assert parts[0] == f"{name} {value:.4g} × {weight:+.4g} = {value * weight:+.4g}"
    assert parts[2] == f"others {math.fsum(first.products[2:]):+.4g}"
    assert parts[3] == f"bias {first.bias:+.4g}"


@pytest.mark.parametrize("output", ["--json", "a.jsonl", "a.parquet"])
def test_reasons_are_records_where_the_output_has_types(folder, model, tmp_path, output):
    path = tmp_path / output
    given = ["--json"] if output == "--json" else ["-o", path]
    shown = call(
        "predict", folder / "a.model", folder / "test.csv", "--explain", 2, "--keep", "customer_id,age", *given
    )
    if output == "a.parquet":
        rows = parquet.read_table(path).to_pylist()
    else:
        rows = [json.loads(line) for line in (path.read_text() if path.exists() else shown.stdout).splitlines()]
    frame = pd.read_csv(folder / "test.csv", keep_default_na=False)
    for row, record in zip(rows[:20], frame.to_dict("records"), strict=False):
        found = model.explain(record)
        reasons = row["reasons"]
        expected = found.to_json(2)
        del expected["label"]
        assert reasons == expected
        products = [part["product"] for part in reasons["features"]]
        assert math.fsum([reasons["bias"], *products, reasons["others"], *reasons["rounding"]]) == reasons["score"]
        assert row["customer_id"] == record["customer_id"]
        assert row["age"] == (float(record["age"]) if record["age"] else None)


def test_features_of_tables_without_a_header_are_named_as_columns(tmp_path):
    rng = random.Random(0)
    rows = [(rng.gauss(0, 1), rng.choice(["red", "blue"]), rng.gauss(0, 1)) for _ in range(200)]
    (tmp_path / "a.csv").write_text("".join(f"{a},{b},{c},{'ab'[a + c > 0]}\n" for a, b, c in rows))
    (tmp_path / "a.svm").write_text("".join(f"{int(a + c > 0)} 3:{a} 7:{c}\n" for a, b, c in rows))
    for file, name in (("a.csv", "column"), ("a.svm", "feature")):
        call("train", tmp_path / file, "-m", tmp_path / "m")
        line = call("predict", tmp_path / "m", tmp_path / file, "--explain", 1).stdout.split("\n")[0]
        assert line.split("\t")[1].startswith(f"{name} ")


def test_kept_columns_have_the_types_and_texts_of_the_data(tmp_path):
    rng = random.Random(0)
    rows = [(f"{n:03}", rng.randrange(90), rng.gauss(0, 1), rng.choice(["a", "b"])) for n in range(60)]
    lines = [f"{n}, {age} , {x:.3f}, text {label} ,{label}" for n, age, x, label in rows]
    lines[1] = "001,?,1.5,,a"
    (tmp_path / "a.csv").write_text("\n".join(["id,age,x,place,label", *lines]) + "\n")
    call("train", tmp_path / "a.csv", "-m", tmp_path / "m", "--types", "place=category")
    keep = ["--keep", "id,age,x,place"]
    call("predict", tmp_path / "m", tmp_path / "a.csv", *keep, "-o", tmp_path / "a.parquet")
    table = parquet.read_table(tmp_path / "a.parquet")
    assert [str(kind) for kind in table.schema.types[:4]] == ["string", "double", "double", "string"]
    first = {"id": "000", "age": float(rows[0][1]), "x": round(rows[0][2], 3), "place": f"text {rows[0][3]}"}
    assert {name: value for name, value in table.to_pylist()[0].items() if name in first} == first
    assert table.to_pylist()[1]["age"] is None
    shown = json.loads(call("predict", tmp_path / "m", tmp_path / "a.csv", *keep, "--json").stdout.split("\n")[0])
    assert (shown["age"], type(shown["age"])) == (rows[0][1], int)
    lines = call("predict", tmp_path / "m", tmp_path / "a.csv", *keep).stdout.split("\n")
    assert lines[1].split("\t")[:4] == ["000", str(rows[0][1]), f"{rows[0][2]:.3f}", f"text {rows[0][3]}"]


def test_whole_numbers_of_json_lines_may_be_followed_by_fractions(tmp_path):
    rows = [{"x": n if n < 8000 else n + 0.5, "label": "ab"[n % 2], "pad": "-" * 200} for n in range(10_000)]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    call("train", tmp_path / "a.jsonl", "-m", tmp_path / "m", "-e", 1, "--types", "pad=ignore")
    call("predict", tmp_path / "m", tmp_path / "a.jsonl", "--keep", "x", "-o", tmp_path / "a.parquet")
    assert parquet.read_table(tmp_path / "a.parquet")["x"].to_pylist() == [row["x"] for row in rows]
    call("train", tmp_path / "a.parquet", "-m", tmp_path / "m", "-e", 1, "--label", "label")
    pd.DataFrame({"x": range(20), "label": ["a", "b"] * 10}).to_parquet(tmp_path / "b.parquet")
    call("predict", tmp_path / "m", tmp_path / "b.parquet", "--keep", "x", "-o", tmp_path / "c.parquet")
    assert str(parquet.read_schema(tmp_path / "c.parquet").field("x").type) == "int64"


def test_a_kept_column_without_values_at_first_is_text(tmp_path):
    from rosenblatt.cli._outputs import columns_to

    with columns_to(str(tmp_path / "a.parquet"), "parquet") as write:
        write({"note": [None, None], "label": ["a", "b"]})
        write({"note": ["x", None], "label": ["a", "b"]})
    assert parquet.read_table(tmp_path / "a.parquet")["note"].to_pylist() == [None, None, "x", None]


# ---- frames ----


def test_a_model_reads_frames_as_the_command_line_reads_files(folder, model):
    lines = call("predict", folder / "a.model", folder / "test.csv", "--json", "-s").stdout.splitlines()
    expected = np.array([json.loads(line)["scores"]["yes"] for line in lines])
    frame = pd.read_csv(folder / "test.csv", keep_default_na=False)
    frame["age"] = pd.to_numeric(frame["age"])
    records = frame.to_dict("records")
    frames = [
        frame, frame.drop(columns=["churn", "customer_id"]), pl.from_pandas(frame), pa.Table.from_pandas(frame), records,
        frame.iloc[::, ::-1], frame.astype({"plan": "category"}),
    ]  # fmt: skip
    for X in frames:
        assert np.array_equal(model.decision_function(X), expected), type(X)
    guesses = [json.loads(line)["label"] for line in lines]
    assert model.predict(frame).tolist() == guesses
    assert [model.predict_one(record) for record in records[:20]] == guesses[:20]
    assert model.predict_one({"message": "cancel cancel"}) in ("yes", "no")
    with pytest.raises(ValueError, match="'age' is missing"):
        model.predict(frame.drop(columns="age"))
    with pytest.raises(ValueError, match="'age' must hold numbers"):
        model.predict(frame.assign(age="old"))


def test_missing_text_and_other_columns_of_frames(folder, model):
    """NaN in a column of text is a missing value; columns that the model does not need may hold anything."""
    frame = pd.read_csv(folder / "test.csv", keep_default_na=False)
    frame["age"] = pd.to_numeric(frame["age"])
    frame.loc[::5, "plan"] = "NA"
    expected = model.decision_function(frame)
    gaps = frame.assign(plan=frame["plan"].where(frame["plan"] != "NA"))
    more = gaps.assign(extra=["a", 1, [2]] * (len(gaps) // 3), other=[object()] * len(gaps))
    for X in (gaps, gaps.to_dict("records"), more, more.to_dict("records"), pl.from_pandas(frame).lazy()):
        assert np.array_equal(model.decision_function(X), expected), type(X)
    records = gaps.to_dict("records")
    records[0] = {name: pd.NA if pd.isna(value) else value for name, value in records[0].items()}
    assert np.array_equal(model.decision_function(records), expected)
    assert model.predict([]).tolist() == model.predict(frame.iloc[:0]).tolist() == []


def test_what_is_almost_a_frame_is_refused_in_words(folder, model):
    frame = pd.read_csv(folder / "test.csv", keep_default_na=False)
    for X, kind in ((dict(frame), "dict"), (frame.iloc[0], "Series"), (pl.Series(["a"]), "Series"), ("a", "str")):
        with pytest.raises(ValueError, match=f"a frame or a list of dicts; got a {kind}"):
            model.predict(X)
    mixed = frame.assign(plan=["a", 1, 2.5] * (len(frame) // 3))
    for X in (mixed, mixed.to_dict("records")):
        with pytest.raises(ValueError, match=r"plan.*Convert"):
            model.predict(X)


def test_a_loaded_model_learns_records_as_the_command_line_learns_files(folder, tmp_path):
    frame = pd.read_csv(folder / "test.csv", keep_default_na=False).assign(
        plan=lambda X: X["plan"].replace("plus", "new")
    )
    frame["age"] = pd.to_numeric(frame["age"])
    frame.to_csv(tmp_path / "more.csv", index=False)
    (tmp_path / "b.model").write_bytes((folder / "a.model").read_bytes())
    call("train", tmp_path / "more.csv", "-m", tmp_path / "b.model", "--resume", "-e", 1, "--no-shuffle")
    expected, together, single = (rb.load(place) for place in (tmp_path / "b.model", *[folder / "a.model"] * 2))
    together.partial_fit(frame, frame["churn"])
    for record in frame.to_dict("records"):
        assert single.predict_one(record) == single.learn_one(record, record["churn"])
    for made in (together, single):
        assert np.array_equal(made.decision_function(frame), expected.decision_function(frame))
        assert (made.mistakes_, made.n_features_in_) == (expected.mistakes_, expected.n_features_in_)
    assert "plan=new" in together.encoder_.names()
    together.save(tmp_path / "c.model")
    assert np.array_equal(rb.load(tmp_path / "c.model").decision_function(frame), expected.decision_function(frame))
    with pytest.raises(ValueError, match="a label for each of the 300 rows; got 2"):
        together.partial_fit(frame, ["yes", "no"])


def test_lines_of_text_in_the_format_of_the_training_data(tmp_path):
    rng = np.random.default_rng(0)
    lines = [f"{1 if a > 0 else -1} |f a:{a:.3f} b:{b:.3f}" for a, b in rng.normal(size=(100, 2))]
    (tmp_path / "a.vw").write_text("\n".join(lines) + "\n")
    call("train", tmp_path / "a.vw", "-m", tmp_path / "vw.model")
    model = rb.load(tmp_path / "vw.model")
    assert model.predict(["|f a:1", "|f a:-2 z:3"]).tolist() == [1, -1]
    assert np.array_equal(model.decision_function(["|f a:1"]), model.decision_function([{"f^a": 1, "z": 2}]))
    assert model.predict_one({"f^a": 1}) == model.predict_one("|f a:1") == 1
    assert model.explain({"f^a": 1.0}).features[0][:2] == ("f^a", 1.0)
    assert model.learn_one("|f a:1 new:2", 1) == 1
    assert "f^new" in model.encoder_.names()
    with pytest.raises(ValueError, match="Line 2: The value of a feature"):
        model.predict(["|f a:1", "|f a:x"])
    with pytest.raises(ValueError, match="learns lines of such text"):
        model.learn_one({"f^a": 1.0}, 1)
    (tmp_path / "a.tsv").write_text("spam\twin a free prize, now\nham\tsee you at tea, then\n" * 50)
    call("train", tmp_path / "a.tsv", "-m", tmp_path / "tsv.model", "--label", 0)
    texts = rb.load(tmp_path / "tsv.model")
    assert texts.predict(["win a free", "tea, you see"]).tolist() == ["spam", "ham"]
    assert texts.predict_one("win a free") == "spam"


def test_lines_of_a_table_with_a_header_are_refused(model):
    with pytest.raises(ValueError, match="with a header predicts a frame or a list of dicts"):
        model.predict(["40,500,basic,late"])


def test_learning_more_from_arrays_still_works(folder, model):
    stream = open_stream(folder / "test.csv", encoder=model.encoder_)
    X = next(iter(stream)).table(model.n_features_in_).as_scipy()
    frame = pd.read_csv(folder / "test.csv", keep_default_na=False)
    assert np.array_equal(model.decision_function(X), model.decision_function(frame))


def test_the_report_shows_reasons_and_reliability(folder, tmp_path):
    page = tmp_path / "a.html"
    call("train", folder / "train.csv", "-m", tmp_path / "a.model", "--label", "churn", "--report", page)
    text = page.read_text()
    assert text.count("<h3>Right: example") == 3
    assert text.count("<h3>Wrong: example") == 3
    assert "message:" in text.partition("<h3>Wrong")[2].partition("<h2>")[0]
    for title in (
        "reliability, calibration error",
        "precision and recall, area",
        "ROC, area",
        "predicted from here on",
    ):
        assert title in text


# ---- ids and outputs ----


def test_ids_come_back_in_every_format(folder, model, tmp_path):
    frame = pd.read_csv(folder / "test.csv", keep_default_na=False, dtype=str)
    expected = call("predict", folder / "a.model", folder / "test.csv").stdout.split()
    for ending, load in (
        (".csv", pd.read_csv),
        (".parquet", pd.read_parquet),
        (".jsonl", lambda p: pd.read_json(p, lines=True)),
    ):
        place = tmp_path / f"out{ending}"
        call("predict", folder / "a.model", folder / "test.csv", "--keep", "customer_id,spent", "-p", "-o", place)
        made = load(place)
        assert list(made) == ["customer_id", "spent", "label", "probability of no", "probability of yes"]
        assert made["customer_id"].tolist() == frame["customer_id"].tolist()
        assert made["spent"].astype(float).tolist() == frame["spent"].astype(float).tolist()
        assert made["label"].tolist() == expected
    parquet.write_table(
        pa.table(frame.astype({"spent": float}).assign(age=pd.to_numeric(frame["age"]))), tmp_path / "in.parquet"
    )
    text = call("predict", folder / "a.model", tmp_path / "in.parquet", "--keep", "customer_id").stdout.splitlines()
    assert [line.split("\t") for line in text[1:]] == [list(pair) for pair in zip(frame["customer_id"], expected)]
    assert "'nothing'" in call("predict", folder / "a.model", folder / "test.csv", "--keep", "nothing", code=2).stderr


def test_tags_of_vw_text_come_back(tmp_path):
    path = tmp_path / "a.vw"
    path.write_text("".join(f"{1 if n % 2 else -1} 'tag{n} | {'a' if n % 2 else 'b'} c\n" for n in range(40)))
    call("train", path, "-m", tmp_path / "v.model")
    lines = call("predict", tmp_path / "v.model", path, "--keep", "tag").stdout.splitlines()
    assert lines[:3] == ["tag\tlabel", "tag0\t-1", "tag1\t1"]


def test_thresholds_and_costs(folder, model):
    frame = pd.read_csv(folder / "test.csv", keep_default_na=False)
    odds = model.predict_proba(frame)[:, 1]
    for options, limit in ((["--threshold", "0.2"], 0.2), (["--cost", "1,9"], 0.1), (["--cost", "3,1"], 0.75)):
        made = call("predict", folder / "a.model", folder / "test.csv", *options).stdout.split()
        assert made == ["yes" if p >= limit else "no" for p in odds]
    assert "two costs" in call("predict", folder / "a.model", folder / "test.csv", "--cost", "1", code=2).stderr


def test_the_best_classes(tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"{x:.3f},{z:.3f},{'abc'[int(np.clip(x + z + 1.5, 0, 2))]}" for x, z in rng.normal(size=(300, 2))]
    (tmp_path / "a.csv").write_text("x,z,label\n" + "\n".join(rows) + "\n")
    call("train", tmp_path / "a.csv", "-m", tmp_path / "a.model")
    out = tmp_path / "out.csv"
    call("predict", tmp_path / "a.model", tmp_path / "a.csv", "--top", 2, "-p", "-o", out)
    made = pd.read_csv(out)
    odds = made[[f"probability of {label}" for label in "abc"]].to_numpy()
    assert (made["probability 1"] >= made["probability 2"]).all()
    assert np.allclose(np.sort(odds, axis=1)[:, ::-1][:, :2], made[["probability 1", "probability 2"]])
    assert set(made["class 2"]) <= set("abc")


# ---- metrics ----


def test_measures_for_unequal_classes_agree_with_scikit_learn(folder):
    from sklearn import metrics

    facts = answer("evaluate", folder / "a.model", folder / "test.csv")
    lines = call("predict", folder / "a.model", folder / "test.csv", "-s", "--json").stdout.splitlines()
    found = [json.loads(line) for line in lines]
    truth = pd.read_csv(folder / "test.csv")["churn"].tolist()
    guesses, scores = [one["label"] for one in found], [one["scores"]["yes"] for one in found]
    parts = metrics.precision_recall_fscore_support(truth, guesses, labels=["no", "yes"])
    for row, *expected in zip(facts["per_class"], *parts, strict=True):
        assert [row["precision"], row["recall"], row["f1"], row["examples"]] == pytest.approx(expected)
    positive = [label == "yes" for label in truth]
    assert facts["average_precision"] == pytest.approx(metrics.average_precision_score(positive, scores))
    assert facts["majority"] == max(truth.count("yes"), truth.count("no")) / len(truth)
    for row in facts["thresholds"]:
        taken = [score >= row["threshold"] - 1e-12 for score in scores]
        assert row["recall"] == pytest.approx(metrics.recall_score(positive, taken))
        assert row["precision"] == pytest.approx(metrics.precision_score(positive, taken))
    text = call("evaluate", folder / "a.model", folder / "test.csv").stdout
    assert "predicted from here on" in text
    assert "most frequent label" in text
    curve = facts["roc_curve"]
    wrong, right, _ = metrics.roc_curve(positive, scores, drop_intermediate=False)
    known = set(zip(wrong.round(9), right.round(9), strict=True))
    points = list(zip(curve["false_positive_rate"], curve["true_positive_rate"], strict=True))
    assert points[0] == (0, 0)
    assert points[-1] == (1, 1)
    assert 100 < len(points) <= 200
    assert {(round(a, 9), round(b, 9)) for a, b in points} <= known
    precision, recall, _ = metrics.precision_recall_curve(positive, scores)
    known = set(zip(recall.round(9), precision.round(9), strict=True))
    points = zip(facts["pr_curve"]["recall"], facts["pr_curve"]["precision"], strict=True)
    assert {(round(a, 9), round(b, 9)) for a, b in points} <= known


def test_a_row_of_the_threshold_table_is_a_threshold_of_predict(folder):
    """`--threshold` with the probability of a row predicts what the row says."""
    facts = answer("evaluate", folder / "a.model", folder / "test.csv")
    truth = pd.read_csv(folder / "test.csv")["churn"].to_numpy()
    for row in facts["thresholds"][1::3]:
        limit = row["probability"] - 1e-9
        made = call("predict", folder / "a.model", folder / "test.csv", "--threshold", limit).stdout.split()
        hits = int(((truth == "yes") & (np.array(made) == "yes")).sum())
        assert hits / made.count("yes") == pytest.approx(row["precision"])
        assert hits / (truth == "yes").sum() == pytest.approx(row["recall"])
