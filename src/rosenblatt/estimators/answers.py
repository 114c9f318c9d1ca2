"""Further answers of a linear model: reasons, predictions for frames of the table it was trained on, and probabilities."""

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.estimators.probabilities import Probabilities
from rosenblatt.model.calibration import Calibration
from rosenblatt.model.linear import Model
from rosenblatt.model.matrix import Table
from rosenblatt.model.scores import predicted_classes

Floats = NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Explanation:
    """The features that make up a score.

    Attributes
    ----------
    label : label
        The predicted class, or the one that was asked for; None for a regression.
    score : float
        Its score: positive if the class is more likely than the other of two. For a regression, the prediction.
    bias : float
        The part of the score that does not depend on the example.
    features : list of tuple
        (name, value, weight) of each feature that is not 0, the largest products first. The score is the bias plus the sum of
        value times weight.
    rounding : tuple of float
        What the rounding of the sums has added; empty if nothing. The exact sum of bias, products and rounding is the score:
        ``math.fsum([e.bias, *e.products, *e.rounding]) == e.score``.
    """

    label: Any
    score: float
    bias: float
    features: list[tuple[str, float, float]]

    @property
    def products(self) -> list[float]:
        """Value times weight of each feature."""
        return [value * weight for _, value, weight in self.features]

    @property
    def rounding(self) -> tuple[float, ...]:
        """What the rounding of the sums has added."""
        return _missing(self.score, [self.bias, *self.products])

    def __str__(self) -> str:
        return self.to_text(20)

    def to_text(self, most: int) -> str:
        """A table of the features with the largest products; the others are summed up."""
        title = f"prediction {self.score:.6g}" if self.label is None else f"{self.label}: score {self.score:+.5g}"
        lines = [title, f"{'value':>12}  {'weight':>12}  {'product':>12}  feature"]
        for name, value, weight in self.features[:most]:
            lines.append(f"{value:>12.5g}  {weight:>+12.5g}  {value * weight:>+12.5g}  {name}")
        if rest := self.features[most:]:
            lines.append(
                f"{'':>28}{sum(value * weight for _, value, weight in rest):>+12.5g}  {len(rest):,} other features"
            )
        lines.append(f"{'':>28}{self.bias:>+12.5g}  (bias)")
        return "\n".join(lines)

    def to_json(self, most: int) -> dict[str, Any]:
        """The same as plain values. The exact sum of `bias`, the products, `others` and `rounding` is the score."""
        shown = [
            {"name": name, "value": value, "weight": weight, "product": value * weight}
            for name, value, weight in self.features[:most]
        ]
        rest = math.fsum(self.products[most:])
        rounding = _missing(self.score, [self.bias, *self.products[:most], rest])
        return {
            "label": self.label, "score": self.score, "bias": self.bias, "features": shown, "others": rest,
            "rounding": list(rounding),
        }  # fmt: skip


def _missing(total: float, parts: list[float]) -> tuple[float, ...]:
    """Numbers that add up exactly to what some parts lack of a total; most often one number or none."""
    left, found = [total, *(-part for part in parts)], list[float]()
    while rest := math.fsum(left):  # correctly rounded, so each number is at most 2^-53 of the one before it
        found.append(rest)
        left.append(-rest)
    return tuple(found)


