"""Batches of examples in the form that the kernels take."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.engine.conventions import CSR
from rosenblatt.model.matrix import Table


class Batch(NamedTuple):
    """Consecutive examples of a file.

    Attributes
    ----------
    rows : CSR or ndarray
        The features: sorted sparse rows without duplicates, or a C-contiguous matrix if every column is a number.
    codes : ndarray of int64
        The index of each row's label in `Stream.labels`; -1 if it has none. For real targets the bits of a float64.
    weights : ndarray of float64
        The weight of each row; empty if the file has none.
    tags : list of str or None
        The tags of the examples in VW text; empty strings for examples without a tag.
    first_line : int
        The line of the file at which the batch begins, counted from 1; for Parquet, the row.
    kept : dict of str to list, or None
        The columns that were asked for as they are in the file.
    """

    rows: Any
    codes: NDArray[np.int64]
    weights: NDArray[np.float64]
    tags: list[str] | None
    first_line: int
    kept: dict[str, list[Any]] | None = None

    @property
    def size(self) -> int:
        """The number of examples."""
        return int(self.codes.size)

    def table(self, n_features: int, dtype: Any = None) -> Table:
        """The rows as a table for `Model.run`; copied only if another float type is requested."""
        if isinstance(self.rows, CSR):
            values = self.rows.values if dtype is None else self.rows.values.astype(dtype, copy=False)
            return Table.of_rows(CSR(self.rows.indptr, self.rows.indices, values), n_features)
        return Table.of_rows(self.rows if dtype is None else self.rows.astype(dtype, copy=False), n_features)


def compact(batch: Batch) -> Batch:
    """A copy without tags; the original keeps the larger buffers alive that it was parsed into."""
    rows = CSR(*(part.copy() for part in batch.rows)) if isinstance(batch.rows, CSR) else batch.rows.copy()
    return batch._replace(rows=rows, codes=batch.codes.copy(), weights=batch.weights.copy(), tags=None)


def join(batches: list[Batch]) -> Batch:
    """Concatenate batches and empty the list; without batches, return an empty sparse one."""
    if len(batches) == 1:
        return batches.pop()
    codes = np.concatenate([np.zeros(0, np.int64), *(batch.codes for batch in batches)])
    weights = np.zeros(0)
    if any(batch.weights.size for batch in batches):
        weights = np.concatenate([b.weights if b.weights.size else np.ones(b.codes.size) for b in batches])
    if batches and not isinstance(batches[0].rows, CSR):
        dense = np.concatenate([batch.rows for batch in batches])
        batches.clear()
        return Batch(dense, codes, weights, None, 1)
    ends = np.cumsum([0] + [int(batch.rows.indptr[-1]) for batch in batches])
    starts = [batch.rows.indptr[1:] + end for batch, end in zip(batches, ends[:-1], strict=True)]
    indices = [batch.rows.indices for batch in batches] or [np.zeros(0, np.int32)]
    values = [batch.rows.values for batch in batches] or [np.zeros(0)]
    batches.clear()  # so that each kind of array is freed before the next one is copied
    indptr, starts = np.concatenate([np.zeros(1, np.int64), *starts]), []
    columns, indices = np.concatenate(indices), []
    return Batch(CSR(indptr, columns, np.concatenate(values)), codes, weights, None, 1)
