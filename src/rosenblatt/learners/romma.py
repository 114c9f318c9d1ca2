"""ROMMA: the relaxed online maximum margin algorithm.

Li, Y. and Long, P. M. (2002). The Relaxed Online Maximum Margin Algorithm. Machine Learning 46.

    w = 0
    for each example (x, y):
        if y <w, x> <= 0 (ROMMA) or y <w, x> < 1 (aggressive ROMMA):
            w = the shortest w' with y <w', x> >= 1 and <w', w> >= ‖w‖²

Mistakes: at most (R / γ)², if every ‖x‖ ≤ R and a separator of length 1 has the margin γ; the same for the aggressive variant.

Departures: an example of weight c > 1 asks for y <w', x> >= c, one of weight c < 1 goes the share c of the way from w to w'.
Where no w' meets both conditions, because x points against w, which happens only on inseparable data, the new one alone counts.
‖w‖ grows with every mistake, on such data without end: it is held at 1e50, where 1 is nothing beside a score and only the
direction matters. With many classes w are the stacked weights; x stands once for the true class and, with the scheme's shares,
against its rivals.
"""

import math
from dataclasses import dataclass

from rosenblatt.estimators.base import LinearClassifier
from rosenblatt.estimators.parameters import OnlineParameters, choice, shared

LONGEST, PARALLEL = 1e100, 1e-8


def step(
    margin: float, sq_norm: float, w_sq_norm: float, steps: float, weight: float, aggressive: float
) -> tuple[float, float]:
    """By what factor to shrink (or stretch) w, and how much of y·x to add."""
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
    """Keeps the shortest weights that fit the last mistake and, in one condition, all before it: a large margin at little cost.

    {parameters}
    """

    variant: str = choice(
        "ROMMA", ["ROMMA", "aggressive"], "Update on mistakes, or whenever an example is right by less than 1."
    )
    readout: str = shared("readout")

    def _params(self) -> tuple[float, ...]:
        return (float(self.variant == "aggressive"),)
