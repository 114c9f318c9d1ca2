"""One update, a run of two updates, and the cone of the proof."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._theme import (
    Names,
    angle_between,
    arrow,
    boundary,
    half_plane,
    new_figure,
    plane,
    points,
    ring,
    text,
    theme,
)


def update(w: ArrayLike = (0.6, 1.5), x: ArrayLike = (1.9, -1.3), y: int = 1, dark: bool = False) -> Any:
    """Draw one update of the perceptron, before and after, with the angle between w and x.

    Parameters
    ----------
    w : array of shape (2,), default=(0.6, 1.5)
        The weights before the update.
    x : array of shape (2,), default=(1.9, -1.3)
        An example that w classifies wrongly: y·⟨w, x⟩ is not positive.
    y : {1, -1}, default=1
        Its label.
    dark : bool, default=False
        Draw on a dark background.

    Returns
    -------
    matplotlib.figure.Figure
    """
    before, example = np.asarray(w, dtype=np.float64), np.asarray(x, dtype=np.float64)
    if before.shape != (2,) or example.shape != (2,) or not before.any() or not example.any():
        raise ValueError(
            f"`w` and `x` of update must be two vectors of two numbers, not zero; got {w!r} and {x!r}. They "
            "are drawn in the plane."
        )
    if y not in (1, -1) or y * (before @ example) > 0:
        raise ValueError(
            "`y` of update must be 1 or -1, and w must be wrong on x: y·⟨w, x⟩ at most 0; got "
            f"y = {y!r} and ⟨w, x⟩ = {before @ example:g}. Only a mistake leads to an update."
        )
    after = before + y * example
    reach = 1.6 * max(np.abs(np.vstack([before, example, after, y * example])).max(), 1e-12)
    with theme(dark) as colours:
        figure, axes = new_figure(10.0, 5.3, 2)
        left, right = axes[0]
        for ax, weights in ((left, before), (right, after)):
            plane(ax, reach)
            if weights.any():
                half_plane(ax, weights, colours, length=4 * reach)
                boundary(ax, weights, length=4 * reach, color=colours.ink, linestyle="dashed", linewidth=1.6)
            points(ax, [example], [y], colours, size=110)
            arrow(ax, example, colours.of(y), linewidth=1.8)
            arrow(ax, weights, colours.ink, linewidth=3.0)
        arrow(right, before, colours.soft, linewidth=2.0)
        arrow(right, after, colours.of(y), before, linewidth=1.6, linestyle="dashed")
        for ax, weights, title in ((left, before, "before"), (right, after, "after")):
            names = Names(ax, reach, colours)
            for vector in (example, weights, before):
                names.keep_free((0.0, 0.0), vector)
            if ax is right:
                names.keep_free(before, after)
            if weights.any():
                across = 4 * reach * np.array([-weights[1], weights[0]]) / np.linalg.norm(weights)
                names.keep_free(-across, across)
            score = weights @ example
            if weights.any():
                names.of_angle(weights, example, 0.28 * reach, f"{angle_between(weights, example):.0f}°")
            names.at_tip(example, "$x$")
            names.at_tip(before, "$w$" if ax is left else "old $w$", None if ax is left else colours.soft)
            if ax is right and after.any():
                names.at_tip(after, "new $w$")
            verdict = "correct" if y * score > 0 else "a mistake"
            told = rf"$\langle w, x\rangle = {score:.2f}$, {verdict} ($y = {y:+d}$)"
            ax.set_title(f"{title}: {told if weights.any() else '$w = 0$'}")
        return figure


_X = np.array(
    [[0.35, 0.75], [0.75, 0.3], [0.9, 0.8], [0.2, 0.35], [0.65, -0.35], [-0.75, 0.3], [-0.4, -0.55], [-0.85, -0.2], [-0.15, -0.8]]
)  # fmt: skip
_Y = np.array([1, 1, 1, 1, 1, -1, -1, -1, -1])


def running_example(dark: bool = False) -> Any:
    """Draw two updates of a run in four panels.

    The panels on the left show the weights before an update and the example that causes it, those on the right the weights after
    the update. The last weights classify all examples correctly.

    Parameters
    ----------
    dark : bool, default=False
        Draw on a dark background.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from rosenblatt.trace import trace

    run = trace(_X, _Y, init=[-0.55, 0.75], max_iter=10, fit_intercept=False, on_zero="update", comparator=None)
    moved = [step for step in run if step.moved]
    with theme(dark) as colours:
        figure, axes = new_figure(8.6, 8.8, 2, 2)
        for number, (row, step) in enumerate(zip(axes, moved, strict=True), start=1):
            assert step.example is not None
            before, after, added = step.before[0], step.after[0], step.update[0]
            for ax, weights in zip(row, (before, after), strict=True):
                plane(ax, 1.25)
                half_plane(ax, weights, colours)
                boundary(ax, weights, color=colours.ink, linewidth=1.8)
                points(ax, _X, _Y, colours, size=60)
                ring(ax, _X[step.example - 1], colours)
                arrow(ax, weights, colours.ink, linewidth=2.8)
            arrow(row[0], before + added, colours.accent, before, linewidth=2.0)
            arrow(row[1], before, colours.soft, linewidth=1.8)
            arrow(row[1], after, colours.accent, before, linewidth=2.0)
            row[0].set_title(f"update {number}: $w$, and $y\\,x$ of a wrong example")
            left = sum(_Y * (_X @ after) <= 0)
            row[1].set_title(f"after it: {left or 'no'} example{'' if left == 1 else 's'} wrong")
        return figure


