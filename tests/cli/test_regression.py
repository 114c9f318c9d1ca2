"""`--regression`: real targets on the command line."""

import json
import math
import re
import shlex

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

import rosenblatt as rb
from rosenblatt.experiments.comparison import REGRESSORS, compare
from rosenblatt.training.regression import Course, Errors
from tests.cli.helpers import answer, call


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Houses: an id, numbers with gaps, a category, and a price in the hundred thousands."""
    place = tmp_path_factory.mktemp("regression")
    rng = np.random.default_rng(0)
    n = 900
    income, age, kind = rng.lognormal(1.2, 0.5, n), rng.uniform(1, 52, n), rng.choice(["flat", "house", "hut"], n)
    bonus = np.select([kind == "flat", kind == "house"], [0.3, 0.8], 0.0)
    price = 1e5 * (2 + 0.43 * income + 0.01 * age + bonus + rng.normal(0, 0.3, n))
    lines = [
        f"h{i},{'' if i % 17 == 0 else f'{income[i]:.4f}'},{age[i]:.1f},{kind[i]},{'' if i == 5 else f'{price[i]:.2f}'}"
        for i in range(n)
    ]
    for name, part in (("train", lines[:700]), ("test", lines[700:])):
        (place / f"{name}.csv").write_text("\n".join(["id,income,age,kind,price", *part]) + "\n")
    call("train", place / "train.csv", "-m", place / "a.model", "--regression", "--report", place / "a.html")
    return place


def baseline(folder):
    """R² of least squares on the same columns."""
    tables = []
    for name in ("train", "test"):
        rows = [line.split(",") for line in (folder / f"{name}.csv").read_text().splitlines()[1:]]
        rows = [row for row in rows if row[-1]]
        X = [[float(r[1] or "nan"), float(r[2]), *(float(r[3] == k) for k in ("flat", "house"))] for r in rows]
        tables.append((np.array(X), np.array([float(row[-1]) for row in rows])))
    middle = np.nanmean(tables[0][0], axis=0)
    (X, y), (Z, z) = ((np.where(np.isnan(A), middle, A), b) for A, b in tables)
    return LinearRegression().fit(X, y).score(Z, z)


def test_a_quantity_is_named_with_the_option_that_learns_it(folder):
    message = call("train", folder / "train.csv", "-m", folder / "no.model", code=2).stderr
    assert "different fractions" in message
    assert "--regression" in message
    assert not (folder / "no.model").exists()


def test_prices_are_learned_as_well_as_by_least_squares(folder):
    facts = answer("evaluate", folder / "a.model", folder / "test.csv")
    assert facts["r2"] > baseline(folder) - 0.01
    assert facts["examples"] == 200
    assert facts["rmse"] < 0.7 * facts["mean_rmse"]
    assert facts["mae"] < 0.7 * facts["median_mae"]
    text = call("evaluate", folder / "a.model", folder / "test.csv").stdout
    assert f"R²         {facts['r2']:.4f}" in text
    assert "where the median of the targets would give" in text


@pytest.mark.parametrize("algorithm", ["passive-aggressive", "PassiveAggressiveRegressor", "arow"])
def test_learners_are_named_as_for_classes(folder, algorithm):
    facts = answer("train", folder / "train.csv", "-m", folder / "b.model", "-l", "price", "--regression", "-a", algorithm,
                   "--test", folder / "test.csv")  # fmt: skip
    assert facts["algorithm"] == ("AROWRegressor" if algorithm == "arow" else "PassiveAggressiveRegressor")
    assert facts["test"]["r2"] > baseline(folder) - 0.05
    assert facts["unlabelled"] == 1
    assert "classes" not in facts


def test_predictions_are_those_of_python_bit_for_bit(folder):
    model = rb.load(folder / "a.model")
    lines = call("predict", folder / "a.model", folder / "test.csv").stdout.split()
    frame = pd.read_csv(folder / "test.csv")
    assert [float(line) for line in lines] == pytest.approx(model.predict(frame).tolist(), rel=1e-8)
    rows = [
        json.loads(line)
        for line in call("predict", folder / "a.model", folder / "test.csv", "--json").stdout.splitlines()
    ]
    assert [row["prediction"] for row in rows] == model.predict(frame).tolist()
    record = frame.iloc[3].to_dict()
    assert model.predict_one(record) == model.predict(frame)[3]
    found = model.explain(record)
    assert found.label is None
    assert found.score == model.predict_one(record)
    assert math.fsum([found.bias, *found.products, *found.rounding]) == found.score
    assert str(found).startswith("prediction ")
    kept = call("predict", folder / "a.model", folder / "test.csv", "--keep", "id", "--explain", 1).stdout.splitlines()
    assert kept[0] == "id\tprediction\treasons"
    assert re.fullmatch(r"h700\t[\d.]+\t[\w=]+ [-\d.]+ × \S+ = \S+; others \S+; bias \S+", kept[1])


@pytest.mark.parametrize(
    "arguments", [["--scores"], ["--probabilities"], ["--top", 2], ["--threshold", 0.5], ["--cost", "1,2"]], ids=str
)
def test_options_of_classes_are_refused(folder, arguments):
    message = call("predict", folder / "a.model", folder / "test.csv", *arguments, code=2).stderr
    assert "has no meaning for a regression" in message
    assert (
        "--roc has no meaning"
        in call("evaluate", folder / "a.model", folder / "test.csv", "--roc", "x.png", code=2).stderr
    )
    train = ["train", folder / "train.csv", "-m", folder / "no.model", "--regression"]
    for options in (["--classes", "a,b"], ["--positive", "a"], ["--dask", "local"]):
        assert "has no meaning" in call(*train, *options, code=2).stderr


def test_a_text_is_no_target(folder):
    message = call(
        "train", folder / "train.csv", "-m", folder / "no.model", "-l", "kind", "--regression", code=2
    ).stderr
    assert "must be a column of numbers; 'kind' holds text" in message


def test_training_goes_on_where_it_stopped(folder):
    options = ["--regression", "--holdout", 0, "--no-shuffle"]
    call("train", folder / "train.csv", "-m", folder / "three.model", *options, "--epochs", 3)
    call("train", folder / "train.csv", "-m", folder / "two.model", *options, "--epochs", 2)
    call("train", folder / "train.csv", "-m", folder / "two.model", "--resume", "--epochs", 3)
    three, two = (rb.load(folder / f"{name}.model") for name in ("three", "two"))
    assert np.array_equal(three.coef_, two.coef_)
    assert three.intercept_ == two.intercept_


def test_without_scaling_the_command_gives_the_bits_of_fit(folder):
    X, y = np.random.default_rng(0).normal(size=(300, 3)), np.arange(300) / 7
    (folder / "x.svm").write_text("".join(
        f"{t!r} {' '.join(f'{j}:{v!r}' for j, v in enumerate(x))}\n" for x, t in zip(X.tolist(), y.tolist(), strict=True)
    ))  # fmt: skip
    call("train", folder / "x.svm", "-m", folder / "x.model", "--regression", "--no-standardize", "--epochs", 3, "-a", "arow",
         "--set", "tol=None")  # fmt: skip
    fitted = rb.AROWRegressor(max_iter=3, tol=None).fit(X, y)
    loaded = rb.load(folder / "x.model")
    assert np.array_equal(loaded.coef_, fitted.coef_)
    assert loaded.intercept_ == fitted.intercept_


@pytest.mark.parametrize("delay", [0, 5])
def test_a_stream_predicts_before_it_learns(folder, delay):
    facts = answer("stream", folder / "train.csv", "--regression", "-m", folder / f"s{delay}.model", "--delay", delay,
                   "-o", folder / "s.txt")  # fmt: skip
    assert facts["examples"] == 699
    assert facts["r2"] > 0
    assert facts["curve"][0]["examples"] == 1
    assert len((folder / "s.txt").read_text().splitlines()) == 700
    again = answer("stream", folder / "test.csv", "-m", folder / f"s{delay}.model")
    assert again["rmse"] < facts["rmse"]
    if not delay:
        table = call("stream", folder / "train.csv", "--regression").stdout
        assert "RMSE" in table


def test_the_report(folder):
    page = (folder / "a.html").read_text()
    assert "R²" in page
    assert page.count("<svg") >= 3
    assert "where the mean of the targets would give" in page
    assert "prediction " in page
    text = call("inspect", folder / "a.model").stdout
    assert "for larger targets" in text
    assert "kind=house" in text


def test_comparison_of_learners(folder):
    facts = answer(
        "compare", folder / "train.csv", "--regression", "-n", 2, "--label", "price", "--plot", folder / "c.png"
    )
    means = {standing["name"]: standing["mean"] for standing in facts["standings"]}
    assert set(means) == {"PA", "PA-I", "PA-II", "AROW", "AROW, full", "mean of the targets"}
    assert means["AROW, full"] < 0.7 * means["mean of the targets"]
    assert list(means.values()) == sorted(means.values())
    best = facts["standings"][0]["command"].replace("best.model", str(folder / "best.model"))
    call(*shlex.split(best)[1:])
    assert answer("evaluate", folder / "best.model", folder / "test.csv")["r2"] > baseline(folder) - 0.05
    shown = call("compare", folder / "train.csv", "--regression", "-n", 1, "--label", "price", "--only", "arow")
    assert "absolute error" in shown.stdout
    assert "errors before learning" in shown.stderr


def test_the_absolute_error_of_a_comparison_is_that_of_progressive_validation():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = 1000 * (X @ [1.0, 2.0, 3.0] + rng.normal(size=60) + 5)
    only = [one for one in REGRESSORS if one.name == "PA"]
    found = compare(X, y, regression=True, shuffle=False, prefix=0.5, contenders=only)
    model = rb.PassiveAggressiveRegressor(variant="PA", epsilon=0.0)
    center, unit = y[:30].mean(), y[:30].std()
    scaled = (y - center) / unit
    errors = [abs(model.learn_one(x, target) - target) for x, target in zip(X, scaled, strict=True)][30:]
    rates = {standing.name: standing.rates[0] for standing in found.standings}
    assert rates["PA"] == pytest.approx(unit * np.mean(errors), rel=1e-9)
    means = [y[:k].mean() for k in range(30, 60)]
    assert rates["mean of the targets"] == pytest.approx(np.abs(y[30:] - means).mean())


def test_measures_of_errors():
    errors = Errors(np.array([1.0, 2.0, 6.0]), np.array([1.0, 4.0, 5.0]))
    assert errors.mae == 1.0
    assert errors.rmse == pytest.approx(math.sqrt(5 / 3))
    assert errors.r2 == pytest.approx(1 - 5 / 14)
    assert errors.median_mae == pytest.approx(5 / 3)
    assert Errors(np.ones(3), np.zeros(3)).r2 is None
    course = Course()
    for truth, guess in zip(errors.targets, errors.predictions, strict=True):
        course.add(truth, guess)
    assert course.finish()
    assert (course.mae, course.rmse) == (errors.mae, errors.rmse)
    assert course.r2 == pytest.approx(errors.r2)
    assert [count for count, _, _ in course.curve] == [1, 2, 3]


@pytest.mark.parametrize("options", [[], ["--epochs", 4], ["-a", "passive-aggressive", "--no-standardize"]], ids=str)
def test_cross_validation_of_a_regression(tmp_path, options):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = 100 + 20 * X[:, 0] - 5 * X[:, 1] + rng.normal(size=400) * 10
    pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "price": y}).to_csv(tmp_path / "a.csv", index=False)
    arguments = ["train", tmp_path / "a.csv", "-m", tmp_path / "m", "--regression", *options, "--cv", 4]
    facts = answer(*arguments)
    folds = facts["cross_validation"]["folds"]
    best = 1 - 100 / (100 + 425)
    assert len(folds) == 4
    assert all(best - 0.15 < fold < best + 0.1 for fold in folds)
    assert facts["cross_validation"]["mean"] == pytest.approx(np.mean(folds))
    if not options:
        shown = call(*arguments, "--report", tmp_path / "a.html").stdout
        assert f"4 parts    R² {np.mean(folds):.4f} ± {np.std(folds):.4f}, each part by a model" in shown
        assert "4 parts" in (tmp_path / "a.html").read_text()
