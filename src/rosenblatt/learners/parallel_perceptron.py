"""Parallel perceptrons: a committee with the p-delta rule.

Auer, P., Burgsteiner, H. and Maass, W. (2008). A Learning Rule for Very Simple Universal Approximators Consisting of a Single
Layer of Perceptrons. Neural Networks 21(5).

    w_1 … w_n random, n odd
    for each example (x, y):
        predict the majority of the signs of <w_i, x>
        for each i, with own = y <w_i, x>:
            the majority is wrong and so is i:       w_i = w_i + eta y x
            i is right, but by less than gamma:      w_i = w_i + eta mu y x
            the majority is right, i wrong by less:  w_i = w_i - eta mu y x
            w_i = w_i - eta (‖w_i‖² - 1) w_i

Mistakes: no bound is known. Enough perceptrons can represent every Boolean function, including exclusive or, which a single
perceptron cannot. Each step is a gradient step on an error that counts wrong votes and votes near the threshold.

Departures: the normalization divides by 1 + eta (‖w_i‖² - 1), which is the same for small eta and cannot overshoot; it applies
only to perceptrons that are updated. gamma is fixed, not adapted. There are two classes, so the squashing function is the sign.
An example of weight c < 1 takes c times the step; a weight above 1 counts as 1, because a long step would erase what w_i has
learned. The weights of features that appear later also start at random.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rosenblatt.estimators.base import LinearClassifier
from rosenblatt.estimators.parameters import OnlineParameters, positive, whole
from rosenblatt.model.committee import Committee
from rosenblatt.model.linear import Model
from rosenblatt.training.history import History


def step(
    margin: float, own: float, w_sq_norm: float, weight: float, eta: float, gamma: float, mu: float
) -> tuple[float, float]:
    """Return the factor of w_i and the factor of y·x for one perceptron."""
    tau = 0.0
    if own > 0.0:
        tau = mu if own < gamma else 0.0
    elif margin <= 0.0:
        tau = 1.0
    elif own > -gamma:
        tau = -mu
    return 1.0 / max(0.5, 1.0 + eta * (w_sq_norm - 1.0)), min(1.0, weight) * eta * tau


@dataclass(kw_only=True, eq=False, repr=False)
class ParallelPerceptron(OnlineParameters, LinearClassifier, step=step):
    """A small committee of perceptrons that are trained together: for data that are not linearly separable.

    {parameters}

    Notes
    -----
    `multiclass` and `on_zero` have no effect: there are two classes, and an odd number of votes is never tied. `coef_` has one
    row for each perceptron. `decision_function` is the mean vote, between -1 and 1.
    """

    _model_class: ClassVar = Committee

    n_perceptrons: int = whole(
        5,
        "Number of perceptrons. More perceptrons can represent more, but take longer. An odd number of votes cannot be tied.",
        least=3,
        odd=True,
    )
    eta: float = positive(
        0.01, "Size of a step, for examples of about length 1. Values between 0.001 and 0.1 are usual."
    )
    gamma: float = positive(
        0.1,
        "The required margin of each perceptron. Larger values give more stable votes.",
    )
    mu: float = positive(
        0.5, "Relative size of the steps that enforce this margin. Values between 0.1 and 1 are usual."
    )

    def _params(self) -> tuple[float, ...]:
        from sklearn.utils import check_random_state

        seed = self.random_state if isinstance(self.random_state, int | np.integer) else None
        drawn = check_random_state(self.random_state).randint(2**31 - 1) if seed is None else int(seed)
        return float(self.eta), float(self.gamma), float(self.mu), float(self.n_perceptrons), float(drawn)

    def _new_model(self, n_features: int | None, dtype: Any) -> Model:
        return Committee(self._rule(), n_features=n_features, dtype=dtype)

    def _certify(self, model: Model, history: History, lead: float, verify: Any) -> None:
        """Set `converged_` if all predictions are correct; a committee is no certificate of linear separability."""
        self.converged_ = lead > 0.0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
