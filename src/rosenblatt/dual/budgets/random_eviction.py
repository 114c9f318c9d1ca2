"""Randomized budget perceptron: remove a random row from a full support set.

G. Cavallanti, N. Cesa-Bianchi and C. Gentile, "Tracking the best hyperplane with a simple budget perceptron",
Machine Learning 69, 2007.

    on a mistake:  if the set is full, drop a row drawn uniformly;  add x with coefficient y

Differences: a seeded generator makes one draw per example, used or not, so that the same rows are removed however the
stream is split into blocks; several classes share the rows, and the multiclass scheme determines the update.
"""

from __future__ import annotations

import numpy as np

from rosenblatt.dual.budgets.slots import BudgetMachine, State, Task
from rosenblatt.engine.entries import learn_random


class RandomEviction(BudgetMachine):
    """A budgeted machine that removes a random row."""

    def prepare(self) -> None:
        """Create the seeded generator."""
        self.generator = np.random.default_rng(self.seed)

    def policy(self, task: Task, slots: State) -> tuple[int, int]:
        """Train on one block."""
        state = self.generator.bit_generator.state
        draws = self.generator.random(len(task[1]))
        used, mistakes, updates = learn_random(task, slots, draws)
        if used < 0:
            self.generator.bit_generator.state = state
        self.n_updates += updates
        return used, mistakes
