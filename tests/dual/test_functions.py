"""Kernel functions compared with those of scikit-learn, on dense and sparse blocks."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel, sigmoid_kernel

from rosenblatt.dual.functions import Precomputed, make_kernel, resolve_gamma
from rosenblatt.dual.rows import Block, Growing, RowStore

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(7, 5)), RNG.normal(size=(4, 5))
A[np.abs(A) < 0.4] = 0
EXPECTED = {
    "poly": polynomial_kernel(A, B, degree=3, gamma=0.5, coef0=2.0),
    "rbf": rbf_kernel(A, B, gamma=0.5),
    "sigmoid": sigmoid_kernel(A, B, gamma=0.5, coef0=2.0),
    "linear": A @ B.T,
}


@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.parametrize("left", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("right", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kernels_agree_with_scikit_learn(name, left, right, dtype):
    kernel = make_kernel(name, degree=3, gamma=0.5, coef0=2.0)
    values = kernel(Block.of(left(A.astype(dtype))), Block.of(right(B.astype(dtype))))
    assert values.dtype == np.float64
    assert np.allclose(values, EXPECTED[name], rtol=1e-12 if dtype == np.float64 else 1e-4)


def test_very_sparse_and_wide_blocks():
    X = sp.random_array((6, 50_000), density=1e-3, rng=1, format="csr")
    Z = sp.random_array((5, 50_000), density=1e-3, rng=2, format="csr")
    values = make_kernel("poly", 2)(Block.of(X), Block.of(Z))
    assert np.allclose(values, (1 + (X @ Z.T).toarray()) ** 2)


def test_powers_of_integers_are_exact():
    X = np.arange(-40.0, 41.0)[:, None]
    values = make_kernel("poly", 4)(Block.of(X), Block.of(X))
    assert np.array_equal(values, [[(1 + int(a) * int(b)) ** 4 for b in X[:, 0]] for a in X[:, 0]])


def test_a_gaussian_never_exceeds_one():
    X = RNG.normal(size=(50, 3)) * 1e4
    assert make_kernel("rbf", gamma=1e-3)(Block.of(X), Block.of(X)).max() <= 1.0


def test_a_gaussian_of_float32_rows_far_from_the_origin():
    X = (RNG.normal(size=(50, 3)) + 1000).astype(np.float32)
    values = make_kernel("rbf", gamma=1.0)(Block.of(X), Block.of(X))
    exact = np.exp(-((X[:, None].astype(float) - X[None].astype(float)) ** 2).sum(axis=2))
    assert np.allclose(values, exact, atol=1e-8)


def test_precomputed_selects_columns():
    K = RNG.normal(size=(6, 6))
    rows = Block.of(K)
    assert np.array_equal(Precomputed()(rows.take([1, 2]), rows.take([5, 0])), K[[1, 2]][:, [5, 0]])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"kernel": "cubic"}, "must be one of"),
        ({"degree": 0}, "`degree`"),
        ({"degree": 1.5}, "`degree`"),
        ({"gamma": 0}, "`gamma`"),
        ({"gamma": np.nan}, "`gamma`"),
        ({"coef0": np.inf}, "`coef0`"),
    ],
)
def test_bad_parameters_are_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        make_kernel(**{"kernel": "poly", **arguments})


def test_a_user_kernel_of_the_wrong_shape_is_refused():
    with pytest.raises(ValueError, match=r"shape \(7, 4\); got shape \(7,\)"):
        make_kernel(lambda X, Z: X[:, 0])(Block.of(A), Block.of(B))


def test_the_choices_of_gamma():
    assert resolve_gamma("poly", None, A) == 1.0
    assert resolve_gamma("rbf", None, A) == 1 / 5
    assert np.isclose(resolve_gamma("rbf", "scale", A), 1 / (5 * A.var()))
    assert np.isclose(resolve_gamma("rbf", "scale", sp.csr_array(A)), 1 / (5 * A.var()))
    with pytest.raises(ValueError, match="`gamma`"):
        resolve_gamma("rbf", "wide", A)


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_a_row_store_grows_and_shrinks(layout):
    store = RowStore()
    for start in range(0, 6, 2):
        store.append(Block.of(layout(A[start : start + 2]), np.arange(start, start + 2)))
    store.truncate(5)
    store.append(Block.of(layout(A[6:7]), np.array([6])))
    dense = lambda rows: rows.toarray() if sp.issparse(rows) else rows  # noqa: E731
    assert store.ids.tolist() == [0, 1, 2, 3, 4, 6]
    assert np.array_equal(dense(store.slice(1, 6).rows), A[[1, 2, 3, 4, 6]])
    assert np.array_equal(dense(store.take(np.array([5, 0, 5])).rows), A[[6, 0, 6]])


def test_an_array_widens_its_type():
    grown = Growing(2, np.float32)
    grown.extend(np.ones((2, 2), dtype=np.float32))
    assert grown.view.dtype == np.float32
    grown.extend(np.full((1, 2), 0.1))
    assert grown.view.dtype == np.float64
    assert grown.view[2, 0] == 0.1
