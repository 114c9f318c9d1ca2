"""A time limit, and reports of progress."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

Report = Callable[[int, int, float], None]

PAUSE = 0.1  # seconds between two reports


class Clock:
    """The time limit of a search.

    Parameters
    ----------
    max_seconds : float or None
        The time allowed; None: no limit.
    report : callable or None
        Called now and then with the number of steps, the number of rows in use, and the share of the time that has passed, which
        is 0 without a limit.
    """

    def __init__(self, max_seconds: float | None = None, report: Report | None = None) -> None:
        self._began = self._next = time.monotonic()
        self._end = math.inf if max_seconds is None else self._began + max_seconds
        self._report = report

    def over(self) -> bool:
        """Whether the time has passed."""
        return time.monotonic() >= self._end

    def note(self, steps: int, rows: int) -> None:
        """Report progress, if the last report was a while ago."""
        now = time.monotonic()
        if self._report is None or now < self._next:
            return
        self._next = now + PAUSE
        share = 0.0 if math.isinf(self._end) else (now - self._began) / max(1e-9, self._end - self._began)
        self._report(steps, rows, min(1.0, share))


FREE = Clock()
"""No limit and no reports."""
