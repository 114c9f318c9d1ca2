"""The base classes of every estimator: scikit-learn's, or plain ones in a process that fits no estimator.

Importing scikit-learn takes longer than training on a small file. The command line needs only the parameters of a learner, their
checks and its rule, so it calls `without_sklearn` before it loads one.
"""

import dataclasses
import importlib
import sys
from typing import Any

_plain = False


def without_sklearn() -> None:
    """Give the learners that are loaded from now on plain base classes, unless scikit-learn is loaded already."""
    global _plain  # noqa: PLW0603 - one choice for the whole process
    _plain = True


def with_sklearn() -> None:
    """Undo `without_sklearn`, for a command that fits estimators. Must come before a learner is loaded."""
    importlib.import_module("sklearn.base")


def bases() -> tuple[type, type]:
    """The mixin and the base class of every estimator."""
    if _plain and "sklearn.base" not in sys.modules:
        return _PlainMixin, _PlainEstimator
    from sklearn.base import BaseEstimator, ClassifierMixin

    return ClassifierMixin, BaseEstimator


class _PlainMixin:
    """Stands for `sklearn.base.ClassifierMixin`."""


class _PlainEstimator:
    """Stands for `sklearn.base.BaseEstimator`: the parameters by name, and nothing about fitting."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}  # type: ignore[arg-type]
