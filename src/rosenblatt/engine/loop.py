"""The training loop of all rules: predict an example, compare with its label, update.

A rule returns only the size of a step. `additive`, `scaled` and `second_order` call the rules of their kind and apply the steps;
everything else is here. `two_classes` has one weight vector, `many_classes` one for each class; `committee` has its own loop. A
pass visits the rows of X in the given `order`. It can return early and continue later (``counters.position``); its return code is
the reason.

The functions at the end are called from Python. They take the address of the record of a run (`state.RUN`), and its weights.
"""

import functools
import math
from typing import Any

import numpy as np
from numba import carray, njit, uint64

from . import additive, committee, penalized, scaled, second_order
from .conventions import ONE_VS_REST
from .entries import Passes
from .jit import ENTRY, LOOP, NOGIL, VERB, compiled, named, verb
from .readouts import settle_tie, top_rival
from .rows import dot, dot_and_fetch, dots, fetch, fetch_numbers, row, rows_ahead, sparse_example
from .simd import as_row, pointer
from .state import (
    BAD_VALUE,
    COUNTERS,
    DONE,
    LOG_FULL,
    REFUSED,
    RUN,
    RUN_REACHED,
    Additive,
    Asked,
    Committee,
    Diagonal,
    Full,
    Penalized,
    Penalties,
    Scaled,
    Scales,
    Settings,
    State,
    Variances,
    kind_of,
)

ALL_NOTED = 1024
"""So many examples are noted one by one before `is_noted` leaves some out."""

_CODE = {
    Additive: (additive,),
    Penalized: (penalized, additive),
    Scaled: (scaled, additive),
    Committee: (scaled, additive),
    Diagonal: (second_order, additive),
    Full: (second_order, additive),
}
"""For each kind the modules of its functions; the first that has a function gives it."""


def _of(state: Any, name: str) -> Any:
    return next(found for module in _CODE[kind_of(state)] if (found := getattr(module, name, None)) is not None)


# ---- functions that differ between the kinds of rules ----


@verb(**VERB)
def decide(
    rule: Any, state: Any, settings: Any, k: Any, x: Any, norm: Any, margin: Any, product: Any, importance: Any
) -> Any:
    """Call the rule for weight vector k; `product` is its score times the sign of the label.

    Return the two numbers of a step, ‖x‖² if it was needed, and the number of vectors to update: 1, 0 if the example needs no
    update, or `REFUSED` if the result of the rule is invalid. No weights are changed here. `norm` is 0, or the value returned by
    an earlier call for the same example.
    """
    return _of(state, "decide")


@verb(**VERB)
def decide_together(
    rule: Any, state: Any, settings: Any, x: Any, true: Any, rival: Any, margin: Any, importance: Any
) -> Any:
    """Call the rule for the lead of the true class over its rivals.

    Write the classes to update to `columns` of the state, and the two numbers of each step to `amounts` and `lagged`. Return the
    size of the step, ‖x‖², and the number of classes to update, as `decide`.
    """
    return _of(state, "decide_together")


@verb(**VERB)
def move(
    state: Any, settings: Any, x: Any, norm: Any, age: Any, sign: Any, product: Any, first: Any, second: Any
) -> Any:
    """Update the only weight vector; return `DONE`, or the reason why the pass must return."""
    return _of(state, "move")


@verb(**VERB)
def move_columns(state: Any, settings: Any, x: Any, norm: Any, age: Any, moved: Any) -> Any:
    """Update several weight vectors by the steps stored by `decide` or `decide_together`; return the same as `move`."""
    return _of(state, "move_columns")


@verb(**VERB)
def score_of(state: Any, k: Any, product: Any, bias: Any) -> Any:
    """The score of weight vector k, from the inner product of the stored weights with the example and the bias."""
    return _of(state, "score_of")


@verb(**VERB)
def summed(state: Any, k: Any, product: Any, bias: Any) -> Any:
    """The sum of the scores of all vectors k of the run, from the same and before what `u` takes off."""
    return _of(state, "summed")


@verb(**VERB)
def objective(state: Any, loss: Any) -> Any:
    """The loss of an example with the penalties of the present weights."""
    return _of(state, "objective")