class Reading:
    """Scores of records and frames, and reasons, for `LinearLearner`."""

    encoder_: Any
    n_features_in_: int
    _fitted: Callable[[], Model]
    _scores: Callable[[Any], Floats]
    # One column of scores for two classes and for real targets, else one for each class, in the order of the model's classes.

    # ---- scores ----

    def _scores_of_one(self, x: Any) -> Floats:
        model = self._fitted()
        return model.scores(self._table_of_one(x, model))

    def _table_of_one(self, x: Any, model: Model) -> Table:
        """One example as a table; of a model of `rosenblatt train`, a record."""
        encoded = self._encoded([x], model.n_features) if isinstance(x, Mapping | str) else None
        return model._row_table(x) if encoded is None else encoded

    @property
    def _reads_records(self) -> bool:
        """Whether dicts are records of the table that the model was trained on."""
        encoder = self.__dict__.get("encoder_")
        return encoder is not None and encoder.family == "table"

    def _encoded(self, X: Any, features: int) -> Table | None:
        """Frames and records as `rosenblatt train` read them; None for other examples, which are encoded already."""
        encoder = self.__dict__.get("encoder_")
        if encoder is None:
            return None
        from rosenblatt.data.frames import rows_of

        return rows_of(X, encoder, features)

    def _to_learn(self, X: Any, model: Model | None) -> Table | None:
        """The same for examples to learn, whose new categories and words become features of the model."""
        encoder = self.__dict__.get("encoder_")
        if model is None or encoder is None:
            return None
        from rosenblatt.data.frames import rows_to_learn

        table = rows_to_learn(X, encoder)
        if table is not None:
            model.add_features(encoder.n_features)
            self.n_features_in_ = model.n_features
        return table

    def _table(self, X: Any, model: Model) -> Table:
        if (encoded := self._encoded(X, model.n_features)) is not None:
            return encoded
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
            Its `features` have the name, value and weight of each feature; printed, it is a table. The parts add up to the score
            exactly.

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
        return self._explain_row(model, self._table_of_one(x, model), 0, label)

    def _explain_row(self, model: Model, table: Table, row: int, label: Any) -> Explanation:
        scores = model.scores(table.some(np.array([row])))
        coef, intercept = model.coef()
        if not model.classes:  # a regression
            features = self._products_of(model, table, row, coef[0])
            return Explanation(None, float(scores[0, 0]), float(intercept[0]), features)
        number = (
            int(predicted_classes(scores, len(model.classes))[0])
            if label is None
            else model.class_number.get(label, -1)
        )
        if number < 0:
            raise ValueError(f"`label` must be one of the classes {model.classes}; got {label!r}. Leave it out.")
        vector, sign = (0, 1.0 if number == 1 else -1.0) if scores.shape[1] == 1 else (number, 1.0)
        return Explanation(
            model.classes[number],
            sign * float(scores[0, vector]) + 0.0,
            sign * float(intercept[vector]) + 0.0,
            self._products_of(model, table, row, sign * coef[vector] + 0.0),
        )

    def _products_of(self, model: Model, table: Table, row: int, coef: Any) -> list[tuple[str, float, float]]:
        """Name, value and weight of each feature of a row, the largest products first."""
        if table.sparse:
            part = slice(int(table.rows.indptr[row]), int(table.rows.indptr[row + 1]))
            columns, values = np.asarray(table.rows.indices[part]), np.asarray(table.rows.values[part])
        else:
            columns = np.flatnonzero(table.rows[row])
            values = table.rows[row][columns]
        weights = coef[columns]
        order = np.argsort(-np.abs(values * weights), kind="stable")
        name = self._namer(model)
        return [(name(int(columns[k])), float(values[k]), float(weights[k])) for k in order]

    def _namer(self, model: Model) -> Callable[[int], str]:
        """A function that gives the name of a feature."""
        if "encoder_" in self.__dict__:
            name: Callable[[int], str] = self.encoder_.feature_name
            return name
        names = None if model.features is None else list(model.features)
        return lambda column: f"column {column}" if names is None else str(names[column])


class Answers(Probabilities, Reading):
    """Probabilities, for `LinearClassifier`."""

    def _scored_labels(self) -> list[Any]:
        labels: list[Any] = self._fitted().classes
        return labels

    def _noted_calibration(self) -> Calibration | None:
        model: Model | None = self.__dict__.get("model_")
        return None if model is None else model.noted_calibration()

    def _stop_noting(self) -> None:
        self._fitted().stop_noting()

    def _observe(self, model: Model, table: Table, labels: list[Any]) -> None:
        """Update the probabilities with examples that will be learned next."""
        known = np.array([label in model.class_number for label in labels])
        width = model.scores(table.some(np.zeros(0, np.int64))).shape[1]
        if table.shape[1] > model.n_features:
            model.add_features(table.shape[1])
        if not self.calibration_.fits(width):  # a third class has come
            self.calibration_ = Calibration.of(width)
        if known.any():
            codes = np.array([model.class_number[label] for label in labels if label in model.class_number], np.int64)
            self.calibration_.observe(model.scores(table.some(np.flatnonzero(known))), codes)
