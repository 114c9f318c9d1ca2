"""Margins, radius, and the two losses."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rosenblatt.theory.problem import Floats, is_sparse, make_problem, read_examples


def margin(
    w: ArrayLike,
    X: Any,
    y: Any,
    intercept: ArrayLike | None = None,
    signed: bool = True,
    geometric: bool = False,
    positive: Any = None,
) -> float:
    """Margin of a weight vector on data: the smallest y·⟨w, x⟩/‖w‖.

    Parameters
    ----------
    w : array, shape (d,), (1, d) or (K, d)
        The weights. With one row per class, in sorted order of the labels, the margin is Kesler's: the smallest
        lead of the true class over a rival, divided by the length of all the weights together.
    X : array or CSR matrix, shape (n, d)
        The examples.
    y : array, shape (n,)
        The labels. A single label is positive unless it is −1.
    intercept : float or array of shape (1,) or (K,), optional
        The weight of the bias feature. The margin is then that of the theorem: 1 is appended to x and the intercept to w.
    signed : bool, default=True
        If false, take absolute values: the distance of the hyperplane from the nearest example, on either side.
    geometric : bool, default=False
        Divide by ‖w‖ without the intercept: the distance in the space of the examples, as for a support vector machine.
    positive : label or None, default=None
        The positive one of two labels. None: the second in sorted order, and + of signs written as text.

    Returns
    -------
    float
        Positive if and only if w separates the data (when `signed`).

    Examples
    --------
    >>> X, y = [[1, -1], [-1, -1], [0.01, 0], [-1, 0]], [1, 1, 1, -1]
    >>> margin([1, 0], X, y), margin([1, 0], X, y, signed=False)
    (-1.0, 0.01)
    """
    weights = np.atleast_2d(np.asarray(w, dtype=np.float64))
    problem = make_problem(X, y, fit_intercept=intercept is not None, positive=positive)
    features = problem.width - problem.fit_intercept
    if weights.shape != (problem.blocks, features):
        raise ValueError(
            f"`w` must have shape {(problem.blocks, features)} for these examples and classes; got {weights.shape}. "
            "Give one weight per feature, and one row per class if there are more than two."
        )
    full = weights
    if intercept is not None:
        bias = np.asarray(intercept, dtype=np.float64).reshape(-1, 1)
        if bias.shape != (problem.blocks, 1):
            raise ValueError(
                f"`intercept` must hold {problem.blocks} number(s), one per row of `w`; got {bias.size}. Pass both."
            )
        full = np.hstack([weights, bias])
    length = float(np.linalg.norm(weights if geometric else full))
    if not 0 < length < np.inf:
        raise ValueError(f"`w` must be finite and not zero; got length {length}. Only a direction has a margin.")
    scores = problem.scores(full.ravel())
    if not signed:
        scores = np.abs(scores)
    return float(scores.min()) / length


def radius(X: Any, fit_intercept: bool = True) -> float:
    """Length of the longest example.

    Parameters
    ----------
    X : array or CSR matrix, shape (n, d)
        The examples.
    fit_intercept : bool, default=True
        Count the bias feature 1.

    Returns
    -------
    float

    Examples
    --------
    >>> radius([[3, 4], [0, 1]], fit_intercept=False)
    5.0
    """
    base = read_examples(X, bool(fit_intercept))
    if is_sparse(base):
        return float(np.sqrt(np.asarray(base.multiply(base).sum(axis=1)).max()))
    return float(np.sqrt(np.einsum("ij,ij->i", base, base).max()))


def _signed(scores: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    s, labels = np.asarray(scores, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if s.shape != labels.shape:
        raise ValueError(
            f"`y` must have one label per score, shape {s.shape}; got {labels.shape}. Pass both for the same examples."
        )
    if not np.isin(labels, (-1.0, 1.0)).all():
        raise ValueError("`y` must hold −1 and +1 here; got other labels. Use np.where(y == positive, 1, -1).")
    return s, labels


def zero_one_loss(scores: ArrayLike, y: ArrayLike, on_zero: str = "update") -> Floats:
    """1 for each mistake, 0 for each correct prediction.

    Parameters
    ----------
    scores : array
        ⟨w, x⟩ per example.
    y : array
        Labels −1 and +1.
    on_zero : {"update", "positive", "keep"}, default="update"
        A score of exactly 0 counts as a mistake, as the answer +1, or as correct.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> zero_one_loss([2, -1, 0], [1, 1, 1]).tolist()
    [0.0, 1.0, 1.0]
    """
    s, labels = _signed(scores, y)
    if on_zero == "update":
        return np.where(labels * s <= 0, 1.0, 0.0)
    if on_zero == "positive":
        return np.where(np.where(s >= 0, 1.0, -1.0) != labels, 1.0, 0.0)
    if on_zero == "keep":
        return np.where(labels * s < 0, 1.0, 0.0)
    raise ValueError(
        f'`on_zero` must be "update", "positive" or "keep"; got {on_zero!r}. It decides whether a score of 0 is a mistake.'
    )


def perceptron_criterion(scores: ArrayLike, y: ArrayLike) -> Floats:
    """Perceptron criterion max(0, −y·s) of each example.

    Parameters
    ----------
    scores : array
        ⟨w, x⟩ per example.
    y : array
        Labels −1 and +1.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> perceptron_criterion([2, -3], [1, 1]).tolist()
    [0.0, 3.0]
    """
    s, labels = _signed(scores, y)
    return np.maximum(0.0, -labels * s)
