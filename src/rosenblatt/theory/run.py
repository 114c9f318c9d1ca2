"""The certificate that a training run gives at no extra cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rosenblatt.model.scores import is_label

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RunCertificate:
    """Result of a training run of a linear learner about the separability of its data.

    Attributes
    ----------
    status : {"separable", "inseparable", "undecided"}
        Separable: the final weights classify every example correctly, without ties. Inseparable: the weights returned to earlier
        ones, and the updates in between add up to exactly 0. Undecided: neither happened; use `rosenblatt.certify`.
    mistakes, updates, epochs : int
        Numbers of mistakes, updates and epochs.
    radius : float
        The largest ‖x‖, bias feature included, among the examples that caused updates; the proof needs only these.
    margin : tuple of float
        An interval that contains the largest margin of any separator, bias feature included. Lower end: the margin of the final
        weights if they separate, else 0. Upper end: ‖w - w₀‖ over the sum of the steps, the length of a convex combination of
        the y·x (infinity if the rule or the scheme does not take such steps).
    mistake_bound : float or None
        The theorem's bound on the mistakes (for a rule with a margin on the updates) of this run; None unless a separator is
        known and the theorem applies: constant steps, no sample or class weights.
    separator : tuple of ndarray or None
        (coef, intercept) of the final weights if they separate.
    combination : ndarray or None
        Weights λ ≥ 0 with sum 1, one per example (per example and rival class for many classes), whose combination
        of the y·x is 0.
    positive : label or None
        The positive class of two.
    penalized : bool
        Whether the rule had a penalty, so that no bound is claimed.
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
    positive: Any = field(repr=False, default=None)
    penalized: bool = field(repr=False, default=False)

    def verify(self, X: Any, y: Any, fit_intercept: bool = True) -> bool:
        """Check the claim again on the training data in exact arithmetic; False for an undecided one, which claims nothing."""
        from rosenblatt.theory import exact
        from rosenblatt.theory.problem import make_problem

        if self.separator is None and self.counts is None:
            return False
        if self.positive is not None and not any(is_label(label, self.positive) for label in np.unique(np.asarray(y))):
            return False  # other labels than those of the run
        problem = make_problem(X, y, fit_intercept, positive=self.positive)
        if self.separator is not None:
            coef, intercept = self.separator
            weights = np.hstack([coef, intercept[:, None]]) if fit_intercept else coef
            return exact.separates_exactly(problem, exact.to_integers(weights.astype(np.float64).ravel()))
        assert self.counts is not None
        signs = problem.target if self.counts.ndim == 2 else 1 - 2 * problem.target
        matrix = X if hasattr(X, "tocsr") else np.asarray(X)
        return exact.exact_cycle(matrix, signs, self.counts, fit_intercept) is not None

    def __str__(self) -> str:
        lines = {
            "separable": "separable: the final weights classify every example correctly",
            "inseparable": "inseparable: the weights returned to earlier values, and the updates in between add up to exactly 0",
            "undecided": "undecided: the run found neither a separator nor a proof that there is none (use rosenblatt.certify)",
        }
        text = [lines[self.status], f"{self.mistakes} mistakes, {self.updates} updates, {self.epochs} epochs"]
        low, high = self.margin
        if self.status != "inseparable" and np.isfinite(high):
            text.append(f"the largest margin of the theorem is between {low:.4g} and {high:.4g}")
        if self.mistake_bound is not None:
            text.append(f"bound of the theorem: {self.mistake_bound:.6g} (radius {self.radius:.4g})")
        if self.penalized:
            text.append("no bound is claimed: the theorem is about a rule without a penalty")
        return "\n".join(text)
