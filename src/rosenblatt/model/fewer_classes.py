"""Remove a class from a linear model, or merge it into another."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .linear import Model
from .rule import DiagonalVariances, Memory


def without_class(model: Model, label: Any, into: Any = None) -> Model:
    """A model without a class, which is forgotten, or whose weights are added to those of the class `into`.

    Adding is what the updates ask for: an update between the two classes cancels in the sum, and an update against a third class
    is one of the merged class. If two classes remain, their difference becomes the weight vector that they share. If one
    remains, there is nothing to tell apart, and all weights are 0. The number of examples stays, so averages do too.

    Parameters
    ----------
    model : Model
        A model with one weight for each feature and class: no votes, no logarithms, no scale and no full covariance.
    label : label
        The class to remove.
    into : label, default=None
        The class that gets its weights.

    Returns
    -------
    Model
        The new model; the old one stays as it is.
    """
    plain = type(model.memory) in (Memory, DiagonalVariances)
    if model.readout not in ("last", "average") or model.rule.link != "identity" or not plain:
        raise ValueError(
            "A class can be removed or merged only if each class has weights of its own that can be added; this learner has "
            "none. Use one such as the perceptron, passive-aggressive or AROW with diagonal covariance, or clear the model."
        )
    for name in (label,) if into is None else (label, into):
        if name not in model.class_number:
            raise ValueError(f"The label must be one of the classes {model.classes}; got {name!r}. Check the spelling.")
    if label == into:
        raise ValueError(f"A class must be merged into another one; got {label!r} twice. Name two classes.")
    left = [name for name in model.classes if name != label]
    made = Model(model.rule, readout=model.readout, n_features=model.n_features, dtype=model.dtype)
    made.features = None if model.features is None else dict(model.features)
    made.frozen = model.frozen
    made.add_class(*left)
    old, new = model.state, made.state
    new.tally[...] = old.tally
    if len(left) > 1:
        cut, used = _Cut(model, label, into, len(left)), slice(model.n_features)
        _fill(new.w, cut.weights(old.w[used]))
        _fill(new.bias, cut.weights(old.bias[None, :])[0])
        if old.u.size:
            _fill(new.u, cut.weights(old.u[used]))
            _fill(new.u_bias, cut.weights(old.u_bias[None, :])[0])
        if isinstance(model.memory, DiagonalVariances) and isinstance(made.memory, DiagonalVariances):
            _fill(made.memory.sigma, cut.variances(model.memory.sigma[used]))
            _fill(made.memory.bias, cut.variances(model.memory.bias[None, :])[0])
    made.state = new
    return made


def _fill(target: NDArray[Any], values: NDArray[Any]) -> None:
    target[tuple(map(slice, values.shape))] = values


class _Cut:
    """The columns of the classes that remain, two at least."""

    def __init__(self, model: Model, label: Any, into: Any, left: int) -> None:
        self._label, self._left = model.class_number[label], left
        self._into = None if into is None else model.class_number[into]
        self._vectors = model.vectors

    def weights(self, before: NDArray[Any]) -> NDArray[Any]:
        """Weights or sums of weights; one column for two classes."""
        columns = np.array(before[:, : self._vectors])
        if self._into is not None:
            columns[:, self._into] += columns[:, self._label]
        columns = np.delete(columns, self._label, axis=1)
        return columns if self._left > 2 else (columns[:, 1] - columns[:, 0]) / 2

    def variances(self, before: NDArray[Any]) -> NDArray[Any]:
        """Variances: of merged classes the smaller one, and of two classes that share a vector the mean."""
        columns = np.array(before[:, : self._vectors])
        if self._into is not None:
            columns[:, self._into] = np.minimum(columns[:, self._into], columns[:, self._label])
        columns = np.delete(columns, self._label, axis=1)
        return columns if self._left > 2 else columns.mean(axis=1)