@verb(**VERB)
def decay(state: Any) -> Any:
    """Change the weights as every example does, before its own update; return whether their stored values have changed."""
    return _of(state, "decay")


@verb(**VERB)
def add_up(state: Any, x: Any, importance: Any) -> Any:
    """End an example: what must be added up or taken off after it; return whether the stored weights have changed."""
    return _of(state, "add_up")


# ---- scores before learning ----


@njit(**NOGIL)
def is_noted(number: Any) -> Any:
    """Whether the scores of this example are noted: all of the first, then one of eight, in an order without a period."""
    return number < ALL_NOTED or (number * 40503) & 65535 < 8192  # the golden ratio, and an eighth, times 2^16


@njit(**NOGIL)
def place_of_next(weights: Any, label: Any) -> Any:
    """Count an example; return the place for its scores, or -1 if they are not noted."""
    number, place = weights.past_counts[0], -1
    weights.past_counts[0] = number + 1
    if is_noted(number):
        place = weights.past_counts[1] % weights.past_labels.size
        weights.past_labels[place] = label
        weights.past_counts[1] += 1
    return place


@verb(**VERB)
def note_scores(state: Any, X: Any, order: Any, t: Any, label: Any) -> Any:
    """Note the scores that the readout gives to row order[t], which is not learned yet, and its label.

    `scores` of the state has those of the last weights. Scores of an average cost as much as learning; so not all are noted.
    """

    def of_two(state: Any, X: Any, order: Any, t: Any, label: Any) -> None:
        weights = state.weights
        place = place_of_next(weights, label)
        if place >= 0:
            score, age = weights.scores[0], weights.tally[0].age
            if weights.u.size > 0 and age > 0.0:
                x = row(X, order[t])
                lag = np.float64(dot(weights.u, x)) + weights.u_bias[0]
                total = summed(state, uint64(0), np.float64(dot(weights.w, x)), weights.bias[0])
                score = (total - lag) / age
            weights.past_scores[place, 0] = score

    def of_many(state: Any, X: Any, order: Any, t: Any, label: Any) -> None:
        weights = state.weights
        place = place_of_next(weights, label)
        if place >= 0:
            age = weights.tally[0].age
            if weights.u.size > 0 and age > 0.0:
                one = order[: t + 1]  # only the first row of `tile` is written, which the loop does not need any more
                dots(weights.u, X, one, t, weights.tile)
                for k in range(uint64(weights.bias.size)):
                    weights.past_scores[place, k] = np.float64(weights.tile[0, k]) + weights.u_bias[k]
                dots(weights.w, X, one, t, weights.tile)
                for k in range(uint64(weights.bias.size)):
                    total = summed(state, k, np.float64(weights.tile[0, k]), weights.bias[k])
                    weights.past_scores[place, k] = (total - weights.past_scores[place, k]) / age
            else:
                for k in range(uint64(weights.bias.size)):
                    weights.past_scores[place, k] = weights.scores[k]

    def of_last(state: Any, X: Any, order: Any, t: Any, label: Any) -> None:
        weights = state.weights
        place = place_of_next(weights, label)
        if place >= 0:
            for k in range(uint64(weights.bias.size)):
                weights.past_scores[place, k] = weights.scores[k]

    if width_of_weights(state) < 8:  # the sums of an average have 8 bytes, and `dot` takes numbers of one type
        return of_last
    return of_two if dimensions(state) == 1 else of_many


# ---- the loops ----


@njit(**VERB)
def shortfall(target: Any, margin: Any) -> Any:
    """The loss max(0, target - margin); an infinite target counts as 0."""
    return max(0.0, (target if target < math.inf else 0.0) - margin)


