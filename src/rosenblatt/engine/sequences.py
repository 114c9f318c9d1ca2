"""Sequences of tags: the best sequence by Viterbi's algorithm, and updates by the difference of two sequences.

The weights are rows of a matrix, one for each feature that has been updated, with a column for each tag. A transition is a
feature, too: "the previous tag is f"; row ``previous[f + 1]`` has its weights, and ``previous[0]`` those of the first token.
Row 0 is zero and stands for all features without a row.

The score of a sequence is added up from the first token to the last: for each token the weight of the transition, then the sum of
the weights of its features in their order. Of tags with the same score the one with the smaller number wins, from the last token
back to the first.
"""

import math

import numpy as np
from numba import njit, uint64

from rosenblatt.engine.codegen import number_of, pair_of
from rosenblatt.engine.conventions import Chain
from rosenblatt.engine.jit import NOGIL, VERB, compiled
from rosenblatt.engine.state import Asked
from rosenblatt.engine.text.columns import mix

TRANSITION = Chain.TRANSITION
ROWS, TAGS, SENTENCES, MISTAKES, UPDATES, WRONG = range(6)
RADIUS, STEPS, GROWTH = range(3)
_LOW = uint64(0xFFFFFFFF)
_HIGH = uint64(32)


@njit(**VERB)
def slot_of_key(slots, keys, a, b):
    """The slot of a key of two numbers, or an empty slot for it. A slot has 32 bits of the hash, and the number of the key."""
    mask = uint64(slots.size - 1)
    h = mix(a ^ mix(b))
    slot, tag = h & mask, h >> _HIGH
    while slots[slot] != uint64(0):
        if slots[slot] >> _HIGH == tag:
            number = slots[slot] & _LOW
            if keys[number, uint64(0)] == a and keys[number, uint64(1)] == b:
                return slot
        slot = (slot + uint64(1)) & mask
    return slot


@njit(**VERB)
def add_key(slots, keys, slot, number, a, b):
    """Put a key into an empty slot."""
    slots[slot] = mix(a ^ mix(b)) >> _HIGH << _HIGH | uint64(number)
    keys[uint64(number), uint64(0)], keys[uint64(number), uint64(1)] = a, b


@compiled(error_model="numpy")
def fill_slots(slots, keys, count):
    """Fill an empty table with the keys 1 … count - 1."""
    for number in range(uint64(1), uint64(count)):
        a, b = keys[number, uint64(0)], keys[number, uint64(1)]
        add_key(slots, keys, slot_of_key(slots, keys, a, b), number, a, b)


@compiled(error_model="numpy")
def find_rows(slots, keys, wanted, count, rows):
    """The numbers of the keys 1 … count - 1 of `wanted`, 0 where they are unknown."""
    rows[uint64(0)] = 0
    for k in range(uint64(1), uint64(count)):
        slot = slot_of_key(slots, keys, wanted[k, uint64(0)], wanted[k, uint64(1)])
        rows[k] = slots[slot] & _LOW


@njit(**NOGIL, error_model="numpy")
def _add_scores(w, u, scale, batch, first, count, tags, previous, emission, chain):
    """The scores of each tag for each token, and the matrix of transitions; the average is ``scale * w - u`` if scale > 0."""
    feature_start, feature, value, row_of = batch
    width = uint64(w.shape[1])
    for f in range(uint64(tags + 1)):
        r = uint64(previous[f])
        for y in range(width):
            chain[f, y] = w[r, y]
        if scale > 0.0:
            for y in range(width):
                chain[f, y] = scale * w[r, y] - u[r, y]
    given = row_of.size > 0
    plain = value.size == 0
    one, two, three, four = uint64(1), uint64(2), uint64(3), uint64(4)
    for t in range(uint64(count)):
        for y in range(width):
            emission[t, y] = 0.0
        at = uint64(first) + t
        e, end = uint64(feature_start[at]), uint64(feature_start[at + one])
        if plain and scale <= 0.0:  # four rows at once: their sum stays in a register, added up in the same order
            while e + four <= end:
                a, b, c, d = (
                    uint64(feature[e]), uint64(feature[e + one]), uint64(feature[e + two]), uint64(feature[e + three])
                )  # fmt: skip
                if given:
                    a, b, c, d = uint64(row_of[a]), uint64(row_of[b]), uint64(row_of[c]), uint64(row_of[d])
                for y in range(width):
                    emission[t, y] = emission[t, y] + w[a, y] + w[b, y] + w[c, y] + w[d, y]
                e += four
        while e < end:
            r = uint64(row_of[uint64(feature[e])]) if given else uint64(feature[e])
            v = 1.0 if plain else value[e]
            if r == uint64(0):
                pass
            elif scale <= 0.0:
                for y in range(width):
                    emission[t, y] += v * w[r, y]
            else:
                for y in range(width):
                    emission[t, y] += v * (scale * w[r, y] - u[r, y])
            e += one


