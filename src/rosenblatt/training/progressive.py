"""Progressive validation: each example of a stream is predicted first and learned afterwards."""

import dataclasses
import struct
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.engine.entries import score_many, score_two
from rosenblatt.engine.state import BAD_VALUE, DONE
from rosenblatt.model.calibration import Judgement
from rosenblatt.model.linear import Model
from rosenblatt.model.matrix import Table
from rosenblatt.model.records import DictRows
from rosenblatt.model.regression import RealModel
from rosenblatt.model.scores import predicted_class

from .regression import Course

Codes = NDArray[np.int64]


@dataclasses.dataclass
class Progress:
    """Results of progressive validation.

    Attributes
    ----------
    examples, mistakes : int
        Number of examples, and number of wrong (or missing) predictions before learning.
    labels : list
        The classes in order of first appearance, as labels or as predictions.
    judgement : Judgement
        Log loss and calibration of the probabilities; of `rosenblatt stream` only.
    curve : list of tuple
        (examples, mistakes) at 1, 2, 4, 8, … examples and at the end.
    """

    examples: int = 0
    mistakes: int = 0
    labels: list[Any] = dataclasses.field(default_factory=list)
    curve: list[tuple[int, int]] = dataclasses.field(default_factory=list)
    judgement: Judgement = dataclasses.field(default_factory=Judgement, repr=False)
    _pairs: dict[tuple[Any, Any], int] = dataclasses.field(default_factory=dict, repr=False)
    _next: int = dataclasses.field(default=1, repr=False)

    @property
    def accuracy(self) -> float:
        """Share of correct predictions before learning."""
        return 1.0 - self.mistakes / self.examples if self.examples else float("nan")

    @property
    def confusion(self) -> NDArray[np.int64]:
        """Confusion matrix: labels in rows, predictions in columns, in the order of `labels`; without predictions of None."""
        place = {label: number for number, label in enumerate(self.labels)}
        table = np.zeros((len(place), len(place)), np.int64)
        for (truth, guess), count in self._pairs.items():
            if guess is not None:
                table[place[truth], place[guess]] += count
        return table

    def add(self, truth: Any, guess: Any) -> bool:
        """Count an example; return whether the curve gets a point here."""
        pair = (truth, guess)
        if pair not in self._pairs:
            self.labels += [label for label in dict.fromkeys(pair) if label is not None and label not in self.labels]
        self._pairs[pair] = self._pairs.get(pair, 0) + 1
        self.examples += 1
        self.mistakes += guess != truth
        if self.examples < self._next:
            return False
        self._next *= 2
        self.curve.append((self.examples, self.mistakes))
        return True

    def finish(self) -> "Progress":
        """Add the last point of the curve."""
        if self.examples and (not self.curve or self.curve[-1][0] != self.examples):
            self.curve.append((self.examples, self.mistakes))
        return self

    def __str__(self) -> str:
        lines = [f"{'examples':>12}{'mistakes':>12}{'accuracy':>12}"]
        lines += [f"{count:>12,}{wrong:>12,}{1 - wrong / count:>12.2%}" for count, wrong in self.curve]
        return "\n".join(lines)


def progressive(model: Any, stream: Iterable[Any], delay: Any = 0) -> Progress | Course:
    """Predict each example of a stream, then learn it.

    Parameters
    ----------
    model : estimator
        A learner of this library, or any object with `predict_one(x)` and `learn_one(x, y)`. It is trained.
    stream : iterable
        Pairs (x, y) where x is a dict or a 1-D array; or pairs (X, y) of many rows and their labels, as from
        `rosenblatt.stream(path)`. The number of columns of X may grow.
    delay : int, default=0
        Number of further examples that are predicted before the label of an example becomes known.

    Returns
    -------
    Progress
        Accuracy, mistakes, confusion matrix, and the curve at 1, 2, 4, 8, … examples. For a regressor a Course: MAE, RMSE, R²
        and their curve.

    Examples
    --------
    >>> import rosenblatt
    >>> days = [({"rain": 1.0}, "wet"), ({"sun": 1.0}, "dry")] * 10
    >>> result = rosenblatt.progressive(rosenblatt.Perceptron(), days)
    >>> result.mistakes, result.accuracy
    (2, 0.9)
    """
    if isinstance(delay, bool) or not isinstance(delay, int) or delay < 0:
        raise ValueError(
            f"`delay` of progressive must be a whole number of at least 0; got {delay!r}. It is the number of examples "
            "between a prediction and its label."
        )
    waiting = deque[Any]()
    progress: Progress | Course = Course() if _is_regressor(model) else Progress()
    for example in _examples(model, stream):
        if delay == 0:
            progress.add(example.truth, example.learn())
            continue
        progress.add(example.truth, example.predict())
        waiting.append(example)
        if len(waiting) > delay:
            waiting.popleft().learn()
    for example in waiting:
        example.learn()
    progress.finish()
    return progress


