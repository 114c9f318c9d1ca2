"""The perceptron with a margin.

Duda, R. O. and Hart, P. E. (1973). Pattern Classification and Scene Analysis; Krauth, W. and Mézard, M. (1987).

    w = 0
    for each example (x, y):
        if y <w, x> <= b:  w = w + eta0 y x

Updates: at most (R² + 2 β) / γ² with β = b / eta0, and the margin of the result is at least β γ / (R² + 2 β).

Departures: none. With b = 0 it is the perceptron.
"""

from dataclasses import dataclass

from rosenblatt.estimators.base import LinearClassifier
from rosenblatt.estimators.parameters import OnlineParameters, PenaltyParameters, positive, shared


def step(margin: float, b: float, eta0: float) -> float:
    """Return a step unless the margin is above b."""
    return eta0 if margin <= b else 0.0


@dataclass(kw_only=True, eq=False, repr=False)
class MarginPerceptron(PenaltyParameters, OnlineParameters, LinearClassifier, step=step, constant_step="eta0"):
    """The perceptron with a required margin: it updates when y·score ≤ b.

    {parameters}
    """

    b: float = positive(
        1.0,
        "The required margin, in units of the score; larger values update more often and give a wider margin. For b=0 use the "
        "Perceptron.",
    )
    eta0: float = positive(1.0, "Size of a step; only b / eta0 matters. Larger values take larger steps.")
    readout: str = shared("readout")

    def _target(self) -> float:
        return float(self.b)
