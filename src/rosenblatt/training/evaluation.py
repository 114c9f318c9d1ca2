"""Evaluation of predictions: accuracy, confusion matrix, ROC."""

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.model.scores import predicted_classes

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


def class_labels(estimator: Any) -> list[Any]:
    """The classes of a model, in the order of its scores."""
    return list(estimator.model_.classes) if hasattr(estimator, "model_") else estimator.classes_.tolist()


def scored_batches(estimator: Any, stream: Any) -> Iterator[tuple[Any, Floats]]:
    """Yield the batches of a stream with their scores: one column for two classes, else one for each class."""
    model = getattr(estimator, "model_", None)
    for batch in stream:
        if model is not None:
            yield batch, model.scores(batch.table(model.n_features))
            continue
        table = batch.table(estimator.n_features_in_)
        scores = estimator.decision_function(table.as_scipy() if table.sparse else table.rows)
        yield batch, scores[:, None] if scores.ndim == 1 else scores


@dataclasses.dataclass
class Evaluation:
    """Results of predicting labelled examples.

    Attributes
    ----------
    labels : list
        The classes of the model, then labels that are unknown to it.
    confusion : array
        Confusion matrix: labels in rows, predictions in columns, in the order of `labels`.
    scores, positive : array
        For two classes the score of every example and whether it has the second label; empty otherwise.
    unlabelled : int
        Number of examples without a label; they are ignored.
    """

    labels: list[Any]
    confusion: Codes
    scores: Floats
    positive: NDArray[np.bool_]
    unlabelled: int = 0

    @property
    def examples(self) -> int:
        """Number of examples with a label."""
        return int(self.confusion.sum())

    @property
    def mistakes(self) -> int:
        """Number of wrong predictions."""
        return self.examples - int(np.trace(self.confusion))

    @property
    def accuracy(self) -> float:
        """Share of correct predictions."""
        return 1.0 - self.mistakes / self.examples

    @property
    def roc_auc(self) -> float | None:
        """Area under the ROC curve for two classes; None if it is not defined."""
        return roc_auc(self.scores, self.positive) if self.scores.size else None

    def to_json(self) -> dict[str, Any]:
        """The results as JSON-compatible values."""
        facts: dict[str, Any] = {
            "accuracy": self.accuracy,
            "mistakes": self.mistakes,
            "examples": self.examples,
            "labels": self.labels,
            "confusion": self.confusion.tolist(),
        }
        if self.roc_auc is not None:
            facts["roc_auc"] = self.roc_auc
        if self.unlabelled:
            facts["unlabelled"] = self.unlabelled
        return facts

    def to_text(self) -> str:
        """The results as readable text."""
        lines = [f"accuracy   {self.accuracy:.2%}", f"mistakes   {self.mistakes:,} of {self.examples:,}"]
        if self.roc_auc is not None:
            lines.append(f"ROC AUC    {self.roc_auc:.4f}")
        if self.unlabelled:
            lines.append(f"unlabelled {self.unlabelled:,}, left out")
        if len(self.labels) <= 30:
            lines += ["", *_matrix(self.labels, self.confusion)]
        return "\n".join(lines)


def _matrix(labels: list[Any], confusion: Codes) -> list[str]:
    words = [str(label) for label in labels]
    first = max(len("label"), *map(len, words))
    widths = [max(len(word), len(f"{column.max():,}")) for word, column in zip(words, confusion.T, strict=True)]
    lines = [
        f"{'':{first}}  predicted",
        "  ".join([f"{'label':{first}}", *(f"{w:>{n}}" for w, n in zip(words, widths, strict=True))]),
    ]
    for word, row in zip(words, confusion.tolist(), strict=True):
        lines.append("  ".join([f"{word:{first}}", *(f"{count:>{n},}" for count, n in zip(row, widths, strict=True))]))
    return lines


def describe_strangers(labels: list[Any], classes: list[Any]) -> str | None:
    """Warning about labels that are unknown to the model; None if there are none."""
    strangers = labels[len(classes) :]
    if not strangers:
        return None
    names = ", ".join(repr(label) for label in strangers[:5]) + (", …" if len(strangers) > 5 else "")
    known = ", ".join(repr(label) for label in classes[:5]) + (", …" if len(classes) > 5 else "")
    return f"the label {names} is not a class of the model ({known}), so each example with it counts as a mistake."


def evaluate_stream(
    estimator: Any, stream: Any, on_batch: Any = None, chosen: Callable[[int, int], Any] | None = None
) -> Evaluation:
    """Predict a labelled stream and evaluate the predictions.

    `chosen(first, count)` says which of the examples from number `first` on are used; all by default.
    """
    classes = class_labels(estimator)
    labels = list(classes)
    number = {label: place for place, label in enumerate(labels)}
    places = np.zeros(0, np.int64)
    counts = np.zeros((len(labels), len(classes)), np.int64)
    kept: list[Floats] = []
    positive: list[NDArray[np.bool_]] = []
    unlabelled = first = 0
    for batch, scores in scored_batches(estimator, stream):
        for label in stream.labels[places.size :]:
            if label not in number:
                number[label] = len(labels)
                labels.append(label)
            places = np.append(places, number[label])
        if len(labels) > len(counts):
            counts = np.vstack([counts, np.zeros((len(labels) - len(counts), len(classes)), np.int64)])
        known = batch.codes >= 0
        if chosen is not None:
            wanted = chosen(first, batch.size)
            unlabelled -= int((~known & ~wanted).sum())
            first += batch.size
        unlabelled += int((~known).sum())
        if chosen is not None:
            known &= wanted
        truth, guess = places[batch.codes[known]], predicted_classes(scores[known], len(classes))
        np.add.at(counts, (truth, guess), 1)
        if len(classes) == 2:
            kept.append(scores[known, 0])
            positive.append(truth == 1)
        if on_batch is not None:
            on_batch()
    confusion = np.zeros((len(labels), len(labels)), np.int64)
    confusion[:, : len(classes)] = counts
    two = len(labels) == len(classes) == 2 and bool(kept)
    return Evaluation(
        labels, confusion,
        np.concatenate(kept) if two else np.zeros(0), np.concatenate(positive) if two else np.zeros(0, bool), unlabelled,
    )  # fmt: skip


def roc_curve(scores: Floats, positive: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """False and true positive rates at every threshold, from (0, 0) to (1, 1)."""
    order = np.argsort(-scores, kind="stable")
    hits = np.cumsum(positive[order])
    last = np.append(np.flatnonzero(np.diff(scores[order])), scores.size - 1)
    right = hits[last].astype(np.float64)
    wrong = 1.0 + last - right
    return np.append(0.0, wrong) / max(1.0, wrong[-1]), np.append(0.0, right) / max(1.0, right[-1])


def roc_auc(scores: Floats, positive: NDArray[np.bool_]) -> float | None:
    """Probability that a positive example scores higher than a negative one, ties counted half; None without both classes."""
    if positive.all() or not positive.any():
        return None
    wrong, right = roc_curve(scores, positive)
    return float(np.trapezoid(right, wrong))
