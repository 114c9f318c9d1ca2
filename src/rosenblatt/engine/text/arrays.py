"""Arrays that the parsers fill."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

PADDING = 32
"""Number of readable bytes that must follow the end of a text."""

END, USED = 0, 1
"""Positions in `Tokens.size`: the number of tokens, and the number of bytes in their names."""


class Tokens(NamedTuple):
    """Arrays with one element per token: row, column, name (its position in `text`, and its hash) and value."""

    row: NDArray[np.int32]
    column: NDArray[np.int32]
    start: NDArray[np.int64]
    length: NDArray[np.int32]
    hash: NDArray[np.uint64]
    value: NDArray[np.float64]
    text: NDArray[np.uint8]
    size: NDArray[np.int64]
