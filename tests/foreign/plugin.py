"""A plugin of pytest that puts our classes in the place of scikit-learn's: ``pytest -p tests.foreign.plugin --pyargs …``.

`Perceptron` is taken with one class against the rest. The others have parameters with other names, which the classes here
translate; a setting that has no translation, such as a learning rate that decreases, is taken by the learner that is closest, so
that the test shows what differs. `SGDClassifier` with the hinge loss and a constant learning rate is the perceptron with a margin
of 1.
"""

from dataclasses import dataclass
from typing import Any

import sklearn.linear_model

import rosenblatt as rb


@dataclass(kw_only=True, eq=False, repr=False)
class Perceptron(rb.Perceptron):
    """Our perceptron, with one class against the rest as in scikit-learn."""

    multiclass: str = "ovr"


@dataclass(kw_only=True, eq=False, repr=False)
class PassiveAggressiveClassifier(rb.PassiveAggressive):
    """Our passive-aggressive learner with scikit-learn's names of its parameters."""

    multiclass: str = "ovr"
    loss: Any = "hinge"
    average: Any = False

    def _rule(self) -> Any:
        self.variant = {"hinge": "PA-I", "squared_hinge": "PA-II"}[self.loss]
        self.readout = "average" if self.average else "last"
        return super()._rule()


@dataclass(kw_only=True, eq=False, repr=False)
class SGDClassifier(rb.MarginPerceptron):
    """Our perceptron with a margin of 1 (of 0 for the perceptron's loss), with scikit-learn's names of the parameters."""

    multiclass: str = "ovr"
    loss: Any = "hinge"
    penalty: Any = "l2"
    random_state: Any = None
    epsilon: Any = 0.1
    learning_rate: Any = "optimal"
    eta0: Any = 0.01
    power_t: Any = 0.5
    average: Any = False

    def _check_parameters(self, *names: str) -> None:
        """Leave out the parameters that this rule does not have."""
        from rosenblatt.estimators.parameters import declarations

        mine = set(declarations(type(self))) - {"eta0"}
        super()._check_parameters(*(set(names) & mine if names else mine))

    def _params(self) -> tuple[float, ...]:
        self.b = 0.0 if self.loss == "perceptron" else 1.0
        return super()._params()

    def _new_model(self, n_features: int | None, dtype: Any) -> Any:
        made = super()._new_model(n_features, dtype)
        if self.average:
            made = type(made)(made.rule, readout="average", n_features=n_features, dtype=dtype)
        return made


def pytest_configure(config: Any) -> None:
    """Exchange the classes before the test modules import them."""
    for learner in (Perceptron, PassiveAggressiveClassifier, SGDClassifier):
        setattr(sklearn.linear_model, learner.__name__, learner)
