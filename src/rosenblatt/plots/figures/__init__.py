"""Figures for slides: each function draws one figure of a lecture on the perceptron and returns it.

``figures.network(dark=True).savefig("network.svg")`` writes a file; the ending of the name chooses SVG, PNG or PDF. `dark` draws
on a dark background; ``savefig(..., transparent=True)`` leaves the background out.
"""

from .losses import loss_landscape, losses
from .margins import low_and_high_margin, margin, separators
from .model import activation_plane, decision_boundary, network
from .problems import ambiguous_regions, distances, xor
from .steps import cone, running_example, update

__all__ = [
    "activation_plane",
    "ambiguous_regions",
    "cone",
    "decision_boundary",
    "distances",
    "loss_landscape",
    "losses",
    "low_and_high_margin",
    "margin",
    "network",
    "running_example",
    "separators",
    "update",
    "xor",
]
