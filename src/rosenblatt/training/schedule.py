"""How to train: the order of the examples, which of them are held out, and when to stop."""

import copy
import dataclasses
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .history import Epoch, History

Codes = NDArray[np.int64]


@dataclasses.dataclass(frozen=True)
class Schedule:
    """How to train; the parameters of the estimators under the same names.

    Attributes
    ----------
    max_iter : int
        The largest number of epochs.
    tol, n_iter_no_change
        Stop when the held-out accuracy, or else the mean loss, has not improved by `tol` for `n_iter_no_change` epochs. None:
        never.
    shuffle, seed
        The visiting order, see `VisitingOrder`.
    holdout : float
        The share of the examples that is held out.
    by_block : bool
        Whether examples that are all in memory are visited like one block of several, as runs of version 0.1 were.
    """

    max_iter: int = 1000
    tol: float | None = 1e-3
    n_iter_no_change: int = 5
    shuffle: bool | str = True
    seed: int = 0
    holdout: float = 0.0
    by_block: bool = False

    @classmethod
    def of(cls, estimator: Any, **changes: Any) -> "Schedule":
        """The schedule that the parameters of an estimator describe, with changes."""
        wanted = {
            "max_iter": estimator.max_iter,
            "tol": getattr(estimator, "tol", None),
            "n_iter_no_change": getattr(estimator, "n_iter_no_change", 5),
            "shuffle": getattr(estimator, "shuffle", False),
            **changes,
        }
        if "seed" not in wanted:
            seed = getattr(estimator, "random_state", 0)
            plain = isinstance(seed, int | np.integer) and not isinstance(seed, bool)
            wanted["seed"] = int(seed if plain else random_state(seed).randint(2**31 - 1))
        if "holdout" not in wanted:
            early = getattr(estimator, "early_stopping", False)
            wanted["holdout"] = float(estimator.validation_fraction) if early else 0.0
        return cls(**wanted)

    def to_json(self) -> dict[str, Any]:
        """Plain values, for the model file."""
        return {
            "epochs": self.max_iter,
            "shuffle": self.shuffle,
            "seed": self.seed,
            "holdout": self.holdout,
            "tol": self.tol,
            "patience": self.n_iter_no_change,
            "by_block": self.by_block,
        }

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> "Schedule":
        """Read what `to_json` gave."""
        return cls(
            saved["epochs"], saved["tol"], saved["patience"], saved["shuffle"], saved["seed"], saved["holdout"],
            saved.get("by_block", True),
        )  # fmt: skip


# ---- order ----


def random_state(seed: Any) -> np.random.RandomState:
    """The generator that scikit-learn makes of a seed, without importing scikit-learn for a plain number."""
    if isinstance(seed, int | np.integer) and not isinstance(seed, bool):
        return np.random.RandomState(seed)
    from sklearn.utils import check_random_state

    generator: np.random.RandomState = check_random_state(seed)
    return generator


def visiting_order(rows: Codes, shuffle: bool | str, rng: np.random.RandomState) -> Codes:
    """The given order, a fresh permutation, or draws with replacement."""
    if shuffle == "replacement":
        return rows[rng.randint(0, max(1, rows.size), rows.size)]
    return rng.permutation(rows) if shuffle else rows


class VisitingOrder:
    """The order of the examples in each epoch; it depends on the seed only.

    Examples that are all in memory form one block: one generator gives the permutations of all epochs, one after the other, as
    in scikit-learn. Of several blocks, each has a generator of its own, made from the seed, the epoch and the number of the
    block, so that any block of any epoch can be repeated alone: after an interruption, or on another machine.

    Parameters
    ----------
    shuffle : bool or "replacement", default=True
        A fresh permutation in each epoch, the given order, or draws with replacement.
    seed : int or RandomState, default=0
        A number where there are several blocks.
    """

    def __init__(self, shuffle: bool | str = True, seed: Any = 0) -> None:
        self.shuffle, self.seed = shuffle, seed
        self._rng = random_state(seed) if shuffle else None
        self._repeatable = isinstance(seed, int)
        self._next = 0

    def mark(self) -> tuple[Any, int]:
        """The present place, for `again`."""
        return (None if self._rng is None or self._repeatable else self._rng.get_state()), self._next

    def again(self, mark: tuple[Any, int]) -> "VisitingOrder":
        """The same order from a mark on, drawn from a generator of its own."""
        made = copy.copy(self)
        made._next = mark[1]
        if self._rng is not None:
            made._rng = np.random.RandomState(0)
            if self._repeatable:
                made._next = sys.maxsize  # the next call of `whole` draws all orders from the first on again
            else:
                made._rng.set_state(mark[0])
        return made

    def whole(self, rows: Codes, epoch: int) -> Codes:
        """The order of these rows, which are all there are, in the epoch of this number (from 0)."""
        if self._rng is None:
            return rows
        if epoch < self._next:
            self._rng, self._next = random_state(self.seed), 0
        while True:
            self._next += 1
            order = visiting_order(rows, self.shuffle, self._rng)
            if self._next > epoch:
                return order

    def block(self, rows: Codes, epoch: int, number: int) -> Codes:
        """The order of these rows, which are one block of several; `rows` stay as they are for the next epoch."""
        if not self.shuffle:
            return rows
        rng = np.random.default_rng([self.seed, epoch, number])
        if self.shuffle == "replacement":
            return rows[rng.integers(0, max(1, rows.size), rows.size)]
        return rng.permutation(rows)


