"""Winnow.

Littlestone, N. (1988). Learning Quickly When Irrelevant Attributes Abound: A New Linear-Threshold Algorithm. Machine Learning 2.

    w = 1
    for each example (x, y):
        predict the sign of <w, x>
        if wrong:  w_j = w_j exp(eta y x_j)  for every feature j

Mistakes: with |x_j| ≤ 1 and u on the simplex that separates with margin γ, at most (ln p - H(u)) / (eta γ - ln cosh eta);
with eta = γ at most 2 ln p / γ².

Departures: the logarithms of the weights are kept; if one leaves 1e-200 … 1e200, all are scaled, which changes no prediction. The
threshold is 0; `fit_intercept` adds a constant feature whose weight is learned like the others. `balanced` adds the features -x:
w_j becomes exp(v_j) - exp(-v_j), and negative weights can be learned. With many classes each has its own weights, and the scheme
divides the steps in logarithms.
"""

from dataclasses import dataclass
from typing import Any

from rosenblatt.estimators.base import LinearClassifier
from rosenblatt.estimators.parameters import OnlineParameters, positive, switch


def step(margin: float, eta: float) -> float:
    """Return a step of the logarithms on a mistake, else 0."""
    return eta if margin <= 0 else 0.0


@dataclass(kw_only=True, eq=False, repr=False)
class Winnow(OnlineParameters, LinearClassifier, step=step, target=0.0):
    """Winnow: on a mistake, multiply the weights instead of adding to them. For data with many irrelevant features.

    {parameters}
    """

    eta: float = positive(
        0.5,
        "Learning rate; larger values reduce useless weights faster. For features in [-1, 1] values from 0.01 to 1 are usual.",
    )
    balanced: bool = switch(
        False,
        "Also learn negative weights, by a second set of features -x. Without it all weights stay positive, which suits votes of "
        "-1 and +1 but not most other data.",
    )

    def _link(self) -> str:
        return "balanced" if self.balanced else "exp"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = not self.balanced  # positive weights alone cannot fit most data
        return tags
