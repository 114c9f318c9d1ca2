"""The online protocol for rules that keep a variance for every weight: the surer of a weight, the less it moves.

A step function says two things about an example, ``alpha, beta = step(margin, variance, …)``, and the protocol does

    w = w + alpha y Σx        Σ = Σ - beta Σx (Σx)ᵀ

where `variance` is xᵀΣx. Σ is a diagonal, at the cost of a first-order rule, or a whole matrix, at the cost of d² per update.
With many classes every class has a Σ of its own: the stacked weights of Kesler's construction, their Σ in blocks. Which of the
two it is, is a matter of types, so that each gets machine code of its own from the same loops.
"""

import math
from typing import Any

import numpy as np
from numba import carray, njit, uint64

from .calling import pair_of
from .jit_options import LOOP, NOGIL
from .lanes import pointer
from .multiclass import ONE_VS_REST, share, top_rival
from .packing import ORDER, floats, unpack, weights_like
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
from .rows import dot, dots, fetch_ahead, norm_above, row
from .variances import Variances, move, variance_along

__all__ = ["Variances", "many_classes", "two_classes", "unpack_diagonal", "unpack_full"]

FIRST_EXTRA = ORDER + 1
"""Where the arrays of `Variances` stand among the packed ones: after those that every rule has."""


@njit(**NOGIL)
def unpack_diagonal(packed: Any, w: Any) -> Any:
    """The arrays of a run with a diagonal Σ."""
    rule, state, settings = unpack(packed, w)
    scratch = carray(pointer(packed[FIRST_EXTRA + 2, 0]), (0, 0), np.float64)
    sigma = weights_like(packed[FIRST_EXTRA], w, np.float64)
    return rule, (state, Variances(sigma, floats(packed[FIRST_EXTRA + 1]), scratch)), settings


@njit(**NOGIL)
def unpack_full(packed: Any, w: Any) -> Any:
    """The arrays of a run with whole matrices Σ."""
    rule, state, settings = unpack(packed, w)
    size = packed[FIRST_EXTRA, 2]
    vectors = packed[FIRST_EXTRA, 1] // size
    sigma = carray(pointer(packed[FIRST_EXTRA, 0]), (vectors, size, size), np.float64)
    scratch = carray(pointer(packed[FIRST_EXTRA + 2, 0]), (vectors + 1, size), np.float64)
    return rule, (state, Variances(sigma, floats(packed[FIRST_EXTRA + 1]), scratch)), settings


@njit(**LOOP)
def two_classes(rule: Any, state: Any, settings: Any, X: Any, y: Any, weight: Any, order: Any) -> Any:
    """One weight vector; y holds 0 for the negative class and 1 for the positive one."""
    weights, variances = state
    counts, sums = weights.counts, weights.sums
    age, loss, score = sums[AGE], sums[LOSS], weights.scores[0]
    examples, mistakes, run, goal = counts[EXAMPLES], counts[MISTAKES], counts[RUN], counts[GOAL]
    result = DONE
    t = counts[POSITION]
    while t < order.size:
        i = order[t]
        x = row(X, i)
        fetch_ahead(X, order, t)
        score = np.float64(dot(weights.w, x)) + weights.bias[0]
        if not math.isfinite(score):
            result = BAD_VALUE
            break
        importance = weight[i] if weight.size > 0 else 1.0
        if importance == 0.0:
            t += 1
            continue
        sign = 1.0 if y[i] == 1 else -1.0
        margin = settle_tie(sign * score, y[i] == 1, settings.on_zero)

        alpha, beta, norm = 0.0, 0.0, 0.0
        if margin <= settings.target:
            variance = variance_along(variances, 0, x, settings.bias)
            if variance > 0.0:  # else there is nothing left that could move
                alpha, beta = pair_of(rule, margin, variance, importance, 0.0, 0.0)
                if alpha != 0.0 or beta != 0.0:
                    norm = norm_above(x, sums[REACH] - settings.bias) + settings.bias
            if not (norm < math.inf and alpha * alpha * variance < math.inf and 0.0 <= beta < math.inf):
                result = BAD_VALUE
                break
        examples += 1
        loss += importance * max(0.0, (settings.target if settings.target < math.inf else 0.0) - margin)
        if margin <= 0.0:
            mistakes += 1
        t += 1
        if alpha == 0.0 and beta == 0.0:
            age += importance
            run += 1
            if run == goal:
                result = RUN_REACHED
                break
            continue
        move(weights, variances, 0, sign * alpha, beta, age, x, settings.bias)
        age += importance
        goal = next_goal(goal, run)
        run = 0
        counts[UPDATES] += 1
        sums[STEPS] += alpha
        sums[REACH] = max(sums[REACH], norm)
    sums[AGE], sums[LOSS], weights.scores[0] = age, loss, score
    counts[EXAMPLES], counts[MISTAKES], counts[RUN], counts[GOAL] = examples, mistakes, run, goal
    counts[POSITION] = t
    return result


