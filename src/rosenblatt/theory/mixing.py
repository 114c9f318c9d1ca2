"""Weighted mistakes of parameter mixing, compared with the bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rosenblatt.theory.bounds import parameter_mixing

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MixedMistakes:
    """Σ μᵢkᵢ of a run of iterative parameter mixing, and (R/γ)².

    Attributes
    ----------
    per_epoch : ndarray
        Σ over the shards of μᵢkᵢ, for each epoch.
    total : float
        Their sum, which the theorem bounds.
    mistakes : int
        All mistakes, each counted once.
    bound : float or None
        (R/γ)²; None if no margin is known.
    """

    per_epoch: Floats = field(repr=False)
    total: float
    mistakes: int
    bound: float | None

    @property
    def holds(self) -> bool | None:
        """Whether the total is within the bound; None without a bound."""
        return None if self.bound is None else self.total <= self.bound

    def __str__(self) -> str:
        text = f"{self.total:.6g} weighted mistakes (Σ μk) in {self.per_epoch.size} epochs, {self.mistakes} in all"
        return text if self.bound is None else f"{text}; the theorem allows (R/γ)² = {self.bound:.6g}"


def weighted_mistakes(
    mistakes: Sequence[ArrayLike], mixing: Sequence[ArrayLike], radius: float | None = None, margin: float | None = None
) -> MixedMistakes:
    """Weighted sum of the mistakes of all shards, as in the theorem on parameter mixing.

    On separable data Σ over all epochs and shards of μᵢkᵢ is at most (R/γ)² for any μ that add up to 1 in each epoch (McDonald,
    Hall and Mann 2010, theorem 3). It holds for perceptrons with constant steps, from zero weights.

    Parameters
    ----------
    mistakes : sequence of arrays
        For each epoch the mistakes kᵢ of each shard, as in `history_` of an estimator of `rosenblatt.dask`.
    mixing : sequence of arrays
        For each epoch the weight μᵢ of each shard in the mixture.
    radius, margin : float, default=None
        R and γ over all shards, for the bound.

    Returns
    -------
    MixedMistakes

    Examples
    --------
    >>> print(weighted_mistakes([[4, 2], [1, 0]], [[0.5, 0.5], [1.0, 0.0]], radius=1, margin=0.25))
    4 weighted mistakes (Σ μk) in 2 epochs, 7 in all; the theorem allows (R/γ)² = 16
    """
    rows = []
    total = 0
    for number, (made, shares) in enumerate(zip(mistakes, mixing, strict=True)):
        k, mu = np.asarray(made, np.float64), np.asarray(shares, np.float64)
        if k.shape != mu.shape or (mu < 0).any() or (k.any() and abs(float(mu.sum()) - 1.0) > 1e-9):
            raise ValueError(
                f"The weights of an epoch must be numbers of at least 0 that add up to 1, one for each shard; got {mu.tolist()} "
                f"for the {k.size} shards of epoch {number + 1}. Take both from the same run."
            )
        rows.append(float(np.dot(mu, k)))
        total += int(k.sum())
    bound = None if radius is None or margin is None else parameter_mixing(radius, margin)
    return MixedMistakes(np.array(rows), float(sum(rows)), total, bound)
