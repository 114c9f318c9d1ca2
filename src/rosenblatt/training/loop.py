"""Epochs: in which order the examples are visited, and when to stop."""

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rosenblatt.engine.state import since
from rosenblatt.model.linear import Model
from rosenblatt.model.matrix import Table

from .interrupt import asked_to_stop

__all__ = ["History", "Schedule", "accuracy", "length", "margins", "smallest_margin", "train", "wrong"]

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Schedule:
    """When to stop and how to visit; the parameters of the estimators under the same names."""

    max_iter: int = 1000
    tol: float | None = 1e-3
    n_iter_no_change: int = 5
    shuffle: bool | str = True
    verbose: int = 0


@dataclasses.dataclass
class History:
    """What happened in each epoch."""

    mistakes: list[int] = dataclasses.field(default_factory=list)
    updates: list[int] = dataclasses.field(default_factory=list)
    losses: list[float] = dataclasses.field(default_factory=list)
    scores: list[float] = dataclasses.field(default_factory=list)
    stopped: str = "max_iter"
    """Why training ended: "no mistakes", "cycle", "tol", "interrupted" or "max_iter"."""
    cycle: Codes | None = None
    """How often each example (and rival class) was added on the way back to earlier weights: a proof of inseparability."""
    distance: float = math.inf
    """How far the weights are from where they started."""
    steps: float = 0.0
    """Σ of the step sizes."""
    start_norm: float = 0.0
    """‖w₀‖, the length of the starting weights."""


class Epoch(Protocol):
    """One pass over the examples in some order."""

    def __call__(self, order: Codes) -> None: ...


def train(
    model: Model,
    schedule: Schedule,
    table: Table,
    y: Codes,
    weight: Floats,
    rng: np.random.RandomState | None = None,
    *,
    rows: Codes | None = None,
    epoch: Epoch | None = None,
    validate: Callable[[], float] | None = None,
    finished: Callable[[], bool] | None = None,
) -> History:
    """Run epochs until nothing is left to learn, nothing improves, or `max_iter`.

    Parameters
    ----------
    model, schedule, table, y, weight
        What learns, when to stop, and the examples: class numbers, and one weight per row or none.
    rng : RandomState
        Gives the order of each epoch.
    rows : array, default=None
        The rows to learn from; all of them by default.
    epoch : callable, default=None
        Takes the place of the plain online pass (pocket, batch).
    validate : callable, default=None
        The model's merit on examples set aside; it decides in place of the loss.
    finished : callable, default=None
        Asked after each epoch (batch).
    """
    history = History()
    in_order = np.arange(len(table)) if rows is None else rows
    rng = np.random.RandomState(0) if rng is None else rng
    total = float(weight[in_order].sum()) if weight.size else float(in_order.size)
    best, best_readout, waiting = -math.inf, -math.inf, 0
    readout_accuracy = None
    if model.readout == "average" and validate is None:
        readout_accuracy = functools.partial(accuracy, model, table, y, weight, in_order)
    start = tuple(numbers.copy() for numbers in model.last())
    watch = _CycleWatch(model, rng) if epoch is None and model.rule.additive else None
    for number in range(1, schedule.max_iter + 1):
        order = visiting_order(in_order, schedule.shuffle, rng)
        before = model.state.counters.copy()
        model.state.counters.loss = 0.0
        if epoch is None:
            model.run(table, y, weight, order)
        else:
            epoch(order)
        made = since(model.state.counters, before)
        history.mistakes.append(int(made.mistakes))
        history.updates.append(int(made.updates))
        history.losses.append(float(model.state.counters.loss) / max(total, np.finfo(float).tiny))
        merit = -history.losses[-1]
        if validate is not None:
            merit = validate()
            history.scores.append(merit)
        if schedule.verbose:
            print(
                f"epoch {number}: {history.mistakes[-1]} mistakes, {history.updates[-1]} updates, loss {history.losses[-1]:.6g}"
            )
        if history.mistakes[-1] == 0 and history.updates[-1] == 0:
            history.stopped = "no mistakes"
            break
        if asked_to_stop():
            history.stopped = "interrupted"
            break
        if watch is not None and watch.returned(model, rng):
            history.cycle = watch.prove(model, schedule, table, y, weight, in_order)
            watch = None
            if history.cycle is not None and schedule.tol is None:
                history.stopped = "cycle"
                break
        if finished is not None and finished():
            history.stopped = "tol"
            break
        if schedule.tol is not None:
            waiting = 0 if merit > best + schedule.tol else waiting + 1
            best = max(best, merit)
            if waiting >= schedule.n_iter_no_change:
                # An average lags behind the weights: it may go on improving when they no longer do.
                lagging = readout_accuracy() if readout_accuracy is not None else -math.inf
                if lagging <= best_readout + schedule.tol:
                    history.stopped = "tol"
                    break
                best_readout, waiting = lagging, 0
    w, bias = model.last()
    history.distance = length(w - start[0], bias - start[1])
    history.start_norm = length(*start)
    history.steps = float(model.state.counters.steps)
    return history


def length(w: NDArray[Any], bias: Floats) -> float:
    """The length of weights and biases together."""
    return math.sqrt(float(np.sum(np.square(w, dtype=np.float64)) + np.sum(np.square(bias))))


