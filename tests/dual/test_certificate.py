"""The mistake bound in feature space, and the dual trace."""

import numpy as np
import pytest

from rosenblatt.dual.certificate import run_bounds
from rosenblatt.dual.dual_trace import dual_trace
from rosenblatt.dual.functions import Linear, Polynomial
from rosenblatt.dual.machine import Machine, columns_for
from rosenblatt.dual.rows import Block
from rosenblatt.dual.schemes import OnZero, Scheme
from rosenblatt.dual.training import Epochs
from tests.dual.oracle import dual_perceptron

XOR = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
XOR_LABELS = np.array([1, 0, 0, 1])


def run(X, y, kernel, scheme=Scheme.MAX, epochs=200):
    machine = Machine(scheme, OnZero.UPDATE, columns_for(int(y.max()) + 1))
    passes = Epochs(machine, kernel, Block.of(X), y, np.ones(len(y)), 3)
    for _ in range(epochs):
        if passes.run(np.arange(len(y))) == 0:
            break
    return machine


def test_exclusive_or_is_separated_by_degree_two_but_not_by_a_line():
    (bound,) = run_bounds(run(XOR, XOR_LABELS, Polynomial(2)), Polynomial(2), Block.of(XOR), XOR_LABELS)
    assert bound.radius == 3.0  # (1 + 2)^2 = 9
    # The unit vector along the feature sqrt(2) x1 x2 has margin sqrt(2), and none has a larger one.
    assert 0 < bound.margin[0] <= np.sqrt(2) + 1e-9 <= bound.margin[1] + 1e-8
    assert bound.holds
    (line,) = run_bounds(run(XOR, XOR_LABELS, Polynomial(1)), Polynomial(1), Block.of(XOR), XOR_LABELS)
    assert line.mistake_bound is None
    assert line.holds is None


@pytest.mark.parametrize("scheme", [Scheme.MAX, Scheme.OVR, Scheme.UNIFORM, Scheme.PROPORTIONAL])
def test_mistakes_stay_within_the_bound(scheme):
    rng = np.random.default_rng(2)
    X = rng.integers(-3, 4, size=(40, 3)).astype(float)
    y = rng.integers(0, 3, size=40)
    X, first = np.unique(X, axis=0, return_index=True)
    y = y[first]
    kernel = Polynomial(4)
    bounds = run_bounds(run(X, y, kernel, scheme, 5000), kernel, Block.of(X), y)
    assert len(bounds) == (3 if scheme == Scheme.OVR else 1)
    assert all(bound.holds for bound in bounds)
    assert all(bound.margin[0] <= bound.margin[1] for bound in bounds)


def test_nothing_is_claimed_for_the_scheme_all():
    X, y = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]]), np.array([0, 1, 2])
    (bound,) = run_bounds(run(X, y, Linear(), Scheme.ALL), Linear(), Block.of(X), y)
    assert bound.mistake_bound is None


def test_margin_is_that_of_the_primal_weights():
    X, y = np.array([[2.0, 1.0], [1.0, 3.0], [-1.0, -2.0], [-3.0, 1.0]]), np.array([1, 1, 0, 0])
    machine = run(X, y, Linear())
    w = machine.dual.view[:, 0] @ X[machine.rows.ids]
    (bound,) = run_bounds(machine, Linear(), Block.of(X), y)
    assert np.isclose(bound.margin[0], ((2 * y - 1) * (X @ w)).min() / np.linalg.norm(w))
    assert np.isclose(bound.margin[1], np.linalg.norm(w) / machine.n_mistakes)
    assert np.isclose(bound.mistake_bound, 10.0 / bound.margin[0] ** 2)


def test_the_trace_is_the_oracle_step_by_step():
    rng = np.random.default_rng(4)
    X, y = rng.integers(-2, 3, size=(12, 2)).astype(float), rng.integers(0, 3, size=12)
    steps = dual_trace(Block.of(X), y, Polynomial(2), max_iter=3)
    oracle = dual_perceptron((1 + X @ X.T) ** 2, y, 3, orders=[range(12)] * 3)
    assert [s.example for s in steps if s.mistake] == oracle.mistakes
    for step, dual in zip(steps, oracle.history, strict=True):
        assert np.array_equal(step.dual, dual)
    assert [s.epoch for s in steps] == [1] * 12 + [2] * 12 + [3] * 12


def test_the_trace_of_the_notes_walk():
    X, y = np.array([[4.0, 0.0], [1.0, 1.0], [0.0, 1.0], [-2.0, -2.0]]), np.array([1, 0, 0, 1])
    steps = dual_trace(Block.of(X), y, Linear())
    assert [float(s.scores[0]) for s in steps] == [0, 4, -1, -4]
    assert [s.mistake for s in steps] == [True, True, False, True]
    assert [(s.dual[:, 0] @ X).tolist() for s in steps] == [[4, 0], [3, -1], [3, -1], [1, -3]]


def test_the_trace_ends_after_a_clean_pass():
    steps = dual_trace(Block.of(XOR), XOR_LABELS, Polynomial(2), max_iter=100)
    assert steps[-1].epoch < 100
    assert not any(s.mistake for s in steps if s.epoch == steps[-1].epoch)
