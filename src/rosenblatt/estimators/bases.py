"""The base classes of all estimators: those of scikit-learn, or simple ones in a process that fits no estimator.

Importing scikit-learn takes longer than training on a small file. The command line needs only the parameters of a learner, their
checks and its rule, so it calls `without_sklearn` before it loads a learner.
"""

import dataclasses
import gc
import importlib
import sys
from typing import Any

_plain = False


def without_sklearn() -> None:
    """Use simple base classes for learners that are loaded later, unless scikit-learn is already loaded."""
    global _plain  # noqa: PLW0603 - one choice for the whole process
    _plain = True


def with_sklearn() -> None:
    """Undo `without_sklearn`, for a command that fits estimators. Call it before a learner is loaded."""
    importlib.import_module("sklearn.base")


def bases(kind: str = "Classifier") -> tuple[type, type]:
    """Return the mixin of a kind of estimators, "Classifier" or "Regressor", and the base class of all."""
    if _plain and "sklearn.base" not in sys.modules:
        return _PlainMixin, _PlainEstimator
    # Modules are permanent, so the garbage collector would scan many objects again and again and find nothing.
    running = gc.isenabled()
    gc.disable()
    try:
        import sklearn.base
    finally:
        if running:
            gc.enable()
    return getattr(sklearn.base, f"{kind}Mixin"), sklearn.base.BaseEstimator


class _PlainMixin:
    """Replacement of `sklearn.base.ClassifierMixin` and `sklearn.base.RegressorMixin`."""


class _PlainEstimator:
    """Replacement of `sklearn.base.BaseEstimator` with `get_params` only."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}  # type: ignore[arg-type]
