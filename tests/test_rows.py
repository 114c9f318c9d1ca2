"""The functions of the kernels on rows: the order of every sum, and equal bits for sparse and dense rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from rosenblatt import Perceptron
from rosenblatt.engine import rows
from rosenblatt.model.matrix import Table
from tests import oracles
from tests.helpers import blobs, csr, examples


@njit
def _dot(w, X):
    return rows.dot(w, rows.row(X, 0))


@njit
def _squared_norm(X):
    return rows.squared_norm(rows.row(X, 0))


def sparse_row(x, index=np.int32):
    S = csr(x[None, :], index)
    return rows.CSR(S.indptr, S.indices, S.data)


def wild(size, seed, dtype=np.float64):
    """Numbers of very different sizes, so that another order of summation changes the last bits."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=size) * 10.0 ** rng.integers(-4, 5, size)
    x[rng.random(size) < 0.3] = 0.0
    return x.astype(dtype)


@examples(80)
@given(st.integers(1, 70), st.integers(0, 10**6))
def test_a_dot_product_is_summed_in_eight_lanes(size, seed):
    w, x = wild(size, seed), wild(size, seed + 1)
    expected = oracles.lane_sum(w * x)
    assert _dot(w, x[None, :]) == expected
    assert _dot(w, sparse_row(x)) == expected


@examples(30)
@given(st.integers(1, 70), st.integers(0, 10**6))
def test_in_float32_each_product_is_rounded(size, seed):
    w, x = wild(size, seed, np.float32), wild(size, seed + 1, np.float32)
    expected = oracles.lane_sum(w * x)
    assert expected.dtype == np.float32
    assert _dot(w, x[None, :]) == expected
    assert _dot(w, sparse_row(x)) == expected


@examples(50)
@given(st.integers(1, 70), st.integers(0, 10**6))
def test_a_squared_norm_is_summed_in_eight_lanes(size, seed):
    x = wild(size, seed)
    expected = oracles.lane_sum(x * x)
    assert _squared_norm(x[None, :]) == expected
    assert _squared_norm(sparse_row(x)) == expected
    narrow = x.astype(np.float32)
    wide = narrow.astype(np.float64)
    assert _squared_norm(narrow[None, :]) == oracles.lane_sum(wide * wide), "float32 is squared in float64"
    assert _squared_norm(sparse_row(narrow)) == oracles.lane_sum(wide * wide)


def test_the_order_of_summation_matters_in_these_tests():
    """If every order gave the same bits, the tests above would prove nothing."""
    assert any(
        oracles.lane_sum(wild(40, seed)) != np.cumsum(wild(40, seed))[-1]
        and oracles.lane_sum(wild(40, seed)) != np.sum(wild(40, seed))
        for seed in range(10)
    )


@pytest.mark.parametrize("classes", [3, 4, 5, 8, 11, 12, 13, 17, 25])
def test_many_classes_add_features_from_first_to_last(classes):
    rng = np.random.default_rng(classes)
    X = np.array([wild(13, seed) for seed in range(7)])  # one whole tile of rows, and three more
    y = np.arange(3 * classes) % classes
    W = rng.normal(size=(classes, 13)) * 10.0 ** rng.integers(-3, 4, (classes, 13))
    model = Perceptron(max_iter=1, tol=None, shuffle=False, fit_intercept=False)
    model.fit(np.zeros((3 * classes, 13)), y, coef_init=W)
    expected = np.array([[np.cumsum(w * x)[-1] for w in W] for x in X])
    assert np.array_equal(model.coef_, W)
    assert np.array_equal(model.decision_function(X), expected)
    assert np.array_equal(model.decision_function(csr(X)), expected)


# ---- tables ----


def damaged(damage):
    S = sp.csr_matrix(np.arange(1.0, 13.0).reshape(4, 3))
    damage(S)
    return S


def put(name, place, value):
    def damage(S):
        getattr(S, name)[place] = value

    return damage


def shorten(name):
    def damage(S):
        setattr(S, name, getattr(S, name)[:-1])

    return damage


DAMAGE = {
    "index too large": put("indices", 4, 3),
    "index far too large": put("indices", -1, 2**31 - 1),
    "negative index": put("indices", 0, -1),
    "very negative index": put("indices", 7, -(2**31)),
    "boundaries fall": put("indptr", 1, 7),
    "boundary beyond the end": put("indptr", -1, 10**6),
    "boundary in the middle beyond the end": put("indptr", 2, 10**6),
    "negative boundary": put("indptr", 1, -3),
    "first boundary is not 0": put("indptr", 0, 1),
    "too few boundaries": shorten("indptr"),
    "too few indices": shorten("indices"),
    "too few values": shorten("data"),
}


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_matrix_is_refused_before_a_kernel_runs(damage, index, monkeypatch):
    S = damaged(DAMAGE[damage])
    S.indptr, S.indices = S.indptr.astype(index), S.indices.astype(index)
    monkeypatch.setattr(Table, "chunks", lambda *a: pytest.fail("a kernel would have run"))
    with pytest.raises(ValueError, match=r"(indices|boundar|ind(ices|ptr)|data)"):
        Table(S)


