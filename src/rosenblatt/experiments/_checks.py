"""Checks of the arguments of the experiments."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rosenblatt.model.scores import positive_first


def check_count(name: str, value: Any, hint: str, least: int = 1) -> int:
    """Check that a value is a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(f"`{name}` must be a whole number of at least {least}; got {value!r}. {hint}")
    return int(value)


def whole_numbers(name: str, values: ArrayLike, hint: str) -> NDArray[np.int64]:
    """Check a list of whole numbers of at least 1."""
    numbers = np.atleast_1d(np.asarray(values))
    if numbers.ndim != 1 or not numbers.size or numbers.dtype.kind not in "iu" or (numbers < 1).any():
        raise ValueError(f"`{name}` must be a list of whole numbers of at least 1; got {values!r}. {hint}")
    return numbers.astype(np.int64)


def signs(y: ArrayLike, positive: Any = None) -> NDArray[np.float64]:
    """Two labels as -1 and +1, in the order of the classes of an estimator."""
    labels = np.asarray(y)
    classes = np.unique(labels)
    if len(classes) != 2:
        raise ValueError(
            f"`y` must hold two classes; got {len(classes)}. The 0/1 loss of many classes has no single score to be drawn "
            "against."
        )
    return np.where(labels == classes[int(not positive_first(classes, positive))], 1.0, -1.0)
