"""Mixing of several runs of one rule.

Runs are averaged in coordinates that suit the rule: the weights of a perceptron, the logarithms of Winnow's weights, and for a
second-order rule the natural parameters of its Gaussian, Σ⁻¹ and Σ⁻¹w. A shard sends the difference between its coordinates and
the common start, times its share. The difference of an unchanged coordinate is exactly 0, so that only the others need to be
sent if most are 0.
"""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.engine.entries import add_difference, collect
from rosenblatt.engine.state import counts_and_sums
from rosenblatt.model.linear import Model
from rosenblatt.model.rule import DiagonalVariances, FullVariances, ScaleFactors

from ._partials import Partial, dense

Array = NDArray[Any]
Floats = NDArray[np.float64]

MIXINGS = ("uniform", "mistakes", "examples")

_FARTHEST = 450.0
"""Logarithms beyond this are shifted before they are exponentiated; the learning loops do so at 460."""


class Coordinates:
    """Rules whose weights, or logarithms of weights, are sums of steps.

    Parameters
    ----------
    model : Model
        A model of the client or of a worker; all have the same rule, classes and features.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.averaging = model.readout == "average"

    # ---- on a worker ----

    def start(self) -> list[Array]:
        """The arrays that an epoch starts from, flattened; they may be views of the model's."""
        state = self.model.state
        return [state.v.ravel(), state.v_bias, np.array([state.counters.shift])]

    def install(self, start: Sequence[Array]) -> None:
        """Start an epoch from these arrays, with all counts at 0."""
        state = self.model.state
        shift = float(start[2][0])
        self._restart()
        state.v.ravel()[...] = start[0]
        state.v_bias[...] = start[1]
        state.counters.shift = shift
        if self.model.rule.link != "identity":
            self.model._relink(state)

    def _restart(self) -> None:
        self.clear()
        self.model.state.u[...] = 0.0
        self.model.state.u_bias[...] = 0.0

    def clear(self) -> None:
        """Set all counts to 0."""
        state = self.model.state
        shift = float(state.counters.shift)
        state.tally[...] = 0
        state.counters.shift = shift
        self.model._averaged = None

    def coordinates(self) -> list[Array]:
        """The arrays to mix, flattened; they may be views of the model's."""
        state = self.model.state
        return [state.v.ravel(), state.v_bias]

    def base(self, start: Sequence[Array]) -> list[Array]:
        """The coordinates of the start, right after `install`; they must not change later."""
        return list(start[:2])

    def weights(self) -> list[Array]:
        """The weights and biases that scores are computed with, flattened."""
        w, bias = self.model.last()
        return [w.ravel(), bias]

    def lags(self) -> list[Array]:
        """Σ age · step of weights and biases."""
        state = self.model.state
        return [state.u.ravel(), state.u_bias]

    def collect(
        self,
        totals: Sequence[Floats],
        share: float,
        base: Sequence[Array],
        averages: Sequence[Floats],
        start: Sequence[Array],
    ) -> bool:
        """Add a shard's difference times its share, and Σ (w - start) over its examples, where w are the weights after each.

        Return whether the weights were reset to the start. If the weights are the coordinates, one pass does everything and
        skips unchanged entries.
        """
        if self.model.rule.link != "identity":
            self._add(totals, share, base)
            return False
        age = float(self.model.state.counters.age)
        both = averages or [np.zeros(0)] * 2
        for total, now, before, average, lag in zip(totals, self.coordinates(), base, both, self.lags(), strict=True):
            collect(total, share, now, before, average, age, lag)
        return True

    def _add(self, totals: Sequence[Floats], share: float, base: Sequence[Array]) -> None:
        for total, now, before in zip(totals, self.coordinates(), base, strict=True):
            add_difference(total, share, now, before)

    # ---- on the client ----

    def mix(self, partial: Partial) -> None:
        """Set the client's model to the mean of all shards, and add their counts."""
        state = self.model.state
        before = [part.astype(np.float64) for part in self.weights()] if self.averaging else []
        if partial.whole is not None:
            self.take(partial.whole)
        elif partial.share > 0.0:
            self.move([dense(part) / partial.share for part in partial.totals])
        for note in partial.notes:
            state.counters.examples += note.examples
            state.counters.mistakes += note.mistakes
            state.counters.updates += note.updates
            state.counters.steps += note.steps
            state.counters.reach = max(state.counters.reach, note.reach)
            state.counters.age += note.age
        if self.averaging:
            age = float(state.counters.age)
            for lag, now, old, total in zip(self.lags(), self.weights(), before, partial.averages, strict=True):
                lag += age * (now - old) - dense(total)  # noqa: PLW2901 - in place
        self.model._averaged = None

    def take(self, start: Sequence[Array]) -> None:
        """Continue from these arrays, keeping the counts."""
        state = self.model.state
        state.v.ravel()[...] = start[0]
        state.v_bias[...] = start[1]
        state.counters.shift = float(start[2][0])
        if self.model.rule.link != "identity":
            self.model._relink(state)

    def move(self, steps: Sequence[Floats]) -> None:
        """Add to the coordinates."""
        model, state = self.model, self.model.state
        for now, step in zip(self.coordinates(), steps, strict=True):
            now += step  # noqa: PLW2901 - in place
        if model.rule.link != "identity":
            both = [logs if model.rule.link == "exp" else np.abs(logs) for logs in (state.v, state.v_bias)]
            top = max(float(np.max(logs, initial=-np.inf)) for logs in both)
            state.counters.shift = top if abs(top) > _FARTHEST else 0.0
            model._relink(state)


