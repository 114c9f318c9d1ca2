"""The perceptron family of online linear learners: fast, with proofs."""

import importlib
import sys
import types
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from rosenblatt._version import __version__ as __version__

if TYPE_CHECKING:
    from rosenblatt.serve.client import AsyncClient as AsyncClient
    from rosenblatt.serve.client import Client as Client
    from rosenblatt.serve.client import ServiceError as ServiceError
    from rosenblatt.trace import trace as trace  # the function, not the folder of the same name

_HOME = {
    "AsyncClient": "serve.client",
    "Certificate": "theory",
    "Client": "serve.client",
    "MultiLabel": "estimators.multi_label",
    "SequencePerceptron": "learners.sequence_perceptron",
    "ServiceError": "serve.client",
    "Trace": "trace",
    "certify": "theory",
    "load": "learners._load",
    "margin": "theory",
    "progressive": "training.progressive",
    "read": "data",
    "rule": "estimators.custom_rule",
    "stream": "data",
    "trace": "trace",
}
"""Public names that are not learners of rows, each with its module. Those learners are found by their files."""


_NEEDS = {"serve.client": "httpx"}
"""Modules of public names that need a package which a plain installation does not have."""


class _Package(types.ModuleType):
    """Type of the package. It keeps `rosenblatt.trace` the function, also after the import of the folder of the same name."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "trace" and isinstance(value, types.ModuleType):
            value = value.trace
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def _homes() -> dict[str, str]:
    """All public names, each with its module."""
    from rosenblatt.learners import classes, regressors

    return {**_HOME, **{learner: f"learners.{module}" for learner, module in {**classes(), **regressors()}.items()}}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used, which keeps the import of the package fast."""
    if name == "__all__":  # without names that need a package of an extra that is not installed
        absent = {home for home, package in _NEEDS.items() if find_spec(package) is None}
        return sorted(name for name, home in _homes().items() if home not in absent)
    # All learners begin with a capital letter; for other names, such as subpackages, no learner files are read.
    home = _HOME.get(name) or (_homes().get(name) if name[:1].isupper() else None)
    if home is None:
        raise AttributeError(f"module 'rosenblatt' has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{home}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), "__all__", *_homes()})
