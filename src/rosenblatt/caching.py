"""Where compiled code is kept: in folders that are named after a hash of the sources it was made from.

Numba's cache on disk notices when the file of a function has changed, but not when something that the function calls from
another file has. A folder per version of the sources does: what was compiled from other sources is never looked at.
"""

import contextlib
import functools
import gc
import hashlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import FunctionCache

__all__ = ["checked", "compiled", "hash_sources", "uncollected", "version_folder"]

PACKAGE = Path(__file__).parent


def hash_sources(paths: Iterable[Path]) -> str:
    """A short hash of some source files and of the compiler."""
    digest = hashlib.sha256(f"{numba.__version__} {sys.version}".encode())
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@functools.cache
def version_folder(version: str) -> Path:
    """The folder for one version of the sources, in ``$ROSENBLATT_CACHE_DIR``, else in the user's cache folder."""
    chosen = os.environ.get("ROSENBLATT_CACHE_DIR")
    base = Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rosenblatt"
    folder = base / version
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        if hasattr(os, "getuid") and folder.stat().st_uid != os.getuid():
            raise PermissionError(folder)
    except OSError:
        folder = Path(tempfile.mkdtemp(prefix="rosenblatt-"))
    return folder


@functools.cache
def _version_of(package: Path) -> str:
    return hash_sources(sorted(package.rglob("*.py")))


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Load compiled code without looking for garbage meanwhile.

    Numba makes tens of thousands of objects when it is first used, all to stay. The collector would go through everything that
    the process holds again and again, scikit-learn for instance: a third of the time of a first fit.
    """
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


class _Checked(FunctionCache):
    """Numba's cache, which does not trust its own index.

    Where two processes save code for different types at the same moment, both may choose the same file, and the index may be that
    of one with the code of the other: arrays would be read as what they are not. Such code is not used but compiled again.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        with uncollected():
            found = super().load_overload(sig, target_context)
        return found if found is None or tuple(found.signature.args) == tuple(sig) else None


def checked(dispatcher: Any) -> Any:
    """Let a compiled function look twice at what it finds on disk."""
    if type(dispatcher._cache) is FunctionCache:
        dispatcher._cache.__class__ = _Checked
    return dispatcher


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function of a subpackage that calls none outside it, and keep the machine code.

    The sources of the subpackage are hashed when it is imported, so that the hash belongs to the code that is running.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        inside = Path(function.__code__.co_filename).relative_to(PACKAGE)
        before = numba.config.CACHE_DIR
        numba.config.CACHE_DIR = str(version_folder(_version_of(PACKAGE / inside.parts[0])))
        try:  # Numba asks for the folder now, not when it compiles
            return checked(numba.njit(cache=True, nogil=True, **options)(function))
        finally:
            numba.config.CACHE_DIR = before

    return decorate
