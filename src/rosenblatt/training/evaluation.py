"""Evaluation of predictions: accuracy, confusion matrix, ROC."""

import dataclasses
import difflib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.model.calibration import Calibration, Judgement
from rosenblatt.model.scores import predicted_classes

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


def class_labels(estimator: Any) -> list[Any]:
    """The classes of a model, in the order of its scores."""
    return list(estimator.model_.classes) if hasattr(estimator, "model_") else list(estimator._scored_labels())


def scored_batches(estimator: Any, stream: Any) -> Iterator[tuple[Any, Floats]]:
    """Yield the batches of a stream with their scores: one column for two classes, else one for each class."""
    model = getattr(estimator, "model_", None)
    for batch in stream:
        if model is not None:
            yield batch, model.scores(batch.table(model.n_features))
            continue
        table = batch.table(estimator.n_features_in_)
        yield batch, estimator._scores(table.as_scipy() if table.sparse else table.rows)


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
    judgement : Judgement or None
        How good the probabilities are, if the model gives them.
    unseen : dict
        For each column the categories that the model does not know, and how often each occurs.
    calibration : Calibration or None
        What turns scores into probabilities, if the model has it.
    """

    labels: list[Any]
    confusion: Codes
    scores: Floats
    positive: NDArray[np.bool_]
    unlabelled: int = 0
    judgement: Judgement | None = None
    unseen: dict[str, Counter[str]] = dataclasses.field(default_factory=dict)
    calibration: Calibration | None = None

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
    def majority(self) -> float:
        """Accuracy of always predicting the most frequent label."""
        return float(self.confusion.sum(axis=1).max() / self.examples)

    @property
    def per_class(self) -> list[dict[str, Any]]:
        """Precision, recall and F1 of each label, and its number of examples; None where a share of nothing is asked for."""
        right, examples, predicted = np.diag(self.confusion), self.confusion.sum(axis=1), self.confusion.sum(axis=0)
        return [
            {
                "label": label,
                "precision": hits / guesses if guesses else None,
                "recall": hits / many if many else None,
                "f1": 2 * hits / (many + guesses) if many + guesses else None,
                "examples": many,
            }
            for label, hits, many, guesses in zip(
                self.labels, right.tolist(), examples.tolist(), predicted.tolist(), strict=True
            )
        ]

    @property
    def average_precision(self) -> float | None:
        """Area under the precision-recall curve of the second of two classes."""
        if not self.scores.size or not self.positive.any():
            return None
        precision, recall = precision_recall(self.scores, self.positive)
        return float(np.sum(np.diff(recall, prepend=0.0) * precision))

    def thresholds(self, count: int = 9) -> list[dict[str, float]]:
        """Precision and recall of the second of two classes at thresholds of the score, which find equal shares of it.

        `probability` is the one that belongs to the score, for `predict --threshold`, if the model gives probabilities.
        """
        if not self.scores.size or not self.positive.any():
            return []
        precision, recall = precision_recall(self.scores, self.positive)
        values = -np.unique(-self.scores)
        places = sorted({int(np.searchsorted(recall, (k + 1) / (count + 1))) for k in range(count)})
        odds = (
            None if self.calibration is None else self.calibration.probabilities(values[places][:, None])[:, 1].tolist()
        )
        return [
            {"threshold": float(values[k]), "precision": float(precision[k]), "recall": float(recall[k])}
            | ({} if odds is None else {"probability": odds[n]})
            for n, k in enumerate(places)
        ]

    def curves(self, most: int = 200) -> dict[str, dict[str, list[float]]]:
        """The points of the ROC curve and of the precision-recall curve of the second of two classes, at most so many."""
        wrong, right = roc_curve(self.scores, self.positive)
        precision, recall = precision_recall(self.scores, self.positive)
        first, second = _spread(wrong.size, most), _spread(recall.size, most)
        return {
            "roc_curve": {"false_positive_rate": wrong[first].tolist(), "true_positive_rate": right[first].tolist()},
            "pr_curve": {"recall": recall[second].tolist(), "precision": precision[second].tolist()},
        }

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
            "majority": self.majority,
            "per_class": self.per_class,
        }
        if self.roc_auc is not None:
            facts |= {
                "roc_auc": self.roc_auc,
                "average_precision": self.average_precision,
                "thresholds": self.thresholds(),
                **self.curves(),
            }
        if self.judgement is not None:
            facts |= {"log_loss": self.judgement.log_loss, "calibration_error": self.judgement.calibration_error}
        if self.unlabelled:
            facts["unlabelled"] = self.unlabelled
        if self.unseen:
            facts["unseen"] = {column: dict(values.most_common(100)) for column, values in self.unseen.items()}
        return facts

    def to_text(self) -> str:
        """The results as readable text."""
        lines = [
            f"accuracy   {self.accuracy:.2%}, where the most frequent label alone would give {self.majority:.2%}",
            f"mistakes   {self.mistakes:,} of {self.examples:,}",
        ]
        if self.roc_auc is not None:
            lines.append(f"ROC AUC    {self.roc_auc:.4f}")
            lines.append(f"PR AUC     {self.average_precision:.4f} for {self.labels[1]}")
        if self.judgement is not None:
            lines.append(f"log loss   {self.judgement.log_loss:.4f}")
            lines.append(f"calibration error {self.judgement.calibration_error:.4f}")
        if self.unlabelled:
            lines.append(f"unlabelled {self.unlabelled:,}, left out")
        if len(self.labels) <= 30:
            lines += ["", *_matrix(self.labels, self.confusion), "", *_classes(self.per_class)]
        if table := self.thresholds():
            odds = "" if self.calibration is None else f"{'probability':>12}"
            lines += [
                "",
                f"{'score':>12}{odds}{'precision':>11}{'recall':>9}  of {self.labels[1]}, predicted from here on",
            ]
            for row in table:
                odds = f"{row['probability']:>12.4f}" if "probability" in row else ""
                lines.append(f"{row['threshold']:>12.5g}{odds}{row['precision']:>11.2%}{row['recall']:>9.2%}")
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


def _classes(rows: list[dict[str, Any]]) -> list[str]:
    """Precision, recall and F1 as lines."""
    width = max(len("label"), *(len(str(row["label"])) for row in rows))
    lines = [f"{'label':{width}}  {'precision':>9}  {'recall':>7}  {'F1':>7}  {'examples':>9}"]
    for row in rows:
        shares = [f"{row[name]:.2%}" if row[name] is not None else "-" for name in ("precision", "recall", "f1")]
        lines.append(f"{row['label']!s:{width}}  {shares[0]:>9}  {shares[1]:>7}  {shares[2]:>7}  {row['examples']:>9,}")
    return lines


def describe_strangers(labels: list[Any], classes: list[Any]) -> str | None:
    """Warning about labels that are unknown to the model; None if there are none."""
    strangers = labels[len(classes) :]
    if not strangers:
        return None
    names = ", ".join(repr(label) for label in strangers[:5]) + (", …" if len(strangers) > 5 else "")
    known = ", ".join(repr(label) for label in classes[:5]) + (", …" if len(classes) > 5 else "")
    one, many = "the label {} is not a class", "the labels {} are not classes"
    message = (one if len(strangers) == 1 else many).format(names)
    similar = _similar(strangers, classes)
    return (
        f"{message} of the model ({known}), so each example with {'it' if len(strangers) == 1 else 'one of them'} counts as a "
        f"mistake.{similar}"
    )


def _similar(strangers: list[Any], classes: list[Any]) -> str:
    """A question about the first unknown label that resembles a class."""
    names = [label for label in classes if isinstance(label, str)]
    for label in strangers:
        if isinstance(label, str) and (found := difflib.get_close_matches(label, names, 1)):
            return f" Does {label!r} mean {found[0]!r}? Then correct the labels."
    return ""


def describe_unseen(unseen: Mapping[str, Counter[str]]) -> str | None:
    """Warning about categories that are unknown to the model; None if there are none."""
    if not unseen:
        return None
    parts = []
    for column, values in list(unseen.items())[:5]:
        names = ", ".join(repr(value) for value, _ in values.most_common(3)) + (", …" if len(values) > 3 else "")
        parts.append(f"column {column!r} in {values.total():,} rows ({names})")
    more = f" and {len(unseen) - 5:,} more columns" if len(unseen) > 5 else ""
    return f"values that the model has not seen in training have no effect: {'; '.join(parts)}{more}."


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
    calibration: Any = getattr(estimator, "_calibration", None)
    judgement = None if calibration is None else Judgement()
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
        if calibration is not None and judgement is not None and truth.size:
            judgement.add(calibration.probabilities(scores[known]), np.where(truth < len(classes), truth, -1))
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
        judgement, getattr(stream, "unseen", {}), calibration,
    )  # fmt: skip


def _spread(count: int, most: int) -> Codes:
    """Places of at most so many of `count` points, with the first and the last."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(np.int64))


def roc_curve(scores: Floats, positive: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """False and true positive rates at every threshold, from (0, 0) to (1, 1)."""
    order = np.argsort(-scores, kind="stable")
    hits = np.cumsum(positive[order])
    last = np.append(np.flatnonzero(np.diff(scores[order])), scores.size - 1)
    right = hits[last].astype(np.float64)
    wrong = 1.0 + last - right
    return np.append(0.0, wrong) / max(1.0, wrong[-1]), np.append(0.0, right) / max(1.0, right[-1])


def precision_recall(scores: Floats, positive: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Precision and recall of the positive class at every threshold, from the highest score to the lowest."""
    order = np.argsort(-scores, kind="stable")
    hits = np.cumsum(positive[order])
    last = np.append(np.flatnonzero(np.diff(scores[order])), scores.size - 1)
    right = hits[last].astype(np.float64)
    return right / (1.0 + last), right / max(1.0, right[-1])


def roc_auc(scores: Floats, positive: NDArray[np.bool_]) -> float | None:
    """Probability that a positive example scores higher than a negative one, ties counted half; None without both classes."""
    if positive.all() or not positive.any():
        return None
    wrong, right = roc_curve(scores, positive)
    return float(np.trapezoid(right, wrong))
