"""Tokens: features that have a name and no number yet, made from text columns and numbered by a vocabulary.

The names of all tokens are stored in one array of bytes. A vocabulary is a hash table with open addressing that stores the bytes
of each name, so two names with the same hash are not confused.
"""

import numpy as np
from numba import njit, uint8, uint64
from numpy.typing import NDArray

from rosenblatt.engine.jit import NOGIL, VERB, compiled
from rosenblatt.engine.text.arrays import END, PADDING, USED
from rosenblatt.engine.text.columns import mix, tidy_row
from rosenblatt.engine.text.numbers import load8


def _lower_case() -> NDArray[np.uint8]:
    """Lower case of each byte of a word, 0 for a byte that ends it. Non-ASCII bytes are kept: the caller has lowered them."""
    table = np.zeros(256, np.uint8)
    for byte in range(256):
        if byte >= 128 or chr(byte).isalnum() or chr(byte) == "_":
            table[byte] = ord(chr(byte).lower()) if byte < 128 else byte
    return table


_LOWER = _lower_case()


@njit(**VERB)
def hash_bytes(text, start, length):
    """64-bit hash of a byte string; may read 8 bytes beyond its end."""
    h = uint64(length) * uint64(0x9E3779B97F4A7C15)
    at, left = uint64(start), uint64(length)
    while left > uint64(8):
        h = mix(h ^ load8(text, at))
        at += uint64(8)
        left -= uint64(8)
    if left:
        h = mix(h ^ (load8(text, at) & (~uint64(0) >> (uint64(64) - (left << uint64(3))))))
    return h


@njit(**VERB)
def _emit(tokens, row, column, start, end, value):
    k = uint64(tokens.size[END])
    tokens.row[k], tokens.column[k], tokens.value[k] = row, column, value
    tokens.start[k], tokens.length[k] = start, end - start
    tokens.hash[k] = hash_bytes(tokens.text, start, end - start)
    tokens.size[END] = k + uint64(1)
    tokens.size[USED] = end


@njit(**VERB)
def _copy(source, begin, end, target, to):
    for at in range(begin, end):
        target[to] = source[at]
        to += uint64(1)
    return to


@compiled(error_model="numpy")
def add_words(data, offsets, prefix, column, tokens):
    """Add each word of each text: letters of any script, digits and _. ASCII letters are converted to lower case."""
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


@compiled(error_model="numpy")
def add_categories(data, offsets, prefix, column, tokens):
    """Add the value of each row without surrounding blanks; skip empty values."""
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


@compiled(error_model="numpy")
def add_numbers(values, name, column, tokens):
    """Add the number of each row, all under one name; skip missing values and zeros."""
    start = uint64(tokens.size[USED])
    end = _copy(name, uint64(0), uint64(name.size), tokens.text, start)
    tokens.size[USED] = end
    for row in range(uint64(values.size)):
        if values[row] != 0.0 and not np.isnan(values[row]):
            _emit(tokens, row, column, start, end, values[row])


@njit(**NOGIL, error_model="numpy")
def _pairs(tokens, order, starts, a, b, squares, write, out):
    """Count the pairs of tokens of two columns in each row and the bytes of their names; with `write`, also add them to `out`."""
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


@compiled(error_model="numpy")
def room_to_cross(tokens, order, starts, a, b, squares):
    """The number of products of the features of two columns, and the number of bytes in their names."""
    return _pairs(tokens, order, starts, a, b, squares, False, tokens)


@compiled(error_model="numpy")
def cross(tokens, order, starts, a, b, squares, out):
    """Add the products of the features of two columns, named ``first*second``; for a column with itself, each pair once."""
    _pairs(tokens, order, starts, a, b, squares, True, out)


@compiled(error_model="numpy")
def arrange(rows, count, order, starts):
    """Sort items by row, keeping the order within a row: row i has the items ``order[starts[i]:starts[i + 1]]``."""
    starts[:] = 0
    for k in range(uint64(rows.size)):
        starts[uint64(rows[k]) + uint64(1)] += 1
    for i in range(uint64(count)):
        starts[i + uint64(1)] += starts[i]
    place = starts[:count].copy()
    for k in range(uint64(rows.size)):
        i = uint64(rows[k])
        order[uint64(place[i])] = k
        place[i] += 1


@njit(**VERB)
def _equal(a, i, b, j, length):
    """Whether two texts are equal, compared eight bytes at a time; both must be followed by padding."""
    while length > uint64(8):
        if load8(a, i) != load8(b, j):
            return False
        i += uint64(8)
        j += uint64(8)
        length -= uint64(8)
    if length == uint64(0):
        return True
    return (load8(a, i) ^ load8(b, j)) << (uint64(64) - (length << uint64(3))) == uint64(0)


@njit(**VERB)
def _find(text, start, length, h, slots, ends, store):
    """The slot of a name, or an empty slot for it. A slot holds 32 bits of the hash, and the number of the name plus one."""
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


@compiled(error_model="numpy")
def slot_of(text, start, length, slots, ends, store):
    """The number of a name, or -1."""
    h = hash_bytes(text, start, length)
    slot = _find(text, uint64(start), uint64(length), h, slots, ends, store)
    return np.int64(slots[slot] & uint64(0xFFFFFFFF)) - 1


@compiled(error_model="numpy")
def rehash(slots, ends, store, count):
    """Fill an empty table with the stored names."""
    mask = uint64(slots.size - 1)
    for place in range(uint64(count)):
        begin = uint64(ends[place])
        h = hash_bytes(store, begin, uint64(ends[place + uint64(1)]) - begin)
        slot = h & mask
        while slots[slot] != uint64(0):
            slot = (slot + uint64(1)) & mask
        slots[slot] = h >> uint64(32) << uint64(32) | (place + uint64(1))


@compiled(error_model="numpy")
def number_tokens(
    tokens, order, starts, slots, ends, store, count,
    mask, grow, indptr, indices, values, begin,
):  # fmt: skip
    """Convert tokens to sorted CSR rows, from row `begin` on: by hash if `mask` is not 0, otherwise by the vocabulary.

    With `grow`, new names are added. Return the first row whose new names do not fit (the caller enlarges the arrays and calls
    again from that row), and the number of known names.
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
        ordered = True
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
