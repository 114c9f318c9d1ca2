"""Wolfe's algorithm in rational arithmetic, for the cases that floating point leaves open.

It starts from the last corral of `nearest`, so few steps are left. Every step lowers ‖x‖ strictly and no corral occurs
twice, so it ends with a separator or with x = 0, however small the margin.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import gcd
from typing import Any

import numpy as np

from rosenblatt.theory.clock import FREE, Clock
from rosenblatt.theory.exact import integer_rows, row_products, to_floats
from rosenblatt.theory.problem import Floats, Integers, Problem
from rosenblatt.theory.scaling import Scaled

_PRIME = 2**61 - 1

# With more rows than this, long doubles are tried before exact arithmetic.
MANY = 200


@dataclass(frozen=True)
class ExactPoint:
    """A point of the convex hull of the scaled rows, exactly.

    Attributes
    ----------
    rows : ndarray of int64
        The rows that it combines.
    weights : tuple of int
        Their weights, up to a positive factor.
    separator : tuple of int or None
        The point itself as weights for the original problem, up to a positive factor; None if the point is 0.
    finished : bool
        Whether the requested result was reached.
    """

    rows: Integers
    weights: tuple[int, ...]
    separator: tuple[int, ...] | None
    finished: bool


def lowest_product(scaled: Scaled, weights: tuple[int, ...], negative_is_enough: bool = False) -> tuple[int, Fraction]:
    """The row of the original problem with the smallest ⟨z, w⟩ in scaled units, and this product exactly.

    Floating point with an error bound selects the rows that can be the lowest; only these are computed exactly.

    Parameters
    ----------
    scaled : Scaled
        The problem.
    weights : tuple of int
        Weights for the original problem.
    negative_is_enough : bool, default=False
        Return any row that is certainly negative, with the product −1, without exact arithmetic.
    """
    columns = scaled.weight_exponents
    # Weights of the scaled problem are those of the original times 2**-column.
    approximate = to_floats(weights, (-columns).tolist())
    scores = scaled.problem.scores(approximate)
    errors = np.repeat(scaled.problem.score_errors(approximate), scaled.problem.blocks)
    row = int(np.argmin(scores))
    if negative_is_enough and scores[row] < -errors[row]:
        return row, Fraction(-1)
    near = np.flatnonzero(scores - errors <= (scores + errors).min())
    if len(near) > MANY:
        near = _nearer(scaled.problem, near, weights, (-columns).tolist())
    powers = scaled.rows[near // scaled.problem.blocks].tolist()
    exact = [Fraction(2) ** r * v for r, v in zip(powers, row_products(scaled.original, near, weights))]
    best = min(range(len(near)), key=lambda k: exact[k])
    return int(near[best]), exact[best]


def _nearer(problem: Problem, near: Integers, weights: tuple[int, ...], exponents: list[int]) -> Integers:
    """Exclude more rows with long doubles, on machines that have them."""
    high = to_floats(weights, exponents)
    # Remainder after rounding to `high`, in the same units: to_floats divides by the power of two above the largest number.
    top = max(v.bit_length() + s for v, s in zip(weights, exponents) if v)
    low = [Fraction(v) * Fraction(2) ** (s - top) - Fraction(float(h)) for v, s, h in zip(weights, exponents, high)]
    longer = high.astype(np.longdouble) + np.array([float(v) for v in low], dtype=np.longdouble)
    examples = np.unique(near // problem.blocks)
    part = replace(problem, base=problem.base[examples], target=problem.target[examples])
    scores = part.scores(longer)
    errors = np.repeat(part.score_errors(longer), part.blocks)
    kept = np.flatnonzero(scores - errors <= (scores + errors).min())
    return np.asarray(examples[kept // part.blocks] * part.blocks + kept % part.blocks)


def _independent(rows: list[list[int]]) -> list[int]:
    """Positions of a maximal set of affinely independent rows."""
    from flint import nmod_mat

    width = len(rows[0]) + 1
    entries = [value % _PRIME for j in range(width) for row in rows for value in ((1, *row)[j],)]
    reduced, rank = nmod_mat(width, len(rows), entries, _PRIME).rref()
    chosen, k = [], 0
    for i in range(rank):
        while int(reduced[i, k]) == 0:
            k += 1
        chosen.append(k)
    return chosen


def _affine_minimum(rows: list[list[int]]) -> list[Any]:
    """Weights (FLINT rationals, sum 1) of the point of the rows' affine hull nearest to 0."""
    from flint import fmpz_mat

    matrix = fmpz_mat(rows)
    gram: list[list[Any]] = (matrix * matrix.transpose()).tolist()
    count = len(rows)
    bordered = fmpz_mat([[*line, 1] for line in gram] + [[1] * count + [0]])
    right = fmpz_mat(count + 1, 1, [0] * count + [1])
    return list(bordered.solve(right).entries()[:count])


