"""The algorithms as written in the lecture notes, in plain NumPy: slow, short, and independent of the library.

Labels are class numbers 0, 1, …; for two classes 1 is the positive one. Weights have one row for each weight vector (one for two
classes) and the bias in the last column. The order of summation is the one that the library promises, so that tests
can require equal bits.
"""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import zip_longest

import numpy as np


def lane_sum(terms):
    """Eight lanes, feature j in lane j mod 8, each summed from first to last; then the upper half onto the lower."""
    lanes = [terms.dtype.type(0)] * 8
    for j, term in enumerate(terms):
        lanes[j % 8] = lanes[j % 8] + term
    while len(lanes) > 1:
        half = len(lanes) // 2
        lanes = [low + high for low, high in zip(lanes[:half], lanes[half:], strict=True)]
    return lanes[0]


def scores(W, x):
    """One weight vector: in eight lanes; several: from the first feature to the last; then the bias."""
    if len(W) == 1:
        return np.array([float(lane_sum(W[0, :-1] * x)) + W[0, -1]])
    return np.array([float(np.cumsum(w[:-1] * x)[-1]) + w[-1] for w in W])


def is_mistake(margin, first, on_zero):
    """`first`: whether the true class is the one predicted at a tie."""
    return margin < 0 or (margin == 0 and (on_zero == "update" or (on_zero == "positive" and not first)))


def shares(scheme, s, true, rival):
    """Multiple of the example that each class adds in a step of size 1."""
    K = len(s)
    share = np.zeros(K)
    share[true] = 1.0
    level = [rival] + [k for k in range(K) if k not in (true, rival) and s[k] >= s[true]]
    excess = [max(s[k] - s[true], 0.0) for k in level]
    if scheme == "max":
        share[rival] = -1.0
    elif scheme == "all":
        share[np.arange(K) != true] = -1.0
    elif scheme == "uniform" or sum(excess) == 0:
        share[level] = -1.0 / len(level)
    else:
        share[level] = [-e / sum(excess) for e in excess]
    return share


@dataclass
class Run:
    W: np.ndarray
    mistakes: int = 0
    updates: int = 0
    examples: int = 0
    mistakes_per_epoch: list = field(default_factory=list)
    after: list = field(default_factory=list)
    """(weights after the example, weight of the example)"""
    epoch_ends: list = field(default_factory=list)
    """The weights before the first epoch and after each."""
    closest: float = math.inf
    """Smallest margin of a nonzero weight vector, relative to the terms that it sums: rounding decides near 0."""

    def average(self):
        return sum(c * W for W, c in self.after) / sum(c for _, c in self.after)

    def votes(self, X, scheme="max"):
        """Every weight vector has one vote per example that it survived; a zero score, or a tie at the top, casts no vote."""
        total = np.zeros((len(X), len(self.W)))
        for W, c in self.after:
            for i, x in enumerate(X):
                s = scores(W, x)
                if len(s) == 1:
                    total[i] += c * np.sign(s)
                elif (s == s.max()).sum() == 1:
                    total[i, s.argmax()] += c
        return total


@dataclass
class Separate(Run):
    """The runs of all classes against the rest, each of which ends when it makes no mistake."""

    runs: list = field(default_factory=list)

    def average(self):
        return np.vstack([run.average() for run in self.runs])

    def votes(self, X, scheme="ovr"):
        total = max(sum(c for _, c in run.after) for run in self.runs)
        return np.hstack([run.votes(X) * (total / sum(c for _, c in run.after)) for run in self.runs])


def separately(learn, step, X, y, *, classes, W=None, **kwargs):
    """One run for each class against the rest, as `fit` does with multiclass="ovr"."""
    starts = [None] * classes if W is None else [W[k : k + 1] for k in range(classes)]
    runs = [learn(step, X, (np.asarray(y) == k).astype(int), W=starts[k], **kwargs) for k in range(classes)]
    made = Separate(np.vstack([run.W for run in runs]), runs=runs, closest=min(run.closest for run in runs))
    for name in ("mistakes", "updates"):
        setattr(made, name, sum(getattr(run, name) for run in runs))
    made.examples = max(run.examples for run in runs)
    for t in range(made.examples):  # a class whose run has ended keeps its weights
        W = np.vstack([run.after[min(t, run.examples - 1)][0] for run in runs])
        made.after.append((W, max(runs, key=lambda run: run.examples).after[t][1]))
    made.mistakes_per_epoch = [sum(n) for n in zip_longest(*(run.mistakes_per_epoch for run in runs), fillvalue=0)]
    if hasattr(runs[0], "sigma"):
        made.sigma = np.concatenate([run.sigma for run in runs])
    return made


