"""Projectron++: replace an update by a combination of the support rows if the difference is small.

F. Orabona, J. Keshet and B. Caputo, "Bounded kernel-based online learning", Journal of Machine Learning Research 10,
2009.

    P the projection on the span of the support set, delta = |k(x, ·) - P k(x, ·)|
    mistake, delta <= eta:            f = f + y P k(x, ·)
    mistake, delta > eta:             f = f + y k(x, ·), x joins the support set
    margin error 0 < y f(x) < 1 with loss l = 1 - y f(x) > delta / eta:
        f = f + y t P k(x, ·),   t = min(l, 2 (l - delta / eta), |P k|^2) / |P k|^2

The rule itself bounds the support set, which is larger for smaller eta; `budget` is an additional hard limit, beyond
which every mistake is projected. Differences: the paper requires k(x, x) <= 1; other kernels are divided by the largest
k(x, x) so far. Several classes share the support set; a margin error is then one of the true class against its best
rival (separately for each class for one-vs-rest), and an example with a mistake makes no margin updates.
"""

from __future__ import annotations

import numpy as np

from rosenblatt.dual.budgets.slots import BudgetMachine, State, Task
from rosenblatt.engine.entries import learn_projectron


class Projectron(BudgetMachine):
    """A budgeted machine that projects updates on its support rows."""

    def prepare(self) -> None:
        """Create the empty records."""
        self.inverse = np.zeros((0, 0))
        self.totals = np.zeros(2)

    def policy(self, task: Task, slots: State) -> tuple[int, int]:
        """Train on one block."""
        room, old = len(slots[0]), len(self.rows)
        inverse = self.inverse
        if len(inverse) < room:
            inverse = np.zeros((min(self.budget, 2 * room), min(self.budget, 2 * room)))
            inverse[:old, :old] = self.inverse[:old, :old]
        used, mistakes = learn_projectron(task, slots, self.eta, inverse, self.totals)
        self.inverse = inverse
        self.n_updates = int(self.totals[0])
        return used, mistakes
