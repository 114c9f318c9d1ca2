"""Examples in the form that compiled code takes: C-contiguous dense rows, or sorted CSR rows, of float32 or float64.

Data in that form are used without a copy. Other layouts are copied in chunks, so that a strided or
Fortran-ordered matrix is never copied as a whole; a CSR matrix with unsorted or repeated entries is put in order on a copy.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.engine.conventions import CSR
from rosenblatt.engine.entries import check_csr

CHUNK_BYTES = 1 << 25
"""Size of a chunk, the input of one compiled call; an interrupt is handled between two chunks."""

Floats = NDArray[Any]
Indices = NDArray[np.int64]


class Table:
    """A matrix of examples.

    Parameters
    ----------
    X : array of shape (rows, features) or scipy.sparse matrix or array
        The examples. Sparse formats other than CSR are converted.
    dtype : dtype or None, default=None
        The float type of the rows for compiled code; None keeps float32 and makes everything else float64.
    """

    def __init__(self, X: Any, dtype: Any = None) -> None:
        self.sparse = hasattr(X, "tocsr")
        if dtype is None:
            dtype = np.float32 if X.dtype == np.float32 else np.float64
        self.dtype = np.dtype(dtype)
        self.shape: tuple[int, int] = X.shape
        self.rows: Any
        if self.sparse:
            csr = self._csr(X.tocsr())
            self.rows, size = csr, 2 * csr.values.nbytes
        else:
            self.rows, size = self._dense(np.asarray(X)), self.shape[0] * self.shape[1] * self.dtype.itemsize
        self._chunk = max(64, CHUNK_BYTES * self.shape[0] // max(1, size))

    def _dense(self, X: NDArray[Any]) -> NDArray[Any]:
        self.in_place = X.dtype == self.dtype and X.flags.c_contiguous and X.flags.aligned
        return writable(X) if self.in_place else X

    def _csr(self, X: Any) -> CSR:
        self.in_place = True
        boundaries = writable(
            X.indptr.astype(np.int64, copy=False)
        )  # one type for all, because each type is compiled separately
        verdict = check_csr(boundaries, writable(X.indices), X.data.size, *self.shape)
        if verdict == 2:
            raise ValueError(
                f"The column indices of a sparse X must be in 0..{self.shape[1] - 1}, one for each value, and its row "
                "boundaries must increase from 0 to the number of entries; got a value outside. Rebuild it from its coordinates."
            )
        if verdict == 1:
            X = X.copy()
            X.sum_duplicates()
            boundaries = X.indptr.astype(np.int64, copy=False)
        values = np.ascontiguousarray(X.data, dtype=self.dtype)
        return CSR(boundaries, writable(X.indices), writable(values))

    @classmethod
    def of_row(cls, row: Any, features: int, dtype: Any) -> "Table":
        """Make a table of one example in the right form, without checks."""
        table = cls.__new__(cls)
        table.sparse, table.in_place, table.dtype = isinstance(row, CSR), True, np.dtype(dtype)
        table.rows, table._chunk = row, 1
        table.shape = (1, features if table.sparse else row.shape[1])
        return table

    @classmethod
    def of_rows(cls, rows: Any, features: int) -> "Table":
        """Make a table of examples in the right form, such as those of file readers, without checks."""
        table = cls.of_row(rows, features, (rows.values if isinstance(rows, CSR) else rows).dtype)
        count = rows.indptr.size - 1 if table.sparse else rows.shape[0]
        table.shape = (count, table.shape[1])
        table._chunk = max(64, count)  # a batch is small enough for one chunk
        return table

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def entries(self) -> int:
        """Number of stored values."""
        return int(self.rows.values.size if self.sparse else self.rows.size)

    def chunks(self, order: Indices) -> Iterator[tuple[Any, Indices, slice]]:
        """Yield the rows in the given order, in chunks: the rows, the order within them, and the slice of `order`."""
        for start in range(0, order.size, self._chunk):
            part = slice(start, min(start + self._chunk, order.size))
            if self.in_place:
                yield self.rows, order[part], part
            else:
                with np.errstate(
                    over="ignore"
                ):  # values too large for float32 become infinite, and the loop reports them
                    rows = np.ascontiguousarray(self.rows[order[part]], dtype=self.dtype)
                yield rows, np.arange(part.stop - start), part

    def take(self, rows: Indices) -> Any:
        """Copy some rows to a dense array or a scipy CSR array."""
        if not self.sparse:
            return np.ascontiguousarray(self.rows[rows], dtype=self.dtype)
        return self.as_scipy()[rows]

    def some(self, rows: Indices) -> "Table":
        """A table of some of the rows."""
        if not self.sparse:
            return Table.of_rows(np.ascontiguousarray(self.rows[rows], dtype=self.dtype), self.shape[1])
        starts = self.rows.indptr[rows]
        counts = self.rows.indptr[rows + 1] - starts
        indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        places = np.repeat(starts - indptr[:-1], counts) + np.arange(indptr[-1])
        return Table.of_rows(CSR(indptr, self.rows.indices[places], self.rows.values[places]), self.shape[1])

    def as_scipy(self) -> Any:
        """The sparse rows as a scipy CSR array, without a copy."""
        from scipy.sparse import csr_array

        return csr_array((self.rows.values, self.rows.indices, self.rows.indptr), shape=self.shape)

    def touched(self) -> Any:
        """The features that these rows can change: a slice of all, or an index array if there are few."""
        if self.sparse and self.rows.values.size < self.shape[1]:
            return np.unique(self.rows.indices)
        return slice(None)

    def describe_bad_row(self, number: int) -> str:
        """Describe the error in a row whose score is not finite."""
        values = (
            self.rows.values[self.rows.indptr[number] : self.rows.indptr[number + 1]]
            if self.sparse
            else self.rows[number]
        )
        with np.errstate(over="ignore"):
            values = np.asarray(values, dtype=self.dtype)
        wrong = np.flatnonzero(~np.isfinite(values))
        if wrong.size == 0:
            return (
                f"Row {number} of X has values so large that its score overflows; the largest is "
                f"{float(np.abs(values).max(initial=0.0)):.3g}. Scale the features, for instance with MaxAbsScaler."
            )
        column = int(self.rows.indices[self.rows.indptr[number] + wrong[0]]) if self.sparse else int(wrong[0])
        value = "NaN" if np.isnan(values[wrong[0]]) else f"infinity ({values[wrong[0]]})"
        return (
            f"The values of X must be finite numbers; row {number}, feature {column} is {value}. "
            "Remove or impute such values, for instance with SimpleImputer."
        )


class _View:
    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array
        self.__array_interface__ = {**array.__array_interface__, "data": (array.__array_interface__["data"][0], False)}


def writable(array: NDArray[Any]) -> NDArray[Any]:
    """An aligned, contiguous array that compiled code takes without being compiled again: a copy only where one is needed.

    Read-only arrays become writable views, though nothing is written to them.
    """
    if not (array.flags.c_contiguous and array.flags.aligned):  # messages and files may begin anywhere
        array = np.array(array, order="C")
    return array if array.flags.writeable or array.size == 0 else np.asarray(_View(array))
