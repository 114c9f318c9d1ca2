"""Probabilities from scores: a scaling by Platt for each score, learned online from scores given before learning.

The probability of a class is 1 / (1 + exp(-(a·s + b))), where s is the score divided by the root mean square of recent scores.
With three or more classes, s is the lead of the class, its score minus the highest score of the others, because only the order of
the scores decides; the probabilities are divided by their sum.
a and b follow the online Newton method: each example adds its curvature, and older examples count less, because the scores of a
learner change while it learns. Nothing here changes the learner.
"""

import dataclasses
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

START, WINDOW = 20.0, 0.25
"""The number of examples at which forgetting begins, and the share of all examples so far that counts."""

PRIOR = 1.0
"""Curvature of the first guess, a = 2 and b = 0."""

LEAST = 1e-6
"""The smallest probability that is given; a finite sample never shows that something is impossible."""


@dataclasses.dataclass
class Calibration:
    """Scalings from scores to probabilities; one for two classes, else one for each class.

    Attributes
    ----------
    count : float
        Number of examples seen.
    square : array
        Mean square of each score.
    line : array of shape (n_scores, 2)
        a and b of each score.
    curvature : array of shape (n_scores, 3)
        The second derivatives by a twice, by a and b, and by b twice.
    """

    count: float
    square: Floats
    line: Floats
    curvature: Floats

    @classmethod
    def of(cls, scores: int) -> "Calibration":
        """The scalings before the first example."""
        return cls(0.0, np.zeros(scores), np.tile([2.0, 0.0], (scores, 1)), np.tile([PRIOR, 0.0, PRIOR], (scores, 1)))

    def fits(self, scores: int) -> bool:
        """Whether there is a scaling for each score."""
        return self.square.size == scores

    def observe(self, scores: Floats, codes: Codes) -> Floats:
        """Learn from examples in order: their scores before they were learned, one row each, and their classes.

        Return the probabilities that were given to each before it was observed.
        """
        single, count = scores.shape[1] == 1, self.count
        scores = leads(scores)
        given = np.empty_like(scores)
        for k in range(scores.shape[1]):
            self.count = count
            truths = (codes == (1 if single else k)).tolist()
            given[:, k] = self._observe_column(k, scores[:, k].tolist(), truths)
        return _normal(given)

    def _observe_column(self, k: int, scores: list[float], truths: list[bool]) -> list[float]:
        """Learn the scaling of one score; plain numbers are faster than arrays here."""
        count, square = self.count, float(self.square[k])
        (a, b), (aa, ab, bb), given = self.line[k].tolist(), self.curvature[k].tolist(), []
        for score, truth in zip(scores, truths, strict=True):
            unit = math.sqrt(square) if square > 0.0 else 1.0
            given.append(_logistic(a * score / unit + b))
            count += 1.0
            keep = 1.0 - 1.0 / (START + WINDOW * count)
            square += max(1.0 / count, 1.0 - keep) * (score * score - square)
            s = score / math.sqrt(square) if square > 0.0 else 0.0
            p = _logistic(a * s + b)
            weight = max(p * (1.0 - p), 1e-4)
            aa, ab, bb = keep * aa + weight * s * s + 1e-3, keep * ab + weight * s, keep * bb + weight + 1e-3
            pull, size = truth - p, aa * bb - ab * ab
            a, b = max(0.0, a + pull * (bb * s - ab) / size), b + pull * (aa - ab * s) / size
        self.count, self.square[k], self.line[k], self.curvature[k] = count, square, (a, b), (aa, ab, bb)
        return given

    def fit(self, scores: Floats, codes: Codes) -> "Calibration":
        """Learn from many examples at once, by Newton's method; return self."""
        self.count = float(len(scores))
        scores = leads(scores)
        for k in range(scores.shape[1]):
            truth = codes == (1 if scores.shape[1] == 1 else k)
            self.square[k] = float(np.mean(np.square(scores[:, k])))
            s = scores[:, k] / math.sqrt(self.square[k]) if self.square[k] > 0.0 else np.zeros(len(scores))
            # Platt's targets: no finite number of examples shows that a class is certain.
            hits = int(truth.sum())
            target = np.where(truth, (hits + 1.0) / (hits + 2.0), 1.0 / (len(scores) - hits + 2.0))
            X, line = np.column_stack([s, np.ones_like(s)]), np.array([2.0, 0.0])
            curvature, loss = np.eye(2), math.inf
            for _ in range(50):
                z = X @ line
                p = 1.0 / (1.0 + np.exp(-np.clip(z, -500.0, 500.0)))
                now = float(np.sum(np.logaddexp(0.0, z) - target * z))
                curvature = (X * np.maximum(p * (1.0 - p), 1e-9)[:, None]).T @ X + 1e-3 * np.eye(2)
                step = np.linalg.solve(curvature, X.T @ (target - p))
                if now > loss - 1e-9 * abs(loss):
                    break
                loss, line = now, line + np.clip(step, -4.0, 4.0)
            self.line[k] = max(0.0, line[0]), line[1]
            self.curvature[k] = curvature[0, 0], curvature[0, 1], curvature[1, 1]
        return self

    def probabilities(self, scores: Floats) -> Floats:
        """The probability of each class, in the order of the classes of the model; each row sums to 1."""
        unit = np.sqrt(np.where(self.square > 0.0, self.square, 1.0))
        z = leads(scores) / unit * self.line[:, 0] + self.line[:, 1]
        return _normal(1.0 / (1.0 + np.exp(-np.clip(z, -500.0, 500.0))))

    def to_values(self) -> dict[str, Any]:
        """The numbers, for the model file."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    @classmethod
    def from_values(cls, values: dict[str, Any]) -> "Calibration":
        """Read what `to_values` gave; raise a ValueError if it does not fit together."""
        made: Any = cls(**values)
        size = made.square.size
        shapes = [part.shape for part in (made.square, made.line, made.curvature)] == [(size,), (size, 2), (size, 3)]
        numbers = (made.square, made.line, made.curvature)
        if not (shapes and isinstance(made.count, float) and all(np.isfinite(part).all() for part in numbers)):
            raise ValueError("the scalings of probabilities do not fit together")
        checked: Calibration = made
        return checked


def leads(scores: Floats) -> Floats:
    """The score of each class minus the highest of the others; a single score of two classes stays as it is."""
    if scores.shape[1] < 2:
        return scores
    first = scores.argmax(axis=1)
    rows = np.arange(len(scores))
    others = scores.copy()
    others[rows, first] = -np.inf
    made: Floats = scores - scores[rows, first][:, None]
    made[rows, first] = scores[rows, first] - others.max(axis=1)
    return made


def _normal(p: Floats) -> Floats:
    """Probabilities of all classes that sum to 1, from those of one or each."""
    p = np.clip(p, LEAST, 1.0 - LEAST)
    if p.shape[1] == 1:
        return np.column_stack([1.0 - p[:, 0], p[:, 0]])
    made: Floats = p / p.sum(axis=1, keepdims=True)
    return made


def _logistic(z: float) -> float:
    if z >= 0.0:
        return 1.0 / (1.0 + math.exp(-z))
    grown = math.exp(z)
    return grown / (1.0 + grown)


@dataclasses.dataclass
class Judgement:
    """How good probabilities are: log loss, and calibration error in ten bins of equal width.

    Attributes
    ----------
    examples : int
        Number of examples.
    loss : float
        Sum of -log of the probabilities given to the true classes.
    counts, trust, right : array
        For each bin: the examples whose predicted class had such a probability, the sum of these, and how many were right.
    """

    examples: int = 0
    loss: float = 0.0
    counts: Floats = dataclasses.field(default_factory=lambda: np.zeros(10))
    trust: Floats = dataclasses.field(default_factory=lambda: np.zeros(10))
    right: Floats = dataclasses.field(default_factory=lambda: np.zeros(10))

    def add(self, probabilities: Floats, codes: Codes) -> None:
        """Count examples; the code -1, for a class that the model does not know, has the probability 0."""
        known = codes >= 0
        given = np.where(known, probabilities[np.arange(codes.size), np.maximum(codes, 0)], 0.0)
        self.examples += codes.size
        self.loss -= float(np.log(np.maximum(given, LEAST)).sum())
        most = probabilities.argmax(axis=1)
        trust = probabilities[np.arange(codes.size), most]
        bins = np.minimum((trust * 10).astype(int), 9)
        np.add.at(self.counts, bins, 1.0)
        np.add.at(self.trust, bins, trust)
        np.add.at(self.right, bins, most == codes)

    @property
    def log_loss(self) -> float:
        """Mean of -log of the probabilities given to the true classes."""
        return self.loss / max(1, self.examples)

    @property
    def calibration_error(self) -> float:
        """Expected calibration error: mean distance between the probability of the predicted class and how often it is right."""
        return float(np.abs(self.trust - self.right).sum()) / max(1, self.examples)