@njit(**NOGIL, error_model="numpy")
def _best(count, tags, width, emission, chain, alpha, first, guesses):
    """Viterbi's algorithm; back pointers are not kept but found again, so that the inner loop has no branches."""
    count, tags, width = uint64(count), uint64(tags), uint64(width)
    one = uint64(1)
    if tags == uint64(0):
        for t in range(count):
            guesses[uint64(first) + t] = -1
        return
    for y in range(width):
        alpha[uint64(0), y] = chain[uint64(0), y] + emission[uint64(0), y]
    for t in range(one, count):
        before = alpha[t - one, uint64(0)]
        for y in range(width):
            alpha[t, y] = before + chain[one, y]
        f = one
        while f + uint64(4) <= tags:  # four tags at once, so that fewer maxima go through memory
            a, b = alpha[t - one, f], alpha[t - one, f + one]
            c, d = alpha[t - one, f + uint64(2)], alpha[t - one, f + uint64(3)]
            for y in range(width):
                p, q = a + chain[f + one, y], b + chain[f + uint64(2), y]
                r, s = c + chain[f + uint64(3), y], d + chain[f + uint64(4), y]
                p, r = max(p, q), max(r, s)
                alpha[t, y] = max(alpha[t, y], p, r)
            f += uint64(4)
        while f < tags:
            before = alpha[t - one, f]
            for y in range(width):
                reached = before + chain[f + one, y]
                alpha[t, y] = max(alpha[t, y], reached)
            f += one
        for y in range(width):
            alpha[t, y] += emission[t, y]
    tag, top = uint64(0), alpha[count - one, uint64(0)]
    for y in range(one, tags):
        if alpha[count - one, y] > top:
            tag, top = y, alpha[count - one, y]
    t = count - one
    guesses[uint64(first) + t] = tag
    while t > uint64(0):
        t -= one
        top, found = alpha[t, uint64(0)] + chain[one, tag], uint64(0)
        for f in range(one, tags):
            reached = alpha[t, f] + chain[f + one, tag]
            if reached > top:
                top, found = reached, f
        tag = found
        guesses[uint64(first) + t] = tag


@compiled(error_model="numpy")
def tag_sentences(matrix, scale, tags, previous, starts, batch, guesses, work):
    """The best sequence of tags of each sentence. `batch` has rows in place of features if it has no table of rows."""
    w, u = matrix
    emission, alpha, chain = work
    for i in range(uint64(starts.size - 1)):
        first, count = starts[i], starts[i + uint64(1)] - starts[i]
        if count > 0:
            _add_scores(w, u, scale, batch, first, count, tags, previous, emission, chain)
            _best(count, tags, w.shape[1], emission, chain, alpha, first, guesses)


@compiled(error_model="numpy")
def score_tokens(matrix, scale, tags, previous, batch, count, work):
    """Write the scores of each tag for each token of one sentence, and the transitions, to `work`."""
    w, u = matrix
    emission, _, chain = work
    _add_scores(w, u, scale, batch, 0, count, tags, previous, emission, chain)


