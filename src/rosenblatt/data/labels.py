"""Numbering of labels in the order of their first occurrence, from 0; and real targets, which are not numbered."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.engine.entries import label_codes

from .errors import BadData

Codes = NDArray[np.int64]

EXACT = 2.0**53
"""From here on two different integers may be the same float."""


class NumberLabels:
    """Numeric labels; whole numbers become Python integers."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._known = np.empty(16)
        self._slots = np.zeros(32, np.int64)

    def codes(self, values: NDArray[np.float64]) -> Codes:
        """The numbers of labels, adding new ones; NaN becomes -1."""
        codes = np.empty(values.size, np.int64)
        done, count = 0, len(self.values)
        while done < values.size:
            done, count = label_codes(values, self._known, count, self._slots, codes, done)
            if done < values.size:
                self._grow(count)
        for value in self._known[len(self.values) : count].tolist():
            if abs(value) >= EXACT:
                raise BadData(
                    "A numeric label must be between -2^53 and 2^53, where all integers are distinct floats; got "
                    f"{value:.17g}. Number the classes from 0 on."
                )
            self.values.append(int(value) if value == int(value) else value)
        return codes

    def _grow(self, count: int) -> None:
        known = self._known[:count]
        self._slots = np.zeros(4 * self._slots.size, np.int64)
        self._known = np.empty(self._slots.size // 2)  # `label_codes` stops when half of the slots are used
        label_codes(known, self._known, 0, self._slots, np.empty(known.size, np.int64), 0)


class TargetLabels:
    """Real targets, which have no numbers: their bits take the place of a number. -1, which means no label, is a NaN."""

    def __init__(self) -> None:
        self.values: list[Any] = []

    def codes(self, values: NDArray[np.float64]) -> Codes:
        """The bits of the targets."""
        return np.array(values, np.float64).view(np.int64)


class TextLabels:
    """Text labels."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._places: dict[str, int] = {}

    def codes(self, column: Any) -> Codes:
        """The numbers of the labels in an Arrow column of strings; null and empty ones become -1."""
        import pyarrow.compute as pc

        encoded = pc.dictionary_encode(pc.utf8_trim_whitespace(column))
        places = [self._place(text) for text in encoded.dictionary.to_pylist()]
        chosen = encoded.indices.fill_null(len(places)).to_numpy(zero_copy_only=False)
        codes: Codes = np.array([*places, -1], np.int64)[chosen]
        return codes

    def _place(self, text: str) -> int:
        if not text:
            return -1
        if text not in self._places:
            self._places[text] = len(self.values)
            self.values.append(text)
        return self._places[text]
