"""Margins, mistake bounds, and certificates that anyone can check again.

Nothing here runs a learner or imports scikit-learn. Certificates are loaded on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from rosenblatt.theory import bounds
from rosenblatt.theory.margins import margin, perceptron_criterion, radius, zero_one_loss

if TYPE_CHECKING:
    from rosenblatt.theory.certificate import Certificate
    from rosenblatt.theory.exact import exact_cycle
    from rosenblatt.theory.mixing import MixedMistakes, weighted_mistakes
    from rosenblatt.theory.separation import certify

__all__ = [
    "Certificate",
    "MixedMistakes",
    "bounds",
    "certify",
    "exact_cycle",
    "margin",
    "perceptron_criterion",
    "radius",
    "weighted_mistakes",
    "zero_one_loss",
]

_LAZY = {
    "Certificate": "certificate",
    "MixedMistakes": "mixing",
    "certify": "separation",
    "exact_cycle": "exact",
    "weighted_mistakes": "mixing",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(f"rosenblatt.theory.{_LAZY[name]}"), name)
    raise AttributeError(f"module 'rosenblatt.theory' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
