"""The side of who trains: shards are loaded where they stay, then epoch after epoch weights go out and differences come back.

An epoch is a transaction. The weights before it lie here, so that whatever is lost on the way can be done again and gives the
same bits: which rows a shard visits follows from the seed, the epoch and the shard's number, and sums are formed in the order of
these numbers, eight at a time.
"""

import contextlib
import dataclasses
import queue
import statistics
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.model import Model
from rosenblatt.records import kind_of_label
from rosenblatt.runs import Run, ShardedEpoch

from ._cluster import ClusterError
from ._epochs import Judgement, Order, Recipe, judge, learn_shards, place_of_worker
from ._mixing import Packed, Partial, add_partials, changes, coordinates_of, size_of
from ._shards import Facts, facts_of, same, settle
from ._sources import Source

__all__ = ["Data", "Trainer", "check_mixable", "joined_classes", "joined_features", "new_model", "told"]

Array = NDArray[Any]

BRANCHES = 8
"""So many partial sums are added up at a time."""

RETRIES = 5
"""So often an epoch is done again when something was lost that only lay on a worker."""

PATIENCE, SLOW = 10.0, 4.0
"""A task that takes so many seconds, and so many times as long as the others, is given to somebody else as well."""


class _Lost(Exception):  # noqa: N818
    """Something that only lay on a worker is gone."""


def _add(partials: Sequence[Partial]) -> Partial:
    """The sum of partial sums; a task."""
    return add_partials(partials, place_of_worker())


