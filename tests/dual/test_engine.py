"""The blocked engine compared with the one-by-one oracle."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from rosenblatt.dual.functions import Polynomial
from rosenblatt.dual.machine import Machine, columns_for
from rosenblatt.dual.readouts import READOUTS, decide
from rosenblatt.dual.rows import Block
from rosenblatt.dual.training import Epochs, learn_stream
from rosenblatt.engine.conventions import ON_ZERO, SCHEMES
from rosenblatt.engine.dual import correction as compiled_correction
from rosenblatt.model.scores import predicted_classes
from tests.dual.oracle import dual_perceptron, step
from tests.helpers import examples

INTEGER_SCHEMES = ["max", "all", "ovr"]  # the others divide, so their sums are rounded


@njit
def correction(*arguments):  # inner functions of the engine have no entry point for Python
    return compiled_correction(*arguments)


@st.composite
def problems(draw, schemes=tuple(INTEGER_SCHEMES)):
    n, d = draw(st.integers(1, 24)), draw(st.integers(1, 3))
    classes = draw(st.integers(2, 4))
    numbers = st.integers(-4, 4)
    X = np.array(draw(st.lists(st.lists(numbers, min_size=d, max_size=d), min_size=n, max_size=n)), dtype=float)
    y = np.array(draw(st.lists(st.integers(0, classes - 1), min_size=n, max_size=n)))
    epochs = draw(st.integers(1, 4))
    kind = draw(st.sampled_from(["given", "shuffled", "replacement"]))
    seed = np.random.default_rng(draw(st.integers(0, 99)))
    orders = [
        np.arange(n) if kind == "given" else seed.permutation(n) if kind == "shuffled" else seed.integers(n, size=n)
        for _ in range(epochs)
    ]
    return {
        "X": X,
        "y": y.astype(np.int64),
        "classes": classes,
        "orders": orders,
        "degree": draw(st.integers(1, 3)),
        "scheme": draw(st.sampled_from(schemes)),
        "on_zero": draw(st.sampled_from(["update", "positive"])),
        "block_size": draw(st.integers(1, n + 2)),
    }


def run_engine(p, X=None):
    machine = Machine(SCHEMES[p["scheme"]], ON_ZERO[p["on_zero"]], columns_for(p["classes"]))
    kernel = Polynomial(p["degree"])
    data = Block.of(p["X"] if X is None else X)
    passes = Epochs(machine, kernel, data, p["y"], np.ones(len(p["y"])), p["block_size"])
    for order in p["orders"]:
        passes.run(order)
    return machine, kernel, passes


def run_oracle(p):
    gram = (1 + p["X"] @ p["X"].T) ** p["degree"]
    return dual_perceptron(gram, p["y"], p["classes"], p["scheme"], p["on_zero"], p["orders"])


@given(problems())
@examples(150)
def test_blocks_make_the_mistakes_of_the_one_by_one_algorithm(p):
    machine, _, _ = run_engine(p)
    oracle = run_oracle(p)
    assert machine.rows.ids[machine.event_row.view].tolist() == oracle.mistakes
    dual = np.zeros_like(oracle.dual)
    dual[machine.rows.ids] = machine.dual.view
    assert np.array_equal(dual, oracle.dual)
    assert len(set(machine.rows.ids.tolist())) == len(machine.rows), "an example is a support row at most once"


@given(
    st.lists(st.integers(-3, 3), min_size=1, max_size=5).filter(lambda scores: len(scores) != 2),
    st.integers(0, 4),
    st.sampled_from(sorted(SCHEMES)),
    st.sampled_from(sorted(ON_ZERO)),
)
def test_one_correction_agrees_with_the_definition(scores, y, scheme, on_zero):
    y %= max(len(scores), 2)
    tau = np.empty(len(scores))
    wrong = correction(np.array(scores, dtype=float), y, int(SCHEMES[scheme]), int(ON_ZERO[on_zero]), tau)
    expected = step(np.array(scores, dtype=float), y, scheme, on_zero)
    assert (wrong > 0) == (expected is not None)
    assert np.allclose(tau, 0 if expected is None else expected, rtol=1e-15)


@pytest.mark.parametrize("scheme", ["uniform", "proportional"])
def test_dividing_schemes_on_data_without_ties(scheme):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(60, 4)), rng.integers(0, 5, size=60)
    p = {"X": X, "y": y, "classes": 5, "orders": [np.arange(60)] * 3, "degree": 2}
    p |= {"scheme": scheme, "on_zero": "update", "block_size": 7}
    machine, _, _ = run_engine(p)
    oracle = run_oracle(p)
    assert machine.rows.ids[machine.event_row.view].tolist() == oracle.mistakes
    assert np.allclose(machine.dual.view, oracle.dual[machine.rows.ids])


@given(problems(), st.integers(0, 99))
@examples(100)
def test_every_readout_agrees_with_the_definition(p, seed):
    machine, kernel, _ = run_engine(p)
    oracle = run_oracle(p)
    new = np.random.default_rng(seed).integers(-4, 5, size=(9, p["X"].shape[1])).astype(float)
    values = (1 + new @ p["X"].T) ** p["degree"]
    for readout in READOUTS:
        for normalize in (False, True):
            expected = oracle.read(values, readout, normalize, p["scheme"])
            found = decide(machine, kernel, Block.of(new), readout, normalize)
            assert np.allclose(found, expected, rtol=1e-9, atol=1e-9 * (1 + np.abs(expected).max()))
            if readout == "vote":
                assert np.array_equal(predicted_classes(found), predicted_classes(expected))


@given(problems())
def test_sparse_rows_and_float32_change_nothing(p):
    reference = run_engine(p)[0]
    for rows in (sp.csr_array(p["X"]), p["X"].astype(np.float32), sp.csr_array(p["X"].astype(np.float32))):
        machine = run_engine(p, rows)[0]
        assert np.array_equal(machine.rows.ids, reference.rows.ids)
        assert np.array_equal(machine.dual.view, reference.dual.view)


@given(problems())
def test_a_stream_equals_the_first_pass(p):
    p["orders"] = [np.arange(len(p["y"]))]
    expected = run_engine(p)[0]
    machine = Machine(SCHEMES[p["scheme"]], ON_ZERO[p["on_zero"]], columns_for(p["classes"]))
    for i in range(len(p["y"])):
        row = Block.of(p["X"][i : i + 1])
        learn_stream(machine, Polynomial(p["degree"]), row, p["y"][i : i + 1], np.ones(1))
    assert np.array_equal(machine.rows.ids, expected.rows.ids)
    assert np.array_equal(machine.event_tau.view, expected.event_tau.view)
    assert np.array_equal(machine.event_time.view, expected.event_time.view)


def test_float32_pixels_above_the_exact_range_fall_back_to_float64():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, size=(40, 784)).astype(np.float32)
    values = Polynomial(2)(Block.of(X), Block.of(X))
    exact = (1 + X.astype(np.int64) @ X.astype(np.int64).T) ** 2
    assert exact.max() < 2**53
    assert np.array_equal(values.astype(np.int64), exact)


def test_separation_is_strict():
    p = {"X": np.array([[1.0], [-1.0], [0.0]]), "y": np.array([1, 0, 1]), "classes": 2, "degree": 1}
    p |= {"orders": [np.arange(3)] * 9, "scheme": "max", "on_zero": "update", "block_size": 2}
    assert run_engine(p)[2].separates()
    p["orders"] = []
    assert not run_engine(p)[2].separates()


def test_memory_of_a_readout_does_not_grow_with_the_rows(monkeypatch):
    monkeypatch.setattr("rosenblatt.dual.readouts._BLOCK_VALUES", 50)
    rng = np.random.default_rng(1)
    X, y = rng.integers(-3, 4, size=(60, 3)).astype(float), rng.integers(0, 2, size=60)
    p = {"X": X, "y": y, "classes": 2, "degree": 2, "orders": [np.arange(60)] * 2, "scheme": "max"}
    p |= {"on_zero": "update", "block_size": 16}
    machine, kernel, _ = run_engine(p)
    found = decide(machine, kernel, Block.of(X), "vote")
    expected = run_oracle(p).read((1 + X @ X.T) ** 2, "vote", False, "max")
    assert np.array_equal(found, expected)
