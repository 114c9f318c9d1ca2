"""The name of the rule.

Author (year). Title. Journal.

    w = 0
    for each example (x, y):
        the update, in the notation of the paper

Mistakes: the bound, and the meaning of its letters.

Departures: every difference between this file and the paper, or "none".
"""

from dataclasses import dataclass
from typing import ClassVar

from rosenblatt.estimators.base import LinearClassifier
from rosenblatt.estimators.parameters import OnlineParameters, positive


def step(margin: float, sq_norm: float, rate: float) -> float:
    """Return tau, the factor of y·x, from the margin y·score and ‖x‖². Leave `sq_norm` out if the rule does not need it.

    A rule that also shrinks w takes (margin, sq_norm, w_sq_norm, steps, weight, …) and returns (shrink, tau). A rule with a
    variance for each weight takes (margin, variance, weight, …) and returns (alpha, beta). See romma.py and arow.py.
    """
    return rate / sq_norm if margin <= 0 else 0.0


@dataclass(kw_only=True, eq=False, repr=False)
class Template(OnlineParameters, LinearClassifier, step=step, target=0.0):
    """One sentence: what the learner is good for.

    {parameters}
    """

    _grid: ClassVar = {"rate": (0.1, 1.0, 10.0)}  # values tried by `rosenblatt compare`

    rate: float = positive(1.0, "Size of a step. Larger values take larger steps.")
