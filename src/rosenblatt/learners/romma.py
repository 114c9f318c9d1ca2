"""ROMMA: the relaxed online maximum margin algorithm.

Li, Y. and Long, P. M. (2002). The Relaxed Online Maximum Margin Algorithm. Machine Learning 46.

    w = 0
    for each example (x, y):
        if y <w, x> <= 0 (ROMMA) or y <w, x> < 1 (aggressive ROMMA):
            w = the shortest w' with y <w', x> >= 1 and <w', w> >= ‖w‖²

Mistakes: at most (R / γ)², if every ‖x‖ ≤ R and a separator of length 1 has the margin γ; the same for the aggressive variant.

Departures: an example of weight c > 1 requires y <w', x> >= c; one of weight c < 1 moves by the fraction c from w to w'. If no w'
meets both conditions, because x points against w (only on inseparable data), only the condition of the new example is used. ‖w‖
grows with every mistake, on such data without end; it is limited to 1e50, where 1 is negligible beside a score and only the
direction matters. With many classes w is the stacked weights; x enters with factor 1 for the true class and with the negative
shares of the scheme for its rivals.
"""

import math
from dataclasses import dataclass

from rosenblatt.estimators.base import LinearClassifier
from rosenblatt.estimators.parameters import OnlineParameters, choice, shared

LONGEST, PARALLEL = 1e100, 1e-8


def step(
    margin: float, sq_norm: float, w_sq_norm: float, steps: float, weight: float, aggressive: float
) -> tuple[float, float]:
    """Return the factor of w and the factor of y·x."""
    asked, part = max(1.0, weight), min(1.0, weight)
    if margin > 0.0 and (aggressive == 0.0 or margin >= asked):
        return 1.0, 0.0
    both = sq_norm * w_sq_norm
    rest = both - margin * margin
    shrink, tau = 0.0, asked / sq_norm
    if asked * margin < both and rest > PARALLEL * both:
        shrink, tau = (both - asked * margin) / rest, w_sq_norm * (asked - margin) / rest
    shrink, tau = part * shrink + (1.0 - part), part * tau
    longer = shrink * shrink * w_sq_norm + 2.0 * shrink * tau * margin + tau * tau * sq_norm
    held = math.sqrt(LONGEST / max(LONGEST, longer))
    return shrink * held, tau * held


@dataclass(kw_only=True, eq=False, repr=False)
class ROMMA(OnlineParameters, LinearClassifier, step=step):
    """Approximates the shortest weights with a margin of 1 on all mistakes, by two constraints: a large margin at low cost.

    {parameters}
    """

    variant: str = choice("ROMMA", ["ROMMA", "aggressive"], "Update on mistakes, or whenever the margin is below 1.")
    readout: str = shared("readout")

    def _params(self) -> tuple[float, ...]:
        return (float(self.variant == "aggressive"),)
