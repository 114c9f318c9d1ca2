"""Columns as people write them: dates, amounts of money, percentages, separated thousands; and what is said about each."""

import json
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from rosenblatt.data import BadData, Encoder, open_stream, read
from rosenblatt.data.dates import ORDERS, Form, NotADate, date_form, date_parts, is_date
from rosenblatt.data.frames import encode
from rosenblatt.data.quantities import NotANumber, notation, quantities, quantity

AMOUNTS = [
    ("$5", 5.0, 5.0), ("-$5", -5.0, -5.0), ("$ -5", -5.0, -5.0), ("5 USD", 5.0, 5.0), ("€ 1.234,5", None, 1234.5),
    ("1,234.50", 1234.5, None), ("1,234,567", 1234567.0, None), ("3%", 0.03, 0.03), ("2.5 %", 0.025, None),
    ("(5.25)", -5.25, None),
    ("1 234 567", 1234567.0, 1234567.0), ("12,5", None, 12.5), ("1.234", 1.234, 1234.0), ("1e3", 1000.0, 1000.0),
    ("abc", None, None),
    ("1,2,3", None, None), ("1.2.3", None, None), ("(5", None, None), ("$", None, None), ("12,34.5", None, None),
    ("5-7", None, None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "point", "comma"), AMOUNTS)
def test_amounts(text, point, comma):
    for mark, expected in ((".", point), (",", comma)):
        if expected is None:
            with pytest.raises(ValueError, match=re.escape(text)):
                quantity(text, mark)
            with pytest.raises(NotANumber) as error:
                quantities(pa.array([None, text]), mark)
            assert (error.value.row, error.value.text) == (1, text)
        else:
            assert quantity(text, mark) == expected
            assert quantities(pa.array([text, None]), mark).to_pylist() == [expected, None]


def test_the_decimal_mark_is_that_of_all_values():
    assert notation(["1,234", "12.5"]) == "."
    assert notation(["1.234", "12,5"]) == ","
    assert notation(["1,234", "5,678"]) == "."
    assert notation(["1,234", "5,678"], ",") == ","
    assert notation(["1,234.5", "1.234,5"]) is None


@pytest.mark.parametrize(
    ("texts", "form", "expected"),
    [
        (["2020-01-05", "2021-12-31"], Form("ymd", True, False), {"year": 2020, "month": "1", "day": 5, "weekday": "Sun"}),
        (["2020-1-5T13:07:00.5Z"], Form("ymd", True, True),
         {"year": 2020, "month": "1", "day": 5, "weekday": "Sun", "hour": "13"}),
        (["2015-02-24 11:35:52 -0800"], Form("ymd", True, True),
         {"year": 2015, "month": "2", "day": 24, "weekday": "Tue", "hour": "11"}),
        (["2020-01-05 00:00:00"], Form("ymd", True, False), {"year": 2020, "month": "1", "day": 5, "weekday": "Sun"}),
        (["2020-03"], Form("ymd", False, False), {"year": 2020, "month": "3"}),
        (["5.1.2020"], Form("dmy", True, False), {"year": 2020, "month": "1", "day": 5, "weekday": "Sun"}),
        (["1/5/2020", "2/5/2020"], Form("mdy", True, False), {"year": 2020, "month": "1", "day": 5, "weekday": "Sun"}),
        (["1/5/2020", "31/5/2020"], Form("dmy", True, False), {"year": 2020, "month": "5", "day": 1, "weekday": "Fri"}),
        (["1/5/20"], Form("mdy", True, False), {"year": 2020, "month": "1", "day": 5, "weekday": "Sun"}),
        (["1/5/99"], Form("mdy", True, False), {"year": 1999, "month": "1", "day": 5, "weekday": "Tue"}),
        (["Thu, 19 Nov 2026 03:31:57 +0000"], Form("dmy", True, True),
         {"year": 2026, "month": "11", "day": 19, "weekday": "Thu", "hour": "3"}),
        (["January 5, 2020"], Form("mdy", True, False), {"year": 2020, "month": "1", "day": 5, "weekday": "Sun"}),
        (["3:00 pm", "12:10 AM"], Form("time", False, True), {"hour": "15"}),
    ],
)  # fmt: skip
def test_dates(texts, form, expected):
    found = date_form(texts)
    assert (found.order, found.parts) == (form.order, form.parts)
    parts = date_parts(pa.array([*texts, None], pa.string()), found)
    assert {name: parts[name][0].as_py() for name in found.parts} == expected
    assert all(column[len(texts)].as_py() is None for column in parts.values())
    assert all(is_date(text, found.order) for text in texts)


