"""Recorders of a training run: `fit` of the learner runs, and its model gets the examples one at a time."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.engine.state import since
from rosenblatt.estimators.base import LinearClassifier
from rosenblatt.model.committee import Committee
from rosenblatt.model.linear import Model
from rosenblatt.model.matrix import Table
from rosenblatt.model.scores import wrong
from rosenblatt.training.schedule import VisitingOrder

from .proof import Proof
from .sampling import Sample
from .steps import Comparator, Floats, Step, Survivor

Codes = NDArray[np.int64]


class Recorder:
    """Recorder of all steps of one `fit`.

    Parameters
    ----------
    sample : Sample
        Collects the steps.
    comparator : Comparator or None
        The separator of the squeeze; None if the rule has no such proof.
    rate, threshold : float
        The rule moves by `rate` if y·s ≤ `threshold`.
    pocket : bool, default=False
        Whether to record the pocket.

    Attributes
    ----------
    order : VisitingOrder or None
        The order of the rows whose weight is not 0, if there are others. `fit` draws the order of all rows, so that the rows
        that stand for missing classes would change that of the examples.
    """

    def __init__(
        self, sample: Sample, comparator: Comparator | None, rate: float, threshold: float, pocket: bool = False
    ) -> None:
        self.order: VisitingOrder | None = None
        self.sample = sample
        self.comparator = comparator
        self.rate, self.threshold = rate, threshold
        self.proof: Proof | None = None
        self.start: Floats | None = None
        self.epoch = 0
        self.survivors: list[Survivor] = []
        self._weights: Floats = np.zeros((1, 0))
        self._updates = 0
        self._survived = 0.0
        self._pocket: float | None = math.inf if pocket else None
        self._held: Floats | None = None

    def watch(self, estimator: LinearClassifier, fit: Callable[[], Any]) -> None:
        """Run `fit` with a model that passes its examples to this recorder."""
        make = estimator._new_model

        def new_model(n_features: int | None, dtype: Any) -> Model:
            model = make(n_features, dtype)
            plain = model.run

            def run(table: Table, y: Codes, weight: Floats, order: Codes, on_run: Any = None) -> None:
                self._begin(model, table, y, weight)
                if self.order is not None:
                    order = self.order.whole(np.flatnonzero(weight), self.epoch)
                self.epoch += 1
                self._pass(model, plain, table, y, weight, order, on_run)

            setattr(model, "run", run)  # noqa: B010 (mypy: methods are not assigned to)
            return model

        setattr(estimator, "_new_model", new_model)  # noqa: B010
        # A trace has one step for each example, with the scores of all classes.
        setattr(estimator, "_is_one_vs_rest", lambda model: False)  # noqa: B010
        try:
            fit()
        finally:
            del estimator.__dict__["_new_model"], estimator.__dict__["_is_one_vs_rest"]
        del estimator.model_.__dict__["run"]
        self._end(estimator.model_)

    def updates(self, estimator: LinearClassifier) -> int:
        """The number of times that the weights changed."""
        return int(estimator.updates_)

    def _begin(self, model: Model, table: Table, y: Codes, weight: Floats) -> None:
        """Make the model log its updates, and store the starting weights."""
        state = model.state
        if not state.log_rows.size:
            vectors = model.vectors
            model.state = state._replace(
                log_rows=np.zeros(2, np.int64), log_ages=np.zeros(2), log_steps=np.zeros((2, vectors))
            )
        if self.start is None:
            self.start = self._weights = weights_of(model)
            if self.comparator is not None:
                self.proof = Proof(self.comparator, self.start, self.rate, self.threshold)
            self._check_pocket(model, table, y, weight)

    def _pass(
        self, model: Model, plain: Any, table: Table, y: Codes, weight: Floats, order: Codes, on_run: Any
    ) -> None:
        def run_reached() -> None:
            self._check_pocket(model, table, y, weight)
            on_run()

        for t in range(order.size):
            one = order[t : t + 1]
            if weight.size and weight[one[0]] == 0.0:
                continue
            counts = model.state.counters.copy()
            plain(table, y, weight, one, None if on_run is None else run_reached)
            made = since(model.state.counters, counts)
            x = example(table, int(one[0]), model.rule.fit_intercept)
            moves = model.state.log_steps[0].copy() if made.updates else np.zeros(model.vectors)
            if made.updates and model.memory.arrays:
                moves = None  # not a multiple of the example: rules that shrink w or keep variances log nothing
            self._record(model, int(one[0]), int(y[one[0]]), x, moves, not made.mistakes)

    def _record(self, model: Model, row: int, true: int, x: Floats, moves: Floats | None, correct: bool) -> None:
        before, decided = self._weights, model.state.scores.copy()
        scores = model.memory.arrays["own"].copy() if isinstance(model, Committee) else decided
        if moves is None or moves.any():
            self._updates += 1
            self._weights = weights_of(model)
            self._survive(model, before)
        self._survived += 1.0
        self.sample.add(
            Step(
                number=self.sample.total + 1,
                epoch=self.epoch,
                example=row + 1,
                x=x,
                label=model.classes[true],
                predicted=model._decide(decided, len(model.classes)),
                scores=scores,
                correct=correct,
                before=before,
                after=self._weights,
                moves=moves,
                update=(self._weights - before if moves is None else moves[:, None] * x) + 0.0,  # no -0
                squeeze=None if self.proof is None else self.proof.squeeze(self._updates, self._weights),
                average=readout_of(model) if model.readout == "average" else None,
                survived=self._survived if model.readout == "vote" else None,
                pocket=self._pocket,
                held=self._held,
            )
        )

    def _survive(self, model: Model, weights: Floats) -> None:
        """End the run of these weights; the example that ended it counts for the next weights."""
        if model.readout == "vote" and self._survived > 0:
            self.survivors.append(Survivor(weights, self._survived))
        self._survived = 0.0

    def _check_pocket(self, model: Model, table: Table, y: Codes, weight: Floats) -> None:
        """Count the mistakes on the whole set if the run of correct predictions is long enough, as the pocket algorithm does."""
        if self._pocket is not None:
            missed = wrong(model.raw_scores(table, *model.last()), y, model.rule.on_zero)
            mistakes = float(weight[missed].sum() if weight.size else missed.sum())
            if mistakes < self._pocket:
                self._pocket, self._held = mistakes, self._weights

    def _end(self, model: Model) -> None:
        """Record the number of examples that the last weight vector survived."""
        self._survive(model, self._weights)


class BatchRecorder(Recorder):
    """Recorder of one step for each epoch: the misclassified examples and their sum."""

    _open: tuple[Floats, tuple[int, ...]] | None = None

    def updates(self, estimator: LinearClassifier) -> int:
        """The number of passes with a step: all mistakes of a pass are one update."""
        return self._updates

    def _pass(
        self, model: Model, plain: Any, table: Table, y: Codes, weight: Floats, order: Codes, on_run: Any
    ) -> None:
        self._close(model)
        missed: list[int] = []
        for t in range(order.size):
            before = int(model.state.counters.mistakes)
            plain(table, y, weight, order[t : t + 1])
            if int(model.state.counters.mistakes) > before:
                missed.append(int(order[t]) + 1)
        self._open = self._weights, tuple(missed)

    def _close(self, model: Model) -> None:
        """Record the step of the last pass, after the weights have changed."""
        if self._open is None:
            return
        before, missed = self._open
        self._open, self._weights = None, weights_of(model)
        self._updates += bool((self._weights != before).any())
        self.sample.add(
            Step(
                number=self.sample.total + 1,
                epoch=self.sample.total + 1,
                example=None,
                x=None,
                label=None,
                predicted=None,
                scores=None,
                correct=not missed,
                before=before,
                after=self._weights,
                moves=None,
                update=self._weights - before,
                mistakes=missed,
            )
        )

    def _end(self, model: Model) -> None:
        self._close(model)


def weights_of(model: Model) -> Floats:
    """The current weights, one row for each weight vector, the bias first."""
    return _stacked(model, *model.last())


def readout_of(model: Model) -> Floats:
    """The weights used for predictions, in the same shape."""
    return _stacked(model, *model.weights())


def _stacked(model: Model, w: NDArray[Any], bias: Floats) -> Floats:
    w = w[: model.n_features]
    rows = w[None, :] if w.ndim == 1 else w[:, : model.vectors].T
    return np.hstack([bias[:, None], rows] if model.rule.fit_intercept else [rows]).astype(np.float64)


def example(table: Table, row: int, fit_intercept: bool) -> Floats:
    """One example as an array, the bias feature first."""
    x = table.take(np.array([row]))
    x = np.asarray(x.toarray() if table.sparse else x, dtype=np.float64).ravel()
    return np.concatenate([[1.0], x]) if fit_intercept else x
