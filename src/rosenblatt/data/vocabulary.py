"""Names of features and their numbers: an open table that keeps the bytes of each name, so that no two are ever confused."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numba import njit, uint64

from .compiled import kernels
from .numbers import PADDING, load8
from .ordering import tidy_row
from .sources import Spare
from .words import END, hash_bytes

NOGIL = {"nogil": True, "error_model": "numpy"}


@njit(nogil=True, forceinline=True)
def _equal(a: Any, i: Any, b: Any, j: Any, length: Any) -> Any:
    """Whether two pieces of text are equal, eight bytes at a time; both have padding behind them."""
    while length > uint64(8):
        if load8(a, i) != load8(b, j):
            return False
        i += uint64(8)
        j += uint64(8)
        length -= uint64(8)
    if length == uint64(0):
        return True
    return (load8(a, i) ^ load8(b, j)) << (uint64(64) - (length << uint64(3))) == uint64(0)


@njit(nogil=True, forceinline=True)
def _find(text: Any, start: Any, length: Any, h: Any, slots: Any, ends: Any, store: Any) -> Any:
    """The slot of a name: its own, or the empty one where it belongs. A slot has 32 bits of the hash, and the place plus one."""
    mask = uint64(slots.size - 1)
    slot = h & mask
    tag = h >> uint64(32)
    while slots[slot] != uint64(0):
        if slots[slot] >> uint64(32) == tag:
            place = (slots[slot] & uint64(0xFFFFFFFF)) - uint64(1)
            begin = uint64(ends[place])
            if uint64(ends[place + uint64(1)]) - begin == length and _equal(store, begin, text, start, length):
                return slot
        slot = (slot + uint64(1)) & mask
    return slot


@njit(**NOGIL)
def slot_of(text: Any, start: Any, length: Any, slots: Any, ends: Any, store: Any) -> Any:
    """The number of a name, or -1."""
    h = hash_bytes(text, start, length)
    slot = _find(text, uint64(start), uint64(length), h, slots, ends, store)
    return np.int64(slots[slot] & uint64(0xFFFFFFFF)) - 1


@njit(**NOGIL)
def rehash(slots: Any, ends: Any, store: Any, count: Any) -> None:
    """Fill an empty table with the names that are stored."""
    mask = uint64(slots.size - 1)
    for place in range(uint64(count)):
        begin = uint64(ends[place])
        h = hash_bytes(store, begin, uint64(ends[place + uint64(1)]) - begin)
        slot = h & mask
        while slots[slot] != uint64(0):
            slot = (slot + uint64(1)) & mask
        slots[slot] = h >> uint64(32) << uint64(32) | (place + uint64(1))


@njit(**NOGIL)
def number_tokens(
    tokens: Any, order: Any, starts: Any, slots: Any, ends: Any, store: Any, count: Any,
    mask: Any, grow: Any, indptr: Any, indices: Any, values: Any, begin: Any,
) -> Any:  # fmt: skip
    """Tokens to sorted CSR rows, from row `begin` on: by hash if there is a mask, else by the vocabulary, which may grow.

    Gives the row at which there was no room for what it could add (the caller makes room and goes on), and the names known.
    """
    mask = uint64(mask)
    k = uint64(indptr[begin])
    for row in range(uint64(begin), uint64(starts.size - 1)):
        first, last = uint64(starts[row]), uint64(starts[row + uint64(1)])
        if grow:
            room = uint64(0)
            for p in range(first, last):
                room += uint64(tokens.length[uint64(order[p])])
            new = uint64(count) + last - first
            if uint64(2) * new > uint64(slots.size) or new >= uint64(ends.size):
                return np.int64(row), count
            if uint64(ends[uint64(count)]) + room + uint64(PADDING) > uint64(store.size):
                return np.int64(row), count
        start, highest = k, np.int64(-1)
        ordered: Any = True
        for p in range(first, last):
            t = uint64(order[p])
            if mask:
                index = np.int64(tokens.hash[t] & mask)
            else:
                at, length, h = uint64(tokens.start[t]), uint64(tokens.length[t]), tokens.hash[t]
                slot = _find(tokens.text, at, length, h, slots, ends, store)
                if slots[slot] == uint64(0):
                    if not grow:
                        continue
                    end = uint64(ends[uint64(count)])
                    for b in range(length):
                        store[end + b] = tokens.text[at + b]
                    count += 1
                    ends[uint64(count)] = end + length
                    slots[slot] = h >> uint64(32) << uint64(32) | uint64(count)
                index = np.int64(slots[slot] & uint64(0xFFFFFFFF)) - 1
            ordered &= index > highest
            highest = index
            indices[k], values[k] = index, tokens.value[t]
            k += uint64(1)
        if not ordered:
            k = tidy_row(indices, values, start, k)
        indptr[row + uint64(1)] = k
    return np.int64(starts.size - 1), count


def _rows(rows: int, entries: int) -> tuple[Any, ...]:
    return np.empty(rows, np.int64), np.empty(entries, np.int32), np.empty(entries)


class Vocabulary:
    """Names in the order of their arrival.

    Parameters
    ----------
    names : iterable of str, default=()
        The names to begin with.
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
        kernels().rehash(self.slots, self.ends, self.store, self.count)

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
        return int(kernels().slot_of(padded, 0, len(text), self.slots, self.ends, self.store))

    def number(self, tokens: Any, order: Any, starts: Any, mask: int, grow: bool) -> tuple[Any, Any, Any]:
        """The (indptr, indices, values) of tokens; with `grow` new names are added."""
        total = int(tokens.size[END])
        indptr, indices, values = self._spare.take(starts.size, total)
        indptr = indptr[: starts.size]
        indptr[0] = 0
        row, rows = 0, starts.size - 1
        while True:
            row, self.count = kernels().number_tokens(
                tokens, order, starts, self.slots, self.ends, self.store, self.count,
                mask, grow, indptr, indices, values, row,
            )  # fmt: skip
            if row == rows:
                break
            self._grow(tokens, order[starts[row] : starts[row + 1]])
        entries = int(indptr[-1])
        return indptr, indices[:entries], values[:entries]

    def _grow(self, tokens: Any, needed: Any) -> None:
        """Make room for twice as much as there is, and for all of a row."""
        names = max(2 * self.ends.size, self.count + 2 * needed.size)
        room = max(2 * self.store.size, int(self.ends[self.count] + 2 * tokens.length[needed].sum()) + PADDING)
        if 2 * (self.count + needed.size) > self.slots.size or self.count + needed.size >= self.ends.size:
            self.ends = np.concatenate([self.ends, np.zeros(names - self.ends.size, np.int64)])
            self._make_table()
        else:
            self.store = np.concatenate([self.store, np.zeros(room - self.store.size, np.uint8)])
