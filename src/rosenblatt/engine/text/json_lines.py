"""Parser of JSON lines into columns of numbers and of text.

It takes objects with numbers, texts, lists of texts and nested objects, which is nearly all there is. At anything else it stops,
and the caller parses the block with Python, which either names the error or takes what this parser is too strict for. A single
value that Python must convert, such as a text in a column of numbers, is listed instead.
"""

import numpy as np
from numba import njit, uint8, uint64

from rosenblatt.engine.jit import LOOP, compiled
from rosenblatt.engine.text.columns import FAST, QUICK
from rosenblatt.engine.text.numbers import GOOD, number
from rosenblatt.engine.text.tokens import find_name, hash_bytes

DEPTH = 60
"""The largest depth of nested objects and lists."""


@njit(**QUICK)
def _blanks(text, at):
    while text[at] == 32 or text[at] == 9 or text[at] == 13:
        at += uint64(1)
    return at


@njit(**QUICK)
def _hex(text, at):
    """The number that four hexadecimal digits are, or -1."""
    total = np.int64(0)
    for k in range(uint64(4)):
        c = np.int64(text[at + k])
        if 48 <= c <= 57:
            digit = c - 48
        elif 97 <= c | 32 <= 102:
            digit = (c | 32) - 87
        else:
            return np.int64(-1)
        total = total * 16 + digit
    return total


@njit(**LOOP)
def _escape(text, at, out, to):
    """Write the character of the escape after a backslash; return (end of it in the text, end of `out`), 0 if it is wrong."""
    c = text[at]
    if c == 117:  # u
        code = _hex(text, at + uint64(1))
        at += uint64(5)
        if 0xD800 <= code < 0xDC00 and text[at] == 92 and text[at + uint64(1)] == 117:
            low = _hex(text, at + uint64(2))
            if not 0xDC00 <= low < 0xE000:
                return uint64(0), to
            at += uint64(6)
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)
        elif code < 0 or 0xD800 <= code < 0xE000:
            return uint64(0), to
        if code < 0x80:
            out[to] = code
            return at, to + uint64(1)
        if code < 0x800:
            out[to], out[to + uint64(1)] = 0xC0 | code >> 6, 0x80 | code & 63
            return at, to + uint64(2)
        if code < 0x10000:
            out[to], out[to + uint64(1)], out[to + uint64(2)] = (
                0xE0 | code >> 12,
                0x80 | code >> 6 & 63,
                0x80 | code & 63,
            )
            return at, to + uint64(3)
        out[to], out[to + uint64(1)] = 0xF0 | code >> 18, 0x80 | code >> 12 & 63
        out[to + uint64(2)], out[to + uint64(3)] = 0x80 | code >> 6 & 63, 0x80 | code & 63
        return at, to + uint64(4)
    if c == 34 or c == 92 or c == 47:  # noqa: PLR1714 - a set is slow here
        out[to] = c
    elif c == 110:
        out[to] = uint8(10)
    elif c == 116:
        out[to] = uint8(9)
    elif c == 114:
        out[to] = uint8(13)
    elif c == 98:
        out[to] = uint8(8)
    elif c == 102:
        out[to] = uint8(12)
    else:
        return uint64(0), to
    return at + uint64(1), to + uint64(1)


@njit(**LOOP)
def _string(text, at, out, to):
    """Write the text after a quote; return (place after the closing quote, end of `out`), 0 if it is wrong."""
    while True:
        c = text[at]
        if c == 34:
            return at + uint64(1), to
        if c < 32:
            return uint64(0), to
        if c == 92:
            at, to = _escape(text, at + uint64(1), out, to)
            if at == uint64(0):
                return at, to
            continue
        out[to] = c
        to += uint64(1)
        at += uint64(1)


@njit(**QUICK)
def _digits_end(text, at):
    while text[at] - uint8(48) <= uint8(9):
        at += uint64(1)
    return at


@njit(**LOOP)
def _number_end(text, at):
    """(end of a number, whether it is a whole number without an exponent); the end is 0 if it is not written as in JSON."""
    if text[at] == 45:
        at += uint64(1)
    end = _digits_end(text, at)
    if end == at or (text[at] == 48 and end - at > uint64(1)):
        return uint64(0), False
    whole = True
    if text[end] == 46:
        whole, at = False, end + uint64(1)
        end = _digits_end(text, at)
        if end == at:
            return uint64(0), False
    if text[end] | uint8(32) == 101:
        whole, at = False, end + uint64(1)
        if text[at] == 43 or text[at] == 45:
            at += uint64(1)
        end = _digits_end(text, at)
        if end == at:
            return uint64(0), False
    return end, whole