def two_classes(rule: Any, state: Any, settings: Any, X: Any, y: Any, weight: Any, order: Any) -> Any:
    """One weight vector; y holds 0 for the negative class and 1 for the positive one, or the bits of real targets.

    A regression is the same loop with another margin, -|target - score|: an example whose margin is at least -epsilon is
    skipped, the loss is what the margin lacks, and the step goes towards the target. The rule gets the loss for the margin.
    """
    weights, targets = state.weights, y.view(np.float64)
    counters = weights.tally[0]
    # Local variables stay in registers; fields would cost a load and a store per example.
    age, loss, score = counters.age, counters.loss, weights.scores[0]
    examples, mistakes, run, goal = counters.examples, counters.mistakes, counters.run, counters.goal
    result = DONE
    ahead = rows_ahead(X)
    t = counters.position
    while t < order.size:
        if weights.log_rows.size > 0 and counters.logged == weights.log_rows.size:
            result = LOG_FULL
            break
        i = order[t]
        x = row(X, i)
        fetch_numbers(y, weight, order, t, ahead)
        product = np.float64(dot_and_fetch(weights.w, x, X, order, t, ahead))
        score = score_of(state, uint64(0), product, weights.bias[0])
        if not math.isfinite(score):
            result = BAD_VALUE
            break
        importance = weight[i] if weight.size > 0 else 1.0
        if importance == 0.0:
            t += 1
            continue
        if settings.regression:
            sign = 1.0 if targets[i] > score else -1.0
            margin = -abs(targets[i] - score)
            asked = settings.target - margin
            wrong = asked > 0.0
        else:
            sign = 1.0 if y[i] == 1 else -1.0
            margin = settle_tie(sign * score, y[i] == 1, settings.on_zero)
            asked, wrong = margin, margin <= 0.0

        first, second, norm, moved = 0.0, 0.0, 0.0, 0
        if margin <= settings.target:
            first, second, norm, moved = decide(
                rule, state, settings, uint64(0), x, norm, asked, sign * score, importance
            )
            if moved == REFUSED:
                result = BAD_VALUE
                break
        if weights.past_labels.size > 0:
            counters.age, weights.scores[0] = age, score
            note_scores(state, X, order, t, y[i])
        examples += 1
        loss += importance * objective(state, shortfall(settings.target, margin))
        if wrong:
            mistakes += 1
        t += 1
        decay(state)
        if moved == 0:
            age += importance
            add_up(state, x, importance)
            run += 1
            if run == goal:
                result = RUN_REACHED
                break
            continue

        result = move(state, settings, x, norm, age, sign, sign * score, first, second)
        if weights.log_rows.size > 0:
            entry = counters.logged
            weights.log_rows[entry] = i
            weights.log_ages[entry] = age
            weights.log_steps[entry, 0] = sign * first
            counters.logged += 1
        age += importance
        add_up(state, x, importance)
        run = 0
        counters.updates += 1
        counters.steps += abs(first)
        counters.reach = max(counters.reach, norm)
        if result != DONE:
            break
    counters.age, counters.loss, weights.scores[0] = age, loss, score
    counters.examples, counters.mistakes, counters.run, counters.goal = examples, mistakes, run, goal
    counters.position = t
    return result


