"""Rows that cannot be read: they end the reading, or are left out and counted."""

import dataclasses
from collections.abc import Collection
from typing import Any

from rosenblatt.engine.text.arrays import PADDING

from .errors import BadData
from .sources import Block

CHOICES = ("stop", "skip")


@dataclasses.dataclass
class BadRows:
    """The rows that were left out in one pass.

    Attributes
    ----------
    count : int
        How many.
    first : list of BadData
        The errors of the first of them.
    """

    KEPT = 5

    count: int = 0
    first: list[BadData] = dataclasses.field(default_factory=list)

    def add(self, errors: Collection[BadData], name: str, line: int) -> None:
        """Note the errors of a unit that begins at this line of the file."""
        self.count += len(errors)
        for error in list(errors)[: self.KEPT - len(self.first)]:
            self.first.append(BadData(error.message, name, line + (error.line or 1) - 1))

    def describe(self) -> str | None:
        """Warning about the rows that were left out; None if there are none."""
        if not self.count:
            return None
        rows = "1 bad row was" if self.count == 1 else f"{self.count:,} bad rows were"
        return f"{rows} left out; the first: {self.first[0]}"


def parse_good_rows(reader: Any, unit: Any) -> tuple[Any, list[BadData], int]:
    """Parse a unit without its bad rows: the result (None if nothing is left), the errors, and how many lines were left out.

    An error whose line is not known is raised.
    """
    errors: list[BadData] = []
    gone: list[int] = []  # the lines of the unit that are left out, in order
    while True:
        try:
            return reader.parse(unit), sorted(errors, key=lambda error: error.line or 1), len(gone)
        except BadData as problem:
            found = reader.bad_rows(unit, problem)
            if not found:
                raise
        lines = set[int]()
        for error, height in found:
            at = _original(error.line or 1, gone)
            errors.append(BadData(error.message, line=at))
            lines |= set(range(error.line or 1, (error.line or 1) + height))
        gone = sorted({*gone, *(_original(line, gone) for line in lines)})
        unit = reader.without(unit, lines)
        if unit is None:
            return None, sorted(errors, key=lambda error: error.line or 1), len(gone)


def _original(line: int, gone: list[int]) -> int:
    """The number of a line before the lines in `gone` were left out."""
    for one in gone:
        if one > line:
            break
        line += 1
    return line


class OneLineEach:
    """What readers have in common whose units are blocks with a row on each line."""

    def bad_rows(self, unit: Any, problem: BadData) -> list[tuple[BadData, int]]:
        """The bad rows that are known after an error: their errors, and the numbers of their lines."""
        return [] if problem.line is None else [(problem, 1)]

    def without(self, unit: Any, lines: set[int]) -> Any:
        """The unit without these lines; None if no row is left."""
        return without_lines(unit, lines)


def without_lines(block: Block, lines: set[int], least: int = 0) -> Block | None:
    """A block without these lines; None if no more than `least` lines with text are left."""
    import numpy as np

    rows = bytes(block.memory[: block.size]).split(b"\n")
    kept = [row for number, row in enumerate(rows, start=1) if number not in lines]
    if sum(bool(row.strip()) for row in kept) <= least:
        return None
    text = b"\n".join(kept)
    memory = bytearray(text + b"\n" * PADDING)
    return Block(memory, np.frombuffer(memory, np.uint8), len(text))
