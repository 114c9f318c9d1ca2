"""Exact scaling by powers of two: it does not change separability and improves the accuracy of floats.

Multiplying an example by a positive number changes neither its side nor whether a combination can be 0 (its weight is
divided); multiplying a feature only rescales one weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from rosenblatt.theory.problem import Floats, Integers, Matrix, Problem


@dataclass(frozen=True, eq=False)
class Scaled:
    """A problem whose example i is multiplied by 2**rows[i] and whose feature j by 2**columns[j].

    Attributes
    ----------
    problem : Problem
        The scaled problem; its numbers are exact unless they underflowed.
    original : Problem
        The problem as given.
    rows, columns : ndarray of int64
        The exponents.
    """

    problem: Problem
    original: Problem
    rows: Integers
    columns: Integers

    @property
    def weight_exponents(self) -> Integers:
        """Exponents: scaled weights times these powers of two are weights for the original problem."""
        return np.tile(self.columns, self.original.blocks)

    def unscaled_shares(self, rows: Integers, shares: Sequence[int]) -> tuple[int, ...]:
        """Weights of a combination of the original rows, from those of the scaled rows."""
        powers = self.rows[rows // self.original.blocks].tolist()
        lowest = min(powers)
        return tuple(share << (power - lowest) for share, power in zip(shares, powers))


def _scaled(problem: Problem, rows: Integers, columns: Integers) -> Scaled:
    if not rows.any() and not columns.any():
        return Scaled(problem, problem, rows, columns)
    base = problem.base
    scaled: Matrix
    if sp.issparse(base):
        owner = np.repeat(np.arange(problem.examples), np.diff(base.indptr))
        scaled = base.copy()
        scaled.data = np.ldexp(base.data, rows[owner] + columns[base.indices])
    else:
        scaled = np.ldexp(base, rows[:, None] + columns)
    return Scaled(replace(problem, base=scaled), problem, rows, columns)


def normalized(problem: Problem) -> Scaled:
    """Divide everything by one power of two so that the largest number is near 1. All margins change by the same factor."""
    values: Floats = problem.base.data if sp.issparse(problem.base) else problem.base
    largest = float(np.abs(values).max()) if values.size else 0.0
    exponent = -int(np.frexp(largest)[1]) if largest else 0
    if abs(exponent) <= 32:  # squares cannot overflow, so no copy is needed
        exponent = 0
    return _scaled(problem, np.full(problem.examples, exponent), np.zeros(problem.width, dtype=np.int64))


def equilibrated(problem: Problem) -> Scaled:
    """Scale examples and features whose largest number is far from 1 by powers of two, so that it is near 1."""
    base = problem.base
    nothing = -(2**20)
    if sp.issparse(base):
        owner = np.repeat(np.arange(problem.examples), np.diff(base.indptr))
        column = base.indices
        exponents = np.frexp(base.data)[1].astype(np.int64)
        rows, columns = np.zeros(problem.examples, np.int64), np.zeros(problem.width, np.int64)
        for _ in range(2):
            highest = np.full(problem.width, nothing)
            np.maximum.at(highest, column, exponents + rows[owner])
            columns = np.where(highest > nothing, 1 - highest, 0)
            top = np.full(problem.examples, nothing)
            np.maximum.at(top, owner, exponents + columns[column])
            rows = np.where(top > nothing, 1 - top, 0)
    else:
        exponents = np.where(base != 0, np.frexp(base)[1], np.int32(nothing))
        rows, columns = np.zeros(problem.examples, np.int64), np.zeros(problem.width, np.int64)
        for _ in range(2):
            highest = (exponents + rows[:, None].astype(np.int32)).max(axis=0).astype(np.int64)
            columns = np.where(highest > nothing // 2, 1 - highest, 0)
            top = (exponents + columns.astype(np.int32)).max(axis=1).astype(np.int64)
            rows = np.where(top > nothing // 2, 1 - top, 0)
    if np.ptp(rows) <= 3 and np.ptp(columns) <= 3 and abs(int(rows[0] + columns[0])) <= 32:
        rows, columns = np.zeros_like(rows), np.zeros_like(columns)
    return _scaled(problem, rows, columns)
