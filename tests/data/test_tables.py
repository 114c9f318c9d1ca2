"""CSV, TSV, Parquet and JSON lines: columns, kinds, labels, features."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from sklearn.feature_extraction.text import CountVectorizer

import rosenblatt
from rosenblatt.data import BadData, Encoder, open_stream

MIXED = """age,job,text,label
39,clerk,"Free entry, free prize!",spam
,clerk,See you at ten,ham
50, nurse ,"Über ""naïve"" café",ham
NA,?,,spam
"""


def write(folder, text, name="x.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def named_rows(stream):
    rows = []
    for batch in stream:
        if isinstance(batch.rows, np.ndarray):
            rows += [dict(zip(stream.encoder.names(), row)) for row in batch.rows.tolist()]
            continue
        indptr, indices, values = batch.rows
        for i in range(batch.size):
            part = slice(indptr[i], indptr[i + 1])
            rows.append({stream.encoder.feature_name(j): v for j, v in zip(indices[part], values[part].tolist())})
    return rows


def labels_of(stream):
    return [stream.labels[code] if code >= 0 else None for batch in stream for code in batch.codes]


def test_mixed_columns(tmp_path):
    stream = open_stream(write(tmp_path, MIXED))
    assert stream.encoder.columns == {"age": "number", "job": "category", "text": "words"}
    assert named_rows(stream) == [
        {"age": 39.0, "job=clerk": 1.0, "text:free": 2.0, "text:entry": 1.0, "text:prize": 1.0},
        {"job=clerk": 1.0, "text:see": 1.0, "text:you": 1.0, "text:at": 1.0, "text:ten": 1.0},
        {"age": 50.0, "job=nurse": 1.0, "text:über": 1.0, "text:naïve": 1.0, "text:café": 1.0},
        {},
    ]
    assert stream.labels == ["spam", "ham"]
    assert "text    words     Free entry, free pr…    25.0%  one feature per word" in stream.describe()
    assert "label    column label" in stream.describe()


@pytest.mark.parametrize("batch_bytes", [1, 40, 100, 10_000])
@pytest.mark.parametrize("threads", [1, 2])
def test_batches_of_any_size_give_the_same_rows(tmp_path, batch_bytes, threads):
    path = write(tmp_path, MIXED + '7,clerk,"two\nlines",ham\n' * 30)
    expected = named_rows(open_stream(path))
    stream = open_stream(path, batch_bytes=batch_bytes, threads=threads, interactions=())
    assert named_rows(stream) == expected
    assert len(expected) == 34


def test_words_are_counted_as_in_scikit_learn(tmp_path):
    texts = [
        "Win £1000 cash now!!",
        "it's naïve – really",
        "日本語 テキスト",
        "a_b c-d 12.5",
        "ПРИВЕТ мир",
        "…“quoted”…",
    ]
    path = write(tmp_path, "\n".join(f"x\t{text}" for text in texts), "x.tsv")
    X, _ = rosenblatt.read(path, label=0, header=False, types={"1": "words"})
    vectorizer = CountVectorizer(token_pattern=r"\w+")
    theirs = vectorizer.fit_transform(texts)
    stream = open_stream(path, label=0, header=False, types={"1": "words"})
    list(stream)
    assert set(stream.encoder.names()) == set(vectorizer.get_feature_names_out())
    order = [vectorizer.vocabulary_[name] for name in stream.encoder.names()]
    assert (X.toarray() == theirs.toarray()[:, order]).all()


def test_tables_of_numbers_are_dense(tmp_path):
    X, y = rosenblatt.read(write(tmp_path, "a,b,class\n1,0.1,1\n,2e3,0\n-3,NA,1\n"))
    assert isinstance(X, np.ndarray)
    assert X.flags.c_contiguous
    assert X.tolist() == [[1.0, 0.1], [0.0, 2000.0], [-3.0, 0.0]]
    assert y.tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("text", "label", "expected"),
    [
        ("a,target,b\n1,x,2\n3,y,4\n", None, ["x", "y"]),
        ("a,Class,b\n1,x,2\n3,y,4\n", None, ["x", "y"]),
        ("1,2,x\n3,4,y\n", None, ["x", "y"]),
        ("1,2,x\n3,4,y\n", 0, [1, 3]),
        ("1,2,x\n3,4,y\n", "1", [2, 4]),
        ("1,2,x\n3,4,y\n", -1, ["x", "y"]),
        ("a,b\n1,x\n3,y\n", "a", [1, 3]),
        ("a;b;y\n1;2;0.5\n3;4;1.5\n", None, [0.5, 1.5]),
        ("x\t1\ny\t2\n", 0, ["x", "y"]),
        ("a|y\n1|yes\n2|no\n", None, ["yes", "no"]),
    ],
)
def test_labels_are_found(tmp_path, text, label, expected):
    stream = open_stream(write(tmp_path, text, "data"), label=label)
    assert labels_of(stream) == expected


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("age,sex,y\n1,m,0\n2,f,1\n", ["age", "sex"]),
        ("1,m,0\n2,f,1\n", ["0", "1"]),
        ("0,1,2\n5,6,1\n7,8,0\n", ["0", "1"]),
        ("v1,v2\nham,hello\nspam,bye\nham,so long\nspam,farewell\n", ["v1"]),
        ("ham,hello\nspam,bye\nham,so long\nspam,farewell\n", ["0"]),
        ("text,label\nhello,ham\nbye,spam\n", ["text"]),
        (",a,y\n0,3,u\n1,4,v\n", ["a"]),
        (",a,y\n0.5,3,u\n1.5,4,v\n", ["0", "a"]),
    ],
)
def test_headers_are_found(tmp_path, text, names):
    assert list(open_stream(write(tmp_path, text)).encoder.columns) == names


def test_the_header_can_be_set(tmp_path):
    path = write(tmp_path, "a,b\nc,d\na,d\n")
    assert list(open_stream(path, header=True).encoder.columns) == ["a"]
    assert labels_of(open_stream(path, header=False)) == ["b", "d", "d"]


def test_types_can_be_set(tmp_path):
    path = write(tmp_path, "zip,y\n10115,0\n80331,1\n")
    stream = open_stream(path, types={"zip": "category", "y": "category"})
    assert named_rows(stream) == [{"zip=10115": 1.0}, {"zip=80331": 1.0}]
    assert stream.labels == ["0", "1"]
    with pytest.raises(BadData, match="one of number, category, words"):
        open_stream(path, types={"zip": "text"})
    with pytest.raises(BadData, match="must name columns"):
        open_stream(path, types={"zap": "number"})


def test_quotes_inside_tsv_fields(tmp_path):
    path = write(tmp_path, 'ham\t"Hi there\nspam\tsay "yes"\nham\t"quoted"\n', "x.tsv")
    X, y = rosenblatt.read(path, label=0, header=False, types={"1": "words"})
    assert X.shape == (3, 5)
    assert y.tolist() == ["ham", "spam", "ham"]


def test_windows_line_ends_byte_order_mark_and_no_last_newline(tmp_path):
    path = write(tmp_path, b"\xef\xbb\xbfa,y\r\n1,no\r\n2,yes")
    stream = open_stream(path)
    assert named_rows(stream) == [{"a": 1.0}, {"a": 2.0}]
    assert stream.labels == ["no", "yes"]


def test_interactions(tmp_path):
    path = write(tmp_path, "a,b,c,y\n2,3,u,0\n5,,v,1\n")
    stream = open_stream(path, interactions=[("a", "b"), ("a", "c"), ("a", "a")])
    assert named_rows(stream) == [
        {"a": 2.0, "b": 3.0, "c=u": 1.0, "a*b": 6.0, "a*c=u": 2.0, "a*a": 4.0},
        {"a": 5.0, "c=v": 1.0, "a*c=v": 5.0, "a*a": 25.0},
    ]
    with pytest.raises(BadData, match="must name columns"):
        open_stream(path, interactions=[("a", "z")])


@pytest.mark.parametrize("batch_bytes", [30, 100_000])
def test_running_standardisation(tmp_path, batch_bytes):
    rng = np.random.default_rng(0)
    values = np.round(rng.normal(50, 10, (200, 2)), 3)
    path = write(tmp_path, "a,b,y\n" + "".join(f"{a},{b},{i % 2}\n" for i, (a, b) in enumerate(values)))
    stream = open_stream(path, standardize=True, batch_bytes=batch_bytes)
    first = np.concatenate([batch.rows.copy() for batch in stream])
    for t in (1, 10, 199):
        seen = values[: t + 1]
        assert first[t] == pytest.approx((values[t] - seen.mean(axis=0)) / seen.std(axis=0), rel=1e-9)
    second = np.concatenate([batch.rows.copy() for batch in stream])
    assert second == pytest.approx((values - values.mean(axis=0)) / values.std(axis=0), rel=1e-9)
    encoder = Encoder.from_json(json.loads(json.dumps(stream.encoder.to_json())))
    encoder.freeze()
    third = np.concatenate([batch.rows for batch in open_stream(path, encoder=encoder)])
    assert (third == second).all()


def test_standardisation_of_sparse_text_is_refused(tmp_path):
    with pytest.raises(BadData, match="tables"):
        open_stream(write(tmp_path, "1 1:1\n", "x.svm"), standardize=True)


def test_a_later_file_with_the_same_encoder(tmp_path):
    stream = open_stream(write(tmp_path, MIXED))
    list(stream)
    encoder = Encoder.from_json(json.loads(json.dumps(stream.encoder.to_json())))
    assert encoder.names() == stream.encoder.names()
    encoder.freeze()
    later = open_stream(
        write(tmp_path, "text,age,job,extra\nfree unknown words,1,doctor,9\n", "y.csv"), encoder=encoder, labelled=False
    )
    assert named_rows(later) == [{"age": 1.0, "text:free": 1.0}]
    assert labels_of(later) == [None]
    with pytest.raises(BadData, match="'job' is missing among age, text"):
        open_stream(write(tmp_path, "age,text\n1,free\n", "z.csv"), encoder=encoder, labelled=False)


def test_a_later_file_without_header_or_label(tmp_path):
    stream = open_stream(write(tmp_path, "x,1,m\ny,2,f\n"), label=0)
    list(stream)
    stream.encoder.freeze()
    later = open_stream(write(tmp_path, "7,f\n", "y.csv"), encoder=stream.encoder, labelled=False)
    assert named_rows(later) == [{"1": 7.0, "2=f": 1.0}]


def test_hashing(tmp_path):
    path = write(tmp_path, MIXED)
    exact = open_stream(path)
    rows = [sorted(row.values()) for row in named_rows(exact)]
    stream = open_stream(path, bits=22)
    assert [sorted(row.values()) for row in named_rows(stream)] == rows
    assert stream.encoder.n_features == 1 << 22
    assert len(stream.encoder.to_json()["vocabulary"]) == 0
    for bits in (0, 31, 99):
        with pytest.raises(ValueError, match="`bits` must be between 1 and 30"):
            open_stream(path, bits=bits)


def frame():
    rng = np.random.default_rng(0)
    size = 500
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, size).astype(float),
            "job": rng.choice(["clerk", "nurse", "cook"], size),
            "text": [" ".join(rng.choice(["free", "prize", "see", "you", "at", "ten"], 5)) for _ in range(size)],
            "label": rng.choice(["spam", "ham"], size),
        }
    )


def test_all_formats_agree(tmp_path):
    data = frame()
    data.loc[3, "age"] = np.nan
    data.loc[4, "job"] = None
    data.to_csv(tmp_path / "x.csv", index=False)
    data.to_csv(tmp_path / "x.tsv", index=False, sep="\t")
    data.to_parquet(tmp_path / "x.parquet")
    data.to_json(tmp_path / "x.jsonl", orient="records", lines=True)
    data.to_csv(tmp_path / "x.csv.gz", index=False)
    with pa.CompressedOutputStream(str(tmp_path / "x.csv.zst"), "zstd") as file:
        file.write((tmp_path / "x.csv").read_bytes())
    found = {}
    for path in sorted(tmp_path.iterdir()):
        stream = open_stream(path, batch_bytes=5000)
        found[path.name] = (named_rows(stream), labels_of(stream), stream.encoder.columns)
        assert stream.bytes_read == stream.bytes_total == path.stat().st_size or path.suffix in (".parquet", ".zst")
    assert len(found) == 6
    for name, read in found.items():
        assert read == found["x.csv"], name


def test_parquet_types(tmp_path):
    data = pd.DataFrame(
        {
            "yes": [True, False], "day": pd.to_datetime(["2024-01-01", "2024-01-02"]),
            "kind": pd.Categorical(["u", "v"]), "tags": [["a", "b"], ["b"]], "label": [3, 4],
        }
    )  # fmt: skip
    data.to_parquet(tmp_path / "x.parquet")
    stream = open_stream(tmp_path / "x.parquet")
    rows = named_rows(stream)
    assert stream.labels == [3, 4]
    assert {name.partition("=")[0] for name in rows[0]} == {
        "yes", "day.year", "day.month", "day.day", "day.weekday", "kind", "tags:a", "tags:b",
    }  # fmt: skip
    pd.DataFrame({"v": [[1.0, 2.0]], "y": [1]}).to_parquet(tmp_path / "y.parquet")
    with pytest.raises(BadData, match="'v' holds list"):
        open_stream(tmp_path / "y.parquet")


def test_json_lines(tmp_path):
    text = '{"a": {"b": 1, "c": "x"}, "tags": ["u", "v"], "label": true}\n\n{"tags": [], "a": {"b": null}, "label": false}\n'
    stream = open_stream(write(tmp_path, text, "x.json"))
    assert stream.format == "jsonl"
    assert named_rows(stream) == [{"a.b": 1.0, "a.c=x": 1.0, "tags:u": 1.0, "tags:v": 1.0}, {}]
    assert stream.labels == [1, 0]


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ("abc,u,0", "'a' must hold finite numbers, as its first rows do; got 'abc'"),
        ("inf,u,0", "got 'inf'"),
        ("1e999,u,0", "got '1e999'"),
        ("1,u,0,9", "must have 3 fields, as the first one has; got 4"),
        ("1,u", "got 2"),
        ("1,u,zero", "'y' must hold finite numbers"),
        (b"1,caf\xe9,0", "UTF-8; got the byte 0xe9"),
    ],
)
def test_bad_rows_are_named(tmp_path, row, complaint):
    row = row if isinstance(row, bytes) else row.encode()
    good = b'1,"u\nv",0\n2,w,1\n'
    path = write(tmp_path, b"a,b,y\n" + good * 20000 + row + b"\n" + good)
    with pytest.raises(BadData) as caught:
        list(open_stream(path, batch_bytes=1 << 16))
    assert complaint in caught.value.message
    assert caught.value.line == 60002


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{"a": 1, "y": 0}\n{"a": }\n', "JSON object"),
        ('{"a": 1, "y": 0}\n{"a": 1, "y" 0}\n', r"JSON object; Expecting ':' delimiter at column 14\. Write"),
        ('{"a": 1, "y": 0}\n[1]\n', r"got \[1\]"),
        ('{"a": 1, "y": 0}\n{"a": "x", "y": 1}\n', "'a' must be a finite number"),
    ],
)
def test_bad_json_is_named(tmp_path, text, complaint):
    path = write(tmp_path, text, "x.jsonl")
    with pytest.raises(BadData, match=complaint) as caught:
        list(open_stream(path, types={"a": "number"}))
    assert caught.value.line == 2


def test_a_missing_label_column_is_named(tmp_path):
    with pytest.raises(BadData, match=r"one of the columns a, b, c, by name or by number from 0; got 'spam'"):
        open_stream(write(tmp_path, "a,b,c\n1,2,3\n"), label="spam")


def test_duplicate_column_names_are_refused(tmp_path):
    with pytest.raises(BadData, match="'a' occurs twice"):
        open_stream(write(tmp_path, "a,a,y\n1,2,3\n"), header=True)
    with pytest.raises(BadData, match="The names of columns must be unique; 'b' occurs twice"):
        open_stream(write(tmp_path, "a,b,b,label\n1,2,3,p\n2,3,4,q\n"))
    paths = [write(tmp_path, "a,b,y\n1,2,p\n"), write(tmp_path, "a,b,b,y\n1,2,3,q\n", "z.csv")]
    with pytest.raises(BadData, match=r"z\.csv, line 1: The names of columns must be unique; 'b' occurs twice"):
        list(open_stream(paths))


@pytest.mark.parametrize("first", ["NA,NA,x", ",,x", "yes,yes,y"])
def test_a_first_row_with_a_repeated_value_is_no_header(tmp_path, first):
    rest = "yes,no,y\nno,no,x\n" if "yes" in first else "1,2,x\n3,4,y\n"
    assert len(labels_of(open_stream(write(tmp_path, f"{first}\n{rest}")))) == 3


@pytest.mark.parametrize("word", ["inf", "-inf", "Infinity", "-Infinity", "INF"])
@pytest.mark.parametrize("column", [0, 1])
def test_infinity_among_the_first_rows(tmp_path, word, column):
    row = ["7", "5"]
    row[column] = word
    path = write(tmp_path, f"a,y\n1,2\n{','.join(row)}\n3,4\n")
    with pytest.raises(
        BadData, match=f"'{'ay'[column]}' must hold finite numbers, as its first rows do; got '{word}'"
    ) as caught:
        list(open_stream(path))
    assert caught.value.line == 3


def test_infinity_as_a_word(tmp_path):
    stream = open_stream(write(tmp_path, "inf,y\ninf,0\nsup,1\n"))
    assert stream.encoder.columns == {"inf": "category"}


@pytest.mark.parametrize("label", [0, 1, 2])
@pytest.mark.parametrize("width", [1, 4, 8])
def test_a_later_file_without_header_must_have_the_same_width(tmp_path, label, width):
    stream = open_stream(write(tmp_path, "1,5,7\n2,6,8\n"), label=label)
    list(stream)
    encoder = Encoder.from_json(json.loads(json.dumps(stream.encoder.to_json())))
    encoder.freeze()
    for good in ("1,2,3\n", "1,2\n"):
        assert len(list(open_stream(write(tmp_path, good, "y.csv"), encoder=encoder, labelled=False))) == 1
    path = write(tmp_path, ",".join("123456789"[:width]) + "\n", "z.csv")
    with pytest.raises(BadData, match=f"must have 3 columns, or 2 without the label; got {width}"):
        open_stream(path, encoder=encoder, labelled=False)


def test_errors_name_an_option_that_exists(tmp_path):
    for name, text in (("x.csv", "a,y\n1,0\nu,1\n"), ("x.jsonl", '{"a": 1, "y": 0}\n{"a": "u", "y": 1}\n')):
        with pytest.raises(BadData, match=r"--types a=category\)"):
            list(open_stream(write(tmp_path, text, name), types={"a": "number"}))


def test_a_single_field_has_a_singular_message(tmp_path):
    with pytest.raises(BadData, match="must have 1 field, as the first one has; got 2"):
        list(open_stream(write(tmp_path, "u\nv\nv,w\n"), header=False, labelled=False))


def test_a_column_of_weights(tmp_path):
    """In every format of tables; it is no feature."""
    rows = [(1.5, 2.0, "a"), (0.5, 0.0, "b"), (3.0, 1.0, "a")]
    text = "x,w,label\n" + "".join(f"{x},{w},{label}\n" for x, w, label in rows)
    lines = "".join(json.dumps({"x": x, "w": w, "label": label}) + "\n" for x, w, label in rows)
    paths = [write(tmp_path, text, "a.csv"), write(tmp_path, lines, "a.jsonl"), tmp_path / "a.parquet"]
    columns = zip(*rows, strict=True)
    parquet.write_table(pa.table(dict(zip(["x", "w", "label"], map(list, columns), strict=True))), paths[2])
    for path in paths:
        stream = open_stream(path, weight="w")
        (batch,) = stream
        assert batch.weights.tolist() == [2.0, 0.0, 1.0]
        assert list(stream.encoder.columns) == ["x"]
        again = open_stream(path, encoder=Encoder.from_json(stream.encoder.to_json()))
        assert next(iter(again)).weights.tolist() == [2.0, 0.0, 1.0]
        stream.encoder.freeze()
        assert next(iter(open_stream(path, encoder=stream.encoder, labelled=False))).weights.size == 0
    for value in ("-1", ""):
        with pytest.raises(BadData, match="must be a number of at least 0"):
            rosenblatt.read(write(tmp_path, f"x,w,label\n1,1,a\n2,{value},b\n3,1,a\n", "b.csv"), weight="w")
    with pytest.raises(BadData, match="'v'"):
        open_stream(paths[0], weight="v")
    with pytest.raises(BadData, match="Only tables"):
        open_stream(write(tmp_path, "1 1:1\n", "a.svm"), weight="w")
