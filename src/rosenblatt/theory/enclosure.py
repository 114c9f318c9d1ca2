"""A proof in floating point that a combination is 0: error bounds instead of exact numbers.

Computing the exact weights of a combination takes the cube of its size in long integers. It is much faster to prove that they
exist and are positive, with an approximate inverse and a bound on every rounding error (S. M. Rump, "Verification
methods", Acta Numerica 19, 2010, section 10). The exact weights are then computed only on demand.
"""

from __future__ import annotations

import contextlib
import functools
from typing import Any

import numpy as np
import scipy.sparse as sp

from rosenblatt.theory.problem import Floats, Integers, Problem

MANY_ROWS = 1000  # from this size on more than one thread is faster


def vanishing_combination(problem: Problem, rows: Integers) -> Floats | None:
    """Approximate positive weights, with sum 1, that combine the rows to exactly 0; None if their existence is not proved.

    Only if the rows are one more than their features (the generic case): the weights solve a square system Mλ = e,
    whose rows are these features and one row of ones.

    Parameters
    ----------
    problem : Problem
        The problem, scaled so that its largest numbers are near 1.
    rows : ndarray of int64
        Affinely independent rows.

    Returns
    -------
    ndarray or None
    """
    examples, parts = problem.rows(rows)
    base = problem.base[examples]
    if sp.issparse(base):
        base = base[:, np.unique(base.indices)].toarray()
    values = base[:, base.any(axis=0)]
    nonzero = np.abs(values[values != 0])
    if nonzero.size == 0 or nonzero.min() < 1e-150 or nonzero.max() > 1e150:
        return None  # products may underflow, and scaled numbers may be inexact
    # The blocks of Kesler's rows add up to 0, so the last one follows from the others.
    blocks, (size, width) = problem.blocks - problem.stacked, values.shape
    if size > blocks * width + 1:
        return None
    equations = np.zeros((blocks * width + 1, size))
    equations[-1] = 1.0
    for k, pairs in enumerate(parts):
        for c, sign in pairs:
            if c < blocks:
                equations[c * width : (c + 1) * width, k] = sign * values[k]
    matrix = equations[equations.any(axis=1)]
    if matrix.shape != (size, size):
        return None
    # If other processes use the cores, a second thread of BLAS waits a hundred times as long as it works.
    with _blas().limit(limits=1, user_api="blas") if size < MANY_ROWS else contextlib.nullcontext():
        return _solution_near(matrix)


@functools.cache
def _blas() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _solution_near(matrix: Floats) -> Floats | None:
    """An approximate solution of Mλ = (0, …, 0, 1) if the exact one is proved to be positive."""
    size = len(matrix)
    try:
        inverse = np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return None
    weights: Floats = np.array(inverse[:, -1], dtype=np.float64)
    if not np.isfinite(inverse).all() or weights.min() <= 0:
        return None
    # The error of a dot product of n terms is at most about n·ε/2 times that of the absolute values; doubled to be safe.
    unit = (size + 8) * np.finfo(np.float64).eps
    tiny = 1e-150
    # Row sums of |inverse|·|matrix| are |inverse| times those of |matrix|, so a second matrix product is not needed.
    defect = np.abs(np.eye(size) - inverse @ matrix).sum(axis=1)
    rounding = unit * (np.abs(inverse) @ np.abs(matrix).sum(axis=1) + 1.0) + size * tiny
    contraction = float((defect + rounding).max()) * (1 + 4 * unit)
    if not contraction < 0.5:
        return None
    right = np.zeros(size)
    right[-1] = 1.0
    residual = np.abs(right - matrix @ weights) + unit * (np.abs(matrix) @ weights + right) + tiny
    error = float((np.abs(inverse) @ residual).max()) * (1 + 2 * unit) / (1 - contraction)
    return weights if weights.min() > 1.01 * error else None
