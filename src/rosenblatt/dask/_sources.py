"""Tasks that load shards from arrays, data frames, bags, delayed partitions and files."""

import dataclasses
import inspect
import itertools
import os
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rosenblatt.data import Encoder, open_stream
from rosenblatt.data.sources import expand
from rosenblatt.data.spans import Span, split

from ._awaiting import Awaiting
from ._internals import kind_of_collection
from ._loading import Piece, load_files, load_pairs, load_table, moments_of
from ._nodes import shared_out
from ._shards import Loaded

SHARD_BYTES = 64 << 20
FEWEST, MOST = 8, 4096
"""By default files are split into shards of 64 MiB, but at least 8 and at most 4,096."""


@dataclasses.dataclass
class Source:
    """The tasks that load the shards.

    Attributes
    ----------
    load : callable
        The function of the tasks.
    arguments : list of tuple
        Its arguments, for each shard.
    local : bool
        Whether the arguments are examples in local memory, which have to be sent to workers.
    anywhere : bool
        Whether any worker can load any shard at any time, so that shards can be assigned to workers, again if these are lost.
    encoder : Encoder or None
        The encoder that turns files into features.
    """

    load: Callable[..., Loaded]
    arguments: list[tuple[Any, ...]]
    local: bool = False
    anywhere: bool = False
    encoder: Encoder | None = None

    def __len__(self) -> int:
        return len(self.arguments)


def make_source(
    client: Any, X: Any, y: Any = None, sample_weight: Any = None, shards: int | None = None, reading: Any = None
) -> Source:
    """Create the tasks that load the shards of some data.

    Parameters
    ----------
    client : distributed.Client
        The cluster, which computes partitions.
    X, y, sample_weight
        As in `fit`.
    shards : int or None
        Number of shards for data without partitions.
    reading : mapping or None
        How to read files.
    """
    kind = kind_of_collection(X)
    if isinstance(X, str | os.PathLike) or (
        isinstance(X, list | tuple) and X and all(isinstance(name, str | os.PathLike) for name in X)
    ):
        _refuse_columns(y, sample_weight, "files, which hold their labels")
        return _files(client, X, shards, dict(reading or {}))
    if kind == "array":
        return _array(client, X, y, sample_weight)
    if kind == "dataframe":
        return _frame(client, X, y, sample_weight)
    if kind == "bag":
        _refuse_columns(y, sample_weight, "a bag of pairs (features, label)")
        return Source(_named_pairs, _numbered("partition", placed(client, X.to_delayed())))
    if isinstance(X, list | tuple) and X and all(_is_partition(part) for part in X):
        _refuse_columns(y, sample_weight, "partitions (X, y) or (X, y, sample_weight)")
        return _partitions(client, X)
    if _comes_later(X):
        raise ValueError(
            f"Delayed partitions (X, y) must be in a list; got a single {type(X).__name__}. Call fit([X])."
        )
    if hasattr(X, "shape") or hasattr(X, "__array__") or isinstance(X, list | tuple):
        return _in_memory(X, y, sample_weight, shards)
    raise ValueError(
        "X must be a Dask array, dataframe or bag, a list of delayed partitions (X, y), an array, or files; got a "
        f"{type(X).__name__}. Turn it into one of these."
    )


def _refuse_columns(y: Any, sample_weight: Any, what: str) -> None:
    for name, values in (("y", y), ("sample_weight", sample_weight)):
        if values is not None:
            raise ValueError(f"{name} must be left out for {what}; got a {type(values).__name__}. Call fit(X).")


def _is_delayed(part: Any) -> bool:
    return kind_of_collection(part) == "delayed"


def _is_partition(part: Any) -> bool:
    """Whether this is a partition or a delayed one; a tuple of numbers is a row."""
    tables = isinstance(part, tuple) and len(part) in (2, 3) and not np.isscalar(part[0])
    return tables or _comes_later(part)


