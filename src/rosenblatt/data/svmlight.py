"""svmlight / LIBSVM text: ``label index:value index:value … # comment`` on each line."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.engine.conventions import CSR
from rosenblatt.engine.entries import parse_svmlight
from rosenblatt.engine.text.svmlight_report import (
    BAD_INDEX,
    BAD_LABEL,
    BAD_VALUE,
    BIG_INDEX,
    ENTRIES,
    HIGHEST,
    LINES,
    LONG_INDEX,
    NO_COLON,
    NO_LABEL,
    OK,
    PLACE,
    ROWS,
    SLOW_COUNT,
    STATUS,
    ZERO_INDEX,
)

from .bad_rows import OneLineEach
from .batch import Batch
from .encoder import Encoder
from .errors import BadData
from .labels import NumberLabels
from .sources import Block, Buffers, Opened, Spare, blocks

COLUMN_LIMIT = (1 << 31) - 1
"""Limit of column numbers, because there is a weight for every number up to the highest."""

_REASONS = {
    BAD_LABEL: "A line must begin with a label, which is a number; got {word!r}. Write classes as numbers, or use CSV for words.",
    NO_LABEL: "A line must begin with a label; this one begins with the feature {word!r}. Put a label, such as 0, before it.",
    BAD_INDEX: "A feature must be written index:value with a whole number first; got {word!r}. Use VW text for names.",
    BIG_INDEX: f"The index of a feature must be below {COLUMN_LIMIT:,}; got {{word!r}}. Hash the features with bits (--bits 24).",
    ZERO_INDEX: "The index of a feature must be at least 1 if features are counted from 1; got {word!r}. Give --zero-based.",
    NO_COLON: "A feature must be written index:value; got {word!r}. Put a colon between its number and its value.",
    BAD_VALUE: "The value of a feature must be a finite number; got {word!r}. Correct it, or leave the feature out.",
    LONG_INDEX: "The index of a feature may have up to 19 digits; got {word!r}. Use VW text for longer names.",
}


def _arrays(size: int) -> tuple[NDArray[Any], ...]:
    """Arrays for `size` bytes of text: indptr, indices, values, labels, and numbers that Python must convert."""
    rows, entries = size // 2 + 2, size // 4 + 2
    slow = np.empty((entries, 3), np.int64)
    return np.empty(rows, np.int64), np.empty(entries, np.int32), np.empty(entries), np.empty(rows), slow


class Parsed(NamedTuple):
    """A parsed block: rows, and labels that are not numbered yet."""

    rows: CSR
    labels: NDArray[np.float64]
    lines: int
    highest: int
    counted: bool = False  # whether the frequencies of words have these rows already

    @property
    def size(self) -> int:
        """Number of bytes in memory."""
        return sum(int(array.nbytes) for array in (*self.rows, self.labels))


class SvmlightReader(OneLineEach):
    """Reader of svmlight text; column numbers are the feature numbers as written."""

    label_text = "the first field"

    def __init__(self, encoder: Encoder, buffers: Buffers, labelled: bool) -> None:
        self.encoder = encoder
        self.buffers = buffers
        self.labelled = labelled
        self.labels = NumberLabels()
        self.spare = Spare(_arrays)

    def work(self, source: Opened) -> Any:
        """Blocks of lines."""
        return blocks(source, self.buffers)

    def parse(self, block: Block) -> Parsed:
        """Parse a block; thread-safe."""
        size, encoder = block.size, self.encoder
        known = encoder.n_features if encoder.frozen else 0
        mask = 0 if encoder.bits is None else (1 << encoder.bits) - 1
        settings = np.array([encoder.first_column, COLUMN_LIMIT, known, mask, self.labelled], np.int64)
        report = np.zeros(7, np.int64)
        indptr, indices, values, labels, slow = self.spare.take(size)
        parse_svmlight(block.text, size, indptr, indices, values, labels, slow, settings, report)
        rows, entries = int(report[ROWS]), int(report[ENTRIES])
        parsed = CSR(indptr[: rows + 1], indices[:entries], values[:entries])
        if report[SLOW_COUNT]:  # errors in them come before the error that the parser reports
            parsed = self._convert_slowly(block, parsed, labels, slow[: report[SLOW_COUNT]].tolist())
        if report[STATUS] != OK:
            raise self._error(block, int(report[STATUS]), int(report[PLACE]))
        self.buffers.give_back(block)
        return Parsed(parsed, labels[:rows], int(report[LINES]), int(report[HIGHEST]))

    def count(self, parsed: Parsed) -> Parsed:
        """Add rows that will be finished later to the frequencies of words."""
        self._widen(parsed)
        self.encoder.count(parsed.rows)
        return parsed._replace(counted=True)

    def finish(self, parsed: Parsed, first_line: int) -> Batch:
        """Number the labels; called for the blocks in order."""
        self._widen(parsed)
        self.encoder.weigh(parsed.rows, self.encoder.learning and not parsed.counted)
        return Batch(parsed.rows, self.labels.codes(parsed.labels), np.zeros(0), None, first_line)

    def _widen(self, parsed: Parsed) -> None:
        if not self.encoder.frozen and parsed.rows.indices.size:
            self.encoder.width = max(self.encoder.width, parsed.highest + 1)

    def _convert_slowly(self, block: Block, rows: CSR, labels: NDArray[np.float64], slow: list[list[int]]) -> CSR:
        """Convert the numbers that compiled code could not, and sort rows if needed."""
        unordered = False
        for place, start, stop in slow:
            if start < 0:
                unordered = True
                continue
            value = float(block.memory[start:stop])
            if not math.isfinite(value):
                raise self._error(block, BAD_LABEL if place < 0 else BAD_VALUE, start)
            if place < 0:
                labels[-1 - place] = value
            else:
                rows.values[place] = value
        if unordered:
            from scipy.sparse import csr_array

            whole = csr_array((rows.values, rows.indices, rows.indptr), shape=(rows.indptr.size - 1, COLUMN_LIMIT))
            whole.sum_duplicates()
            rows = CSR(whole.indptr.astype(np.int64), whole.indices.astype(np.int32), whole.data)
        return rows

    def _error(self, block: Block, status: int, place: int) -> BadData:
        if status == BIG_INDEX and self.encoder.bits is not None:
            status = LONG_INDEX
        line = block.memory.count(b"\n", 0, place) + 1
        return BadData(_REASONS[status].format(word=block.word_at(place)), line=line)
