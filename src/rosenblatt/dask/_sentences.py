"""Taggers on a cluster: each shard runs one epoch from the common weights, then the weights are mixed.

This is iterative parameter mixing (McDonald, Hall and Mann 2010, Distributed Training Strategies for the Structured Perceptron).
A shard numbers strings and features for itself. Models and changes travel as in model files, where features are named, so nothing
has to be agreed on but the order of the tags.
"""

import bisect
import contextlib
import dataclasses
import functools
import itertools
import math
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rosenblatt.data.conll import count_lines, next_sentence, read_sentences
from rosenblatt.data.errors import BadData
from rosenblatt.data.sources import Opened, expand
from rosenblatt.engine.steps import step_source
from rosenblatt.model.matrix import writable
from rosenblatt.model_file import save
from rosenblatt.model_file.sequences import Values, sequence_from_values, sequence_values
from rosenblatt.sequences.encoding import Batch, Numbers, Vocabulary, checked_tags, encode
from rosenblatt.sequences.model import (
    GROWTH,
    MISTAKES,
    RADIUS,
    SENTENCES,
    STEPS,
    TAGS,
    UPDATES,
    WRONG,
    Floats,
    Integers,
    SequenceModel,
)
from rosenblatt.sequences.templates import parse
from rosenblatt.training.history import Epoch, History, ShardedEpoch
from rosenblatt.training.loop import run_epochs
from rosenblatt.training.schedule import Schedule, VisitingOrder, stopping_when
from rosenblatt.training.sequences import SequencePasses

from ._awaiting import RETRIES, Awaiting, Lost
from ._cluster import connected
from ._data import Box
from ._epochs import _step
from ._errors import ClusterError
from ._internals import kind_of_collection
from ._sources import MOST, SHARD_BYTES, placed
from ._training import hint_on_loss

FEWEST = 4
"""By default files of sentences are split into at least so many shards: with more, the mixture needs more epochs."""

Piece = tuple[str, tuple[int, int] | None]
"""A file, and a range of its bytes; None is the whole file."""


# ---- on a worker ----


@dataclasses.dataclass
class Sentences:
    """A shard: sentences with numbers of their own for strings, features and tags."""

    batch: Batch
    truth: Numbers
    tags: list[Any]
    vocabulary: Vocabulary

    def __sizeof__(self) -> int:
        arrays = (self.batch.feature, self.batch.feature_start, self.batch.keys, self.batch.value, self.truth)
        return sum(array.nbytes for array in arrays) + self.vocabulary.store.nbytes


@dataclasses.dataclass
class Facts:
    """What the client needs to know about a shard."""

    sentences: int
    tokens: int
    tags: list[Any]


def shard_of(
    X: Any, y: Any, templates: Sequence[str] | None, columns: Sequence[str] | None, bits: int | None
) -> Sentences:
    """Encode sentences and their tags."""
    found = checked_tags(X, y)
    vocabulary, number = Vocabulary(bits), dict[Any, int]()
    truth = np.array([number.setdefault(tag, len(number)) for tag in found], dtype=np.int32)
    parsed = None if templates is None else parse(templates, columns)
    return Sentences(encode(X, parsed, vocabulary, True), truth, list(number), vocabulary)


def load_part(
    part: Any, templates: Sequence[str] | None, columns: Sequence[str] | None, bits: int | None, place: str
) -> Sentences:
    """A shard of a partition (X, y)."""
    part = part[0] if isinstance(part, Box) else part
    if not isinstance(part, tuple | list) or len(part) != 2:
        raise ValueError(
            f"A partition must be a pair of sentences and their tags; {place} is a {type(part).__name__}. Return (X, y)."
        )
    try:
        return shard_of(part[0], part[1], templates, columns, bits)
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None


def load_pieces(
    pieces: Sequence[Piece], templates: Sequence[str], columns: Sequence[str] | None, bits: int | None
) -> Sentences:
    """A shard of parts of files; the last column is the tag."""
    X: list[Any] = []
    y: list[list[str]] = []
    many: tuple[int, ...] = ()
    for name, span in pieces:
        Path(name).open("rb").close()  # an OSError, where a worker does not have the file
        try:
            for sentence in read_sentences(name, many, span):
                many = (len(sentence.tokens[0]),)
                if many[0] < 2:
                    raise BadData(
                        "A line must have at least two columns, a word and its tag; got one. Add the tags.", name
                    )
                X.append([token[0] if many[0] == 2 else token[:-1] for token in sentence.tokens])
                y.append([token[-1] for token in sentence.tokens])
        except BadData as error:
            if error.line is None or span is None:
                raise
            raise BadData(error.message, name, error.line + count_lines(name, span[0])) from None
    return shard_of(X, y, templates, columns, bits)


