"""The client's part of training: in each epoch it sends weights and receives differences.

An epoch is a transaction. The client keeps the weights from before it, so that lost work can be repeated with the same bits:
the rows that a shard visits depend on the seed, the epoch and the shard's number, and sums are formed in the order of these
numbers.
"""

import contextlib
import dataclasses
import itertools
import math
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from typing import Any

from numpy.typing import NDArray

from rosenblatt.model.linear import Model
from rosenblatt.training.history import Epoch, History, ShardedEpoch
from rosenblatt.training.schedule import Schedule

from ._awaiting import RETRIES, Fetching, Lost
from ._data import Data
from ._epochs import (
    Judgement,
    Order,
    Recipe,
    forget,
    judge,
    learn_each,
    learn_shards,
    learned,
    margin_of,
    place_of_worker,
)
from ._errors import ClusterError, scheduler_lost
from ._mixing import coordinates_of
from ._nodes import group_of, nodes_of
from ._partials import Partial, add_partials, changes, size_of

Array = NDArray[Any]

JOINS = 2
"""Number of sums added at a time: small, so that neighbouring sums are added on their worker before they are sent."""

AT_ONCE = 16
"""Number of shards whose margins are computed at a time; after one misclassified example the rest is skipped."""


def _add(partials: Sequence[Partial]) -> Partial:
    """Add partial sums; runs as a task."""
    return add_partials(partials, place_of_worker())


