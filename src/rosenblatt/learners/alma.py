"""ALMA: the approximate large margin algorithm, for the Euclidean norm.

Gentile, C. (2001). A New Approximate Maximal Margin Classification Algorithm. JMLR 2.

    w = 0, k = 1
    for each example (x, y), with x of length 1:
        if y <w, x> <= (1 - alpha) B / √k:
            w = w + C / √k y x
            w = w / max(1, ‖w‖)
            k = k + 1

Updates: with B = √8 / alpha and C = √2, if a separator of length 1 has the margin γ (‖x‖ = 1), at most 2 (2 / alpha - 1)² / γ²
+ 8 / alpha - 4; after the last update the margin is at least (1 - alpha) γ.

Departures: examples are not scaled to length 1. Instead the threshold is multiplied by the length of x, bias included, and the
step is divided by it, which is equivalent. An example of weight c < 1 takes c times the step; a weight above 1 counts as 1,
because a step longer than w would erase what was learned. The other norms of the paper (p > 2) are not implemented. With many
classes w is the stacked weights; x enters with factor 1 for the true class and with the negative shares of the scheme for its
rivals.
"""

import math
from dataclasses import dataclass

from rosenblatt.estimators.base import LinearClassifier
from rosenblatt.estimators.parameters import OnlineParameters, positive, shared


def step(
    margin: float, sq_norm: float, w_sq_norm: float, steps: float, weight: float, alpha: float, B: float, C: float
) -> tuple[float, float]:
    """Return a step that decreases with the number of steps; w is scaled back to length 1 if it becomes longer."""
    length, k = math.sqrt(sq_norm), steps + 1.0
    if margin > (1.0 - alpha) * B / math.sqrt(k) * length:
        return 1.0, 0.0
    tau = min(1.0, weight) * C / math.sqrt(k) / length
    shrink = 1.0 / math.sqrt(max(1.0, w_sq_norm + 2.0 * tau * margin + tau * tau * sq_norm))
    return shrink, shrink * tau


@dataclass(kw_only=True, eq=False, repr=False)
class ALMA(OnlineParameters, LinearClassifier, step=step):
    """Perceptron with a decreasing margin and decreasing steps: approximates the largest margin without knowing it.

    {parameters}
    """

    alpha: float = positive(
        0.9,
        "The result has (1 - alpha) times the largest margin; smaller values update more often. Values below 1 require a margin.",
        most=1.0,
    )
    B: float | None = positive(None, "Size of the required margin. None is √8 / alpha, as in the theorem.", none=True)
    C: float = positive(math.sqrt(2.0), "Size of a step; √2 in the theorem. Larger values take larger steps.")
    readout: str = shared("readout")

    def _params(self) -> tuple[float, ...]:
        return float(self.alpha), math.sqrt(8.0) / self.alpha if self.B is None else float(self.B), float(self.C)
