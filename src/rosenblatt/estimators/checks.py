"""Checks that all estimators share, linear or not: parameters, and no half-fitted state."""

import contextlib
import numbers
from collections.abc import Iterator, Sequence
from typing import Any

__all__ = ["as_before_on_failure", "check_count", "check_tol", "check_word", "is_real"]


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


def is_real(value: Any) -> bool:
    """Whether a value is a number that is neither complex nor a truth value."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def check_word(estimator: Any, parameter: str, allowed: Sequence[Any]) -> None:
    """Refuse a parameter that is none of the allowed values."""
    value = getattr(estimator, parameter)
    if value not in allowed:
        raise ValueError(
            f"`{parameter}` of {type(estimator).__name__} must be one of {', '.join(map(repr, allowed))}; got {value!r}. "
            "See the parameter's description for what each of them does."
        )


def check_count(estimator: Any, parameter: str, hint: str) -> None:
    """Refuse a parameter that is no whole number of at least 1; the hint ends the message."""
    value: Any = getattr(estimator, parameter)
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or int(value) < 1:
        raise ValueError(
            f"`{parameter}` of {type(estimator).__name__} must be a whole number of at least 1; got {value!r}. {hint}"
        )


def check_tol(estimator: Any) -> None:
    """Refuse a `tol` that is neither None nor a number of at least 0."""
    tol = estimator.tol
    if tol is not None and (not is_real(tol) or not tol >= 0):
        raise ValueError(
            f"`tol` of {type(estimator).__name__} must be None or a number of at least 0; got {tol!r}. None trains until no "
            "mistake is left."
        )
