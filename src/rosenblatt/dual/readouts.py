"""Readouts of a run: the last weights, their average, or a vote of all weights, normalised or not.

last and average are linear in the kernel values, so each is one coefficient per support row and class. The vote is not,
but w_e·x is a prefix sum over the updates in order, so one pass over a row of kernel values visits all weight vectors.
A zero score, or a tie for the highest one, casts no vote.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from rosenblatt.dual.functions import Kernel
from rosenblatt.dual.machine import Machine
from rosenblatt.dual.online import TILE, NotFiniteError
from rosenblatt.dual.rows import Block, Floats
from rosenblatt.engine.conventions import Scheme
from rosenblatt.engine.entries import vote_classes, vote_signs
from rosenblatt.model.scores import in_row_threads

READOUTS = ("last", "average", "vote")

_BLOCK_VALUES = 4_000_000  # kernel values in memory during a prediction: 32 MB


def survival_counts(machine: Machine) -> Floats:
    """Number of examples for which the weights after each update were in use."""
    ends = np.append(machine.event_time.view[1:], machine.n_seen)
    return np.asarray(ends - machine.event_time.view, dtype=np.float64)


def norms(machine: Machine) -> Floats:
    """‖w‖ in feature space after each update: per class for one-vs-rest, of all classes stacked otherwise.

    ‖w + tau φ(x)‖² = ‖w‖² + 2 tau w·φ(x) + tau² k(x, x), and w·φ(x) is the score before the update.
    """
    tau, seen = machine.event_tau.view, machine.event_score.view
    squared = np.cumsum(2.0 * tau * seen + tau**2 * machine.event_self.view[:, None], axis=0)
    if machine.scheme != Scheme.OVR:
        squared = np.repeat(squared.sum(axis=1, keepdims=True), machine.columns, axis=1)
    return np.asarray(np.sqrt(np.maximum(squared, 0.0)))


class HasRows(Protocol):
    """An object with support rows: an unbudgeted machine or a budgeted one."""

    @property
    def rows(self) -> Any:
        """The support rows, with `slice(start, stop)`."""
        ...


def _divide(values: Floats, lengths: Floats) -> Floats:
    """values / lengths, and 0 where the length is 0, because zero weights have no direction."""
    return np.divide(values, lengths, out=np.zeros_like(values), where=lengths > 0.0)


def coefficients(machine: Machine, readout: str, normalize: bool = False) -> Floats:
    """Coefficient of every support row in the last or the averaged weights.

    The average is over the weights after each example; with `normalize`, each w is divided by its length first.
    """
    if len(machine.event_row) == 0:
        return np.zeros((0, machine.columns))
    if readout == "last":
        dual = machine.dual.view.copy()
        return _divide(dual, np.broadcast_to(norms(machine)[-1], dual.shape)) if normalize else dual
    counts = np.repeat(survival_counts(machine)[:, None], machine.columns, axis=1)
    if normalize:
        counts = _divide(counts, norms(machine))
    # An update is part of its own weights and of all later ones.
    shares = np.cumsum(counts[::-1], axis=0)[::-1] * machine.event_tau.view / machine.n_seen
    total = np.zeros_like(machine.dual.view)
    np.add.at(total, machine.event_row.view, shares)
    return total


def _vote(machine: Machine, kernel: Kernel, block: Block) -> Floats:
    """Fraction of the votes for each class, for one block."""
    support = len(machine.rows)
    values = np.empty((len(block), support))
    for start in range(0, support, TILE):
        stop = min(start + TILE, support)
        values[:, start:stop] = kernel(block, machine.rows.slice(start, stop))
    votes = np.zeros((len(block), machine.columns))
    rows, taus, counts = machine.event_row.view, machine.event_tau.view, survival_counts(machine)
    count = vote_signs if machine.columns == 1 or machine.scheme == Scheme.OVR else vote_classes
    finite: list[bool] = []

    def part(start: int, stop: int) -> None:
        finite.append(count(values[start:stop], rows, taus, counts, votes[start:stop]))

    in_row_threads(part, len(block), len(block) * taus.size)
    if not all(finite):
        raise NotFiniteError("The scores")
    return votes / max(machine.n_seen, 1)


def linear_scores(machine: HasRows, kernel: Kernel, block: Block, dual: Floats) -> Floats:
    """Kernel values with the support rows times the coefficients, in pieces of bounded size."""
    scores = np.zeros((len(block), dual.shape[1]))
    size = max(1, _BLOCK_VALUES // TILE)
    for first in range(0, len(block), size):
        part = block.take(slice(first, first + size))
        for start in range(0, len(dual), TILE):
            stop = min(start + TILE, len(dual))
            scores[first : first + size] += kernel(part, machine.rows.slice(start, stop)) @ dual[start:stop]
    if not np.isfinite(scores).all():
        raise NotFiniteError("The scores")
    return scores


def decide(machine: Machine, kernel: Kernel, block: Block, readout: str, normalize: bool = False) -> Floats:
    """Scores of new examples for a readout, of shape (n, columns).

    last: w·x (or divided by ‖w‖). average: the same with the averaged (unit) weights. vote: the share of the votes, in
    [-1, 1] for two classes and for one-vs-rest, in [0, 1] otherwise; a vote does not depend on the length of w.
    """
    if readout != "vote":
        return linear_scores(machine, kernel, block, coefficients(machine, readout, normalize))
    size = max(1, _BLOCK_VALUES // max(len(machine.rows), 1))
    scores = np.zeros((len(block), machine.columns))
    for first in range(0, len(block), size):
        scores[first : first + size] = _vote(machine, kernel, block.take(slice(first, first + size)))
    return scores
