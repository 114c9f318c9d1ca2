"""Randomized budget perceptron: a full support set loses one row at random.

G. Cavallanti, N. Cesa-Bianchi and C. Gentile, "Tracking the best hyperplane with a simple budget perceptron",
Machine Learning 69, 2007.

    on a mistake:  if the set is full, drop a row drawn uniformly;  add x with coefficient y

Departures: the draws come from a seeded generator, one per example whether used or not, so that any cutting of the
stream into blocks evicts the same rows; many classes share the rows, and an update is what the multiclass scheme says.
"""

from __future__ import annotations

import numpy as np

from rosenblatt.dual.budgets.slots import BudgetMachine, State, Task, slot_scores
from rosenblatt.dual.rows import Floats
from rosenblatt.dual.schemes import correction
from rosenblatt.engine.jit import compiled


@compiled()
def learn_block(task: Task, slots: State, draws: Floats) -> tuple[int, int, int]:
    """Learn one block; return (slots used, mistakes, updates)."""
    values, y, weight, scheme, on_zero = task
    column, coef, used, budget = slots
    old = used
    mistakes = 0
    updates = 0
    scores, tau = np.empty(coef.shape[1]), np.empty(coef.shape[1])
    for i in range(values.shape[0]):
        if not slot_scores(values[i], column, coef, used, scores):
            return -1, 0, 0
        wrong = correction(scores, y[i], scheme, on_zero, tau)
        if wrong == 0:
            continue
        mistakes += wrong
        updates += 1
        if used < budget:
            slot = used
            used += 1
        else:
            slot = int(draws[i] * budget)
        column[slot] = old + i
        coef[slot] = tau * weight[i]
    return used, mistakes, updates


class RandomEviction(BudgetMachine):
    """A budgeted machine that evicts at random."""

    def prepare(self) -> None:
        """Start the seeded generator of the evictions."""
        self.generator = np.random.default_rng(self.seed)

    def policy(self, task: Task, slots: State) -> tuple[int, int]:
        """Learn one block."""
        state = self.generator.bit_generator.state
        draws = self.generator.random(len(task[1]))
        used, mistakes, updates = learn_block(task, slots, draws)
        if used < 0:
            self.generator.bit_generator.state = state
        self.n_updates += updates
        return used, mistakes
