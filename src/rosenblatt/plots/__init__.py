"""Displays in scikit-learn's style: made by ``from_…``, drawn by ``plot(ax=…)``, with ``ax_`` and ``figure_`` to go on with.

matplotlib is needed to draw (``pip install rosenblatt[plots]``) and is imported when something is drawn. The colours are those of
Okabe and Ito, which colour-blind readers can tell apart; classes differ in their markers too.
"""

from .animation import RunAnimation, animate
from .curves import LossDisplay, MistakesDisplay, SqueezeDisplay
from .experiments import CommitteeDisplay, ComparisonDisplay, DistanceDisplay, MarginDisplay
from .regions import DecisionRegionDisplay

__all__ = [
    "CommitteeDisplay",
    "ComparisonDisplay",
    "DecisionRegionDisplay",
    "DistanceDisplay",
    "LossDisplay",
    "MarginDisplay",
    "MistakesDisplay",
    "RunAnimation",
    "SqueezeDisplay",
    "animate",
]