@compiled(error_model="numpy")
def sentence_margins(matrix, scale, tags, previous, starts, batch, truth, margins, work):
    """The score of the true sequence of each sentence minus the highest score of all other sequences."""
    w, u = matrix
    emission, alpha, chain = work
    one = uint64(1)
    for i in range(uint64(starts.size - 1)):
        first, count = uint64(starts[i]), uint64(starts[i + one]) - uint64(starts[i])
        margins[i] = math.inf
        if count == uint64(0):
            continue
        _add_scores(w, u, scale, batch, first, count, tags, previous, emission, chain)
        right = uint64(truth[first])
        same = chain[uint64(0), right] + emission[uint64(0), right]
        for y in range(uint64(tags)):
            alpha[uint64(0), y] = chain[uint64(0), y] + emission[uint64(0), y] if y != right else -math.inf
        for t in range(one, count):
            before, right = right, uint64(truth[first + t])
            for y in range(uint64(tags)):
                best = same + chain[before + one, y] if y != right else -math.inf
                for f in range(uint64(tags)):
                    best = max(best, alpha[t - one, f] + chain[f + one, y])
                alpha[t, y] = best + emission[t, y]
            same = same + chain[before + one, right] + emission[t, right]
        other = -math.inf
        for y in range(uint64(tags)):
            other = max(other, alpha[count - one, y])
        margins[i] = same - other


@njit(**VERB)
def _place(mark, touched, used, row):
    """The place of a row in the difference of two sequences."""
    place = uint64(mark[row])
    if place == uint64(0):
        place = uint64(used) + uint64(1)
        mark[row] = place
        touched[place] = row
    return place


@njit(**VERB)
def _transition_row(slots, keys, previous, counts, f):
    """The row of the transitions from a tag; it is made if there is none."""
    row = uint64(previous[f])
    if row == uint64(0):
        row = uint64(counts[uint64(ROWS)])
        counts[uint64(ROWS)] += 1
        a = uint64(TRANSITION) << _HIGH | f
        add_key(slots, keys, slot_of_key(slots, keys, a, uint64(0)), row, a, uint64(0))
        previous[f] = row
    return row


@njit(**NOGIL, error_model="numpy")
def _difference(index, counts, batch, wanted, first, count, truth, guesses, mark, touched, delta):
    """Features of the true sequence minus those of the guess; the number of rows that it has. Rows are made as needed."""
    slots, keys, previous = index
    feature_start, feature, value, row_of = batch
    used = uint64(0)
    one = uint64(1)
    for t in range(uint64(count)):
        at = uint64(first) + t
        right, guess = uint64(truth[at]), guesses[at]
        before = uint64(truth[at - one] + 1) if t else uint64(0)
        before_guess = guesses[at - one] + 1 if t else 0
        if guess != truth[at] or (t and before_guess != np.int64(before)):
            place = _place(mark, touched, used, _transition_row(slots, keys, previous, counts, before))
            used = max(used, place)
            delta[place, right] += 1.0
            if guess >= 0:
                row = _transition_row(slots, keys, previous, counts, uint64(before_guess))
                place = _place(mark, touched, used, row)
                used = max(used, place)
                delta[place, uint64(guess)] -= 1.0
        if guess == truth[at]:
            continue
        for e in range(uint64(feature_start[at]), uint64(feature_start[at + one])):
            number = uint64(feature[e])
            row = uint64(row_of[number])
            if row == uint64(0):
                a, b = wanted[number, uint64(0)], wanted[number, one]
                slot = slot_of_key(slots, keys, a, b)
                if slots[slot] == uint64(0):
                    add_key(slots, keys, slot, counts[uint64(ROWS)], a, b)
                    counts[uint64(ROWS)] += 1
                row = slots[slot] & _LOW
                row_of[number] = row
            v = value[e] if value.size else 1.0
            place = _place(mark, touched, used, row)
            used = max(used, place)
            delta[place, right] += v
            if guess >= 0:
                delta[place, uint64(guess)] -= v
    return used


@njit(**NOGIL, error_model="numpy")
def _length(delta, touched, used, sigma, second, lanes):
    """‖Δ‖², or ΔᵀΣΔ of a second-order rule: added up for each tag from the first row to the last, then over the tags."""
    one, width = uint64(1), uint64(delta.shape[1])
    for y in range(width):
        lanes[uint64(0), y] = 0.0
    for place in range(one, uint64(used) + one):
        if second:
            row = uint64(touched[place])
            for y in range(width):
                lanes[uint64(0), y] += sigma[row, y] * (delta[place, y] * delta[place, y])
        else:
            for y in range(width):
                lanes[uint64(0), y] += delta[place, y] * delta[place, y]
    total = 0.0
    for y in range(width):
        total += lanes[uint64(0), y]
    return total


