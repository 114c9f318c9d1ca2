"""Additive rules: ``tau = step(margin, …)`` and w = w + tau y x. They have no extra state.

Multiplicative rules such as Winnow add to the logarithms of the weights, and a link computes the weights.
"""

import math
from typing import Any

import numpy as np
from numba import njit, uint64

from .codegen import number_of
from .conventions import EXP, IDENTITY
from .jit import NOGIL, VERB, verb
from .multiclass import share
from .rows import add, add_columns, is_dense, norm_above, squared_norm, unsigned
from .state import DONE, OUT_OF_SCALE, REFUSED

SMALL, LARGE = 1e-200, 1e200  # the model rescales linked weights outside this range, before they overflow or underflow
ONE = (np.ones(1),)  # the bias feature, as a row


@njit(**VERB)
def verdict(tau: Any, norm: Any, moved: Any) -> Any:
    """The number of vectors to update by tau: 0 if tau is 0 or the example is all zeros."""
    if tau == 0.0 or norm == 0.0:
        return 0 if norm < math.inf else REFUSED
    return moved if tau > 0.0 and tau * tau * norm < math.inf else REFUSED


@njit(**NOGIL)
def out_of_scale(top: Any, link: Any, shift: Any) -> Any:
    """Whether linked weights are about to overflow or underflow; a balanced pair may have the weight 0."""
    return top > LARGE or (top < SMALL and (link == EXP or shift != 0.0))


def decide(
    rule: Any, state: Any, settings: Any, k: Any, x: Any, norm: Any, margin: Any, product: Any, importance: Any
) -> Any:
    """Call the rule for weight vector k; see `loop.decide`."""
    if settings.needs_norm and norm == 0.0:
        norm = squared_norm(x) + settings.bias
    tau = number_of(rule, margin, norm) * importance
    if tau != 0.0 and norm == 0.0 and not settings.needs_norm:
        norm = norm_above(x, state.weights.tally[0].reach - settings.bias) + settings.bias
    return tau, 0.0, norm, verdict(tau, norm, 1)


def decide_together(
    rule: Any, state: Any, settings: Any, x: Any, true: Any, rival: Any, margin: Any, importance: Any
) -> Any:
    """Call the rule for the lead of the true class over its rivals; see `loop.decide_together`."""
    weights = state.weights
    columns, amounts = weights.columns, weights.amounts
    norm, length, moved = 0.0, 0.0, 0
    if settings.needs_norm:
        norm = squared_norm(x) + settings.bias
        moved = share(settings.scheme, weights.scores, true, rival, columns, amounts)
        length = (1.0 - amounts[1]) * norm
    tau = number_of(rule, margin, length) * importance
    if tau != 0.0 and not settings.needs_norm:
        norm = norm_above(x, weights.tally[0].reach - settings.bias) + settings.bias
        moved = share(settings.scheme, weights.scores, true, rival, columns, amounts)
    for c in range(moved):
        amounts[c] *= tau
    return tau, norm, verdict(tau, norm, moved)


def score_of(state: Any, k: Any, product: Any, bias: Any) -> Any:
    """The score of weight vector k from <w, x>."""
    return product + bias


def summed(state: Any, k: Any, product: Any, bias: Any) -> Any:
    """The part of the summed scores of all weight vectors that comes from the last one."""
    return state.weights.tally[0].age * (product + bias)


def objective(state: Any, loss: Any) -> Any:
    """The loss; there is no penalty."""
    return loss


def decay(state: Any) -> Any:
    """Without a penalty the weights do not change by themselves."""
    return False


def add_up(state: Any, x: Any, importance: Any) -> Any:
    """Without a scale there is nothing to add up."""
    return False


