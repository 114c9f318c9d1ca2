"""What went wrong, in a sentence on standard error, and the exit code: 1 failed, 2 wrong usage or bad data."""

import errno
import functools
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer

FAILED, MISUSED, INTERRUPTED = 1, 2, 130

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""A device that takes nothing more: no fault of whoever typed the command."""


class Failure(Exception):  # noqa: N818 - said to users, not raised at them
    """The work could not be done, through no fault of the input."""


class Usage(ValueError):  # noqa: N818
    """Something was asked for that makes no sense."""


def reported(command: Callable[..., None]) -> Callable[..., None]:
    """The same command, which says what went wrong and sets the exit code instead of raising."""

    @functools.wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        try:
            command(*arguments, **options)
        except BrokenPipeError:
            _let_go_of_output()  # whoever was reading has had enough
            raise typer.Exit(FAILED) from None
        except Failure as error:
            _say(str(error))
            raise typer.Exit(FAILED) from error
        except OSError as error:
            place = f"{error.filename}: " if error.filename else ""
            _say(f"{place}{error.strerror or error}")
            if error.errno not in FULL:
                raise typer.Exit(MISUSED) from error
            _let_go_of_output()
            raise typer.Exit(FAILED) from error
        except ValueError as error:
            _say(str(error))
            raise typer.Exit(MISUSED) from error
        except ImportError as error:
            _say(f"{error}. Install what is missing with `pip install rosenblatt[all]`.")
            raise typer.Exit(FAILED) from error
        except MemoryError:
            _say("There is not enough memory for this model. Use fewer features, for instance with --bits 18.")
            raise typer.Exit(FAILED) from None
        except KeyboardInterrupt as error:
            _say(str(error) or "interrupted")
            raise typer.Exit(INTERRUPTED) from None

    return run


def _let_go_of_output() -> None:
    """Drop what could not be written to standard output; else Python would complain once more when it closes it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def writing(path: object) -> Iterator[None]:
    """What the system refuses inside is a failure to write `path`."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Failure(
            f"{path} could not be written: {error.strerror or error}. What was there before is unchanged."
        ) from error


def _say(message: str) -> None:
    typer.echo(f"rosenblatt: {message}", err=True)


def warn(message: str) -> None:
    """Something the user should know, on standard error."""
    _say(f"warning: {message}")