def _comes_later(part: Any) -> bool:
    return _is_delayed(part) or type(part).__name__ == "Future"


def _numbered(what: str, *columns: Sequence[Any]) -> list[tuple[Any, ...]]:
    return [(*parts, f"{what} {number}") for number, parts in enumerate(zip(*columns, strict=True))]


# Functions of tasks must be at module level, so that workers can import them.


def _named_pairs(pairs: Any, place: str) -> Loaded:
    return load_pairs(pairs, place)


def _boxed_pairs(boxed: Any, place: str) -> Loaded:
    return load_pairs(boxed[0], place)


def _named_table(part: Any, place: str) -> Loaded:
    return load_table(part, place)


def _columns(X: Any, y: Any, weights: Any, place: str) -> Loaded:
    return load_table((X, y, weights), place)


def _check_open(names: Iterable[str]) -> None:
    """Raise an OSError if a worker cannot open files; readers would report a wrong name, but the client could open them."""
    for name in names:
        Path(name).open("rb").close()


def _load_files(pieces: list[Piece], plan: Any, options: Any) -> Loaded:
    _check_open(name for name, _ in pieces)
    return load_files(pieces, plan, options)


def _moments_of(pieces: list[Piece], plan: Any, options: Any) -> Any:
    _check_open(name for name, _ in pieces)
    return moments_of(pieces, plan, options)


def _split(name: str, cuts: list[int], kind: str, header: bool | None) -> list[Span] | None:
    _check_open([name])
    return split(name, cuts, kind, header)


def check_column(frame: Any, label: str) -> None:
    """Raise if the column does not exist."""
    if label not in frame.columns:
        raise ValueError(
            f"y must name a column of the frame ({', '.join(map(str, frame.columns[:12]))}); got {label!r}. Check the spelling."
        )


def _with_label(frame: Any, label: str, weights: Any, place: str) -> Loaded:
    check_column(frame, label)
    return load_table((frame.drop(columns=[label]), frame[label], weights), place)


# ---- places ----


def places_of(awaiting: Awaiting, count: int) -> list[str]:
    """A worker for each shard."""
    workers = awaiting.ask(awaiting.client.nthreads)
    slots = [address for address in sorted(workers) for _ in range(max(1, workers[address]))]
    return [slots[thread] for thread in shared_out(count, len(slots))] if slots else []


def placed(client: Any, parts: Sequence[Any]) -> list[Any]:
    """Compute partitions on the workers of their shards; partitions that are already in memory stay on their workers."""
    places = places_of(Awaiting(client), len(parts))
    futures: list[Any] = []
    for place, group in itertools.groupby(range(len(parts)), key=lambda number: places[number] if places else None):
        where = {} if place is None else {"workers": [place], "allow_other_workers": True}
        futures += client.compute([parts[number] for number in group], **where)
    return futures


# ---- collections ----


def _array(client: Any, X: Any, y: Any, sample_weight: Any) -> Source:
    if X.ndim != 2:
        raise ValueError(f"X must have rows and columns; got a Dask array of {X.ndim} dimension(s). Reshape it.")
    if y is None:
        raise ValueError("y must hold the labels of a Dask array; got none. Call fit(X, y).")
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    labels, weights = in_blocks_of(X, "y", y), in_blocks_of(X, "sample_weight", sample_weight)
    columns = [
        [None] * X.numblocks[0] if values is None else placed(client, values.to_delayed().ravel().tolist())
        for values in (labels, weights)
    ]
    blocks = placed(client, X.to_delayed()[:, 0].tolist())
    return Source(_columns, _numbered("partition", blocks, *columns))