def facts_of(shard: Sentences) -> Facts:
    """The facts of a shard."""
    starts = shard.batch.starts
    return Facts(int(np.count_nonzero(np.diff(starts))), int(starts[-1]), shard.tags)


@dataclasses.dataclass(frozen=True)
class Recipe:
    """How to create the model on a worker: the step function as source, and its parameters."""

    source: str
    params: tuple[float, ...]

    def model(self, values: Values) -> SequenceModel:
        """Create the model of these values."""
        return sequence_from_values(values, _step(self.source), self.params)


@dataclasses.dataclass(frozen=True)
class Order:
    """Parameters of an epoch.

    Attributes
    ----------
    recipe : Recipe
        The model.
    tags : tuple
        All tags in their order.
    epoch : int
        Number of finished epochs.
    schedule : Schedule
        Seed and shuffling.
    alone : bool
        Whether there is only one shard, so that its model is the result.
    """

    recipe: Recipe
    tags: tuple[Any, ...]
    epoch: int
    schedule: Schedule
    alone: bool


@dataclasses.dataclass
class Result:
    """What a shard learned in an epoch: its model, or the changes; and how the epoch went."""

    values: Values
    epoch: Epoch
    counts: Integers
    sums: Floats
    seconds: float

    @property
    def size(self) -> int:
        """Number of bytes to send."""
        return size_of(self.values)


def size_of(values: Values) -> int:
    """Number of bytes of a model."""
    return sum(value.nbytes for value in values.values() if isinstance(value, np.ndarray))


def _passes(shard: Sentences, state: Any, order: Order, number: int) -> SequencePasses:
    """The sentences of a shard with the numbers of a model."""
    model = order.recipe.model(state[0])
    model.codes(order.tags)
    place = np.array([model.number[tag] for tag in shard.tags], dtype=np.int32)
    visits = VisitingOrder(order.schedule.shuffle, order.schedule.seed)
    given, words = shard.batch, shard.vocabulary
    words.ends, words.store = writable(words.ends), writable(words.store)
    keys = model.translated(given.keys, words)
    batch = Batch(
        writable(given.starts), writable(given.feature_start), writable(given.feature), writable(given.value), keys
    )
    return SequencePasses(model, batch, place[shard.truth], visits, None if order.alone else number)


def learn(shard: Sentences, number: int, state: Any, order: Order) -> Result:
    """Run one epoch over a shard."""
    began = time.perf_counter()
    passes, epoch = _passes(shard, state, order, number), Epoch()
    model = passes.model
    if order.alone:
        passes.run(epoch, order.epoch)
        return Result(sequence_values(model), epoch, model.counts, model.sums, time.perf_counter() - began)
    model.u[:] = 0.0
    model.counts[SENTENCES:] = 0
    model.sums[:] = 0.0
    rows = int(model.counts[0])
    w, sigma = model.w[:rows].copy(), model.sigma[:rows].copy()
    passes.run(epoch, order.epoch)
    counts, sums = model.counts.copy(), model.sums.copy()
    before = np.zeros_like(model.w)
    before[:rows, : w.shape[1]] = w
    model.u[:] = float(counts[SENTENCES]) * (model.w - before) - model.u  # Σ (w - start) over the sentences
    if model.second_order:  # changes of Σ⁻¹w and of Σ⁻¹, which is 1 at first
        old = np.ones_like(model.sigma)
        old[:rows, : sigma.shape[1]] = sigma
        model.w[:] = model.w / model.sigma - before / old
        model.sigma[:] = 1.0 + (1.0 / model.sigma - 1.0 / old)
    else:
        model.w -= before
    model.counts[TAGS] = len(model.tags)
    return Result(sequence_values(model), epoch, counts, sums, time.perf_counter() - began)


def margin_of(shard: Sentences, number: int, state: Any, order: Order) -> float:
    """The smallest margin of the last weights; NaN if they do not tag every sentence correctly."""
    return _passes(shard, state, order, number).smallest_margin()


def all_learned(shard: Sentences, number: int, state: Any, order: Order) -> bool:
    """Whether the last weights tag every sentence of a shard correctly."""
    return _passes(shard, state, order, number).all_learned()


def right_tags(shard: Sentences, number: int, state: Any, order: Order) -> int:
    """How many tokens the average tags correctly."""
    passes = _passes(shard, state, order, number)
    return round(passes.readout_accuracy() * passes.truth.size) if passes.truth.size else 0


# ---- on the client ----


