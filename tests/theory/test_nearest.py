"""The parts of the search: the fast perceptron, Wolfe's algorithm in floats, and its exact last step."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

from rosenblatt.theory import exact
from rosenblatt.theory.nearest import nearest_point
from rosenblatt.theory.nearest_exact import lowest_product, nearest_point_exactly
from rosenblatt.theory.problem import make_problem
from rosenblatt.theory.scaling import equilibrated, normalized
from rosenblatt.theory.separation import _perceptron_separator


def random_problem(seed, classes=2, n=30, d=4, problem="stacked", kind=np.asarray):
    rng = np.random.default_rng(seed)
    X, U = rng.standard_normal((n, d)), rng.standard_normal((classes, d))
    y = np.argmax(X @ U.T, axis=1)
    y[:classes] = range(classes)  # every class occurs
    X[:classes] = U
    return make_problem(kind(X), y, problem=problem)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize(("classes", "problem"), [(2, "stacked"), (4, "stacked"), (4, "one-vs-rest")])
def test_the_perceptron_alone_decides_easy_data(kind, classes, problem):
    X, y = np.repeat(np.eye(classes), 3, axis=0) * 5, np.repeat(np.arange(classes), 3)
    scaled = equilibrated(make_problem(kind(X), y, problem=problem))
    weights = _perceptron_separator(scaled)
    assert weights is not None
    assert exact.separates_exactly(scaled.original, weights)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("classes", "problem"), [(2, "stacked"), (3, "stacked"), (3, "one-vs-rest")])
def test_nearest_point_is_the_minimum(seed, classes, problem):
    rows = random_problem(seed, classes, n=12, problem=problem)
    point = nearest_point(rows, 1e-9, 1000)
    identity = np.eye(rows.dimension)
    matrix = np.column_stack([rows.scores(e) for e in identity])
    matrix = matrix[np.isfinite(matrix).all(axis=1)]
    # Any convex combination is at least as long, and SciPy's best one is about as long.
    best = minimize(
        lambda v: float(np.sum((matrix.T @ (v**2 / (v @ v))) ** 2)),
        np.ones(len(matrix)),
        method="L-BFGS-B",
        options={"maxiter": 5000},
    )
    length = np.linalg.norm(point.point)
    assert length <= np.sqrt(best.fun) * (1 + 1e-9)
    assert point.weights.min() > 0
    assert point.weights.sum() == pytest.approx(1)
    if point.reason in {"separated", "optimal"}:
        assert (matrix @ point.point).min() == pytest.approx(length**2, rel=1e-6)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_exact_last_step_works_from_any_start(classes):
    scaled = normalized(random_problem(1, classes))
    floats = nearest_point(scaled.problem, 1e-9, 1000)
    start = floats.corral[:1]
    exactly = nearest_point_exactly(scaled, start, np.ones(1), 1e-9, 10**9)
    assert exactly.finished
    whole, exponent = exact.combine_exactly(scaled.original, exactly.rows, exactly.weights)
    square = exact.squared_length(whole) * Fraction(4) ** exponent / sum(exactly.weights) ** 2
    assert float(square) ** 0.5 == pytest.approx(np.linalg.norm(floats.point), abs=1e-9)
    assert not nearest_point_exactly(scaled, start, np.ones(1), 1e-9, 1).finished


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_smallest_product_is_exact_for_near_ties(kind, classes):
    rng = np.random.default_rng(0)
    X = np.full((60, 2), 1.0) + rng.integers(-3, 4, (60, 2)) * 2.0**-52
    scaled = normalized(make_problem(kind(X), np.arange(60) % classes))
    weights = tuple(int(v) for v in rng.integers(-(2**60), 2**60, scaled.original.dimension))
    _, product = lowest_product(scaled, weights)
    assert product == exact.lowest_exactly(scaled.original, weights)
