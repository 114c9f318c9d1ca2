"""A learning rule as the core model uses it: its step function, its conventions, and the extra state that it keeps.

Some rules keep more than weights: a variance for each weight, a matrix of them, or a common scale. A model passes these arrays to
the loops by name, lets them grow with its classes and features, and restores them when a call fails.
"""

import dataclasses
import functools
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.engine.conventions import LINKS, ON_ZERO, SCHEMES
from rosenblatt.engine.entries import Passes, passes_of
from rosenblatt.engine.state import Additive, Committee, Diagonal, Full, Penalized, Penalties, Scaled, Scales, Settings
from rosenblatt.engine.steps import asks_for, kind_of_step, step_address

_COMPILING = threading.Lock()
"""Held while a step function is compiled, so that several threads do not compile the same one."""


class Penalty(NamedTuple):
    """What every example takes off the weights of an additive rule.

    Attributes
    ----------
    ridge
        The factor of ½‖w‖² in the loss.
    lasso
        The factor of Σ|w| in the loss.
    rate
        The size of a step against them.
    """

    ridge: float
    lasso: float
    rate: float

    def rates(self) -> NDArray[np.float64]:
        """The constants that the loops take, see `penalized.FACTOR`."""
        factor = max(0.0, 1.0 - self.ridge * self.rate)
        return np.array([factor, self.lasso * self.rate, 0.5 * self.ridge, self.lasso])


@dataclasses.dataclass(frozen=True)
class Rule:
    """A step function with its hyperparameters and conventions.

    Parameters
    ----------
    step : callable
        ``step(margin, [sq_norm,] *params) -> tau``, the size of the step; for a second-order rule
        ``step(margin, variance, weight, *params) -> alpha, beta``; if it also shrinks the weights
        ``step(margin, sq_norm, w_sq_norm, steps, weight, *params) -> shrink, tau``. With `loss` in place of `margin` the targets
        are real numbers, and the loss is max(0, target - margin) for the margin -|target of the example - score|.
    params : tuple of float
        The values of its hyperparameters, in the order of its arguments.
    target : float, default=inf
        Examples with a larger margin are skipped without calling `step`; the loss is ``max(0, target - margin)``
        (``max(0, -margin)`` if the target is infinite).
    link : {"identity", "exp", "balanced"}, default="identity"
        Whether steps are added to the weights or to their logarithms.
    on_zero, multiclass, fit_intercept
        As in the estimators.
    covariance : {"diagonal", "full"}, default="diagonal"
        The part of Σ that a second-order rule stores.
    variance : float, default=1.0
        Initial variance of every weight of a second-order rule.
    penalty : Penalty or None, default=None
        The penalty of an additive rule.
    """

    step: Callable[..., Any]
    params: tuple[float, ...] = ()
    target: float = np.inf
    link: str = "identity"
    on_zero: str = "update"
    multiclass: str = "max"
    fit_intercept: bool = True
    covariance: str = "diagonal"
    variance: float = 1.0
    penalty: Penalty | None = None

    @functools.cached_property
    def kind(self) -> type:
        """The kind of the rule: one of the classes of states in `rosenblatt.engine.state`."""
        kind = kind_of_step(self.step, self.covariance)
        return Penalized if kind is Additive and self.penalty is not None else kind

    @property
    def second_order(self) -> bool:
        """Whether the rule keeps variances."""
        return self.kind in (Diagonal, Full)

    @property
    def additive(self) -> bool:
        """Whether the weights are the starting weights plus a sum of multiples of examples, as the theorems assume."""
        return self.link == "identity" and self.kind is Additive

    def passes(self) -> Passes:
        """The compiled loops of its kind."""
        return passes_of(self.kind)

    def address(self) -> int:
        """The address of its compiled step function."""
        with _COMPILING:
            return step_address(self.step)

    def memory(self, vectors: int, capacity: int) -> "Memory":
        """The extra state of the rule besides its weights."""
        if self.penalty is not None:
            return PenaltyMemory(self.penalty, vectors, capacity)
        return memory_of(self.kind, vectors, capacity, self.variance)

    def settings(self) -> Settings:
        """The conventions as the numbers that the loops take."""
        return Settings(
            float(self.target),
            1.0 if self.fit_intercept else 0.0,
            ON_ZERO[self.on_zero],
            SCHEMES[self.multiclass],
            LINKS[self.link],
            int(asks_for(self.step, "sq_norm")),
            int(asks_for(self.step, "loss")),
        )


# ---- extra state ----

MOST_BYTES = 1 << 31
"""Largest total size of full covariance matrices."""

Arrays = Sequence[NDArray[Any]]


