"""Block and Novikoff in feature space: the mistakes of a run beside (R/γ)².

R² is the largest k(x, x). The last weights, if they separate the set, have a margin γ = min y w·φ(x) / ‖w‖ that some
unit vector is then known to reach, so mistakes <= (R/γ)² from zero weights with unit steps; for many classes trained
together γ is the smallest lead over a rival with the stacked weights scaled to length 1, and mistakes <= 2 (R/γ)². The
weights also bound every margin from above: ‖w‖ divided by the number of updates. All of it holds for positive definite
kernels, and in floating point.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rosenblatt.dual.functions import Kernel
from rosenblatt.dual.machine import Machine
from rosenblatt.dual.online import add_scores
from rosenblatt.dual.readouts import norms
from rosenblatt.dual.rows import Block, Floats, Integers
from rosenblatt.dual.schemes import Scheme
from rosenblatt.dual.training import BLOCK_SIZE
from rosenblatt.model.scores import margins


@dataclass(frozen=True)
class KernelBound:
    """What one run proves about one problem.

    Attributes
    ----------
    problem : str
        "two classes", "stacked", or "class k against the rest".
    radius : float
        R, the largest length of φ(x).
    margin : tuple of float
        γ reached by the last weights (negative if they do not separate the set), and a limit that no weights exceed.
    mistakes : int
    mistake_bound : float or None
        None where nothing is proved: no separator, other steps than 1, or the scheme "all".
    """

    problem: str
    radius: float
    margin: tuple[float, float]
    mistakes: int
    mistake_bound: float | None

    @property
    def holds(self) -> bool | None:
        """Are the mistakes within the bound? None without a bound."""
        return None if self.mistake_bound is None else self.mistakes <= self.mistake_bound


def run_bounds(machine: Machine, kernel: Kernel, data: Block, y: Integers) -> list[KernelBound]:
    """Compare the mistakes of a finished run with the theorem; one answer per problem (one per class for one-vs-rest).

    Parameters
    ----------
    machine : Machine
        A run from zero weights over `data`.
    kernel : Kernel
        The kernel that it ran with.
    data, y
        All its examples and their class numbers.
    """
    scores = np.zeros((len(data), machine.columns))
    largest = 0.0
    for start in range(0, len(data), BLOCK_SIZE):
        part = data.take(slice(start, start + BLOCK_SIZE))
        add_scores(kernel, part, machine, scores[start : start + BLOCK_SIZE])
        largest = max(largest, float(np.diagonal(kernel(part, part)).max()))
    radius = float(np.sqrt(largest))
    tau = machine.event_tau.view
    lengths = norms(machine)[-1] if len(tau) else np.zeros(machine.columns)
    if machine.columns > 1 and machine.scheme == Scheme.OVR:
        return [
            _bound(
                f"class {k} against the rest",
                radius,
                np.where(y == k, scores[:, k], -scores[:, k]),
                float(lengths[k]),
                tau[tau[:, k] != 0.0, k],
                1.0,
            )
            for k in range(machine.columns)
        ]
    factor = 1.0 if machine.columns == 1 else 2.0
    steps = tau[:, 0] if machine.columns == 1 else tau.max(axis=1, initial=0.0)
    if machine.columns > 1 and machine.scheme == Scheme.ALL:
        factor = np.inf
    problem = "two classes" if machine.columns == 1 else "stacked"
    return [_bound(problem, radius, margins(scores, y), float(lengths[0]), steps, factor)]


def _bound(problem: str, radius: float, leads: Floats, length: float, steps: Floats, factor: float) -> KernelBound:
    mistakes = len(steps)
    lower = float(leads.min()) / length if length > 0.0 else 0.0
    upper = length / float(np.abs(steps).sum()) if mistakes and np.isfinite(factor) else np.inf
    proved = lower > 0.0 and bool((np.abs(steps) == 1.0).all()) and np.isfinite(factor)
    bound = factor * (radius / lower) ** 2 if proved else None
    return KernelBound(problem, radius, (lower, upper), mistakes, bound)
