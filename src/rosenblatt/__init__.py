"""rosenblatt: the perceptron family of online linear learners, at the speed of the machine, with proofs attached."""

import importlib
import sys
import types
from typing import TYPE_CHECKING, Any

from rosenblatt._version import __version__ as __version__

if TYPE_CHECKING:
    from rosenblatt.data import read, stream
    from rosenblatt.estimators.custom_rule import rule
    from rosenblatt.learners._load import load
    from rosenblatt.learners.alma import ALMA
    from rosenblatt.learners.arow import AROW
    from rosenblatt.learners.averaged_perceptron import AveragedPerceptron
    from rosenblatt.learners.batch_perceptron import BatchPerceptron
    from rosenblatt.learners.kernel_perceptron import KernelPerceptron
    from rosenblatt.learners.margin_perceptron import MarginPerceptron
    from rosenblatt.learners.parallel_perceptron import ParallelPerceptron
    from rosenblatt.learners.passive_aggressive import PassiveAggressive
    from rosenblatt.learners.perceptron import Perceptron
    from rosenblatt.learners.pocket_perceptron import PocketPerceptron
    from rosenblatt.learners.romma import ROMMA
    from rosenblatt.learners.second_order_perceptron import SecondOrderPerceptron
    from rosenblatt.learners.soft_confidence_weighted import SoftConfidenceWeighted
    from rosenblatt.learners.voted_perceptron import VotedPerceptron
    from rosenblatt.learners.winnow import Winnow
    from rosenblatt.serve.client import AsyncClient, Client
    from rosenblatt.theory import Certificate, certify, margin
    from rosenblatt.trace import Trace, trace
    from rosenblatt.training.progressive import progressive

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
    "Trace": "trace",
    "VotedPerceptron": "learners.voted_perceptron",
    "Winnow": "learners.winnow",
    "certify": "theory",
    "load": "learners._load",
    "margin": "theory",
    "progressive": "training.progressive",
    "read": "data",
    "rule": "estimators.custom_rule",
    "stream": "data",
    "trace": "trace",
}


class _Package(types.ModuleType):
    """The package itself: `rosenblatt.trace` is the function, also after its folder of the same name was imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "trace" and isinstance(value, types.ModuleType):
            value = value.trace
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used, so that importing the package costs nothing."""
    if name not in _HOME:
        raise AttributeError(f"module 'rosenblatt' has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
