"""Second-order rules with a variance for every weight: weights with a small variance change less.

A step function returns two numbers for an example, ``alpha, beta = step(margin, variance, …)``, and the update is

    w = w + alpha y Σx        Σ = Σ - beta Σx (Σx)ᵀ

where `variance` is xᵀΣx. Σ is a diagonal, at the cost of a first-order rule, or a full matrix, at the cost of d² per update.
With many classes every class has its own Σ: a block of the Σ of the stacked weights of Kesler's construction. The number of
dimensions of the array Σ selects the code: 1 for the diagonal of one weight vector, 2 for those of several, 3 for full matrices.
"""

import math
from typing import Any

import numpy as np
from numba import njit, uint64

from .codegen import pair_of
from .jit import NOGIL, VERB, verb
from .multiclass import share
from .rows import is_dense, norm_above, unsigned
from .simd import add_to_slot, load, load_first, multiply_add, slots, slots_total, total, widen, zeros
from .state import DONE, REFUSED

_WIDE = np.zeros(0)


def dimensions(variances: Any) -> int:
    """The number of dimensions of the array Σ; takes the named tuple and its Numba type."""
    if hasattr(variances, "fields"):
        return int(variances.types[variances.fields.index("sigma")].ndim)
    return int(variances.sigma.ndim)


@njit(**VERB)
def verdict(alpha: Any, beta: Any, variance: Any, norm: Any, moved: Any) -> Any:
    """The number of vectors to update by alpha and beta."""
    if not (norm < math.inf and alpha * alpha * variance < math.inf and 0.0 <= beta < math.inf):
        return REFUSED
    return 0 if alpha == 0.0 and beta == 0.0 else moved


def decide(
    rule: Any, state: Any, settings: Any, k: Any, x: Any, norm: Any, margin: Any, product: Any, importance: Any
) -> Any:
    """Call the rule for weight vector k; see `loop.decide`."""
    weights, variances = state.weights, state.variances
    alpha, beta = 0.0, 0.0
    variance = variance_along(variances, k, x, settings.bias)
    if variance > 0.0:  # else nothing can change
        alpha, beta = pair_of(rule, margin, variance, importance, 0.0, 0.0)
        if norm == 0.0 and (alpha != 0.0 or beta != 0.0):
            norm = norm_above(x, weights.tally[0].reach - settings.bias) + settings.bias
    return alpha, beta, norm, verdict(alpha, beta, variance, norm, 1)


def decide_together(
    rule: Any, state: Any, settings: Any, x: Any, true: Any, rival: Any, margin: Any, importance: Any
) -> Any:
    """Call the rule for the lead of the true class over its rivals; see `loop.decide_together`."""
    weights, variances = state.weights, state.variances
    columns, amounts = weights.columns, weights.amounts
    alpha, beta, norm, variance = 0.0, 0.0, 0.0, 0.0
    moved = share(settings.scheme, weights.scores, true, rival, columns, amounts)
    for c in range(moved):
        own = variance_along(variances, uint64(columns[c]), x, settings.bias)
        variance += amounts[c] * amounts[c] * own
    if variance > 0.0:
        alpha, beta = pair_of(rule, margin, variance, importance, 0.0, 0.0)
        if alpha != 0.0 or beta != 0.0:
            norm = norm_above(x, weights.tally[0].reach - settings.bias) + settings.bias
    for c in range(moved):
        weights.lagged[c] = amounts[c] * amounts[c] * beta
        amounts[c] *= alpha
    return abs(alpha), norm, verdict(alpha, beta, variance, norm, moved)


def move(
    state: Any, settings: Any, x: Any, norm: Any, age: Any, sign: Any, product: Any, first: Any, second: Any
) -> Any:
    """Update the only weight vector; see `loop.move`."""
    nudge_vector(state.weights, state.variances, 0, sign * first, second, age, x, settings.bias)
    return DONE


def move_columns(state: Any, settings: Any, x: Any, norm: Any, age: Any, moved: Any) -> Any:
    """Update several weight vectors; see `loop.move_columns`."""
    weights, variances = state.weights, state.variances
    for c in range(moved):
        k = uint64(weights.columns[c])
        nudge_vector(weights, variances, k, weights.amounts[c], weights.lagged[c], age, x, settings.bias)
    return DONE


