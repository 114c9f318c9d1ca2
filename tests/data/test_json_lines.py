"""The compiled parser of JSON lines, compared with Python's."""

import json

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rosenblatt.data import BadData, open_stream
from rosenblatt.data.json_lines import JsonReader

TEXT = st.text(st.sampled_from('ab é"\\/\n\t\u2028😀NA_:,{}[]'), max_size=8)
SCALAR = st.one_of(
    st.none(), st.booleans(), st.integers(-(10**20), 10**20), st.floats(allow_nan=False, allow_infinity=False), TEXT,
    st.sampled_from(["1.5", "NA", " ", "-0"]), st.just(-0.0),
)  # fmt: skip
VALUE = st.recursive(
    SCALAR,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abt"), inner, max_size=2),
    max_leaves=5,
)
NUMBERS = st.one_of(
    st.none(), st.booleans(), st.integers(-999, 10**20), st.floats(allow_nan=False, allow_infinity=False)
)
RECORD = st.fixed_dictionaries(
    {"n": NUMBERS, "t": st.one_of(TEXT, st.lists(TEXT, max_size=3), SCALAR), "y": st.sampled_from(["a", "b", ""])},
    optional={"o": VALUE, "o.a": VALUE, "z": VALUE, "ключ": TEXT},
)
FIRST = '{"n": 1.5, "t": "one two three", "y": "a", "o": {"a": "x", "b": 2}, "ключ": "c"}\n'
TYPES = {"n": "number", "t": "words", "o.a": "category", "o.b": "category", "ключ": "category"}


def columns_of(path, monkeypatch, fast):
    """The rows, codes and labels of a file, or the error; and how many blocks were parsed by Python."""
    by_python = []
    slowly = JsonReader._slowly

    def count(self, unit):
        by_python.append(unit)
        return slowly(self, unit)

    monkeypatch.setattr(JsonReader, "_slowly", count)
    if not fast:
        monkeypatch.setattr(JsonReader, "_plain", lambda self, unit: None)
    try:
        stream = open_stream(path, label="y", types=TYPES, threads=1, word_weights="log")
        parts = [
            (*(array.tobytes() for array in batch.rows), batch.codes.tobytes(), batch.first_line) for batch in stream
        ]
        return (parts, stream.labels, stream.encoder.to_json()), len(by_python)
    except BadData as error:
        return str(error), len(by_python)
    finally:
        monkeypatch.undo()


def same(path, monkeypatch):
    found, by_python = columns_of(path, monkeypatch, True)
    wanted, _ = columns_of(path, monkeypatch, False)
    assert found == wanted
    return found, by_python


@given(
    st.lists(st.tuples(RECORD, st.booleans(), st.sampled_from([None, 1])), max_size=6), st.lists(st.integers(0, 400))
)
@example([({"n": None, "t": ["a", "b"], "y": "a", "o": {"a": True, "b": -1}}, True, None)], [])
def test_plain_records_are_parsed_as_by_python(tmp_path_factory, records, places):
    with pytest.MonkeyPatch.context() as monkeypatch:
        path = tmp_path_factory.mktemp("json") / "a.jsonl"
        text = FIRST + "".join(
            json.dumps(record, ensure_ascii=ascii_only, indent=None, separators=(",", ":") if tight else None) + "\n\n"
            for record, ascii_only, tight in records
        )
        path.write_text(text)
        same(path, monkeypatch)
        for place in places:  # damaged text gives the same error, or the same rows
            damaged = text.encode()
            at = len(FIRST.encode()) + place
            path.write_bytes(damaged[:at] + b'",}]01x{\\ \n'[place % 11 : place % 11 + 1] + damaged[at + 1 :])
            same(path, monkeypatch)


@pytest.mark.parametrize(
    "line",
    [
        '{"n": 1, "t": "a\\u00e9\\ud83d\\ude00\\n\\"", "y": "b"}',
        '{"n":-0,"t":["a",3,"b"],"y":"a","o":{"a":true,"b":12,"c":{"d":[1,{"e":[]}]}},"z":[{"a":[{}]},null]}',
        '  {"t" : null , "y" : "a" , "n" : 1e5 } \r',
        '{"n": "2.5", "t": 1.0, "y": "a", "o": {"a": [1.5, {"x": 1}]}}',
        "{}",
        '{"o": 1, "o": {"a": "x"}, "y": "a"}',
        '{"ключ": "\\u2028", "t": "\\u00a0NA ", "y": "a"}',
        '{"\\u043a\\u043b\\u044e\\u0447": "d", "y": "b"}',
    ],
)
def test_usual_records_are_not_left_to_python(tmp_path, monkeypatch, line):
    path = tmp_path / "a.jsonl"
    path.write_text(FIRST + line + "\n")
    _, by_python = same(path, monkeypatch)
    assert by_python == 0


@pytest.mark.parametrize(
    "line",
    [
        '{"n": NaN, "y": "a"}',
        '{"n": 1, "n": 2, "y": "a"}',
        '{"o": {"a": "x"}, "o": 3, "y": "a"}',
        '{"o": {"a": "x"}, "o.a": "z", "y": "a"}',
        '{"t": "a\\ud800", "y": "a"}',
        '{"n": 1e400, "y": "a"}',
        '{"n": "many", "y": "a"}',
        '{"y": ["a"]}',
        '{"n": 01, "y": "a"}',
        '{"n": 1.}',
        '{"n": +1}',
        '{"n": 1,}',
        '{"n": [1,]}',
        '{"z": [1 2]}',
        '{"z": {"a" 1}}',
        '{"z": "\\x"}',
        '{"z": "\\u12g4"}',
        '{"z": tru}',
        '{"n": 1} {"n": 2}',
        '{"n": 1}}',
        '{"n": 1',
        "[1]",
        '"a"',
        "{'n': 1}",
        '{"t": "a\tb"}',
        '{"z": ' + "[" * 70 + "]" * 70 + "}",
    ],
)
def test_unusual_records_are_left_to_python(tmp_path, monkeypatch, line):
    path = tmp_path / "a.jsonl"
    path.write_text(FIRST + line + "\n")
    assert same(path, monkeypatch)[1] == 1


def test_bytes_that_are_no_text_are_left_to_python(tmp_path, monkeypatch):
    path = tmp_path / "a.jsonl"
    path.write_bytes(FIRST.encode() * 4 + b'{"t": "\xff", "y": "b"}\n')
    found, by_python = same(path, monkeypatch)
    assert by_python == 1
    assert "UTF-8" in found
    assert "line 5" in found


def test_many_columns(tmp_path, monkeypatch):
    path = tmp_path / "a.jsonl"
    names = [f"c{k}" for k in range(300)]
    lines = [
        json.dumps({"y": "ab"[i % 2], **{name: np.sin(i * k) for k, name in enumerate(names, 1)}}) for i in range(50)
    ]
    path.write_text("\n".join(lines))
    stream = open_stream(path, label="y")
    rows = np.concatenate([batch.rows for batch in stream])
    assert rows.tolist() == [[np.sin(i * k) for k in range(1, 301)] for i in range(50)]
