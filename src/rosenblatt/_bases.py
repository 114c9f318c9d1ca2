"""The base classes of the estimators: scikit-learn's, or stand-ins for a process that hands no estimator to it.

Importing scikit-learn takes longer than training on a small file. The command line needs only the parameters of a learner, their
checks and its rule, so it says `without_sklearn()` before it loads one.
"""

import dataclasses
import sys
from typing import Any

__all__ = ["bases", "with_sklearn", "without_sklearn"]

_wanted = True


def without_sklearn() -> None:
    """Give learners that are loaded from now on stand-ins, unless scikit-learn is there already."""
    global _wanted  # noqa: PLW0603 - it belongs to the process, as the loaded modules do
    _wanted = False


def with_sklearn() -> None:
    """Take `without_sklearn` back: for a command that fits estimators. Must come before a learner is loaded."""
    global _wanted  # noqa: PLW0603
    _wanted = True


def bases() -> tuple[type, type]:
    """The mixin and the base class of every estimator."""
    if not _wanted and "sklearn.base" not in sys.modules:
        return _PlainMixin, _PlainEstimator
    from sklearn.base import BaseEstimator, ClassifierMixin

    return ClassifierMixin, BaseEstimator


class _PlainMixin:
    """Stands for `sklearn.base.ClassifierMixin`."""


class _PlainEstimator:
    """Stands for `sklearn.base.BaseEstimator`: knows its parameters, and nothing of fitting."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}  # type: ignore[arg-type]
