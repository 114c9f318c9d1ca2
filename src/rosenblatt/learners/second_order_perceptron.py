"""The second-order perceptron.

Cesa-Bianchi, N., Conconi, A. and Gentile, C. (2005). A Second-Order Perceptron Algorithm. SIAM Journal on Computing 34(3).

    A = a I, θ = 0
    for each example (x, y):
        predict the sign of <(A + x xᵀ)⁻¹ θ, x>
        if wrong:  θ = θ + y x,  A = A + x xᵀ

Mistakes: at most D / γ + √((a + uᵀSu) Σ ln(1 + λ / a)) / γ for every unit u and γ > 0, where D is the sum of
max(0, γ - y <u, x>) over the mistakes, S the sum of their x xᵀ, and λ the eigenvalues of S.

Departures: the same rule is stored as w = A⁻¹θ and Σ = A⁻¹. The score <w, x> is the paper's times 1 + xᵀΣx, so the sign is the
same, and a mistake gives w = w + (1 - y <w, x>) / (1 + xᵀΣx) y Σx: an AROW step with r = 1, taken on mistakes only. With
``covariance="diagonal"``, which the paper does not have, only the diagonal of Σ is kept and the bound does not hold. An example
of weight c counts as c examples in one. With many classes each has its own Σ; the margin is the lead over the top rival.
"""

from dataclasses import dataclass

from rosenblatt.estimators.base import LinearClassifier
from rosenblatt.estimators.parameters import OnlineParameters, positive, shared


def step(margin: float, variance: float, weight: float) -> tuple[float, float]:
    """Return alpha and beta on a mistake, else 0; directions with a small variance change less."""
    if margin > 0.0:
        return 0.0, 0.0
    beta = 1.0 / (variance + 1.0 / weight)
    return (1.0 - margin) * beta, beta


@dataclass(kw_only=True, eq=False, repr=False)
class SecondOrderPerceptron(OnlineParameters, LinearClassifier, step=step, target=0.0):
    """The perceptron in whitened coordinates: features with large or correlated values do not dominate the others.

    {parameters}
    """

    a: float = positive(1.0, "Initial diagonal of the matrix A. Larger values are closer to the perceptron.")
    covariance: str = shared("covariance")
    readout: str = shared("readout")

    def _initial_variance(self) -> float:
        return 1.0 / self.a
