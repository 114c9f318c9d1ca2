"""Parser of entries ``index:value`` by their shape, sixteen bytes at a time.

Most entries of a file have the shape of the previous one: the same numbers of digits before the colon, before the point and
after it. A table has one row per shape, with the allowed range of each byte and the position of its digit. One comparison of
sixteen bytes checks whether an entry has the shape of the previous one, and four instructions compute its two numbers. The
processor predicts that the shape is the same and starts on the next entry, so only a change of shape takes time.

On processors without the byte shuffle of SSE, shapes are not used and numbers are parsed digit by digit.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types, uint64
from numba.extending import intrinsic
from numpy.typing import NDArray

from rosenblatt.engine.jit import NOGIL

NO_SHAPE, ANY_SHAPE = 0, 1
"""The number that means no shape, and the number of the initial shape."""

_WIDTH, _DIGITS = 16, 8  # bytes per comparison, digits that a number may have
_WORD = ir.IntType(64)
_BYTES = ir.VectorType(ir.IntType(8), _WIDTH)

_OFFSETS = {"least": 0, "spread": 16, "order": 32, "divisor": 48, "length": 56}
_FORMATS = [(np.uint8, _WIDTH)] * 3 + [np.float64, np.uint64]
_SHAPE = np.dtype({"names": list(_OFFSETS), "formats": _FORMATS, "offsets": list(_OFFSETS.values())})
"""A byte fits if it is between `least` and `least + spread`. `order` has the positions of the digits of the index, ending at
element 7, and of the value, ending at element 15; 128 means no digit. The value is its digits divided by `divisor`."""


def _table() -> tuple[NDArray[Any], NDArray[np.uint16]]:
    """All shapes that end within sixteen bytes, and their numbers.

    The number of a shape is indexed by the number of digits of the index, minus one; whether there is a sign; the number of
    digits of the value before the point, minus one; and the number of digits after it.
    """
    numbers = np.zeros((_DIGITS, 2, _DIGITS, _DIGITS), np.uint16)
    shapes = [np.zeros((), _SHAPE)]  # for no shape, never used
    for index, sign, whole, fraction in np.ndindex(numbers.shape):
        text = "0" * (index + 1) + ":" + "-" * sign + "0" * (whole + 1) + ("." + "0" * fraction if fraction else "")
        if whole + 1 + fraction > _DIGITS or len(text) >= _WIDTH:
            continue
        shape = np.zeros((), _SHAPE)
        shape["least"][: len(text)] = list(text.encode())
        shape["spread"] = [9 if byte == "0" else 0 for byte in text] + [32] + [255] * (_WIDTH - len(text) - 1)
        digits = [place for place, byte in enumerate(text) if byte == "0"]
        shape["order"] = 128
        shape["order"][_DIGITS - index - 1 : _DIGITS] = digits[: index + 1]
        shape["order"][_WIDTH - whole - 1 - fraction :] = digits[index + 1 :]
        shape["divisor"] = (-1) ** sign * 10.0**fraction
        shape["length"] = len(text)
        numbers[index, sign, whole, fraction] = len(shapes)
        shapes.append(shape)
    return np.array(shapes).view(np.uint8).reshape(len(shapes), _SHAPE.itemsize), numbers


SHAPES, _NUMBERS = _table()


def _can_move_bytes(context: Any) -> bool:
    """Whether the code is compiled for a processor with the instructions used below."""
    triple, _, features = context.codegen().magic_tuple()
    return triple.startswith("x86_64") and "+sse4.1" in features.split(",")


def _load(builder: Any, array: Any, at: Any, kind: Any = _BYTES) -> Any:
    """Sixteen bytes of an array from `at` on, or another type stored there."""
    loaded = builder.load(builder.bitcast(builder.gep(array.data, [at]), kind.as_pointer()))
    loaded.align = 1
    return loaded


def _lanes(bits: int, *repeated: int) -> Any:
    """A constant vector of 128 bits: the given numbers of `bits` bits each, repeated."""
    count = 128 // bits
    return ir.Constant(ir.VectorType(ir.IntType(bits), count), list(repeated) * (count // len(repeated)))


@intrinsic
def shapes_work(typing_context):
    """Whether entries can be read by their shape on this processor; a constant in the compiled code."""

    def generate(context, builder, signature, arguments):
        return context.get_constant(types.boolean, _can_move_bytes(context))

    return types.boolean(), generate


@intrinsic
def entry_of_shape(typing_context, text, at, shapes, shape):
    """(whether it fits, index, value, length) of the entry that begins at `at`; the last three are valid only if it fits."""
    result = types.Tuple([types.boolean, types.uint64, types.float64, types.uint64])

    def generate(context, builder, signature, arguments):
        if not _can_move_bytes(context):
            parts = [context.get_constant(kind, 0) for kind in result]
            return context.make_tuple(builder, result, parts)
        words, table = (context.make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 2))
        row = builder.mul(arguments[3], ir.Constant(_WORD, _SHAPE.itemsize))

        def field(name: str, kind: Any = _BYTES) -> Any:
            return _load(builder, table, builder.add(row, ir.Constant(_WORD, _OFFSETS[name])), kind)

        def call(name: str, result: Any, *operands: Any) -> Any:
            kind = ir.FunctionType(result, [operand.type for operand in operands])
            return builder.call(builder.module.declare_intrinsic(f"llvm.x86.{name}", (), kind), operands)

        above = builder.sub(_load(builder, words, arguments[1]), field("least"))
        fits = builder.icmp_unsigned("<=", above, field("spread"))
        fits = builder.icmp_signed("==", builder.bitcast(fits, ir.IntType(16)), ir.Constant(ir.IntType(16), -1))

        # Eight digits each, as bytes; then as four numbers below 100, two below 10,000, one below 100,000,000.
        shorts, longs = (ir.VectorType(ir.IntType(bits), 128 // bits) for bits in (16, 32))
        digits = call("ssse3.pshuf.b.128", _BYTES, above, field("order"))
        pairs = call("ssse3.pmadd.ub.sw.128", shorts, digits, _lanes(8, 10, 1))
        fours = call("sse2.pmadd.wd", longs, pairs, _lanes(16, 100, 1))
        fours = call("sse41.packusdw", shorts, fours, fours)
        eights = call("sse2.pmadd.wd", longs, fours, _lanes(16, 10_000, 1))
        index, whole = (builder.extract_element(eights, ir.Constant(ir.IntType(32), place)) for place in (0, 1))
        value = builder.fdiv(builder.sitofp(whole, ir.DoubleType()), field("divisor", ir.DoubleType()))
        parts = [fits, builder.zext(index, _WORD), value, field("length", _WORD)]
        return context.make_tuple(builder, signature.return_type, parts)

    return result(text, types.uint64, shapes, types.uint64), generate


@intrinsic
def _other_than_digits(typing_context, text, at):
    """Bit mask in which bit k is set if the byte at `at` + k is not a digit; all bits from 16 on are set."""

    def generate(context, builder, signature, arguments):
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        above = builder.sub(_load(builder, array, arguments[1]), _lanes(8, ord("0")))
        others = builder.bitcast(builder.icmp_unsigned(">", above, _lanes(8, 9)), ir.IntType(_WIDTH))
        return builder.or_(builder.zext(others, _WORD), ir.Constant(_WORD, -1 << _WIDTH))

    return types.uint64(text, types.uint64), generate


@intrinsic
def _lowest(typing_context, bits):
    """Position of the lowest bit that is set."""

    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), generate


@njit(**NOGIL, error_model="numpy")
def shape_at(text, at):
    """Candidate (shape, length) for the entry that begins at `at`, to be checked by the caller; `NO_SHAPE` if none can fit."""
    one = uint64(1)
    others = _other_than_digits(text, at)
    index = _lowest(others)
    others &= others - one
    start, sign = index + one, uint64(0)
    if text[at + start] == 45:
        others &= others - one
        start, sign = start + one, one
    end = _lowest(others)
    whole, fraction = end - start, uint64(0)
    if text[at + end] == 46:
        others &= others - one
        fraction = _lowest(others) - end - one
        end = _lowest(others)
    limit = uint64(_DIGITS)
    if index - one >= limit or whole - one >= limit or fraction >= limit:
        return uint64(NO_SHAPE), end
    return uint64(_NUMBERS[index - one, sign, whole - one, fraction]), end
