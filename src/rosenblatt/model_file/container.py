"""The file format: safetensors, with a JSON header in the metadata and a checksum of all content."""

import errno
import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np

from rosenblatt._version import __version__
from rosenblatt.model_file.atomic import replacing

from .tree import BadModel, Tensors

FORMAT = 1
"""Version of the format; increased when older versions of the library can no longer read it."""


def write_file(path: str | os.PathLike[str], header: dict[str, Any], tensors: Tensors) -> None:
    """Write header and arrays atomically."""
    from safetensors import SafetensorError
    from safetensors.numpy import save, save_file

    metadata = _metadata(header, tensors)
    with replacing(path) as draft:
        if not draft.is_file():  # a device or a pipe, which `save_file` would replace by a file
            draft.write_bytes(save(tensors, metadata))
            return
        try:
            save_file(tensors, draft, metadata)
        except SafetensorError as error:
            if "InvalidHeader" in str(error) or "HeaderTooLarge" in str(error):
                raise ValueError(f"The model is too large for one file: {error}.") from error
            raise _as_os_error(error, str(path)) from error


def _metadata(header: dict[str, Any], tensors: Tensors) -> dict[str, str]:
    text = json.dumps({"format": FORMAT, "library": __version__, **header}, ensure_ascii=False, allow_nan=False)
    return {"rosenblatt": text, "sha256": _digest(text, tensors)}


def to_bytes(header: dict[str, Any], tensors: Tensors) -> bytes:
    """Convert header and arrays to the bytes of a model file."""
    return bytes(to_buffer(header, tensors))


def to_buffer(header: dict[str, Any], tensors: Tensors) -> memoryview:
    """The same in memory that NumPy fills, so that other threads go on; safetensors would let them wait for large arrays."""
    entries: dict[str, Any] = {"__metadata__": _metadata(header, tensors)}
    order, end = sorted(tensors, key=lambda name: (-tensors[name].dtype.itemsize, name)), 0
    for name in order:
        array = tensors[name]
        start, end = end, end + array.nbytes
        entries[name] = {"dtype": _KINDS[array.dtype.str], "shape": array.shape, "data_offsets": (start, end)}
    text = json.dumps(entries, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    content = np.empty(8 + len(text) + end, np.uint8)
    content[:8] = np.frombuffer(len(text).to_bytes(8, "little"), np.uint8)
    content[8 : 8 + len(text)] = np.frombuffer(text, np.uint8)
    at = 8 + len(text)
    for name in order:
        data = np.ascontiguousarray(tensors[name]).reshape(-1).view(np.uint8)
        content[at : at + data.size] = data
        at += data.size
    return content.data


_KINDS = {
    "|b1": "BOOL", "|u1": "U8", "|i1": "I8", "<i2": "I16", "<u2": "U16", "<i4": "I32", "<u4": "U32", "<i8": "I64", "<u8": "U64",
    "<f2": "F16", "<f4": "F32", "<f8": "F64",
}  # fmt: skip
"""Names of the types of arrays in the format."""


def from_bytes(data: bytes | memoryview, name: str) -> tuple[dict[str, Any], Tensors]:
    """Read header and arrays from the bytes of a model file and check that it is complete; `name` is used in error messages."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    data = bytes(data)
    try:
        size = int.from_bytes(data[:8], "little")
        metadata = json.loads(data[8 : 8 + size])["__metadata__"]
        header, tensors = _header(name, metadata), load(data)
    except BadModel:
        raise
    except (SafetensorError, ValueError, TypeError, KeyError, AttributeError, MemoryError, RecursionError) as error:
        raise _damaged(name, error) from error
    _check_digest(name, metadata, tensors)
    return header, tensors


def _damaged(name: str, error: Exception) -> BadModel:
    return BadModel(
        f"{name} is damaged or incomplete and cannot be read as a model ({error}). Use another copy, or train again."
    )


def _check_digest(name: str, metadata: dict[str, str], tensors: Tensors) -> None:
    if metadata.get("sha256") != _digest(metadata["rosenblatt"], tensors):
        raise BadModel(
            f"{name} was changed after it was written: its checksum does not match its content. Use another copy, or train again."
        )


def _as_os_error(error: Exception, path: str) -> OSError:
    """Convert an error of safetensors, which has only a text with "(os error 28)", or in older versions "code: 28"."""
    found = re.search(r"(?:os error|code:) (\d+)", str(error))
    number = int(found[1]) if found else errno.EIO
    return OSError(number, os.strerror(number), path)


def read_file(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Tensors]:
    """Read header and arrays of a model file and check that it is complete; no code from the file is executed."""
    from safetensors import SafetensorError, safe_open

    name = os.fspath(path)
    with Path(path).open("rb") as file:  # for a missing file the system has a better message than safetensors
        start = file.read(9)
    if len(start) < 9 or start[8:] != b"{":
        raise BadModel(
            f"{name} is not a rosenblatt model, which begins with a safetensors header; got a different format. "
            "Make one with `rosenblatt train` or `save`."
        )
    try:
        with safe_open(name, framework="np") as file:
            metadata = file.metadata() or {}
            header = _header(name, metadata)
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 - it is not a dict
    except BadModel:
        raise
    except (SafetensorError, ValueError, TypeError, KeyError, AttributeError, MemoryError, RecursionError) as error:
        raise _damaged(name, error) from error
    _check_digest(name, metadata, tensors)
    return header, tensors


def _header(name: str, metadata: dict[str, str]) -> dict[str, Any]:
    if "rosenblatt" not in metadata:
        raise BadModel(
            f"{name} is a safetensors file, but not a rosenblatt model: its metadata have no entry `rosenblatt`. Make one with "
            "`rosenblatt train` or `save`."
        )
    header = json.loads(metadata["rosenblatt"])
    version = header.get("format") if isinstance(header, dict) else None
    if not isinstance(version, int) or version < 1:
        raise BadModel(f"{name} is damaged: its header has no version. Use another copy, or train again.")
    if version > FORMAT:
        raise BadModel(
            f"{name} was written by a newer rosenblatt ({header.get('library')}, model format {version}); this one reads formats "
            f"up to {FORMAT}. Upgrade with `pip install --upgrade rosenblatt`."
        )
    return dict(header)


def _digest(text: str, tensors: Tensors) -> str:
    digest = hashlib.sha256(text.encode())
    for key in sorted(tensors):
        array = tensors[key]
        digest.update(f"\0{key}\0{array.dtype.str}{array.shape}\0".encode())
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
