"""VW text: ``label [importance [base]] ['tag]|namespace[:factor] feature[:value] … |namespace …`` on each line."""

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
from .numbers import BAD, GOOD, PADDING, SLOW, number
from .sources import Block, Buffers, Opened, blocks
from .svmlight import word_at
from .words import END, USED, Tokens, hash_bytes, new_tokens

OK, BAD_LABEL, NO_BAR, BAD_FACTOR, BAD_NAME, BAD_VALUE, NO_ROOM, BAD_WEIGHT = range(8)

_ENDS_NAME = np.array([byte <= 32 or chr(byte) in "|:" for byte in range(256)])

ROWS, LINES, SLOW_COUNT, STATUS, PLACE, TAGS, WEIGHTS = range(7)
"""Places in the report of the kernel."""

_REASONS = {
    BAD_LABEL: "Before the bar come label, importance and base, all numbers, and a 'tag; got {word!r}. Number the classes.",
    NO_BAR: "A line must have a bar | before its features; got {word!r} without one. Write it as label |features.",
    BAD_FACTOR: "The factor of a namespace must be a finite number; got {word!r}. Write it as |namespace:2 or leave it out.",
    BAD_NAME: "A feature must have a name before its colon; got {word!r}. Give it one.",
    BAD_VALUE: "The value of a feature must be a finite number; got {word!r}. Correct it, or leave the feature out.",
    BAD_WEIGHT: "An importance must be at least 0; got {word!r}. 1 counts an example once, 0 not at all.",
}


@njit(nogil=True, error_model="numpy")
def parse_vw(
    text: Any,
    size: Any,
    tokens: Any,
    labels: Any,
    weights: Any,
    tags: Any,
    slow: Any,
    spaces: Any,
    bounds: Any,
    report: Any,
) -> None:
    """Parse whole lines into tokens. `spaces` and `bounds` are the names of the namespaces that have a column number."""
    size = uint64(size)
    at, row, lines, slow_count, k = uint64(0), uint64(0), uint64(0), uint64(0), uint64(0)
    names, used, room = tokens.text, uint64(0), uint64(tokens.text.size - PADDING)
    status, any_tag, any_weight = OK, False, False
    while at < size:
        c = text[at]
        if c <= 32:
            lines += uint64(c == 10)
            at += uint64(1)
            continue
        labels[row], weights[row] = np.nan, 1.0
        tags[row, 0], tags[row, 1] = 0, 0
        count = 0
        while text[at] != 124:
            c = text[at]
            if c == 10:
                status = NO_BAR
                break
            if c <= 32:
                at += uint64(1)
                continue
            end = at
            while text[end] > 32 and text[end] != 124:
                end += uint64(1)
            if c == 39 or text[end] == 124:
                tags[row, 0], tags[row, 1] = at + uint64(c == 39), end
                any_tag = True
                at = end
                continue
            value, stop, kind = number(text, at)
            if kind == BAD or stop != end or count > 2:
                status = BAD_LABEL
                break
            if count == 0:
                labels[row] = value
            elif count == 1:
                if value < 0.0:
                    status = BAD_WEIGHT
                    break
                weights[row] = value
                any_weight = True
            if kind == SLOW and count < 2:
                slow[slow_count, 0], slow[slow_count, 1], slow[slow_count, 2] = -1 - 2 * np.int64(row) - count, at, end
                slow_count += uint64(1)
            count += 1
            at = end
        if status != OK:
            break
        while text[at] == 124:
            at += uint64(1)
            space, factor, column = at, 1.0, -1
            while not _ENDS_NAME[text[at]]:
                at += uint64(1)
            space_end = at
            if text[at] == 58:
                factor, at, kind = number(text, at + uint64(1))
                c = text[at]
                if kind != GOOD or (c > 32 and c != 124):
                    status = BAD_FACTOR
                    break
            for i in range(bounds.size - 1):
                length = bounds[i + 1] - bounds[i]
                if length == np.int64(space_end - space):
                    same = True
                    for b in range(length):
                        same &= spaces[bounds[i] + b] == text[space + uint64(b)]
                    if same:
                        column = i
            while True:
                c = text[at]
                while c <= 32 and c != 10:
                    at += uint64(1)
                    c = text[at]
                if c == 10 or c == 124:  # noqa: PLR1714 - a set is slow here
                    break
                begin = at
                while not _ENDS_NAME[c]:
                    at += uint64(1)
                    c = text[at]
                if at == begin:
                    status = BAD_NAME
                    break
                start = used
                if start + (at - begin) + (space_end - space) + uint64(2) > room:
                    status = NO_ROOM
                    break
                if space_end > space:
                    for b in range(space, space_end):
                        names[used] = text[b]
                        used += uint64(1)
                    names[used] = 94
                    used += uint64(1)
                for b in range(begin, at):
                    names[used] = text[b]
                    used += uint64(1)
                value = factor
                if c == 58:
                    first = at + uint64(1)
                    value, at, kind = number(text, first)
                    c = text[at]
                    if kind == BAD or (c > 32 and c != 124):
                        at = begin
                        status = BAD_VALUE
                        break
                    value *= factor
                    if kind == SLOW:
                        slow[slow_count, 0], slow[slow_count, 1], slow[slow_count, 2] = k, first, at
                        slow_count += uint64(1)
                        value = factor
                tokens.row[k], tokens.column[k], tokens.value[k] = row, column, value
                tokens.start[k], tokens.length[k] = start, used - start
                tokens.hash[k] = hash_bytes(names, start, used - start)
                k += uint64(1)
            if status != OK:
                break
        if status != OK:
            break
        row += uint64(1)
    tokens.size[END], tokens.size[USED] = k, used
    report[ROWS], report[LINES], report[SLOW_COUNT], report[STATUS] = row, lines, slow_count, status
    report[PLACE], report[TAGS], report[WEIGHTS] = at, any_tag, any_weight