def in_blocks_of(X: Any, name: str, values: Any) -> Any:
    """Labels or weights as a Dask array with the same blocks as X; None stays None."""
    import dask.array as da

    if values is None:
        return None
    if kind_of_collection(values):
        values = values.values if hasattr(values, "divisions") else values  # the array of a series or a frame
        if values.ndim > 1:  # if the number of rows is unknown, a column can be selected but not flattened
            values = values[:, 0] if values.shape[1:] == (1,) else values.ravel()
    else:
        values = da.from_array(np.ravel(np.asarray(values)), chunks=-1)
    known = not np.isnan(X.shape[0]) and not np.isnan(values.shape[0])
    if known and X.shape[0] != values.shape[0]:
        raise ValueError(
            f"X and {name} must have the same number of rows; got {X.shape[0]} and {values.shape[0]}. Take both from one "
            "source."
        )
    if known and values.chunks[0] != X.chunks[0]:
        values = values.rechunk((X.chunks[0],))
    if values.numblocks[0] != X.numblocks[0]:
        raise ValueError(
            f"X and {name} must have the same partitions; got {X.numblocks[0]} and {values.numblocks[0]}. Take both "
            "from one source, or call compute_chunk_sizes() on both."
        )
    return values


def _frame(client: Any, X: Any, y: Any, sample_weight: Any) -> Source:
    blocks = X.to_delayed()
    columns = []
    for name, values, allowed, plain in (
        ("y", y, "a Dask series, or the name of a column of X", str),
        ("sample_weight", sample_weight, "a Dask series", type(None)),
    ):
        if isinstance(values, plain):
            columns.append([values] * len(blocks))
            continue
        if not hasattr(values, "to_delayed"):
            raise ValueError(f"{name} must be {allowed}; got a {type(values).__name__}. Take it from the same frame.")
        parts = np.ravel(values.to_delayed()).tolist()
        if len(parts) != len(blocks):
            raise ValueError(
                f"X and {name} must have the same partitions; got {len(blocks)} and {len(parts)}. Take both from the same frame."
            )
        columns.append(placed(client, parts))
    return Source(
        _with_label if isinstance(y, str) else _columns, _numbered("partition", placed(client, blocks), *columns)
    )


def _partitions(client: Any, parts: Sequence[Any]) -> Source:
    import dask

    parts = [dask.delayed(part) if isinstance(part, tuple) and any(map(_comes_later, part)) else part for part in parts]
    futures = iter(placed(client, [part for part in parts if _is_delayed(part)]))
    ready = [next(futures) if _is_delayed(part) else part for part in parts]
    return Source(_named_table, _numbered("partition", ready), local=any(isinstance(part, tuple) for part in parts))


