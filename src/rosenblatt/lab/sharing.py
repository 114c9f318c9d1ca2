"""The state of the page as text, in the form in which its address holds it: JSON, deflated, in the letters of an address."""

import base64
import binascii
import json
import zlib
from typing import Any

LARGEST = 20_000_000
"""Bytes of the longest state that is unpacked."""


def encode(state: dict[str, Any]) -> str:
    """The text for a state."""
    packer = zlib.compressobj(wbits=-15)
    packed = packer.compress(json.dumps(state, allow_nan=False, separators=(",", ":")).encode()) + packer.flush()
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def decode(text: str) -> dict[str, Any]:
    """The state that a text holds."""
    try:
        packed = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        state = json.loads(zlib.decompressobj(wbits=-15).decompress(packed, LARGEST))
    except (ValueError, zlib.error, binascii.Error):
        state = None
    if not isinstance(state, dict):
        raise ValueError(
            f"`state` must be what the lab's Share button copied; got {text[:20]!r}…, which cannot be read. Copy it again."
        )
    return state
