"""The order in which examples are visited, and which of them are held out."""

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]


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
        self._rng = random_state(seed)
        self._next = 0

    def copy(self) -> "VisitingOrder":
        """The same order from here on, drawn from a generator of its own."""
        made = copy.copy(self)
        made._rng = np.random.RandomState()
        made._rng.set_state(self._rng.get_state())
        return made

    def whole(self, rows: Codes, epoch: int) -> Codes:
        """The order of these rows, which are all there are, in the epoch of this number (from 0)."""
        if not self.shuffle:
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
    mixed = np.arange(first, first + count, dtype=np.uint64) + np.uint64((seed * 0x9E3779B97F4A7C15) % 2**64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # splitmix64, which has no pattern
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    return np.asarray(mixed < np.uint64(share * 2.0**64))
