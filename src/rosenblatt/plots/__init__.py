"""Displays in the style of scikit-learn: made by ``from_…``, drawn by ``plot(ax=…)``, attributes ``ax_`` and ``figure_``.

Drawing needs matplotlib (``pip install rosenblatt[plots]``), which is imported on first use. The colours of Okabe and Ito can be
distinguished by colour-blind readers; classes also differ in their markers.
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
