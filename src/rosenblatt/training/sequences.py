"""Epochs over sentences, for the training loop."""

import math
from collections.abc import Callable

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
    """

    def __init__(
        self,
        model: SequenceModel,
        batch: Batch,
        truth: Numbers,
        order: VisitingOrder,
        block: int | None = None,
        on_piece: Callable[[int], None] | None = None,
    ) -> None:
        self.model, self.batch, self.truth, self.order = model, batch, truth, order
        self.block, self.on_piece = block, on_piece
        self.sentences = np.flatnonzero(np.diff(batch.starts))
        self._rows = model.rows(batch.keys)

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
        for start in range(epoch.examples, order.size, PIECE):
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
