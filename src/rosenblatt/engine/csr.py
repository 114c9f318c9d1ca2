"""Sparse matrices in rows: what they are made of, whether one is sound, and their order.

Nothing that comes from outside reaches a kernel unchecked: after `check_csr` an index is known to be in range.
"""

from typing import Any, NamedTuple

from numba import njit, uint32, uint64
from numba.extending import overload
from numpy.typing import NDArray

from .jit import NOGIL, VERB

__all__ = ["CSR", "check_csr", "sort_row", "unsigned"]


class CSR(NamedTuple):
    """A sparse matrix in rows: row i holds ``values[indptr[i]:indptr[i + 1]]`` at the columns in `indices`."""

    indptr: NDArray[Any]
    indices: NDArray[Any]
    values: NDArray[Any]


def unsigned(index: Any) -> Any:
    """A column index, known to be in range, as an unsigned number: a signed one costs a branch for counting from the end."""


@overload(unsigned, jit_options=VERB)
def _unsigned(index: Any) -> Any:
    def short(index: Any) -> Any:
        return uint64(uint32(index))

    def long(index: Any) -> Any:
        return uint64(index)

    return short if index.bitwidth == 32 else long


@njit(**NOGIL)
def check_csr(indptr: Any, indices: Any, entries: Any, rows: Any, features: Any) -> int:
    """0: sound and sorted without duplicates; 1: sound, but not so; 2: an index or a row boundary is out of range."""
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
    """Sort the first `count` entries of one sparse row by column; fast where they are nearly sorted already."""
    for k in range(1, count):
        index, value = indices[k], values[k]
        place = k
        while place > 0 and indices[place - 1] > index:
            indices[place], values[place] = indices[place - 1], values[place - 1]
            place -= 1
        indices[place], values[place] = index, value
