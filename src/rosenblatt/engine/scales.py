"""The verbs over weights that are kept as scale · v: by what factor, and how it changes.

A scale that has gone too far is multiplied into v, at a cost that is spread over many updates.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit, uint64
from numba.extending import overload
from numpy.typing import NDArray

from .jit import NOGIL, VERB

__all__ = ["Scales", "add_up", "ages", "factor", "grown", "is_scaled", "rescale", "stacked"]

SMALL, LARGE = 1e-10, 1e4  # a scale beyond these is multiplied into v: rounding errors of ‖w‖² grow as w does


class Scales(NamedTuple):
    """What belongs to weights that are kept as scale · v, each with one number for each weight vector.

    Attributes
    ----------
    scale
        The factor of v and its bias.
    square
        ‖w‖², the bias included.
    steps
        How many steps were taken.
    total
        Σ of the scales in force after each example, each counted by its weight: what `age` is to weights without a scale.
    """

    scale: NDArray[np.float64]
    square: NDArray[np.float64]
    steps: NDArray[np.float64]
    total: NDArray[np.float64]


def multiply(v: Any, k: Any, factor: Any) -> Any:
    """Multiply the weights of vector k; gives the sum of their squares afterwards."""


def clear(v: Any, u: Any, k: Any, total: Any) -> Any:
    """u -= total v, where there is a u, and v = 0 for vector k."""


@overload(multiply, jit_options=NOGIL)
def _multiply(v: Any, k: Any, factor: Any) -> Any:
    def vector(v: Any, k: Any, factor: Any) -> Any:
        square = 0.0
        for j in range(uint64(v.shape[0])):
            v[j] *= factor
            square += np.float64(v[j]) * np.float64(v[j])
        return square

    def column(v: Any, k: Any, factor: Any) -> Any:
        square = 0.0
        for j in range(uint64(v.shape[0])):
            v[j, k] *= factor
            square += np.float64(v[j, k]) * np.float64(v[j, k])
        return square

    return vector if v.ndim == 1 else column


@overload(clear, jit_options=NOGIL)
def _clear(v: Any, u: Any, k: Any, total: Any) -> Any:
    def vector(v: Any, u: Any, k: Any, total: Any) -> Any:
        for j in range(uint64(v.shape[0])):
            if u.size > 0:
                u[j] -= total * v[j]
            v[j] = 0.0

    def column(v: Any, u: Any, k: Any, total: Any) -> Any:
        for j in range(uint64(v.shape[0])):
            if u.size > 0:
                u[j, k] -= total * v[j, k]
            v[j, k] = 0.0

    return vector if v.ndim == 1 else column


@njit(**NOGIL)
def multiply_in(v: Any, bias: Any, k: Any, scales: Any) -> None:
    """Make the scale 1 and measure w anew."""
    scale = scales.scale[k]
    bias[k] *= scale
    scales.square[k] = multiply(v, k, scale) + bias[k] * bias[k]
    scales.total[k] /= scale
    scales.scale[k] = 1.0


@njit(**NOGIL)
def start_over(v: Any, bias: Any, u: Any, u_bias: Any, k: Any, scales: Any) -> None:
    """w = 0, without forgetting in the average what it was."""
    clear(v, u, k, scales.total[k])
    u_bias[k] -= scales.total[k] * bias[k]
    bias[k] = 0.0
    scales.square[k] = 0.0
    scales.scale[k] = 1.0


@njit(**NOGIL)
def grown(square: Any, shrink: Any, tau: Any, product: Any, norm: Any) -> Any:
    """‖shrink w + tau z‖² from ‖w‖², <w, z> and ‖z‖²."""
    result = shrink * shrink * square + 2.0 * shrink * tau * product + tau * tau * norm
    return 0.0 if result < 0.0 else result  # noqa: FURB136 - max() would hide NaN


@njit(**NOGIL)
def rescale(state: Any, scales: Any, k: Any, shrink: Any, square: Any) -> None:
    """Multiply w_k by `shrink`; `square` is what ‖w_k‖² will be after the step that follows."""
    astray = 0.0
    if shrink == 0.0:
        start_over(state.v, state.v_bias, state.u, state.u_bias, k, scales)
    else:
        scales.scale[k] *= shrink
        if not SMALL < scales.scale[k] < LARGE:
            astray = shrink * shrink * scales.square[k]
            multiply_in(state.v, state.v_bias, k, scales)
            astray -= scales.square[k]  # by so much rounding had led ‖w‖² astray
    scales.square[k] = max(0.0, square - astray)
    scales.steps[k] += 1.0


@njit(**NOGIL)
def stacked(values: Any) -> Any:
    """The sum over all classes: ‖w‖² of the stacked weights."""
    result = 0.0
    for k in range(uint64(values.size)):
        result += values[k]
    return result


def is_scaled(state: Any) -> bool:
    """Whether the state of a run, as a type, holds scales."""
    return any(getattr(part, "instance_class", None) is Scales for part in state)


def factor(state: Any, k: Any) -> Any:
    """By what the scores of weight vector k are multiplied; 1 where no scales are kept."""


def add_up(state: Any, importance: Any) -> Any:
    """The scales in force after an example, into their total, where there are any."""


def ages(state: Any, age: Any) -> Any:
    """How often the weights count in the sum of all that were: the total of each scale, else the age of the run."""


@overload(factor, jit_options=VERB)
def _factor(state: Any, k: Any) -> Any:
    def scaled(state: Any, k: Any) -> Any:
        return state[1].scale[k]

    def plain(state: Any, k: Any) -> Any:
        return 1.0

    return scaled if is_scaled(state) else plain


@overload(add_up, jit_options=VERB)
def _add_up(state: Any, importance: Any) -> Any:
    def scaled(state: Any, importance: Any) -> Any:
        scales = state[1]
        for k in range(uint64(scales.scale.size)):
            scales.total[k] += importance * scales.scale[k]

    def plain(state: Any, importance: Any) -> Any:
        pass

    return scaled if is_scaled(state) else plain


@overload(ages, jit_options=NOGIL)
def _ages(state: Any, age: Any) -> Any:
    def scaled(state: Any, age: Any) -> Any:
        return state[1].total

    def plain(state: Any, age: Any) -> Any:
        return age

    return scaled if is_scaled(state) else plain
