"""The perceptron as a network, its decision boundary, and its activation as a plane."""

from typing import Any

import numpy as np

from ._theme import Theme, angle, angle_between, arrow, boundary, half_plane, new_figure, plane, points, text, theme


def network(inputs: int = 3, dark: bool = False) -> Any:
    """Draw the perceptron as a network of one neuron.

    Parameters
    ----------
    inputs : int, default=3
        Number of inputs that are drawn, at least 2, without the bias. The last one is called x_d.
    dark : bool, default=False
        Draw on a dark background.

    Returns
    -------
    matplotlib.figure.Figure
    """
    if inputs < 2:
        raise ValueError(f"`inputs` of network must be at least 2; got {inputs}. The last one is drawn as x_d.")
    with theme(dark) as colours:
        figure, axes = new_figure(8.4, 1.2 + 0.95 * (inputs + 1))
        ax = axes[0, 0]
        names = ["1", *(f"$x_{j}$" for j in range(1, inputs)), "$x_d$"]
        weights = ["w_0", *(f"w_{j}" for j in range(1, inputs)), "w_d"]
        # A gap before the last input holds the dots.
        heights = [*(-float(j) for j in range(inputs)), -float(inputs) - 0.45]
        middle = (heights[0] + heights[-1]) / 2
        summed, bent, out = (3.6, middle), (5.6, middle), (7.5, middle)
        for name, weight, height in zip(names, weights, heights, strict=True):
            place = np.array([0.0, height])
            way = np.array(summed) - place
            unit = way / np.linalg.norm(way)
            arrow(ax, np.array(summed) - 0.52 * unit, colours.soft, place + 0.36 * unit, linewidth=1.6)
            box = {"facecolor": colours.paper, "edgecolor": "none", "pad": 1.5}
            text(ax, place + 0.42 * way, f"${weight}$", colours, colours.accent, bbox=box)
            bias = name == "1"
            _circle(ax, place, 0.36, colours, colours.soft if bias else colours.positive, name)
        text(ax, (0.0, (heights[-1] + heights[-2]) / 2), r"$\vdots$", colours)
        arrow(ax, (bent[0] - 0.52, middle), colours.soft, (summed[0] + 0.52, middle), linewidth=1.6)
        arrow(ax, (out[0] - 0.38, middle), colours.soft, (bent[0] + 0.52, middle), linewidth=1.6)
        text(ax, ((summed[0] + bent[0]) / 2, middle + 0.3), "$s$", colours)
        _circle(ax, summed, 0.52, colours, colours.ink, r"$\Sigma$")
        _circle(ax, bent, 0.52, colours, colours.ink, "")
        step = np.array([[-0.3, -0.2], [0.0, -0.2], [0.0, 0.2], [0.3, 0.2]]) + bent
        ax.plot(step[:, 0], step[:, 1], color=colours.accent, linewidth=2.4, zorder=7)
        _circle(ax, out, 0.38, colours, colours.negative, r"$\hat{y}$")
        for across, words in ((summed[0], "score"), (bent[0], "sign"), (out[0], "prediction")):
            text(ax, (across, middle - 0.85), words, colours, colours.soft, fontsize=12)
        text(ax, (0.0, heights[0] + 0.65), "bias", colours, colours.soft, fontsize=12)
        formula = r"$\hat{y} = \mathrm{sign}(w_0 + w_1 x_1 + \cdots + w_d x_d)$"
        text(ax, (5.55, heights[-1] - 0.12), formula, colours, fontsize=14)
        ax.set(xlim=(-0.6, 8.15), ylim=(heights[-1] - 0.6, heights[0] + 0.9), aspect="equal")
        ax.set_axis_off()
        return figure


def _circle(ax: Any, place: Any, radius: float, colours: Theme, colour: str, words: str) -> None:
    from matplotlib.patches import Circle

    ax.add_patch(Circle(tuple(place), radius, facecolor=colours.paper, edgecolor=colour, linewidth=2.0, zorder=5))
    ax.text(*place, words, ha="center", va="center", fontsize=17, color=colours.ink, zorder=7)


def decision_boundary(dark: bool = False) -> Any:
    """Draw the weight vector, the decision boundary, and the angles of two points with the weight vector.

    A point is predicted as positive if its angle with w is smaller than 90 degrees.

    Parameters
    ----------
    dark : bool, default=False
        Draw on a dark background.

    Returns
    -------
    matplotlib.figure.Figure
    """
    w, positive, negative = np.array([1.5, 1.5]), np.array([2.1, 0.45]), np.array([-1.9, 0.75])
    with theme(dark) as colours:
        figure, axes = new_figure(5.6, 5.2)
        ax = axes[0, 0]
        plane(ax, (-2.8, 2.8, -2.3, 2.6))
        half_plane(ax, w, colours)
        boundary(ax, w, color=colours.ink, linestyle="dashed")
        points(ax, [positive, negative], [1, -1], colours, size=90)
        arrow(ax, positive, colours.positive, linewidth=1.8)
        arrow(ax, negative, colours.negative, linewidth=1.8)
        arrow(ax, w, colours.ink, linewidth=3.0)
        angle(ax, w, positive, 1.0, f"{angle_between(w, positive):.0f}°", colours)
        angle(ax, w, negative, 0.6, f"{angle_between(w, negative):.0f}°", colours)
        text(ax, w + 0.2, "$w$", colours)
        text(ax, positive + np.array([0.1, 0.38]), r"$\theta < 90^\circ$: $+$", colours, fontsize=13)
        text(ax, negative + np.array([-0.05, 0.38]), r"$\theta > 90^\circ$: $-$", colours, fontsize=13)
        text(ax, (1.75, -1.55), r"$\langle w, x\rangle = 0$", colours, fontsize=13, ha="left")
        return figure