def many_classes(rule: Any, state: Any, settings: Any, X: Any, y: Any, weight: Any, order: Any) -> Any:
    """One weight vector for each class; y holds the number of the class."""
    weights = state.weights
    counters, scores, tile = weights.tally[0], weights.scores, weights.tile
    columns, amounts, lagged = weights.columns, weights.amounts, weights.lagged
    result = DONE
    ahead = rows_ahead(X)
    t = counters.position
    while t < order.size and result == DONE:
        fetch_numbers(y, weight, order, t, ahead)
        fetch(X, order, t, ahead)
        scored = dots(weights.w, X, order, t, tile)
        for r in range(scored):
            if weights.log_rows.size > 0 and counters.logged == weights.log_rows.size:
                result = LOG_FULL
                break
            i = order[t]
            true = uint64(y[i])
            check = 0.0
            for k in range(uint64(scores.size)):
                scores[k] = score_of(state, k, np.float64(tile[r, k]), weights.bias[k])
                check += scores[k] * 0.0
            if check != 0.0:
                result = BAD_VALUE
                break
            importance = weight[i] if weight.size > 0 else 1.0
            if importance == 0.0:
                t += 1
                continue
            x = row(X, i)
            rival = top_rival(scores, true)
            margin = settle_tie(scores[true] - scores[rival], true < rival, settings.on_zero)

            loss, longest, norm, moved = 0.0, 0.0, 0.0, 0
            if settings.scheme == ONE_VS_REST:
                for k in range(uint64(scores.size)):
                    sign = 1.0 if k == true else -1.0
                    product = sign * scores[k]
                    own = settle_tie(product, k == true, settings.on_zero)
                    loss += shortfall(settings.target, own)
                    if own <= settings.target and moved != REFUSED:
                        first, second, norm, one = decide(rule, state, settings, k, x, norm, own, product, importance)
                        if one == REFUSED:
                            moved = REFUSED
                        elif one == 1:
                            columns[moved], amounts[moved], lagged[moved] = k, sign * first, second
                            longest = max(longest, abs(first))
                            moved += 1
            else:
                loss = shortfall(settings.target, margin)
                if margin <= settings.target:
                    longest, norm, moved = decide_together(rule, state, settings, x, true, rival, margin, importance)
            if moved == REFUSED:
                result = BAD_VALUE
                break
            if weights.past_labels.size > 0:
                note_scores(state, X, order, t, y[i])
            age = counters.age
            counters.age += importance
            counters.examples += 1
            counters.loss += importance * objective(state, loss)
            if margin <= 0.0:
                counters.mistakes += 1
            t += 1
            changed = decay(state)
            if moved == 0:
                changed |= add_up(state, x, importance)
                counters.run += 1
                if counters.run == counters.goal:
                    result = RUN_REACHED
                    break
                if changed:
                    break
                continue

            result = move_columns(state, settings, x, norm, age, moved)
            if weights.log_rows.size > 0:
                entry = counters.logged
                weights.log_rows[entry] = i
                weights.log_ages[entry] = age
                weights.log_steps[entry, :] = 0.0
                for c in range(moved):
                    weights.log_steps[entry, columns[c]] = amounts[c]
                counters.logged += 1
            add_up(state, x, importance)
            counters.run = 0
            counters.updates += 1
            counters.steps += longest
            counters.reach = max(counters.reach, norm)
            break  # the weights have changed: score the next rows again
    counters.position = t
    return result


@verb(**LOOP)
def learn(rule: Any, state: Any, settings: Any, X: Any, y: Any, weight: Any, order: Any) -> Any:
    """Learn rows of X; return the reason for returning."""
    if kind_of(state) is Committee:
        return committee.many_classes
    return two_classes if dimensions(state) == 1 else many_classes


def dimensions(state: Any) -> int:
    """1 for one weight vector, 2 for several; takes a state and its Numba type."""
    if hasattr(state, "instance_class"):
        weights = state.types[0]
        return int(weights.types[weights.fields.index("w")].ndim)
    return int(state.weights.w.ndim)


def width_of_weights(state: Any) -> int:
    """The number of bytes of a weight; takes a state and its Numba type."""
    if hasattr(state, "instance_class"):
        weights = state.types[0]
        return int(weights.types[weights.fields.index("w")].dtype.bitwidth) // 8
    return int(state.weights.w.dtype.itemsize)


@verb(**NOGIL)
def guess_by_average(state: Any, X: Any, order: Any, t: Any, guesses: Any) -> Any:
    """guesses[t] = the class of row order[t] predicted by the average so far."""

    def two(state: Any, X: Any, order: Any, t: Any, guesses: Any) -> None:
        weights = state.weights
        x = row(X, order[t])
        lag = np.float64(dot(weights.u, x)) + weights.u_bias[0]
        score = summed(state, uint64(0), np.float64(dot(weights.w, x)), weights.bias[0]) - lag
        guesses[t] = 1 if score >= 0.0 else 0

    def many(state: Any, X: Any, order: Any, t: Any, guesses: Any) -> None:
        weights = state.weights
        best, top = uint64(0), -math.inf
        dots(weights.u, X, order[: t + 1], t, weights.tile)
        for k in range(uint64(weights.bias.size)):
            weights.lagged[k] = np.float64(weights.tile[0, k]) + weights.u_bias[k]
        dots(weights.w, X, order[: t + 1], t, weights.tile)
        for k in range(uint64(weights.bias.size)):
            score = summed(state, k, np.float64(weights.tile[0, k]), weights.bias[k]) - weights.lagged[k]
            if score > top:
                best, top = k, score
        guesses[t] = best

    return two if dimensions(state) == 1 else many


