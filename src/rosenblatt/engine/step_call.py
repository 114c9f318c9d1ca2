"""Call a step function by its address, so that one compiled loop serves all rules.

A rule is asked only about the examples that it may want to learn, so the call costs next to nothing; and compiling a new rule
takes the time of its few lines, not that of the loops around it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numpy.typing import NDArray

from .jit import NOGIL
from .simd import intrinsic

__all__ = ["IN_PYTHON", "NUMBER", "ON_ZERO", "PAIR", "Asked", "number_of", "pair_of", "settle_tie"]

IN_PYTHON: dict[int, Callable[..., Any]] = {}
"""Without compilation: the rules by what stands for their addresses. Each takes the numbers of an example, then its params."""

NUMBER = "float64(float64, float64, CPointer(float64))"
"""A rule that says how far to move: of the margin, ‖x‖² and its hyperparameters."""

PAIR = "void(float64, float64, float64, float64, float64, CPointer(float64), CPointer(float64))"
"""A rule that says two things: of five numbers and its hyperparameters, into the last argument."""


UPDATE, POSITIVE, KEEP = range(3)
ON_ZERO = {"update": UPDATE, "positive": POSITIVE, "keep": KEEP}
"""What a margin of exactly 0 is: a mistake, a right answer for the positive class, or a right answer."""

TINY = 5e-324


class Asked(NamedTuple):
    """A step function as a loop sees it: its address and its hyperparameters."""

    address: int
    params: NDArray[Any]


def _parts(
    context: Any, builder: Any, signature: Any, rule: Any, result: Any, count: int, *more: Any
) -> tuple[Any, Any]:
    """The function that a rule points to, and the address of its hyperparameters."""
    double = ir.DoubleType()
    pointer = double.as_pointer()
    kind = ir.FunctionType(result, [double] * count + [pointer, *more])
    address, params = cgutils.unpack_tuple(builder, rule, 2)
    array = context.make_array(signature.args[0].types[1])(context, builder, params)
    return builder.inttoptr(address, kind.as_pointer()), builder.bitcast(array.data, pointer)


def _number_in_python(rule: Asked, margin: Any, sq_norm: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.float64(IN_PYTHON[int(rule.address)](np.float64(margin), np.float64(sq_norm), params=rule.params))


def _pair_in_python(rule: Asked, *numbers: Any) -> Any:
    with np.errstate(all="ignore"):
        first, second = IN_PYTHON[int(rule.address)](*map(np.float64, numbers), params=rule.params)
    return np.float64(first), np.float64(second)


@intrinsic(_number_in_python)
def number_of(typing_context: Any, rule: Any, margin: Any, sq_norm: Any) -> Any:
    """How far to move."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        function, params = _parts(context, builder, signature, arguments[0], ir.DoubleType(), 2)
        return builder.call(function, [*arguments[1:], params])

    return types.float64(rule, types.float64, types.float64), generate


@intrinsic(_pair_in_python)
def pair_of(typing_context: Any, rule: Any, a: Any, b: Any, c: Any, d: Any, e: Any) -> Any:
    """Two numbers of five."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        double = ir.DoubleType()
        function, params = _parts(context, builder, signature, arguments[0], ir.VoidType(), 5, double.as_pointer())
        room = cgutils.alloca_once(builder, double, size=2)
        builder.call(function, [*arguments[1:], params, room])
        pair = [builder.load(builder.gep(room, [ir.Constant(ir.IntType(32), k)])) for k in range(2)]
        return context.make_tuple(builder, signature.return_type, pair)

    return types.UniTuple(types.float64, 2)(rule, *[types.float64] * 5), generate


@njit(**NOGIL)
def settle_tie(margin: Any, first: Any, on_zero: Any) -> Any:
    """The margin as the rule sees it: a tie that counts as correct becomes the smallest positive number."""
    if margin == 0.0 and (on_zero == KEEP or (on_zero == POSITIVE and first)):
        return TINY
    return margin
