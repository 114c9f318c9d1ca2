"""Rules that also shrink w: ``shrink, tau = step(…)`` and w = shrink w + tau y x.

Shrinking every weight at every update would take time proportional to the number of features. So w is stored as scale · v: a step
changes the scale and the v of the features of the example. A scale that is too small or too large is multiplied into v, which
happens rarely. ‖w‖² is updated with every step, because such rules need it.

With many classes there is one scale for all, except in one-vs-rest.
"""

import math
from typing import Any

import numpy as np
from numba import njit, uint64

from .codegen import pair_of
from .conventions import ALL, ONE_VS_REST
from .jit import NOGIL, VERB, verb
from .multiclass import share
from .readouts import settle_tie
from .rows import add, add_columns, squared_norm
from .state import DONE, REFUSED

SMALL, LARGE = 1e-10, 1e4  # a scale outside this range is multiplied into v: rounding errors of ‖w‖² grow with w


def score_of(state: Any, k: Any, product: Any, bias: Any) -> Any:
    """The score of weight vector k from <v, x>."""
    return (product + bias) * state.scales.scale[k]


def summed(state: Any, k: Any, product: Any, bias: Any) -> Any:
    """The part of the summed scores of all weight vectors that comes from v and the bias."""
    return state.scales.total[k] * (product + bias)


def add_up(state: Any, x: Any, importance: Any) -> Any:
    """Add the scales after an example to their total; v does not change."""
    scales = state.scales
    for k in range(uint64(scales.scale.size)):
        scales.total[k] += importance * scales.scale[k]
    return False


@verb(**NOGIL)
def multiply(v: Any, k: Any, factor: Any) -> Any:
    """Multiply the weights of vector k by a factor; return the new sum of their squares."""

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


@verb(**NOGIL)
def clear(v: Any, u: Any, k: Any, total: Any) -> Any:
    """u -= total v, if there is a u, and v = 0 for vector k."""

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
    """Multiply the scale into v and recompute ‖w‖²."""
    scale = scales.scale[k]
    bias[k] *= scale
    scales.square[k] = multiply(v, k, scale) + bias[k] * bias[k]
    scales.total[k] /= scale
    scales.scale[k] = 1.0


@njit(**NOGIL)
def start_over(v: Any, bias: Any, u: Any, u_bias: Any, k: Any, scales: Any) -> None:
    """Set w = 0 and keep the average correct."""
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
    """Multiply w_k by `shrink`; `square` is ‖w_k‖² after the following step."""
    drift = 0.0
    if shrink == 0.0:
        start_over(state.v, state.v_bias, state.u, state.u_bias, k, scales)
    else:
        scales.scale[k] *= shrink
        if not SMALL < scales.scale[k] < LARGE:
            drift = shrink * shrink * scales.square[k]
            multiply_in(state.v, state.v_bias, k, scales)
            drift -= scales.square[k]  # accumulated rounding error of ‖w‖²
    scales.square[k] = max(0.0, square - drift)
    scales.steps[k] += 1.0


@njit(**NOGIL)
def stacked(values: Any) -> Any:
    """The sum over all classes: ‖w‖² of the stacked weights."""
    result = 0.0
    for k in range(uint64(values.size)):
        result += values[k]
    return result


@njit(**VERB)
def verdict(shrink: Any, tau: Any, square: Any, norm: Any, moved: Any) -> Any:
    """The number of vectors to shrink and to update by tau; `square` is ‖w‖² after the update."""
    if not (shrink >= 0.0 and square < math.inf and norm < math.inf):
        return REFUSED
    return 0 if shrink == 1.0 and tau == 0.0 else moved


def decide(
    rule: Any, state: Any, settings: Any, k: Any, x: Any, norm: Any, margin: Any, product: Any, importance: Any
) -> Any:
    """Call the rule for weight vector k; see `loop.decide`."""
    scales = state.scales
    shrink, tau, square = 1.0, 0.0, 0.0
    if norm == 0.0:
        norm = squared_norm(x) + settings.bias
    if norm != 0.0:  # an example of zeros changes nothing
        shrink, tau = pair_of(rule, margin, norm, scales.square[k], scales.steps[k], importance)
        square = grown(scales.square[k], shrink, tau, product, norm)
    return tau, shrink, norm, verdict(shrink, tau, square, norm, 1)


