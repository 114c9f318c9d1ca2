"""Mapping between names and numbers of features."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.engine.entries import number_tokens, rehash, slot_of
from rosenblatt.engine.text.arrays import END, PADDING, Tokens

from .sources import Spare


def _token_arrays(count: int, room: int) -> tuple[NDArray[Any], ...]:
    row, column, length = np.empty(count, np.int32), np.empty(count, np.int32), np.empty(count, np.int32)
    start, hashes, value = np.empty(count, np.int64), np.empty(count, np.uint64), np.empty(count)
    return row, column, start, length, hashes, value, np.empty(room + PADDING, np.uint8), np.empty(2, np.int64)


_SPARE = Spare(_token_arrays)


def new_tokens(count: int, room: int) -> Tokens:
    """Empty arrays for up to `count` tokens whose names have up to `room` bytes."""
    tokens = Tokens(*_SPARE.take(count, room))
    tokens.size[:] = 0
    return tokens


def _rows(rows: int, entries: int) -> tuple[Any, ...]:
    return np.empty(rows, np.int64), np.empty(entries, np.int32), np.empty(entries)


class Vocabulary:
    """Names, numbered in the order of their first occurrence.

    Parameters
    ----------
    names : iterable of str, default=()
        Initial names.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        encoded = [name.encode("utf-8", "surrogatepass") for name in names]
        self.count = len(encoded)
        lengths = np.array([len(name) for name in encoded], np.int64)
        self.ends = np.zeros(max(64, 2 * self.count), np.int64)
        self.ends[1 : self.count + 1] = np.cumsum(lengths)
        used = int(lengths.sum())
        self.store = np.zeros(max(1024, 2 * used) + PADDING, np.uint8)
        self.store[:used] = np.frombuffer(b"".join(encoded), np.uint8)
        self.slots = np.zeros(0, np.uint64)
        self._spare = Spare(_rows)
        self._make_table()

    def _make_table(self) -> None:
        self.slots = np.zeros(1 << max(7, (2 * self.ends.size - 1).bit_length()), np.uint64)
        rehash(self.slots, self.ends, self.store, self.count)

    def __len__(self) -> int:
        return self.count

    def name(self, i: int) -> str:
        """The name with number i."""
        return bytes(self.store[self.ends[i] : self.ends[i + 1]]).decode("utf-8", "surrogatepass")

    def names(self) -> list[str]:
        """All names in order."""
        return [self.name(i) for i in range(self.count)]

    def find(self, name: str) -> int:
        """The number of a name, or -1."""
        text = name.encode("utf-8", "surrogatepass")
        padded = np.frombuffer(text + bytes(PADDING), np.uint8).copy()
        return int(slot_of(padded, 0, len(text), self.slots, self.ends, self.store))

    def number(self, tokens: Any, order: Any, starts: Any, mask: int, grow: bool) -> tuple[Any, Any, Any]:
        """The arrays (indptr, indices, values) of tokens; with `grow` new names are added."""
        total = int(tokens.size[END])
        indptr, indices, values = self._spare.take(starts.size, total)
        indptr = indptr[: starts.size]
        indptr[0] = 0
        row, rows = 0, starts.size - 1
        while True:
            row, self.count = number_tokens(
                tokens, order, starts, self.slots, self.ends, self.store, self.count,
                mask, grow, indptr, indices, values, row,
            )  # fmt: skip
            if row == rows:
                break
            self._grow(tokens, order[starts[row] : starts[row + 1]])
        entries = int(indptr[-1])
        return indptr, indices[:entries], values[:entries]

    def _grow(self, tokens: Any, needed: Any) -> None:
        """Double the capacity, and make it sufficient for a whole row."""
        names = max(2 * self.ends.size, self.count + 2 * needed.size)
        room = max(2 * self.store.size, int(self.ends[self.count] + 2 * tokens.length[needed].sum()) + PADDING)
        if 2 * (self.count + needed.size) > self.slots.size or self.count + needed.size >= self.ends.size:
            self.ends = np.concatenate([self.ends, np.zeros(names - self.ends.size, np.int64)])
            self._make_table()
        else:
            self.store = np.concatenate([self.store, np.zeros(room - self.store.size, np.uint8)])
