"""State of the page as text for its address: JSON, compressed with deflate, in URL-safe base64."""

import base64
import binascii
import json
import zlib
from typing import Any

LARGEST = 20_000_000
"""Maximum size of a decompressed state in bytes."""


def encode(state: dict[str, Any]) -> str:
    """Encode a state as text."""
    packer = zlib.compressobj(wbits=-15)
    packed = packer.compress(json.dumps(state, allow_nan=False, separators=(",", ":")).encode()) + packer.flush()
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def decode(text: str) -> dict[str, Any]:
    """Decode the state from a text."""
    try:
        packed = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        state = json.loads(zlib.decompressobj(wbits=-15).decompress(packed, LARGEST))
    except (ValueError, zlib.error, binascii.Error):
        state = None
    if not isinstance(state, dict):
        raise ValueError(
            f"`state` must be copied with the Share button of the lab; got {text[:20]!r}…, which cannot be read. Copy it again."
        )
    return state
