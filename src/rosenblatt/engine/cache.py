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
    """The folder of all caches: ``$ROSENBLATT_CACHE_DIR``, else ``rosenblatt`` in the user's cache folder.

    Raises an OSError if there is none, as for a user without a home.
    """
    if chosen := os.environ.get("ROSENBLATT_CACHE_DIR"):
        return Path(chosen)
    if caches := os.environ.get("XDG_CACHE_HOME"):
        return Path(caches) / "rosenblatt"
    try:
        return Path.home() / ".cache" / "rosenblatt"
    except RuntimeError as error:
        raise FileNotFoundError("this user has no home folder") from error


def is_private(path: Path) -> bool:
    """Whether a file or folder belongs to this user, so that no other user can have put machine code there."""
    return not hasattr(os, "getuid") or path.stat().st_uid == os.getuid()


@functools.cache
def cache_folder() -> Path:
    """Folder of code compiled by Numba, named by the sources, Numba and Python; a temporary one if it cannot be written."""
    import tempfile
    import warnings
    from importlib import metadata  # as slow to import as all of this package that a command needs

    versions = hashlib.sha256(f"{metadata.version('numba')} {sys.version}".encode()).hexdigest()[:8]
    place = "of rosenblatt"
    try:
        folder = base_folder() / f"{SOURCES}-{versions}"
        place = str(folder)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        if not is_private(folder):
            raise PermissionError("it belongs to another user")
    except OSError as error:
        warnings.warn(
            f"The cache folder {place} cannot be used ({error.strerror or error}), so every process compiles again. Name another "
            "folder in ROSENBLATT_CACHE_DIR.",
            RuntimeWarning,
            stacklevel=2,
        )
        return temporary_folder()
    return folder


@functools.cache
def temporary_folder() -> Path:
    """A folder that is removed when this process ends."""
    import atexit
    import shutil
    import tempfile

    folder, owner = Path(tempfile.mkdtemp(prefix="rosenblatt-")), os.getpid()

    def remove() -> None:
        if os.getpid() == owner:  # not a process that this one has forked
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return folder


def is_kept() -> bool:
    """Whether later processes find what this one compiles."""
    return not temporary_folder.cache_info().currsize


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
