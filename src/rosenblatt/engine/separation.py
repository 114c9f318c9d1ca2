"""Loops of the separation problem: a perceptron run, and the algebra of Wolfe's algorithm.

All functions take the rows as a tuple (values, indices, starts, target, stacked): the examples as a CSR matrix, or as a dense
one with no indices, the class of each, and whether the classes are one stacked problem. Weights have one row per block. The
results are in floating point and therefore no proof; `rosenblatt.theory.exact` checks them.

A step of Wolfe's algorithm is three calls: `lowest`, `take_in` and `settle`.

The matrix A has one column per row z of the corral, with the constant σ on top. Only the factor R of AᵀA = RᵀR is kept. Each
solution is corrected once with A itself, which makes it nearly as accurate as that of a full QR, without its memory.
"""

import numpy as np
from numba import njit

from rosenblatt.engine.jit import NOGIL, compiled
from rosenblatt.engine.rows import dot


@njit(**NOGIL)
def _dot(values, indices, start, stop, block):
    """Inner product of an example and one block of weights."""
    if indices.size == 0:
        return dot(block, (values[start:stop],))
    return dot(block, (indices[start:stop], values[start:stop]))


@njit(**NOGIL)
def _add(values, indices, start, stop, factor, block):
    """Add a multiple of an example to one block of weights."""
    if indices.size == 0:
        row = values[start:stop]
        for k in range(row.size):
            block[k] += factor * row[k]
    else:
        for k in range(start, stop):
            block[indices[k]] += factor * values[k]


@compiled()
def perceptron(rows, epochs, w):
    """Run the perceptron from w of shape (blocks, width); return the mistakes of the last epoch."""
    values, indices, starts, target, stacked = rows
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


@compiled()
def lowest(rows, w):
    """The row z with the smallest ⟨z, w⟩, and that value."""
    values, indices, starts, target, stacked = rows
    blocks = w.shape[0]
    scores = np.empty(blocks)
    place, smallest = -1, np.inf
    for i in range(target.size):
        own = target[i]
        for c in range(blocks):
            scores[c] = _dot(values, indices, starts[i], starts[i + 1], w[c])
        for c in range(blocks):
            if stacked:
                if c == own:
                    continue
                score = scores[own] - scores[c]
            else:
                score = scores[c] if c == own else -scores[c]
            if score < smallest:
                place, smallest = i * blocks + c, score
    return place, smallest


@njit(**NOGIL)
def _products(rows, corral, size, w, out):
    """⟨z, w⟩ for the rows z of a corral."""
    values, indices, starts, target, stacked = rows
    for k in range(size):
        i, c = divmod(corral[k], w.shape[0])
        own = target[i]
        out[k] = 0.0
        for part in range(2 if stacked else 1):
            block = c if part == 0 else own
            sign = 1.0 if block == own else -1.0
            out[k] += sign * _dot(values, indices, starts[i], starts[i + 1], w[block])


@compiled()
def combine(rows, corral, size, weights, w):
    """Set w to the weighted sum of the rows of a corral."""
    values, indices, starts, target, stacked = rows
    w[:] = 0.0
    for k in range(size):
        i, c = divmod(corral[k], w.shape[0])
        own = target[i]
        for part in range(2 if stacked else 1):
            block = c if part == 0 else own
            sign = 1.0 if block == own else -1.0
            _add(values, indices, starts[i], starts[i + 1], sign * weights[k], w[block])


@njit(**NOGIL)
def _solve_transposed(factor, size, right):
    """Solve Rᵀy = right in place, R being upper triangular."""
    for i in range(size):
        right[i] /= factor[i, i]
        value = right[i]
        row, rest = factor[i, i + 1 : size], right[i + 1 : size]
        for j in range(row.size):
            rest[j] -= row[j] * value


@njit(**NOGIL)
def _solve(factor, size, right):
    """Solve Ry = right in place, R being upper triangular."""
    for k in range(size):
        i = size - 1 - k
        row, rest = factor[i, i + 1 : size], right[i + 1 : size]
        right[i] = (right[i] - dot(rest, (row,))) / factor[i, i]