def _is_regressor(model: Any) -> bool:
    return issubclass(getattr(model, "_model_class", object), RealModel)


@dataclasses.dataclass(slots=True)
class _Single:
    """One record and its label."""

    model: Any
    x: Any
    truth: Any

    def predict(self) -> Any:
        return self.model.predict_one(self.x)

    def learn(self) -> Any:
        return self.model.learn_one(self.x, self.truth)


@dataclasses.dataclass(slots=True)
class _Row:
    """One row of a table and its label."""

    pupil: "Pupil"
    table: Table
    number: int
    truth: Any

    def predict(self) -> Any:
        return self.pupil.label(self.pupil.predict(self.table, self.number))

    def learn(self) -> Any:
        pupil, classes = self.pupil, self.pupil.model.class_number
        if self.truth in classes:
            return pupil.label(pupil.learn(self.table, self.number, classes[self.truth]))
        guess = self.predict()  # before its class is added
        pupil.model.add_class(self.truth)
        pupil.learn(self.table, self.number, classes[self.truth])
        return guess


class _Value(_Row):
    """One row of a table and its target."""

    def predict(self) -> Any:
        return float(self.pupil.row_scores(self.table, self.number)[0])

    def learn(self) -> Any:
        guess = self.predict()
        self.pupil.learn(self.table, self.number, self.pupil.model._code_of(self.truth))  # type: ignore[attr-defined]
        return guess


def _examples(model: Any, stream: Iterable[Any]) -> Iterator[Any]:
    pupil = None
    for x, y in stream:
        if getattr(x, "ndim", 1) != 2:
            yield _Single(model, x, y)
        elif not hasattr(model, "_rule"):
            rows = x.toarray() if hasattr(x, "toarray") else np.asarray(x)
            yield from (_Single(model, row, label) for row, label in zip(rows, np.asarray(y).tolist(), strict=True))
        else:
            pupil = pupil or Pupil.of(model, x)
            table = Table(x, pupil.model.dtype)
            labels = np.asarray(y).tolist()
            row = _Value if _is_regressor(model) else _Row
            yield from (row(pupil, table, number, label) for number, label in enumerate(labels))


def learn_records(model: Model, xs: Sequence[Any], labels: Sequence[Any], most: float) -> list[Any] | None:
    """Learn many dicts as `learn_one` does, in half the time; return the predictions, or None if nothing was done.

    Nothing is done if a class or a name is new, a value is not a number or larger than `most`, or the readout is not the last
    weights. If an example could not be learned, a ValueError replaces its prediction.
    """
    codes = list(map(model.class_number.get, labels))
    if None in codes or len(model.classes) < 2 or model.readout != "last" or model.dtype != np.float64:
        return None
    try:
        rows = DictRows(xs, model.features or {})
    except (KeyError, OverflowError, struct.error):
        return None
    if not np.abs(rows.values).max(initial=0.0) <= most:
        return None
    numbers, guesses, done = np.array(codes, np.int64), np.empty(len(codes), np.int64), 0
    problems: dict[int, ValueError] = {}
    while True:
        at = rows.values.ctypes.data + 8 * int(rows.counts[:done].sum())
        rest = rows.columns[done:], rows.counts[done:], at, numbers[done:], guesses[done:]
        done += int(model._passes.records(model._address, model._state.w, *rest))
        if done == len(codes):
            break
        outcome = int(guesses[done])
        guesses[done] = predicted_class(model.state.scores)
        try:
            model._after_one(outcome, xs[done], [])
        except ValueError as error:
            problems[done] = error
        done += 1
    predictions: list[Any] = list(map(model.classes.__getitem__, guesses.tolist()))
    for number, problem in problems.items():
        predictions[number] = problem
    return predictions