def mix(
    model: SequenceModel, recipe: Recipe, tags: Sequence[Any], results: Sequence[Result], shares: Sequence[float]
) -> None:
    """Add the changes of the shards to a model, each times its share, and their counts; always in the order of the shards."""
    model.codes(tags)
    total = sum(shares)
    changes = [recipe.model(result.values) for result in results]
    places = [model.made_rows(model.translated(c.table.keys[: c.counts[0]], c.vocabulary)) for c in changes]
    before = model.w.copy()
    moved, lags, surer = np.zeros_like(model.w), np.zeros_like(model.u), np.zeros_like(model.sigma)
    for change, rows, share in zip(changes, places, shares, strict=True):
        count, width = rows.size, change.w.shape[1]
        moved[rows, :width] += (share / total if total else 0.0) * change.w[:count]
        lags[rows, :width] += change.u[:count]
        if model.second_order:
            surer[rows, :width] += (share / total if total else 0.0) * (change.sigma[:count] - 1.0)
    if model.second_order:
        where = (moved != 0.0) | (surer != 0.0)
        precision = 1.0 / model.sigma[where]
        product = model.w[where] * precision + moved[where]
        precision += surer[where]
        model.sigma[where] = 1.0 / precision
        model.w[where] = product / precision
    else:
        model.w += moved
    for result, share in zip(results, shares, strict=True):
        model.counts[TAGS] = max(model.counts[TAGS], result.counts[TAGS])
        for count in (SENTENCES, MISTAKES, UPDATES, WRONG):
            model.counts[count] += result.counts[count]
        model.sums[RADIUS] = max(model.sums[RADIUS], result.sums[RADIUS])
        for kind in (STEPS, GROWTH):  # ‖Σ μw‖² ≤ Σ μ‖w‖²
            model.sums[kind] += (share / total if total else 0.0) * result.sums[kind]
    model.u += float(model.counts[SENTENCES]) * (model.w - before) - lags
    model._averaged = None


@dataclasses.dataclass
class Trainer:
    """Epochs over shards of sentences, for the training loop."""

    client: Any
    load: Callable[..., Sentences]
    arguments: list[tuple[Any, ...]]
    recipe: Recipe
    model: SequenceModel
    schedule: Schedule
    history: History
    mixing: str

    def __post_init__(self) -> None:
        self.awaiting = Awaiting(self.client)
        self.shards: list[Any] = []
        self.facts: list[Facts] = []
        self.tags: tuple[Any, ...] = ()
        self.on_shards: Callable[[int, int], None] = lambda done, total: None

    # ---- shards ----

    def prepare(self) -> None:
        """Load the shards, and agree on the order of the tags: by their first appearance."""
        self.facts = self._insist(lambda: self._results(facts_of, [(shard,) for shard in self._loaded()]))
        tags: dict[Any, None] = dict.fromkeys(self.model.tags)
        for facts in self.facts:
            tags.update(dict.fromkeys(facts.tags))
        self.tags = tuple(tags)

    def _loaded(self) -> list[Any]:
        """The shards; those that were lost are loaded again."""
        for number, shard in enumerate(self.shards):
            if shard.status in ("cancelled", "lost", "error"):
                self.shards[number] = self.client.submit(self.load, *self.arguments[number], pure=False)
        if not self.shards:
            self.shards = [self.client.submit(self.load, *these, pure=False) for these in self.arguments]
        return self.shards

    def close(self) -> None:
        """Release the shards."""
        for shard in self.shards:
            with contextlib.suppress(AttributeError, RuntimeError):
                shard.release()

    def _results(self, task: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], **common: Any) -> list[Any]:
        futures = [self.client.submit(task, *these, pure=False, **common) for these in arguments]
        for count, future in enumerate(self.awaiting.each(futures), start=1):
            self.awaiting.finished(future)
            self.on_shards(count, len(futures))
        return self.awaiting.gather(futures)

    def _insist(self, attempt: Callable[[], list[Any]]) -> list[Any]:
        """The results of tasks, which are repeated if a worker is lost."""
        for _ in range(RETRIES):
            try:
                self.awaiting.check()
                return attempt()
            except Lost as error:
                reason = error
        raise ClusterError(
            f"The shards could not be learned in {RETRIES} attempts; the last one ended with: {reason}."
        ) from reason

    def _ask(self, task: Callable[..., Any], average: bool = False) -> list[Any]:
        """The results of a task for each shard, from the model of the client."""
        values = sequence_values(self.model)
        alone = len(self.arguments) == 1
        if not alone and not average:
            values["u"] = np.zeros(values["u"].size, np.int8)
        order = Order(self.recipe, self.tags, len(self.history.done), self.schedule, alone)
        self.sent = size_of(values) * len(self.arguments)

        def attempt() -> list[Any]:
            (state,) = self.awaiting.exchange(self.client.scatter, [Box([values])], hash=False)
            shards = self._loaded()
            return self._results(task, [(shard, number, state) for number, shard in enumerate(shards)], order=order)

        return self._insist(attempt)

    # ---- epochs ----

    def can_repeat(self) -> bool:
        """Whether there can be another epoch."""
        return True

    def run(self, epoch: Epoch, number: int) -> bool:
        """Run one epoch over all shards and mix the results."""
        results: list[Result] = self._ask(learn)
        epochs = [result.epoch for result in results]
        shares = [
            {"uniform": float(one.examples > 0), "mistakes": float(one.updates), "examples": float(one.examples)}[
                self.mixing
            ]
            for one in epochs
        ]
        if len(results) == 1:
            self.model = self.recipe.model(results[0].values)
            shares = [1.0]
        else:
            mix(self.model, self.recipe, self.tags, results, shares)
        total = sum(shares)
        shares = [share / total if total else 0.0 for share in shares]
        made = ShardedEpoch(
            examples=sum(one.examples for one in epochs), mistakes=sum(one.mistakes for one in epochs),
            updates=sum(one.updates for one in epochs), loss=sum(one.loss for one in epochs),
            weight=sum(one.weight for one in epochs),
            weighted_mistakes=sum(share * one.mistakes for share, one in zip(shares, epochs, strict=True)),
            bytes_moved=self.sent + sum(result.size for result in results),
            compute_seconds=max(result.seconds for result in results),
            shard_mistakes=[one.mistakes for one in epochs], shard_updates=[one.updates for one in epochs],
            shard_mixing=shares,
        )  # fmt: skip
        vars(epoch).update(vars(made))
        return True

    def all_learned(self) -> bool:
        """Whether the last weights tag every sentence correctly."""
        return all(self._ask(all_learned))

    def readout_accuracy(self) -> float:
        """The share of tags that the average predicts correctly."""
        return float(sum(self._ask(right_tags, average=True)) / sum(facts.tokens for facts in self.facts))

    def smallest_margin(self) -> float:
        """The smallest margin of the last weights over all sentences; NaN if they do not tag every sentence correctly."""
        margins = self._ask(margin_of)
        return math.nan if any(map(math.isnan, margins)) else min(margins)


