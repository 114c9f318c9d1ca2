"""Additive rules with a penalty, as in scikit-learn: every example shrinks the weights a little, whether it is a mistake or not.

The l2 penalty multiplies all weights by one factor. Doing that would take time proportional to the number of features, so w is
stored as scale · v, and only the scale changes. The l1 penalty moves every weight towards 0 by a constant and stops at 0
(Tsuruoka, Tsujii and Ananiadou 2009): the total that each weight should have paid so far is one number, what it has paid is kept
for each weight, and a weight pays the difference when an example has its feature. So both take time proportional to the features
of the example. The bias pays nothing.

An average is (Σ scales · v - u) / age. When the scale becomes small it is multiplied into v, and Σ scales · v into u.
"""

from typing import Any

import numpy as np
from numba import njit, uint64

from .jit import NOGIL, verb
from .rows import is_dense, unsigned
from .state import DONE

SMALL = 1e-4
"""A smaller scale is multiplied into v. Σ scales · v and u may be 1 / SMALL times as large as their difference."""

FACTOR, TAX, RIDGE, LASSO = range(4)
"""Places in `rates`: the factor and the payment of an example, and the weights of ‖w‖² and Σ|w| in the loss."""


def score_of(state: Any, k: Any, product: Any, bias: Any) -> Any:
    """The score of weight vector k from <v, x>."""
    return product * state.penalties.scale[k] + bias


def summed(state: Any, k: Any, product: Any, bias: Any) -> Any:
    """The part of the summed scores of all weight vectors that comes from v and the bias."""
    return product * state.penalties.total[k] + bias * state.weights.tally[0].age


def objective(state: Any, loss: Any) -> Any:
    """The loss with the penalties of all weight vectors."""
    penalties = state.penalties
    for k in range(uint64(penalties.scale.size)):
        scale = penalties.scale[k]
        loss += penalties.rates[RIDGE] * (scale * scale * penalties.square[k])
        loss += penalties.rates[LASSO] * (scale * penalties.absolute[k])
    return loss


def decay(state: Any) -> Any:
    """Shrink all weights by the l2 penalty of an example; return whether v has changed."""
    penalties, changed = state.penalties, False
    if penalties.rates[FACTOR] < 1.0:
        for k in range(uint64(penalties.scale.size)):
            penalties.scale[k] *= penalties.rates[FACTOR]
            if penalties.scale[k] < SMALL:
                multiply_in(state, k)
                changed = True
    return changed


@njit(**NOGIL)
def multiply_in(state: Any, k: Any) -> None:
    """Set the scale of weight vector k to 1."""
    weights, penalties = state.weights, state.penalties
    scale, total = penalties.scale[k], penalties.total[k]
    square, absolute = 0.0, 0.0
    for j in range(uint64(weights.v.shape[0])):
        before = weight(weights.v, j, k)
        if weights.u.size > 0:
            set_weight(weights.u, j, k, weight(weights.u, j, k) - total * before)
        set_weight(weights.v, j, k, before * scale)
        after = weight(weights.v, j, k)
        square += after * after
        absolute += abs(after)
    penalties.scale[k], penalties.total[k] = 1.0, 0.0
    penalties.square[k], penalties.absolute[k] = square, absolute


def add_up(state: Any, x: Any, importance: Any) -> Any:
    """Take the l1 penalty of an example, and add the scales to their total; return whether v has changed."""
    penalties = state.penalties
    taxed = penalties.rates[TAX] > 0.0
    if taxed:
        for k in range(uint64(penalties.scale.size)):
            penalties.owed[k] += penalties.rates[TAX]
        for i in range(entries(x)):
            j, value = entry(x, i)
            if value != 0:
                for k in range(uint64(penalties.scale.size)):
                    pay(state, j, k)
    for k in range(uint64(penalties.scale.size)):
        penalties.total[k] += importance * penalties.scale[k]
    return taxed


