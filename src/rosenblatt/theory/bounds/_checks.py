"""Checks of the arguments of the bounds."""

from __future__ import annotations

import math


def check(name: str, value: float, low: float, hint: str, strict: bool = True) -> float:
    number = float(value)
    if math.isfinite(number) and (number > low if strict else number >= low):
        return number
    allowed = f"greater than {low:g}" if strict else f"at least {low:g}"
    raise ValueError(f"`{name}` must be finite and {allowed}; got {value}. {hint}")


def check_radius(value: float) -> float:
    return check("radius", value, 0, "It is the length of the longest example.", strict=False)


def check_margin(value: float) -> float:
    return check("margin", value, 0, "Only a comparator that separates the data gives this bound.")
