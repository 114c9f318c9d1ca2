"""The loop of a committee: several perceptrons predict by majority, and the rule updates each of them.

The weights have one column for each perceptron, stored as scale · v as in `scaled`. A step function takes the margin of the
committee (votes for the true class minus votes against it) and that of one perceptron: ``shrink, tau = step(margin, own, …)``.
"""

import math
from typing import Any

from numba import njit, uint64

from .codegen import pair_of
from .jit import NOGIL
from .rows import add_columns, dots, row, squared_norm
from .scaled import grown, rescale
from .state import BAD_VALUE, DONE


@njit(**NOGIL)
def move(weights: Any, scales: Any, own: Any, norm: Any, moved: Any, feature: Any) -> None:
    """Shrink each perceptron to update, and convert its step to the change of its v and its bias."""
    for c in range(moved):
        k = uint64(weights.columns[c])
        shrink, step = weights.lagged[c], weights.amounts[c]
        rescale(weights, scales, k, shrink, grown(scales.square[k], shrink, step, own[k], norm))
        weights.amounts[c] = step / scales.scale[k]
        weights.v_bias[k] += weights.amounts[c] * feature


def many_classes(rule: Any, state: Any, settings: Any, X: Any, y: Any, weight: Any, order: Any) -> Any:
    """One column of weights for each perceptron; y holds 0 and 1."""
    weights, scales, own = state.weights, state.scales, state.own
    counters, tile, columns = weights.tally[0], weights.tile, weights.columns
    amounts, shrinks, size = weights.amounts, weights.lagged, uint64(weights.bias.size)
    result = DONE
    t = counters.position
    while t < order.size and result == DONE:
        scored = dots(weights.w, X, order, t, tile)
        for r in range(scored):
            i = order[t]
            votes, check = 0.0, 0.0
            for k in range(size):
                own[k] = (tile[r, k] + weights.bias[k]) * scales.scale[k]
                votes += 1.0 if own[k] >= 0.0 else -1.0
                check += own[k] * 0.0
            weights.scores[0] = votes + check
            if check != 0.0:
                result = BAD_VALUE
                break
            importance = weight[i] if weight.size > 0 else 1.0
            if importance == 0.0:
                t += 1
                continue
            x = row(X, i)
            norm = squared_norm(x) + settings.bias
            sign = 1.0 if y[i] == 1 else -1.0
            margin = sign * votes
            moved = 0
            longest = 0.0
            if norm != 0.0:  # an example of zeros changes nothing
                for k in range(size):
                    shrink, tau = pair_of(rule, margin, sign * own[k], scales.square[k], importance, 0.0)
                    if tau != 0.0:
                        check += grown(scales.square[k], shrink, sign * tau, own[k], norm) * 0.0 + min(shrink, 0.0)
                        columns[moved], amounts[moved], shrinks[moved] = k, sign * tau, shrink
                        longest = max(longest, abs(tau))
                        moved += 1
            if not (check == 0.0 and norm < math.inf):
                result = BAD_VALUE
                break
            counters.age += importance
            counters.examples += 1
            counters.loss += importance * max(0.0, -margin)
            if margin <= 0.0:
                counters.mistakes += 1
            t += 1
            if moved == 0:
                counters.run += 1
                continue
            move(weights, scales, own, norm, moved, settings.bias)
            add_columns(weights.v, columns, amounts, moved, x)
            counters.run = 0
            counters.updates += 1
            counters.steps += longest
            counters.reach = max(counters.reach, norm)
            break  # the weights have changed: score the next rows again
    counters.position = t
    return result
