"""The service between HTTP and the store: models in memory, recovery, and the lease to write.

Everything runs on one event loop. A request is checked and applied to the model at once, its events are added to the group being
collected (`groups`), and its answer waits until that group is on disk.

If a group cannot be written, or a request fails in an unexpected way, memory is ahead of the log. Then all models are discarded
and read again from the store, as after a crash, and all requests whose events were not confirmed are refused.

A standby reads the log as it grows, so it can answer reads, and takes over with the events that it has not read yet. A model that
cannot be read is set aside, and the others are served.
"""

import asyncio
import contextlib
import dataclasses
import logging
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from rosenblatt.model_file.container import to_bytes
from rosenblatt.serve.choice import canonical
from rosenblatt.serve.clock import Clock
from rosenblatt.serve.events import Event, Limits, Requests
from rosenblatt.serve.examples import Refused
from rosenblatt.serve.groups import Groups
from rosenblatt.serve.insight import describe, recent_examples, strongest
from rosenblatt.serve.learner import Served
from rosenblatt.serve.metrics import Metrics
from rosenblatt.serve.news import News
from rosenblatt.serve.scoring import scored
from rosenblatt.serve.snapshots import copied_estimator, packed_model, read_model
from rosenblatt.serve.store import LeaseLost, Store, StoreError, Token

log = logging.getLogger("rosenblatt.serve")

PATIENCE = 5.0
"""Seconds without a renewal of the lease after which another process takes over."""

FOLLOW = 0.5
"""Seconds between two readings of the log by a standby."""

SLICE_SECONDS = 0.005
"""Seconds for which a standby applies events without a break."""

STALE = 30.0
"""Seconds without a reading after which a standby is not ready for reads."""

_WORK = {"predict": Served.predict, "reveal": Served.reveal, "learn": Served.learn}


