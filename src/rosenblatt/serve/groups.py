"""Group commit: collect the events that are not on disk yet, and write them together.

While a thread writes one group, the next one is collected: the slower the disk, the larger the groups. Snapshots are encoded by
another thread and stored in parts with later groups, so no request waits long for them.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from rosenblatt.serve.events import Event
from rosenblatt.serve.examples import Refused
from rosenblatt.serve.learner import Served
from rosenblatt.serve.metrics import Metrics
from rosenblatt.serve.news import News
from rosenblatt.serve.retention import Mark, Retention
from rosenblatt.serve.snapshots import Copy, copy
from rosenblatt.serve.store import Part, Snapshot, Store
from rosenblatt.serve.teaching import LARGE
from rosenblatt.serve.tracing import Tracing

log = logging.getLogger("rosenblatt.serve")

ENOUGH = 1 << 20
"""Bytes of collected events above which batches wait: a larger group would delay the single requests in it."""

BESIDE_SINGLES, SINGLES_FOR = 1 << 18, 0.1
"""The same while there are single requests, which wait for the group being written and for their own; and the seconds after the
last of them."""

SNAPSHOT_BYTES = 32 << 20
"""Bytes of events of a model after which a snapshot is due, however few they are."""

BIG = 16 << 20
"""Bytes of a snapshot that is taken less often."""

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
    retention : Retention
        Which snapshots stay.
    tracing : Tracing
        Spans of OpenTelemetry.
    """

    def __init__(
        self, store: Store, write: Callable[..., Awaitable[Any]], snapshot_every: int, news: News, metrics: Metrics,
        retention: Retention, tracing: Tracing,
    ) -> None:  # fmt: skip
        self._retention, self._tracing = retention, tracing
        self._store, self._write, self._news, self._metrics = store, write, news, metrics
        self._snapshot_every = snapshot_every
        self.events: list[Event] = []
        self._bytes = 0
        self._created: list[tuple[int, str]] = []
        self._begin: list[Snapshot] = []
        self._deleted: list[int] = []
        self._renamed: list[tuple[int, str]] = []
        self._waiting: list[tuple[asyncio.Future[Any], Any]] = []
        self._told: list[tuple[Served, Event]] = []
        self._wake = asyncio.Event()
        self._taken = asyncio.Event()
        self.writing_since: float | None = None
        self._encoder = ThreadPoolExecutor(1, "snapshots")
        self._encoding: asyncio.Task[None] | None = None
        self._parts: list[tuple[Served, Part]] = []  # of a snapshot, the last one first
        self._not_before: dict[int, float] = {}
        self.copying = asyncio.Lock()  # held while there is a copy of a model in memory
        self._generation = self._count = 0
        self._single = -SINGLES_FOR  # time of the last single request

    # ---- collecting ----

    def add(self, served: Served, events: list[Event]) -> None:
        """Add events that were applied to a model."""
        self.events += events
        for event in events:
            self._bytes += len(event.payload)
        if served.name in self._news:
            self._told += [(served, event) for event in events]

    def add_model(self, served: Served, begin: Snapshot | None = None, events: list[Event] | None = None) -> None:
        """Add a new model: with the event of its creation, or with a snapshot and the events after it."""
        self._created.append((served.number, served.name))
        if begin is not None:
            self._begin.append(begin)
        self.add(served, [served.creation()] if events is None else events)

    def rename_model(self, number: int, name: str) -> None:
        """Rename a model."""
        if any(number == new for new, _ in self._created):
            self._created = [(new, name if new == number else known) for new, known in self._created]
        else:
            self._renamed.append((number, name))

    def delete_model(self, number: int) -> None:
        """Delete a model."""
        self._deleted.append(number)
        self._renamed = [(other, name) for other, name in self._renamed if other != number]
        self._parts = [(served, part) for served, part in self._parts if served.number != number]

    @property
    def has_singles(self) -> bool:
        """Whether there are single requests, or were a moment ago."""
        return time.monotonic() - self._single < SINGLES_FOR

    async def room(self) -> None:
        """Wait until the collected group is small enough for more lines of a batch."""
        while self._bytes > (BESIDE_SINGLES if self.has_singles else ENOUGH):
            self._wake.set()
            await self._taken.wait()

    async def confirmed(self, answer: Any, single: bool = False) -> Any:
        """Return an answer when all events that it depends on are on disk; groups stay small while there are single requests."""
        if single:
            self._single = time.monotonic()
        if not (self.events or self._created or self._deleted or self.writing_since is not None):
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
        self._parts, self._deleted, self._renamed, self._begin = [], [], [], []
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
        part = self._parts.pop() if self._parts else None
        deleted, self._deleted = self._deleted, []
        begin, self._begin = self._begin, []
        renamed, self._renamed = self._renamed, []
        self.writing_since = started = time.monotonic()
        try:
            self._begin_snapshot(models)  # copied now: the copy must include the events of this group and no later ones
            with self._tracing.span("commit", events=len(events)) if events else contextlib.nullcontext():
                await self._write(
                    self._put, events, begin, created, None if part is None else part[1], deleted, renamed
                )
        except BaseException:  # any error: no request may wait for ever
            self._waiting = waiting + self._waiting
            raise
        finally:
            self.writing_since = None
        self._metrics.committed(len(events), time.monotonic() - started)
        if part is not None and part[1].last:
            self._stored(part[0], part[1].of)
        if self._parts:
            self._wake.set()
        for served, event in news:
            self._news.publish(served, event)
        for future, answer in waiting:
            if not future.done():
                future.set_result(answer)

    def _put(
        self,
        events: list[Event],
        snapshots: list[Snapshot],
        created: list[tuple[int, str]],
        part: Part | None = None,
        deleted: Sequence[int] = (),
        renamed: Sequence[tuple[int, str]] = (),
    ) -> None:
        """Write a group; runs in the writing thread."""
        self._store.append(events, snapshots, created, part, deleted, renamed)

    # ---- snapshots ----

    async def take_snapshots(self, models: Mapping[str, Served]) -> None:
        """Take snapshots of all models that have changed since their last one."""
        if self._encoding is not None:
            await self._encoding
        for served in models.values():
            if served.sequence > served.snapshot_sequence:
                async with self.copying:
                    moment = copy(served)
                    data = await self._bytes_of(served, moment)
                if data is not None:
                    snapshot = self._snapshot(served, moment.mark, data)
                    await self._write(self._put, [], [snapshot], [])
                    self._stored(served, snapshot)

    def _snapshot(self, served: Served, mark: Mark, data: memoryview) -> Snapshot:
        keep = self._retention.keep(served.number, mark, self._count)
        return Snapshot(served.number, mark.sequence, data, mark.time, mark.bytes, keep)

    def _stored(self, served: Served, snapshot: Snapshot) -> None:
        """A snapshot is on disk."""
        served.snapshot_sequence = snapshot.sequence
        mark = Mark(snapshot.sequence, snapshot.time, snapshot.bytes)
        self._retention.added(served.number, mark, snapshot.keep)
        self._metrics.snapshots.inc()

    def close(self) -> None:
        """End the thread that encodes snapshots."""
        self._encoder.shutdown()

    def _begin_snapshot(self, models: Mapping[str, Served]) -> None:
        """Copy and encode a model with many examples since its last snapshot; one at a time, limited to about 4% of the time."""
        if self._parts or self.copying.locked() or (self._encoding is not None and not self._encoding.done()):
            return
        now, self._count = time.monotonic(), len(models)
        for served in models.values():
            due = (
                self._retention.wants(served, self._count)
                or served.new_lines >= self._snapshot_every
                or served.new_bytes >= SNAPSHOT_BYTES
            )
            if due and served.busy is None and now >= self._not_before.get(served.number, 0.0):
                served.new_lines = served.new_bytes = 0
                moment = copy(served) if served.whole_weight < LARGE else None
                self._encoding = asyncio.create_task(self._encode(served, moment, now))
                return

    async def _copy(self, served: Served) -> Copy:
        """Copy a large model in a thread; requests for it wait, those for others do not."""
        while served.busy is not None:
            await asyncio.wait({served.busy})
        served.busy = asyncio.get_running_loop().create_future()
        try:
            return await asyncio.get_running_loop().run_in_executor(self._encoder, copy, served)
        finally:
            busy, served.busy = served.busy, None
            busy.set_result(None)

    async def _encode(self, served: Served, moment: Copy | None, started: float) -> None:
        """Encode a snapshot, for a later group."""
        generation = self._generation
        try:
            async with self.copying:  # also for the copy: only one large model is in memory twice
                moment = await self._copy(served) if moment is None else moment
                mark, data = moment.mark, await self._bytes_of(served, moment)
        except Exception:
            log.exception("a model has no snapshot", extra={"model": served.name})
            self._fail(served)
            return
        del moment
        now = time.monotonic()
        times = 25 if data is None or len(data) < BIG else 100  # other threads wait while parts of it are encoded
        self._not_before[served.number] = now + (PAUSE if data is None else times * (now - started))
        if data is not None and generation == self._generation and not served.deleted:
            self._parts = [(served, part) for part in self._snapshot(served, mark, data).parts()][::-1]
            self._wake.set()

    async def _bytes_of(self, served: Served, moment: Copy) -> memoryview | None:
        """Encode a copy, while `copying` is held; None if that is not possible."""
        try:
            with self._tracing.span("snapshot", model=served.name):
                return await asyncio.get_running_loop().run_in_executor(self._encoder, _encoded, moment)
        except Exception:
            log.exception("a model has no snapshot", extra={"model": served.name})
            self._fail(served)
            return None

    def _fail(self, served: Served) -> None:
        """A model that has no snapshot must not keep the others from theirs."""
        self._metrics.snapshot_failures.inc()
        self._not_before[served.number] = time.monotonic() + PAUSE


def _encoded(moment: Copy) -> memoryview:
    return moment.encoded()
