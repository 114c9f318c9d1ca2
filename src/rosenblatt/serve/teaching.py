"""Prediction and learning of single examples with an estimator, together or separately."""

from typing import Any

import numpy as np

from rosenblatt.model.linear import Model
from rosenblatt.serve.examples import Refused
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
        self._room = 0
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

    def _check_room(self, x: Any, label: Any, most: int) -> None:
        """Refuse an example that would make the model too large; features are counted only near the limit."""
        model = getattr(self.estimator, "model_", None)
        if model is None or type(x) is list:
            return
        if self._room >= len(x) and label in model.class_number:
            self._room -= len(x)
            return
        known = model.features or ()
        classes = len(model.classes) + (label not in model.class_number)
        features = len(known) + sum(name not in known for name in x)
        if features * classes > most:
            raise Refused(
                409,
                f"The model `{self.name}` may have at most {most} weights (features times classes); this example would make it "
                f"{features} times {classes}. Use fewer features, or raise the limit of the service.",
            )
        self._room = most // max(classes, 1) - features

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
