"""Classes, margins and mistakes from scores, the same for all learners."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]


def predicted_classes(scores: NDArray[Any], classes: int = 2) -> Codes:
    """Class numbers for scores of shape (rows, weight vectors).

    One weight vector: class 1 if the score is at least 0, else class 0. Several: the class with the highest score, the first in
    a tie. With a single class, that class is predicted.
    """
    if classes < 2:
        return np.zeros(len(scores), np.int64)
    if scores.shape[1] == 1:
        return (scores[:, 0] >= 0).astype(np.int64)
    return np.asarray(scores.argmax(axis=1), np.int64)


def predicted_class(scores: Floats) -> int:
    """The class number for the scores of one example; the same as `predicted_classes`, without its overhead."""
    return int(scores[0] >= 0) if scores.size == 1 else int(np.argmax(scores))


def margins(scores: Floats, y: Codes) -> Floats:
    """y·s for one weight vector; the lead of the true class over its best rival for many."""
    if scores.shape[1] == 1:
        signed: Floats = np.where(y == 1, scores[:, 0], -scores[:, 0])
        return signed
    true = scores[np.arange(len(y)), y]
    others = scores.copy()
    others[np.arange(len(y)), y] = -math.inf
    with np.errstate(over="ignore"):  # the difference of finite scores may overflow
        lead: Floats = true - others.max(axis=1)
    return lead


def wrong(scores: Floats, y: Codes, on_zero: str) -> NDArray[np.bool_]:
    """Which scores are mistakes; `on_zero` decides ties."""
    lead = margins(scores, y)
    if on_zero == "update":
        return lead <= 0.0
    mistakes: NDArray[np.bool_] = lead < 0.0
    if on_zero == "positive":
        mistakes |= (lead == 0.0) & (predicted_classes(scores) != y)
    return mistakes
