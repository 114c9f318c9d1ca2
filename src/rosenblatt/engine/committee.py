"""The online protocol of a committee: several perceptrons see an example, the majority answers, each learns its part.

The weights have one column for each perceptron, kept as scale · v like those of `scaled`. A step function sees the margin of the
committee (its votes for the truth less those against) and that of one perceptron: ``shrink, tau = step(margin, own, …)``.
"""

import math
from typing import Any

from numba import njit, uint64

from .jit import LOOP, NOGIL
from .loop import AGE, BAD_VALUE, DONE, EXAMPLES, LOSS, MISTAKES, POSITION, REACH, RUN, STEPS, UPDATES
from .rows import add_columns, dots, row, squared_norm
from .scaled import FIRST_EXTRA, unpack_scaled
from .scales import grown, rescale
from .state import floats
from .step_call import pair_of

__all__ = ["many_classes", "two_classes", "unpack_committee"]


@njit(**NOGIL)
def unpack_committee(packed: Any, w: Any) -> Any:
    """The arrays of a run: those of `scaled`, and room for the perceptrons' own scores."""
    rule, (weights, scales), settings = unpack_scaled(packed, w)
    return rule, (weights, scales, floats(packed[FIRST_EXTRA + 4])), settings


@njit(**NOGIL)
def move(weights: Any, scales: Any, own: Any, norm: Any, moved: Any, feature: Any) -> None:
    """Shrink each perceptron that moves, and turn its step into what is added to its v and its bias."""
    for c in range(moved):
        k = uint64(weights.columns[c])
        shrink, step = weights.lagged[c], weights.amounts[c]
        rescale(weights, scales, k, shrink, grown(scales.square[k], shrink, step, own[k], norm))
        weights.amounts[c] = step / scales.scale[k]
        weights.v_bias[k] += weights.amounts[c] * feature


@njit(**LOOP)
def many_classes(rule: Any, state: Any, settings: Any, X: Any, y: Any, weight: Any, order: Any) -> Any:
    """One column of weights for each perceptron; y holds 0 and 1."""
    weights, scales, own = state
    counts, sums, tile, columns = weights.counts, weights.sums, weights.tile, weights.columns
    amounts, shrinks, size = weights.amounts, weights.lagged, uint64(weights.bias.size)
    result = DONE
    t = counts[POSITION]
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
            if norm != 0.0:  # an example of zeros cannot move anything
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
            sums[AGE] += importance
            counts[EXAMPLES] += 1
            sums[LOSS] += importance * max(0.0, -margin)
            if margin <= 0.0:
                counts[MISTAKES] += 1
            t += 1
            if moved == 0:
                counts[RUN] += 1
                continue
            move(weights, scales, own, norm, moved, settings.bias)
            add_columns(weights.v, columns, amounts, moved, x)
            counts[RUN] = 0
            counts[UPDATES] += 1
            sums[STEPS] += longest
            sums[REACH] = max(sums[REACH], norm)
            break  # the weights have moved: score the next rows anew
    counts[POSITION] = t
    return result


two_classes = many_classes
