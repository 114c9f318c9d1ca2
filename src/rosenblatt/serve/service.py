"""The service between HTTP and the store: models in memory, recovery, and the lease to write.

Everything runs on one event loop. A request is checked and applied to the model at once, its events are added to the group being
collected (`groups`), and its answer waits until that group is on disk. Work that takes long, such as new classes of a large
model, runs in a thread; requests for this model wait until it has ended (`idle`), and those for others do not.

If a group cannot be written, or a request fails in an unexpected way, memory is ahead of the log. Then all models are discarded
and read again from the store, as after a crash, and all requests whose events were not confirmed are refused.

A standby reads the log as it grows, so it can answer reads, and takes over with the events that it has not read yet. A model that
cannot be read is set aside, and the others are served.
"""

import asyncio
import contextlib
import contextvars
import dataclasses
import hashlib
import logging
import math
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import orjson

from rosenblatt.model_file import BadModel
from rosenblatt.serve.access import Quotas
from rosenblatt.serve.choice import canonical
from rosenblatt.serve.clock import Clock
from rosenblatt.serve.events import PENDING_BYTES, Event, Limits, Requests, Work, asking
from rosenblatt.serve.examples import Refused
from rosenblatt.serve.groups import Groups
from rosenblatt.serve.insight import describe, of_page, strongest
from rosenblatt.serve.learner import Served
from rosenblatt.serve.life import Life
from rosenblatt.serve.metrics import Metrics
from rosenblatt.serve.news import News, as_message
from rosenblatt.serve.records import opened
from rosenblatt.serve.retention import Policy, Retention
from rosenblatt.serve.scoring import scored
from rosenblatt.serve.snapshots import Gap, copied_estimator, copy, encoded_estimator, from_snapshot, read_model
from rosenblatt.serve.store import LeaseLost, Snapshot, Store, StoreError, Token
from rosenblatt.serve.teaching import LARGE
from rosenblatt.serve.tracing import Tracing

log = logging.getLogger("rosenblatt.serve")

PATIENCE = 5.0
"""Seconds without a renewal of the lease after which another process takes over."""

FOLLOW = 0.5
"""Seconds between two readings of the log by a standby."""

SLICE_SECONDS = 0.005
"""Seconds for which a standby applies events without a break."""

BESIDE_SINGLES = 50
"""Number of lines of a batch that are handled without a break while there are single requests."""

STALE = 30.0
"""Seconds without a reading after which a standby is not ready for reads."""

_WORK = {"predict": Served.predict, "reveal": Served.reveal, "learn": Served.learn}


class SharedFile:
    """A temporary file that several clients read at different places; it is deleted with the last of them.

    Parameters
    ----------
    content : memoryview
        Content of the file.
    model, sequence : int
        Number of the model, and its last event.
    cost : float
        Seconds that it took to make the content.
    """

    def __init__(self, content: memoryview, model: int, sequence: int, cost: float) -> None:
        self.size, self._model, self._sequence = len(content), model, sequence
        self._good_until = time.monotonic() + (50 * cost if cost > 0.2 else 0.0)
        with tempfile.TemporaryFile() as file:
            file.write(content)
            file.flush()
            self._number = os.dup(file.fileno())

    def __del__(self) -> None:
        os.close(self._number)

    def is_new(self, served: Served) -> bool:
        """Whether this is the file of a model; that of a large one, which takes long to make, may be a little older."""
        same = self._sequence == served.sequence or time.monotonic() < self._good_until
        return self._model == served.number and same

    def read(self, start: int, count: int) -> bytes:
        """Read a part."""
        os.lseek(self._number, start, os.SEEK_SET)
        return os.read(self._number, count)