@verb(**VERB)
def weighted_norm(sigma: Any, x: Any) -> Any:
    """Σ sigma_j x_j² in float64, in eight lanes."""

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

    return dense if is_dense(x) else sparse


@verb(**NOGIL)
def weighted_norm_column(sigma: Any, k: Any, x: Any) -> Any:
    """The same for column k of a matrix, from the first feature to the last."""

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

    return dense if is_dense(x) else sparse


@njit(forceinline=True, **NOGIL)
def shrunk(sigma: Any, shrink: Any, along: Any) -> Any:
    """A variance after an update; rounding must not make it negative."""
    return max(0.0, sigma - shrink * (along * along))


@verb(**VERB)
def nudge(w: Any, u: Any, sigma: Any, amount: Any, lagged: Any, shrink: Any, x: Any) -> Any:
    """w += amount sigma x, and sigma -= shrink (sigma x)², by feature; u like w, with `lagged`, if there is a u."""

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

    return dense if is_dense(x) else sparse


@verb(**NOGIL)
def nudge_column(w: Any, u: Any, sigma: Any, k: Any, amount: Any, lagged: Any, shrink: Any, x: Any) -> Any:
    """The same for column k of matrices."""

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

    return dense if is_dense(x) else sparse


@verb(**NOGIL)
def write_row(z: Any, x: Any) -> Any:
    """z[j + 1] = x_j, and 0 for all other features."""

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

    return dense if is_dense(x) else sparse


@njit(**NOGIL)
def image(sigma: Any, z: Any, along: Any) -> Any:
    """along = Σz, by rows of the symmetric Σ; return zᵀΣz."""
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


@verb(**VERB)
def variance_along(variances: Any, k: Any, x: Any, bias: Any) -> Any:
    """xᵀΣx for weight vector k; for full matrices Σx is stored in the scratch space."""

    def vector(variances: Any, k: Any, x: Any, bias: Any) -> Any:
        return weighted_norm(variances.sigma, x) + variances.sigma_bias[k] * bias

    def columns(variances: Any, k: Any, x: Any, bias: Any) -> Any:
        return weighted_norm_column(variances.sigma, k, x) + variances.sigma_bias[k] * bias

    def matrices(variances: Any, k: Any, x: Any, bias: Any) -> Any:
        z = variances.scratch[variances.sigma.shape[0]]
        write_row(z, x)
        z[0] = bias
        return image(variances.sigma[k], z, variances.scratch[k])

    return {1: vector, 2: columns, 3: matrices}[dimensions(variances)]


@njit(**NOGIL)
def move_bias(state: Any, variances: Any, k: Any, amount: Any, shrink: Any, age: Any, bias: Any) -> None:
    """The same for the bias, whose feature is 1 (0 without a bias)."""
    along = variances.sigma_bias[k] * bias
    state.v_bias[k] += amount * along
    state.u_bias[k] += age * amount * along
    variances.sigma_bias[k] = shrunk(variances.sigma_bias[k], shrink, along)


@verb(**VERB)
def nudge_vector(state: Any, variances: Any, k: Any, amount: Any, shrink: Any, age: Any, x: Any, bias: Any) -> Any:
    """w_k += amount Σx, then Σ -= shrink Σx (Σx)ᵀ; call it after `variance_along` of the same example."""

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

    return {1: vector, 2: columns, 3: matrices}[dimensions(variances)]


@verb(**NOGIL)
def add_vector(w: Any, bias: Any, k: Any, amount: Any, along: Any) -> Any:
    """w_k += amount along, whose first entry is that of the bias."""

    def vector(w: Any, bias: Any, k: Any, amount: Any, along: Any) -> Any:
        bias[k] += amount * along[0]
        for j in range(uint64(w.size)):
            w[j] += amount * along[j + uint64(1)]

    def column(w: Any, bias: Any, k: Any, amount: Any, along: Any) -> Any:
        bias[k] += amount * along[0]
        for j in range(uint64(w.shape[0])):
            w[j, k] += amount * along[j + uint64(1)]

    return vector if w.ndim == 1 else column
