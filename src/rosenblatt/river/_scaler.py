"""A running scaler of dicts."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from river.base import Transformer

from rosenblatt.data.encoder import Moments
from rosenblatt.model.records import is_number


class StandardScaler(Transformer):
    """Scale the numbers of dicts to mean 0 and standard deviation 1, by the moments of the rows so far.

    In a pipeline that learns, each row is scaled with the moments of all rows up to and including itself, by the functions of
    ``rosenblatt stream --standardize``: the learner after it gets the same bits.

    Notes
    -----
    Truth values, texts and other values that are not numbers pass unchanged. A missing value (None or NaN) is left out, which
    means 0, the mean. river's own scaler learns nothing from a missing feature either, but divides by another deviation in the
    last bits.

    Examples
    --------
    >>> from rosenblatt.river import AROW, StandardScaler
    >>> model = StandardScaler() | AROW()
    >>> for x, y in [({"height": 3.0, "job": "cook"}, True), ({"height": 1.0, "job": "cook"}, False)]:
    ...     model.learn_one({"height": x["height"]}, y)
    >>> model.transform_one({"height": 2.0})
    {'height': 0.0}
    """

    def __init__(self) -> None:
        self._places: dict[Any, int] = {}
        self._moments = Moments(16)

    def learn_one(self, x: Mapping[Any, Any]) -> None:
        """Add a row to the moments."""
        self._scaled(x, True)

    def transform_one(self, x: Mapping[Any, Any]) -> dict[Any, Any]:
        """The row with scaled numbers; a feature that has not been learned becomes 0."""
        return self._scaled(x, False)

    def _scaled(self, x: Mapping[Any, Any], learn: bool) -> dict[Any, Any]:
        made = {name: value for name, value in x.items() if value is not None and value == value}  # noqa: PLR0124 - NaN
        names = [name for name, value in made.items() if is_number(value) and not isinstance(value, bool | np.bool_)]
        wrong = next((name for name in names if not math.isfinite(made[name])), None)
        if wrong is not None:
            raise ValueError(
                f"The features of an example must be finite numbers; {wrong!r} is {made[wrong]!r}. Leave such values out."
            )
        if learn:
            for name in names:
                self._places.setdefault(name, len(self._places))
            if len(self._places) > self._moments.count.size:
                self._moments = self._moments.grown(2 * len(self._places))
        known = [name for name in names if name in self._places]
        made |= dict.fromkeys((name for name in names if name not in self._places), 0.0)
        if not known:
            return made
        values = np.array([[float(made[name]) for name in known]])
        self._moments.of(np.array([self._places[name] for name in known]), values, learn)
        return made | dict(zip(known, values[0].tolist(), strict=True))