def learn(
    step,
    X,
    y,
    *,
    classes=2,
    scheme="max",
    on_zero="update",
    bias=True,
    W=None,
    weight=None,
    epochs=1,
    link=lambda V: V,
):
    """The online protocol: `step(margin, is a mistake, squared norm)` returns the step size."""
    if scheme == "ovr" and classes > 2:
        return separately(
            learn, step, X, y, classes=classes, W=W, on_zero=on_zero, bias=bias, weight=weight, epochs=epochs, link=link
        )
    vectors = 1 if classes == 2 else classes
    V = np.zeros((vectors, X.shape[1] + 1)) if W is None else np.array(W, dtype=float)
    weight = np.ones(len(X)) if weight is None else weight
    mask = np.ones(X.shape[1] + 1)
    mask[-1] = bias
    run = Run(link(V) * mask)
    run.epoch_ends.append(run.W.copy())
    for _ in range(epochs):
        before = run.mistakes, run.updates
        for x, true, c in zip(X, y, weight, strict=True):
            if c == 0:
                continue
            s = scores(run.W, x)
            sq_norm = float(lane_sum(x * x)) + bias
            move = np.zeros(vectors)
            if vectors == 1:
                sign = 1.0 if true == 1 else -1.0
                wrong = is_mistake(sign * s[0], true == 1, on_zero)
                move[0] = sign * (step(sign * s[0], wrong, sq_norm) * c)
            else:
                rival = max((k for k in range(classes) if k != true), key=lambda k: (s[k], -k))
                margin = s[true] - s[rival]
                wrong = is_mistake(margin, true < rival, on_zero)
                share = shares(scheme, s, true, rival)
                move = share * (step(margin, wrong, (1.0 - share[rival]) * sq_norm) * c)
            if sq_norm == 0:
                move[:] = 0
            V = V + move[:, None] * (np.append(x, 1.0) * mask)
            run.W = link(V) * mask
            run.mistakes += wrong
            run.updates += bool(move.any())
            run.examples += 1
            run.after.append((run.W.copy(), c))
        run.mistakes_per_epoch.append(run.mistakes - before[0])
        run.epoch_ends.append(run.W.copy())
        if (run.mistakes, run.updates) == before:
            break
    return run


def perceptron(eta0=1.0):
    return lambda margin, wrong, sq_norm: eta0 if wrong else 0.0


def margin_perceptron(b, eta0=1.0):
    return lambda margin, wrong, sq_norm: eta0 if margin <= b else 0.0


def passive_aggressive(variant, C=1.0):
    def step(margin, wrong, sq_norm):
        loss = max(0.0, 1.0 - margin)
        if loss == 0 or sq_norm == 0:
            return 0.0
        return {
            "PA": lambda: loss / sq_norm,
            "PA-I": lambda: min(C, loss / sq_norm),
            "PA-II": lambda: loss / (sq_norm + 1.0 / (2.0 * C)),
        }[variant]()

    return step


def learn_shrinking(step, X, y, *, classes=2, scheme="max", on_zero="update", bias=True, W=None, weight=None, epochs=1):
    """The same for rules that shrink w: `step(margin, is a mistake, ‖x‖², ‖w‖², steps taken, weight)` returns factor and step."""
    if scheme == "ovr" and classes > 2:
        return separately(
            learn_shrinking, step, X, y, classes=classes, W=W, on_zero=on_zero, bias=bias, weight=weight, epochs=epochs
        )
    vectors = 1 if classes == 2 else classes
    run = Run(np.zeros((vectors, X.shape[1] + 1)) if W is None else np.array(W, dtype=float))
    taken = np.zeros(vectors)
    weight = np.ones(len(X)) if weight is None else weight
    for _ in range(epochs):
        before = run.mistakes, run.updates
        for x, true, c in zip(X, y, weight, strict=True):
            if c == 0:
                continue
            z, s = np.append(x, float(bias)), scores(run.W, x)
            moved = False
            if vectors == 1:
                sign = 1.0 if true == 1 else -1.0
                wrong = is_mistake(sign * s[0], true == 1, on_zero)
                parts = [(np.array([sign]), sign * s[0], [0], true == 1)]
            else:
                rival = max((k for k in range(classes) if k != true), key=lambda k: (s[k], -k))
                wrong = is_mistake(s[true] - s[rival], true < rival, on_zero)
                share = shares(scheme, s, true, rival)
                margin = s[true] - s[rival] if scheme == "all" else share @ s
                parts = [(share, margin, range(vectors), true < rival)]
            for share, margin, own, first in parts:
                q, length = share @ share * (z @ z), (run.W[own] ** 2).sum()
                if q == 0:
                    continue
                shrink, tau = step(margin, is_mistake(margin, first, on_zero), q, length, taken[own[0]], c)
                if (shrink, tau) != (1.0, 0.0):
                    run.W[own] = shrink * run.W[own]
                    run.W = run.W + tau * np.outer(share, z)
                    taken[own] += 1
                    moved = True
            run.mistakes += wrong
            run.updates += moved
            run.examples += 1
            run.after.append((run.W.copy(), c))
        run.mistakes_per_epoch.append(run.mistakes - before[0])
        run.epoch_ends.append(run.W.copy())
        if (run.mistakes, run.updates) == before:
            break
    return run


