"""Parser of svmlight text into sparse rows."""

import numpy as np
from numba import uint64

from rosenblatt.engine.jit import compiled
from rosenblatt.engine.text.columns import mix, tidy_row
from rosenblatt.engine.text.numbers import BAD, SLOW, any_number, digits, number, simple_number
from rosenblatt.engine.text.shapes import ANY_SHAPE, NO_SHAPE, SHAPES, entry_of_shape, shape_at, shapes_work
from rosenblatt.engine.text.svmlight_report import (
    BAD_INDEX,
    BAD_LABEL,
    BAD_VALUE,
    BIG_INDEX,
    ENTRIES,
    HIGHEST,
    LINES,
    NO_COLON,
    NO_LABEL,
    OK,
    PLACE,
    ROWS,
    SLOW_COUNT,
    STATUS,
    ZERO_INDEX,
)  # fmt: skip

_ENDS = np.array([byte <= 32 or byte == 35 for byte in range(256)])
"""Whether a byte may follow a number: a blank, or the # of a comment."""


@compiled(error_model="numpy")
def parse_svmlight(text, size, indptr, indices, values, labels, slow, settings, report):
    """Parse whole lines into CSR rows.

    `settings`: the number of the first column, the limit of column numbers, the number of known columns if others are ignored
    (else 0), the mask of hashing (else 0), whether a label is required. `slow` receives (entry or -1 - row, start, stop) of each
    number that Python must convert. `report` is filled at the end; it includes the position of the first error.
    """
    first, limit, known = uint64(settings[0]), uint64(settings[1]), uint64(settings[2])
    mask, label_required = uint64(settings[3]), settings[4] != 0
    accepted = limit if mask or not known else known  # columns below it are used
    size = uint64(size)
    at, k, row, lines, highest = uint64(0), uint64(0), uint64(0), uint64(0), uint64(0)
    slow_count, status = uint64(0), OK
    first_shape = uint64(ANY_SHAPE)
    indptr[0] = 0
    while at < size:
        c = text[at]
        if c == 10:
            lines += uint64(1)
            at += uint64(1)
            continue
        if c <= 32:
            at += uint64(1)
            continue
        if c == 35:
            while text[at] != 10:
                at += uint64(1)
            continue
        value, end, kind = number(text, at)
        c = text[end]
        if c == 58:
            if label_required:
                status = NO_LABEL
                break
            labels[row] = np.nan
        elif kind == BAD or not _ENDS[c]:
            status = BAD_LABEL
            break
        else:
            if kind == SLOW:
                slow[slow_count, 0], slow[slow_count, 1], slow[slow_count, 2] = -1 - np.int64(row), at, end
                slow_count += uint64(1)
            labels[row] = value
            at = end
        begin, last, ordered = k, uint64(0), True
        shape, use_shapes = first_shape, shapes_work()
        while True:
            c = text[at]
            while c <= 32:
                if c == 10:
                    break
                at += uint64(1)
                c = text[at]
            if c == 10:
                break
            while use_shapes:  # the fast path for nearly all entries
                fits, index, value, length = entry_of_shape(text, at, SHAPES, shape)
                if not fits:
                    if text[at] <= 32:
                        break
                    found, length = shape_at(text, at)
                    if found == uint64(NO_SHAPE):
                        use_shapes = False  # more long numbers are likely to follow
                        break
                    shape = found
                    if k == begin:
                        first_shape = shape
                    fits, index, value, _ = entry_of_shape(text, at, SHAPES, shape)
                index -= first
                if not fits or index >= accepted:
                    break
                if mask:
                    index = mix(index) & mask
                ordered &= index >= last
                last = index + uint64(1)
                indices[k] = index
                values[k] = value
                k += uint64(1)
                at += length
                if text[at] == 10:
                    break
                at += uint64(1)
            c = text[at]
            if c <= 32:
                continue
            index, end = digits(text, at, uint64(0))
            start = end + uint64(1)
            if text[end] == 58 and start - at - uint64(2) <= uint64(18):
                value, end, exact = simple_number(text, start)
                index -= first
                if exact and text[end] <= 32 and index < accepted:
                    if mask:
                        index = mix(index) & mask
                    ordered &= index >= last
                    last = index + uint64(1)
                    indices[k] = index
                    values[k] = value
                    k += uint64(1)
                    at = end
                    continue
                value, end, kind = any_number(text, start)
                if kind == BAD or not _ENDS[text[end]]:
                    status = BAD_VALUE
                    break
                if index == ~uint64(0):  # 0 - 1
                    status = ZERO_INDEX
                    break
                if mask:
                    index = mix(index) & mask
                elif index >= accepted:
                    if index >= limit:
                        status = BIG_INDEX
                        break
                    at = end
                    continue
                if kind == SLOW:
                    slow[slow_count, 0], slow[slow_count, 1], slow[slow_count, 2] = k, start, end
                    slow_count += uint64(1)
                ordered &= index >= last
                last = index + uint64(1)
                indices[k] = index
                values[k] = value
                k += uint64(1)
                at = end
            elif c == 35:
                while text[at] != 10:
                    at += uint64(1)
                break
            elif c == 113 and text[at + uint64(1)] == 105 and text[at + uint64(2)] == 100:  # qid
                while not _ENDS[text[at]]:
                    at += uint64(1)
                use_shapes = shapes_work()
            else:
                status = BIG_INDEX if text[end] == 58 and end > at else (NO_COLON if end > at else BAD_INDEX)
                break
        if status != OK:
            break
        row += uint64(1)
        if not ordered:
            if slow_count and slow[slow_count - uint64(1), 0] >= np.int64(begin):
                # Sorting would move the slow numbers: mark the row, to be sorted after Python has converted them.
                slow[slow_count, 0], slow[slow_count, 1], slow[slow_count, 2] = np.int64(row) - 1, -1, -1
                slow_count += uint64(1)
                for j in range(begin, k):
                    highest = max(highest, uint64(indices[j]))
            else:
                k = tidy_row(indices, values, begin, k)
        if k > begin:
            highest = max(highest, uint64(indices[k - uint64(1)]))
        indptr[row] = k
    report[ROWS], report[ENTRIES], report[LINES], report[HIGHEST] = row, k, lines, highest
    report[SLOW_COUNT], report[STATUS], report[PLACE] = slow_count, status, at
