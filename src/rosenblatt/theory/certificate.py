"""A certificate: whether a data set is separable, and a proof that anyone can check again."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rosenblatt.theory import exact
from rosenblatt.theory.problem import Floats, Integers, Problem, make_problem
from rosenblatt.theory.scaling import equilibrated


@dataclass(frozen=True, eq=False)
class Proof:
    """The exact numbers behind a certificate.

    Attributes
    ----------
    problem : Problem
        The rows z, as given.
    weights : tuple of int or None
        A separator, up to a positive factor: ⟨z, w⟩ > 0 for every row.
    rows : ndarray of int64
        The rows of a convex combination.
    given_shares : tuple of int or None
        Its weights, up to a positive factor. Its length bounds the margin from above; if it is 0 there is no separator.
        None if they are proved to exist and to be positive (see `enclosure`) but have not been computed yet.
    geometric : bool
        Whether the length of weights is that of the features alone, without the bias.
    """

    problem: Problem
    weights: tuple[int, ...] | None
    rows: Integers
    given_shares: tuple[int, ...] | None
    geometric: bool = False

    @cached_property
    def shares(self) -> tuple[int, ...]:
        """The weights of the combination; if they were not given, they are computed on first use."""
        if self.given_shares is not None:
            return self.given_shares
        scaled = equilibrated(self.problem)
        found = exact.null_combination(exact.integer_rows(self.problem, self.rows, scaled.rows, 0 * scaled.columns))
        if found is None:  # only possible if the data were changed
            return (0,) * len(self.rows)
        return scaled.unscaled_shares(self.rows, found)

    def lower(self) -> Fraction:
        """The square of the separator's margin."""
        return self._squared_margin(self.geometric)

    def with_bias(self) -> Fraction:
        """The square of the separator's margin with the bias feature, which the mistake bound needs."""
        return self._squared_margin(False)

    def _squared_margin(self, geometric: bool) -> Fraction:
        if self.weights is None:
            return Fraction(0)
        length = self.weights[:-1] if geometric and self.problem.fit_intercept else self.weights
        if not any(length):
            return Fraction(0)
        return exact.lowest_exactly(self.problem, self.weights) ** 2 / exact.squared_length(length)

    def upper(self) -> Fraction:
        """The square of the combination's length."""
        whole, exponent = exact.combine_exactly(self.problem, self.rows, self.shares)
        return exact.squared_length(whole) * Fraction(4) ** exponent / sum(self.shares) ** 2

    def bounds_the_margin(self) -> bool:
        """Whether the combination bounds the margin from above: without the length of the bias, only if its bias is 0."""
        if not (self.geometric and self.problem.fit_intercept):
            return True
        return exact.combine_exactly(self.problem, self.rows, self.shares)[0][-1] == 0


