"""The proof that a fit gives without a search, and its refusal for other data or after a change."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from rosenblatt import Perceptron
from rosenblatt.theory.run import RunCertificate

SEPARABLE = np.array([[2.0, 1.0], [1.0, 3.0], [-1.0, -2.0], [-3.0, 0.5]]), np.array(["yes", "yes", "no", "no"])
EXCLUSIVE_OR = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]]), np.array([0, 1, 1, 0])
THREE = np.array([[3.0, 0.0], [0.0, 3.0], [-3.0, -3.0], [2.5, 0.5]]), np.array(["a", "b", "c", "a"])


def run(X, y, **parameters):
    return Perceptron(tol=None, shuffle=False, **parameters).fit(X, y).certificate_


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("data", [SEPARABLE, THREE])
def test_a_separator_is_proved(data, kind):
    X, y = kind(data[0]), data[1]
    found = run(X, y)
    assert found.status == "separable"
    assert found.verify(X, y)
    low, high = found.margin
    assert 0 < low <= high
    assert found.mistakes <= found.mistake_bound
    assert str(found).startswith("separable: ")


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_a_cycle_is_proved(kind):
    X, y = kind(EXCLUSIVE_OR[0]), EXCLUSIVE_OR[1]
    found = run(X, y)
    assert found.status == "inseparable"
    assert found.verify(X, y)
    assert found.epochs < 1000
    assert found.mistake_bound is None
    np.testing.assert_allclose(found.combination.sum(), 1.0)
    assert "add up to exactly 0" in str(found)


def test_a_cycle_of_many_classes_is_proved():
    X, y = np.array([[1.0], [1.0], [-1.0], [0.0]]), np.array(["a", "b", "c", "a"])
    found = run(X, y)
    assert found.status == "inseparable"
    assert found.combination.shape == (4, 3)
    assert found.verify(X, y)


def test_an_unfinished_run_proves_nothing():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 2)), rng.integers(0, 2, 40)
    found = run(X, y, max_iter=1)
    assert found.status == "undecided"
    assert not found.verify(X, y)
    assert "rosenblatt.certify" in str(found)


def test_a_changed_separator_is_refused():
    X, y = SEPARABLE
    found = run(X, y)
    coef, intercept = found.separator
    assert not replace(found, separator=(-coef, intercept)).verify(X, y)
    assert not replace(found, separator=(0.0 * coef, 0.0 * intercept)).verify(X, y)
    assert not found.verify(X, y[::-1])
    by_first = replace(found, separator=(np.array([[1.0, 0.0]]), np.array([0.0])))
    assert by_first.verify(X, y)
    assert not by_first.verify(np.vstack([X, [0.0, 1.0]]), np.append(y, "yes"))  # one example on the boundary


@pytest.mark.parametrize("place", range(4))
def test_a_changed_cycle_is_refused(place):
    X, y = EXCLUSIVE_OR
    found = run(X, y)
    counts = found.counts.copy()
    counts[place] += 1
    assert not replace(found, counts=counts).verify(X, y)
    moved = X.copy()
    moved[place, 0] = np.nextafter(moved[place, 0], 5.0)
    assert not found.verify(moved, y)


def test_counts_of_zero_prove_nothing():
    X, y = EXCLUSIVE_OR
    assert not replace(run(X, y), counts=np.zeros(4, dtype=np.int64)).verify(X, y)
    assert not RunCertificate("inseparable", 0, 0, 0, 0.0, (0.0, 0.0), None).verify(X, y)