def cone(margin: float = 0.2, dark: bool = False) -> Any:
    """Draw the shrinking cone of the convergence proof.

    After k mistakes the cosine of the angle between w and a separator u is at least √k·γ/R. The cone of the directions that are
    left becomes narrower with every mistake. After (R/γ)² mistakes only u is left, so there cannot be more.

    Parameters
    ----------
    margin : float, default=0.2
        γ/R, between 0.05 and 0.7.
    dark : bool, default=False
        Draw on a dark background.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.patches import Wedge

    if not 0.05 <= margin <= 0.7:
        raise ValueError(f"`margin` of cone must be between 0.05 and 0.7; got {margin!r}. It is γ/R.")
    bound = 1 / margin**2
    shown = sorted({1, *(max(1, round(bound * part)) for part in (0.12, 0.3, 0.55, 0.8)), int(bound + 1e-9)})
    with theme(dark) as colours:
        figure, axes = new_figure(10.0, 5.0, 2, width_ratios=(1.25, 1))
        left, right = axes[0]
        for k in shown:
            half = _half_angle(k, margin)
            left.add_patch(
                Wedge((0, 0), 1.0, 90 - half, 90 + half, facecolor=colours.positive, alpha=0.16, linewidth=0)
            )
            if half > 1:
                tip = np.radians(90 - half)
                left.plot([0, np.cos(tip)], [0, np.sin(tip)], color=colours.positive, linewidth=1.2)
                left.plot([0, -np.cos(tip)], [0, np.sin(tip)], color=colours.positive, linewidth=1.2)
                name = "$k = 1$" if k == 1 else f"{k}"
                text(left, 1.04 * np.array([np.cos(tip), np.sin(tip)]), name, colours, fontsize=12, ha="left")
        arrow(left, (0, 1.0), colours.accent, linewidth=3.0)
        text(left, (0, 1.12), "$u$", colours, colours.accent)
        left.set_title("$w$ lies in the cone after $k$ mistakes")
        left.set(xlim=(-1.1, 1.4), ylim=(-0.06, 1.25), aspect="equal")
        left.set_axis_off()
        mistakes = np.linspace(0, bound, 400)
        largest = [_half_angle(value, margin) for value in mistakes]
        right.plot(mistakes, largest, color=colours.positive, linewidth=2.6)
        right.fill_between(mistakes, largest, color=colours.positive, alpha=0.16, linewidth=0)
        right.scatter([bound], [0], color=colours.accent, s=60, zorder=5, clip_on=False)
        right.annotate(
            rf"$(R/\gamma)^2 = {bound:.4g}$", (bound, 0), xytext=(-34, 14), textcoords="offset points", ha="right",
            color=colours.accent, va="bottom",
        )  # fmt: skip
        right.set(xlabel="mistakes $k$", ylabel="largest angle between $w$ and $u$", xlim=(0, bound), ylim=(0, 92))
        right.set_yticks([0, 30, 60, 90], ["0°", "30°", "60°", "90°"])
        right.set_title(r"$\cos\theta \geq \sqrt{k}\;\gamma/R$")
        return figure


def _half_angle(k: float, margin: float) -> float:
    return float(np.degrees(np.arccos(min(1.0, np.sqrt(k) * margin))))
