"""The error for files that cannot be read, and the advice for a name that is not known."""

import difflib
from collections.abc import Iterable, Sequence
from typing import Any


class BadData(ValueError):  # noqa: N818
    """A file, or a line of it, that cannot be read.

    Parameters
    ----------
    message : str
        What is wrong, what is allowed, what was found and what to do.
    path : str or None, default=None
        The name of the file as given.
    line : int or None, default=None
        The line of the file, counted from 1.
    """

    def __init__(self, message: str, path: str | None = None, line: int | None = None) -> None:
        self.message = message
        self.path = path
        self.line = line
        place = ", ".join([*([path] if path else []), *([f"line {line}"] if line else [])])
        super().__init__(f"{place}: {message}" if place else message)

    def __reduce__(self) -> tuple[type, tuple[str, str | None, int | None]]:
        return BadData, (self.message, self.path, self.line)


def did_you_mean(name: Any, names: Iterable[str], otherwise: str = "Check the spelling.") -> str:
    """The advice for an unknown name: the most similar known one, if there is one."""
    by_lower = {one.lower(): one for one in names}
    similar = difflib.get_close_matches(str(name).lower(), list(by_lower), 1)
    return f"Did you mean {by_lower[similar[0]]!r}?" if similar else otherwise


def listed(names: Sequence[str]) -> str:
    """Names as text; of many the first ten and the last."""
    return ", ".join(names if len(names) <= 12 else [*names[:10], "…", names[-1]])
