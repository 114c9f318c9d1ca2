"""Curves of the experiments: committees, distances, margins."""

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rosenblatt.experiments import (
    CommitteeCurves,
    Comparison,
    DistanceCurves,
    MarginCurves,
    committee_curves,
    compare,
    distance_concentration,
    margin_against_mistakes,
)

from ._style import COLOURS, Drawing


def _with_spread(ax: Any, x: NDArray[Any], runs: NDArray[Any], colour: str, marker: str, label: str) -> None:
    """Draw the mean of some runs as a line, and the lowest and the highest as a band."""
    ax.plot(x, runs.mean(axis=1), color=colour, marker=marker, markersize=5, label=label)
    if runs.shape[1] > 1:
        ax.fill_between(x, runs.min(axis=1), runs.max(axis=1), color=colour, alpha=0.2, linewidth=0)


class _ExperimentDisplay(Drawing):
    """Base class of the displays of experiments."""

    _experiment: ClassVar[Callable[..., Any]]
    _legend: ClassVar[str] = "best"

    def __init__(self, curves: Any) -> None:
        self.curves = curves

    @classmethod
    def from_experiment(cls, *, ax: Any = None, **parameters: Any) -> Self:
        """Run the experiment with these parameters and draw it."""
        return cls(cls._experiment(**parameters)).plot(ax=ax)

    def plot(self, ax: Any = None, *, legend: bool = True) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Axes to draw on; None makes a figure.
        legend : bool, default=True
            Show a legend with the curves.

        Returns
        -------
        self
        """
        ax = self._axes(ax)
        self._draw(ax)
        if legend:
            ax.legend(loc=self._legend)
        return self

    def _draw(self, ax: Any) -> None:
        raise NotImplementedError


class CommitteeDisplay(_ExperimentDisplay):
    """Mistakes on the committee problem as the number of experts grows, with both bounds.

    Parameters
    ----------
    curves : CommitteeCurves
        The result of `rosenblatt.experiments.committee_curves`.
    """

    curves: CommitteeCurves
    _experiment = staticmethod(committee_curves)
    _legend = "upper left"

    def _draw(self, ax: Any) -> None:
        curves = self.curves
        p = curves.experts
        ax.plot(p, curves.perceptron_bound, color=COLOURS[0], linestyle="dashed", label="perceptron, bound pk")
        _with_spread(ax, p, curves.perceptron, COLOURS[0], "o", "perceptron")
        ax.plot(p, curves.winnow_bound, color=COLOURS[5], linestyle="dashed", label="Winnow, bound 2k² ln(p/k)")
        _with_spread(ax, p, curves.winnow, COLOURS[5], "s", "Winnow")
        ax.set(xscale="log", yscale="log", xlabel="experts p", ylabel="mistakes")
        ax.set_title(f"a panel of k = {curves.panel}, {curves.examples:,} rounds", fontsize="medium")


class DistanceDisplay(_ExperimentDisplay):
    """Distances between random points as the number of dimensions grows.

    Parameters
    ----------
    curves : DistanceCurves
        The result of `rosenblatt.experiments.distance_concentration`.
    """

    curves: DistanceCurves
    _experiment = staticmethod(distance_concentration)

    def _draw(self, ax: Any) -> None:
        curves = self.curves
        d, mean = curves.dimensions, curves.mean
        ax.fill_between(d, curves.nearest / mean, curves.farthest / mean, color=COLOURS[4], alpha=0.2, linewidth=0)
        ax.plot(d, curves.farthest / mean, color=COLOURS[5], marker="^", markersize=5, label="farthest neighbour")
        ax.axhline(1.0, color="black", linewidth=1, linestyle="dashed", label="mean distance")
        ax.plot(d, curves.nearest / mean, color=COLOURS[0], marker="o", markersize=5, label="nearest neighbour")
        ax.set(xscale="log", xlabel="dimensions d", ylabel="distance / mean distance")
        ax.set_ylim(bottom=0)
        ax.set_title(f"{curves.points:,} random points", fontsize="medium")


class MarginDisplay(_ExperimentDisplay):
    """Mistakes until convergence as the margin shrinks, with the bound 1/γ².

    Parameters
    ----------
    curves : MarginCurves
        The result of `rosenblatt.experiments.margin_against_mistakes`.
    """

    curves: MarginCurves
    _experiment = staticmethod(margin_against_mistakes)

    def _draw(self, ax: Any) -> None:
        curves = self.curves
        order = np.argsort(curves.margins)
        gamma = curves.margins[order]
        ax.plot(gamma, curves.bound[order], color="black", linestyle="dashed", label="bound (R/γ)²")
        _with_spread(ax, gamma, curves.mistakes[order], COLOURS[0], "o", "perceptron")
        ax.set(xscale="log", yscale="log", xlabel="margin γ (R = 1)", ylabel="mistakes until convergence")


class ComparisonDisplay(Drawing):
    """Mistake rates of many learners on the same streams: the mean, its spread, and all single runs.

    Parameters
    ----------
    comparison : Comparison
        The result of `rosenblatt.experiments.compare`.
    """

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison

    @classmethod
    def from_experiment(cls, X: Any, y: Any, *, ax: Any = None, **parameters: Any) -> Self:
        """Run `compare` with these parameters and draw it."""
        return cls(compare(X, y, **parameters)).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Axes to draw on; None makes a figure.

        Returns
        -------
        self
        """
        ax, standings = self._axes(ax), self.comparison.standings[::-1]
        for place, one in enumerate(standings):
            ax.plot(one.rates, np.full(one.rates.size, place), ".", color=COLOURS[5], alpha=0.4, markersize=4)
            ax.errorbar(one.rates.mean(), place, xerr=one.rates.std(), fmt="o", color=COLOURS[0], markersize=5)
        ax.set_yticks(range(len(standings)), [one.name for one in standings], fontsize="small")
        ax.set(xlabel="mistakes made before learning, share of examples")
        ax.grid(axis="x", linewidth=0.5, alpha=0.5)
        return self