class Shrunk(Coordinates):
    """Rules that also shrink their weights (ALMA, ROMMA, parallel perceptrons): the weights themselves, and the steps taken."""

    def start(self) -> list[Array]:
        """The weights multiplied by their scale, and the numbers of steps."""
        w, bias = self.model.last()
        return [w.ravel(), bias, self._memory.steps]

    @property
    def _memory(self) -> ScaleFactors:
        memory = self.model.memory
        assert isinstance(memory, ScaleFactors)
        return memory

    def clear(self) -> None:
        """Set all counts and the sum of the scales to 0."""
        super().clear()
        self._memory.total[...] = 0.0

    def install(self, start: Sequence[Array]) -> None:
        """Start an epoch from these weights, at scale 1."""
        self._restart()
        self.take(start)

    def take(self, start: Sequence[Array]) -> None:
        """Continue from these weights, at scale 1."""
        state, memory = self.model.state, self._memory
        state.v.ravel()[...] = start[0]
        state.v_bias[...] = start[1]
        memory.scale[...] = 1.0
        memory.steps[...] = start[2]
        memory.total[...] = state.counters.age
        memory.started(state.w, state.bias)

    def coordinates(self) -> list[Array]:
        """Weights, biases and numbers of steps."""
        return self.start()

    def base(self, start: Sequence[Array]) -> list[Array]:
        """The start itself."""
        return list(start)

    def collect(
        self,
        totals: Sequence[Floats],
        share: float,
        base: Sequence[Array],
        averages: Sequence[Floats],
        start: Sequence[Array],
    ) -> bool:
        """As in the base class, with the average computed from the scales."""
        self._add(totals, share, base)
        if averages:
            state = self.model.state
            age = float(state.counters.age)
            for total, mean, before in zip(averages, self._memory.average(state, age), start[:2], strict=True):
                total += age * (mean.ravel() - before)  # noqa: PLW2901 - in place
        return False

    def move(self, steps: Sequence[Floats]) -> None:
        """Add to the weights."""
        self.take([now + step for now, step in zip(self.start(), steps, strict=True)])

    def mix(self, partial: Partial) -> None:
        """As in the base class; the sum of the scales is the number of examples, because the scale is 1 here."""
        super().mix(partial)
        self._memory.total[...] = self.model.state.counters.age


class _Natural(Coordinates):
    """Rules whose coordinates are not their weights."""

    def install(self, start: Sequence[Array]) -> None:
        """Start an epoch from these arrays."""
        self._restart()
        self.take(start)

    def take(self, start: Sequence[Array]) -> None:
        """Continue from these arrays."""
        for mine, given in zip(self.start(), start, strict=True):
            mine[...] = given

    def base(self, start: Sequence[Array]) -> list[Array]:
        """The coordinates of the start."""
        return self.coordinates()

    def collect(
        self,
        totals: Sequence[Floats],
        share: float,
        base: Sequence[Array],
        averages: Sequence[Floats],
        start: Sequence[Array],
    ) -> bool:
        """As in the base class, for weights that are not the coordinates."""
        self._add(totals, share, base)
        age = float(self.model.state.counters.age)
        for total, now, before, lag in zip(averages, self.weights(), start, self.lags(), strict=False):
            total += age * (now.astype(np.float64) - before) - lag  # noqa: PLW2901 - in place
        return False