@dataclass(frozen=True, eq=False)
class Certificate:
    """Whether the data are separable, the margin, and the proof.

    Attributes
    ----------
    status : {"separable", "inseparable", "undecided"}
        The proved result.
    problem : str
        The problem in words: two classes, many classes stacked (Kesler), or each class against the rest; with or without
        bias.
    margin : tuple of float
        An interval that contains the largest margin of any unit-length separator, bias feature included unless `geometric`. The
        lower end is the margin of `separator`, the upper end the length of a convex combination of the rows y·x.
        No margin is positive on inseparable data: there the upper end is 0.
    radius : float
        The largest ‖x‖, bias feature included.
    mistake_bound : float or None
        Upper bound on the mistakes of a perceptron with zero starting weights and unit steps on this data, in any order and
        for any number of passes: (R/γ)², or 2(R/γ)² for many classes, with the margin of `separator`, bias feature included. For
        one class against the rest it bounds the total of all learners. None unless the data are separable.
    separator : tuple of ndarray or None
        ``(coef, intercept)`` in the shapes of scikit-learn, (1 or K, d) and (1 or K,); the positive class is
        ``classes[1]``. They are the exact weights of the proof, rounded to floats; in most cases the two are equal.
    combination : ndarray or None
        Weights λ ≥ 0 with sum 1 whose combination of the rows y·x is exactly 0, as floats: one per example, or one per
        example and class. The proof keeps the exact integers.
    classes : ndarray
        The labels, in the order of the columns of `combination` and the rows of `coef`.
    fit_intercept : bool
        Whether there is a bias feature.
    proof : Proof or None
        The exact numbers and the data.
    geometric : bool
        Whether `margin` is the distance of the nearest example from the hyperplane, without the bias feature, as in an SVM.
    """

    status: Literal["separable", "inseparable", "undecided"]
    problem: str
    margin: tuple[float, float]
    radius: float
    mistake_bound: float | None
    separator: tuple[Floats, Floats] | None
    combination: Floats | None
    classes: NDArray[Any]
    fit_intercept: bool
    proof: Proof | None = field(repr=False)
    geometric: bool = False

    def verify(self, X: Any = None, y: Any = None) -> bool:
        """Check every claim again in exact integer arithmetic.

        Parameters
        ----------
        X, y : array or CSR matrix, and array, optional
            The data to check against; by default the copy that the certificate keeps.

        Returns
        -------
        bool
            True if the claims hold. False for an undecided certificate, which claims nothing.
        """
        proof = self.proof
        if proof is None or self.status == "undecided":
            return False
        if X is not None:
            kind = "stacked" if proof.problem.stacked else "one-vs-rest"
            if set(np.unique(np.asarray(y)).tolist()) != set(self.classes.tolist()):
                return False
            positive = self.classes[1] if len(self.classes) == 2 else None
            given = make_problem(X, y, self.fit_intercept, kind, positive)
            same_shape = given.base.shape == proof.problem.base.shape and given.stacked == proof.problem.stacked
            if not (same_shape and np.array_equal(given.classes, self.classes)):
                return False
            proof = Proof(given, proof.weights, proof.rows, proof.shares, proof.geometric)
        if proof.geometric != self.geometric:
            return False
        radius = exact.squared_radius(proof.problem)
        if not _at_least(self.radius, radius):
            return False
        return self._verify_separator(proof, radius) if self.status == "separable" else self._verify_combination(proof)

    def _verify_separator(self, proof: Proof, radius: Fraction) -> bool:
        lower, upper = self.margin
        if (
            self.separator is None
            or self.mistake_bound is None
            or self.combination is not None
            or proof.weights is None
        ):
            return False
        if not exact.separates_exactly(proof.problem, proof.weights):
            return False
        coef, intercept = _as_separator(proof.problem, proof.weights)
        if not (np.array_equal(coef, self.separator[0]) and np.array_equal(intercept, self.separator[1])):
            return False
        if not 0 <= lower <= upper or Fraction(lower) ** 2 > proof.lower() or not _at_least(upper, proof.upper()):
            return False
        if not proof.bounds_the_margin():
            return False
        square = proof.with_bias() if self.geometric else Fraction(lower) ** 2
        return _at_least(self.mistake_bound, None if square == 0 else _factor(proof.problem) * radius / square, 1)

    def _verify_combination(self, proof: Proof) -> bool:
        lower, upper = self.margin
        if self.combination is None or self.separator is not None or self.mistake_bound is not None:
            return False
        if not exact.combination_vanishes(proof.problem, proof.rows, proof.shares):
            return False
        exactly = _as_combination(proof)
        if exactly.shape != self.combination.shape or np.abs(exactly - self.combination).max() > 1e-9:
            return False
        return upper >= 0 and lower <= -self.radius

    def __str__(self) -> str:
        lower, upper = self.margin
        examples = f"{len(self.proof.problem.target):,} examples" if self.proof is not None else "the examples"
        lines = [f"{self.status}: {self.problem}", f"  radius    {self.radius:.6g}"]
        if self.status == "separable":
            gap = f" (gap {(upper - lower) / upper:.2g} of it)" if 0 < upper < math.inf else ""
            lines += [
                f"  margin    {lower:.6g} to {upper:.6g}{self._space()}{gap}",
                f"  mistakes  at most {self.mistake_bound:.6g} for a perceptron from zero weights, in any order",
                f"  proof     weights with a positive margin on all of {examples}",
            ]
        elif self.status == "inseparable":
            used = len(self.proof.rows) if self.proof is not None else 0
            lines += [
                "  margin    none is positive",
                f"  proof     {used} positive weights on {examples} that combine y·x to exactly 0",
            ]
        else:
            lines += [
                f"  margin    {lower:.6g} to {upper:.6g}{self._space()}",
                "  proof     none: neither a separator nor a combination was found",
            ]
        return "\n".join(lines)

    def _space(self) -> str:
        """In which space the margin is measured; with a bias the two differ."""
        if not self.fit_intercept:
            return ""
        return ", geometric" if self.geometric else ", with the bias feature"


