"""The training loop: epochs over blocks of examples until nothing is left to learn, nothing improves, or `max_iter`.

`fit`, the command line, Dask and the kernel perceptron all train with `run_epochs`. They differ in what one epoch is: a pass over
blocks of examples in this process (`BlockPasses`), over shards on a cluster, or over the blocks of a kernel matrix.
"""

import dataclasses
import math
import time
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rosenblatt.model.linear import Model
from rosenblatt.model.matrix import Table
from rosenblatt.model.scores import predicted_classes

from .cycles import CycleWatch
from .history import Epoch, History
from .schedule import Schedule, StopRule, VisitingOrder, asked_to_stop, held_out

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]

PIECE = 1 << 16
"""The number of examples per call of the engine where progress is reported."""


@dataclasses.dataclass
class Block:
    """Examples that are learned together.

    Attributes
    ----------
    table : Table
        The rows.
    codes : array
        Class numbers; -1 for an example without a label.
    weights : array
        One weight for each example, or none where all count 1.
    first : int
        The number of the first example.
    whole : bool
        Whether there are no other blocks.
    """

    table: Table
    codes: Codes
    weights: Floats
    first: int = 0
    whole: bool = False

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """Which examples have a label."""
        return self.codes >= 0


class TargetBlock(Block):
    """Examples with real targets: `codes` holds their bits, as `bits_of` gives them; NaN for an example without a target."""

    @property
    def targets(self) -> Floats:
        """The targets."""
        return self.codes.view(np.float64)

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """Which examples have a target."""
        return ~np.isnan(self.targets)


class Passes(Protocol):
    """What an epoch is."""

    def run(self, epoch: Epoch, number: int) -> bool:
        """Run the epoch of this number and note in `epoch` what happened; False if it was interrupted before its end."""

    def all_learned(self) -> bool:
        """Whether a pass over all examples would make no mistake and no update. Nothing is changed."""

    def readout_accuracy(self) -> float | None:
        """The accuracy of the average on the training examples; None where training does not depend on it."""

    def can_repeat(self) -> bool:
        """Whether there can be another epoch."""


def run_epochs(
    passes: Passes,
    schedule: Schedule,
    history: History,
    *,
    watch: CycleWatch | None = None,
    merit: Callable[[Epoch], float] | None = None,
    finished: Callable[[], bool] | None = None,
    on_epoch: Callable[[History], None] | None = None,
) -> History:
    """Run epochs until the schedule ends them, and note in `history` what happened and why they ended.

    Parameters
    ----------
    passes : Passes
        Runs one epoch.
    schedule : Schedule
        When to stop.
    history : History
        The epochs so far; with that of an interrupted run, training continues where it stopped.
    watch : CycleWatch, default=None
        Notices when the weights return to earlier ones.
    merit : callable, default=None
        How good an epoch was, in place of the negative mean loss.
    finished : callable, default=None
        A further reason to stop, asked after each epoch.
    on_epoch : callable, default=None
        Called after each complete epoch.
    """
    rule = StopRule(schedule, history, merit)
    reason = rule.reason(history)
    while not reason:
        began = time.monotonic()
        complete = passes.run(history.current, len(history.done))
        history.current.seconds += time.monotonic() - began
        if not complete:
            reason = "interrupted"
            break
        epoch = history.close_epoch()
        reason = rule.after_epoch(history, passes.all_learned, passes.readout_accuracy)
        if on_epoch is not None:
            on_epoch(history)
        if not epoch.examples or not passes.can_repeat():
            reason = "read once"
        elif reason == "no mistakes":
            pass
        elif asked_to_stop():
            reason = "interrupted"
        else:
            if watch is not None and history.cycle is None:
                history.cycle = watch.proof()
            if history.cycle is not None and schedule.tol is None:
                reason = "cycle"
            elif finished is not None and finished():
                reason = "no improvement"
    history.stopped = reason
    return history


