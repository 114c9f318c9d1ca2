"""svmlight text: compared with a slow reference and with scikit-learn, and errors."""

import io

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

import rosenblatt
from rosenblatt.data import BadData, open_stream
from tests.helpers import examples

from . import reference


def write(folder, text, name="x.svm"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def parsed(path, **options):
    stream = open_stream(path, **{"format": "svmlight", **options})
    found = []
    for batch in stream:
        indptr, indices, values = batch.rows
        for i, code in enumerate(batch.codes.tolist()):
            part = slice(indptr[i], indptr[i + 1])
            assert (np.diff(indices[part]) > 0).all()
            label = None if code < 0 else float(stream.labels[code])
            found.append((label, dict(zip(indices[part].tolist(), values[part].tolist()))))
    return found


LINE = st.from_regex(
    rb"[ \t]*[+-]?[0-9]{1,3}(\.[0-9])?( qid:[0-9])?"
    rb"([ \t]{1,2}[0-9]{1,6}:[+-]?[0-9]{0,20}\.?[0-9]{1,20}(e-?[0-9]{1,2})?){0,6}[ \r]?(#.{0,5})?",
    fullmatch=True,
)
NOISE = st.lists(
    st.sampled_from(
        [b"1", b"0", b"23", b":", b" ", b"\t", b"\n", b"#", b".", b"-", b"+", b"e", b"qid:1", b"9" * 19, b"x", b"\xff"]
    )
)


@examples(300)
@given(st.one_of(st.lists(LINE).map(b"\n".join), NOISE.map(b"".join)), st.booleans(), st.integers(1, 40))
@example(b"1 3:1 3:2 1:5\n", True, 1)
@example(b"1 3:0.10000000000000000000000001 1:5\n", True, 40)
@example(b"1:2\n", False, 3)
@example(b"1 qid:3#7:8 9:9\n1 1:2\n", True, 40)
def test_agrees_with_the_reference(tmp_path_factory, text, labelled, batch_bytes):
    path = write(tmp_path_factory.mktemp("fuzz"), text)
    try:
        expected = reference.svmlight(text, labelled=labelled)
    except reference.Refused:
        with pytest.raises(BadData):
            parsed(path, labelled=labelled, batch_bytes=batch_bytes)
        return
    if not expected:
        with pytest.raises(BadData, match="at least one example"):
            parsed(path, labelled=labelled, batch_bytes=batch_bytes)
        return
    for threads in (1, 2):
        assert parsed(path, labelled=labelled, batch_bytes=batch_bytes, threads=threads) == expected


@pytest.mark.parametrize("zero_based", [True, False])
def test_reads_what_scikit_learn_reads(tmp_path, zero_based):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 40)) * (rng.random((500, 40)) < 0.2)
    X[0] = 1.0
    y = rng.integers(0, 3, 500)
    dump_svmlight_file(X, y, str(tmp_path / "x"), zero_based=zero_based, comment="made up", query_id=np.arange(500))
    ours, labels = rosenblatt.read(tmp_path / "x")
    theirs, their_labels = load_svmlight_file(str(tmp_path / "x"))
    assert ours.shape == theirs.shape
    assert (ours.toarray() == theirs.toarray()).all()
    assert (labels == their_labels).all()
    assert labels.dtype.kind == "i"


def test_long_unsorted_rows(tmp_path):
    rng = np.random.default_rng(0)
    indices, values = rng.integers(0, 300, 1000), rng.integers(1, 9, 1000)
    text = "1 " + " ".join(f"{i}:{v}" for i, v in zip(indices, values)) + "\n"
    assert parsed(write(tmp_path, text)) == reference.svmlight(text.encode())


@pytest.mark.parametrize("pattern", [b" 5:1 6:2 7:3", b" 7:3 6:2 5:1", b" 5:1"])
def test_a_long_row_that_repeats_its_columns(tmp_path, pattern):
    """A million entries; a quicksort took minutes on such rows."""
    count = 1 << 20
    (batch,) = open_stream(write(tmp_path, b"1" + pattern * count + b"\n"), threads=1)
    assert batch.rows.values.tolist() == sorted(v * count for v in (1.0, 2.0, 3.0)[: batch.rows.values.size])


def test_one_based(tmp_path):
    path = write(tmp_path, "1 1:5 3:7\n")
    stream = open_stream(path, one_based=True)
    (batch,) = stream
    assert batch.rows.indices.tolist() == [0, 2]
    assert stream.encoder.n_features == 3
    assert stream.encoder.feature_name(2) == "3"
    (batch,) = open_stream(path)
    assert batch.rows.indices.tolist() == [1, 3]


def test_frozen_ignores_unknown_columns(tmp_path):
    stream = open_stream(write(tmp_path, "1 1:1 4:1\n-1 2:1\n"))
    list(stream)
    stream.encoder.freeze()
    later = open_stream(write(tmp_path, "1 2:3 5:1 900000:1\n2 4:1\n", "y.svm"), encoder=stream.encoder)
    (batch,) = later
    assert batch.rows.indices.tolist() == [2, 4]
    assert later.encoder.n_features == 5
    assert later.labels == [1, 2]


def test_hashing(tmp_path):
    stream = open_stream(write(tmp_path, "1 7:1 123456789012:2\n-1 7:3\n"), bits=10)
    (batch,) = stream
    assert stream.encoder.n_features == 1024
    assert (batch.rows.indices < 1024).all()
    row = {int(i): v for i, v in zip(batch.rows.indices, batch.rows.values)}
    assert sorted(row.values()) in ([2.0, 3.0], [1.0, 2.0, 3.0])


