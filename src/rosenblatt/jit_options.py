"""How everything that a kernel calls is compiled."""

from collections.abc import Callable
from typing import Any

__all__ = ["LOOP", "NOGIL", "VERB", "named"]

NOGIL = {"nogil": True, "no_cfunc_wrapper": True}
"""No lock is held, and no entry for C is made, which took a fifth of the time to compile."""

VERB = NOGIL | {"forceinline": True}
"""A verb that was called instead of inlined cost 50 ns a row, most of it for counting references to its arguments.

It is LLVM that inlines. Numba's own ``inline="always"`` also removes what it takes for dead code, and that includes writing to an
array which is an attribute of a tuple that was unpacked from another one.
"""

LOOP = NOGIL | {"error_model": "numpy", "_nrt": False}
"""Nothing may be allocated in a loop: without `_nrt` no references are counted, which took a third of the time."""


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
