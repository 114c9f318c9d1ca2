"""Rows that cannot be read are errors, or are left out and counted."""

import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import rosenblatt as rb
from rosenblatt.data import BadData, open_stream, read
from tests.cli.helpers import answer, call

GOOD = ["2024-01-05,$1.50,3,1,red,0", "2024-02-06,$2.50,4,2,blue,1"]
BAD = {
    "2024-01-05,$1.50,3,1,red": "6 fields",
    "2024-02-30,$1.50,3,1,red,0": "dates",
    "2024-01-05,1.5.0,3,1,red,0": "1,234.5",
    "2024-01-05,$1.50,x,1,red,0": "'x'",
    "2024-01-05,$1.50,3,-1,red,0": "weight",
    "2024-01-05,$1.50,3,,red,0": "an empty field",
    "2024-01-05,$1.50,3,1,red,NA": "label",
    '"2024\n-01",$1.50,3,1,red,0': "dates",
    "2024-01-05,$1.50,3,1,\ufffdred,0,,": "6 fields",
}


def csv_with(path, bad, count=3000):
    rows = (GOOD * (count // 2))[:count]
    for number, row in bad.items():
        rows[number] = row
    path.write_text("on,price,x,w,colour,label\n" + "\n".join(rows) + "\n")
    return path


@pytest.mark.parametrize("row", BAD)
def test_a_bad_row_is_an_error_or_left_out(tmp_path, row):
    path = csv_with(tmp_path / "a.csv", {10_000: row}, 20_000)
    with pytest.raises(BadData, match=BAD[row]) as error:
        list(open_stream(path, weight="w"))
    assert error.value.line == 10_002
    stream = open_stream(path, weight="w", on_bad_rows="skip")
    assert sum(batch.size for batch in stream) == 19_999
    assert stream.bad_rows.count == 1
    assert f"{path}, line 10002: " in stream.bad_rows.describe()
    assert BAD[row] in stream.bad_rows.describe()


def test_many_bad_rows_leave_what_a_clean_file_gives(tmp_path):
    """With small blocks, threads, and rows of several lines; the lines that are named are those of the file."""
    rng = np.random.default_rng(0)
    places = np.sort(rng.choice(np.arange(10_000, 13_000), 400, replace=False))
    rows = {int(place): list(BAD)[n % len(BAD)] for n, place in enumerate(places)}
    path = csv_with(tmp_path / "a.csv", rows, 13_000)
    lines = path.read_text().split("\n")
    clean = tmp_path / "b.csv"
    dropped = csv_with(clean, {}, 13_000).read_text().splitlines()
    clean.write_text("\n".join(line for n, line in enumerate(dropped) if n - 1 not in rows) + "\n")
    expected, labels = read(clean, weight="w")
    for size in (1 << 11, 1 << 20):
        stream = open_stream(path, weight="w", on_bad_rows="skip", batch_bytes=size)
        assert sum(batch.size for batch in stream) == 12_600
        assert stream.bad_rows.count == 400
        found = [error.line for error in stream.bad_rows.first]
        heights = np.array([row.count("\n") for row in rows.values()])
        assert found == [int(p) + 2 + int(heights[:n].sum()) for n, p in enumerate(places[:5])]
        assert all(lines[line - 1] in row for line, row in zip(found, rows.values(), strict=False))
        with pytest.warns(UserWarning, match="400 bad rows were left out; the first: "):
            X, y = read(path, weight="w", on_bad_rows="skip", batch_bytes=size)
        assert np.array_equal(X.toarray(), expected.toarray())
        assert np.array_equal(y, labels)


def test_every_format_leaves_them_out(tmp_path):
    svm, vw, records = [], [], []
    for n in range(1000):
        svm.append(f"{n % 2} 1:{n} 2:x" if n % 100 == 7 else f"{n % 2} 1:{n}")
        vw.append(f"{n % 2} | :3" if n % 100 == 7 else f"{n % 2} | a:{n}")
        records.append('{"x": 1' if n % 500 == 7 else json.dumps({"x": n if n % 500 != 8 else "y", "label": n % 2}))
    for name, lines, bad in (
        ("a.svm", svm, 10),
        ("a.vw", vw, 10),
        ("a.jsonl", ['{"x": 1, "label": 0}'] * 20_000 + records, 4),
    ):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
        with pytest.raises(BadData):
            list(open_stream(tmp_path / name))
        stream = open_stream(tmp_path / name, on_bad_rows="skip", types={"x": "number"} if name == "a.jsonl" else None)
        assert sum(batch.size for batch in stream) == len(lines) - bad
        assert stream.bad_rows.count == bad
        assert stream.bad_rows.first[1].line == len(lines) - 1000 + (9 if bad == 4 else 108)
    days = ["2024-01-01"] * 2000
    days[1500] = "someday"
    parquet.write_table(pa.table({"on": days, "label": [0, 1] * 1000}), tmp_path / "a.parquet")
    stream = open_stream(tmp_path / "a.parquet", on_bad_rows="skip")
    assert sum(batch.size for batch in stream) == 1999
    assert stream.bad_rows.first[0].line == 1501


def test_a_block_of_bad_rows_only(tmp_path):
    path = tmp_path / "a.svm"
    path.write_text("1 1:1\n" * 100 + "1 1:x\n" * 500 + "0 1:1\n" * 100)
    stream = open_stream(path, on_bad_rows="skip", batch_bytes=64)
    assert sum(batch.size for batch in stream) == 200
    assert stream.bad_rows.count == 500
    path.write_text("1 1:x\n" * 500)
    with pytest.raises(BadData, match="at least one example"):
        list(open_stream(path, on_bad_rows="skip"))
    with pytest.raises(ValueError, match="stop or skip"):
        open_stream(path, on_bad_rows="warn")


def test_the_command_line_counts_them(tmp_path):
    bad = dict.fromkeys(range(10000, 20000, 1000), "2024-01-05,$1.50,x,1,red,0")
    path, model = csv_with(tmp_path / "a.csv", bad, 20_000), tmp_path / "a.model"
    options = ["-m", model, "--weight", "w", "--epochs", 2]
    assert "line 10002: Column 'x' must hold" in call("train", path, *options, code=2).stderr
    skip = ["--on-bad-rows", "skip"]
    facts = answer("train", path, *options, *skip)
    assert (facts["examples"], facts["bad_rows"]) == (19_990, 10)
    warning = f"10 bad rows were left out; the first: {path}, line 10002"
    assert warning in call("train", path, *options, *skip).stderr
    assert rb.load(model).n_iter_ == 2
    shown = call("predict", model, path, *skip)
    assert warning in shown.stderr
    assert len(shown.stdout.splitlines()) == 19_990
    assert warning in call("evaluate", model, path, *skip).stderr
    assert answer("evaluate", model, path, *skip)["bad_rows"] == 10
    assert warning in call("stream", path, *skip).stderr
    compared = call("compare", path, "--only", "perceptron", "--repeats", 1, *skip).stderr
    assert warning in compared
    assert "--on-bad-rows skip" in compared.partition("To train")[2]
    assert "--dask" in call("train", path, *options, *skip, "--dask", "local", code=2).stderr


def test_a_column_that_is_almost_numbers_is_pointed_out(tmp_path):
    rows = [f"{n if n % 50 else 'unknown'},{n % 2}" for n in range(200)]
    (tmp_path / "a.csv").write_text("x,label\n" + "\n".join(rows) + "\n")
    assert (
        "98.0% are numbers, but not 'unknown': if this means a missing value, give --na unknown"
        in open_stream(tmp_path / "a.csv").describe()
    )
    assert open_stream(tmp_path / "a.csv", na=["unknown"]).encoder.sources == {"x": "number"}


def test_a_bad_row_among_the_first_does_not_change_what_a_column_is(tmp_path):
    rows = GOOD * 30
    rows[2], rows[9], rows[20] = list(BAD)[1], list(BAD)[2], list(BAD)[3]
    (tmp_path / "a.csv").write_text("on,price,x,w,colour,label\n" + "\n".join(rows) + "\n")
    kinds = {"on": "date", "price": "number", "x": "number", "colour": "category"}
    stream = open_stream(tmp_path / "a.csv", weight="w", on_bad_rows="skip")
    assert stream.encoder.sources == kinds
    assert sum(batch.size for batch in stream) == 57
    assert stream.bad_rows.count == 3
    assert "category" in open_stream(tmp_path / "a.csv", weight="w").encoder.sources["on"]
    rows[20:26] = [list(BAD)[3]] * 6
    (tmp_path / "a.csv").write_text("on,price,x,w,colour,label\n" + "\n".join(rows) + "\n")
    assert open_stream(tmp_path / "a.csv", weight="w", on_bad_rows="skip").encoder.sources["x"] == "category"
