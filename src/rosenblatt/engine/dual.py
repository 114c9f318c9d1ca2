"""Loops of the kernel perceptron: updates, powers of a kernel, votes, and the three policies of a budget.

One column of scores means two classes (negative: the first, positive: the second); otherwise there is one column per class.
"""

import numpy as np
from numba import njit

from rosenblatt.engine.conventions import OnZero, Scheme
from rosenblatt.engine.jit import NOGIL, compiled

_SHARE = 15.0 / 32.0  # limit of the Forgetron's damage per mistake
_STRIP = 1024  # elements of a row that fit into the first-level cache


@njit(**NOGIL)
def wrong_sign(score, sign, on_zero):
    """Whether a score is a mistake for a label of this sign."""
    if on_zero == OnZero.UPDATE:
        return sign * score <= 0.0
    if on_zero == OnZero.KEEP:
        return sign * score < 0.0
    return (score >= 0.0) != (sign > 0.0)


@njit(**NOGIL)
def top_rival(scores, y):
    """The first of the highest-scoring classes other than y."""
    rival = -1
    for k in range(scores.shape[0]):
        if k != y and (rival < 0 or scores[k] > scores[rival]):
            rival = k
    return rival


@njit(**NOGIL)
def is_mistaken(scores, y, rival, on_zero):
    """Whether the rival wins against class y."""
    if scores[rival] == scores[y]:
        return on_zero == OnZero.UPDATE or (on_zero == OnZero.POSITIVE and rival < y)
    return bool(scores[rival] > scores[y])


@njit(**NOGIL)
def correction(scores, y, scheme, on_zero, tau):
    """Write the step of each class into tau; return the number of mistakes, which is 0 if there is no update."""
    tau[:] = 0.0
    classes = scores.shape[0]
    if classes == 1 or scheme == Scheme.OVR:
        mistakes = 0
        for k in range(classes):
            sign = 1.0 if (k == y if classes > 1 else y == 1) else -1.0
            if wrong_sign(scores[k], sign, on_zero):
                tau[k] = sign
                mistakes += 1
        return mistakes
    rival = top_rival(scores, y)
    if not is_mistaken(scores, y, rival, on_zero):
        return 0
    if scheme == Scheme.ALL:
        tau[:] = -1.0
    elif scheme == Scheme.MAX:
        tau[rival] = -1.0
    else:
        _share(scores, y, scheme, tau)
    tau[y] = 1.0
    return 1


@njit(**NOGIL)
def _share(scores, y, scheme, tau):
    """Distribute -1 over the classes that score at least as high as the true one, evenly or in proportion to the excess."""
    rivals = 0
    excess = 0.0
    for k in range(scores.shape[0]):
        if k != y and scores[k] >= scores[y]:
            rivals += 1
            excess += scores[k] - scores[y]
    even = scheme == Scheme.UNIFORM or excess == 0.0
    for k in range(scores.shape[0]):
        if k != y and scores[k] >= scores[y]:
            tau[k] = -1.0 / rivals if even else -(scores[k] - scores[y]) / excess


@njit(**NOGIL)
def assign(target, source, factor):
    """``target[:] = factor * source``. A slice assignment would bring Numba's formatting of errors into the library."""
    for k in range(np.uint64(target.size)):
        target[k] = source[k] * factor


