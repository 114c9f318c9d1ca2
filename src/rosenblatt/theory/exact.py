"""Exact arithmetic on floats: every finite float is an integer times a power of two.

Nothing here rounds. Weights and combinations are integers up to a positive factor, which changes neither the sign of an
inner product nor whether a combination is 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rosenblatt.theory.problem import Floats, Integers, Matrix, Problem, read_examples

CHUNK = 1 << 20  # numbers converted to integers at a time
_PRIME = 2**61 - 1


def integers(values: Floats, exponents: Any = 0) -> tuple[NDArray[Any], int]:
    """Write values · 2**exponents as integers times one power of two.

    Parameters
    ----------
    values : ndarray
        Finite floats.
    exponents : int or ndarray, default=0
        Exponents to apply first, broadcast against `values`.

    Returns
    -------
    whole : ndarray of int64, or of Python integers if they do not fit
    exponent : int
        ``values * 2**exponents == whole * 2**exponent`` holds exactly.
    """
    fraction, power = np.frexp(values)
    mantissa = np.asarray(fraction * 2.0**53).astype(np.int64)
    zeros = np.frexp((mantissa & -mantissa).astype(np.float64))[1].astype(np.int64) - 1
    used = mantissa != 0
    if not used.any():
        return np.zeros(values.shape, np.int64), 0
    zeros[~used] = 0
    low = np.asarray(power + exponents - 53).astype(np.int64) + zeros
    lowest = int(low[used].min())
    shift = np.where(used, low - lowest, 0)
    mantissa >>= zeros
    if int((shift + 53 - zeros)[used].max()) <= 62:
        return mantissa << shift, lowest
    return mantissa.astype(object) << shift.astype(object), lowest


def to_integers(values: Floats, exponents: Any = 0) -> tuple[int, ...]:
    """Integers in the same proportions as values · 2**exponents."""
    return tuple(int(v) for v in integers(np.asarray(values, dtype=np.float64), exponents)[0].tolist())


def to_floats(whole: Sequence[int], exponents: Sequence[int] | None = None) -> Floats:
    """Floats near whole · 2**exponents, divided by a power of two so that the largest is near 1."""
    shifts = exponents if exponents is not None else [0] * len(whole)
    tops = [v.bit_length() + s for v, s in zip(whole, shifts) if v]
    if not tops:
        return np.zeros(len(whole))
    top = max(tops)
    out = np.zeros(len(whole))
    for k, (value, shift) in enumerate(zip(whole, shifts)):
        extra = max(value.bit_length() - 64, 0)  # 64 leading bits round to the same float or its neighbour
        out[k] = math.ldexp(float(value >> extra), extra + shift - top) if extra + shift - top > -2000 else 0.0
    return out


def root_below(square: Fraction) -> float:
    """A large float that is at most the square root."""
    return _root(square, -math.inf)


def root_above(square: Fraction) -> float:
    """A small float that is at least the square root."""
    return _root(square, math.inf)


def _root(square: Fraction, towards: float) -> float:
    if square == 0:
        return 0.0
    # An even shift leaves 64 correct bits of the root, so a step or two between floats reaches the right side.
    shift = (128 - square.numerator.bit_length() + square.denominator.bit_length()) // 2 * 2
    scaled = square * Fraction(2) ** shift
    root = math.isqrt(scaled.numerator // scaled.denominator)
    try:
        guess = math.ldexp(float(root), -shift // 2)
    except OverflowError:
        return math.inf if towards > 0 else math.nextafter(math.inf, 0.0)
    for _ in range(4):
        exact = Fraction(guess) ** 2
        if exact == square or (exact > square) == (towards > 0):
            return max(guess, 0.0)
        guess = math.nextafter(guess, towards)
    return max(guess, 0.0)


def squared_length(whole: Sequence[int]) -> int:
    """The sum of the squares."""
    return sum(v * v for v in whole)


def _bits(values: NDArray[Any]) -> int:
    if values.dtype == np.int64:
        return int(np.abs(values).max(initial=0)).bit_length()
    return max((abs(v).bit_length() for v in values.ravel().tolist()), default=0)


def _times(base: Matrix, weights: NDArray[Any]) -> tuple[NDArray[Any], int]:
    """Base @ weights for integer weights of shape (p, blocks), as integers times one power of two."""
    sparse = sp.issparse(base)
    whole, exponent = integers(base.data if sparse else base)
    fits = whole.dtype == np.int64 and weights.dtype == np.int64
    if not (fits and _bits(whole) + _bits(weights) + int(base.shape[1]).bit_length() <= 62):
        whole, weights = whole.astype(object), weights.astype(object)
    if not sparse:
        return whole @ weights, exponent
    products = whole[:, None] * weights[base.indices]
    sums = np.zeros((len(products) + 1, weights.shape[1]), dtype=products.dtype)
    np.cumsum(products, axis=0, out=sums[1:])
    return sums[base.indptr[1:]] - sums[base.indptr[:-1]], exponent


def _integer_array(whole: Sequence[int]) -> NDArray[Any]:
    small = all(-(2**62) < v < 2**62 for v in whole)
    return np.array(whole, dtype=np.int64 if small else object)


def _blocks(problem: Problem, whole: Sequence[int]) -> NDArray[Any]:
    return _integer_array(whole).reshape(problem.blocks, problem.width).T


def _exact_gaps(problem: Problem, weights: Sequence[int]) -> Iterator[tuple[NDArray[Any], int]]:
    """⟨z, w⟩ for every row, in blocks of examples, as integers times a power of two."""
    matrix = _blocks(problem, weights)
    step = max(1, CHUNK // max(problem.width, problem.blocks))
    for start in range(0, problem.examples, step):
        scores, exponent = _times(problem.base[start : start + step], matrix)
        own = problem.target[start : start + step, None] == np.arange(problem.blocks)
        if problem.stacked:
            gaps = scores[own][:, None] - scores
            yield gaps[~own], exponent
        else:
            yield np.where(own, scores, -scores).ravel(), exponent


def separates_exactly(problem: Problem, weights: Sequence[int]) -> bool:
    """Whether ⟨z, w⟩ > 0 for every row z, in integer arithmetic."""
    return all(bool((gaps > 0).all()) for gaps, _ in _exact_gaps(problem, weights))


def lowest_exactly(problem: Problem, weights: Sequence[int]) -> Fraction:
    """The smallest ⟨z, w⟩, in integer arithmetic."""
    return min(int(gaps.min()) * Fraction(2) ** exponent for gaps, exponent in _exact_gaps(problem, weights))


def largest_square(problem: Problem) -> Fraction:
    """The largest ‖x‖², computed exactly for the few examples that floats cannot exclude."""
    longest = float(problem.norms.max())
    near = np.flatnonzero(problem.norms >= longest * (1 - 1e-9))
    if longest == math.inf or len(near) * problem.width > CHUNK:
        return squared_radius(problem)
    return squared_radius(replace(problem, base=problem.base[near], target=problem.target[near]))


def squared_radius(problem: Problem) -> Fraction:
    """The largest ‖x‖², bias feature included, in integer arithmetic."""
    largest = Fraction(0)
    step = max(1, CHUNK // problem.width)
    for start in range(0, problem.examples, step):
        part = problem.base[start : start + step]
        whole, exponent = integers(part.data if sp.issparse(part) else part)
        if 2 * _bits(whole) + problem.width.bit_length() > 62:
            whole = whole.astype(object)
        squares = whole * whole
        if sp.issparse(part):
            sums = np.concatenate(([0], np.cumsum(squares)))
            lengths = sums[part.indptr[1:]] - sums[part.indptr[:-1]]
        else:
            lengths = squares.sum(axis=1)
        largest = max(largest, int(lengths.max()) * Fraction(4) ** exponent)
    return largest


def row_products(problem: Problem, numbers: Integers, weights: Sequence[int]) -> list[Fraction]:
    """⟨z, w⟩ for some rows z."""
    matrix = _blocks(problem, weights)
    examples, parts = problem.rows(numbers)
    scores, exponent = _times(problem.base[examples], matrix)
    unit = Fraction(2) ** exponent
    return [unit * sum(sign * int(scores[k, c]) for c, sign in pairs) for k, pairs in enumerate(parts)]


def combination_vanishes(problem: Problem, numbers: Integers, weights: Sequence[int]) -> bool:
    """Whether the rows combined with weights ≥ 0, not all 0, give exactly 0, in integer arithmetic."""
    if len(numbers) != len(weights) or any(v < 0 for v in weights) or not any(weights):
        return False
    return not any(combine_exactly(problem, numbers, weights)[0])


def combine_exactly(problem: Problem, numbers: Integers, weights: Sequence[int]) -> tuple[list[int], int]:
    """Σ weightₖ · zₖ as integers times one power of two."""
    examples, parts = problem.rows(numbers)
    distinct, position = np.unique(examples, return_inverse=True)
    steps = np.zeros((len(distinct), problem.blocks), dtype=object)
    for k, pairs, weight in zip(position.tolist(), parts, weights):
        for c, sign in pairs:
            steps[k, c] += sign * int(weight)
    whole, exponent = _times(
        sp.csr_matrix(problem.base[distinct].T) if sp.issparse(problem.base) else problem.base[distinct].T, steps
    )
    return [int(v) for v in whole.T.ravel().tolist()], exponent


def integer_rows(problem: Problem, numbers: Integers, rows: Integers, columns: Integers) -> list[list[int]]:
    """Some rows of the problem after scaling by powers of two, as integers times one common power of two."""
    examples, parts = problem.rows(numbers)
    base = problem.base[examples]
    dense = base.toarray() if sp.issparse(base) else base
    whole, _ = integers(dense, rows[examples][:, None] + columns)
    width = dense.shape[1]
    out = []
    for values, pairs in zip(whole.tolist(), parts):
        row = [0] * (problem.blocks * width)
        for c, sign in pairs:
            row[c * width : (c + 1) * width] = values if sign > 0 else [-v for v in values]
        out.append(row)
    return out


def null_combination(rows: list[list[int]]) -> list[int] | None:
    """Positive integers that combine rows to 0, all but one of which are independent; None if there are none.

    The first row gets weight 1 and the others follow from as many independent columns (found modulo a prime, solved by
    FLINT's p-adic lifting); the remaining columns are then checked.
    """
    from flint import fmpz_mat, nmod_mat

    count = len(rows)
    columns = [j for j in range(len(rows[0])) if any(row[j] for row in rows)]
    if not columns:
        return [1] * count
    if count < 2 or len(columns) < count - 1:
        return None
    chosen = columns
    if len(columns) > count - 1:
        reduced = nmod_mat(count - 1, len(columns), [row[j] % _PRIME for row in rows[1:] for j in columns], _PRIME)
        reduced, rank = reduced.rref()
        if rank < count - 1:
            return None
        chosen, k = [], 0
        for i in range(rank):
            while int(reduced[i, k]) == 0:
                k += 1
            chosen.append(columns[k])
    matrix = fmpz_mat([[rows[i][j] for i in range(1, count)] for j in chosen])
    try:
        solution: Any = matrix.solve(fmpz_mat(count - 1, 1, [-rows[0][j] for j in chosen]))
    except ZeroDivisionError:
        return None
    numerators, denominator = solution.numer_denom()
    weights = [int(denominator), *(int(v) for v in numerators.entries())]
    if any(v < 0 for v in weights):
        return None
    rest = set(columns).difference(chosen)
    if rest:
        others = fmpz_mat([[row[j] for row in rows] for j in sorted(rest)])
        if any(int(v) for v in (others * fmpz_mat(count, 1, weights)).entries()):
            return None
    return weights


def exact_cycle(X: Any, y: Any, counts: Any, fit_intercept: bool = True) -> Floats | None:
    """Turn the updates of a cycle into a proof of inseparability, if they add up to exactly 0.

    If the weights of a run return to an earlier value, the updates in between add up to 0. In floating point rounding can
    produce such a return by chance, so the sum is checked exactly.

    Parameters
    ----------
    X : array or CSR matrix, shape (n, d)
        The examples.
    y : array, shape (n,)
        Signs −1 and +1 for two classes; for many classes the index of each example's class.
    counts : array of integers, shape (n,) or (n, K)
        Number of times that each example was added during the cycle; for many classes, against each rival class.
    fit_intercept : bool, default=True
        Whether there is a bias feature.

    Returns
    -------
    ndarray or None
        Non-negative weights of the shape of `counts` with sum 1 whose combination of the y·x (or of Kesler's stacked
        rows) is exactly 0, before rounding to floats; None if it is not 0.
    """
    counts = np.asarray(counts)
    labels = np.asarray(y)
    if not np.issubdtype(counts.dtype, np.integer) or counts.size == 0 or counts.min() < 0:
        raise ValueError(
            f"`counts` must be non-negative integers; got {counts.dtype} numbers. Count the mistakes on each example."
        )
    if counts.shape[0] != X.shape[0] or labels.shape != (X.shape[0],) or counts.ndim > 2:
        raise ValueError(
            f"`counts` and `y` must have {X.shape[0]} rows, one per example; got {counts.shape} and {labels.shape}. "
            "Pass the arrays that belong to X."
        )
    used = np.flatnonzero(counts.reshape(len(counts), -1).any(axis=1))
    if not len(used):
        return None
    base = read_examples(X[used], fit_intercept)
    some = counts[used].astype(np.int64)
    steps = labels[used].astype(np.int64)[:, None] * some[:, None] if some.ndim == 1 else -some
    if some.ndim == 2:
        own = (np.arange(len(used)), labels[used])
        if some[own].any():
            raise ValueError(
                "`counts` must be 0 for the true class of an example; got more. Check the order of classes."
            )
        steps[own] = some.sum(axis=1)
    # A sum far from 0 needs no exact arithmetic: 1e-6 of the total length is much more than rounding.
    total = np.abs(np.asarray(base.T @ steps.astype(np.float64)))
    reach = np.asarray(abs(base).T @ np.abs(steps).astype(np.float64))
    if (total > 1e-6 * reach).any():
        return None
    whole, _ = _times(sp.csr_matrix(base.T) if sp.issparse(base) else np.ascontiguousarray(base.T), steps)
    return counts / counts.sum() if not whole.any() else None
