"""How everything that a kernel calls is compiled."""

__all__ = ["LOOP", "NOGIL", "VERB"]

NOGIL = {"nogil": True, "no_cfunc_wrapper": True}
"""No lock is held, and no entry for C is made, which took a fifth of the time to compile."""

VERB = NOGIL | {"forceinline": True}
"""A verb that was called instead of inlined cost 50 ns a row, most of it for counting references to its arguments."""

LOOP = NOGIL | {"error_model": "numpy", "_nrt": False}
"""Nothing may be allocated in a loop: without `_nrt` no references are counted, which took a third of the time."""
