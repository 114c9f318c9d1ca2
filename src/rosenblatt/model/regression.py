"""The linear model of a real target: one weight vector, whose score is the prediction.

The engine takes one array of int64 for the labels of all rules. For classes it holds their numbers, and for real targets the bits
of a float64, so that the same compiled loops learn both. -1, which means no label, is a NaN.
"""

import math
import struct
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .linear import Floats, Model
from .matrix import Table

Codes = NDArray[np.int64]

_NO_WEIGHT = np.zeros(0)
_NUMBER, _BITS = struct.Struct("d"), struct.Struct("q")


def bits_of(targets: ArrayLike) -> Codes:
    """Real targets as the engine takes them."""
    return np.ascontiguousarray(targets, dtype=np.float64).view(np.int64)


class RealModel(Model):
    """A linear model of a real target.

    Attributes
    ----------
    center, unit : float
        The model learns (target - center) / unit; weights and predictions are those of the target itself.
    spread : float
        The variance of the targets in training; 0 if it is not known.
    """

    center: float = 0.0
    unit: float = 1.0
    spread: float = 0.0

    @property
    def scaled(self) -> bool:
        """Whether the model learns another number than the target itself."""
        return self.center != 0.0 or self.unit != 1.0

    def begin_like(self, other: Model) -> None:
        """Take over the scale of another model, before anything is learned."""
        assert isinstance(other, RealModel)
        self.center, self.unit, self.spread = other.center, other.unit, other.spread

    def scale_by(self, targets: Floats) -> None:
        """Give these targets the mean 0, if there is an intercept, and the deviation 1; before anything is learned."""
        spread = float(np.var(targets)) if targets.size else 0.0
        if 0.0 < spread < math.inf:
            self.center = float(np.mean(targets)) if self.rule.fit_intercept else 0.0
            self.unit, self.spread = math.sqrt(spread), spread

    def add_class(self, *labels: Any) -> None:
        """Refuse classes: there are none."""
        if labels:
            raise ValueError(f"A model of real targets has no classes; got {labels[0]!r}. Use a classifier.")

    # ---- learn ----

    def run(self, table: Table, y: Codes, weight: Floats, order: Codes, on_run: Any = None) -> None:
        """Learn rows of a table in the given order; y holds the bits of the targets."""
        if self.scaled:
            y = bits_of((y.view(np.float64) - self.center) / self.unit)
        super().run(table, y, weight, order, on_run)

    def learn_values(self, table: Table, targets: Floats, weight: Floats = _NO_WEIGHT) -> None:
        """Learn examples in the given order; if one cannot be learned, the model is as it was before the call."""
        undo = self._snapshot(slice(None) if self.memory.spreads else table.touched())
        try:
            self.run(table, bits_of(targets), weight, np.arange(targets.size))
        except BaseException:
            undo()
            raise

    def learn_one(self, x: Any, label: Any, weight: float = 1.0) -> float:
        """Predict one example, then learn it; return the prediction."""
        if not 0.0 <= weight < math.inf:
            raise ValueError(
                f"The weight of an example must be a finite number of at least 0; got {weight!r}. 1 counts it once, 0 ignores it."
            )
        found = self.readout == "last" and not self.scaled and weight > 0.0  # learning computes this score, too
        guess = self.predict_one(x) if self.n_features and not found else self.center
        self.teach(x, label, weight)
        return float(self._state.scores[0]) if found else guess

    def teach(self, x: Any, label: Any, weight: float = 1.0) -> None:
        """Learn one example without predicting it."""
        code = self._code_of(label)
        self._averaged = None
        outcome, added = self._learn_row(x, code, weight)
        self._after_one(outcome, x, added)

    def _code_of(self, target: Any) -> int:
        """The bits of one target, which must be a finite number."""
        try:
            value = float(target)
        except (TypeError, ValueError):
            value = math.nan
        if not math.isfinite(value) or isinstance(target, str):
            raise ValueError(
                f"The target of a regression must be a finite number; got {target!r}. Leave out examples without a target, or "
                "use a classifier for labels."
            )
        if self.scaled:
            value = (value - self.center) / self.unit
        code: int = _BITS.unpack(_NUMBER.pack(value))[0]
        return code

    def start_from(self, coef: NDArray[Any], intercept: NDArray[Any]) -> None:
        """Set the starting weights, which are those of the target itself."""
        super().start_from(coef / self.unit, (intercept - self.center) / self.unit)

    # ---- predict ----

    def last(self) -> tuple[NDArray[Any], Floats]:
        """The last weights of the run, and the bias."""
        return self._in_units(super().last())

    def weights(self) -> tuple[NDArray[Any], Floats]:
        """The weights used for predictions, and the bias."""
        return self.last() if self.readout != "average" else self._in_units(super().weights())

    def _in_units(self, weights: tuple[NDArray[Any], Floats]) -> tuple[NDArray[Any], Floats]:
        w, bias = weights
        return (
            ((w * self.unit).astype(self.dtype, copy=False), bias * self.unit + self.center) if self.scaled else weights
        )

    def parts(self) -> list[tuple[NDArray[Any], Floats, Any, Any]]:
        """Weights, biases, factors and offsets whose scores add up to the prediction."""
        return [(*self.weights(), 1.0, 0.0)] if self.scaled else super().parts()

    def _decide(self, scores: Floats, classes: int) -> float:
        return float(scores[0])

    def predict_one(self, x: Any) -> float:
        """Predict the target of one example; 0 before the first example."""
        return float(self.scores(self._row_table(x))[0, 0])
