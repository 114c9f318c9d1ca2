"""The voted perceptron.

Freund, Y. and Schapire, R. E. (1999). Large Margin Classification Using the Perceptron Algorithm. Machine Learning 37(3).

    learn as the perceptron does; keep every weight vector w with the number c of examples for which it was in use
    predict the sign of Σ c sign(<w, x>)

Mistakes: those of the perceptron, at most (R / γ)².

Departures: the mistakes are stored instead of the weight vectors, whose scores are running sums over the mistakes. A score of
exactly 0 casts no vote. With many classes a weight matrix votes for its top class, or for none in a tie; with one-vs-rest each
class has its own vote, as in the paper.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.estimators.base import LinearClassifier
from rosenblatt.estimators.parameters import OnlineParameters, shared, whole
from rosenblatt.model.scores import in_sorted_order
from rosenblatt.model.vote_log import Support

from .perceptron import step


@dataclass(kw_only=True, eq=False, repr=False)
class VotedPerceptron(OnlineParameters, LinearClassifier, step=step, target=0.0, constant_step="eta0", readout="vote"):
    """The perceptron with a vote of all its weight vectors as the prediction.

    {parameters}

    Attributes
    ----------
    support_ : array or CSR array of shape (n_support, n_features)
        The examples with at least one mistake, each of them once per call.
    """

    eta0: float = shared("eta0")
    max_support: int | None = whole(
        None,
        "Most mistakes to keep. When there are more, a warning is given and the older half lose their votes. "
        "None keeps all.",
        none=True,
    )

    @property
    def support_(self) -> Any:
        """The examples on which mistakes were made."""
        return self._updates("support_").rows

    @property
    def dual_coef_(self) -> NDArray[np.float64]:
        """The step of each mistake, in order: one column for each weight vector, in the order of `classes_`."""
        return in_sorted_order(self._updates("dual_coef_").steps, self.model_.classes, axis=1)

    @property
    def mistake_rows_(self) -> NDArray[np.int64]:
        """For each mistake, in order, its row in `support_`."""
        return self._updates("mistake_rows_").entries

    @property
    def survived_(self) -> NDArray[np.float64]:
        """Number of examples for which each weight vector was in use: the initial one, then the one after each mistake."""
        return self._updates("survived_").survived(float(self.model_.state.counters.age))

    @property  # type: ignore[misc]
    def coef_(self) -> NDArray[Any]:
        """Not available: a vote of many weight vectors has no single one."""
        raise AttributeError(
            "VotedPerceptron has no `coef_`: compute its weight vectors from `support_` and `dual_coef_`"
        )

    @property  # type: ignore[misc]
    def intercept_(self) -> NDArray[np.float64]:
        """Not available, like `coef_`."""
        raise AttributeError("VotedPerceptron has no `intercept_`: see `support_` and `dual_coef_`")

    @property
    def sparsify(self) -> Any:
        """Not available, like `coef_`."""
        raise AttributeError("VotedPerceptron has no `sparsify`, because it has no `coef_`")

    densify = sparsify

    def _updates(self, name: str) -> Support:
        support = self._attribute(name).support
        assert support is not None  # a voted model always has one
        return support
