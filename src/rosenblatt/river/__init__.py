"""The learners of the library as classifiers of river, for its pipelines, ensembles and evaluation.

>>> from river import evaluate, metrics, preprocessing
>>> from rosenblatt.river import AROW
>>> model = preprocessing.StandardScaler() | AROW(r=1.0)

Each class has the name and the parameters of a learner in `rosenblatt`, without those that only `fit` uses.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._adapters import (
        ALMA,
        AROW,
        CW,
        NHERD,
        ROMMA,
        AveragedPerceptron,
        KernelPerceptron,
        MarginPerceptron,
        ParallelPerceptron,
        PassiveAggressive,
        Perceptron,
        SecondOrderPerceptron,
        SoftConfidenceWeighted,
        VotedPerceptron,
        Winnow,
        adapt,
    )

__all__ = [
    "ALMA",
    "AROW",
    "CW",
    "NHERD",
    "ROMMA",
    "AveragedPerceptron",
    "KernelPerceptron",
    "MarginPerceptron",
    "ParallelPerceptron",
    "PassiveAggressive",
    "Perceptron",
    "SecondOrderPerceptron",
    "SoftConfidenceWeighted",
    "VotedPerceptron",
    "Winnow",
    "adapt",
]


def __getattr__(name: str) -> Any:
    """Make a class on first use; raise an ImportError with installation advice if river is missing."""
    if name not in __all__:
        raise AttributeError(f"module 'rosenblatt.river' has no attribute {name!r}")
    try:
        adapters = importlib.import_module("._adapters", __name__)
    except ModuleNotFoundError as error:
        if error.name != "river":
            raise
        raise ImportError("rosenblatt.river needs the package river: pip install river") from error
    value = getattr(adapters, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
