"""The name of the rule.

Who, when, where: the source.

    w = 0
    for each example (x, y):
        what the rule does, as on a slide

Mistakes: the bound, and what its letters mean.

Departures: every place where this file does not do what the paper says, or "none".
"""

from dataclasses import dataclass
from typing import ClassVar

from rosenblatt.estimators.base import LinearClassifier
from rosenblatt.estimators.parameters import OnlineParameters, positive


def step(margin: float, sq_norm: float, rate: float) -> float:
    """How far to move: from y·score and ‖x‖² to the factor of y·x. Leave `sq_norm` out if the rule does not need it.

    A rule that also shrinks w takes (margin, sq_norm, w_sq_norm, steps, weight, …) and gives (shrink, tau); one that keeps a
    variance for each weight takes (margin, variance, weight, …) and gives (alpha, beta). See romma.py and arow.py.
    """
    return rate / sq_norm if margin <= 0 else 0.0


@dataclass(kw_only=True, eq=False, repr=False)
class Template(OnlineParameters, LinearClassifier, step=step, target=0.0):
    """One sentence on what it is good for.

    {parameters}
    """

    _grid: ClassVar = {"rate": (0.1, 1.0, 10.0)}  # what `rosenblatt compare` tries

    rate: float = positive(1.0, "What it is. Larger values take larger steps.")