@compiled()
def learn_block(scores, gram, y, weight, scheme, on_zero, position, taus, seen):
    """Train on the examples of a block in order; return (updates, mistakes), with updates = -1 if a score is not finite.

    Parameters
    ----------
    scores : array of shape (B, K), changed in place
        Scores at the start of the block; afterwards those at its end.
    gram : array of shape (B, B)
        Kernel values of the block with itself.
    position, taus, seen : arrays for the result
        The example of each update, its step for each class, and the scores before it.
    """
    updates = 0
    mistakes = 0
    tau = np.empty(scores.shape[1])
    for i in range(np.uint64(scores.shape[0])):
        for k in range(scores.shape[1]):
            if not np.isfinite(scores[i, k]):
                return -1, 0
        wrong = correction(scores[i], y[i], scheme, on_zero, tau)
        if wrong == 0:
            continue
        mistakes += wrong
        position[updates] = i
        assign(taus[updates], tau, weight[i])
        assign(seen[updates], scores[i], 1.0)
        updates += 1
        for k in range(np.uint64(scores.shape[1])):
            if tau[k] != 0.0:
                step = tau[k] * weight[i]
                # Scores of earlier examples are updated too, because they are kept for the next epoch.
                for j in range(np.uint64(scores.shape[0])):
                    scores[j, k] += step * gram[i, j]
    return updates, mistakes


@compiled()
def power(products, gamma, coef0, degree, out):
    """``out = (gamma * products + coef0) ** degree``, in strips that fit into the cache."""
    base = np.empty(_STRIP)
    for i in range(np.uint64(products.shape[0])):
        for start in range(np.uint64(0), np.uint64(products.shape[1]), np.uint64(_STRIP)):
            size = min(np.uint64(_STRIP), np.uint64(products.shape[1]) - start)
            for j in range(size):
                base[j] = gamma * products[i, start + j] + coef0
                out[i, start + j] = base[j]
            for _ in range(degree - 1):
                for j in range(size):
                    out[i, start + j] *= base[j]


@compiled()
def vote_signs(values, rows, taus, counts, votes):
    """Add the votes of the sign of every weight vector, for each column; return False if a score is not finite."""
    columns = np.uint64(taus.shape[1])
    score = np.empty(taus.shape[1])
    for i in range(np.uint64(values.shape[0])):
        score[:] = 0.0
        for e in range(np.uint64(rows.shape[0])):
            value = values[i, np.uint64(rows[e])]
            for k in range(columns):
                score[k] += taus[e, k] * value
                sign = (1.0 if score[k] > 0.0 else 0.0) - (1.0 if score[k] < 0.0 else 0.0)
                votes[i, k] += counts[e] * sign
        if not np.isfinite(score).all():
            return False
    return True


@compiled()
def vote_classes(values, rows, taus, counts, votes):
    """Add the votes of every weight vector for its highest-scoring class; return False if a score is not finite."""
    columns = taus.shape[1]
    score = np.empty(taus.shape[1])
    for i in range(np.uint64(values.shape[0])):
        score[:] = 0.0
        for e in range(np.uint64(rows.shape[0])):
            value = values[i, np.uint64(rows[e])]
            best = 0
            tied = False
            for k in range(columns):
                score[k] += taus[e, k] * value
                if k > 0 and score[k] >= score[best]:
                    tied = score[k] == score[best]
                    if not tied:
                        best = k
            if not tied:
                votes[i, best] += counts[e]
        if not np.isfinite(score).all():
            return False
    return True


# ---- budgets ----
#
# A task is a tuple (values, y, weight, scheme, on_zero): the kernel values of a block with the slots and with itself, of shape
# (B, old + B), labels and weights. Slots are a tuple (column, coef, used, budget): the column of each slot in `values`, and its
# coefficients, both changed in place and large enough for the slots after the block; the number of slots used, and its limit.
# Each `learn_` function trains on one block and returns (slots used, mistakes, …), with -1 slots if a score is not finite.


@njit(**NOGIL)
def slot_scores(values, column, coef, used, scores):
    """Compute the scores of one example from its row of kernel values; return False if one is not finite."""
    scores[:] = 0.0
    for s in range(np.uint64(used)):
        value = values[np.uint64(column[s])]
        for k in range(np.uint64(coef.shape[1])):
            scores[k] += coef[s, k] * value
    return bool(np.isfinite(scores).all())


@compiled()
def learn_random(task, slots, draws):
    """Train on a block, replacing a random slot when all are used; return (slots used, mistakes, updates)."""
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
        assign(coef[slot], tau, weight[i])
    return used, mistakes, updates


