"""The largest margin of weights on the simplex, which the bound of Winnow needs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rosenblatt.theory.bounds import winnow


def winnow_bound(X: Any, positive: Any, rate: float, balanced: bool, fit_intercept: bool) -> dict[str, float | None]:
    """The bound on the mistakes of Winnow from equal weights, for examples of two classes.

    Examples with numbers of up to R in absolute value and rate η are examples in [-1, 1] with rate ηR.

    Parameters
    ----------
    X : array of shape (n, d)
        Examples.
    positive : array of shape (n,)
        Whether the class of each example is the second one.
    rate : float
        η.
    balanced : bool
        Whether there is a second set of features -x.
    fit_intercept : bool
        Whether there is a constant feature 1.

    Returns
    -------
    dict
        `margin` γ of the best u on the simplex, None if no such u separates the examples; `largest` R; `features` p;
        `bound` on the mistakes, None if there is none for this rate.
    """
    rows = np.hstack([np.ones((len(X), 1)), X]) if fit_intercept else np.asarray(X, dtype=np.float64)
    if balanced:
        rows = np.hstack([rows, -rows])
    largest, features = float(np.abs(rows).max()), rows.shape[1]
    margin = simplex_margin(np.where(positive, 1.0, -1.0)[:, None] * rows)
    bound = None
    if margin is not None and rate * margin > _log_cosh(rate * largest):
        bound = winnow(features, margin / largest, rate * largest)
    return {"margin": margin, "largest": largest, "features": features, "bound": bound}


def _log_cosh(value: float) -> float:
    return value + math.log1p(math.exp(-2.0 * value)) - math.log(2.0)


def simplex_margin(rows: Any) -> float | None:
    """Largest γ with ⟨u, row⟩ ≥ γ for all rows and one u ≥ 0 with sum 1; None if it is not greater than 0."""
    from scipy.optimize import linprog

    # u / γ is the smallest v ≥ 0 with ⟨v, row⟩ ≥ 1 for all rows.
    found = linprog(np.ones(rows.shape[1]), A_ub=-rows, b_ub=-np.ones(len(rows)), method="highs")
    return 1.0 / float(found.fun) if found.success else None
