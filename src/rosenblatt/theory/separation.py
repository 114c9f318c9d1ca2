"""`certify`: decide whether data are separable, with the cheapest method first, and prove the answer."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rosenblatt.engine.entries import perceptron
from rosenblatt.theory.certificate import Certificate, Proof, inseparable, separable, undecided
from rosenblatt.theory.enclosure import vanishing_combination
from rosenblatt.theory.exact import CHUNK, integer_rows, null_combination, squared_length, to_floats, to_integers
from rosenblatt.theory.geometric import nearest_hulls, with_best_bias
from rosenblatt.theory.nearest import nearest_point
from rosenblatt.theory.nearest_exact import lowest_product, nearest_point_exactly
from rosenblatt.theory.problem import Floats, Integers, Problem, make_problem
from rosenblatt.theory.scaling import Scaled, equilibrated, normalized

# Amount of numbers that the perceptron may read, less than a millisecond's worth, and its least number of epochs. Visiting
# an example takes about the time of this many numbers, whatever its length.
PERCEPTRON_WORK = 500_000
EXAMPLE_WORK = 30
PERCEPTRON_EPOCHS = 20

# Limits of the work in rational arithmetic for the status and for the margin interval (see `nearest_point_exactly`).
STATUS_WORK = 1_000_000_000
MARGIN_WORK = 100_000_000


def certify(
    X: Any,
    y: Any,
    fit_intercept: bool = True,
    tol: float | None = 0.01,
    *,
    problem: str = "stacked",
    geometric: bool = False,
    positive: Any = None,
    max_steps: int = 100_000,
) -> Certificate:
    """Decide whether the data are linearly separable, and prove it.

    The methods, in order: a search for an example with two labels; a short perceptron run; Wolfe's algorithm for the point of
    the convex hull of the y·x nearest to the origin. If this point is not 0 it is the largest-margin separator; if it is 0
    its weights prove that there is none. Results in floating point are checked in exact arithmetic, and what floating point
    leaves open is decided by the same algorithm in rational numbers.

    Parameters
    ----------
    X : array or CSR matrix, shape (n, d)
        The examples. Taken as exact, since every finite float is a rational number.
    y : array, shape (n,)
        The labels: strings, integers or booleans. More than two make a multiclass problem. A single class is taken as
        the positive one (as the negative one if it is −1 or "-").
    fit_intercept : bool, default=True
        Add the bias feature, a constant 1, to every example.
    tol : float or None, default=0.01
        Largest width of the margin interval, as a fraction of its upper end; greater than 0 and less than 1. Smaller values
        take more steps. None: decide the status only.
    problem : {"stacked", "one-vs-rest"}, default="stacked"
        With many classes: whether the true class can have a higher score than every rival (Kesler's construction, as in the
        multiclass perceptron), or whether each class can be separated from the rest. The second implies the first, but not
        the reverse.
    geometric : bool, default=False
        Find the separator with the largest geometric margin, the distance of the nearest example from the hyperplane, as an SVM
        does. By default the bias feature is part of the length, as in the mistake bound. Without `fit_intercept` the two are
        the same. Two classes only.
    positive : label or None, default=None
        The positive one of two classes, on whose side the separator has a score above 0. None: the second in sorted order,
        and + of signs written as text, such as "-" and "+".
    max_steps : int, default=100_000
        Largest number of steps of Wolfe's algorithm; each costs one pass over the data. For the geometric margin, as many
        rounds.

    Returns
    -------
    Certificate

    Examples
    --------
    >>> from rosenblatt.theory import certify
    >>> certificate = certify([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])
    >>> certificate.status, certificate.combination.tolist(), certificate.verify()
    ('inseparable', [0.25, 0.25, 0.25, 0.25], True)
    >>> certify([[1], [3]], [-1, 1], geometric=True).margin
    (1.0, 1.0)
    """
    if tol is not None and not 0 < tol < 1:
        raise ValueError(
            f"`tol` of certify must be between 0 and 1, or None; got {tol}. It is the width of the margin interval."
        )
    if max_steps < 1:
        raise ValueError(f"`max_steps` of certify must be at least 1; got {max_steps}. Large data may need thousands.")
    rows = make_problem(X, y, fit_intercept, problem, positive)
    if geometric and (len(rows.classes) > 2 or (fit_intercept and len(rows.classes) < 2)):
        raise ValueError(
            f"`geometric` of certify must be False unless there are two classes; got True with {len(rows.classes)}. Leave it out."
        )
    pair = _contradiction(rows)
    if pair is not None:
        return inseparable(rows, pair, (1, 1))
    scaled = equilibrated(rows)
    weights = _perceptron_separator(scaled)
    if weights is None:
        found = _decide(scaled, max_steps)
        if isinstance(found, Certificate):
            return found
        weights = found
    if geometric and fit_intercept:
        return _with_geometric_margin(rows, weights, tol, max_steps)
    return _with_margin(rows, weights, tol, max_steps)


def _contradiction(problem: Problem) -> Integers | None:
    """Two opposite rows of an example that occurs with two labels; None if there is no such example."""
    hashes = _hashes(problem.base)
    order = np.lexsort((problem.target, hashes))
    same = hashes[order[1:]] == hashes[order[:-1]]
    differ = problem.target[order[1:]] != problem.target[order[:-1]]
    for k in np.flatnonzero(same & differ).tolist():
        i, j = sorted((int(order[k]), int(order[k + 1])))
        difference = problem.base[[i]] - problem.base[[j]]
        if np.any(difference.data if sp.issparse(difference) else difference):
            continue
        if problem.stacked:
            return np.array([i * problem.blocks + problem.target[j], j * problem.blocks + problem.target[i]])
        block = int(problem.target[i]) if problem.blocks > 1 else 0
        return np.array([i * problem.blocks + block, j * problem.blocks + block])
    return None


def _hashes(base: Any) -> NDArray[np.uint64]:
    """A hash of the non-zeros of each example: equal for equal examples, and almost always different for others."""
    random = np.random.default_rng(0).integers(1, 2**63, size=base.shape[1], dtype=np.uint64) * np.uint64(
        2
    ) + np.uint64(1)
    if sp.issparse(base):
        sums = np.concatenate(
            (np.zeros(1, np.uint64), np.cumsum(_mixed(base.data, random[base.indices]), dtype=np.uint64))
        )
        return np.asarray(sums[base.indptr[1:]] - sums[base.indptr[:-1]])
    step = max(1, CHUNK // base.shape[1])
    parts = [_mixed(base[k : k + step], random).sum(axis=1, dtype=np.uint64) for k in range(0, len(base), step)]
    return np.concatenate(parts)


def _mixed(values: Floats, random: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Hash numbers with the random multipliers of their features; 0 gives 0."""
    mixed = (values + 0.0).view(np.uint64) * random  # adding 0 turns −0 into 0, whose bits are all 0
    mixed = (mixed ^ (mixed >> np.uint64(31))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(29)))


