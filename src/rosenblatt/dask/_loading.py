"""Load the examples of a shard from files, tables or pairs, with its own numbers for labels and features."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.data import Encoder, open_stream
from rosenblatt.data.batch import compact, join
from rosenblatt.data.encoder import Moments
from rosenblatt.data.spans import Span
from rosenblatt.engine.conventions import CSR
from rosenblatt.model.linear import kind_of_label
from rosenblatt.model.matrix import Table

from ._shards import Loaded

Array = NDArray[Any]

Piece = tuple[str, Span | None]
"""A file and a part of it; None means the whole file."""


def load_files(pieces: Sequence[Piece], encoder: dict[str, Any], options: dict[str, Any]) -> Loaded:
    """The examples of parts of files; unknown features and labels get new numbers."""
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
    """Mean and spread of the numeric columns of parts of files."""
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
                f"The features must be numbers; those of {place} have the type {X.dtype}. Encode categories as numbers first."
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
                f"Sample weights must be finite numbers of at least 0; {place} has others. 1 is the default weight."
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
    """The columns of a frame as one array; mixed with other types, booleans and nullable numbers become floats."""
    numbers: Array = frame.to_numpy()
    if numbers.dtype.kind != "O":
        return numbers
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    strange = [name for name, kind in frame.dtypes.items() if not (is_numeric_dtype(kind) or is_bool_dtype(kind))]
    if strange:
        raise ValueError(
            f"The features must be numbers; the column {strange[0]!r} of {place} has the type {frame.dtypes[strange[0]]}. Encode "
            "categories as numbers first."
        )
    return np.asarray(frame.to_numpy(dtype=np.float64, na_value=np.nan))


def _numbered(y: Array, place: str) -> tuple[list[Any], NDArray[np.int64]]:
    """The labels, sorted, and the index of each row's label."""
    if y.dtype.kind == "f" and (bad := y[~(np.isfinite(y) & (y == np.floor(y)))]).size:
        raise ValueError(
            f"The labels must be strings, integers or booleans; {place} has {bad[0].item()} among them. Round them or convert "
            "them to strings, and remove examples without a label."
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
            f"The features of a bag must all be dicts of numbers, or all be sequences of numbers of the same length; {place} has "
            "others. Map the bag to one of these first."
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
