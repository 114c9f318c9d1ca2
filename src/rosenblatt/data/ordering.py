"""Kernels that put sparse rows in order, and labels in order of arrival."""

import math
from typing import Any

import numpy as np
from numba import njit, uint64

NOGIL = {"nogil": True, "error_model": "numpy"}


@njit(nogil=True, forceinline=True)
def mix(key: Any) -> Any:
    """Spread the bits of a 64-bit key over all of it (the finaliser of MurmurHash3)."""
    key ^= key >> uint64(33)
    key *= uint64(0xFF51AFD7ED558CCD)
    key ^= key >> uint64(33)
    key *= uint64(0xC4CEB9FE1A85EC53)
    return key ^ (key >> uint64(33))


@njit(**NOGIL)
def _sort(indices: Any, values: Any) -> None:
    """Sort by column, byte after byte from the lowest; each pass keeps the order of equals, and all take the same time."""
    old, old_values, starts = np.empty_like(indices), np.empty_like(values), np.empty(257, np.uint64)
    count, highest, shift = uint64(indices.size), uint64(indices.max()), uint64(0)
    while highest >> shift:
        old[:], old_values[:], starts[:] = indices, values, 0
        for k in range(count):
            starts[(uint64(old[k]) >> shift & uint64(255)) + uint64(1)] += uint64(1)
        for byte in range(uint64(256)):
            starts[byte + uint64(1)] += starts[byte]
        for k in range(count):
            byte = uint64(old[k]) >> shift & uint64(255)
            indices[starts[byte]], values[starts[byte]] = old[k], old_values[k]
            starts[byte] += uint64(1)
        shift += uint64(8)


@njit(**NOGIL)
def tidy_row(indices: Any, values: Any, begin: Any, end: Any) -> Any:
    """Sort the entries begin…end of a row by column and sum duplicates; gives the new end."""
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


@njit(**NOGIL)
def arrange(rows: Any, count: Any, order: Any, starts: Any) -> None:
    """A stable order of items by their row: row i has the items ``order[starts[i]:starts[i + 1]]``."""
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


@njit(**NOGIL)
def label_codes(values: Any, known: Any, count: Any, slots: Any, codes: Any, begin: Any) -> Any:
    """Number the labels from row `begin` on by their arrival; NaN is none. Gives the rows done and the labels known.

    `slots` is an open table of places in `known`, plus one. When it is half full the caller has to make it larger.
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


@njit(**NOGIL)
def standardize(values: Any, count: Any, mean: Any, spread: Any, learn: Any) -> None:
    """Take each row into the moments of its columns, then bring it to mean 0 and deviation 1; NaN stays as it is."""
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
