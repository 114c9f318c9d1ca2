"""Probabilities of the classes, from scores of examples that a learner has not learned."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from rosenblatt.model.calibration import Calibration

Floats = NDArray[np.float64]


class Probabilities:
    """`calibrate`, `predict_proba` and `predict_proba_one` of a classifier that has scores."""

    calibration_: "Calibration"
    _scores: Callable[[Any], Floats]
    _scores_of_one: Callable[[Any], Floats]
    _scored_labels: Callable[[], list[Any]]
    # One column of scores for two classes, else one for each class, in the order of `_scored_labels`.

    def calibrate(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn to give probabilities, from examples that the model has not learned.

        Most learners need this only after `fit`: `partial_fit` and `learn_one` note the scores that they find before they learn,
        `train` sets examples aside, and `stream` looks at each example before it is learned. A learner that votes, or that has a
        kernel, needs it once. Weights and predictions stay the same.

        Parameters
        ----------
        X : array, frame or CSR matrix of shape (n_examples, n_features)
            The examples.
        y : array of shape (n_examples,)
            Their labels.

        Returns
        -------
        self

        Examples
        --------
        >>> import rosenblatt
        >>> X, y = [[-2.0], [-1.0], [1.0], [2.0]], ["no", "no", "yes", "yes"]
        >>> model = rosenblatt.AveragedPerceptron().fit(X, y).calibrate(X, y)
        >>> bool(model.predict_proba([[3.0]])[0, 1] > 0.5)
        True
        """
        from rosenblatt.model.calibration import Calibration

        classes = self._scored_labels()
        numbers = {label: number for number, label in enumerate(classes)}
        labels = np.asarray(y).tolist()
        unknown = [label for label in labels if label not in numbers]
        if unknown or not labels:
            raise ValueError(
                f"calibrate needs examples of the classes {classes}; got {unknown[0]!r}. Leave such examples out."
                if unknown
                else "calibrate needs at least one example; got none. Pass examples that the model has not learned."
            )
        scores = self._scores(X)
        codes = np.array([numbers[label] for label in labels], np.int64)
        self.calibration_ = Calibration.of(scores.shape[1]).fit(scores, codes)
        self._stop_noting()
        return self

    @property
    def predict_proba(self) -> Callable[[Any], Floats]:
        """The probability of each class of `classes_`, for each example; after `partial_fit`, `learn_one` or `calibrate`."""
        self._known_calibration("predict_proba")
        return self._probabilities

    @property
    def predict_proba_one(self) -> Callable[[Any], dict[Any, float]]:
        """The probability of each class for one example, as a dict; after `partial_fit`, `learn_one` or `calibrate`."""
        self._known_calibration("predict_proba_one")
        return self._probabilities_of_one

    def _known_calibration(self, name: str) -> "Calibration":
        calibration = self._calibration
        if calibration is None:
            raise AttributeError(
                f"{type(self).__name__} has `{name}` after `partial_fit` or `learn_one`, after `calibrate(X, y)` with examples "
                "that it has not learned, or if it was trained with `rosenblatt train`"
            )
        return calibration

    @property
    def _calibration(self) -> "Calibration | None":
        """How scores become probabilities, if that is known."""
        return self.__dict__.get("calibration_") or self._noted_calibration()

    def _noted_calibration(self) -> "Calibration | None":
        """The probabilities from scores that were noted before their examples were learned."""
        return None

    def _stop_noting(self) -> None:
        """Forget these scores."""

    def _probabilities(self, X: ArrayLike) -> Floats:
        return self._in_order(self._scores(X))

    def _probabilities_of_one(self, x: Any) -> dict[Any, float]:
        row = self._in_order(self._scores_of_one(x))[0]
        return dict(zip(self._sorted_labels(), row.tolist(), strict=True))

    def _sorted_labels(self) -> list[Any]:
        labels: list[Any] = getattr(self, "classes_").tolist()  # noqa: B009 - a property of the estimator
        return labels

    def _in_order(self, scores: Floats) -> Floats:
        """Probabilities in the order of `classes_`."""
        found = self._known_calibration("predict_proba").probabilities(scores)
        numbers = {label: number for number, label in enumerate(self._scored_labels())}
        return found[:, [numbers[label] for label in self._sorted_labels()]]
