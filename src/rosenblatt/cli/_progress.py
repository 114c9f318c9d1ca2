"""A line on standard error that counts the steps of a search, on a terminal only."""

import sys
import time
from types import TracebackType
from typing import Self


class Counter:
    """Shows how many steps a search has taken.

    Parameters
    ----------
    title : str
        What is done.
    """

    def __init__(self, title: str) -> None:
        self.title = title
        self._began = time.monotonic()
        self._width = 0

    def show(self, steps: int, rows: int, share: float) -> None:
        """Show the state of the search; `share` of its time has passed."""
        seconds = time.monotonic() - self._began
        if seconds < 0.5 or not sys.stderr.isatty():
            return
        line = f"{self.title}: {seconds:.0f} s, {steps:,} steps, {rows:,} examples in use" + (
            f", {share:.0%} of the time" if share else ""
        )
        print(f"\r{line:<{self._width}}", end="", file=sys.stderr, flush=True)
        self._width = len(line)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._width:
            print(f"\r{'':<{self._width}}\r", end="", file=sys.stderr, flush=True)
