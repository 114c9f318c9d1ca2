"""Multiclass schemes: division of a step among K weight vectors.

For one example, `share` writes the classes to update and their amounts per unit step: +1 for the true class, negative amounts
for its rivals according to the scheme. It returns the number of these classes; the true class comes first, the top rival second.
"""

from typing import Any

from numba import njit, uint64

from .conventions import ALL, MAX, PROPORTIONAL, UNIFORM
from .jit import NOGIL


@njit(**NOGIL)
def share(scheme: Any, scores: Any, true: Any, rival: Any, columns: Any, amounts: Any) -> Any:
    """Classes to update and amounts for a step of 1: +1 for the true class, -1 in total for its rivals (`all`: -1 each)."""
    columns[0], amounts[0] = true, 1.0
    columns[1], amounts[1] = rival, -1.0
    if scheme == MAX:
        return 2
    count = 2
    excess = scores[rival] - scores[true]
    total = max(excess, 0.0)
    for k in range(uint64(scores.size)):
        if k not in (true, rival) and (scheme == ALL or scores[k] >= scores[true]):
            columns[count], amounts[count] = k, -1.0
            total += scores[k] - scores[true]
            count += 1
    if scheme == UNIFORM or (scheme == PROPORTIONAL and not total > 0.0):
        for c in range(1, count):
            amounts[c] = -1.0 / (count - 1)
    elif scheme == PROPORTIONAL:
        for c in range(1, count):
            amounts[c] = -(scores[columns[c]] - scores[true]) / total
    return count
