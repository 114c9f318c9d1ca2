"""Group commit: collect the events that are not on disk yet, and write them together.

While a thread writes one group, the next one is collected: the slower the disk, the larger the groups.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from rosenblatt.model_file.container import to_bytes
from rosenblatt.serve.events import Event
from rosenblatt.serve.examples import Refused
from rosenblatt.serve.learner import Served
from rosenblatt.serve.metrics import Metrics
from rosenblatt.serve.news import News
from rosenblatt.serve.snapshots import copy
from rosenblatt.serve.store import Snapshot, Store


class Groups:
    """The group being collected and the group being written.

    Parameters
    ----------
    store : Store
        Destination of the events.
    write : callable
        Runs a function in the writing thread.
    snapshot_every : int
        Number of events of a model between two snapshots.
    news, metrics
        Notified when a group is on disk.
    """

    def __init__(
        self, store: Store, write: Callable[..., Awaitable[Any]], snapshot_every: int, news: News, metrics: Metrics
    ) -> None:
        self._store, self._write, self._news, self._metrics = store, write, news, metrics
        self._snapshot_every = snapshot_every
        self.events: list[Event] = []
        self._created: list[tuple[int, str]] = []
        self._waiting: list[tuple[asyncio.Future[Any], Any]] = []
        self._told: list[tuple[Served, Event]] = []
        self._wake = asyncio.Event()
        self._writing = False
        self._snapshot_cost: dict[int, float] = {}
        self._snapshot_time: dict[int, float] = {}

    # ---- collecting ----

    def add(self, served: Served, events: list[Event]) -> None:
        """Add events that were applied to a model."""
        self.events += events
        if served.name in self._news:
            self._told += [(served, event) for event in events]

    def add_model(self, served: Served) -> None:
        """Add a new model."""
        self._created.append((served.number, served.name))
        self.add(served, [served.creation()])

    async def confirmed(self, answer: Any) -> Any:
        """Return an answer when all events that it depends on are on disk."""
        if not (self.events or self._created or self._writing):
            return answer
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append((future, answer))
        self._wake.set()
        return await future

    def drop(self, refusal: Refused) -> None:
        """Discard the collected group and refuse the requests that wait for it."""
        for future, _ in self._waiting:
            if not future.done():
                future.set_exception(refusal)
        self.events, self._created, self._waiting, self._told = [], [], [], []

    # ---- writing ----

    @property
    def left(self) -> bool:
        """Whether there are events to write or requests that wait for them."""
        return bool(self._waiting or self.events)

    def wake(self) -> None:
        """Write the group now, even if no request waits for it."""
        self._wake.set()

    async def commit(self, models: Mapping[str, Served], wait: float) -> None:
        """Write the next group as soon as a request waits for it, or after `wait` seconds."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), wait)
        self._wake.clear()
        events, created, waiting, news = self.events, self._created, self._waiting, self._told
        self.events, self._created, self._waiting, self._told = [], [], [], []
        self._writing = True
        started = time.perf_counter()
        try:
            due = self._due(models)  # copied now: the copies must include the events of this group and no later ones
            await self._write(self._put, events, due, created)
        except BaseException:  # any error: no request may wait for ever
            self._waiting = waiting + self._waiting
            raise
        finally:
            self._writing = False
        self._metrics.committed(len(events), time.perf_counter() - started)
        for served, event in news:
            self._news.publish(served, event)
        for future, answer in waiting:
            if not future.done():
                future.set_result(answer)

    async def take_snapshots(self, models: Mapping[str, Served]) -> None:
        """Take snapshots of all models that have changed since their last one."""
        await self._write(self._put, [], self._due(models, everything=True), [])

    def _due(self, models: Mapping[str, Served], everything: bool = False) -> list[tuple[Served, int, Any]]:
        """Copies of models with many events since their last snapshot, limited to about 2% of the time."""
        copies = []
        for served in models.values():
            due = served.sequence - served.snapshot_sequence >= (1 if everything else self._snapshot_every)
            age = time.perf_counter() - self._snapshot_time.get(served.number, -1e9)
            if due and (everything or age > 50 * self._snapshot_cost.get(served.number, 0.0)):
                started = time.perf_counter()
                copies.append((served, served.sequence, copy(served)))
                self._snapshot_cost[served.number] = time.perf_counter() - started
        return copies

    def _put(self, events: list[Event], due: list[tuple[Served, int, Any]], created: list[tuple[int, str]]) -> None:
        """Write a group; runs in the writing thread."""
        snapshots = []
        for served, sequence, moment in due:
            started = time.perf_counter()
            snapshots.append(Snapshot(served.number, sequence, to_bytes(*moment.packed())))
            self._snapshot_time[served.number] = time.perf_counter()
            self._snapshot_cost[served.number] += self._snapshot_time[served.number] - started
            served.snapshot_sequence = sequence
            self._metrics.snapshots.inc()
        self._store.append(events, snapshots, created)