def cut(names: Sequence[str], shards: int | None) -> list[list[Piece]]:
    """Split the concatenated files into shards of about equal size, between sentences."""
    edges = list(itertools.accumulate((Path(name).stat().st_size for name in names), initial=0))
    total = max(1, edges[-1])
    count = min(total, shards or min(max(round(total / SHARD_BYTES), FEWEST), MOST))
    cuts = [total * number // count for number in range(1, count)]
    groups: dict[int, list[Piece]] = {}
    for name, (begin, end) in zip(names, itertools.pairwise(edges), strict=True):
        file = Opened(name)
        file.close()
        inner = (
            [] if file.compression else [next_sentence(name, place - begin) for place in cuts if begin < place < end]
        )
        places = sorted({0, *inner, end - begin})
        for a, b in itertools.pairwise(places):
            piece = (name, None if file.compression else (a, b))
            groups.setdefault(bisect.bisect_right(cuts, begin + (a + b) // 2), []).append(piece)
    return list(groups.values())


def _arguments(estimator: Any, client: Any, X: Any, y: Any, shards: int | None) -> tuple[Any, list[tuple[Any, ...]]]:
    """The function that loads a shard, and its arguments for each."""
    templates = estimator._parsed()
    plan = (*((None, None) if templates is None else (templates.names, templates.columns)), estimator.bits)
    if isinstance(X, str | os.PathLike) or (
        isinstance(X, list | tuple) and X and all(isinstance(name, str | os.PathLike) for name in X)
    ):
        if templates is None:
            raise ValueError("Files of sentences need templates; got templates=None. Set `templates`, such as 'words'.")
        names = [
            str(Path(name).resolve())
            for name in expand(os.fspath(X) if isinstance(X, str | os.PathLike) else list(map(os.fspath, X)))
        ]
        return load_pieces, [(pieces, *plan) for pieces in cut(names, shards)]
    if y is None:
        later = iter(placed(client, [part for part in X if kind_of_collection(part) == "delayed"]))
        parts = [next(later) if kind_of_collection(part) == "delayed" else part for part in X]
    else:
        checked_tags(X, y)
        count = min(shards or FEWEST, max(1, len(X)))
        cuts = [len(X) * number // count for number in range(count + 1)]
        parts = [Box([(X[a:b], y[a:b])]) for a, b in itertools.pairwise(cuts)]
    return load_part, [(part, *plan, f"partition {number}") for number, part in enumerate(parts)]


def train_tagger(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    client: Any = None,
    mixing: str = "uniform",
    shards: int | None = None,
    checkpoint: Any = None,
    resume: bool = True,
    bar: Any,
    schedule: Schedule | None = None,
    on_epoch: Callable[[History], None] | None = None,
    asked_to_stop: Callable[[], bool] | None = None,
) -> Any:
    """Train a tagger on a cluster; `train` has checked the arguments."""
    with connected(client) as cluster, contextlib.ExitStack() as held:
        wanted = Schedule.of(estimator) if schedule is None else schedule
        history = History(current=ShardedEpoch())
        step, params = estimator._step_of_rule()
        with hint_on_loss(cluster, checkpoint, wanted, history):
            source = step_source(step)
            assert source is not None
            recipe = Recipe(f"{step.__name__}\n{source.replace('@njit(**OPTIONS)', '')}", params)
            load, arguments = _arguments(estimator, cluster, X, y, shards)
            trainer = Trainer(cluster, load, arguments, recipe, estimator._new_chain(), wanted, history, mixing)
            held.callback(trainer.close)
            trainer.on_shards = functools.partial(bar.update, note=f"{len(arguments)} shards")
            trainer.prepare()
            if not sum(facts.sentences for facts in trainer.facts):
                raise ValueError(
                    "X must hold at least one sentence with tokens; got none. Check how it was read or split."
                )
            marks = {
                "asked": shards, "mixing": mixing, "sentences": [facts.sentences for facts in trainer.facts],
                "tokens": [facts.tokens for facts in trainer.facts],
            }  # fmt: skip
            if resume and checkpoint is not None and Path(checkpoint).exists():
                _resume(estimator, trainer, checkpoint, marks)

            def finish(smallest: Callable[[], float]) -> None:
                estimator._finish(trainer.model, history, smallest)
                estimator.history_ = [dataclasses.asdict(epoch) for epoch in history.done]
                estimator.weighted_mistakes_ = float(
                    sum(getattr(one, "weighted_mistakes", 0.0) for one in history.done)
                )
                run = {**trainer.schedule.to_json(), **history.to_json()}
                estimator.training_ = {**getattr(estimator, "training_", {}), "run": run, "shards": marks}

            def after_epoch(history: History) -> None:
                bar.clear()
                bar.title = f"epoch {len(history.done) + 1}"
                if checkpoint is not None:
                    finish(lambda: math.nan)
                    save(estimator, checkpoint)
                if on_epoch is not None:
                    on_epoch(history)

            bar.title = f"epoch {len(history.done) + 1}"
            with stopping_when(asked_to_stop) if asked_to_stop is not None else contextlib.nullcontext():
                run_epochs(trainer, trainer.schedule, history, on_epoch=after_epoch)
            finish(trainer.smallest_margin)
            if checkpoint is not None:
                save(estimator, checkpoint)
    return estimator


def _resume(estimator: Any, trainer: Trainer, checkpoint: Any, marks: dict[str, Any]) -> None:
    """Continue from a checkpoint."""
    from rosenblatt.learners._load import load

    kept = load(checkpoint)
    training = getattr(kept, "training_", {})
    what = ""
    if type(kept) is not type(estimator):
        what = f"its learner is {type(kept).__name__}"
    elif "shards" not in training:
        what = "it was trained on one machine"
    else:
        free = {"max_iter", "tol", "n_iter_no_change", "verbose", "random_state"}
        now, before = {**estimator.get_params(), **marks}, {**kept.get_params(), **training["shards"]}
        differ = [name for name in now if name not in free and now[name] != before.get(name)]
        what = f"its `{'shards' if differ[0] == 'asked' else differ[0]}` is {before.get(differ[0])!r}" if differ else ""
    if what:
        raise ValueError(
            f"The checkpoint must be of this learner on these shards; {os.fspath(checkpoint)} is not: {what}. Delete it to start "
            "again, or give another file name."
        )
    schedule, saved = trainer.schedule, Schedule.from_json(training["run"])
    trainer.schedule = dataclasses.replace(
        saved, max_iter=schedule.max_iter, tol=schedule.tol, n_iter_no_change=schedule.n_iter_no_change
    )
    before_history = History.from_json(training["run"])
    before_history.current, before_history.stopped = ShardedEpoch(), ""
    vars(trainer.history).update(vars(before_history))
    trainer.model = kept._chain
    trainer.tags = tuple(dict.fromkeys([*kept._chain.tags, *trainer.tags]))