@pytest.mark.parametrize(
    "texts", [["2020-02-30"], ["31/31/2020"], ["1.2.3"], ["10.5"], ["25:00"], ["soon"], ["2020-01-01", "x"], []]
)
def test_no_dates(texts):
    assert date_form(texts) is None
    assert not any(is_date(text, order) for text in texts[:1] for order in ORDERS if texts != ["2020-01-01", "x"])


def test_weekdays_and_lengths_of_months_agree_with_pandas():
    days = pd.date_range("1896-02-25", "2104-03-05", freq="1711h")
    parts = date_parts(pa.array(days.strftime("%Y-%m-%d %H:%M").to_list()), Form("ymd", True, True))
    assert parts["weekday"].to_pylist() == [name[:3] for name in days.day_name()]
    for part in ("year", "month", "day", "hour"):
        assert [int(value) for value in parts[part].to_pylist()] == getattr(days, part).to_list()
    with pytest.raises(NotADate) as error:
        date_parts(pa.array(["2100-02-28", None, "2100-02-29"]), Form("ymd", True, True))
    assert (error.value.row, error.value.text) == (2, "2100-02-29")


ROWS = [
    ["2024-03-01 09:30", "$1,200.50", "10%", "red", "yes"], ["2024-04-15 14:00", "", "3.5 %", "blue", "no"],
    ["", "$80", "0%", "red", "yes"], ["2025-12-31 23:59", "-$3", " 7%", "green", "no"],
]  # fmt: skip
NAMES = ["when", "price", "share", "colour", "label"]


@pytest.fixture
def path(tmp_path):
    frame = pd.DataFrame(ROWS * 6, columns=NAMES)
    frame.to_csv(tmp_path / "a.csv", index=False)
    return tmp_path / "a.csv"


def test_every_format_gives_the_same_features(path, tmp_path):
    """CSV, JSON lines, Parquet with texts, and frames with texts or with dates and numbers of their own type."""
    stream = open_stream(path)
    assert stream.encoder.sources == {
        "when": "date",
        "price": "number",
        "share": "number",
        "colour": "category",
    }
    X = read(path)[0].toarray()
    row = dict(zip(stream_names(stream), X[0]))
    assert row["when.year"] == 2024
    assert row["when.month=3"] == row["when.hour=9"] == row["when.weekday=Fri"] == 1
    assert (row["price"], row["share"]) == (1200.5, 0.1)
    texts = pd.DataFrame(ROWS * 6, columns=NAMES)
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(record) + "\n" for record in texts.to_dict("records")))
    parquet.write_table(pa.Table.from_pandas(texts), tmp_path / "a.parquet")
    for other in ("a.jsonl", "a.parquet"):
        assert np.array_equal(read(tmp_path / other)[0].toarray(), X), other
    encoder = Encoder.from_json(json.loads(json.dumps(stream.encoder.to_json())))
    encoder.freeze()
    typed = texts.assign(
        when=pd.to_datetime(texts["when"].replace("", None)),
        price=pd.to_numeric(texts["price"].str.replace(r"[$,]", "", regex=True)),
        share=pd.to_numeric(texts["share"].str.replace("%", "")) / 100,
    )
    for frame in (texts, typed, pl.from_pandas(typed), texts.to_dict("records")):
        assert np.allclose(encode(frame, encoder, encoder.n_features).as_scipy().toarray(), X, rtol=1e-15, atol=0)
    typed.to_parquet(tmp_path / "typed.parquet")
    assert open_stream(tmp_path / "typed.parquet").encoder.sources["when"] == "date"
    assert np.allclose(read(tmp_path / "typed.parquet", encoder=encoder)[0].toarray(), X, rtol=1e-15, atol=0)


def stream_names(stream):
    list(stream)
    return stream.encoder.names()