def test_an_index_beyond_32_bits_is_refused():
    S = damaged(lambda S: None)
    S.indptr, S.indices = S.indptr.astype(np.int64), S.indices.astype(np.int64)
    S.indices[5] += 2**32
    with pytest.raises(ValueError, match=r"column indices of a sparse X must be in 0\.\.2.*Rebuild"):
        Table(S)


@pytest.mark.parametrize("damage", DAMAGE)
def test_estimators_refuse_a_damaged_matrix_and_do_not_change(damage):
    X, y = blobs(4, 3)
    model = Perceptron().fit(X, y)
    before = model.coef_
    for call in (lambda S: model.fit(S, y), lambda S: model.partial_fit(S, y), model.predict, model.decision_function):
        with pytest.raises(ValueError):  # noqa: PT011 - SciPy or scikit-learn may see some of these first
            call(damaged(DAMAGE[damage]))
        assert np.array_equal(model.coef_, before)


def test_unsorted_rows_and_duplicates_are_sorted_in_a_copy():
    X = sp.csr_array(
        (np.array([2.0, 1, 5, 3, 4, -1]), np.array([3, 0, 2, 1, 1, 0], np.int32), np.array([0, 2, 5, 6], np.int32)),
        shape=(3, 4),
    )
    data, indices = X.data.copy(), X.indices.copy()
    table = Table(X)
    assert table.as_scipy().toarray().tolist() == [[1, 0, 0, 2], [0, 7, 5, 0], [-1, 0, 0, 0]]
    assert np.array_equal(X.data, data)
    assert np.array_equal(X.indices, indices)


def test_rows_are_checked_even_if_scipy_marks_them_as_sorted():
    X, y = blobs(20, 6)
    S = sp.csr_array(X)
    S.sum_duplicates()
    assert S.has_canonical_format
    for i in range(20):  # reverse every row without telling SciPy
        part = slice(S.indptr[i], S.indptr[i + 1])
        S.indices[part], S.data[part] = S.indices[part][::-1].copy(), S.data[part][::-1].copy()
    assert np.array_equal(Perceptron(eta0=0.1).fit(S, y).coef_, Perceptron(eta0=0.1).fit(X, y).coef_)


@pytest.mark.parametrize("fmt", ["csc", "coo", "lil", "bsr"])
def test_other_sparse_formats_are_converted(fmt):
    X, y = blobs(20, 6)
    S = sp.csr_matrix(X).asformat(fmt)
    assert np.array_equal(Perceptron(eta0=0.1).fit(S, y).coef_, Perceptron(eta0=0.1).fit(X, y).coef_)


def test_data_in_the_right_format_are_not_copied():
    X, _ = blobs(20, 6)
    assert np.shares_memory(Table(X).rows, X)
    S = sp.csr_array(X)
    assert np.shares_memory(Table(S).rows.values, S.data)
    assert np.shares_memory(Table(S).rows.indices, S.indices)
    X.flags.writeable = False
    assert np.shares_memory(Table(X).rows, X)


@pytest.mark.parametrize("layout", ["C", "F", "strided", "reversed", "int", "read-only"])
def test_all_memory_layouts_give_the_same_rows(layout):
    X, y = blobs(150, 7, classes=3)
    X = np.round(X * 4)
    given = {
        "C": X,
        "F": np.asfortranarray(X),
        "strided": np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
        "reversed": X[::-1, ::-1][::-1, ::-1],
        "int": X.astype(np.int16),
        "read-only": X.copy(),
    }[layout]
    if layout == "read-only":
        given.flags.writeable = False
    assert np.array_equal(Perceptron(eta0=0.1).fit(given, y).coef_, Perceptron(eta0=0.1).fit(X, y).coef_)


def test_chunks_cover_the_order(monkeypatch):
    monkeypatch.setattr("rosenblatt.model.matrix.CHUNK_BYTES", 1)
    X, _ = blobs(300, 3)
    order = np.random.default_rng(0).permutation(300)
    for matrix in (X, np.asfortranarray(X), csr(X)):
        table = Table(matrix)
        seen = []
        for rows_, local, part in table.chunks(order):
            seen += order[part].tolist()
            if not table.sparse:
                assert np.array_equal(rows_[local], X[order[part]])
        assert seen == order.tolist()
    assert len(list(Table(X).chunks(order))) > 1
