"""How everything that a kernel calls is compiled."""

from collections.abc import Callable
from typing import Any

from numba import njit

__all__ = ["NOGIL", "VERB", "loop_of", "named"]

NOGIL = {"nogil": True, "no_cfunc_wrapper": True}
"""No lock is held, and no entry for C is made, which took a fifth of the time to compile."""

VERB = NOGIL | {"forceinline": True}
"""A verb that was called instead of inlined cost 50 ns a row, most of it for counting references to its arguments."""


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


def loop_of(rule: Any) -> Callable[[Any], Any]:
    """Compile the loop of a rule, under a name that has that of the rule's own module in it.

    Nothing may be allocated in a loop: without `_nrt` no references are counted, which took a third of the time.
    """

    def decorate(function: Any) -> Any:
        name = f"{function.__qualname__} {rule.__module__}"
        return njit(error_model="numpy", _nrt=False, **NOGIL)(named(name)(function))

    return decorate
