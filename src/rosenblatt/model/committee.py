"""The model of a committee of perceptrons: two classes, several weight vectors."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.engine.state import State
from rosenblatt.model.rule import Rule

from .linear import Model
from .matrix import Table
from .scores import margins


class Committee(Model):
    """Several perceptrons that predict by majority.

    Parameters
    ----------
    rule : Rule
        The last two of its `params` are the number of perceptrons and the seed of their starting weights.
    readout : {"committee"}, default="committee"
        The only readout.
    n_features, dtype, max_support
        As for `Model`.
    """

    def __init__(
        self,
        rule: Rule,
        *,
        readout: str = "committee",
        n_features: int | None = None,
        dtype: Any = np.float64,
        max_support: int | None = None,
    ) -> None:
        self.size, self.seed = int(rule.params[-2]), int(rule.params[-1])
        super().__init__(rule, readout=readout, n_features=n_features, dtype=dtype)

    def _new_state(self, vectors: int, capacity: int, have: int = 0) -> State:
        """Random weights of about length 1, drawn by feature, the bias first, so that new features do not change the others."""
        state = super()._new_state(self.size, capacity)
        drawn = np.random.RandomState(self.seed).standard_normal((capacity + 1, self.size)) / np.sqrt(capacity + 1)
        state.v_bias[:] = drawn[0] if self.rule.fit_intercept else 0.0
        state.v[:, : self.size] = drawn[1:]
        self.memory = self.rule.memory(self.size, capacity)
        self.memory.started(state.w, state.bias)
        return state._replace(scores=np.zeros(1))

    @property
    def room_matters(self) -> bool:
        """Whether the weights of later features depend on how many the arrays have room for, because they are random."""
        return self.features is not None and not self.frozen

    def _reshape(self, vectors: int, capacity: int, room: int = 0) -> None:
        w, bias = self.last()
        self.state.v[...], self.state.v_bias[:] = w, bias
        self.memory.arrays["scale"][:] = 1.0
        super()._reshape(self.size, capacity, room)
        self.memory.started(self.state.w, self.state.bias)

    def add_class(self, *labels: Any) -> None:
        """Add classes; at most two are allowed."""
        if len(self.classes) + len(labels) > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: ParallelPerceptron supports 2 "
                f"classes; got {[*self.classes, *labels]}. Use another learner, or OneVsRestClassifier of scikit-learn."
            )
        super().add_class(*labels)

    def scores(self, table: Table, jobs: int = 1) -> NDArray[np.float64]:
        """The mean vote for the second class, between -1 and 1."""
        raw = self.raw_scores(table, self.state.w, self.state.bias, jobs=jobs)
        shares: NDArray[np.float64] = np.where(raw >= 0.0, 1.0, -1.0).mean(axis=1, keepdims=True)
        return shares

    def last_margins(self, table: Table, y: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """The mean vote for the true class, between -1 and 1."""
        return margins(self.scores(Table(table.take(rows))), y[rows])
