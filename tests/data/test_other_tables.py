"""ARFF, KEEL and tables whose columns are separated by blanks."""

import warnings

import numpy as np
import pytest

from rosenblatt.data import BadData, open_stream, read

ARFF = """% comment
@relation 'two kinds'

@attribute 'leaf length' numeric
@attribute colour {red, 'dark green'}
@ATTRIBUTE note string
@attribute kind {a,b}

@DATA
1.5, red, 'free entry, now and then', a
% another comment
?, 'dark green', 'see you at ten', b
-2,red,'the prize is free',a
"""

KEEL = """@relation iris
@attribute SepalLength real [4.3, 7.9]
@attribute Class {setosa, virginica}
@attribute Size integer [1, 9]
@inputs SepalLength, Size
@outputs Class
@data
5.1, setosa, 3
6.3, virginica, 4
"""


def test_arff(tmp_path):
    path = tmp_path / "a.arff"
    path.write_text(ARFF)
    stream = open_stream(path)
    columns = {"leaf length": "number", "colour": "category", "note": "words"}
    assert (stream.format, stream.encoder.columns, stream.encoder.label) == ("arff", columns, "kind")
    X, y = read(path)
    names = open_stream(path).encoder
    assert y.tolist() == ["a", "b", "a"]
    assert X.shape[0] == 3
    for batch in stream:
        assert batch.size == 3
    found = {name: X.toarray()[:, n].tolist() for n, name in enumerate(stream.encoder.names())}
    assert found["leaf length"] == [1.5, 0, -2]
    assert found["colour=dark green"] == [0, 1, 0]
    assert found["note:free"] == [1, 0, 1]
    assert names.label_kind == "category"
    piped = tmp_path / "noname"
    piped.write_text(ARFF)
    assert np.array_equal(read(piped)[0].toarray(), X.toarray())


def test_keel_names_its_output(tmp_path):
    path = tmp_path / "iris.dat"
    path.write_text(KEEL)
    X, y = read(path)
    assert X.tolist() == [[5.1, 3], [6.3, 4]]
    assert y.tolist() == ["setosa", "virginica"]
    assert read(path, label="Size")[1].tolist() == [3, 4]


def test_errors_of_arff_have_their_line(tmp_path):
    path = tmp_path / "a.arff"
    path.write_text(ARFF + "old,red,x,a\n")
    with pytest.raises(BadData, match="'leaf length' must hold finite numbers") as caught:
        read(path)
    assert caught.value.line == 14
    path.write_text("@relation r\n@attribute x numeric\n1\n")
    with pytest.raises(BadData, match="@data"):
        read(path)
    path.write_text("@relation r\n@attribute x numeric\n@attribute y {a,b}\n@data\n{0 1.5}\n")
    with pytest.raises(BadData, match="sparse ARFF") as caught:
        read(path)
    assert caught.value.line == 5
    path.write_text(ARFF + "{0 1.5, 3 a}\n")  # not the first row
    with pytest.raises(BadData, match="sparse ARFF") as caught:
        read(path)
    assert caught.value.line == 14


def test_missing_values_and_dates_of_arff(tmp_path):
    path = tmp_path / "a.arff"
    path.write_text(
        "@relation r\n@attribute x real\n@attribute day date 'yyyy-MM-dd'\n@attribute k {a,b}\n@data\n"
        "<null>, 2024-03-31, a\n1.5, '2024-04-01', b\n"
    )
    stream = open_stream(path)
    assert (stream.encoder.columns["x"], stream.encoder.columns["day.month"]) == ("number", "category")
    X, y = read(path)
    found = {name: X.toarray()[:, n].tolist() for n, name in enumerate(stream.encoder.names())}
    assert (found["x"], y.tolist()) == ([0, 1.5], ["a", "b"])


def test_columns_separated_by_blanks(tmp_path):
    path = tmp_path / "table.data"
    path.write_text("  5.1   3.5   1 \n 4.9 3.0  0\n6   2.5 1\n")
    X, y = read(path)
    assert X.tolist() == [[5.1, 3.5], [4.9, 3.0], [6, 2.5]]
    assert y.tolist() == [1, 0, 1]
    path.write_text("length  width kind\n5.1 3.5 a\n4.9   3.0 b\n")
    stream = open_stream(path)
    assert (list(stream.encoder.columns), stream.encoder.label) == (["length", "width"], "kind")
    assert read(path)[1].tolist() == ["a", "b"]
    path.write_text("5.1 3.5 1\n4.9 3.0 0\n" * 30 + "4.9 x 0\n")
    with pytest.raises(BadData, match="got 'x'") as caught:
        read(path, types={"1": "number"}, label="2")
    assert caught.value.line == 61
    path.write_text("see you soon\nfree prize now\n")
    assert list(open_stream(path, labelled=False).encoder.columns) == ["0"]


@pytest.mark.parametrize(
    ("text", "columns", "first"),
    [
        ('a c label\n1.5 2 "New York"\n2 3 y\n1 2 "New York"\n', ["a", "c"], [1.5, 2]),
        ('"a b"   "c" label\n1.5 2 "x"\n 2\t3  "y" \n1 2 "x"\n', ["a b", "c"], [1.5, 2]),
        ('"a b" "c" "label"\n"1" 1.5 2 "x"\n"2" 2 3 "y"\n', ["a b", "c"], [1.5, 2]),  # write.table of R
        ("a\tc\tlabel\nJo Ann\t1.5\t2\tx\nCy\t2\t3\ty\n", ["a", "c"], [1.5, 2]),  # with names of rows, and tabs
        ("  a     c\t  label\n 1.5  2\t x\n  2   3\t y\n", ["a", "c"], [1.5, 2]),  # blanks and tabs
        ('a c label\n1.5 "" x\n2 "say ""so""" y\n', ["a", "c"], None),
    ],
)
def test_quotes_and_names_of_rows_among_blanks(tmp_path, text, columns, first):
    path = tmp_path / "table.txt"
    path.write_text(text)
    stream = open_stream(path)
    assert (list(stream.encoder.columns), stream.encoder.label) == (columns, "label")
    assert [batch.size for batch in stream] == [text.count("\n") - 1]
    if first is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the names of rows are left out
            assert read(path)[0][0].tolist() == first
        plain = open_stream(path, encoder=stream.encoder, labelled=False)
        assert sum(batch.size for batch in plain) == text.count("\n") - 1
    else:
        assert stream.encoder.names() == ["a", "c:say", "c:so"]


def test_the_message_says_which_delimiter_was_found(tmp_path):
    path = tmp_path / "table.txt"
    path.write_text("see you soon\nfree prize\n")
    with pytest.raises(BadData, match="fields are separated by commas"):
        read(path)