def nearest_point_exactly(
    scaled: Scaled, corral: Integers, weights: Floats, tol: float | None, max_work: int, clock: Clock = FREE
) -> ExactPoint:
    """Finish Wolfe's algorithm in rationals from the corral that was found in floating point.

    Parameters
    ----------
    scaled : Scaled
        The problem. Distances are those of the scaled rows.
    corral : ndarray of int64
        Rows to start from.
    weights : ndarray
        Their positive weights.
    tol : float or None
        Stop at the first separator (None), or when its margin is within this fraction of ‖x‖.
    max_work : int
        Stop without a result (``finished`` is false) when the cubes of the sizes of the systems solved add up to more.
        A hundred million take about half a minute.
    clock : Clock, default=FREE
        The time limit; it is looked at between two steps.

    Returns
    -------
    ExactPoint
    """
    from flint import fmpq, fmpz_mat

    problem = scaled.original
    columns = scaled.weight_exponents.tolist()
    numbers = [int(k) for k in corral]
    vectors = integer_rows(problem, np.array(numbers), scaled.rows, scaled.columns)
    keep = _independent(vectors)
    numbers, vectors = [numbers[k] for k in keep], [vectors[k] for k in keep]
    shares = [fmpq(*float(weights[k]).as_integer_ratio()) for k in keep]
    total = sum(shares, fmpq(0))
    shares = [s / total for s in shares]
    slack = Fraction(tol or 0)

    work = 0
    while True:
        # The affine minimum; move there and drop rows as in `nearest`.
        while True:
            work += len(vectors) ** 3
            target = _affine_minimum(vectors)
            if all(t > 0 for t in target):
                shares = target
                break
            way = min((s / (s - t) for s, t in zip(shares, target) if t <= 0 and s != t), default=fmpq(1))
            moved = [s + way * (t - s) for s, t in zip(shares, target)]
            keep = [k for k, s in enumerate(moved) if s != 0]
            numbers, vectors, shares = [numbers[k] for k in keep], [vectors[k] for k in keep], [moved[k] for k in keep]
        common = 1
        for s in shares:
            common = common * int(s.q) // gcd(common, int(s.q))
        whole = tuple(int(s.p) * (common // int(s.q)) for s in shares)
        point = [int(v) for v in (fmpz_mat([whole]) * fmpz_mat(vectors)).entries()]
        # Weights of the combination and of the separator for the original problem, from those of the scaled one.
        powers = [int(scaled.rows[k // problem.blocks]) for k in numbers]
        combination = _shifted(whole, powers)
        rows = np.array(numbers, dtype=np.int64)
        if not any(point):
            return ExactPoint(rows, combination, None, True)
        separator = _shifted(_reduced(point), columns)
        row, product = lowest_product(scaled, separator, negative_is_enough=True)
        if product > 0 and (tol is None or product >= (1 - slack) * _reach(scaled, numbers[0], separator)):
            return ExactPoint(rows, combination, separator, True)
        clock.note(0, len(numbers))
        if row in numbers or work > max_work or clock.over():
            return ExactPoint(rows, combination, separator, row in numbers)
        numbers.append(row)
        vectors = integer_rows(problem, np.array(numbers), scaled.rows, scaled.columns)
        shares.append(fmpq(0))


def _shifted(whole: Any, powers: list[int]) -> tuple[int, ...]:
    """Integers in the proportions of whole · 2**powers."""
    lowest = min(powers, default=0)
    return tuple(v << (p - lowest) for v, p in zip(whole, powers))


def _reduced(whole: list[int]) -> list[int]:
    divisor = gcd(*whole)
    return [v // divisor for v in whole]


def _reach(scaled: Scaled, row: int, separator: tuple[int, ...]) -> Fraction:
    """⟨z, x⟩ of a row of the corral, in scaled units: equal for all of them, and ‖x‖² if w is x."""
    power = int(scaled.rows[row // scaled.problem.blocks])
    return Fraction(2) ** power * row_products(scaled.original, np.array([row]), separator)[0]
