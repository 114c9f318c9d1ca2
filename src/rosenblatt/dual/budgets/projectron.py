"""Projectron++: write an update as a combination of the rows already kept, if that loses little.

F. Orabona, J. Keshet and B. Caputo, "Bounded kernel-based online learning", Journal of Machine Learning Research 10,
2009.

    P the projection on the span of the support set, delta = |k(x, ·) - P k(x, ·)|
    mistake, delta <= eta:            f = f + y P k(x, ·)
    mistake, delta > eta:             f = f + y k(x, ·), x joins the support set
    margin error 0 < y f(x) < 1 with loss l = 1 - y f(x) > delta / eta:
        f = f + y t P k(x, ·),   t = min(l, 2 (l - delta / eta), |P k|^2) / |P k|^2

The rule bounds its support set by itself, the smaller eta the larger; `budget` is a hard limit on top of it, behind
which every mistake is projected. Departures: the paper wants k(x, x) <= 1; other kernels are divided by the largest
k(x, x) met so far. Many classes share the support set; a margin error is then one of the true class against its best
rival (of each class on its own for one-vs-rest), and an example with a mistake brings no margin updates.
"""

from __future__ import annotations

import numpy as np

from rosenblatt.dual.budgets.slots import BudgetMachine, State, Task, slot_scores
from rosenblatt.dual.rows import Floats, Integers
from rosenblatt.dual.schemes import Scheme, correction, top_rival
from rosenblatt.engine.jit import compiled


@compiled()
def _project(row: Floats, column: Integers, inverse: Floats, used: int, d: Floats) -> float:
    """Coefficients d of the projection on the slots; return its squared length."""
    d[:used] = 0.0
    for t in range(np.uint64(used)):
        value = row[np.uint64(column[t])]
        for s in range(np.uint64(used)):  # the inverse is symmetric: its rows are read in order
            d[s] += inverse[t, s] * value
    length = 0.0
    for s in range(np.uint64(used)):
        length += d[s] * row[np.uint64(column[s])]
    return max(length, 0.0)


@compiled()
def _append(inverse: Floats, used: int, d: Floats, delta2: float) -> None:
    """Inverse kernel matrix after one more row: the bordering formula."""
    d[used] = -1.0
    for s in range(np.uint64(used + 1)):
        for t in range(np.uint64(used + 1)):
            inverse[s, t] += d[s] * d[t] / delta2


@compiled()
def _margin_step(loss: float, delta: float, eta: float, length2: float) -> float:
    """How far a margin error moves along the projection; 0 if the projection loses too much."""
    if loss <= 0.0 or length2 <= 0.0 or loss <= delta / eta:
        return 0.0
    return min(1.0, min(loss, 2.0 * (loss - delta / eta)) / length2)


@compiled()
def _margin_steps(
    scores: Floats, y: int, scheme: int, radius2: float, delta: float, eta: float, length2: float, tau: Floats
) -> bool:
    """Write the margin updates into tau; False if there are none. Lengths are in units of the radius."""
    tau[:] = 0.0
    if tau.shape[0] == 1 or scheme == Scheme.OVR:
        for k in range(tau.shape[0]):
            sign = 1.0 if (k == y if tau.shape[0] > 1 else y == 1) else -1.0
            tau[k] = sign * _margin_step(1.0 - sign * scores[k] / radius2, delta, eta, length2)
    else:
        rival = top_rival(scores, y)
        loss = 1.0 - (scores[y] - scores[rival]) / radius2
        # The stacked vector (φ, -φ) is sqrt(2) times as long as φ.
        tau[y] = _margin_step(loss, np.sqrt(2.0) * delta, eta, 2.0 * length2)
        tau[rival] = -tau[y]
    return bool((tau != 0.0).any())


@compiled()
def learn_block(task: Task, slots: State, eta: float, inverse: Floats, totals: Floats) -> tuple[int, int]:
    """Learn one block; return (slots used, mistakes). `totals` holds the updates and the largest k(x, x)."""
    values, y, weight, scheme, on_zero = task
    column, coef, used, budget = slots
    old = used
    mistakes = 0
    scores, tau = np.empty(coef.shape[1]), np.empty(coef.shape[1])
    d = np.zeros(coef.shape[0] + 1)
    for i in range(values.shape[0]):
        if not slot_scores(values[i], column, coef, used, scores):
            return -1, 0
        own = values[i, old + i]
        totals[1] = max(totals[1], own)
        radius2 = totals[1] if totals[1] > 0.0 else 1.0
        wrong = correction(scores, y[i], scheme, on_zero, tau)
        mistakes += wrong
        if wrong == 0 and not _margin_steps(scores, y[i], scheme, radius2, 0.0, eta, 1.0, tau):
            continue  # no margin error either, whatever the projection: it need not be computed
        length2 = _project(values[i], column, inverse, used, d)
        delta2 = max(own - length2, 0.0)
        delta = np.sqrt(delta2 / radius2)
        if wrong > 0 and delta > eta and used < budget:
            _append(inverse, used, d, delta2)
            column[used] = old + i
            coef[used] = tau * weight[i]
            used += 1
            totals[0] += 1.0
            continue
        if wrong == 0 and not _margin_steps(scores, y[i], scheme, radius2, delta, eta, length2 / radius2, tau):
            continue
        totals[0] += 1.0
        for s in range(used):
            coef[s] += tau * (weight[i] * d[s])
    return used, mistakes


class Projectron(BudgetMachine):
    """A budgeted machine that projects."""

    def prepare(self) -> None:
        """No row is kept yet."""
        self.inverse = np.zeros((0, 0))
        self.totals = np.zeros(2)

    def policy(self, task: Task, slots: State) -> tuple[int, int]:
        """Learn one block."""
        room, old = len(slots[0]), len(self.rows)
        inverse = self.inverse
        if len(inverse) < room:
            inverse = np.zeros((min(self.budget, 2 * room), min(self.budget, 2 * room)))
            inverse[:old, :old] = self.inverse[:old, :old]
        used, mistakes = learn_block(task, slots, self.eta, inverse, self.totals)
        self.inverse = inverse
        self.n_updates = int(self.totals[0])
        return used, mistakes
