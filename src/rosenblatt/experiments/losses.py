"""The 0/1 loss, which should be minimized, and the perceptron criterion, which a learner can minimize."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rosenblatt.theory.margins import perceptron_criterion, zero_one_loss
from rosenblatt.training.schedule import visiting_order

from ._checks import check_count, signs

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LossCurves:
    """Both losses at the same points.

    Attributes
    ----------
    places : array
        Margins y·s, steps along a direction, or epochs.
    zero_one : array
        The fraction of mistakes.
    criterion : array
        The mean of max(0, -y·s).
    axis : str
        Description of the places.
    """

    places: Floats
    zero_one: Floats
    criterion: Floats
    axis: str


def loss_curves(margins: ArrayLike | None = None) -> LossCurves:
    """Both losses of one example as functions of its margin y·s.

    Parameters
    ----------
    margins : array, default=None
        Margins; None: from -2 to 2.

    Returns
    -------
    LossCurves
    """
    places = np.linspace(-2.0, 2.0, 401) if margins is None else np.asarray(margins, dtype=np.float64)
    positive = np.ones_like(places)
    return LossCurves(
        places, zero_one_loss(places, positive), perceptron_criterion(places, positive), "margin y·s of an example"
    )


def losses_along(
    X: ArrayLike,
    y: ArrayLike,
    start: ArrayLike,
    direction: ArrayLike,
    steps: ArrayLike | None = None,
    fit_intercept: bool = True,
) -> LossCurves:
    """Both losses of the weights ``start + a * direction``: the first is a step function, the second is convex.

    Parameters
    ----------
    X, y : arrays
        The examples and their two labels.
    start, direction : arrays of shape (n_features + 1,)
        A point and a direction in weight space, the bias first (no bias without `fit_intercept`).
    steps : array, default=None
        The a; None: 201 from -1 to 1.
    fit_intercept : bool, default=True
        Whether there is a bias feature 1.

    Returns
    -------
    LossCurves
    """
    examples, labels = np.asarray(X, dtype=np.float64), signs(y)
    if fit_intercept:
        examples = np.hstack([np.ones((len(examples), 1)), examples])
    ends = np.asarray(start, dtype=np.float64).ravel(), np.asarray(direction, dtype=np.float64).ravel()
    for name, given in zip(("start", "direction"), ends, strict=True):
        if given.size != examples.shape[1]:
            raise ValueError(
                f"`{name}` must hold {examples.shape[1]} numbers{', the bias first' if fit_intercept else ''}; got "
                f"{given.size}. It is a point or a direction in weight space."
            )
    places = np.linspace(-1.0, 1.0, 201) if steps is None else np.asarray(steps, dtype=np.float64)
    height, slope = examples @ ends[0], examples @ ends[1]
    scores = [height + a * slope for a in places]
    return LossCurves(
        places,
        np.array([zero_one_loss(s, labels).mean() for s in scores]),
        np.array([perceptron_criterion(s, labels).mean() for s in scores]),
        "step along the direction",
    )


def losses_per_epoch(X: Any, y: ArrayLike, epochs: int = 20, estimator: Any = None) -> LossCurves:
    """Both losses of the weights before training and after each epoch.

    The losses are those of the readout: for an averaged perceptron those of the average so far.

    Parameters
    ----------
    X, y : arrays
        The examples and their two labels.
    epochs : int, default=20
        Largest number of passes; training stops after a pass without an update.
    estimator : estimator, default=None
        The learner; None: ``Perceptron()``. It is cloned, not changed, and must be able to learn from a stream.

    Returns
    -------
    LossCurves
        Epoch 0 is the start, with zero weights, where every example is a mistake.
    """
    from sklearn.base import clone
    from sklearn.utils import check_random_state

    from rosenblatt.learners.perceptron import Perceptron

    passes = check_count("epochs", epochs, "It is the number of passes over the data.")
    model = Perceptron() if estimator is None else clone(estimator)
    labels, names = signs(y, getattr(model, "positive", None)), np.asarray(y)
    if not hasattr(model, "partial_fit") or "shuffle" not in model.get_params():
        raise ValueError(
            f"`estimator` must be an online learner with partial_fit and the parameter shuffle; got {type(model).__name__}. "
            "Use Perceptron, AveragedPerceptron or another online learner."
        )
    X = X if hasattr(X, "tocsr") else np.asarray(X)
    random = check_random_state(model.random_state)
    zero_one, criterion, updates = [1.0], [0.0], 0
    for _ in range(passes):
        order = visiting_order(np.arange(len(labels)), model.shuffle, random)
        model.partial_fit(X[order], names[order], classes=np.unique(names))
        scores = model.decision_function(X)
        zero_one.append(float(zero_one_loss(scores, labels).mean()))
        criterion.append(float(perceptron_criterion(scores, labels).mean()))
        if model.updates_ == updates:
            break
        updates = model.updates_
    return LossCurves(np.arange(len(zero_one), dtype=np.float64), np.array(zero_one), np.array(criterion), "epoch")
