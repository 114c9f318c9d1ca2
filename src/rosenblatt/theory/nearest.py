"""The point of the convex hull of the rows that is nearest to the origin, in floating point.

Wolfe's algorithm (P. Wolfe, "Finding the nearest point in a polytope", Mathematical Programming 11, 1976). The nearest
point x is the largest-margin separator and ‖x‖ its margin; if x = 0, its weights prove that there is no separator.
It keeps a corral: affinely independent rows whose hull has x in its interior. Each step adds the row with the lowest
⟨z, x⟩, moves to the nearest point of the corral's affine hull and drops rows whose weight becomes negative.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from rosenblatt.engine.entries import combine, lowest, settle, take_in
from rosenblatt.theory.clock import FREE, Clock
from rosenblatt.theory.problem import Floats, Integers, Problem

Reason: TypeAlias = Literal["separated", "zero", "optimal", "stalled", "out of steps", "out of time"]

LARGEST_CORRAL = 6000

BLAS_PAYS = 100_000  # numbers in a dense set

# A weight at or below this counts as 0: rounding leaves about 1e-16 instead of 0.
NOTHING = 1e-13


@dataclass(frozen=True)
class NearestPoint:
    """Result of a run of Wolfe's algorithm.

    Attributes
    ----------
    reason : str
        "separated", "zero" (x vanishes up to rounding), "optimal", "stalled", "out of steps" or "out of time".
    point : ndarray
        The last x.
    corral : ndarray of int64
        The rows that x combines.
    weights : ndarray
        Their weights: positive, with sum 1.
    separator : ndarray
        The x with the largest margin so far.
    steps : int
        Number of rows that were added.
    """

    reason: Reason
    point: Floats
    corral: Integers
    weights: Floats
    separator: Floats
    steps: int


def nearest_point(problem: Problem, tol: float | None, max_steps: int, clock: Clock = FREE) -> NearestPoint:
    """Run Wolfe's algorithm in floating point.

    Parameters
    ----------
    problem : Problem
        The rows, scaled so that their squares neither overflow nor vanish.
    tol : float or None
        Stop when the margin of the best separator and ‖x‖ differ by this fraction of ‖x‖; None: at the first separator.
    max_steps : int
        Largest number of rows that may be added.
    clock : Clock, default=FREE
        The time limit.

    Returns
    -------
    NearestPoint
    """
    corral = _Corral(problem)
    square = float(corral.x @ corral.x)
    best_margin, best = -np.inf, corral.x
    step = 0

    def result(reason: Reason) -> NearestPoint:
        size = corral.size
        return NearestPoint(reason, corral.x, corral.rows[:size].copy(), corral.weights[:size].copy(), best, step)

    while True:
        length = float(np.sqrt(square))
        if length <= 1e-13 * corral.scale:
            return result("zero")
        row, lowest = corral.lowest()
        if lowest / length > best_margin:
            best_margin, best = lowest / length, corral.x
        enough = 1e-14 * (problem.width + 8) * corral.scale if tol is None else (1.0 - tol) * length
        if best_margin > 0 and best_margin >= enough:
            return result("separated")
        # All rows of the corral have ⟨z, x⟩ = ‖x‖², so a row with less is not in the corral.
        again = lowest > 0.9 * square and row in corral.rows[: corral.size]
        if again or lowest >= square - 1e-14 * corral.scale * length:
            return result("optimal")
        if clock.over():
            return result("out of time")
        clock.note(step, corral.size)
        if step >= max_steps or corral.size >= LARGEST_CORRAL:
            return result("out of steps")
        step += 1
        if not corral.add(row):
            return result("stalled")
        # The last digits matter only for the margin, or when x is short.
        corral.settle(careful=tol is not None or length < 1e-4 * corral.scale)
        before, square = square, float(corral.x @ corral.x)
        if corral.size == 0 or square >= before:
            return result("stalled")


class _Corral:
    """Affinely independent rows, their weights, and the point x that they combine to."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.arrays = problem.arrays()
        # BLAS is faster on large dense sets; for others the call costs more than the work.
        self.by_blas = len(self.arrays[1]) == 0 and self.arrays[0].size * problem.blocks > BLAS_PAYS
        self.scale = float(problem.norms.max()) * (np.sqrt(2.0) if problem.stacked else 1.0)
        first = int(np.argmin(problem.norms))
        first_block = int(problem.target[first] == 0) if problem.stacked else 0
        self.size = 1
        self.rows = np.full(64, first * problem.blocks + first_block, dtype=np.int64)
        self.weights = np.ones(64)
        self.factor = np.zeros((64, 64))
        shape = (problem.blocks, problem.width)
        self.work = (np.empty(shape), np.empty(shape))
        combine(self.arrays, self.rows, 1, self.weights, self.work[0])
        self.x = self.work[0].ravel().copy()
        self.factor[0, 0] = np.sqrt(self.x @ self.x + self.scale**2)

    def lowest(self) -> tuple[int, float]:
        """The row with the smallest ⟨z, x⟩, and this product."""
        if not self.by_blas:
            row, score = lowest(self.arrays, self.x.reshape(self.work[0].shape))
            return int(row), float(score)
        scores = self.problem.scores(self.x)
        row = int(np.argmin(scores))
        return row, float(scores[row])

    def add(self, row: int) -> bool:
        """Add a row with weight 0; false if it depends on the others up to rounding."""
        size = self.size
        if size == len(self.rows):
            self.rows = np.resize(self.rows, 2 * size)
            self.weights = np.resize(self.weights, 2 * size)
            self.factor = np.pad(self.factor, (0, size))
        self.rows[size], self.weights[size] = row, 0.0
        if not take_in(self.arrays, self.scale, self.rows, size, self.factor, self.work):
            return False
        self.size += 1
        return True

    def settle(self, careful: bool) -> None:
        """Move x to the nearest point of the affine hull, dropping rows until it is inside the convex hull."""
        x = np.empty_like(self.work[0])
        self.size = settle(
            self.arrays, self.scale, careful, NOTHING, self.rows, self.weights, self.size, self.factor, self.work, x
        )
        self.x = x.ravel()
