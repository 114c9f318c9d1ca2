"""Parser of VW text into tokens."""

import numpy as np
from numba import uint64

from rosenblatt.engine.jit import compiled
from rosenblatt.engine.text.arrays import END, PADDING, USED
from rosenblatt.engine.text.numbers import BAD, GOOD, SLOW, number
from rosenblatt.engine.text.tokens import hash_bytes
from rosenblatt.engine.text.vw_report import (
    BAD_FACTOR,
    BAD_LABEL,
    BAD_NAME,
    BAD_VALUE,
    BAD_WEIGHT,
    LINES,
    NO_BAR,
    NO_ROOM,
    OK,
    PLACE,
    ROWS,
    SLOW_COUNT,
    STATUS,
    TAGS,
    WEIGHTS,
)  # fmt: skip

_ENDS_NAME = np.array([byte <= 32 or chr(byte) in "|:" for byte in range(256)])
"""Whether a byte ends a name: a blank, a bar or a colon."""


@compiled(error_model="numpy")
def parse_vw(text, size, tokens, labels, weights, tags, slow, spaces, bounds, report):
    """Parse whole lines into tokens.

    `spaces` and `bounds` hold the names of the namespaces that have a column number. `slow` receives (place, start, stop) of each
    number that Python must convert; `place` is the number of a token, or -1 - 2 * row - k for field k before the bar. `report` is
    filled at the end; it includes the position of the first error.
    """
    size = uint64(size)
    at, row, lines, slow_count, k = uint64(0), uint64(0), uint64(0), uint64(0), uint64(0)
    names, used, room = tokens.text, uint64(0), uint64(tokens.text.size - PADDING)
    status, any_tag, any_weight = OK, False, False
    while at < size:
        c = text[at]
        if c <= 32:
            lines += uint64(c == 10)
            at += uint64(1)
            continue
        labels[row], weights[row] = np.nan, 1.0
        tags[row, 0], tags[row, 1] = 0, 0
        count = 0
        while text[at] != 124:
            c = text[at]
            if c == 10:
                status = NO_BAR
                break
            if c <= 32:
                at += uint64(1)
                continue
            end = at
            while text[end] > 32 and text[end] != 124:
                end += uint64(1)
            if c == 39 or text[end] == 124:
                tags[row, 0], tags[row, 1] = at + uint64(c == 39), end
                any_tag = True
                at = end
                continue
            value, stop, kind = number(text, at)
            if kind == BAD or stop != end or count > 2:
                status = BAD_LABEL
                break
            if count == 0:
                labels[row] = value
            elif count == 1:
                if value < 0.0:
                    status = BAD_WEIGHT
                    break
                weights[row] = value
                any_weight = True
            if kind == SLOW and count < 2:
                slow[slow_count, 0], slow[slow_count, 1], slow[slow_count, 2] = -1 - 2 * np.int64(row) - count, at, end
                slow_count += uint64(1)
            count += 1
            at = end
        if status != OK:
            break
        while text[at] == 124:
            at += uint64(1)
            space, factor, column = at, 1.0, -1
            while not _ENDS_NAME[text[at]]:
                at += uint64(1)
            space_end = at
            if text[at] == 58:
                factor, at, kind = number(text, at + uint64(1))
                c = text[at]
                if kind != GOOD or (c > 32 and c != 124):
                    status = BAD_FACTOR
                    break
            for i in range(bounds.size - 1):
                length = bounds[i + 1] - bounds[i]
                if length == np.int64(space_end - space):
                    same = True
                    for b in range(length):
                        same &= spaces[bounds[i] + b] == text[space + uint64(b)]
                    if same:
                        column = i
            while True:
                c = text[at]
                while c <= 32 and c != 10:
                    at += uint64(1)
                    c = text[at]
                if c == 10 or c == 124:  # noqa: PLR1714 - a set is slow here
                    break
                begin = at
                while not _ENDS_NAME[c]:
                    at += uint64(1)
                    c = text[at]
                if at == begin:
                    status = BAD_NAME
                    break
                start = used
                if start + (at - begin) + (space_end - space) + uint64(2) > room:
                    status = NO_ROOM
                    break
                if space_end > space:
                    for b in range(space, space_end):
                        names[used] = text[b]
                        used += uint64(1)
                    names[used] = 94
                    used += uint64(1)
                for b in range(begin, at):
                    names[used] = text[b]
                    used += uint64(1)
                value = factor
                if c == 58:
                    first = at + uint64(1)
                    value, at, kind = number(text, first)
                    c = text[at]
                    if kind == BAD or (c > 32 and c != 124):
                        at = begin
                        status = BAD_VALUE
                        break
                    value *= factor
                    if kind == SLOW:
                        slow[slow_count, 0], slow[slow_count, 1], slow[slow_count, 2] = k, first, at
                        slow_count += uint64(1)
                        value = factor
                tokens.row[k], tokens.column[k], tokens.value[k] = row, column, value
                tokens.start[k], tokens.length[k] = start, used - start
                tokens.hash[k] = hash_bytes(names, start, used - start)
                k += uint64(1)
            if status != OK:
                break
        if status != OK:
            break
        row += uint64(1)
    tokens.size[END], tokens.size[USED] = k, used
    report[ROWS], report[LINES], report[SLOW_COUNT], report[STATUS] = row, lines, slow_count, status
    report[PLACE], report[TAGS], report[WEIGHTS] = at, any_tag, any_weight
