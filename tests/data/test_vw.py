"""VW text: compared with a slow reference, and errors."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rosenblatt.data import BadData, Encoder, open_stream
from tests.helpers import examples

from . import reference


def write(folder, text, name="x.vw"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def parsed(path, **options):
    stream = open_stream(path, **{"format": "vw", **options})
    found = []
    for batch in stream:
        indptr, indices, values = batch.rows
        for i, code in enumerate(batch.codes.tolist()):
            part = slice(indptr[i], indptr[i + 1])
            assert (np.diff(indices[part]) > 0).all()
            names = [stream.encoder.feature_name(j).encode() for j in indices[part]]
            label = None if code < 0 else float(stream.labels[code])
            weight = float(batch.weights[i]) if batch.weights.size else 1.0
            tag = batch.tags[i].encode() if batch.tags else b""
            found.append((label, weight, tag, dict(zip(names, values[part].tolist()))))
    return found


LINE = st.from_regex(
    rb"(-?[12]( [0-9](\.5)?( 0)?)?)? ?('?t[a-z]?)?"
    rb"(\|([a-c]{1,2}(:2\.5)?)?( [a-e]{1,12}(:-?[0-9]{1,3}(\.[0-9]{1,22})?)?){0,5} ?){1,3}",
    fullmatch=True,
)
NOISE = st.lists(
    st.sampled_from([b"1", b"2.5", b"|", b"|a", b":", b" ", b"\t", b"\n", b"'x", b"-", b"e3", b"word", "é".encode()])
)


@examples(300)
@given(st.one_of(st.lists(LINE).map(b"\n".join), NOISE.map(b"".join)), st.integers(1, 60))
@example(b"1 2 tag|f a:1 b |g a\n-1 |f a a:0.10000000000000000000000001", 8)
def test_agrees_with_the_reference(tmp_path_factory, text, batch_bytes):
    path = write(tmp_path_factory.mktemp("fuzz"), text)
    try:
        expected = reference.vw(text)
    except reference.Refused:
        with pytest.raises(BadData):
            parsed(path, batch_bytes=batch_bytes)
        return
    if not expected:
        with pytest.raises(BadData, match="at least one example"):
            parsed(path, batch_bytes=batch_bytes)
        return
    for threads in (1, 2):
        assert parsed(path, batch_bytes=batch_bytes, threads=threads) == expected


def test_names_weights_and_tags(tmp_path):
    text = "1 2.0 'first|text cheap pills:2 |size:10 length:0.5\n-1 second|text cheap | plain\n|text unlabelled\n"
    stream = open_stream(write(tmp_path, text))
    (batch,) = stream
    assert stream.format == "vw"
    assert stream.encoder.names() == ["text^cheap", "text^pills", "size^length", "plain", "text^unlabelled"]
    assert batch.rows.values.tolist() == [1.0, 2.0, 5.0, 1.0, 1.0, 1.0]
    assert batch.weights.tolist() == [2.0, 1.0, 1.0]
    assert batch.tags == ["first", "second", ""]
    assert batch.codes.tolist() == [0, 1, -1]
    assert stream.labels == [1, -1]


def test_many_names(tmp_path):
    lines = [" ".join(["1 |", *(f"word{(7 * k * j) % 30011}" for j in range(20))]) for k in range(3000)]
    text = "\n".join(lines)
    stream = open_stream(write(tmp_path, text), batch_bytes=30000)
    list(stream)
    words = list(dict.fromkeys(text.replace("1 |", " ").split()))
    assert stream.encoder.names() == words
    assert all(stream.encoder.find(word) == i for i, word in enumerate(words[:500]))
    assert stream.encoder.find("nothing") == -1


def test_hashed_features_keep_their_positions(tmp_path):
    path = write(tmp_path, "1 |a x y z\n-1 |b x\n")
    (exact,) = open_stream(path)
    (hashed,) = open_stream(path, bits=20)
    assert hashed.rows.values.size == exact.rows.values.size
    again = list(open_stream(path, bits=20, batch_bytes=13, threads=1))
    assert len(again) == 2
    assert (np.concatenate([batch.rows.indices for batch in again]) == hashed.rows.indices).all()


def test_interactions_of_namespaces(tmp_path):
    stream = open_stream(write(tmp_path, "1 |user u1 |ad a7:2 a8\n-1 |ad a7\n"), interactions=[("user", "ad")])
    (batch,) = stream
    assert stream.encoder.names() == ["user^u1", "ad^a7", "ad^a8", "user^u1*ad^a7", "user^u1*ad^a8"]
    assert batch.rows.values.tolist() == [1.0, 2.0, 1.0, 2.0, 1.0, 1.0]


def test_a_saved_encoder_ignores_unknown_features(tmp_path):
    stream = open_stream(write(tmp_path, "1 |f a b\n-1 |f c\n"))
    list(stream)
    encoder = Encoder.from_json(stream.encoder.to_json())
    encoder.freeze()
    (batch,) = open_stream(write(tmp_path, "1 |f c d:5 a\n", "y.vw"), encoder=encoder)
    assert batch.rows.indices.tolist() == [0, 2]
    assert encoder.n_features == 3


def test_a_long_namespace(tmp_path):
    space = "n" * 3000
    stream = open_stream(write(tmp_path, f"1 |{space} " + " ".join("abcdefghij") + "\n"))
    list(stream)
    assert stream.encoder.feature_name(9) == f"{space}^j"


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("1 2 3", "must have a bar"),
        ("spam |f a", "all numbers"),
        ("1 2 3 4 |f a", "all numbers"),
        ("1 |f :3", "a name before its colon"),
        ("1 |f a:nan", "finite number; got 'a:nan'"),
        ("1 |f a:1e999", "finite number; got 'a:1e999'"),
        ("1 |f:x a", "factor of a namespace"),
        ("1 -2 |f a", "importance must be at least 0"),
    ],
)
def test_bad_lines_are_named(tmp_path, line, complaint):
    path = write(tmp_path, "1 |f a\n" * 2000 + line + "\n1 |f a\n")
    with pytest.raises(BadData, match="line 2001: ") as caught:
        list(open_stream(path, format="vw", batch_bytes=4096))
    assert complaint in caught.value.message


def test_names_must_be_utf8(tmp_path):
    with pytest.raises(BadData, match="UTF-8"):
        list(open_stream(write(tmp_path, b"1 |f caf\xe9\n")))
    for broken in (b"1 |f caf\xe9", b"1 | caf\xc3 \xa9"):
        path = write(tmp_path, b"1 |f a\n\n" * 2000 + broken + b"\n1 |f a\n")
        with pytest.raises(BadData, match="UTF-8") as caught:
            list(open_stream(path, batch_bytes=4096))
        assert caught.value.line == 4001


@pytest.mark.parametrize("first", ["1 |f a:1e999", "1e999 |f a", "1 -2 |f a", "1 -2.0000000000000000000000001 |f a"])
def test_the_first_bad_line_is_named(tmp_path, first):
    with pytest.raises(BadData, match=r"1e999|at least 0; got '?-2") as caught:
        list(open_stream(write(tmp_path, f"1 |f a\n\n{first}\n1 |f :3\n")))
    assert caught.value.line == 3


def test_words_without_values_have_weights_by_default_on_the_command_line(tmp_path):
    for text, weights in (("1 |t free free prize\n0 |t see you\n", "log"), ("1 |t free:2 prize\n0 |t see\n", "counts"),
                          ("1 'a:1|t free\n", "log"), ("1 |t:2 free prize\n", "counts")):  # fmt: skip
        path = tmp_path / "a.vw"
        path.write_text(text)
        assert open_stream(path, word_weights=None).encoder.word_weights == weights
        assert open_stream(path, word_weights="counts").encoder.word_weights == "counts"
        assert open_stream(path).encoder.word_weights == "counts"
