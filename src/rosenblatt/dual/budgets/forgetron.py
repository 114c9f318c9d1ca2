"""Self-tuned Forgetron: shrink all coefficients as little as necessary, then remove the oldest row.

O. Dekel, S. Shalev-Shwartz and Y. Singer, "The Forgetron: a kernel-based perceptron on a budget", SIAM Journal on
Computing 37, 2008.

    on a mistake, M mistakes so far:  f' = f + y k(x, ·)
    if the set is now too large, r its oldest row with coefficient sigma and mu = y_r f'(x_r):
        phi = the largest in (0, 1] with  Q + Psi(phi sigma, phi mu) <= 15/32 M,   Psi(a, b) = a^2 + 2a - 2ab
        f = phi f' without r;   Q = Q + Psi(phi sigma, phi mu)

Differences: the paper requires k(x, x) <= 1; other kernels are divided by the largest squared length so far. Several
classes are one problem on stacked vectors tau ⊗ φ(x), whose squared length is |tau|^2 k(x, x) and whose score is
Σ tau_k f_k(x).
"""

from __future__ import annotations

import numpy as np

from rosenblatt.dual.budgets.slots import BudgetMachine, State, Task
from rosenblatt.dual.rows import Floats, Integers
from rosenblatt.engine.entries import learn_forgetron


class Forgetron(BudgetMachine):
    """A budgeted machine that shrinks the coefficients and removes the oldest row."""

    def prepare(self) -> None:
        """Create the empty records."""
        self.gram = np.zeros((0, 0))
        self.sigma = np.zeros(0)
        self.age = np.zeros(0, dtype=np.int64)
        self.totals = np.zeros(3)

    def policy(self, task: Task, slots: State) -> tuple[int, int]:
        """Train on one block."""
        room, old = len(slots[0]), len(self.rows)
        self.sigma = np.concatenate([self.sigma[:old], np.zeros(room - old)])
        self.age = np.concatenate([self.age[:old], np.zeros(room - old, dtype=np.int64)])
        used, mistakes = learn_forgetron(task, slots, self.gram, self.sigma, self.age, self.totals)
        self.n_updates = int(self.totals[1])
        return used, mistakes

    def committed(self, values: Floats, column: Integers, old: int) -> None:
        """Update the kernel values of the new slots with all slots."""
        kept = len(column)
        gram = np.zeros((kept, kept))
        same = min(old, kept)
        gram[:same, :same] = self.gram[:same, :same]
        for slot in np.flatnonzero(column >= old):
            row = values[column[slot] - old, column]
            gram[slot, :] = row
            gram[:, slot] = row
        self.gram = gram
