"""Prediction and learning of single examples with an estimator, together or separately."""

from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np

from rosenblatt.model.linear import Model
from rosenblatt.model.rule import FullVariances
from rosenblatt.serve.events import Limits
from rosenblatt.serve.examples import LONGEST_KEY, Refused
from rosenblatt.training.progressive import Pupil


class Taught:
    """Use of an estimator by a served model.

    Parameters
    ----------
    name : str
        Name of the model.
    estimator : estimator
        The learner.
    """

    def __init__(self, name: str, estimator: Any) -> None:
        self.name = name
        self.adopt(estimator)

    def adopt(self, estimator: Any) -> None:
        """Continue with this learner."""
        self.estimator = estimator
        self._averages = getattr(self.estimator, "_readout", None) == "average"
        self._apart = getattr(self.estimator, "_readout", "last") != "last"
        self._linear = hasattr(self.estimator, "_rule")
        self._weighted = getattr(self.estimator, "class_weight", None) is not None
        self._pupil: Pupil | None = None
        self._plain: Model | None = None  # set if examples can be passed directly to the core model
        self._room = 0
        self._named = self._name_bytes = 0

    def guess(self, x: Any) -> Any:
        """Predict the class of an example; None before the first label."""
        estimator = self.estimator
        if type(x) is list:
            x = np.array(x, np.float64)
        if self._averages and type(x) is dict and (model := getattr(estimator, "model_", None)) is not None:
            # Averaging all weights for one example would take time in proportion to the number of features.
            if self._pupil is None or self._pupil.model is not model:
                self._pupil = Pupil(model)
            return self._pupil.label(self._pupil.predict(model._row_table(x), 0))
        prediction = estimator.predict_one(x)
        return prediction.item() if isinstance(prediction, np.generic) else prediction

    def _teach(self, x: Any, label: Any) -> None:
        """Learn an example that has been predicted before."""
        estimator = self.estimator
        if type(x) is list:
            x = np.array(x, np.float64)
        model = getattr(estimator, "model_", None) if self._apart else None
        if model is None:
            estimator.learn_one(x, label)
            return
        weights = estimator.class_weight
        model.teach(x, label, 1.0 if weights is None else float(weights.get(label, 1.0)))

    def _guess_and_teach(self, x: Any, label: Any) -> Any:
        if self._apart or type(x) is list or not self._linear:
            prediction = self.guess(x)
            self._teach(x, label)
            return prediction
        prediction = self.estimator.learn_one(x, label)
        if not self._weighted and self._plain is None:
            self._plain = self.estimator.model_
        return prediction

    def _check_room(self, x: Any, label: Any, limits: Limits) -> None:
        """Refuse an example that would make the model too large, or whose label is of another type."""
        model = getattr(self.estimator, "model_", None)
        classes = self.classes if model is None else model.classes
        known = label in (classes if model is None else model.class_number)
        self._check_label(label, classes, known, limits)
        count = len(classes) + (not known)
        if model is None:
            kernel = getattr(self.estimator, "_model", None)
            rows = 0 if kernel is None else len(kernel.machine.rows)
            self._check_numbers((rows + 1) * (len(x) + count), limits, "a smaller `budget`")
            return
        if type(x) is list or model.support is not None:
            vectors, kept = 1 if count < 3 else count, 0 if model.support is None else len(model.support)
            self._check_numbers(max(len(x) * count, kept * max(len(x), vectors)), limits, "a smaller `max_support`")
            if type(x) is list:
                self._check_covariance(model, len(x), vectors, limits)
                return
        elif self._room >= len(x) and known:
            self._room -= len(x)
            return
        names = model.features or {}
        new = [name for name in x if name not in names]
        features = len(names) + len(new)
        self._check_numbers(features * count, limits, "fewer features")
        self._check_covariance(model, features, 1 if count < 3 else count, limits)
        self._name_bytes += sum(map(len, islice(reversed(names), max(0, len(names) - self._named))))
        self._named = len(names)
        rest = limits.names - self._name_bytes - sum(map(len, new))
        if rest < 0:
            raise Refused(
                409,
                f"The names of the features of `{self.name}` may have at most {limits.names} characters in all; this example "
                "would exceed that. Use shorter names, or fewer features.",
            )
        self._room = min(limits.weights // max(count, 1) - features, rest // LONGEST_KEY)
        if isinstance(model.memory, FullVariances):
            self._room = 0

    def _check_label(self, label: Any, classes: Sequence[Any], known: bool, limits: Limits) -> None:
        if classes and (type(label) is bool) != (type(classes[0]) is bool):  # in Python true is equal to 1
            raise Refused(
                409,
                f"The labels of `{self.name}` must all be of one type, such as {classes[0]!r}; got {label!r}. Convert them.",
            )
        if not known and len(classes) >= limits.classes:
            raise Refused(
                409,
                f"`{self.name}` may have at most {limits.classes} classes after this request; got the new label "
                f"{str(label)[:60]!r}. Send fewer new labels in one request, or raise --max-classes.",
            )

    def _check_covariance(self, model: Model, features: int, vectors: int, limits: Limits) -> None:
        if isinstance(model.memory, FullVariances):
            self._check_numbers(vectors * (features + 1) ** 2, limits, 'covariance="diagonal"')

    def _check_numbers(self, count: int, limits: Limits, advice: str) -> None:
        if count > limits.weights:
            raise Refused(
                409,
                f"The model `{self.name}` may have at most {limits.weights} weights (features times classes, or numbers that it "
                f"stores instead); this example would make it {count}. Use {advice}, or raise --max-weights.",
            )

    @property
    def fitted(self) -> bool:
        """Whether anything was learned."""
        return hasattr(self.estimator, "model_") or hasattr(self.estimator, "_model")

    @property
    def classes(self) -> list[Any]:
        """Classes in the order of their first label."""
        model = getattr(self.estimator, "model_", None)
        if model is not None:
            return list(model.classes)
        return [label.item() for label in getattr(self.estimator, "classes_", ())]

    @property
    def features(self) -> int:
        """Number of features so far."""
        model = getattr(self.estimator, "model_", None)
        return int(getattr(self.estimator, "n_features_in_", 0) if model is None else model.n_features)
