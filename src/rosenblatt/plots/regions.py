"""Decision regions of a classifier of two features, with boundary, weights and margin."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rosenblatt.model.scores import predicted_classes

from ._style import BLACK, Drawing, class_style

Floats = NDArray[np.float64]

SIMILAR = 5
"""Largest ratio of the ranges of two features that are drawn with one scale."""
WIDEST = 1.5
"""Largest ratio of the sides of such a picture."""


class DecisionRegionDisplay(Drawing):
    """The plane, coloured by the predictions of a classifier.

    Usually made by `from_estimator`.

    Parameters
    ----------
    first, second : arrays of shape (rows, columns)
        Coordinates of a grid.
    scores : array of shape (rows, columns) or (rows, columns, classes)
        The decision function at the points of the grid.
    classes : array
        The labels.
    X, y : arrays or None, default=None
        Examples to draw, and their labels.
    margin : float or None, default=None
        The smallest y·s of the examples, if the classifier separates them: no example has a score between -margin and margin.
    weights : array of shape (1 or classes, 3) or None, default=None
        Bias and weights of a linear classifier.
    feature_names : tuple of str, default=("x1", "x2")
        Labels of the axes.

    Attributes
    ----------
    ax_, figure_
        Set by `plot`.
    """

    def __init__(
        self,
        first: Floats,
        second: Floats,
        scores: Floats,
        classes: NDArray[Any],
        *,
        X: Floats | None = None,
        y: NDArray[Any] | None = None,
        margin: float | None = None,
        weights: Floats | None = None,
        feature_names: tuple[str, str] = ("x1", "x2"),
    ) -> None:
        self.first, self.second, self.scores = first, second, scores
        self.classes = classes
        self.X, self.y = X, y
        self.margin, self.weights = margin, weights
        self.feature_names = feature_names

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike | None = None,
        *,
        grid_resolution: int = 300,
        padding: float = 0.15,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the predictions of a fitted classifier around some examples.

        Parameters
        ----------
        estimator : classifier
            Fitted on two features, with `decision_function`: linear, kernel, or any other.
        X : array or frame of shape (n_examples, 2)
            The examples; they determine the drawn part of the plane.
        y : array of shape (n_examples,), default=None
            Their labels; without them no margin is drawn.
        grid_resolution : int, default=300
            Points of the grid along each axis, at least 2.
        padding : float, default=0.15
            Space around the examples, as a fraction of their range.
        ax : matplotlib axes, default=None
            Axes to draw on; None makes a figure.
        **options
            Passed to `plot`.

        Returns
        -------
        DecisionRegionDisplay
        """
        points, names = _two_features(X)
        first, second = grid(points, grid_resolution, padding)
        places = np.column_stack([first.ravel(), second.ravel()])
        columns = getattr(X, "columns", None)
        if columns is not None:
            places = type(X)(places, columns=columns) if hasattr(X, "iloc") else type(X)(places, schema=list(columns))
        scores = np.asarray(estimator.decision_function(places), dtype=np.float64)
        classes = np.asarray(estimator.classes_)
        labels = None if y is None else np.asarray(y)
        return cls(
            first,
            second,
            scores.reshape(*first.shape, *scores.shape[1:]),
            classes,
            X=points,
            y=labels,
            margin=None
            if labels is None or _votes(estimator)
            else _margin(estimator.decision_function(X), labels, classes),
            weights=_weights(estimator),
            feature_names=names,
        ).plot(ax=ax, **options)

    def plot(self, ax: Any = None, *, show_weights: bool = True, show_margin: bool = True, legend: bool = True) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Axes to draw on; None makes a figure.
        show_weights : bool, default=True
            Draw w as an arrow from the boundary, if the classifier is linear.
        show_margin : bool, default=True
            Draw the band around the boundary without examples, if there is one.
        legend : bool, default=True
            Show a legend with the classes.

        Returns
        -------
        self
        """
        from matplotlib.colors import ListedColormap

        ax = self._axes(ax)
        colours = [class_style(number)[0] for number in range(len(self.classes))]
        answers = answer(self.scores)
        ax.pcolormesh(
            self.first, self.second, answers, cmap=ListedColormap(colours), vmin=-0.5, vmax=len(colours) - 0.5,
            alpha=0.25, shading="nearest", rasterized=True, edgecolors="none", linewidth=0,
        )  # fmt: skip
        self._draw_boundary(ax, answers)
        if self.X is not None:
            scatter(ax, self.X, self.y, self.classes)
        if show_margin and self.margin is not None and self.scores.ndim == 2:
            self._draw_margin(ax, self.margin)
        ax.set(
            xlim=(self.first.min(), self.first.max()),
            ylim=(self.second.min(), self.second.max()),
            xlabel=self.feature_names[0],
            ylabel=self.feature_names[1],
        )
        spans = np.ptp(self.first), np.ptp(self.second)
        if max(spans) <= SIMILAR * min(spans):
            ax.set_aspect("equal")  # so that w is drawn perpendicular to the boundary
        if show_weights and self.weights is not None:
            self._draw_weights(ax)
        if legend and self.y is not None:
            outside_legend(ax)
        return self

    def _draw_boundary(self, ax: Any, answers: NDArray[np.intp]) -> None:
        if self.scores.ndim == 2:
            if self.scores.min() < 0 < self.scores.max():
                ax.contour(self.first, self.second, self.scores, levels=[0.0], colors=BLACK, linewidths=1.5)
            return
        for number in np.unique(answers):
            others = np.delete(self.scores, number, axis=2).max(axis=2)
            lead = self.scores[:, :, number] - others
            if lead.min() < 0 < lead.max():
                ax.contour(self.first, self.second, lead, levels=[0.0], colors=BLACK, linewidths=1.2)

    def _draw_margin(self, ax: Any, margin: float) -> None:
        levels = [-margin, margin]
        if not (self.scores.min() < margin and self.scores.max() > -margin):
            return
        ax.contourf(self.first, self.second, self.scores, levels=levels, colors=BLACK, alpha=0.12)
        ax.contour(
            self.first, self.second, self.scores, levels=levels, colors=BLACK, linewidths=1.0, linestyles="dashed"
        )
        ax.fill_between([], [], color=BLACK, alpha=0.12, label="geometric margin")

    def _draw_weights(self, ax: Any) -> None:
        """Draw one arrow for each weight vector: from the boundary for two classes, from one place for more."""
        from matplotlib.patheffects import withStroke

        assert self.weights is not None
        longest = max(float(np.linalg.norm(w[1:])) for w in self.weights)
        if longest == 0:
            return
        single = len(self.weights) == 1
        length = 0.2 * longest / float(np.linalg.norm(self.weights[:, 1:] / self._units, axis=1).max())
        start = self._free_place(length * self.weights[:, 1:] / longest)
        for number, w in enumerate(self.weights):
            size = float(np.linalg.norm(w[1:]))
            if size == 0:
                continue
            tip = start + length * w[1:] / longest
            ax.annotate(
                "",
                xy=tip,
                xytext=start,
                annotation_clip=True,
                zorder=5,
                arrowprops={
                    "arrowstyle": "-|>,head_width=0.35,head_length=0.7",
                    "linewidth": 2.2,
                    "facecolor": BLACK if single else class_style(number)[0],
                    "edgecolor": BLACK if single else class_style(number)[0],
                    "shrinkA": 0,
                    "shrinkB": 0,
                    "path_effects": [withStroke(linewidth=4, foreground="white")],
                },
            )
            if single:  # many names would overlap; colours and legend identify the arrows
                ax.annotate(
                    "w",
                    xy=tip,
                    xytext=10 * w[1:] / self._units / np.linalg.norm(w[1:] / self._units),
                    textcoords="offset points",
                    ha="center",
                    va="center",
                    fontweight="bold",
                    path_effects=[withStroke(linewidth=3, foreground="white")],
                    annotation_clip=True,
                    zorder=6,
                )

    @property
    def _units(self) -> Floats:
        """The lengths along both axes that look alike: the ranges, or with one scale for both axes the shorter range."""
        spans = np.array([np.ptp(self.first), np.ptp(self.second)])
        return np.full(2, spans.min()) if spans.max() <= SIMILAR * spans.min() else spans

    def _free_place(self, arrows: Floats) -> Floats:
        """The start of the arrows at which they look farthest from the examples; on the boundary if there is one arrow."""
        assert self.weights is not None
        low, high = (np.array([side(self.first), side(self.second)]) for side in (np.min, np.max))
        middle = (low + high) / 2 if self.X is None else self.X.mean(axis=0)
        steps, units = np.linspace(-1.0, 1.0, 41), self._units
        if len(arrows) == 1:
            # The foot and the steps are those of the picture, in which both units have the length 1.
            bias, w = self.weights[0, 0], self.weights[0, 1:] * units
            foot = middle - units * (bias + middle @ self.weights[0, 1:]) / (w @ w) * w
            across = np.linalg.norm((high - low) / units) * np.array([-w[1], w[0]]) / np.linalg.norm(w)
            starts = foot + steps[:, None] * units * across
        else:
            starts = middle + np.stack(np.meshgrid(steps, steps), axis=-1).reshape(-1, 2) * (high - low)
        # The name stands at the end of an arrow, so an arrow takes a little more room than its length.
        path = starts[:, None, None] + np.linspace(0.0, 1.4, 8)[:, None] * arrows[:, None]
        inside = ((path > low) & (path < high)).all(axis=(1, 2, 3))
        if self.X is None or not inside.any():
            return np.array(starts[len(starts) // 2])
        path = path[inside].reshape(int(inside.sum()), -1, 1, 2)
        room = np.array([np.linalg.norm((one - self.X) / units, axis=2).min() for one in path])
        # Of places with about the same room, that nearest to the middle of the examples.
        enough = room >= min(0.6 * room.max(), 0.5 * float(np.linalg.norm(arrows / units, axis=1).max()))
        chosen = starts[inside][enough]
        return np.array(chosen[np.linalg.norm((chosen - middle) / units, axis=1).argmin()])


def outside_legend(ax: Any) -> None:
    """A legend beside the axes, if the layout of the figure makes room for it, else inside."""
    if ax.figure.get_layout_engine() is None:  # it could cover other axes
        ax.legend(loc="best")
    else:
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)


def _votes(estimator: Any) -> bool:
    """Whether scores are votes, which have no margin: they jump at the boundaries of the weight vectors."""
    readout = getattr(estimator, "readout", getattr(estimator, "_readout", None))
    return readout == "vote" or hasattr(estimator, "n_perceptrons")


def _two_features(X: Any) -> tuple[Floats, tuple[str, str]]:
    points = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(
            f"`X` must have two features to be drawn in the plane; got the shape {points.shape}. Choose two columns, or project "
            "the data, for instance with PCA."
        )
    columns = getattr(X, "columns", ("x1", "x2"))
    return points, (str(columns[0]), str(columns[1]))


def grid(points: Floats, resolution: int, padding: float) -> tuple[Floats, Floats]:
    """Coordinates of a grid around some points."""
    if resolution < 2:
        raise ValueError(
            f"`grid_resolution` must be at least 2; got {resolution}. More points draw a smoother boundary."
        )
    low, high = points.min(axis=0), points.max(axis=0)
    extra = padding * np.where(high > low, high - low, 1.0)
    # With one scale for both axes, a range that is much shorter than the other would make the picture a thin strip.
    spans = high - low + 2 * extra
    if spans.max() <= SIMILAR * spans.min():
        extra += np.maximum(0.0, spans.max() / WIDEST - spans) / 2
    sides = [np.linspace(low[k] - extra[k], high[k] + extra[k], resolution) for k in (0, 1)]
    first, second = np.meshgrid(*sides)
    return first, second


def answer(scores: Floats) -> NDArray[np.int64]:
    """Class numbers for a grid of scores: one for each point, or one for each point and class."""
    return predicted_classes(scores.reshape(-1, 1 if scores.ndim == 2 else scores.shape[2])).reshape(scores.shape[:2])


def scatter(ax: Any, X: Floats, y: NDArray[Any] | None, classes: NDArray[Any]) -> None:
    """Draw the examples, each class with its colour and marker."""
    if y is None:
        ax.scatter(X[:, 0], X[:, 1], c=BLACK, s=25)
        return
    for number, label in enumerate(classes):
        colour, marker = class_style(number)
        mine = y == label
        ax.scatter(
            X[mine, 0], X[mine, 1], c=colour, marker=marker, s=42, edgecolors=BLACK, linewidths=0.5, zorder=3,
            label=str(label),
        )  # fmt: skip


def _margin(scores: ArrayLike, y: NDArray[Any], classes: NDArray[Any]) -> float | None:
    """The smallest y·s of two classes, if it is positive."""
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 1 or len(classes) != 2:
        return None
    smallest = float(np.where(y == classes[1], values, -values).min())
    return smallest if smallest > 0 else None


def _weights(estimator: Any) -> Floats | None:
    """Bias and weights, if the classifier is linear."""
    coef, intercept = getattr(estimator, "coef_", None), getattr(estimator, "intercept_", None)
    if coef is None or intercept is None:
        return None
    coef = np.atleast_2d(np.asarray(coef, dtype=np.float64))
    bias = np.broadcast_to(np.asarray(intercept, dtype=np.float64).ravel(), (len(coef),))
    return np.column_stack([bias, coef])