@njit(**LOOP)
def _literal(text, at):
    """(end, 1 for true, 0 for false, -1 for null); the end is 0 for anything else."""
    one, two, three, four = text[at], text[at + uint64(1)], text[at + uint64(2)], text[at + uint64(3)]
    if one == 116 and two == 114 and three == 117 and four == 101:
        return at + uint64(4), np.int64(1)
    if one == 110 and two == 117 and three == 108 and four == 108:
        return at + uint64(4), np.int64(-1)
    if one == 102 and two == 97 and three == 108 and four == 115 and text[at + uint64(4)] == 101:
        return at + uint64(5), np.int64(0)
    return uint64(0), np.int64(0)


@njit(**LOOP)
def _scalar_end(text, at, scratch, to):
    """The end of a text, a number or a literal, 0 if it is wrong."""
    c = text[at]
    if c == 34:
        at, _ = _string(text, at + uint64(1), scratch, to)
    elif c == 45 or 48 <= c <= 57:
        at, _ = _number_end(text, at)
    else:
        at, _ = _literal(text, at)
    return at


@njit(**LOOP)
def _list_end(text, at, scratch, to, closing):
    """The end of a list of anything, 0 if it is wrong. `closing` receives the brackets to close."""
    depth, key, value = uint64(0), False, True  # whether a key or a value must come, or a comma or the end
    begins = True  # directly after a bracket, where the end may come
    while True:
        at = _blanks(text, at)
        c = text[at]
        if (value or key) and begins and depth and c == closing[depth - uint64(1)]:
            value, key = False, False
        if value:
            if c == 91 or c == 123:  # noqa: PLR1714
                if depth == uint64(DEPTH):
                    return uint64(0)
                closing[depth] = c + uint8(2)
                depth += uint64(1)
                at += uint64(1)
                begins, key, value = True, c == 123, c == 91
                continue
            at = _scalar_end(text, at, scratch, to)
            value = False
        elif key:
            if c != 34:
                return uint64(0)
            at = _scalar_end(text, at, scratch, to)
            if at == uint64(0):
                return at
            at = _blanks(text, at)
            if text[at] != 58:
                return uint64(0)
            at += uint64(1)
            key, value = False, True
        elif c == closing[depth - uint64(1)]:
            depth -= uint64(1)
            at += uint64(1)
            if depth == uint64(0):
                return at
        elif c == 44:
            at += uint64(1)
            key = closing[depth - uint64(1)] == 125
            value = not key
        else:
            return uint64(0)
        begins = False
        if at == uint64(0):
            return at


@njit(**LOOP)
def _words(text, at, out, to):
    """Write a list of texts and whole numbers with blanks between them; return as `_string`, 0 also for other lists."""
    first = True
    at = _blanks(text, at + uint64(1))
    if text[at] == 93:
        return at + uint64(1), to
    while True:
        if not first:
            out[to] = uint8(32)
            to += uint64(1)
        first = False
        at = _blanks(text, at)
        if text[at] == 34:
            at, to = _string(text, at + uint64(1), out, to)
        else:
            end, whole = _number_end(text, at)
            if not whole or (text[at] == 45 and text[at + uint64(1)] == 48):
                return uint64(0), to
            to = _put(text, at, end, out, to)
            at = end
        if at == uint64(0):
            return at, to
        at = _blanks(text, at)
        if text[at] == 93:
            return at + uint64(1), to
        if text[at] != 44:
            return uint64(0), to
        at += uint64(1)


@njit(**QUICK)
def _put(text, at, end, out, to):
    for place in range(at, end):
        out[to] = text[place]
        to += uint64(1)
    return to


