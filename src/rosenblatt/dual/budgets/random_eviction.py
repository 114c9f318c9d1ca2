"""Randomized budget perceptron: a full support set loses one row at random.

G. Cavallanti, N. Cesa-Bianchi and C. Gentile, "Tracking the best hyperplane with a simple budget perceptron",
Machine Learning 69, 2007.

    on a mistake:  if the set is full, drop a row drawn uniformly;  add x with coefficient y

Departures: the draws come from a seeded generator, one per example whether used or not, so that any cutting of the
stream into blocks evicts the same rows; many classes share the rows, and an update is what the multiclass scheme says.
"""

from __future__ import annotations

import numpy as np

from rosenblatt.dual.budgets.slots import BudgetMachine, State, Task
from rosenblatt.engine.dual import learn_random


class RandomEviction(BudgetMachine):
    """A budgeted machine that evicts at random."""

    def prepare(self) -> None:
        """Start the seeded generator of the evictions."""
        self.generator = np.random.default_rng(self.seed)

    def policy(self, task: Task, slots: State) -> tuple[int, int]:
        """Learn one block."""
        state = self.generator.bit_generator.state
        draws = self.generator.random(len(task[1]))
        used, mistakes, updates = learn_random(task, slots, draws)
        if used < 0:
            self.generator.bit_generator.state = state
        self.n_updates += updates
        return used, mistakes
