"""`MultiLabel`: examples that have any number of labels, with one binary learner for each label."""

import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rosenblatt.model.calibration import Calibration
from rosenblatt.model.linear import Model
from rosenblatt.model.matrix import Table
from rosenblatt.model.scores import sorting
from rosenblatt.training.loop import Block

from .answers import Explanation, Reading
from .base import LinearClassifier, as_before_on_failure
from .bases import bases

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator, ClassifierMixin
else:
    ClassifierMixin, BaseEstimator = bases()

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclasses.dataclass(eq=False, repr=False)
class MultiLabel(Reading, ClassifierMixin, BaseEstimator):
    """Classifier of examples with any number of labels: one binary learner for each label, which says whether an example has it.

    Parameters
    ----------
    learner : estimator, default=None
        The learner of each label: a classifier of this library with the parameters that all labels get. None:
        ``PassiveAggressive(readout="average")``.

    Notes
    -----
    The labels of the examples are an indicator matrix as in scikit-learn, with a column for each label (`classes_` then has the
    numbers of the columns), or a list with a list, tuple or set of labels for each example. Predictions have the same form: an
    indicator matrix, or a list of tuples. On a stream a new label takes part from its first example on.

    Examples
    --------
    >>> from rosenblatt import MultiLabel
    >>> X = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0]]
    >>> model = MultiLabel().fit(X, [["news"], ["sport"], ["news", "sport"], []])
    >>> model.predict([[2.0, 2.0], [2.0, -1.0]])
    [('news', 'sport'), ('news',)]
    """

    learner: Any = None

    # ---- learn ----

    def fit(self, X: ArrayLike, Y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from all examples, in several epochs.

        Parameters
        ----------
        X : array, frame or CSR matrix of shape (n_examples, n_features)
            The examples.
        Y : array of shape (n_examples, n_labels), or list of lists
            Their labels: 0 or 1 for each label, or the labels of each example.
        sample_weight : array of shape (n_examples,), default=None
            Weight of each example.

        Returns
        -------
        self
        """
        with as_before_on_failure(self):
            learner = self._learner()
            X, table = self._checked(X, Y, reset=True)
            weight = learner._weights(sample_weight, X, None)
            labels, member = _members(Y, len(table))
            self._set_form(Y)
            self.__dict__.pop("calibrations_", None)  # they were for the scores of earlier weights
            self._fit_table(table, member, labels, weight)
        return self

    def _fit_table(
        self, table: Table, member: Codes, labels: list[Any], weight: Floats, rows: Codes | None = None
    ) -> None:
        """Learn some rows of a table, or all; `member` says which labels they have."""
        learner, kept = self._learner(), table if rows is None else table.some(rows)
        if rows is not None:
            member, weight = member[rows], weight[rows] if weight.size else weight
        self.models_ = []
        for k in range(len(labels)):
            model = self._new_model(learner, kept.shape[1], kept.dtype)
            learner._run(model, Block(kept, member[:, k].copy(), weight, whole=True))
            self.models_.append(model)
        self._labels, self.n_features_in_ = labels, kept.shape[1]
        if rows is not None:
            self._indicator = False

    def partial_fit(self, X: ArrayLike, Y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the examples once, in the given order.

        Parameters
        ----------
        X : array, frame or CSR matrix of shape (n_examples, n_features)
            The examples.
        Y : array of shape (n_examples, n_labels), or list of lists
            Their labels. A new label has not been seen before its first example; an indicator matrix always has the same columns.
        sample_weight : array of shape (n_examples,), default=None
            Weight of each example.

        Returns
        -------
        self
        """
        with as_before_on_failure(self):
            learner, first = self._learner(), not hasattr(self, "models_")
            table = None if first or not self.models_ else self._to_learn(X, self.models_[0])
            if table is None:
                table = self._checked(X, Y, reset=first)[1]
            for model in [] if first else self.models_:
                model.add_features(table.shape[1])
            weight = learner._weights(sample_weight, np.zeros(len(table)), None)
            if first:
                self._set_form(Y)
                self.models_, self._labels = [], []
            self._check_form(Y)
            labels, member = _members(Y, len(table), self._labels)
            undo = [model._snapshot(slice(None)) for model in self.models_]
            known = len(self._labels)
            try:
                self.models_ = list(self.models_)
                for k in range(len(labels)):
                    start = 0
                    if k >= known:  # a new label takes part from its first example on
                        self.models_.append(self._new_pupil(learner, table.shape[1], table.dtype))
                        start = int(np.argmax(member[:, k])) if not self._indicator else 0
                    self.models_[k].run(table, member[:, k].copy(), weight, np.arange(start, len(table)))
            except BaseException:
                for back in undo:
                    back()
                raise
            self._labels = labels
        return self

    def learn_one(self, x: Any, y: Iterable[Any]) -> tuple[Any, ...]:
        """Predict the labels of one example, then learn it.

        Parameters
        ----------
        x : dict or 1-D array
            Features by name (new names may appear at any time), or all features in order.
        y : collection of labels
            The true labels; new ones are added.

        Returns
        -------
        tuple
            The labels predicted before learning, in sorted order.
        """
        wanted = _labels_of(y)
        if not hasattr(self, "models_"):
            self.models_, self._labels, self._indicator = [], [], False
        self._check_form([wanted])
        if "encoder_" in self.__dict__ and isinstance(x, Mapping | str):
            known, one = self.predict_one(x), list[Any]([x])
            self.partial_fit(one, [wanted])
            return known
        learner, guess = self._learner(), self.predict_one(x)
        fresh = [label for label in wanted if label not in self._labels]
        models = [*self.models_, *(self._new_pupil(learner, None, np.float64) for _ in fresh)]
        undo = [model._snapshot(slice(None)) for model in models]
        try:
            for label, model in zip([*self._labels, *fresh], models, strict=True):
                model.teach(x, label in wanted)
        except BaseException:
            for back in undo:
                back()
            raise
        self.models_, self._labels = models, [*self._labels, *fresh]
        if models:
            self.n_features_in_ = max(model.n_features for model in models)
        return guess

    # ---- predict ----

    def decision_function(self, X: ArrayLike) -> Floats:
        """One score for each example and label of `classes_`: greater than 0 if the example has the label."""
        scores = self._raw_scores(self._rows(X))
        order = sorting(self._labels)
        return scores if order is None else scores[:, order]

    def _raw_scores(self, table: Table) -> Floats:
        """Scores in the order of arrival of the labels."""
        return np.column_stack([model.scores(table)[:, 0] for model in self.models_])

    def _rows(self, X: Any) -> Table:
        encoded = self._encoded(X, getattr(self, "n_features_in_", 0))
        return self._checked(X, None, reset=False)[1] if encoded is None else encoded

    def _scores_of_one(self, x: Any) -> Floats:
        """The scores of one example in the order of arrival of the labels."""
        encoded = self._encoded([x], self.n_features_in_) if isinstance(x, Mapping | str) else None
        if encoded is not None:
            return self._raw_scores(encoded)
        return np.array([[model.scores(model._row_table(x))[0, 0] for model in self.models_]])

    def predict(self, X: ArrayLike) -> Any:
        """Predict the labels of each example in the form in which they were given, an indicator matrix or a list of tuples."""
        member = self.decision_function(X) > 0.0
        if self._indicator:
            return member.astype(np.int64)
        labels = sorted(self._labels)
        return [tuple(label for label, has in zip(labels, row, strict=True) if has) for row in member.tolist()]

    def predict_one(self, x: Any) -> tuple[Any, ...]:
        """Predict the labels of one example, a dict or a 1-D array, in sorted order."""
        if not getattr(self, "models_", None):
            return ()
        scores = self._scores_of_one(x)[0].tolist()
        return tuple(sorted(label for label, score in zip(self._labels, scores, strict=True) if score > 0.0))

    # ---- probabilities and reasons ----

    def calibrate(self, X: ArrayLike, Y: Any) -> Self:
        """Learn to give probabilities, from examples that the model has not learned.

        Needed after `fit` only: `partial_fit` and `learn_one` note the scores that they find before they learn, and
        `rosenblatt train` sets examples aside. Weights and predictions stay the same.

        Parameters
        ----------
        X : array, frame or CSR matrix of shape (n_examples, n_features)
            The examples.
        Y : array of shape (n_examples, n_labels), or list of lists
            Their labels.

        Returns
        -------
        self
        """
        scores = self._raw_scores(self._rows(X))
        self._check_form(Y)
        self._calibrate(scores, _members(Y, len(scores), self._labels)[1])
        return self

    def _calibrate(self, scores: Floats, member: Codes) -> None:
        """Learn the probabilities from scores of examples that were not learned, and the labels that they have."""
        self.calibrations_ = [Calibration.of(1).fit(column[:, None], has) for column, has in zip(scores.T, member.T)]
        for model in self.models_:
            model.stop_noting()

    def _known_calibrations(self, name: str) -> list[Calibration]:
        known: list[Any] | None = self.__dict__.get("calibrations_")
        if known is None:
            known = [model.noted_calibration() for model in self.__dict__.get("models_", [])]
        if not known or None in known:
            raise AttributeError(
                f"{type(self).__name__} has `{name}` after `partial_fit` or `learn_one`, after `calibrate(X, Y)` with examples "
                "that it has not learned, or if it was trained with `rosenblatt train`"
            )
        fresh = [Calibration.of(1) for _ in range(len(self._labels) - len(known))]  # labels that came after `calibrate`
        return [*known, *fresh]

    @property
    def predict_proba(self) -> Callable[[Any], Floats]:
        """The probability of each label of `classes_`, for each example; each for itself, so a row need not sum to 1."""
        self._known_calibrations("predict_proba")
        return self._probabilities

    @property
    def predict_proba_one(self) -> Callable[[Any], dict[Any, float]]:
        """The probability of each label for one example, as a dict."""
        self._known_calibrations("predict_proba_one")
        return lambda x: dict(zip(sorted(self._labels), self._odds(self._scores_of_one(x))[0].tolist(), strict=True))

    def _probabilities(self, X: Any) -> Floats:
        return self._odds(self._raw_scores(self._rows(X)))

    def _odds(self, scores: Floats) -> Floats:
        """Probabilities in the order of `classes_`, from scores in the order of arrival."""
        known = self._known_calibrations("predict_proba")
        odds = np.column_stack([one.probabilities(scores[:, [k]])[:, 1] for k, one in enumerate(known)])
        order = sorting(self._labels)
        return odds if order is None else odds[:, order]

    def explain(self, x: Any, label: Any = None) -> Explanation:
        """The features that make up the score of one label for one example.

        Parameters
        ----------
        x : dict or 1-D array
            The example; for a model of `rosenblatt train`, a record of its table.
        label : label, default=None
            The label, one of `classes_`; the one with the highest score by default. The example has it if the score is greater
            than 0.

        Returns
        -------
        Explanation
            Its `features` have the name, value and weight of each feature; printed, it is a table. The parts add up to the score
            exactly.
        """
        known: list[Any] = self.__dict__.get("_labels", [])
        if label is None and known:
            label = known[int(self._scores_of_one(x)[0].argmax())]
        if label not in known:
            raise ValueError(f"`label` must be one of the labels {sorted(known)}; got {label!r}. Check the spelling.")
        model = self.models_[known.index(label)]
        if model.readout == "vote":
            raise ValueError(
                "A MultiLabel of voted perceptrons predicts by votes, which are no sum over features; got explain. Use a learner "
                "with one weight for each feature, such as AveragedPerceptron."
            )
        encoded = self._encoded([x], self.n_features_in_) if isinstance(x, Mapping | str) else None
        found = self._explain_row(model, model._row_table(x) if encoded is None else encoded, 0, True)
        return dataclasses.replace(found, label=label)

    def score(self, X: ArrayLike, Y: Any, sample_weight: ArrayLike | None = None) -> float:
        """The subset accuracy: the share of examples with exactly the right labels."""
        scores = self.decision_function(X)
        self._check_form(Y)
        known = len(self._labels)
        _, member = _members(Y, len(scores), self._labels)
        truth = member[:, sorting(self._labels) or range(known)].astype(bool)
        right = (truth == (scores > 0.0)).all(axis=1) & ~member[:, known:].any(axis=1)
        return float(
            np.average(right, weights=None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64))
        )

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels in sorted order; for an indicator matrix the numbers of its columns."""
        if not hasattr(self, "models_"):
            raise AttributeError(f"{type(self).__name__} has no attribute `classes_` before it is fitted")
        return np.array(sorted(self._labels))

    def save(self, path: Any) -> None:
        """Write the model to a file, which `rosenblatt.load` reads."""
        from rosenblatt.model_file import save

        save(self, path)

    # ---- checks ----

    def _learner(self) -> LinearClassifier:
        """The learner of each label, with checked parameters."""
        if self.learner is None:
            from importlib import import_module

            found: Any = import_module("rosenblatt.learners.passive_aggressive").PassiveAggressive(readout="average")
        else:
            found = self.learner
        if not isinstance(found, LinearClassifier) or getattr(type(found), "partial_fit", None) is None:
            raise ValueError(
                f"`learner` of MultiLabel must be a classifier of this library that learns example by example; got {found!r}. "
                "Use for instance AveragedPerceptron()."
            )
        found._check_parameters()
        if found.class_weight is not None:
            raise ValueError(
                f"class_weight of the learner of MultiLabel must be None, because its classes are True and False; got "
                f"{found.class_weight!r}. Use sample_weight."
            )
        return found

    @staticmethod
    def _new_model(learner: LinearClassifier, features: int | None, dtype: Any) -> Model:
        model = learner._new_model(features, dtype)
        model.add_class(False, True)
        learner._check_can_move(model)
        return model

    def _new_pupil(self, learner: LinearClassifier, features: int | None, dtype: Any) -> Model:
        """A model that learns from a stream."""
        model = self._new_model(learner, features, dtype)
        if "calibrations_" not in self.__dict__:
            model.note_scores()
        return model

    def _checked(self, X: Any, Y: Any, reset: bool) -> tuple[Any, Table]:
        from sklearn.utils.validation import check_is_fitted, validate_data

        if Y is None:
            check_is_fitted(self, "models_")
        X = validate_data(
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False, reset=reset
        )
        models = getattr(self, "models_", None)
        return X, Table(X, models[0].dtype if models and not reset else None)

    def _set_form(self, Y: Any) -> None:
        self._indicator = _is_indicator(Y)

    def _check_form(self, Y: Any) -> None:
        if _is_indicator(Y) != self._indicator:
            forms = ["lists of labels", "an indicator matrix"]
            raise ValueError(
                f"The labels must be given as in the first call, as {forms[self._indicator]}; got {forms[not self._indicator]}. "
                "Convert them, for instance with scikit-learn's MultiLabelBinarizer."
            )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "models_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.single_output, tags.target_tags.multi_output = False, True
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.multi_class = False
        return tags


def _is_indicator(Y: Any) -> bool:
    """Whether labels are an indicator matrix and no list of collections."""
    return hasattr(Y, "tocsr") or (hasattr(Y, "shape") and getattr(Y.dtype, "kind", "O") != "O")


def _labels_of(y: Any) -> list[Any]:
    """The distinct labels of one example."""
    if isinstance(y, str) or not isinstance(y, Collection):
        raise ValueError(
            f"The labels of an example must be a list, tuple or set of labels; got {y!r}. Put a single label into a list."
        )
    return list(dict.fromkeys(y))


def _members(Y: Any, examples: int, known: Collection[Any] = ()) -> tuple[list[Any], Codes]:
    """The labels, known ones first, and whether each example has each of them."""
    if _is_indicator(Y):
        matrix = np.asarray(Y.toarray() if hasattr(Y, "toarray") else Y)
        width = len(known) or (matrix.shape[1] if matrix.ndim == 2 else 0)
        if matrix.ndim != 2 or matrix.shape != (examples, width) or not width or not np.isin(matrix, (0, 1)).all():
            raise ValueError(
                f"The labels must be a matrix of 0 and 1 with a row for each of the {examples} examples and "
                f"{f'{width} columns' if known else 'a column for each label'}; got the shape {matrix.shape}"
                f"{'' if matrix.ndim != 2 or np.isin(matrix, (0, 1)).all() else ' with other values'}. Convert them with "
                "scikit-learn's MultiLabelBinarizer, or give a list of the labels of each example."
            )
        return list(range(width)), matrix.astype(np.int64)
    rows = [_labels_of(y) for y in Y]
    if len(rows) != examples:
        raise ValueError(
            f"There must be labels for each of the {examples} examples; got those of {len(rows)}. Check X and Y."
        )
    arrived = dict.fromkeys(label for row in rows for label in row)
    new = [label for label in arrived if label not in known]
    labels = [*known, *(new if known else sorted(new))]
    if not labels:
        raise ValueError("At least one example must have a label; got none. Check Y.")
    place = {label: k for k, label in enumerate(labels)}
    member = np.zeros((examples, len(labels)), np.int64)
    for i, row in enumerate(rows):
        member[i, [place[label] for label in row]] = 1
    return labels, member
