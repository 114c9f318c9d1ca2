"""The learners of the library as classifiers and regressors of river, for its pipelines, ensembles and evaluation.

>>> from rosenblatt.river import AROW, StandardScaler
>>> model = StandardScaler() | AROW(r=1.0)

Each learner has the name and the parameters of a learner in `rosenblatt`, without those that only `fit` uses.
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
        AROWRegressor,
        AveragedPerceptron,
        KernelPerceptron,
        MarginPerceptron,
        ParallelPerceptron,
        PassiveAggressive,
        PassiveAggressiveRegressor,
        Perceptron,
        SecondOrderPerceptron,
        SoftConfidenceWeighted,
        VotedPerceptron,
        Winnow,
        adapt,
    )
    from ._scaler import StandardScaler

__all__ = [
    "ALMA",
    "AROW",
    "CW",
    "NHERD",
    "ROMMA",
    "AROWRegressor",
    "AveragedPerceptron",
    "KernelPerceptron",
    "MarginPerceptron",
    "ParallelPerceptron",
    "PassiveAggressive",
    "PassiveAggressiveRegressor",
    "Perceptron",
    "SecondOrderPerceptron",
    "SoftConfidenceWeighted",
    "StandardScaler",
    "VotedPerceptron",
    "Winnow",
    "adapt",
]


def __getattr__(name: str) -> Any:
    """Make a class on first use; raise an ImportError with installation advice if river is missing."""
    if name not in __all__:
        raise AttributeError(f"module 'rosenblatt.river' has no attribute {name!r}")
    try:
        found = importlib.import_module("._scaler" if name == "StandardScaler" else "._adapters", __name__)
    except ModuleNotFoundError as error:
        if error.name != "river":
            raise
        raise ImportError("rosenblatt.river needs the package river: pip install river") from error
    value = getattr(found, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
