"""No half-fitted estimators."""

import contextlib
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def as_before_on_failure(estimator: Any) -> Iterator[None]:
    """Put all attributes back if something goes wrong: an estimator is never half-fitted."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
