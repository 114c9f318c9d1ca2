"""The online protocol for rules that keep a variance for every weight: the surer of a weight, the less it moves.

A step function says two things about an example, ``alpha, beta = step(margin, variance, …)``, and the protocol does

    w = w + alpha y Σx        Σ = Σ - beta Σx (Σx)ᵀ

where `variance` is xᵀΣx. Σ is a diagonal, at the cost of a first-order rule, or a whole matrix, at the cost of d² per update.
With many classes every class has a Σ of its own: the stacked weights of Kesler's construction, their Σ in blocks. Which of the
two it is, is a matter of types, so that each gets machine code of its own from the same loops.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import carray, njit, uint64
from numba.extending import overload
from numpy.typing import NDArray

from .lanes import add_to_slot, load, load_first, multiply_add, pointer, slots, slots_total, total, widen, zeros
from .multiclass import ONE_VS_REST, share, top_rival
from .protocol import (
    AGE,
    BAD_VALUE,
    DONE,
    EXAMPLES,
    GOAL,
    LOSS,
    MISTAKES,
    ORDER,
    POSITION,
    REACH,
    RUN,
    RUN_REACHED,
    STEPS,
    UPDATES,
    floats,
    next_goal,
    settle_tie,
    unpack,
    weights_like,
)
from .rows import NOGIL, VERB, dot, dots, fetch_ahead, norm_above, row, unsigned

__all__ = ["Variances", "many_classes", "two_classes", "unpack_diagonal", "unpack_full"]

_WIDE = np.zeros(0)

FIRST_EXTRA = ORDER + 1
"""Where the arrays of `Variances` stand among the packed ones: after those that every rule has."""


class Variances(NamedTuple):
    """What a second-order rule keeps besides its weights.

    Attributes
    ----------
    sigma
        The diagonal of Σ in the shape of the weights; or whole matrices (vectors, features + 1, features + 1), the bias first.
    bias
        The variances of the biases, for a diagonal.
    scratch
        Room for Σx of each vector and for x, for whole matrices.
    """

    sigma: NDArray[np.float64]
    bias: NDArray[np.float64]
    scratch: NDArray[np.float64]


@njit(**NOGIL)
def unpack_diagonal(packed: Any, w: Any) -> Any:
    """The arrays of a run with a diagonal Σ."""
    params, state, settings = unpack(packed, w)
    scratch = carray(pointer(packed[FIRST_EXTRA + 2, 0]), (0, 0), np.float64)
    sigma = weights_like(packed[FIRST_EXTRA], w, np.float64)
    return params, (state, Variances(sigma, floats(packed[FIRST_EXTRA + 1]), scratch)), settings


@njit(**NOGIL)
def unpack_full(packed: Any, w: Any) -> Any:
    """The arrays of a run with whole matrices Σ."""
    params, state, settings = unpack(packed, w)
    size = packed[FIRST_EXTRA, 2]
    vectors = packed[FIRST_EXTRA, 1] // size
    sigma = carray(pointer(packed[FIRST_EXTRA, 0]), (vectors, size, size), np.float64)
    scratch = carray(pointer(packed[FIRST_EXTRA + 2, 0]), (vectors + 1, size), np.float64)
    return params, (state, Variances(sigma, floats(packed[FIRST_EXTRA + 1]), scratch)), settings


# ---- verbs ----


def weighted_norm(sigma: Any, x: Any) -> Any:
    """Σ sigma_j x_j² in float64, in eight lanes."""


def weighted_norm_column(sigma: Any, k: Any, x: Any) -> Any:
    """The same for column k of a matrix, from the first feature to the last."""


def nudge(w: Any, u: Any, sigma: Any, amount: Any, lagged: Any, shrink: Any, x: Any) -> Any:
    """w += amount sigma x, and sigma -= shrink (sigma x)², feature by feature; u as w, by `lagged`, where there is one."""


def nudge_column(w: Any, u: Any, sigma: Any, k: Any, amount: Any, lagged: Any, shrink: Any, x: Any) -> Any:
    """The same for column k of matrices."""


def write_row(z: Any, x: Any) -> Any:
    """z[j + 1] = x_j, and 0 for all other features."""


def variance_along(variances: Any, k: Any, x: Any, bias: Any) -> Any:
    """xᵀΣx for weight vector k; whole matrices leave Σx in the scratch space."""


def move(state: Any, variances: Any, k: Any, amount: Any, shrink: Any, age: Any, x: Any, bias: Any) -> Any:
    """w_k += amount Σx, then Σ -= shrink Σx (Σx)ᵀ; comes after `variance_along` of the same example."""


@overload(weighted_norm, jit_options=VERB)
def _weighted_norm(sigma: Any, x: Any) -> Any:
    def dense(sigma: Any, x: Any) -> Any:
        (values,) = x
        size = uint64(values.size)
        whole = size & ~uint64(7)
        sums = zeros(sigma, 8)
        for j in range(uint64(0), whole, uint64(8)):
            lanes = widen(load(values, j, 8))
            scaled = multiply_add(zeros(sigma, 8), load(sigma, j, 8), lanes)
            sums = multiply_add(sums, scaled, lanes)
        if whole < size:
            rest = size - whole
            lanes = widen(load_first(values, whole, rest, 8))
            scaled = multiply_add(zeros(sigma, 8), load_first(sigma, whole, rest, 8), lanes)
            sums = multiply_add(sums, scaled, lanes)
        return total(sums)

    def sparse(sigma: Any, x: Any) -> Any:
        indices, values = x
        sums = slots(_WIDE)
        for e in range(uint64(values.size)):
            j = unsigned(indices[e])
            value = np.float64(values[e])
            add_to_slot(sums, j, sigma[j] * value * value)
        return slots_total(sums)

    return dense if len(x) == 1 else sparse


@overload(weighted_norm_column, jit_options=NOGIL)
def _weighted_norm_column(sigma: Any, k: Any, x: Any) -> Any:
    def dense(sigma: Any, k: Any, x: Any) -> Any:
        (values,) = x
        result = 0.0
        for j in range(uint64(values.size)):
            value = np.float64(values[j])
            result += sigma[j, k] * value * value
        return result

    def sparse(sigma: Any, k: Any, x: Any) -> Any:
        indices, values = x
        result = 0.0
        for e in range(uint64(values.size)):
            value = np.float64(values[e])
            result += sigma[unsigned(indices[e]), k] * value * value
        return result

    return dense if len(x) == 1 else sparse


@njit(forceinline=True, **NOGIL)
def shrunk(sigma: Any, shrink: Any, along: Any) -> Any:
    """A variance after an update; rounding must not make it negative."""
    return max(0.0, sigma - shrink * (along * along))


@overload(nudge, jit_options=VERB)
def _nudge(w: Any, u: Any, sigma: Any, amount: Any, lagged: Any, shrink: Any, x: Any) -> Any:
    def dense(w: Any, u: Any, sigma: Any, amount: Any, lagged: Any, shrink: Any, x: Any) -> Any:
        (values,) = x
        if u.size > 0:
            for j in range(uint64(values.size)):
                u[j] += lagged * (sigma[j] * values[j])
        for j in range(uint64(values.size)):
            along = sigma[j] * values[j]
            w[j] += amount * along
            sigma[j] = shrunk(sigma[j], shrink, along)

    def sparse(w: Any, u: Any, sigma: Any, amount: Any, lagged: Any, shrink: Any, x: Any) -> Any:
        indices, values = x
        if u.size > 0:
            for e in range(uint64(values.size)):
                j = unsigned(indices[e])
                u[j] += lagged * (sigma[j] * values[e])
        for e in range(uint64(values.size)):
            j = unsigned(indices[e])
            along = sigma[j] * values[e]
            w[j] += amount * along
            sigma[j] = shrunk(sigma[j], shrink, along)

    return dense if len(x) == 1 else sparse


@overload(nudge_column, jit_options=NOGIL)
def _nudge_column(w: Any, u: Any, sigma: Any, k: Any, amount: Any, lagged: Any, shrink: Any, x: Any) -> Any:
    def dense(w: Any, u: Any, sigma: Any, k: Any, amount: Any, lagged: Any, shrink: Any, x: Any) -> Any:
        (values,) = x
        for j in range(uint64(values.size)):
            if values[j] != 0:  # adding 0 would change the sign of a negative zero
                along = sigma[j, k] * values[j]
                if u.size > 0:
                    u[j, k] += lagged * along
                w[j, k] += amount * along
                sigma[j, k] = shrunk(sigma[j, k], shrink, along)

    def sparse(w: Any, u: Any, sigma: Any, k: Any, amount: Any, lagged: Any, shrink: Any, x: Any) -> Any:
        indices, values = x
        for e in range(uint64(values.size)):
            if values[e] != 0:
                j = unsigned(indices[e])
                along = sigma[j, k] * values[e]
                if u.size > 0:
                    u[j, k] += lagged * along
                w[j, k] += amount * along
                sigma[j, k] = shrunk(sigma[j, k], shrink, along)

    return dense if len(x) == 1 else sparse


@overload(write_row, jit_options=NOGIL)
def _write_row(z: Any, x: Any) -> Any:
    def dense(z: Any, x: Any) -> Any:
        (values,) = x
        for j in range(uint64(values.size)):
            z[j + uint64(1)] = values[j]
        for j in range(uint64(values.size + 1), uint64(z.size)):
            z[j] = 0.0

    def sparse(z: Any, x: Any) -> Any:
        indices, values = x
        z[:] = 0.0
        for e in range(uint64(values.size)):
            z[unsigned(indices[e]) + uint64(1)] = values[e]

    return dense if len(x) == 1 else sparse


@njit(**NOGIL)
def image(sigma: Any, z: Any, along: Any) -> Any:
    """along = Σz, row by row of Σ, which is symmetric; gives zᵀΣz."""
    along[:] = 0.0
    for j in range(uint64(z.size)):
        if z[j] != 0.0:
            value, line = z[j], sigma[j]
            for i in range(uint64(z.size)):
                along[i] += value * line[i]
    result = 0.0
    for j in range(uint64(z.size)):
        result += along[j] * z[j]
    return result


@njit(**NOGIL)
def take_off(sigma: Any, shrink: Any, along: Any) -> None:
    """Σ -= shrink along alongᵀ, rounded so that Σ stays symmetric."""
    for i in range(uint64(along.size)):
        value, line = along[i], sigma[i]
        if value != 0.0:
            for j in range(uint64(along.size)):
                line[j] -= shrink * (value * along[j])


def _dimensions(variances: Any) -> int:
    """Of Σ: 1 for the diagonal of one weight vector, 2 for those of several, 3 for whole matrices."""
    return int(variances.types[variances.fields.index("sigma")].ndim)


@overload(variance_along, inline="always")
def _variance_along(variances: Any, k: Any, x: Any, bias: Any) -> Any:
    def vector(variances: Any, k: Any, x: Any, bias: Any) -> Any:
        return weighted_norm(variances.sigma, x) + variances.bias[k] * bias

    def columns(variances: Any, k: Any, x: Any, bias: Any) -> Any:
        return weighted_norm_column(variances.sigma, k, x) + variances.bias[k] * bias

    def matrices(variances: Any, k: Any, x: Any, bias: Any) -> Any:
        z = variances.scratch[variances.sigma.shape[0]]
        write_row(z, x)
        z[0] = bias
        return image(variances.sigma[k], z, variances.scratch[k])

    return {1: vector, 2: columns, 3: matrices}[_dimensions(variances)]


@njit(**NOGIL)
def move_bias(state: Any, variances: Any, k: Any, amount: Any, shrink: Any, age: Any, bias: Any) -> None:
    """The same for the bias, whose feature is 1 (0 without a bias)."""
    along = variances.bias[k] * bias
    state.v_bias[k] += amount * along
    state.u_bias[k] += age * amount * along
    variances.bias[k] = shrunk(variances.bias[k], shrink, along)


@overload(move, inline="always")
def _move(state: Any, variances: Any, k: Any, amount: Any, shrink: Any, age: Any, x: Any, bias: Any) -> Any:
    def vector(state: Any, variances: Any, k: Any, amount: Any, shrink: Any, age: Any, x: Any, bias: Any) -> Any:
        nudge(state.w, state.u, variances.sigma, amount, age * amount, shrink, x)
        move_bias(state, variances, k, amount, shrink, age, bias)

    def columns(state: Any, variances: Any, k: Any, amount: Any, shrink: Any, age: Any, x: Any, bias: Any) -> Any:
        nudge_column(state.w, state.u, variances.sigma, k, amount, age * amount, shrink, x)
        move_bias(state, variances, k, amount, shrink, age, bias)

    def matrices(state: Any, variances: Any, k: Any, amount: Any, shrink: Any, age: Any, x: Any, bias: Any) -> Any:
        along = variances.scratch[k]
        add_vector(state.w, state.v_bias, k, amount, along)
        if state.u.size > 0:
            add_vector(state.u, state.u_bias, k, age * amount, along)
        take_off(variances.sigma[k], shrink, along)

    return {1: vector, 2: columns, 3: matrices}[_dimensions(variances)]


def add_vector(w: Any, bias: Any, k: Any, amount: Any, along: Any) -> Any:
    """w_k += amount along, whose first number is the bias's."""


@overload(add_vector, jit_options=NOGIL)
def _add_vector(w: Any, bias: Any, k: Any, amount: Any, along: Any) -> Any:
    def vector(w: Any, bias: Any, k: Any, amount: Any, along: Any) -> Any:
        bias[k] += amount * along[0]
        for j in range(uint64(w.size)):
            w[j] += amount * along[j + uint64(1)]

    def column(w: Any, bias: Any, k: Any, amount: Any, along: Any) -> Any:
        bias[k] += amount * along[0]
        for j in range(uint64(w.shape[0])):
            w[j, k] += amount * along[j + uint64(1)]

    return vector if w.ndim == 1 else column


# ---- loops ----


@njit(inline="always")
def two_classes(
    rule: Any, needs_norm: Any, params: Any, state: Any, settings: Any, X: Any, y: Any, weight: Any, order: Any
) -> Any:
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
                alpha, beta = rule(margin, variance, importance, params)
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


@njit(inline="always")
def many_classes(
    rule: Any, needs_norm: Any, params: Any, state: Any, settings: Any, X: Any, y: Any, weight: Any, order: Any
) -> Any:
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
                            alpha, beta = rule(own, variance, importance, params)
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
                        alpha, beta = rule(margin, variance, importance, params)
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