def decide_together(
    rule: Any, state: Any, settings: Any, x: Any, true: Any, rival: Any, margin: Any, importance: Any
) -> Any:
    """Call the rule for the lead of the true class over its rivals; see `loop.decide_together`."""
    weights, scales = state.weights, state.scales
    columns, amounts = weights.columns, weights.amounts
    norm = squared_norm(x) + settings.bias
    if norm == 0.0:
        return 0.0, norm, 0
    moved = share(settings.scheme, weights.scores, true, rival, columns, amounts)
    product, size = 0.0, 0.0
    for c in range(moved):
        product += amounts[c] * weights.scores[columns[c]]
        size += amounts[c] * amounts[c]
    length = stacked(scales.square)
    asked = settle_tie(product, true < rival, settings.on_zero)
    if settings.scheme == ALL:  # the lead, which decides about mistakes, can have another sign in this scheme
        asked = margin
    shrink, tau = pair_of(rule, asked, size * norm, length, scales.steps[0], importance)
    square = grown(length, shrink, tau, product, size * norm)
    for c in range(moved):
        amounts[c] *= tau
        weights.lagged[c] = shrink
    return abs(tau), norm, verdict(shrink, tau, square, norm, moved)


def move(
    state: Any, settings: Any, x: Any, norm: Any, age: Any, sign: Any, product: Any, first: Any, second: Any
) -> Any:
    """Update the only weight vector; see `loop.move`."""
    weights, scales = state.weights, state.scales
    rescale(weights, scales, 0, second, grown(scales.square[0], second, first, product, norm))
    amount = sign * first / scales.scale[0]
    lag = scales.total[0] * amount
    add(weights.v, amount, x)
    if weights.u.size > 0:
        add(weights.u, lag, x)
    weights.v_bias[0] += amount * settings.bias
    weights.u_bias[0] += lag * settings.bias
    return DONE


def move_columns(state: Any, settings: Any, x: Any, norm: Any, age: Any, moved: Any) -> Any:
    """Update several weight vectors; see `loop.move_columns`."""
    weights, scales = state.weights, state.scales
    columns, amounts, lagged = weights.columns, weights.amounts, weights.lagged
    if settings.scheme == ONE_VS_REST:
        shrink_separately(weights, scales, norm, moved)
    else:
        shrink_stacked(weights, scales, norm, moved)
    add_columns(weights.v, columns, amounts, moved, x)
    if weights.u.size > 0:
        add_columns(weights.u, columns, lagged, moved, x)
    for c in range(moved):
        weights.v_bias[columns[c]] += amounts[c] * settings.bias
        weights.u_bias[columns[c]] += lagged[c] * settings.bias
    return DONE


@njit(**NOGIL)
def shrink_separately(weights: Any, scales: Any, norm: Any, moved: Any) -> None:
    """Shrink each class to update by its own factor, and convert its step to the change of its v."""
    for c in range(moved):
        k = uint64(weights.columns[c])
        shrink, own = weights.lagged[c], weights.amounts[c]
        rescale(weights, scales, k, shrink, grown(scales.square[k], shrink, own, weights.scores[k], norm))
        weights.amounts[c] = own / scales.scale[k]
        weights.lagged[c] = scales.total[k] * weights.amounts[c]


@njit(**NOGIL)
def shrink_stacked(weights: Any, scales: Any, norm: Any, moved: Any) -> None:
    """Shrink all classes by one factor, and convert the steps to the changes of v."""
    shrink = weights.lagged[0]
    for k in range(uint64(scales.scale.size)):
        rescale(weights, scales, k, shrink, shrink * shrink * scales.square[k])
    for c in range(moved):
        k = uint64(weights.columns[c])
        own = weights.amounts[c]
        before = weights.scores[k] * shrink
        scales.square[k] = max(0.0, scales.square[k] + 2.0 * own * before + own * own * norm)
        weights.amounts[c] = own / scales.scale[k]
        weights.lagged[c] = scales.total[k] * weights.amounts[c]
