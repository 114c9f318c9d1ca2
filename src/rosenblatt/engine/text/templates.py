"""Features of tokens from columns of strings by templates, such as the word before, or the last three letters.

Each distinct string of a column is shaped once and gets a number from a vocabulary that stores its bytes. A feature is a key of
two numbers, made from the template and up to three numbers of strings, so different features never share a weight. With a mask
the key is hashed, and features may share one.
"""

from numba import njit, uint8, uint64

from rosenblatt.engine.conventions import Chain, Shaping
from rosenblatt.engine.jit import NOGIL, VERB, compiled
from rosenblatt.engine.sequences import add_key, slot_of_key
from rosenblatt.engine.text.columns import mix
from rosenblatt.engine.text.tokens import _equal, find_name, hash_bytes

_LOW, _HIGH = uint64(0xFFFFFFFF), uint64(32)
_FIRST = Chain.TEMPLATES
_PREFIX, _SUFFIX, _SHAPE = Shaping.PREFIX, Shaping.SUFFIX, Shaping.SHAPE
_DIGIT, _HYPHEN, _UPPER = Shaping.DIGIT, Shaping.HYPHEN, Shaping.UPPER
OTHER, SMALL, CAPITAL, DIGIT = range(4)


@compiled(error_model="numpy")
def number_strings(data, size, slots, spans, numbers):
    """Number the distinct strings of a text, each of which ends with a zero byte; return how many there are."""
    mask = uint64(slots.size - 1)
    at, end, distinct = uint64(0), uint64(size), uint64(0)
    for k in range(uint64(numbers.size)):
        start = at
        while at < end and data[at] != uint8(0):
            at += uint64(1)
        length = at - start
        at += uint64(1)
        h = hash_bytes(data, start, length)
        slot, tag = h & mask, h >> _HIGH
        while slots[slot] != uint64(0):
            if slots[slot] >> _HIGH == tag:
                known = (slots[slot] & _LOW) - uint64(1)
                if uint64(spans[known, uint64(1)]) == length and _equal(
                    data, uint64(spans[known, uint64(0)]), data, start, length
                ):
                    break
            slot = (slot + uint64(1)) & mask
        if slots[slot] == uint64(0):
            spans[distinct, uint64(0)], spans[distinct, uint64(1)] = start, length
            distinct += uint64(1)
            slots[slot] = tag << _HIGH | distinct
        numbers[k] = (slots[slot] & _LOW) - uint64(1)
    return distinct


@njit(**NOGIL, error_model="numpy")
def _code_point(data, at):
    """The code point that begins at a byte, and its number of bytes."""
    byte = uint64(data[at])
    if byte < uint64(0x80):
        return byte, uint64(1)
    second = uint64(data[at + uint64(1)]) & uint64(63)
    if byte < uint64(0xE0):
        return (byte & uint64(31)) << uint64(6) | second, uint64(2)
    third = uint64(data[at + uint64(2)]) & uint64(63)
    if byte < uint64(0xF0):
        return (byte & uint64(15)) << uint64(12) | second << uint64(6) | third, uint64(3)
    fourth = uint64(data[at + uint64(3)]) & uint64(63)
    return (byte & uint64(7)) << uint64(18) | second << uint64(12) | third << uint64(6) | fourth, uint64(4)


@njit(**NOGIL, error_model="numpy")
def _shape(data, start, length, kinds, out):
    """Write X for a capital letter, x for a small one, d for a digit, at most two in a row; return the number of bytes."""
    at, end, used = start, start + length, uint64(0)
    last, run = OTHER, 0
    while at < end:
        point, size = _code_point(data, at)
        kind = _kind(kinds, point)
        if kind != OTHER:
            run = run + 1 if kind == last else 1
            if run <= 2:
                out[used] = uint8(120) if kind == SMALL else uint8(88) if kind == CAPITAL else uint8(100)
                used += uint64(1)
        else:
            for b in range(size):
                out[used] = data[at + b]
                used += uint64(1)
        last = kind
        at += size
    return used


@njit(**VERB)
def _kind(kinds, point):
    """Whether a code point is a capital or small letter or a digit; those beyond the table are something else."""
    return kinds[point] if point < uint64(kinds.size) else uint8(OTHER)


@njit(**NOGIL, error_model="numpy")
def _has(data, start, length, kinds, shaping):
    """Whether a string has a digit, a hyphen or a capital letter."""
    at, end = start, start + length
    while at < end:
        point, size = _code_point(data, at)
        kind = _kind(kinds, point)
        if shaping == _HYPHEN:
            if point == uint64(45):
                return True
        elif kind == (DIGIT if shaping == _DIGIT else CAPITAL):
            return True
        at += size
    return False


