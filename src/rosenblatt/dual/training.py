"""Passes over a training set: several epochs with cached scores, or one pass over the next chunk of a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from rosenblatt.dual.functions import Kernel
from rosenblatt.dual.machine import Machine
from rosenblatt.dual.online import NotFiniteError, add_scores, add_scores_since, learn
from rosenblatt.dual.rows import Block, Floats, Integers
from rosenblatt.model.scores import margins

BLOCK_SIZE = 512


def blocks(order: Integers, size: int) -> Iterator[Integers]:
    """Split a visiting order into blocks."""
    for start in range(0, len(order), size):
        yield order[start : start + size]


@dataclass
class Epochs:
    """Repeated passes over one set.

    The score of every example is cached together with the number of updates it includes, so that a later epoch needs only
    the kernel values of the updates since the last visit, not of the whole support set. Late epochs with few mistakes are
    therefore fast; the mistakes are the same.
    """

    machine: Machine
    kernel: Kernel
    data: Block
    y: Integers
    weight: Floats
    block_size: int = BLOCK_SIZE
    scores: Floats = field(init=False)
    since: Integers = field(init=False)
    row_of: Integers = field(init=False)

    def __post_init__(self) -> None:
        n = len(self.data)
        self.scores = np.zeros((n, self.machine.columns))
        self.since = np.zeros(n, dtype=np.int64)
        self.row_of = np.full(n, -1, dtype=np.int64)

    def run(self, order: Integers, stop: Callable[[], bool] = lambda: False) -> int:
        """Train on the examples in this order until `stop()` is true after a block; return the number of mistakes."""
        mistakes = 0
        for which in blocks(order, self.block_size):
            block = self.data.take(which)
            scores = self.current(block, which)
            mistakes += learn(self.machine, self.kernel, block, self.y[which], self.weight[which], scores, self.row_of)
            self.scores[which] = scores
            self.since[which] = len(self.machine.event_row)
            if stop():
                break
        return mistakes

    def separates(self) -> bool:
        """Whether the current weights classify every example strictly correctly; stops at the first mistake."""
        for which in blocks(np.arange(len(self.data)), self.block_size):
            scores = self.current(self.data.take(which), which)
            if not np.isfinite(scores).all():
                raise NotFiniteError("The scores")
            if (margins(scores, self.y[which]) <= 0.0).any():
                return False
        return True

    def current(self, block: Block, which: Integers) -> Floats:
        """Scores of these examples under the current weights."""
        scores = self.scores[which]
        since = self.since[which]
        if len(self.machine.event_row) - since.min() < len(self.machine.rows):
            add_scores_since(self.kernel, block, self.machine, since, scores)
        else:  # more updates than rows: computing the scores from scratch is faster
            scores[:] = 0.0
            add_scores(self.kernel, block, self.machine, scores)
        return scores


def learn_stream(
    machine: Machine, kernel: Kernel, data: Block, y: Integers, weight: Floats, block_size: int = BLOCK_SIZE
) -> int:
    """Learn new examples in the order received, with one support row per mistake; return the number of mistakes."""
    row_of = np.full(len(data), -1, dtype=np.int64)
    local = Block(data.rows, data.sq_norms, np.arange(len(data), dtype=np.int64))
    first, before = len(machine.rows), machine.n_seen
    mistakes = 0
    for which in blocks(np.arange(len(data)), block_size):
        block = local.take(slice(int(which[0]), int(which[-1]) + 1))
        scores = np.zeros((len(block), machine.columns))
        add_scores(kernel, block, machine, scores)
        mistakes += learn(machine, kernel, block, y[which], weight[which], scores, row_of)
    machine.rows.ids[first:] += before
    return mistakes
