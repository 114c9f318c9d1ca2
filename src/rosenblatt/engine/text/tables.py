"""Loops for tables: find the end of a record, number labels, standardize columns."""

import math

import numpy as np
from numba import uint64

from rosenblatt.engine.jit import compiled
from rosenblatt.engine.text.columns import mix


@compiled(error_model="numpy")
def last_record(text, size, delimiter):
    """The end of the last complete record: after a newline outside quotes. 0 if there is none."""
    end, at, size = uint64(0), uint64(0), uint64(size)
    field_begins = True
    while at < size:
        byte = text[at]
        at += uint64(1)
        if byte == 34 and field_begins:
            while True:
                while at < size and text[at] != 34:
                    at += uint64(1)
                if at + uint64(1) >= size:
                    return np.int64(end)
                at += uint64(1)
                if text[at] != 34:
                    break
                at += uint64(1)
            field_begins = False
        elif byte == 10:
            end = at
            field_begins = True
        else:
            field_begins = byte == delimiter
    return np.int64(end)


@compiled(error_model="numpy")
def label_codes(values, known, count, slots, codes, begin):
    """Number labels in order of arrival, from row `begin` on; NaN gives -1. Return the number of rows done and of known labels.

    `slots` is a hash table of positions in `known`, plus one. When it is half full the caller must enlarge it.
    """
    mask = uint64(slots.size - 1)
    last, last_code = np.nan, -1
    for i in range(uint64(begin), uint64(values.size)):
        value = values[i]
        if value == last:
            codes[i] = last_code
            continue
        if np.isnan(value):
            codes[i] = -1
            continue
        value += 0.0  # -0.0 is 0.0
        slot = mix(uint64(np.float64(value).view(np.int64))) & mask
        while slots[slot] != 0 and known[uint64(slots[slot] - 1)] != value:
            slot = (slot + uint64(1)) & mask
        if slots[slot] == 0:
            if 2 * (count + 1) > slots.size:
                return np.int64(i), count
            known[uint64(count)] = value
            count += 1
            slots[slot] = count
        last, last_code = value, slots[slot] - 1
        codes[i] = last_code
    return np.int64(values.size), count


@compiled(error_model="numpy")
def standardize(values, count, mean, spread, learn):
    """Update the moments of the columns with each row, then scale the row to mean 0 and deviation 1; NaN stays NaN."""
    for i in range(uint64(values.shape[0])):
        for j in range(uint64(values.shape[1])):
            value = values[i, j]
            if np.isnan(value):
                continue
            if learn:
                count[j] += 1.0
                step = value - mean[j]
                mean[j] += step / count[j]
                spread[j] += step * (value - mean[j])
            deviation = math.sqrt(spread[j] / max(1.0, count[j]))
            values[i, j] = (value - mean[j]) / deviation if deviation > 0.0 else 0.0
