"""Budgeted machines compared with their papers, one example at a time in plain NumPy."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from rosenblatt.dual.budgets import POLICIES
from rosenblatt.dual.functions import Gaussian, Polynomial
from rosenblatt.dual.machine import columns_for
from rosenblatt.dual.rows import Block
from rosenblatt.engine.conventions import ON_ZERO, SCHEMES
from rosenblatt.engine.dual import shrinking as compiled_shrinking
from tests.dual.oracle import dual_perceptron, step


@njit
def shrinking(*arguments):  # inner functions of the engine have no entry point for Python
    return compiled_shrinking(*arguments)


def build(policy, budget, classes=2, scheme="max", seed=0, eta=0.1):
    return POLICIES[policy](SCHEMES[scheme], ON_ZERO["update"], columns_for(classes), budget=budget, seed=seed, eta=eta)


def learn(machine, kernel, X, y, block_size):
    return machine.learn(kernel, Block.of(X), np.asarray(y, dtype=np.int64), np.ones(len(y)), block_size)


def rings(n, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, size=n)
    angle, radius = rng.uniform(0, 2 * np.pi, n), 1 + y + 0.5 * rng.normal(size=n)
    return np.c_[radius * np.cos(angle), radius * np.sin(angle)], y


def gaussian(X, gamma=0.7):
    return np.exp(-gamma * ((X[:, None] - X[None]) ** 2).sum(axis=2))


def random_eviction(gram, y, budget, classes, scheme, seed):
    rng = np.random.default_rng(seed)
    draws, slots, coef = rng.random(len(y)), [], []
    for i in range(len(y)):
        scores = gram[i, slots] @ np.array(coef) if slots else np.zeros(columns_for(classes))
        tau = step(scores, y[i], scheme, "update")
        if tau is None:
            continue
        if len(slots) < budget:
            slots.append(i)
            coef.append(tau)
        else:
            out = int(draws[i] * budget)
            slots[out], coef[out] = i, tau
    return slots, np.array(coef)


def forgetron(gram, y, budget):
    """Two classes, k(x, x) = 1, as in the paper; removes the oldest row first."""
    slots, sigma, Q, M = [], [], 0.0, 0
    sign = 2 * y - 1
    f = lambda i: sum(s * sign[j] * gram[i, j] for s, j in zip(sigma, slots, strict=True))  # noqa: E731
    for i in range(len(y)):
        if sign[i] * f(i) > 0:
            continue
        M += 1
        slots.append(i)
        sigma.append(1.0)
        if len(slots) > budget:
            r = slots[0]
            mu = sign[r] * f(r)
            psi = lambda phi: (phi * sigma[0]) ** 2 + 2 * phi * sigma[0] - 2 * phi * sigma[0] * phi * mu  # noqa: B023, E731
            grid = np.linspace(1, 0, 200_001)
            phi = (
                grid[np.argmax([Q + psi(p) <= 15 / 32 * M + 1e-12 for p in grid])] if Q + psi(1) > 15 / 32 * M else 1.0
            )
            Q += psi(phi)
            sigma = [phi * s for s in sigma][1:]
            slots = slots[1:]
    return slots, np.array([s * sign[j] for s, j in zip(sigma, slots, strict=True)])


def projectron(gram, y, budget, eta):
    """Two classes, k(x, x) = 1, as in the paper."""
    slots, coef = [], np.zeros(0)
    sign = 2 * y - 1
    for i in range(len(y)):
        k = gram[i, slots]
        margin = sign[i] * (k @ coef)
        if margin >= 1:
            continue
        d = np.linalg.solve(gram[np.ix_(slots, slots)], k) if slots else np.zeros(0)
        length = k @ d
        delta = np.sqrt(max(gram[i, i] - length, 0))
        if margin <= 0:
            if delta <= eta or len(slots) >= budget:
                coef = coef + sign[i] * d
            else:
                slots.append(i)
                coef = np.append(coef, sign[i])
        elif 1 - margin > delta / eta:
            loss = 1 - margin
            coef = coef + sign[i] * min(loss / length, 2 * (loss - delta / eta) / length, 1) * d
    return slots, coef


@pytest.mark.slow
@given(
    seed=st.integers(0, 50),
    budget=st.integers(1, 12),
    block_size=st.integers(1, 40),
    classes=st.integers(2, 4),
    scheme=st.sampled_from(["max", "all", "ovr"]),
    policy=st.sampled_from(sorted(POLICIES)),
)
def test_the_support_set_never_exceeds_the_budget(seed, budget, block_size, classes, scheme, policy):
    X, y = rings(60, classes, seed)
    machine = build(policy, budget, classes, scheme)
    for start in range(0, 60, 17):
        learn(machine, Gaussian(0.7), X[start : start + 17], y[start : start + 17], block_size)
        assert len(machine.rows) <= budget
        assert len(machine.dual) == len(machine.rows)
    assert np.isfinite(machine.dual).all()


@given(
    seed=st.integers(0, 50),
    budget=st.integers(1, 10),
    block_size=st.integers(1, 50),
    classes=st.integers(2, 4),
    scheme=st.sampled_from(["max", "all", "ovr"]),
)
def test_random_eviction_agrees_with_the_paper_at_any_block_size(seed, budget, block_size, classes, scheme):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(-4, 5, size=(45, 2)).astype(float), rng.integers(0, classes, size=45)
    machine = build("random", budget, classes, scheme, seed)
    learn(machine, Polynomial(2), X, y, block_size)
    slots, coef = random_eviction((1 + X @ X.T) ** 2, y, budget, classes, scheme, seed)
    assert machine.rows.ids.tolist() == slots
    assert np.array_equal(machine.dual, coef)


@pytest.mark.slow
@pytest.mark.parametrize("block_size", [1, 7, 100])
def test_forgetron_agrees_with_the_paper(block_size):
    X, y = rings(90)
    machine = build("forgetron", 8)
    learn(machine, Gaussian(0.7), X, y, block_size)
    slots, coef = forgetron(gaussian(X), y, 8)
    order = np.argsort(machine.rows.ids)
    assert machine.rows.ids[order].tolist() == slots
    assert np.allclose(machine.dual[order, 0], coef, atol=1e-3)  # the oracle searches phi on a grid


@given(st.floats(1e-6, 1), st.floats(-3, 3), st.floats(0, 5), st.integers(1, 20))
def test_the_shrinking_factor_is_the_largest_allowed(sigma, mu, slack, mistakes):
    damage = max(15 / 32 * (mistakes - 1) - slack, 0)  # the invariant before a mistake
    phi = shrinking(sigma, mu, damage, mistakes)
    psi = lambda p: (p * sigma) ** 2 + 2 * p * sigma - 2 * p * sigma * p * mu  # noqa: E731
    assert 0 < phi <= 1
    assert damage + psi(phi) <= 15 / 32 * mistakes + 1e-9
    larger = np.linspace(phi + 1e-6, 1, 50) if phi < 1 - 1e-6 else []
    assert all(damage + psi(p) > 15 / 32 * mistakes - 1e-9 for p in larger)


@pytest.mark.parametrize("block_size", [1, 7, 100])
@pytest.mark.parametrize(("budget", "eta"), [(100, 0.3), (6, 0.3), (6, 0.01)])
def test_projectron_agrees_with_the_paper(block_size, budget, eta):
    X, y = rings(90)
    machine = build("projectron++", budget, eta=eta)
    learn(machine, Gaussian(0.7), X, y, block_size)
    slots, coef = projectron(gaussian(X), y, budget, eta)
    assert machine.rows.ids.tolist() == slots
    assert np.allclose(machine.dual[:, 0], coef, rtol=1e-6, atol=1e-8)


def test_projectron_keeps_fewer_rows_as_eta_grows():
    X, y = rings(300)
    sizes = []
    for eta in (0.01, 0.1, 0.5):
        machine = build("projectron++", 10_000, eta=eta)
        learn(machine, Gaussian(0.7), X, y, 64)
        sizes.append(len(machine.rows))
    assert sizes[0] > sizes[1] > sizes[2]


@pytest.mark.parametrize("policy", ["random", "forgetron"])
def test_a_budget_that_is_never_reached_changes_nothing(policy):
    rng = np.random.default_rng(5)
    X, y = rng.integers(-3, 4, size=(50, 3)).astype(float), rng.integers(0, 3, size=50)
    machine = build(policy, 1000, 3)
    learn(machine, Polynomial(2), X, y, 8)
    oracle = dual_perceptron((1 + X @ X.T) ** 2, y, 3)
    assert machine.rows.ids.tolist() == oracle.mistakes
    assert np.array_equal(machine.dual, oracle.dual[oracle.mistakes])


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_sparse_rows_give_the_same_machine(policy):
    X, y = rings(80, 3)
    X[np.abs(X) < 0.5] = 0
    dense, sparse = build(policy, 9, 3), build(policy, 9, 3)
    learn(dense, Polynomial(2), X, y, 16)
    learn(sparse, Polynomial(2), sp.csr_array(X), y, 16)
    assert dense.rows.ids.tolist() == sparse.rows.ids.tolist()
    assert np.allclose(dense.dual, sparse.dual)
