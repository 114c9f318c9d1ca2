"""The squeeze of the perceptron's proof along a whole run: kγ ≤ ⟨w, u⟩ ≤ ‖w‖ ≤ √k·R."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rosenblatt.theory.bounds import block_novikoff

from ._checks import signs

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SqueezeCurves:
    """The four numbers of the proof after each mistake.

    Attributes
    ----------
    mistakes : array
        k, from 0.
    floor, along_comparator, length, ceiling : arrays
        kγ, ⟨w, u⟩, ‖w‖ and √k·R.
    margin, radius, bound : float
        γ, R and (R/γ)², the k at which floor and ceiling meet.
    """

    mistakes: NDArray[np.int64]
    floor: Floats
    along_comparator: Floats
    length: Floats
    ceiling: Floats
    margin: float
    radius: float
    bound: float

    @property
    def cosine(self) -> Floats:
        """The cosine of the angle between w and u after each mistake, ⟨w, u⟩ / ‖w‖; NaN while w is 0.

        The squeeze keeps it above √k·γ/R, so w turns towards u with every mistake, in this sense.
        """
        with np.errstate(invalid="ignore"):
            cosine: Floats = self.along_comparator / self.length
        return np.clip(cosine, -1.0, 1.0)

    @property
    def holds(self) -> bool:
        """Whether the four numbers are in order after every mistake, up to rounding."""
        slack = 1e-9 * max(1.0, float(self.ceiling[-1]))
        rows = np.array([self.floor, self.along_comparator, self.length, self.ceiling])
        return bool((np.diff(rows, axis=0) >= -slack).all())


def squeeze_curves(
    X: Any,
    y: ArrayLike,
    fit_intercept: bool = True,
    comparator: ArrayLike | None = None,
    max_iter: int = 1000,
    shuffle: bool | str = False,
    random_state: Any = 0,
) -> SqueezeCurves:
    """Run the perceptron on separable data of two classes and compute both sides of the proof after each mistake.

    Parameters
    ----------
    X, y : arrays
        The examples and their two labels.
    fit_intercept : bool, default=True
        Whether there is a bias feature 1.
    comparator : array of shape (n_features + 1,), default=None
        A separator, the bias first (none without `fit_intercept`); None: the one that `certify` finds.
    max_iter : int, default=1000
        Largest number of passes.
    shuffle : bool or "replacement", default=False
        The order of visits.
    random_state : int, RandomState or None, default=0
        Seed of that order.

    Returns
    -------
    SqueezeCurves
    """
    from rosenblatt.learners.voted_perceptron import VotedPerceptron
    from rosenblatt.theory import certify
    from rosenblatt.trace.proof import find_comparator

    signs(y)
    labels = np.asarray(y)
    examples = X if hasattr(X, "tocsr") else np.asarray(X, dtype=np.float64)
    if comparator is None:
        certificate = certify(examples, labels, fit_intercept=fit_intercept)
        if certificate.separator is None:
            raise ValueError(
                f"The examples must be separable, because the squeeze needs a separator; they are {certificate.status}. Use "
                "PocketPerceptron on such data, or remove contradictory examples."
            )
        coef, intercept = certificate.separator
        comparator = np.concatenate([intercept, coef[0]]) if fit_intercept else coef[0]
    known = find_comparator(examples, labels, fit_intercept, comparator)
    assert known is not None

    # The voted perceptron logs every mistake of the run; nothing else about it is used.
    model = VotedPerceptron(
        fit_intercept=fit_intercept, max_iter=max_iter, tol=None, shuffle=shuffle, random_state=random_state
    ).fit(examples, labels)
    support = model.support_.toarray() if hasattr(model.support_, "toarray") else model.support_
    rows = np.hstack([np.ones((len(support), 1)), support]) if fit_intercept else support
    moves = model.dual_coef_[:, 0]
    w = np.zeros(rows.shape[1])
    along, length = [0.0], [0.0]
    for row, move in zip(rows[model.mistake_rows_], moves, strict=True):
        w += move * row
        along.append(float(w @ known.weights[0]))
        length.append(float(np.linalg.norm(w)))
    k = np.arange(len(along))
    floor, ceiling = np.multiply(k, known.margin, dtype=np.float64), known.radius * np.sqrt(k, dtype=np.float64)
    return SqueezeCurves(
        k,
        floor,
        np.array(along),
        np.array(length),
        ceiling,
        known.margin,
        known.radius,
        block_novikoff(known.radius, known.margin),
    )
