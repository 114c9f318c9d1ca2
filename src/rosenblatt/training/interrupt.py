"""Early end of training on request: the loops over epochs check for it and keep what was learned."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_asked: ContextVar[Callable[[], bool]] = ContextVar("asked", default=lambda: False)


@contextmanager
def stopping_when(asked: Callable[[], bool]) -> Iterator[None]:
    """Context in which `fit` ends after the current epoch or block when `asked()` is true."""
    token = _asked.set(asked)
    try:
        yield
    finally:
        _asked.reset(token)


def asked_to_stop() -> bool:
    """Whether to end training now."""
    return _asked.get()()
