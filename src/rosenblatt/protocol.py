"""The online protocol, once for all rules: receive x, predict, see the truth, update.

A rule only says how far to move (`step`); everything else that happens to an example happens here. `two_classes` keeps one
weight vector, `many_classes` one for each class. A pass visits the rows of X in the given `order` and can stop early and go on
where it stopped (``counts[POSITION]``); its return value says why it came back.
"""

import math
from typing import Any

import numpy as np
from numba import carray, njit, uint64

from .calling import number_of
from .jit_options import LOOP, NOGIL
from .lanes import pointer
from .multiclass import ONE_VS_REST, share, top_rival
from .packing import COUNTS, LABEL, ORDER, SCORES, WEIGHT, Settings, State, floats, integers, pack
from .rows import (
    CSR,
    EXP,
    IDENTITY,
    add,
    add_columns,
    dot,
    dots,
    fetch_ahead,
    norm_above,
    refresh,
    refresh_columns,
    row,
    sort_row,
    squared_norm,
)

__all__ = ["ON_ZERO", "Settings", "State", "many_classes", "pack", "two_classes"]

# Why a pass came back.
DONE, BAD_VALUE, LOG_FULL, RUN_REACHED, OUT_OF_SCALE = range(5)

# The places in `State.counts` and `State.sums`.
POSITION, EXAMPLES, MISTAKES, UPDATES, RUN, GOAL, LOGGED = range(7)
LOSS, STEPS, SHIFT, AGE, REACH = range(5)

UPDATE, POSITIVE, KEEP = range(3)
ON_ZERO = {"update": UPDATE, "positive": POSITIVE, "keep": KEEP}

TINY = 5e-324
SMALL, LARGE = 1e-200, 1e200  # linked weights beyond these are scaled by the model before they overflow or vanish
ONE = (np.ones(1),)  # the bias feature, as a row


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
def out_of_scale(top: Any, link: Any, shift: Any) -> Any:
    """Whether linked weights are about to overflow or to vanish; those of a balanced pair may be 0 for good reason."""
    return top > LARGE or (top < SMALL and (link == EXP or shift != 0.0))


@njit(**NOGIL)
def next_goal(goal: Any, run: Any) -> Any:
    """The goal after a run of right answers has ended: one that passed it has set a new one."""
    return run + 1 if 0 < goal <= run else goal


@njit(**LOOP)
def two_classes(rule: Any, state: Any, settings: Any, X: Any, y: Any, weight: Any, order: Any) -> Any:
    """One weight vector; y holds 0 for the negative class and 1 for the positive one."""
    w, v, u, counts, sums = state.w, state.v, state.u, state.counts, state.sums
    # Counted in registers: each would cost a load and a store per example.
    age, loss, score = sums[AGE], sums[LOSS], state.scores[0]
    examples, mistakes, run, goal = counts[EXAMPLES], counts[MISTAKES], counts[RUN], counts[GOAL]
    result = DONE
    t = counts[POSITION]
    while t < order.size:
        if state.log_rows.size > 0 and counts[LOGGED] == state.log_rows.size:
            result = LOG_FULL
            break
        i = order[t]
        x = row(X, i)
        fetch_ahead(X, order, t)
        score = np.float64(dot(w, x)) + state.bias[0]
        if not math.isfinite(score):
            result = BAD_VALUE
            break
        importance = weight[i] if weight.size > 0 else 1.0
        if importance == 0.0:
            t += 1
            continue
        sign = 1.0 if y[i] == 1 else -1.0
        margin = settle_tie(sign * score, y[i] == 1, settings.on_zero)

        tau = 0.0
        norm = 0.0
        if margin <= settings.target:
            if settings.needs_norm:
                norm = squared_norm(x) + settings.bias
            tau = number_of(rule, margin, norm) * importance
            if tau != 0.0:
                if not settings.needs_norm:
                    norm = norm_above(x, sums[REACH] - settings.bias) + settings.bias
                if norm == 0.0:
                    tau = 0.0  # an example of zeros cannot move anything
                elif not (tau > 0.0 and tau * tau * norm < math.inf):
                    result = BAD_VALUE
                    break
        examples += 1
        loss += importance * max(0.0, (settings.target if settings.target < math.inf else 0.0) - margin)
        if margin <= 0.0:
            mistakes += 1
        t += 1
        if tau == 0.0:
            age += importance
            run += 1
            if run == goal:
                result = RUN_REACHED
                break
            continue

        amount = sign * tau
        add(v, amount, x)
        state.v_bias[0] += amount * settings.bias
        if u.size > 0:
            add(u, age * amount, x)
            state.u_bias[0] += age * amount * settings.bias
        if settings.link != IDENTITY:
            top = refresh(w, v, x, settings.link, sums[SHIFT])
            if settings.bias != 0.0:
                top = max(top, refresh(state.bias, state.v_bias, ONE, settings.link, sums[SHIFT]))
            if out_of_scale(top, settings.link, sums[SHIFT]):
                result = OUT_OF_SCALE
        if state.log_rows.size > 0:
            entry = counts[LOGGED]
            state.log_rows[entry] = i
            state.log_ages[entry] = age
            state.log_steps[entry, 0] = amount
            counts[LOGGED] += 1
        age += importance
        goal = next_goal(goal, run)
        run = 0
        counts[UPDATES] += 1
        sums[STEPS] += tau
        sums[REACH] = max(sums[REACH], norm)
        if result == OUT_OF_SCALE:
            break
    sums[AGE], sums[LOSS], state.scores[0] = age, loss, score
    counts[EXAMPLES], counts[MISTAKES], counts[RUN], counts[GOAL] = examples, mistakes, run, goal
    counts[POSITION] = t
    return result