def _in_memory(X: Any, y: Any, sample_weight: Any, shards: int | None) -> Source:
    if y is None:
        raise ValueError("y must hold the labels of an array; got none. Call fit(X, y).")
    X = X if hasattr(X, "shape") else np.asarray(X)
    if hasattr(X, "tocsr"):
        X = X.tocsr()
    y = np.ravel(np.asarray(y))
    weights = None if sample_weight is None else np.ravel(np.asarray(sample_weight, np.float64))
    for name, values in (("y", y), ("sample_weight", weights)):
        if values is not None and X.shape[0] != values.shape[0]:
            raise ValueError(
                f"X and {name} must have the same number of rows; got {X.shape[0]} and {values.shape[0]}. Align them."
            )
    count = min(shards or FEWEST, max(1, X.shape[0]))
    cuts = [X.shape[0] * k // count for k in range(count + 1)]
    take = X.iloc if hasattr(X, "iloc") else X
    parts = [
        ((take[a:b], y[a:b]) if weights is None else (take[a:b], y[a:b], weights[a:b]))
        for a, b in itertools.pairwise(cuts)
    ]
    return Source(_named_table, _numbered("shard", parts), local=True, anywhere=True)


def source_of_pairs(pairs: Iterable[tuple[Any, Any]], shards: int | None = None) -> Source:
    """Shards of consecutive examples (dict or list of numbers, label)."""
    kept = list(pairs)
    count = min(shards or FEWEST, max(1, len(kept)))
    cuts = [len(kept) * k // count for k in range(count + 1)]
    parts = [(kept[a:b],) for a, b in itertools.pairwise(cuts)]
    return Source(_boxed_pairs, _numbered("shard", parts), local=True, anywhere=True)


# ---- files ----


def _files(client: Any, paths: Any, shards: int | None, reading: dict[str, Any]) -> Source:
    names = [str(Path(name).resolve()) for name in expand(paths)]
    if "-" in expand(paths):
        raise ValueError(
            "Files on a cluster must have names that every worker can open; got standard input. Save it first."
        )
    known = [name for name in inspect.signature(open_stream).parameters if name not in ("paths", "span")]
    if strange := [name for name in reading if name not in known]:
        raise ValueError(
            f"`reading` must have options of open_stream ({', '.join(known)}); got {strange[0]!r}. Check the spelling."
        )
    stream = open_stream(names, threads=1, **{name: value for name, value in reading.items() if name != "threads"})
    encoder, kind = stream.encoder, stream.format
    if encoder.frequencies is not None and encoder.learning:
        raise ValueError(
            "The weights of words on a cluster must be log or counts; got tfidf, whose counts need the rows in order. Choose "
            "log, or train in one process."
        )
    options = {"format": kind, "header": reading.get("header"), "labelled": reading.get("labelled", True)}
    groups = _cut(client, names, shards, kind, encoder.header)
    if encoder.moments is not None and not encoder.learned_moments:
        plan = encoder.to_json()
        for moments in _done(client, _moments_of, [(group, plan, options) for group in groups]):
            _merge_moments(encoder.moments, moments)
        encoder.learned_moments = True
    plan = encoder.to_json()
    arguments = [(group, plan, options) for group in groups]
    return Source(_load_files, arguments, anywhere=True, encoder=encoder)


def _done(client: Any, task: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Results of tasks that can run on any worker; repeated if workers are lost."""
    awaiting = Awaiting(client)
    results: list[Any] = awaiting.insist(
        "The files could not be examined",
        lambda: awaiting.results([client.submit(task, *these, pure=False) for these in arguments]),
    )
    return results


def _cut(client: Any, names: Sequence[str], shards: int | None, kind: str, header: bool | None) -> list[list[Piece]]:
    """Split the concatenated files into shards of equal size; a cut close to the border of two files is moved there."""
    edges = list(itertools.accumulate((Path(name).stat().st_size for name in names), initial=0))
    total = max(1, edges[-1])
    count = min(total, shards or min(max(round(total / SHARD_BYTES), FEWEST), MOST))
    cuts = [total * number // count for number in range(1, count)]
    splinter = total // count // 8
    files: list[tuple[str, list[int]]] = []
    for name, (begin, end) in zip(names, itertools.pairwise(edges), strict=True):
        inner = cuts[bisect_left(cuts, begin + splinter + 1) : bisect_left(cuts, end - splinter)]
        files.append((name, [begin, *inner, end]))
    inside = [(name, [end - ends[0] for end in ends[1:-1]], kind, header) for name, ends in files if len(ends) > 2]
    found = iter(_done(client, _split, inside))
    groups: dict[int, list[Piece]] = {}
    for name, ends in files:
        spans = next(found) if len(ends) > 2 else split(name, (), kind)
        parts = [((ends[0], ends[-1]), None)] if spans is None else zip(itertools.pairwise(ends), spans, strict=True)
        for (begin, end), span in parts:
            if span is None or span[0] < span[1]:
                groups.setdefault(bisect_right(cuts, (begin + end) // 2), []).append((name, span))
    return list(groups.values()) or [[(names[0], None)]]


def _merge_moments(into: Any, other: Any) -> None:
    """Combined mean and spread of two sets of rows (Chan, Golub and LeVeque 1979)."""
    count = into.count + other.count
    safe = np.maximum(count, 1.0)
    step = other.mean - into.mean
    into.spread += other.spread + step * step * into.count * other.count / safe
    into.mean += step * other.count / safe
    into.count = count
