"""A learning rule as the core model takes it: its step function with its numbers, and the conventions it runs under."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from rosenblatt.engine import loop
from rosenblatt.engine.codegen import Kernels, asks_for, compile_step, is_second_order, is_shrinking, loops_of
from rosenblatt.engine.log_weights import BALANCED, EXP, IDENTITY
from rosenblatt.engine.multiclass import SCHEMES
from rosenblatt.engine.state import Settings

from .extra_state import DiagonalVariances, FullVariances, Memory, ScaleFactors

__all__ = ["Rule"]

LINKS = {"identity": IDENTITY, "exp": EXP, "balanced": BALANCED}


@dataclasses.dataclass(frozen=True)
class Rule:
    """A learning rule with its numbers, and the conventions it runs under.

    Parameters
    ----------
    step : callable
        ``step(margin, [sq_norm,] *params) -> tau``: how far to move; of second order
        ``step(margin, variance, weight, *params) -> alpha, beta``; if it also shrinks the weights
        ``step(margin, sq_norm, w_sq_norm, steps, weight, *params) -> shrink, tau``.
    params : tuple of float
        The values of its hyperparameters, in the order of its arguments.
    target : float, default=inf
        Examples with a larger margin are left alone without asking `step`; the loss is ``max(0, target - margin)``
        (``max(0, -margin)`` where the target is infinite).
    link : {"identity", "exp", "balanced"}, default="identity"
        Whether steps are added to the weights or to their logarithms.
    on_zero, multiclass, fit_intercept
        As in the estimators.
    covariance : {"diagonal", "full"}, default="diagonal"
        What a second-order rule, whose `step` asks for the variance of the margin, keeps of Σ.
    variance : float, default=1.0
        The variance that every weight starts with, of such a rule.
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

    @property
    def second_order(self) -> bool:
        """Whether the rule keeps variances."""
        return is_second_order(self.step)

    @property
    def additive(self) -> bool:
        """Whether the weights are their start plus a sum of steps along the examples: what the theorems speak of."""
        return self.link == "identity" and not self.second_order and not is_shrinking(self.step)

    def kernels(self) -> Kernels:
        """The compiled passes of its kind of rules."""
        return loops_of(self.step, self.covariance == "full")

    def address(self) -> int:
        """Where its compiled step function is."""
        return int(compile_step(self.step).address)

    def memory(self, vectors: int, capacity: int) -> Memory:
        """What the rule keeps besides its weights."""
        if is_shrinking(self.step):
            return ScaleFactors(vectors)
        if not self.second_order:
            return Memory()
        kind = FullVariances if self.covariance == "full" else DiagonalVariances
        return kind(self.variance, vectors, capacity)

    def settings(self) -> Settings:
        """The conventions as the numbers that kernels take."""
        return Settings(
            float(self.target),
            1.0 if self.fit_intercept else 0.0,
            loop.ON_ZERO[self.on_zero],
            SCHEMES[self.multiclass],
            LINKS[self.link],
            int(asks_for(self.step, "sq_norm")),
        )
