"""Further answers of a linear model: probabilities, reasons, and predictions for frames of the table it was trained on."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rosenblatt.model.linear import Model
from rosenblatt.model.matrix import Table
from rosenblatt.model.scores import predicted_classes

if TYPE_CHECKING:
    from rosenblatt.model.calibration import Calibration

Floats = NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Explanation:
    """The features that make up a score.

    Attributes
    ----------
    label : label
        The predicted class, or the one that was asked for.
    score : float
        Its score: positive if the class is more likely than the other of two.
    bias : float
        The part of the score that does not depend on the example.
    features : list of tuple
        (name, value, weight) of each feature that is not 0, the largest products first. The score is the bias plus the sum of
        value times weight.
    """

    label: Any
    score: float
    bias: float
    features: list[tuple[str, float, float]]

    def __str__(self) -> str:
        return self.to_text(20)

    def to_text(self, most: int) -> str:
        """A table of the features with the largest products; the others are summed up."""
        lines = [f"{self.label}: score {self.score:+.5g}", f"{'value':>12}  {'weight':>12}  {'product':>12}  feature"]
        for name, value, weight in self.features[:most]:
            lines.append(f"{value:>12.5g}  {weight:>+12.5g}  {value * weight:>+12.5g}  {name}")
        if rest := self.features[most:]:
            lines.append(
                f"{'':>28}{sum(value * weight for _, value, weight in rest):>+12.5g}  {len(rest):,} other features"
            )
        lines.append(f"{'':>28}{self.bias:>+12.5g}  (bias)")
        return "\n".join(lines)

    def to_json(self, most: int) -> dict[str, Any]:
        """The same as plain values."""
        shown = [
            {"name": name, "value": value, "weight": weight, "product": value * weight}
            for name, value, weight in self.features[:most]
        ]
        rest = float(sum(value * weight for _, value, weight in self.features[most:]))
        return {"label": self.label, "score": self.score, "bias": self.bias, "features": shown, "others": rest}


class Answers:
    """Probabilities, reasons and frames, for `LinearClassifier`."""

    calibration_: "Calibration"
    encoder_: Any
    _fitted: Callable[[], Model]
    _scores: Callable[[Any], Floats]
    # One column of scores for two classes, else one for each, in the order of the model's classes.

    # ---- probabilities ----

    def calibrate(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn to give probabilities, from examples that the model has not learned.

        `train` does this with the examples that it sets aside, and `stream` with each example before it is learned. From then on
        `partial_fit` and `learn_one` keep the probabilities up to date with the scores that they find before they learn. Weights
        and predictions stay the same.

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

        model = self._fitted()
        labels = np.asarray(y).tolist()
        unknown = [label for label in labels if label not in model.class_number]
        if unknown or not labels:
            raise ValueError(
                f"calibrate needs examples of the classes {model.classes}; got {unknown[0]!r}. Leave such examples out."
                if unknown
                else "calibrate needs at least one example; got none. Pass examples that the model has not learned."
            )
        scores = self._scores(X)
        codes = np.array([model.class_number[label] for label in labels], np.int64)
        self.calibration_ = Calibration.of(scores.shape[1]).fit(scores, codes)
        return self

    @property
    def predict_proba(self) -> Callable[[Any], Floats]:
        """The probability of each class of `classes_`, for each example; after `calibrate`, or for a model of `train`."""
        self._known_calibration("predict_proba")
        return self._probabilities

    @property
    def predict_proba_one(self) -> Callable[[Any], dict[Any, float]]:
        """The probability of each class for one example, as a dict; after `calibrate`, or for a model of `train`."""
        self._known_calibration("predict_proba_one")
        return self._probabilities_of_one

    def _known_calibration(self, name: str) -> "Calibration":
        calibration: Calibration | None = self.__dict__.get("calibration_")
        if calibration is None:
            raise AttributeError(
                f"{type(self).__name__} has `{name}` after `calibrate(X, y)` with examples that it has not learned, or if it was "
                "trained with `rosenblatt train`"
            )
        return calibration

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
        numbers = self._fitted().class_number
        return found[:, [numbers[label] for label in self._sorted_labels()]]

    def _observe(self, model: Model, table: Table, labels: list[Any]) -> None:
        """Update the probabilities with examples that will be learned next."""
        from rosenblatt.model.calibration import Calibration

        known = np.array([label in model.class_number for label in labels])
        width = model.scores(table.some(np.zeros(0, np.int64))).shape[1]
        if table.shape[1] > model.n_features:
            model.add_features(table.shape[1])
        if not self.calibration_.fits(width):  # a third class has come
            self.calibration_ = Calibration.of(width)
        if known.any():
            codes = np.array([model.class_number[label] for label in labels if label in model.class_number], np.int64)
            self.calibration_.observe(model.scores(table.some(np.flatnonzero(known))), codes)

    # ---- scores ----

    def _scores_of_one(self, x: Any) -> Floats:
        model = self._fitted()
        if self._reads_records and isinstance(x, Mapping):
            return model.scores(self._table([x], model))
        return model.scores(model._row_table(x))

    @property
    def _reads_records(self) -> bool:
        """Whether dicts are records of the table that the model was trained on."""
        encoder = self.__dict__.get("encoder_")
        return encoder is not None and encoder.family == "table"

    def _table(self, X: Any, model: Model) -> Table:
        if self._reads_records:
            from rosenblatt.data.frames import encode, is_frame

            if is_frame(X):
                return encode(X, self.encoder_, model.n_features)
        from sklearn.utils.validation import validate_data

        X = validate_data(
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False, reset=False
        )
        return Table(X)

    # ---- reasons ----

    def explain(self, x: Any, label: Any = None) -> Explanation:
        """The features that make up the score of one example.

        Parameters
        ----------
        x : dict or 1-D array
            The example; for a model of `rosenblatt train`, a record of its table.
        label : label, default=None
            The class whose score is explained; the predicted one by default.

        Returns
        -------
        Explanation
            Its `features` have the name, value and weight of each feature; printed, it is a table.

        Examples
        --------
        >>> import rosenblatt
        >>> model = rosenblatt.Perceptron()
        >>> for x, y in [({"free": 2.0}, "spam"), ({"tea": 1.0}, "ham"), ({"free": 1.0, "tea": 1.0}, "ham")]:
        ...     _ = model.learn_one(x, y)
        >>> model.explain({"tea": 1.0}).label
        'ham'
        """
        model = self._fitted()
        if model.readout in ("vote", "committee"):
            raise ValueError(
                f"A {type(self).__name__} predicts by votes, which are no sum over features; got explain. Use a learner with one "
                "weight for each feature, such as AveragedPerceptron."
            )
        table = self._table([x], model) if self._reads_records and isinstance(x, Mapping) else model._row_table(x)
        return self._explain_row(model, table, 0, label)

    def _explain_row(self, model: Model, table: Table, row: int, label: Any) -> Explanation:
        scores = model.scores(table.some(np.array([row])))
        number = (
            int(predicted_classes(scores, len(model.classes))[0])
            if label is None
            else model.class_number.get(label, -1)
        )
        if number < 0:
            raise ValueError(f"`label` must be one of the classes {model.classes}; got {label!r}. Leave it out.")
        vector, sign = (0, 1.0 if number == 1 else -1.0) if scores.shape[1] == 1 else (number, 1.0)
        if table.sparse:
            part = slice(int(table.rows.indptr[row]), int(table.rows.indptr[row + 1]))
            columns, values = np.asarray(table.rows.indices[part]), np.asarray(table.rows.values[part])
        else:
            columns = np.flatnonzero(table.rows[row])
            values = table.rows[row][columns]
        coef, intercept = model.coef()
        weights = sign * coef[vector][columns] + 0.0
        order = np.argsort(-np.abs(values * weights), kind="stable")
        name = self._namer(model)
        features = [(name(int(columns[k])), float(values[k]), float(weights[k])) for k in order]
        return Explanation(
            model.classes[number],
            sign * float(scores[0, vector]) + 0.0,
            sign * float(intercept[vector]) + 0.0,
            features,
        )

    def _namer(self, model: Model) -> Callable[[int], str]:
        """A function that gives the name of a feature."""
        if "encoder_" in self.__dict__:
            name: Callable[[int], str] = self.encoder_.feature_name
            return name
        names = None if model.features is None else list(model.features)
        return lambda column: f"column {column}" if names is None else str(names[column])
