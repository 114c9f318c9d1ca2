"""The online protocol, once for all rules: receive x, predict, see the truth, update.

A rule only says how far to move; how a kind of rules is asked and obeyed stands in `moves`; everything else that happens to an
example happens here. `two_classes` keeps one weight vector, `many_classes` one for each class. A pass visits the rows of X in the
given `order` and can stop early and go on where it stopped (``counts[POSITION]``); its return value says why it came back.
"""

import math
from typing import Any

import numpy as np
from numba import carray, njit, uint64

from .jit import LOOP, NOGIL, VERB
from .moves import REFUSED, decide, decide_together, move, move_columns
from .multiclass import ONE_VS_REST, top_rival
from .rows import CSR, dot, dots, fetch_ahead, row, sort_row
from .scales import add_up, factor
from .simd import pointer
from .state import COUNTS, LABEL, ORDER, SCORES, WEIGHT, Settings, State, floats, integers, pack

__all__ = ["ON_ZERO", "Settings", "State", "many_classes", "pack", "two_classes"]

# Why a pass came back.
DONE, BAD_VALUE, LOG_FULL, RUN_REACHED, OUT_OF_SCALE = range(5)

# The places in `State.counts` and `State.sums`.
POSITION, EXAMPLES, MISTAKES, UPDATES, RUN, GOAL, LOGGED = range(7)
LOSS, STEPS, SHIFT, AGE, REACH = range(5)

UPDATE, POSITIVE, KEEP = range(3)
ON_ZERO = {"update": UPDATE, "positive": POSITIVE, "keep": KEEP}

TINY = 5e-324


@njit(**NOGIL)
def one_example(packed: Any, label: Any, importance: Any) -> Any:
    """Label, weight and order of a run over a single row."""
    y, weight, order = integers(packed[LABEL]), floats(packed[WEIGHT]), integers(packed[ORDER])
    y[0], weight[0], order[0] = label, importance, 0
    integers(packed[COUNTS])[POSITION] = 0
    return y, weight, order


@njit(**NOGIL)
def sparse_example(w: Any, indices_address: Any, values_address: Any, count: Any) -> Any:
    """A row given by the addresses of its entries: a sorted copy, of the types that most matrices have."""
    indptr = np.empty(2, np.int64)
    indptr[0], indptr[1] = 0, count
    indices = carray(pointer(indices_address), (count,), np.int64).astype(np.int32)
    values = carray(pointer(values_address), (count,), w.dtype).copy()
    sort_row(indices, values, count)
    return CSR(indptr, indices, values)


@njit(**NOGIL)
def guess_or_reason(reason: Any, packed: Any) -> Any:
    """The class that the scores of the last example speak for, or, negative, why it was not learned to the end."""
    if reason != DONE:
        return -reason
    scores = floats(packed[SCORES])
    if scores.size == 1:
        return 1 if scores[0] >= 0.0 else 0
    best = 0
    for k in range(1, scores.size):
        if scores[k] > scores[best]:
            best = k
    return best


@njit(**NOGIL)
def settle_tie(margin: Any, first: Any, on_zero: Any) -> Any:
    """The margin as the rule sees it: a tie that counts as correct becomes the smallest positive number."""
    if margin == 0.0 and (on_zero == KEEP or (on_zero == POSITIVE and first)):
        return TINY
    return margin


@njit(**NOGIL)
def next_goal(goal: Any, run: Any) -> Any:
    """The goal after a run of right answers has ended: one that passed it has set a new one."""
    return run + 1 if 0 < goal <= run else goal


@njit(**VERB)
def shortfall(target: Any, margin: Any) -> Any:
    """The loss: by how much a margin misses the target, or 0 where that is infinite."""
    return max(0.0, (target if target < math.inf else 0.0) - margin)


