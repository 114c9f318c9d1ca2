"""The 0/1 loss, the loss of the perceptron and their relatives."""

from typing import Any

import numpy as np

from ._theme import new_figure, theme


def losses(relatives: bool = False, dark: bool = False) -> Any:
    """Draw the 0/1 loss and the hinge loss of the perceptron against the margin y·s of one example.

    Parameters
    ----------
    relatives : bool, default=False
        Draw the losses of support vector machines, logistic regression and boosting, too.
    dark : bool, default=False
        Draw on a dark background.

    Returns
    -------
    matplotlib.figure.Figure
    """
    with theme(dark) as colours:
        figure, axes = new_figure(10.0, 4.0, 2, sharey=True)
        left, right = axes[0]
        m = np.linspace(-2.5, 2.5, 501)
        left.plot([-2.5, 0], [1, 1], color=colours.positive, linewidth=3)
        left.plot([0, 2.5], [0, 0], color=colours.positive, linewidth=3)
        left.scatter([0], [1], s=70, color=colours.positive, zorder=5)
        left.scatter([0], [0], s=70, facecolors=colours.paper, edgecolors=colours.positive, linewidths=2, zorder=5)
        left.set_title("(a) 0/1 loss")
        left.set_ylabel("loss")
        left.annotate("mistake", (-1.25, 1.1), ha="center", color=colours.soft)
        left.annotate("correct", (1.25, 0.1), ha="center", color=colours.soft)
        if relatives:
            others = {
                r"support vector machine: $\max(0, 1 - m)$": (np.maximum(0, 1 - m), colours.second, "dashed"),
                r"logistic regression: $\ln(1 + e^{-m})$": (np.log1p(np.exp(-m)), colours.negative, "dashdot"),
                r"boosting: $e^{-m}$": (np.exp(-m), colours.soft, "dotted"),
            }
            for name, (values, colour, style) in others.items():
                right.plot(m, values, color=colour, linestyle=style, linewidth=2, label=name)
        right.plot(m, np.maximum(0, -m), color=colours.accent, linewidth=3, label=r"perceptron: $\max(0, -m)$")
        right.set_title("(b) hinge loss of the perceptron" if not relatives else "(b) losses with a slope")
        right.legend(loc="upper right", frameon=False, fontsize=10)
        for ax in (left, right):
            ax.axvline(0, color=colours.soft, linewidth=0.8, alpha=0.6, zorder=0)
            ax.set(xlim=(-2.5, 2.5), ylim=(-0.12, 5.2 if relatives else 2.6), xlabel=r"$m = y\,\langle w, x\rangle$")
        return figure


def loss_landscape(dark: bool = False) -> Any:
    """Draw the 0/1 loss and the perceptron criterion of a data set while the weight vector turns.

    The 0/1 loss is constant except for jumps, so its gradient is zero where it exists. The perceptron criterion has a slope that
    leads towards fewer mistakes.

    Parameters
    ----------
    dark : bool, default=False
        Draw on a dark background.

    Returns
    -------
    matplotlib.figure.Figure
    """
    rng = np.random.default_rng(3)
    y = np.repeat([1.0, -1.0], 6)
    X = rng.normal(size=(12, 2)) * 0.7 + y[:, None] * (1.1, 0.4)
    degrees = np.linspace(-180, 180, 1441)
    w = np.column_stack([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))])
    margins = w @ (y[:, None] * X).T
    with theme(dark) as colours:
        figure, axes = new_figure(10.0, 3.9, 2)
        left, right = axes[0]
        left.plot(degrees, (margins <= 0).mean(axis=1), color=colours.positive, linewidth=2.4, drawstyle="steps-mid")
        left.set_title("0/1 loss: flat, with jumps")
        right.plot(degrees, np.maximum(0, -margins).mean(axis=1), color=colours.accent, linewidth=2.4)
        right.set_title("perceptron criterion: a slope to follow")
        for ax in (left, right):
            ax.set(xlabel="direction of $w$ in degrees", xticks=range(-180, 181, 90), xlim=(-180, 180))
            ax.set_ylim(bottom=-0.03)
        left.set_ylabel("mean over 12 examples")
        return figure
