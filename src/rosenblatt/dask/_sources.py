"""From what users have (arrays, frames, bags, delayed partitions, files) to the tasks that load a shard each."""

import dataclasses
import itertools
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rosenblatt.data import Encoder, open_stream
from rosenblatt.data.sources import expand
from rosenblatt.data.spans import needs_scan, scan, split

from ._shards import Loaded, Piece, load_files, load_pairs, load_table, moments_of

__all__ = ["Source", "branches", "make_source", "node_size", "places_of", "source_of_pairs"]

SHARD_BYTES = 32 << 20
FEWEST, MOST = 8, 4096
"""Unless told otherwise, files are cut into shards of 32 MiB, but into 8 at least and 4,096 at most."""


@dataclasses.dataclass
class Source:
    """The tasks that load the shards.

    Attributes
    ----------
    load : callable
        What a task calls.
    arguments : list of tuple
        Its arguments, for each shard.
    local : bool
        Whether the arguments are examples that lie here and have to be sent out.
    anywhere : bool
        Whether any worker can load any shard at any time, so that a shard can be given a place and another one when that is lost.
    encoder : Encoder or None
        What turns files into features.
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
    """The shards of some data.

    Parameters
    ----------
    client : distributed.Client
        The cluster, which computes partitions.
    X, y, sample_weight
        As in `fit`.
    shards : int or None
        How many, for what is not in partitions yet.
    reading : mapping or None
        How to read files.
    """
    kind = type(X).__module__.partition(".")[0] + "." + type(X).__module__.partition(".")[2].partition(".")[0]
    if isinstance(X, str | os.PathLike) or (
        isinstance(X, list | tuple) and X and all(isinstance(name, str | os.PathLike) for name in X)
    ):
        _refuse_labels(y, "files, which hold their labels")
        return _files(client, X, shards, dict(reading or {}))
    if kind.startswith("dask.array"):
        return _array(client, X, y, sample_weight)
    if kind.startswith(("dask.dataframe", "dask_expr")):
        return _frame(client, X, y, sample_weight)
    if kind.startswith("dask.bag"):
        _refuse_labels(y, "a bag of pairs (features, label)")
        return Source(_named_pairs, _numbered("partition", placed(client, X.to_delayed())))
    if isinstance(X, list | tuple) and X and all(_is_partition(part) for part in X):
        _refuse_labels(y, "partitions (X, y)")
        return _partitions(client, X)
    if hasattr(X, "shape") or hasattr(X, "__array__") or isinstance(X, list):
        return _in_memory(X, y, sample_weight, shards)
    raise ValueError(
        "X must be a Dask array, dataframe or bag, a list of delayed partitions (X, y), an array, or files; got a "
        f"{type(X).__name__}. Turn it into one of these."
    )


def _refuse_labels(y: Any, what: str) -> None:
    if y is not None:
        raise ValueError(f"y must be left out for {what}; got a {type(y).__name__}. Call fit(X).")


def _is_partition(part: Any) -> bool:
    name = type(part).__name__
    return name in ("Delayed", "DelayedLeaf", "Future") or (isinstance(part, tuple) and len(part) in (2, 3))


def _numbered(what: str, *columns: Sequence[Any]) -> list[tuple[Any, ...]]:
    return [(*parts, f"{what} {number}") for number, parts in enumerate(zip(*columns, strict=True))]


# What a task calls must be a function of its own module, so that it is found on the workers.


def _named_pairs(pairs: Any, place: str) -> Loaded:
    return load_pairs(pairs, place)


def _boxed_pairs(boxed: Any, place: str) -> Loaded:
    return load_pairs(boxed[0], place)


def _named_table(part: Any, place: str) -> Loaded:
    return load_table(part, place)


def _columns(X: Any, y: Any, weights: Any, place: str) -> Loaded:
    return load_table((X, y, weights), place)


def _with_label(frame: Any, label: str, weights: Any, place: str) -> Loaded:
    if label not in frame.columns:
        raise ValueError(
            f"y must name a column of the frame ({', '.join(map(str, frame.columns[:12]))}); got {label!r}. Check the spelling."
        )
    return load_table((frame.drop(columns=[label]), frame[label], weights), place)


# ---- places ----


def branches(count: int) -> int:
    """So many shards that follow each other are added up first: it depends on how many there are, not on who has them."""
    return max(1, min(16, count // 4))


def node_size(count: int, threads: int) -> int:
    """So many of them one task works off: all that are added up first, if every thread then has two tasks at least; else one."""
    size = branches(count)
    return size if -(-count // size) >= 2 * max(1, threads) else 1


def places_of(client: Any, count: int) -> list[str]:
    """A worker for each shard: neighbours together, and where there are many, those whose sums are formed first."""
    workers = client.nthreads()
    slots = [address for address in sorted(workers) for _ in range(max(1, workers[address]))]
    if not slots:
        return []
    node = node_size(count, len(slots))
    nodes = -(-count // node)
    return [slots[number // node * len(slots) // nodes] for number in range(count)]


def placed(client: Any, parts: Sequence[Any]) -> list[Any]:
    """Let partitions be computed where their shards shall lie; those that lie somewhere already stay there."""
    places = places_of(client, len(parts))
    futures: list[Any] = []
    for place, group in itertools.groupby(range(len(parts)), key=lambda number: places[number] if places else None):
        where = {} if place is None else {"workers": [place], "allow_other_workers": True}
        futures += client.compute([parts[number] for number in group], **where)
    return futures


# ---- collections ----


def _array(client: Any, X: Any, y: Any, sample_weight: Any) -> Source:
    import dask.array as da

    if X.ndim != 2:
        raise ValueError(f"X must have rows and columns; got a Dask array of {X.ndim} dimension(s). Reshape it.")
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    columns = []
    for name, values in (("y", y), ("sample_weight", sample_weight)):
        if values is None:
            columns.append([None] * X.numblocks[0])
            continue
        if type(values).__module__.startswith("dask"):
            values = values.values if hasattr(values, "to_frame") else values  # noqa: PLW2901 - the array of a series
            values = values.ravel() if values.ndim > 1 else values  # noqa: PLW2901
        else:
            values = da.from_array(np.ravel(np.asarray(values)), chunks=-1)  # noqa: PLW2901
        if not np.isnan(X.shape[0]) and not np.isnan(values.shape[0]) and X.shape[0] != values.shape[0]:
            raise ValueError(
                f"X and {name} must have the same number of rows; got {X.shape[0]} and {values.shape[0]}. Take both from one "
                "source."
            )
        if values.chunks[0] != X.chunks[0] and not np.isnan(X.shape[0]):
            values = values.rechunk((X.chunks[0],))  # noqa: PLW2901
        if values.numblocks[0] != X.numblocks[0]:
            raise ValueError(
                f"X and {name} must have the same partitions; got {X.numblocks[0]} and {values.numblocks[0]}. Call "
                "compute_chunk_sizes() on both."
            )
        columns.append(placed(client, values.to_delayed().ravel().tolist()))
    if y is None:
        raise ValueError("y must hold the labels of a Dask array; got none. Call fit(X, y).")
    blocks = placed(client, X.to_delayed()[:, 0].tolist())
    return Source(_columns, _numbered("partition", blocks, *columns))


def _frame(client: Any, X: Any, y: Any, sample_weight: Any) -> Source:
    blocks = placed(client, X.to_delayed())
    weights = [None] * len(blocks) if sample_weight is None else placed(client, sample_weight.to_delayed())
    if isinstance(y, str):
        return Source(_with_label, _numbered("partition", blocks, [y] * len(blocks), weights))
    if not hasattr(y, "to_delayed"):
        raise ValueError(
            f"y must be a Dask series, or the name of a column of X; got a {type(y).__name__}. Take it from the same frame."
        )
    labels = placed(client, np.ravel(y.to_delayed()).tolist())
    if len(labels) != len(blocks) or len(weights) != len(blocks):
        raise ValueError(
            f"X and y must have the same partitions; got {len(blocks)} and {len(labels)}. Take both from the same frame."
        )
    return Source(_columns, _numbered("partition", blocks, labels, weights))


def _partitions(client: Any, parts: Sequence[Any]) -> Source:
    delayed = [part for part in parts if type(part).__name__ in ("Delayed", "DelayedLeaf")]
    futures = iter(placed(client, delayed))
    ready = [next(futures) if type(part).__name__ in ("Delayed", "DelayedLeaf") else part for part in parts]
    return Source(_named_table, _numbered("partition", ready), local=any(isinstance(part, tuple) for part in parts))


def _in_memory(X: Any, y: Any, sample_weight: Any, shards: int | None) -> Source:
    if y is None:
        raise ValueError("y must hold the labels of an array; got none. Call fit(X, y).")
    X = X if hasattr(X, "shape") else np.asarray(X)
    if hasattr(X, "tocsr"):
        X = X.tocsr()
    y = np.ravel(np.asarray(y))
    if X.shape[0] != y.shape[0]:
        raise ValueError(f"X and y must have the same number of rows; got {X.shape[0]} and {y.shape[0]}. Align them.")
    weights = None if sample_weight is None else np.ravel(np.asarray(sample_weight, np.float64))
    count = min(shards or FEWEST, max(1, X.shape[0]))
    cuts = [X.shape[0] * k // count for k in range(count + 1)]
    take = X.iloc if hasattr(X, "iloc") else X
    parts = [
        ((take[a:b], y[a:b]) if weights is None else (take[a:b], y[a:b], weights[a:b]))
        for a, b in itertools.pairwise(cuts)
    ]
    return Source(_named_table, _numbered("shard", parts), local=True, anywhere=True)


def source_of_pairs(pairs: Iterable[tuple[Any, Any]], shards: int | None = None) -> Source:
    """Examples that come one by one, as dicts or lists of numbers with their labels, in shards of neighbours."""
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
    stream = open_stream(names, threads=1, **{name: value for name, value in reading.items() if name != "threads"})
    encoder, kind = stream.encoder, stream.format
    total = sum(Path(name).stat().st_size for name in names)
    size = max(1, total // shards) if shards else max(min(SHARD_BYTES, total // FEWEST), total // MOST, 1)
    options = {"format": kind, "header": reading.get("header"), "labelled": reading.get("labelled", True)}
    cuts = []
    for name in names:
        spans = split(name, size, kind)
        if spans is not None and len(spans) > 1 and needs_scan(kind):
            spans = client.submit(scan, name, size, kind, encoder.header, pure=False)
        cuts.append(spans)
    pieces: list[tuple[Piece, float]] = []
    for name, spans in zip(names, client.gather(cuts), strict=True):
        parts = [None] if spans is None else spans
        pieces += [((name, span), Path(name).stat().st_size / len(parts)) for span in parts]
    groups = _packed(pieces, size)
    if encoder.moments is not None and not encoder.learned_moments:
        plan = encoder.to_json()
        found = client.gather([client.submit(moments_of, group, plan, options, pure=False) for group in groups])
        for moments in found:
            _merge_moments(encoder.moments, moments)
        encoder.learned_moments = True
    plan = encoder.to_json()
    arguments = [(group, plan, options) for group in groups]
    return Source(load_files, arguments, anywhere=True, encoder=encoder)


def _packed(pieces: Sequence[tuple[Piece, float]], size: int) -> list[list[Piece]]:
    """Small files that follow each other share a shard."""
    groups: list[list[Piece]] = []
    room = 0.0
    for piece, weight in pieces:
        if not groups or weight > room:
            groups.append([])
            room = 1.25 * size
        groups[-1].append(piece)
        room -= weight
    return groups


def _merge_moments(into: Any, other: Any) -> None:
    """Mean and spread of two lots of rows together (Chan, Golub and LeVeque 1979)."""
    count = into.count + other.count
    safe = np.maximum(count, 1.0)
    step = other.mean - into.mean
    into.spread += other.spread + step * step * into.count * other.count / safe
    into.mean += step * other.count / safe
    into.count = count
