"""A line on the terminal while Numba compiles functions of the package for more than a second."""

import functools
import sys
import threading
from typing import Any

from numba.core import event

from .cache import is_kept

PATIENCE = 1.0


class _Announcer(event.Listener):
    """Print one line in a process when compiling has taken a second; functions called by others are compiled inside of them."""

    def __init__(self) -> None:
        self.depth = 0
        self.timer: threading.Timer | None = None
        self.said = False

    def on_start(self, started: Any) -> None:
        """Wait for a second."""
        if not _is_ours(started):
            return
        self.depth += 1
        if self.timer is None and not self.said:
            self.timer = threading.Timer(PATIENCE, self.say)
            self.timer.daemon = True
            self.timer.start()

    def on_end(self, ended: Any) -> None:
        """Stop waiting when the outermost function is done."""
        if not _is_ours(ended):
            return
        self.depth -= 1
        if self.timer is not None and self.depth == 0:
            self.timer.cancel()
            self.timer = None

    def say(self) -> None:
        """Print the line."""
        self.said = True
        if sys.stderr is not None and sys.stderr.isatty():
            print(f"rosenblatt: compiling{', once; later runs use the result' if is_kept() else ''} …", file=sys.stderr)


def _is_ours(compiling: Any) -> bool:
    """Whether an event is about a function of this package, not about one of the user's own programs."""
    function = compiling.data["dispatcher"].py_func
    return str(getattr(function, "__module__", "")).startswith("rosenblatt")


@functools.cache
def announce() -> None:
    """Watch the compilations of this process."""
    event.register("numba:compile", _Announcer())
