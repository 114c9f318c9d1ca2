"""Lanes: vectors of a few numbers that are multiplied and added in a fixed order.

If the compiler may reorder sums, the last bits differ between machines; if it may not, it does not use the vector unit. So the
order is part of the source: a ``Lanes`` value is one LLVM vector; each lane sums its terms from first to last, and `total` adds
the lanes in a fixed tree. No reassociation, no contraction: the same bits on every CPU.

These and the calls of a step (in `codegen`) are the only intrinsics of the engine; `rows` uses them, and everything else uses
`rows`. Each has a plain Python version, `in_python`, for ``NUMBA_DISABLE_JIT=1``, in which lanes are small arrays.
"""

import ctypes
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.extending import register_model
from numba.np.arrayobj import populate_array


def intrinsic(in_python: Callable[..., Any], **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Make a Numba intrinsic from a function that generates its code; without compilation, use the plain function."""

    def decorate(generate: Callable[..., Any]) -> Any:
        if numba.config.DISABLE_JIT:
            return in_python
        make = numba.extending.intrinsic(**options) if options else numba.extending.intrinsic
        return make(generate)

    return decorate


class LanesType(types.Type):
    """The Numba type of `width` numbers of one float type."""

    def __init__(self, dtype: Any, width: int) -> None:
        self.dtype = dtype
        self.width = width
        super().__init__(name=f"Lanes({dtype}, {width})")


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: LanesType) -> None:
        super().__init__(dmm, fe_type, _vector(fe_type.dtype, fe_type.width))


class SlotsType(types.Type):
    """The Numba type of eight lanes in memory, on the stack."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(name=f"Slots({dtype})")


@register_model(SlotsType)
class _SlotsModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: SlotsType) -> None:
        super().__init__(dmm, fe_type, _vector(fe_type.dtype, 8).element.as_pointer())


def _vector(dtype: Any, width: int) -> Any:
    return ir.VectorType(ir.DoubleType() if dtype == types.float64 else ir.FloatType(), width)


def _everywhere(builder: Any, value: Any, vector: Any) -> Any:
    """One value in every lane of a vector type."""
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(ir.IntType(32), vector.count), None))


def _total(builder: Any, vector: Any) -> Any:
    """Add the upper half of the lanes onto the lower half until one is left."""
    i32 = ir.IntType(32)
    width = vector.type.count
    while width > 1:
        width //= 2
        undefined = ir.Constant(vector.type, ir.Undefined)
        halves = [
            builder.shuffle_vector(
                vector, undefined, ir.Constant(ir.VectorType(i32, width), list(range(at, at + width)))
            )
            for at in (0, width)
        ]
        vector = builder.fadd(*halves)
    return builder.extract_element(vector, ir.Constant(i32, 0))


def _address(context: Any, builder: Any, array_type: Any, array: Any, index: Any, pointee: Any) -> Any:
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(cgutils.gep_inbounds(builder, data, index), pointee.as_pointer())


def _load_first(array: Any, start: Any, count: Any, width: int) -> Any:
    lanes = np.zeros(width, array.dtype)
    lanes[: int(count)] = array.reshape(-1)[int(start) : int(start) + int(count)]
    return lanes


def _store(array: Any, start: Any, lanes: Any) -> None:
    array.reshape(-1)[int(start) : int(start) + lanes.size] = lanes


def _add_to_slot(slots: Any, number: Any, value: Any) -> None:
    slots[int(number) & 7] += slots.dtype.type(value)


def _total_in_python(lanes: Any) -> Any:
    while lanes.size > 1:
        half = lanes.size // 2
        lanes = lanes[:half] + lanes[half:]
    return lanes[0]


@intrinsic(lambda address: ctypes.c_void_p(int(address)))
def pointer(typingctx: Any, address: Any) -> Any:
    """The memory at an address, for `numba.carray`."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], cgutils.voidptr_t)

    return types.voidptr(types.int64), codegen


@intrinsic(lambda x: x.reshape(1, -1))
def as_row(typingctx: Any, x: Any) -> Any:
    """A vector as a matrix of one row. Numba's `reshape` needs its runtime library."""
    matrix = types.Array(x.dtype, 2, "C")

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector = context.make_array(x)(context, builder, args[0])
        size = cgutils.unpack_tuple(builder, vector.shape, 1)[0]
        one = context.get_constant(types.intp, 1)
        made = context.make_array(matrix)(context, builder)
        row = builder.mul(size, vector.itemsize)
        populate_array(made, vector.data, [one, size], [row, vector.itemsize], vector.itemsize, None)
        return made._getvalue()

    return matrix(x), codegen


@intrinsic(lambda like, width: np.zeros(width, like.dtype), prefer_literal=True)
def zeros(typingctx: Any, like: Any, width: Any) -> Any:
    """`width` zeros of the float type of the array `like`."""
    lanes = LanesType(like.dtype, width.literal_value)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return ir.Constant(context.get_value_type(signature.return_type), None)

    return lanes(like, width), codegen


