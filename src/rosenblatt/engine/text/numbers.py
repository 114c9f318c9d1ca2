"""Conversion of decimal text to the nearest float64: the result of ``float(text)``, at a gigabyte per second.

A mantissa below 2**53 and a power of ten up to 22 are exact floats, so their quotient or product is rounded once (Clinger 1990).
Otherwise the 128-bit product of Eisel and Lemire (Lemire 2021) is used. If its result is not certain (more than nineteen digits,
subnormal numbers, near ties), the caller must convert the text with Python.

A number ends at the first byte that is not part of it, so a text must not end with a digit: blocks are padded.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types, uint8, uint64
from numba.extending import intrinsic

from rosenblatt.engine.jit import NOGIL, VERB

GOOD, SLOW, BAD = 0, 1, 2
"""Result of a conversion: the value; a number that Python must convert; not a number."""


def _powers_of_five() -> np.ndarray[Any, np.dtype[np.uint64]]:
    """The 128 leading bits of 5**q for q = -342…308, rounded down for q >= 0 and up for q < 0."""
    table = []
    for q in range(-342, 309):
        power = 5 ** abs(q)
        if q >= 0:
            bits = power << 128 >> power.bit_length()
        else:
            shift = power.bit_length() + (127 if q >= -27 else 255)
            if power & (power - 1) == 0:
                shift -= 1
            bits = (1 << shift) // power + 1
            bits >>= max(0, bits.bit_length() - 128)
        table.append((bits >> 64, bits & (2**64 - 1)))
    return np.array(table, np.uint64)


_FIVES = _powers_of_five()
_TENS = np.array([10.0**k for k in range(32)])  # exact up to 22


@intrinsic
def load8(typing_context, text, at):
    """Eight bytes of a uint8 array from `at` on, as a little-endian integer."""

    def generate(context, builder, signature, arguments):
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        address = builder.gep(array.data, [arguments[1]])
        loaded = builder.load(builder.bitcast(address, ir.IntType(64).as_pointer()))
        loaded.align = 1
        return loaded

    return types.uint64(text, types.uint64), generate


@intrinsic
def _high_product(typing_context, a, b):
    """The upper 64 bits of a product of two 64-bit numbers."""

    def generate(context, builder, signature, arguments):
        wide = ir.IntType(128)
        product = builder.mul(*(builder.zext(argument, wide) for argument in arguments))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), generate


@intrinsic
def _leading_zeros(typing_context, a):
    def generate(context, builder, signature, arguments):
        return builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), generate


@intrinsic
def _float_of_bits(typing_context, a):
    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.uint64), generate


@njit(**VERB, error_model="numpy")
def digits(text, at, total):
    """Append the digits from `at` on to a whole number (modulo 2**64); return the number and the end of the digits.

    Each digit is tested by a branch, which the processor predicts. If the digits were counted by arithmetic, each number would
    wait for the previous one (measured: half the speed).
    """
    while True:
        digit = text[at] - uint8(48)
        if digit > uint8(9):
            return total, at
        total = total * uint64(10) + uint64(digit)
        at += uint64(1)


@njit(**VERB, error_model="numpy")
def _unsigned(text, at):
    start = at
    mantissa, at = digits(text, at, uint64(0))
    if text[at] == 46:
        point = at + uint64(1)
        mantissa, at = digits(text, point, mantissa)
        value = np.float64(np.int64(mantissa)) / _TENS[(at - point) & uint64(31)]
        return value, at, at - start - uint64(2) <= uint64(18) and mantissa <= uint64(1 << 53)
    return np.float64(np.int64(mantissa)), at, at - start - uint64(1) <= uint64(18) and mantissa <= uint64(1 << 53)


@njit(**VERB, error_model="numpy")
def simple_number(text, at):
    """(value, end, whether the value is exact) of a number with up to nineteen digits below 2**53 and no exponent.

    The digits and the power of ten are then exact floats. The caller must check the byte at the end.
    """
    # Two calls, so that the processor can predict the sign: skipping it by arithmetic costs a fifth of the speed.
    if text[at] == 45:
        value, end, exact = _unsigned(text, at + uint64(1))
        return -value, end, exact
    return _unsigned(text, at)


@njit(**VERB, error_model="numpy")
def number(text, at):
    """(value, end, GOOD | SLOW | BAD) of the decimal number that begins at `at`."""
    value, end, exact = simple_number(text, at)
    if exact and text[end] | 32 != 101:
        return value, end, GOOD
    return any_number(text, at)


@njit(**NOGIL, error_model="numpy")
def any_number(text, at):
    """The same as `number`, without trying the simple case first."""
    begin = at
    negative = text[at] == 45
    if negative or text[at] == 43:
        at += uint64(1)
    mantissa, end = digits(text, at, uint64(0))
    count = end - at
    at = end
    exponent = np.int64(0)
    if text[at] == 46:
        mantissa, end = digits(text, at + uint64(1), mantissa)
        places = end - at - uint64(1)
        at = end
        count += places
        exponent = -np.int64(places)
    if count == uint64(0):
        return 0.0, begin, BAD
    if text[at] | 32 == 101:
        at += uint64(1)
        downward = text[at] == 45
        if downward or text[at] == 43:
            at += uint64(1)
        power, end = digits(text, at, uint64(0))
        if end == at:
            return 0.0, begin, BAD
        power = min(power, uint64(100000)) if end - at <= uint64(19) else uint64(100000)
        at = end
        exponent += -np.int64(power) if downward else np.int64(power)
    if count > uint64(19):
        return 0.0, at, SLOW
    if mantissa <= uint64(1 << 53) and -22 <= exponent <= 22:
        value = np.float64(np.int64(mantissa))
        value = value / _TENS[uint64(-exponent)] if exponent < 0 else value * _TENS[uint64(exponent)]
        return (-value if negative else value), at, GOOD
    value, sure = _nearest(mantissa, exponent)
    return (-value if negative else value), at, (GOOD if sure else SLOW)


@njit(**NOGIL, error_model="numpy")
def _nearest(mantissa, exponent):
    """The float nearest to mantissa * 10**exponent, and whether that is certain (the algorithm of Eisel and Lemire)."""
    if mantissa == uint64(0) or exponent < -342 - 20:
        return 0.0, True
    if exponent > 308 or exponent < -342:
        return 0.0, False
    shift = _leading_zeros(mantissa)
    mantissa <<= shift
    row = uint64(exponent + 342)
    high, low = _high_product(mantissa, _FIVES[row, 0]), mantissa * _FIVES[row, 0]
    if high & uint64(0x1FF) == uint64(0x1FF):
        more = _high_product(mantissa, _FIVES[row, 1])
        low += more
        if more > low:
            high += uint64(1)
    if low == uint64(0xFFFFFFFFFFFFFFFF) and not -27 <= exponent <= 55:
        return 0.0, False
    upper = high >> uint64(63)
    drop = upper + uint64(9)
    bits = high >> drop
    power = ((217706 * exponent) >> 16) + 63 + np.int64(upper) - np.int64(shift) + 1023
    if power <= 0:
        return 0.0, False
    if low <= uint64(1) and -4 <= exponent <= 23 and bits & uint64(3) == uint64(1) and bits << drop == high:
        bits &= ~uint64(1)
    bits = (bits + (bits & uint64(1))) >> uint64(1)
    if bits >= uint64(1 << 53):
        bits = uint64(1 << 52)
        power += 1
    if power >= 0x7FF:
        return 0.0, False
    return _float_of_bits((bits & ~uint64(1 << 52)) | uint64(power) << uint64(52)), True