class BlockPasses:
    """Epochs over blocks of examples in this process.

    Parameters
    ----------
    model : Model
        The model that learns.
    blocks : callable
        Gives the blocks of one epoch.
    order : VisitingOrder
        The order within each block.
    schedule : Schedule
        Its `holdout` and `seed` decide which examples are held out.
    held_out : callable, default=None
        Whether each of the `count` examples from number `first` on is held out, `held_out(first, count)`, in place of what the
        schedule says.
    can_repeat : callable, default=None
        Whether the blocks can be read again.
    on_piece : callable, default=None
        Called now and then with the number of examples learned in this epoch.

    Attributes
    ----------
    learn : callable
        Learns rows of a block in a given order: the online pass, unless a learner replaces it.
    judge : callable
        Counts how many of some rows are predicted right, and all of them, as `correct` does; a learner whose weights during a run
        are not those that it predicts with replaces it.
    weighted : bool
        Whether examples have weights of their own.
    last : Block or None
        The block that was visited last.
    """

    def __init__(
        self,
        model: Model,
        blocks: Callable[[], Iterable[Block]],
        order: VisitingOrder,
        schedule: Schedule,
        *,
        held_out: Callable[[int, int], NDArray[np.bool_]] | None = None,
        can_repeat: Callable[[], bool] | None = None,
        on_piece: Callable[[int], None] | None = None,
    ) -> None:
        self.model, self.blocks, self.order, self.schedule = model, blocks, order, schedule
        self.weighted = False
        self.last: Block | None = None
        self._before = 0  # examples of this epoch before the current block
        self._held_out = held_out
        self.learn: Callable[[Block, Codes], None] = self._learn_online
        self.judge: Callable[[Block, Codes], tuple[float, float]] = lambda block, rows: correct(model, block, rows)
        self._can_repeat = can_repeat
        self._on_piece = on_piece
        self._parts: tuple[Codes, Codes] | None = None

    def can_repeat(self) -> bool:
        """Whether there can be another epoch."""
        return self._can_repeat is None or self._can_repeat()

    def rows(self, block: Block) -> tuple[Codes, Codes]:
        """The rows to learn, and those that are held out."""
        if block.whole and self._parts is not None:
            return self._parts
        labelled = block.labelled
        if self._held_out is not None:
            out = self._held_out(block.first, block.codes.size)
        else:
            out = held_out(block.first, block.codes.size, self.schedule.holdout, self.schedule.seed)
        self._parts = np.flatnonzero(labelled & ~out), np.flatnonzero(labelled & out)
        return self._parts

    def run(self, epoch: Epoch, number: int) -> bool:
        """Run one epoch, or the rest of one that was interrupted."""
        model = self.model
        learned = epoch.examples  # before an interruption
        model.state.counters.loss = epoch.loss
        weight = 0.0
        for place, block in enumerate(self.blocks()):
            self.last = block
            rows, held = self.rows(block)
            start, weight = (
                weight,
                weight + (float(block.weights[rows].sum()) if block.weights.size else float(rows.size)),
            )
            if learned >= rows.size and learned:
                learned -= rows.size
                continue
            together = block.whole and not self.schedule.by_block
            order = self.order.whole(rows, number) if together else self.order.block(rows, number, place)
            if not learned:
                self.weighted |= block.weights.size > 0
                epoch.unlabelled += block.codes.size - rows.size - held.size
                if held.size and not block.whole:  # this block is not read again after the epoch
                    self._judge(block, held, epoch)
            if not self._learn_block(block, order, learned, epoch):
                done = min(1.0, (epoch.examples - self._before) / order.size)
                epoch.weight = start + done * (weight - start)
                return False
            epoch.weight, learned = weight, 0
            if held.size and block.whole:
                self._judge(block, held, epoch)
        epoch.lucky |= model.rule.penalty is not None  # the weights go on changing without a mistake
        return True

    def _learn_online(self, block: Block, order: Codes) -> None:
        self.model.run(block.table, block.codes, block.weights, order)

    def _learn_block(self, block: Block, order: Codes, learned: int, epoch: Epoch) -> bool:
        """Learn the rest of a block; False if that was interrupted before the end of the epoch."""
        model = self.model
        self._before = epoch.examples - learned
        size = order.size if self._on_piece is None else PIECE
        for start in range(learned, order.size, max(1, size)):
            piece = order[start : start + size]
            counters = model.state.counters
            mistakes, updates = int(counters.mistakes), int(counters.updates)
            self.learn(block, piece)
            if model.support is not None and not block.whole:
                model.support.absorb(block.table)
            counters = model.state.counters
            epoch.examples += piece.size
            epoch.mistakes += int(counters.mistakes) - mistakes
            epoch.updates += int(counters.updates) - updates
            epoch.loss = float(counters.loss)
            if self._on_piece is not None:
                self._on_piece(epoch.examples)
                if asked_to_stop() and not (block.whole and start + size >= order.size):
                    return False
        return True

    def _judge(self, block: Block, held: Codes, epoch: Epoch) -> None:
        right, total = self.judge(block, held)
        epoch.held_out += total
        epoch.held_out_mistakes += total - right

    def all_learned(self) -> bool:
        """Whether a pass over all examples would change nothing; examples that cannot be read again do not count."""
        return not self.can_repeat() or all_learned(self.model, ((b, self.rows(b)[0]) for b in self.blocks()))

    def readout_accuracy(self) -> float | None:
        """The accuracy of the average on the examples that were learned; None where held-out examples decide."""
        if self.model.readout != "average" or self._held_out is not None or self.schedule.holdout:
            return None
        right = total = 0.0
        for block in self.blocks():
            if asked_to_stop():
                return None
            ours, all_ = correct(self.model, block, self.rows(block)[0])
            right, total = right + ours, total + all_
        return right / total if total else None


