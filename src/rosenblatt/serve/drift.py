"""A drift alarm: ADWIN over the mistakes of a model.

The detector (Bifet and Gavaldà 2007, "Learning from time-changing data with adaptive windowing") keeps a window of mistakes in
buckets whose sizes are powers of two. If two parts of the window have mean numbers of mistakes that differ more than chance
explains, the older part is dropped. It is an alarm if the newer part has more mistakes; fewer mistakes are what learning should
give. All state is whole numbers, so a replay of the log gives the same alarms.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

BLOCK = 32
"""Number of examples between two checks, and size of the smallest bucket."""

MOST = 5
"""Maximum number of buckets of one size."""

CONFIDENCE = 0.002
"""Bound on the probability of a false alarm in a check, as in the paper and in MOA."""


class Alarm(NamedTuple):
    """A rise of the share of mistakes: number of the example at which it was found, its time, and the shares before and after."""

    examples: int
    time: float
    before: float
    after: float


class Drift:
    """The detector.

    Attributes
    ----------
    rows : list of list of int
        Mistakes of the buckets with 32, 64, 128, … examples, the oldest of each size first.
    count, wrong : int
        Examples and mistakes of the block that is not full yet.
    """

    def __init__(self) -> None:
        self.rows: list[list[int]] = []
        self.count = self.wrong = 0

    def add(self, mistakes: Sequence[bool]) -> list[tuple[int, float, float]]:
        """Add examples; returns the alarms: after which of these examples, and the shares of mistakes before and after."""
        alarms, at = [], 0
        while at < len(mistakes):
            end = min(len(mistakes), at + BLOCK - self.count)
            self.wrong += sum(mistakes[at:end])
            self.count += end - at
            at = end
            if self.count == BLOCK:
                self._close_block()
                if (rise := self._check()) is not None:
                    alarms.append((at, *rise))
        return alarms

    def _close_block(self) -> None:
        rows, carried = self.rows, self.wrong
        self.count = self.wrong = 0
        for row in rows:
            row.append(carried)
            if len(row) <= MOST:
                return
            carried = row.pop(0) + row.pop(0)
        rows.append([carried])

    def _check(self) -> tuple[float, float] | None:
        """Drop old buckets while they differ from the newer ones; returns the shares of mistakes if the newer is larger."""
        found = None
        while (cut := self._cut()) is not None:
            before, after = cut
            if found is None and after > before:
                found = cut
            while self.rows and not self.rows[-1]:
                self.rows.pop()
            self.rows[-1].pop(0)
        return found

    def _cut(self) -> tuple[float, float] | None:
        """Mean mistakes of the two parts of the window that differ most, if they differ too much; else None."""
        sizes = [BLOCK << k for k in reversed(range(len(self.rows))) for _ in self.rows[k]]
        if len(sizes) < 2:
            return None
        first = np.cumsum(sizes, dtype=np.float64)
        wrong = np.cumsum([mistakes for row in reversed(self.rows) for mistakes in row], dtype=np.float64)
        count, total = first[-1], wrong[-1]
        n0, m0 = first[:-1], wrong[:-1]
        n1, m1 = count - n0, total - m0
        share = total / count
        certain = math.log(2.0 * math.log(count) / CONFIDENCE)
        inverse = 1.0 / n0 + 1.0 / n1
        allowed = np.sqrt(2.0 * inverse * (share * (1.0 - share)) * certain) + 2.0 / 3.0 * inverse * certain
        excess = np.abs(m0 / n0 - m1 / n1) - allowed
        at = int(excess.argmax())
        return (float(m0[at] / n0[at]), float(m1[at] / n1[at])) if excess[at] > 0.0 else None
