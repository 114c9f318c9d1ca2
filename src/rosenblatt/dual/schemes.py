"""Who is mistaken, and which classes share the correction: compiled, for one row of scores.

One column of scores means two classes (negative: the first, positive: the second); otherwise one column per class.
"""

from __future__ import annotations

from enum import IntEnum

from rosenblatt.dual.rows import Floats
from rosenblatt.engine.jit import compiled


class Scheme(IntEnum):
    """How K weight vectors share one mistake."""

    MAX = 0
    ALL = 1
    UNIFORM = 2
    PROPORTIONAL = 3
    OVR = 4


class OnZero(IntEnum):
    """What a score of exactly 0, or a tie, counts as."""

    UPDATE = 0
    POSITIVE = 1
    KEEP = 2


SCHEMES = {scheme.name.lower(): scheme for scheme in Scheme}
ON_ZERO = {word.name.lower(): word for word in OnZero}


@compiled()
def wrong_sign(score: float, sign: float, on_zero: int) -> bool:
    """Is this score a mistake for a label of this sign?"""
    if on_zero == OnZero.UPDATE:
        return sign * score <= 0.0
    if on_zero == OnZero.KEEP:
        return sign * score < 0.0
    return (score >= 0.0) != (sign > 0.0)


@compiled()
def top_rival(scores: Floats, y: int) -> int:
    """The first of the highest-scoring classes other than y."""
    rival = -1
    for k in range(scores.shape[0]):
        if k != y and (rival < 0 or scores[k] > scores[rival]):
            rival = k
    return rival


@compiled()
def is_mistaken(scores: Floats, y: int, rival: int, on_zero: int) -> bool:
    """Does the rival count as having beaten class y?"""
    if scores[rival] == scores[y]:
        return on_zero == OnZero.UPDATE or (on_zero == OnZero.POSITIVE and rival < y)
    return bool(scores[rival] > scores[y])


@compiled()
def correction(scores: Floats, y: int, scheme: int, on_zero: int, tau: Floats) -> int:
    """Write into tau what each class adds of this example; return the number of mistakes (0: nothing to do)."""
    tau[:] = 0.0
    classes = scores.shape[0]
    if classes == 1 or scheme == Scheme.OVR:
        mistakes = 0
        for k in range(classes):
            sign = 1.0 if (k == y if classes > 1 else y == 1) else -1.0
            if wrong_sign(scores[k], sign, on_zero):
                tau[k] = sign
                mistakes += 1
        return mistakes
    rival = top_rival(scores, y)
    if not is_mistaken(scores, y, rival, on_zero):
        return 0
    if scheme == Scheme.ALL:
        tau[:] = -1.0
    elif scheme == Scheme.MAX:
        tau[rival] = -1.0
    else:
        _share(scores, y, scheme, tau)
    tau[y] = 1.0
    return 1


@compiled()
def _share(scores: Floats, y: int, scheme: int, tau: Floats) -> None:
    """Spread -1 over the classes scoring at least the true one, evenly or in proportion to the excess."""
    rivals = 0
    excess = 0.0
    for k in range(scores.shape[0]):
        if k != y and scores[k] >= scores[y]:
            rivals += 1
            excess += scores[k] - scores[y]
    even = scheme == Scheme.UNIFORM or excess == 0.0
    for k in range(scores.shape[0]):
        if k != y and scores[k] >= scores[y]:
            tau[k] = -1.0 / rivals if even else -(scores[k] - scores[y]) / excess
