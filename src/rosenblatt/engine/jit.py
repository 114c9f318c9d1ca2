"""How the engine is compiled, and where its machine code is kept: in a folder named by the hash of all its sources.

Numba's cache on disk notices when the file of a function has changed, but not when something that the function calls from
another file has. A folder for each version of the engine does: code that was compiled from other sources is never looked at.
"""

import contextlib
import functools
import gc
import hashlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import FunctionCache
from numba.extending import overload

NOGIL = {"nogil": True, "no_cfunc_wrapper": True}
"""Release the GIL, and make no entry for C, which took a fifth of the time to compile."""

VERB = NOGIL | {"forceinline": True}
"""A verb that was called instead of inlined cost 50 ns a row, most of it for counting references to its arguments.

It is LLVM that inlines. Numba's own ``inline="always"`` also removes what it takes for dead code, and that includes writing to an
array which is an attribute of a tuple that was unpacked from another one.
"""

LOOP = NOGIL | {"error_model": "numpy", "_nrt": False}
"""Nothing may be allocated in a loop: without `_nrt` no references are counted, which took a third of the time."""

ENTRY = {"no_cfunc_wrapper": True, "error_model": "numpy"}
"""A function that Python calls, for `compiled`."""


def verb(**options: Any) -> Callable[[Callable[..., Callable[..., Any]]], Any]:
    """Make a function that has several bodies from one that selects the body.

    The decorated function gets the arguments, as values or as Numba types, and returns the function to run for them. So the same
    bodies are compiled with the loops and run as plain Python under ``NUMBA_DISABLE_JIT=1``.
    """

    def decorate(select: Callable[..., Callable[..., Any]]) -> Any:
        @functools.wraps(select)
        def call(*arguments: Any) -> Any:
            return select(*arguments)(*arguments)

        overload(call, jit_options=options)(select)
        return call

    return decorate


def named(name: str) -> Callable[[Any], Any]:
    """Give a function that is made more than once a name of its own.

    Numba names machine code after the function, a number that it counts up in each process, and the types. Two closures of one
    function that were compiled by two processes can so have the same name, and a third process that loads both from disk runs
    one in place of the other.
    """

    def decorate(function: Any) -> Any:
        function.__qualname__ = name
        return function

    return decorate


def _hash_sources() -> str:
    """A short hash of the engine's sources and of the compiler."""
    digest = hashlib.sha256(f"{numba.__version__} {sys.version}".encode())
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


VERSION = _hash_sources()  # on import, so that it belongs to the running code
"""The hash of the engine."""


@functools.cache
def cache_folder() -> Path:
    """Where compiled code is kept: in ``$ROSENBLATT_CACHE_DIR``, else in the user's cache folder, by the engine's hash."""
    chosen = os.environ.get("ROSENBLATT_CACHE_DIR")
    base = Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rosenblatt"
    folder = base / VERSION
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        if hasattr(os, "getuid") and folder.stat().st_uid != os.getuid():
            raise PermissionError(folder)
    except OSError:
        folder = Path(tempfile.mkdtemp(prefix="rosenblatt-"))
    return folder


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
    """Numba's cache with a check of what its index says.

    Where two processes save code for different types at the same moment, both may choose the same file, and the index may be that
    of one with the code of the other: arrays would be read as what they are not. Such code is not used but compiled again.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        with uncollected():
            found = super().load_overload(sig, target_context)
        return found if found is None or tuple(found.signature.args) == tuple(sig) else None


def checked(dispatcher: Any) -> Any:
    """Check the types of machine code that a compiled function loads from disk; a plain function is returned as it is."""
    if type(getattr(dispatcher, "_cache", None)) is FunctionCache:
        dispatcher._cache.__class__ = _Checked
    return dispatcher


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function that Python calls, when it is first called, and keep the machine code on disk.

    Functions that only compiled code calls are plain ``njit``: their code is part of their callers'.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        before = numba.config.CACHE_DIR
        numba.config.CACHE_DIR = str(cache_folder())
        try:  # Numba asks for the folder now, not when it compiles
            return checked(numba.njit(cache=True, **(NOGIL | options))(function))
        finally:
            numba.config.CACHE_DIR = before

    return decorate