@njit(**NOGIL)
def shrinking(sigma, mu, damage, mistakes):
    """The largest phi in (0, 1] that keeps the damage within 15/32 of the mistakes."""
    a, b, c = sigma * sigma - 2.0 * sigma * mu, 2.0 * sigma, damage - _SHARE * mistakes
    if a + b + c <= 0.0:
        return 1.0
    return min(1.0, -2.0 * c / (b + np.sqrt(max(b * b - 4.0 * a * c, 0.0))))


@njit(**NOGIL)
def _value(values, gram, old, a, b):
    """Kernel value of two columns, each a slot at the start of the block or an example of the block."""
    if a >= old:
        value = values[np.uint64(a - old), np.uint64(b)]
    elif b >= old:
        value = values[np.uint64(b - old), np.uint64(a)]
    else:
        value = gram[np.uint64(a), np.uint64(b)]
    return value


@njit(**NOGIL)
def _squares(tau):
    """The sum of the squares."""
    total = 0.0
    for k in range(tau.size):
        total += tau[k] * tau[k]
    return total


@compiled()
def learn_forgetron(task, slots, gram, sigma, age, totals):
    """Train on a block, evicting the oldest slot of a full set. `totals` holds the damage, the updates and the squared radius."""
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
        totals[2] = max(totals[2], _squares(tau) * values[i, old + i])
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
            for s in range(used):
                assign(coef[s], coef[s], phi)
                sigma[s] *= phi
            step *= phi
        column[slot] = old + i
        assign(coef[slot], tau, step)
        sigma[slot] = step
        age[slot] = np.int64(totals[1])
    return used, mistakes


@njit(**NOGIL)
def _project(row, column, inverse, used, d):
    """Write the coefficients of the projection on the slots into d; return its squared length."""
    d[:used] = 0.0
    for t in range(np.uint64(used)):
        value = row[np.uint64(column[t])]
        for s in range(np.uint64(used)):  # the inverse is symmetric, so rows can be read instead of columns
            d[s] += inverse[t, s] * value
    length = 0.0
    for s in range(np.uint64(used)):
        length += d[s] * row[np.uint64(column[s])]
    return max(length, 0.0)


@njit(**NOGIL)
def _append(inverse, used, d, delta2):
    """Extend the inverse kernel matrix by one row with the bordering formula."""
    d[used] = -1.0
    for s in range(np.uint64(used + 1)):
        for t in range(np.uint64(used + 1)):
            inverse[s, t] += d[s] * d[t] / delta2


@njit(**NOGIL)
def _margin_step(loss, delta, eta, length2):
    """Step for a margin error along the projection; 0 if the error of the projection is too large."""
    if loss <= 0.0 or length2 <= 0.0 or loss <= delta / eta:
        return 0.0
    return min(1.0, min(loss, 2.0 * (loss - delta / eta)) / length2)


@njit(**NOGIL)
def _margin_steps(scores, y, scheme, radius2, delta, eta, length2, tau):
    """Write the margin updates into tau; return False if there are none. Lengths are in units of the radius."""
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
def learn_projectron(task, slots, eta, inverse, totals):
    """Train on a block, projecting updates on the slots. `totals` holds the updates and the largest k(x, x)."""
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
            continue  # no projection would have a margin error, so none is computed
        length2 = _project(values[i], column, inverse, used, d)
        delta2 = max(own - length2, 0.0)
        delta = np.sqrt(delta2 / radius2)
        if wrong > 0 and delta > eta and used < budget:
            _append(inverse, used, d, delta2)
            column[used] = old + i
            assign(coef[used], tau, weight[i])
            used += 1
            totals[0] += 1.0
            continue
        if wrong == 0 and not _margin_steps(scores, y[i], scheme, radius2, delta, eta, length2 / radius2, tau):
            continue
        totals[0] += 1.0
        for s in range(used):
            step = weight[i] * d[s]
            for k in range(coef.shape[1]):
                coef[s, k] += tau[k] * step
    return used, mistakes
