"""Classifiers and regressors of river that learn with the learners of the library."""

import dataclasses
import inspect
import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from river.base import Classifier, Regressor

from rosenblatt.estimators.parameters import declarations
from rosenblatt.estimators.regression import LinearRegressor
from rosenblatt.learners import classes, find, regressors


class Adapter:
    """A learner of the library in river. Subclasses are made by `adapt`."""

    _learner: ClassVar[type[Any]]
    _model: Any

    def learn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn one example.

        Parameters
        ----------
        x : dict
            Features by name; new names may appear at any time.
        y : label
            The class; a new class is added. For a regressor the target.
        w : float, default=1.0
            Weight of the example.
        """
        if w == 1.0:
            self._model.learn_one(x, y)
        elif "sample_weight" in inspect.signature(self._model.learn_one).parameters:
            self._model.learn_one(x, y, w)
        else:
            raise ValueError(
                f"The weight of an example must be 1 for {type(self).__name__}; got {w!r}. Leave it out, or use AROW."
            )

    def predict_one(self, x: Mapping[Any, Any], **kwargs: Any) -> Any:
        """Predict the class of one example, None before the first label; or the target, 0 before the first."""
        return self._model.predict_one(x)

    @property
    def learner(self) -> Any:
        """The learner itself, with its weights, counts, `save` and `explain`."""
        return self._model


class ClassifierAdapter(Adapter, Classifier):
    """A learner of the library as a classifier of river."""

    @property
    def _multiclass(self) -> bool:
        return self._learner.__name__ != "ParallelPerceptron"

    def _unit_test_skips(self) -> set[str]:
        """Checks of river that do not hold: a committee draws starting weights for features in their order of arrival."""
        return {"check_shuffle_features_no_impact"} if self._learner.__name__ == "ParallelPerceptron" else set()

    def predict_proba_one(self, x: Mapping[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Scores of one example as shares that sum to 1, the softmax of the scores. They rank, but they are not calibrated."""
        names, scores = self._scores(x)
        if len(names) < 2:
            # river expects both truth values of a classifier for two classes, also before they have been seen.
            both = not self._multiclass and set(names) <= {False, True}
            return {False: 0.5, True: 0.5} if both else dict.fromkeys(names, 1.0)
        powers = [math.exp(score - max(scores)) for score in scores]
        total = sum(powers)
        shares = {name: power / total for name, power in zip(names, powers, strict=True)}
        guess = self._model.predict_one(x)  # of equal shares the predicted class comes first
        return {guess: shares[guess], **shares}

    def _scores(self, x: Mapping[Any, Any]) -> tuple[list[Any], list[float]]:
        """The classes, and a score for each of them."""
        model = getattr(self._model, "model_", None)
        if model is not None:
            names, scores = list(model.classes), model.scores(model._row_table(x))[0]
        elif hasattr(self._model, "_model"):
            estimator = self._model
            names = estimator._arrived.tolist()
            scores = estimator._decide_one(x)[0]
        else:
            return [], []
        if len(names) == 2 and scores.size == 1:
            return names, [0.0, float(scores[0])]
        return names, [float(score) for score in np.atleast_1d(scores)]


class RegressorAdapter(Adapter, Regressor):
    """A learner of real targets as a regressor of river."""


def adapt(learner: type[Any]) -> type[Adapter]:
    """Make a classifier or a regressor of river from a learner, such as one made by `rosenblatt.rule`.

    Parameters
    ----------
    learner : class
        A learner with `learn_one`.

    Returns
    -------
    class
        A classifier or regressor of river with the parameters of the learner that matter on a stream.
    """
    given: Any = learner
    if not (isinstance(given, type) and callable(getattr(given, "learn_one", None))):
        raise ValueError(
            f"`learner` of adapt must be a class with `learn_one`; got {learner!r}. Pass the class, not an estimator."
        )
    fit_only = {name for name, declared in declarations(learner).items() if declared.fit_only}
    fields: list[Any] = [field for field in dataclasses.fields(learner) if field.name not in fit_only]
    kind = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter(field.name, kind, default=field.default) for field in fields]
    signature = inspect.Signature([inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD), *parameters])

    def __init__(self: Any, *given: Any, **named: Any) -> None:  # noqa: N807
        bound = signature.bind(self, *given, **named)
        bound.apply_defaults()
        values = {name: value for name, value in bound.arguments.items() if name != "self"}
        for name, value in values.items():
            setattr(self, name, value)
        self._model = learner(**values)

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    real = issubclass(learner, LinearRegressor)
    theirs = "regressor" if real else "classifier"
    summary = (inspect.getdoc(learner) or "").partition("\n")[0]
    body = {
        "__init__": __init__,
        "__doc__": f"{summary}\n\nThe {theirs} of river with `rosenblatt.{learner.__name__}`; see there for the parameters.",
        "__module__": __name__,
        "_learner": learner,
    }
    return type(learner.__name__, (RegressorAdapter if real else ClassifierAdapter,), body)


def __getattr__(name: str) -> Any:
    if name not in {**classes(), **regressors()} or not callable(getattr(find(name), "learn_one", None)):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    made = adapt(find(name))
    globals()[name] = made
    return made
