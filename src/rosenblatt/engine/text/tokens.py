"""Tokens: features that have a name and no number yet, made from text columns and numbered by a vocabulary.

The names of all tokens are stored in one array of bytes. A vocabulary is a hash table with open addressing that stores the bytes
of each name, so two names with the same hash are not confused.
"""

import numpy as np
from numba import njit, uint8, uint64
from numpy.typing import NDArray

from rosenblatt.engine.jit import LOOP, compiled
from rosenblatt.engine.text.arrays import END, PADDING, USED
from rosenblatt.engine.text.columns import FAST, QUICK, mix
from rosenblatt.engine.text.numbers import load8


def _lower_case() -> NDArray[np.uint8]:
    """Lower case of each byte of a word, 0 for a byte that ends it. Non-ASCII bytes are kept: the caller has lowered them."""
    table = np.zeros(256, np.uint8)
    for byte in range(256):
        if byte >= 128 or chr(byte).isalnum() or chr(byte) == "_":
            table[byte] = ord(chr(byte).lower()) if byte < 128 else byte
    return table


_LOWER = _lower_case()


@njit(**QUICK)
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


@njit(**QUICK)
def _emit(tokens, row, column, start, end, value):
    k = uint64(tokens.size[END])
    tokens.row[k], tokens.column[k], tokens.value[k] = row, column, value
    tokens.start[k], tokens.length[k] = start, end - start
    tokens.hash[k] = hash_bytes(tokens.text, start, end - start)
    tokens.size[END] = k + uint64(1)
    tokens.size[USED] = end


@njit(**QUICK)
def _copy(source, begin, end, target, to):
    for at in range(begin, end):
        target[to] = source[at]
        to += uint64(1)
    return to


@njit(**QUICK)
def _trimmed(data, at, stop):
    while at < stop and data[at] <= uint8(32):
        at += uint64(1)
    while stop > at and data[stop - uint64(1)] <= uint8(32):
        stop -= uint64(1)
    return at, stop


@njit(**QUICK)
def _is_missing(data, at, stop, missing):
    """Whether a text is one of those that mean a missing value, whose bytes, 8 at most, are packed into integers.

    White space around it does not count, up to 24 bytes in all.
    """
    if stop - at > uint64(24):
        return False
    first, last = stop, stop
    while at < stop:
        blank = _blank(data, at, stop)
        if blank:
            at += blank
            continue
        first = min(first, at)
        at += uint64(1)
        last = at
    if last - first > uint64(8):
        return False
    packed = uint64(0)
    for place in range(first, last):
        packed = packed << uint64(8) | uint64(data[place])
    for k in range(uint64(missing.size)):  # noqa: SIM110 - `any` is slow here
        if missing[k] == packed:
            return True
    return False


@compiled(**FAST)
def add_words(data, offsets, missing, prefix, column, least, places, tokens):
    """Add the phrases of consecutive words of each text, with a blank between their words.

    Words are letters of any script, digits and _. ASCII letters are converted to lower case. A phrase has at least `least` words
    and at most as many as `places` has rows, where the positions and lengths of the last words are kept.
    """
    text = tokens.text
    many = uint64(places.shape[0])
    for row in range(uint64(offsets.size - 1)):
        at, stop = _trimmed(data, uint64(offsets[row]), uint64(offsets[row + uint64(1)]))
        if _is_missing(data, at, stop, missing):
            continue
        words = uint64(0)
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
            if to == begin:
                continue
            if least <= 1:
                _emit(tokens, row, column, start, to, 1.0)
            if many > uint64(1):
                places[words % many, 0], places[words % many, 1] = begin, to - begin
                words += uint64(1)
                for size in range(uint64(max(least, 2)), min(many, words) + uint64(1)):
                    start = to
                    to = _copy(prefix, uint64(0), uint64(prefix.size), text, start)
                    for word in range(words - size, words):
                        if word > words - size:
                            text[to] = uint8(32)
                            to += uint64(1)
                        place = uint64(places[word % many, 0])
                        to = _copy(text, place, place + uint64(places[word % many, 1]), text, to)
                    _emit(tokens, row, column, start, to, 1.0)
                tokens.size[USED] = to


@njit(**QUICK)
def _blank(data, at, stop):
    """The number of bytes of the white space at a place, 0 if it is none."""
    byte = data[at]
    if byte < 128:
        return uint64(byte == 32 or 9 <= byte <= 13 or 28 <= byte <= 31)
    if byte == 0xC2 and at + uint64(1) < stop:
        return uint64(2) if data[at + uint64(1)] == 0xA0 or data[at + uint64(1)] == 0x85 else uint64(0)
    if at + uint64(2) < stop:
        second, third = data[at + uint64(1)], data[at + uint64(2)]
        if byte == 0xE2 and second == 0x80 and (third <= 0x8A or third in (0xA8, 0xA9, 0xAF)):
            return uint64(3)
        if (byte == 0xE2 and second == 0x81 and third == 0x9F) or (byte == 0xE3 and second == 0x80 and third == 0x80):
            return uint64(3)
        if byte == 0xE1 and second == 0x9A and third == 0x80:
            return uint64(3)
    return uint64(0)


