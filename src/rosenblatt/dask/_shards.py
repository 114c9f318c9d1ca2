"""Examples where they lie: what a worker loads, what it tells about it, and what it keeps for the epochs."""

import dataclasses
import re
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data import Encoder, open_stream
from rosenblatt.data.batch import compact, join
from rosenblatt.data.encoder import Moments
from rosenblatt.data.spans import Span
from rosenblatt.records import kind_of_label
from rosenblatt.rows import CSR
from rosenblatt.runs import Run
from rosenblatt.table import Table, writable

__all__ = [
    "Facts",
    "Loaded",
    "Piece",
    "Shard",
    "facts_of",
    "load_files",
    "load_pairs",
    "load_table",
    "moments_of",
    "same",
    "settle",
]

Array = NDArray[Any]

Piece = tuple[str, Span | None]
"""A file, and the part of it that is meant; None: all of it."""


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

    def visits(self, run: Run, epoch: int, number: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The rows to learn, in the order of this epoch, and those set aside; decided by seed, epoch and number alone."""
        labelled = self.codes >= 0
        aside = run.aside(self.first, self.codes.size)
        order = np.flatnonzero(labelled & ~aside)
        rng = np.random.default_rng([run.seed, epoch, number])
        if run.shuffle == "replacement":
            order = order[rng.integers(0, max(1, order.size), order.size)]
        elif run.shuffle:
            rng.shuffle(order)
        return order, np.flatnonzero(labelled & aside)


def _bytes(rows: Any, *arrays: Array) -> int:
    parts = rows if isinstance(rows, CSR) else (rows,)
    return sum(int(part.nbytes) for part in (*parts, *arrays))


# ---- load ----


def load_files(pieces: Sequence[Piece], encoder: dict[str, Any], options: dict[str, Any]) -> Loaded:
    """The examples of parts of files; features and labels that nobody has seen yet get numbers of their own."""
    known = Encoder.from_json(encoder)
    started = len(known.vocabulary) if known.family != "numbered" and known.bits is None else 0
    known.learned_moments = True
    batches: list[Any] = []
    labels: dict[Any, int] = {}
    for stream in _streams(pieces, known, options):
        for batch in stream:
            places = np.array([labels.setdefault(label, len(labels)) for label in stream.labels] + [-1], np.int64)
            small = compact(batch)
            batches.append(small._replace(codes=places[small.codes]))
    whole = join(batches)
    names = known.vocabulary.names()[started:] if known.family != "numbered" and known.bits is None else None
    if known.dense:
        names = None
    if not whole.codes.size and known.dense:
        whole = whole._replace(rows=np.zeros((0, known.n_features)))
    place = ", ".join(_described(piece) for piece in pieces)
    return Loaded(whole.rows, whole.codes, whole.weights, list(labels), known.n_features, names, None, place)


def moments_of(pieces: Sequence[Piece], encoder: dict[str, Any], options: dict[str, Any]) -> Moments:
    """Mean and spread of the number columns of parts of files."""
    known = Encoder.from_json({**encoder, "interactions": []})
    for stream in _streams(pieces, known, options):
        for _ in stream:
            pass
    assert known.moments is not None
    return known.moments


def _streams(pieces: Sequence[Piece], encoder: Encoder, options: dict[str, Any]) -> Any:
    for name, span in pieces:
        yield open_stream(name, encoder=encoder, span=span, threads=1, **options)


def _described(piece: Piece) -> str:
    name, span = piece
    return name if span is None else f"{name} from {span[0]:,} to {span[1]:,}"


def load_table(part: Any, place: str) -> Loaded:
    """The examples of a partition: (X, y) or (X, y, weights), X an array, a frame or a sparse matrix."""
    if not isinstance(part, tuple | list) or len(part) not in (2, 3):
        raise ValueError(
            f"A partition must be a pair (X, y) or a triple (X, y, sample_weight); {place} is a {type(part).__name__}. "
            "Return such a tuple from the delayed function."
        )
    X, y = part[0], part[1]
    columns = None
    if hasattr(X, "columns"):
        columns, X = [str(name) for name in X.columns], _numbers(X, place)
    if not hasattr(X, "tocsr"):
        X = np.asarray(X)
        if X.dtype.kind not in "fiub":
            raise ValueError(
                f"The features must be numbers; those of {place} have the type {X.dtype}. Encode categories as numbers before."
            )
        if X.dtype not in (np.float32, np.float64):
            X = X.astype(np.float64)
        X = np.ascontiguousarray(X)
    if X.ndim != 2:
        raise ValueError(f"X must have rows and columns; that of {place} has {X.ndim} dimension(s). Reshape it.")
    y = np.ravel(np.asarray(y))
    weights = None
    if len(part) == 3 and part[2] is not None:
        weights = np.ascontiguousarray(np.asarray(part[2], np.float64).ravel())
        if not (np.isfinite(weights).all() and (weights >= 0).all()):
            raise ValueError(
                f"Sample weights must be finite numbers of at least 0; {place} has others. 1 counts an example once."
            )
    for name, values in (("y", y), ("sample_weight", weights)):
        if values is not None and values.shape[0] != X.shape[0]:
            raise ValueError(
                f"X and {name} must have the same number of rows; {place} has {X.shape[0]} and {values.shape[0]}. Align the "
                "partitions."
            )
    labels, codes = _numbered(y, place)
    table = Table(X)
    rows = table.rows if table.in_place else np.ascontiguousarray(table.rows, table.dtype)
    return Loaded(rows, codes, np.zeros(0) if weights is None else weights, labels, X.shape[1], None, columns, place)


def _numbers(frame: Any, place: str) -> Array:
    """The columns of a frame as one array: booleans and numbers that may be missing become floats beside others."""
    numbers: Array = frame.to_numpy()
    if numbers.dtype.kind != "O":
        return numbers
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    strange = [name for name, kind in frame.dtypes.items() if not (is_numeric_dtype(kind) or is_bool_dtype(kind))]
    if strange:
        raise ValueError(
            f"The features must be numbers; the column {strange[0]!r} of {place} has the type {frame.dtypes[strange[0]]}. Encode "
            "categories as numbers before."
        )
    return np.asarray(frame.to_numpy(dtype=np.float64, na_value=np.nan))


def _numbered(y: Array, place: str) -> tuple[list[Any], NDArray[np.int64]]:
    """The labels, sorted, and for each row the place of its own."""
    if y.dtype.kind == "f" and (bad := y[~(np.isfinite(y) & (y == np.floor(y)))]).size:
        raise ValueError(
            f"The labels must be strings, integers or booleans; {place} has {bad[0].item()} among them. Round or name the "
            "classes, and leave out examples without one."
        )
    if y.dtype.kind == "O":
        kinds = {kind_of_label(label) for label in y.tolist()}
        if len(kinds) > 1:
            raise ValueError(
                f"The labels must all be of one type, such as strings or integers; {place} has {' and '.join(sorted(kinds))}. "
                "Convert them, for instance with y.astype(str)."
            )
    labels, codes = np.unique(y, return_inverse=True)
    return labels.tolist(), np.ravel(codes).astype(np.int64)


def load_pairs(pairs: Sequence[Any], place: str) -> Loaded:
    """The examples of a partition of a bag: pairs (features, label), features a dict of numbers or a sequence of them."""
    pairs = list(pairs)
    if any(not isinstance(pair, tuple | list) or len(pair) != 2 for pair in pairs):
        raise ValueError(
            f"The items of a bag must be pairs (features, label); {place} has others. Map the bag to such pairs first."
        )
    labels, codes = _numbered(np.array([label for _, label in pairs], object), place)
    if not pairs:
        return Loaded(
            CSR(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0)), codes, np.zeros(0), [], 0, None, None, place
        )
    dicts = sum(isinstance(x, dict) for x, _ in pairs)
    try:
        table = np.array([list(x) for x, _ in pairs], np.float64) if not dicts else None
    except (TypeError, ValueError):
        dicts = -1
    if dicts not in (0, len(pairs)):
        raise ValueError(
            f"The features of a bag must all be dicts of numbers, or all sequences of as many numbers; {place} has others. Map "
            "the bag to one of these first."
        )
    if not dicts:
        return dataclasses.replace(load_table((table, codes), place), labels=labels)
    names: dict[str, int] = {}
    indptr, indices, values = [0], [], []
    for x, _ in pairs:
        for name, value in x.items():
            indices.append(names.setdefault(str(name), len(names)))
            values.append(value)
        indptr.append(len(indices))
    try:
        numbers = np.array(values, np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"The features of an example must be numbers; {place} has others. Turn a category into a feature of its own, for "
            "instance {'colour=red': 1}."
        ) from None
    rows = CSR(np.array(indptr, np.int64), np.array(indices, np.int32), numbers)
    return Loaded(rows, codes, np.zeros(0), labels, len(names), list(names), None, place, fresh=True)


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
        _checksum(loaded) if checked else 0,
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
