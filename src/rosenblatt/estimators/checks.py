"""Restore an estimator when fitting fails."""

import contextlib
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def as_before_on_failure(estimator: Any) -> Iterator[None]:
    """Restore all attributes after an exception, so that an estimator is never partly fitted."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
