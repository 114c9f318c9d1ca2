"""NHERD: normal herding.

Crammer, K. and Lee, D. D. (2010). Learning via Gaussian Herding. NIPS 23.

    w = 0, Σ = I
    for each example (x, y):
        if y <w, x> < 1:
            c = 1 / (xᵀΣx + 1 / C),  alpha = (1 - y <w, x>) c,  beta = (C² xᵀΣx + 2 C) / (1 + C xᵀΣx)²
            w = w + alpha y Σx
            Σ = Σ - beta Σx xᵀΣ

The weights have a Gaussian distribution, which is moved by a linear map: Σ becomes AΣAᵀ with A = I - c Σx xᵀ, so that
beta = 2 c - c² xᵀΣx. The step of w is that of AROW with r = 1 / C; the variances shrink faster.

Mistakes: no bound is proven here. The proof for AROW does not carry over, because Σ⁻¹w is not a sum over the examples.

Departures: beta is computed as c (2 - c xᵀΣx), which cannot overflow. An example of weight k has k C in place of C. With
``covariance="diagonal"`` only the diagonal of Σ is kept after each update. This is the version "drop" of the paper, as in AROW
here; the versions "exact" and "project" shrink variances further and are not implemented. With many classes each has its own
Σ; alpha and beta come from the lead over the top rival and the variance of that lead. Rounding cannot make a variance negative.
"""

from dataclasses import dataclass
from typing import ClassVar

from rosenblatt.estimators.base import LinearClassifier
from rosenblatt.estimators.parameters import OnlineParameters, positive, shared


def step(margin: float, variance: float, weight: float, C: float) -> tuple[float, float]:
    """Return alpha, the step along Σx, and beta, the decrease of the variances."""
    if margin >= 1.0:
        return 0.0, 0.0
    c = 1.0 / (variance + 1.0 / C / weight)
    return (1.0 - margin) * c, c * (2.0 - c * variance)


@dataclass(kw_only=True, eq=False, repr=False)
class NHERD(OnlineParameters, LinearClassifier, step=step, target=1.0):
    """The steps of AROW with variances that shrink faster: for a single pass over data with many wrong labels.

    {parameters}
    """

    _grid: ClassVar = {"C": (0.01, 0.1, 0.3, 1.0, 3.0, 10.0)}

    C: float = positive(1.0, "Influence of a single example. Smaller values take smaller steps.")
    covariance: str = shared("covariance")
    readout: str = shared("readout")
