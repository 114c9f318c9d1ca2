"""Error messages on standard error, and exit codes: 1 for a failure, 2 for wrong usage or bad data."""

import errno
import functools
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

FAILED, MISUSED, INTERRUPTED = 1, 2, 130

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Errors of a full or broken device. They are failures, not wrong usage."""


class Failure(Exception):  # noqa: N818 - users see the message only
    """A failure that the input did not cause."""


class Usage(ValueError):  # noqa: N818
    """Options or arguments that are not allowed."""


def reported(command: Callable[..., None]) -> Callable[..., None]:
    """Wrap a command: it prints errors and sets the exit code instead of raising."""

    @functools.wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        try:
            command(*arguments, **options)
        except BrokenPipeError:
            _discard(sys.stdout)  # the reader of a pipe, such as `head`, has all that it wants
        except Failure as error:
            _say(str(error))
            raise click.exceptions.Exit(FAILED) from error
        except OSError as error:
            place = f"{error.filename}: " if error.filename else ""
            _say(f"{place}{error.strerror or error}")
            if error.errno not in FULL:
                raise click.exceptions.Exit(MISUSED) from error
            _discard(sys.stdout)
            raise click.exceptions.Exit(FAILED) from error
        except ValueError as error:
            _say(str(error))
            raise click.exceptions.Exit(MISUSED) from error
        except ModuleNotFoundError as error:
            _say(f"{error}. Install the missing packages with `pip install rosenblatt[all]`.")
            raise click.exceptions.Exit(FAILED) from error
        except ImportError as error:
            _say(str(error))
            raise click.exceptions.Exit(FAILED) from error
        except MemoryError:
            _say("There is not enough memory for this model. Use fewer features, for instance with --bits 18.")
            raise click.exceptions.Exit(FAILED) from None
        except KeyboardInterrupt as error:
            _say(str(error) or "interrupted")
            raise click.exceptions.Exit(INTERRUPTED) from None

    return run


def _discard(stream: Any) -> None:
    """Discard the rest of a stream; otherwise Python reports the same error again when it closes the file."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class _Unread:
    """A stream of text that is dropped as soon as the other end of its pipe is closed."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write the text, or drop it."""
        try:
            return int(self._stream.write(text))
        except BrokenPipeError:
            _discard(self._stream)
            return len(text)

    def flush(self) -> None:
        """Write what is left, or drop it."""
        try:
            self._stream.flush()
        except BrokenPipeError:
            _discard(self._stream)


def go_on_unread(*names: str) -> None:
    """Drop the output to "stdout" or "stderr" once the pipe is closed, for commands whose result is a file."""
    for name in names:
        setattr(sys, name, _Unread(getattr(sys, name)))


@contextmanager
def writing(path: object) -> Iterator[None]:
    """Report system errors inside this context as a failure to write `path`."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Failure(
            f"{path} could not be written: {error.strerror or error}. An existing file was not changed."
        ) from error


def _say(message: str) -> None:
    click.echo(f"rosenblatt: {message}", err=True)


def warn(message: object, *_: object) -> None:
    """Print a warning on standard error. It takes the place of `warnings.showwarning`, whose lines name a place in the code."""
    _say(f"warning: {message}")
