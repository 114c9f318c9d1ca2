"""Evaluation of predicted numbers: mean absolute error, root mean squared error, R², and what constants would give."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclasses.dataclass
class Errors:
    """The errors of predicted numbers.

    Attributes
    ----------
    targets, predictions : array
        The true and the predicted number of each example.
    unlabelled : int
        Number of examples without a target; they are ignored.
    unseen : dict
        Categories that the model does not know, by column, with their numbers.
    """

    targets: Floats
    predictions: Floats
    unlabelled: int = 0
    unseen: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def examples(self) -> int:
        """Number of examples with a target."""
        return int(self.targets.size)

    @property
    def mae(self) -> float:
        """Mean absolute error."""
        return float(np.abs(self.targets - self.predictions).mean())

    @property
    def rmse(self) -> float:
        """Root of the mean squared error."""
        return math.sqrt(float(np.square(self.targets - self.predictions).mean()))

    @property
    def mean_rmse(self) -> float:
        """The RMSE of always predicting the mean of these targets, the smallest of a constant."""
        return float(self.targets.std())

    @property
    def median_mae(self) -> float:
        """The MAE of always predicting the median of these targets, the smallest of a constant."""
        return float(np.abs(self.targets - np.median(self.targets)).mean())

    @property
    def r2(self) -> float | None:
        """The share of the variance of the targets that the predictions explain; None if all targets are equal."""
        spread = float(self.targets.var())
        return 1.0 - self.rmse**2 / spread if spread else None

    def to_json(self) -> dict[str, Any]:
        """The results as JSON-compatible values."""
        facts = {name: getattr(self, name) for name in ("r2", "rmse", "mae", "mean_rmse", "median_mae", "examples")}
        if self.unseen:
            facts["unseen"] = {column: dict(values.most_common(100)) for column, values in self.unseen.items()}
        return {**facts, "unlabelled": self.unlabelled} if self.unlabelled else facts

    def to_text(self) -> str:
        """The results as readable text."""
        share = "not defined, because all targets are equal" if self.r2 is None else f"{self.r2:.4f}"
        lines = [
            f"R²         {share}",
            f"RMSE       {self.rmse:.6g}, where the mean of the targets would give {self.mean_rmse:.6g}",
            f"MAE        {self.mae:.6g}, where the median of the targets would give {self.median_mae:.6g}",
            f"examples   {self.examples:,}",
        ]
        if self.unlabelled:
            lines.append(f"unlabelled {self.unlabelled:,}, left out")
        return "\n".join(lines)


def evaluate_targets(
    estimator: Any, stream: Any, on_batch: Any = None, chosen: Callable[[int, int], Any] | None = None
) -> Errors:
    """Predict a stream with real targets and compare. `chosen` is as in `evaluate_stream`."""
    model, first, unlabelled = estimator.model_, 0, 0
    targets: list[Floats] = [np.zeros(0)]
    predictions: list[Floats] = [np.zeros(0)]
    for batch in stream:
        truth = batch.codes.view(np.float64)
        wanted = np.ones(batch.size, bool) if chosen is None else chosen(first, batch.size)
        known = ~np.isnan(truth)
        first += batch.size
        unlabelled += int((wanted & ~known).sum())
        rows = np.flatnonzero(wanted & known)
        targets.append(truth[rows])
        predictions.append(model.scores(batch.table(model.n_features).some(rows))[:, 0])
        if on_batch is not None:
            on_batch()
    return Errors(np.concatenate(targets), np.concatenate(predictions), unlabelled, getattr(stream, "unseen", {}))


@dataclasses.dataclass
class Course:
    """The errors of predictions that were made before learning, with running totals at 1, 2, 4, 8, … examples.

    Attributes
    ----------
    examples : int
        Number of examples.
    absolute, squared : float
        The sums of absolute and of squared errors.
    curve : list of tuple
        (examples, MAE, RMSE) at 1, 2, 4, 8, … examples and at the end.
    """

    examples: int = 0
    absolute: float = 0.0
    squared: float = 0.0
    curve: list[tuple[int, float, float]] = dataclasses.field(default_factory=list)
    _mean: float = dataclasses.field(default=0.0, repr=False)
    _spread: float = dataclasses.field(default=0.0, repr=False)

    @property
    def mae(self) -> float:
        """Mean absolute error."""
        return self.absolute / max(1, self.examples)

    @property
    def rmse(self) -> float:
        """Root of the mean squared error."""
        return math.sqrt(self.squared / max(1, self.examples))

    @property
    def r2(self) -> float | None:
        """1 - the sum of squared errors / that of the differences to the mean of all targets; None if they are equal."""
        return 1.0 - self.squared / self._spread if self._spread else None

    def add(self, truth: float, guess: float) -> bool:
        """Count an example; return whether the curve gets a point here."""
        self.examples += 1
        self.absolute += abs(truth - guess)
        self.squared += (truth - guess) ** 2
        before = truth - self._mean
        self._mean += before / self.examples
        self._spread += before * (truth - self._mean)
        if self.examples & (self.examples - 1):
            return False
        self._point()
        return True

    def _point(self) -> None:
        self.curve.append((self.examples, self.mae, self.rmse))

    def finish(self) -> bool:
        """Add the last point of the curve; return whether it is a new one."""
        new = bool(self.examples) and self.curve[-1][0] != self.examples
        if new:
            self._point()
        return new

    def __str__(self) -> str:
        lines = [f"{'examples':>12}{'MAE':>14}{'RMSE':>14}"]
        lines += [f"{count:>12,}{mae:>14.6g}{rmse:>14.6g}" for count, mae, rmse in self.curve]
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """The results as JSON-compatible values."""
        return {
            "r2": self.r2, "rmse": self.rmse, "mae": self.mae, "examples": self.examples,
            "curve": [{"examples": count, "mae": mae, "rmse": rmse} for count, mae, rmse in self.curve],
        }  # fmt: skip
