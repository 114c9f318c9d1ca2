"""The largest geometric margin of two classes: the distance of the nearest example from the hyperplane, as in an SVM.

It is half the distance between the convex hulls of the classes, so it is found at the point nearest to the origin in the hull of
the differences between a positive and a negative example. There are too many differences to list: the pairs that matter are
collected, those that the present weights separate least first, and `nearest` solves each small problem.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from rosenblatt.theory.exact import lowest_exactly, to_integers
from rosenblatt.theory.nearest import nearest_point
from rosenblatt.theory.problem import Floats, Integers, Problem
from rosenblatt.theory.scaling import normalized

PAIRS = 8
"""Largest number of pairs that a round adds."""


def nearest_hulls(problem: Problem, tol: float, max_steps: int) -> tuple[Floats, Integers, tuple[int, ...]]:
    """Find the nearest points of the hulls of two separable classes, in floating point.

    Parameters
    ----------
    problem : Problem
        Two classes, with a bias feature.
    tol : float
        Stop when the margin is known to this fraction.
    max_steps : int
        Largest number of rounds; each costs one pass over the data.

    Returns
    -------
    w : ndarray
        The weights of the features, from the nearest point of the negative class to that of the positive one.
    rows : ndarray of int64
        The examples that the two nearest points combine.
    shares : tuple of int
        Their weights, up to a positive factor; each class has the same sum.
    """
    features = normalized(problem).problem.base[:, :-1]
    if sp.issparse(features):
        features = features.tocsr()
    classes = [np.flatnonzero(problem.target == side) for side in (0, 1)]
    pairs = [(int(classes[0][0]), int(classes[1][0]))]
    best_margin, best, shortest = -np.inf, np.zeros(features.shape[1]), np.inf
    for _ in range(max_steps):
        point = nearest_point(_differences(problem, features, pairs), 0.1 * tol, max_steps)
        corral = [pairs[k] for k in point.corral.tolist()]
        length = float(np.linalg.norm(point.point))
        if length >= shortest:
            break  # rounding leaves nothing to gain
        shortest, found = length, (corral, point.weights)
        if length == 0:
            break
        scores = features @ point.point
        lowest = [_first(scores[classes[0]]), _first(-scores[classes[1]])]
        new = [(int(classes[0][i]), int(classes[1][j])) for i, j in zip(*lowest, strict=False)]
        gap = float(scores[new[0][0]] - scores[new[0][1]])
        if gap / length > best_margin:
            best_margin, best = gap / length, point.point
        if gap >= (1.0 - tol) * length**2:
            break
        pairs = corral + [pair for pair in new if pair not in corral and scores[pair[0]] - scores[pair[1]] < length**2]
    corral, weights = found
    whole = to_integers(weights)
    shares = dict.fromkeys((example for pair in corral for example in pair), 0)
    for pair, share in zip(corral, whole, strict=True):
        for example in pair:
            shares[example] += share
    return best, np.array(list(shares), dtype=np.int64), tuple(shares.values())


def _first(scores: Floats) -> Integers:
    """The places of the lowest scores, the lowest first."""
    count = min(PAIRS, len(scores))
    places = np.argpartition(scores, count - 1)[:count]
    return np.asarray(places[np.argsort(scores[places], kind="stable")])


def _differences(problem: Problem, features: Any, pairs: list[tuple[int, int]]) -> Problem:
    """The problem through the origin whose rows are the differences of these pairs."""
    ours, others = np.array(pairs).T
    target = np.zeros(len(pairs), dtype=np.int64)
    return Problem(features[ours] - features[others], target, 1, False, False, problem.classes, "differences")


def with_best_bias(problem: Problem, w: tuple[int, ...]) -> tuple[int, ...] | None:
    """Weights with the bias halfway between the classes, exactly; None if there is none that separates them."""
    sides = [problem.target == side for side in (0, 1)]
    parts = [replace(problem, base=problem.base[side], target=problem.target[side]) for side in sides]
    ours, others = (lowest_exactly(part, (*w, 0)) for part in parts)
    if ours + others <= 0:
        return None
    bias = (others - ours) / 2
    return (*(v * bias.denominator for v in w), bias.numerator)
