"""The batch perceptron: all mistakes of an epoch in one step.

Duda, R. O. and Hart, P. E. (1973). Pattern Classification and Scene Analysis, chapter 5.

    w = 0
    repeat:
        Δ = Σ y x over the examples with y <w, x> <= 0, divided by the number of examples
        w = w + alpha Δ
    until ‖Δ‖ < epsilon

``variant="fixed-increment"`` does not divide. ``variant="line-search"`` takes the step along Δ that lowers the perceptron
criterion Σ max(0, -y <w, x>) most: it is piecewise linear along a ray, so its break points are sorted and the slopes summed.

Guarantee: finds a separator if one exists. Each epoch is one gradient step on the perceptron criterion.

Departures: the first line search starts from w = 0, where the criterion is already minimal, and is a fixed increment. On a
plateau the largest of the equally good steps is taken; if the criterion decreases without end, twice the last break point.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.estimators.base import LinearClassifier
from rosenblatt.estimators.parameters import choice, positive, shared
from rosenblatt.model.linear import Model
from rosenblatt.training.history import History
from rosenblatt.training.loop import Block, BlockPasses, train

from .perceptron import step

Floats = NDArray[np.float64]


@dataclass(kw_only=True, eq=False, repr=False)
class BatchPerceptron(LinearClassifier, step=step, target=0.0, streams=False):
    """The batch perceptron: sum the mistakes of a whole epoch, then take one step.

    {parameters}
    """

    alpha: float = positive(
        1.0,
        'Step along Δ, ignored by "line-search". From zero weights it only scales them. Larger values take larger steps.',
    )
    epsilon: float = positive(1e-3, "Stop when ‖Δ‖ is smaller. Larger values stop earlier.")
    variant: str = choice(
        "average",
        ["average", "fixed-increment", "line-search"],
        "Divide Δ by the number of examples; do not divide; or search for the best step along Δ.",
    )
    fit_intercept: bool = shared("fit_intercept")
    max_iter: int = shared("max_iter")
    class_weight: Any = shared("class_weight")
    warm_start: bool = shared("warm_start")
    on_zero: str = shared("on_zero")
    multiclass: str = shared("multiclass")
    verbose: int = shared("verbose")

    def _params(self) -> tuple[float, ...]:
        return (1.0,)  # each mistake enters Δ once; alpha scales the sum

    def _train(
        self, model: Model, passes: BlockPasses, history: History, on_epoch: Callable[[History], None] | None = None
    ) -> History:
        (block,) = passes.blocks()
        rows, _ = passes.rows(block)
        table, y, weight = block.table, block.codes, block.weights
        weights = model.state
        change, change_bias = np.zeros_like(weights.w), np.zeros_like(weights.bias)
        # An online pass whose steps are added to Δ instead of to the weights.
        model.state = weights._replace(v=change, v_bias=change_bias)
        count = float(weight[rows].sum()) if weight.size else float(rows.size)
        smallest, steps = False, 0.0

        def learn(block: Block, order: NDArray[np.int64]) -> None:
            nonlocal smallest, steps
            before = weights.counters.steps
            change[...], change_bias[:] = 0.0, 0.0
            model.run(table, y, weight, order)
            if self.variant != "fixed-increment":
                np.divide(change, count, out=change)
                np.divide(change_bias, count, out=change_bias)
            alpha = self.alpha
            if self.variant == "line-search":
                alpha = 1.0 * count
                if weights.w.any() or weights.bias.any():
                    scores = model.raw_scores(table, weights.w, weights.bias, rows)
                    slopes = model.raw_scores(table, change, change_bias, rows)
                    own = weight[rows] if weight.size else weight
                    alpha = best_step(scores, slopes, y[rows], own, self.multiclass == "ovr")
            np.add(weights.w, alpha * change, out=weights.w, casting="same_kind")
            np.add(weights.bias, alpha * change_bias, out=weights.bias)
            steps += alpha * (weights.counters.steps - before) / (1.0 if self.variant == "fixed-increment" else count)
            smallest = float(np.sum(np.square(change, dtype=np.float64)) + np.sum(change_bias**2)) < self.epsilon**2

        passes.learn = learn
        train(model, passes, history, cycles=False, finished=lambda: smallest, on_epoch=on_epoch)
        history.steps = steps
        model.state = weights
        return history


def best_step(scores: Floats, slopes: Floats, y: NDArray[np.int64], weight: Floats, separate: bool) -> float:
    """The largest a > 0 that minimizes Σ weight · max(0, criterion) for the scores ``scores + a * slopes``.

    The criterion of an example is the upper envelope of 0 and one line for each rival; its slope increases at the corners of
    the envelope, and the sum is minimal where the sum of slopes changes from negative to positive.
    """
    heights, rises = _lines(scores, slopes, y, separate)
    weight = weight if weight.size else np.ones(len(heights))
    weight = np.repeat(weight, len(heights) // len(weight))
    now = heights.argmax(axis=1)
    tied = heights == heights.max(axis=1, keepdims=True)
    now = np.where(tied, rises, -np.inf).argmax(
        axis=1
    )  # just to the right of 0 the steepest of the tied lines is the highest
    rows = np.arange(len(heights))
    slope = float(weight @ rises[rows, now])
    places, jumps = [], []
    at = np.zeros(len(heights))
    while True:
        # Distance to the next point where a steeper line becomes the highest
        gap = heights[rows, now] + at * rises[rows, now]
        with np.errstate(divide="ignore", invalid="ignore"):
            steeper = rises - rises[rows, now][:, None]
            waits = np.where(steeper > 0, (gap[:, None] - heights - at[:, None] * rises) / steeper, np.inf)
        soonest = waits.min(axis=1)
        live = np.isfinite(soonest)
        if not live.any():
            break
        following = np.where(waits == soonest[:, None], rises, -np.inf).argmax(axis=1)
        places.append((at + soonest)[live])
        jumps.append((weight * (rises[rows, following] - rises[rows, now]))[live])
        at, now = np.where(live, at + soonest, at), np.where(live, following, now)
    if not places:
        return 1.0
    place, jump = np.concatenate(places), np.concatenate(jumps)
    order = np.argsort(place, kind="stable")
    place, total = place[order], slope + np.cumsum(jump[order])
    rising = np.flatnonzero(total > 1e-12 * np.abs(jump).sum())
    return float(place[rising[0]] if rising.size else 2.0 * place[-1]) or 1.0


def _lines(scores: Floats, slopes: Floats, y: NDArray[np.int64], separate: bool) -> tuple[Floats, Floats]:
    """Heights and slopes of the lines of each example's criterion: 0, and the lead of each rival."""
    if scores.shape[1] == 1 or separate:
        sign = (
            np.where(y == 1, 1.0, -1.0)[:, None]
            if scores.shape[1] == 1
            else np.where(np.eye(scores.shape[1])[y] > 0, 1.0, -1.0)
        )
        height, rise = (-sign * scores).reshape(-1, 1), (-sign * slopes).reshape(-1, 1)
    else:
        true = np.arange(len(y)), y
        height, rise = scores - scores[true][:, None], slopes - slopes[true][:, None]
        return height, rise  # the true class itself is the line 0
    return np.hstack([np.zeros_like(height), height]), np.hstack([np.zeros_like(rise), rise])
