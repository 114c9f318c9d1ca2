"""What a process needs of scikit-learn: the estimators' base classes, or stand-ins for a process that fits no estimator.

Importing scikit-learn takes longer than training on a small file. The command line needs only the parameters of a learner, their
checks and its rule, so it says `without_sklearn()` before it loads one. It then does without two more imports that others make on
its behalf and that it has no use for: Arrow loads pandas to ask whether something is a frame, Numba loads SciPy's linear algebra
to ask whether compiled code could call it.
"""

import dataclasses
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

__all__ = ["bases", "with_sklearn", "without_sklearn"]


class _Refusal:
    """Refuses imports that are nothing but questions; stands first among the finders of modules."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: Any = None) -> None:
        """Python asks this before it looks for a module."""
        if name == "pandas" or (name == "scipy.linalg" and _asked_by("numba.np.linalg")):
            raise ModuleNotFoundError(f"{name} is not loaded by the command line", name=name)


def _asked_by(module: str) -> bool:
    """Whether the import now under way stands in that module."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = str(frame.f_globals.get("__name__"))
        if not name.startswith(("importlib", "rosenblatt.estimators.bases")):
            return name == module
        frame = frame.f_back
    return False


_refusal = _Refusal()


def without_sklearn() -> None:
    """Give learners that are loaded from now on stand-ins, unless scikit-learn is there already."""
    if _refusal not in sys.meta_path:
        sys.meta_path.insert(0, _refusal)


def with_sklearn() -> None:
    """Take `without_sklearn` back: for a command that fits estimators. Must come before a learner is loaded."""
    if _refusal in sys.meta_path:
        sys.meta_path.remove(_refusal)


def bases() -> tuple[type, type]:
    """The mixin and the base class of every estimator."""
    if _refusal in sys.meta_path and "sklearn.base" not in sys.modules:
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
