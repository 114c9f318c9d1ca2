"""svmlight / LIBSVM text: ``label index:value index:value … # comment`` on each line."""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit, uint64
from numpy.typing import NDArray

from rosenblatt.engine.rows import CSR

from .batch import Batch
from .compiled import kernels
from .encoder import Encoder
from .errors import BadData
from .labels import NumberLabels
from .numbers import BAD, SLOW, any_number, digits, number, simple_number
from .ordering import mix, tidy_row
from .shapes import ANY_SHAPE, NO_SHAPE, SHAPES, entry_of_shape, shape_at, shapes_work
from .sources import Block, Buffers, Opened, Spare, blocks

COLUMN_LIMIT = (1 << 31) - 1
"""Column numbers must be below it, since there is a weight for each up to the highest."""

OK, BAD_LABEL, NO_LABEL, BAD_INDEX, BIG_INDEX, ZERO_INDEX, NO_COLON, BAD_VALUE, LONG_INDEX = range(9)

_ENDS = np.array([byte <= 32 or byte == 35 for byte in range(256)])
"""Which bytes may come after a number: blanks and the sign of a comment."""

ROWS, ENTRIES, LINES, HIGHEST, SLOW_COUNT, STATUS, PLACE = range(7)
"""Places in the report of a kernel."""


@njit(nogil=True, error_model="numpy")
def parse_svmlight(
    text: Any, size: Any, indptr: Any, indices: Any, values: Any, labels: Any, slow: Any, settings: Any, report: Any
) -> None:
    """Parse whole lines into CSR rows.

    `settings`: the number of the first column, the highest column allowed, the columns known if others shall be ignored (else
    0), the mask of hashing (else 0), whether a label must be there. `slow` gets (entry or -1 - row, start, stop) of each number
    that Python must convert. `report` is filled at the end, with the place of an error if there was one.
    """
    first, limit, known = uint64(settings[0]), uint64(settings[1]), uint64(settings[2])
    mask, must = uint64(settings[3]), settings[4] != 0
    plain = limit if mask or not known else known  # columns below it are taken
    size = uint64(size)
    at, k, row, lines, highest = uint64(0), uint64(0), uint64(0), uint64(0), uint64(0)
    slow_count, status = uint64(0), OK
    first_shape = uint64(ANY_SHAPE)
    indptr[0] = 0
    while at < size:
        c = text[at]
        if c == 10:
            lines += uint64(1)
            at += uint64(1)
            continue
        if c <= 32:
            at += uint64(1)
            continue
        if c == 35:
            while text[at] != 10:
                at += uint64(1)
            continue
        value, end, kind = number(text, at)
        c = text[end]
        if c == 58:
            if must:
                status = NO_LABEL
                break
            labels[row] = np.nan
        elif kind == BAD or not _ENDS[c]:
            status = BAD_LABEL
            break
        else:
            if kind == SLOW:
                slow[slow_count, 0], slow[slow_count, 1], slow[slow_count, 2] = -1 - np.int64(row), at, end
                slow_count += uint64(1)
            labels[row] = value
            at = end
        begin, last, ordered = k, uint64(0), True
        shape, shapely = first_shape, shapes_work()
        while True:
            c = text[at]
            while c <= 32:
                if c == 10:
                    break
                at += uint64(1)
                c = text[at]
            if c == 10:
                break
            while shapely:  # so nearly all are read
                fits, index, value, length = entry_of_shape(text, at, SHAPES, shape)
                if not fits:
                    if text[at] <= 32:
                        break
                    found, length = shape_at(text, at)
                    if found == uint64(NO_SHAPE):
                        shapely = False  # long numbers do not come alone
                        break
                    shape = found
                    if k == begin:
                        first_shape = shape
                    fits, index, value, _ = entry_of_shape(text, at, SHAPES, shape)
                index -= first
                if not fits or index >= plain:
                    break
                if mask:
                    index = mix(index) & mask
                ordered &= index >= last
                last = index + uint64(1)
                indices[k] = index
                values[k] = value
                k += uint64(1)
                at += length
                if text[at] == 10:
                    break
                at += uint64(1)
            c = text[at]
            if c <= 32:
                continue
            index, end = digits(text, at, uint64(0))
            start = end + uint64(1)
            if text[end] == 58 and start - at - uint64(2) <= uint64(18):
                value, end, exact = simple_number(text, start)
                index -= first
                if exact and text[end] <= 32 and index < plain:
                    if mask:
                        index = mix(index) & mask
                    ordered &= index >= last
                    last = index + uint64(1)
                    indices[k] = index
                    values[k] = value
                    k += uint64(1)
                    at = end
                    continue
                value, end, kind = any_number(text, start)
                if kind == BAD or not _ENDS[text[end]]:
                    status = BAD_VALUE
                    break
                if index == ~uint64(0):  # 0 - 1
                    status = ZERO_INDEX
                    break
                if mask:
                    index = mix(index) & mask
                elif index >= plain:
                    if index >= limit:
                        status = BIG_INDEX
                        break
                    at = end
                    continue
                if kind == SLOW:
                    slow[slow_count, 0], slow[slow_count, 1], slow[slow_count, 2] = k, start, end
                    slow_count += uint64(1)
                ordered &= index >= last
                last = index + uint64(1)
                indices[k] = index
                values[k] = value
                k += uint64(1)
                at = end
            elif c == 35:
                while text[at] != 10:
                    at += uint64(1)
                break
            elif c == 113 and text[at + uint64(1)] == 105 and text[at + uint64(2)] == 100:  # qid
                while not _ENDS[text[at]]:
                    at += uint64(1)
                shapely = shapes_work()
            else:
                status = BIG_INDEX if text[end] == 58 and end > at else (NO_COLON if end > at else BAD_INDEX)
                break
        if status != OK:
            break
        row += uint64(1)
        if not ordered:
            if slow_count and slow[slow_count - uint64(1), 0] >= np.int64(begin):
                # The places of slow numbers would change: mark the row, to be put in order when they are known.
                slow[slow_count, 0], slow[slow_count, 1], slow[slow_count, 2] = np.int64(row) - 1, -1, -1
                slow_count += uint64(1)
                highest = max(highest, uint64(indices[begin:k].max()))
            else:
                k = tidy_row(indices, values, begin, k)
        if k > begin:
            highest = max(highest, uint64(indices[k - uint64(1)]))
        indptr[row] = k
    report[ROWS], report[ENTRIES], report[LINES], report[HIGHEST] = row, k, lines, highest
    report[SLOW_COUNT], report[STATUS], report[PLACE] = slow_count, status, at


