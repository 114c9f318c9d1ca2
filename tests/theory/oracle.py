"""An independent, exact answer for tiny data: Carathéodory's theorem by enumeration, in fractions."""

from fractions import Fraction
from itertools import combinations

import numpy as np


def stacked_rows(X, y, fit_intercept, problem="stacked"):
    """The vectors that must have a positive product with the separator."""
    examples = [[Fraction(float(v)) for v in row] + [Fraction(1)] * fit_intercept for row in np.asarray(X, dtype=float)]
    classes = sorted(set(y))
    if len(classes) <= 2:
        positive = classes[-1] if len(classes) == 2 or classes[0] != -1 else None
        return [[v if label == positive else -v for v in row] for row, label in zip(examples, y)]
    rows = []
    for row, label in zip(examples, y):
        for rival in classes:
            blocks = {c: [Fraction(0)] * len(row) for c in classes}
            if problem == "one-vs-rest":
                blocks[rival] = row if rival == label else [-v for v in row]
            elif rival == label:
                continue
            else:
                blocks[label], blocks[rival] = row, [-v for v in row]
            rows.append([v for c in classes for v in blocks[c]])
    return rows


def positive_null_vector(vectors):
    """The unique combination of the vectors that equals 0, if all its weights are positive."""
    size = len(vectors)
    equations = [list(column) for column in zip(*vectors)]
    pivots = []
    for c in range(size):
        r = len(pivots)
        found = next((i for i in range(r, len(equations)) if equations[i][c]), None)
        if found is None:
            continue
        equations[r], equations[found] = equations[found], equations[r]
        equations[r] = [v / equations[r][c] for v in equations[r]]
        for i in range(len(equations)):
            if i != r and equations[i][c]:
                equations[i] = [a - equations[i][c] * b for a, b in zip(equations[i], equations[r])]
        pivots.append(c)
    if len(pivots) != size - 1:
        return None
    free = next(c for c in range(size) if c not in pivots)
    weights = [Fraction(0)] * size
    weights[free] = Fraction(1)
    for i, c in enumerate(pivots):
        weights[c] = -equations[i][free]
    return weights if all(v > 0 for v in weights) else None


def status(X, y, fit_intercept, problem="stacked"):
    """0 is in the convex hull if and only if some set of rows, one more than its rank, has a positive null vector."""
    rows = sorted(set(map(tuple, stacked_rows(X, list(y), fit_intercept, problem))))
    for size in range(1, min(len(rows), len(rows[0]) + 1) + 1):
        if any(positive_null_vector(some) for some in combinations(rows, size)):
            return "inseparable"
    return "separable"
