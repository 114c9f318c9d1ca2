"""Training on a Dask cluster, for data that do not fit on one machine.

`train` takes any linear learner of the library, and the estimators here are those of `rosenblatt` with a `fit` that runs on a
cluster. Shards of the data stay on their workers; each runs one epoch from the common weights, then the weights are mixed
(McDonald, Hall and Mann 2010, Distributed Training Strategies for the Structured Perceptron).
"""

import importlib
from typing import TYPE_CHECKING, Any

from rosenblatt.learners import classes

if TYPE_CHECKING:
    from rosenblatt.dask._errors import ClusterError

    from ._cluster import connected
    from ._estimators import (
        ALMA,
        AROW,
        ROMMA,
        AveragedPerceptron,
        MarginPerceptron,
        ParallelPerceptron,
        PassiveAggressive,
        Perceptron,
        SecondOrderPerceptron,
        SoftConfidenceWeighted,
        Winnow,
    )
    from ._fit import train

__all__ = [
    "ALMA",
    "AROW",
    "ROMMA",
    "AveragedPerceptron",
    "ClusterError",
    "MarginPerceptron",
    "ParallelPerceptron",
    "PassiveAggressive",
    "Perceptron",
    "SecondOrderPerceptron",
    "SoftConfidenceWeighted",
    "Winnow",
    "connected",
    "train",
]

_HOME = {"ClusterError": "_cluster", "connected": "_cluster", "train": "_fit"}


def __getattr__(name: str) -> Any:
    """Load a public name on first use; raise an ImportError with installation advice if Dask is missing."""
    if name not in __all__ and name not in classes():
        raise AttributeError(f"module 'rosenblatt.dask' has no attribute {name!r}")
    from ._cluster import need_dask

    need_dask()
    value = getattr(importlib.import_module(f".{_HOME.get(name, '_estimators')}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
