"""Compiled loops of the separation problem: a perceptron run, and the algebra of Wolfe's algorithm.

All take the examples as (values, indices, starts): a CSR matrix, or a dense one with no indices. Weights are one
flat vector of blocks. Answers are in floating point and prove nothing by themselves; `exact` checks them.

Wolfe's algorithm itself is written in Python over these: compiled as one function it took twenty seconds to compile and
ran hardly faster.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["combine", "drop_column", "perceptron", "project", "solve_ones"]

# Sums may be reordered for speed: whatever comes out is checked exactly afterwards.
_FAST = {"reassoc", "contract", "nsz", "arcp"}


@njit(nogil=True, cache=True, fastmath=_FAST)
def _dot(values, indices, start, stop, block):  # type: ignore[no-untyped-def]
    """Example · one block of weights."""
    total = 0.0
    if indices.size == 0:
        row = values[start:stop]
        for k in range(row.size):
            total += row[k] * block[k]
    else:
        for k in range(start, stop):
            total += values[k] * block[indices[k]]
    return total


@njit(nogil=True, cache=True, fastmath=_FAST)
def _add(values, indices, start, stop, factor, block):  # type: ignore[no-untyped-def]
    """One block of weights += factor · example."""
    if indices.size == 0:
        row = values[start:stop]
        for k in range(row.size):
            block[k] += factor * row[k]
    else:
        for k in range(start, stop):
            block[indices[k]] += factor * values[k]


@njit(nogil=True, cache=True)
def perceptron(values, indices, starts, target, stacked, epochs, w):  # type: ignore[no-untyped-def]
    """Run the perceptron from w of shape (blocks, width); return the mistakes of the last epoch."""
    blocks = w.shape[0]
    scores = np.empty(blocks)
    steps = np.empty(blocks)
    mistakes = 0
    for _ in range(epochs):
        mistakes = 0
        for i in range(target.size):
            start, stop, own = starts[i], starts[i + 1], target[i]
            rival = -1
            for c in range(blocks):
                scores[c] = _dot(values, indices, start, stop, w[c])
                steps[c] = 0.0
                if c != own and (rival < 0 or scores[c] > scores[rival]):
                    rival = c
            if stacked:
                if scores[own] <= scores[rival]:
                    steps[own], steps[rival] = 1.0, -1.0
                    mistakes += 1
            else:
                for c in range(blocks):
                    sign = 1.0 if c == own else -1.0
                    if sign * scores[c] <= 0.0:
                        steps[c] = sign
                        mistakes += 1
            for c in range(blocks):
                if steps[c] != 0.0:
                    _add(values, indices, start, stop, steps[c], w[c])
        if mistakes == 0:
            break
    return mistakes


@njit(nogil=True, cache=True)
def _products(values, indices, starts, target, stacked, corral, w, out):  # type: ignore[no-untyped-def]
    """⟨z, w⟩ for the rows z of a corral."""
    blocks = w.shape[0]
    for k in range(corral.size):
        i, c = corral[k] // blocks, corral[k] % blocks
        own = target[i]
        total = 0.0
        for part in range(2 if stacked else 1):
            block = c if part == 0 else own
            sign = 1.0 if block == own else -1.0
            total += sign * _dot(values, indices, starts[i], starts[i + 1], w[block])
        out[k] = total


@njit(nogil=True, cache=True)
def combine(values, indices, starts, target, stacked, corral, weights, w):  # type: ignore[no-untyped-def]
    """Make w the combination of the rows of a corral."""
    blocks = w.shape[0]
    w[:] = 0.0
    for k in range(corral.size):
        i, c = corral[k] // blocks, corral[k] % blocks
        own = target[i]
        for part in range(2 if stacked else 1):
            block = c if part == 0 else own
            sign = 1.0 if block == own else -1.0
            _add(values, indices, starts[i], starts[i + 1], sign * weights[k], w[block])


@njit(nogil=True, cache=True, fastmath=_FAST)
def _solve_transposed(factor, right):  # type: ignore[no-untyped-def]
    """Solve Rᵀy = right in place, R being upper triangular."""
    for i in range(right.size):
        right[i] /= factor[i, i]
        value = right[i]
        row, rest = factor[i, i + 1 : right.size], right[i + 1 :]
        for j in range(row.size):
            rest[j] -= row[j] * value


@njit(nogil=True, cache=True, fastmath=_FAST)
def _solve(factor, right):  # type: ignore[no-untyped-def]
    """Solve Ry = right in place, R being upper triangular."""
    for k in range(right.size):
        i = right.size - 1 - k
        row, rest = factor[i, i + 1 : right.size], right[i + 1 :]
        total = right[i]
        for j in range(row.size):
            total -= row[j] * rest[j]
        right[i] = total / factor[i, i]


@njit(nogil=True, cache=True, fastmath=_FAST)
def drop_column(factor, size, position):  # type: ignore[no-untyped-def]
    """Make R the factor of the matrix without one column: shift, then rotate the subdiagonal away."""
    for i in range(size):
        for j in range(position, size - 1):
            factor[i, j] = factor[i, j + 1]
    for i in range(position, size - 1):
        a, b = factor[i, i], factor[i + 1, i]
        length = np.hypot(a, b)
        cosine, sine = a / length, b / length
        for j in range(i, size - 1):
            upper, lower = factor[i, j], factor[i + 1, j]
            factor[i, j] = cosine * upper + sine * lower
            factor[i + 1, j] = cosine * lower - sine * upper


@njit(nogil=True, cache=True)
def project(  # type: ignore[no-untyped-def]
    values, indices, starts, target, stacked, corral, w, factor, sigma, top
):
    """R⁻ᵀAᵀ(top, w), and R⁻¹ times that; A has the corral's rows for columns, with σ on top."""
    middle = np.empty(corral.size)
    _products(values, indices, starts, target, stacked, corral, w, middle)
    for k in range(middle.size):
        middle[k] += sigma * top
    _solve_transposed(factor, middle)
    coefficients = middle.copy()
    _solve(factor, coefficients)
    return middle, coefficients


@njit(nogil=True, cache=True)
def solve_ones(factor, size):  # type: ignore[no-untyped-def]
    """Solve RᵀRy = (1, …, 1)."""
    y = np.ones(size)
    _solve_transposed(factor, y)
    _solve(factor, y)
    return y
