"""Mistakes as a function of the margin: the smaller the margin, the more mistakes until convergence."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rosenblatt.theory.bounds import block_novikoff

from ._checks import check_count

Floats = NDArray[np.float64]


def separable_examples(
    margin: float, examples: int = 500, features: int = 10, random_state: int = 0
) -> tuple[Floats, NDArray[np.int64], Floats]:
    """Generate points on the unit sphere that a random direction u separates with exactly the given margin.

    Parameters
    ----------
    margin : float
        γ, between 0 and 1: the smallest y·⟨u, x⟩. Two points, one of each class, reach it.
    examples : int, default=500
        Number of points, at least 2.
    features : int, default=10
        Number of dimensions, at least 2.
    random_state : int, default=0
        Seed.

    Returns
    -------
    X : array of shape (examples, features)
    y : array of shape (examples,)
        -1 and +1.
    u : array of shape (features,)
        The separator, of length 1.
    """
    if not 0.0 < margin < 1.0:
        raise ValueError(f"`margin` must be between 0 and 1; got {margin!r}. All points have length 1.")
    count = check_count("examples", examples, "Each class needs one point.", least=2)
    width = check_count("features", features, "In one dimension there is only one margin.", least=2)
    rng = np.random.default_rng(random_state)
    u = rng.normal(size=width)
    u /= np.linalg.norm(u)
    y = np.where(np.arange(count) % 2 == 0, 1, -1)
    along = rng.uniform(margin, 1.0, count)
    along[:2] = margin
    across = rng.normal(size=(count, width))
    across -= np.outer(across @ u, u)
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    X = np.outer(along * y, u) + np.sqrt(1.0 - along**2)[:, None] * across
    return X, y, u


@dataclass(frozen=True, eq=False)
class MarginCurves:
    """Mistakes until convergence as a function of the margin.

    Attributes
    ----------
    margins : array of shape (margins,)
        γ; R is 1.
    mistakes : array of shape (margins, seeds)
        Mistakes of each run.
    converged : array of shape (margins, seeds)
        Whether the run ended with a separator.
    bound : array of shape (margins,)
        1/γ².
    """

    margins: Floats
    mistakes: NDArray[np.int64]
    converged: NDArray[np.bool_]
    bound: Floats


def margin_against_mistakes(
    margins: ArrayLike = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01),
    examples: int = 500,
    features: int = 10,
    n_seeds: int = 5,
    max_iter: int = 10_000,
    random_state: int = 0,
) -> MarginCurves:
    """Run the perceptron until convergence on data with smaller and smaller margin.

    Parameters
    ----------
    margins : list of float, default=(0.5, 0.2, 0.1, 0.05, 0.02, 0.01)
        The margins γ, between 0 and 1.
    examples, features : int, default=500 and 10
        The size of each data set.
    n_seeds : int, default=5
        Runs for each margin, on different data.
    max_iter : int, default=10_000
        Largest number of passes.
    random_state : int, default=0
        Seed of the first run.

    Returns
    -------
    MarginCurves
    """
    from rosenblatt.learners.perceptron import Perceptron

    wanted = np.atleast_1d(np.asarray(margins, dtype=np.float64))
    seeds = check_count("n_seeds", n_seeds, "It is the number of runs for each margin.")
    mistakes = np.zeros((len(wanted), seeds), np.int64)
    converged = np.zeros((len(wanted), seeds), np.bool_)
    for place, gamma in enumerate(wanted):
        for seed in range(seeds):
            X, y, _ = separable_examples(float(gamma), examples, features, random_state + seed)
            model = Perceptron(fit_intercept=False, max_iter=max_iter, tol=None, random_state=seed).fit(X, y)
            mistakes[place, seed], converged[place, seed] = model.mistakes_, model.converged_
    return MarginCurves(wanted, mistakes, converged, np.array([block_novikoff(1.0, float(g)) for g in wanted]))
