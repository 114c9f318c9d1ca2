"""ALMA: the approximate large margin algorithm, for the Euclidean norm.

Gentile, C. (2001). A New Approximate Maximal Margin Classification Algorithm. JMLR 2.

    w = 0, k = 1
    for each example (x, y), with x of length 1:
        if y <w, x> <= (1 - alpha) B / √k:
            w = w + C / √k y x
            w = w / max(1, ‖w‖)
            k = k + 1

Updates: with B = √8 / alpha and C = √2, if a separator of length 1 has the margin γ (‖x‖ = 1), at most 2 (2 / alpha - 1)² / γ²
+ 8 / alpha - 4; when no update is left to make, the margin is at least (1 - alpha) γ.

Departures: examples are not scaled to length 1 but treated as if they were: the margin is compared with the length of x, the bias
included, and the step is divided by it. An example of weight c < 1 takes c times the step; a weight above 1 counts as 1, as a
step that is long beside w makes it forget all else. The other norms of the paper (p > 2) are left out. With many classes w are
the stacked weights; x stands once for the true class and, with the scheme's shares, against its rivals.
"""

import math
from dataclasses import dataclass

from rosenblatt.estimators.base import LinearClassifier
from rosenblatt.estimators.parameters import OnlineParameters, positive, shared


def step(
    margin: float, sq_norm: float, w_sq_norm: float, steps: float, weight: float, alpha: float, B: float, C: float
) -> tuple[float, float]:
    """A step that gets smaller with the number of steps, then back to length 1 if that made w longer."""
    length, k = math.sqrt(sq_norm), steps + 1.0
    if margin > (1.0 - alpha) * B / math.sqrt(k) * length:
        return 1.0, 0.0
    tau = min(1.0, weight) * C / math.sqrt(k) / length
    shrink = 1.0 / math.sqrt(max(1.0, w_sq_norm + 2.0 * tau * margin + tau * tau * sq_norm))
    return shrink, shrink * tau


@dataclass(kw_only=True, eq=False, repr=False)
class ALMA(OnlineParameters, LinearClassifier, step=step):
    """Asks for a margin and takes steps that both shrink as it learns: close to the largest margin, without knowing it.

    {parameters}
    """

    alpha: float = positive(
        0.9,
        "How far from the largest margin the result may stay; smaller values update more often. Values below 1 ask for a margin.",
        most=1.0,
    )
    B: float | None = positive(
        None, "The size of the margin asked for. None takes the theorem's √8 / alpha.", none=True
    )
    C: float = positive(math.sqrt(2.0), "The size of a step; the theorem's is √2. Larger values take larger steps.")
    readout: str = shared("readout")

    def _params(self) -> tuple[float, ...]:
        return float(self.alpha), math.sqrt(8.0) / self.alpha if self.B is None else float(self.B), float(self.C)
