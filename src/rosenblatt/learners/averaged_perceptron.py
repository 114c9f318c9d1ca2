"""The averaged perceptron.

Freund, Y. and Schapire, R. E. (1999). Large Margin Classification Using the Perceptron Algorithm. Machine Learning 37(3).

    learn as the perceptron does, but
    predict the sign of <Σ c w, x>, where c is the number of examples for which w was in use

Mistakes: those of the perceptron, at most (R / γ)²; the average is used for predictions only, not for learning.

Departures: the average is computed from one extra vector that changes on mistakes, instead of adding w at every example. It
includes the starting weights until the first mistake, and is kept in float64.
"""

from dataclasses import dataclass

from rosenblatt.estimators.base import LinearClassifier
from rosenblatt.estimators.parameters import OnlineParameters, PenaltyParameters, shared

from .perceptron import step


@dataclass(kw_only=True, eq=False, repr=False)
class AveragedPerceptron(
    PenaltyParameters,
    OnlineParameters,
    LinearClassifier,
    step=step,
    target=0.0,
    constant_step="eta0",
    readout="average",
):
    """The perceptron with the average of all its weight vectors as the result: more stable than the last one.

    {parameters}

    Notes
    -----
    `coef_` is the average; `converged_` and the counts refer to the last weights.
    """

    eta0: float = shared("eta0")