@njit(**NOGIL)
def _drop_column(factor, size, position):
    """Update R after one column of the matrix is removed: shift, then rotate the subdiagonal to zero."""
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


@njit(**NOGIL)
def _subtract(w, other):
    """Subtract in place; return the squared length of the difference."""
    square = 0.0
    for c in range(w.shape[0]):
        line, its = w[c], other[c]
        for k in range(line.size):
            line[k] -= its[k]
        square += dot(line, (line,))
    return square


@compiled()
def take_in(rows, scale, corral, size, factor, work):
    """Extend R by the row corral[size]; return False if that row depends on the others up to rounding."""
    vector, part = work
    column, solved = np.zeros(size), np.empty(size)
    combine(rows, corral[size:], 1, np.ones(1), vector)
    part[:] = 0.0
    top = scale
    whole = _subtract(vector, part) + top * top
    remainder = 0.0
    for _ in range(2):
        _products(rows, corral, size, vector, solved)
        for k in range(size):
            solved[k] += scale * top
        _solve_transposed(factor, size, solved)
        for k in range(size):
            column[k] += solved[k]
        _solve(factor, size, solved)
        for k in range(size):
            top -= scale * solved[k]
        combine(rows, corral, size, solved, part)
        remainder = _subtract(vector, part) + top * top
        if remainder > 0.01 * whole:  # little cancellation, so little rounding error
            break
    if remainder <= 1e-26 * whole:
        return False
    for k in range(size):
        factor[k, size] = column[k]
        factor[size, k] = 0.0
    factor[size, size] = np.sqrt(remainder)
    return True


@compiled()
def settle(rows, scale, careful, nothing, corral, weights, size, factor, work, x):
    """Move x to the nearest point of the corral's affine hull, dropping rows until it is inside the convex hull.

    Return the new size of the corral. A weight of at most `nothing` counts as 0.
    """
    part = work[0]
    goal, solved = np.empty(size), np.empty(size)
    while size:
        # (σ²eeᵀ + G)u = e has the solution of the least-squares problem Au ≈ (1/σ, 0); u is then scaled to sum 1.
        for k in range(size):
            goal[k] = 1.0
        _solve_transposed(factor, size, goal)
        _solve(factor, size, goal)
        total, lowest = 0.0, goal[0]
        for k in range(size):
            total += goal[k]
            lowest = min(lowest, goal[k])
        if careful and lowest > -1e-3 * total:
            combine(rows, corral, size, goal, part)
            _products(rows, corral, size, part, solved)
            top = 1.0 - scale * scale * total
            for k in range(size):
                solved[k] = top - solved[k]
            _solve_transposed(factor, size, solved)
            _solve(factor, size, solved)
            total = 0.0
            for k in range(size):
                goal[k] += solved[k]
                total += goal[k]
        # Move towards it until the first weight reaches 0; rows without weight are dropped.
        step, nearest = np.inf, -1
        for k in range(size):
            goal[k] /= total
            if goal[k] <= nothing:
                share = weights[k] / max(weights[k] - goal[k], 1e-300)
                if share < step:
                    step, nearest = share, k
        if nearest < 0:
            for k in range(size):
                weights[k] = goal[k]
            break
        step = min(step, 1.0)
        for k in range(size):
            weights[k] += step * (goal[k] - weights[k])
        weights[nearest] = 0.0
        total = 0.0
        for back in range(size):
            position = size - 1 - back
            if goal[position] <= nothing and weights[position] <= nothing:
                _drop_column(factor, size, position)
                for k in range(position, size - 1):
                    corral[k], weights[k], goal[k] = corral[k + 1], weights[k + 1], goal[k + 1]
                size -= 1
        for k in range(size):
            total += weights[k]
        for k in range(size):
            weights[k] /= total
    combine(rows, corral, size, weights, x)
    return size
