"""Hashing of column numbers, and sorting of sparse rows by column."""

import numpy as np
from numba import njit, uint64

from rosenblatt.engine.jit import NOGIL, VERB


@njit(**VERB)
def mix(key):
    """Spread the bits of a 64-bit key over all of it (the finaliser of MurmurHash3)."""
    key ^= key >> uint64(33)
    key *= uint64(0xFF51AFD7ED558CCD)
    key ^= key >> uint64(33)
    key *= uint64(0xC4CEB9FE1A85EC53)
    return key ^ (key >> uint64(33))


@njit(**NOGIL, error_model="numpy")
def _sort(indices, values):
    """Radix sort by column, from the lowest byte to the highest, so that equal columns keep their order."""
    old, old_values, starts = np.empty_like(indices), np.empty_like(values), np.empty(257, np.uint64)
    count, highest, shift = uint64(indices.size), uint64(0), uint64(0)
    for k in range(count):  # loops: `max` and slice assignments would bring Numba's runtime into the library
        highest = max(highest, uint64(indices[k]))
    while highest >> shift:
        for byte in range(uint64(257)):
            starts[byte] = uint64(0)
        for k in range(count):
            old[k], old_values[k] = indices[k], values[k]
            starts[(uint64(old[k]) >> shift & uint64(255)) + uint64(1)] += uint64(1)
        for byte in range(uint64(256)):
            starts[byte + uint64(1)] += starts[byte]
        for k in range(count):
            byte = uint64(old[k]) >> shift & uint64(255)
            indices[starts[byte]], values[starts[byte]] = old[k], old_values[k]
            starts[byte] += uint64(1)
        shift += uint64(8)


@njit(**NOGIL, error_model="numpy")
def tidy_row(indices, values, begin, end):
    """Sort the entries begin…end of a row by column and sum duplicates; return the new end."""
    if end - begin <= uint64(48):
        for k in range(begin + uint64(1), end):
            index, value = indices[k], values[k]
            place = k
            while place > begin and indices[place - uint64(1)] > index:
                indices[place], values[place] = indices[place - uint64(1)], values[place - uint64(1)]
                place -= uint64(1)
            indices[place], values[place] = index, value
    else:
        _sort(indices[begin:end], values[begin:end])
    last = begin
    for k in range(begin + uint64(1), end):
        if indices[k] == indices[last]:
            values[last] += values[k]
        else:
            last += uint64(1)
            indices[last], values[last] = indices[k], values[k]
    return last + uint64(1)