@njit(**NOGIL, error_model="numpy")
def _margin(count, first, truth, guesses, emission, chain):
    """The score of the true sequence minus that of the guess."""
    one = uint64(1)
    ours, theirs = 0.0, 0.0
    before, before_guess = uint64(0), uint64(0)
    for t in range(uint64(count)):
        right, guess = uint64(truth[uint64(first) + t]), uint64(guesses[uint64(first) + t])
        ours = ours + chain[before, right] + emission[t, right]
        theirs = theirs + chain[before_guess, guess] + emission[t, guess]
        before, before_guess = right + one, guess + one
    return ours - theirs


@compiled(error_model="numpy")
def learn_sentences(
    weights, index, counts, sums, rule, starts, batch, wanted, truth, order, begin, guesses, work, scratch
):  # fmt: skip
    """Learn sentences in this order, from the one in place `begin` on.

    Return the place of the first sentence that was not learned, because the arrays need more room or, as a negative number,
    because the numbers became too large; the length of the order if all were learned.
    """
    w, u, sigma = weights
    slots, _, previous = index
    address, params, second = rule
    emission, alpha, chain = work
    mark, touched, delta = scratch
    one, width = uint64(1), uint64(w.shape[1])
    feature_start = batch[0]
    for place in range(uint64(begin), uint64(order.size)):
        i = uint64(order[place])
        first, count = uint64(starts[i]), uint64(starts[i + one]) - uint64(starts[i])
        if count == uint64(0):
            continue
        features = feature_start[first + count] - feature_start[first]
        most = counts[uint64(ROWS)] + min(features, wanted.shape[0]) + w.shape[1] + 1
        if most > w.shape[0] or 2 * most > slots.size:
            return np.int64(place)
        tags = counts[uint64(TAGS)]
        _add_scores(w, u, 0.0, batch, first, count, tags, previous, emission, chain)
        _best(count, tags, width, emission, chain, alpha, first, guesses)
        wrong, highest = 0, tags
        for t in range(first, first + count):
            wrong += 1 if guesses[t] != truth[t] else 0
            highest = max(highest, truth[t] + 1)
        if wrong > 0:
            if tags > 0:  # a tag that is new has no transitions yet
                for f in range(uint64(tags) + one, uint64(highest) + one):
                    for y in range(width):
                        chain[f, y] = 0.0
                margin = min(0.0, _margin(count, first, truth, guesses, emission, chain))  # rounding may lift it
            else:
                margin = 0.0
            used = _difference(index, counts, batch, wanted, first, count, truth, guesses, mark, touched, delta)
            length = _length(delta, touched, used, sigma, False, chain)
            spread = _length(delta, touched, used, sigma, True, chain) if second else length
            step, shrink = 0.0, 0.0
            asked = Asked(address, params)
            if second:
                step, shrink = pair_of(asked, margin + (1.0 - wrong), spread, 1.0, 0.0, 0.0)
            elif length > 0.0:
                step = number_of(asked, margin + (1.0 - wrong), length)
            sound = step * step * spread < math.inf and shrink >= 0.0 and length < math.inf and abs(margin) < math.inf
            age = float(counts[uint64(SENTENCES)])
            if not sound:
                step = 0.0
            for k in range(one, used + one):
                row = uint64(touched[k])
                mark[row] = 0
                if second and sound:
                    for y in range(width):
                        along = sigma[row, y] * delta[k, y]
                        w[row, y] += step * along
                        u[row, y] += age * (step * along)
                        sigma[row, y] = max(0.0, sigma[row, y] - shrink * (along * along))
                        delta[k, y] = 0.0
                else:
                    for y in range(width):
                        moved = step * delta[k, y]
                        w[row, y] += moved
                        u[row, y] += age * moved
                        delta[k, y] = 0.0
            if not sound:
                return -np.int64(place) - 1
            counts[uint64(MISTAKES)] += 1
            counts[uint64(WRONG)] += wrong
            if step != 0.0:
                counts[uint64(UPDATES)] += 1
                sums[uint64(RADIUS)] = max(sums[uint64(RADIUS)], length)
                sums[uint64(STEPS)] += step
                sums[uint64(GROWTH)] += step * step * length
        counts[uint64(TAGS)] = highest
        counts[uint64(SENTENCES)] += 1
    return np.int64(order.size)
