"""Weights stored as logarithms: multiplicative rules such as Winnow add to logarithms, and a link computes the weights."""

import math
from typing import Any

import numpy as np
from numba import njit, uint64

from .jit import NOGIL, verb
from .rows import is_dense, unsigned

IDENTITY, EXP, BALANCED = 0, 1, 2
"""Links: the weights are the sums of steps, their exponentials, or the difference of a balanced pair of exponentials."""


@njit(**NOGIL)
def linked(v: Any, link: Any, shift: Any) -> Any:
    """The weight of a logarithm v: exp(v), or exp(v) - exp(-v) for a balanced pair, scaled by exp(-shift)."""
    if link == EXP:
        return math.exp(v - shift)
    return math.exp(v - shift) - math.exp(-v - shift)


@verb(**NOGIL)
def refresh(w: Any, v: Any, x: Any, link: Any, shift: Any) -> Any:
    """w[j] = link(v[j]) for the features j of x; return the largest."""

    def dense(w: Any, v: Any, x: Any, link: Any, shift: Any) -> Any:
        (values,) = x
        top = 0.0
        for j in range(uint64(values.size)):
            if values[j] != 0:
                w[j] = linked(v[j], link, shift)
                top = max(top, abs(np.float64(w[j])))
        return top

    def sparse(w: Any, v: Any, x: Any, link: Any, shift: Any) -> Any:
        indices, _ = x
        top = 0.0
        for k in range(uint64(indices.size)):
            j = unsigned(indices[k])
            w[j] = linked(v[j], link, shift)
            top = max(top, abs(np.float64(w[j])))
        return top

    return dense if is_dense(x) else sparse


@verb(**NOGIL)
def refresh_columns(W: Any, V: Any, columns: Any, count: Any, x: Any, link: Any, shift: Any) -> Any:
    """W[j, k] = link(V[j, k]) for the features j of x and the first `count` columns k; return the largest."""

    def dense(W: Any, V: Any, columns: Any, count: Any, x: Any, link: Any, shift: Any) -> Any:
        (values,) = x
        top = 0.0
        for j in range(uint64(values.size)):
            if values[j] != 0:
                for c in range(uint64(count)):
                    k = uint64(columns[c])
                    W[j, k] = linked(V[j, k], link, shift)
                    top = max(top, abs(np.float64(W[j, k])))
        return top

    def sparse(W: Any, V: Any, columns: Any, count: Any, x: Any, link: Any, shift: Any) -> Any:
        indices, _ = x
        top = 0.0
        for i in range(uint64(indices.size)):
            j = unsigned(indices[i])
            for c in range(uint64(count)):
                k = uint64(columns[c])
                W[j, k] = linked(V[j, k], link, shift)
                top = max(top, abs(np.float64(W[j, k])))
        return top

    return dense if is_dense(x) else sparse
