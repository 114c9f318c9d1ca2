"""Where one linear classifier is not enough, and why many dimensions are different."""

from typing import Any

import numpy as np

from rosenblatt.experiments import distance_concentration

from ._theme import boundary, half_plane, new_figure, points, text, theme


def xor(dark: bool = False) -> Any:
    """Draw the corners of a square with the labels of AND, OR and XOR.

    A line separates the first two. For XOR the segments between corners of the same class cross, so no line can separate them.

    Parameters
    ----------
    dark : bool, default=False
        Draw on a dark background.

    Returns
    -------
    matplotlib.figure.Figure
    """
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    with theme(dark) as colours:
        figure, axes = new_figure(10.5, 3.9, 3)
        for ax, name, truth, bias in zip(
            axes[0], ("AND", "OR", "XOR"), ((0, 0, 0, 1), (0, 1, 1, 1), (0, 1, 1, 0)), (-1.5, -0.5, None), strict=True
        ):
            y = np.where(truth, 1, -1)
            if bias is not None:
                half_plane(ax, (1, 1), colours, bias)
                boundary(ax, (1, 1), bias, color=colours.ink)
            else:
                for first, second, label in ((0, 3, -1), (1, 2, 1)):
                    ends = corners[[first, second]]
                    ax.plot(ends[:, 0], ends[:, 1], color=colours.of(label), linewidth=2.4, linestyle="dashed")
                ax.scatter([0.5], [0.5], s=90, color=colours.accent, zorder=5)
                text(ax, (0.5, -0.2), "in both hulls", colours, colours.accent, fontsize=12)
            points(ax, corners, y, colours, size=170)
            ax.set(xlim=(-0.35, 1.35), ylim=(-0.35, 1.35), xticks=[0, 1], yticks=[0, 1], aspect="equal")
            ax.set_xlabel("$x_1$", labelpad=-4)
            ax.set_ylabel("$x_2$", labelpad=-4)
            ax.set_title(f"{name}: {'one line is enough' if bias is not None else 'no line is enough'}")
        return figure


def ambiguous_regions(dark: bool = False) -> Any:
    """Draw the regions of three classes: for one classifier per class, and for the highest of their scores.

    Each of three binary perceptrons separates one class from the rest. Where no perceptron or more than one of them answers
    "mine", the class is ambiguous. The highest score decides every point.

    Parameters
    ----------
    dark : bool, default=False
        Draw on a dark background.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.colors import ListedColormap

    from rosenblatt.learners.averaged_perceptron import AveragedPerceptron

    rng = np.random.default_rng(1)
    centres = np.array([[-1.6, -0.9], [1.6, -0.9], [0.0, 1.7]])
    labels = np.repeat([0, 1, 2], 14)
    X = centres[labels] + rng.normal(size=(42, 2)) * 0.33
    model = AveragedPerceptron(multiclass="ovr", tol=None, max_iter=200).fit(X, labels)
    side = np.linspace(-3.2, 3.2, 500)
    first, second = np.meshgrid(side, side)
    scores = model.decision_function(np.column_stack([first.ravel(), second.ravel()])).reshape(500, 500, 3)
    claims = (scores > 0).sum(axis=2)
    with theme(dark) as colours:
        three = [colours.positive, colours.negative, colours.second]
        figure, axes = new_figure(10.0, 5.2, 2)
        for ax, title in zip(
            axes[0], ("one perceptron for each class: “mine”?", "highest of the three scores"), strict=True
        ):
            answer = scores.argmax(axis=2).astype(float)
            if ax is axes[0, 0]:
                answer[claims != 1] = np.nan
            ax.pcolormesh(
                first, second, answer, cmap=ListedColormap(three), vmin=-0.5, vmax=2.5, alpha=0.22, shading="nearest",
                rasterized=True, linewidth=0,
            )  # fmt: skip
            for number, marker in enumerate("os^"):
                mine = X[labels == number]
                ax.scatter(
                    mine[:, 0], mine[:, 1], color=three[number], marker=marker, s=38, edgecolors=colours.ink,
                    linewidths=0.6, zorder=4,
                )  # fmt: skip
            ax.set(xlim=(-3.2, 3.2), ylim=(-3.2, 3.2), xticks=[], yticks=[], aspect="equal", title=title)
            ax.spines[:].set_visible(False)
        for number in range(3):
            axes[0, 0].contour(first, second, scores[:, :, number], levels=[0.0], colors=[three[number]], linewidths=2)
            lead = scores[:, :, number] - np.delete(scores, number, axis=2).max(axis=2)
            axes[0, 1].contour(first, second, lead, levels=[0.0], colors=[colours.ink], linewidths=1.6)
        for count, words in ((0, "none"), (2, "two")):
            for place in _middles(claims == count, side):
                text(axes[0, 0], place, f"? {words}", colours, fontsize=12)
        return figure


def _middles(region: Any, side: Any) -> list[Any]:
    """The middle of each connected part of a region of the grid that is large enough for a word."""
    from scipy import ndimage

    parts, count = ndimage.label(region)
    large = [number for number in range(1, count + 1) if (parts == number).sum() > 2500]
    middles = []
    for number in large:
        # The point that is farthest from the edges of the part.
        depth = ndimage.distance_transform_edt(np.pad(parts == number, 1))[1:-1, 1:-1]
        row, column = np.unravel_index(int(depth.argmax()), depth.shape)
        if depth.max() > 18:
            middles.append((side[column], side[row]))
    return middles


def distances(dark: bool = False) -> Any:
    """Draw how distances between random points concentrate as the number of dimensions grows.

    Parameters
    ----------
    dark : bool, default=False
        Draw on a dark background.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from scipy.spatial.distance import pdist

    curves = distance_concentration()
    with theme(dark) as colours:
        figure, axes = new_figure(10.0, 4.1, 2)
        left, right = axes[0]
        shades = (colours.positive, colours.second, colours.negative, colours.accent)
        for d, colour in zip((2, 10, 100, 1000), shades, strict=True):
            apart = pdist(np.random.default_rng(d).random((300, d))) / np.sqrt(d)
            left.hist(apart, bins=np.linspace(0, 1, 91), density=True, color=colour, alpha=0.6, label=f"d = {d:,}")
        left.set(xlabel=r"distance of two points in the unit cube $/\;\sqrt{d}$", ylabel="density", yticks=[])
        left.legend(frameon=False)
        sizes, mean = curves.dimensions, curves.mean
        right.fill_between(
            sizes, curves.nearest / mean, curves.farthest / mean, color=colours.soft, alpha=0.2, linewidth=0
        )
        right.plot(sizes, curves.farthest / mean, color=colours.accent, marker="^", label="farthest neighbour")
        right.axhline(1.0, color=colours.ink, linewidth=1, linestyle="dashed", label="mean distance")
        right.plot(sizes, curves.nearest / mean, color=colours.positive, marker="o", label="nearest neighbour")
        right.set(xscale="log", xlabel="dimensions $d$", ylabel="distance / mean distance")
        right.set_ylim(bottom=0)
        right.legend(frameon=False)
        return figure
