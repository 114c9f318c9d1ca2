"""Group commit: collect the events that are not on disk yet, and write them together.

While a thread writes one group, the next one is collected: the slower the disk, the larger the groups. Snapshots are encoded by
another thread and stored with a later group, so no request waits for them.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from rosenblatt.model_file.container import to_bytes
from rosenblatt.serve.events import Event
from rosenblatt.serve.examples import Refused
from rosenblatt.serve.learner import Served
from rosenblatt.serve.metrics import Metrics
from rosenblatt.serve.news import News
from rosenblatt.serve.snapshots import Copy, copy
from rosenblatt.serve.store import Snapshot, Store

log = logging.getLogger("rosenblatt.serve")

ENOUGH = 1 << 20
"""Bytes of collected events above which batches wait: a larger group would delay the single requests in it."""

SNAPSHOT_BYTES = 32 << 20
"""Bytes of events of a model after which a snapshot is due, however few they are."""

PAUSE = 60.0
"""Seconds until a snapshot that failed is tried again."""


class Groups:
    """The group being collected and the group being written.

    Parameters
    ----------
    store : Store
        Destination of the events.
    write : callable
        Runs a function in the writing thread.
    snapshot_every : int
        Number of examples of a model between two snapshots.
    news, metrics
        Notified when a group is on disk.
    """

    def __init__(
        self, store: Store, write: Callable[..., Awaitable[Any]], snapshot_every: int, news: News, metrics: Metrics
    ) -> None:
        self._store, self._write, self._news, self._metrics = store, write, news, metrics
        self._snapshot_every = snapshot_every
        self.events: list[Event] = []
        self._bytes = 0
        self._created: list[tuple[int, str]] = []
        self._waiting: list[tuple[asyncio.Future[Any], Any]] = []
        self._told: list[tuple[Served, Event]] = []
        self._wake = asyncio.Event()
        self._taken = asyncio.Event()
        self.writing_since: float | None = None
        self._encoder = ThreadPoolExecutor(1, "snapshots")
        self._encoding: asyncio.Task[None] | None = None
        self._encoded: list[tuple[Served, Snapshot]] = []
        self._not_before: dict[int, float] = {}
        self._generation = 0

    # ---- collecting ----

    def add(self, served: Served, events: list[Event]) -> None:
        """Add events that were applied to a model."""
        self.events += events
        for event in events:
            self._bytes += len(event.payload)
        if served.name in self._news:
            self._told += [(served, event) for event in events]

    def add_model(self, served: Served) -> None:
        """Add a new model."""
        self._created.append((served.number, served.name))
        self.add(served, [served.creation()])

    async def room(self) -> None:
        """Wait until the collected group is small enough for more lines of a batch."""
        while self._bytes > ENOUGH:
            self._wake.set()
            await self._taken.wait()

    async def confirmed(self, answer: Any) -> Any:
        """Return an answer when all events that it depends on are on disk."""
        if not (self.events or self._created or self.writing_since is not None):
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
        self.events, self._created, self._waiting, self._told, self._bytes = [], [], [], [], 0
        self._encoded = []
        self._generation += 1
        self._taken.set()
        self._wake.set()

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
        self.events, self._created, self._waiting, self._told, self._bytes = [], [], [], [], 0
        self._taken.set()
        self._taken = asyncio.Event()
        encoded, self._encoded = self._encoded, []
        self.writing_since = started = time.monotonic()
        try:
            due = self._due(models)  # copied now: the copy must include the events of this group and no later ones
            await self._write(self._put, events, [snapshot for _, snapshot in encoded], created)
        except BaseException:  # any error: no request may wait for ever
            self._waiting = waiting + self._waiting
            raise
        finally:
            self.writing_since = None
        self._metrics.committed(len(events), time.monotonic() - started)
        for served, snapshot in encoded:
            served.snapshot_sequence = snapshot.sequence
            self._metrics.snapshots.inc()
        if due is not None:
            self._encoding = asyncio.create_task(self._encode(*due))
        for served, event in news:
            self._news.publish(served, event)
        for future, answer in waiting:
            if not future.done():
                future.set_result(answer)

    def _put(self, events: list[Event], snapshots: list[Snapshot], created: list[tuple[int, str]]) -> None:
        """Write a group; runs in the writing thread."""
        self._store.append(events, snapshots, created)

    # ---- snapshots ----

    async def take_snapshots(self, models: Mapping[str, Served]) -> None:
        """Take snapshots of all models that have changed since their last one."""
        if self._encoding is not None:
            await self._encoding
        for served in models.values():
            if served.sequence > served.snapshot_sequence:
                moment, sequence = copy(served), served.sequence
                data = await self._bytes_of(served, moment)
                if data is not None:
                    await self._write(self._put, [], [Snapshot(served.number, sequence, data)], [])
                    self._metrics.snapshots.inc()

    def close(self) -> None:
        """End the thread that encodes snapshots."""
        self._encoder.shutdown()

    def _due(self, models: Mapping[str, Served]) -> tuple[Served, int, Copy, float] | None:
        """A copy of a model with many examples since its last snapshot; one at a time, limited to about 4% of the time."""
        if self._encoding is not None and not self._encoding.done():
            return None
        now = time.monotonic()
        for served in models.values():
            due = served.new_lines >= self._snapshot_every or served.new_bytes >= SNAPSHOT_BYTES
            if due and now >= self._not_before.get(served.number, 0.0):
                served.new_lines = served.new_bytes = 0
                return served, served.sequence, copy(served), now
        return None

    async def _encode(self, served: Served, sequence: int, moment: Copy, started: float) -> None:
        """Encode a snapshot, for a later group."""
        generation = self._generation
        data = await self._bytes_of(served, moment)
        now = time.monotonic()
        self._not_before[served.number] = now + (PAUSE if data is None else 25 * (now - started))
        if data is not None and generation == self._generation:
            self._encoded.append((served, Snapshot(served.number, sequence, data)))

    async def _bytes_of(self, served: Served, moment: Copy) -> bytes | None:
        """Encode a copy; None if that is not possible: a model that has no snapshot must not keep the others from theirs."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._encoder, _encoded, moment)
        except Exception:
            log.exception("a model has no snapshot", extra={"model": served.name})
            self._metrics.snapshot_failures.inc()
            return None


def _encoded(moment: Copy) -> bytes:
    return to_bytes(*moment.packed())
