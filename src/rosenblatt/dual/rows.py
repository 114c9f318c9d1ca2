"""Rows of examples for the kernels, and arrays that grow without copying at every mistake."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@np.errstate(over="ignore")
def squared_norms(rows: Any) -> Floats:
    """Squared length of every row, summed in float64."""
    if sp.issparse(rows):
        return np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64).ravel()
    return np.asarray(np.einsum("ij,ij->i", rows, rows, dtype=np.float64, casting="same_kind"))


@dataclass(frozen=True)
class Block:
    """Some examples: their rows, the squared lengths of the rows, and the numbers of the examples.

    With a precomputed kernel `rows` contains kernel values, one column per training example, and `ids` are the column
    numbers of the examples.
    """

    rows: Any
    sq_norms: Floats
    ids: Integers

    @classmethod
    def of(cls, rows: Any, ids: Integers | None = None) -> Block:
        """Wrap a two-dimensional array or a CSR matrix."""
        numbers = np.arange(rows.shape[0], dtype=np.int64) if ids is None else ids
        return cls(rows, squared_norms(rows), numbers)

    def take(self, which: Any) -> Block:
        """Return the examples at the given positions (an index array or a slice)."""
        return Block(self.rows[which], self.sq_norms[which], self.ids[which])

    def __len__(self) -> int:
        return len(self.ids)


class Growing:
    """An array that grows at its end in amortised constant time per row, and can be truncated."""

    def __init__(self, columns: int | None, dtype: Any = np.float64) -> None:
        self._tail: tuple[int, ...] = () if columns is None else (columns,)
        self._buffer: Array = np.empty((0, *self._tail), dtype=dtype)
        self._size = 0

    @property
    def view(self) -> Array:
        """A view of the rows in use, valid until the next change."""
        return self._buffer[: self._size]

    def __len__(self) -> int:
        return self._size

    def extend(self, values: Array) -> None:
        """Append rows; a wider float type converts the array."""
        needed = self._size + len(values)
        dtype = np.promote_types(self._buffer.dtype, values.dtype) if self._size else values.dtype
        if needed > len(self._buffer) or dtype != self._buffer.dtype:
            grown = np.empty((max(needed, needed * 3 // 2), *self._tail), dtype=dtype)
            grown[: self._size] = self.view
            self._buffer = grown
        self._buffer[self._size : needed] = values
        self._size = needed

    def truncate(self, size: int) -> None:
        """Keep only the first `size` rows."""
        self._size = size

    def replace(self, values: Array) -> None:
        """Replace all rows (used when a new class changes the number of columns)."""
        self._tail = values.shape[1:]
        self._buffer = values
        self._size = len(values)


class RowStore:
    """The support rows: dense, CSR, or with a precomputed kernel only their numbers."""

    def __init__(self, keep_rows: bool = True) -> None:
        self._keep_rows = keep_rows
        self._dense: Growing | None = None
        self._data: Growing | None = None
        self._indices = Growing(None, np.int64)
        self._ends = Growing(None, np.int64)
        self._sq_norms = Growing(None)
        self._ids = Growing(None, np.int64)
        self._width = 0

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def ids(self) -> Integers:
        """The numbers of the stored examples."""
        return self._ids.view

    def append(self, block: Block) -> None:
        """Append rows, in the layout of the first rows that were added."""
        if self._keep_rows and len(block):
            self._append_rows(block.rows)
        self._sq_norms.extend(block.sq_norms)
        self._ids.extend(block.ids)

    def _append_rows(self, rows: Any) -> None:
        self._width = max(self._width, rows.shape[1])
        if self._dense is None and self._data is None:
            if sp.issparse(rows):
                self._data = Growing(None, rows.dtype)
            else:
                self._dense = Growing(rows.shape[1], rows.dtype)
        if self._dense is not None:
            self._dense.extend(rows.toarray() if sp.issparse(rows) else np.asarray(rows))
            return
        assert self._data is not None
        added = sp.csr_array(rows)
        start = self._ends.view[-1] if len(self._ends) else 0
        self._data.extend(added.data)
        self._indices.extend(added.indices.astype(np.int64))
        self._ends.extend(added.indptr[1:].astype(np.int64) + start)

    def slice(self, start: int, stop: int) -> Block:
        """Rows start:stop, without copying if the layout allows it."""
        return Block(self._rows(start, stop), self._sq_norms.view[start:stop], self._ids.view[start:stop])

    def take(self, which: Integers) -> Block:
        """The rows at these positions."""
        if self._dense is not None:
            rows: Any = self._dense.view[which]
        else:
            rows = self._rows(0, len(self))
            rows = rows[which] if self._data is not None else rows
        return Block(rows, self._sq_norms.view[which], self._ids.view[which])

    def _rows(self, start: int, stop: int) -> Any:
        if self._dense is not None:
            return self._dense.view[start:stop]
        if self._data is None:
            return np.empty((stop - start, 0))
        ends = np.concatenate(([0], self._ends.view))[start : stop + 1]
        if len(ends) == 0:
            ends = np.zeros(1, dtype=np.int64)
        inside = slice(ends[0], ends[-1])
        parts = (self._data.view[inside], self._indices.view[inside], ends - ends[0])
        return sp.csr_array(parts, shape=(stop - start, self._width))

    def truncate(self, size: int) -> None:
        """Keep only the first `size` rows."""
        if self._dense is not None:
            self._dense.truncate(size)
        if self._data is not None:
            filled = int(self._ends.view[size - 1]) if size else 0
            self._data.truncate(filled)
            self._indices.truncate(filled)
            self._ends.truncate(size)
        self._sq_norms.truncate(size)
        self._ids.truncate(size)
