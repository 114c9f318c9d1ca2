"""Self-tuned Forgetron: shrink all coefficients just enough, then forget the oldest row.

O. Dekel, S. Shalev-Shwartz and Y. Singer, "The Forgetron: a kernel-based perceptron on a budget", SIAM Journal on
Computing 37, 2008.

    on a mistake, M mistakes so far:  f' = f + y k(x, ·)
    if the set is now too large, r its oldest row with coefficient sigma and mu = y_r f'(x_r):
        phi = the largest in (0, 1] with  Q + Psi(phi sigma, phi mu) <= 15/32 M,   Psi(a, b) = a^2 + 2a - 2ab
        f = phi f' without r;   Q = Q + Psi(phi sigma, phi mu)

Departures: the paper wants k(x, x) <= 1; other kernels are divided by the largest squared length met so far. Many
classes are one problem on stacked vectors tau ⊗ φ(x), whose squared length is |tau|^2 k(x, x) and whose score is
Σ tau_k f_k(x).
"""

from __future__ import annotations

import numpy as np

from rosenblatt.dual.budgets.slots import BudgetMachine, State, Task, slot_scores
from rosenblatt.dual.rows import Floats, Integers
from rosenblatt.dual.schemes import correction
from rosenblatt.engine.jit import compiled

_SHARE = 15.0 / 32.0


@compiled()
def shrinking(sigma: float, mu: float, damage: float, mistakes: float) -> float:
    """The largest phi in (0, 1] that keeps the damage within 15/32 of the mistakes."""
    a, b, c = sigma * sigma - 2.0 * sigma * mu, 2.0 * sigma, damage - _SHARE * mistakes
    if a + b + c <= 0.0:
        return 1.0
    phi: float = min(1.0, -2.0 * c / (b + np.sqrt(max(b * b - 4.0 * a * c, 0.0))))
    return phi


@compiled()
def _value(values: Floats, gram: Floats, old: int, a: int, b: int) -> float:
    """Kernel value of two columns: each a slot of the block's start or an example of the block."""
    if a >= old:
        value: float = values[np.uint64(a - old), np.uint64(b)]
    elif b >= old:
        value = values[np.uint64(b - old), np.uint64(a)]
    else:
        value = gram[np.uint64(a), np.uint64(b)]
    return value


@compiled()
def learn_block(
    task: Task, slots: State, gram: Floats, sigma: Floats, age: Integers, totals: Floats
) -> tuple[int, int]:
    """Learn one block; return (slots used, mistakes). `totals` holds damage, updates and the squared radius."""
    values, y, weight, scheme, on_zero = task
    column, coef, used, budget = slots
    old = used
    mistakes = 0
    scores, tau = np.empty(coef.shape[1]), np.empty(coef.shape[1])
    for i in range(values.shape[0]):
        if not slot_scores(values[i], column, coef, used, scores):
            return -1, 0
        wrong = correction(scores, y[i], scheme, on_zero, tau)
        if wrong == 0:
            continue
        mistakes += wrong
        totals[1] += 1.0
        totals[2] = max(totals[2], (tau * tau).sum() * values[i, old + i])
        step = weight[i]
        slot = used
        if used < budget:
            used += 1
        else:
            slot = int(np.argmin(age[:used]))
            mu = 0.0
            for k in range(coef.shape[1]):
                score = step * tau[k] * values[i, column[slot]]
                for s in range(used):
                    score += coef[s, k] * _value(values, gram, old, column[s], column[slot])
                mu += coef[slot, k] / sigma[slot] * score
            if totals[2] > 0.0:
                mu /= totals[2]
            phi = shrinking(sigma[slot], mu, totals[0], totals[1])
            shrunk = phi * sigma[slot]
            totals[0] += shrunk * shrunk + 2.0 * shrunk - 2.0 * shrunk * phi * mu
            coef[:used] *= phi
            sigma[:used] *= phi
            step *= phi
        column[slot] = old + i
        coef[slot] = tau * step
        sigma[slot] = step
        age[slot] = np.int64(totals[1])
    return used, mistakes


class Forgetron(BudgetMachine):
    """A budgeted machine that shrinks and forgets the oldest row."""

    def prepare(self) -> None:
        """Nothing has been forgotten yet."""
        self.gram = np.zeros((0, 0))
        self.sigma = np.zeros(0)
        self.age = np.zeros(0, dtype=np.int64)
        self.totals = np.zeros(3)

    def policy(self, task: Task, slots: State) -> tuple[int, int]:
        """Learn one block."""
        room, old = len(slots[0]), len(self.rows)
        self.sigma = np.concatenate([self.sigma[:old], np.zeros(room - old)])
        self.age = np.concatenate([self.age[:old], np.zeros(room - old, dtype=np.int64)])
        used, mistakes = learn_block(task, slots, self.gram, self.sigma, self.age, self.totals)
        self.n_updates = int(self.totals[1])
        return used, mistakes

    def committed(self, values: Floats, column: Integers, old: int) -> None:
        """Give the new slots their kernel values with all slots."""
        kept = len(column)
        gram = np.zeros((kept, kept))
        same = min(old, kept)
        gram[:same, :same] = self.gram[:same, :same]
        for slot in np.flatnonzero(column >= old):
            row = values[column[slot] - old, column]
            gram[slot, :] = row
            gram[:, slot] = row
        self.gram = gram
