"""Atomic writing of files."""

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path to write to; it replaces `path` when the block ends without an error, else the old file is kept.

    The temporary file is in the same folder, gets the permissions of the old file, and is on disk before it replaces it.
    A `path` that is not a regular file, such as a pipe or a terminal, is written to directly.
    """
    target = Path(path).resolve()
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        umask = os.umask(0)
        os.umask(umask)
        mode = stat.S_IFREG | (0o666 & ~umask)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(21, "Is a directory", str(path))
    if not stat.S_ISREG(mode):
        yield target
        return
    handle, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", suffix=".tmp", dir=target.parent)
    os.close(handle)
    draft = Path(name)
    try:
        yield draft
        handle = os.open(draft, os.O_RDWR)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
        draft.chmod(stat.S_IMODE(mode))
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def check_output(*paths: str | os.PathLike[str] | None) -> None:
    """Raise ValueError if a path cannot be written, before long work whose result it is for; None is skipped."""
    for path in paths:
        if path is None:
            continue
        folder = Path(path).resolve().parent
        if Path(path).is_dir() or not folder.is_dir():
            raise ValueError(
                f"{path} cannot be written: {'it is a folder' if folder.is_dir() else f'there is no folder {folder}'}. Name a "
                "file in a folder that exists."
            )