@njit(**LOOP)
def two_classes(rule: Any, state: Any, settings: Any, X: Any, y: Any, weight: Any, order: Any) -> Any:
    """One weight vector; y holds 0 for the negative class and 1 for the positive one."""
    weights = state[0]
    counts, sums = weights.counts, weights.sums
    # Counted in registers: each would cost a load and a store per example.
    age, loss, score = sums[AGE], sums[LOSS], weights.scores[0]
    examples, mistakes, run, goal = counts[EXAMPLES], counts[MISTAKES], counts[RUN], counts[GOAL]
    result = DONE
    t = counts[POSITION]
    while t < order.size:
        if weights.log_rows.size > 0 and counts[LOGGED] == weights.log_rows.size:
            result = LOG_FULL
            break
        i = order[t]
        x = row(X, i)
        fetch_ahead(X, order, t)
        score = (np.float64(dot(weights.w, x)) + weights.bias[0]) * factor(state, 0)
        if not math.isfinite(score):
            result = BAD_VALUE
            break
        importance = weight[i] if weight.size > 0 else 1.0
        if importance == 0.0:
            t += 1
            continue
        sign = 1.0 if y[i] == 1 else -1.0
        margin = settle_tie(sign * score, y[i] == 1, settings.on_zero)

        first, second, norm, moved = 0.0, 0.0, 0.0, 0
        if margin <= settings.target:
            first, second, norm, moved = decide(
                rule, state, settings, uint64(0), x, norm, margin, sign * score, importance
            )
            if moved == REFUSED:
                result = BAD_VALUE
                break
        examples += 1
        loss += importance * shortfall(settings.target, margin)
        if margin <= 0.0:
            mistakes += 1
        t += 1
        if moved == 0:
            age += importance
            add_up(state, importance)
            run += 1
            if run == goal:
                result = RUN_REACHED
                break
            continue

        result = move(state, settings, x, norm, age, sign, sign * score, first, second)
        if weights.log_rows.size > 0:
            entry = counts[LOGGED]
            weights.log_rows[entry] = i
            weights.log_ages[entry] = age
            weights.log_steps[entry, 0] = sign * first
            counts[LOGGED] += 1
        age += importance
        add_up(state, importance)
        goal = next_goal(goal, run)
        run = 0
        counts[UPDATES] += 1
        sums[STEPS] += abs(first)
        sums[REACH] = max(sums[REACH], norm)
        if result != DONE:
            break
    sums[AGE], sums[LOSS], weights.scores[0] = age, loss, score
    counts[EXAMPLES], counts[MISTAKES], counts[RUN], counts[GOAL] = examples, mistakes, run, goal
    counts[POSITION] = t
    return result


@njit(**LOOP)
def many_classes(rule: Any, state: Any, settings: Any, X: Any, y: Any, weight: Any, order: Any) -> Any:
    """One weight vector for each class; y holds the number of the class."""
    weights = state[0]
    counts, sums, scores, tile = weights.counts, weights.sums, weights.scores, weights.tile
    columns, amounts, lagged = weights.columns, weights.amounts, weights.lagged
    result = DONE
    t = counts[POSITION]
    while t < order.size and result == DONE:
        scored = dots(weights.w, X, order, t, tile)
        for r in range(scored):
            if weights.log_rows.size > 0 and counts[LOGGED] == weights.log_rows.size:
                result = LOG_FULL
                break
            i = order[t]
            true = uint64(y[i])
            check = 0.0
            for k in range(uint64(scores.size)):
                scores[k] = (np.float64(tile[r, k]) + weights.bias[k]) * factor(state, k)
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

            loss, longest, norm, moved = 0.0, 0.0, 0.0, 0
            if settings.scheme == ONE_VS_REST:
                for k in range(uint64(scores.size)):
                    sign = 1.0 if k == true else -1.0
                    product = sign * scores[k]
                    own = settle_tie(product, k == true, settings.on_zero)
                    loss += shortfall(settings.target, own)
                    if own <= settings.target and moved != REFUSED:
                        first, second, norm, one = decide(rule, state, settings, k, x, norm, own, product, importance)
                        if one == REFUSED:
                            moved = REFUSED
                        elif one == 1:
                            columns[moved], amounts[moved], lagged[moved] = k, sign * first, second
                            longest = max(longest, abs(first))
                            moved += 1
            else:
                loss = shortfall(settings.target, margin)
                if margin <= settings.target:
                    longest, norm, moved = decide_together(rule, state, settings, x, true, rival, margin, importance)
            if moved == REFUSED:
                result = BAD_VALUE
                break
            age = sums[AGE]
            sums[AGE] += importance
            counts[EXAMPLES] += 1
            sums[LOSS] += importance * loss
            if margin <= 0.0:
                counts[MISTAKES] += 1
            t += 1
            if moved == 0:
                add_up(state, importance)
                counts[RUN] += 1
                if counts[RUN] == counts[GOAL]:
                    result = RUN_REACHED
                    break
                continue

            result = move_columns(state, settings, x, norm, age, moved)
            if weights.log_rows.size > 0:
                entry = counts[LOGGED]
                weights.log_rows[entry] = i
                weights.log_ages[entry] = age
                weights.log_steps[entry, :] = 0.0
                for c in range(moved):
                    weights.log_steps[entry, columns[c]] = amounts[c]
                counts[LOGGED] += 1
            add_up(state, importance)
            counts[GOAL] = next_goal(counts[GOAL], counts[RUN])
            counts[RUN] = 0
            counts[UPDATES] += 1
            sums[STEPS] += longest
            sums[REACH] = max(sums[REACH], norm)
            break  # the weights have moved: score the next rows anew
    counts[POSITION] = t
    return result
