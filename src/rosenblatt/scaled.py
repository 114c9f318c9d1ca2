"""The online protocol for rules that also shrink w: ``shrink, tau = step(…)`` does w = shrink w + tau y x.

Shrinking every weight at every update would cost as much as there are features. So w is kept as scale · v: a step changes the
scale and those v that the example has. A scale that has gone too far is multiplied into v, at a cost that is spread over many
updates. ‖w‖² is carried along, because such rules ask for it.

With many classes one scale serves all, unless each class learns against the rest.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit, uint64
from numba.extending import overload
from numpy.typing import NDArray

from .calling import pair_of
from .jit_options import LOOP, NOGIL
from .multiclass import ALL, ONE_VS_REST, share, top_rival
from .packing import ORDER, floats, unpack
from .protocol import (
    AGE,
    BAD_VALUE,
    DONE,
    EXAMPLES,
    GOAL,
    LOSS,
    MISTAKES,
    POSITION,
    REACH,
    RUN,
    RUN_REACHED,
    STEPS,
    UPDATES,
    next_goal,
    settle_tie,
)
from .rows import add, add_columns, dot, dots, fetch_ahead, row, squared_norm

__all__ = ["Scales", "many_classes", "two_classes", "unpack_scaled"]

FIRST_EXTRA = ORDER + 1
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


@njit(**NOGIL)
def unpack_scaled(packed: Any, w: Any) -> Any:
    """The arrays of such a run."""
    rule, state, settings = unpack(packed, w)
    first = FIRST_EXTRA
    scales = Scales(
        floats(packed[first]), floats(packed[first + 1]), floats(packed[first + 2]), floats(packed[first + 3])
    )
    return rule, (state, scales), settings


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
def add_up(scales: Any, importance: Any) -> None:
    """The weights in force after an example, into their total."""
    for k in range(uint64(scales.scale.size)):
        scales.total[k] += importance * scales.scale[k]


@njit(**NOGIL)
def move_biases(bias: Any, u_bias: Any, columns: Any, amounts: Any, lagged: Any, moved: Any, feature: Any) -> None:
    """The step of the biases and of their part in the average."""
    for c in range(moved):
        bias[columns[c]] += amounts[c] * feature
        u_bias[columns[c]] += lagged[c] * feature


@njit(**LOOP)
def two_classes(rule: Any, state: Any, settings: Any, X: Any, y: Any, weight: Any, order: Any) -> Any:
    """One weight vector; y holds 0 for the negative class and 1 for the positive one."""
    weights, scales = state
    counts, sums = weights.counts, weights.sums
    age, loss, score = sums[AGE], sums[LOSS], weights.scores[0]
    examples, mistakes, run, goal = counts[EXAMPLES], counts[MISTAKES], counts[RUN], counts[GOAL]
    result = DONE
    t = counts[POSITION]
    while t < order.size:
        i = order[t]
        x = row(X, i)
        fetch_ahead(X, order, t)
        score = (np.float64(dot(weights.w, x)) + weights.bias[0]) * scales.scale[0]
        if not math.isfinite(score):
            result = BAD_VALUE
            break
        importance = weight[i] if weight.size > 0 else 1.0
        if importance == 0.0:
            t += 1
            continue
        sign = 1.0 if y[i] == 1 else -1.0
        margin = settle_tie(sign * score, y[i] == 1, settings.on_zero)

        shrink, tau, norm, square = 1.0, 0.0, 0.0, 0.0
        if margin <= settings.target:
            norm = squared_norm(x) + settings.bias
            if norm != 0.0:  # an example of zeros cannot move anything
                shrink, tau = pair_of(rule, margin, norm, scales.square[0], scales.steps[0], importance)
                square = grown(scales.square[0], shrink, tau, sign * score, norm)
            if not (shrink >= 0.0 and square < math.inf and norm < math.inf):
                result = BAD_VALUE
                break
        examples += 1
        loss += importance * max(0.0, (settings.target if settings.target < math.inf else 0.0) - margin)
        if margin <= 0.0:
            mistakes += 1
        t += 1
        age += importance
        if shrink == 1.0 and tau == 0.0:
            add_up(scales, importance)
            run += 1
            if run == goal:
                result = RUN_REACHED
                break
            continue
        rescale(weights, scales, 0, shrink, square)
        amount = sign * tau / scales.scale[0]
        lag = scales.total[0] * amount
        add(weights.v, amount, x)
        if weights.u.size > 0:
            add(weights.u, lag, x)
        move_bias(weights.v_bias, weights.u_bias, amount, lag, settings.bias)
        add_up(scales, importance)
        goal = next_goal(goal, run)
        run = 0
        counts[UPDATES] += 1
        sums[STEPS] += abs(tau)
        sums[REACH] = max(sums[REACH], norm)
    sums[AGE], sums[LOSS], weights.scores[0] = age, loss, score
    counts[EXAMPLES], counts[MISTAKES], counts[RUN], counts[GOAL] = examples, mistakes, run, goal
    counts[POSITION] = t
    return result


@njit(**NOGIL)
def move_bias(bias: Any, u_bias: Any, amount: Any, lag: Any, feature: Any) -> None:
    """The same for a single bias."""
    bias[0] += amount * feature
    u_bias[0] += lag * feature


@njit(**NOGIL)
def stacked(values: Any) -> Any:
    """The sum over all classes: ‖w‖² of the stacked weights."""
    result = 0.0
    for k in range(uint64(values.size)):
        result += values[k]
    return result


@njit(**LOOP)
def many_classes(rule: Any, state: Any, settings: Any, X: Any, y: Any, weight: Any, order: Any) -> Any:
    """One weight vector for each class; y holds the number of the class."""
    weights, scales = state
    w, counts, sums, scores = weights.w, weights.counts, weights.sums, weights.scores
    tile, columns, amounts, lagged = weights.tile, weights.columns, weights.amounts, weights.lagged
    result = DONE
    t = counts[POSITION]
    while t < order.size and result == DONE:
        scored = dots(w, X, order, t, tile)
        for r in range(scored):
            i = order[t]
            true = uint64(y[i])
            check = 0.0
            for k in range(uint64(scores.size)):
                scores[k] = (np.float64(tile[r, k]) + weights.bias[k]) * scales.scale[k]
                check += scores[k] * 0.0
            if check != 0.0:
                result = BAD_VALUE
                break
            importance = weight[i] if weight.size > 0 else 1.0
            if importance == 0.0:
                t += 1
                continue
            x = row(X, i)
            rival = top_rival(scores, true)
            margin = settle_tie(scores[true] - scores[rival], true < rival, settings.on_zero)
            goal = settings.target if settings.target < math.inf else 0.0

            norm = squared_norm(x) + settings.bias
            check += norm * 0.0  # before anything has moved
            moved = 0
            loss = 0.0
            longest = 0.0
            if settings.scheme == ONE_VS_REST:
                for k in range(uint64(scores.size)):
                    sign = 1.0 if k == true else -1.0
                    own = settle_tie(sign * scores[k], k == true, settings.on_zero)
                    loss += max(0.0, goal - own)
                    if own <= settings.target and norm != 0.0:
                        shrink, tau = pair_of(rule, own, norm, scales.square[k], scales.steps[k], importance)
                        square = grown(scales.square[k], shrink, tau, sign * scores[k], norm)
                        check += square * 0.0 + min(shrink, 0.0)
                        if shrink != 1.0 or tau != 0.0:
                            columns[moved], amounts[moved], lagged[moved] = k, sign * tau, shrink
                            longest = max(longest, abs(tau))
                            moved += 1
                if check == 0.0:
                    move_separately(weights, scales, norm, moved)
            else:
                loss = max(0.0, goal - margin)
                if margin <= settings.target and norm != 0.0:
                    moved = share(settings.scheme, scores, true, rival, columns, amounts)
                    product, size = 0.0, 0.0
                    for c in range(moved):
                        product += amounts[c] * scores[columns[c]]
                        size += amounts[c] * amounts[c]
                    length = stacked(scales.square)
                    asked = settle_tie(product, true < rival, settings.on_zero)
                    if settings.scheme == ALL:  # there the lead, which decides what a mistake is, can have another sign
                        asked = margin
                    shrink, tau = pair_of(rule, asked, size * norm, length, scales.steps[0], importance)
                    square = grown(length, shrink, tau, product, size * norm)
                    check += square * 0.0 + min(shrink, 0.0)
                    if shrink == 1.0 and tau == 0.0:
                        moved = 0
                    elif check == 0.0:
                        longest = abs(tau)
                        move_stacked(weights, scales, shrink, tau, norm, moved)
            if check != 0.0:
                result = BAD_VALUE
                break
            sums[AGE] += importance
            counts[EXAMPLES] += 1
            sums[LOSS] += importance * loss
            if margin <= 0.0:
                counts[MISTAKES] += 1
            t += 1
            if moved == 0:
                add_up(scales, importance)
                counts[RUN] += 1
                if counts[RUN] == counts[GOAL]:
                    result = RUN_REACHED
                    break
                continue
            add_columns(weights.v, columns, amounts, moved, x)
            if weights.u.size > 0:
                add_columns(weights.u, columns, lagged, moved, x)
            move_biases(weights.v_bias, weights.u_bias, columns, amounts, lagged, moved, settings.bias)
            add_up(scales, importance)
            counts[GOAL] = next_goal(counts[GOAL], counts[RUN])
            counts[RUN] = 0
            counts[UPDATES] += 1
            sums[STEPS] += longest
            sums[REACH] = max(sums[REACH], norm)
            break  # the weights have moved: score the next rows anew
    counts[POSITION] = t
    return result


@njit(**NOGIL)
def move_separately(weights: Any, scales: Any, norm: Any, moved: Any) -> None:
    """Shrink each class that moves by its own factor, and turn its step into what is added to its v."""
    for c in range(moved):
        k = uint64(weights.columns[c])
        shrink, own = weights.lagged[c], weights.amounts[c]
        rescale(weights, scales, k, shrink, grown(scales.square[k], shrink, own, weights.scores[k], norm))
        weights.amounts[c] = own / scales.scale[k]
        weights.lagged[c] = scales.total[k] * weights.amounts[c]


@njit(**NOGIL)
def move_stacked(weights: Any, scales: Any, shrink: Any, tau: Any, norm: Any, moved: Any) -> None:
    """Shrink all classes alike, and turn the shares of those that move into what is added to their v."""
    for k in range(uint64(scales.scale.size)):
        rescale(weights, scales, k, shrink, shrink * shrink * scales.square[k])
    for c in range(moved):
        k = uint64(weights.columns[c])
        own = weights.amounts[c] * tau
        before = weights.scores[k] * shrink
        scales.square[k] = max(0.0, scales.square[k] + 2.0 * own * before + own * own * norm)
        weights.amounts[c] = own / scales.scale[k]
        weights.lagged[c] = scales.total[k] * weights.amounts[c]
