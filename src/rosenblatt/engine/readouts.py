"""The readouts of a run: scores of the last weights or of the average, and the vote of all weights of the run.

All come from the same training run. The last weights are the state itself; the average needs one extra vector; the vote is
recomputed from the log of updates, whose running sums are all the weight vectors of the run.
"""

import math
from typing import Any

import numpy as np
from numba import njit, uint64

from .conventions import KEEP, POSITIVE, TILE
from .jit import ENTRY, NOGIL, compiled
from .rows import dot_and_fetch, dots, row, rows_ahead, sparse_example, unsigned

TINY = 5e-324


@njit(**NOGIL)
def settle_tie(margin: Any, first: Any, on_zero: Any) -> Any:
    """The margin for the rule: a tie that counts as correct becomes the smallest positive number."""
    if margin == 0.0 and (on_zero == KEEP or (on_zero == POSITIVE and first)):
        return TINY
    return margin


@njit(**NOGIL)
def top_rival(scores: Any, true: Any) -> Any:
    """The class other than the true one with the highest score; the first of them if they tie."""
    rival = uint64(1) if true == 0 else uint64(0)
    for k in range(rival + uint64(1), uint64(scores.size)):
        if scores[k] > scores[rival] and k != true:
            rival = k
    return rival


@njit(_nrt=False, **NOGIL)
def two_scores(w: Any, bias: Any, X: Any, order: Any, out: Any) -> Any:
    """out[t] = <w, x> + bias; return the first row whose score is not finite, or -1."""
    bad, ahead = -1, rows_ahead(X)
    for t in range(order.size):
        out[t] = np.float64(dot_and_fetch(w, row(X, order[t]), X, order, t, ahead)) + bias[0]
        if bad < 0 and not math.isfinite(out[t]):
            bad = t
    return bad


@njit(_nrt=False, **NOGIL)
def many_scores(w: Any, bias: Any, X: Any, order: Any, out: Any, tile: Any) -> Any:
    """out[t, k] = <w_k, x> + bias_k; return the first row with a non-finite score, or -1. `tile`: space for TILE rows."""
    bad = -1
    t = 0
    while t < order.size:
        for r in range(dots(w, X, order, t, tile)):
            check = 0.0
            for k in range(uint64(out.shape[1])):
                out[t, k] = np.float64(tile[r, k]) + bias[k]
                check += out[t, k] * 0.0
            if bad < 0 and check != 0.0:
                bad = t
            t += 1
    return bad


@compiled(**ENTRY)
def score_two(w: Any, bias: Any, X: Any, order: Any, out: Any) -> Any:
    """out[t] = <w, x> + bias; return the first row whose score is not finite, or -1."""
    return two_scores(w, bias, X, order, out)


@compiled(**ENTRY)
def score_many(w: Any, bias: Any, X: Any, order: Any, out: Any) -> Any:
    """out[t, k] = <w_k, x> + bias_k; return the first row with a score that is not finite, or -1."""
    return many_scores(w, bias, X, order, out, np.empty((TILE, w.shape[1]), w.dtype))


@compiled(**ENTRY)
def guess_two(w: Any, bias: Any, indices: Any, values: Any, count: Any) -> Any:
    """The class of one sparse example, by the addresses of its entries; -1 if its score is not finite."""
    x, out = sparse_example(w, indices, values, count), np.empty(1)
    bad = two_scores(w, bias, x, np.zeros(1, np.int64), out)
    return -1 if bad >= 0 else int(out[0] >= 0.0)


@compiled(**ENTRY)
def guess_many(w: Any, bias: Any, indices: Any, values: Any, count: Any) -> Any:
    """The same for many classes."""
    x, out = sparse_example(w, indices, values, count), np.empty((1, bias.size))
    bad = many_scores(w, bias, x, np.zeros(1, np.int64), out, np.empty((TILE, w.shape[1]), w.dtype))
    return -1 if bad >= 0 else int(np.argmax(out))


@compiled(**ENTRY)
def sparse_products(indptr: Any, indices: Any, values: Any, starts: Any, columns: Any, entries: Any, out: Any) -> None:
    """out[i, r] += <x_i, z_r> for the rows x_i of a sparse matrix, and the rows z_r of one that is stored by columns.

    Each sum has the order of the features, as the scores of many classes.
    """
    for i in range(uint64(out.shape[0])):
        for k in range(uint64(indptr[i]), uint64(indptr[i + 1])):
            j, value = unsigned(indices[k]), values[k]
            for c in range(uint64(starts[j]), uint64(starts[j + uint64(1)])):
                out[i, unsigned(columns[c])] += value * entries[c]


@compiled(**ENTRY)
def vote_two(products: Any, entries: Any, steps: Any, survived: Any, bias: Any, scores: Any, votes: Any) -> None:
    """Compute the votes of all weight vectors of a run on a block of examples.

    ``products[e, r]`` is the inner product of support row e and example r; update m added ``steps[m, 0]`` times support row
    ``entries[m]`` and the result was in use for ``survived[m]`` examples. `scores` holds the scores of the starting
    weights and is updated; `votes` receives Σ survived · sign(score), where a score of exactly 0 casts no vote.
    """
    for m in range(entries.size):
        product = products[entries[m]]
        step = steps[m, 0]
        count = survived[m]
        for r in range(uint64(votes.shape[1])):
            score = scores[0, r] + step * (product[r] + bias)
            scores[0, r] = score
            votes[0, r] += count if score > 0.0 else (-count if score < 0.0 else 0.0)


@compiled(**ENTRY)
def vote_many(
    products: Any, entries: Any, steps: Any, survived: Any, bias: Any, separate: Any, scores: Any, votes: Any
) -> None:
    """The same for many classes: a weight matrix votes for its top class, or for none in a tie.

    With `separate` each class votes by the sign of its score, as in one-vs-rest.
    """
    classes = scores.shape[0]
    for m in range(entries.size):
        product = products[entries[m]]
        count = survived[m]
        for k in range(classes):
            step = steps[m, k]
            if step != 0.0:
                for r in range(uint64(votes.shape[1])):
                    scores[k, r] += step * (product[r] + bias)
        if separate:
            for k in range(classes):
                for r in range(uint64(votes.shape[1])):
                    score = scores[k, r]
                    votes[k, r] += count if score > 0.0 else (-count if score < 0.0 else 0.0)
        else:
            _vote_top(scores, count, votes)


@njit(**NOGIL)
def _vote_top(scores: Any, count: Any, votes: Any) -> None:
    for r in range(uint64(votes.shape[1])):
        top = scores[0, r]
        winner, level = 0, False
        for k in range(1, scores.shape[0]):
            if scores[k, r] > top:
                top, winner, level = scores[k, r], k, False
            elif scores[k, r] == top:
                level = True
        if not level:
            votes[winner, r] += count
