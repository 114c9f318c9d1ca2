"""Sums over all features for mixing models, in one pass instead of several NumPy passes."""

import numpy as np
from numba import uint64

from rosenblatt.engine.jit import compiled


@compiled(error_model="numpy")
def add_difference(total, share, now, base):
    """``total += share * (now - base)``."""
    for j in range(uint64(total.size)):
        total[j] += share * (np.float64(now[j]) - np.float64(base[j]))


@compiled(error_model="numpy")
def collect(total, share, now, base, average, age, lag):
    """Add a difference to the total and to the average, then reset the weights to the base.

    Blocks of 256 features without a change are skipped. `average` is empty for a model that does not average.
    """
    size, averaging = uint64(now.size), average.size > 0
    for start in range(uint64(0), size, uint64(256)):
        stop = min(start + uint64(256), size)
        changed = False
        for j in range(start, stop):
            changed |= now[j] != base[j]
        if averaging:
            for j in range(start, stop):
                changed |= lag[j] != 0.0
        if not changed:
            continue
        if averaging:
            for j in range(start, stop):
                average[j] += age * (np.float64(now[j]) - np.float64(base[j])) - lag[j]
                lag[j] = 0.0
        for j in range(start, stop):
            total[j] += share * (np.float64(now[j]) - np.float64(base[j]))
            now[j] = base[j]


@compiled(error_model="numpy")
def add_packed(total, indices, values):
    """Add sparse values to a dense total."""
    for k in range(uint64(indices.size)):
        total[uint64(indices[k])] += values[k]