def romma(aggressive):
    """The shortest w' with y <w', x> >= 1 and <w', w> >= ‖w‖², both with equality unless the first alone suffices."""

    def step(margin, wrong, q, length, steps, c):
        asked, part = max(1.0, c), min(1.0, c)
        if not (wrong or (aggressive and margin < asked)):
            return 1.0, 0.0
        gram = np.array([[length, margin], [margin, q]])
        if asked * margin >= q * length or np.linalg.det(gram) <= 1e-8 * length * q:
            shrink, tau = 0.0, asked / q  # the new condition alone
        else:
            shrink, tau = np.linalg.solve(gram, [length, asked])
        return 1 + part * (shrink - 1), part * tau

    return step


def alma(alpha, B, C):
    def step(margin, wrong, q, length, steps, c):
        k = steps + 1
        if margin / math.sqrt(q) > (1 - alpha) * B / math.sqrt(k):
            return 1.0, 0.0
        eta = min(c, 1.0) * C / math.sqrt(k) / math.sqrt(q)
        shrink = 1 / max(1.0, math.sqrt(length + 2 * eta * margin + eta**2 * q))
        return shrink, shrink * eta

    return step


def learn_second_order(
    step, X, y, *, classes=2, scheme="max", on_zero="update", bias=True, W=None, weight=None, epochs=1, initial=1.0, full=False
):  # fmt: skip
    """The same for rules that keep Σ: `step(margin, is a mistake, variance, weight)` returns alpha and beta.

    Σ is one matrix per weight vector, with the bias in its last row; its off-diagonal entries stay 0 unless `full`.
    """
    if scheme == "ovr" and classes > 2:
        return separately(
            learn_second_order,
            step,
            X,
            y,
            classes=classes,
            W=W,
            on_zero=on_zero,
            bias=bias,
            weight=weight,
            epochs=epochs,
            initial=initial,
            full=full,
        )
    vectors, size = (1 if classes == 2 else classes), X.shape[1] + 1
    run = Run(np.zeros((vectors, size)) if W is None else np.array(W, dtype=float))
    run.sigma = np.array([initial * np.eye(size)] * vectors)
    weight = np.ones(len(X)) if weight is None else weight
    for _ in range(epochs):
        before = run.mistakes, run.updates
        for x, true, c in zip(X, y, weight, strict=True):
            if c == 0:
                continue
            s = scores(run.W, x)
            z = np.append(x, float(bias))
            along = [np.append(S.diagonal()[:-1] * x, S[-1, -1] * z[-1]) if not full else S @ z for S in run.sigma]
            terms = [g * z for g in along]
            add = (lambda t: float(lane_sum(t))) if vectors == 1 else (lambda t: float(np.cumsum(t)[-1]))
            variances = [add(t[:-1]) + t[-1] for t in terms]
            if vectors == 1:
                sign = 1.0 if true == 1 else -1.0
                wrong = is_mistake(sign * s[0], true == 1, on_zero)
                asked = [(0, sign, sign * s[0], wrong, variances[0])]
            else:
                rival = max((k for k in range(classes) if k != true), key=lambda k: (s[k], -k))
                wrong = is_mistake(s[true] - s[rival], true < rival, on_zero)
                share = shares(scheme, s, true, rival)
                order = [true, rival] + [k for k in range(classes) if k not in (true, rival) and share[k] != 0]
                total = 0.0
                for k in order:
                    total += share[k] * share[k] * variances[k]
                asked = [(k, share[k], s[true] - s[rival], wrong, total) for k in order]
            size_of_terms = float(np.abs(run.W * z).sum())
            if size_of_terms > 0:
                run.closest = min(run.closest, *(abs(margin) / size_of_terms for _, _, margin, _, _ in asked))
            moved = False
            for k, sign, margin, own_wrong, variance in asked:
                alpha, beta = step(margin, own_wrong, variance, c) if variance > 0 else (0.0, 0.0)
                run.W[k] = run.W[k] + (sign * alpha) * along[k]
                outer = np.outer(along[k], along[k])
                run.sigma[k] = run.sigma[k] - (sign * sign * beta) * (outer if full else np.diag(outer.diagonal()))
                moved |= alpha != 0 or beta != 0
            run.mistakes += wrong
            run.updates += moved
            run.examples += 1
            run.after.append((run.W.copy(), c))
        run.mistakes_per_epoch.append(run.mistakes - before[0])
        run.epoch_ends.append(run.W.copy())
        if (run.mistakes, run.updates) == before:
            break
    return run


