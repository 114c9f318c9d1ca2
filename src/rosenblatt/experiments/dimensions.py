"""The curse of dimensionality: with many features all points are about equally far from each other."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._checks import check_count, whole_numbers

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class DistanceCurves:
    """Distances between random points against the number of dimensions, averaged over the points.

    Attributes
    ----------
    dimensions : array
        d.
    points : int
        How many points.
    mean, spread : arrays
        The mean distance of two points, and the standard deviation of their distances.
    nearest, farthest : arrays
        How far the nearest and the farthest other point is.
    contrast : array
        (farthest - nearest) / nearest: how much a nearest neighbour tells.
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
        How many points, at least 3. More of them make smoother curves; time grows with the square.
    distribution : {"uniform", "normal"}, default="uniform"
        Points in the unit cube, or with normal features.
    random_state : int, default=0
        Seed.

    Returns
    -------
    DistanceCurves
    """
    from scipy.spatial.distance import pdist, squareform

    sizes = whole_numbers("dimensions", dimensions, "It counts the features.")
    count = check_count("points", points, "The nearest must differ from the farthest.", least=3)
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
