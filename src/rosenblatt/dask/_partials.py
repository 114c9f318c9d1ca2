"""Arrays and changes of arrays that are sent over the network, and sums over shards in a fixed order."""

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.engine.entries import add_packed
from rosenblatt.model.matrix import writable

Array = NDArray[Any]
Floats = NDArray[np.float64]


class Packed(NamedTuple):
    """An array with few changed entries: their indices and new values."""

    indices: Array
    values: Array
    size: int


def pack(array: Array, changed: NDArray[np.bool_]) -> Array | Packed:
    """The changed entries of a flat array, or the whole array if that is smaller."""
    kind = np.dtype(np.int32 if array.size < 2**31 else np.int64)
    if np.count_nonzero(changed) * (kind.itemsize + array.itemsize) >= array.nbytes:
        return array
    return Packed(np.flatnonzero(changed).astype(kind), array[changed], array.size)


def changes(now: Sequence[Array], before: Sequence[Array]) -> list[Array | Packed]:
    """The entries of the arrays `now` that differ from `before`."""
    return [pack(new.ravel(), new.ravel() != old.ravel()) for new, old in zip(now, before, strict=True)]


def unpack_into(array: Array, part: Array | Packed) -> None:
    """Write the entries of a part into an array."""
    if isinstance(part, Packed):
        array[part.indices] = part.values
    else:
        array[...] = part


def size_of(parts: Sequence[Array | Packed]) -> int:
    """Number of bytes to send."""
    return sum(p.indices.nbytes + p.values.nbytes if isinstance(p, Packed) else p.nbytes for p in parts)


@dataclasses.dataclass
class Note:
    """Statistics of one shard in one epoch."""

    shard: int
    examples: int = 0
    mistakes: int = 0
    updates: int = 0
    loss: float = 0.0
    age: float = 0.0
    steps: float = 0.0
    reach: float = 0.0
    share: float = 0.0
    seconds: float = 0.0
    place: str = ""
    weight: float = 0.0


@dataclasses.dataclass
class Partial:
    """Sums over some shards: of their shares, and of their differences times their shares."""

    share: float
    totals: list[Array | Packed]
    averages: list[Array | Packed]
    notes: list[Note]
    place: str = ""
    moved: int = 0
    whole: list[Array] | None = None
    """The start of the next epoch if there is only one shard: without mixing there is no rounding."""

    def __sizeof__(self) -> int:
        return 1000 + size_of(self.totals) + size_of(self.averages) + size_of(self.whole or [])


def packed_sums(totals: Sequence[Floats]) -> list[Array | Packed]:
    """The entries of sums that are not 0."""
    return [pack(total, total != 0.0) for total in totals]


def add_partials(partials: Sequence[Partial], place: str = "") -> Partial:
    """The sum of partial sums, in their order."""
    first = partials[0]
    sums: list[list[Floats]] = []
    for kind in ("totals", "averages"):
        row = []
        for number, example in enumerate(getattr(first, kind)):
            total = np.zeros(example.size)
            for partial in partials:
                part = getattr(partial, kind)[number]
                if isinstance(part, Packed):
                    add_packed(total, writable(part.indices), writable(part.values))
                else:
                    total += part
            row.append(total)
        sums.append(row)
    moved = sum(partial.moved for partial in partials)
    moved += sum(size_of(partial.totals) + size_of(partial.averages) for partial in partials if partial.place != place)
    return Partial(
        sum(partial.share for partial in partials), packed_sums(sums[0]), packed_sums(sums[1]),
        [note for partial in partials for note in partial.notes], place, moved,
    )  # fmt: skip


def dense(part: Array | Packed) -> Array:
    """A sum as a full array."""
    if not isinstance(part, Packed):
        return part
    total = np.zeros(part.size)
    total[part.indices] = part.values
    return total
