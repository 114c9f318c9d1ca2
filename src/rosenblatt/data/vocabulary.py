"""Mapping between names and numbers of features."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.engine.conventions import CSR
from rosenblatt.engine.entries import add_names, find_tokens, number_tokens, rehash, slot_of, tidy_rows
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


def _row_arrays(rows: int, entries: int) -> tuple[Any, ...]:
    return np.empty(rows + 1, np.int64), np.empty(entries, np.int32), np.empty(entries)


_SPARE_ROWS = Spare(_row_arrays, 16)  # of numbers, categories, words and their sums, of a few batches


def new_rows(rows: int, entries: int) -> CSR:
    """Empty arrays for rows with at most this number of entries; `cut` shortens them when they are filled."""
    indptr, indices, values = _SPARE_ROWS.take(rows, entries)
    indptr = indptr[: rows + 1]
    indptr[0] = 0
    return CSR(indptr, indices, values)


def cut(rows: CSR) -> CSR:
    """Rows without the unused ends of their arrays."""
    entries = int(rows.indptr[-1])
    return CSR(rows.indptr, rows.indices[:entries], rows.values[:entries])


def tidied(rows: CSR) -> CSR:
    """Rows with their entries sorted by feature and duplicates summed, in the same arrays."""
    longest = int(np.diff(rows.indptr).max(initial=0))
    tidy_rows(*rows, np.empty(longest, np.int32), np.empty(longest), np.empty(257, np.int64))
    return cut(rows)


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
        self._make_table()

    def _make_table(self) -> None:
        slots = np.zeros(1 << max(7, (2 * self.ends.size - 1).bit_length()), np.uint64)
        rehash(slots, self.ends, self.store, self.count)
        self.slots = slots  # complete, as other threads may be reading

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
        return int(slot_of(padded, 0, len(text), self.slots, self.ends, self.store, self.count))

    def look_up(self, tokens: Tokens, order: Any, starts: Any, mask: int, grow: bool) -> tuple[CSR, Any, Any]:
        """The rows of known tokens, and the numbers of the others with their starts by row; thread-safe.

        With a mask, tokens are numbered by hash. With `grow` False the others are not listed.
        """
        total, rows = int(tokens.size[END]), starts.size - 1
        known = new_rows(rows, total)
        unknown, unknown_starts = np.empty(total if grow and not mask else 0, np.int64), np.empty(rows + 1, np.int64)
        count = self.count  # first: names up to it are complete, also in arrays that are replaced afterwards
        slots, ends, store = self.slots, self.ends, self.store
        find_tokens(tokens, order, starts, slots, ends, store, count, mask, *known, unknown, unknown_starts)
        return tidied(known), unknown[: unknown_starts[-1]], unknown_starts

    def number(self, tokens: Tokens, order: Any, starts: Any) -> CSR:
        """The rows of tokens; new names are added."""
        made = new_rows(starts.size - 1, order.size)
        row, rows = 0, starts.size - 1
        while True:
            row, self.count = number_tokens(
                tokens, order, starts, self.slots, self.ends, self.store, self.count, *made, row
            )
            if row == rows:
                return tidied(made)
            needed = order[starts[row] : starts[row + 1]]
            self._grow(needed.size, int(tokens.length[needed].sum()))

    def add(self, names: "Vocabulary") -> NDArray[np.int32]:
        """Add the names of another vocabulary that are new, in order; return the numbers of all of them."""
        numbers, place = np.empty(names.count, np.int32), 0
        while True:
            place, self.count = add_names(
                names.ends, names.store, names.count, self.slots, self.ends, self.store, self.count, numbers, place
            )
            if place == names.count:
                return numbers
            self._grow(1, int(names.ends[place + 1] - names.ends[place]))

    def _grow(self, count: int, length: int) -> None:
        """Double the capacity, and make it sufficient for so many more names with so many bytes in all."""
        names = max(2 * self.ends.size, self.count + 2 * count)
        room = max(2 * self.store.size, int(self.ends[self.count] + 2 * length) + PADDING)
        if 2 * (self.count + count) > self.slots.size or self.count + count >= self.ends.size:
            self.ends = np.concatenate([self.ends, np.zeros(names - self.ends.size, np.int64)])
            self._make_table()
        else:
            self.store = np.concatenate([self.store, np.zeros(room - self.store.size, np.uint8)])


def stacked(parts: Sequence[CSR]) -> CSR:
    """The rows of several tables, one after the other."""
    ends = np.cumsum([0] + [int(part.indptr[-1]) for part in parts])
    starts = [part.indptr[1:] + end for part, end in zip(parts, ends[:-1], strict=True)]
    indptr = np.concatenate([np.zeros(1, np.int64), *starts])
    return CSR(
        indptr, np.concatenate([part.indices for part in parts]), np.concatenate([part.values for part in parts])
    )
