"""Pasted tables: columns, labels, projections, and errors."""

import numpy as np
import pytest

from rosenblatt.lab.requests import RequestError, answer

FLOWERS = "length,width,depth,kind\n1,2,0,rose\n2,1,1,lily\n3,5,1,rose\n4,2,0,lily\n"


def read(text, **wish):
    return answer("csv", {"text": text, **wish})


def test_header_and_words():
    found = read(FLOWERS)
    assert found["columns"] == ["length", "width", "depth", "kind"]
    assert found["numeric"] == ["length", "width", "depth"]
    assert (found["label"], found["chosen"]) == ("kind", ["length", "width"])
    assert found["X"] == [[1, 2], [2, 1], [3, 5], [4, 2]]
    assert found["y"] == ["rose", "lily", "rose", "lily"]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_separators_line_ends_and_byte_order_marks(separator, end):
    text = "\ufeff" + separator.join(["1", "2", "1"]) + end + separator.join(["2", "1", "-1"]) + end
    found = read(text)
    assert (found["X"], found["y"], found["columns"]) == ([[1, 2], [2, 1]], [1, -1], ["x1", "x2", "y"])


def test_columns_can_be_chosen():
    found = read(FLOWERS, columns=["depth", "length"])
    assert (found["X"][1], found["features"]) == ([1, 2], ["depth", "length"])
    assert read(FLOWERS, label="depth")["y"] == [0, 1, 1, 0]
    assert read(FLOWERS, columns=["length", "width", "depth"])["X"][2] == [3, 5, 1]


def test_a_projection_has_the_main_directions():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(30, 1)) @ [[1, 2, -1]] + 0.01 * rng.normal(size=(30, 3))
    text = "\n".join(",".join(map(str, [*row, k % 2])) for k, row in enumerate(points))
    found = read(text, projection=True)
    spread = np.std(found["X"], axis=0)
    assert np.shape(found["X"]) == (30, 2)
    assert spread[0] == pytest.approx(np.sqrt(3), rel=1e-3)
    assert spread[1] < 0.05


def test_rows_with_a_missing_value_are_left_out():
    found = read(FLOWERS + "5,,1,rose\n6,1,,rose\n")
    assert (len(found["X"]), found["skipped"]) == (5, 1)
    assert read(FLOWERS + "5,NA,1,rose\n\n,,,\n6,1,?,rose\n") == found


def test_a_column_with_an_infinite_number_is_not_offered():
    assert read(FLOWERS + "5,inf,1,rose\n")["numeric"] == ["length", "depth"]
    assert read(FLOWERS + "5,1e999,1,rose\n")["chosen"] == ["length", "depth"]


@pytest.mark.parametrize(
    ("text", "wish", "words"),
    [
        ("", {}, "at least one line"),
        ("   \n", {}, "at least one line"),
        (None, {}, "at least one line"),
        ("only words", {}, "at least two columns"),
        ("a,b,c\n1,2,x\n1,2\n", {}, "line 3: A row must have 3 fields"),
        ('a,b,c\n1,2,x\n1,"2,x\n', {}, "line 3: A row must have 3 fields"),
        ("a,a,c\n1,2,x\n", {}, "'a' occurs twice"),
        ("a,b,c\nx,y,z\n", {}, "between 1 and 200 columns of numbers"),
        ("a,b,c\n1,,z\n", {"columns": ["b"]}, "'b' does not"),
        ("\0\1\2", {}, "must be text"),
        (FLOWERS, {"label": "colour"}, "must be one of the columns"),
        (FLOWERS, {"columns": ["kind"]}, "'kind' does not"),
        (FLOWERS, {"columns": "length"}, "list of names"),
        ("a,b,c\n" + "".join(f"1,2,word{k}\n" for k in range(8)), {}, "8 different labels"),
        ("a,b,c\n" + "1,2,3\n" * 5001, {}, "at most 5,000 points"),
    ],
)
def test_errors_name_the_problem(text, wish, words):
    with pytest.raises(RequestError, match=words):
        read(text, **wish)
