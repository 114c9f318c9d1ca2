"""A training run that keeps its best epoch, and then learns all examples again."""

import copy
import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.model.linear import Model
from rosenblatt.model_file.cores import linear_from_values, linear_values
from rosenblatt.training.history import History
from rosenblatt.training.loop import Block, BlockPasses, correct, length
from rosenblatt.training.schedule import Schedule, VisitingOrder, fold_of


class BestEpoch:
    """Keeps a copy of the model after the epoch with the highest accuracy on held-out examples; of equal ones the last.

    Parameters
    ----------
    estimator : estimator
        The learner.
    history : History
        The epochs before; the model is that after the last of them.
    """

    def __init__(self, estimator: Any, model: Model, history: History) -> None:
        self._estimator = estimator
        self._accuracy = max(
            (epoch.held_out_accuracy for epoch in history.done if epoch.held_out_accuracy is not None),
            default=-math.inf,
        )
        self._values: dict[str, Any] | None = None
        self._steps = 0.0
        self.number = 0
        if history.done and not history.current.examples:
            self.note(model, history)  # a run is resumed with the model of its best epoch

    def note(self, model: Model, history: History) -> None:
        """Look at the model after a complete epoch."""
        accuracy = history.done[-1].held_out_accuracy
        if accuracy is None or model.support is not None or accuracy < self._accuracy:
            return
        self._accuracy, self.number = accuracy, len(history.done)
        self._values = copy.deepcopy(linear_values(model))
        self._steps = float(model.state.counters.steps)

    def restore(self, model: Model, history: History) -> tuple[Model, History]:
        """The model of the best epoch, and the epochs up to it."""
        if self._values is None or self.number == len(history.done):
            return model, history
        learner = type(self._estimator)
        best = linear_from_values(self._values, learner._step, getattr(learner, "_model_class", Model))
        best.features, best.frozen = model.features, model.frozen
        shorter = dataclasses.replace(
            history,
            done=history.done[: self.number],
            cycle=None,
            steps=history.steps - (float(model.state.counters.steps) - self._steps),
            distance=length(*best.last()) if history.start_norm == 0.0 else float("inf"),
        )
        return best, shorter


@dataclasses.dataclass
class Run:
    """How a linear model is trained on examples from files, as `rosenblatt train` does.

    Attributes
    ----------
    estimator : estimator
        The learner.
    blocks : callable
        Gives the blocks of one epoch.
    schedule : Schedule
        The order, which examples are held out, and when to stop.
    held_out : callable, default=None
        Which of the examples from number `first` on are held out, `held_out(first, count)`; by default, what the schedule says.
    can_repeat : callable, default=None
        Whether the blocks can be read again.
    on_piece, on_epoch : callable, default=None
        Called while an epoch runs, with the number of examples, and after it, with the history.
    last : Block or None
        The block that was visited last.
    """

    estimator: Any
    blocks: Callable[[], Iterable[Block]]
    schedule: Schedule
    held_out: Callable[[int, int], NDArray[np.bool_]] | None = None
    can_repeat: Callable[[], bool] | None = None
    on_piece: Callable[[int], None] | None = None
    on_epoch: Callable[[History], None] | None = None
    last: Block | None = None

    def learn(self, model: Model, history: History) -> tuple[Model, History]:
        """Train the model; with examples that are held out, return that of the best epoch, and the history up to it."""
        online = getattr(type(self.estimator), "partial_fit", None) is not None
        best = BestEpoch(self.estimator, model, history) if online and self.schedule.holdout else None
        self._epochs(model, history, self.schedule, best)
        if best is None or history.stopped == "interrupted":
            return model, history
        return best.restore(model, history)

    def learn_all(self, judged: Model, epochs: int) -> tuple[Model, Schedule, History]:
        """Train a new model on all examples, also those that were held out, with this number of epochs.

        `judged` is the model whose number of epochs was chosen with the examples held out; its classes and features are taken.
        """
        model = self.estimator._new_model(judged.n_features, judged.dtype)
        model.begin_like(judged)
        schedule = dataclasses.replace(self.schedule, holdout=0.0, tol=None, max_iter=epochs)
        history = History()
        self._epochs(model, history, schedule, None)
        model.features, model.frozen = judged.features, judged.frozen
        return model, schedule, history

    def accuracy_of_fold(self, like: Model, fold: int, folds: int, relearns: bool) -> tuple[float, int]:
        """Train a new model without one part of the examples; return how many of that part it predicts right, and its size.

        For real targets the first number is the second times R².

        The number of epochs is chosen as in `learn`, on other examples; with `relearns` a new model then learns all others.
        `like` is a trained model, whose classes and features are taken.
        """
        blocks, seed = self.blocks, self.schedule.seed

        def others() -> Iterator[Block]:
            for block in blocks():
                out = fold_of(block.first, block.codes.size, folds, seed) == fold
                yield dataclasses.replace(block, codes=np.where(out, -1, block.codes))

        run = dataclasses.replace(
            self, blocks=others, estimator=copy.copy(self.estimator), on_piece=None, on_epoch=None
        )
        model = run.estimator._new_model(like.n_features, like.dtype)
        model.begin_like(like)
        model, shown = run.learn(model, History())
        if relearns and shown.stopped != "interrupted":
            model, _, shown = run.learn_all(model, len(shown.done))
        right, total = 0.0, 0
        for block in blocks():
            out = fold_of(block.first, block.codes.size, folds, seed) == fold
            rows = np.flatnonzero(out & block.labelled)
            if rows.size:
                found = correct(model, dataclasses.replace(block, weights=np.zeros(0)), rows)
                right, total = right + found[0], total + rows.size
        return right, total

    def _epochs(self, model: Model, history: History, schedule: Schedule, best: BestEpoch | None) -> None:
        passes = BlockPasses(
            model, self.blocks, VisitingOrder(schedule.shuffle, schedule.seed), schedule,
            held_out=self.held_out if schedule.holdout else None, can_repeat=self.can_repeat, on_piece=self.on_piece,
        )  # fmt: skip

        def after_epoch(history: History) -> None:
            if best is not None:
                best.note(model, history)
            if self.on_epoch is not None:
                self.on_epoch(history)

        self.estimator._train(model, passes, history, after_epoch)
        self.last = passes.last
