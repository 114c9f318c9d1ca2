"""Epochs of the kernel perceptron, for the training loop."""

import numpy as np

from rosenblatt.dual.budgets.slots import BudgetMachine
from rosenblatt.dual.model import QUIET, KernelModel
from rosenblatt.dual.rows import Block, Floats, Integers
from rosenblatt.dual.training import Epochs
from rosenblatt.engine.conventions import Scheme
from rosenblatt.model.scores import margins, wrong

from .history import Epoch
from .schedule import VisitingOrder, asked_to_stop


class DualPasses:
    """Epochs over one set of examples.

    Parameters
    ----------
    model : KernelModel
        The model that learns.
    data, y, weight
        The examples, their class numbers and their weights.
    order : VisitingOrder
        The order of the examples of a weight above 0.
    """

    def __init__(self, model: KernelModel, data: Block, y: Integers, weight: Floats, order: VisitingOrder) -> None:
        model.refuse_standstill()
        self.model, self.data, self.y, self.weight, self.order = model, data, y, weight, order
        self.rows = np.flatnonzero(weight > 0.0)
        self.cached: Epochs | None = None
        if not isinstance(model.machine, BudgetMachine):
            self.cached = Epochs(model.machine, model.kernel, data, y, weight, model.settings.block_size)

    def can_repeat(self) -> bool:
        """Whether there can be another epoch."""
        return True

    @QUIET
    def all_learned(self) -> bool:
        """Whether a pass over all examples would change nothing."""
        scheme, on_zero = self.model.settings.multiclass, self.model.settings.on_zero
        for start in range(0, self.rows.size, self.model.settings.block_size):
            which = self.rows[start : start + self.model.settings.block_size]
            scores, y = self._scores(which), self.y[which]
            apart = scheme == "ovr" and scores.shape[1] > 1
            each = [wrong(scores[:, [k]], 1 * (y == k), on_zero) for k in range(scores.shape[1])] if apart else []
            if np.any([wrong(scores, y, on_zero), *each]):
                return False
        return True

    def _scores(self, which: Integers) -> Floats:
        """The scores of these examples under the present weights."""
        if self.cached is not None:
            return self.cached.current(self.data.take(which), which)
        return self.model.decide(self.data.take(which), "last", False)

    def readout_accuracy(self) -> None:
        """Training does not depend on the readout."""

    @QUIET
    def run(self, epoch: Epoch, number: int) -> bool:
        """Run one epoch."""
        model, machine = self.model, self.model.machine
        order = self.order.whole(self.rows, number)
        seen, updates = machine.n_seen, machine.n_updates
        events = 0 if self.cached is None else len(self.cached.machine.event_row)
        if self.cached is not None:
            epoch.mistakes = self.cached.run(order, asked_to_stop)
            epoch.loss = self._loss(events)
        else:
            assert isinstance(machine, BudgetMachine)
            size = model.settings.block_size
            epoch.mistakes = machine.learn(
                model.kernel, self.data.take(order), self.y[order], self.weight[order], size, asked_to_stop
            )
        epoch.examples = machine.n_seen - seen
        epoch.updates = machine.n_updates - updates
        epoch.weight = float(self.weight[order[: epoch.examples]].sum())
        model.epochs.append(epoch.mistakes)
        return epoch.examples == len(order)

    def _loss(self, first: int) -> float:
        """The sum of the losses of the mistakes from this number on; an example without a mistake has none."""
        assert self.cached is not None
        machine = self.cached.machine
        tau, scores = machine.event_tau.view[first:], machine.event_score.view[first:]
        if machine.columns == 1 or machine.scheme == Scheme.OVR:
            return float(np.abs(tau * scores).sum())
        true = tau.argmax(axis=1)  # only the true class gains
        return float(-(tau.max(axis=1, initial=0.0) * margins(scores, true)).sum()) + 0.0

    @QUIET
    def separates(self) -> bool:
        """Whether the present weights get every example strictly right."""
        if self.cached is not None:
            return self.cached.separates()
        return self.model.separates(self.data, self.y)
