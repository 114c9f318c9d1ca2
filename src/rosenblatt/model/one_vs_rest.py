"""One-vs-rest: a binary model for each class, taken out of a model of many classes and put back after training."""

import numpy as np
from numpy.typing import NDArray

from .linear import Model
from .matrix import Table
from .vote_log import Support


class _NumberedSupport(Support):
    """Updates with the number of the row that caused each of them."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers: list[NDArray[np.int64]] = []

    def absorb(self, table: Table) -> None:
        """Copy the rows of the noted updates, and remember their numbers."""
        self.numbers += [rows for rows, _, _ in self._noted]
        super().absorb(table)


def binary_model(model: Model, k: int) -> Model:
    """A model of class k (True) against all others (False), with the starting weights of that class."""
    made = Model(model.rule, readout=model.readout, n_features=model.n_features, dtype=model.dtype)
    made.add_class(False, True)
    mine, theirs, used = made.state, model.state, model.n_features
    for into, source in ((mine.w, theirs.w), (mine.v, theirs.v)):
        into[:] = source[:used, k]
    mine.bias[0], mine.v_bias[0] = theirs.bias[k], theirs.v_bias[k]
    mine.counters.shift = theirs.counters.shift
    made.memory.started(mine.w, mine.bias)
    if model.support is not None:
        made.support = _NumberedSupport()
        if model.support.start_coef is not None:
            made.support.start_from(model.support.start_coef[k : k + 1], model.support.start_bias[k : k + 1])
    return made


class Reunion:
    """Puts trained binary models back into the model of all classes.

    The average of a class and its votes count the examples that its own run has seen. The runs may differ in length, but the model
    has one age, so the sums of a shorter run are stretched to that of the longest; a mean does not change by this.

    Parameters
    ----------
    model : Model
        The model of all classes.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.ages = np.zeros(len(model.classes))
        self._counters = [model.state.tally[0].copy() for _ in model.classes]
        self._logs: list[tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]] = [
            (np.zeros(0, np.int64), np.zeros(0), np.zeros(0)) for _ in model.classes
        ]

    def put(self, k: int, part: Model) -> None:
        """Copy the weights and sums of the model of class k. Different classes may be put by different threads."""
        state, theirs, used = self.model.state, part.state, self.model.n_features
        state.w[:used, k], state.v[:used, k] = theirs.w, theirs.v
        state.bias[k], state.v_bias[k] = theirs.bias[0], theirs.v_bias[0]
        if state.u.size:
            state.u[:used, k] = theirs.u
        state.u_bias[k] = theirs.u_bias[0]
        self.model.memory.take_class(k, part.memory)
        self._counters[k], self.ages[k] = theirs.tally[0].copy(), float(theirs.counters.age)
        if isinstance(part.support, _NumberedSupport) and part.support.numbers:
            self._logs[k] = np.concatenate(part.support.numbers), part.support.ages, part.support.steps[:, 0]

    def finish(self, table: Table) -> None:
        """Add up the counters, and bring all classes to one age; `table` has the rows that were learned."""
        model, counters = self.model, self._counters
        total = model.state.counters
        for name in ("examples", "age", "reach", "shift"):
            total[name] = max(one[name] for one in counters)
        for name in ("mistakes", "updates", "steps", "loss"):
            total[name] = sum(one[name] for one in counters)
        total.run = total.position = total.logged = 0
        stretch = np.divide(float(total.age), self.ages, out=np.ones_like(self.ages), where=self.ages > 0.0)
        if (stretch != 1.0).any():
            model.state.u_bias[:] *= stretch
            if model.state.u.size:
                model.state.u[:, : stretch.size] *= stretch
            model.memory.stretch(stretch)
        if model.rule.link != "identity" and any(one["shift"] != total.shift for one in counters):
            model._relink(model.state)
        if model.support is not None:
            self._merge_logs(stretch)
            model.support.absorb(table)
        model._averaged = None

    def _merge_logs(self, stretch: NDArray[np.float64]) -> None:
        """One log of all updates in the order of their ages; updates by one example at one time are one entry."""
        assert self.model.support is not None
        rows = np.concatenate([log[0] for log in self._logs])
        ages = np.concatenate([log[1] * factor for log, factor in zip(self._logs, stretch, strict=True)])
        steps = np.concatenate([log[2] for log in self._logs])
        classes = np.repeat(np.arange(len(self._logs)), [log[0].size for log in self._logs])
        if not rows.size:
            return
        order = np.lexsort((rows, ages))
        rows, ages, steps, classes = rows[order], ages[order], steps[order], classes[order]
        first = np.concatenate([[True], (np.diff(rows) != 0) | (np.diff(ages) != 0)])
        merged = np.zeros((int(first.sum()), len(self._logs)))
        merged[np.cumsum(first) - 1, classes] = steps
        self.model.support.note(rows[first], ages[first], merged)
