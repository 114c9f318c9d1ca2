"""Bounds on the mistakes of rules that add multiples of y·x."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rosenblatt.theory.bounds._checks import check, check_margin, check_radius
from rosenblatt.theory.margins import margin as _margin
from rosenblatt.theory.margins import radius as _radius
from rosenblatt.theory.problem import make_problem


def radius_and_margin(X: Any, y: Any, w: ArrayLike, intercept: ArrayLike | None = None) -> tuple[float, float]:
    """R and γ of data and a comparator.

    Parameters
    ----------
    X : array or CSR matrix, shape (n, d)
        The examples.
    y : array, shape (n,)
        Their labels, two or more.
    w : array, shape (d,) or (K, d)
        The comparator, of any length.
    intercept : float or array, optional
        Its bias; if given, the bias feature is counted in R and γ.

    Returns
    -------
    tuple of float
        (R, γ). γ is negative if the comparator does not separate the data.

    Examples
    --------
    >>> block_novikoff(*radius_and_margin([[4, 3], [-3, 4]], [1, -1], [1, 0]))
    2.777777777777778
    """
    return _radius(X, fit_intercept=intercept is not None), _margin(w, X, y, intercept)


def block_novikoff(radius: float, margin: float) -> float:
    """Mistakes of the perceptron on separable data: M ≤ (R/γ)².

    Each mistake adds at least γ to ⟨w, u⟩ and at most R² to ‖w‖², because the added y·x does not point along w.
    So Mγ ≤ ⟨w, u⟩ ≤ ‖w‖ ≤ √M·R. (Block 1962; Novikoff 1962.)

    Parameters
    ----------
    radius : float
        R, at least 0.
    margin : float
        γ, greater than 0. A larger margin lowers the bound.

    Returns
    -------
    float

    Examples
    --------
    >>> block_novikoff(1, 0.1)
    100.0
    """
    return float((check_radius(radius) / check_margin(margin)) ** 2)


def from_starting_weights(radius: float, margin: float, start_norm: float, rate: float = 1.0) -> float:
    """Mistakes from starting weights w₀ at rate η: M ≤ R²/γ² + 2‖w₀‖/(ηγ).

    As Block and Novikoff, but ⟨w, u⟩ starts as low as −‖w₀‖ and ‖w‖² at ‖w₀‖²;
    squaring Mηγ − ‖w₀‖ ≤ √(‖w₀‖² + Mη²R²) gives the bound.

    Parameters
    ----------
    radius : float
        R, at least 0.
    margin : float
        γ, greater than 0.
    start_norm : float
        ‖w₀‖, at least 0. Longer starting weights may cause more mistakes.
    rate : float, default=1.0
        η, greater than 0. A larger rate reduces the effect of the starting weights sooner.

    Returns
    -------
    float

    Examples
    --------
    >>> from_starting_weights(1, 0.5, start_norm=2)
    12.0
    """
    start = check("start_norm", start_norm, 0, "It is the length of the starting weights.", strict=False)
    eta = check("rate", rate, 0, "It is the learning rate.")
    return block_novikoff(radius, margin) + 2 * start / (eta * margin)


def hinge_deviation(u: ArrayLike, X: Any, y: Any, margin: float, intercept: ArrayLike | None = None) -> float:
    """D of a comparator: the root of Σ max(0, γ − y⟨u, x⟩)² over one pass, u scaled to length 1.

    Parameters
    ----------
    u : array, shape (d,)
        The comparator, of any length; it need not separate the data.
    X : array or CSR matrix, shape (n, d)
        The examples of the pass.
    y : array, shape (n,)
        Their labels, two classes.
    margin : float
        γ, greater than 0: the required margin.
    intercept : float, optional
        The comparator's bias.

    Returns
    -------
    float

    Examples
    --------
    >>> hinge_deviation([1, 0], [[1, 0], [-2, 0]], [1, 1], margin=1)
    3.0
    """
    problem = make_problem(X, y, fit_intercept=intercept is not None)
    if problem.blocks != 1:
        raise ValueError(
            f"`y` must hold at most two classes; got {problem.blocks}. The bound is for one weight vector."
        )
    full = np.concatenate([np.ravel(u), [] if intercept is None else np.ravel(intercept)]).astype(np.float64)
    length = float(np.linalg.norm(full))
    if full.shape != (problem.width,) or length == 0:
        raise ValueError(
            f"`u` must have {problem.width} weights (bias included), not all 0; got {full.size}. Pass a direction."
        )
    return float(np.linalg.norm(np.maximum(0.0, check_margin(margin) - problem.scores(full / length))))


def not_separable(radius: float, margin: float, deviation: float) -> float:
    """Mistakes in one pass over data that need not be separable: M ≤ ((R + D)/γ)².

    Give example i an extra feature, Δ on row i: a comparator that uses it separates the extended examples.
    The mistakes stay the same, and the best Δ gives the bound, for every unit u and γ. (Freund and Schapire 1999,
    theorem 2.)

    Parameters
    ----------
    radius : float
        R, at least 0.
    margin : float
        γ, greater than 0; the bound holds for every value.
    deviation : float
        D from `hinge_deviation` for the same γ; 0 gives Block and Novikoff.

    Returns
    -------
    float

    Examples
    --------
    >>> not_separable(1, 0.5, deviation=1)
    16.0
    """
    d = check("deviation", deviation, 0, "It comes from `hinge_deviation`.", strict=False)
    return block_novikoff(check_radius(radius) + d, margin)


def _beta(threshold: float, rate: float) -> float:
    b = check("threshold", threshold, 0, "The rule updates when y·s is at most this.", strict=False)
    return b / check("rate", rate, 0, "It is the learning rate.")


def margin_rule_updates(radius: float, margin: float, threshold: float, rate: float = 1.0) -> float:
    """Updates of the rule "update when y·s ≤ b": at most (R² + 2β)/γ² with β = b/η.

    An update adds at most η²R² + 2ηb to ‖w‖² and at least ηγ to ⟨w, u⟩; the bound follows by comparing the two.
    There are at least as many updates as mistakes.

    Parameters
    ----------
    radius : float
        R, at least 0.
    margin : float
        γ, greater than 0.
    threshold : float
        b, at least 0. A larger value causes more updates and a larger final margin.
    rate : float, default=1.0
        η, greater than 0.

    Returns
    -------
    float

    Examples
    --------
    >>> margin_rule_updates(1, 0.5, threshold=1)
    12.0
    """
    beta = _beta(threshold, rate)
    return (check_radius(radius) ** 2 + 2 * beta) / check_margin(margin) ** 2


def margin_rule_margin(radius: float, margin: float, threshold: float, rate: float = 1.0) -> float:
    """Margin of the final weights of that rule, when it makes no more updates: at least βγ/(R² + 2β).

    At the end every y·s exceeds b, and ‖w‖ ≤ η(R² + 2β)/γ by the bound on the updates.
    As β grows this tends to half of γ.

    Parameters
    ----------
    radius : float
        R, at least 0 and not 0 together with the threshold.
    margin : float
        γ, greater than 0.
    threshold : float
        b, at least 0. A larger value gives a larger margin.
    rate : float, default=1.0
        η, greater than 0.

    Returns
    -------
    float

    Examples
    --------
    >>> margin_rule_margin(1, 0.5, threshold=2)
    0.2
    """
    beta = _beta(threshold, rate)
    reach = check_radius(radius) ** 2 + 2 * beta
    return beta * check_margin(margin) / reach if reach else 0.0


def multiclass(radius: float, margin: float) -> float:
    """Mistakes of the multiclass perceptron (`max`, `uniform`, `proportional`): M ≤ 2(R/γ)².

    A mistake adds x to one block and subtracts it, in parts with sum 1, from blocks that score no less: the step is at
    most √2·R long, does not point along w, and gains γ along the stacked unit comparator. Does not hold for `all`.
    (Crammer and Singer 2003.)

    Parameters
    ----------
    radius : float
        R, at least 0.
    margin : float
        γ, greater than 0: the smallest lead of the true class, for stacked weights of length 1.

    Returns
    -------
    float

    Examples
    --------
    >>> multiclass(1, 0.5)
    8.0
    """
    return 2 * block_novikoff(radius, margin)


def parameter_mixing(radius: float, margin: float) -> float:
    """Weighted mistakes of iterative parameter mixing over all epochs: Σ over epochs of Σ μᵢkᵢ ≤ (R/γ)².

    Averaging the weights of the shards averages ⟨w, u⟩ and, by convexity, ‖w‖² grows by at most the average. The proof of
    Block and Novikoff therefore holds for the mixture, where the kᵢ mistakes of shard i have the weight μᵢ. (McDonald,
    Hall and Mann 2010.)

    Parameters
    ----------
    radius : float
        R over all shards, at least 0.
    margin : float
        γ over all shards, greater than 0.

    Returns
    -------
    float

    Examples
    --------
    >>> parameter_mixing(1, 0.25)
    16.0
    """
    return block_novikoff(radius, margin)
