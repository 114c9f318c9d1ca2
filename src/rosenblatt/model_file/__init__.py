"""Model files: safetensors with a JSON header, written atomically, and read without executing code from the file.

A file holds the class of an estimator, its parameters, its fitted attributes and its core model, so that a loaded estimator gives
the same predictions and can continue training. `rosenblatt.load` reads the file.
"""

import hashlib
import json
import os
from typing import Any

import numpy as np

from rosenblatt.engine.steps import step_source
from rosenblatt.model.linear import Model

from .container import read_file, write_file
from .cores import kernel_from_values, kernel_values, linear_from_values, linear_values
from .tree import BadModel, Tensors, decode, encode

__all__ = ["BadModel"]

CORES = {"model_": "linear", "models_": "labels", "_model": "kernel", "_chain": "sequences"}
"""Attribute that holds the core model of an estimator, and its kind."""


class Saved:
    """Content of a model file: the name of the class, and the values of the estimator."""

    def __init__(self, header: dict[str, Any], tensors: Tensors) -> None:
        self.header = header
        self.kind: str = header["kind"]
        self.learner: str = header["class"]
        self.rule: dict[str, Any] | None = header["rule"]
        self.library: str = header["library"]
        self.parameters: dict[str, Any] = decode(header["parameters"], tensors)
        self.fitted: dict[str, Any] = decode(header["fitted"], tensors)
        self.core: dict[str, Any] = decode(header["core"], tensors)
        encoder = tensors.get("encoder")
        self.encoder: dict[str, Any] | None = None if encoder is None else json.loads(encoder.tobytes())
        names = [*self.parameters, *self.fitted]
        plain = all(isinstance(name, str) and name.isidentifier() and not name.startswith("__") for name in names)
        if not plain or self.kind not in CORES.values() or not isinstance(self.learner, str):
            raise BadModel("its header is damaged")

    def core_model(self, step: Any, kernel: Any, make: type[Model]) -> Any:
        """Create the core model, with the functions that are not stored in the file."""
        if self.kind == "linear":
            return linear_from_values(self.core, step, make)
        features = self.fitted.get("n_features_in_", 0)
        return kernel_from_values(self.core, kernel, features if isinstance(features, int) else 0)


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to a file atomically.

    Parameters
    ----------
    estimator : estimator
        A learner of this library, or one made by `rosenblatt.rule`.
    path : str or path
        The file; an existing file is replaced only when the new one is complete and on disk.
    """
    header, tensors = pack(estimator)
    write_file(path, header, tensors)


def pack(estimator: Any) -> tuple[dict[str, Any], Tensors]:
    """The header and the arrays of the file of a fitted estimator; the arrays may share memory with the estimator."""
    attributes = dict(vars(estimator))
    place = next((name for name in CORES if name in attributes), None)
    if place is None:
        raise ValueError(
            f"Only a fitted model can be saved; this {type(estimator).__name__} has not learned anything yet. Call `fit`, "
            "`partial_fit` or `learn_one` first."
        )
    core = attributes.pop(place)
    encoder = attributes.pop("encoder_", None)
    parameters = estimator.get_params(deep=False)
    if callable(parameters.get("kernel")):
        parameters["kernel"] = None  # a function is not stored; `load` takes it as an argument
    inner = parameters.get("learner")
    if inner is not None:  # an estimator, whose name and parameters are stored
        if rule_of(type(inner)) is not None:
            raise ValueError(
                f"A model file holds learners of this library; got {type(inner).__name__} as the learner of a "
                f"{type(estimator).__name__}. Use one of them, or keep the models apart."
            )
        parameters["learner"] = [type(inner).__name__, inner.get_params(deep=False)]
    tensors: Tensors = {}
    if encoder is not None:
        text = json.dumps(encoder.to_json(), ensure_ascii=False).encode("utf-8", "surrogatepass")
        tensors["encoder"] = np.frombuffer(text, np.uint8)
    fitted = {name: value for name, value in attributes.items() if name not in parameters}
    header = {
        "kind": CORES[place],
        "class": type(estimator).__name__,
        "rule": None if CORES[place] == "labels" else rule_of(type(estimator)),
        "parameters": encode(parameters, tensors, "parameters"),
        "fitted": encode(fitted, tensors, "fitted"),
        "core": encode(_values(CORES[place], core), tensors, "core"),
    }
    return header, tensors


def _values(kind: str, core: Any) -> dict[str, Any]:
    if kind == "sequences":
        from .sequences import sequence_values

        return sequence_values(core)
    if kind == "labels":
        return {"models": [linear_values(model) for model in core]}
    return linear_values(core) if kind == "linear" else kernel_values(core)


def rule_of(learner: type[Any]) -> dict[str, Any] | None:
    """Name, readout and checksum of the step function of a user-defined rule; None for a learner of the library."""
    if learner.__module__.startswith("rosenblatt.learners."):
        return None
    step = getattr(learner, "_step", None)
    source = None if step is None else step_source(step)
    return {
        "name": learner.__name__,
        "readout": getattr(learner, "_readout", None),
        "sha256": None if source is None else hashlib.sha256(source.encode()).hexdigest(),
    }


def read(path: str | os.PathLike[str]) -> Saved:
    """Read a file and check that it is complete; raise BadModel with the reason if it cannot be used."""
    header, tensors = read_file(path)
    try:
        return Saved(header, tensors)
    except (BadModel, KeyError, TypeError, ValueError, UnicodeError, RecursionError) as error:
        raise unusable(path, error) from error


def unusable(path: str | os.PathLike[str], error: Exception) -> BadModel:
    """The exception for a file whose content is not a valid model."""
    return BadModel(
        f"{os.fspath(path)} is not a valid model: {str(error) or type(error).__name__}. Use another copy, or train again."
    )