def columns_for(vectors: int, have: int = 0) -> int:
    """Number of columns for the weight vectors of many classes: a multiple of 4, and by half more than before if it grows.

    So the cost of adding classes one at a time is in proportion to the weights in the end, as it is for features.
    """
    needed = -(-vectors // 4) * 4
    return needed if have < 16 else max(have, needed if needed <= have else max(needed, (have + have // 2) // 4 * 4))


class Memory:
    """The extra state of a rule besides its weights; empty for most rules.

    Attributes
    ----------
    arrays
        All arrays, with their names in `rosenblatt.engine.state`.
    by_feature
        Arrays with one row for each feature.
    others
        Other arrays that must be restored when a call fails.
    scale
        The factor of each weight vector, if the weights are stored without it.
    spreads
        Whether an example may change the extra state of features that it does not have.
    """

    spreads: bool = False
    arrays: Mapping[str, NDArray[Any]] = {}
    by_feature: Arrays = ()
    others: Arrays = ()
    scale: NDArray[np.float64] | None = None

    def started(self, w: NDArray[Any], bias: NDArray[np.float64]) -> None:
        """Initialize the extra state for starting weights."""

    def grown(self, vectors: int, capacity: int, have: int = 0) -> "Memory":
        """A copy for more weight vectors or features. Two classes share one weight vector; with a third each has its own.

        `have` is the number of columns of the weights so far, for `columns_for`.
        """
        return self

    def widened(self, vectors: int) -> "Memory | None":
        """The same for more weight vectors in columns that the weights have in reserve; None if everything must be copied."""
        return self

    def take_class(self, k: int, part: Any) -> None:
        """Take over the extra state of a binary model as that of class k."""

    def unscaled(self, bias: NDArray[np.float64]) -> tuple[Any, Any]:
        """The biases in two parts: the score is the scale times (<v, x> + the first), plus the second."""
        return bias, 0.0

    def replaced(self, age: float) -> None:
        """Start again at scale 1 with other weights, after examples of this total weight."""

    def stretch(self, factors: NDArray[np.float64]) -> None:
        """Multiply the sums of each class over its run by a factor."""

    def content(self, features: int) -> Arrays:
        """The arrays to store in a file, without unused capacity."""
        return ()


class ScaleFactors(Memory):
    """For weights that are stored as scale · v: the scale, ‖w‖², the steps taken and Σ of the scales, for each weight vector.

    Parameters
    ----------
    vectors : int
        Number of weight vectors.
    """

    spreads = True
    scale: NDArray[np.float64]

    def __init__(self, vectors: int) -> None:
        self.scale = np.ones(vectors)
        self.square, self.steps, self.total = np.zeros(vectors), np.zeros(vectors), np.zeros(vectors)
        self.others = self.scale, self.square, self.steps, self.total
        self.arrays = dict(zip(Scales._fields, self.others, strict=True))

    def average(self, state: Any, examples: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The mean of the weights after each example: (Σ scales · v - u) / examples."""
        if not examples:
            return state.w * 1.0, state.bias.copy()
        mean = (state.w * padded(self.total, state.w) - state.u) / examples
        return mean, (state.bias * self.total - state.u_bias) / examples

    def replaced(self, age: float) -> None:
        """Set the scales to 1, and their totals as if they had always been 1."""
        self.scale[:], self.total[:] = 1.0, age

    def started(self, w: NDArray[Any], bias: NDArray[np.float64]) -> None:
        """Compute ‖w‖² of starting weights."""
        squares = np.sum(np.square(w, dtype=np.float64), axis=0)
        self.square[:] = np.ravel(squares)[: bias.size] + np.square(bias)

    def grown(self, vectors: int, capacity: int, have: int = 0) -> "ScaleFactors":
        """A copy with initial values for new classes."""
        if vectors == self.scale.size:
            return self
        new = ScaleFactors(vectors)
        for before, after in zip(self.others, new.others, strict=True):
            after[: before.size] = before
            if before.size == 1:
                after[1] = before[0]
        return new

    def take_class(self, k: int, part: "ScaleFactors") -> None:
        """Take over the scale and the sums of a binary model."""
        for mine, theirs in zip(self.others, part.others, strict=True):
            mine[k] = theirs[0]

    def stretch(self, factors: NDArray[np.float64]) -> None:
        """Multiply the totals of the scales by a factor for each class."""
        self.total *= factors

    def widened(self, vectors: int) -> "ScaleFactors":
        """A copy with initial values for new classes."""
        return self.grown(vectors, 0)

    def content(self, features: int) -> Arrays:
        """The arrays to store in a file."""
        return self.others


class PenaltyMemory(Memory):
    """For additive rules with a penalty: the scale of the weights, and what they have paid to the l1 penalty.

    Parameters
    ----------
    penalty : Penalty
        The penalty.
    vectors, capacity, have : int
        As for `DiagonalVariances`.
    """

    spreads = True
    scale: NDArray[np.float64]

    def __init__(self, penalty: Penalty, vectors: int, capacity: int, have: int = 0) -> None:
        self.penalty = penalty
        self.scale = np.ones(vectors)
        self.square, self.absolute, self.total, self.owed = (np.zeros(vectors) for _ in range(4))
        features = capacity if penalty.lasso else 0
        self.paid = np.zeros((features,) if vectors == 1 else (features, columns_for(vectors, have)))
        self._register()

    def _register(self) -> None:
        self.others = self.scale, self.square, self.absolute, self.total, self.owed
        self.by_feature = (self.paid,) if self.paid.size else ()
        self.arrays = dict(zip(Penalties._fields, (*self.others, self.paid, self.penalty.rates()), strict=True))

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self.__dict__.update(saved)
        self._register()  # a copy has separated the arrays from those in the tuples

    def unscaled(self, bias: NDArray[np.float64]) -> tuple[Any, Any]:
        """The bias has no scale, because it pays no penalty."""
        return np.zeros_like(bias), bias

    def average(self, state: Any, examples: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The mean of the weights after each example: (Σ scales · v - u) / examples; the bias has no scale."""
        if not examples:
            return state.w * padded(self.scale, state.w), state.bias.copy()
        mean = (state.w * padded(self.total, state.w) - state.u) / examples
        return mean, state.bias - state.u_bias / examples

    def replaced(self, age: float) -> None:
        """Set the scales to 1, and their totals as if they had always been 1; nothing is owed."""
        self.scale[:], self.total[:] = 1.0, age
        self.owed[:], self.paid[...] = 0.0, 0.0

    def started(self, w: NDArray[Any], bias: NDArray[np.float64]) -> None:
        """Compute the norms of starting weights."""
        wide = np.asarray(w, np.float64)
        self.square[:] = np.ravel(np.sum(wide * wide, axis=0))[: bias.size]
        self.absolute[:] = np.ravel(np.sum(np.abs(wide), axis=0))[: bias.size]

    def grown(self, vectors: int, capacity: int, have: int = 0) -> "PenaltyMemory":
        """A copy that keeps everything; the first of two classes has paid the opposite of the second."""
        new = PenaltyMemory(self.penalty, vectors, capacity, have)
        for before, after in zip(self.others, new.others, strict=True):
            after[: before.size] = before
            if before.size == 1 < after.size:
                after[1] = before[0]
        if self.paid.ndim == new.paid.ndim:
            new.paid[tuple(slice(size) for size in self.paid.shape)] = self.paid
        elif self.paid.size:
            new.paid[: self.paid.size, 0], new.paid[: self.paid.size, 1] = -self.paid, self.paid
        return new

    def widened(self, vectors: int) -> "PenaltyMemory":
        """The same payments, with initial values for new classes."""
        new = PenaltyMemory(self.penalty, vectors, 0)
        for before, after in zip(self.others, new.others, strict=True):
            after[: before.size] = before
        new.paid = self.paid
        new._register()
        return new

    def take_class(self, k: int, part: "PenaltyMemory") -> None:
        """Take over the scale, the sums and the payments of a binary model."""
        for mine, theirs in zip(self.others, part.others, strict=True):
            mine[k] = theirs[0]
        if part.paid.size:
            self.paid[: part.paid.size, k] = part.paid

    def stretch(self, factors: NDArray[np.float64]) -> None:
        """Multiply the totals of the scales by a factor for each class."""
        self.total *= factors

    def content(self, features: int) -> Arrays:
        """The arrays to store in a file."""
        paid = self.paid[:features]
        return (*self.others, paid if paid.ndim == 1 else paid[:, : columns_for(self.scale.size)])


def padded(factors: NDArray[np.float64], w: NDArray[Any]) -> NDArray[np.float64]:
    """One factor for each column of the weights, also for the columns in reserve."""
    return factors if w.ndim == 1 else np.pad(factors, (0, w.shape[1] - factors.size))


class CommitteeScales(ScaleFactors):
    """Scales, and scratch space for the scores of the perceptrons of a committee."""

    def __init__(self, vectors: int) -> None:
        super().__init__(vectors)
        self.arrays = {**self.arrays, "own": np.zeros(vectors)}


class DiagonalVariances(Memory):
    """One variance for each weight, in the shape of the weights.

    Parameters
    ----------
    initial : float
        Initial variance.
    vectors, capacity : int
        Number of weight vectors, and number of features including unused capacity.
    have : int, default=0
        Number of columns so far, for `columns_for`.
    """

    def __init__(self, initial: float, vectors: int, capacity: int, have: int = 0) -> None:
        self.initial = initial
        self.sigma = np.full((capacity,) if vectors == 1 else (capacity, columns_for(vectors, have)), initial)
        self.bias = np.full(vectors, initial)
        self.arrays = {"sigma": self.sigma, "sigma_bias": self.bias, "scratch": np.zeros(0)}
        self.by_feature, self.others = (self.sigma,), (self.bias,)

    def grown(self, vectors: int, capacity: int, have: int = 0) -> "DiagonalVariances":
        """A copy that keeps all variances; new ones get the initial value."""
        new = DiagonalVariances(self.initial, vectors, capacity, have)
        if self.sigma.ndim == new.sigma.ndim:
            new.sigma[tuple(slice(size) for size in self.sigma.shape)] = self.sigma
            new.bias[: self.bias.size] = self.bias
        else:
            new.sigma[: self.sigma.size, :2] = self.sigma[:, None]
            new.bias[:2] = self.bias
        return new

    def take_class(self, k: int, part: "DiagonalVariances") -> None:
        """Take over the variances of a binary model."""
        self.sigma[: part.sigma.size, k], self.bias[k] = part.sigma, part.bias[0]

    def widened(self, vectors: int) -> "DiagonalVariances":
        """The same variances, with the initial value for the biases of new classes."""
        new = DiagonalVariances(self.initial, vectors, 0)
        new.bias[: self.bias.size] = self.bias
        new.sigma = self.sigma
        new.arrays = {**new.arrays, "sigma": new.sigma}
        new.by_feature = (new.sigma,)
        return new

    def content(self, features: int) -> Arrays:
        """The variances of weights and biases."""
        sigma = self.sigma[:features]
        return (sigma if sigma.ndim == 1 else sigma[:, : columns_for(self.bias.size)]), self.bias


class FullVariances(Memory):
    """One symmetric matrix for each weight vector, the bias in its first row and column.

    Parameters
    ----------
    initial : float
        Initial diagonal.
    vectors, capacity : int
        Number of weight vectors, and number of features including unused capacity.
    """

    spreads = True

    def __init__(self, initial: float, vectors: int, capacity: int) -> None:
        size = capacity + 1
        needed = 8 * vectors * size * size
        if needed > MOST_BYTES:
            raise ValueError(
                f'covariance="full" keeps (features + 1)² numbers for each weight vector, at most {MOST_BYTES / 2**30:g} GiB '
                f"in all; got {capacity:,} features and {vectors} weight vector(s), which need {needed / 2**30:.1f} GiB. "
                'Use covariance="diagonal".'
            )
        self.initial = initial
        self.sigma = np.zeros((vectors, size, size))
        np.einsum("kii->ki", self.sigma)[...] = initial
        self.arrays = {"sigma": self.sigma, "sigma_bias": np.zeros(vectors), "scratch": np.zeros((vectors + 1, size))}
        self.others = (self.sigma,)

    def __getstate__(self) -> dict[str, Any]:
        return {"initial": self.initial, "sigma": self.sigma}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        vectors, size, _ = saved["sigma"].shape
        self.__init__(saved["initial"], vectors, size - 1)  # type: ignore[misc]  # the arrays are views of each other
        self.sigma[...] = saved["sigma"]

    def grown(self, vectors: int, capacity: int, have: int = 0) -> "FullVariances":
        """A copy that keeps all variances; new ones get the initial value."""
        new = FullVariances(self.initial, vectors, capacity)
        have, size, _ = self.sigma.shape
        new.sigma[:have, :size, :size] = self.sigma
        if have == 1 < vectors:
            new.sigma[1, :size, :size] = self.sigma[0]
        return new

    def take_class(self, k: int, part: "FullVariances") -> None:
        """Take over the matrix of a binary model."""
        self.sigma[k] = part.sigma[0]

    def widened(self, vectors: int) -> None:
        """There is no reserve: a matrix for each class would take too much memory."""

    def content(self, features: int) -> Arrays:
        """The matrices."""
        return (self.sigma[:, : features + 1, : features + 1],)


def memory_of(kind: type, vectors: int, capacity: int, variance: float) -> Memory:
    """The extra state of a kind of rules; variances start from `variance`."""
    if kind is Additive:
        return Memory()
    if kind in (Scaled, Committee):
        return CommitteeScales(vectors) if kind is Committee else ScaleFactors(vectors)
    return (FullVariances if kind is Full else DiagonalVariances)(variance, vectors, capacity)
