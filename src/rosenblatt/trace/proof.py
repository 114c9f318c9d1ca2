"""The two sides of the perceptron's proof for a run: kγ ≤ ⟨w, u⟩ ≤ ‖w‖ ≤ √k·R."""

import dataclasses
import math
from typing import Any

import numpy as np

from rosenblatt.theory.bounds import Squeeze, from_starting_weights, margin_rule_updates
from rosenblatt.theory.margins import margin, radius

from .steps import Comparator, Floats

LARGEST_SEARCH = 200_000
"""Limit on the size of the data up to which "auto" searches for a separator."""


@dataclasses.dataclass(frozen=True)
class Proof:
    """The squeeze of a run by a rule that moves by `rate` if y·s ≤ `threshold`.

    From weights w₀ it is ⟨w₀, u⟩ + kηγ ≤ ⟨w, u⟩ ≤ ‖w‖ ≤ √(‖w₀‖² + k(η²R² + 2ηb)).
    """

    comparator: Comparator
    start: Floats
    rate: float = 1.0
    threshold: float = 0.0

    def squeeze(self, updates: int, weights: Floats) -> Squeeze:
        """The four numbers after this number of updates."""
        u, eta = self.comparator.weights, self.rate
        growth = (eta * self.comparator.radius) ** 2 + 2.0 * eta * self.threshold
        return Squeeze(
            float(np.vdot(self.start, u)) + updates * eta * self.comparator.margin,
            float(np.vdot(weights, u)),
            float(np.linalg.norm(weights)),
            math.sqrt(float(np.vdot(self.start, self.start)) + updates * growth),
        )

    @property
    def formula(self) -> str:
        """The squeeze as a formula."""
        if self.start.any() or self.rate != 1.0 or self.threshold:
            eta, eta2 = ("", "") if self.rate == 1.0 else ("η", "η²")
            high = f"k({eta2}R² + 2{eta}b)" if self.threshold else f"k{eta2}R²"
            if self.start.any():
                return f"⟨w₀,u⟩ + k{eta}γ ≤ ⟨w,u⟩ ≤ ‖w‖ ≤ √(‖w₀‖² + {high})"
            return f"k{eta}γ ≤ ⟨w,u⟩ ≤ ‖w‖ ≤ √({high})"
        return "kγ ≤ ⟨w,u⟩ ≤ ‖w‖ ≤ √k·R"

    @property
    def bound(self) -> float | None:
        """Upper bound on the number of updates; None if no theorem of the library applies to the run."""
        known = self.comparator
        if not self.start.any():
            return margin_rule_updates(known.radius, known.margin, self.threshold, self.rate)
        if self.threshold:
            return None
        return from_starting_weights(known.radius, known.margin, float(np.linalg.norm(self.start)), self.rate)


def find_comparator(X: Any, y: Any, fit_intercept: bool, wanted: Any, positive: Any = None) -> Comparator | None:
    """The separator u of the squeeze: the given one, or that of a certificate; None if there is none."""
    classes = len(np.unique(y))
    vectors = 1 if classes <= 2 else classes
    if wanted is None:
        return None
    if isinstance(wanted, str):
        if wanted != "auto":
            raise ValueError(
                f"`comparator` of trace must be 'auto', None or the weights of a separator, bias first; got {wanted!r}. "
                "'auto' searches for a separator."
            )
        return _certified(X, y, fit_intercept, positive)
    u = np.atleast_2d(np.asarray(wanted, dtype=np.float64))
    width = X.shape[1] + fit_intercept
    if u.shape != (vectors, width) or not np.isfinite(u).all():
        raise ValueError(
            f"`comparator` of trace must hold {vectors} × {width} finite weights, the bias first; got the shape {u.shape}. "
            "Leave it out to search for a separator."
        )
    coef, intercept = (u[:, 1:], u[:, 0]) if fit_intercept else (u, None)
    reached = margin(coef, X, y, intercept, positive=positive)
    if reached <= 0:
        raise ValueError(
            f"`comparator` of trace must separate the examples, with a margin greater than 0; got the margin {reached:g}. "
            "Use 'auto' to search for a separator, or None for no comparator."
        )
    return _comparator(u, reached, radius(X, fit_intercept))


def _certified(X: Any, y: Any, fit_intercept: bool, positive: Any) -> Comparator | None:
    from rosenblatt.theory import certify

    numbers = X.nnz if hasattr(X, "nnz") else X.size
    if numbers > LARGEST_SEARCH:
        return None
    certificate = certify(X, y, fit_intercept=fit_intercept, positive=positive, max_steps=1000)
    if certificate.separator is None or certificate.margin[0] <= 0:
        return None
    coef, intercept = certificate.separator
    u = np.hstack([intercept[:, None], coef]) if fit_intercept else coef
    return _comparator(u, certificate.margin[0], certificate.radius)


def _comparator(u: Floats, reached: float, longest: float) -> Comparator:
    if len(u) > 1:
        longest *= math.sqrt(2.0)
    return Comparator(u / np.linalg.norm(u), reached, longest)
