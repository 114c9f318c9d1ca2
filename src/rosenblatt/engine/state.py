"""The arrays of a run, and their way into a kernel: as one array of addresses."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import carray, njit
from numba.extending import overload
from numpy.typing import NDArray

from .jit import NOGIL
from .simd import pointer
from .step_call import Asked

__all__ = ["Settings", "State", "pack", "unpack"]


class State(NamedTuple):
    """All that a run changes, as arrays.

    Attributes
    ----------
    w, bias
        What scores are computed with.
    v, v_bias
        What steps are added to: the weights themselves, their logarithms (Winnow), or the Δ of a batch.
    u, u_bias
        Σ age · step, from which the average follows; empty when no average is kept. The age of a step is the number of
        examples before it, each counted by its weight.
    counts
        Position, examples, mistakes, updates, examples since the last update, the run to stop at (0: none), log entries.
    sums
        Loss of this pass, Σ of the step sizes, the logarithm by which linked weights are scaled down, Σ of the weights of
        the examples (their age), the largest ‖x‖² that moved the weights.
    scores
        The scores of the last example, before it was learned.
    log_rows, log_ages, log_steps
        The updates in order: row, age, step for each weight vector; empty when no log is kept.
    tile, columns, amounts, lagged
        Room to work in for many classes: the scores of a tile of rows, and the shares of one update.
    """

    w: NDArray[Any]
    bias: NDArray[np.float64]
    v: NDArray[Any]
    v_bias: NDArray[np.float64]
    u: NDArray[np.float64]
    u_bias: NDArray[np.float64]
    counts: NDArray[np.int64]
    sums: NDArray[np.float64]
    scores: NDArray[np.float64]
    log_rows: NDArray[np.int64]
    log_ages: NDArray[np.float64]
    log_steps: NDArray[np.float64]
    tile: NDArray[Any]
    columns: NDArray[np.int64]
    amounts: NDArray[np.float64]
    lagged: NDArray[np.float64]


class Settings(NamedTuple):
    """What does not change during a run."""

    target: float
    """An example whose margin is above this is left alone."""
    bias: float
    """1 with a bias feature, else 0."""
    on_zero: int
    scheme: int
    link: int
    needs_norm: int
    """Whether the rule asks for ‖x‖²."""


# Handing a kernel an array costs 0.2 µs: too much, for one example, with the fifteen arrays of a run. So they go as one
# array of addresses, which the model keeps up to date; the weights go along to say their type.

PARAMS, SETTINGS, LABEL, WEIGHT, ORDER = range(len(State._fields) - 1, len(State._fields) + 4)
SCORES, COUNTS = State._fields.index("scores") - 1, State._fields.index("counts") - 1


def pack(arrays: Sequence[NDArray[Any]], step: int) -> NDArray[np.int64]:
    """The addresses and shapes of a run's arrays: those of `State` but `w`, then params, settings, label, weight, order.

    The address of the step function stands beside that of its params.
    """
    packed = np.array([(a.ctypes.data, a.shape[0], a.shape[1] if a.ndim == 2 else 1) for a in arrays], np.int64)
    packed[PARAMS, 2] = step
    return packed


@njit(**NOGIL)
def floats(entry: Any) -> Any:
    """A packed vector of float64."""
    return carray(pointer(entry[0]), (entry[1],), np.float64)


@njit(**NOGIL)
def integers(entry: Any) -> Any:
    """A packed vector of int64."""
    return carray(pointer(entry[0]), (entry[1],), np.int64)


@njit(**NOGIL)
def matrix(entry: Any, dtype: Any) -> Any:
    """A packed matrix."""
    return carray(pointer(entry[0]), (entry[1], entry[2]), dtype)


def weights_like(entry: Any, w: Any, dtype: Any) -> Any:
    """A packed array with as many dimensions as `w`."""


@overload(weights_like, jit_options=NOGIL)
def _weights_like(entry: Any, w: Any, dtype: Any) -> Any:
    def one(entry: Any, w: Any, dtype: Any) -> Any:
        return carray(pointer(entry[0]), (entry[1],), dtype)

    def many(entry: Any, w: Any, dtype: Any) -> Any:
        return matrix(entry, dtype)

    return one if w.ndim == 1 else many


@njit(**NOGIL)
def unpack(packed: Any, w: Any) -> Any:
    """The rule of a run, its arrays and its settings, from their addresses."""
    state = State(
        w, floats(packed[0]), weights_like(packed[1], w, w.dtype), floats(packed[2]),
        weights_like(packed[3], w, np.float64), floats(packed[4]), integers(packed[COUNTS]), floats(packed[6]),
        floats(packed[SCORES]), integers(packed[8]), floats(packed[9]), matrix(packed[10], np.float64),
        matrix(packed[11], w.dtype), integers(packed[12]), floats(packed[13]), floats(packed[14]),
    )  # fmt: skip
    numbers = floats(packed[SETTINGS])
    settings = Settings(numbers[0], numbers[1], int(numbers[2]), int(numbers[3]), int(numbers[4]), int(numbers[5]))
    return Asked(packed[PARAMS, 2], floats(packed[PARAMS])), state, settings
