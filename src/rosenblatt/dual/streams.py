"""Conversion of users' rows and labels for the kernel perceptron."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from rosenblatt.dual.rows import Array, Floats, Integers


def canonical(rows: Any) -> Any:
    """A copy of a CSR matrix with summed duplicates if it has any; dense rows as a C-contiguous array."""
    if not sp.issparse(rows):
        return np.ascontiguousarray(rows)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def not_negative(weight: Floats) -> Floats:
    """Sample weights; raises if one is below 0."""
    if (weight < 0).any():
        raise ValueError(
            f"`sample_weight` of KernelPerceptron must be at least 0; got {weight.min():g}. "
            "Use 0 to leave an example out."
        )
    return weight


def join_classes(known: Array, new: Array) -> Array:
    """Known classes followed by the new ones, without duplicates."""
    new = np.atleast_1d(new)
    if len(known) == 0:
        return new
    if (known.dtype.kind in "US") != (new.dtype.kind in "US"):
        raise ValueError(
            f"The labels of KernelPerceptron must be all text or all numbers; got {new[0]!r} after {known[0]!r}. "
            "Convert the labels to one type."
        )
    return np.concatenate([known, new[~np.isin(new, known)]])


def segments(labels: Array, known: Array) -> Iterator[tuple[slice, Array]]:
    """Split a stream where a new class occurs, into (examples, classes known for them), in order."""
    found, first = np.unique(labels, return_index=True)
    fresh = np.sort(first[~np.isin(found, known)] if len(known) else first)
    start = 0
    for arrival in fresh:
        if arrival > start:
            yield slice(start, arrival), known
        known = join_classes(known, labels[arrival : arrival + 1])
        start = arrival
    if start < len(labels):
        yield slice(start, len(labels)), known


def class_numbers(labels: Array, known: Array) -> Integers:
    """Indices of labels in the known classes, which need not be sorted."""
    order = np.argsort(known)
    return order[np.searchsorted(known, labels, sorter=order)].astype(np.int64)


def extend_vocabulary(vocabulary: Mapping[Any, int], names: Any) -> dict[Any, int]:
    """A copy of the vocabulary with new names at its end."""
    grown = dict(vocabulary)
    for name in names:
        grown.setdefault(name, len(grown))
    return grown


def dict_row(x: Mapping[Any, float], vocabulary: Mapping[Any, int]) -> Any:
    """One CSR row from named values; names outside the vocabulary are ignored."""
    known = [(vocabulary[name], float(value)) for name, value in x.items() if name in vocabulary]
    indices = np.array([i for i, _ in known], dtype=np.int64)
    values = np.array([v for _, v in known], dtype=np.float64)
    return _finite(sp.csr_array((values, indices, np.array([0, len(known)])), shape=(1, len(vocabulary))), values)


def array_row(x: Any, width: int | None) -> Any:
    """One dense row from a 1-D array; raise ValueError for another length."""
    row = np.asarray(x)
    row = row.astype(row.dtype if row.dtype in (np.float32, np.float64) else np.float64, copy=False)
    if row.ndim != 1 or (width is not None and len(row) != width):
        wanted = "any length" if width is None else f"{width} values"
        raise ValueError(
            f"x of KernelPerceptron must be a 1-D array of {wanted}, or a dict; got shape {row.shape}. "
            "Use partial_fit or predict for several rows."
        )
    return _finite(row[None, :], row)


def _finite(row: Any, values: Array) -> Any:
    if not np.isfinite(values).all():
        raise ValueError(
            "x of KernelPerceptron must hold finite numbers; got NaN or infinity. Fill or drop missing values first."
        )
    return row
