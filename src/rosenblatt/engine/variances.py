"""The verbs over Σ, the variances of the weights: xᵀΣx, and w and Σ after an update.

Each is there once for the diagonal of one weight vector, once for those of several, and once for whole matrices.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit, uint64
from numba.extending import overload
from numpy.typing import NDArray

from .csr import unsigned
from .jit import NOGIL, VERB
from .simd import add_to_slot, load, load_first, multiply_add, slots, slots_total, total, widen, zeros

__all__ = ["Variances", "nudge_vector", "variance_along"]

_WIDE = np.zeros(0)


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


def nudge_vector(state: Any, variances: Any, k: Any, amount: Any, shrink: Any, age: Any, x: Any, bias: Any) -> Any:
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


@overload(variance_along, jit_options=VERB)
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


@overload(nudge_vector, jit_options=VERB)
def _nudge_vector(state: Any, variances: Any, k: Any, amount: Any, shrink: Any, age: Any, x: Any, bias: Any) -> Any:
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
