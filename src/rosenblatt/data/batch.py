"""What a reader gives: some examples at a time, in the form that kernels take."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.engine.rows import CSR
from rosenblatt.model.matrix import Table


class Batch(NamedTuple):
    """Consecutive examples of a file.

    Attributes
    ----------
    rows : CSR or ndarray
        The features: sorted sparse rows without duplicates, or a C-contiguous matrix where every column is a number.
    codes : ndarray of int64
        For each row the place of its label in `Stream.labels`; -1 where it has none.
    weights : ndarray of float64
        The importance of each row; empty where the file has none.
    tags : list of str or None
        The names that VW text gives its examples; empty strings where one has none.
    first_line : int
        The line of its file on which the batch begins, counted from 1; for Parquet, the row.
    """

    rows: Any
    codes: NDArray[np.int64]
    weights: NDArray[np.float64]
    tags: list[str] | None
    first_line: int

    @property
    def size(self) -> int:
        """The number of examples."""
        return int(self.codes.size)

    def table(self, n_features: int, dtype: Any = None) -> Table:
        """The rows as the table that `Model.run` takes, without a copy unless another float type is asked for."""
        if isinstance(self.rows, CSR):
            values = self.rows.values if dtype is None else self.rows.values.astype(dtype, copy=False)
            return Table.of_rows(CSR(self.rows.indptr, self.rows.indices, values), n_features)
        return Table.of_rows(self.rows if dtype is None else self.rows.astype(dtype, copy=False), n_features)


def compact(batch: Batch) -> Batch:
    """A copy without tags, because a batch holds on to the larger memory that it was parsed into."""
    rows = CSR(*(part.copy() for part in batch.rows)) if isinstance(batch.rows, CSR) else batch.rows.copy()
    return batch._replace(rows=rows, codes=batch.codes.copy(), weights=batch.weights.copy(), tags=None)


def join(batches: list[Batch]) -> Batch:
    """Batches one after the other as one; without any, one that is empty and sparse. The list is emptied on the way."""
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
    batches.clear()  # so that each kind of array is let go of before the next one is copied
    indptr, starts = np.concatenate([np.zeros(1, np.int64), *starts]), []
    columns, indices = np.concatenate(indices), []
    return Batch(CSR(indptr, columns, np.concatenate(values)), codes, weights, None, 1)