@intrinsic(lambda array, start, width: array.reshape(-1)[int(start) : int(start) + width].copy(), prefer_literal=True)
def load(typingctx: Any, array: Any, start: Any, width: Any) -> Any:
    """The `width` numbers of a contiguous array from flat position `start` on."""
    lanes = LanesType(array.dtype, width.literal_value)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector = context.get_value_type(signature.return_type)
        pointer = _address(context, builder, signature.args[0], args[0], args[1], vector)
        return builder.load(pointer, align=array.dtype.bitwidth // 8)

    return lanes(array, types.uint64, width), codegen


@intrinsic(_load_first, prefer_literal=True)
def load_first(typingctx: Any, array: Any, start: Any, count: Any, width: Any) -> Any:
    """The first `count` of those numbers; zeros in the other lanes, whose memory is not read."""
    lanes = LanesType(array.dtype, width.literal_value)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        i32 = ir.IntType(32)
        vector = context.get_value_type(signature.return_type)
        pointer = _address(context, builder, signature.args[0], args[0], args[1], vector)
        numbers = ir.Constant(ir.VectorType(ir.IntType(64), vector.count), list(range(vector.count)))
        mask = builder.icmp_unsigned("<", numbers, _everywhere(builder, args[2], numbers.type))
        kind = ir.FunctionType(vector, [pointer.type, i32, mask.type, vector])
        name = f"llvm.masked.load.v{vector.count}f{array.dtype.bitwidth}.p0"
        function = cgutils.get_or_insert_function(builder.module, kind, name)
        return builder.call(
            function, [pointer, ir.Constant(i32, array.dtype.bitwidth // 8), mask, ir.Constant(vector, None)]
        )

    return lanes(array, types.uint64, types.uint64, width), codegen


@intrinsic(_store)
def store(typingctx: Any, array: Any, start: Any, lanes: Any) -> Any:
    """Write the lanes to a contiguous array from flat position `start` on."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _address(context, builder, signature.args[0], args[0], args[1], args[2].type)
        builder.store(args[2], pointer, align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.uint64, lanes), codegen


@intrinsic(lambda value, like: np.full_like(like, value))
def spread(typingctx: Any, value: Any, like: Any) -> Any:
    """One number in every lane; `like` gives type and width."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _everywhere(builder, args[0], context.get_value_type(signature.return_type))

    return like(like.dtype, like), codegen


@intrinsic(lambda total, left, right: total + left * right)
def multiply_add(typingctx: Any, total: Any, left: Any, right: Any) -> Any:
    """total + left * right, lane by lane, rounded twice."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fadd(args[0], builder.fmul(args[1], args[2]))

    return total(total, total, total), codegen


@intrinsic(_total_in_python)
def total(typingctx: Any, lanes: Any) -> Any:
    """The sum of the lanes: the upper half onto the lower half, until one is left."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _total(builder, args[0])

    return lanes.dtype(lanes), codegen


@intrinsic(lambda lanes: lanes.astype(np.float64))
def widen(typingctx: Any, lanes: Any) -> Any:
    """The same numbers in float64."""
    wide = LanesType(types.float64, lanes.width)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        target = context.get_value_type(signature.return_type)
        return args[0] if args[0].type == target else builder.fpext(args[0], target)

    return wide(lanes), codegen


@intrinsic(lambda like: np.zeros(8, like.dtype))
def slots(typingctx: Any, like: Any) -> Any:
    """Eight lanes in memory, all zero, of the float type of the array `like`; lanes are accessed by number."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        element = _vector(like.dtype, 8).element
        pointer = builder.bitcast(cgutils.alloca_once(builder, ir.ArrayType(element, 8)), element.as_pointer())
        for lane in range(8):
            builder.store(ir.Constant(element, 0.0), cgutils.gep_inbounds(builder, pointer, lane))
        return pointer

    return SlotsType(like.dtype)(like), codegen


@intrinsic(_add_to_slot)
def add_to_slot(typingctx: Any, slots: Any, number: Any, value: Any) -> Any:
    """Add a value to the lane ``number & 7``."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        lane = builder.and_(args[1], ir.Constant(args[1].type, 7))
        place = cgutils.gep_inbounds(builder, args[0], lane)
        builder.store(builder.fadd(builder.load(place), args[2]), place)
        return context.get_dummy_value()

    return types.void(slots, types.uint64, slots.dtype), codegen


@intrinsic(_total_in_python)
def slots_total(typingctx: Any, slots: Any) -> Any:
    """The sum of the slots, in the order of `total`.

    They are loaded one by one: a load of all eight would wait until the last stores have reached the cache.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        values = [builder.load(cgutils.gep_inbounds(builder, args[0], lane)) for lane in range(8)]
        while len(values) > 1:
            half = len(values) // 2
            values = [builder.fadd(low, high) for low, high in zip(values[:half], values[half:], strict=True)]
        return values[0]

    return slots.dtype(slots), codegen


@intrinsic(lambda array, start: None)
def prefetch(typingctx: Any, array: Any, start: Any) -> Any:
    """Prefetch the cache line with flat position `start` of a contiguous array; it never faults.

    It is fetched into all levels of the cache (locality 3). The hint "read once" (locality 0) would keep the weights in the
    cache and gains nothing on an AMD EPYC, but doubles the time of a sparse epoch on an Intel Xeon; see
    docs/decisions/prefetching.md.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        i32 = ir.IntType(32)
        address = _address(context, builder, signature.args[0], args[0], args[1], ir.IntType(8))
        kind = ir.FunctionType(ir.VoidType(), [address.type, i32, i32, i32])
        function = builder.module.declare_intrinsic("llvm.prefetch", [address.type], kind)
        builder.call(function, [address, ir.Constant(i32, 0), ir.Constant(i32, 3), ir.Constant(i32, 1)])
        return context.get_dummy_value()

    return types.void(array, types.uint64), codegen