class Awaiting:
    """Waits for tasks, and notices when the scheduler is gone."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def check(self) -> None:
        """Raise if there is no scheduler any more."""
        if self.client.status != "running":
            raise ClusterError(f"The scheduler at {self._address()} was lost")

    def _address(self) -> str:
        scheduler = getattr(self.client, "scheduler", None)
        return str(getattr(scheduler, "address", None) or "the given address")

    def each(self, futures: Sequence[Any], idle: Callable[[float], None] | None = None) -> Iterator[Any]:
        """Futures as they finish. `idle` is called now and then with the seconds that have passed."""
        done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        began, waiting = time.monotonic(), len(futures)
        for future in futures:
            future.add_done_callback(done.put)
        while waiting:
            try:
                future = done.get(timeout=0.25)
            except queue.Empty:
                self.check()
                if idle is not None:
                    idle(time.monotonic() - began)
                continue
            waiting -= 1
            yield future

    def finished(self, future: Any) -> None:
        """Raise what went wrong with a task that has ended."""
        from distributed import KilledWorker

        if future.status == "finished":
            return
        if future.status == "cancelled":
            for _ in range(40):  # the client may notice a moment later than its futures
                self.check()
                time.sleep(0.05)
            raise _Lost(future.key)
        error = future.exception()
        if isinstance(error, KilledWorker):
            raise ClusterError(
                f"A task must not end its worker; {future.key} did so again and again, most likely for want of memory. Use more "
                "shards, so that each is smaller, or larger workers."
            ) from error
        if isinstance(error, ValueError | ImportError | MemoryError | ArithmeticError | TypeError | AttributeError):
            raise error
        raise _Lost(str(error)) from error

    def results(self, futures: Sequence[Any]) -> list[Any]:
        """What tasks gave."""
        for future in self.each(futures):
            self.finished(future)
        return self.gather(futures)

    def gather(self, futures: Sequence[Any]) -> list[Any]:
        """What finished tasks gave, fetched."""
        from concurrent.futures import CancelledError

        try:
            return list(self.client.gather(list(futures)))
        except (CancelledError, KeyError, OSError) as error:
            self.check()
            raise _Lost(str(error)) from error


class Data:
    """Shards on a cluster.

    Parameters
    ----------
    client : distributed.Client
        The cluster.
    source : Source
        What loads them.
    """

    def __init__(self, client: Any, source: Source) -> None:
        self.client, self.source = client, source
        self.awaiting = Awaiting(client)
        self.facts: list[Facts] = []
        self.shards: list[Any] = []
        self.holders: list[tuple[str, ...]] = []
        self._settled: list[tuple[Any, ...]] = []
        self._workers: dict[str, int] = {}

    # ---- load ----

    def load(self, on_shard: Callable[[int, int], None] | None = None) -> list[Facts]:
        """Load all shards; what they hold, but for the examples."""
        places = self._places(len(self.source))
        self._loaded = [self._load(number, place) for number, place in enumerate(places)]
        told = [self.client.submit(facts_of, loaded, pure=False) for loaded in self._loaded]
        for count, future in enumerate(self.awaiting.each(told), start=1):
            self.awaiting.finished(future)
            if on_shard is not None:
                on_shard(count, len(told))
        self.facts = self.awaiting.gather(told)
        return self.facts

    def _places(self, count: int) -> list[list[str] | None]:
        """A worker for each shard, neighbours together; None where Dask knows best, because the examples lie somewhere already."""
        workers = self.client.nthreads()
        slots = [address for address in sorted(workers) for _ in range(max(1, workers[address]))]
        if not self.source.anywhere or not slots:
            return [None] * count
        node = BRANCHES if count >= 2 * BRANCHES * len(slots) else 1
        nodes = -(-count // node)
        return [[slots[number // node * len(slots) // nodes]] for number in range(count)]

    def _load(self, number: int, place: list[str] | None) -> Any:
        arguments = self.source.arguments[number]
        if self.source.local and isinstance(arguments[0], tuple):
            part = self.client.scatter(list(arguments[0]), workers=place, hash=False)
            arguments = (part, *arguments[1:])
        where = {} if place is None else {"workers": place, "allow_other_workers": True}
        return self.client.submit(
            self.source.load, *arguments, key=f"load-{number}-{uuid.uuid4().hex}", pure=False, **where
        )

    def settle(self, classes: Sequence[Any], columns: list[Any], width: int, dtype: str, factors: Any) -> None:
        """Number labels and features the same everywhere. The shards then stay where they are."""
        place = {label: number for number, label in enumerate(classes)}
        ends = np.cumsum([0] + [facts.examples for facts in self.facts]).tolist()
        self._settled = [
            ([place.get(label, len(classes)) for label in facts.labels], columns[number], width, dtype, factors, ends[number])
            for number, facts in enumerate(self.facts)
        ]
        self.shards = [
            self.client.submit(settle, loaded, *rest, key=f"shard-{number}-{uuid.uuid4().hex}", pure=False)
            for number, (loaded, rest) in enumerate(zip(self._loaded, self._settled, strict=True))
        ]
        for future in self.awaiting.each(self.shards):
            self.awaiting.finished(future)
        self._loaded = []
        self.locate()

    def again(self, number: int, others: list[str] | None) -> Any:
        """Load a shard once more, under another name, by one of these workers."""
        loaded = self._load(number, others)
        return self.client.submit(
            settle, loaded, *self._settled[number], key=f"shard-{number}-{uuid.uuid4().hex}", pure=False
        )

    def renew(self) -> None:
        """Load the shards that were lost for good."""
        for number, shard in enumerate(self.shards):
            if shard.status in ("cancelled", "lost"):
                if not self.source.anywhere:
                    raise ClusterError(
                        f"A partition must be computable again when its worker is lost; {self.facts[number].place} was sent there "
                        "and is gone. Pass lazy collections, persisted ones, or files."
                    )
                self.shards[number] = self.again(number, None)
        for future in self.awaiting.each(self.shards):
            self.awaiting.finished(future)
        self.locate()

    # ---- place ----

    def locate(self) -> None:
        """Ask who has which shard."""
        where = self.client.who_has(self.shards)
        self.holders = [tuple(sorted(where.get(shard.key, ()))) for shard in self.shards]
        self._workers = dict(self.client.nthreads())

    def follow(self) -> None:
        """Notice workers that came or went; who came gets its part of the shards."""
        workers = dict(self.client.nthreads())
        if workers == self._workers:
            return
        come = [address for address in workers if address not in self._workers]
        self.locate()
        if come:
            self._share(workers)

    def _share(self, workers: dict[str, int]) -> None:
        """Move shards, whole nodes of the tree, from those who have most to those who have fewer than their part."""
        size = BRANCHES if len(self.shards) >= 2 * BRANCHES * sum(workers.values()) else 1
        nodes = [list(range(a, min(a + size, len(self.shards)))) for a in range(0, len(self.shards), size)]
        owner = {tuple(node): next(iter(self.holders[node[0]]), "") for node in nodes}
        part = {address: len(nodes) * threads / sum(workers.values()) for address, threads in workers.items()}
        have = {address: [node for node in nodes if owner[tuple(node)] == address] for address in workers}
        moved = []
        for address in sorted(workers, key=lambda one: len(have[one]) - part[one]):
            while len(have[address]) + 1 <= part[address] + 0.5:
                richest = max(workers, key=lambda one: len(have[one]) - part[one])
                if len(have[richest]) - 1 < part[richest] - 0.5 or richest == address:
                    break
                node = have[richest].pop()
                have[address].append(node)
                for number in node:
                    self.shards[number] = self.client.submit(
                        same, self.shards[number], key=f"shard-{number}-{uuid.uuid4().hex}", pure=False,
                        workers=[address], allow_other_workers=True,
                    )  # fmt: skip
                    moved.append(self.shards[number])
        for future in self.awaiting.each(moved):
            self.awaiting.finished(future)
        if moved:
            self.locate()

    def nodes(self) -> list[list[int]]:
        """The shards that are worked off by one task: eight that lie together where there are many, else each by itself."""
        count = len(self.shards)
        if count < 2 * BRANCHES * max(1, sum(self._workers.values())):
            return [[number] for number in range(count)]
        nodes = []
        for first in range(0, count, BRANCHES):
            node = list(range(first, min(first + BRANCHES, count)))
            together = len({self.holders[number] for number in node}) == 1
            nodes += [node] if together else [[number] for number in node]
        return nodes


@dataclasses.dataclass
class Trainer:
    """Trains a model on shards.

    Attributes
    ----------
    data : Data
        The shards.
    model : Model
        What has been learned; it lies here and nowhere else between two epochs.
    recipe : Recipe
        How workers make a model like it.
    run : Run
        How to train, and how far it has come.
    mixing : str
        What a shard's share in the mixture is.
    validation : Data or None
        Examples to decide by when to stop.
    on_shards : callable
        Called with the bytes of the shards done, and of all.
    """

    data: Data
    model: Model
    recipe: Recipe
    run: Run
    mixing: str
    validation: Any = None
    on_shards: Callable[[int, int], None] = lambda done, total: None

    def __post_init__(self) -> None:
        self.client, self.awaiting = self.data.client, self.data.awaiting
        self.identity = uuid.uuid4().hex
        self.coordinates = coordinates_of(self.model)
        self._base: Any = None
        self._changes: list[Any] = []
        self._changed = 0
        self._sent: list[Array] = []

    # ---- weights out ----

    def _send(self) -> None:
        """Bring the weights to the cluster: what has changed since the last epoch, or all where that is less."""
        now = [array.copy() for array in self.coordinates.start()]
        whole = size_of(now)
        news = changes(now, self._sent) if self._base is not None else now
        self._changed += size_of(news)
        if self._base is None or size_of(news) >= whole or self._changed > 2 * whole or len(self._changes) >= 50:
            self._base = self.client.scatter([_boxed(now)], hash=False)[0]
            self._changes, self._changed = [], 0
        else:
            self._changes.append(self.client.scatter([_boxed(news)], hash=False)[0])
        self._sent = now

    def _forget_sent(self) -> None:
        self._base, self._changes, self._changed = None, [], 0

    # ---- an epoch ----

    def epoch(self) -> ShardedEpoch:
        """One epoch over all shards; what is lost on the way is done again."""
        began = time.monotonic()
        for _ in range(RETRIES):
            try:
                self.awaiting.check()
                self._wait_for_workers()
                self.data.follow()
                self._send()
                partial = self._learn()
                break
            except _Lost as error:
                reason = error
            except (OSError, KeyError, TimeoutError, RuntimeError) as error:
                if isinstance(error, ClusterError):
                    raise
                self.awaiting.check()
                reason = error
            self._forget_sent()
            self.data.renew()
        else:
            raise ClusterError(f"The epoch could not be finished in {RETRIES} attempts; the last one ended with: {reason}.")
        made = self._note(partial)
        if self.validation is not None or self.run.holdout:
            result = self._judge()
            made.held_out, made.held_out_mistakes = result.examples, result.mistakes
        made.seconds = time.monotonic() - began
        return made

    def _wait_for_workers(self) -> None:
        from ._cluster import seconds_to_connect

        try:
            self.client.wait_for_workers(1, timeout=max(30.0, seconds_to_connect()))
        except TimeoutError:
            raise ClusterError(
                f"The cluster must have a worker; {self.client.scheduler.address} has lost all of its own. Start some, then go on "
                "from the checkpoint."
            ) from None

    def _order(self) -> Order:
        run = dataclasses.replace(self.run, done=[], current=type(self.run.current)())
        return Order(
            self.recipe, self.identity, len(self.run.done), run, self.mixing, len(self.data.shards) == 1
        )

    def _learn(self) -> Partial:
        order, data = self._order(), self.data
        mark = f"{len(self.run.done) + 1}-{uuid.uuid4().hex}"

        def task(node: list[int], shards: list[Any], holders: list[str] | None, name: str) -> Any:
            where = {"workers": holders, "allow_other_workers": True} if holders else {}
            return self.client.submit(
                learn_shards, shards, node, self._base, self._changes, order,
                key=f"{name}-{node[0]}-{mark}", pure=False, **where,
            )  # fmt: skip

        nodes = data.nodes()
        tasks = [
            task(node, [data.shards[n] for n in node], list(data.holders[node[0]]), "epoch") for node in nodes
        ]
        root = self._tree(nodes, tasks, mark)
        seconds: dict[str, float] = {}
        began = time.monotonic()
        twins: dict[int, Any] = {}
        bytes_of = {t.key: sum(data.facts[n].bytes for n in node) for node, t in zip(nodes, tasks, strict=True)}
        total = sum(bytes_of.values())
        outcome: queue.SimpleQueue[Any] = queue.SimpleQueue()
        for future in (*tasks, root):
            future.add_done_callback(outcome.put)
        while True:
            try:
                future = outcome.get(timeout=0.25)
            except queue.Empty:
                self.awaiting.check()
                late = [k for k, t in enumerate(tasks) if t.key not in seconds and k not in twins]
                if late and self._are_late(seconds, len(tasks), time.monotonic() - began):
                    twins |= self._double(late, nodes, task)
                    tasks = [twins.get(k, t) for k, t in enumerate(tasks)]
                    bytes_of |= {twins[k].key: sum(data.facts[n].bytes for n in nodes[k]) for k in late if k in twins}
                    root = self._tree(nodes, tasks, f"again-{mark}")
                    for twin in (*(twins[k] for k in late if k in twins), root):
                        twin.add_done_callback(outcome.put)
                continue
            if future.key.startswith(("epoch-", "again-")) and future.status == "finished":
                seconds[future.key] = time.monotonic() - began
                self.on_shards(sum(bytes_of[key] for key in seconds if key in bytes_of), total)
                continue
            self.awaiting.finished(future)
            break
        for k, twin in twins.items():
            if twin.status == "finished":
                for number, shard in zip(nodes[k], self._doubles[k], strict=True):
                    data.shards[number] = shard  # the next epoch does not wait for the slow one either
        if twins:
            data.locate()
        partial: Partial = self.awaiting.gather([root])[0]
        partial.moved += size_of(partial.totals) + size_of(partial.averages)
        return partial

    def _are_late(self, seconds: dict[str, float], count: int, passed: float) -> bool:
        """Whether most are done and the rest takes far longer than they did."""
        if not self.data.source.anywhere or len(seconds) < max(1, count // 2) or len(self.data._workers) < 2:
            return False
        return passed > max(PATIENCE, SLOW * statistics.median(seconds.values()))

    def _double(self, late: list[int], nodes: list[list[int]], task: Callable[..., Any]) -> dict[int, Any]:
        """Give late work to somebody else as well, who loads the shards anew."""
        slow = {holder for k in late for number in nodes[k] for holder in self.data.holders[number]}
        others = [address for address in self.client.nthreads() if address not in slow]
        if not others:
            return {}
        self._forget_sent()
        self._sent = []
        start = [array.copy() for array in self.coordinates.start()]
        self._base, self._changes = self.client.scatter([_boxed(start)], hash=False, workers=others)[0], []
        self._sent = start
        self._doubles = {k: [self.data.again(number, others) for number in nodes[k]] for k in late}
        return {k: task(nodes[k], self._doubles[k], others, "again") for k in late}

    def _tree(self, nodes: list[list[int]], tasks: list[Any], mark: str) -> Any:
        """Add the results up, eight at a time, by the numbers of the shards: the order is the same whoever does it."""
        level: list[tuple[int, Any]] = [
            (node[0], task) if len(node) == 1 else (node[0] // BRANCHES, task) for node, task in zip(nodes, tasks, strict=True)
        ]
        whole = {node[0] // BRANCHES for node in nodes if len(node) > 1}
        # The first level has been done for the nodes that lie together.
        rows: list[tuple[int, Any]] = []
        single: dict[int, list[Any]] = {}
        for node, (place, task) in zip(nodes, level, strict=True):
            if len(node) > 1:
                rows.append((place, task))
            else:
                single.setdefault(place // BRANCHES, []).append(task)
        for place, parts in single.items():
            assert place not in whole
            rows.append((place, self._sum(parts, f"sum-{place}-{mark}")))
        rows.sort(key=lambda row: row[0])
        height = 1
        while len(rows) > 1:
            parents: dict[int, list[Any]] = {}
            for place, task in rows:
                parents.setdefault(place // BRANCHES, []).append(task)
            rows = [(place, self._sum(parts, f"sum{height}-{place}-{mark}")) for place, parts in parents.items()]
            height += 1
        return rows[0][1]

    def _sum(self, parts: list[Any], key: str) -> Any:
        return parts[0] if len(parts) == 1 else self.client.submit(_add, parts, key=key, pure=False)

    def _note(self, partial: Partial) -> ShardedEpoch:
        """Mix, and write down what happened."""
        notes = sorted(partial.notes, key=lambda note: note.shard)
        self.coordinates.mix(partial)
        shares = [note.share / partial.share if partial.share else 0.0 for note in notes]
        return ShardedEpoch(
            examples=sum(note.examples for note in notes),
            mistakes=sum(note.mistakes for note in notes),
            updates=sum(note.updates for note in notes),
            loss=sum(note.loss for note in notes),
            weighted_mistakes=sum(share * note.mistakes for share, note in zip(shares, notes, strict=True)),
            bytes_moved=partial.moved,
            shard_mistakes=[note.mistakes for note in notes],
            shard_updates=[note.updates for note in notes],
            shard_mixing=shares,
        )

    # ---- examples that are not learned ----

    def _judge(self) -> Judgement:
        """How the readout does on the examples set aside, or on those to decide by."""
        if callable(self.validation):
            result: Judgement = self.validation(self.model)
            return result
        data, held = (self.data, True) if self.validation is None else (self.validation, False)
        for _ in range(RETRIES):
            start = [array.copy() for array in self.coordinates.start()]
            readout = [part.ravel().copy() for part in self.model.weights()] if self.model.readout == "average" else []
            sent = self.client.scatter([_boxed(start), _boxed(readout)], hash=False)
            order = self._order()
            tasks = [
                self.client.submit(judge, [shard], *sent, order, held, pure=False, workers=list(holders) or None,
                                   allow_other_workers=bool(holders))
                for shard, holders in zip(data.shards, data.holders, strict=True)
            ]  # fmt: skip
            try:
                results = self.awaiting.results(tasks)
                return Judgement(
                    sum(result.examples for result in results), sum(result.mistakes for result in results)
                )
            except _Lost:
                data.renew()
        raise ClusterError("The examples to decide by could not be judged: workers were lost again and again.")


class Box(list[Any]):
    """A list that is sent as one thing."""


def _boxed(parts: Sequence[Array | Packed]) -> Any:
    return Box(parts)


def new_model(estimator: Any, facts: Sequence[Facts], classes: list[Any], width: int) -> tuple[Model, Recipe]:
    """The model here, and the recipe for those on the workers."""
    dtype = "float32" if all(fact.dtype == "float32" for fact in facts if fact.examples) else "float64"
    recipe = Recipe(type(estimator), estimator.get_params(deep=False), width, dtype, tuple(classes))
    return recipe.model(), recipe


def check_mixable(estimator: Any) -> None:
    """Refuse learners whose runs cannot be mixed."""
    name = type(estimator).__name__
    rule = getattr(estimator, "_rule", None)
    readout = getattr(estimator, "readout", getattr(estimator, "_readout", "last"))
    streams = rule is not None and hasattr(type(estimator), "partial_fit")
    if rule is None or not streams or readout == "vote":
        raise ValueError(
            f"Only a linear learner that goes example by example and keeps weights can be trained on shards: Perceptron, "
            f"AveragedPerceptron, MarginPerceptron, PassiveAggressive, Winnow, ALMA, ROMMA, SecondOrderPerceptron, AROW, "
            f"SoftConfidenceWeighted, ParallelPerceptron and rules of one's own; got {name}. "
            + ("AveragedPerceptron is close to a vote." if readout == "vote" else "Choose one of them.")
        )


def joined_classes(facts: Sequence[Facts]) -> tuple[list[Any], dict[Any, int]]:
    """All labels, sorted, and how often each comes."""
    counts: dict[Any, int] = {}
    kinds: dict[str, str] = {}
    for fact in facts:
        for label, count in zip(fact.labels, fact.counts, strict=True):
            kinds.setdefault(kind_of_label(label), fact.place)
            counts[label] = counts.get(label, 0) + count
    if len(kinds) > 1:
        places = " and ".join(f"{kind}s in {place}" for kind, place in kinds.items())
        raise ValueError(
            f"The labels must all be of one type, such as strings or integers; got {places}. Convert them, for instance with "
            "str(label)."
        )
    return sorted(counts), counts


def joined_features(facts: Sequence[Facts], source: Source) -> tuple[int, list[Any], list[str] | None]:
    """How many features there are, for each shard the numbers of its own, and all names where shards numbered them."""
    if any(fact.names is not None for fact in facts):
        encoder = source.encoder
        known: dict[str, int] = {} if encoder is None else dict.fromkeys(encoder.vocabulary.names(), 0)
        known = {name: number for number, name in enumerate(known)}
        started = len(known)
        columns = []
        for fact in facts:
            own = [known.setdefault(name, len(known)) for name in fact.names or []]
            columns.append(np.array([*range(started), *own], np.int32))
        return len(known), columns, list(known)
    if source.encoder is not None:
        return max(fact.width for fact in facts), [None] * len(facts), None
    filled = [fact for fact in facts if fact.examples] or list(facts)
    first = filled[0]
    for fact in filled:
        if fact.columns != first.columns and first.columns is not None:
            raise ValueError(
                f"All partitions must have the same columns; {first.place} has {_few(first.columns)}, {fact.place} has "
                f"{_few(fact.columns)}. Give them the same ones in the same order."
            )
        if fact.width != first.width:
            raise ValueError(
                f"All shards must have the same number of features; {first.place} has {first.width}, {fact.place} has "
                f"{fact.width}. Pad the matrices to a common width, or use files or dicts, which grow."
            )
        if fact.sparse != first.sparse:
            raise ValueError(
                f"All shards must be dense or all sparse; {first.place} is {'sparse' if first.sparse else 'dense'}, {fact.place} is "
                "not. Convert one kind into the other."
            )
    return first.width, [None] * len(facts), None


def _few(names: Sequence[str] | None) -> str:
    names = list(names or [])
    return ", ".join(names[:6]) + (", …" if len(names) > 6 else "")


@contextlib.contextmanager
def told(checkpoint: Any, run: Run) -> Iterator[None]:
    """Say where to go on when the cluster is lost."""
    try:
        yield
    except ClusterError as error:
        done = len(run.done)
        if checkpoint is not None and done:
            hint = f"{checkpoint} holds what was learned in {done} epoch(s): start a cluster and go on from there."
        else:
            hint = "Pass a checkpoint next time, so that nothing has to be learned twice."
        text = str(error).rstrip(".")
        raise ClusterError(f"{text}; {done} of at most {run.epochs} epochs were done. {hint}") from error

