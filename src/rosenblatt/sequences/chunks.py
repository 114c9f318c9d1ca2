"""Chunks in sequences of tags such as B-NP, I-NP and O, and their precision, recall and F1 as the scorer of CoNLL counts them."""

import dataclasses
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

Chunk = tuple[str, int, int]
_BEGINS, _ENDS = {"B", "S"}, {"E", "S"}
_LETTERS = {"B", "I", "O", "E", "S"}


_NO_TYPE = "_"


def _split(tag: str) -> tuple[str, str]:
    letter, _, kind = tag.partition("-")
    return letter, kind or _NO_TYPE


def _of_chunk(tag: Any) -> bool:
    """Whether a tag is O, or a letter of BIO or BIOES, alone or with a hyphen and a type."""
    return isinstance(tag, str) and _split(tag)[0] in _LETTERS and not tag.endswith("-")


def has_chunks(tags: Iterable[Any]) -> bool:
    """Whether all tags are O or a letter of BIO or BIOES, alone or with a hyphen and a type, and not all are O."""
    tags = list(tags)
    return all(map(_of_chunk, tags)) and any(tag != "O" for tag in tags)


def odd_tag(tags: Iterable[Any]) -> Any:
    """The first tag, in order, that is not of a chunk if another one has a letter and a type, so that most are; else None."""
    tags = sorted(map(str, tags))
    begins = any(tag.startswith("B-") and _of_chunk(tag) for tag in tags)
    return next((tag for tag in tags if not _of_chunk(tag)), None) if begins else None


def chunks(tags: Sequence[str]) -> list[Chunk]:
    """The chunks of a sentence: type, first token, last token. A chunk may also begin with I, as in the scorer of CoNLL."""
    found: list[Chunk] = []
    begun, before, kind_before = 0, "O", ""
    for place, tag in enumerate([*tags, "O"]):
        letter, kind = _split(tag)
        inside = before != "O"
        if inside and (before in _ENDS or letter in _BEGINS or letter == "O" or kind != kind_before):
            found.append((kind_before, begun, place - 1))
        if letter != "O" and (letter in _BEGINS or before in _ENDS or before == "O" or kind != kind_before):
            begun = place
        before, kind_before = letter, kind
    return found


@dataclasses.dataclass
class Counts:
    """Numbers of chunks: true ones, predicted ones, and those that are both."""

    true: int = 0
    predicted: int = 0
    right: int = 0

    @property
    def precision(self) -> float:
        """The share of the predicted chunks that are true; 0 without any."""
        return self.right / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """The share of the true chunks that are predicted; 0 without any."""
        return self.right / self.true if self.true else 0.0

    @property
    def f1(self) -> float:
        """Twice the right ones over the sum of the true and the predicted ones."""
        return 2 * self.right / (self.true + self.predicted) if self.true + self.predicted else 0.0

    def to_json(self) -> dict[str, float]:
        """The counts and shares as plain values."""
        return {**dataclasses.asdict(self), "precision": self.precision, "recall": self.recall, "f1": self.f1}


@dataclasses.dataclass
class TagReport:
    """Comparison of predicted with true tags.

    Attributes
    ----------
    sentences, tokens, right : int
        Numbers of sentences, of tokens and of tokens with the right tag.
    whole : int
        The number of sentences with all tags right.
    by_type : dict
        The chunks by their type, `_` for tags without one; empty if the tags are not of chunks.
    odd : str or None
        The tag for which there are no counts of chunks although other tags are of chunks.
    """

    sentences: int
    tokens: int
    right: int
    whole: int
    by_type: dict[str, Counts]
    odd: str | None = None

    @property
    def accuracy(self) -> float:
        """The share of tokens with the right tag."""
        return self.right / self.tokens if self.tokens else float("nan")

    @property
    def overall(self) -> Counts:
        """The chunks of all types."""
        parts = self.by_type.values()
        return Counts(sum(c.true for c in parts), sum(c.predicted for c in parts), sum(c.right for c in parts))

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        facts: dict[str, Any] = {
            "sentences": self.sentences,
            "tokens": self.tokens,
            "accuracy": self.accuracy,
            "mistakes": self.tokens - self.right,
            "whole_sentences": self.whole,
        }
        if self.by_type:
            facts |= {"chunks": self.overall.to_json(), "types": {k: v.to_json() for k, v in self.by_type.items()}}
        if self.odd is not None:
            facts["note"] = self._note()
        return facts

    def _note(self) -> str:
        return (
            "No precision, recall and F1: the tags of chunks must be O, or B, I, E or S with a type, such as B-NP; got "
            f"{self.odd!r}. Correct this tag in the data, or leave its sentences out."
        )

    def to_text(self) -> str:
        """A table."""
        lines = [
            f"sentences  {self.sentences:,}, {self.whole:,} of them without a mistake",
            f"tokens     {self.tokens:,}",
            f"accuracy   {self.accuracy:.2%}",
        ]
        if self.by_type:
            width = max(7, *(len(kind) for kind in self.by_type))
            lines += ["", f"{'chunks':<{width}}  {'precision':>9}  {'recall':>7}  {'F1':>7}  {'number':>7}"]
            for kind, counts in [*self.by_type.items(), ("overall", self.overall)]:
                shares = f"{counts.precision:>9.2%}  {counts.recall:>7.2%}  {counts.f1:>7.2%}"
                lines.append(f"{kind:<{width}}  {shares}  {counts.true:>7,}")
        if self.odd is not None:
            lines += ["", self._note()]
        return "\n".join(lines)


def compare(truth: Sequence[Sequence[Any]], guesses: Sequence[Sequence[Any]]) -> TagReport:
    """Compare the predicted with the true tags of sentences."""
    right = [sum(a == b for a, b in zip(t, g, strict=True)) for t, g in zip(truth, guesses, strict=True)]
    tokens = sum(map(len, truth))
    whole = sum(r == len(t) for r, t in zip(right, truth, strict=True))
    by_type: dict[str, Counts] = {}
    distinct = {tag for tags in truth for tag in tags} | {tag for tags in guesses for tag in tags}
    if has_chunks(distinct):
        true: Counter[str] = Counter()
        predicted: Counter[str] = Counter()
        both: Counter[str] = Counter()
        for tags, guess in zip(truth, guesses, strict=True):
            ours, theirs = set(chunks(tags)), set(chunks(guess))
            true.update(kind for kind, _, _ in ours)
            predicted.update(kind for kind, _, _ in theirs)
            both.update(kind for kind, _, _ in ours & theirs)
        by_type = {kind: Counts(true[kind], predicted[kind], both[kind]) for kind in sorted(true | predicted)}
    return TagReport(len(truth), tokens, sum(right), whole, by_type, None if by_type else odd_tag(distinct))
