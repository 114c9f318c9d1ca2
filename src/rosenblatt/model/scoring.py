"""What the core model is read out as: the weights that predictions are made from, and the scores that they give."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.engine import loop
from rosenblatt.engine.codegen import shared_kernels
from rosenblatt.engine.multiclass import ONE_VS_REST
from rosenblatt.engine.readouts import average
from rosenblatt.engine.state import Settings, State

from .extra_state import Memory, ScaleFactors
from .matrix import Table
from .vote_log import Support

__all__ = ["Scoring"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


class Scoring:
    """The part of the core model that only reads: last weights, average or vote, as weights and as scores."""

    readout: str
    dtype: np.dtype[Any]
    n_features: int
    memory: Memory
    support: Support | None
    _state: State
    _settings: Settings
    _averaged: tuple[NDArray[Any], Floats] | None

    @property
    def vectors(self) -> int:
        """How many weight vectors there are: one for two classes, else one for each."""
        return self._state.v_bias.size

    def last(self) -> tuple[NDArray[Any], Floats]:
        """The last weights of the run, feature-major, and the biases."""
        state, scale = self._state, self.memory.scale
        if scale is None:
            return state.w, state.bias
        factors = scale if state.w.ndim == 1 else np.pad(scale, (0, state.w.shape[1] - scale.size))
        return (state.w * factors).astype(self.dtype, copy=False), state.bias * scale

    def weights(self) -> tuple[NDArray[Any], Floats]:
        """The weights that predictions are made from, feature-major, and the biases."""
        state = self._state
        if self.readout != "average":
            return self.last()
        if self._averaged is None:
            examples = float(state.sums[loop.AGE])
            if isinstance(self.memory, ScaleFactors):
                mean, bias = self.memory.average(state, examples)
            else:
                mean, bias = average(state.w, state.u, examples), average(state.bias, state.u_bias, examples)
            self._averaged = mean.astype(self.dtype, copy=False), bias
        return self._averaged

    def coef(self) -> tuple[NDArray[Any], Floats]:
        """The same as scikit-learn has them: one row of features for each weight vector, and the intercepts."""
        w, bias = self.weights()
        w = w[: self.n_features]
        return (w[None, :].copy() if w.ndim == 1 else np.ascontiguousarray(w[:, : self.vectors].T)), bias.copy()

    def parts(self) -> list[tuple[NDArray[Any], Floats, Any]]:
        """Weights, biases and factors: the scores of the readout (last or average) are the sum of factor times score."""
        state, age = self._state, float(self._state.sums[loop.AGE])
        scaled = isinstance(self.memory, ScaleFactors)
        if self.readout != "average" or not age:
            return [(state.w, state.bias, self.memory.scale if scaled else 1.0)]
        total = self.memory.arrays[3] / age if scaled else 1.0
        return [(state.w, state.bias, total), (state.u, state.u_bias, -1.0 / age)]

    def scores(self, table: Table) -> Floats:
        """One score for each row and weight vector; votes for a voted model."""
        if self.readout == "vote" and self.support is not None:
            separate = self._settings.scheme == ONE_VS_REST
            self._check_finite(table)
            return self.support.votes(table, float(self._state.sums[loop.AGE]), self._settings.bias, separate)
        if self.readout == "last" and self.memory.scale is not None:  # as learning does it, to the last bit
            return self.raw_scores(table, self._state.w, self._state.bias) * self.memory.scale
        return self.raw_scores(table, *self.weights())

    def raw_scores(self, table: Table, w: NDArray[Any], bias: Floats, order: Codes | None = None) -> Floats:
        """<w, x> + bias for each row and weight vector, in the order of summation of the learning kernels."""
        w = w.astype(table.dtype, copy=False)
        order = np.arange(len(table)) if order is None else order
        kernels = shared_kernels()
        out = np.empty((order.size, bias.size))
        for rows, local, part in table.chunks(order):
            if w.ndim == 1:
                bad = kernels.score_two(w, bias, rows, local, out[part, 0])
            else:
                bad = kernels.score_many(w, bias, rows, local, out[part])
            if bad >= 0:
                raise ValueError(table.describe_bad_row(int(order[part.start + int(bad)])))
        return out

    def _check_finite(self, table: Table) -> None:
        values = table.rows.values if table.sparse else table.rows
        if not np.isfinite(values).all():
            rows = table.as_scipy() if table.sparse else table.rows
            sums = np.asarray(rows.sum(axis=1)) if table.sparse else np.isfinite(rows).all(axis=1)
            bad = np.flatnonzero(~np.isfinite(sums)) if table.sparse else np.flatnonzero(~sums)
            raise ValueError(table.describe_bad_row(int(bad[0])))
