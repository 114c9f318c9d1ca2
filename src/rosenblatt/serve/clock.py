"""The time of events: that of the computer, except while its clock is wrong for a moment."""

import time
from collections.abc import Callable

TRUST = 60.0
"""Seconds for which the clock must show a changed time before it is believed."""

DRIFT = 1.0
"""Seconds by which the clock may differ, because it is adjusted all the time."""


class Clock:
    """A clock that ignores jumps which do not last.

    Parameters
    ----------
    wall, steady : callable
        Return the time of the computer, and a time that cannot be changed.
    """

    def __init__(self, wall: Callable[[], float] = time.time, steady: Callable[[], float] = time.monotonic) -> None:
        self._wall, self._steady = wall, steady
        self._since = steady()
        self._offset = wall() - self._since
        self._other: tuple[float, float] | None = None  # another offset, and since when
        self._doubted = False

    def __call__(self) -> float:
        """Return the time in seconds since 1970."""
        steady = self._steady()
        offset = self._wall() - steady
        if abs(offset - self._offset) <= DRIFT:
            self._offset, self._other = offset, None
            self._doubted = self._doubted and steady - self._since < TRUST
        elif self._doubted and offset < self._offset:
            self._offset, self._other = offset, None
        elif self._other is None or abs(offset - self._other[0]) > DRIFT:
            self._other = offset, steady
        elif steady - self._other[1] >= TRUST:
            self._offset, self._other = offset, None
        return steady + self._offset

    def compare(self, last: float) -> None:
        """Doubt the time if it is much later than the last event of the log, until it has been shown for a minute."""
        self._doubted = self() - last > TRUST and self._steady() - self._since < TRUST

    @property
    def doubted(self) -> bool:
        """Whether the time may be wrong; then an earlier one is believed at once."""
        if self._doubted:
            self()
        return self._doubted