def test_many_labels(tmp_path):
    text = "".join(f"{k % 1000} 1:1\n" for k in range(5000))
    X, y = rosenblatt.read(write(tmp_path, text))
    assert X.shape == (5000, 1)
    assert y.tolist() == [k % 1000 for k in range(5000)]


def test_batches_know_their_line_numbers(tmp_path):
    path = write(tmp_path, "# a comment\n" + "1 1:1\n\n" * 50)
    first = [batch.first_line for batch in open_stream(path, batch_bytes=64)]
    assert first[0] == 1
    assert len(first) > 3
    assert sorted(set(first)) == first


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("spam 1:1", "begin with a label, which is a number; got 'spam'"),
        ("1,2 1:1", "got '1,2'"),
        ("3:1", "begins with the feature '3:1'"),
        ("1 x:1", "whole number first; got 'x:1'"),
        ("1 7", "written index:value; got '7'"),
        ("1 7:", "finite number; got '7:'"),
        ("1 7:nan", "finite number; got '7:nan'"),
        ("1 7:inf", "finite number; got '7:inf'"),
        ("1 7:1e999", "finite number; got '7:1e999'"),
        ("1 7:1_000", "finite number; got '7:1_000'"),
        (f"1 {2**63}:1", "must be below 2,147,483,647"),
        (f"1 {10**30}:1", "must be below 2,147,483,647"),
        ("1 -3:1", "whole number first; got '-3:1'"),
        ("1 3:1\xe9", "finite number"),
        ("1e999 3:1", "label, which is a number"),
    ],
)
def test_bad_lines_are_named(tmp_path, line, complaint):
    path = write(tmp_path, "1 1:1\n" * 3000 + line + "\n1 1:1\n")
    for threads in (1, 2):
        with pytest.raises(BadData, match="line 3001: ") as caught:
            list(open_stream(path, batch_bytes=4096, threads=threads))
        assert complaint in caught.value.message
        assert caught.value.line == 3001
        assert caught.value.path == str(path)


@pytest.mark.parametrize("first", ["1 1:1e999", "1e999 1:1", "1 2:1e999 1:1"])
@pytest.mark.parametrize("second", ["1 1:x", "oops"])
def test_the_first_bad_line_is_named(tmp_path, first, second):
    path = write(tmp_path, f"1 2:0.10000000000000000000000001 1:1\n{first}\n{second}\n")
    with pytest.raises(BadData, match="1e999") as caught:
        list(open_stream(path))
    assert caught.value.line == 2


def test_an_index_that_is_too_long_is_refused(tmp_path):
    (batch,) = open_stream(write(tmp_path, f"1 {'9' * 19}:1\n"), bits=10)
    assert batch.rows.values.tolist() == [1.0]
    with pytest.raises(BadData, match=r"up to 19 digits; got '9{20}:1'") as caught:
        list(open_stream(write(tmp_path, f"1 {'9' * 20}:1\n"), bits=10))
    assert "--bits" not in caught.value.message


def test_index_0_is_refused_where_features_count_from_1(tmp_path):
    with pytest.raises(BadData, match="at least 1") as caught:
        list(open_stream(write(tmp_path, "1 1:1\n1 0:1\n"), one_based=True))
    assert caught.value.line == 2


def test_examples_before_a_bad_line_are_returned_first(tmp_path):
    path = write(tmp_path, "1 1:1\n" * 1000 + "oops\n")
    batches = iter(open_stream(path, batch_bytes=600, format="svmlight"))
    seen = sum(next(batches).size for _ in range(9))
    assert 850 <= seen <= 1000
    with pytest.raises(BadData, match="line 1001"):
        list(batches)


def test_stream_gives_arrays(tmp_path):
    path = write(tmp_path, "1 1:1 2:2\n-1 3:1\n" * 500)
    learner = rosenblatt.Perceptron()
    for X, y in rosenblatt.stream(path, bits=8, batch_bytes=1000):
        learner.partial_fit(X, y)
    assert learner.n_features_in_ == 256
    assert list(learner.classes_) == [-1, 1]


def test_batches_that_are_kept_do_not_change(tmp_path):
    lines = [f"1 {k}:1 {k + 1}:2" for k in range(20000)]
    batches = list(open_stream(write(tmp_path, "\n".join(lines)), batch_bytes=2000))
    indices = np.concatenate([batch.rows.indices for batch in batches])
    assert len(batches) > 20
    assert (indices[::2] == np.arange(20000)).all()


def test_bytes_from_standard_input(tmp_path, monkeypatch):
    path = write(tmp_path, "1 1:1\n-1 2:1\n")
    with path.open("rb") as file:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(file.raw)))
        stream = open_stream("-")
        assert stream.bytes_total is None
        assert sum(batch.size for batch in stream) == 2
        with pytest.raises(BadData, match="can be read once"):
            iter(stream)


@pytest.mark.parametrize("label", ["9007199254740993", "-9007199254740992", "1e300"])
def test_labels_beyond_exact_floats_are_refused(tmp_path, label):
    with pytest.raises(BadData, match=r"between -2\^53 and 2\^53"):
        list(open_stream(write(tmp_path, f"1 1:1\n{label} 1:1\n")))
