"""AROW: adaptive regularization of weight vectors.

Crammer, K., Kulesza, A. and Dredze, M. (2009). Adaptive Regularization of Weight Vectors. NIPS 22.

    w = 0, Σ = I
    for each example (x, y):
        if y <w, x> < 1:
            beta = 1 / (xᵀΣx + r),  alpha = (1 - y <w, x>) beta
            w = w + alpha y Σx
            Σ = Σ - beta Σx xᵀΣ

Mistakes: M of them and U updates without a mistake, for every u with hinge losses h and the matrix X of the updated examples:
M ≤ √(r ‖u‖² + uᵀXᵀXu) √(ln det(I + XXᵀ/r) + U) + Σ h - U.

Departures: an example of weight c has r / c in place of r, as if it were c examples in one. With ``covariance="diagonal"`` only
the diagonal of Σ is kept, as in the paper's experiments, and the bound does not hold. With many classes each has its own Σ;
alpha and beta come from the lead over the top rival and the variance of that lead. Rounding cannot make a variance negative.
"""

from dataclasses import dataclass

from rosenblatt.estimators.base import LinearClassifier
from rosenblatt.estimators.parameters import OnlineParameters, positive, shared


def step(margin: float, variance: float, weight: float, r: float) -> tuple[float, float]:
    """Return alpha, the step along Σx, and beta, the decrease of the variances."""
    if margin >= 1.0:
        return 0.0, 0.0
    beta = 1.0 / (variance + r / weight)
    return (1.0 - margin) * beta, beta


@dataclass(kw_only=True, eq=False, repr=False)
class AROW(OnlineParameters, LinearClassifier, step=step, target=1.0):
    """Learner with a variance for each weight: uncertain weights change more. Learns rare features fast and resists noise.

    {parameters}
    """

    r: float = positive(1.0, "Regularization. Larger values take smaller steps.")
    covariance: str = shared("covariance")
    readout: str = shared("readout")