class _CycleWatch:
    """Notices when the weights return to those of an earlier epoch (Brent's method: it remembers epochs 1, 2, 4, 8 …)."""

    def __init__(self, model: Model, rng: np.random.RandomState) -> None:
        self.power = 1
        self._remember(model, rng)

    def _remember(self, model: Model, rng: np.random.RandomState) -> None:
        self.w, self.bias = model.state.w.copy(), model.state.bias.copy()
        self.updates, self.rng, self.epochs = int(model.state.counters.updates), rng.get_state(), 0

    def returned(self, model: Model, rng: np.random.RandomState) -> bool:
        """Whether the weights moved and are back where they were; asked once after each epoch."""
        self.epochs += 1
        state = model.state
        moved = int(state.counters.updates) > self.updates
        if moved and np.array_equal(state.bias, self.bias) and np.array_equal(state.w, self.w):
            return True
        if self.epochs == self.power:
            self.power *= 2
            self._remember(model, rng)
        return False

    def prove(
        self, model: Model, schedule: Schedule, table: Table, y: Codes, weight: Floats, rows: Codes
    ) -> Codes | None:
        """Run the same epochs once more, count who was added, and check that it adds up to exactly 0: floats can fake it."""
        from rosenblatt.theory.exact import exact_cycle

        many = len(model.classes) > 2
        if weight.size or (many and (model.rule.multiclass != "max" or len(table) * len(model.classes) > 10**7)):
            return None
        again = Model(model.rule, readout="vote", n_features=model.n_features, dtype=model.dtype)
        again.add_class(*model.classes)
        np.copyto(again.state.w, self.w)
        np.copyto(again.state.bias, self.bias)
        rng = np.random.RandomState()
        rng.set_state(self.rng)
        for _ in range(self.epochs):
            again.run(table, y, weight, visiting_order(rows, schedule.shuffle, rng))
        added, steps = again.support.noted() if again.support is not None else (rows, self.bias)
        if np.ptp(np.abs(steps).max(axis=1)):
            return None  # steps of different sizes: not a sum of whole examples
        if many:
            counts = np.zeros((len(table), len(model.classes)), np.int64)
            np.add.at(counts, (added, steps.argmin(axis=1)), 1)
        else:
            counts = np.bincount(added, minlength=len(table))
        matrix = table.as_scipy() if table.sparse else table.rows
        proof = exact_cycle(matrix, y if many else 2 * y - 1, counts, model.rule.fit_intercept)
        return None if proof is None else counts


def visiting_order(in_order: Codes, shuffle: bool | str, rng: np.random.RandomState) -> Codes:
    """The given order, a fresh permutation, or as many draws with replacement."""
    if shuffle == "replacement":
        return in_order[rng.randint(0, max(1, in_order.size), in_order.size)]
    return rng.permutation(in_order) if shuffle else in_order


def smallest_margin(model: Model, w: NDArray[Any], bias: Floats, table: Table, y: Codes, weight: Floats) -> float:
    """The smallest y·score if these weights put every example strictly on its side, else the first that they do not."""
    start, size, smallest = 0, 64, math.inf
    while start < len(table):
        part = np.arange(start, min(start + size, len(table)))
        part = part[weight[part] != 0] if weight.size else part
        smallest = min(smallest, float(margins(model.raw_scores(table, w, bias, part), y[part]).min(initial=math.inf)))
        if smallest <= 0.0:
            break
        start, size = start + size, size * 4
    return smallest


def margins(scores: Floats, y: Codes) -> Floats:
    """y·s for one weight vector; the lead of the true class over its best rival for many."""
    if scores.shape[1] == 1:
        signed: Floats = np.where(y == 1, scores[:, 0], -scores[:, 0])
        return signed
    true = scores[np.arange(len(y)), y]
    others = scores.copy()
    others[np.arange(len(y)), y] = -math.inf
    with np.errstate(over="ignore"):  # scores may be finite and yet too far apart for a number
        lead: Floats = true - others.max(axis=1)
    return lead


def wrong(scores: Floats, y: Codes, on_zero: str) -> NDArray[np.bool_]:
    """Which examples these scores get wrong, with ties judged as `on_zero` says."""
    lead = margins(scores, y)
    if on_zero == "update":
        return lead <= 0.0
    mistakes: NDArray[np.bool_] = lead < 0.0
    if on_zero == "positive":
        first = (y == 1) if scores.shape[1] == 1 else scores.argmax(axis=1) == y
        mistakes |= (lead == 0.0) & ~first
    return mistakes


def accuracy(model: Model, table: Table, y: Codes, weight: Floats, rows: Codes) -> float:
    """The share of some rows that the model's readout predicts rightly."""
    if model.support is not None:
        model.support.absorb(table)
    scores = model.scores(table if rows.size == len(table) else Table(table.take(rows)))
    right = (scores[:, 0] >= 0) == (y[rows] == 1) if scores.shape[1] == 1 else scores.argmax(axis=1) == y[rows]
    return float(np.average(right, weights=weight[rows] if weight.size and weight[rows].any() else None))
