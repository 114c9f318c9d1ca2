"""Passive-aggressive learning.

Crammer, K., Dekel, O., Keshet, J., Shalev-Shwartz, S. and Singer, Y. (2006). Online Passive-Aggressive Algorithms. JMLR 7.

    w = 0
    for each example (x, y):
        loss = max(0, 1 - y <w, x>)
        tau = loss / ‖x‖²  (PA)    min(C, loss / ‖x‖²)  (PA-I)    loss / (‖x‖² + 1 / (2C))  (PA-II)
        w = w + tau y x

Loss: on data that u separates with y <u, x> ≥ 1, PA has Σ loss² ≤ R² ‖u‖² (its theorem 2), which also bounds the number of
mistakes.

Departures: the bias feature is part of ‖x‖², so that a PA step reduces the loss to exactly 0; for many classes ‖x‖² is the change
of the margin over the top rival by a unit step, 2‖x‖² with ``multiclass="max"``. An example of zeros without bias changes
nothing.
"""

import math
from dataclasses import dataclass

from rosenblatt.estimators.base import LinearClassifier
from rosenblatt.estimators.parameters import OnlineParameters, PenaltyParameters, choice, positive


def step(margin: float, sq_norm: float, ceiling: float, softening: float) -> float:
    """Return the smallest step that makes the loss 0, limited by a maximum (PA-I) or by softening (PA-II)."""
    return min(ceiling, max(0.0, 1.0 - margin) / (sq_norm + softening))


@dataclass(kw_only=True, eq=False, repr=False)
class PassiveAggressive(PenaltyParameters, OnlineParameters, LinearClassifier, step=step, target=1.0):
    """Passive-aggressive learner: takes the smallest step that gives each example a margin of 1.

    {parameters}
    """

    C: float = positive(
        1.0,
        "Limit of the steps of PA-I and PA-II; ignored by PA. Smaller values take smaller steps.",
    )
    variant: str = choice(
        "PA-I",
        ["PA", "PA-I", "PA-II"],
        "No limit on the step; at most C; or a soft limit. PA-I and PA-II are better with noisy labels.",
    )
    readout: str = choice(
        "last",
        ["last", "average"],
        "Predict with the last weights, as in the paper, or with the mean of all weights, which is nearly always more accurate: "
        "the page of this learner has measurements.",
    )

    def _params(self) -> tuple[float, ...]:
        ceiling = self.C if self.variant == "PA-I" else math.inf
        softening = 1.0 / (2.0 * self.C) if self.variant == "PA-II" else 0.0
        return float(ceiling), softening
