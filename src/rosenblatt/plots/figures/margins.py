"""The margin of a separator, data of low and high margin, and the many separators of a data set."""

from typing import Any

import numpy as np

from ._theme import Floats, Theme, arrow, boundary, half_plane, new_figure, plane, points, ring, text, theme

# Distances from the boundary, in units of the margin, and positions along it: the first of each class lies on the margin.
# These two lie on different sides of the normal through the origin, so no other line through the origin has a larger margin.
_POSITIVE = np.array([[1.0, -0.6], [1.35, 0.9], [1.9, -1.5], [2.3, 0.2], [1.7, 1.7], [2.6, -0.6]])
_NEGATIVE = np.array([[-1.0, -0.5], [-1.35, 1.0], [-2.0, 1.7], [-2.4, -0.3], [-1.7, -1.3], [-2.7, 0.8]])


def _data(direction: Floats, gamma: float) -> tuple[Floats, Floats]:
    """Points with margin `gamma` from the line through the origin with this unit normal."""
    along = np.array([-direction[1], direction[0]])
    places = np.vstack([_POSITIVE, _NEGATIVE])
    distance = np.sign(places[:, :1]) * (gamma + 0.75 * (np.abs(places[:, :1]) - 1.0))
    return distance * direction + places[:, 1:] * along, np.sign(places[:, 0])


def _draw(ax: Any, gamma: float, colours: Theme) -> Floats:
    direction = np.array([np.cos(np.radians(35)), np.sin(np.radians(35))])
    X, y = _data(direction, gamma)
    plane(ax, (-2.6, 2.6, -2.3, 2.3), axes_through_origin=False)
    half_plane(ax, direction, colours)
    boundary(ax, direction, color=colours.ink)
    for side in (-1, 1):
        boundary(ax, direction, -side * gamma, color=colours.ink, linestyle="dashed", linewidth=1.3)
    points(ax, X, y, colours)
    return direction


def margin(dark: bool = False) -> Any:
    """Draw a separator of two classes, and its margin: the distance of the nearest points.

    Parameters
    ----------
    dark : bool, default=False
        Draw on a dark background.

    Returns
    -------
    matplotlib.figure.Figure
    """
    gamma = 0.65
    with theme(dark) as colours:
        figure, axes = new_figure(6.4, 5.6)
        ax = axes[0, 0]
        direction = _draw(ax, gamma, colours)
        along = np.array([-direction[1], direction[0]])
        X, _ = _data(direction, gamma)
        for nearest in (X[0], X[6]):
            ring(ax, nearest, colours)
        start = 1.95 * along
        style = {"arrowstyle": "<|-|>,head_width=0.2,head_length=0.4", "linewidth": 1.8}
        for side in (-1, 1):
            arrow(ax, start + side * gamma * direction, colours.accent, start, **style)
            text(ax, start + side * gamma / 2 * direction + 0.22 * along, r"$\gamma$", colours, colours.accent)
        arrow(ax, -1.2 * along + 0.55 * direction, colours.ink, -1.2 * along)
        text(ax, -1.2 * along + 0.75 * direction, "$w$", colours)
        foot = -2.05 * along
        turn = float(np.degrees(np.arctan2(along[1], along[0]))) - 180
        text(ax, foot + 0.18 * direction, r"$\langle w, x\rangle = 0$", colours, fontsize=12, rotation=turn)
        ax.legend(loc="lower left", fontsize=11)
        return figure


def low_and_high_margin(dark: bool = False) -> Any:
    """Draw two data sets side by side, one with a small and one with a large margin.

    Parameters
    ----------
    dark : bool, default=False
        Draw on a dark background.

    Returns
    -------
    matplotlib.figure.Figure
    """
    with theme(dark) as colours:
        figure, axes = new_figure(10.0, 4.9, 2)
        for ax, gamma, name in zip(axes[0], (0.12, 0.75), ("low", "high"), strict=True):
            direction = _draw(ax, gamma, colours)
            X, _ = _data(direction, gamma)
            bound = (np.linalg.norm(X, axis=1).max() / gamma) ** 2
            ax.set_title(rf"{name} margin: $(R/\gamma)^2 = {bound:.0f}$")
        return figure


def separators(dark: bool = False) -> Any:
    """Draw the separators that the perceptron finds in several orders of the examples, and the one of largest margin.

    All of them classify the training examples correctly. The perceptron stops at the first one that it finds.

    Parameters
    ----------
    dark : bool, default=False
        Draw on a dark background.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from rosenblatt.learners.perceptron import Perceptron

    widest = np.array([np.cos(np.radians(35)), np.sin(np.radians(35))])
    X, y = _data(widest, 0.5)
    with theme(dark) as colours:
        figure, axes = new_figure(6.6, 5.6)
        ax = axes[0, 0]
        plane(ax, (-2.6, 2.6, -2.3, 2.3), axes_through_origin=False)
        found = [Perceptron(fit_intercept=False, tol=None, random_state=seed).fit(X, y).coef_[0] for seed in range(20)]
        directions = {round(float(np.degrees(np.arctan2(w[1], w[0]))), 1): w for w in found}
        for number, w in enumerate(directions.values()):
            boundary(
                ax, w, color=colours.soft, linewidth=1.3, alpha=0.8, label="" if number else "perceptron, 20 orders"
            )
        boundary(ax, widest, color=colours.accent, linewidth=3.0, label="largest margin")
        points(ax, X, y, colours)
        ax.legend(loc="lower left", fontsize=11)
        return figure