@njit(**QUICK)
def _next_character(text, at, end):
    at += uint64(1)
    while at < end and text[at] & uint8(0xC0) == uint8(0x80):
        at += uint64(1)
    return at


@compiled(**FAST)
def add_characters(data, offsets, missing, prefix, column, least, most, tokens):
    """Add the sequences of `least` to `most` characters within each word of each text.

    Words are what white space separates, in lower case; a blank is put before and after each. A word that is not longer
    than a sequence is added once, as a whole.
    """
    text = tokens.text
    for row in range(uint64(offsets.size - 1)):
        at, stop = _trimmed(data, uint64(offsets[row]), uint64(offsets[row + uint64(1)]))
        if _is_missing(data, at, stop, missing):
            continue
        while at < stop:
            blank = _blank(data, at, stop)
            if blank:
                at += blank
                continue
            begin = uint64(tokens.size[USED])
            end = begin + uint64(1)
            text[begin] = uint8(32)
            while at < stop and not _blank(data, at, stop):
                byte = data[at]
                text[end] = byte + uint8(32) if 65 <= byte <= 90 else byte
                end += uint64(1)
                at += uint64(1)
            text[end] = uint8(32)
            end += uint64(1)
            used = end
            for size in range(least, most + 1):
                first, last = begin, begin
                for _ in range(size):
                    if last < end:
                        last = _next_character(text, last, end)
                whole = last == end
                while True:
                    to = _copy(prefix, uint64(0), uint64(prefix.size), text, used)
                    to = _copy(text, first, last, text, to)
                    _emit(tokens, row, column, used, to, 1.0)
                    used = to
                    if last == end:
                        break
                    first, last = _next_character(text, first, end), _next_character(text, last, end)
                if whole:
                    break


@compiled(**FAST)
def add_categories(data, offsets, missing, prefix, column, tokens):
    """Add the value of each row without surrounding blanks; skip empty values."""
    for row in range(uint64(offsets.size - 1)):
        at, stop = _trimmed(data, uint64(offsets[row]), uint64(offsets[row + uint64(1)]))
        if at < stop and not _is_missing(data, at, stop, missing):
            start = uint64(tokens.size[USED])
            to = _copy(prefix, uint64(0), uint64(prefix.size), tokens.text, start)
            _emit(tokens, row, column, start, _copy(data, at, stop, tokens.text, to), 1.0)


@compiled(**FAST)
def add_numbers(values, name, column, tokens):
    """Add the number of each row, all under one name; skip missing values and zeros."""
    start = uint64(tokens.size[USED])
    end = _copy(name, uint64(0), uint64(name.size), tokens.text, start)
    tokens.size[USED] = end
    for row in range(uint64(values.size)):
        if values[row] != 0.0 and not np.isnan(values[row]):
            _emit(tokens, row, column, start, end, values[row])


@njit(**LOOP)
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


@compiled(**FAST)
def room_to_cross(tokens, order, starts, a, b, squares):
    """The number of products of the features of two columns, and the number of bytes in their names."""
    return _pairs(tokens, order, starts, a, b, squares, False, tokens)


@compiled(**FAST)
def cross(tokens, order, starts, a, b, squares, out):
    """Add the products of the features of two columns, named ``first*second``; for a column with itself, each pair once."""
    _pairs(tokens, order, starts, a, b, squares, True, out)


@compiled(**FAST)
def arrange(rows, count, order, starts):
    """Sort items by row, keeping the order within a row: row i has the items ``order[starts[i]:starts[i + 1]]``."""
    for i in range(uint64(starts.size)):
        starts[i] = 0
    for k in range(uint64(rows.size)):
        starts[uint64(rows[k]) + uint64(1)] += 1
    for i in range(uint64(count)):
        starts[i + uint64(1)] += starts[i]
    for k in range(uint64(rows.size)):
        i = uint64(rows[k])
        order[uint64(starts[i])] = k
        starts[i] += 1
    for i in range(uint64(count), uint64(0), -1):
        starts[i] = starts[i - uint64(1)]
    starts[0] = 0


@njit(**QUICK)
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


@njit(**QUICK)
def find_name(text, start, length, h, slots, ends, store, count):
    """(slot, number) of a name; if it is unknown, an empty slot for it and -1.

    A slot holds 32 bits of the hash, and the number of the name plus one. Only the first `count` names count: another thread may
    be adding more, so each slot is read once.
    """
    mask = uint64(slots.size - 1)
    slot = h & mask
    tag = h >> uint64(32)
    while True:
        entry = slots[slot]
        if entry == uint64(0):
            return slot, np.int64(-1)
        if entry >> uint64(32) == tag:
            place = (entry & uint64(0xFFFFFFFF)) - uint64(1)
            if place < count:
                begin = uint64(ends[place])
                if uint64(ends[place + uint64(1)]) - begin == length and _equal(store, begin, text, start, length):
                    return slot, np.int64(place)
        slot = (slot + uint64(1)) & mask