@pytest.mark.parametrize(
    ("column", "text", "message"),
    [(0, "yesterday", "dates written year-month-day"), (0, "2024-02-30", "dates"), (1, "1.200,50", "as in 1,234.5")],
)
def test_a_wrong_cell_is_named_with_its_line(tmp_path, column, text, message):
    rows = [list(row) for row in ROWS * 6000]
    rows[20_001][column] = text
    pd.DataFrame(rows, columns=NAMES).to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(BadData) as error:
        list(open_stream(tmp_path / "a.csv"))
    assert f"line 20003: Column {NAMES[column]!r}" in str(error.value)
    assert message in str(error.value)
    assert text in str(error.value)


def test_types_say_the_order_of_day_and_month(tmp_path):
    pd.DataFrame({"on": ["1/5/2020", "2/6/2020"] * 9, "label": ["a", "b"] * 9}).to_csv(tmp_path / "a.csv", index=False)
    for order, month in (("mdy", "1"), ("dmy", "5")):
        stream = open_stream(tmp_path / "a.csv", types={"on": f"date:{order}"})
        assert f"on.month={month}" in stream_names(stream)
    assert "on.month=1" in stream_names(open_stream(tmp_path / "a.csv", types={"on": "date"}))
    assert open_stream(tmp_path / "a.csv", types={"on": "category"}).encoder.sources == {"on": "category"}
    with pytest.raises(BadData, match="must hold dates such as"):
        open_stream(tmp_path / "a.csv", types={"label": "number", "on": "date:ymd"}, label="label")
    with pytest.raises(BadData, match="date:dmy"):
        open_stream(tmp_path / "a.csv", types={"on": "date:dym"})


def test_labels_are_never_dates_or_amounts(tmp_path):
    rows = [f"{n},{'$5' if n % 2 else '$6'}" for n in range(40)]
    (tmp_path / "a.csv").write_text("x,label\n" + "\n".join(rows) + "\n")
    assert set(read(tmp_path / "a.csv")[1]) == {"$5", "$6"}


def test_a_decimal_comma_between_semicolons(tmp_path):
    (tmp_path / "a.csv").write_text("x;label\n" + "1,234;a\n2,500;b\n" * 5)
    assert read(tmp_path / "a.csv")[0][:2, 0].tolist() == [1.234, 2.5]
    (tmp_path / "b.csv").write_text("x,label\n" + '"1,234",a\n"2,500",b\n' * 5)
    assert read(tmp_path / "b.csv")[0][:2, 0].tolist() == [1234, 2500]


def test_categories_that_the_model_does_not_know_are_counted(path, tmp_path):
    encoder = open_stream(path).encoder
    list(open_stream(path, encoder=encoder))
    encoder.freeze()
    other = pd.DataFrame(ROWS, columns=NAMES).assign(colour=["red", "pink", " pink ", "grey"])
    other.to_csv(tmp_path / "b.csv", index=False)
    stream = open_stream(tmp_path / "b.csv", encoder=encoder)
    list(stream)
    assert stream.unseen == {"colour": {"pink": 2, "grey": 1}}
    again = open_stream(path, encoder=encoder)
    list(again)
    assert again.unseen == {}


def test_the_table_of_columns(path):
    lines = open_stream(path, standardize=True, types={"share": "ignore"}).describe().splitlines()
    table = [line.split("  ") for line in lines[3:]]
    cells = [[cell.strip() for cell in row if cell] for row in table]
    assert cells[0] == ["column", "kind", "example", "missing", "use"]
    assert cells[1:] == [
        ["when", "date", "2024-03-01 09:30", "25.0%", "year, month, day, weekday, hour; written year-month-day"],
        ["price", "number", "$1,200.50", "25.0%", "scaled to mean 0 and deviation 1; written as $1,200.50"],
        ["share", "-", "10%", "-", "left out, as its type says"],
        ["colour", "category", "red", "-", "one feature per value"],
        ["label", "label", "yes", "-", "the label"],
    ]


def test_a_wide_table_is_shortened(tmp_path):
    frame = pd.DataFrame({f"x{n}": [n, n + 1] * 12 for n in range(60)}).assign(label=["a", "b"] * 12)
    frame.to_csv(tmp_path / "a.csv", index=False)
    lines = open_stream(tmp_path / "a.csv").describe().splitlines()
    assert len(lines) == 3 + 1 + 25 + 1 + 1
    assert lines[-2].startswith("label")
    assert lines[-1] == "… and 35 more of kind number"
