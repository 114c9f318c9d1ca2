"""VW text: ``label [importance [base]] ['tag]|namespace[:factor] feature[:value] … |namespace …`` on each line."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.engine.conventions import CSR
from rosenblatt.engine.entries import parse_vw
from rosenblatt.engine.text.vw_report import (
    BAD_FACTOR,
    BAD_LABEL,
    BAD_NAME,
    BAD_VALUE,
    BAD_WEIGHT,
    LINES,
    NO_BAR,
    NO_ROOM,
    OK,
    PLACE,
    ROWS,
    SLOW_COUNT,
    STATUS,
    TAGS,
    WEIGHTS,
)

from .bad_rows import OneLineEach
from .batch import Batch
from .encoder import Encoder, Found
from .errors import BadData
from .labels import NumberLabels
from .sources import Block, Buffers, Opened, blocks
from .vocabulary import new_tokens

_REASONS = {
    BAD_LABEL: "Only label, importance and base, all numbers, and a 'tag may precede the bar; got {word!r}. Number the classes.",
    NO_BAR: "A line must have a bar | before its features; got {word!r} without one. Write it as label |features.",
    BAD_FACTOR: "The factor of a namespace must be a finite number; got {word!r}. Write it as |namespace:2 or leave it out.",
    BAD_NAME: "A feature must have a name before its colon; got {word!r}. Give it one.",
    BAD_VALUE: "The value of a feature must be a finite number; got {word!r}. Correct it, or leave the feature out.",
    BAD_WEIGHT: "An importance must be at least 0; got {word!r}. 1 is the default, 0 ignores the example.",
}


class Parsed(NamedTuple):
    """A parsed block as features that may be new, or as rows."""

    found: Found
    rows: CSR | None
    labels: NDArray[np.float64]
    weights: NDArray[np.float64]
    tags: list[str] | None
    lines: int
    counted: bool = False  # whether the frequencies of words have these rows already

    @property
    def size(self) -> int:
        """Number of bytes in memory."""
        return self.found.size + int(self.labels.nbytes + self.weights.nbytes)


def has_values(head: bytes) -> bool:
    """Whether a feature or a namespace has a number; otherwise the features are words."""
    return any(b":" in line.partition(b"|")[2] for line in head.split(b"\n"))


class VwReader(OneLineEach):
    """Reader of VW text; features are named ``name`` or ``namespace^name``."""

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
        """Parse a block; thread-safe."""
        block.decoded()
        size, room = block.size, 2 * block.size + 64
        report = np.zeros(7, np.int64)
        labels, weights = np.empty(size // 2 + 2), np.empty(size // 2 + 2)
        tags, slow = np.empty((size // 2 + 2, 2), np.int64), np.empty((size // 2 + 2, 3), np.int64)
        while True:
            tokens = new_tokens(size // 2 + 2, room)
            parse_vw(block.text, size, tokens, labels, weights, tags, slow, self._spaces, self._bounds, report)
            if report[STATUS] != NO_ROOM:
                break
            room *= 4
        rows = int(report[ROWS])
        for place, start, stop in slow[: report[SLOW_COUNT]].tolist():
            value = float(block.memory[start:stop])
            if not math.isfinite(value):
                raise self._error(block, BAD_LABEL if place < 0 else BAD_VALUE, start)
            if place >= 0:
                tokens.value[place] *= value
            else:
                row, which = divmod(-1 - place, 2)
                if which and value < 0:
                    raise self._error(block, BAD_WEIGHT, start)
                (weights if which else labels)[row] = value
        if report[STATUS] != OK:  # errors in numbers converted by Python come before it
            raise self._error(block, int(report[STATUS]), int(report[PLACE]))
        named = (
            [block.memory[a:b].decode("utf-8", "replace") for a, b in tags[:rows].tolist()] if report[TAGS] else None
        )
        self.buffers.give_back(block)
        found = self.encoder.look_up_tokens(tokens, rows, self.places)
        complete = found.names is None and not self.encoder.learning
        encoded = self.encoder.rows_of(found) if complete or not self.encoder.in_order else None
        weights = weights[:rows].copy() if report[WEIGHTS] else np.zeros(0)
        return Parsed(found, encoded, labels[:rows].copy(), weights, named, int(report[LINES]))

    def count(self, parsed: Parsed) -> Parsed:
        """Add rows that will be finished later to the frequencies of words."""
        return parsed._replace(found=self.encoder.settle(parsed.found), counted=True)

    def finish(self, parsed: Parsed, first_line: int) -> Batch:
        """Number the features and the labels; called for the blocks in order."""
        rows = parsed.rows or self.encoder.rows_of(parsed.found, learn=self.encoder.learning and not parsed.counted)
        return Batch(rows, self.labels.codes(parsed.labels), parsed.weights, parsed.tags, first_line)

    def _error(self, block: Block, status: int, place: int) -> BadData:
        line = block.memory.count(b"\n", 0, place) + 1
        return BadData(_REASONS[status].format(word=block.word_at(place)), line=line)
