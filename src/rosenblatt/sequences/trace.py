"""A sentence step by step: the table of Viterbi's algorithm, and the update that it would cause."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .encoding import Vocabulary, encode, feature_name
from .model import SENTENCES, SequenceModel


@dataclasses.dataclass(frozen=True)
class SentenceTrace:
    """What a tagger computes for one sentence.

    Attributes
    ----------
    tokens : list of str
        The tokens.
    classes : list
        The tags.
    emissions : array of shape (n_tokens, n_tags)
        The sum of the weights of the features of each token.
    best : array of shape (n_tokens, n_tags)
        The score of the best sequence up to a token that ends with a tag: the table of Viterbi's algorithm.
    predicted : list
        The best sequence.
    truth : list or None
        The true tags.
    update : list of tuple
        What the perceptron would add to its weights: feature or transition, tag, amount. Empty if the prediction is right.
    """

    tokens: list[str]
    classes: list[Any]
    emissions: NDArray[np.float64]
    best: NDArray[np.float64]
    predicted: list[Any]
    truth: list[Any] | None
    update: list[tuple[str, Any, float]]

    def to_text(self) -> str:
        """The table with a column for each tag, which has the score of the best sequence that ends there, and the update."""
        rows = self._rows()
        widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        lines += [f"{amount:+g}  {tag}: {name}" for name, tag, amount in self.update]
        return "\n".join(lines)

    def to_markdown(self) -> str:
        """The same as a table in Markdown and a list."""
        rows = [[cell.replace("|", "\\|") for cell in row] for row in self._rows()]
        lines = [f"| {' | '.join(row)} |" for row in rows]
        lines.insert(1, "|---" * len(rows[0]) + "|")
        items = [f"- {amount:+g} {tag}: `{name}`" for name, tag, amount in self.update]
        return "\n".join([*lines, *([""] if items else []), *items])

    def _rows(self) -> list[list[str]]:
        truth = [] if self.truth is None else ["true"]
        rows = [["token", *map(str, self.classes), "predicted", *truth]]
        for t, token in enumerate(self.tokens):
            ends = [] if self.truth is None else [str(self.truth[t])]
            rows.append([token, *(f"{score:g}" for score in self.best[t]), str(self.predicted[t]), *ends])
        return rows


def trace_sentence(model: SequenceModel, x: Any, truth: Sequence[Any] | None, average: bool) -> SentenceTrace:
    """Tag one sentence and record the scores; the model does not change."""
    batch, rows = model.known([x])
    predicted = [model.tags[k] for k in model.tag(batch, rows, average).tolist()]
    scores, chain = model.scores(batch, rows, average)
    scale = float(model.counts[SENTENCES]) if average and model.counts[SENTENCES] else 1.0
    best = np.zeros_like(scores)
    for t in range(len(scores)):
        best[t] = (chain[0] if t == 0 else (best[t - 1][:, None] + chain[1:]).max(axis=0)) + scores[t]
    update = [] if truth is None or list(truth) == predicted else _difference(model, x, list(truth), predicted)
    tokens = [token if isinstance(token, str) else " ".join(map(str, token)) for token in x]
    return SentenceTrace(
        tokens,
        list(model.tags),
        scores / scale,
        best / scale,
        predicted,
        None if truth is None else list(truth),
        update,
    )


def _difference(model: SequenceModel, x: Any, truth: list[Any], predicted: list[Any]) -> list[tuple[str, Any, float]]:
    """Φ(x, y) - Φ(x, z), by name."""
    vocabulary = Vocabulary(model.vocabulary.bits)
    batch = encode([x], model.templates, vocabulary, True)
    keys = batch.keys.tolist()
    found: dict[tuple[str, Any], float] = {}
    for tags, sign in ((truth, 1.0), (predicted, -1.0)):
        for t, tag in enumerate(tags):
            place = f"after {tags[t - 1]}" if t else "first token"
            found[place, tag] = found.get((place, tag), 0.0) + sign
            for e in range(int(batch.feature_start[t]), int(batch.feature_start[t + 1])):
                a, b = keys[int(batch.feature[e])]
                name = feature_name((a, b), vocabulary, model.templates)
                value = sign * float(batch.value[e]) if batch.value.size else sign
                found[name, tag] = found.get((name, tag), 0.0) + value
    return [(name, tag, amount) for (name, tag), amount in found.items() if amount]