@compiled(**FAST)
def parse_json(
    text, size, slots, ends, store, kinds, single, scratch, work, numbers, texts, offsets, lines, slow, report
):
    """Parse whole lines into columns.

    `slots`, `ends` and `store` are the vocabulary of the columns. `kinds` has for each its row in `numbers`, or -1 minus its row
    in `texts` and `offsets`; in column `single` a list is left to Python. `scratch` has room for the text, `work` for four rows
    of numbers, as many as columns and `DEPTH`. `lines` receives the line of each row of the table, `slow` (row, column, start,
    stop) of each value that Python must convert. `report` receives the numbers of rows, lines and slow values, and whether the
    text ended before anything unusual.
    """
    size, columns = uint64(size), uint64(kinds.size)
    used, seen, bases, objects = work[0], work[1], work[2], work[3]
    closing = scratch[uint64(scratch.size) - uint64(DEPTH) :]
    at, row, line, slow_count = uint64(0), uint64(0), np.int64(0), uint64(0)
    good = True
    for c in range(columns):
        used[c], seen[c] = 0, -1
    for t in range(uint64(offsets.shape[0])):
        offsets[t, 0] = 0
    while at < size:
        at = _blanks(text, at)
        line += 1
        if text[at] == 10:
            at += uint64(1)
            continue
        if text[at] != 123:
            good = False
            break
        for n in range(uint64(numbers.shape[0])):
            numbers[n, row] = np.nan
        at += uint64(1)
        depth, base, many, begins, comma = uint64(0), uint64(0), uint64(0), True, False
        while True:
            at = _blanks(text, at)
            c = text[at]
            if c == 125 and (begins or comma):
                at += uint64(1)
                if depth == uint64(0):
                    break
                depth -= uint64(1)
                base, begins, comma = uint64(bases[depth]), False, True
                continue
            if comma:
                if c != 44:
                    good = False
                    break
                at = _blanks(text, at + uint64(1))
                c = text[at]
            begins = False
            if c != 34:
                good = False
                break
            at, to = _string(text, at + uint64(1), scratch, base)
            if at == uint64(0):
                good = False
                break
            at = _blanks(text, at)
            if text[at] != 58:
                good = False
                break
            at = _blanks(text, at + uint64(1))
            c = text[at]
            h = hash_bytes(scratch, uint64(0), to)
            for k in range(many):  # a name that comes twice is left to Python
                good &= uint64(objects[k]) != h
            _, column = find_name(scratch, uint64(0), to, h, slots, ends, store, columns)
            if column >= 0:
                good &= seen[uint64(column)] != np.int64(row)
                seen[uint64(column)] = row
            if not good:
                break
            comma = True
            if c == 123:
                if depth == uint64(DEPTH) or many == uint64(DEPTH):
                    good = False
                    break
                objects[many] = np.int64(h)
                many += uint64(1)
                bases[depth] = base
                depth += uint64(1)
                scratch[to] = uint8(46)
                base, begins, comma = to + uint64(1), True, False
                at += uint64(1)
                continue
            start, simple = at, True
            if column < 0:
                at = _list_end(text, at, scratch, to, closing) if c == 91 else _scalar_end(text, at, scratch, to)
            elif kinds[uint64(column)] >= 0:
                if c == 34 or c == 91:  # noqa: PLR1714
                    simple = False
                    at = _list_end(text, at, scratch, to, closing) if c == 91 else _scalar_end(text, at, scratch, to)
                elif c == 45 or 48 <= c <= 57:
                    at, whole = _number_end(text, at)
                    if at != uint64(0):
                        value, _, kind = number(text, start)
                        simple = kind == GOOD
                        numbers[uint64(kinds[uint64(column)]), row] = 0.0 if whole and value == 0.0 else value
                else:
                    at, truth = _literal(text, at)
                    if truth >= 0:
                        numbers[uint64(kinds[uint64(column)]), row] = np.float64(truth)
            else:
                t = uint64(-1 - kinds[uint64(column)])
                out, end = texts[t], uint64(used[t])
                if c == 34:
                    at, end = _string(text, at + uint64(1), out, end)
                elif c == 91:
                    if column != single:
                        at, end = _words(text, at, out, end)
                    if column == single or at == uint64(0):
                        simple, end = False, uint64(used[t])
                        at = _list_end(text, start, scratch, to, closing)
                elif c == 45 or 48 <= c <= 57:
                    at, whole = _number_end(text, at)
                    simple = whole and not (c == 45 and text[start + uint64(1)] == 48)
                    if simple:
                        end = _put(text, start, at, out, end)
                else:
                    at, truth = _literal(text, at)
                    if truth >= 0:
                        end = _put(text, start, at, out, end)
                used[t] = end
            if at == uint64(0):
                good = False
                break
            if not simple:
                if slow_count == uint64(slow.shape[0]):
                    good = False
                    break
                slow[slow_count, 0], slow[slow_count, 1] = row, column
                slow[slow_count, 2], slow[slow_count, 3] = start, at
                slow_count += uint64(1)
        if good:
            at = _blanks(text, at)
            good = text[at] == 10
        if not good:
            break
        at += uint64(1)
        for t in range(uint64(offsets.shape[0])):
            offsets[t, row + uint64(1)] = used[t]
        lines[row] = line
        row += uint64(1)
    report[0], report[1], report[2], report[3] = row, line, slow_count, good
