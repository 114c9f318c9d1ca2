"""Feature hashing: a model with a bounded number of features, whatever names clients send."""

from typing import Any
from zlib import crc32

from rosenblatt.serve import examples
from rosenblatt.serve.examples import Refused, shown

FEWEST, MOST = 4, 24
"""Allowed numbers of bits."""


class Hashed:
    """The form of requests whose features are one of ``2**bits`` numbers; values with the same number are added.

    Parameters
    ----------
    bits : int
        Number of bits: more take more memory, and fewer names share a number.
    """

    columns = None
    for_files = None

    def __init__(self, bits: int) -> None:
        self.bits, self._mask = bits, (1 << bits) - 1
        self.saved = {"family": "hashed", "bits": bits}

    def expanded(self, features: Any, most: int = 1 << 62, size: int = 0) -> dict[str, float]:
        """Features by the numbers of their names."""
        if type(features) is not dict:
            raise Refused(409, "`features` of a model with `bits` must be an object, because names are hashed.")
        mask, found = self._mask, dict[str, float]()
        for name, value in examples.expanded(features, most, size).items():
            key = f"#{crc32(name.encode()) & mask}"
            found[key] = found.get(key, 0.0) + value
        return found

    def checked_label(self, label: Any) -> Any:
        """Check a label."""
        return examples.checked_label(label)


def checked_bits(bits: Any) -> int | None:
    """Check the number of bits of a new model; None for no hashing."""
    if type(bits) is float and bits.is_integer():
        bits = int(bits)  # JSON does not distinguish 1 and 1.0
    if bits is not None and (type(bits) is not int or not FEWEST <= bits <= MOST):
        raise Refused(
            422,
            f"`bits` must be a whole number from {FEWEST} to {MOST}; got {shown(bits)}. Leave it out for all names.",
        )
    return None if bits is None else int(bits)
