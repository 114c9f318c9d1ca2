"""A request to end training early: the loops over epochs look for it, and what they have learned by then is kept."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_asked: ContextVar[Callable[[], bool]] = ContextVar("asked", default=lambda: False)


@contextmanager
def stopping_when(asked: Callable[[], bool]) -> Iterator[None]:
    """Inside, `fit` ends after the epoch or block at hand once `asked()` is true."""
    token = _asked.set(asked)
    try:
        yield
    finally:
        _asked.reset(token)


def asked_to_stop() -> bool:
    """Whether training should end now."""
    return _asked.get()()
