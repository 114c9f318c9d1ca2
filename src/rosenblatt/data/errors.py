"""The error for files that cannot be read."""


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
