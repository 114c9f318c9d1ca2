"""The weights of a chain of tags, which learns sentences one after the other."""

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.engine.conventions import Chain
from rosenblatt.engine.state import Diagonal
from rosenblatt.engine.steps import kind_of_step, step_address

from .encoding import (
    Batch,
    Keys,
    KeyTable,
    Numbers,
    Vocabulary,
    encode,
    feature_name,
    keys_of,
    number_of_strings,
    parts_of,
)
from .templates import Templates

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

ROWS, TAGS, SENTENCES, MISTAKES, UPDATES, WRONG = range(6)
RADIUS, STEPS, GROWTH = range(3)
_LANES = 8
_NO_ROWS = np.zeros(0, np.int32)


class SequenceModel:
    """A first-order chain: a weight for each pair of a feature and a tag, and for each pair of neighbouring tags.

    Parameters
    ----------
    step : callable
        The step function of a rule, such as ``step(margin, sq_norm, ...)``. Its margin is that of the whole sequence, plus 1,
        minus the number of wrong tags: a rule with the target 1 demands a margin of one for each wrong tag.
    params : tuple of float
        Its hyperparameters.
    templates : Templates or None
        What the features of a token are; None if the user gives them.
    bits : int, default=None
        Hash the features to numbers of so many bits; None keeps their strings.

    Attributes
    ----------
    tags : list
        The tags in the order of their first appearance; a sequence of tags has their numbers.
    w, u : array of shape (rows, n_tags or more)
        The weights, and the sum of all changes times the number of sentences before: the average of n sentences is w - u / n.
    sigma : array
        The variances of a second-order rule.
    counts : array
        Numbers of rows, tags, sentences, mistakes, updates and wrong tags.
    sums : array
        The largest squared length of a difference of features that caused an update; the sums of the steps τ, and of τ² times the
        squared length.
    """

    def __init__(
        self, step: Callable[..., Any], params: tuple[float, ...], templates: Templates | None, bits: int | None = None
    ) -> None:
        self.step, self.params, self.templates = step, params, templates
        self.vocabulary = Vocabulary(bits)
        self.tags: list[Any] = []
        self.number: dict[Any, int] = {}
        self.table = KeyTable(256)
        self.previous = np.zeros(_LANES + 1, np.int32)
        self.w, self.u = np.zeros((256, _LANES)), np.zeros((256, _LANES))
        self.sigma = np.ones((256 if self.second_order else 0, _LANES))
        self.counts, self.sums = np.zeros(6, np.int64), np.zeros(3)
        self.counts[ROWS] = 1
        self.table.counts = self.counts[:1]
        self._averaged: tuple[int, Floats] | None = None
        self._mark = np.zeros(256, np.int32)

    @functools.cached_property
    def second_order(self) -> bool:
        """Whether the rule keeps variances."""
        return kind_of_step(self.step) is Diagonal

    # ---- room ----

    def reserve(self, rows: int, tags: int) -> None:
        """Make room for so many rows and tags."""
        width = max(self.w.shape[1], -(-tags // _LANES) * _LANES)
        room = self.w.shape[0] if rows <= self.w.shape[0] else max(rows, 2 * self.w.shape[0])
        if (room, width) != self.w.shape:
            for name, fill in (("w", 0.0), ("u", 0.0), ("sigma", 1.0)):
                old = getattr(self, name)
                made = np.full((room if old.size or name != "sigma" else 0, width), fill)
                made[: old.shape[0], : old.shape[1]] = old
                setattr(self, name, made)
            self._mark = np.zeros(room, np.int32)
        if width + 1 > self.previous.size:
            self.previous = np.concatenate([self.previous, np.zeros(width + 1 - self.previous.size, np.int32)])
        self.table.reserve(room)

    def codes(self, sequences: Iterable[Any]) -> Numbers:
        """The numbers of tags; new tags get numbers in their order."""
        found = []
        number = self.number
        for tag in sequences:
            code = number.get(tag, -1)
            if code < 0:
                code = number[tag] = len(self.tags)
                self.tags.append(tag)
            found.append(code)
        self.reserve(0, len(self.tags))
        return np.array(found, dtype=np.int32)

    def _forget_new_tags(self) -> None:
        """Remove the tags that no learned sentence has."""
        for tag in self.tags[self.counts[TAGS] :]:
            del self.number[tag]
        del self.tags[self.counts[TAGS] :]

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a copy; the number of rows is shared with the table."""
        self.__dict__.update(state)
        self.table.counts = self.counts[:1]

    def _work(self, batch: Batch) -> tuple[Floats, Floats, Floats]:
        width = self.w.shape[1]
        return (
            np.empty((batch.longest, width)),
            np.empty((batch.longest, width)),
            np.empty((max(width, self.previous.size) + 1, width)),
        )

    # ---- learning ----

    def encode(self, X: Any) -> Batch:
        """Sentences to learn."""
        return encode(X, self.templates, self.vocabulary, True)

    def rows(self, keys: NDArray[np.uint64]) -> Numbers:
        """The rows of features, 0 for those without one."""
        from rosenblatt.engine.entries import find_rows

        found = np.empty(keys.shape[0], np.int32)
        find_rows(self.table.slots, self.table.keys, keys, keys.shape[0], found)
        return found

    def translated(self, keys: Keys, vocabulary: Vocabulary) -> Keys:
        """The keys of another model or batch with the numbers of this model's strings, which are added."""
        codes, parts = parts_of(keys)
        named = np.arange(3) < number_of_strings(codes, self.templates)[:, None]
        parts[named] = self.vocabulary.numbers_of(vocabulary)[parts[named]]
        return keys_of(codes, parts)

    def made_rows(self, keys: Keys) -> Numbers:
        """The rows of features, whose first key is unused; those without a row get one."""
        found = self.rows(keys)
        new = np.flatnonzero(found == 0)[1:]
        first = int(self.counts[ROWS])
        self.reserve(first + new.size, len(self.tags))
        found[new] = np.arange(first, first + new.size)
        self.table.keys[first : first + new.size] = keys[new]
        self.counts[ROWS] += new.size
        self.table.fill()
        codes, parts = parts_of(keys)
        chained = np.flatnonzero(codes == Chain.TRANSITION)
        self.previous[parts[chained, 0]] = found[chained]
        return found

    def learn(self, batch: Batch, truth: Numbers, order: Integers, rows: Numbers | None = None) -> Numbers:
        """Learn sentences in this order; return the numbers of the tags that were predicted before, -1 for no tag.

        Parameters
        ----------
        batch : Batch
            The sentences.
        truth : array
            The number of the tag of each token.
        order : array
            The numbers of the sentences.
        rows : array, default=None
            What `rows` gave for the keys of the batch; it is updated.
        """
        from rosenblatt.engine.entries import learn_sentences

        rows = self.rows(batch.keys) if rows is None else rows
        guesses = np.full(truth.size, -1, np.int32)
        rule = step_address(self.step), np.array(self.params, dtype=np.float64), self.second_order
        features = batch.feature_start, batch.feature, batch.value, rows
        most = min(batch.most_features, batch.keys.shape[0]) + self.previous.size + 1
        touched, delta = np.empty(most + 1, np.int32), np.zeros((most + 1, self.w.shape[1]))
        work = self._work(batch)
        self._averaged = None
        place = 0
        while place < order.size:
            place = learn_sentences(
                (self.w, self.u, self.sigma), (self.table.slots, self.table.keys, self.previous), self.counts, self.sums, rule,
                batch.starts, features, batch.keys, truth, order, place, guesses, work, (self._mark, touched, delta),
            )  # fmt: skip
            if place < 0:
                self._forget_new_tags()
                raise ValueError(
                    f"The values of the features must not be so large that sums overflow; got such a sentence, number "
                    f"{int(order[-place - 1])}. Scale the values. Earlier sentences were learned."
                )
            if place < order.size:
                self.reserve(int(self.counts[ROWS]) + most + self.w.shape[1] + 1, 0)
        return guesses

    # ---- predicting ----

    def matrix(self, average: bool) -> tuple[tuple[Floats, Floats], float]:
        """The weights as the engine takes them: w and u, and the factor of w where the average is computed on the way."""
        if not average or not self.counts[SENTENCES]:
            return (self.w, self.w), 0.0
        if self._averaged is not None and self._averaged[0] == self.counts[SENTENCES]:
            return (self._averaged[1], self._averaged[1]), 0.0
        return (self.w, self.u), float(self.counts[SENTENCES])

    def average(self) -> None:
        """Compute the averaged weights, which makes later predictions faster and changes none of them."""
        if self._averaged is None or self._averaged[0] != self.counts[SENTENCES]:
            self._averaged = int(self.counts[SENTENCES]), float(self.counts[SENTENCES]) * self.w - self.u

    def weights(self, average: bool) -> Floats:
        """The weights of all rows and tags."""
        rows, tags = int(self.counts[ROWS]), int(self.counts[TAGS])
        w = self.w[:rows, :tags]
        return w - self.u[:rows, :tags] / self.counts[SENTENCES] if average and self.counts[SENTENCES] else w.copy()

    def known(self, X: Any) -> tuple[Batch, Numbers]:
        """Sentences to tag, and the rows of their features, none if their features are rows."""
        if self.templates is not None:
            return encode(X, self.templates, self.vocabulary, False, self.table), _NO_ROWS
        batch = encode(X, None, self.vocabulary, False)
        return batch, self.rows(batch.keys)

    def tag(self, batch: Batch, rows: Numbers, average: bool) -> Numbers:
        """The numbers of the best tags of all tokens."""
        from rosenblatt.engine.entries import tag_sentences

        guesses = np.full(batch.starts[-1], -1, np.int32)
        if average and batch.feature.size > self.w.shape[0]:
            self.average()
        matrix, scale = self.matrix(average)
        features = batch.feature_start, batch.feature, batch.value, rows
        tags = int(self.counts[TAGS])
        tag_sentences(matrix, scale, tags, self.previous, batch.starts, features, guesses, self._work(batch))
        return guesses

    def scores(self, batch: Batch, rows: Numbers, average: bool) -> tuple[Floats, Floats]:
        """The scores of all tags for each token of one sentence, and those of the transitions, with the start in row 0.

        Those of the average are multiplied by the number of sentences.
        """
        from rosenblatt.engine.entries import score_tokens

        matrix, scale = self.matrix(average)
        work = self._work(batch)
        features = batch.feature_start, batch.feature, batch.value, rows
        tags = int(self.counts[TAGS])
        score_tokens(matrix, scale, tags, self.previous, features, int(batch.starts[-1]), work)
        return work[0][:, :tags], work[2][: tags + 1, :tags]

    def margins(self, batch: Batch, truth: Numbers, average: bool = False) -> Floats:
        """The score of each true sequence minus the highest score of all others."""
        from rosenblatt.engine.entries import sentence_margins

        margins = np.empty(len(batch))
        matrix, scale = self.matrix(average)
        features = batch.feature_start, batch.feature, batch.value, self.rows(batch.keys)
        sentence_margins(
            matrix,
            scale,
            int(self.counts[TAGS]),
            self.previous,
            batch.starts,
            features,
            truth,
            margins,
            self._work(batch),
        )
        return margins

    # ---- inspecting ----

    def transitions(self, average: bool) -> Floats:
        """The weights of the transitions; row 0 is the start of a sentence, row k + 1 the tag of number k."""
        return self.weights(average)[self.previous[: self.counts[TAGS] + 1]]

    def names(self) -> Sequence[str | None]:
        """The name of the feature of each row; None for rows of transitions and row 0."""
        keys = self.table.keys[: self.counts[ROWS]].tolist()
        return [
            None if a == 0 or a >> 32 == Chain.TRANSITION else feature_name((a, b), self.vocabulary, self.templates)
            for a, b in keys
        ]