def held_out(first: int, count: int, share: float, seed: int) -> NDArray[np.bool_]:
    """Which of the examples from number `first` on are held out; it depends on their numbers and the seed only."""
    if not share:
        return np.zeros(count, bool)
    return np.asarray(_mixed(first, count, seed) < np.uint64(share * 2.0**64))


def fold_of(first: int, count: int, folds: int, seed: int) -> NDArray[np.int64]:
    """The part of 0, …, folds - 1 to which each example belongs; it depends on their numbers and the seed only."""
    part = _mixed(first, count, ~seed) >> np.uint64(32)  # other bits than those that decide what is held out
    return ((part * np.uint64(folds)) >> np.uint64(32)).astype(np.int64)


def _mixed(first: int, count: int, seed: int) -> NDArray[np.uint64]:
    """The numbers of examples mixed to random bits."""
    mixed = np.arange(first, first + count, dtype=np.uint64) + np.uint64((seed * 0x9E3779B97F4A7C15) % 2**64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # splitmix64, which has no pattern
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    return mixed


# ---- when to stop ----


@dataclasses.dataclass
class _Progress:
    """For how many epochs there has been no improvement."""

    best: float = -math.inf
    best_readout: float = -math.inf
    waiting: int = 0

    def note(self, merit: float, tol: float, inclusive: bool) -> None:
        improved = merit >= self.best + tol if inclusive else merit > self.best + tol
        self.waiting = 0 if improved else self.waiting + 1
        self.best = max(self.best, merit)

    def note_readout(self, accuracy: float | None, tol: float) -> None:
        """An average lags behind the weights: it may go on improving when they no longer do."""
        if accuracy is not None and accuracy > self.best_readout + tol:
            self.best_readout, self.waiting = accuracy, 0


class StopRule:
    """Decides after each epoch whether training ends.

    Parameters
    ----------
    schedule : Schedule
        How long to train.
    history : History
        The epochs so far: those of an interrupted run count.
    merit : callable, default=None
        How good an epoch was; the negative mean loss by default. A held-out accuracy takes its place. By `merit` an
        improvement of exactly `tol` is enough.
    """

    def __init__(self, schedule: Schedule, history: History, merit: Callable[[Epoch], float] | None = None) -> None:
        self.schedule, self._merit = schedule, merit
        # Epochs that were judged by held-out examples and by the loss are not compared with each other.
        self._progress = {True: _Progress(), False: _Progress()}
        for epoch in history.done:
            self._note(epoch)

    def _note(self, epoch: Epoch) -> _Progress:
        held_out = epoch.held_out_accuracy
        progress, tol = self._progress[held_out is not None], self.schedule.tol
        if tol is not None:
            merit = held_out if held_out is not None else self._merit(epoch) if self._merit else -epoch.mean_loss
            progress.note(merit, tol, inclusive=held_out is None and self._merit is not None)
            progress.note_readout(epoch.readout_accuracy, tol)
        return progress

    def reason(self, history: History) -> str:
        """Why no further epoch is needed; empty if one is."""
        if history.stopped == "cycle" and self.schedule.tol is None:
            return "cycle"
        if not history.done or history.current.examples:
            return ""
        epoch, schedule = history.done[-1], self.schedule
        if epoch.mistakes == 0 and epoch.updates == 0 and not epoch.lucky:
            return "no mistakes"
        waiting = self._progress[epoch.held_out_accuracy is not None].waiting
        if schedule.tol is not None and waiting >= schedule.n_iter_no_change:
            return "no improvement"
        return "epochs" if len(history.done) >= schedule.max_iter else ""

    def after_epoch(
        self, history: History, all_learned: Callable[[], bool], readout_accuracy: Callable[[], float | None]
    ) -> str:
        """The same after one more epoch. `all_learned` and `readout_accuracy` are called only if they decide."""
        epoch = history.done[-1]
        progress = self._note(epoch)
        reason = self.reason(history)
        if reason == "no mistakes" and self.schedule.shuffle == "replacement" and not all_learned():
            epoch.lucky = True
            reason = self.reason(history)
        if reason == "no improvement" and epoch.readout_accuracy is None and self.schedule.tol is not None:
            epoch.readout_accuracy = readout_accuracy()
            progress.note_readout(epoch.readout_accuracy, self.schedule.tol)
            reason = self.reason(history)
        return reason


_asked: ContextVar[Callable[[], bool]] = ContextVar("asked", default=lambda: False)


@contextmanager
def stopping_when(asked: Callable[[], bool]) -> Iterator[None]:
    """Context in which `fit` ends after the current epoch or block when `asked()` is true."""
    token = _asked.set(asked)
    try:
        yield
    finally:
        _asked.reset(token)


def asking() -> Callable[[], bool]:
    """The function that says whether to end training, for another thread."""
    return _asked.get()


def asked_to_stop() -> bool:
    """Whether to end training now."""
    return _asked.get()()
