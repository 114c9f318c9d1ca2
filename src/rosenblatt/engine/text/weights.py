"""Parts of rows that are joined, and the weights of words."""

import math

import numpy as np
from numba import uint64

from rosenblatt.engine.jit import compiled
from rosenblatt.engine.text.columns import FAST, SMALL, sort_large, sort_small, sum_duplicates


@compiled(**FAST)
def tidy_rows(indptr, indices, values, old, old_values, starts):
    """Sort the entries of each row by feature, and sum duplicates.

    `old` and `old_values` have room for the largest row, `starts` for 257 numbers.
    """
    k, begin = uint64(0), uint64(0)
    for row in range(uint64(indptr.size - 1)):
        end = uint64(indptr[row + uint64(1)])
        ordered, highest = True, np.int64(-1)
        for j in range(begin, end):
            ordered &= indices[j] > highest
            highest = np.int64(indices[j])
        if not ordered:
            if end - begin <= uint64(SMALL):
                sort_small(indices, values, begin, end)
            else:
                sort_large(indices, values, begin, end, old, old_values, starts)
        k = end if ordered and k == begin else sum_duplicates(indices, values, begin, end, k)
        begin = end
        indptr[row + uint64(1)] = k


@compiled(**FAST)
def number_rows(numbers, places, indptr, indices, values):
    """Rows, not sorted yet, of a matrix whose columns have these features; missing values and zeros are left out."""
    k, columns = uint64(0), uint64(places.size)
    indptr[0] = 0
    for row in range(uint64(numbers.shape[0])):
        for column in range(columns):
            value = numbers[row, column]
            if value != 0.0 and not np.isnan(value):
                indices[k], values[k] = places[column], value
                k += uint64(1)
        indptr[row + uint64(1)] = k


@compiled(**FAST)
def renumber(indices, numbers):
    """Replace feature numbers by others."""
    for k in range(uint64(indices.size)):
        indices[k] = numbers[uint64(indices[k])]


@compiled(**FAST)
def add_rows(
    one_indptr, one_indices, one_values, two_indptr, two_indices, two_values, indptr, indices, values
):  # fmt: skip
    """The sums of the sorted rows of two tables."""
    k = uint64(0)
    indptr[0] = 0
    for row in range(uint64(indptr.size - 1)):
        a, a_end = uint64(one_indptr[row]), uint64(one_indptr[row + uint64(1)])
        b, b_end = uint64(two_indptr[row]), uint64(two_indptr[row + uint64(1)])
        while a < a_end and b < b_end:
            first, second = one_indices[a], two_indices[b]
            if first < second:
                indices[k], values[k] = first, one_values[a]
                a += uint64(1)
            elif second < first:
                indices[k], values[k] = second, two_values[b]
                b += uint64(1)
            else:
                indices[k], values[k] = first, one_values[a] + two_values[b]
                a += uint64(1)
                b += uint64(1)
            k += uint64(1)
        while a < a_end:
            indices[k], values[k] = one_indices[a], one_values[a]
            a += uint64(1)
            k += uint64(1)
        while b < b_end:
            indices[k], values[k] = two_indices[b], two_values[b]
            b += uint64(1)
            k += uint64(1)
        indptr[row + uint64(1)] = k


@compiled(**FAST)
def count_documents(indptr, indices, documents, found):
    """Count the rows, and for each feature the rows that have it."""
    for row in range(uint64(indptr.size - 1)):
        documents[0] += 1
        for k in range(uint64(indptr[row]), uint64(indptr[row + uint64(1)])):
            found[uint64(indices[k])] += 1


@compiled(**FAST)
def weigh_words(indptr, indices, values, documents, found, learn):
    """Replace the counts of words by 1 + log(count), and scale each row to length 1.

    If `found` is not empty, it has for each feature the number of documents, among `documents[0]`, that have it; the weights are
    multiplied by 1 + log((1 + documents) / (1 + found)). With `learn` each row is counted before it is weighed.
    """
    rare = found.size > 0
    for row in range(uint64(indptr.size - 1)):
        begin, end = uint64(indptr[row]), uint64(indptr[row + uint64(1)])
        if learn and rare:
            documents[0] += 1
            for k in range(begin, end):
                found[uint64(indices[k])] += 1
        total, all_documents = 0.0, 1.0 + documents[0]
        for k in range(begin, end):
            value = values[k]
            if value > 1.0:
                value = 1.0 + math.log(value)
            if rare:
                value *= 1.0 + math.log(all_documents / (1.0 + found[uint64(indices[k])]))
            total += value * value
            values[k] = value
        if total > 0.0:
            length = math.sqrt(total)
            for k in range(begin, end):
                values[k] /= length
