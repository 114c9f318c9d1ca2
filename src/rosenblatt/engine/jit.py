"""Compilation of the engine by Numba: the front end of the compiled library, and the fallback without it."""

import contextlib
import functools
import gc
from collections.abc import Callable, Iterator
from typing import Any

import numba
from numba.core.caching import FunctionCache
from numba.extending import overload

from .cache import cache_folder

NOGIL = {"nogil": True, "no_cfunc_wrapper": True, "no_cpython_wrapper": True}
"""Release the GIL, and make no entry points for C and Python, which took a third of the compile time."""

VERB = NOGIL | {"forceinline": True}
"""A call of a verb that is not inlined costs 50 ns per row, most of it for counting references to its arguments.

LLVM does the inlining. Numba's ``inline="always"`` also removes code that it wrongly considers dead, such as stores to an array
that is an attribute of a tuple unpacked from another tuple.
"""

LOOP = NOGIL | {"error_model": "numpy", "_nrt": False}
"""Loops allocate nothing: without `_nrt` no references are counted, which took a third of the time."""

ENTRY = {"error_model": "numpy"}
"""Options of `compiled`, for functions called from Python."""


def verb(**options: Any) -> Callable[[Callable[..., Callable[..., Any]]], Any]:
    """Make a function with several bodies from a function that selects the body.

    The decorated function takes the arguments, as values or as Numba types, and returns the body for them. The same bodies are
    compiled with the loops and run as plain Python under ``NUMBA_DISABLE_JIT=1``.
    """

    def decorate(select: Callable[..., Callable[..., Any]]) -> Any:
        @functools.wraps(select)
        def call(*arguments: Any) -> Any:
            return select(*arguments)(*arguments)

        overload(call, jit_options=options)(select)
        return call

    return decorate


def named(name: str) -> Callable[[Any], Any]:
    """Give each copy of a function that is made more than once a unique name.

    Numba names machine code after the function, a counter of the process, and the types. Two closures of one function that were
    compiled by two processes can therefore have the same name, and a third process that loads both from disk would run the wrong
    one.
    """

    def decorate(function: Any) -> Any:
        function.__qualname__ = name
        return function

    return decorate


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Load compiled code with the garbage collector disabled.

    Numba makes tens of thousands of permanent objects on first use. The collector would repeatedly scan all objects of the
    process, including those of scikit-learn, which takes a third of the time of a first fit.
    """
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


class _Checked(FunctionCache):
    """Numba's cache with a check of the types of loaded code.

    If two processes save code for different types at the same time, both may choose the same file, and the index of one may refer
    to the code of the other, which would misinterpret the arrays. Such code is not used but compiled again.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        with uncollected():
            found = super().load_overload(sig, target_context)
        return found if found is None or tuple(found.signature.args) == tuple(sig) else None


def checked(dispatcher: Any) -> Any:
    """Check the types of machine code that a compiled function loads from disk; return a plain function unchanged."""
    if type(getattr(dispatcher, "_cache", None)) is FunctionCache:
        dispatcher._cache.__class__ = _Checked
    return dispatcher


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function on its first call from Python, and cache the machine code on disk.

    Functions that are called only by compiled code use plain ``njit``: their code is part of their callers.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        before = numba.config.CACHE_DIR
        numba.config.CACHE_DIR = str(cache_folder())
        try:  # Numba needs the folder now, not when it compiles
            return checked(numba.njit(cache=True, **(NOGIL | {"no_cpython_wrapper": False} | options))(function))
        finally:
            numba.config.CACHE_DIR = before

    return decorate
