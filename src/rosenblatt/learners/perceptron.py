"""The perceptron.

Rosenblatt, F. (1958). The Perceptron: A Probabilistic Model for Information Storage and Organization in the Brain.
Psychological Review 65(6).

    w = 0
    for each example (x, y):
        predict the sign of <w, x>
        if y <w, x> <= 0:  w = w + eta0 y x

Mistakes (Block; Novikoff, 1962): at most (R / γ)², if every ‖x‖ ≤ R and a separator of length 1 has the margin γ.

Departures: none. From w = 0 the rate `eta0` only scales the weights; it matters with other starting weights, and with a penalty,
which is scikit-learn's and not part of the algorithm.
"""

from dataclasses import dataclass

from rosenblatt.estimators.base import LinearClassifier
from rosenblatt.estimators.parameters import OnlineParameters, PenaltyParameters, shared


def step(margin: float, eta0: float) -> float:
    """Return a step on a mistake, else 0."""
    return eta0 if margin <= 0 else 0.0


@dataclass(kw_only=True, eq=False, repr=False)
class Perceptron(PenaltyParameters, OnlineParameters, LinearClassifier, step=step, target=0.0, constant_step="eta0"):
    """The perceptron: on a mistake, add the example to the weights.

    {parameters}

    Examples
    --------
    >>> from rosenblatt import Perceptron
    >>> model = Perceptron(shuffle=False).fit([[4, 0], [1, 1], [0, 1], [-2, -2]], [1, -1, -1, 1])
    >>> model.predict([[3, 0]])
    array([1])
    """

    eta0: float = shared("eta0")
