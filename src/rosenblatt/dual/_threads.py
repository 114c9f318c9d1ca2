"""Compiled loops over rows on all cores; they release the GIL, so ordinary threads are enough.

Numba's `prange` is not used, because its default threading layer ends the process if two Python threads use it at once.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise

_SMALL = 200_000  # with fewer elements, starting threads takes more time than it saves


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    """One pool per process, because threads do not survive a fork."""
    return ThreadPoolExecutor(max_workers=_cores(), thread_name_prefix="rosenblatt-kernels")


def in_row_threads(part: Callable[[int, int], None], rows: int, work: int) -> None:
    """Call part(start, stop) for consecutive ranges that cover all rows, in parallel if there is enough work."""
    count = min(_cores(), rows)
    if count < 2 or work < _SMALL:
        part(0, rows)
        return
    cuts = [rows * k // count for k in range(count + 1)]
    others = [_pool(os.getpid()).submit(part, a, b) for a, b in pairwise(cuts[1:])]
    part(cuts[0], cuts[1])
    for other in others:
        other.result()
