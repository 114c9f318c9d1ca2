"""Progress bar with rate and remaining time, shown on a terminal only."""

import sys
import time
from types import TracebackType
from typing import Any, Self


class Bar:
    """A progress bar over the bytes of the input.

    Parameters
    ----------
    title : str
        Title of the bar.
    quiet : bool, default=False
        Whether to show nothing even on a terminal.
    """

    def __init__(self, title: str, quiet: bool = False) -> None:
        self.title = title
        self._bar: Any = None
        self._task: Any = None
        self._shown = not quiet and sys.stderr.isatty()
        self._next = time.monotonic() + 0.3  # short tasks show no bar

    def __enter__(self) -> Self:
        return self

    def update(self, done: float, total: float | None, note: str = "") -> None:
        """Show the progress: `done` of `total`."""
        if not self._shown or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + 0.1
        if self._bar is None:
            self._start()
        self._bar.update(self._task, completed=done, total=total, note=note, description=self.title)

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )

        self._bar = Progress(
            TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"), console=Console(stderr=True), transient=True,
        )  # fmt: skip
        self._task = self._bar.add_task(self.title, total=None, note="")
        self._bar.start()

    def clear(self) -> None:
        """Hide the bar, so that lines can be printed; the next update shows it again."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()
