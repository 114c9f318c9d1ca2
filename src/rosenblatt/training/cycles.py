"""Weights that return to those of an earlier epoch: a proof that no hyperplane separates the classes."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rosenblatt.model.linear import Model

if TYPE_CHECKING:
    from .loop import BlockPasses

MOST_PAIRS = 10**7
"""The largest number of pairs of an example and a class for which a cycle of many classes is proved."""


class CycleWatch:
    """Notices when the weights return to those of an earlier epoch (Brent's method: it remembers epochs 1, 2, 4, 8 …).

    Parameters
    ----------
    model : Model
        The model that learns, by an additive rule.
    passes : BlockPasses
        Its epochs. Only those over one block can be repeated for a proof.
    """

    def __init__(self, model: Model, passes: "BlockPasses") -> None:
        self.model, self.passes = model, passes
        self.epoch, self.power = 0, 1
        self.over = False
        self._remember()

    def _remember(self) -> None:
        state = self.model.state
        self.w, self.bias = state.w.copy(), state.bias.copy()
        self.updates, self.order, self.remembered = (
            int(state.counters.updates), self.passes.order.mark(), self.epoch,
        )  # fmt: skip

    def proof(self) -> NDArray[np.int64] | None:
        """Called once after each epoch: the proof if the weights moved and are back where they were, else None."""
        if self.over:
            return None
        self.epoch += 1
        state = self.model.state
        if (self.w.shape, self.bias.shape) != (state.w.shape, state.bias.shape):  # classes or features were added
            if self.w.any() or self.bias.any() or self.remembered:
                self.over = True
                return None
            self.w, self.bias = np.zeros_like(state.w), np.zeros_like(state.bias)
        moved = int(state.counters.updates) > self.updates
        if moved and np.array_equal(state.bias, self.bias) and np.array_equal(state.w, self.w):
            self.over = True
            return self._prove()
        if self.epoch - self.remembered == self.power:
            self.power *= 2
            self._remember()
        return None

    def _prove(self) -> NDArray[np.int64] | None:
        """Run the same epochs again, count the updates of each example, and check that they add up to exactly 0.

        Rounding can make weights return although the sum is not 0.
        """
        from rosenblatt.theory.exact import exact_cycle

        block, model = self.passes.last, self.model
        if block is None or not block.whole:
            return None
        rows, _ = self.passes.rows(block)
        table, y, count = block.table, block.codes, block.codes.size
        many = len(model.classes) > 2
        if block.weights.size or (y < 0).any():
            return None
        if many and (model.rule.multiclass != "max" or count * len(model.classes) > MOST_PAIRS):
            return None
        again = Model(model.rule, readout="vote", n_features=model.n_features, dtype=model.dtype)
        again.add_class(*model.classes)
        used = tuple(slice(size) for size in again.state.w.shape)  # a model that has grown has room for more
        np.copyto(again.state.w, self.w[used])
        np.copyto(again.state.bias, self.bias)
        order = self.passes.order.again(self.order)
        for epoch in range(self.remembered, self.epoch):
            again.run(table, y, block.weights, order.whole(rows, epoch))
        added, steps = again.support.noted() if again.support is not None else (rows, self.bias)
        if np.ptp(np.abs(steps).max(axis=1)):
            return None  # steps of different sizes: not a sum of whole examples
        if many:
            counts = np.zeros((count, len(model.classes)), np.int64)
            np.add.at(counts, (added, steps.argmin(axis=1)), 1)
        else:
            counts = np.bincount(added, minlength=count)
        matrix = table.as_scipy() if table.sparse else table.rows
        proof = exact_cycle(matrix, y if many else 2 * y - 1, counts, model.rule.fit_intercept)
        return None if proof is None else counts
