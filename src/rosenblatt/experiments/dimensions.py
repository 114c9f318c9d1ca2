"""The curse of dimensionality: with many features all points have about the same distance from each other."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._checks import check_count, whole_numbers

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class DistanceCurves:
    """Distances between random points as a function of the number of dimensions, averaged over the points.

    Attributes
    ----------
    dimensions : array
        d.
    points : int
        Number of points.
    mean, spread : arrays
        The mean distance of two points, and the standard deviation of their distances.
    nearest, farthest : arrays
        Distance of the nearest and of the farthest other point.
    contrast : array
        (farthest - nearest) / nearest: how informative a nearest neighbour is.
    """

    dimensions: NDArray[np.int64]
    points: int
    mean: Floats
    spread: Floats
    nearest: Floats
    farthest: Floats
    contrast: Floats


def distance_concentration(
    dimensions: ArrayLike = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000),
    points: int = 200,
    distribution: str = "uniform",
    random_state: int = 0,
) -> DistanceCurves:
    """Measure the distances between random points as the dimension grows.

    Parameters
    ----------
    dimensions : list of int, default=(1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
        The numbers of features.
    points : int, default=200
        Number of points, at least 3. More points make smoother curves; time grows with the square.
    distribution : {"uniform", "normal"}, default="uniform"
        Points in the unit cube, or with normal features.
    random_state : int, default=0
        Seed.

    Returns
    -------
    DistanceCurves
    """
    from scipy.spatial.distance import pdist, squareform

    sizes = whole_numbers("dimensions", dimensions, "They are the numbers of features.")
    count = check_count("points", points, "With two points the nearest is the farthest.", least=3)
    if distribution not in ("uniform", "normal"):
        raise ValueError(
            f"`distribution` must be 'uniform' or 'normal'; got {distribution!r}. Both show the same concentration."
        )
    rows = []
    for d in sizes:
        rng = np.random.default_rng((random_state, int(d)))
        X = rng.random((count, d)) if distribution == "uniform" else rng.normal(size=(count, d))
        distances = pdist(X)
        table = squareform(distances)
        farthest = table.max(axis=1)
        np.fill_diagonal(table, np.inf)
        nearest = table.min(axis=1)
        contrast = np.mean((farthest - nearest) / np.maximum(nearest, np.finfo(float).tiny))
        rows.append((distances.mean(), distances.std(), nearest.mean(), farthest.mean(), contrast))
    return DistanceCurves(sizes, count, *np.array(rows).T)