def activation_plane(dark: bool = False) -> Any:
    """Draw the activation as a plane one dimension above the data, without and with a bias.

    The boundary is the line in which the plane of the activation meets the plane of the data. Without a bias it passes through
    the origin.

    Parameters
    ----------
    dark : bool, default=False
        Draw on a dark background.

    Returns
    -------
    matplotlib.figure.Figure
    """
    w = np.array([0.75, 0.45])
    with theme(dark) as colours:
        figure, axes = new_figure(10.0, 4.9, 2, subplot_kw={"projection": "3d", "computed_zorder": False})
        for ax, bias, title in zip(
            axes[0],
            (0.0, -0.9),
            (r"without a bias: $s = \langle w, x\rangle$", r"with a bias: $s = \langle w, x\rangle + b$"),
            strict=True,
        ):
            _activation(ax, w, bias, colours)
            ax.set_title(title)
        return figure


def _activation(ax: Any, w: Any, bias: float, colours: Theme) -> None:
    """The plane of the data and that of the activation, cut along the boundary so that each part hides the right ones."""
    from matplotlib.colors import to_rgba
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection  # type: ignore[import-untyped]

    reach, height = 2.0, 2.3
    square = np.array([[-reach, -reach], [reach, -reach], [reach, reach], [-reach, reach]])
    parts = {label: _cut(square, w, bias, label) for label in (-1, 1)}

    def surface(corners: Any, heights: Any, colour: str, alpha: float, zorder: int) -> None:
        polygon = np.column_stack([corners, heights])
        ax.add_collection3d(
            Poly3DCollection(
                [polygon], facecolor=to_rgba(colour, alpha), edgecolor=colour, linewidth=0.8, zorder=zorder
            )
        )

    surface(parts[-1], parts[-1] @ w + bias, colours.negative, 0.5, 1)
    surface(square, np.zeros(4), colours.soft, 0.35, 2)
    unit, along = w / np.linalg.norm(w), np.array([-w[1], w[0]]) / np.linalg.norm(w)
    foot = -bias * w / (w @ w)
    ends = np.array([corner for corner in parts[1] if abs(corner @ w + bias) < 1e-9])
    steps = np.array([[0.5, -1.0], [0.75, 0.6], [0.45, 0.1], [0.9, -0.35], [0.55, 1.15]])
    for label, marker in ((-1, "s"), (1, "o")):
        places = foot + label * steps[:, :1] * unit + label * steps[:, 1:] * along
        ax.scatter(
            places[:, 0], places[:, 1], 0, color=colours.of(label), marker=marker, s=40, edgecolors=colours.ink,
            linewidths=0.6, depthshade=False, zorder=3,
        )  # fmt: skip
    ax.plot(ends[:, 0], ends[:, 1], np.zeros(len(ends)), color=colours.accent, linewidth=3.5, zorder=4)
    surface(parts[1], parts[1] @ w + bias, colours.positive, 0.3, 6)
    ax.scatter([0], [0], [0], color=colours.ink, s=30, depthshade=False, zorder=7)
    ax.text(-0.25, -0.25, 0.12, "0", color=colours.ink, fontsize=13, zorder=9, ha="center")
    ax.set(xlim=(-reach, reach), ylim=(-reach, reach), zlim=(-height, height), xticks=[], yticks=[], zticks=[])
    ax.set_xlabel("$x_1$", labelpad=-10)
    ax.set_ylabel("$x_2$", labelpad=-10)
    ax.set_zlabel("$s$", labelpad=-10)
    ax.view_init(elev=24, azim=-72)
    ax.set_box_aspect((1, 1, 0.75), zoom=1.15)
    for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
        axis.set_pane_color((0, 0, 0, 0))
        axis.line.set_color(colours.soft)


def _cut(corners: Any, w: Any, bias: float, side: int) -> Any:
    """The part of a polygon on one side of a line."""
    kept = []
    for here, there in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        a, b = side * (here @ w + bias), side * (there @ w + bias)
        if a >= 0:
            kept.append(here)
        if a * b < 0:
            kept.append(here + (there - here) * a / (a - b))
    return np.array(kept)
