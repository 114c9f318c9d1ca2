"""The batch perceptron: all mistakes of an epoch in one step.

Duda, R. O. and Hart, P. E. (1973). Pattern Classification and Scene Analysis, chapter 5.

    w = 0
    repeat:
        Δ = Σ y x over the examples with y <w, x> <= 0, divided by the number of examples
        w = w + alpha Δ
    until ‖Δ‖ < epsilon

``variant="fixed-increment"`` does not divide. ``variant="line-search"`` takes the step along the undivided sum that lowers the
perceptron criterion Σ max(0, -y <w, x>) most: it is piecewise linear along a ray, so its break points are sorted and the slopes
summed.

Guarantee: finds a separator if one exists. Each epoch is one gradient step on the perceptron criterion.

Departures: the sum is kept undivided and w is computed from it, so that on whole numbers no tie depends on rounding. The first
line search starts from w = 0, where the criterion is already minimal, and is a fixed increment. At a break point an example has
the score 0, so the middle of the equally good steps is taken; if they have no end, twice the smallest. Steps are rounded to
multiples of 1/1024, which are exact in binary, and a step of 0 becomes a fixed increment. A step is at most n, or, from long
starting weights, n times their length in units of the first sum. With these limits the proof of convergence holds.
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
from rosenblatt.training.loop import Block, BlockPasses, length, train

from .perceptron import step

Floats = NDArray[np.float64]

FINEST = 1024
"""Steps of a line search are multiples of 1 / FINEST."""


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
    n_jobs: int | None = shared("n_jobs")
    penalty: str | None = shared("penalty")
    positive: Any = shared("positive")  # last, because in the lines above `positive` declares a number

    def _params(self) -> tuple[float, ...]:
        return (1.0,)  # each mistake enters Δ once; alpha scales the sum

    def _train(
        self, model: Model, passes: BlockPasses, history: History, on_epoch: Callable[[History], None] | None = None
    ) -> History:
        (block,) = passes.blocks()
        rows, _ = passes.rows(block)
        table, y, weight = block.table, block.codes, block.weights
        count = float(weight[rows].sum()) if weight.size else float(rows.size)
        search = self.variant == "line-search"
        model.divisor = {"average": count / self.alpha, "fixed-increment": 1.0 / self.alpha, "line-search": 1.0}[
            self.variant
        ]
        sums = model.state
        np.multiply(sums.w, model.divisor, out=sums.w, casting="same_kind")
        np.multiply(sums.bias, model.divisor, out=sums.bias)
        change, change_bias = np.zeros_like(sums.w), np.zeros_like(sums.bias)
        # An online pass whose steps are added to Δ instead of to the weights.
        model.state = sums._replace(v=change, v_bias=change_bias)
        smallest, steps, most, threads = False, 0.0, 0.0, self._threads()
        start = length(sums.w, sums.bias)

        def learn(block: Block, order: NDArray[np.int64]) -> None:
            nonlocal smallest, steps, most
            counters = sums.counters
            before, loss = float(counters.steps), float(counters.loss)
            change[...], change_bias[:] = 0.0, 0.0
            model.run(table, y, weight, order)
            counters.loss = loss + (float(counters.loss) - loss) / model.divisor
            size, step = length(change, change_bias), 1.0
            most = most or rows.size * max(1.0, start / size if size else 1.0)
            if search and (sums.w.any() or sums.bias.any()):
                scores = model.raw_scores(table, sums.w, sums.bias, rows, threads)
                slopes = model.raw_scores(table, change, change_bias, rows, threads)
                own = weight[rows] if weight.size else weight
                best = best_step(scores, slopes, y[rows], own, self.multiclass == "ovr")
                step = min(round(best * FINEST) / FINEST or 1.0, most)
            np.add(sums.w, step * change, out=sums.w, casting="same_kind")
            np.add(sums.bias, step * change_bias, out=sums.bias)
            steps += step * (float(counters.steps) - before) / model.divisor
            smallest = size < self.epsilon * (1.0 if self.variant == "fixed-increment" else count)

        passes.learn = learn
        train(model, passes, history, cycles=False, finished=lambda: smallest, on_epoch=on_epoch)
        history.steps = steps
        w, bias = model.last()
        np.copyto(sums.w, w)
        np.copyto(sums.bias, bias)
        model.divisor, model.state = 1.0, sums
        return history


def best_step(scores: Floats, slopes: Floats, y: NDArray[np.int64], weight: Floats, separate: bool) -> float:
    """The middle of the steps a >= 0 that minimize Σ weight · max(0, criterion) for the scores ``scores + a * slopes``.

    If they have no end, twice the smallest. The criterion of an example is the upper envelope of 0 and one line for each rival;
    its slope increases at the corners of the envelope, and the sum is minimal where the sum of slopes is 0 or changes sign.
    """
    heights, rises = _lines(scores, slopes, y, separate)
    weight = weight if weight.size else np.ones(len(heights))
    weight = np.repeat(weight, len(heights) // len(weight))
    rows = np.arange(len(heights))
    tied = heights == heights.max(axis=1, keepdims=True)
    now = np.where(tied, rises, -np.inf).argmax(axis=1)  # of tied lines the steepest is the highest to the right of 0
    slope = float(weight @ rises[rows, now])
    places, jumps = [np.zeros(1)], [np.zeros(1)]
    while True:
        # Where a steeper line becomes the highest; one division, so that it is rounded once.
        steeper = rises - rises[rows, now][:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            crossings = np.where(steeper > 0, (heights[rows, now][:, None] - heights) / steeper, np.inf)
        place = crossings.min(axis=1)
        live = np.isfinite(place)
        if not live.any():
            break
        following = np.where(crossings == place[:, None], rises, -np.inf).argmax(axis=1)
        places.append(place[live])
        jumps.append((weight * (rises[rows, following] - rises[rows, now]))[live])
        now = np.where(live, following, now)
    place, jump = np.concatenate(places), np.concatenate(jumps)
    order = np.argsort(place, kind="stable")
    place, total = place[order], slope + np.cumsum(jump[order])
    zero = 1e-12 * np.abs(jump).sum()
    first, end = np.searchsorted(total, -zero), np.searchsorted(total, zero, "right")
    if first == place.size:
        return 0.0  # the criterion does not depend on the step
    return float((place[first] + place[end]) / 2.0 if end < place.size else 2.0 * place[first])


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
