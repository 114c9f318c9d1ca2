"""Scores of rows in several threads; the order of the classes; classes, margins and mistakes from scores. The same for all."""

import math
import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]


_MINUS = str.maketrans("\u2212\u2013", "--")  # the minus sign and the dash that word processors write for it
_SIGNS = {"-": -1, "-1": -1, "-1.0": -1, "0": 0, "0.0": 0, "1": 1, "1.0": 1, "+": 1, "+1": 1, "+1.0": 1}


def sign_of(label: Any) -> int | None:
    """-1, 0 or 1 for a text that is a sign, such as "-", "−1" or "+1"; None for other labels."""
    return _SIGNS.get(label.strip().translate(_MINUS)) if isinstance(label, str) else None


def is_label(label: Any, other: Any) -> bool:
    """Whether two labels are the same, as values or as text: on the command line every label is a text."""
    return bool(label == other) or str(label) == str(other)


def positive_first(classes: Sequence[Any] | NDArray[Any], positive: Any = None, owner: str = "") -> bool:
    """Whether the first of two sorted classes is the positive one, so that the two must be exchanged.

    The second class is +1 in every rule. `positive` names it; without it the second in sorted order is taken, except for signs
    written as text, which are not sorted by value ("+" comes before "-"). `owner` is the learner or function in the message of an
    error.
    """
    if positive is None:
        signs = [sign_of(label) for label in classes] if len(classes) == 2 else [None, None]
        return signs[0] is not None and signs[1] is not None and signs[0] > signs[1]
    name = f"`positive` of {owner}" if owner else "`positive`"
    if len(classes) != 2:
        raise ValueError(
            f"{name} must be None unless there are two classes; got {positive!r} with {len(classes)} different labels. Leave "
            "it out."
        )
    for place, label in enumerate(classes):
        if is_label(label, positive):
            return place == 0
    names = " or ".join(repr(label.item() if isinstance(label, np.generic) else label) for label in classes)
    raise ValueError(f"{name} must be one of the two classes, {names}; got {positive!r}. Check the spelling.")


def ordered(classes: Sequence[Any], positive: Any = None, owner: str = "") -> list[Any]:
    """Distinct labels in the order of their numbers: sorted, but of two classes the positive one last."""
    names = sorted(classes)
    return names[::-1] if positive_first(names, positive, owner) else names


def predicted_classes(scores: NDArray[Any], classes: int = 2) -> Codes:
    """Class numbers for scores of shape (rows, weight vectors).

    One weight vector: class 1 if the score is at least 0, else class 0. Several: the class with the highest score, the first in
    a tie. With a single class, that class is predicted.
    """
    if classes < 2:
        return np.zeros(len(scores), np.int64)
    if scores.shape[1] == 1:
        return (scores[:, 0] >= 0).astype(np.int64)
    return np.asarray(scores.argmax(axis=1), np.int64)


def predicted_class(scores: Floats) -> int:
    """The class number for the scores of one example; the same as `predicted_classes`, without its overhead."""
    return int(scores[0] >= 0) if scores.size == 1 else int(np.argmax(scores))


def margins(scores: Floats, y: Codes) -> Floats:
    """y·s for one weight vector; the lead of the true class over its best rival for many."""
    if scores.shape[1] == 1:
        signed: Floats = np.where(y == 1, scores[:, 0], -scores[:, 0])
        return signed
    true = scores[np.arange(len(y)), y]
    others = scores.copy()
    others[np.arange(len(y)), y] = -math.inf
    with np.errstate(over="ignore"):  # the difference of finite scores may overflow
        lead: Floats = true - others.max(axis=1)
    return lead


def wrong(scores: Floats, y: Codes, on_zero: str) -> NDArray[np.bool_]:
    """Which scores are mistakes; `on_zero` decides ties."""
    lead = margins(scores, y)
    if on_zero == "update":
        return lead <= 0.0
    mistakes: NDArray[np.bool_] = lead < 0.0
    if on_zero == "positive":
        mistakes |= (lead == 0.0) & (predicted_classes(scores) != y)
    return mistakes


# ---- threads ----

# Compiled code and BLAS release the GIL, so ordinary threads are enough. Numba's `prange` is not used, because its default
# threading layer ends the process if two Python threads use it at once.

_SMALL = 200_000  # with fewer elements, starting threads takes more time than it saves: about 0.2 ms
_PIECES = 4  # for each thread, so that one with long rows or on a busy core takes fewer


def cores() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    """One pool per process, because threads do not survive a fork."""
    return ThreadPoolExecutor(max_workers=cores(), thread_name_prefix="rosenblatt-rows")


def in_row_threads(part: Callable[[int, int], None], rows: int, work: int, jobs: int | None = None) -> None:
    """Call part(start, stop) for consecutive ranges that together cover all rows.

    Parameters
    ----------
    part : callable
        Computes a range of rows. No row may depend on another, so that the ranges do not change the result.
    rows : int
        Number of rows.
    work : int
        Number of elements to compute, each of which takes some nanoseconds. With few of them there is one range.
    jobs : int or None, default=None
        Largest number of threads, this one among them; None: one for each core.
    """
    count = min(cores() if jobs is None else jobs, rows)
    if count < 2 or work < _SMALL:
        part(0, rows)
        return
    pieces = min(_PIECES * count, rows)
    waiting = deque(pairwise(rows * k // pieces for k in range(pieces + 1)))

    def run() -> None:
        while (piece := _taken(waiting)) is not None:
            part(*piece)

    others = [_pool(os.getpid()).submit(run) for _ in range(count - 1)]
    try:
        run()
    finally:  # after an error or an interrupt the other threads end with their present range
        waiting.clear()
    for other in others:
        if not other.cancel():  # one that has not begun finds nothing left to do
            other.result()


def _taken(waiting: deque[tuple[int, int]]) -> tuple[int, int] | None:
    try:
        return waiting.popleft()
    except IndexError:
        return None
