"""Colours and the parts that several figures draw: arrows, lines, points, angles."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rosenblatt.plots._style import COLOURS, pyplot

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Theme:
    """Colours of a light or a dark slide.

    Attributes
    ----------
    ink, paper, soft : str
        Text and lines; background; what should stay behind.
    positive, negative : str
        The two classes.
    accent, second : str
        A highlighted thing, and another one.
    """

    ink: str
    paper: str
    soft: str
    positive: str
    negative: str
    accent: str
    second: str

    def of(self, label: int) -> str:
        """The colour of a label -1 or +1."""
        return self.positive if label > 0 else self.negative


LIGHT = Theme("#1a1a1a", "#ffffff", "#8a8a8a", COLOURS[0], COLOURS[1], COLOURS[5], COLOURS[2])
DARK = Theme("#f2f2f2", "#16181d", "#9aa0a8", COLOURS[4], COLOURS[1], "#ff7f50", "#2ec4a0")


@contextmanager
def theme(dark: bool) -> Iterator[Theme]:
    """Set the defaults of matplotlib for one figure, and return the colours."""
    plt = pyplot()
    colours = DARK if dark else LIGHT
    with plt.rc_context(
        {
            "figure.facecolor": colours.paper,
            "savefig.facecolor": "auto",
            "axes.facecolor": colours.paper,
            "axes.edgecolor": colours.soft,
            "axes.labelcolor": colours.ink,
            "axes.titlecolor": colours.ink,
            "axes.titlesize": 13,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "font.size": 13,
            "legend.edgecolor": colours.soft,
            "legend.facecolor": colours.paper,
            "legend.framealpha": 0.9,
            "legend.fontsize": 11,
            "text.color": colours.ink,
            "xtick.color": colours.ink,
            "ytick.color": colours.ink,
            "xtick.labelsize": 11,
            "ytick.labelsize": 11,
            "mathtext.fontset": "cm",
        }
    ):
        yield colours


def new_figure(width: float, height: float, columns: int = 1, rows: int = 1, **options: Any) -> tuple[Any, Any]:
    """A figure in inches, and its axes as an array."""
    figure, axes = pyplot().subplots(
        rows, columns, figsize=(width, height), layout="constrained", squeeze=False, **options
    )
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.12)
    return figure, axes


def plane(ax: Any, reach: float | tuple[float, float, float, float], axes_through_origin: bool = True) -> None:
    """A square part of the plane without ticks; `reach` is half of its side, or left, right, bottom and top."""
    left, right, bottom, top = (-reach, reach, -reach, reach) if isinstance(reach, (int, float)) else reach
    ax.set(xlim=(left, right), ylim=(bottom, top), aspect="equal", xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    if axes_through_origin:
        ax.axhline(0, color=ax.spines["left"].get_edgecolor(), linewidth=0.8, alpha=0.6, zorder=0)
        ax.axvline(0, color=ax.spines["left"].get_edgecolor(), linewidth=0.8, alpha=0.6, zorder=0)


def points(ax: Any, X: ArrayLike, y: ArrayLike, colours: Theme, size: float = 70, legend: bool = False) -> None:
    """Draw points: circles for +1, squares for -1."""
    places, labels = np.asarray(X, dtype=np.float64), np.asarray(y)
    for label, marker, name in ((1, "o", "$y = +1$"), (-1, "s", "$y = -1$")):
        mine = places[labels == label]
        ax.scatter(
            mine[:, 0], mine[:, 1], s=size, marker=marker, color=colours.of(label), edgecolors=colours.ink,
            linewidths=0.7, zorder=4, label=name,
        )  # fmt: skip
    if legend:
        ax.legend(loc="best")


def ring(ax: Any, place: ArrayLike, colours: Theme) -> None:
    """A circle around one point."""
    x, y = np.asarray(place, dtype=np.float64)
    ax.scatter([x], [y], s=330, facecolors="none", edgecolors=colours.accent, linewidths=2.2, zorder=5)


def arrow(ax: Any, tip: ArrayLike, colour: str, start: ArrayLike = (0.0, 0.0), **options: Any) -> None:
    """An arrow from `start` to `tip`."""
    style = {"arrowstyle": "-|>,head_width=0.3,head_length=0.6", "shrinkA": 0, "shrinkB": 0, "linewidth": 2.4}
    ax.annotate(
        "", xy=tuple(np.asarray(tip)), xytext=tuple(np.asarray(start)), zorder=6,
        arrowprops={**style, "color": colour, **options},
    )  # fmt: skip


def text(ax: Any, place: ArrayLike, words: str, colours: Theme, colour: str | None = None, **options: Any) -> None:
    """Words around a place."""
    x, y = np.asarray(place, dtype=np.float64)
    settings = {"ha": "center", "va": "center", "fontsize": 15, "zorder": 8, **options}
    ax.text(x, y, words, color=colour or colours.ink, **settings)


def boundary(ax: Any, w: ArrayLike, bias: float = 0.0, length: float = 20.0, **style: Any) -> None:
    """The line ⟨w, x⟩ + bias = 0."""
    normal = np.asarray(w, dtype=np.float64)
    foot = -bias * normal / (normal @ normal)
    along = length * np.array([-normal[1], normal[0]]) / np.linalg.norm(normal)
    ends = np.array([foot - along, foot + along])
    ax.plot(ends[:, 0], ends[:, 1], **{"linewidth": 2.0, "zorder": 3, **style})


def half_plane(ax: Any, w: ArrayLike, colours: Theme, bias: float = 0.0, length: float = 20.0) -> None:
    """Colour the two sides of a line like the two classes."""
    normal = np.asarray(w, dtype=np.float64)
    unit = normal / np.linalg.norm(normal)
    foot = -bias * normal / (normal @ normal)
    along = length * np.array([-unit[1], unit[0]])
    for label in (1, -1):
        corners = np.array([foot - along, foot + along, foot + along + label * length * unit])
        corners = np.vstack([corners, foot - along + label * length * unit])
        ax.fill(corners[:, 0], corners[:, 1], color=colours.of(label), alpha=0.12, linewidth=0, zorder=0)


def degrees_of(vector: ArrayLike) -> float:
    """The direction of a vector in degrees."""
    x, y = np.asarray(vector, dtype=np.float64)
    return float(np.degrees(np.arctan2(y, x)))


def angle_between(a: ArrayLike, b: ArrayLike) -> float:
    """The angle between two vectors in degrees, from 0 to 180."""
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    cosine = first @ second / (np.linalg.norm(first) * np.linalg.norm(second))
    return float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))))


def arc(ax: Any, a: ArrayLike, b: ArrayLike, radius: float, colours: Theme) -> tuple[float, float, Floats]:
    """Draw the arc from the vector `a` to the vector `b`, on the shorter side: its first angle, its turn, and places on it."""
    start = degrees_of(a)
    turn = (degrees_of(b) - start + 180) % 360 - 180
    way = np.radians(np.linspace(start, start + turn, 60))
    places = radius * np.column_stack([np.cos(way), np.sin(way)])
    ax.plot(places[:, 0], places[:, 1], color=colours.accent, linewidth=2.0, zorder=5)
    return start, turn, places


def angle(ax: Any, a: ArrayLike, b: ArrayLike, radius: float, words: str, colours: Theme) -> None:
    """The arc from the vector `a` to the vector `b`, on the shorter side, with its name."""
    start, turn, _ = arc(ax, a, b, radius, colours)
    middle = np.radians(start + turn / 2)
    outwards = np.array([np.cos(middle), np.sin(middle)])
    ax.annotate(
        words, xy=tuple(radius * outwards), xytext=tuple(20 * outwards), textcoords="offset points", ha="center", va="center",
        color=colours.accent, fontsize=14, zorder=8,
    )  # fmt: skip


class Names:
    """Places names in a square part of the plane: each at the first of its places that no line and no other name takes.

    Parameters
    ----------
    ax : matplotlib axes
        With the limits -reach and reach.
    reach : float
        Half of the side.
    colours : Theme
        The colours.
    """

    def __init__(self, ax: Any, reach: float, colours: Theme) -> None:
        self.ax, self.reach, self.colours = ax, reach, colours
        self.taken = np.empty((0, 2))
        self.boxes: list[tuple[Floats, Floats]] = []

    def keep_free(self, start: ArrayLike, end: ArrayLike) -> None:
        """Keep names away from a line."""
        first, last = np.asarray(start, dtype=np.float64), np.asarray(end, dtype=np.float64)
        way = np.linspace(0.0, 1.0, 2 + int(100 * np.linalg.norm(last - first) / self.reach))[:, None]
        self.taken = np.vstack([self.taken, first + way * (last - first)])

    def _half(self, words: str) -> Floats:
        """Half of the width and of the height of a name."""
        return np.array([0.033 * len(words.replace("$", "")) + 0.012, 0.06]) * self.reach

    def put(self, places: Floats, words: str, colour: str | None = None) -> None:
        """Write a name around the best of some places; of equally good ones the first."""
        half = self._half(words)
        costs = []
        for place in places:
            hidden = int((np.abs(self.taken - place) < half).all(axis=1).sum())
            overlaps = sum(bool((np.abs(place - other) < half + size).all()) for other, size in self.boxes)
            outside = bool((np.abs(place) + half > self.reach).any())
            costs.append(hidden + 1000 * (overlaps + outside))
        best = places[int(np.argmin(costs))]
        self.boxes.append((best, half))
        text(self.ax, best, words, self.colours, colour, fontsize=14)

    def at_tip(self, vector: Floats, words: str, colour: str | None = None) -> None:
        """Name a vector: beyond its tip, else beside it."""
        turns = np.radians([0, 35, -35, 70, -70, 105, -105, 140, -140])
        direction = np.radians(degrees_of(vector)) + turns
        units = np.column_stack([np.cos(direction), np.sin(direction)])
        wide, _ = self._half(words)
        rings = [(away * self.reach + wide * np.abs(units[:, :1])) * units for away in (0.07, 0.12, 0.18, 0.26)]
        self.put(vector + np.vstack(rings), words, colour)

    def of_angle(self, a: ArrayLike, b: ArrayLike, radius: float, words: str) -> None:
        """Draw the arc from the vector `a` to the vector `b`, on the shorter side, and name it."""
        start, turn, drawn = arc(self.ax, a, b, radius, self.colours)
        self.taken = np.vstack([self.taken, drawn])
        # Along the arc from its middle; a small angle has no room inside, but beside it.
        ways = [start + part * turn for part in (0.5, 0.35, 0.65, 0.2, 0.8)]
        ways += [start - np.sign(turn) * 30, start + turn + np.sign(turn) * 30]
        units = np.column_stack([np.cos(np.radians(ways)), np.sin(np.radians(ways))])
        own = (np.abs(units) * self._half(words)).sum(axis=1, keepdims=True)
        places = [(radius + away * self.reach + own) * units for away in (0.02, 0.1, 0.2, 0.35, 0.5)]
        self.put(np.vstack(places), words, self.colours.accent)