class SharedFile:
    """A temporary file that several clients read at different places; it is deleted with the last of them.

    Parameters
    ----------
    content : bytes
        Content of the file.
    """

    def __init__(self, content: bytes) -> None:
        self.size = len(content)
        with tempfile.TemporaryFile() as file:
            file.write(content)
            file.flush()
            self._number = os.dup(file.fileno())

    def __del__(self) -> None:
        os.close(self._number)

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
    clock : callable
        Returns the time.
    """

    def __init__(
        self,
        store: Store,
        limits: Limits,
        *,
        tokens: Sequence[Token] = (),
        guarded: bool = False,
        snapshot_every: int = 20_000,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self.store, self.limits, self.clock = store, limits, clock or Clock()
        self.metrics = Metrics(self)
        self.models: dict[str, Served] = {}
        self.aside: dict[str, str] = {}
        self.tokens = list(tokens)
        self.guarded = guarded or bool(tokens)
        self.state, self.reason = "starting", "the event log is being read"
        self.draining = asyncio.Event()
        self.news = News()
        self._writer = ThreadPoolExecutor(1, "writer")
        self._helper = ThreadPoolExecutor(1, "reader")
        self._groups = Groups(store, self._write, snapshot_every, self.news, self.metrics)
        self._task: asyncio.Task[None] | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._follower: asyncio.Task[None] | None = None
        self._following: dict[str, Served] = {}
        self._followed = 0.0
        self._numbers = 0
        self._reading, self._stop_reading = asyncio.Lock(), threading.Event()
        self._turn, self._copying = asyncio.Lock(), asyncio.Lock()
        self._last_file: tuple[tuple[int, int], SharedFile] | None = None

    # ---- start and stop ----

    async def start(self) -> None:
        """Start; the service accepts events when `state` is "ready"."""
        self._task = asyncio.create_task(self._live())
        self._keeper = asyncio.create_task(self._keep_house())
        self._follower = asyncio.create_task(self._follow())

    async def close(self) -> None:
        """Write the remaining events, take snapshots and release the store."""
        self._stop_reading.set()
        for task in (self._keeper, self._follower):
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
        self._writer.shutdown()
        self._helper.shutdown()
        self.store.close()
        log.info("stopped")

    async def _live(self) -> None:
        """Wait for the lease, read the log, serve; repeat after an error."""
        while self.state != "stopping":
            try:
                await self._become_writer()
                await self._load()
                self.state, self.reason = "ready", ""
                log.info("ready", extra={"models": len(self.models)})
                await self._commit_groups()
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
                self._say("standby", "another process writes to this store; its snapshots can be read here")
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
        await self._refresh_tokens()
        log.info("read", extra={"seconds": round(time.perf_counter() - started, 3), "models": len(self.models)})

    async def _help(self, work: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._helper, work, *arguments)

    async def _catch_up(self, whole: bool = False) -> None:
        """Read the events that are not in memory yet; `whole` also tries the models again that were set aside."""
        async with self._reading:
            heads = await self._help(self.store.heads)
            models = self._following
            self._numbers = max((number for number, _, _ in heads), default=0)
            for name in models.keys() - {name for _, name, _ in heads}:
                del models[name]
            if whole:
                self.aside = {}
            for number, name, last in heads:
                if name not in self.aside:
                    try:
                        await self._read_on(models, number, name, last)
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
        if served is None or served.number != number:
            read = partial(read_model, self.store, number, self.limits, stop=self._stop_reading)
            models[name] = served = await self._help(read)
        pause = time.perf_counter() + SLICE_SECONDS
        while served.sequence < last:
            for event in await self._help(lambda: list(self.store.events(number, served.sequence, 500))):
                if event.sequence != served.sequence + 1:
                    raise ValueError(f"the event {served.sequence + 1} is missing")
                served.apply(event)
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
        self._say("standby" if lost else "unavailable", str(error))
        self.metrics.failures.inc()
        refusal = Refused(
            503,
            f"The event could not be confirmed: {error}. It may or may not have been recorded; send it again with the same id.",
            retry=True,
        )
        self.models, self._following = {}, {}
        self._groups.drop(refusal)

    def _go_back(self, error: Exception) -> None:
        """Go back to what is on disk: the request that failed may have changed a model in part."""
        log.error("a request failed in an unexpected way", exc_info=error)
        if self.state == "ready":
            self._lose_memory(StoreError("a request failed in an unexpected way, and the models are read again"))

    async def _commit_groups(self) -> None:
        """Write groups until the service is stopped; sometimes an empty one, to renew the lease."""
        beat = time.monotonic()
        while self.state == "ready" or self._groups.left:
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
                        self._groups.add(served, served.expire(self.clock(), self.limits))
                    if self._groups.events:
                        await self.confirmed(None)
                await self._refresh_tokens()
            except (StoreError, Refused) as error:
                log.warning("housekeeping", extra={"error": str(error)})
            except Exception:
                log.exception("housekeeping")

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
        served = models.get(name)
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

    def _apply(self, kind: str, served: Served, requests: Requests, limits: Limits) -> list[Any]:
        try:
            events, answers = _WORK[kind](served, requests, self.clock(), limits)
        except Exception as error:
            self._go_back(error)
            raise
        if events:
            self._groups.add(served, events)
        return answers

    async def work(self, kind: str, name: str, request: Any, text: bytes) -> Any:
        """Predict, reveal or learn; returns the answer when it is on disk, or raises `Refused`."""
        (answer,) = await self.confirmed(self._apply(kind, self.find(name), [(request, text)], self.limits))
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
            memory, limits = self.models, self.limits
            for requests in lines:
                await asyncio.sleep(0)
                if requests is None:
                    continue
                if kind == "score":
                    answers += self._scored_lines(self.find_to_read(name), requests)
                    continue
                await self._groups.room()
                served = self.find(name)
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
                answers += self._apply(kind, served, requests, limits)
        return answers if kind == "score" else list(await self.confirmed(answers))

    def score(self, name: str, request: Any, text: bytes) -> dict[str, Any]:
        """Predict from memory, without a record."""
        (answer,) = self._scored_lines(self.find_to_read(name), [(request, text)])
        if isinstance(answer, Refused):
            raise answer
        return dict(answer)

    def _scored_lines(self, served: Served, requests: Requests) -> list[Any]:
        answers: list[Any] = []
        for request, text in requests:
            try:
                answers.append(scored(served, request, text, self.limits.features))
            except Refused as refusal:
                answers.append(refusal)
            except (ValueError, OverflowError) as error:
                answers.append(Refused(409, str(error)))
        served.scored += len(answers)
        return answers

    async def create(self, name: str, algorithm: str, parameters: dict[str, Any]) -> tuple[bool, dict[str, Any]]:
        """Create a model; returns whether it is new, and its description."""
        self._check_ready()
        known = self.models.get(name)
        loop = asyncio.get_running_loop()
        if known is None:
            # The first use of a rule compiles it, which may take seconds: done in a thread, so that no other request waits.
            algorithm = await loop.run_in_executor(self._helper, warm, algorithm, parameters)
            self._check_ready()
            known = self.models.get(name)
        if known is not None:
            same = known.parameters == parameters and known.algorithm == await loop.run_in_executor(
                self._helper, canonical, algorithm
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
        served = Served(self._numbers, name, algorithm, parameters, self.clock())
        served.remembered = self.limits.remembered
        self.models[name] = served
        self._groups.add_model(served)
        return True, await self.confirmed(describe(served))

    async def describe(self, name: str) -> dict[str, Any]:
        """Describe a model."""
        return dict(await self.confirmed(self._shown(name)[1]))

    async def describe_all(self) -> list[dict[str, Any]]:
        """Describe all models."""
        standby = self.state == "standby"
        if not standby:
            self._check_ready()
        models = self._following if standby else self.models
        return list(await self.confirmed([{**describe(served), "standby": standby} for served in models.values()]))

    async def model_file(self, name: str) -> SharedFile:
        """The model file; on disk, because many clients may read it slowly."""
        served, _ = self._shown(name)
        if not served.fitted:
            raise Refused(
                409,
                f"The model {name!r} has no file yet, because it has not learned anything. Send it an example first.",
            )
        async with self._copying:
            moment = served.number, served.sequence
            if self._last_file is None or self._last_file[0] != moment:
                estimator = copied_estimator(served)
                await self.confirmed(None)
                file = await self._help(lambda: SharedFile(to_bytes(*packed_model(estimator))))
                self._last_file = moment, file
            return self._last_file[1]

    async def insight(self, name: str, top: int) -> dict[str, Any]:
        """Learning curve, recent examples and largest weights, for the live page."""
        served, facts = self._shown(name)
        shown = {**facts, "curve": served.curve, "recent": recent_examples(served)}
        async with self._copying:
            largest = await self._help(lambda estimator: list(strongest(estimator, top)), copied_estimator(served))
        return dict(await self.confirmed({**shown, "strongest": largest}))

    # ---- news ----

    def subscribe(self, name: str, client: str) -> asyncio.Queue[Any]:
        """Make a queue that receives the events of a model once they are on disk."""
        self.find(name)
        return self.news.subscribe(name, client)

    async def past_events(self, name: str, after: int) -> list[Event]:
        """Up to a hundred events after a number, for a listener that reconnects."""
        number = self.find(name).number
        return list(await self._help(lambda: list(self.store.events(number, after, 100))))


def warm(algorithm: str, parameters: dict[str, Any]) -> str:
    """Compile everything that a learner needs; returns its full name."""
    served = Served(0, "", canonical(algorithm), parameters, 0.0)
    for label in ("a", "b", "c"):
        example = {"features": {"x": 1.0, label: 1.0}, "label": label}
        _, (answer,) = served.learn([(example, b"{}")], 0.0, Limits())
        if isinstance(answer, Refused) and label == "a":
            raise Refused(422, answer.message)
        served.predict([(example, b"{}")], 0.0, Limits())
    return served.algorithm
