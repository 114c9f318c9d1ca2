"""The published algorithms in plain NumPy, one example at a time, as a reference for the engine."""

from dataclasses import dataclass, field

import numpy as np


def mistaken(score, sign, on_zero):
    if on_zero == "update":
        return sign * score <= 0
    if on_zero == "keep":
        return sign * score < 0
    return (1 if score >= 0 else -1) != sign


def step(scores, y, scheme, on_zero):
    """Multiple of the example that each class adds, or None if there is no mistake."""
    classes = len(scores)
    tau = np.zeros(classes)
    if classes == 1 or scheme == "ovr":
        for k in range(classes):
            sign = (1 if y == k else -1) if classes > 1 else (1 if y == 1 else -1)
            if mistaken(scores[k], sign, on_zero):
                tau[k] = sign
        return tau if tau.any() else None
    others = [k for k in range(classes) if k != y]
    rival = max(others, key=lambda k: (scores[k], -k))
    wrong = {
        "update": scores[rival] >= scores[y],
        "positive": int(np.argmax(scores)) != y,
        "keep": scores[rival] > scores[y],
    }[on_zero]
    if not wrong:
        return None
    level = [k for k in others if scores[k] >= scores[y]]
    excess = sum(scores[k] - scores[y] for k in level)
    if scheme == "max":
        tau[rival] = -1
    elif scheme == "all":
        tau[others] = -1
    elif scheme == "uniform" or excess == 0:
        tau[level] = -1 / len(level)
    else:
        for k in level:
            tau[k] = -(scores[k] - scores[y]) / excess
    tau[y] = 1
    return tau


@dataclass
class Run:
    """Coefficients after every example, in order."""

    gram: np.ndarray
    history: list = field(default_factory=list)
    mistakes: list = field(default_factory=list)

    @property
    def dual(self):
        return self.history[-1]

    def length(self, dual, scheme):
        squared = np.einsum("ik,ij,jk->k", dual, self.gram, dual)
        if scheme != "ovr":
            squared = np.full_like(squared, squared.sum())
        return np.sqrt(np.maximum(squared, 0))

    def read(self, values, readout, normalize, scheme):
        """Scores of new examples from their kernel values with the training examples."""
        total = 0.0
        chosen = [self.dual] if readout == "last" else self.history
        for dual in chosen:
            scores = values @ dual
            if readout == "vote":
                if scores.shape[1] == 1 or scheme == "ovr":
                    total = total + np.sign(scores)
                else:
                    top = scores == scores.max(axis=1, keepdims=True)
                    total = total + np.where(top.sum(axis=1, keepdims=True) == 1, top, 0)
                continue
            if normalize:
                length = self.length(dual, scheme)
                scores = np.divide(scores, length, out=np.zeros_like(scores), where=length > 0)
            total = total + scores
        return total / len(chosen)


def dual_perceptron(gram, y, classes, scheme="max", on_zero="update", orders=None):
    """The dual algorithm of the lecture notes: a coefficient per example and class; uses only kernel values."""
    run = Run(gram)
    dual = np.zeros((len(y), 1 if classes <= 2 else classes))
    for order in orders if orders is not None else [range(len(y))]:
        for i in order:
            tau = step(gram[i] @ dual, y[i], scheme, on_zero)
            if tau is not None:
                dual = dual.copy()
                dual[i] += tau
                run.mistakes.append(int(i))
            run.history.append(dual)
    return run
