"""Shards on a cluster: loaded where they stay, found again when workers come and go."""

import collections
import contextlib
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ._awaiting import RETRIES, Awaiting, Lost
from ._errors import ClusterError
from ._internals import STAYS, memory_of_workers
from ._nodes import group_of, groups_for
from ._pace import Pace, Plan, pays
from ._partials import size_of
from ._shards import Facts, facts_of, same, settle
from ._sources import Source, places_of

FEW = 1 << 14
"""Weights of so many bytes are added up by who trains, shard by shard: further tasks would take longer."""

TOGETHER = 1 << 22
"""Up to so many bytes in all go straight from who trains to tasks, and sums from them: that spares the cluster several messages.
More go over workers, which pass weights on to each other and add up what they have."""


ROOM = 0.5
"""Others take shards of slow workers up to this share of the memory that they may use; at 0.6 Dask begins to write to disk."""


class Box(list[Any]):
    """A list that is sent as one thing."""


def _room(dask_scheduler: Any) -> dict[str, float]:
    """The bytes that each worker may still take; it runs on the scheduler."""
    return {address: ROOM * limit - held for address, (limit, held) in memory_of_workers(dask_scheduler).items()}


def _named(name: str, values: Sequence[Any]) -> list[str]:
    return [f"{name}-{number}" for number in range(len(values))]


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
        self.pace = Pace()
        self.facts: list[Facts] = []
        self.shards: list[Any] = []
        self._loaded: list[Any] = []
        self.holders: list[tuple[str, ...]] = []
        self._settled: list[tuple[Any, ...]] = []
        self.workers: dict[str, int] = {}
        self._served: set[str] = set()
        self._asked: Any = None
        self.few = False
        """Whether the weights are so few that who trains adds them up, shard by shard."""

    def close(self) -> None:
        """Let go of the examples, also where somebody still holds this: a notebook keeps all variables of what has failed."""
        for future in (*self._loaded, *self.shards):
            with contextlib.suppress(AttributeError, RuntimeError):  # a client that is gone holds nothing
                future.release()

    def submit(
        self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], names: Sequence[str],
        places: Sequence[Sequence[str] | None], stay: bool = False, **common: Any,
    ) -> list[Any]:  # fmt: skip
        """A task for each tuple of arguments, at its place if it has one; elsewhere only if that is lost, should it stay there.

        All that have one go to the scheduler together: each message takes it milliseconds. What is common must be small: Dask
        makes a task of what is large, and calls it by the name of the argument.
        """
        import dask

        mark = uuid.uuid4().hex
        keys = [f"{name}-{mark}" for name in names]
        homes = {key: list(place) for key, place in zip(keys, places, strict=True) if place}
        futures: dict[str, Any] = {}
        for at_home in (True, False):
            these = [number for number, key in enumerate(keys) if (key in homes) is at_home]
            if not these:
                continue
            where = {"workers": homes.__getitem__, "allow_other_workers": not stay, STAYS: stay} if at_home else {}
            with dask.annotate(**where):
                made = self.client.map(
                    function, *zip(*(arguments[number] for number in these), strict=True),
                    key=[keys[number] for number in these], pure=False, **common,
                )  # fmt: skip
            futures |= {future.key: future for future in made}
        return [futures[key] for key in keys]

    # ---- load ----

    def load(self, on_shard: Callable[[int, int], None] | None = None, checked: bool = False) -> list[Facts]:
        """Load all shards, once more if workers are lost meanwhile; what they hold, but for the examples.

        A checksum of the examples is made if asked for.
        """
        facts: list[Facts] = self.awaiting.insist(
            "The shards could not be loaded", lambda: self._load(on_shard, checked)
        )
        return facts

    def _load(self, on_shard: Callable[[int, int], None] | None, checked: bool) -> list[Facts]:
        places = self._places(len(self.source))
        arguments = [self._arguments(number, place) for number, place in enumerate(places)]
        self._loaded = self.submit(self.source.load, arguments, _named("load", places), places)
        told = self.submit(
            facts_of, [(it, checked) for it in self._loaded], _named("facts", places), [None] * len(places)
        )
        for count, future in enumerate(self.awaiting.each(told), start=1):
            self.awaiting.finished(future)
            if on_shard is not None:
                on_shard(count, len(told))
        self.facts = self.awaiting.gather(told)
        return self.facts

    def _places(self, count: int) -> list[list[str] | None]:
        """A worker for each shard, neighbours together; None where the examples lie somewhere already."""
        places = places_of(self.awaiting, count) if self.source.anywhere else []
        return [[place] for place in places] or [None] * count

    def _arguments(self, number: int, place: list[str] | None) -> tuple[Any, ...]:
        """What a shard is loaded from; examples that lie here are sent to its place."""
        arguments = self.source.arguments[number]
        if self.source.local and isinstance(arguments[0], tuple):
            return self._sent(list(arguments[0]), place), *arguments[1:]
        return arguments

    def _sent(self, part: list[Any], place: list[str] | None) -> Any:
        """Examples that lie here, sent to a worker; to any other if it hangs."""
        try:
            return self.awaiting.exchange(self.client.scatter, part, workers=place, hash=False)
        except Lost:
            return self.awaiting.exchange(self.client.scatter, part, hash=False)

    def settle(self, classes: Sequence[Any], columns: list[Any], width: int, dtype: str, factors: Any) -> None:
        """Number labels and features the same everywhere. The shards then stay where they are."""
        place = {label: number for number, label in enumerate(classes)}
        ends = np.cumsum([0] + [facts.examples for facts in self.facts]).tolist()
        self._settled = [
            (
                facts.mark,
                [place.get(label, len(classes)) for label in facts.labels],
                columns[number],
                width,
                dtype,
                factors,
                ends[number],
            )
            for number, facts in enumerate(self.facts)
        ]
        self.few = 8 * width * (len(classes) if len(classes) > 2 else 1) <= FEW
        arguments = [(loaded, *rest) for loaded, rest in zip(self._loaded, self._settled, strict=True)]
        self.shards = self.submit(settle, arguments, _named("shard", arguments), [None] * len(arguments))
        try:
            for future in self.awaiting.each(self.shards):
                self.awaiting.finished(future)
            self.locate()
        except Lost:
            self.renew()
        self._loaded = []
        self._share()

    def again(self, number: int) -> Any:
        """Load a shard once more, under another name, wherever there is room."""
        (loaded,) = self.submit(self.source.load, [self._arguments(number, None)], [f"load-{number}"], [None])
        (shard,) = self.submit(settle, [(loaded, *self._settled[number])], [f"shard-{number}"], [None])
        return shard

    def renew(self) -> None:
        """Load the shards that were lost for good, until none is."""
        for _ in range(RETRIES):
            with contextlib.suppress(Lost):
                self._some_workers()
                for number, shard in enumerate(self.shards):
                    if self.source.anywhere and shard.status in ("cancelled", "lost"):
                        self.shards[number] = self.again(number)
                    elif self._gone(shard):
                        raise ClusterError(
                            f"A partition must be computable again when its worker is lost; {self.facts[number].place} was sent "
                            "there and is gone. Pass lazy collections, persisted ones, or files"
                        )
                for future in self.awaiting.each(self.shards):
                    self.awaiting.finished(future)
                self.locate()
                return
        raise ClusterError(
            f"The shards could not be loaded again in {RETRIES} attempts: workers were lost again and again."
        )

    def _gone(self, shard: Any) -> bool:
        """Whether Dask cannot compute a partition again; while it still may, wait for that."""
        while shard.status == "lost":
            self.awaiting.check()
            self.awaiting.tend()
            time.sleep(0.05)
        return bool(shard.status == "cancelled")

    # ---- place ----

    def bring(self, tasks: int, *weights: Sequence[Any]) -> list[Any]:
        """Weights for so many tasks: few go along with every task, many lie on a worker."""
        return [Box(parts) for parts in weights] if self.along(tasks, *weights) else self.scatter(*weights)

    def along(self, tasks: int, *weights: Sequence[Any]) -> bool:
        """Whether weights are so few that they go along with each of so many tasks."""
        return tasks * sum(size_of(parts) for parts in weights) <= TOGETHER

    def scatter(self, *weights: Sequence[Any]) -> list[Any]:
        """Weights on a worker, from where others fetch them."""
        return list(self.awaiting.exchange(self.client.scatter, [Box(parts) for parts in weights], hash=False))

    def locate(self) -> None:
        """Ask who has which shard; who has come must have this library."""
        self._asked = None
        where = self.awaiting.ask(self.client.who_has, self.shards)
        self.holders = [tuple(sorted(where.get(shard.key, ()))) for shard in self.shards]
        self.workers = dict(self.awaiting.ask(self.client.nthreads))
        self.awaiting.check_versions(self.workers)

    def follow(self) -> None:
        """Notice workers that came or went; who came gets its part of the shards. Where all are gone, wait for one."""
        asked, self._asked = self._asked, None
        workers = (asked and self.awaiting.end(asked)) or self._some_workers()
        if workers == self.workers and self._served >= workers.keys() and all(self.holders):
            return
        self.locate()
        if self.workers.keys() - self._served:
            self._share()

    def ask_for_workers(self) -> None:
        """Ask which workers there are, so that the answer is here when the next epoch begins."""
        self._asked = self.awaiting.begin(self.client.nthreads)

    def _some_workers(self) -> Any:
        """The workers and their threads; where all are gone, once one has come."""
        while not (workers := self.awaiting.ask(self.client.nthreads)):
            self.awaiting.tend()
            time.sleep(0.05)
        return workers

    def _share(self) -> None:
        """Give every worker its part of the shards.

        What one task works off must lie together. Dask may have let an idle worker load some of it, or more than its part.
        """
        self._served = set(self.workers)
        if self.workers:
            self._move(self._moves(self._nodes(), self.workers))

    def even_out(self, left: int) -> None:
        """Give shards of slow workers to others, with so many epochs to come, where that pays.

        Every worker keeps one, so that it is seen when it becomes faster.
        """
        speeds = self.pace.speeds(self.workers)
        if speeds is None or not (now := self._plan(speeds, {})).lags():
            return
        parts = {address: threads * speeds[address] for address, threads in self.workers.items()}
        moves = self._moves([[number] for number in range(len(self.shards))], parts)
        then, moved = self._plan(speeds, moves), sum(self.facts[number].bytes for number in moves)
        if pays(now.seconds(), then.seconds(), moved, self.pace.epochs, left) and self._fit(moves):
            self._move(moves)
            self.pace.moved()

    def _plan(self, speeds: Mapping[str, float], moves: Mapping[int, str]) -> Plan:
        """Who has what to learn once some shards are moved."""
        sizes: dict[str, list[int]] = {address: [] for address in self.workers}
        for number, holders in enumerate(self.holders):
            if (home := moves.get(number, holders[0] if holders else "")) in sizes:
                sizes[home].append(self.facts[number].bytes)
        return Plan(self.workers, speeds, sizes)

    def _fit(self, moves: Mapping[int, str]) -> bool:
        """Whether those who shall get more to hold have the memory for it."""
        room = self.awaiting.ask(self.client.run_on_scheduler, _room)
        for number, home in moves.items():
            room[home] = room.get(home, 0.0) - self.facts[number].bytes
        return all(room[home] >= 0.0 for home in moves.values())

    def _moves(self, nodes: list[list[int]], speeds: Mapping[str, float]) -> dict[int, str]:
        """Which shards go where, so that every worker has its part of the nodes; as few as possible are moved."""
        have: dict[str, list[list[int]]] = {address: [] for address in speeds}
        for node in nodes:  # to whom most of it lies with, and of those to whom has least
            held = collections.Counter(address for number in node for address in self.holders[number])
            have[min(speeds, key=lambda one: (-held[one], len(have[one]) / speeds[one]))].append(node)
        part = {address: len(nodes) * speed / sum(speeds.values()) for address, speed in speeds.items()}
        for address in sorted(speeds, key=lambda one: len(have[one]) - part[one]):
            while len(have[address]) + 1 <= part[address] + 0.5:
                richest = max(speeds, key=lambda one: len(have[one]) - part[one])
                fewer = len(have[richest]) - 1
                if fewer < part[richest] - 0.5 or fewer == 0 or richest == address:
                    break
                have[address].append(have[richest].pop())
        homes = {number: address for address, owned in have.items() for node in owned for number in node}
        return {number: home for number, home in sorted(homes.items()) if home not in self.holders[number]}

    def _move(self, moves: dict[int, str]) -> None:
        """Copy shards to other workers, and let go of them where they were."""
        if not moves:
            return
        moved = self.submit(
            same, [(self.shards[n],) for n in moves], [f"shard-{n}" for n in moves], [[home] for home in moves.values()],
            stay=True,  # else Dask gives them back to who has them
        )  # fmt: skip
        for number, future in zip(moves, moved, strict=True):
            self.shards[number] = future
        try:
            for future in self.awaiting.each([self.shards[number] for number in moves]):
                self.awaiting.finished(future)
            self.locate()
        except Lost:
            self.renew()

    def _nodes(self) -> list[list[int]]:
        """Shards that shall lie together, because one task works them off; where the weights are few, none has to."""
        count = len(self.shards)
        groups = count if self.few else groups_for(count, sum(self.workers.values()))
        nodes: list[list[int]] = [[] for _ in range(groups)]
        for number in range(count):
            nodes[group_of(number, groups, count)].append(number)
        return nodes

    def lots(self) -> list[list[int]]:
        """The shards that are worked off by one task."""
        if not self.few:
            nodes = []
            for node in self._nodes():
                together = len({self.holders[number] for number in node}) == 1
                nodes += [node] if together else [[number] for number in node]
            return nodes
        size = -(-len(self.shards) // groups_for(len(self.shards), sum(self.workers.values())))
        owned: dict[tuple[str, ...], list[int]] = {}
        for number, holders in enumerate(self.holders):
            owned.setdefault(holders, []).append(number)
        return [own[first : first + size] for own in owned.values() for first in range(0, len(own), size)]