@njit(**NOGIL)
def pay(state: Any, j: Any, k: Any) -> None:
    """Move one weight towards 0 by what it has not paid yet."""
    penalties = state.penalties
    before, paid = weight(state.weights.v, j, k), weight(penalties.paid, j, k)
    if before == 0.0:
        return
    if before > 0.0:
        after = max(0.0, before - (penalties.owed[k] + paid) / penalties.scale[k])
    else:
        after = min(0.0, before + (penalties.owed[k] - paid) / penalties.scale[k])
    change = put(state, j, k, before, after)
    set_weight(penalties.paid, j, k, paid + penalties.scale[k] * change)


@njit(**NOGIL)
def put(state: Any, j: Any, k: Any, before: Any, after: Any) -> Any:
    """Change an entry of v, and with it the norms and the sum for the average; return the change."""
    weights, penalties = state.weights, state.penalties
    set_weight(weights.v, j, k, after)
    rounded = weight(weights.v, j, k)
    change = rounded - before
    penalties.square[k] += rounded * rounded - before * before
    penalties.absolute[k] += abs(rounded) - abs(before)
    if weights.u.size > 0:
        set_weight(weights.u, j, k, weight(weights.u, j, k) + penalties.total[k] * change)
    return change


def move(
    state: Any, settings: Any, x: Any, norm: Any, age: Any, sign: Any, product: Any, first: Any, second: Any
) -> Any:
    """Update the only weight vector; see `loop.move`."""
    add(state, settings, x, age, uint64(0), sign * first)
    return DONE


def move_columns(state: Any, settings: Any, x: Any, norm: Any, age: Any, moved: Any) -> Any:
    """Update several weight vectors; see `loop.move_columns`."""
    for c in range(moved):
        add(state, settings, x, age, uint64(state.weights.columns[c]), state.weights.amounts[c])
    return DONE


@njit(**NOGIL)
def add(state: Any, settings: Any, x: Any, age: Any, k: Any, amount: Any) -> None:
    """Add a multiple of x to weight vector k."""
    weights = state.weights
    inside = amount / state.penalties.scale[k]
    for i in range(entries(x)):
        j, value = entry(x, i)
        if value != 0:
            before = weight(weights.v, j, k)
            put(state, j, k, before, before + inside * np.float64(value))
    weights.v_bias[k] += amount * settings.bias
    weights.u_bias[k] += age * amount * settings.bias


# ---- one entry of a row, and of weights ----


@verb(**NOGIL)
def entries(x: Any) -> Any:
    """The number of stored entries of a row."""

    def dense(x: Any) -> Any:
        return uint64(x[0].size)

    def sparse(x: Any) -> Any:
        return uint64(x[1].size)

    return dense if is_dense(x) else sparse


@verb(**NOGIL)
def entry(x: Any, i: Any) -> Any:
    """The feature and the value of a stored entry."""

    def dense(x: Any, i: Any) -> Any:
        return uint64(i), x[0][i]

    def sparse(x: Any, i: Any) -> Any:
        return unsigned(x[0][i]), x[1][i]

    return dense if is_dense(x) else sparse


@verb(**NOGIL)
def weight(w: Any, j: Any, k: Any) -> Any:
    """The weight of feature j in vector k."""

    def vector(w: Any, j: Any, k: Any) -> Any:
        return np.float64(w[j])

    def column(w: Any, j: Any, k: Any) -> Any:
        return np.float64(w[j, k])

    return vector if w.ndim == 1 else column


@verb(**NOGIL)
def set_weight(w: Any, j: Any, k: Any, value: Any) -> Any:
    """Set the weight of feature j in vector k."""

    def vector(w: Any, j: Any, k: Any, value: Any) -> Any:
        w[j] = value

    def column(w: Any, j: Any, k: Any, value: Any) -> Any:
        w[j, k] = value

    return vector if w.ndim == 1 else column