class Gaussian(_Natural):
    """Rules with a variance for every weight: Σ⁻¹ and Σ⁻¹w, so that a shard with a small variance counts more."""

    @property
    def _memory(self) -> DiagonalVariances:
        memory = self.model.memory
        assert isinstance(memory, DiagonalVariances)
        return memory

    def start(self) -> list[Array]:
        """Weights, biases and their variances."""
        state, memory = self.model.state, self._memory
        return [state.w.ravel(), state.bias, memory.sigma.ravel(), memory.bias]

    def coordinates(self) -> list[Array]:
        """Precisions, and precisions times weights."""
        w, bias, sigma, sigma_bias = self.start()
        return [1.0 / sigma, 1.0 / sigma_bias, w / sigma, bias / sigma_bias]

    def move(self, steps: Sequence[Floats]) -> None:
        """Add to both, where either changes."""
        have, now = self.coordinates(), self.start()
        for w, sigma, precision, product, more, further in (
            (now[0], now[2], have[0], have[2], steps[0], steps[2]),
            (now[1], now[3], have[1], have[3], steps[1], steps[3]),
        ):
            moved = np.flatnonzero((more != 0.0) | (further != 0.0))
            surer = precision[moved] + more[moved]
            sigma[moved] = 1.0 / surer
            w[moved] = (product[moved] + further[moved]) / surer


@functools.cache
def _thread_pools() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _inverse(matrices: Floats) -> Floats:
    """Inverse matrices, computed in one thread, because the last bits depend on the number of threads."""
    with _thread_pools().limit(limits=1):
        return np.asarray(np.linalg.inv(matrices))


class FullGaussian(_Natural):
    """Rules with a full covariance matrix, with the bias in the first row and column."""

    @property
    def _memory(self) -> FullVariances:
        memory = self.model.memory
        assert isinstance(memory, FullVariances)
        return memory

    def start(self) -> list[Array]:
        """Weights, biases and the matrices."""
        state = self.model.state
        return [state.w.ravel(), state.bias, self._memory.sigma.ravel()]

    def _vectors(self) -> Floats:
        """The weight vectors as rows, each with its bias first."""
        state, vectors = self.model.state, self.model.vectors
        w = state.w[None, :] if state.w.ndim == 1 else state.w[:, :vectors].T
        return np.concatenate([state.bias[:, None], w], axis=1).astype(np.float64)

    def coordinates(self) -> list[Array]:
        """Inverse matrices, and their products with the weights."""
        precision = _inverse(self._memory.sigma)
        return [precision.ravel(), np.einsum("kij,kj->ki", precision, self._vectors()).ravel()]

    def move(self, steps: Sequence[Floats]) -> None:
        """Add to both."""
        precision, product = (now + step for now, step in zip(self.coordinates(), steps, strict=True))
        state, sigma = self.model.state, self._memory.sigma
        inverse = _inverse(precision.reshape(sigma.shape))
        sigma[...] = (inverse + inverse.transpose(0, 2, 1)) / 2.0
        vectors = np.einsum("kij,kj->ki", sigma, product.reshape(sigma.shape[0], -1))
        state.bias[...] = vectors[:, 0]
        if state.w.ndim == 1:
            state.w[...] = vectors[0, 1:]
        else:
            state.w[:, : self.model.vectors] = vectors[:, 1:].T


class Alone(Coordinates):
    """A single shard: the whole state of its model, so that the result equals that of `fit` bit by bit."""

    def start(self) -> list[Array]:
        """All arrays that learning changes."""
        state = self.model.state
        linked = [state.w, state.bias] if self.model.rule.link != "identity" else []
        others = self.model.memory.arrays.values()
        parts = [state.v, state.v_bias, state.u, state.u_bias, *counts_and_sums(state), *others]
        return [part.reshape(-1) for part in (*parts, *linked)]

    def install(self, start: Sequence[Array]) -> None:
        """Start an epoch from these arrays."""
        self.take(start)
        self.model.state.counters.loss = 0.0

    def take(self, start: Sequence[Array]) -> None:
        """Continue from these arrays."""
        for mine, given in zip(self.start(), start, strict=True):
            mine[...] = given
        self.model._averaged = None

    def mix(self, partial: Partial) -> None:
        """Take the state of the shard's model."""
        assert partial.whole is not None
        self.take(partial.whole)


def coordinates_of(model: Model, alone: bool = False) -> Coordinates:
    """The coordinates in which runs of this model's rule are mixed; with `alone` there is one shard and nothing to mix."""
    if alone:
        return Alone(model)
    for memory, kind in ((ScaleFactors, Shrunk), (DiagonalVariances, Gaussian), (FullVariances, FullGaussian)):
        if isinstance(model.memory, memory):
            return kind(model)
    return Coordinates(model)
