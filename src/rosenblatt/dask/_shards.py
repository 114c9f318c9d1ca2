"""Shards on workers: as loaded, as a summary for the client, and as prepared for the epochs."""

import dataclasses
import re
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.engine.conventions import CSR
from rosenblatt.model.matrix import Table, writable
from rosenblatt.training.schedule import Schedule, held_out

Array = NDArray[Any]


@dataclasses.dataclass
class Loaded:
    """Examples whose labels and features are numbered in the order of their first occurrence in this shard.

    Attributes
    ----------
    rows : CSR or ndarray
        The features.
    codes : ndarray of int64
        The index of each row's label in `labels`; -1 if it has none.
    weights : ndarray of float64
        The weight of each row; empty if all are equal.
    labels : list
        The labels.
    width : int
        Number of columns.
    names : list of str or None
        Names of the columns if they were numbered in this shard; None if all shards use the same numbers.
    columns : list of str or None
        The columns of a data frame, which must be the same in all shards.
    place : str
        Description of where the examples come from, for messages.
    fresh : bool
        Whether no names were known before, so that the feature numbers depend on the examples only.
    """

    rows: Any
    codes: NDArray[np.int64]
    weights: NDArray[np.float64]
    labels: list[Any]
    width: int
    names: list[str] | None = None
    columns: list[str] | None = None
    place: str = ""
    fresh: bool = False

    def __sizeof__(self) -> int:
        return 1000 + _bytes(self.rows, self.codes, self.weights)


@dataclasses.dataclass
class Facts:
    """Summary of a shard for the client: everything except its examples.

    `weight` is the sum of the sample weights; `mark` identifies the shard when it is loaded again.
    """

    examples: int
    labels: list[Any]
    counts: list[int]
    width: int
    dtype: str
    sparse: bool
    names: list[str] | None
    columns: list[str] | None
    bytes: int
    place: str
    weight: float
    mark: int
    checksum: int = 0
    weighted: bool = False