def _perceptron_separator(scaled: Scaled) -> tuple[int, ...] | None:
    """Weights of a short perceptron run, if they separate."""
    problem = scaled.problem
    w = np.zeros((problem.blocks, problem.width))
    rows = problem.arrays()
    work = (rows[0].size + EXAMPLE_WORK * problem.examples) * problem.blocks
    perceptron(rows, min(max(PERCEPTRON_EPOCHS, PERCEPTRON_WORK // work), 100), w)
    return _checked(scaled, w.ravel())


def _checked(scaled: Scaled, w: Floats) -> tuple[int, ...] | None:
    """Weights for the original problem from those of the scaled one, if they separate; else None."""
    scores = scaled.problem.scores(w)
    errors = np.repeat(scaled.problem.score_errors(w), scaled.problem.blocks)
    if (scores < -errors).any() or not w.any():
        return None
    weights = to_integers(w, scaled.weight_exponents)
    if (scores > errors).all() or lowest_product(scaled, weights)[1] > 0:
        return weights
    return None


def _decide(scaled: Scaled, max_steps: int) -> Certificate | tuple[int, ...]:
    """Return a separator, or a certificate of the status "inseparable" or "undecided"."""
    point = nearest_point(scaled.problem, None, max_steps)
    if point.reason == "separated":
        weights = _checked(scaled, point.separator)
        if weights is not None:
            return weights
    corral, original = point.corral, scaled.original
    if point.reason != "out of steps":
        approximately = vanishing_combination(scaled.problem, corral)
        if approximately is not None:
            return inseparable(original, corral, None, _spread(scaled, corral, approximately))
        shares = null_combination(integer_rows(original, corral, scaled.rows, np.zeros_like(scaled.columns)))
        if shares is not None:
            return inseparable(original, corral, scaled.unscaled_shares(corral, shares))
        if len(corral) ** 3 <= STATUS_WORK:
            exactly = nearest_point_exactly(scaled, corral, point.weights, None, STATUS_WORK)
            if exactly.separator is None:
                return inseparable(original, exactly.rows, exactly.weights)
            if exactly.finished:
                return _rounded(scaled, exactly.separator)
            return undecided(original, exactly.rows, exactly.weights)
    return undecided(original, corral, to_integers(point.weights, scaled.rows[corral // original.blocks]))


def _spread(scaled: Scaled, rows: Integers, weights: Floats) -> Floats:
    """Weights of the scaled rows as a combination of the original examples, with sum 1."""
    problem = scaled.original
    powers = scaled.rows[rows // problem.blocks]
    dense = np.zeros(problem.examples * problem.blocks)
    dense[rows] = np.ldexp(weights, powers - powers.max())
    dense /= dense.sum()
    return dense if problem.blocks == 1 else dense.reshape(problem.examples, problem.blocks)


def _rounded(scaled: Scaled, weights: tuple[int, ...]) -> tuple[int, ...]:
    """Round the weights to floats if these separate too, else return them unchanged: short numbers are easier to use."""
    floats = to_integers(to_floats(weights))
    return floats if lowest_product(scaled, floats)[1] > 0 else weights


def _with_margin(problem: Problem, weights: tuple[int, ...], tol: float | None, max_steps: int) -> Certificate:
    """The certificate of a separator with a margin interval of relative width `tol`."""
    scaled = normalized(problem)
    unit = Fraction(2) ** -int(scaled.rows[0])
    candidates = [weights]
    shortest = int(np.argmin(scaled.problem.norms))
    block = int(problem.target[shortest] == 0) if problem.stacked else 0
    rows = np.array([shortest * problem.blocks + block])
    shares: tuple[int, ...] = (1,)

    def best() -> tuple[Fraction, tuple[int, ...]]:
        return max((_squared_margin(scaled, w) * unit**2, w) for w in candidates)

    if tol is not None:
        point = nearest_point(scaled.problem, 0.99 * tol, max_steps)
        rows, shares = point.corral, to_integers(point.weights)
        refined = _checked(scaled, point.separator)
        if refined is not None:
            candidates.append(refined)
        lower, weights = best()
        certificate = separable(problem, weights, rows, shares, lower)
        if _closed(certificate, tol) or len(rows) ** 3 > MARGIN_WORK:
            return certificate
        exactly = nearest_point_exactly(scaled, rows, point.weights, 0.99 * tol, MARGIN_WORK)
        rows, shares = exactly.rows, exactly.weights
        if exactly.separator is not None:
            candidates += [exactly.separator, _rounded(scaled, exactly.separator)]
    lower, weights = best()
    return separable(problem, weights, rows, shares, lower)


def _with_geometric_margin(
    problem: Problem, weights: tuple[int, ...], tol: float | None, max_steps: int
) -> Certificate:
    """The same for the geometric margin."""
    w, rows, shares = nearest_hulls(problem, 0.99 * (tol or 0.5), 1 if tol is None else max_steps)
    found = [with_best_bias(problem, candidate) for candidate in (to_integers(w), weights[:-1])]
    proofs = [Proof(problem, candidate, rows, shares, True) for candidate in found if candidate is not None]
    lower, best = max((proof.lower(), proof.weights) for proof in proofs)
    assert best is not None
    return separable(problem, best, rows, shares, lower, True)


def _squared_margin(scaled: Scaled, weights: tuple[int, ...]) -> Fraction:
    product = lowest_product(scaled, weights)[1]
    return product**2 / squared_length(weights) if product > 0 else Fraction(-1)


def _closed(certificate: Certificate, tol: float) -> bool:
    lower, upper = certificate.margin
    return math.isfinite(upper) and upper - lower <= tol * upper
