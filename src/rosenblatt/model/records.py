"""Single examples as dicts, and their labels."""

import math
import struct
from array import array
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]


class DictRow:
    """The last dict as columns and values at fixed addresses; most records of a stream have the same names."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype
        self.names: tuple[Any, ...] | None = None

    def fill(self, x: Mapping[Any, Any], vocabulary: dict[Hashable, int]) -> None:
        """Store another dict. Raise KeyError for an unknown name, struct.error or OverflowError for a bad value."""
        names = tuple(x)
        if names != self.names:
            indices = array("q", map(vocabulary.__getitem__, names))
            self.count = len(names)
            self.values = np.empty(self.count, self.dtype)
            self.memory = self.values.data
            self.pack = struct.Struct(f"{self.count}{self.dtype.char}").pack_into
            self.indices_address, self.values_address = indices.buffer_info()[0], self.values.ctypes.data
            self.indices, self.names = indices, names
        self.pack(self.memory, 0, *x.values())

    def arrays(self) -> tuple[Codes, NDArray[Any]]:
        """Copies of columns and values."""
        return np.array(self.indices, np.int64), self.values.copy()


class DictRows:
    """Many dicts as columns and values: the address of the columns of each dict, and all values in one array.

    An unknown name raises KeyError, a value that is not a number struct.error, one too large for a float OverflowError.
    """

    def __init__(self, rows: Iterable[Mapping[Any, Any]], vocabulary: dict[Hashable, int]) -> None:
        self._kept: list[Any] = []  # keep the arrays, so that their addresses stay valid
        names: tuple[Any, ...] | None = None
        columns: list[int] = []
        counts: list[int] = []
        values: list[Any] = []
        for x in rows:
            if (own := tuple(x)) != names:
                names, indices = own, array("q", map(vocabulary.__getitem__, own))
                self._kept.append(indices)
                address = indices.buffer_info()[0]
            columns.append(address)
            counts.append(len(own))
            values += x.values()
        self.columns, self.counts = np.array(columns, np.int64), np.array(counts, np.int64)
        self.values = np.frombuffer(bytearray(struct.pack(f"{len(values)}d", *values)))


def kind_of_label(label: Any) -> str:
    """Return the type of a label, string or number (including booleans); raise an error for other types."""
    if isinstance(label, str | np.str_):
        return "string"
    if isinstance(label, bool | int | float | np.bool_ | np.integer | np.floating) and math.isfinite(label):
        return "number"
    raise ValueError(
        f"A label must be a string, a boolean or a finite number; got {label!r}. Remove examples without a label, or "
        "give them a separate class."
    )


def is_number(value: Any) -> bool:
    """Whether a value is allowed as the value of a feature."""
    return np.asarray(value).dtype.kind in "bfiu" and np.ndim(value) == 0