@dataclasses.dataclass
class Shard:
    """Examples in the form that the kernels take.

    Attributes
    ----------
    rows, codes, weights
        As in `Loaded`, but with numbers common to all shards.
    width : int
        The number of features of the model.
    first : int
        The number of its first example among all.
    place : str
        Description of where the examples come from, for messages.
    """

    rows: Any
    codes: NDArray[np.int64]
    weights: NDArray[np.float64]
    width: int
    first: int
    place: str

    def __sizeof__(self) -> int:
        return 1000 + _bytes(self.rows, self.codes, self.weights)

    def table(self) -> Table:
        """The rows as writable arrays; for the read-only ones from the network, kernels would have to be compiled again."""
        if isinstance(self.rows, CSR):
            return Table.of_rows(CSR(*(writable(part) for part in self.rows)), self.width)
        return Table.of_rows(writable(self.rows), self.width)

    def parts(self, schedule: Schedule) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The training rows and the held-out rows."""
        labelled = self.codes >= 0
        out = held_out(self.first, self.codes.size, schedule.holdout, schedule.seed)
        return np.flatnonzero(labelled & ~out), np.flatnonzero(labelled & out)


def _bytes(rows: Any, *arrays: Array) -> int:
    parts = rows if isinstance(rows, CSR) else (rows,)
    return sum(int(part.nbytes) for part in (*parts, *arrays))


def same(value: Any) -> Any:
    """Return the value unchanged; a task that copies it to another worker."""
    return value


# ---- summarize and renumber ----


def facts_of(loaded: Loaded, checked: bool) -> Facts:
    """The summary of a shard; with `checked`, including a checksum of all examples."""
    sparse = isinstance(loaded.rows, CSR)
    counts = np.bincount(loaded.codes[loaded.codes >= 0], minlength=len(loaded.labels))
    return Facts(
        int(loaded.codes.size), loaded.labels, counts.tolist(), loaded.width,
        (loaded.rows.values if sparse else loaded.rows).dtype.name, sparse, loaded.names, loaded.columns,
        _bytes(loaded.rows, loaded.codes, loaded.weights), loaded.place,
        float(loaded.weights.sum()) if loaded.weights.size else float(loaded.codes.size), _mark(loaded),
        _checksum(loaded) if checked else 0, loaded.weights.size > 0,
    )  # fmt: skip


def _mark(loaded: Loaded) -> int:
    """A fast checksum that detects changes of a shard.

    It covers everything that other shards depend on: the number of examples, the numbering of labels and features, and the
    width of the rows. Of the feature values it covers only the sum.
    """
    sparse = isinstance(loaded.rows, CSR)
    parts = loaded.rows[1:] if sparse else (loaded.rows,)
    sums = [int(np.sum(part.view(f"u{part.itemsize}"), dtype=np.uint64)) for part in parts if part.size]
    agreed = (loaded.labels, loaded.width, loaded.columns, [part.dtype.str for part in parts], sums)
    mark = zlib.crc32(repr(agreed).encode())
    for order in (loaded.codes, loaded.rows.indptr) if sparse else (loaded.codes,):
        mark = zlib.crc32(np.ascontiguousarray(order).data, mark)
    return zlib.crc32("\0".join(loaded.names or []).encode(), mark)


def _checksum(loaded: Loaded) -> int:
    """A checksum of all examples.

    If features were numbered in this shard and some names were known before, it leaves out the numbers of the features and their
    order in a row, since both depend on the known names.
    """
    rows: tuple[Any, ...] = loaded.rows if isinstance(loaded.rows, CSR) else (loaded.rows,)
    if loaded.names is not None and not loaded.fresh:
        values = np.ascontiguousarray(loaded.rows.values)
        rows = loaded.rows.indptr, np.sum(values.view(f"u{values.itemsize}"), keepdims=True)
    total = zlib.adler32("\0".join(loaded.names or []).encode()) if loaded.fresh else 1
    for part in (*rows, loaded.codes, loaded.weights):
        total = zlib.adler32(np.ascontiguousarray(part).data, total)
    return total


def settle(
    loaded: Loaded,
    mark: int,
    places: list[int],
    columns: Array | None,
    width: int,
    dtype: str,
    factors: list[float] | None,
    first: int,
) -> Shard:
    """Replace the shard's own numbers of labels and features by the common ones.

    Parameters
    ----------
    loaded : Loaded
        The loaded examples; their arrays are reused.
    mark : int
        The mark of the shard when it was first loaded; it may have been loaded again since then.
    places : list of int
        The class numbers of its labels.
    columns : ndarray or None
        The common numbers of its features, if it had its own.
    width, dtype
        Number of features and float type of the model.
    factors : list of float or None
        The weight of each class.
    first : int
        The number of its first example among all.
    """
    if _mark(loaded) != mark:
        raise ValueError(
            f"Examples must not change during training; {loaded.place} was loaded again and has changed. Train again, on files "
            "that are not being written to or partitions that are always the same."
        )
    codes = np.array([*places, -1], np.int64)[loaded.codes]
    rows = loaded.rows
    if isinstance(rows, CSR):
        indptr, indices, values = rows.indptr, rows.indices, rows.values.astype(dtype, copy=False)
        if columns is not None:
            from scipy.sparse import csr_array

            matrix = csr_array((values.copy(), columns[indices], rows.indptr), shape=(codes.size, width))
            matrix.sum_duplicates()
            indptr, indices, values = matrix.indptr, matrix.indices, matrix.data
        kind = np.int32 if width < 2**31 else np.int64
        rows = CSR(indptr.astype(np.int64, copy=False), indices.astype(kind, copy=False), values)
    elif columns is not None:
        raise ValueError(
            f"The features of a bag must all be dicts, or all be sequences of numbers; {loaded.place} has sequences, others have "
            "dicts. Map the bag to one of these first."
        )
    else:
        rows = np.ascontiguousarray(rows, dtype)
    weights = loaded.weights
    if factors is not None:
        own = np.array([*factors, 1.0])[codes]
        weights = own * weights if weights.size else own
    return Shard(rows, codes, weights, width, first, re.sub(r"^(.{300}).+$", r"\1 …", loaded.place))
