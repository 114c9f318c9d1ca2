"""Small experiments on the theorems, each a function that returns numbers; `rosenblatt.plots` draws them."""

from typing import TYPE_CHECKING, Any

from .committee import CommitteeCurves, CommitteeProblem, committee_curves, committee_examples, committee_mistakes
from .comparison import Comparison, Contender, Standing, compare
from .dimensions import DistanceCurves, distance_concentration
from .losses import LossCurves, loss_curves, losses_along, losses_per_epoch
from .margins import MarginCurves, margin_against_mistakes, separable_examples
from .squeeze import SqueezeCurves, squeeze_curves

if TYPE_CHECKING:
    from .comparison import CONTENDERS

__all__ = [
    "CONTENDERS",
    "CommitteeCurves",
    "CommitteeProblem",
    "Comparison",
    "Contender",
    "DistanceCurves",
    "LossCurves",
    "MarginCurves",
    "SqueezeCurves",
    "Standing",
    "committee_curves",
    "committee_examples",
    "committee_mistakes",
    "compare",
    "distance_concentration",
    "loss_curves",
    "losses_along",
    "losses_per_epoch",
    "margin_against_mistakes",
    "separable_examples",
    "squeeze_curves",
]


def __getattr__(name: str) -> Any:
    """Compute `CONTENDERS` on first use."""
    if name != "CONTENDERS":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .comparison import CONTENDERS

    return CONTENDERS