def correct(model: Model, block: Block, rows: Codes) -> tuple[float, float]:
    """How many of some rows the readout predicts correctly, and of how many; counted by weight unless all weights are 0.

    For real targets the first number is the second times R².
    """
    table, weights = block.table, block.weights[rows] if block.weights.size else block.weights
    if model.support is not None:
        model.support.absorb(table)
    scores = model.scores(table if rows.size == len(table) else table.some(rows))
    if isinstance(block, TargetBlock):
        spread = 0.0 if block.whole else getattr(model, "spread", 0.0)
        return explained(scores[:, 0], block.targets[rows], weights, spread)
    right = predicted_classes(scores, len(model.classes)) == block.codes[rows]
    if weights.any():
        return float((right * weights).sum()), float(weights.sum())
    return int(right.sum()), int(rows.size)


def explained(predictions: Floats, targets: Floats, weights: Floats, spread: float = 0.0) -> tuple[float, float]:
    """R² times the number of examples, and this number; both by weight.

    Squared errors are compared with `spread`, the variance of the targets, or with that of these if it is 0: of one block of
    several the variance says little.
    """
    weights = weights if weights.any() else np.ones(targets.size)
    total = float(weights.sum())
    mean = np.sum(weights * targets) / total
    spread = spread or float(np.sum(weights * (targets - mean) ** 2) / total)
    missed = float(np.sum(weights * (targets - predictions) ** 2))
    return total - (missed / spread if spread else float(missed > 0.0) * total), total


def all_learned(model: Model, parts: Iterable[tuple[Block, Codes]]) -> bool:
    """Whether learning these rows of blocks would make no mistake and no update. The model stays as it is."""
    for block, rows in parts:
        start, size = 0, 64
        while start < rows.size:
            if model.would_learn(block.table, block.codes, block.weights, rows[start : start + size]):
                return False
            start, size = start + size, size * 4
    return True


def smallest_margin(model: Model, blocks: Iterable[Block]) -> float:
    """The smallest margin of the last weights over all examples; if they get one wrong, that of the first such example.

    Examples without a label or of weight 0 do not count.
    """
    smallest = math.inf
    for block in blocks:
        start, size, count = 0, 64, block.codes.size
        while start < count:
            part = np.arange(start, min(start + size, count))
            keep = block.codes[part] >= 0
            if block.weights.size:
                keep &= block.weights[part] != 0
            part = part[keep]
            smallest = min(smallest, float(model.last_margins(block.table, block.codes, part).min(initial=math.inf)))
            if smallest <= 0.0:
                return smallest
            start, size = start + size, size * 4
    return smallest


def length(w: NDArray[Any], bias: Floats) -> float:
    """The length of weights and biases together."""
    return math.sqrt(float(np.sum(np.square(w, dtype=np.float64)) + np.sum(np.square(bias))))


def train(
    model: Model,
    passes: BlockPasses,
    history: History,
    *,
    cycles: bool = True,
    finished: Callable[[], bool] | None = None,
    on_epoch: Callable[[History], None] | None = None,
) -> History:
    """Train a linear model on blocks of examples, and note what a certificate needs.

    Parameters
    ----------
    model, passes, history
        The model, its examples, and what happened before.
    cycles : bool, default=True
        Whether to look for weights that return to earlier ones. Only plain online passes over one block can show that.
    finished, on_epoch
        See `run_epochs`.
    """
    fresh = not history.epochs
    start = tuple(numbers.copy() for numbers in model.last()) if fresh else None
    steps = float(model.state.counters.steps)
    if fresh:
        model.state.counters.reach = 0.0  # of the examples of this run
    watch = (
        CycleWatch(model, passes) if cycles and fresh and model.rule.additive and not passes.schedule.by_block else None
    )
    run_epochs(passes, passes.schedule, history, watch=watch, finished=finished, on_epoch=on_epoch)
    if model.support is not None and passes.last is not None and passes.last.whole:
        model.support.absorb(passes.last.table)
    w, bias = model.last()
    if start is not None:
        history.start_norm = length(*start)
    if start is not None and start[0].shape == w.shape and start[1].shape == bias.shape:
        history.distance = length(w - start[0], bias - start[1])
    elif history.start_norm == 0.0:
        history.distance = length(w, bias)
    else:  # a new class has changed the meaning of the starting weights, or they are not known
        history.start_norm, history.distance = math.nan, math.inf
    history.steps += float(model.state.counters.steps) - steps
    history.weighted |= passes.weighted
    return history