@njit(**QUICK)
def _add(text, start, length, h, slot, slots, ends, store, count):
    """Put a new name into an empty slot."""
    end = uint64(ends[count])
    for b in range(length):
        store[end + b] = text[start + b]
    ends[count + uint64(1)] = end + length
    slots[slot] = h >> uint64(32) << uint64(32) | (count + uint64(1))


@compiled(**FAST)
def slot_of(text, start, length, slots, ends, store, count):
    """The number of a name, or -1."""
    h = hash_bytes(text, start, length)
    return find_name(text, uint64(start), uint64(length), h, slots, ends, store, uint64(count))[1]


@compiled(**FAST)
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


@compiled(**FAST)
def add_names(new_ends, new_store, new_count, slots, ends, store, count, numbers, begin):
    """Find the numbers of names, from name `begin` on; unknown ones are added.

    Return the first name that does not fit (the caller enlarges the arrays and calls again), and the number of known names.
    """
    for k in range(uint64(begin), uint64(new_count)):
        start, stop = uint64(new_ends[k]), uint64(new_ends[k + uint64(1)])
        at = uint64(count)
        if (
            uint64(2) * (at + uint64(1)) > uint64(slots.size)
            or at + uint64(1) >= uint64(ends.size)
            or uint64(ends[at]) + stop - start + uint64(PADDING) > uint64(store.size)
        ):
            return np.int64(k), count
        h = hash_bytes(new_store, start, stop - start)
        slot, number = find_name(new_store, start, stop - start, h, slots, ends, store, at)
        if number < 0:
            _add(new_store, start, stop - start, h, slot, slots, ends, store, at)
            number = np.int64(count)
            count += 1
        numbers[k] = number
    return np.int64(new_count), count


@compiled(**FAST)
def find_tokens(
    tokens, order, starts, slots, ends, store, count, mask, indptr, indices, values, unknown, unknown_starts
):  # fmt: skip
    """Convert known tokens to rows, not sorted yet: by hash with a `mask`, else by the first `count` names of a vocabulary.

    The others are listed by row in `unknown`, unless it is empty. Nothing is added, so that several threads can do this while one
    thread adds names.
    """
    mask, count, listed = uint64(mask), uint64(count), unknown.size > 0
    k, left = uint64(0), uint64(0)
    indptr[0], unknown_starts[0] = 0, 0
    for row in range(uint64(starts.size - 1)):
        for p in range(uint64(starts[row]), uint64(starts[row + uint64(1)])):
            t = uint64(order[p])
            if mask:
                index = np.int64(tokens.hash[t] & mask)
            else:
                at, length = uint64(tokens.start[t]), uint64(tokens.length[t])
                _, index = find_name(tokens.text, at, length, tokens.hash[t], slots, ends, store, count)
                if index < 0:
                    if listed:
                        unknown[left] = np.int64(t)
                        left += uint64(1)
                    continue
            indices[k], values[k] = index, tokens.value[t]
            k += uint64(1)
        indptr[row + uint64(1)], unknown_starts[row + uint64(1)] = k, left


@compiled(**FAST)
def number_tokens(tokens, order, starts, slots, ends, store, count, indptr, indices, values, begin):
    """Convert tokens to rows, not sorted yet, from row `begin` on, by a vocabulary, to which new names are added.

    Return the first row whose new names do not fit (the caller enlarges the arrays and calls again from that row), and the number
    of known names.
    """
    k = uint64(indptr[begin])
    for row in range(uint64(begin), uint64(starts.size - 1)):
        first, last = uint64(starts[row]), uint64(starts[row + uint64(1)])
        room = uint64(0)
        for p in range(first, last):
            room += uint64(tokens.length[uint64(order[p])])
        new = uint64(count) + last - first
        if uint64(2) * new > uint64(slots.size) or new >= uint64(ends.size):
            return np.int64(row), count
        if uint64(ends[uint64(count)]) + room + uint64(PADDING) > uint64(store.size):
            return np.int64(row), count
        for p in range(first, last):
            t = uint64(order[p])
            at, length, h = uint64(tokens.start[t]), uint64(tokens.length[t]), tokens.hash[t]
            slot, index = find_name(tokens.text, at, length, h, slots, ends, store, uint64(count))
            if index < 0:
                _add(tokens.text, at, length, h, slot, slots, ends, store, uint64(count))
                index = np.int64(count)
                count += 1
            indices[k], values[k] = index, tokens.value[t]
            k += uint64(1)
        indptr[row + uint64(1)] = k
    return np.int64(starts.size - 1), count
