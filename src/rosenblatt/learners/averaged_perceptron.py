"""The averaged perceptron.

Freund, Y. and Schapire, R. E. (1999). Large Margin Classification Using the Perceptron Algorithm. Machine Learning 37(3).

    learn as the perceptron does, but
    predict the sign of <Σ c w, x>: each weight vector w counts as often as it survived an example

Mistakes: those of the perceptron, at most (R / γ)²; the average is only read out, it does not take part in learning.

Departures: the average is kept with one extra vector that changes on mistakes, not by adding w at every example. It includes the
starting weights for as long as they last, and is kept in float64.
"""

from dataclasses import dataclass

from rosenblatt.estimators.base import LinearClassifier
from rosenblatt.estimators.parameters import OnlineParameters, shared

from .perceptron import step


@dataclass(kw_only=True, eq=False, repr=False)
class AveragedPerceptron(
    OnlineParameters, LinearClassifier, step=step, target=0.0, constant_step="eta0", readout="average"
):
    """The perceptron, read out as the average of all its weight vectors: steadier than the last of them.

    {parameters}

    Notes
    -----
    `converged_` and the counts speak of the run, that is of the last weights; `coef_` is the average.
    """

    eta0: float = shared("eta0")
