"""Whole sessions on untidy files, as a newcomer would go through them, from `train` to the reasons.

The first file is public: the passengers of the Titanic (OpenML 40945), an ARFF file that is part of scikit-learn. The other one
is written here in the manner of the well-known Telco churn file: an identifier, blank totals of new customers, amounts with a
dollar sign, percentages, dates, yes and no, a note in words, two broken lines, and a fifth of the customers who left.
"""

import csv
import gzip
import importlib.util
import json
import math
import random
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import rosenblatt as rb
from tests.cli.helpers import answer, call


@pytest.fixture
def passengers(tmp_path):
    """The passengers of the Titanic, in halves: some to learn from, and others."""
    package = Path(importlib.util.find_spec("sklearn").origin).parent
    (path,) = (package / "datasets" / "tests" / "data" / "openml" / "id_40945").glob("data*.arff.gz")
    preamble, mark, rows = gzip.decompress(path.read_bytes()).decode().partition("@data\n")
    lines = [line for line in rows.splitlines() if line and not line.startswith("%")]
    random.Random(0).shuffle(lines)
    for name, part in (("old", lines[:900]), ("new", lines[900:])):
        (tmp_path / f"{name}.arff").write_text(preamble + mark + "\n".join(part) + "\n")
    return tmp_path


def test_a_session_with_a_public_file(passengers, monkeypatch):
    monkeypatch.chdir(passengers)

    # Fourteen columns: numbers, categories, names in words, and many missing values, written as question marks.
    shown = call("train", "old.arff", "-m", "a.model", "--label", "survived")
    table = {line.split("  ")[0]: " ".join(line.split()) for line in shown.stderr.splitlines()}
    for column, said in (
        ("pclass", "number"), ("survived", "the label"), ("name", "one feature per word"), ("sex", "one feature per value"),
        ("home.dest", "words"), ("fare", "scaled to mean 0 and deviation 1"),
    ):  # fmt: skip
        assert said in table[column], column
    missing = {name: float(table[name].split("%")[0].split()[-1]) for name in ("age", "cabin", "boat", "body")}
    assert missing == pytest.approx({"age": 20.1, "cabin": 77.5, "boat": 62.9, "body": 90.8}, abs=8)

    # It is too good to be true, and the reasons say why: the lifeboat is known for those who were saved.
    facts = answer("evaluate", "a.model", "new.arff")
    assert facts["accuracy"] > 0.93
    lines = call("predict", "a.model", "new.arff", "--explain", 1, "--json").stdout.splitlines()
    strongest = [json.loads(line)["reasons"]["features"][0]["name"] for line in lines]
    assert sum(name.startswith("boat") for name in strongest) > 100

    # Without what was known only afterwards.
    shown = call(
        "train", "old.arff", "-m", "b.model", "--label", "survived", "--types", "boat=ignore,body=ignore", "--cv", 3
    )
    assert "boat       -" in shown.stderr
    assert "left out, as its type says" in shown.stderr
    facts = answer("evaluate", "b.model", "new.arff")
    assert facts["majority"] + 0.1 < facts["accuracy"] < 0.9
    assert facts["roc_auc"] > 0.8
    assert facts["log_loss"] < 0.55

    # Names and fares come back as in the file, with the reasons as records.
    call("predict", "b.model", "new.arff", "--keep", "name,fare,age", "-p", "--explain", 3, "-o", "new.parquet")
    found = pd.read_parquet("new.parquet")
    assert found["name"].str.contains(", ").all()
    assert found["fare"].dtype == found["age"].dtype == float
    assert 0.1 < found["age"].isna().mean() < 0.3
    women = found["reasons"].map(lambda reasons: any(part["name"] == "sex=female" for part in reasons["features"]))
    assert (found["label"][women] == "1").mean() > 0.6 > (found["label"] == "1").mean()

    # In Python the same model takes records, and explains a score to the last bit.
    model = rb.load("b.model")
    record = {"name": "Baker, Miss. Ann", "sex": "female", "age": 20.0, "pclass": 1, "fare": 80.0, "embarked": "S",
              "sibsp": 0, "parch": 0, "ticket": "1", "cabin": None, "home.dest": None}  # fmt: skip
    assert model.predict_one(record) == "1"
    assert model.predict_proba_one(record)["1"] > 0.7
    reasons = model.explain(record)
    assert {"sex=female", "pclass"} <= {name for name, value, weight in reasons.features[:6] if value * weight > 0}
    assert math.fsum([reasons.bias, *reasons.products, *reasons.rounding]) == reasons.score


HEADER = ["customerID", "gender", "SeniorCitizen", "since", "Contract", "MonthlyCharges", "TotalCharges", "discount", "note",
          "country", "Churn"]  # fmt: skip