# ---- the record of a run: named tuples of arrays from the addresses and shapes in it ----


@njit(**NOGIL)
def floats(entry: Any) -> Any:
    """A vector of float64."""
    return carray(pointer(entry.address), (entry.rows,), np.float64)


@njit(**NOGIL)
def integers(entry: Any) -> Any:
    """A vector of int64."""
    return carray(pointer(entry.address), (entry.rows,), np.int64)


@njit(**NOGIL)
def matrix(entry: Any, dtype: Any) -> Any:
    """A matrix."""
    return carray(pointer(entry.address), (entry.rows, entry.columns), dtype)


@verb(**NOGIL)
def weights_like(entry: Any, w: Any, dtype: Any) -> Any:
    """An array with the number of dimensions of `w`."""

    def one(entry: Any, w: Any, dtype: Any) -> Any:
        return carray(pointer(entry.address), (entry.rows,), dtype)

    def many(entry: Any, w: Any, dtype: Any) -> Any:
        return matrix(entry, dtype)

    return one if w.ndim == 1 else many


@njit(**NOGIL)
def records(address: Any, dtype: Any) -> Any:
    """An array with the one record at an address; a returned record would be a copy."""
    return carray(pointer(address), (1,), dtype)


@njit(**NOGIL)
def weights_of(run: Any, w: Any) -> Any:
    """The arrays that every run has."""
    return State(
        w, floats(run.bias), weights_like(run.v, w, w.dtype), floats(run.v_bias),
        weights_like(run.u, w, np.float64), floats(run.u_bias), records(run.tally.address, COUNTERS),
        floats(run.scores), integers(run.log_rows), floats(run.log_ages), matrix(run.log_steps, np.float64),
        matrix(run.tile, w.dtype), integers(run.columns), floats(run.amounts), floats(run.lagged),
        matrix(run.past_scores, np.float64), integers(run.past_labels), integers(run.past_counts),
    )  # fmt: skip


@njit(**NOGIL)
def scales_of(run: Any) -> Any:
    """The extra arrays of `Scales`."""
    return Scales(floats(run.scale), floats(run.square), floats(run.steps), floats(run.total))


@njit(**NOGIL)
def penalties_of(run: Any, w: Any) -> Any:
    """The extra arrays of `Penalties`."""
    return Penalties(
        floats(run.scale), floats(run.square), floats(run.absolute), floats(run.total), floats(run.owed),
        weights_like(run.paid, w, np.float64), floats(run.rates),
    )  # fmt: skip