@compiled(error_model="numpy")
def shape_strings(data, spans, count, shaping, letters, kinds, vocabulary, counts, add, hashed, out, values, row):
    """Shape each distinct string and write its number to a row of `values`: -1 for no value or, without `add`, an unknown one.

    With `hashed` the number is 31 bits of the hash of the string, which is not stored.
    """
    slots, ends, store = vocabulary
    row = uint64(row)
    for k in range(uint64(count)):
        start, length = uint64(spans[k, uint64(0)]), uint64(spans[k, uint64(1)])
        text = data
        if shaping == _PREFIX:
            at, left = start, letters
            while left > 0 and at < start + length:
                at += uint64(1)
                while at < start + length and data[at] & uint8(0xC0) == uint8(0x80):
                    at += uint64(1)
                left -= 1
            length = at - start
        elif shaping == _SUFFIX:
            at, left = start + length, letters
            while left > 0 and at > start:
                at -= uint64(1)
                while at > start and data[at] & uint8(0xC0) == uint8(0x80):
                    at -= uint64(1)
                left -= 1
            length = start + length - at
            start = at
        elif shaping == _SHAPE:
            length = _shape(data, start, length, kinds, out)
            start, text = uint64(0), out
        elif shaping >= _DIGIT:
            if not _has(data, start, length, kinds, shaping):
                values[row, k] = -1
                continue
            out[uint64(0)] = uint8(49)
            start, length, text = uint64(0), uint64(1), out
        h = hash_bytes(text, start, length)
        if hashed:
            values[row, k] = h >> uint64(33)
            continue
        slot, found = find_name(text, start, length, h, slots, ends, store, uint64(counts[uint64(0)]))
        if found < 0:
            if not add:
                values[row, k] = -1
                continue
            number = uint64(counts[uint64(0)])
            end = uint64(ends[number])
            for b in range(length):
                store[end + b] = text[start + b]
            ends[number + uint64(1)] = end + length
            slots[slot] = h >> _HIGH << _HIGH | (number + uint64(1))
            counts[uint64(0)] = number + uint64(1)
        values[row, k] = (slots[slot] & _LOW) - uint64(1)


@njit(**VERB)
def _string(columns, source, at, first, last, edges):
    """The number of the string of a token; beyond the ends of the sentence the number of distinct strings."""
    inside = first <= at < last
    return uint64(columns[source, uint64(at)]) if inside else uint64(edges[source])


@njit(**VERB)
def _shaped(values, row, string, known):
    """The number of a shaped string, and whether this and those before are known."""
    number = values[row, string]
    return uint64(number), known and number >= 0


@njit(**NOGIL, error_model="numpy")
def _feature(k, parts, rows, strings, values, mask, table, counts, add):
    """The number of the feature of template `k` for these strings; 0 if there is none or, without `add`, if it is unknown."""
    slots, keys = table
    a, b, known = uint64(_FIRST + k) << _HIGH, uint64(0), True
    if parts >= 1:
        number, known = _shaped(values, rows[0], strings[0], known)
        a |= number
    if parts >= 2:
        number, known = _shaped(values, rows[1], strings[1], known)
        b = number << _HIGH
    if parts >= 3:
        number, known = _shaped(values, rows[2], strings[2], known)
        b |= number
    if not known:
        return uint64(0)
    if mask > 0:
        a, b = (mix(a ^ mix(b)) & uint64(mask)) + uint64(1), uint64(0)
    slot = slot_of_key(slots, keys, a, b)
    if add and slots[slot] == uint64(0):
        add_key(slots, keys, slot, counts[uint64(0)], a, b)
        counts[uint64(0)] += 1
    return slots[slot] & _LOW


@compiled(error_model="numpy")
def extract(
    templates, sources, starts, columns, values, edges, direct, table, mask, counts, add, feature_start, features, begin
):  # fmt: skip
    """Write the features of each token by all templates, from sentence `begin` on; unknown ones are left out.

    A row of `templates` has the number of its parts, then for each the row of `values` and the position beside the token.
    `direct` is a pair: for each template the place of its part of a table, or -1, and that table, which has the feature of each
    combination of strings, -1 before it is looked up. Return the first sentence for which `table` has no room.

    The templates are the outer loop: its body has few branches, and searches of several tokens overlap.
    """
    slots, keys = table
    places, cells = direct
    one, two = uint64(1), uint64(2)
    many = uint64(templates.shape[0])
    used = uint64(feature_start[uint64(starts[uint64(begin)])])
    for i in range(uint64(begin), uint64(starts.size - 1)):
        first, last = starts[i], starts[i + one]
        room = counts[uint64(0)] + (last - first) * templates.shape[0]
        if add and (room > keys.shape[0] or 2 * room > slots.size):
            return i
        for k in range(many):
            parts, place = templates[k, uint64(0)], places[k]
            rows = uint64(templates[k, one]), uint64(templates[k, uint64(3)]), uint64(templates[k, uint64(5)])
            aside = templates[k, two], templates[k, uint64(4)], templates[k, uint64(6)]
            x, y, z = uint64(sources[rows[0]]), uint64(sources[rows[1]]), uint64(sources[rows[2]])
            height, depth = uint64(edges[y] + 1), uint64(edges[z] + 1)
            p, q, r = uint64(0), uint64(0), uint64(0)
            to = uint64(first) * many + k
            for t in range(first, last):
                cell = uint64(0)
                if parts >= 1:
                    p = _string(columns, x, t + aside[0], first, last, edges)
                    cell = p
                if parts >= 2:
                    q = _string(columns, y, t + aside[1], first, last, edges)
                    cell = cell * height + q
                if parts >= 3:
                    r = _string(columns, z, t + aside[2], first, last, edges)
                    cell = cell * depth + r
                if place < 0:
                    features[to] = _feature(k, parts, rows, (p, q, r), values, mask, table, counts, add)
                else:
                    cell += uint64(place)
                    if cells[cell] < 0:
                        cells[cell] = _feature(k, parts, rows, (p, q, r), values, mask, table, counts, add)
                    features[to] = cells[cell]
                to += many
        at = uint64(first) * many
        for t in range(uint64(first), uint64(last)):
            for _ in range(many):
                feature = features[at]
                features[used] = feature
                used += one if feature else uint64(0)
                at += one
            feature_start[t + one] = used
    return uint64(starts.size - 1)