class Service:
    """All models of a store.

    Parameters
    ----------
    store : Store
        Store of the event log.
    limits : Limits
        Limits for requests of clients.
    tokens : list of Token, default=()
        Tokens at the start.
    guarded : bool, default=False
        Whether a token is needed even if there are none; becomes true with the first token.
    snapshot_every : int
        Number of events of a model between two snapshots: fewer make a restart faster and writing slower.
    keep : Policy
        Which events are kept.
    clock : callable
        Returns the time.
    tracing : Tracing
        Spans of OpenTelemetry.
    """

    def __init__(
        self,
        store: Store,
        limits: Limits,
        *,
        tokens: Sequence[Token] = (),
        guarded: bool = False,
        snapshot_every: int = 20_000,
        keep: Policy = Policy(),  # noqa: B008 - it cannot be changed
        clock: Callable[[], float] | None = None,
        tracing: Tracing | None = None,
    ) -> None:
        self.tracing = tracing or Tracing()
        self.files: dict[str, bytes] = {}
        self.store, self.limits, self.clock = store, limits, clock or Clock()
        self._ageless = dataclasses.replace(limits, age=math.inf)
        self.metrics = Metrics(self)
        self.models: dict[str, Served] = {}
        self.aside: dict[str, str] = {}
        self.tokens = list(tokens)
        self.quotas = Quotas()
        self.guarded = guarded or bool(tokens)
        self.state, self.reason = "starting", "the event log is being read"
        self.draining = asyncio.Event()
        self.news = News()
        self._writer = ThreadPoolExecutor(1, "writer")
        self._helper = ThreadPoolExecutor(1, "reader")
        self._learner = ThreadPoolExecutor(1, "learner")
        self.life = Life(self)
        self.retention = Retention(keep, self.clock)
        self._groups = Groups(store, self._write, snapshot_every, self.news, self.metrics, self.retention, self.tracing)
        self._cleaner: asyncio.Task[None] | None = None
        self._task: asyncio.Task[None] | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._follower: asyncio.Task[None] | None = None
        self._following: dict[str, Served] = {}
        self._leads = False  # whether this process has the lease, also while it reads the log
        self._followed = 0.0
        self._numbers, self._numbered = 0, dict[str, int]()
        self._reading, self._stop_reading = asyncio.Lock(), threading.Event()
        self._turn, self._past = asyncio.Lock(), asyncio.Lock()
        self._last_file: SharedFile | None = None

    # ---- start and stop ----

    async def start(self) -> None:
        """Start; the service accepts events when `state` is "ready"."""
        self._task = asyncio.create_task(self._live())
        self._keeper = asyncio.create_task(self._keep_house())
        self._follower = asyncio.create_task(self._follow())
        self._cleaner = asyncio.create_task(self._clean())

    async def close(self) -> None:
        """Write the remaining events, take snapshots and release the store."""
        self._stop_reading.set()
        for task in (self._keeper, self._follower, self._cleaner):
            if task is not None:
                task.cancel()
        if self.state == "ready":
            self.state, self.reason = "stopping", "the service is being stopped"
            self._groups.wake()
        elif self._task is not None:
            self._task.cancel()
        if self._task is not None:
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        self._groups.close()
        for threads in (self._learner, self._writer, self._helper):
            threads.shutdown()
        self.store.close()
        log.info("stopped")

    async def _live(self) -> None:
        """Wait for the lease, read the log, serve; repeat after an error."""
        while self.state != "stopping":
            try:
                await self._become_writer()
                self._leads = True
                with self.tracing.span("read_log"):
                    await self._load()
                self.state, self.reason = "ready", ""
                log.info("ready", extra={"models": len(self.models)})
                beginning = asyncio.create_task(self._begin_models())
                await self._commit_groups()
                beginning.cancel()
                if self.state == "stopping":
                    await self._groups.take_snapshots(self.models)
                    await self._write(self.store.release)
            except StoreError as error:
                if self.state == "stopping":
                    log.error("the last group could not be written", extra={"error": str(error)})
                    return
                self._lose_memory(error)
                await asyncio.sleep(0.25)
            except Exception as error:
                log.exception("the service stops because of an error")
                if self.state == "stopping":
                    return
                self._lose_memory(
                    StoreError(f"something went wrong inside the service ({error}); its log has the details")
                )
                await asyncio.sleep(5.0)

    async def _write(self, work: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._writer, work, *arguments)

    async def _become_writer(self) -> None:
        while True:
            try:
                if await self._write(self.store.acquire, PATIENCE):
                    return
                self._say("standby", "another process writes to this store; this one answers scores and other reads")
            except StoreError as error:
                self._say("unavailable", f"the store does not answer: {error}")
            await asyncio.sleep(0.25)

    def _say(self, state: str, reason: str) -> None:
        if (state, reason) != (self.state, self.reason):
            log.warning(state, extra={"reason": reason})
        self.state, self.reason = state, reason

    async def _load(self) -> None:
        """Read all models to the end of the log; the lease is renewed in the meantime."""
        started = time.perf_counter()
        reading = asyncio.create_task(self._catch_up(whole=True))
        try:
            while not reading.done():
                await asyncio.wait({reading}, timeout=PATIENCE / 5)
                await self._write(self.store.append, [])
            await reading
        finally:
            if not reading.done():
                self._stop_reading.set()
                with contextlib.suppress(StoreError):
                    await reading
                self._stop_reading.clear()
        self.models, self._following = self._following, {}
        for served in self.models.values():
            served.weight_of_all = self.weight
        self.retention.start(await self._help(self.store.marks), await self._help(self.store.firsts))
        for served in self.models.values():
            served.begin = self.retention.base.get(served.number, 0)
        await self._refresh_tokens()
        if isinstance(self.clock, Clock) and self.models:
            self.clock.compare(max(served.time for served in self.models.values()))
        day = Quotas.today()
        self.quotas.start(day, await self._help(self.store.usage, day))
        log.info("read", extra={"seconds": round(time.perf_counter() - started, 3), "models": len(self.models)})

    async def _help(self, work: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._helper, work, *arguments)

    async def _catch_up(self, whole: bool = False) -> None:
        """Read the events that are not in memory yet; `whole` also tries the models again that were set aside."""
        async with self._reading:
            if self._leads and not whole:
                return  # it waited here while the whole log was read to take over
            heads, firsts = await self._help(self.store.heads), await self._help(self.store.firsts)
            models = self._following
            self._numbers = await self._help(self.store.highest)
            self._numbered = {name: number for number, name, _ in heads}
            known = {served.number: served for served in models.values()}
            for number, name, _ in heads:
                if number in known:  # also one that was renamed
                    models[name] = known[number]
            for name in models.keys() - {name for _, name, _ in heads}:
                del models[name]
            if whole:
                self.aside = {}
            for number, name, last in heads:
                if name not in self.aside:
                    try:
                        await self._read_on(models, number, name, last)
                        first = firsts.get(number)
                        models[name].begin = last if first is None else first - 1
                    except StoreError:
                        raise
                    except Exception as error:
                        log.exception("a model is set aside", extra={"model": name})
                        models.pop(name, None)
                        self.aside[name] = f"it cannot be read from the log ({str(error)[:300]})"
            if whole:
                for algorithm, parameters in {
                    (m.algorithm, repr(m.parameters)): (m.algorithm, m.parameters) for m in models.values()
                }.values():
                    await self._help(warm, algorithm, parameters)  # so that the first request does not wait for it
            self._followed = time.monotonic()

    async def _read_on(self, models: dict[str, Served], number: int, name: str, last: int) -> None:
        """Read one model to an event: a new one in a thread; a known one here, because requests use it."""
        served = models.get(name)
        if served is not None and served.number == number:
            try:
                await self._apply_new(served, last)
                return
            except Gap:  # the writing process has removed events that were not read here yet
                served = None
        if served is None or served.number != number:
            read = partial(read_model, self.store, number, self.limits, stop=self._stop_reading)
            models[name] = served = await self._help(read)
        await self._apply_new(served, last)

    async def _apply_new(self, served: Served, last: int) -> None:
        """Apply the events of the log that a model does not have yet."""
        pause = time.perf_counter() + SLICE_SECONDS
        while served.sequence < last:
            events = await self._help(self.store.some_events, served.number, served.sequence, 500)
            if not events or events[0].sequence != served.sequence + 1:
                raise Gap(f"the event {served.sequence + 1} is missing")
            if served.whole_weight >= LARGE:
                with self.using(served):
                    await asyncio.get_running_loop().run_in_executor(self._learner, _apply_all, served, events)
                continue
            for event in events:
                _apply_all(served, (event,))
                if time.perf_counter() > pause:
                    await asyncio.sleep(0)
                    pause = time.perf_counter() + SLICE_SECONDS
            if self._stop_reading.is_set():
                raise StoreError("reading was interrupted")

    async def _follow(self) -> None:
        """As a standby, read the log as it grows."""
        while True:
            if self.state == "standby":
                try:
                    await self._catch_up()
                except StoreError as error:
                    log.warning("the log cannot be read", extra={"error": str(error)})
                except Exception:
                    log.exception("the log cannot be read")
            await asyncio.sleep(FOLLOW)

    def _lose_memory(self, error: StoreError) -> None:
        """Discard the models, which differ from the disk, and refuse the requests that wait."""
        lost = isinstance(error, LeaseLost)
        self._leads = False
        self._say("standby" if lost else "unavailable", str(error))
        self.metrics.failures.inc()
        refusal = Refused(
            503,
            f"The event could not be confirmed: {error}. It may or may not have been recorded; send it again with the same id.",
            retry=True,
        )
        self.models, self._following = {}, {}
        self._groups.drop(refusal)

    def go_back(self, error: Exception) -> None:
        """Go back to what is on disk: the request that failed may have changed a model in part."""
        log.error("a request failed in an unexpected way", exc_info=error)
        if self.state == "ready":
            self._lose_memory(StoreError("a request failed in an unexpected way, and the models are read again"))

    async def _commit_groups(self) -> None:
        """Write groups until the service is stopped; sometimes an empty one, to renew the lease."""
        beat = time.monotonic()
        while self.state == "ready" or self._groups.left or any(served.busy for served in self.models.values()):
            wait = max(0.0, beat + PATIENCE / 5 - time.monotonic())
            await self._groups.commit(self.models, wait)
            beat = time.monotonic()

    async def confirmed(self, answer: Any) -> Any:
        """Return an answer when all events that it depends on are on disk."""
        return await self._groups.confirmed(answer)

    async def _keep_house(self) -> None:
        """Expire old predictions, read new and revoked tokens, and read snapshots of the writing process, at intervals."""
        while True:
            await asyncio.sleep(1.0)
            try:
                if self.state == "ready" and not self.stalled:
                    for served in self.models.values():
                        if served.busy is None:
                            self._groups.add(served, served.expire(self.clock(), self._limits_now()))
                    if self._groups.events:
                        await self.confirmed(None)
                    if used := self.quotas.changed():
                        await self._write(self.store.keep_usage, self.quotas.day, used)
                await self._refresh_tokens()
            except (StoreError, Refused) as error:
                log.warning("housekeeping", extra={"error": str(error)})
            except Exception:
                log.exception("housekeeping")

    async def _clean(self) -> None:
        """Remove events that are not kept, and those of deleted models, a few at a time, in a fifth of the time at most."""
        while True:
            started, more = time.monotonic(), False
            try:
                if self.state == "ready" and not self.stalled:
                    more = await self._remove_some()
            except StoreError as error:
                log.warning("events that are not kept could not be removed", extra={"error": str(error)})
            except Exception:
                log.exception("events that are not kept could not be removed")
            await asyncio.sleep(4 * (time.monotonic() - started) if more else 1.0)

    async def _remove_some(self) -> bool:
        """Remove a few events; returns whether there may be more."""
        step = self.retention.removal()
        if step is not None:
            await self._write(self.store.cut, step)
            self.retention.removed(step)
            self.metrics.removed.inc(min(step.rows, step.until - step.after))
            return True
        if await self._write(self.store.sweep_parts) or await self._write(self.store.sweep):
            return True
        choice = self.retention.next_cut(self.models.values())
        if choice is None:
            return False
        served, mark = choice
        if await self._can_begin(served.number, mark.sequence):
            self.retention.cut(served, mark)
            log.info("the log begins later", extra={"model": served.name, "after": mark.sequence})
        else:
            self.retention.lost(served.number, mark)
        return True

    async def _can_begin(self, number: int, sequence: int) -> bool:
        """Whether a snapshot can be read, so that the events before it are not needed."""
        async with self._groups.copying:
            snapshot = await self._help(self.store.snapshot, number, sequence)
            try:
                return snapshot is not None and (await self._help(_sequence_of, snapshot)) == sequence
            except BadModel as error:
                log.error("a snapshot cannot be read", extra={"model": number, "after": sequence, "error": str(error)})
                return False

    async def _refresh_tokens(self) -> None:
        self.tokens = await self._help(self.store.tokens)
        self.guarded = self.guarded or bool(self.tokens)  # after the last token is revoked, tokens are still needed

    # ---- requests ----

    @property
    def stalled(self) -> float:
        """Seconds for which the store has not answered, if they are more than it may take; else 0."""
        since = self._groups.writing_since
        seconds = 0.0 if since is None else time.monotonic() - since
        return seconds if seconds > PATIENCE / 2 else 0.0

    def why_not_ready(self) -> str:
        """Why events are not accepted now; empty if they are."""
        if self.state != "ready":
            return self.reason
        seconds = self.stalled
        return f"the store has not answered for {seconds:.0f} seconds" if seconds else ""

    def why_not_ready_for_reads(self) -> str:
        """Why scores and other reads are not answered now; empty if they are."""
        if self.state != "standby":
            return "" if self.state == "ready" else self.reason
        if not self._followed:
            return "the log is being read"
        age = time.monotonic() - self._followed
        return f"the log has not been read for {age:.0f} seconds" if age > STALE else ""

    def _check_ready(self) -> None:
        if self.state != "ready" or self._groups.writing_since is not None:
            reason = self.why_not_ready()
            if reason:
                raise Refused(
                    503,
                    f"The service does not accept events now: {reason}. Try again in a moment.",
                    state=self.state,
                    retry=True,
                )

    def find(self, name: str) -> Served:
        """Find a model that can learn; raises `Refused` if there is none."""
        self._check_ready()
        return self._known(self.models, name)

    def _known(self, models: dict[str, Served], name: str) -> Served:
        served = models.get(name) or next((known for known in models.values() if name in known.aliases), None)
        if served is None:
            if name in self.aside:
                raise Refused(503, f"The model {name!r} is set aside: {self.aside[name]}. The other models are served.")
            raise Refused(404, f"There is no model {name[:64]!r}. Create it with POST /v1/models/NAME.")
        return served

    def find_to_read(self, name: str) -> Served:
        """Find a model for a read, which a standby answers too; raises `Refused` if there is none."""
        if self.state == "standby":
            return self._known(self._following, name)
        if self.state != "ready":
            self._check_ready()
        return self._known(self.models, name)

    def _shown(self, name: str) -> tuple[Served, dict[str, Any]]:
        """Find a model to read and its description, or raise `Refused`."""
        served = self.find_to_read(name)
        return served, {**describe(served), "standby": self.state == "standby"}

    async def idle(self, find: Callable[[str], Served], name: str) -> Served:
        """Find a model, when no thread uses it."""
        while (served := find(name)).busy is not None:
            await asyncio.wait({served.busy})
        return served

    @contextlib.contextmanager
    def using(self, served: Served) -> Iterator[None]:
        """Let other requests wait while a thread uses a model."""
        busy = served.busy = asyncio.get_running_loop().create_future()
        try:
            yield
        finally:
            served.busy = None
            busy.set_result(None)

    def weight(self) -> int:
        """About the bytes of the weights and names of all models."""
        return sum(served.whole_weight for served in tuple(self.models.values()))

    def _limits_now(self) -> Limits:
        """The limits; no prediction expires by its age while the time is in doubt."""
        doubted = isinstance(self.clock, Clock) and self.clock.doubted
        return self._ageless if doubted else self.limits

    async def _apply(self, kind: str, served: Served, requests: Requests, limits: Limits) -> list[Any]:
        """Apply requests to a model that is idle."""
        if kind == "predict":
            self._make_room(requests)
        work = partial(_WORK[kind], served, requests, self.clock(), limits)
        if served.takes_long(kind, requests):
            return list(await self.apart(served, work))
        return list(self.at_once(served, work))

    def at_once(self, served: Served, work: Work) -> Any:
        """Do work that changes a model, and add its events to the group being collected."""
        try:
            events, result = work()
        except Exception as error:
            self.go_back(error)
            raise
        if events:
            self._groups.add(served, events)
        return result

    async def apart(self, served: Served, work: Work) -> Any:
        """The same in a thread; it ends, and its events are written, even if the request is cancelled."""
        using = self.using(served)
        using.__enter__()

        async def change() -> Any:
            memory, loop = self.models, asyncio.get_running_loop()
            try:
                events, result = await loop.run_in_executor(self._learner, contextvars.copy_context().run, work)
            except Exception as error:
                if self.models is memory:
                    self.go_back(error)
                raise
            finally:
                using.__exit__(None, None, None)
            if self.models is not memory:
                raise Refused(
                    503, "The request was interrupted: it is not recorded. Send it again with the same id.", retry=True
                )
            if events:
                self._groups.add(served, events)
            return result

        return await asyncio.shield(asyncio.create_task(change()))

    def _make_room(self, requests: Requests) -> None:
        """Let predictions of the models with the most of them expire, until there is room for those of requests."""
        most, more = self.limits.pending_bytes, sum(len(text) + PENDING_BYTES for _, text in requests)
        while sum(served.pending_bytes for served in self.models.values()) + more > most:
            idle = [served for served in self.models.values() if served.pending and served.busy is None]
            if not idle:
                return
            served = max(idle, key=lambda one: one.pending_bytes)
            second = max((one.pending_bytes for one in idle if one is not served), default=0)
            over = sum(one.pending_bytes for one in self.models.values()) + more - most
            self._groups.add(
                served, served.expire_bytes(self.clock(), min(over, max(1, served.pending_bytes - second)))
            )

    async def work(self, kind: str, name: str, request: Any, text: bytes) -> Any:
        """Predict, reveal or learn; returns the answer when it is on disk, or raises `Refused`."""
        served = await self.idle(self.find, name)
        answers = await self._apply(kind, served, [(request, text)], self._limits_now())
        (answer,) = await self._groups.confirmed(answers, single=True)
        if isinstance(answer, Refused):
            raise answer
        return answer

    async def work_on_lines(self, kind: str, name: str, lines: Iterable[Requests | None]) -> list[Any]:
        """The same for many lines; returns one answer for each, which can be a `Refused`.

        None among the lines means that they are still being parsed. Batches take turns, and single requests are handled between
        their slices.
        """
        answers: list[Any] = []
        async with self._turn:
            memory, limits = self.models, self._limits_now()
            for requests in self._slices(lines):
                await asyncio.sleep(0)
                if not requests:
                    continue
                if kind == "score":
                    answers += await self._scored_lines(name, requests)
                    continue
                await self._groups.room()
                served = await self.idle(self.find, name)
                if not answers:
                    memory = self.models
                    most = min(limits.classes, len(served.classes) + limits.new_classes)
                    limits = dataclasses.replace(limits, classes=most)
                if self.models is not memory:
                    raise Refused(
                        503,
                        f"The batch was interrupted: the first {len(answers)} lines may or may not be recorded, the others are "
                        "not.",
                        retry=True,
                    )
                answers += await self._apply(kind, served, requests, limits)
        return answers if kind == "score" else list(await self.confirmed(answers))

    def _slices(self, lines: Iterable[Requests | None]) -> Iterator[Requests]:
        """The lines of a batch in the parts in which they are handled; nothing where other requests can be handled, too."""
        for requests in lines:
            if not requests:
                yield ()
                continue
            at = 0
            while at < len(requests):
                size = BESIDE_SINGLES if self._groups.has_singles else len(requests)
                yield requests[at : at + size]
                at += size

    async def score(self, name: str, request: Any, text: bytes) -> dict[str, Any]:
        """Predict from memory, without a record."""
        (answer,) = await self._scored_lines(name, [(request, text)])
        if isinstance(answer, Refused):
            raise answer
        return dict(answer)

    async def _scored_lines(self, name: str, requests: Requests) -> list[Any]:
        served = await self.idle(self.find_to_read, name)
        work = partial(_scored, served, requests, self.limits.features)
        if served.takes_long("predict", requests):
            with self.using(served):
                answers = await asyncio.get_running_loop().run_in_executor(self._learner, work)
        else:
            answers = work()
        served.scored += len(answers)
        return answers

    async def event(self, number: int, sequence: int) -> Event | None:
        """An event of the log; None if there is none, or no longer."""
        found = await self._help(lambda: list(self.store.events(number, sequence - 1, 1)))
        return found[0] if found and found[0].sequence == sequence else None

    async def prepare(self, algorithm: str, parameters: dict[str, Any]) -> str:
        """Check a learner and compile it, in a thread; returns its full name."""
        return str(await self._help(warm, algorithm, parameters))

    def move(self, served: Served, name: str) -> None:
        """Give a model another name."""
        before = next(known for known, other in self.models.items() if other is served)
        self.models[name], self._numbered[name] = self.models.pop(before), self._numbered.pop(before)
        self._groups.rename_model(served.number, name)
        self.news.end(before)
        log.info("renamed", extra={"model": name, "before": before, "token": asking.get()})

    async def create(
        self, name: str, algorithm: str, parameters: dict[str, Any], bits: int | None = None
    ) -> tuple[bool, dict[str, Any]]:
        """Create a model; returns whether it is new, and its description."""
        self._check_ready()
        known = self.models.get(name)
        if known is None and any(name in served.aliases for served in self.models.values()):
            raise Refused(409, f"{name!r} is an alias of another model. Choose another name.")
        loop = asyncio.get_running_loop()
        if known is None:
            # The first use of a rule compiles it, which may take seconds: done in a thread, so that no other request waits.
            algorithm = await loop.run_in_executor(self._helper, warm, algorithm, parameters)
            self._check_ready()
            known = self.models.get(name)
        if known is not None:
            settings = known.algorithm, known.parameters
            before = known.first if known.first[1] == parameters else settings  # a challenger may have been promoted
            same = (
                before[1] == parameters
                and known.bits == bits
                and before[0] == await loop.run_in_executor(self._helper, canonical, algorithm)
            )
            if not same:
                raise Refused(
                    409,
                    f"There already is a model {name!r} with other settings: {known.algorithm}, {known.parameters}. "
                    "Choose another name.",
                )
            return False, await self.confirmed(describe(known))
        if len(self.models) >= self.limits.models:
            raise Refused(
                409,
                f"The service has its maximum of {self.limits.models} models. Start it with a larger --max-models.",
            )
        if name in self.aside:
            self._known(self.models, name)
        self._numbers += 1
        if bits is not None and Served(0, name, algorithm, parameters, 0.0).tags_sentences:
            raise Refused(
                422, "`bits` is for models of rows; the features of a model of sequences are not hashed. Leave it out."
            )
        served = Served(self._numbers, name, algorithm, parameters, self.clock(), bits)
        served.remembered, served.weight_of_all = self.limits.remembered, self.weight
        self.models[name], self._numbered[name] = served, served.number
        self._groups.add_model(served)
        return True, await self.confirmed(describe(served))

    async def upload(self, name: str, data: bytes) -> dict[str, Any]:
        """Create a model that begins with a file; returns its description."""
        self._check_ready()
        self._check_new(name)
        async with self._groups.copying:
            estimator, algorithm, parameters = await self._help(opened, data, self.limits)
            self._check_ready()
            self._check_new(name)
            self._numbers += 1
            number = self._numbers
            served = Served(number, name, algorithm, parameters, self.clock())
            served.adopt(estimator)
            if self.weight() + served.weight > self.limits.memory:
                raise Refused(
                    409,
                    f"The weights of all models may take {self.limits.memory} bytes of memory; this file would exceed that. "
                    "Raise --max-memory.",
                )
            served.weight_of_all = self.weight
            served.remembered, served.sequence = self.limits.remembered, 1
            moment = copy(served)
            encoded = await self._help(moment.encoded)
        self._check_ready()
        self._check_new(name)
        mark = moment.mark
        facts = {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
        event = served.uploaded(orjson.dumps(facts))
        self.models[name], self._numbered[name] = served, number
        self.retention.began(served, mark)
        served.snapshot_sequence = mark.sequence
        begin = Snapshot(number, mark.sequence, encoded, mark.time, mark.bytes)
        self._groups.add_model(served, begin, [event])
        return dict(await self.confirmed({**describe(served), "standby": False}))

    def _check_new(self, name: str) -> None:
        if name in self.models or name in self.aside or any(name in served.aliases for served in self.models.values()):
            raise Refused(
                409,
                f"There already is a model or an alias {name!r}. Upload under another name, and move an alias to it.",
            )
        if len(self.models) >= self.limits.models:
            raise Refused(
                409, f"The service has its maximum of {self.limits.models} models. Start it with a larger --max-models."
            )

    async def _begin_models(self) -> None:
        """Create the models that begin with files, unless they exist."""
        for name, data in self.files.items():
            if self.state != "ready" or name in self.models:
                continue
            try:
                await self.upload(name, data)
                log.info("begins with a file", extra={"model": name})
            except Refused as refusal:
                log.error("a file is not used", extra={"model": name, "error": refusal.message})

    async def delete(self, name: str) -> dict[str, Any]:
        """Delete a model and its events, also one that is set aside; returns when this is on disk."""
        self._check_ready()
        if name not in self.aside:
            served = await self.idle(self.find, name)
            if served.name != name:
                raise Refused(409, f"{name!r} is an alias of {served.name!r}. Delete that model, or remove the alias.")
            served.deleted = True
        self.models.pop(name, None)
        self.aside.pop(name, None)
        self.retention.forget(self._numbered[name])
        self._groups.delete_model(self._numbered.pop(name))
        await self.confirmed(None)
        self.news.end(name)
        log.info("deleted", extra={"model": name, "token": asking.get()})
        return {"name": name, "deleted": True}

    async def describe(self, name: str) -> dict[str, Any]:
        """Describe a model."""
        await self.idle(self.find_to_read, name)
        return dict(await self.confirmed(self._shown(name)[1]))

    async def describe_all(self) -> list[dict[str, Any]]:
        """Describe all models."""
        standby = self.state == "standby"
        if not standby:
            self._check_ready()
        models = self._following if standby else self.models
        found = []
        for served in tuple(models.values()):
            while served.busy is not None:
                await asyncio.wait({served.busy})
            found.append({**describe(served), "standby": standby})
        return list(await self.confirmed(found))

    async def model_file(self, name: str) -> SharedFile:
        """The model file; on disk, because many clients may read it slowly."""
        served, _ = self._shown(name)
        if not served.fitted:
            raise Refused(
                409,
                f"The model {name!r} has no file yet, because it has not learned anything. Send it an example first.",
            )
        async with self._groups.copying:
            if self._last_file is not None and self._last_file.is_new(served):
                return self._last_file
            served = await self.idle(self.find_to_read, name)
            self._last_file, started = None, time.monotonic()
            sequence, estimators = served.sequence, [await self._copied(served)]
            await self.confirmed(None)
            encoder = None if served.records is None else served.records.for_files
            content = await self._help(encoded_estimator, estimators, encoder)
            file = SharedFile(content, served.number, sequence, time.monotonic() - started)
            self._last_file = file
            return file

    async def insight(self, name: str, top: int, raw: bool = True) -> dict[str, Any]:
        """Learning curve, recent examples (with their features if `raw`) and largest weights, for the live page."""
        served = await self.idle(self.find_to_read, name)
        shown = {**of_page(served, raw), "standby": self.state == "standby"}
        largest = await self._strongest(served, top)
        return dict(await self.confirmed({**shown, "strongest": largest}))

    async def _copied(self, served: Served) -> Any:
        """A copy of the learner of a model that is idle."""
        if served.weight < LARGE:
            return copied_estimator(served)
        with self.using(served):
            return await self._help(copied_estimator, served)

    async def _strongest(self, served: Served, top: int) -> list[dict[str, Any]]:
        """Features with the largest weights; those of a large model may be a little older."""
        if served.strongest is not None and (
            served.strongest[0] == served.sequence or time.monotonic() < served.strongest[1]
        ):
            return served.strongest[2]
        sequence, started = served.sequence, time.monotonic()
        of_tags = served.tags_sentences and served.fitted
        estimator = await self._copied(served) if of_tags else served.estimator
        found: list[dict[str, Any]] = await self._help(strongest(estimator, top))
        now = time.monotonic()
        served.strongest = sequence, now + max(1.0, 20 * (now - started)), found
        return found

    # ---- news ----

    def subscribe(self, name: str, client: str, raw: bool) -> asyncio.Queue[Any]:
        """Make a queue that receives the events of a model once they are on disk."""
        return self.news.subscribe(self.find(name).name, client, raw)

    async def past_messages(
        self, name: str, after: int, raw: bool, before: int | None = None
    ) -> list[tuple[int, bytes]]:
        """Messages about some events after a number, and before another one, for a listener that reconnects.

        One listener reads at a time, about 1 MB, because events can be as large as requests; messages are small.
        """
        number, most = self.find(name).number, 100 if before is None else min(100, before - after - 1)

        def read() -> list[tuple[int, bytes]]:
            events = self.store.some_events(number, after, most, 1 << 20)
            return [(event.sequence, as_message(event, {}, raw)) for event in events]

        async with self._past:
            found: list[tuple[int, bytes]] = await self._help(read)
        return [one for one in found if before is None or one[0] < before]

    def begin_of_log(self, name: str) -> int:
        """The last event before the log of a model; 0 if the log is whole."""
        return self.find(name).begin


def _scored(served: Served, requests: Requests, most: int) -> list[Any]:
    """Answers to requests for scores, each of which can be a `Refused`."""
    answers: list[Any] = []
    for request, text in requests:
        try:
            answers.append(scored(served, request, text, most))
        except Refused as refusal:
            answers.append(refusal)
        except (ValueError, OverflowError) as error:
            answers.append(Refused(409, str(error)))
    return answers


def _apply_all(served: Served, events: Iterable[Event]) -> None:
    """Apply events of the log to a model."""
    for event in events:
        if event.sequence != served.sequence + 1:
            raise ValueError(f"the event {served.sequence + 1} is missing")
        served.apply(event)


def _sequence_of(snapshot: Snapshot) -> int:
    """Last event of the model that a snapshot holds."""
    return from_snapshot(snapshot.model, snapshot.data).sequence


def warm(algorithm: str, parameters: dict[str, Any]) -> str:
    """Compile everything that a learner needs; returns its full name."""
    served = Served(0, "", canonical(algorithm), parameters, 0.0)
    for label in ("a", "b", "c"):
        example = served.sample(label)
        _, (answer,) = served.learn([(example, b"{}")], 0.0, Limits())
        if isinstance(answer, Refused) and label == "a":
            raise Refused(422, answer.message)
        served.predict([(example, b"{}")], 0.0, Limits())
    return served.algorithm