@verb(**NOGIL)
def state_of(run: Any, w: Any, kind: Any) -> Any:
    """The state of a run of the given kind."""

    def additive(run: Any, w: Any, kind: Any) -> Any:
        return Additive(weights_of(run, w))

    def penalized(run: Any, w: Any, kind: Any) -> Any:
        return Penalized(weights_of(run, w), penalties_of(run, w))

    def scaled(run: Any, w: Any, kind: Any) -> Any:
        return Scaled(weights_of(run, w), scales_of(run))

    def diagonal(run: Any, w: Any, kind: Any) -> Any:
        scratch = carray(pointer(run.scratch.address), (0, 0), np.float64)
        return Diagonal(
            weights_of(run, w), Variances(weights_like(run.sigma, w, np.float64), floats(run.sigma_bias), scratch)
        )

    def full(run: Any, w: Any, kind: Any) -> Any:
        size = run.sigma.columns
        sigma = carray(pointer(run.sigma.address), (run.sigma.rows // size, size, size), np.float64)
        return Full(weights_of(run, w), Variances(sigma, floats(run.sigma_bias), matrix(run.scratch, np.float64)))

    def committee(run: Any, w: Any, kind: Any) -> Any:
        return Committee(weights_of(run, w), scales_of(run), floats(run.own))

    made = {
        Additive: additive, Penalized: penalized, Scaled: scaled, Diagonal: diagonal, Full: full, Committee: committee,
    }  # fmt: skip
    return made[kind_of(kind)]


@njit(**NOGIL)
def unpack(address: Any, w: Any, kind: Any) -> Any:
    """The rule of a run, its state of the given kind, and its settings, from the address of its record."""
    run = records(address, RUN)[0]
    numbers = run.settings
    settings = Settings(
        numbers.target, numbers.bias, numbers.on_zero, numbers.scheme, numbers.link, numbers.needs_norm, numbers.regression
    )  # fmt: skip
    return Asked(run.step, floats(run.params)), state_of(run, w, kind), settings


# ---- one pass, one example, for any kind ----


@compiled(**ENTRY)
def learn_rows(kind: Any, run: Any, w: Any, X: Any, y: Any, weight: Any, order: Any) -> Any:
    """Learn rows of X in the given order; return the reason for returning."""
    rule, state, settings = unpack(run, w, kind)
    return learn(rule, state, settings, X, y, weight, order)


@njit(**NOGIL)
def one_example(run: Any, label: Any, importance: Any) -> Any:
    """Label, weight and order of a pass over a single row."""
    fields = records(run, RUN)[0]
    y, weight, order = integers(fields.label), floats(fields.weight), integers(fields.order)
    y[0], weight[0], order[0] = label, importance, 0
    records(fields.tally.address, COUNTERS)[0].position = 0
    return y, weight, order


@njit(**NOGIL)
def guess_or_reason(reason: Any, run: Any) -> Any:
    """The class predicted by the scores of the last example, or a negative reason if it was not fully learned."""
    if reason != DONE:
        return -reason
    scores = floats(records(run, RUN)[0].scores)
    if scores.size == 1:
        return 1 if scores[0] >= 0.0 else 0
    best = 0
    for k in range(1, scores.size):
        if scores[k] > scores[best]:
            best = k
    return best


@compiled(**ENTRY)
def learn_sparse(
    kind: Any, run: Any, w: Any, indices: Any, values: Any, count: Any, label: Any, importance: Any
) -> Any:
    """Learn one sparse example by the addresses of its entries; return its predicted class, or a negative reason."""
    y, weight, order = one_example(run, label, importance)
    x = sparse_example(w, indices, values, count)
    return guess_or_reason(learn_rows(kind, run, w, x, y, weight, order), run)


# ---- functions called from Python ----


@functools.cache
def passes_of(kind: Any) -> Passes:
    """Make the functions of a kind; they are compiled on their first call, for the types of that call.

    Passing the kind as an argument from Python would cost some microseconds per example.
    """

    @compiled(**ENTRY)
    @named(f"{kind.__name__}_rows")
    def rows(run: Any, w: Any, X: Any, y: Any, weight: Any, order: Any) -> Any:
        return learn_rows(kind, run, w, X, y, weight, order)

    @compiled(**ENTRY)
    @named(f"{kind.__name__}_averaged")
    def averaged(run: Any, w: Any, X: Any, y: Any, weight: Any, order: Any, guesses: Any) -> Any:
        rule, state, settings = unpack(run, w, kind)
        for t in range(order.size):  # one pass per example
            guess_by_average(state, X, order, t, guesses)
            state.weights.tally[0].position = t
            reason = learn(rule, state, settings, X, y, weight, order[: t + 1])
            if reason != DONE:
                return reason
        return DONE

    @compiled(**ENTRY)
    @named(f"{kind.__name__}_dense")
    def dense(run: Any, w: Any, x: Any, label: Any, importance: Any) -> Any:
        y, weight, order = one_example(run, label, importance)
        return guess_or_reason(learn_rows(kind, run, w, as_row(x), y, weight, order), run)

    @compiled(**ENTRY)
    @named(f"{kind.__name__}_sparse")
    def sparse(run: Any, w: Any, indices: Any, values: Any, count: Any, label: Any, importance: Any) -> Any:
        return learn_sparse(kind, run, w, indices, values, count, label, importance)

    @compiled(**ENTRY)
    @named(f"{kind.__name__}_records")
    def records(run: Any, w: Any, columns: Any, counts: Any, values: Any, labels: Any, guesses: Any) -> Any:
        for t in range(labels.size):
            guesses[t] = learn_sparse(kind, run, w, columns[t], values, counts[t], labels[t], 1.0)
            values += w.itemsize * counts[t]
            if guesses[t] < 0:
                return t
        return labels.size

    return Passes(rows, averaged, dense, sparse, records)
