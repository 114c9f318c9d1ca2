"""rosenblatt: the perceptron family of online linear learners, at the speed of the machine, with proofs attached."""

import importlib
from typing import TYPE_CHECKING, Any

from ._version import __version__ as __version__

if TYPE_CHECKING:
    from ._load import load
    from ._progressive import progressive
    from ._trace import Trace, trace
    from .data import read, stream
    from .learners.alma import ALMA
    from .learners.arow import AROW
    from .learners.averaged_perceptron import AveragedPerceptron
    from .learners.batch_perceptron import BatchPerceptron
    from .learners.kernel_perceptron import KernelPerceptron
    from .learners.margin_perceptron import MarginPerceptron
    from .learners.parallel_perceptron import ParallelPerceptron
    from .learners.passive_aggressive import PassiveAggressive
    from .learners.perceptron import Perceptron
    from .learners.pocket_perceptron import PocketPerceptron
    from .learners.romma import ROMMA
    from .learners.second_order_perceptron import SecondOrderPerceptron
    from .learners.soft_confidence_weighted import SoftConfidenceWeighted
    from .learners.voted_perceptron import VotedPerceptron
    from .learners.winnow import Winnow
    from .rules import rule
    from .serve.client import AsyncClient, Client
    from .theory import Certificate, certify, margin

__all__ = [
    "ALMA",
    "AROW",
    "ROMMA",
    "AsyncClient",
    "AveragedPerceptron",
    "BatchPerceptron",
    "Certificate",
    "Client",
    "KernelPerceptron",
    "MarginPerceptron",
    "ParallelPerceptron",
    "PassiveAggressive",
    "Perceptron",
    "PocketPerceptron",
    "SecondOrderPerceptron",
    "SoftConfidenceWeighted",
    "Trace",
    "VotedPerceptron",
    "Winnow",
    "certify",
    "load",
    "margin",
    "progressive",
    "read",
    "rule",
    "stream",
    "trace",
]

_HOME = {
    "ALMA": "learners.alma",
    "AROW": "learners.arow",
    "AsyncClient": "serve.client",
    "AveragedPerceptron": "learners.averaged_perceptron",
    "BatchPerceptron": "learners.batch_perceptron",
    "Certificate": "theory",
    "Client": "serve.client",
    "KernelPerceptron": "learners.kernel_perceptron",
    "MarginPerceptron": "learners.margin_perceptron",
    "ParallelPerceptron": "learners.parallel_perceptron",
    "PassiveAggressive": "learners.passive_aggressive",
    "Perceptron": "learners.perceptron",
    "PocketPerceptron": "learners.pocket_perceptron",
    "ROMMA": "learners.romma",
    "SecondOrderPerceptron": "learners.second_order_perceptron",
    "SoftConfidenceWeighted": "learners.soft_confidence_weighted",
    "Trace": "_trace",
    "VotedPerceptron": "learners.voted_perceptron",
    "Winnow": "learners.winnow",
    "certify": "theory",
    "load": "_load",
    "margin": "theory",
    "progressive": "_progressive",
    "read": "data",
    "rule": "rules",
    "stream": "data",
    "trace": "_trace",
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used, so that importing the package costs nothing."""
    if name not in _HOME:
        raise AttributeError(f"module 'rosenblatt' has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