@njit(**LOOP)
def many_classes(rule: Any, state: Any, settings: Any, X: Any, y: Any, weight: Any, order: Any) -> Any:
    """One weight vector for each class; y holds the number of the class."""
    w, v, u, counts, sums, scores = state.w, state.v, state.u, state.counts, state.sums, state.scores
    tile, columns, amounts, lagged = state.tile, state.columns, state.amounts, state.lagged
    result = DONE
    t = counts[POSITION]
    while t < order.size and result == DONE:
        scored = dots(w, X, order, t, tile)
        for r in range(scored):
            if state.log_rows.size > 0 and counts[LOGGED] == state.log_rows.size:
                result = LOG_FULL
                break
            i = order[t]
            true = uint64(y[i])
            check = 0.0
            for k in range(uint64(scores.size)):
                scores[k] = np.float64(tile[r, k]) + state.bias[k]
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

            norm = 0.0
            moved = 0
            longest = 0.0
            loss = 0.0
            if settings.scheme == ONE_VS_REST:
                for k in range(uint64(scores.size)):
                    sign = 1.0 if k == true else -1.0
                    own = settle_tie(sign * scores[k], k == true, settings.on_zero)
                    loss += max(0.0, (settings.target if settings.target < math.inf else 0.0) - own)
                    if own <= settings.target:
                        if settings.needs_norm and norm == 0.0:
                            norm = squared_norm(x) + settings.bias
                        tau = number_of(rule, own, norm) * importance
                        if not settings.needs_norm and tau != 0.0 and norm == 0.0:
                            norm = norm_above(x, sums[REACH] - settings.bias) + settings.bias
                        if tau != 0.0 and norm != 0.0:
                            columns[moved] = k
                            amounts[moved] = sign * tau
                            moved += 1
                            longest = max(longest, tau) if tau >= 0.0 else math.inf
            else:
                loss = max(0.0, (settings.target if settings.target < math.inf else 0.0) - margin)
                if margin <= settings.target:
                    if settings.needs_norm:
                        norm = squared_norm(x) + settings.bias
                        moved = share(settings.scheme, scores, true, rival, columns, amounts)
                    tau = number_of(rule, margin, (1.0 - amounts[1]) * norm) * importance
                    if not settings.needs_norm and tau != 0.0:
                        norm = norm_above(x, sums[REACH] - settings.bias) + settings.bias
                        moved = share(settings.scheme, scores, true, rival, columns, amounts)
                    if tau == 0.0 or norm == 0.0:
                        moved = 0  # an example of zeros cannot move anything
                    else:
                        longest = tau if tau >= 0.0 else math.inf
                    for c in range(moved):
                        amounts[c] *= tau
            if not longest * longest * norm < math.inf:
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
                counts[RUN] += 1
                if counts[RUN] == counts[GOAL]:
                    result = RUN_REACHED
                    break
                continue

            add_columns(v, columns, amounts, moved, x)
            for c in range(moved):
                state.v_bias[columns[c]] += amounts[c] * settings.bias
            if u.size > 0:
                for c in range(moved):
                    lagged[c] = age * amounts[c]
                    state.u_bias[columns[c]] += lagged[c] * settings.bias
                add_columns(u, columns, lagged, moved, x)
            if settings.link != IDENTITY:
                top = refresh_columns(w, v, columns, moved, x, settings.link, sums[SHIFT])
                if settings.bias != 0.0:
                    for c in range(moved):
                        one = state.bias[columns[c] : columns[c] + 1]
                        top = max(
                            top,
                            refresh(one, state.v_bias[columns[c] : columns[c] + 1], ONE, settings.link, sums[SHIFT]),
                        )
                if out_of_scale(top, settings.link, sums[SHIFT]):
                    result = OUT_OF_SCALE
            if state.log_rows.size > 0:
                entry = counts[LOGGED]
                state.log_rows[entry] = i
                state.log_ages[entry] = age
                state.log_steps[entry, :] = 0.0
                for c in range(moved):
                    state.log_steps[entry, columns[c]] = amounts[c]
                counts[LOGGED] += 1
            counts[GOAL] = next_goal(counts[GOAL], counts[RUN])
            counts[RUN] = 0
            counts[UPDATES] += 1
            sums[STEPS] += longest
            sums[REACH] = max(sums[REACH], norm)
            break  # the weights have moved: score the next rows anew
    counts[POSITION] = t
    return result
