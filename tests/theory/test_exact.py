"""Exact arithmetic: no rounding, and correct results where floats give wrong ones."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt.theory import exact, exact_cycle
from rosenblatt.theory.enclosure import vanishing_combination
from rosenblatt.theory.problem import make_problem

finite = st.floats(allow_nan=False, allow_infinity=False)


@settings(deadline=None, derandomize=True)
@given(st.lists(finite, min_size=1, max_size=5), st.integers(-50, 50))
def test_integers_equal_the_floats_exactly(values, power):
    whole, exponent = exact.integers(np.array(values), power)
    unit = Fraction(2) ** exponent
    assert [int(v) * unit for v in whole.tolist()] == [Fraction(v) * Fraction(2) ** power for v in values]


@settings(deadline=None, derandomize=True)
@given(st.fractions(min_value=0, max_value=10**40))
def test_bounds_of_roots_are_on_the_correct_side(square):
    low, high = exact.root_below(square), exact.root_above(square)
    assert Fraction(low) ** 2 <= square <= Fraction(high) ** 2
    assert high <= math.nextafter(math.nextafter(low, math.inf), math.inf)


def test_roots_of_the_largest_and_smallest_floats():
    assert exact.root_below(Fraction(10) ** -900) == 0.0
    assert exact.root_above(Fraction(10) ** -900) > 0.0
    assert exact.root_above(Fraction(10) ** 900) == math.inf
    assert exact.root_below(Fraction(10) ** 900) < math.inf


def test_floats_of_long_integers_keep_their_ratios():
    floats = exact.to_floats([3 << 500, -(1 << 500), 0, 1])
    assert floats[0] / floats[1] == -3
    assert floats[2] == 0
    assert floats[3] >= 0
    assert exact.to_floats([0, 0]).tolist() == [0, 0]


def test_separation_that_floats_get_wrong():
    # In floats 1e16 + 1 − 1e16 is 0.
    problem = make_problem([[1e16, 1.0, -1e16]], [1], fit_intercept=False)
    assert exact.separates_exactly(problem, (1, 1, 1))
    assert not exact.separates_exactly(problem, (1, 0, 1))
    assert not exact.separates_exactly(problem, (1, -1, 1))
    assert exact.lowest_exactly(problem, (1, 1, 1)) == 1


@pytest.mark.parametrize("kind", [np.array, sp.csr_matrix])
def test_numbers_beyond_64_bits(kind):
    X = kind([[1e100, 1e-100], [1.0, 1e-100]])
    problem = make_problem(X, [1, 1], fit_intercept=False)
    assert exact.separates_exactly(problem, (0, 1))
    assert exact.lowest_exactly(problem, (3, -(10**300))) < 0
    assert exact.squared_radius(problem) == Fraction(1e100) ** 2 + Fraction(1e-100) ** 2
    assert exact.largest_square(problem) == exact.squared_radius(problem)


def test_null_combination():
    assert exact.null_combination([[1, 2], [-2, -4]]) == [2, 1]
    assert exact.null_combination([[1, 2], [2, 4]]) is None  # of opposite sign
    assert exact.null_combination([[1, 2], [-2, -5]]) is None  # independent
    assert exact.null_combination([[0, 0]]) == [1]
    assert exact.null_combination([[1, 0]]) is None
    weights = exact.null_combination([[3, 0, 3], [0, 5, 5], [-1, -1, -2]])
    assert [w * 15 for w in weights] == [w * weights[2] for w in (5, 3, 15)]


def test_the_enclosure_proves_only_true_statements():
    rng = np.random.default_rng(0)
    proved = 0
    for _ in range(60):
        X = rng.standard_normal((4, 3))
        problem = make_problem(X, [1] * 4, fit_intercept=False)
        rows = np.arange(4)
        weights = vanishing_combination(problem, rows)
        whole = exact.null_combination(exact.integer_rows(problem, rows, np.zeros(4, int), np.zeros(3, int)))
        assert (weights is not None) == (whole is not None)
        if weights is not None:
            proved += 1
            assert weights == pytest.approx([w / sum(whole) for w in whole])
    assert proved > 3
    # 0 is 1e-17 outside of the triangle: too close to decide with floats.
    problem = make_problem([[1.0, 1e-17], [-1.0, 1e-17], [0.0, 1.0]], [1, 1, 1], fit_intercept=False)
    assert vanishing_combination(problem, np.arange(3)) is None
    assert vanishing_combination(problem, np.arange(2)) is None


def test_enclosure_needs_weights_above_their_error():
    rng = np.random.default_rng(1)
    positive = 0
    for _ in range(300):
        X = rng.standard_normal((4, 3))
        X[3] = -(0.3 * X[0] + 0.4 * X[1] + rng.choice([-1, 1]) * 1e-17 * X[2])
        problem = make_problem(X, [1] * 4, fit_intercept=False)
        floats = np.linalg.inv(np.vstack([X.T, np.ones(4)]))[:, -1]
        positive += floats.min() > 0
        assert vanishing_combination(problem, np.arange(4)) is None
    assert positive > 50  # floats alone would give a wrong proof


# --- cycles ----------------------------------------------------------------------------------------------------------

XOR = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])


@pytest.mark.parametrize("kind", [np.array, sp.csr_matrix])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_cycle_of_the_notes_is_found(kind, fit_intercept):
    y = np.array([1, -1, -1, 1])
    assert exact_cycle(kind(XOR), y, np.ones(4, int), fit_intercept).tolist() == [0.25] * 4
    assert exact_cycle(kind(XOR), y, np.array([1, 1, 1, 2]), fit_intercept) is None
    assert exact_cycle(kind(XOR), y, np.zeros(4, int), fit_intercept) is None


def test_a_cycle_caused_by_rounding_is_not_reported():
    X, y = np.array([[1e16, 1e16], [-1, 0.5]]), np.array([1, 1])
    assert (1e16 - 1.0) + 1.0 == 1e16
    assert exact_cycle(X, y, np.array([0, 1]), fit_intercept=False) is None
    # Sums that are 0 in floats: 1e16 + 1 − 1e16.
    X = np.array([[1e16], [1.0], [-1e16]])
    assert (X[0] + X[1] + X[2]).tolist() == [0.0]
    assert exact_cycle(X, np.ones(3), np.ones(3, int), fit_intercept=False) is None
    assert exact_cycle(X[[0, 2]], np.ones(2), np.ones(2, int), fit_intercept=False).tolist() == [0.5, 0.5]


def test_a_cycle_without_a_bias_is_none_with_a_bias():
    X, y = np.array([[1.0], [-1.0]]), np.array([1, 1])
    assert exact_cycle(X, y, np.ones(2, int), fit_intercept=False) is not None
    assert exact_cycle(X, y, np.ones(2, int), fit_intercept=True) is None


def test_a_cycle_of_many_classes_is_found():
    X = np.array([[1.0, 2.0], [1.0, 2.0], [5.0, 5.0]])
    counts = np.array([[0, 3, 0], [3, 0, 0], [0, 0, 0]])
    assert exact_cycle(X, np.array([0, 1, 2]), counts).tolist() == (counts / 6).tolist()
    counts[0, 1] = 2
    assert exact_cycle(X, np.array([0, 1, 2]), counts) is None
    with pytest.raises(ValueError, match="true class of an example"):
        exact_cycle(X, np.array([0, 1, 2]), np.eye(3, dtype=int))


def test_cycle_refuses_wrong_input():
    with pytest.raises(ValueError, match="integers"):
        exact_cycle(XOR, np.ones(4), np.ones(4))
    with pytest.raises(ValueError, match="one per example"):
        exact_cycle(XOR, np.ones(4), np.ones(3, int))
