"""Passive-aggressive learning.

Crammer, K., Dekel, O., Keshet, J., Shalev-Shwartz, S. and Singer, Y. (2006). Online Passive-Aggressive Algorithms. JMLR 7.

    w = 0
    for each example (x, y):
        loss = max(0, 1 - y <w, x>)
        tau = loss / ‖x‖²  (PA)    min(C, loss / ‖x‖²)  (PA-I)    loss / (‖x‖² + 1 / (2C))  (PA-II)
        w = w + tau y x

Loss: on data that u separates with y <u, x> ≥ 1, PA has Σ loss² ≤ R² ‖u‖² (its theorem 2), hence at most so many mistakes.

Departures: the bias feature is part of ‖x‖², so that a PA step brings the loss to exactly 0; for many classes ‖x‖² is what a unit
step adds to the margin over the top rival, 2‖x‖² with ``multiclass="max"``. An example of zeros without a bias changes nothing.
"""

import math
from dataclasses import dataclass

from rosenblatt.estimators.base import LinearClassifier
from rosenblatt.estimators.parameters import OnlineParameters, choice, positive, shared


def step(margin: float, sq_norm: float, ceiling: float, softening: float) -> float:
    """The smallest step that leaves no loss, held back by a ceiling (PA-I) or by softening (PA-II)."""
    return min(ceiling, max(0.0, 1.0 - margin) / (sq_norm + softening))


@dataclass(kw_only=True, eq=False, repr=False)
class PassiveAggressive(OnlineParameters, LinearClassifier, step=step, target=1.0):
    """Passive while an example is right by a margin of 1, aggressive otherwise: the smallest step that makes it so.

    {parameters}
    """

    C: float = positive(
        1.0,
        "How aggressive PA-I and PA-II may be; PA ignores it. Smaller values update more cautiously.",
    )
    variant: str = choice(
        "PA-I",
        ["PA", "PA-I", "PA-II"],
        "No limit on the step; a ceiling of C; a softer limit. With noisy labels one of the last two is the better choice.",
    )
    readout: str = shared("readout")

    def _params(self) -> tuple[float, ...]:
        ceiling = self.C if self.variant == "PA-I" else math.inf
        softening = 1.0 / (2.0 * self.C) if self.variant == "PA-II" else 0.0
        return float(ceiling), softening
