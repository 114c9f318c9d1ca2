"""Rules that also shrink w: ``shrink, tau = step(…)`` does w = shrink w + tau y x.

Shrinking every weight at every update would cost as much as there are features. So w is kept as scale · v: a step changes the
scale and those v that the example has. ‖w‖² is carried along, because such rules ask for it.

With many classes one scale serves all, unless each class learns against the rest.
"""

import math
from typing import Any

from numba import njit, uint64
from numba.extending import overload

from .jit import NOGIL, VERB
from .loop import DONE, settle_tie
from .moves import REFUSED, decide, decide_together, move, move_columns
from .multiclass import ALL, ONE_VS_REST, share
from .rows import add, add_columns, squared_norm
from .scales import Scales, grown, is_scaled, rescale, stacked
from .state import ORDER, floats, unpack
from .step_call import pair_of

__all__ = ["FIRST_EXTRA", "unpack_scaled"]

FIRST_EXTRA = ORDER + 1


@njit(**NOGIL)
def unpack_scaled(packed: Any, w: Any) -> Any:
    """The arrays of a run."""
    rule, weights, settings = unpack(packed, w)
    first = FIRST_EXTRA
    scales = Scales(
        floats(packed[first]), floats(packed[first + 1]), floats(packed[first + 2]), floats(packed[first + 3])
    )
    return rule, (weights, scales), settings


@njit(**VERB)
def verdict(shrink: Any, tau: Any, square: Any, norm: Any, moved: Any) -> Any:
    """How many move by tau after they have shrunk, if ‖w‖² is then `square`."""
    if not (shrink >= 0.0 and square < math.inf and norm < math.inf):
        return REFUSED
    return 0 if shrink == 1.0 and tau == 0.0 else moved


@overload(decide, jit_options=VERB)
def _decide(
    rule: Any, state: Any, settings: Any, k: Any, x: Any, norm: Any, margin: Any, product: Any, importance: Any
) -> Any:
    def scaled(
        rule: Any, state: Any, settings: Any, k: Any, x: Any, norm: Any, margin: Any, product: Any, importance: Any
    ) -> Any:
        scales = state[1]
        shrink, tau, square = 1.0, 0.0, 0.0
        if norm == 0.0:
            norm = squared_norm(x) + settings.bias
        if norm != 0.0:  # an example of zeros cannot move anything
            shrink, tau = pair_of(rule, margin, norm, scales.square[k], scales.steps[k], importance)
            square = grown(scales.square[k], shrink, tau, product, norm)
        return tau, shrink, norm, verdict(shrink, tau, square, norm, 1)

    return scaled if is_scaled(state) else None


@overload(decide_together, jit_options=VERB)
def _decide_together(
    rule: Any, state: Any, settings: Any, x: Any, true: Any, rival: Any, margin: Any, importance: Any
) -> Any:
    def scaled(
        rule: Any, state: Any, settings: Any, x: Any, true: Any, rival: Any, margin: Any, importance: Any
    ) -> Any:
        weights, scales = state
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
        if settings.scheme == ALL:  # there the lead, which decides what a mistake is, can have another sign
            asked = margin
        shrink, tau = pair_of(rule, asked, size * norm, length, scales.steps[0], importance)
        square = grown(length, shrink, tau, product, size * norm)
        for c in range(moved):
            amounts[c] *= tau
            weights.lagged[c] = shrink
        return abs(tau), norm, verdict(shrink, tau, square, norm, moved)

    return scaled if is_scaled(state) else None


@overload(move, jit_options=VERB)
def _move(
    state: Any, settings: Any, x: Any, norm: Any, age: Any, sign: Any, product: Any, first: Any, second: Any
) -> Any:
    def scaled(
        state: Any, settings: Any, x: Any, norm: Any, age: Any, sign: Any, product: Any, first: Any, second: Any
    ) -> Any:
        weights, scales = state
        rescale(weights, scales, 0, second, grown(scales.square[0], second, first, product, norm))
        amount = sign * first / scales.scale[0]
        lag = scales.total[0] * amount
        add(weights.v, amount, x)
        if weights.u.size > 0:
            add(weights.u, lag, x)
        weights.v_bias[0] += amount * settings.bias
        weights.u_bias[0] += lag * settings.bias
        return DONE

    return scaled if is_scaled(state) else None


@overload(move_columns, jit_options=VERB)
def _move_columns(state: Any, settings: Any, x: Any, norm: Any, age: Any, moved: Any) -> Any:
    def scaled(state: Any, settings: Any, x: Any, norm: Any, age: Any, moved: Any) -> Any:
        weights, scales = state
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

    return scaled if is_scaled(state) else None


@njit(**NOGIL)
def shrink_separately(weights: Any, scales: Any, norm: Any, moved: Any) -> None:
    """Shrink each class that moves by its own factor, and turn its step into what is added to its v."""
    for c in range(moved):
        k = uint64(weights.columns[c])
        shrink, own = weights.lagged[c], weights.amounts[c]
        rescale(weights, scales, k, shrink, grown(scales.square[k], shrink, own, weights.scores[k], norm))
        weights.amounts[c] = own / scales.scale[k]
        weights.lagged[c] = scales.total[k] * weights.amounts[c]


@njit(**NOGIL)
def shrink_stacked(weights: Any, scales: Any, norm: Any, moved: Any) -> None:
    """Shrink all classes alike, and turn the steps of those that move into what is added to their v."""
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