class Parsed(NamedTuple):
    """A block as tokens, or as rows where no new features can come up."""

    tokens: Tokens
    rows: CSR | None
    labels: NDArray[np.float64]
    weights: NDArray[np.float64]
    tags: list[str] | None
    lines: int


class VwReader:
    """Reads VW text; features are called ``name`` or ``namespace^name``."""

    label_text = "the first field"

    def __init__(self, encoder: Encoder, buffers: Buffers) -> None:
        self.encoder = encoder
        self.buffers = buffers
        self.labels = NumberLabels()
        self.places = {
            name: i for i, name in enumerate(dict.fromkeys(n for pair in encoder.interactions for n in pair))
        }
        spaces = [name.encode() for name in self.places]
        self._spaces = np.frombuffer(b"".join(spaces), np.uint8)
        self._bounds = np.cumsum([0, *(len(name) for name in spaces)])

    def work(self, source: Opened) -> Any:
        """Blocks of lines."""
        return blocks(source, self.buffers)

    def parse(self, block: Block) -> Parsed:
        """Parse a block; any thread may do it."""
        block.decoded()
        size, room = block.size, 2 * block.size + 64
        report = np.zeros(7, np.int64)
        labels, weights = np.empty(size // 2 + 2), np.empty(size // 2 + 2)
        tags, slow = np.empty((size // 2 + 2, 2), np.int64), np.empty((size // 2 + 2, 3), np.int64)
        while True:
            tokens = new_tokens(size // 2 + 2, room)
            kernels().parse_vw(
                block.text, size, tokens, labels, weights, tags, slow, self._spaces, self._bounds, report
            )  # fmt: skip
            if report[STATUS] != NO_ROOM:
                break
            room *= 4
        rows = int(report[ROWS])
        for place, start, stop in slow[: report[SLOW_COUNT]].tolist():
            value = float(block.memory[start:stop])
            if not math.isfinite(value):
                raise self._complaint(block, BAD_LABEL if place < 0 else BAD_VALUE, start)
            if place >= 0:
                tokens.value[place] *= value
            else:
                row, which = divmod(-1 - place, 2)
                if which and value < 0:
                    raise self._complaint(block, BAD_WEIGHT, start)
                (weights if which else labels)[row] = value
        if report[STATUS] != OK:  # what was left to Python comes before it
            raise self._complaint(block, int(report[STATUS]), int(report[PLACE]))
        named = (
            [block.memory[a:b].decode("utf-8", "replace") for a, b in tags[:rows].tolist()] if report[TAGS] else None
        )
        self.buffers.give_back(block)
        encoded = None if self.encoder.in_order else self.encoder.rows_of(tokens, rows, self.places)
        weights = weights[:rows].copy() if report[WEIGHTS] else np.zeros(0)
        return Parsed(tokens, encoded, labels[:rows].copy(), weights, named, int(report[LINES]))

    def finish(self, parsed: Parsed, first_line: int) -> Batch:
        """Number the features and the labels; called for one block after the other."""
        rows = parsed.rows or self.encoder.rows_of(parsed.tokens, parsed.labels.size, self.places)
        return Batch(rows, self.labels.codes(parsed.labels), parsed.weights, parsed.tags, first_line)

    def _complaint(self, block: Block, status: int, place: int) -> BadData:
        line = block.memory.count(b"\n", 0, place) + 1
        return BadData(_REASONS[status].format(word=word_at(block, place)), line=line)
