"""Epochs over sentences, for the training loop."""

import math
from collections.abc import Callable, Iterator

import numpy as np

from rosenblatt.sequences.encoding import Batch, Numbers
from rosenblatt.sequences.model import MISTAKES, UPDATES, WRONG, SequenceModel

from .history import Epoch
from .schedule import VisitingOrder, asked_to_stop

PIECE = 1024
"""The number of sentences per call of the engine."""


class SequencePasses:
    """Epochs over one set of sentences. An example is a sentence, its weight the number of tokens, its loss that of wrong tags.

    Parameters
    ----------
    model : SequenceModel
        The model that learns.
    batch, truth
        The sentences, and the numbers of their tags.
    order : VisitingOrder
        The order of the sentences.
    block : int, default=None
        The number of these sentences if they are one block of several; None if they are all.
    on_piece : callable, default=None
        Called now and then with the number of sentences learned in this epoch.
    before : int, default=0
        The number of sentences in the blocks before.
    """

    def __init__(
        self,
        model: SequenceModel,
        batch: Batch,
        truth: Numbers,
        order: VisitingOrder,
        block: int | None = None,
        on_piece: Callable[[int], None] | None = None,
        before: int = 0,
    ) -> None:
        self.model, self.batch, self.truth, self.order = model, batch, truth, order
        self.block, self.on_piece, self.before = block, on_piece, before
        self.sentences = np.flatnonzero(np.diff(batch.starts))
        self._rows = model.rows(batch.keys)

    @property
    def is_empty(self) -> bool:
        """Whether there is no token at all."""
        return not self.sentences.size

    def can_repeat(self) -> bool:
        """Whether there can be another epoch."""
        return True

    def all_learned(self) -> bool:
        """Whether the last weights tag every sentence correctly."""
        return bool((self.model.tag(self.batch, self._rows, False) == self.truth).all())

    def readout_accuracy(self) -> float:
        """The share of tags that the average predicts correctly."""
        return float((self.model.tag(self.batch, self._rows, True) == self.truth).mean())

    def smallest_margin(self) -> float:
        """The smallest margin of the last weights over all sentences; NaN if they do not tag every sentence correctly."""
        return (
            float(self.model.margins(self.batch, self.truth).min(initial=math.inf)) if self.all_learned() else math.nan
        )

    def run(self, epoch: Epoch, number: int) -> bool:
        """Run one epoch, or the rest of one that was interrupted."""
        order = self.sentences
        order = self.order.whole(order, number) if self.block is None else self.order.block(order, number, self.block)
        lengths = np.diff(self.batch.starts)
        for start in range(epoch.examples - self.before, order.size, PIECE):
            piece = order[start : start + PIECE]
            before = self.model.counts.copy()
            self.model.learn(self.batch, self.truth, piece, self._rows)
            changes = self.model.counts - before
            epoch.examples += piece.size
            epoch.mistakes += int(changes[MISTAKES])
            epoch.updates += int(changes[UPDATES])
            epoch.loss += float(changes[WRONG])
            epoch.weight += float(lengths[piece].sum())
            if self.on_piece is not None:
                self.on_piece(epoch.examples)
            if asked_to_stop() and start + PIECE < order.size:
                return False
        return True


class BlocksOfSentences:
    """Epochs over sentences that do not fit in memory: they are read in blocks, again for each epoch.

    Parameters
    ----------
    model : SequenceModel
        The model that learns.
    blocks : callable
        Returns an iterator over the blocks: their sentences, and the numbers of their tags.
    order : VisitingOrder
        The order of the sentences within each block.
    """

    is_empty = False

    def __init__(
        self, model: SequenceModel, blocks: Callable[[], Iterator[tuple[Batch, Numbers]]], order: VisitingOrder
    ) -> None:
        self.model, self.blocks, self.order = model, blocks, order

    def _passes(self) -> Iterator[SequencePasses]:
        before = 0
        for block, (batch, truth) in enumerate(self.blocks()):
            passes = SequencePasses(self.model, batch, truth, self.order, block, before=before)
            before += passes.sentences.size
            yield passes

    def can_repeat(self) -> bool:
        """Whether there can be another epoch."""
        return True

    def all_learned(self) -> bool:
        """Whether the last weights tag every sentence correctly."""
        return all(passes.all_learned() for passes in self._passes())

    def readout_accuracy(self) -> float:
        """The share of tags that the average predicts correctly."""
        found = [(passes.readout_accuracy() * passes.truth.size, passes.truth.size) for passes in self._passes()]
        return sum(right for right, _ in found) / sum(size for _, size in found)

    def smallest_margin(self) -> float:
        """The smallest margin of the last weights over all sentences; NaN if they do not tag every sentence correctly."""
        smallest = math.inf
        for passes in self._passes():
            margin = passes.smallest_margin()
            if math.isnan(margin):
                return math.nan
            smallest = min(smallest, margin)
        return smallest

    def run(self, epoch: Epoch, number: int) -> bool:
        """Run one epoch, or the rest of one that was interrupted."""
        for passes in self._passes():
            if passes.before and passes.before <= epoch.examples and asked_to_stop():
                return False
            if epoch.examples < passes.before + passes.sentences.size and not passes.run(epoch, number):
                return False
        return True