def arow(r=1.0):
    def step(margin, wrong, variance, c):
        beta = 1.0 / (variance + r / c)
        return (max(0.0, 1.0 - margin) * beta, beta) if margin < 1 else (0.0, 0.0)

    return step


def second_order_perceptron():
    def step(margin, wrong, variance, c):
        beta = 1.0 / (variance + 1.0 / c)
        return ((1.0 - margin) * beta, beta) if wrong else (0.0, 0.0)

    return step


def soft_confidence_weighted(variant, C=1.0, phi=1.0):
    """In the notation of the paper."""

    def step(m, wrong, v, c):
        Cc, psi, zeta = C * c, 1 + phi**2 / 2, 1 + phi**2
        if phi * math.sqrt(v) - m <= 0:
            return 0.0, 0.0
        if variant == "SCW-I":
            alpha = min(Cc, max(0, (-m * psi + math.sqrt(m**2 * phi**4 / 4 + v * phi**2 * zeta)) / (v * zeta)))
        else:
            n = v + 1 / (2 * Cc)
            gamma = phi * math.sqrt(phi**2 * m**2 * v**2 + 4 * n * v * (n + v * phi**2))
            alpha = max(0, (-(2 * m * n + phi**2 * m * v) + gamma) / (2 * (n**2 + n * v * phi**2)))
        u = (-alpha * v * phi + math.sqrt(alpha**2 * v**2 * phi**2 + 4 * v)) ** 2 / 4
        return (alpha, alpha * phi / (math.sqrt(u) + v * alpha * phi)) if alpha > 0 else (0.0, 0.0)

    return step


def winnow_link(balanced):
    exp = np.vectorize(math.exp, otypes=[float])
    return (lambda V: exp(V) - exp(-V)) if balanced else exp


def perceptron_criterion(W, X, y, weight=None, separate=False):
    """Σ weight · max(0, -margin); for one-vs-rest summed over the classes."""
    weight = np.ones(len(X)) if weight is None else weight
    S = X @ W[:, :-1].T + W[:, -1]
    if S.shape[1] == 1:
        loss = np.maximum(0, -np.where(y == 1, 1, -1) * S[:, 0])
    elif separate:
        loss = np.maximum(0, -np.where(np.eye(S.shape[1])[y] > 0, 1, -1) * S).sum(axis=1)
    else:
        loss = (S - S[np.arange(len(y)), y][:, None]).max(axis=1)
    return float(weight @ loss)


def batch_direction(W, X, y, *, scheme="max", on_zero="update", bias=True, weight=None):
    """Sum over the mistakes of the terms that the online rule would add."""
    weight = np.ones(len(X)) if weight is None else weight
    Z = np.hstack([X, np.full((len(X), 1), float(bias))])
    delta = np.zeros_like(W)
    for z, true, c in zip(Z, y, weight, strict=True):
        s = W @ z
        if len(W) == 1:
            sign = 1.0 if true == 1 else -1.0
            delta[0] += c * sign * z * is_mistake(sign * s[0], true == 1, on_zero)
        elif scheme == "ovr":
            for k in range(len(W)):
                sign = 1.0 if k == true else -1.0
                delta[k] += c * sign * z * is_mistake(sign * s[k], k == true, on_zero)
        else:
            rival = max((k for k in range(len(s)) if k != true), key=lambda k: (s[k], -k))
            if is_mistake(s[true] - s[rival], true < rival, on_zero):
                delta += c * shares(scheme, s, true, rival)[:, None] * z
    return delta


