"""Shards on a cluster: loading, placement, and recovery when workers are lost."""

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
"""Up to this many bytes of weights, the client sums the results of single shards; tasks for the sums would take longer."""

TOGETHER = 1 << 22
"""Up to this many bytes in total, weights are sent with the tasks and sums are fetched directly, which saves several messages.
Larger weights are stored on workers, which copy them to each other and sum their results."""


ROOM = 0.5
"""Fraction of a worker's memory limit up to which shards are moved to it; at 0.6 Dask begins to write to disk."""


class Box(list[Any]):
    """A list that Dask sends as one object."""


def _room(dask_scheduler: Any) -> dict[str, float]:
    """Free bytes of each worker; runs on the scheduler."""
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
        The tasks that load the shards.
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
        """Whether the weights are so small that the client sums them shard by shard."""

    def close(self) -> None:
        """Release the examples even if this object is still referenced: after an error a notebook keeps all variables."""
        for future in (*self._loaded, *self.shards):
            with contextlib.suppress(AttributeError, RuntimeError):  # a closed client holds nothing
                future.release()

    def submit(
        self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], names: Sequence[str],
        places: Sequence[Sequence[str] | None], stay: bool = False, **common: Any,
    ) -> list[Any]:  # fmt: skip
        """Submit a task for each tuple of arguments, on the workers in `places` where given.

        With `stay`, a task runs on another worker only if its own is lost. All tasks with a place are sent in one message, since
        each message takes the scheduler milliseconds. Values in `common` must be small: Dask makes a task of each large one, with
        the name of the argument as its key.
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
        """Load all shards, repeatedly if workers are lost, and return their facts; with `checked`, including checksums."""
        facts: list[Facts] = self.awaiting.insist(
            "The shards could not be loaded", lambda: self._load(on_shard, checked)
        )
        return facts

    def _load(self, on_shard: Callable[[int, int], None] | None, checked: bool) -> list[Facts]:
        places = self._places(len(self.source))
        arguments = [self._arguments(number, place) for number, place in enumerate(places)]
        self._loaded = self.submit(self.source.load, arguments, _named("load", places), places)
        futures = self.submit(
            facts_of, [(it, checked) for it in self._loaded], _named("facts", places), [None] * len(places)
        )
        for count, future in enumerate(self.awaiting.each(futures), start=1):
            self.awaiting.finished(future)
            if on_shard is not None:
                on_shard(count, len(futures))
        self.facts = self.awaiting.gather(futures)
        return self.facts

    def _places(self, count: int) -> list[list[str] | None]:
        """A worker for each shard, neighbouring shards together; None if the examples already have a place."""
        places = places_of(self.awaiting, count) if self.source.anywhere else []
        return [[place] for place in places] or [None] * count

    def _arguments(self, number: int, place: list[str] | None) -> tuple[Any, ...]:
        """Arguments of the task that loads a shard; examples in local memory are sent to its worker."""
        arguments = self.source.arguments[number]
        if self.source.local and isinstance(arguments[0], tuple):
            return self._sent(list(arguments[0]), place), *arguments[1:]
        return arguments

    def _sent(self, part: list[Any], place: list[str] | None) -> Any:
        """Send examples in local memory to a worker, or to any other one if it hangs."""
        try:
            return self.awaiting.exchange(self.client.scatter, part, workers=place, hash=False)
        except Lost:
            return self.awaiting.exchange(self.client.scatter, part, hash=False)

    def settle(self, classes: Sequence[Any], columns: list[Any], width: int, dtype: str, factors: Any) -> None:
        """Number labels and features the same way in all shards; the shards then stay on their workers."""
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
        """Load a shard again under a new key, on any worker."""
        (loaded,) = self.submit(self.source.load, [self._arguments(number, None)], [f"load-{number}"], [None])
        (shard,) = self.submit(settle, [(loaded, *self._settled[number])], [f"shard-{number}"], [None])
        return shard

    def renew(self) -> None:
        """Load lost shards again until all are available."""
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
        raise ClusterError(f"The shards could not be loaded again in {RETRIES} attempts: workers were lost repeatedly.")

    def _gone(self, shard: Any) -> bool:
        """Whether Dask cannot compute a partition again; wait while it still may."""
        while shard.status == "lost":
            self.awaiting.check()
            self.awaiting.tend()
            time.sleep(0.05)
        return bool(shard.status == "cancelled")

    # ---- place ----

    def bring(self, tasks: int, *weights: Sequence[Any]) -> list[Any]:
        """Provide weights for `tasks` tasks: small ones are sent with every task, large ones are stored on a worker."""
        return [Box(parts) for parts in weights] if self.along(tasks, *weights) else self.scatter(*weights)

    def along(self, tasks: int, *weights: Sequence[Any]) -> bool:
        """Whether the weights are small enough to send with each of `tasks` tasks."""
        return tasks * sum(size_of(parts) for parts in weights) <= TOGETHER

    def scatter(self, *weights: Sequence[Any]) -> list[Any]:
        """Store weights on a worker, from which other workers fetch them."""
        return list(self.awaiting.exchange(self.client.scatter, [Box(parts) for parts in weights], hash=False))

    def locate(self) -> None:
        """Ask which workers hold which shard; check the version of new workers."""
        self._asked = None
        where = self.awaiting.ask(self.client.who_has, self.shards)
        self.holders = [tuple(sorted(where.get(shard.key, ()))) for shard in self.shards]
        self.workers = dict(self.awaiting.ask(self.client.nthreads))
        self.awaiting.check_versions(self.workers)

    def follow(self) -> None:
        """React to new and lost workers: give new ones their part of the shards; wait if there is no worker."""
        asked, self._asked = self._asked, None
        workers = (asked and self.awaiting.end(asked)) or self._some_workers()
        if workers == self.workers and self._served >= workers.keys() and all(self.holders):
            return
        self.locate()
        if self.workers.keys() - self._served:
            self._share()

    def ask_for_workers(self) -> None:
        """Request the list of workers now, so that the answer is available when the next epoch begins."""
        self._asked = self.awaiting.begin(self.client.nthreads)

    def _some_workers(self) -> Any:
        """The workers and their numbers of threads; wait if there is no worker."""
        while not (workers := self.awaiting.ask(self.client.nthreads)):
            self.awaiting.tend()
            time.sleep(0.05)
        return workers

    def _share(self) -> None:
        """Give every worker its part of the shards.

        All shards of one task must be on one worker, but Dask may have loaded some of them on an idle worker.
        """
        self._served = set(self.workers)
        if self.workers:
            self._move(self._moves(self._nodes(), self.workers))

    def even_out(self, left: int) -> None:
        """Move shards from slow workers to others if that saves time in the `left` remaining epochs.

        Every worker keeps at least one shard, so that its speed is still measured.
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
        """The work of each worker after the given moves."""
        sizes: dict[str, list[int]] = {address: [] for address in self.workers}
        for number, holders in enumerate(self.holders):
            if (home := moves.get(number, holders[0] if holders else "")) in sizes:
                sizes[home].append(self.facts[number].bytes)
        return Plan(self.workers, speeds, sizes)

    def _fit(self, moves: Mapping[int, str]) -> bool:
        """Whether the workers that receive shards have enough memory."""
        room = self.awaiting.ask(self.client.run_on_scheduler, _room)
        for number, home in moves.items():
            room[home] = room.get(home, 0.0) - self.facts[number].bytes
        return all(room[home] >= 0.0 for home in moves.values())

    def _moves(self, nodes: list[list[int]], speeds: Mapping[str, float]) -> dict[int, str]:
        """New workers of shards, so that every worker has its part of the nodes with as few moves as possible."""
        have: dict[str, list[list[int]]] = {address: [] for address in speeds}
        for node in nodes:  # to the worker that holds most of it; of several, to the least loaded
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
        """Copy shards to other workers and release the originals."""
        if not moves:
            return
        moved = self.submit(
            same, [(self.shards[n],) for n in moves], [f"shard-{n}" for n in moves], [[home] for home in moves.values()],
            stay=True,  # else Dask runs the task on the worker that already holds the shard
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
        """Shards that must be on one worker because one task processes them; with small weights, each shard alone."""
        count = len(self.shards)
        groups = count if self.few else groups_for(count, sum(self.workers.values()))
        nodes: list[list[int]] = [[] for _ in range(groups)]
        for number in range(count):
            nodes[group_of(number, groups, count)].append(number)
        return nodes

    def task_groups(self) -> list[list[int]]:
        """The groups of shards that are processed by one task each."""
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
