"""Bounds on the mistakes of Winnow, and of both learners on the committee problem."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from rosenblatt.theory.bounds._checks import check, check_margin


def entropy(u: ArrayLike) -> float:
    """Entropy in nats of a comparator on the simplex.

    Parameters
    ----------
    u : array
        Non-negative numbers with sum 1.

    Returns
    -------
    float

    Examples
    --------
    >>> round(entropy([0.5, 0.5, 0]), 4)
    0.6931
    """
    p = np.asarray(u, dtype=np.float64)
    if p.ndim != 1 or p.size == 0 or not (p >= 0).all() or not math.isclose(float(p.sum()), 1.0, rel_tol=1e-9):
        raise ValueError(
            f"`u` must be non-negative with sum 1; got sum {float(p.sum()) if p.size else 0.0}. Divide it by its sum."
        )
    some = p[p > 0]
    return max(0.0, -float((some * np.log(some)).sum()))


def winnow(features: int, margin: float, rate: float, entropy: float = 0.0) -> float:
    """Mistakes of Winnow if every xⱼ is in [-1, 1]: M ≤ (ln p − H(u)) / (ηγ − ln cosh η).

    The relative entropy from u to the normalised weights starts at ln p − H(u) and never falls below 0. By convexity
    of exp, a mistake lowers it by at least ηγ − ln cosh η.

    Parameters
    ----------
    features : int
        p, at least 1.
    margin : float
        γ, between 0 and 1: the smallest y⟨u, x⟩ for a u on the simplex.
    rate : float
        η, greater than 0 and small enough that ηγ > ln cosh η; η = γ is always allowed.
    entropy : float, default=0.0
        H(u), from 0 to ln p. The more uniform u, the fewer mistakes.

    Returns
    -------
    float

    Examples
    --------
    >>> round(winnow(1000, margin=0.2, rate=0.2), 1)
    343.1
    """
    p = check("features", features, 1, "It counts the features.", strict=False)
    gamma, eta = check_margin(margin), check("rate", rate, 0, "It is the learning rate.")
    h = check("entropy", entropy, 0, "Use `entropy(u)`.", strict=False)
    if h > math.log(p) * (1 + 1e-12):
        raise ValueError(f"`entropy` must be at most ln p = {math.log(p):g}; got {entropy}. Use `entropy(u)` in nats.")
    # ln cosh η without overflow
    gain = eta * gamma - (eta + math.log1p(math.exp(-2 * eta)) - math.log(2))
    if gain <= 0:
        raise ValueError(
            f"`rate` must make ηγ greater than ln cosh η; got η = {rate}, γ = {margin}. Lower it; η = γ always works."
        )
    return max(0.0, math.log(p) - h) / gain


def winnow_tuned(features: int, margin: float) -> float:
    """Mistakes of Winnow with η = γ: M ≤ 2 ln p / γ².

    From `winnow` with ln cosh η ≤ η²/2, and H(u) ≥ 0.
    Only the logarithm of the number of features enters.

    Parameters
    ----------
    features : int
        p, at least 1.
    margin : float
        γ, greater than 0.

    Returns
    -------
    float

    Examples
    --------
    >>> round(winnow_tuned(1000, 0.2), 1)
    345.4
    """
    return (
        2
        * math.log(check("features", features, 1, "It counts the features.", strict=False))
        / check_margin(margin) ** 2
    )


def _check_committee(experts: int, panel: int) -> tuple[int, int]:
    if not (0 < panel <= experts) or panel % 2 == 0:
        raise ValueError(f"`panel` must be odd and at most `experts`; got {panel} of {experts}. An even panel can tie.")
    return experts, panel


def committee_perceptron(experts: int, panel: int) -> float:
    """Mistakes of the perceptron on the committee problem: M ≤ pk.

    The indicator of the panel has length √k and is right by at least one vote; every example has length √p.
    The bound is that of Block and Novikoff with R = √p and γ = 1/√k.

    Parameters
    ----------
    experts : int
        p, the number of experts.
    panel : int
        k, odd: the number of experts on the panel, whose majority decides.

    Returns
    -------
    float

    Examples
    --------
    >>> committee_perceptron(1000, 5)
    5000.0
    """
    p, k = _check_committee(experts, panel)
    return float(p * k)


def committee_winnow(experts: int, panel: int) -> float:
    """Mistakes of Winnow with η = 1/k on the committee problem: M ≤ 2k² ln(p/k).

    The uniform weights on the panel have margin 1/k and entropy ln k;
    inserting them into `winnow` and using ln cosh η ≤ η²/2 gives the bound.

    Parameters
    ----------
    experts : int
        p, the number of experts. Only its logarithm enters.
    panel : int
        k, odd.

    Returns
    -------
    float

    Examples
    --------
    >>> round(committee_winnow(1000, 5), 1)
    264.9
    """
    p, k = _check_committee(experts, panel)
    return 2 * k * k * math.log(p / k)
