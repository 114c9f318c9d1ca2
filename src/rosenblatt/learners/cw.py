"""CW: confidence-weighted linear classification, with the constraint on the variance.

Dredze, M., Crammer, K. and Pereira, F. (2008). Confidence-Weighted Linear Classification. ICML 25.

    w = 0, Σ = I
    for each example (x, y):
        m = y <w, x>,  v = xᵀΣx
        if m < phi v:
            alpha = (-(1 + 2 phi m) + √((1 + 2 phi m)² - 8 phi (m - phi v))) / (4 phi v)
            beta = 2 alpha phi / (1 + 2 alpha phi v)
            w = w + alpha y Σx
            Σ = Σ - beta Σx xᵀΣ

The update is the Gaussian closest to (w, Σ), by the divergence of the new one from the old, with m ≥ phi v. The paper starts from
a constraint on the standard deviation √v and replaces it by the variance v, which gives this closed form.

Mistakes: no bound is proven here.

Departures: the paper gives eta, the required probability of a correct prediction; phi is its quantile Φ⁻¹(eta), so 1.2816 for
0.9. The root is computed as √((1 - 2 phi m)² + 8 phi² v), with phi divided out, and alpha without a difference of nearly equal
numbers, so that phi may be large or small. An example of weight c > 1 has c phi in place of phi, one of weight c < 1 takes c
alpha in place of alpha. With ``covariance="diagonal"`` only the diagonal of Σ is kept after each update, as in the other rules
here; the paper keeps that of Σ⁻¹, which shrinks variances further. With many classes each has its own Σ; m is the lead over the
top rival, v the variance of that lead. Rounding cannot make a variance negative.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

from rosenblatt.estimators.base import LinearClassifier
from rosenblatt.estimators.parameters import OnlineParameters, positive, shared


def step(margin: float, variance: float, weight: float, phi: float) -> tuple[float, float]:
    """Return the smallest step after which the margin is phi times its variance."""
    m, v, asked = margin, variance, max(1.0, weight)
    if m >= phi * asked * v:
        return 0.0, 0.0
    q = 1.0 / phi / asked
    side, other, part = abs(q - 2.0 * m), math.sqrt(8.0 * v), q + 2.0 * m
    longer = max(side, other)
    root = longer * math.sqrt(1.0 + (min(side, other) / longer) ** 2)  # root of the sum of squares, without overflow
    alpha = (root - part) / (4.0 * v)
    if part > 0.0:  # the same value, without a difference of nearly equal numbers
        alpha = max(0.0, v / (root + part) - m * (q / (root + part))) * 2.0 / v
    alpha *= min(1.0, weight)
    return alpha, alpha / (0.5 * q + alpha * v)


@dataclass(kw_only=True, eq=False, repr=False)
class CW(OnlineParameters, LinearClassifier, step=step):
    """Confidence-weighted learner: the required margin grows with the variance. Learns rare features fast, sensitive to noise.

    {parameters}
    """

    _grid: ClassVar = {"phi": (0.1, 0.25, 0.5, 1.0, 2.0)}

    phi: float = positive(
        1.0,
        "The required margin, in units of its variance; Φ⁻¹(eta) in the paper. Larger values update more often and freeze the "
        "weights sooner; values between 0.1 and 2 are usual.",
    )
    covariance: str = shared("covariance")
    readout: str = shared("readout")
