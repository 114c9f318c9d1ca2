"""The pocket algorithm with ratchet.

Gallant, S. I. (1990). Perceptron-Based Learning Algorithms. IEEE Transactions on Neural Networks 1(2).

    learn as the perceptron does, on examples drawn at random
    when w has classified more examples in a row correctly than the weights in the pocket:
        if w makes fewer mistakes on the whole training set (the ratchet):  put w in the pocket
    predict with the weights in the pocket

Guarantee: the pocket never gets worse, and with examples drawn at random it ends with the fewest mistakes possible with a
probability that tends to 1. Finding those weights directly is NP-hard.

Departures: a weight vector is checked once, when its run first exceeds that of the pocket. On large sets, once failed checks have
read `FREE_ROWS` rows in an epoch, each further one doubles the run that is required until the epoch ends. The examples are
shuffled in each epoch; ``shuffle="replacement"`` draws them with replacement, as Gallant does. The last weights are checked, too.
Sample weights count in the check.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rosenblatt.estimators.base import LinearClassifier
from rosenblatt.estimators.parameters import OnlineParameters, shared
from rosenblatt.model.linear import Model
from rosenblatt.model.scores import wrong
from rosenblatt.training.history import History
from rosenblatt.training.loop import Block, BlockPasses, correct, train

from .perceptron import step

FREE_ROWS = 100_000
"""Rows that failed checks may read in an epoch before they raise the required run; sets of up to 446 rows never read more."""


@dataclass(kw_only=True, eq=False, repr=False)
class PocketPerceptron(OnlineParameters, LinearClassifier, step=step, target=0.0, constant_step="eta0", streams=False):
    """The perceptron that keeps its best weights in a pocket: for data that are not linearly separable.

    {parameters}

    Attributes
    ----------
    pocket_mistakes_ : float
        Mistakes of the weights in the pocket on the training set, weighted by `sample_weight`.
    """

    eta0: float = shared("eta0")
    max_iter: int = shared("max_iter", 100)
    tol: float | None = shared("tol", None)

    def _train(
        self, model: Model, passes: BlockPasses, history: History, on_epoch: Callable[[History], None] | None = None
    ) -> History:
        (block,) = passes.blocks()
        rows, held = passes.rows(block)
        state, counts = model.state, model.state.counters
        pocket = (state.w.copy(), state.bias.copy())
        pocket_run, fewest, threads = 0, math.inf, self._threads()
        checked, failed = -1, 0  # the number of updates at the last check; failed checks of this epoch

        def ratchet() -> None:
            """Put the weights in the pocket if they make fewer mistakes; called when their run exceeds that of the pocket."""
            nonlocal pocket, pocket_run, fewest, checked, failed
            if checked == counts.updates:
                return  # the same weights
            checked = int(counts.updates)
            scores = model.raw_scores(block.table, state.w, state.bias, rows, threads)
            missed = wrong(scores, block.codes[rows], self.on_zero)
            mistakes = float(block.weights[rows][missed].sum() if block.weights.size else missed.sum())
            if mistakes < fewest:
                fewest, pocket_run = mistakes, int(counts.run)
                pocket = (state.w.copy(), state.bias.copy())
                counts.goal = pocket_run + 1
            else:
                failed += 1
                if failed * rows.size > FREE_ROWS:
                    counts.goal = 2 * max(1, int(counts.run))

        def learn(block: Block, order: NDArray[np.int64]) -> None:
            nonlocal failed
            failed = 0
            if counts.run > pocket_run:
                ratchet()  # a higher goal may have kept these weights from being checked
            counts.goal = pocket_run + 1
            model.run(block.table, block.codes, block.weights, order, on_run=ratchet)

        def judge(block: Block, rows: NDArray[np.int64]) -> tuple[float, float]:
            """Predict with the weights in the pocket."""
            last = (state.w.copy(), state.bias.copy())
            for part, kept in zip((state.w, state.bias), pocket, strict=True):
                np.copyto(part, kept)
            found = correct(model, block, rows)
            for part, kept in zip((state.w, state.bias), last, strict=True):
                np.copyto(part, kept)
            return found

        ratchet()
        passes.learn, passes.judge = learn, judge
        train(model, passes, history, cycles=False, on_epoch=on_epoch)
        ratchet()
        if held.size and history.done:  # this check may have changed the pocket
            right, total = judge(block, held)
            history.done[-1].held_out_mistakes = total - right
        np.copyto(state.w, pocket[0])
        np.copyto(state.bias, pocket[1])
        self.pocket_mistakes_ = fewest
        return history
