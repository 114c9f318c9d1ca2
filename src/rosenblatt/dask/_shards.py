"""Examples where they lie: what a worker has loaded, what it tells about it, and what it keeps for the epochs."""

import dataclasses
import re
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.engine.rows import CSR
from rosenblatt.model.matrix import Table, writable
from rosenblatt.training.schedule import Schedule, held_out

Array = NDArray[Any]


@dataclasses.dataclass
class Loaded:
    """Examples with labels and features numbered in the order in which they arrived here.

    Attributes
    ----------
    rows : CSR or ndarray
        The features.
    codes : ndarray of int64
        For each row the place of its label in `labels`; -1 where it has none.
    weights : ndarray of float64
        The importance of each row; empty where all count the same.
    labels : list
        The labels.
    width : int
        How many columns there are.
    names : list of str or None
        What the columns are called, where they were numbered here; None: the numbers are the same everywhere.
    columns : list of str or None
        The columns of a frame, which must be the same everywhere.
    place : str
        Where the examples come from, for people.
    fresh : bool
        Whether no names were known before, so that the numbers of the features follow from the examples alone.
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
    """What the driver must know of a shard before any can learn; everything but its examples.

    `weight` is the sum of the importances, and `mark` what it is known by when it is loaded again.
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
    """Examples as the kernels take them.

    Attributes
    ----------
    rows, codes, weights
        As in `Loaded`, but numbered the same everywhere.
    width : int
        The number of features of the model.
    first : int
        The number of its first example among all.
    place : str
        Where the examples come from, for people.
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
        """The rows; what came over the network is marked read-only, for which kernels would be compiled once more."""
        if isinstance(self.rows, CSR):
            return Table.of_rows(CSR(*(writable(part) for part in self.rows)), self.width)
        return Table.of_rows(writable(self.rows), self.width)

    def parts(self, schedule: Schedule) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The rows to learn, and those that are held out."""
        labelled = self.codes >= 0
        out = held_out(self.first, self.codes.size, schedule.holdout, schedule.seed)
        return np.flatnonzero(labelled & ~out), np.flatnonzero(labelled & out)


def _bytes(rows: Any, *arrays: Array) -> int:
    parts = rows if isinstance(rows, CSR) else (rows,)
    return sum(int(part.nbytes) for part in (*parts, *arrays))


def same(value: Any) -> Any:
    """What was given: it is computed where it shall lie."""
    return value


# ---- tell and settle ----


def facts_of(loaded: Loaded, checked: bool) -> Facts:
    """What the driver must know; a checksum of all examples only if they have to be found again."""
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
    """A number that changes when a shard is no longer what it was, made at the speed of memory.

    It holds everything that was agreed on when it was first loaded: how many examples there are, the numbers of labels and
    features, and how wide the rows are. Of the numbers in these it holds the sum.
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
    """A number that hardly any other examples have.

    Where features were numbered here and some were known before, it leaves out their numbers and their order in a row, since both
    depend on that.
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
    """Number labels and features as everybody does.

    Parameters
    ----------
    loaded : Loaded
        What is here; its arrays are used again.
    mark : int
        What it was known by when labels and features were agreed on; it may be loaded again long after that.
    places : list of int
        The class numbers of its labels.
    columns : ndarray or None
        The numbers of its features, where it had its own.
    width, dtype
        The features of the model and its float type.
    factors : list of float or None
        The weight of each class.
    first : int
        The number of its first example among all.
    """
    if _mark(loaded) != mark:
        raise ValueError(
            f"Examples must stay as they are while they are learned; {loaded.place} was loaded again and has changed. Train "
            "anew, on files that nobody writes to or partitions that are always the same."
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
            f"The features of a bag must all be dicts, or all sequences of numbers; {loaded.place} has sequences, others have "
            "dicts. Map the bag to one of these first."
        )
    else:
        rows = np.ascontiguousarray(rows, dtype)
    weights = loaded.weights
    if factors is not None:
        own = np.array([*factors, 1.0])[codes]
        weights = own * weights if weights.size else own
    return Shard(rows, codes, weights, width, first, re.sub(r"^(.{300}).+$", r"\1 …", loaded.place))
