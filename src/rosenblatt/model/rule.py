"""A learning rule of the core model: its step function, its hyperparameters and its conventions."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from rosenblatt.engine.codegen import asks_for, compile_step, kind_of_step
from rosenblatt.engine.log_weights import BALANCED, EXP, IDENTITY
from rosenblatt.engine.loop import Passes, passes_of
from rosenblatt.engine.multiclass import SCHEMES
from rosenblatt.engine.state import ON_ZERO, Additive, Diagonal, Full, Settings

from .extra_state import Memory, memory_of

LINKS = {"identity": IDENTITY, "exp": EXP, "balanced": BALANCED}


@dataclasses.dataclass(frozen=True)
class Rule:
    """A step function with its hyperparameters and conventions.

    Parameters
    ----------
    step : callable
        ``step(margin, [sq_norm,] *params) -> tau``, the size of the step; for a second-order rule
        ``step(margin, variance, weight, *params) -> alpha, beta``; if it also shrinks the weights
        ``step(margin, sq_norm, w_sq_norm, steps, weight, *params) -> shrink, tau``.
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

    @functools.cached_property
    def kind(self) -> type:
        """The kind of the rule: one of the classes of states in `rosenblatt.engine.state`."""
        return kind_of_step(self.step, self.covariance)

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
        return int(compile_step(self.step).address)

    def memory(self, vectors: int, capacity: int) -> Memory:
        """The extra state of the rule besides its weights."""
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
        )
