"""Common parts of all displays: import of matplotlib, colours, markers."""

from typing import Any

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")
"""Colours of Okabe & Ito (2008), reordered so that the first few differ most."""
BLACK, GREY = "#000000", "#777777"
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*")


def pyplot() -> Any:
    """Import matplotlib.pyplot, or raise an error with the install command."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(
            "rosenblatt.plots needs matplotlib, which is not installed. Install it with `pip install rosenblatt[plots]`."
        ) from None
    return plt


def class_style(number: int) -> tuple[str, str]:
    """The colour and the marker of a class; the first seventy classes all differ."""
    return COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]


class Drawing:
    """Base class of the displays.

    Attributes
    ----------
    ax_, figure_
        Set by `plot`.
    """

    ax_: Any
    figure_: Any

    def _axes(self, ax: Any) -> Any:
        if ax is None:
            _, ax = pyplot().subplots(layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        return ax
