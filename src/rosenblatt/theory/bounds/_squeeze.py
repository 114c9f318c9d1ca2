"""The two sides of the perceptron's proof, for the weights of a run."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rosenblatt.theory.bounds._checks import check, check_margin, check_radius


class Squeeze(NamedTuple):
    """The four numbers of the proof, in non-decreasing order."""

    floor: float
    along_comparator: float
    length: float
    ceiling: float

    @property
    def holds(self) -> bool:
        """Whether they are in order, up to rounding."""
        slack = 1e-9 * max(1.0, abs(self.ceiling))
        return all(a <= b + slack for a, b in pairwise(self))


def squeeze(mistakes: int, margin: float, radius: float, w: ArrayLike, u: ArrayLike) -> Squeeze:
    """Compute the two sides of the proof after k mistakes: kγ ≤ ⟨w, u⟩ ≤ ‖w‖ ≤ √k·R.

    The left side grows with k and the right side with √k,
    so they meet at k = (R/γ)² and no run makes more mistakes.

    Parameters
    ----------
    mistakes : int
        k, at least 0.
    margin : float
        γ of u.
    radius : float
        R, at least 0.
    w : array
        The weights after k mistakes from 0, bias included.
    u : array
        The comparator, bias included; it is scaled to length 1.

    Returns
    -------
    Squeeze
        (kγ, ⟨w, u⟩, ‖w‖, √k·R).

    Examples
    --------
    >>> squeeze(1, 0.5, 2.0, [1, 1], [1, 0])
    Squeeze(floor=0.5, along_comparator=1.0, length=1.4142135623730951, ceiling=2.0)
    """
    k = check("mistakes", mistakes, 0, "It is the number of mistakes so far.", strict=False)
    weights, comparator = np.ravel(w).astype(np.float64), np.ravel(u).astype(np.float64)
    length = float(np.linalg.norm(comparator))
    if weights.shape != comparator.shape or length == 0:
        raise ValueError(
            f"`u` must have the length of `w`, {weights.size}, and not be zero; got {comparator.size}. "
            "Append the bias to both or to none."
        )
    return Squeeze(
        k * check_margin(margin),
        float(weights @ comparator) / length,
        float(np.linalg.norm(weights)),
        math.sqrt(k) * check_radius(radius),
    )


def margin_from_above(w: ArrayLike, steps: float, start: ArrayLike | None = None) -> float:
    """Upper bound on the largest margin from the weights of a run: ‖w − w₀‖ / Σa, where a are the step sizes.

    (w − w₀)/Σa is a convex combination of the y·x,
    so its inner product with any unit separator u is at least γ, and so is its length. This holds for any run that adds
    positive multiples of y·x.

    Parameters
    ----------
    w : array
        The final weights, bias included.
    steps : float
        Σa, greater than 0: the number of updates for unit steps.
    start : array, optional
        w₀, zero by default.

    Returns
    -------
    float

    Examples
    --------
    >>> margin_from_above([3, 4], steps=10)
    0.5
    """
    total = check("steps", steps, 0, "A run without an update gives no bound on the margin.")
    moved = np.ravel(w).astype(np.float64) - (0.0 if start is None else np.ravel(start).astype(np.float64))
    return float(np.linalg.norm(moved)) / total