def customers(count, seed, contracts=("Month-to-month", "One year", "Two year")):
    rng = random.Random(seed)
    for n in range(count):
        months, contract = rng.randrange(72), rng.choice(contracts)
        monthly = rng.uniform(18, 118)
        angry = rng.random() < 0.25
        words = ["late", "broken", "refund"] if angry else ["thanks", "fine", "helpful"]
        score = 1.5 * angry + (1.0 if contract == "Month-to-month" else -1.0) - months / 30 + (monthly - 65) / 40
        yield [
            f"{seed}{n:04}-{rng.choice('ABCD')}", rng.choice(["Male", "Female"]), rng.randrange(2),
            f"{1 + n % 28}.{1 + n % 12}.{2024 - months // 12}", contract, f"${monthly:.2f}",
            f"${monthly * months:,.2f}" if months else " ", f"{rng.randrange(30)}%", f"service was {rng.choice(words)} today",
            "US", "Yes" if score + rng.gauss(0, 0.7) > 1.0 else "No",
        ]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("session")
    for name, rows in (
        ("old", list(customers(1500, 1))),
        ("new", list(customers(500, 2, ("Month-to-month", "Two year", "Lifetime")))),
    ):
        with (place / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([HEADER, *rows])
    with (place / "old.csv").open("a") as file:
        file.write("9999,Male\n99998,Male,0,31.2.2024,One year,$1,$1,1%,x,US,No\n")
    return place


def transcript(folder, *arguments, **options):
    """What a command prints, with the options of `call`."""
    return call(*[folder / part if str(part).startswith("./") else part for part in arguments], **options)


@pytest.mark.slow
def test_a_session(folder, monkeypatch):
    monkeypatch.chdir(folder)

    # The file has two broken lines. The error names the first, and what can be done.
    refused = call("train", "old.csv", "-m", "churn.model", code=2)
    assert "old.csv, line 1502: A row must have 11 fields" in refused.stderr

    # They are left out. The column named Churn is the last, so it is the label; the table says how each column is read.
    shown = call("train", "old.csv", "-m", "churn.model", "--on-bad-rows", "skip", "--report", "churn.html", "--cv", 4)
    assert "2 bad rows were left out" in shown.stderr
    table = {line.split("  ")[0]: " ".join(line.split()) for line in shown.stderr.splitlines()}
    for column, said in (
        ("customerID", "left out: an identifier"), ("gender", "category"), ("SeniorCitizen", "number"),
        ("since", "year, month, day, weekday; written day-month-year"), ("Contract", "one feature per value"),
        ("MonthlyCharges", "number $"), ("TotalCharges", "written as $"), ("discount", "number"),
        ("note", "one feature per word"),
        ("Churn", "the label"),
    ):  # fmt: skip
        assert said in table[column], column
    assert "%" in table["TotalCharges"].split("scaled")[0], "the share of blank totals"
    facts = answer("train", "old.csv", "-m", "churn.model", "--on-bad-rows", "skip", "--cv", 4)
    assert (facts["examples"], facts["bad_rows"]) == (1500, 2)
    majority = answer("evaluate", "churn.model", "old.csv", "--on-bad-rows", "skip")["majority"]
    assert min(facts["held_out_accuracy"], facts["cross_validation"]["mean"]) > majority + 0.03

    # New customers have a contract that the model has never seen.
    shown = call("evaluate", "churn.model", "new.csv")
    assert "no effect: column 'Contract' in" in shown.stderr
    assert "'Lifetime'" in shown.stderr
    assert "most frequent label" in shown.stdout
    facts = answer("evaluate", "churn.model", "new.csv")
    assert facts["accuracy"] > facts["majority"]
    assert facts["average_precision"] > 0.6
    assert facts["calibration_error"] < 0.12
    assert {row["label"] for row in facts["per_class"]} == {"Yes", "No"}

    # Which learner? Any line of compare can be pasted; auto takes the best.
    shown = call("compare", "old.csv", "--on-bad-rows", "skip", "--only", "arow", "--only", "pa-i", "--repeats", 2)
    line = next(line for line in shown.stderr.splitlines() if line.strip().startswith("rosenblatt train"))
    call(*shlex.split(line)[1:])
    assert rb.load("best.model").n_iter_ == 1
    chosen = answer("train", "old.csv", "-m", "auto.model", "--on-bad-rows", "skip", "-a", "auto")["chosen"]
    assert chosen["mistakes"] < 1 - majority

    # A missed customer costs twenty times a needless call. Ids come back, with the reasons.
    options = ["--keep", "customerID", "--probabilities", "--cost", "1,20", "--explain", 2, "-o", "calls.csv"]
    call("predict", "churn.model", "new.csv", *options)
    calls = pd.read_csv("calls.csv", dtype={"customerID": str})
    new = pd.read_csv("new.csv", dtype={"customerID": str}, keep_default_na=False)
    assert calls["customerID"].tolist() == new["customerID"].tolist()
    assert ((calls["label"] == "Yes") == (calls["probability of Yes"] >= 1 / 21)).all()
    recall = ((calls["label"] == "Yes") & (new["Churn"] == "Yes")).sum() / (new["Churn"] == "Yes").sum()
    assert recall > 0.95
    assert calls["reasons"].str.contains("since.|note:|Contract=|Charges").mean() > 0.9

    # In Python the same model takes frames, and explains a score to the last bit.
    model = rb.load("churn.model")
    assert np.allclose(model.predict_proba(new)[:, 1], calls["probability of Yes"], atol=1e-8)
    record = new.iloc[0].to_dict()
    reasons = model.explain(record)
    assert math.fsum([reasons.bias, *reasons.products, *reasons.rounding]) == reasons.score
    assert reasons.label == model.predict(new)[0]
    assert reasons.score == pytest.approx(abs(model.decision_function(new)[0]), rel=1e-12)

    # What it has learned, and from what.
    shown = call("inspect", "churn.model", "--top", 20).stdout
    assert "note:refund" in shown
    assert "Contract=Month-to-month" in shown
    assert "old.csv" in shown
    page = (folder / "churn.html").read_text()
    reasons = page.partition("<h3>Right: example")[2].partition("<h2>")[0]
    assert "note:" in reasons
    assert "Contract=" in reasons
    assert "column 1" not in reasons
    for part in (
        "Bad rows",
        "4 parts",
        "customerID",
        "left out: an identifier",
        "<h3>Wrong: example",
        "reliability",
        "predicted from here on",
    ):
        assert part in page
    assert json.loads(call("inspect", "churn.model", "--json").stdout)
