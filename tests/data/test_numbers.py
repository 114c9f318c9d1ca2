"""Decimal numbers are converted to the same bits as by Python's `float`."""

import struct

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numba import njit, uint64

from rosenblatt.engine.text import numbers
from rosenblatt.engine.text.arrays import PADDING


@njit
def convert(text):
    return numbers.number(text, uint64(0))


def check(text):
    value, end, kind = convert(np.frombuffer(text.encode() + b"\n" * PADDING, np.uint8).copy())
    assert kind != numbers.BAD
    assert end == len(text)
    if kind == numbers.GOOD:
        assert struct.pack("d", value) == struct.pack("d", float(text)), text
    return kind


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_in_their_shortest_form(value):
    check(repr(value))


@given(st.from_regex(r"[+-]?([0-9]{1,25}(\.[0-9]{0,25})?|\.[0-9]{1,25})([eE][+-]?[0-9]{1,3})?", fullmatch=True))
@example("0.1")
@example("-0")
@example("9007199254740993")
@example("1e23")
@example("8.5e-5")
@example("2.2250738585072011e-308")
@example("179769313486231580793e289")
@example("0.500000000000000166533453693773481063544750213623046875")
def test_numbers_in_any_form(text):
    check(text)


@given(st.integers(0, 2**53), st.integers(-5, 5), st.integers(-300, 290))
def test_numbers_halfway_between_two_floats(mantissa, off, power):
    check(f"{(2 * mantissa + 1) + 2 * off if mantissa > 5 else 1}e{power}")


@pytest.mark.parametrize("text", ["1", "0.1", "-12.5", "123456789.125", "0.12345678901234567", "1e-7", "3.4028235e38"])
def test_usual_numbers_do_not_need_the_slow_conversion(text):
    assert check(text) == numbers.GOOD


@pytest.mark.parametrize("text", ["nan", "inf", "-", ".", "e5", "1e", "1e+", "", "+-1", "0x"])
def test_text_that_is_not_a_number(text):
    _, end, kind = convert(np.frombuffer(text.encode() + b"\n" * PADDING, np.uint8).copy())
    assert kind == numbers.BAD or end < len(text)
