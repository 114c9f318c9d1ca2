"""Operations on the rows of a matrix, dense and sparse: `dot`, `add`, `squared_norm` and others.

X is a C-contiguous array, or a `CSR` of three arrays whose rows are sorted and free of duplicates. Weights are
*feature-major*: one vector for two classes, a matrix ``(features, classes)`` for more, its columns padded to a
multiple of four, so that the weights of one feature are adjacent in memory.

Every sum has a fixed order: for two classes eight lanes, feature j in lane ``j & 7``; for more classes each class adds its
features from first to last. A dense row and the same row stored sparsely therefore give the same bits.

Input data are checked before: after `check_csr` every index is in range.
"""

from typing import Any

import numpy as np
from numba import carray, njit, uint32, uint64

from .conventions import CSR, TILE
from .jit import ENTRY, NOGIL, VERB, compiled, named, verb
from .simd import (
    add_to_slot,
    load,
    load_first,
    multiply_add,
    pointer,
    prefetch,
    slots,
    slots_total,
    spread,
    store,
    total,
    widen,
    zeros,
)

LINE = 64
"""Size of a cache line in bytes."""

DENSE_BYTES, SPARSE_BYTES, FEWEST, MOST = 8192, 4096, 4, 64
"""Size of the rows to fetch ahead in bytes, and limits of their number; see docs/decisions/prefetching.md."""

NEARLY = 1.0 + 1e-9
"""Upper bound of the quotient of two sums of the same squares in different orders."""

_WIDE = np.zeros(0)


@verb(**VERB)
def unsigned(index: Any) -> Any:
    """A valid column index as an unsigned number; a signed one costs a branch for negative indices."""

    def short(index: Any) -> Any:
        return uint64(uint32(index))

    def long(index: Any) -> Any:
        return uint64(index)

    return short if getattr(index, "bitwidth", 64) == 32 else long


@compiled(**ENTRY)
def check_csr(indptr: Any, indices: Any, entries: Any, rows: Any, features: Any) -> int:
    """0: valid, sorted and without duplicates; 1: valid, but not sorted or with duplicates; 2: an index is out of range."""
    if indptr.size != rows + 1 or indptr[0] != 0 or indices.size != entries or indptr[rows] > entries:
        return 2
    verdict = 0
    for i in range(rows):
        start, stop = indptr[i], indptr[i + 1]
        if stop < start or stop > entries:
            return 2
        if stop == start:
            continue
        unsorted = False
        for k in range(uint64(start + 1), uint64(stop)):
            unsorted |= indices[k] <= indices[k - uint64(1)]
        low, high = indices[start], indices[stop - 1]
        if unsorted:
            verdict = 1
            for k in range(start, stop):
                low, high = min(low, indices[k]), max(high, indices[k])
        if low < 0 or high >= features:
            return 2
    return verdict


@njit(**NOGIL)
def sort_row(indices: Any, values: Any, count: Any) -> None:
    """Sort the first `count` entries of one sparse row by column; fast if they are nearly sorted."""
    for k in range(1, count):
        index, value = indices[k], values[k]
        place = k
        while place > 0 and indices[place - 1] > index:
            indices[place], values[place] = indices[place - 1], values[place - 1]
            place -= 1
        indices[place], values[place] = index, value


@njit(**NOGIL)
def sparse_example(w: Any, indices_address: Any, values_address: Any, count: Any) -> Any:
    """A sorted copy of a row given by the addresses of its entries, with the usual types of a matrix."""
    indptr = np.empty(2, np.int64)
    indptr[0], indptr[1] = 0, count
    indices = carray(pointer(indices_address), (count,), np.int64).astype(np.int32)
    values = carray(pointer(values_address), (count,), w.dtype).copy()
    sort_row(indices, values, count)
    return CSR(indptr, indices, values)


def is_dense(rows: Any) -> bool:
    """Whether a matrix, or a row made by `row`, is dense; takes values and Numba types."""
    return hasattr(rows, "ndim") or len(rows) == 1


@verb(**VERB)
def row(X: Any, i: Any) -> Any:
    """Row i as a tuple: the (values,) of a dense row, the (indices, values) of a sparse one."""

    def dense(X: Any, i: Any) -> Any:
        return (X[i],)

    def sparse(X: Any, i: Any) -> Any:
        start, stop = uint64(X.indptr[i]), uint64(X.indptr[i + 1])
        return X.indices[start:stop], X.values[start:stop]

    return dense if is_dense(X) else sparse


