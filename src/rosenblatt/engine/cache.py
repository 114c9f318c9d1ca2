"""The folder of compiled code, named by a hash of all sources that it is made from.

Numba's cache on disk detects changes in the file of a function, but not in functions that it calls from other files. With one
folder for each version of the sources, code compiled from other sources is never loaded.
"""

import contextlib
import functools
import hashlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path


def hash_sources() -> str:
    """A short hash of the sources that machine code is made from: of the engine, and of what builds its library."""
    engine = Path(__file__).parent
    sources = [path for path in engine.rglob("*.py") if path.name not in ("cache.py", "native.py")]  # nothing compiled
    sources += [path for path in engine.with_name("aot").iterdir() if path.suffix in (".py", ".c")]
    digest = hashlib.sha256()
    for path in sorted(sources):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


SOURCES = hash_sources()  # on import, so that it is the hash of the running code


def base_folder() -> Path:
    """The folder of all caches: ``$ROSENBLATT_CACHE_DIR``, else ``rosenblatt`` in the user's cache folder."""
    chosen = os.environ.get("ROSENBLATT_CACHE_DIR")
    return Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rosenblatt"


def is_private(folder: Path) -> bool:
    """Whether a folder belongs to this user, so that no other user can have put machine code there."""
    return not hasattr(os, "getuid") or folder.stat().st_uid == os.getuid()


@functools.cache
def cache_folder() -> Path:
    """Folder of code compiled by Numba, named by the sources, Numba and Python; a temporary one if it cannot be written."""
    import tempfile
    from importlib import metadata  # as slow to import as all of this package that a command needs

    versions = hashlib.sha256(f"{metadata.version('numba')} {sys.version}".encode()).hexdigest()[:8]
    folder = base_folder() / f"{SOURCES}-{versions}"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        if not is_private(folder):
            raise PermissionError(folder)
    except OSError:
        folder = Path(tempfile.mkdtemp(prefix="rosenblatt-"))
    return folder


def building_lock() -> Path:
    """The file that a process locks while it makes a library."""
    return base_folder() / "build.lock"


@contextlib.contextmanager
def only_one(path: Path, wait: bool) -> Iterator[bool]:
    """Whether this process alone holds the lock; the system releases it when the process ends in any way."""
    try:
        import fcntl
    except ImportError:  # without locks two processes may build at once; each replaces the file when it is complete
        yield True
        return
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not wait:
                yield False
                return
            print("rosenblatt: waiting for another process that makes a library", file=sys.stderr)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield True
