"""Entries that are parsed by shape: every shape, every wrong byte, and processors without the instructions."""

import itertools
import os
import random
import subprocess
import sys

import numpy as np
import pytest

from rosenblatt.data import open_stream
from rosenblatt.data.svmlight import COLUMN_LIMIT, _arrays
from rosenblatt.engine.entries import parse_svmlight
from rosenblatt.engine.text.arrays import PADDING
from rosenblatt.engine.text.svmlight_report import OK

from . import reference
from .test_svmlight import parsed, write

COUNTS = list(itertools.product(range(1, 10), ("", "-", "+"), range(1, 10), range(10)))
"""Digits of the index, sign of the value, and its digits before and after the point; some are too long for shapes."""


def entry(rng, counts):
    """An entry of random digits."""
    index, sign, whole, fraction = counts
    before, after, behind = ("".join(rng.choices("0123456789", k=k)) for k in (index, whole, fraction))
    return f"{before}:{sign}{after}" + (f".{behind}" if behind else "")


@pytest.fixture(scope="module")
def all_shapes():
    """Lines in which every shape follows another shape, the same shape, and an entry that is too long."""
    rng = random.Random(0)
    lines = []
    for counts in rng.sample(COUNTS, len(COUNTS)):
        one, same = entry(rng, counts), entry(rng, counts)
        lines += [f"1 {one} {same}", f"2 {one} 7:0.12345678901 {same}\t{same} ", f"3 qid:7 {same} {one}#"]
    return "\n".join(lines)


@pytest.mark.slow
def test_every_shape_is_read(tmp_path, all_shapes):
    path, expected = write(tmp_path, all_shapes), reference.svmlight(all_shapes.encode())
    assert parsed(path) == expected
    assert parsed(path, batch_bytes=100) == expected  # each line separately


@pytest.mark.parametrize("options", [{}, {"bits": 10}, {"one_based": True}], ids=["plain", "hashed", "one-based"])
@pytest.mark.parametrize("frozen", [False, True])
def test_longer_spellings_give_the_same_numbers(tmp_path, options, frozen):
    """Zeros before an index and after a fraction make an entry too long for shapes; the value is the same."""
    rng = np.random.default_rng(0)
    encoder = None
    if frozen:
        known = open_stream(write(tmp_path, "1 1:1 700:1\n", "known.svm"), **options)
        list(known)
        known.encoder.freeze()
        encoder, options = known.encoder, {}
    rows = [
        (np.unique(rng.integers(1, 2000, 20)), rng.choice([-3.5, 0.25, 7.125, 12.0625], 20), rng.integers(0, 2))
        for _ in range(200)
    ]
    found = []
    for form in ("{}:{:.4f}", "{:012}:{:.4f}", "{}:{:.12f}"):
        lines = [f"{y} " + " ".join(form.format(i, v) for i, v in zip(indices, values)) for indices, values, y in rows]
        path = write(tmp_path, "\n".join(lines), f"{len(found)}.svm")
        found.append(parsed(path, encoder=encoder, **options))
    assert found[0] == found[1] == found[2]
    assert len({index for _, row in found[0] for index in row}) > 100


def read_line(text, room):
    """The entries of one line, directly from the compiled parser; None if the line is refused."""
    settings, report = np.array([0, COLUMN_LIMIT, 0, 0, 1], np.int64), np.zeros(7, np.int64)
    padded = np.frombuffer(text + b"\n" * (PADDING + 1), np.uint8)
    parse_svmlight(padded, len(text) + 1, *room, settings, report)
    _, entries, _, _, slow, status, _ = report.tolist()
    assert slow == 0
    return None if status != OK else list(zip(room[1][:entries].tolist(), room[2][:entries].tolist()))


def test_every_wrong_byte_at_every_position():
    """After a good entry, an entry with one wrong byte must not be accepted as a shape."""
    rng = random.Random(0)
    room = _arrays(200)
    refused = 0
    for counts in rng.sample([counts for counts in COUNTS if sum(counts[::2]) + counts[3] < 12], 5):
        good, other = (entry(rng, counts).encode() for _ in range(2))
        for place, byte in itertools.product(range(len(other) + 1), range(256)):
            text = b"1 " + good + b" " + other[:place] + bytes([byte]) + other[place + 1 :] + b" 999999999:1"
            if byte in b"\neE":  # these make two lines, or a number that Python may convert
                continue
            try:
                ((_, expected),) = reference.svmlight(text)
            except reference.Refused:
                refused += 1
                assert read_line(text, room) is None, text
            else:
                assert read_line(text, room) == list(expected.items()), text
    assert refused > 8_000


@pytest.mark.slow
def test_processors_without_the_instructions(tmp_path, all_shapes):
    """A processor without byte shuffling reads the same values, digit by digit."""
    path = write(tmp_path, all_shapes)
    code = """if True:
        import sys
        import numpy as np
        from rosenblatt.data import open_stream
        (batch,) = open_stream(sys.argv[1])
        np.savez(sys.argv[2], *batch.rows)
    """
    environment = {**os.environ, "NUMBA_CPU_NAME": "generic", "ROSENBLATT_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-c", code, str(path), str(tmp_path / "rows.npz")]
    subprocess.run(command, env=environment, check=True, timeout=300)
    (batch,) = open_stream(path)
    with np.load(tmp_path / "rows.npz") as rows:
        assert all((rows[f"arr_{k}"] == part).all() for k, part in enumerate(batch.rows))
