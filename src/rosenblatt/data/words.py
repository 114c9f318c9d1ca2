"""Kernels from text to tokens: the words of a text, the values of a category, and products of features.

A token is a feature of one row that has a name but no number yet. The names lie side by side in one array of bytes.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit, uint8, uint64
from numpy.typing import NDArray

from .numbers import PADDING, load8
from .ordering import mix
from .sources import Spare

NOGIL = {"nogil": True, "error_model": "numpy"}

END, USED = 0, 1
"""Places in `Tokens.size`: how many tokens there are, and how many bytes their names take."""


class Tokens(NamedTuple):
    """Features with names: row, column, name (a part of `text`, and its hash) and value of each."""

    row: NDArray[np.int32]
    column: NDArray[np.int32]
    start: NDArray[np.int64]
    length: NDArray[np.int32]
    hash: NDArray[np.uint64]
    value: NDArray[np.float64]
    text: NDArray[np.uint8]
    size: NDArray[np.int64]


def _arrays(count: int, room: int) -> tuple[NDArray[Any], ...]:
    row, column, length = np.empty(count, np.int32), np.empty(count, np.int32), np.empty(count, np.int32)
    start, hashes, value = np.empty(count, np.int64), np.empty(count, np.uint64), np.empty(count)
    return row, column, start, length, hashes, value, np.empty(room + PADDING, np.uint8), np.empty(2, np.int64)


_SPARE = Spare(_arrays)


def new_tokens(count: int, room: int) -> Tokens:
    """Room for so many tokens whose names take so many bytes."""
    tokens = Tokens(*_SPARE.take(count, room))
    tokens.size[:] = 0
    return tokens


def _lower_case() -> NDArray[np.uint8]:
    """What becomes of each byte of a word; 0 ends it. Bytes of letters beyond ASCII stay: the text is in lower case already."""
    table = np.zeros(256, np.uint8)
    for byte in range(256):
        if byte >= 128 or chr(byte).isalnum() or chr(byte) == "_":
            table[byte] = ord(chr(byte).lower()) if byte < 128 else byte
    return table


_LOWER = _lower_case()


@njit(nogil=True, forceinline=True)
def hash_bytes(text: Any, start: Any, length: Any) -> Any:
    """A hash of 64 bits, of which all are good; may read 8 bytes beyond the end."""
    h = uint64(length) * uint64(0x9E3779B97F4A7C15)
    at, left = uint64(start), uint64(length)
    while left > uint64(8):
        h = mix(h ^ load8(text, at))
        at += uint64(8)
        left -= uint64(8)
    if left:
        h = mix(h ^ (load8(text, at) & (~uint64(0) >> (uint64(64) - (left << uint64(3))))))
    return h


@njit(nogil=True, forceinline=True)
def _emit(tokens: Any, row: Any, column: Any, start: Any, end: Any, value: Any) -> None:
    k = uint64(tokens.size[END])
    tokens.row[k], tokens.column[k], tokens.value[k] = row, column, value
    tokens.start[k], tokens.length[k] = start, end - start
    tokens.hash[k] = hash_bytes(tokens.text, start, end - start)
    tokens.size[END] = k + uint64(1)
    tokens.size[USED] = end


@njit(nogil=True, forceinline=True)
def _copy(source: Any, begin: Any, end: Any, target: Any, to: Any) -> Any:
    for at in range(begin, end):
        target[to] = source[at]
        to += uint64(1)
    return to


@njit(**NOGIL)
def words(data: Any, offsets: Any, prefix: Any, column: Any, tokens: Any) -> None:
    """Each word of each text: letters of any script, digits and _; ASCII is put in lower case here."""
    text = tokens.text
    for row in range(uint64(offsets.size - 1)):
        at, stop = uint64(offsets[row]), uint64(offsets[row + uint64(1)])
        while at < stop:
            start = uint64(tokens.size[USED])
            to = _copy(prefix, uint64(0), uint64(prefix.size), text, start)
            begin = to
            while at < stop:
                byte = data[at]
                low = _LOWER[byte]
                if low == 0:
                    at += uint64(1)
                    break
                if byte >= 128:
                    # Signs and punctuation: U+0080…00BF, U+2000…2FFF, U+3000…303F.
                    if byte == 0xC2:
                        at += uint64(2)
                        break
                    if byte == 0xE2 or (byte == 0xE3 and at + uint64(1) < stop and data[at + uint64(1)] == 0x80):
                        at += uint64(3)
                        break
                text[to] = low
                to += uint64(1)
                at += uint64(1)
            if to > begin:
                _emit(tokens, row, column, start, to, 1.0)


@njit(**NOGIL)
def categories(data: Any, offsets: Any, prefix: Any, column: Any, tokens: Any) -> None:
    """The value of each row, without blanks around it; nothing where it is empty."""
    for row in range(uint64(offsets.size - 1)):
        at, stop = uint64(offsets[row]), uint64(offsets[row + uint64(1)])
        while at < stop and data[at] <= uint8(32):
            at += uint64(1)
        while stop > at and data[stop - uint64(1)] <= uint8(32):
            stop -= uint64(1)
        if at < stop:
            start = uint64(tokens.size[USED])
            to = _copy(prefix, uint64(0), uint64(prefix.size), tokens.text, start)
            _emit(tokens, row, column, start, _copy(data, at, stop, tokens.text, to), 1.0)


@njit(**NOGIL)
def numbers(values: Any, name: Any, column: Any, tokens: Any) -> None:
    """A number for each row under one name; nothing where it is missing or 0."""
    start = uint64(tokens.size[USED])
    end = _copy(name, uint64(0), uint64(name.size), tokens.text, start)
    tokens.size[USED] = end
    for row in range(uint64(values.size)):
        if values[row] != 0.0 and not np.isnan(values[row]):
            _emit(tokens, row, column, start, end, values[row])


@njit(**NOGIL)
def _pairs(tokens: Any, order: Any, starts: Any, a: Any, b: Any, squares: Any, write: Any, out: Any) -> Any:
    """Go through the pairs of tokens of two columns, row by row: count them and their bytes, or write them down."""
    count, room = 0, 0
    for row in range(uint64(starts.size - 1)):
        for p in range(uint64(starts[row]), uint64(starts[row + uint64(1)])):
            i = uint64(order[p])
            if tokens.column[i] != a:
                continue
            for q in range(uint64(starts[row]) if a != b else p, uint64(starts[row + uint64(1)])):
                j = uint64(order[q])
                if tokens.column[j] != b or (i == j and not squares):
                    continue
                count += 1
                room += tokens.length[i] + 1 + tokens.length[j]
                if write:
                    start = uint64(out.size[USED])
                    first, second = uint64(tokens.start[i]), uint64(tokens.start[j])
                    to = _copy(tokens.text, first, first + uint64(tokens.length[i]), out.text, start)
                    out.text[to] = uint8(42)
                    to = _copy(tokens.text, second, second + uint64(tokens.length[j]), out.text, to + uint64(1))
                    _emit(out, row, -1, start, to, tokens.value[i] * tokens.value[j])
    return count, room


@njit(**NOGIL)
def room_to_cross(tokens: Any, order: Any, starts: Any, a: Any, b: Any, squares: Any) -> Any:
    """How many products of features two columns have, and how many bytes their names take."""
    return _pairs(tokens, order, starts, a, b, squares, False, tokens)


@njit(**NOGIL)
def cross(tokens: Any, order: Any, starts: Any, a: Any, b: Any, squares: Any, out: Any) -> None:
    """Products of the features of two columns, named ``first*second``; of one column, each pair once."""
    _pairs(tokens, order, starts, a, b, squares, True, out)
