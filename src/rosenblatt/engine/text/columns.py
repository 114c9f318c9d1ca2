"""Hashing of column numbers, and sorting of sparse rows by column."""

import numpy as np
from numba import njit, uint64

from rosenblatt.engine.jit import LOOP, NOGIL, VERB

FAST = {"error_model": "numpy", "_nrt": False}
"""Without `_nrt` no references are counted, which can take nine tenths of the time; nothing may be allocated."""

QUICK = VERB | FAST


@njit(**VERB)
def mix(key):
    """Spread the bits of a 64-bit key over all of it (the finaliser of MurmurHash3)."""
    key ^= key >> uint64(33)
    key *= uint64(0xFF51AFD7ED558CCD)
    key ^= key >> uint64(33)
    key *= uint64(0xC4CEB9FE1A85EC53)
    return key ^ (key >> uint64(33))


SMALL = 48
"""Rows of at most this number of entries are sorted by insertion."""


@njit(**QUICK)
def sort_small(indices, values, begin, end):
    """Sort the entries begin…end by insertion; equal columns keep their order."""
    for k in range(begin + uint64(1), end):
        index, value = indices[k], values[k]
        place = k
        while place > begin and indices[place - uint64(1)] > index:
            indices[place], values[place] = indices[place - uint64(1)], values[place - uint64(1)]
            place -= uint64(1)
        indices[place], values[place] = index, value


@njit(**LOOP)
def sort_large(indices, values, begin, end, old, old_values, starts):
    """Radix sort of the entries begin…end, from the lowest byte to the highest, so that equal columns keep their order.

    `old` and `old_values` have room for the entries, `starts` for 257 numbers.
    """
    highest, shift = uint64(0), uint64(0)
    for k in range(begin, end):  # loops: `max` and slice assignments would bring Numba's runtime into the library
        highest = max(highest, uint64(indices[k]))
    count = end - begin
    while highest >> shift:
        for byte in range(uint64(257)):
            starts[byte] = 0
        for k in range(count):
            old[k], old_values[k] = indices[begin + k], values[begin + k]
            starts[(uint64(old[k]) >> shift & uint64(255)) + uint64(1)] += 1
        for byte in range(uint64(256)):
            starts[byte + uint64(1)] += starts[byte]
        for k in range(count):
            byte = uint64(old[k]) >> shift & uint64(255)
            place = begin + uint64(starts[byte])
            indices[place], values[place] = old[k], old_values[k]
            starts[byte] += 1
        shift += uint64(8)


@njit(**QUICK)
def sum_duplicates(indices, values, begin, end, to):
    """Move the sorted entries begin…end of a row to `to`, and sum duplicates; return the new end."""
    for k in range(begin, end):
        if k > begin and indices[k] == indices[to - uint64(1)]:
            values[to - uint64(1)] += values[k]
        else:
            indices[to], values[to] = indices[k], values[k]
            to += uint64(1)
    return to


@njit(**NOGIL, error_model="numpy")
def tidy_row(indices, values, begin, end):
    """Sort the entries begin…end of a row by column and sum duplicates; return the new end."""
    if end - begin <= uint64(SMALL):
        sort_small(indices, values, begin, end)
    else:
        count = end - begin
        old, old_values, starts = np.empty(count, np.int32), np.empty(count), np.empty(257, np.int64)
        sort_large(indices, values, begin, end, old, old_values, starts)
    return sum_duplicates(indices, values, begin, end, begin)