# ---- exact arithmetic: whole numbers and fractions, without NumPy ----


def exact_scores(W, z):
    return [sum(a * b for a, b in zip(w, z, strict=True)) for w in W]


def exact_leads(W, z, true):
    """How far each rival leads: -y s for two classes, else s_k - s_true. A mistake if one of them is at least 0."""
    s = exact_scores(W, z)
    if len(s) == 1:
        return {0: -s[0] if true == 1 else s[0]}
    return {k: s[k] - s[true] for k in range(len(s)) if k != true}


def exact_best_step(lines):
    """The step of a line search; `lines` holds for each example (height, slope) of every rival's lead.

    By brute force: the criterion at every place where two lines of an example cross.
    """
    lines = [[(0, 0), *own] for own in lines]

    def criterion(a):
        return sum(max(h + a * r for h, r in own) for own in lines)

    crossings = {
        Fraction(h2 - h1) / (r1 - r2) for own in lines for h1, r1 in own for h2, r2 in own if r1 != r2
    }  # fmt: skip
    places = sorted({Fraction(0)} | {a for a in crossings if a > 0})
    values = [criterion(a) for a in places]
    best = [a for a, value in zip(places, values, strict=True) if value == min(values)]
    endless = criterion(places[-1] + 1) == min(values)
    return 2 * best[0] if endless else (best[0] + best[-1]) / 2


def exact_batch(X, y, *, classes=2, variant="average", alpha=1, epochs=1000, bias=True):
    """The batch perceptron: weights and the number of mistakes of each epoch."""
    Z = [[*map(int, x), int(bias)] for x in X]
    W = [[Fraction(0)] * len(Z[0]) for _ in range(1 if classes == 2 else classes)]
    counts = []
    for _ in range(epochs):
        delta = [[0] * len(Z[0]) for _ in W]
        missed = 0
        for z, true in zip(Z, y, strict=True):
            leads = exact_leads(W, z, true)
            if max(leads.values()) < 0:
                continue
            missed += 1
            rival = max(leads, key=lambda k: (leads[k], -k))
            signs = {0: 1 if true == 1 else -1} if len(W) == 1 else {true: 1, rival: -1}
            for k, sign in signs.items():
                delta[k] = [a + sign * b for a, b in zip(delta[k], z, strict=True)]
        counts.append(missed)
        if not any(any(row) for row in delta):
            break
        step = Fraction(alpha) / (len(Z) if variant == "average" else 1)
        if variant == "line-search":
            step = Fraction(1)
            if any(any(row) for row in W):
                lines = []
                for z, true in zip(Z, y, strict=True):
                    heights, rises = exact_leads(W, z, true), exact_leads(delta, z, true)
                    lines.append([(heights[k], rises[k]) for k in heights])
                step = min(Fraction(round(1024 * exact_best_step(lines)), 1024) or Fraction(1), len(Z))
        W = [[a + step * b for a, b in zip(w, d, strict=True)] for w, d in zip(W, delta, strict=True)]
    return W, counts


def pocket(X, y, draws):
    """Gallant's pocket algorithm with ratchet, two classes: the pocket and the number of its mistakes."""
    Z = [[*map(int, x), 1] for x in X]
    sign = [1 if label == 1 else -1 for label in y]

    def missed(w):
        return sum(s * exact_scores([w], z)[0] <= 0 for z, s in zip(Z, sign, strict=True))

    w = kept = [0] * len(Z[0])
    run, kept_run, fewest = 0, 0, missed(w)
    for i in draws:
        if sign[i] * exact_scores([w], Z[i])[0] <= 0:
            w, run = [a + sign[i] * b for a, b in zip(w, Z[i], strict=True)], 0
            continue
        run += 1
        if run > kept_run and (mistakes := missed(w)) < fewest:
            kept, kept_run, fewest = w, run, mistakes
        if fewest == 0:
            break
    return kept, fewest


def dual_counts(gram, y, epochs):
    """The dual perceptron for two classes: how often each example was added, and the mistakes of each epoch."""
    sign = [1 if label == 1 else -1 for label in y]
    counts, missed = [0] * len(y), []
    for _ in range(epochs):
        missed.append(0)
        for i in range(len(y)):
            if sign[i] * sum(c * s * g for c, s, g in zip(counts, sign, gram[i], strict=True)) <= 0:
                counts[i] += 1
                missed[-1] += 1
        if not missed[-1]:
            break
    return counts, missed
