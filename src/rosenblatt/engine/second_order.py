"""Rules that keep a variance for every weight: the surer of a weight, the less it moves.

A step function says two things about an example, ``alpha, beta = step(margin, variance, …)``, which do

    w = w + alpha y Σx        Σ = Σ - beta Σx (Σx)ᵀ

where `variance` is xᵀΣx. Σ is a diagonal, at the cost of a first-order rule, or a whole matrix, at the cost of d² per update.
With many classes every class has a Σ of its own: the stacked weights of Kesler's construction, their Σ in blocks. Which of the
two it is, is a matter of types, so that each gets machine code of its own from the same loops.
"""

import math
from typing import Any

import numpy as np
from numba import carray, njit, uint64
from numba.extending import overload

from .jit import NOGIL, VERB
from .loop import DONE, REACH
from .moves import REFUSED, decide, decide_together, move, move_columns
from .multiclass import share
from .rows import norm_above
from .simd import pointer
from .state import ORDER, floats, unpack, weights_like
from .step_call import pair_of
from .variances import Variances, nudge_vector, variance_along

__all__ = ["unpack_diagonal", "unpack_full"]

FIRST_EXTRA = ORDER + 1
"""Where the arrays of `Variances` stand among the packed ones: after those that every rule has."""


@njit(**NOGIL)
def unpack_diagonal(packed: Any, w: Any) -> Any:
    """The arrays of a run with a diagonal Σ."""
    rule, weights, settings = unpack(packed, w)
    scratch = carray(pointer(packed[FIRST_EXTRA + 2, 0]), (0, 0), np.float64)
    sigma = weights_like(packed[FIRST_EXTRA], w, np.float64)
    return rule, (weights, Variances(sigma, floats(packed[FIRST_EXTRA + 1]), scratch)), settings


@njit(**NOGIL)
def unpack_full(packed: Any, w: Any) -> Any:
    """The arrays of a run with whole matrices Σ."""
    rule, weights, settings = unpack(packed, w)
    size = packed[FIRST_EXTRA, 2]
    vectors = packed[FIRST_EXTRA, 1] // size
    sigma = carray(pointer(packed[FIRST_EXTRA, 0]), (vectors, size, size), np.float64)
    scratch = carray(pointer(packed[FIRST_EXTRA + 2, 0]), (vectors + 1, size), np.float64)
    return rule, (weights, Variances(sigma, floats(packed[FIRST_EXTRA + 1]), scratch)), settings


def _mine(state: Any) -> bool:
    return any(getattr(part, "instance_class", None) is Variances for part in state)


@njit(**VERB)
def verdict(alpha: Any, beta: Any, variance: Any, norm: Any, moved: Any) -> Any:
    """How many move by alpha, and become surer by beta."""
    if not (norm < math.inf and alpha * alpha * variance < math.inf and 0.0 <= beta < math.inf):
        return REFUSED
    return 0 if alpha == 0.0 and beta == 0.0 else moved


@overload(decide, jit_options=VERB)
def _decide(
    rule: Any, state: Any, settings: Any, k: Any, x: Any, norm: Any, margin: Any, product: Any, importance: Any
) -> Any:
    def second_order(
        rule: Any, state: Any, settings: Any, k: Any, x: Any, norm: Any, margin: Any, product: Any, importance: Any
    ) -> Any:
        weights, variances = state
        alpha, beta = 0.0, 0.0
        variance = variance_along(variances, k, x, settings.bias)
        if variance > 0.0:  # else there is nothing left that could move
            alpha, beta = pair_of(rule, margin, variance, importance, 0.0, 0.0)
            if norm == 0.0 and (alpha != 0.0 or beta != 0.0):
                norm = norm_above(x, weights.sums[REACH] - settings.bias) + settings.bias
        return alpha, beta, norm, verdict(alpha, beta, variance, norm, 1)

    return second_order if _mine(state) else None


@overload(decide_together, jit_options=VERB)
def _decide_together(
    rule: Any, state: Any, settings: Any, x: Any, true: Any, rival: Any, margin: Any, importance: Any
) -> Any:
    def second_order(
        rule: Any, state: Any, settings: Any, x: Any, true: Any, rival: Any, margin: Any, importance: Any
    ) -> Any:
        weights, variances = state
        columns, amounts = weights.columns, weights.amounts
        alpha, beta, norm, variance = 0.0, 0.0, 0.0, 0.0
        moved = share(settings.scheme, weights.scores, true, rival, columns, amounts)
        for c in range(moved):
            own = variance_along(variances, uint64(columns[c]), x, settings.bias)
            variance += amounts[c] * amounts[c] * own
        if variance > 0.0:
            alpha, beta = pair_of(rule, margin, variance, importance, 0.0, 0.0)
            if alpha != 0.0 or beta != 0.0:
                norm = norm_above(x, weights.sums[REACH] - settings.bias) + settings.bias
        for c in range(moved):
            weights.lagged[c] = amounts[c] * amounts[c] * beta
            amounts[c] *= alpha
        return abs(alpha), norm, verdict(alpha, beta, variance, norm, moved)

    return second_order if _mine(state) else None


@overload(move, jit_options=VERB)
def _move(
    state: Any, settings: Any, x: Any, norm: Any, age: Any, sign: Any, product: Any, first: Any, second: Any
) -> Any:
    def second_order(
        state: Any, settings: Any, x: Any, norm: Any, age: Any, sign: Any, product: Any, first: Any, second: Any
    ) -> Any:
        nudge_vector(state[0], state[1], 0, sign * first, second, age, x, settings.bias)
        return DONE

    return second_order if _mine(state) else None


@overload(move_columns, jit_options=VERB)
def _move_columns(state: Any, settings: Any, x: Any, norm: Any, age: Any, moved: Any) -> Any:
    def second_order(state: Any, settings: Any, x: Any, norm: Any, age: Any, moved: Any) -> Any:
        weights, variances = state
        for c in range(moved):
            k = uint64(weights.columns[c])
            nudge_vector(weights, variances, k, weights.amounts[c], weights.lagged[c], age, x, settings.bias)
        return DONE

    return second_order if _mine(state) else None
