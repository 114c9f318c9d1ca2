"""The blocked online loop: the results of the one-by-one algorithm at the speed of matrix products.

The scores at the start of a block are one matrix product with the support set. Inside the block a compiled loop visits
the examples in order and, after each mistake, corrects the block's scores with a row of the block's own kernel matrix.
The mistakes are those of the one-by-one algorithm (exactly, if the sums are exact).
"""

from __future__ import annotations

import numpy as np

from rosenblatt.dual.functions import Kernel
from rosenblatt.dual.machine import Machine
from rosenblatt.dual.rows import Block, Floats, Integers
from rosenblatt.engine.entries import learn_block

TILE = 4096  # support rows per matrix product, which limits memory to block size x TILE kernel values


class NotFiniteError(ValueError):
    """A kernel value or a score is NaN or infinite."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what} of KernelPerceptron must be finite numbers; got NaN or infinity. "
            "Scale the features down, lower `degree` or `gamma`, or check the kernel function; the model is unchanged."
        )


def add_scores(kernel: Kernel, block: Block, machine: Machine, scores: Floats) -> None:
    """Add the scores of a block under the current weights."""
    dual = machine.dual.view
    for start in range(0, len(dual), TILE):
        stop = min(start + TILE, len(dual))
        scores += kernel(block, machine.rows.slice(start, stop)) @ dual[start:stop]


def add_scores_since(kernel: Kernel, block: Block, machine: Machine, since: Integers, scores: Floats) -> None:
    """Add the changes of the score of example i by the updates from number since[i] on."""
    first, last = int(since.min()), len(machine.event_row)
    uneven = int(since.max()) > first
    for start in range(first, last, TILE):
        stop = min(start + TILE, last)
        values = kernel(block, machine.rows.take(machine.event_row.view[start:stop]))
        if uneven:
            values[np.arange(start, stop)[None, :] < since[:, None]] = 0.0
        scores += values @ machine.event_tau.view[start:stop]


def learn(
    machine: Machine, kernel: Kernel, block: Block, y: Integers, weight: Floats, scores: Floats, row_of: Integers
) -> int:
    """Train on a block whose scores are known; return the number of mistakes.

    Parameters
    ----------
    scores : array of shape (B, K), changed in place
        Scores at the start of the block; afterwards those at its end.
    row_of : array of shape (n,), changed in place
        For every example number, its row among the support rows, or -1; repeated mistakes share one row.
    """
    gram = kernel(block, block)
    if not np.isfinite(gram).all():
        raise NotFiniteError("The kernel values")
    size, columns = scores.shape
    position = np.empty(size, dtype=np.int64)
    taus, seen = np.empty((size, columns)), np.empty((size, columns))
    mistakes: int
    count, mistakes = learn_block(
        scores, gram, y, weight, int(machine.scheme), int(machine.on_zero), position, taus, seen
    )
    if count < 0:
        raise NotFiniteError("The scores")
    position = position[:count]
    machine.add_updates(
        block, position, row_of, taus[:count], seen[:count], gram[position, position], machine.n_seen + position
    )
    machine.n_seen += size
    machine.n_mistakes += mistakes
    return mistakes