class Pupil:
    """A core model that learns single rows of tables, in a few microseconds per row."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._table: Table | None = None
        self._order = np.zeros(1, np.int64)
        self.estimator: Any = None

    @classmethod
    def of(cls, estimator: Any, X: Any) -> "Pupil":
        """Make a Pupil of the core model of an estimator, which is created if needed."""
        if not hasattr(estimator, "model_"):
            estimator._check_parameters()
            estimator.model_ = estimator._new_model(X.shape[1], np.float32 if X.dtype == np.float32 else np.float64)
            estimator.n_features_in_ = X.shape[1]
        pupil = cls(estimator.model_)
        pupil.estimator = estimator
        return pupil

    def label(self, number: int) -> Any:
        """The label of a class number; None for -1."""
        return None if number < 0 else self.model.classes[number]

    def _take(self, table: Table) -> None:
        """Switch to another table: add its features, and get the addresses of its rows."""
        if table is self._table:
            return
        self._table = table
        if table.shape[1] > self.model.n_features:
            self.model.add_features(table.shape[1])
            if self.estimator is not None:
                self.estimator.n_features_in_ = table.shape[1]
        self._rows_dtype = table.dtype
        self._rows = table.rows if table.in_place else np.ascontiguousarray(table.rows, table.dtype)
        if table.sparse:
            self._indices = np.ascontiguousarray(table.rows.indices, np.int64)
            self._values = np.ascontiguousarray(table.rows.values, self.model.dtype)
            self._bounds: list[int] = table.rows.indptr.tolist()
            self._addresses = self._indices.ctypes.data, self._values.ctypes.data
        else:
            self._dense = np.ascontiguousarray(table.rows, self.model.dtype)

    def predict(self, table: Table, number: int) -> int:
        """Predict the class number of a row; -1 before the first class."""
        self._take(table)
        classes = len(self.model.classes)
        return classes - 1 if classes < 2 else predicted_class(self.row_scores(table, number))

    def row_scores(self, table: Table, number: int) -> NDArray[np.float64]:
        """The scores of one row, before it is learned."""
        self._take(table)
        model = self.model
        if model.readout in ("vote", "committee"):
            found = model.scores(Table(table.take(np.array([number]))))[0]
        else:
            found = sum(factor * self._score(w, bias, number) + add for w, bias, factor, add in model.parts())
        scores: NDArray[np.float64] = found
        return scores

    def _score(self, w: NDArray[Any], bias: NDArray[np.float64], number: int) -> NDArray[np.float64]:
        """The scores of one row by a direct call of compiled code; making a table would take ten times as long."""
        assert self._table is not None
        out = np.empty((1, bias.size))
        w = w.astype(self._rows_dtype, copy=False)
        self._order[0] = number
        if w.ndim == 1:
            bad = score_two(w, bias, self._rows, self._order, out[:, 0])
        else:
            bad = score_many(w, bias, self._rows, self._order, out)
        if bad >= 0:
            raise ValueError(self._table.describe_bad_row(number))
        scores: NDArray[np.float64] = out[0]
        return scores

    def scores(self, table: Table, rows: Codes) -> NDArray[np.float64]:
        """Scores of some rows. The score of an average is computed from two vectors, without computing the average."""
        model = self.model
        if model.readout in ("vote", "committee"):
            return model.scores(Table(table.take(rows)))
        scores: NDArray[np.float64] = sum(
            factor * model.raw_scores(table, w, bias, rows) + offset for w, bias, factor, offset in model.parts()
        )
        return scores

    def learn(self, table: Table, number: int, code: int, weight: float = 1.0) -> int:
        """Predict a row, then learn it; return the predicted class number."""
        self._take(table)
        model = self.model
        apart = model.readout != "last" or len(model.classes) < 2
        guess = self.predict(table, number) if apart else -1
        arrays = model._address, model._state.w
        if table.sparse:
            start, stop = self._bounds[number], self._bounds[number + 1]
            indices, values = self._addresses
            outcome = model._learn_sparse(
                *arrays, indices + 8 * start, values + model.dtype.itemsize * start, stop - start, code, weight
            )
        else:
            outcome = model._learn_dense(*arrays, self._dense[number], code, weight)
        if outcome >= 0 and not apart:
            return int(outcome)
        model._averaged = None
        if outcome < 0 and not apart:
            guess = predicted_class(model.state.scores)
        if -outcome == BAD_VALUE:
            raise ValueError(model._describe_bad_row(table, number))
        model._attend(max(-outcome, DONE), np.array([number]))
        if model.support is not None:
            model.support.absorb(table)
        return guess
