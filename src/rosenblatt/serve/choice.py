"""Choice of the learner of a model: any that learns from single examples, by name, with its parameters checked."""

from typing import Any

import numpy as np

from rosenblatt.estimators.parameters import SWITCH, Parameter, declarations, defaults, is_real
from rosenblatt.learners import OF_SEQUENCES, find, names
from rosenblatt.serve.examples import Refused

SMALLEST = 1e-6
"""Rates and similar parameters must be between this and its inverse: weights must stay finite, whatever clients send."""


def range_of(parameter: Parameter) -> tuple[float, float] | None:
    """Range that a service allows for a parameter that must be greater than 0; None for all other parameters."""
    if parameter.number != "float" or parameter.above != 0 or parameter.fit_only:
        return None
    return SMALLEST, 1 / SMALLEST if parameter.most is None else parameter.most


def new_estimator(algorithm: str, parameters: dict[str, Any]) -> Any:
    """Make a learner for streams by its name and check its parameters."""
    try:
        learner = find(algorithm, sequences=True)
    except ValueError as error:
        raise Refused(422, str(error)) from error
    try:
        streams = callable(learner.learn_one)
    except AttributeError as error:
        raise Refused(422, f"A service needs a learner that learns one example at a time. {error}.") from error
    declared = declarations(learner)
    for name in parameters:
        if name not in declared or not streams:
            raise Refused(
                422,
                f"`parameters` of {learner.__name__} may be {', '.join(declared)}; got {name[:60]!r}. Check the spelling.",
            )
    try:
        estimator = learner(**parameters)
        estimator._check_parameters()
        for name, value in (defaults(learner) | parameters).items():
            parameter, limits = declared[name], range_of(declared[name])
            if limits is not None and is_real(value) and not limits[0] <= value <= limits[1]:
                raise ValueError(
                    f"`{name}` of {learner.__name__} must be between {limits[0]:g} and {limits[1]:g} here; got {value!r}. "
                    f"{parameter.advice}",
                )
            if parameter.choices == SWITCH and not isinstance(value, bool):
                raise ValueError(parameter.message(name, learner.__name__, value))  # 0 and 1 are not JSON booleans
        if learner.__name__ in OF_SEQUENCES:
            estimator._new_chain()
            return estimator
        estimator._check_positive_of_stream(0)
        if hasattr(estimator, "_check_stream_weights"):
            estimator._check_stream_weights()
            model = estimator._new_model(None, np.float64)
            estimator._check_can_move(model)
    except (ValueError, TypeError) as error:
        raise Refused(422, str(error)) from error
    return estimator


def canonical(algorithm: str) -> str:
    """Full name of an algorithm."""
    try:
        learner = find(algorithm, sequences=True)
    except ValueError as error:
        raise Refused(422, str(error)) from error
    module = learner.__module__.rpartition(".")[2].replace("_", "-")
    return module if module in names() or learner.__name__ in OF_SEQUENCES else algorithm
