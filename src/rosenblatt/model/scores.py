"""From scores to classes, margins and mistakes; one meaning for all learners."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]


def predicted_classes(scores: NDArray[Any], classes: int = 2) -> Codes:
    """Class numbers for scores of shape (rows, weight vectors).

    One weight vector: class 1 from a score of 0 on, else class 0. Several: the class with the highest score, the first of ties.
    A model that has seen one class only predicts that one.
    """
    if classes < 2:
        return np.zeros(len(scores), np.int64)
    if scores.shape[1] == 1:
        return (scores[:, 0] >= 0).astype(np.int64)
    return np.asarray(scores.argmax(axis=1), np.int64)


def margins(scores: Floats, y: Codes) -> Floats:
    """y·s for one weight vector; the lead of the true class over its best rival for many."""
    if scores.shape[1] == 1:
        signed: Floats = np.where(y == 1, scores[:, 0], -scores[:, 0])
        return signed
    true = scores[np.arange(len(y)), y]
    others = scores.copy()
    others[np.arange(len(y)), y] = -math.inf
    with np.errstate(over="ignore"):  # scores may be finite and yet too far apart for a number
        lead: Floats = true - others.max(axis=1)
    return lead


def wrong(scores: Floats, y: Codes, on_zero: str) -> NDArray[np.bool_]:
    """Which examples these scores get wrong; `on_zero` decides about ties."""
    lead = margins(scores, y)
    if on_zero == "update":
        return lead <= 0.0
    mistakes: NDArray[np.bool_] = lead < 0.0
    if on_zero == "positive":
        mistakes |= (lead == 0.0) & (predicted_classes(scores) != y)
    return mistakes
