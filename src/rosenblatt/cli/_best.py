"""The best epoch of a training run, by the examples that are held out."""

import copy
import dataclasses
from typing import Any

from rosenblatt.model.linear import Model
from rosenblatt.model_file.cores import linear_from_values, linear_values
from rosenblatt.training.history import History
from rosenblatt.training.loop import length


class BestEpoch:
    """Keeps a copy of the model after the epoch with the highest accuracy on held-out examples; of equal ones the last.

    Parameters
    ----------
    estimator : estimator
        The learner.
    history : History
        The epochs before; the model is that after the last of them.
    """

    def __init__(self, estimator: Any, model: Any, history: History) -> None:
        self._estimator = estimator
        self._accuracy = max((epoch.held_out_accuracy or 0.0 for epoch in history.done), default=-1.0)
        self._values: dict[str, Any] | None = None
        self._steps = 0.0
        self.number = 0
        if history.done and not history.current.examples and hasattr(model, "support"):
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