@verb(**VERB)
def rows_ahead(X: Any) -> Any:
    """Number of rows by which a row is fetched before it is needed."""

    def dense(X: Any) -> Any:
        return max(1, min(MOST, DENSE_BYTES // max(1, X.shape[1] * X.itemsize)))

    def sparse(X: Any) -> Any:
        size = X.indices.size * (X.indices.itemsize + X.values.itemsize)
        return max(FEWEST, min(MOST, SPARSE_BYTES * (X.indptr.size - 1) // max(1, size)))

    return dense if is_dense(X) else sparse


@njit(**VERB)
def fetch_numbers(y: Any, weight: Any, order: Any, t: Any, ahead: Any) -> None:
    """Fetch label and weight of a later row, which are far apart if the order is random."""
    if t + ahead < order.size:
        i = uint64(order[t + ahead])
        prefetch(y, i)
        if weight.size > 0:
            prefetch(weight, i)


@verb(**VERB)
def fetch(X: Any, order: Any, t: Any, ahead: Any) -> Any:
    """Fetch a sparse row into the cache before it is needed, and before that its boundaries; dense rows: `dot_and_fetch`."""

    def dense(X: Any, order: Any, t: Any, ahead: Any) -> Any:
        pass

    def sparse(X: Any, order: Any, t: Any, ahead: Any) -> Any:
        # The hardware prefetches consecutive rows too, but these evict weights from the cache.
        if t + ahead < order.size:
            i = order[t + ahead]
            prefetch(X.indptr, uint64(order[min(t + 2 * ahead, order.size - 1)]))
            start, stop = uint64(X.indptr[i]), uint64(X.indptr[i + 1])
            for k in range(start, stop, uint64(LINE // X.values.itemsize)):
                prefetch(X.values, k)
            for k in range(start, stop, uint64(LINE // X.indices.itemsize)):
                prefetch(X.indices, k)
            if stop > start:  # a row that begins within a cache line extends into one more
                prefetch(X.values, stop - uint64(1))
                prefetch(X.indices, stop - uint64(1))

    return dense if is_dense(X) else sparse


@verb(**VERB)
def dot_and_fetch(w: Any, x: Any, X: Any, order: Any, t: Any, ahead: Any) -> Any:
    """The same as `dot` for row order[t] of X, while a later row is fetched into the cache."""

    def dense(w: Any, x: Any, X: Any, order: Any, t: Any, ahead: Any) -> Any:
        # One line at a time: a whole row at once would wait for memory before this row is multiplied.
        (values,) = x
        coming = X[order[min(t + ahead, order.size - 1)]]
        size = uint64(values.size)
        whole = size & ~uint64(7)
        sums = zeros(w, 8)
        for j in range(uint64(0), whole, uint64(8)):
            prefetch(coming, j)
            sums = multiply_add(sums, load(w, j, 8), load(values, j, 8))
        if whole < size:
            prefetch(coming, whole)
            rest = size - whole
            sums = multiply_add(sums, load_first(w, whole, rest, 8), load_first(values, whole, rest, 8))
        return total(sums)

    def sparse(w: Any, x: Any, X: Any, order: Any, t: Any, ahead: Any) -> Any:
        fetch(X, order, t, ahead)
        return dot(w, x)

    return dense if is_dense(x) else sparse


@verb(**VERB)
def dot(w: Any, x: Any) -> Any:
    """<w, x> for one weight vector, in eight lanes."""

    def dense(w: Any, x: Any) -> Any:
        (values,) = x
        size = uint64(values.size)
        whole = size & ~uint64(7)
        sums = zeros(w, 8)
        for j in range(uint64(0), whole, uint64(8)):
            sums = multiply_add(sums, load(w, j, 8), load(values, j, 8))
        if whole < size:
            rest = size - whole
            sums = multiply_add(sums, load_first(w, whole, rest, 8), load_first(values, whole, rest, 8))
        return total(sums)

    def sparse(w: Any, x: Any) -> Any:
        indices, values = x
        sums = slots(w)
        for k in range(uint64(values.size)):
            j = unsigned(indices[k])
            add_to_slot(sums, j, w[j] * values[k])
        return slots_total(sums)

    return dense if is_dense(x) else sparse


@verb(**NOGIL)
def _dots_tile12(W: Any, X: Any, order: Any, t: Any, start: Any, S: Any) -> Any:
    """Three rows against twelve classes: as many sums as fit into sixteen registers beside their factors."""

    def doubles(W: Any, X: Any, order: Any, t: Any, start: Any, S: Any) -> None:
        x0, x1, x2 = X[order[t]], X[order[t + 1]], X[order[t + 2]]
        width = uint64(W.shape[1])
        r0, s0, t0 = zeros(W, 4), zeros(W, 4), zeros(W, 4)
        r1, s1, t1 = zeros(W, 4), zeros(W, 4), zeros(W, 4)
        r2, s2, t2 = zeros(W, 4), zeros(W, 4), zeros(W, 4)
        at = start
        for j in range(uint64(x0.size)):
            u, v, w = load(W, at, 4), load(W, at + uint64(4), 4), load(W, at + uint64(8), 4)
            x = spread(x0[j], u)
            r0, s0, t0 = multiply_add(r0, u, x), multiply_add(s0, v, x), multiply_add(t0, w, x)
            x = spread(x1[j], u)
            r1, s1, t1 = multiply_add(r1, u, x), multiply_add(s1, v, x), multiply_add(t1, w, x)
            x = spread(x2[j], u)
            r2, s2, t2 = multiply_add(r2, u, x), multiply_add(s2, v, x), multiply_add(t2, w, x)
            at += width
        for at, r, s, t4 in ((start, r0, s0, t0), (start + width, r1, s1, t1), (start + uint64(2) * width, r2, s2, t2)):
            store(S, at, r)
            store(S, at + uint64(4), s)
            store(S, at + uint64(8), t4)

    def singles(W: Any, X: Any, order: Any, t: Any, start: Any, S: Any) -> None:
        x0, x1, x2 = X[order[t]], X[order[t + 1]], X[order[t + 2]]
        width = uint64(W.shape[1])
        s0, s1, s2 = zeros(W, 8), zeros(W, 8), zeros(W, 8)
        t0, t1, t2 = zeros(W, 4), zeros(W, 4), zeros(W, 4)
        at = start
        for j in range(uint64(x0.size)):
            v, w = load(W, at, 8), load(W, at + uint64(8), 4)
            s0, t0 = multiply_add(s0, v, spread(x0[j], v)), multiply_add(t0, w, spread(x0[j], w))
            s1, t1 = multiply_add(s1, v, spread(x1[j], v)), multiply_add(t1, w, spread(x1[j], w))
            s2, t2 = multiply_add(s2, v, spread(x2[j], v)), multiply_add(t2, w, spread(x2[j], w))
            at += width
        for at, s, t4 in ((start, s0, t0), (start + width, s1, t1), (start + uint64(2) * width, s2, t2)):
            store(S, at, s)
            store(S, at + uint64(8), t4)

    # Vectors of 32 bytes: half of those of 64 would cross two cache lines.
    return doubles if str(W.dtype) == "float64" else singles


def _dots_tile(classes: int) -> Any:
    """Three rows against the given number of classes."""

    @njit(**NOGIL)
    @named(f"dots_tile{classes}")
    def dots_tile(W: Any, X: Any, order: Any, t: Any, start: Any, S: Any) -> None:
        x0, x1, x2 = X[order[t]], X[order[t + 1]], X[order[t + 2]]
        width = uint64(W.shape[1])
        s0, s1, s2 = zeros(W, classes), zeros(W, classes), zeros(W, classes)
        at = start
        for j in range(uint64(x0.size)):
            w = load(W, at, classes)
            s0 = multiply_add(s0, w, spread(x0[j], w))
            s1 = multiply_add(s1, w, spread(x1[j], w))
            s2 = multiply_add(s2, w, spread(x2[j], w))
            at += width
        store(S, start, s0)
        store(S, width + start, s1)
        store(S, uint64(2) * width + start, s2)

    return dots_tile


_dots_tile8, _dots_tile4 = _dots_tile(8), _dots_tile(4)


@verb(**NOGIL)
def dots(W: Any, X: Any, order: Any, t: Any, S: Any) -> Any:
    """Score rows order[t], order[t+1], … of X against every class into S; return the number of scored rows."""

    def dense(W: Any, X: Any, order: Any, t: Any, S: Any) -> Any:
        width = uint64(W.shape[1])
        start = uint64(0)
        if t + TILE <= order.size:
            while start + uint64(12) <= width:
                _dots_tile12(W, X, order, t, start, S)
                start += uint64(12)
            if start + uint64(8) <= width:
                _dots_tile8(W, X, order, t, start, S)
                start += uint64(8)
            if start < width:
                _dots_tile4(W, X, order, t, start, S)
            return TILE
        x = X[order[t]]
        while start < width:
            sums = zeros(W, 4)
            at = start
            for j in range(uint64(x.size)):
                sums = multiply_add(sums, load(W, at, 4), spread(x[j], sums))
                at += width
            store(S, start, sums)
            start += uint64(4)
        return 1

    def sparse(W: Any, X: Any, order: Any, t: Any, S: Any) -> Any:
        indices, values = row(X, order[t])
        width = uint64(W.shape[1])
        start = uint64(0)
        while start < width:
            if start + uint64(12) <= width:
                s0, s1, s2 = zeros(W, 4), zeros(W, 4), zeros(W, 4)
                for k in range(uint64(values.size)):
                    at = unsigned(indices[k]) * width + start
                    x = spread(values[k], s0)
                    s0 = multiply_add(s0, load(W, at, 4), x)
                    s1 = multiply_add(s1, load(W, at + uint64(4), 4), x)
                    s2 = multiply_add(s2, load(W, at + uint64(8), 4), x)
                store(S, start, s0)
                store(S, start + uint64(4), s1)
                store(S, start + uint64(8), s2)
                start += uint64(12)
            else:
                s0 = zeros(W, 4)
                for k in range(uint64(values.size)):
                    at = unsigned(indices[k]) * width + start
                    s0 = multiply_add(s0, load(W, at, 4), spread(values[k], s0))
                store(S, start, s0)
                start += uint64(4)
        return 1

    return dense if is_dense(X) else sparse


@verb(**VERB)
def add(w: Any, a: Any, x: Any) -> Any:
    """w += a * x for one weight vector."""

    def dense(w: Any, a: Any, x: Any) -> Any:
        (values,) = x
        for j in range(uint64(values.size)):
            w[j] += a * values[j]

    def sparse(w: Any, a: Any, x: Any) -> Any:
        indices, values = x
        for k in range(uint64(values.size)):
            w[unsigned(indices[k])] += a * values[k]

    return dense if is_dense(x) else sparse


@verb(**NOGIL)
def add_columns(W: Any, columns: Any, amounts: Any, count: Any, x: Any) -> Any:
    """W[:, columns[c]] += amounts[c] * x for the first `count` columns."""

    def dense(W: Any, columns: Any, amounts: Any, count: Any, x: Any) -> Any:
        (values,) = x
        for c in range(0, count - 1, 2):  # two at a time: usually the true class and its top rival
            k0, k1 = uint64(columns[c]), uint64(columns[c + 1])
            a0, a1 = amounts[c], amounts[c + 1]
            for j in range(uint64(values.size)):
                if values[j] != 0:
                    W[j, k0] += a0 * values[j]
                    W[j, k1] += a1 * values[j]
        if count % 2:
            last, amount = uint64(columns[count - 1]), amounts[count - 1]
            for j in range(uint64(values.size)):
                W[j, last] += amount * values[j]

    def sparse(W: Any, columns: Any, amounts: Any, count: Any, x: Any) -> Any:
        indices, values = x
        for c in range(0, count - 1, 2):
            k0, k1 = uint64(columns[c]), uint64(columns[c + 1])
            a0, a1 = amounts[c], amounts[c + 1]
            for k in range(uint64(values.size)):
                j = unsigned(indices[k])
                W[j, k0] += a0 * values[k]
                W[j, k1] += a1 * values[k]
        if count % 2:
            last, amount = uint64(columns[count - 1]), amounts[count - 1]
            for k in range(uint64(values.size)):
                W[unsigned(indices[k]), last] += amount * values[k]

    return dense if is_dense(x) else sparse


@njit(**VERB)
def sum_of_squares(values: Any) -> Any:
    """<values, values> in float64, in eight lanes."""
    size = uint64(values.size)
    whole = size & ~uint64(7)
    sums = widen(zeros(values, 8))
    for j in range(uint64(0), whole, uint64(8)):
        lanes = widen(load(values, j, 8))
        sums = multiply_add(sums, lanes, lanes)
    if whole < size:
        lanes = widen(load_first(values, whole, size - whole, 8))
        sums = multiply_add(sums, lanes, lanes)
    return total(sums)


@verb(**VERB)
def squared_norm(x: Any) -> Any:
    """<x, x> in float64, in eight lanes."""

    def dense(x: Any) -> Any:
        return sum_of_squares(x[0])

    def sparse(x: Any) -> Any:
        indices, values = x
        sums = slots(_WIDE)
        for k in range(uint64(values.size)):
            value = np.float64(values[k])
            add_to_slot(sums, unsigned(indices[k]), value * value)
        return slots_total(sums)

    return dense if is_dense(x) else sparse


@verb(**VERB)
def norm_above(x: Any, limit: Any) -> Any:
    """<x, x> if it may be above the limit; else an approximation, 0 only for a row of zeros."""

    def dense(x: Any, limit: Any) -> Any:
        return squared_norm(x)

    def sparse(x: Any, limit: Any) -> Any:
        # The assignment to lanes costs more than the sum, and matters only for the last bits of a maximum.
        rough = sum_of_squares(x[1])
        return rough if rough * NEARLY <= limit else squared_norm(x)

    return dense if is_dense(x) else sparse
