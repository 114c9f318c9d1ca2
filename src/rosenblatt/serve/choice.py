"""Which learner a model gets: any that learns from one example at a time, by name, with its parameters checked."""

import dataclasses
from typing import Any

import numpy as np

from rosenblatt.estimators.checks import is_real
from rosenblatt.learners import find, names
from rosenblatt.serve.examples import Refused

SMALLEST = 1e-6
"""Rates and the like may lie between this and its inverse: a service has to go on, whatever it is given."""


def range_of(field: dataclasses.Field[Any]) -> tuple[float, float] | None:
    """From where to where a parameter that must be greater than 0 may go in a service; None: it is not such a one."""
    return (SMALLEST, min(1 / SMALLEST, field.metadata["most"])) if field.metadata.get("positive") else None


def new_estimator(algorithm: str, parameters: dict[str, Any]) -> Any:
    """A learner for streams by its name, its parameters checked."""
    try:
        learner = find(algorithm)
    except ValueError as error:
        raise Refused(422, str(error)) from error
    try:
        streams = callable(learner.learn_one)
    except AttributeError as error:
        raise Refused(422, f"A service needs a learner that learns one example at a time. {error}.") from error
    fields = dataclasses.fields(learner) if dataclasses.is_dataclass(learner) else ()
    known = [field.name for field in fields] or learner._get_param_names()
    for name in parameters:
        if name not in known or not streams:
            raise Refused(
                422,
                f"`parameters` of {learner.__name__} may be {', '.join(known)}; got {name[:60]!r}. Check the spelling.",
            )
    for field in fields:
        value = parameters.get(field.name, field.default)
        limits = range_of(field)
        if limits is not None and is_real(value) and not limits[0] <= value <= limits[1]:
            raise Refused(
                422,
                f"`{field.name}` of {learner.__name__} must lie between {limits[0]:g} and {limits[1]:g} here; got {value!r}. "
                f"{field.metadata['positive']}",
            )
        if isinstance(field.default, bool) and type(value) is not bool and field.name != "shuffle":
            raise Refused(422, f"`{field.name}` of {learner.__name__} must be true or false; got {value!r}.")
    try:
        estimator = learner(**parameters)
        if hasattr(estimator, "_check_parameters"):
            estimator._check_parameters()
            estimator._check_stream_weights()
            estimator._check_can_move(estimator._new_model(None, np.float64))
    except (ValueError, TypeError) as error:
        raise Refused(422, str(error)) from error
    return estimator


def canonical(algorithm: str) -> str:
    """The full name of an algorithm."""
    try:
        learner = find(algorithm)
    except ValueError as error:
        raise Refused(422, str(error)) from error
    module = learner.__module__.rpartition(".")[2].replace("_", "-")
    return module if module in names() else algorithm