def _factor(problem: Problem) -> int:
    """Factor of the mistake bound: Kesler's rows are √2 times as long as the examples."""
    return 2 if problem.stacked else 1


def _at_least(number: float, exactly: Fraction | None, power: int = 2) -> bool:
    """Whether number**power ≥ exactly; None means infinity."""
    if math.isnan(number) or number < 0:
        return False
    if math.isinf(number):
        return True
    return exactly is not None and Fraction(number) ** power >= exactly


def _float_above(number: Fraction) -> float:
    try:
        guess = float(number)
    except OverflowError:
        return math.inf
    return guess if Fraction(guess) >= number else math.nextafter(guess, math.inf)


def _as_separator(problem: Problem, weights: tuple[int, ...]) -> tuple[Floats, Floats]:
    matrix = exact.to_floats(weights).reshape(problem.blocks, problem.width)
    if problem.fit_intercept:
        return matrix[:, :-1].copy(), matrix[:, -1].copy()
    return matrix, np.zeros(problem.blocks)


def _as_combination(proof: Proof) -> Floats:
    problem = proof.problem
    dense = np.zeros(problem.examples * problem.blocks)
    total = sum(proof.shares)
    for row, share in zip(proof.rows.tolist(), proof.shares):
        dense[row] += float(Fraction(share, total))
    return dense if problem.blocks == 1 else dense.reshape(problem.examples, problem.blocks)


def separable(
    problem: Problem,
    weights: tuple[int, ...],
    rows: Integers,
    shares: tuple[int, ...],
    lower: Fraction,
    geometric: bool = False,
) -> Certificate:
    """Make the certificate of a separator; `lower` is the square of its margin."""
    proof = Proof(problem, weights, rows, shares, geometric)
    radius = exact.largest_square(problem)
    interval = (exact.root_below(lower), exact.root_above(proof.upper()))
    square = proof.with_bias() if geometric else Fraction(interval[0]) ** 2
    bound = _float_above(_factor(problem) * radius / square) if square > 0 else math.inf
    return Certificate(
        "separable",
        problem.name,
        interval,
        exact.root_above(radius),
        bound,
        _as_separator(problem, weights),
        None,
        problem.classes,
        problem.fit_intercept,
        proof,
        geometric,
    )


def inseparable(
    problem: Problem, rows: Integers, shares: tuple[int, ...] | None, combination: Floats | None = None
) -> Certificate:
    """Make the certificate of a combination that is 0; without exact shares, of one that is proved to exist."""
    if shares is not None:
        used = [k for k, share in enumerate(shares) if share]
        rows, shares = rows[used], tuple(shares[k] for k in used)
    proof = Proof(problem, None, rows, shares)
    radius = exact.root_above(exact.largest_square(problem))
    return Certificate(
        "inseparable",
        problem.name,
        (-radius * math.sqrt(_factor(problem)) * (1 + 1e-15) if radius else 0.0, 0.0),
        radius,
        None,
        None,
        _as_combination(proof) if combination is None else combination,
        problem.classes,
        problem.fit_intercept,
        proof,
    )


def undecided(problem: Problem, rows: Integers, shares: tuple[int, ...]) -> Certificate:
    """Make the certificate of an undecided problem, with the known bounds."""
    proof = Proof(problem, None, rows, shares)
    radius = exact.root_above(exact.largest_square(problem))
    return Certificate(
        "undecided",
        problem.name,
        (-radius * math.sqrt(_factor(problem)) * (1 + 1e-15), exact.root_above(proof.upper())),
        radius,
        None,
        None,
        None,
        problem.classes,
        problem.fit_intercept,
        proof,
    )
