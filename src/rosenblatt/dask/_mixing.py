"""How runs of one rule are mixed.

A rule has coordinates in which the mean of several runs makes sense: the weights of a perceptron, the logarithms of Winnow's, and
for a rule of second order the natural parameters of its Gaussian, Σ⁻¹ and Σ⁻¹w. A shard sends the difference between its own and
the common start, times its share. A coordinate that did not change has the difference 0 exactly, so that where most are 0 only
the others need to travel.
"""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.engine.mixing import add_difference, collect
from rosenblatt.engine.state import counts_and_sums
from rosenblatt.model.extra_state import DiagonalVariances, FullVariances, ScaleFactors
from rosenblatt.model.linear import Model

from ._partials import Partial, dense

Array = NDArray[Any]
Floats = NDArray[np.float64]

MIXINGS = ("uniform", "mistakes", "examples")

_FARTHEST = 450.0
"""Logarithms beyond this are scaled before they are exponentiated: exp(460) is where the protocol does so."""


class Coordinates:
    """Rules whose weights, or whose logarithms of weights, are sums of steps.

    Parameters
    ----------
    model : Model
        The model whose weights they are; it may be anybody's with the same rule, classes and features.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.averaging = model.readout == "average"

    # ---- a shard's side ----

    def start(self) -> list[Array]:
        """What an epoch starts from, flat; the arrays may be those of the model."""
        state = self.model.state
        return [state.v.ravel(), state.v_bias, np.array([state.counters.shift])]

    def install(self, start: Sequence[Array]) -> None:
        """Begin an epoch there, with all counts at 0."""
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
        """What is mixed, flat; the arrays may be those of the model."""
        state = self.model.state
        return [state.v.ravel(), state.v_bias]

    def base(self, start: Sequence[Array]) -> list[Array]:
        """The coordinates of the start, right after it was installed; they stay as they are."""
        return list(start[:2])

    def weights(self) -> list[Array]:
        """The weights and the biases that scores are computed with, flat."""
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
        """Add a shard's difference times its share, and Σ (w - start) over its examples, w being the weights after each.

        Gives whether the weights are back at the start. Where they are the coordinates, one pass does it all and leaves out
        what has not changed.
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

    # ---- the side of who mixes ----

    def mix(self, partial: Partial) -> None:
        """Let the model of who mixes take the mean of all shards, and count what they did."""
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
        """Go on from these arrays, keeping the counts."""
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
        """The weights with their scale worked in, and how many steps were taken."""
        w, bias = self.model.last()
        return [w.ravel(), bias, self._memory.steps]

    @property
    def _memory(self) -> ScaleFactors:
        memory = self.model.memory
        assert isinstance(memory, ScaleFactors)
        return memory

    def clear(self) -> None:
        """Set all counts to 0, and with them the sum of the scales."""
        super().clear()
        self._memory.total[...] = 0.0

    def install(self, start: Sequence[Array]) -> None:
        """Begin there, at scale 1."""
        self._restart()
        self.take(start)

    def take(self, start: Sequence[Array]) -> None:
        """Go on from these weights, at scale 1."""
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
        """The same."""
        return list(start)

    def collect(
        self,
        totals: Sequence[Floats],
        share: float,
        base: Sequence[Array],
        averages: Sequence[Floats],
        start: Sequence[Array],
    ) -> bool:
        """The same, with the average from the scales."""
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
        """The same; the sum of the scales is the number of examples, since the scale is 1 here."""
        super().mix(partial)
        self._memory.total[...] = self.model.state.counters.age


class _Natural(Coordinates):
    """Rules whose coordinates are not their weights."""

    def install(self, start: Sequence[Array]) -> None:
        """Begin there."""
        self._restart()
        self.take(start)

    def take(self, start: Sequence[Array]) -> None:
        """Go on from there."""
        for mine, given in zip(self.start(), start, strict=True):
            mine[...] = given

    def base(self, start: Sequence[Array]) -> list[Array]:
        """The same, of the start."""
        return self.coordinates()

    def collect(
        self,
        totals: Sequence[Floats],
        share: float,
        base: Sequence[Array],
        averages: Sequence[Floats],
        start: Sequence[Array],
    ) -> bool:
        """The same."""
        self._add(totals, share, base)
        age = float(self.model.state.counters.age)
        for total, now, before, lag in zip(averages, self.weights(), start, self.lags(), strict=False):
            total += age * (now.astype(np.float64) - before) - lag  # noqa: PLW2901 - in place
        return False


class Gaussian(_Natural):
    """Rules with a variance for every weight: Σ⁻¹ and Σ⁻¹w, so that a shard that is sure of a weight has the say about it."""

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
        """Add to both, where one of them changes."""
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
    """Inverse matrices, computed by one thread: with more of them the last bits are others."""
    with _thread_pools().limit(limits=1):
        return np.asarray(np.linalg.inv(matrices))


class FullGaussian(_Natural):
    """The same with whole matrices, the bias in the first row and column."""

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
        """The weight vectors with their bias first, one on each row."""
        state, vectors = self.model.state, self.model.vectors
        w = state.w[None, :] if state.w.ndim == 1 else state.w[:, :vectors].T
        return np.concatenate([state.bias[:, None], w], axis=1).astype(np.float64)

    def coordinates(self) -> list[Array]:
        """Inverse matrices, and these times the weights."""
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
    """The only shard: everything that its model keeps, so that the bits are those of `fit`."""

    def start(self) -> list[Array]:
        """All arrays that learning changes."""
        state = self.model.state
        linked = [state.w, state.bias] if self.model.rule.link != "identity" else []
        others = self.model.memory.arrays.values()
        parts = [state.v, state.v_bias, state.u, state.u_bias, *counts_and_sums(state), *others]
        return [part.reshape(-1) for part in (*parts, *linked)]

    def install(self, start: Sequence[Array]) -> None:
        """Begin an epoch there."""
        self.take(start)
        self.model.state.counters.loss = 0.0

    def take(self, start: Sequence[Array]) -> None:
        """Go on from there."""
        for mine, given in zip(self.start(), start, strict=True):
            mine[...] = given
        self.model._averaged = None

    def mix(self, partial: Partial) -> None:
        """Go on from what the shard has learned."""
        assert partial.whole is not None
        self.take(partial.whole)


def coordinates_of(model: Model, alone: bool = False) -> Coordinates:
    """The coordinates in which runs of this model's rule are mixed; `alone`: there is one shard, so that nothing is mixed."""
    if alone:
        return Alone(model)
    for memory, kind in ((ScaleFactors, Shrunk), (DiagonalVariances, Gaussian), (FullVariances, FullGaussian)):
        if isinstance(model.memory, memory):
            return kind(model)
    return Coordinates(model)