@njit(**LOOP)
def many_classes(rule: Any, state: Any, settings: Any, X: Any, y: Any, weight: Any, order: Any) -> Any:
    """One weight vector for each class; y holds the number of the class."""
    run, variances = state
    w, counts, sums, scores = run.w, run.counts, run.sums, run.scores
    tile, columns, amounts, shrinks = run.tile, run.columns, run.amounts, run.lagged
    result = DONE
    t = counts[POSITION]
    while t < order.size and result == DONE:
        scored = dots(w, X, order, t, tile)
        for r in range(scored):
            i = order[t]
            true = uint64(y[i])
            check = 0.0
            for k in range(uint64(scores.size)):
                scores[k] = np.float64(tile[r, k]) + run.bias[k]
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

            moved = 0
            loss, longest, check = 0.0, 0.0, 0.0
            if settings.scheme == ONE_VS_REST:
                for k in range(uint64(scores.size)):
                    sign = 1.0 if k == true else -1.0
                    own = settle_tie(sign * scores[k], k == true, settings.on_zero)
                    loss += max(0.0, goal - own)
                    if own <= settings.target:
                        variance = variance_along(variances, k, x, settings.bias)
                        alpha, beta = 0.0, 0.0
                        if variance > 0.0:
                            alpha, beta = pair_of(rule, own, variance, importance, 0.0, 0.0)
                        check += (alpha * alpha * variance + abs(variance)) * 0.0 + min(beta, 0.0) + beta * 0.0
                        if alpha != 0.0 or beta != 0.0:
                            columns[moved], amounts[moved], shrinks[moved] = k, sign * alpha, beta
                            longest = max(longest, alpha)
                            moved += 1
            else:
                loss = max(0.0, goal - margin)
                if margin <= settings.target:
                    moved = share(settings.scheme, scores, true, rival, columns, amounts)
                    variance = 0.0
                    for c in range(moved):
                        own = variance_along(variances, uint64(columns[c]), x, settings.bias)
                        check += own * 0.0
                        variance += amounts[c] * amounts[c] * own
                    alpha, beta = 0.0, 0.0
                    if variance > 0.0:
                        alpha, beta = pair_of(rule, margin, variance, importance, 0.0, 0.0)
                    check += (alpha * alpha * variance + abs(variance)) * 0.0 + min(beta, 0.0) + beta * 0.0
                    longest = alpha
                    for c in range(moved):
                        shrinks[c] = amounts[c] * amounts[c] * beta
                        amounts[c] *= alpha
                    if alpha == 0.0 and beta == 0.0:
                        moved = 0
            norm = norm_above(x, sums[REACH] - settings.bias) + settings.bias if moved > 0 else 0.0
            if not (check == 0.0 and norm < math.inf):
                result = BAD_VALUE
                break
            age = sums[AGE]
            sums[AGE] = age + importance
            counts[EXAMPLES] += 1
            sums[LOSS] += importance * loss
            if margin <= 0.0:
                counts[MISTAKES] += 1
            t += 1
            if moved == 0:
                counts[RUN] += 1
                if counts[RUN] == counts[GOAL]:
                    result = RUN_REACHED
                    break
                continue
            for c in range(moved):
                move(run, variances, uint64(columns[c]), amounts[c], shrinks[c], age, x, settings.bias)
            counts[GOAL] = next_goal(counts[GOAL], counts[RUN])
            counts[RUN] = 0
            counts[UPDATES] += 1
            sums[STEPS] += longest
            sums[REACH] = max(sums[REACH], norm)
            break  # the weights have moved: score the next rows anew
    counts[POSITION] = t
    return result
