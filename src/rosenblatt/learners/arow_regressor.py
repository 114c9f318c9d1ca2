"""AROW for regression: adaptive regularization of weight vectors.

Vaits, N. and Crammer, K. (2011). Re-adapting the Regularization of Weights for Non-stationary Regression. ALT 2011. It
calls AROW for regression AROWR, after Crammer, K., Kulesza, A. and Dredze, M. (2009). Adaptive Regularization of Weight Vectors.
NIPS 22.

    w = 0, Σ = I
    for each example (x, y):
        beta = 1 / (xᵀΣx + r)
        w = w + (y - <w, x>) beta Σx
        Σ = Σ - beta Σx xᵀΣ

Loss: with the full Σ this is recursive least squares, and the weights after all examples are those of ridge regression with the
penalty r ‖u‖². Σ r (y - <w, x>)² / (xᵀΣx + r) = min over u of Σ (y - <u, x>)² + r ‖u‖².

Departures: an example of weight c has r / c in place of r, as if it were c examples in one. With ``covariance="diagonal"`` only
the diagonal of Σ is kept, and the statement on the loss does not hold. Rounding cannot make a variance negative.
"""

from dataclasses import dataclass

from rosenblatt.estimators.parameters import OnlineRegressionParameters, positive, shared
from rosenblatt.estimators.regression import LinearRegressor


def step(loss: float, variance: float, weight: float, r: float) -> tuple[float, float]:
    """Return alpha, the step along Σx, and beta, the decrease of the variances. The loss is |y - <w, x>|."""
    beta = 1.0 / (variance + r / weight)
    return loss * beta, beta


@dataclass(kw_only=True, eq=False, repr=False)
class AROWRegressor(OnlineRegressionParameters, LinearRegressor, step=step):
    """Regression with a variance for each weight: uncertain weights change more. The unit of the target does not matter.

    {parameters}
    """

    r: float = positive(1.0, "Regularization. Larger values take smaller steps.")
    covariance: str = shared("covariance")
    readout: str = shared("readout")
