"""The perceptron.

Rosenblatt, F. (1958). The Perceptron: A Probabilistic Model for Information Storage and Organization in the Brain.
Psychological Review 65(6).

    w = 0
    for each example (x, y):
        predict the sign of <w, x>
        if y <w, x> <= 0:  w = w + eta0 y x

Mistakes (Block; Novikoff, 1962): at most (R / γ)², if every ‖x‖ ≤ R and a separator of length 1 has the margin γ.

Departures: none. From w = 0 the rate `eta0` only scales the weights; it matters with other starting weights.
"""

from dataclasses import dataclass

from rosenblatt.estimators.base import LinearClassifier
from rosenblatt.estimators.parameters import OnlineParameters, parameter, shared


def step(margin: float, eta0: float) -> float:
    """Return a step on a mistake, else 0."""
    return eta0 if margin <= 0 else 0.0


@dataclass(kw_only=True, eq=False, repr=False)
class Perceptron(OnlineParameters, LinearClassifier, step=step, target=0.0, constant_step="eta0"):
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
    penalty: str | None = parameter(
        None,
        "Accepted as in scikit-learn, with its default: the rule is not regularised, as the mistake bound assumes. Use None; "
        "AveragedPerceptron has a similar effect to a penalty.",
        none=True,
    )
    alpha: float = parameter(
        0.0001,
        "Factor of the penalty, as in scikit-learn; without effect, because there is none. Leave it out.",
        number="float", least=0, fit_only=True,
    )  # fmt: skip
    l1_ratio: float | None = parameter(
        0.15,
        "Share of the l1 penalty, as in scikit-learn; without effect, because there is none. Leave it out.",
        number="float", least=0, most=1, none=True, fit_only=True,
    )  # fmt: skip
