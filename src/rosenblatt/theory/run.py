"""What a training run proves by itself, at no extra cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RunCertificate:
    """What the run of a linear learner has shown about its training data.

    Attributes
    ----------
    status : {"separable", "inseparable", "undecided"}
        Separable: the final weights are strictly right on every example. Inseparable: the weights returned to earlier ones,
        and the updates in between add up to exactly 0. Undecided: neither happened; `rosenblatt.certify` decides.
    mistakes, updates, epochs : int
        What was counted.
    radius : float
        The largest ‖x‖, bias feature included, among the examples that moved the weights: the only ones that the proof needs.
    margin : tuple of float
        An interval that holds the largest margin of any separator: from below the margin of the final weights where they
        separate, else 0; from above ‖w - w₀‖ over the sum of the steps, the length of a convex combination of the y·x
        (infinity where the rule or the scheme does not take such steps).
    mistake_bound : float or None
        The theorem's bound on the mistakes (on the updates, for a rule with a margin) of this run; None unless a separator is
        known and the theorem applies: constant steps, no sample or class weights.
    separator : tuple of ndarray or None
        (coef, intercept) of the final weights where they separate.
    combination : ndarray or None
        Weights λ ≥ 0 with sum 1, one per example (per example and rival class for many classes), whose combination
        of the y·x is 0.
    """

    status: Literal["separable", "inseparable", "undecided"]
    mistakes: int
    updates: int
    epochs: int
    radius: float
    margin: tuple[float, float]
    mistake_bound: float | None
    separator: tuple[NDArray[Any], Floats] | None = field(repr=False, default=None)
    combination: Floats | None = field(repr=False, default=None)
    counts: NDArray[np.int64] | None = field(repr=False, default=None)

    def verify(self, X: Any, y: Any, fit_intercept: bool = True) -> bool:
        """Re-check the claim on the training data in exact arithmetic; an undecided one claims nothing and is never true."""
        from rosenblatt.theory import exact
        from rosenblatt.theory.problem import make_problem

        if self.separator is not None:
            problem = make_problem(X, y, fit_intercept)
            coef, intercept = self.separator
            weights = np.hstack([coef, intercept[:, None]]) if fit_intercept else coef
            return exact.separates_exactly(problem, exact.to_integers(weights.astype(np.float64).ravel()))
        if self.counts is None:
            return False
        problem = make_problem(X, y, fit_intercept)
        codes = np.searchsorted(problem.classes, np.asarray(y))
        signs = codes if self.counts.ndim == 2 else 2 * codes - 1
        matrix = X if hasattr(X, "tocsr") else np.asarray(X)
        return exact.exact_cycle(matrix, signs, self.counts, fit_intercept) is not None

    def __str__(self) -> str:
        lines = {
            "separable": "separable: the final weights are right on every example",
            "inseparable": "inseparable: the weights came back to earlier ones, and the updates in between add up to exactly 0",
            "undecided": "undecided: the run found neither a separator nor a proof that there is none (ask rosenblatt.certify)",
        }
        text = [lines[self.status], f"{self.mistakes} mistakes, {self.updates} updates, {self.epochs} epochs"]
        low, high = self.margin
        if self.status != "inseparable" and np.isfinite(high):
            text.append(f"the largest margin lies between {low:.4g} and {high:.4g}")
        if self.mistake_bound is not None:
            text.append(f"bound of the theorem: {self.mistake_bound:.6g} (radius {self.radius:.4g})")
        return "\n".join(text)