@dataclasses.dataclass
class Trainer:
    """Train a model on shards.

    Attributes
    ----------
    data : Data
        The shards.
    model : Model
        The current model; between two epochs only the client has it.
    recipe : Recipe
        How workers create a model like it.
    schedule : Schedule
        How to train.
    history : History
        The epochs so far.
    mixing : str
        How shards are weighted in the mixture.
    validation : Data or None
        Validation examples for early stopping.
    asked : int or None
        Number of shards that the user asked for.
    on_shards : callable
        Called with the bytes of the finished shards and of all shards.
    """

    data: Data
    model: Model
    recipe: Recipe
    schedule: Schedule
    history: History
    mixing: str
    validation: Any = None
    asked: int | None = None
    on_shards: Callable[[int, int], None] = lambda done, total: None

    def __post_init__(self) -> None:
        self.client, self.awaiting = self.data.client, self.data.awaiting
        self.identity = uuid.uuid4().hex
        self.coordinates = coordinates_of(self.model, len(self.data.shards) == 1)
        self._base: Any = None
        self._changes: list[Any] = []
        self._changed = 0
        self._along = 0
        self._sent: list[Array] = []

    # ---- send weights ----

    def _send(self, tasks: int) -> None:
        """Send the weights: the changes since the last epoch, or all if that is smaller; small weights with every task."""
        now = [array.copy() for array in self.coordinates.start()]
        whole = size_of(now)
        self._along = whole if self.data.along(tasks, now) else 0
        news = changes(now, self._sent) if self._base is not None and not self._along else now
        self._changed += size_of(news)
        if size_of(news) >= whole or self._changed > 2 * whole or len(self._changes) >= 50:
            (self._base,) = self.data.bring(tasks, now)
            self._changes, self._changed = [], 0
        else:
            self._changes += self.data.scatter(news)
        self._sent = now

    def _forget_sent(self) -> None:
        self._base, self._changes, self._changed = None, [], 0

    # ---- an epoch ----

    def can_repeat(self) -> bool:
        """Whether there can be another epoch."""
        return True

    def run(self, epoch: Epoch, number: int) -> bool:
        """Run one epoch over all shards; lost work is repeated."""
        for _ in range(RETRIES):
            try:
                self.awaiting.check()
                self.data.follow()
                self.data.even_out(self.schedule.max_iter - number)
                groups = self.data.task_groups()
                self._send(len(groups))
                partial = self._learn(groups)
                break
            except Lost as error:
                reason: Exception = error
            except (OSError, KeyError, TimeoutError, RuntimeError) as error:
                if isinstance(error, ClusterError):
                    raise
                self.awaiting.check()
                reason = error
            self._forget_sent()
            self.data.renew()
        else:
            raise ClusterError(
                f"The epoch could not be finished in {RETRIES} attempts; the last one ended with: {reason}."
            )
        made = self._note(partial)
        if self.validation is not None or self.schedule.holdout:
            result = self._judge(*((self.data, True) if self.validation is None else (self.validation, False)))
            made.held_out, made.held_out_mistakes = result.examples, result.mistakes
        vars(epoch).update(vars(made))
        return True

    def _order(self) -> Order:
        alone, along = len(self.data.shards) == 1, self._along > 0
        return Order(self.recipe, self.identity, len(self.history.done), self.schedule, self.mixing, alone, along)

    def _learn(self, groups: list[list[int]]) -> Partial:
        order, data = self._order(), self.data
        names = [f"epoch-{len(self.history.done) + 1}-{group[0]}" for group in groups]
        tasks = data.submit(
            learn_each if data.few else learn_shards,
            [([data.shards[n] for n in group], group, self._base, self._changes) for group in groups], names,
            [data.holders[group[0]] for group in groups], order=order,
        )  # fmt: skip
        here = data.few or self._along > 0
        results = tasks if here else self._tree(groups, tasks, self._submit_sum)
        bytes_of = {t.key: sum(data.facts[n].bytes for n in group) for group, t in zip(groups, tasks, strict=True)}
        done, total = 0, sum(bytes_of.values())
        awaited = {future.key for future in results}
        fetching = Fetching(self.awaiting)
        for future in self.awaiting.each({future.key: future for future in (*tasks, *results)}.values()):
            self.awaiting.finished(future)
            done += bytes_of.get(future.key, 0)
            self.on_shards(done, total)
            if future.key in awaited:
                awaited.discard(future.key)
                fetching.take(future, last=not awaited)
            if not awaited:
                break
        data.ask_for_workers()
        fetched = fetching.results()
        gathered = [fetched[future.key] for future in results]
        partials: list[Partial] = list(itertools.chain(*gathered)) if data.few else gathered
        for partial in partials:
            partial.moved += size_of(partial.totals) + size_of(partial.averages)
            partial.place = ""
        partials[0].moved += len(groups) * self._along
        if here:
            partials.sort(key=lambda partial: partial.notes[0].shard)
            nodes = [[note.shard for note in partial.notes] for partial in partials]
            partials = self._tree(nodes, partials, add_partials)
        return partials[0] if len(partials) == 1 else add_partials(partials)

    def _tree(self, nodes: list[list[int]], results: list[Any], add: Callable[[list[Any]], Any]) -> list[Any]:
        """Add results in the order of the shards, which does not depend on the workers.

        The last few sums are returned separately: the client adds them itself instead of waiting for another task.
        """
        count = len(self.data.shards)
        single: dict[int, list[Any]] = {}
        sums: dict[int, Any] = {}
        for node, result in zip(nodes, results, strict=True):
            place = group_of(node[0], nodes_of(count), count)
            if len(node) > 1:
                sums[place] = result  # the sum of a node was formed on the worker of its shards
            else:
                single.setdefault(place, []).append(result)
        sums |= {place: parts[0] if len(parts) == 1 else add(parts) for place, parts in single.items()}
        while len(sums) > JOINS:
            parents: dict[int, list[Any]] = {}
            for place in sorted(sums):
                parents.setdefault(place // JOINS, []).append(sums[place])
            sums = {place: parts[0] if len(parts) == 1 else add(parts) for place, parts in parents.items()}
        return [sums[place] for place in sorted(sums)]

    def _submit_sum(self, parts: list[Any]) -> Any:
        return self.client.submit(_add, parts, key=f"sum-{uuid.uuid4().hex}", pure=False)

    def _note(self, partial: Partial) -> ShardedEpoch:
        """Mix the results and return the statistics of the epoch."""
        notes = sorted(partial.notes, key=lambda note: note.shard)
        self.coordinates.mix(partial)
        self.data.pace.note(notes, [facts.bytes for facts in self.data.facts])
        busy: dict[str, float] = {}
        for note in notes:
            busy[note.place] = busy.get(note.place, 0.0) + note.seconds
        shares = [note.share / partial.share if partial.share else 0.0 for note in notes]
        return ShardedEpoch(
            examples=sum(note.examples for note in notes),
            mistakes=sum(note.mistakes for note in notes),
            updates=sum(note.updates for note in notes),
            loss=sum(note.loss for note in notes),
            weight=sum(note.weight for note in notes),
            weighted_mistakes=sum(share * note.mistakes for share, note in zip(shares, notes, strict=True)),
            bytes_moved=partial.moved,
            compute_seconds=max(busy.values()),
            shard_mistakes=[note.mistakes for note in notes],
            shard_updates=[note.updates for note in notes],
            shard_mixing=shares,
            weighted_steps=sum(share * note.steps for share, note in zip(shares, notes, strict=True)),
        )

    # ---- evaluation ----

    def readout_accuracy(self) -> float | None:
        """Training accuracy of the averaged weights; None with validation examples or without averaging."""
        if self.model.readout != "average" or self.validation is not None or self.schedule.holdout:
            return None
        result = self._judge(self.data, False)
        return 1.0 - result.mistakes / result.examples

    def smallest_margin(self) -> float:
        """The smallest margin of the last weights over all examples; stops after the first misclassified example."""
        return self._smallest(margin_of, "margin")

    def all_learned(self) -> bool:
        """Whether a pass over all examples would change nothing."""
        return self._smallest(learned, "learned") > 0.0

    def _smallest(self, ask: Callable[..., float], name: str) -> float:
        """The smallest answer of all shards about the last weights; stops after the first that is not positive."""
        for _ in range(RETRIES):
            order, data = self._order(), self.data
            try:
                (sent,) = data.bring(len(data.shards), [array.copy() for array in self.coordinates.start()])
                smallest = math.inf
                for first in range(0, len(data.shards), AT_ONCE):
                    some = range(first, min(first + AT_ONCE, len(data.shards)))
                    tasks = data.submit(
                        ask, [([data.shards[n]], sent) for n in some], [f"{name}-{n}" for n in some],
                        [data.holders[n] for n in some], order=order,
                    )  # fmt: skip
                    smallest = min(smallest, *self.awaiting.results(tasks))
                    if smallest <= 0.0:
                        break
                return smallest
            except Lost:
                data.renew()
        raise ClusterError("The margins could not be computed: workers were lost repeatedly.")

    def forget(self) -> None:
        """Delete the values that workers cache between epochs."""
        with contextlib.suppress(Exception):  # a lost worker has no cache
            self.awaiting.exchange(self.client.run, forget, self.identity)

    def _judge(self, data: Any, held: bool) -> Judgement:
        """Evaluate the readout on examples, or with `held` on the held-out ones among them."""
        if callable(data):
            result: Judgement = data(self.model)
            return result
        for _ in range(RETRIES):
            start = [array.copy() for array in self.coordinates.start()]
            readout = [part.ravel().copy() for part in self.model.weights()] if self.model.readout == "average" else []
            order = self._order()
            try:
                sent = self.data.bring(len(data.shards), start, readout)
                tasks = data.submit(
                    judge, [([it], *sent) for it in data.shards], [f"judge-{n}" for n in range(len(data.shards))],
                    data.holders, order=order, held=held,
                )  # fmt: skip
                results = self.awaiting.results(tasks)
                return Judgement(sum(result.examples for result in results), sum(result.mistakes for result in results))
            except Lost:
                data.renew()
        raise ClusterError("The validation examples could not be evaluated: workers were lost repeatedly.")


@contextlib.contextmanager
def hint_on_loss(client: Any, checkpoint: Any, schedule: Schedule, history: History) -> Iterator[None]:
    """Add to the error of a lost cluster how to continue."""
    try:
        yield
    except (ClusterError, Lost, CancelledError, OSError) as error:
        if isinstance(error, ClusterError):
            text = str(error).rstrip(".")
        elif client.status != "running":
            text = str(scheduler_lost(client))
        elif isinstance(error, Lost):
            text = "A worker was lost together with its data"
        else:
            raise  # not an error of the cluster
        done = len(history.done)
        if checkpoint is not None and done:
            hint = f"{checkpoint} holds the model after {done} epoch(s): start a cluster and continue from there."
        else:
            hint = "Pass a checkpoint next time, so that training can continue from it."
        raise ClusterError(f"{text}; {done} of at most {schedule.max_iter} epochs were done. {hint}") from error
