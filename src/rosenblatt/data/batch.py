"""What a reader gives: some examples at a time, in the form that kernels take."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.rows import CSR
from rosenblatt.table import Table

__all__ = ["Batch"]


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
