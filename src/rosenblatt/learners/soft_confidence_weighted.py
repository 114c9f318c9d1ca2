"""Soft confidence-weighted learning.

Wang, J., Zhao, P. and Hoi, S. C. H. (2012). Exact Soft Confidence-Weighted Learning. ICML 29.

    w = 0, Σ = I
    for each example (x, y):
        m = y <w, x>,  v = xᵀΣx
        if m < phi √v:
            alpha, beta: the step that is closest to (w, Σ) by the divergence of Gaussians and makes
                         phi √v - m = 0, with alpha at most C (SCW-I) or with a squared penalty (SCW-II)
            w = w + alpha y Σx
            Σ = Σ - beta Σx xᵀΣ

Mistakes: the paper proves no bound.

Departures: the paper gives eta, the required probability of a correct prediction; phi is its quantile Φ⁻¹(eta), so 0.5244 for
0.7 and 1.2816 for 0.9. alpha is computed with phi² divided out and √u without a difference: a large phi cannot overflow.
An example of weight c has c C in place of C. With ``covariance="diagonal"`` only the diagonal of Σ is kept, as in the paper's
experiments. With many classes each has its own Σ; m is the lead over the top rival, v the variance of that lead.
"""

import math
from dataclasses import dataclass

from rosenblatt.estimators.base import LinearClassifier
from rosenblatt.estimators.parameters import OnlineParameters, choice, positive, shared


def step(margin: float, variance: float, weight: float, C: float, phi: float, squared: float) -> tuple[float, float]:
    """Return the smallest step that gives the required probability of a correct prediction, limited by C."""
    m, v, C, q = margin, variance, C * weight, 1.0 / phi / phi
    if m >= phi * math.sqrt(v):
        return 0.0, 0.0
    if squared != 0.0:
        n = v + 0.5 / C
        alpha = (math.sqrt(m * m * v * v + 4.0 * n * v * (n * q + v)) - m * (2.0 * n * q + v)) / (2.0 * n * (n * q + v))
    else:
        alpha = min(C, (math.sqrt(0.25 * m * m + v * (1.0 + q)) - m * (q + 0.5)) / (v * (1.0 + q)))
    if not alpha > 0.0:
        return 0.0, 0.0
    along = alpha * v * phi
    deviation = 2.0 * v / (along + math.sqrt(along * along + 4.0 * v))  # √u: the new standard deviation of the margin
    return alpha, alpha / (deviation / phi + alpha * v)


@dataclass(kw_only=True, eq=False, repr=False)
class SoftConfidenceWeighted(OnlineParameters, LinearClassifier, step=step):
    """Soft confidence-weighted learner: the required margin grows with the uncertainty. Often the best in published comparisons.

    {parameters}
    """

    C: float = positive(1.0, "Limit of a step. Smaller values take smaller steps.")
    phi: float = positive(
        1.0,
        "The required margin in standard deviations; Φ⁻¹(eta) in the paper. Larger values update more often and "
        "freeze the weights sooner. Values between 0.1 and 2 are usual.",
    )
    variant: str = choice("SCW-I", ["SCW-I", "SCW-II"], "A step of at most C, or a soft limit.")
    covariance: str = shared("covariance")
    readout: str = shared("readout")

    def _params(self) -> tuple[float, ...]:
        return float(self.C), float(self.phi), float(self.variant == "SCW-II")