_REASONS = {
    BAD_LABEL: "A line must begin with a label, which is a number; got {word!r}. Write classes as numbers, or use CSV for words.",
    NO_LABEL: "A line must begin with a label; this one begins with the feature {word!r}. Put a label, such as 0, before it.",
    BAD_INDEX: "A feature must be written index:value with a whole number first; got {word!r}. Use VW text for names.",
    BIG_INDEX: f"The index of a feature must be below {COLUMN_LIMIT:,}; got {{word!r}}. Hash the features with bits (--bits 24).",
    ZERO_INDEX: "The index of a feature must be at least 1 where features count from one; got {word!r}. Set one_based=False.",
    NO_COLON: "A feature must be written index:value; got {word!r}. Put a colon between its number and its value.",
    BAD_VALUE: "The value of a feature must be a finite number; got {word!r}. Correct it, or leave the feature out.",
    LONG_INDEX: "The index of a feature may have up to 19 digits; got {word!r}. Use VW text for longer names.",
}


def _arrays(size: int) -> tuple[NDArray[Any], ...]:
    """Room for what so many bytes can hold at most: indptr, indices, values, labels, and numbers left to Python."""
    rows, entries = size // 2 + 2, size // 4 + 2
    slow = np.empty((entries, 3), np.int64)
    return np.empty(rows, np.int64), np.empty(entries, np.int32), np.empty(entries), np.empty(rows), slow


class Parsed(NamedTuple):
    """A block as rows and labels that are not numbered yet."""

    rows: CSR
    labels: NDArray[np.float64]
    lines: int
    highest: int


class SvmlightReader:
    """Reads svmlight text into rows whose columns are the features' numbers as they are written."""

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
        """Parse a block; any thread may do it."""
        size, encoder = block.size, self.encoder
        known = encoder.n_features if encoder.frozen else 0
        mask = 0 if encoder.bits is None else (1 << encoder.bits) - 1
        settings = np.array([encoder.first_column, COLUMN_LIMIT, known, mask, self.labelled], np.int64)
        report = np.zeros(7, np.int64)
        indptr, indices, values, labels, slow = self.spare.take(size)
        kernels().parse_svmlight(block.text, size, indptr, indices, values, labels, slow, settings, report)
        rows, entries = int(report[ROWS]), int(report[ENTRIES])
        parsed = CSR(indptr[: rows + 1], indices[:entries], values[:entries])
        if report[SLOW_COUNT]:  # they come before what the kernel complains of
            parsed = self._convert_slowly(block, parsed, labels, slow[: report[SLOW_COUNT]].tolist())
        if report[STATUS] != OK:
            raise self._complaint(block, int(report[STATUS]), int(report[PLACE]))
        self.buffers.give_back(block)
        return Parsed(parsed, labels[:rows], int(report[LINES]), int(report[HIGHEST]))

    def finish(self, parsed: Parsed, first_line: int) -> Batch:
        """Number the labels; called for one block after the other."""
        if not self.encoder.frozen and parsed.rows.indices.size:
            self.encoder.width = max(self.encoder.width, parsed.highest + 1)
        return Batch(parsed.rows, self.labels.codes(parsed.labels), np.zeros(0), None, first_line)

    def _convert_slowly(self, block: Block, rows: CSR, labels: NDArray[np.float64], slow: list[list[int]]) -> CSR:
        """Let Python convert what the kernel could not."""
        unordered = False
        for place, start, stop in slow:
            if start < 0:
                unordered = True
                continue
            value = float(block.memory[start:stop])
            if not math.isfinite(value):
                raise self._complaint(block, BAD_LABEL if place < 0 else BAD_VALUE, start)
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

    def _complaint(self, block: Block, status: int, place: int) -> BadData:
        if status == BIG_INDEX and self.encoder.bits is not None:
            status = LONG_INDEX
        line = block.memory.count(b"\n", 0, place) + 1
        return BadData(_REASONS[status].format(word=word_at(block, place)), line=line)


def word_at(block: Block, place: int) -> str:
    """What stands at a place of a text, up to the next blank, shortened if need be."""
    start = max(block.memory.rfind(separator, 0, place) for separator in (b" ", b"\n", b"\t")) + 1
    words = bytes(block.memory[start : min(place + 60, block.size)]).split(None, 1)
    text = words[0].decode("utf-8", "replace") if words else ""
    return text if len(text) <= 40 else text[:40] + "…"
