"""Step functions by their address: one loop serves all rules, which are machine code of their own.

A rule is asked for some examples only, those that it may want to learn, so that a call costs next to nothing; and a new rule is
compiled in the time of its few lines, not in that of the loops around it.
"""

# The bodies below describe code to generate; the functions have no Python meaning of their own.

from typing import Any, NamedTuple

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

__all__ = ["NUMBER", "PAIR", "Asked", "number_of", "pair_of"]

NUMBER = "float64(float64, float64, CPointer(float64))"
"""A rule that says how far to move: of the margin, ‖x‖² and its hyperparameters."""

PAIR = "void(float64, float64, float64, float64, float64, CPointer(float64), CPointer(float64))"
"""A rule that says two things: of five numbers and its hyperparameters, into the last argument."""


class Asked(NamedTuple):
    """A step function as a loop sees it: where it is, and its hyperparameters."""

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


@intrinsic
def number_of(typing_context: Any, rule: Any, margin: Any, sq_norm: Any) -> Any:
    """How far to move."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        function, params = _parts(context, builder, signature, arguments[0], ir.DoubleType(), 2)
        return builder.call(function, [*arguments[1:], params])

    return types.float64(rule, types.float64, types.float64), generate


@intrinsic
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
