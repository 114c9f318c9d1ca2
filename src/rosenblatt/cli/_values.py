"""What the values of features say before training: that one of them dominates, or that they are counts of words."""

from typing import Any

import numpy as np

LARGE = 100.0
"""A larger value, and one that many times larger than usual, dominates the score."""

SEEN = 200_000
"""The number of values by which is judged whether they are counts."""

SPARSE, FEW, MOST = 0.02, 1000, 10_000
"""Values are counts of words only if rows have at most this share of the features, of at least so many, and none is larger."""


def warning_of_large(table: Any, encoder: Any) -> str | None:
    """A warning about the feature with the largest value, if it dominates the score."""
    if encoder.family == "table":
        return _large_column(table, encoder)
    values = table.rows.values
    if (
        encoder.word_weights != "counts"
        or max(values.max(initial=0.0), -values.min(initial=0.0)) <= LARGE
        or _are_counts(table)
    ):
        return None
    reach = np.zeros(table.shape[1])
    np.maximum.at(reach, table.rows.indices, np.abs(values))
    feature = int(reach.argmax())
    largest, others = float(reach[feature]), np.delete(reach, feature)
    usual = float(np.median(others[others > 0])) if others.any() else 1.0
    if largest <= LARGE * max(1.0, usual):
        return None
    advice = "Give -a arow, which suffers less from it"
    if values.min() >= 0:
        advice = "Give --words log, which takes logarithms and scales each row, or -a arow, which suffers less from it"
    return (
        f"feature {encoder.feature_name(feature)!r} has values of up to {largest:.3g}, where those of others reach {usual:.3g}, "
        f"and large values dominate the score. {advice}; or leave the feature out of the file."
    )


def _large_column(table: Any, encoder: Any) -> str | None:
    if not encoder.number_columns or encoder.moments is not None:
        return None
    values = np.abs(table.rows.values if table.sparse else table.rows)
    if not values.size or values.max() <= LARGE:
        return None
    place = int(values.argmax())
    column = int(table.rows.indices[place]) if table.sparse else place % values.shape[1]
    name = encoder.feature_name(column).partition("=")[0]
    return (
        f"column {name!r} has values of up to {values.flat[place]:.3g}, and large values dominate the score. Leave out "
        f"--no-standardize, or the column: --types {name}=ignore."
    )


def hint_of_counts(table: Any, encoder: Any) -> str | None:
    """A hint for svmlight and VW text whose values seem to be counts of words."""
    if encoder.family == "table" or encoder.word_weights != "counts" or not _are_counts(table):
        return None
    return "The values look like counts of words. --words tfidf, which weights them, often predicts better."


def _are_counts(table: Any) -> bool:
    values, (rows, features) = table.rows.values[:SEEN], table.shape
    return bool(
        features >= FEW
        and table.rows.values.size <= SPARSE * rows * features
        and values.size
        and values.min() >= 1.0
        and table.rows.values.max() <= MOST
        and np.median(values) <= 2.0 < values.max()
        and np.all(values == np.floor(values))
    )
