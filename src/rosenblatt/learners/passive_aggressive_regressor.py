"""Passive-aggressive regression.

Crammer, K., Dekel, O., Keshet, J., Shalev-Shwartz, S. and Singer, Y. (2006). Online Passive-Aggressive Algorithms. JMLR 7,
section 5.

    w = 0
    for each example (x, y):
        loss = max(0, |y - <w, x>| - epsilon)
        tau = loss / ‖x‖²  (PA)    min(C, loss / ‖x‖²)  (PA-I)    loss / (‖x‖² + 1 / (2C))  (PA-II)
        w = w + sign(y - <w, x>) tau x

Loss: if some u has |y - <u, x>| ≤ epsilon on every example, PA has Σ loss² ≤ R² ‖u‖² (its theorem 2 for regression).

Departures: the bias feature is part of ‖x‖², so that a PA step reduces the loss to exactly 0 (scikit-learn leaves it out, so its
step is too long). An example of zeros without bias changes nothing.
"""

import math
from dataclasses import dataclass

from rosenblatt.estimators.parameters import OnlineRegressionParameters, choice, parameter, positive, shared
from rosenblatt.estimators.regression import LinearRegressor


def step(loss: float, sq_norm: float, ceiling: float, softening: float) -> float:
    """Return the smallest step that makes the loss 0, limited by a maximum (PA-I) or by softening (PA-II)."""
    return min(ceiling, loss / (sq_norm + softening))


@dataclass(kw_only=True, eq=False, repr=False)
class PassiveAggressiveRegressor(OnlineRegressionParameters, LinearRegressor, step=step):
    """Passive-aggressive regression: takes the smallest step that brings each prediction to within epsilon of its target.

    {parameters}

    Notes
    -----
    `C` of PA-I and `epsilon` are in the unit of the target: with targets in the thousands, use ``variant="PA-II"``, or scale
    them. ``readout="average"`` is nearly always more accurate than the last weights of the paper.
    """

    C: float = positive(
        1.0,
        "Limit of the steps of PA-I and PA-II; ignored by PA. Smaller values take smaller steps.",
    )
    epsilon: float = parameter(
        0.1,
        "Largest difference between prediction and target that is no error. Larger values change the weights less often.",
        number="float", least=0, below=math.inf,
    )  # fmt: skip
    variant: str = choice(
        "PA-I",
        ["PA", "PA-I", "PA-II"],
        "No limit on the step; at most C; or a soft limit. PA-I and PA-II are better with noisy targets.",
    )
    readout: str = shared("readout")

    def _target(self) -> float:
        return -float(self.epsilon)

    def _params(self) -> tuple[float, ...]:
        ceiling = self.C if self.variant == "PA-I" else math.inf
        softening = 1.0 / (2.0 * self.C) if self.variant == "PA-II" else 0.0
        return float(ceiling), softening
