"""Constants and array tuples that Python and compiled code share. Nothing here needs a compiler."""

from enum import IntEnum
from typing import Any, NamedTuple

from numpy.typing import NDArray

UPDATE, POSITIVE, KEEP = range(3)
ON_ZERO = {"update": UPDATE, "positive": POSITIVE, "keep": KEEP}
"""Meaning of a margin of exactly 0: a mistake, correct for the positive class only, or correct."""

MAX, ALL, UNIFORM, PROPORTIONAL, ONE_VS_REST = range(5)
SCHEMES = {"max": MAX, "all": ALL, "uniform": UNIFORM, "proportional": PROPORTIONAL, "ovr": ONE_VS_REST}
"""Values of the parameter `multiclass`. `ovr` trains K binary learners and divides nothing."""

IDENTITY, EXP, BALANCED = range(3)
LINKS = {"identity": IDENTITY, "exp": EXP, "balanced": BALANCED}
"""Links: the weights are the sums of steps, their exponentials, or the difference of a balanced pair of exponentials."""

TILE = 3
"""Number of dense rows that are scored together for many classes; those after one that changes the weights are scored again."""


class CSR(NamedTuple):
    """A sparse matrix in rows: row i holds ``values[indptr[i]:indptr[i + 1]]`` at the columns in `indices`."""

    indptr: NDArray[Any]
    indices: NDArray[Any]
    values: NDArray[Any]


class Scheme(IntEnum):
    """How a mistake of a kernel perceptron is distributed over the weight vectors of the classes."""

    MAX = MAX
    ALL = ALL
    UNIFORM = UNIFORM
    PROPORTIONAL = PROPORTIONAL
    OVR = ONE_VS_REST


class OnZero(IntEnum):
    """Whether a score of exactly 0, or a tie, is a mistake of a kernel perceptron."""

    UPDATE = UPDATE
    POSITIVE = POSITIVE
    KEEP = KEEP


class Chain(IntEnum):
    """What the feature of a sequence is about: the previous tag, a name given by the user, or from this number on a template."""

    TRANSITION = 1
    GIVEN = 2
    TEMPLATES = 3


class Shaping(IntEnum):
    """What a template takes of a string."""

    WHOLE = 0
    PREFIX = 1
    SUFFIX = 2
    SHAPE = 3
    DIGIT = 4
    HYPHEN = 5
    UPPER = 6