def move(
    state: Any, settings: Any, x: Any, norm: Any, age: Any, sign: Any, product: Any, first: Any, second: Any
) -> Any:
    """Update the only weight vector; see `loop.move`."""
    weights = state.weights
    amount, shift = sign * first, weights.tally[0].shift
    add(weights.v, amount, x)
    weights.v_bias[0] += amount * settings.bias
    if weights.u.size > 0:
        add(weights.u, age * amount, x)
        weights.u_bias[0] += age * amount * settings.bias
    if settings.link != IDENTITY:
        top = refresh(weights.w, weights.v, x, settings.link, shift)
        if settings.bias != 0.0:
            top = max(top, refresh(weights.bias, weights.v_bias, ONE, settings.link, shift))
        if out_of_scale(top, settings.link, shift):
            return OUT_OF_SCALE
    return DONE


def move_columns(state: Any, settings: Any, x: Any, norm: Any, age: Any, moved: Any) -> Any:
    """Update several weight vectors; see `loop.move_columns`."""
    weights = state.weights
    columns, amounts, lagged, shift = weights.columns, weights.amounts, weights.lagged, weights.tally[0].shift
    add_columns(weights.v, columns, amounts, moved, x)
    for c in range(moved):
        weights.v_bias[columns[c]] += amounts[c] * settings.bias
    if weights.u.size > 0:
        for c in range(moved):
            lagged[c] = age * amounts[c]
            weights.u_bias[columns[c]] += lagged[c] * settings.bias
        add_columns(weights.u, columns, lagged, moved, x)
    if settings.link != IDENTITY:
        top = refresh_columns(weights.w, weights.v, columns, moved, x, settings.link, shift)
        if settings.bias != 0.0:
            for c in range(moved):
                one = slice(columns[c], columns[c] + 1)
                top = max(top, refresh(weights.bias[one], weights.v_bias[one], ONE, settings.link, shift))
        if out_of_scale(top, settings.link, shift):
            return OUT_OF_SCALE
    return DONE


# ---- weights stored as logarithms ----


@njit(**NOGIL)
def linked(v: Any, link: Any, shift: Any) -> Any:
    """The weight of a logarithm v: exp(v), or exp(v) - exp(-v) for a balanced pair, scaled by exp(-shift)."""
    if link == EXP:
        return math.exp(v - shift)
    return math.exp(v - shift) - math.exp(-v - shift)


@verb(**NOGIL)
def refresh(w: Any, v: Any, x: Any, link: Any, shift: Any) -> Any:
    """w[j] = link(v[j]) for the features j of x; return the largest."""

    def dense(w: Any, v: Any, x: Any, link: Any, shift: Any) -> Any:
        (values,) = x
        top = 0.0
        for j in range(uint64(values.size)):
            if values[j] != 0:
                w[j] = linked(v[j], link, shift)
                top = max(top, abs(np.float64(w[j])))
        return top

    def sparse(w: Any, v: Any, x: Any, link: Any, shift: Any) -> Any:
        indices, _ = x
        top = 0.0
        for k in range(uint64(indices.size)):
            j = unsigned(indices[k])
            w[j] = linked(v[j], link, shift)
            top = max(top, abs(np.float64(w[j])))
        return top

    return dense if is_dense(x) else sparse


@verb(**NOGIL)
def refresh_columns(W: Any, V: Any, columns: Any, count: Any, x: Any, link: Any, shift: Any) -> Any:
    """W[j, k] = link(V[j, k]) for the features j of x and the first `count` columns k; return the largest."""

    def dense(W: Any, V: Any, columns: Any, count: Any, x: Any, link: Any, shift: Any) -> Any:
        (values,) = x
        top = 0.0
        for j in range(uint64(values.size)):
            if values[j] != 0:
                for c in range(uint64(count)):
                    k = uint64(columns[c])
                    W[j, k] = linked(V[j, k], link, shift)
                    top = max(top, abs(np.float64(W[j, k])))
        return top

    def sparse(W: Any, V: Any, columns: Any, count: Any, x: Any, link: Any, shift: Any) -> Any:
        indices, _ = x
        top = 0.0
        for i in range(uint64(indices.size)):
            j = unsigned(indices[i])
            for c in range(uint64(count)):
                k = uint64(columns[c])
                W[j, k] = linked(V[j, k], link, shift)
                top = max(top, abs(np.float64(W[j, k])))
        return top

    return dense if is_dense(x) else sparse
