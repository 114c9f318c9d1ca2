"""Curves of a run: mistakes, the squeeze of the proof, losses."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rosenblatt.experiments import LossCurves, SqueezeCurves, loss_curves, losses_per_epoch, squeeze_curves
from rosenblatt.experiments._checks import signs
from rosenblatt.trace import Trace

from ._style import BLACK, COLOURS, GREY, MARKERS, Drawing


def _whole_ticks(ax: Any) -> None:
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(integer=True))


class MistakesDisplay(Drawing):
    """Numbers of mistakes in each epoch.

    Parameters
    ----------
    mistakes : dict of str to array
        The mistakes of each epoch, by the name of the learner.
    """

    def __init__(self, mistakes: Mapping[str, ArrayLike]) -> None:
        self.mistakes: dict[str, NDArray[np.int64]] = {name: np.asarray(m) for name, m in mistakes.items()}

    @classmethod
    def from_estimator(cls, *estimators: Any, ax: Any = None, **options: Any) -> Self:
        """Draw the mistakes of fitted estimators.

        Parameters
        ----------
        *estimators : fitted estimators
            Each with `mistakes_per_epoch_`.
        ax : matplotlib axes, default=None
            Axes to draw on; None makes a figure.
        **options
            Passed to `plot`.

        Returns
        -------
        MistakesDisplay
        """
        if not estimators:
            raise ValueError(
                "MistakesDisplay.from_estimator must be given at least one estimator; got none. Pass a fitted one."
            )
        curves: dict[str, Any] = {}
        for estimator in estimators:
            made = getattr(estimator, "mistakes_per_epoch_", None)
            if made is None:
                raise ValueError(
                    f"The estimator must have the mistakes of each epoch, as after fit; {type(estimator).__name__} has no "
                    "mistakes_per_epoch_. Call fit first."
                )
            name, number = type(estimator).__name__, 2
            while name in curves:
                name, number = f"{type(estimator).__name__} {number}", number + 1
            curves[name] = made
        return cls(curves).plot(ax=ax, **options)

    def plot(self, ax: Any = None, *, log: bool = False, legend: bool = True) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Axes to draw on; None makes a figure.
        log : bool, default=False
            Draw the mistakes on a scale that is logarithmic above 1 and still shows 0.
        legend : bool, default=True
            Show a legend with the learners.

        Returns
        -------
        self
        """
        ax = self._axes(ax)
        for number, (name, made) in enumerate(self.mistakes.items()):
            epochs = np.arange(1, len(made) + 1)
            style = {"color": COLOURS[number % len(COLOURS)], "marker": MARKERS[number % len(MARKERS)]}
            ax.plot(epochs, made, markevery=max(1, len(made) // 25), label=name, markersize=5, **style)
        if log:
            ax.set_yscale("symlog", linthresh=1.0)
        ax.set_ylim(bottom=0)
        ax.set(xlabel="epoch", ylabel="mistakes")
        _whole_ticks(ax)
        if legend:
            ax.legend()
        return self


class SqueezeDisplay(Drawing):
    """The squeeze of the proof: the lower and the upper bound of ‖w‖ after each mistake.

    γ and R are those of the theorem: with `fit_intercept` the bias feature is part of both.

    Parameters
    ----------
    curves : SqueezeCurves
        The four numbers after each mistake.
    """

    def __init__(self, curves: SqueezeCurves) -> None:
        self.curves = curves

    @classmethod
    def from_data(cls, X: Any, y: ArrayLike, *, ax: Any = None, angle: bool = False, **options: Any) -> Self:
        """Run the perceptron on separable data and draw its squeeze; `options` are passed to `squeeze_curves`."""
        return cls(squeeze_curves(X, y, **options)).plot(ax=ax, angle=angle)

    @classmethod
    def from_trace(cls, trace: Trace, *, ax: Any = None, angle: bool = False) -> Self:
        """Draw the squeeze of a trace, at the steps that it kept."""
        known = trace.comparator
        if known is None or not trace.steps or trace.start.any() or trace.bound is None:
            raise ValueError(
                "The trace must have a squeeze from zero weights, which a perceptron on separable data has; this one has none. "
                "Use SqueezeDisplay.from_data, or trace a perceptron without init."
            )
        moved = [step for step in trace.steps if step.moved and step.squeeze is not None]
        rows = np.array([(0.0, 0.0, 0.0, 0.0), *(step.squeeze for step in moved if step.squeeze is not None)])
        floor, along, length, ceiling = rows.T
        k = np.rint(floor / known.margin).astype(np.int64)
        curves = SqueezeCurves(k, floor, along, length, ceiling, known.margin, known.radius, trace.bound)
        return cls(curves).plot(ax=ax, angle=angle)

    def plot(self, ax: Any = None, *, to_bound: bool = False, angle: bool = False, legend: bool = True) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Axes to draw on; None makes a figure.
        to_bound : bool, default=False
            Extend the axis to the point where floor and ceiling meet.
        angle : bool, default=False
            Also draw the angle between w and u, in degrees on an axis on the right.
        legend : bool, default=True
            Show a legend with the curves.

        Returns
        -------
        self
        """
        ax, curves = self._axes(ax), self.curves
        last = float(curves.mistakes[-1])
        end = curves.bound if to_bound else last
        k = np.linspace(0.0, max(end, 1.0), 400)
        ax.fill_between(k, k * curves.margin, np.sqrt(k) * curves.radius, color=GREY, alpha=0.12, linewidth=0)
        ax.plot(k, np.sqrt(k) * curves.radius, color=COLOURS[5], linestyle="dashed", label="√k·R")
        ax.plot(curves.mistakes, curves.length, color=COLOURS[0], label="‖w‖")
        ax.plot(curves.mistakes, curves.along_comparator, color=COLOURS[1], label="⟨w, u⟩")
        ax.plot(k, k * curves.margin, color=COLOURS[2], linestyle="dashdot", label="kγ")
        if angle:
            self._draw_angle(ax)
        if to_bound:
            ax.axvline(curves.bound, color=BLACK, linewidth=1, linestyle="dotted")
            ax.annotate(
                f"(R/γ)² = {curves.bound:.4g}", (curves.bound, 0.02), xycoords=("data", "axes fraction"),
                xytext=(-5, 0), textcoords="offset points", ha="right",
            )  # fmt: skip
        ax.set(xlabel="mistakes k", ylabel="length")
        ax.set_title(f"{last:.0f} mistakes, at most (R/γ)² = {curves.bound:.4g}", fontsize="medium")
        ax.set_xlim(left=0, right=max(end, 1.0) * 1.02)
        ax.set_ylim(bottom=min(0.0, float(curves.along_comparator.min())))
        _whole_ticks(ax)
        if angle:
            ax.set_ylim(top=1.18 * max(float(curves.ceiling[-1]), ax.dataLim.y1))
        if legend:
            ax.legend(loc="upper center" if angle else "upper left", ncols=4 if angle else 1, columnspacing=1.2)
        return self

    def _draw_angle(self, ax: Any) -> None:
        """Draw the angle between w and u on an axis on the right."""
        right = ax.twinx()
        degrees = np.degrees(np.arccos(self.curves.cosine))
        right.plot(self.curves.mistakes, degrees, color=BLACK, linewidth=1.2, linestyle="dotted")
        most = 180 if np.nanmax(degrees, initial=0.0) > 90 else 90
        right.set(ylim=(0, 1.18 * most), yticks=np.linspace(0, most, 4))
        right.set_ylabel("angle between w and u (dotted), in degrees")


class LossDisplay(Drawing):
    """The 0/1 loss and the perceptron criterion.

    Parameters
    ----------
    curves : LossCurves
        Both losses, at margins, along a direction or after epochs.
    margins : array or None, default=None
        Margins of examples, drawn as ticks at the bottom.
    """

    def __init__(self, curves: LossCurves, margins: NDArray[np.float64] | None = None) -> None:
        self.curves = curves
        self.margins = margins

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: ArrayLike, *, epochs: int = 20, ax: Any = None) -> Self:
        """Train a copy of an estimator and draw its losses after each epoch; see `losses_per_epoch`."""
        return cls(losses_per_epoch(X, y, epochs, estimator)).plot(ax=ax)

    @classmethod
    def from_predictions(cls, y: ArrayLike, scores: ArrayLike, *, ax: Any = None) -> Self:
        """Draw both losses as functions of the margin, and the margins of the examples with these scores.

        Margins are drawn in units of their median size, because the length of w changes no prediction and the step of the 0/1
        loss stays visible.

        Parameters
        ----------
        y : array
            Labels of two classes; the larger one is positive.
        scores : array
            ⟨w, x⟩ of the same examples, as returned by `decision_function`.
        ax : matplotlib axes, default=None
            Axes to draw on; None makes a figure.

        Returns
        -------
        LossDisplay
        """
        margins = signs(y) * np.asarray(scores, dtype=np.float64)
        unit = float(np.median(np.abs(margins))) or 1.0
        reach = max(1.0, float(np.abs(margins / unit).max()))
        drawn = cls(loss_curves(np.linspace(-reach, reach, 801)), margins / unit).plot(ax=ax)
        drawn.ax_.set_xlabel("margin y·s of an example, in units of the median |s|")
        return drawn

    def plot(self, ax: Any = None, *, legend: bool = True) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Axes to draw on; None makes a figure.
        legend : bool, default=True
            Show a legend with the losses.

        Returns
        -------
        self
        """
        ax, curves = self._axes(ax), self.curves
        epochs = curves.axis == "epoch"
        one = {"color": COLOURS[0], "marker": "o" if epochs else "", "markersize": 4}
        other = {"color": COLOURS[5], "marker": "s" if epochs else "", "markersize": 4, "linestyle": "dashed"}
        steps = "default" if epochs else "steps-mid"
        lines = ax.plot(curves.places, curves.zero_one, drawstyle=steps, label="0/1 loss", **one)
        ax.set(xlabel=curves.axis, ylabel="0/1 loss")
        if epochs or curves.axis.startswith("step"):
            # The two have different units: a fraction of examples, and a score.
            right = ax.twinx()
            lines += right.plot(curves.places, curves.criterion, label="perceptron criterion", **other)
            right.set_ylabel("perceptron criterion", color=COLOURS[5])
            right.tick_params(axis="y", colors=COLOURS[5])
            ax.set_ylabel("0/1 loss", color=COLOURS[0])
            ax.tick_params(axis="y", colors=COLOURS[0])
            ax.set_ylim(bottom=0)
            right.set_ylim(bottom=0)
        else:
            lines += ax.plot(curves.places, curves.criterion, label="perceptron criterion max(0, -y·s)", **other)
            ax.set_ylabel("loss")
        if epochs:
            _whole_ticks(ax)
        if self.margins is not None:
            ax.plot(
                self.margins, np.zeros_like(self.margins), "|", color=BLACK, markersize=12, alpha=0.5, label="examples"
            )
            lines.append(ax.lines[-1])
        if legend:
            ax.legend(handles=lines, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(lines), frameon=False)
        return self
