"""The service between HTTP and the store: models in memory, recovery, and the lease to write.

Everything runs on one event loop. A request is checked and applied to the model at once, its events are added to the group being
collected (`groups`), and its answer waits until that group is on disk.

If a group cannot be written, memory is ahead of the log. Then all models are discarded and read again from the store, as after
a crash, and all requests whose events were not confirmed are refused.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from rosenblatt.model_file.container import to_bytes
from rosenblatt.serve.choice import canonical
from rosenblatt.serve.events import Event, Limits
from rosenblatt.serve.examples import Refused
from rosenblatt.serve.groups import Groups
from rosenblatt.serve.insight import describe, recent_examples, strongest
from rosenblatt.serve.learner import Served
from rosenblatt.serve.metrics import Metrics
from rosenblatt.serve.news import News
from rosenblatt.serve.snapshots import from_snapshot, packed_model, read_model
from rosenblatt.serve.store import LeaseLost, Store, StoreError, Token

log = logging.getLogger("rosenblatt.serve")

SLICE = 250
"""Number of lines of a batch that are handled without a break; between them other requests are handled."""

PATIENCE = 5.0
"""Seconds without a renewal of the lease after which another process takes over."""

_WORK = {"predict": Served.predict, "reveal": Served.reveal, "learn": Served.learn}


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
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.store, self.limits, self.clock = store, limits, clock
        self.metrics = Metrics(self)
        self.models: dict[str, Served] = {}
        self.names: dict[str, int] = {}
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
        self._standby: dict[str, tuple[int, Served]] = {}

    # ---- start and stop ----

    async def start(self) -> None:
        """Start; the service accepts events when `state` is "ready"."""
        self._task = asyncio.create_task(self._live())
        self._keeper = asyncio.create_task(self._keep_house())

    async def close(self) -> None:
        """Write the remaining events, take snapshots and release the store."""
        if self._keeper is not None:
            self._keeper.cancel()
        if self.state == "ready":
            self.state, self.reason = "stopping", "the service is being stopped"
            self._groups.wake()
        elif self._task is not None:
            self._task.cancel()
        if self._task is not None:
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
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
        """Read all models, each from its newest snapshot and the events after it."""
        started = time.perf_counter()
        self.names, self.models = await self._write(self._read_models)
        await self._refresh_tokens()
        log.info("read", extra={"seconds": round(time.perf_counter() - started, 3)})

    def _read_models(self) -> tuple[dict[str, int], dict[str, Served]]:
        names = {name: number for number, name in self.store.models()}
        models = {name: read_model(self.store, number, self.limits) for name, number in names.items()}
        for algorithm, parameters in {
            (m.algorithm, repr(m.parameters)): (m.algorithm, m.parameters) for m in models.values()
        }.values():
            warm(algorithm, parameters)  # so that the first request does not wait for it
        return names, models

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
        self.models = {}
        self._groups.drop(refusal)

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
            await asyncio.sleep(2.0)
            try:
                if self.state == "ready":
                    for served in self.models.values():
                        self._groups.add(served, served.expire(self.clock(), self.limits))
                    if self._groups.events:
                        await self.confirmed(None)
                elif self.state == "standby":
                    await self._follow()
                await self._refresh_tokens()
            except (StoreError, Refused) as error:
                log.warning("housekeeping", extra={"error": str(error)})
            except Exception:
                log.exception("housekeeping")

    async def _refresh_tokens(self) -> None:
        self.tokens = await asyncio.get_running_loop().run_in_executor(self._helper, self.store.tokens)
        self.guarded = self.guarded or bool(self.tokens)  # after the last token is revoked, tokens are still needed

    # ---- requests ----

    def _check_ready(self) -> None:
        if self.state != "ready":
            raise Refused(
                503,
                f"The service does not accept events now: {self.reason}. Try again in a moment.",
                state=self.state,
                retry=True,
            )

    def find(self, name: str) -> Served:
        """Find a model that can learn; raises `Refused` if there is none."""
        self._check_ready()
        if name not in self.models:
            raise Refused(404, f"There is no model {name[:64]!r}. Create it with POST /v1/models/NAME.")
        return self.models[name]

    def _shown(self, name: str) -> tuple[Served, dict[str, Any]]:
        """Find a model to read (from a snapshot while another process writes) and its description, or raise `Refused`."""
        if self.state != "standby":
            served = self.find(name)
            return served, {**describe(served), "standby": False}
        if name not in self._standby:
            raise Refused(
                404, f"There is no snapshot of a model {name[:64]!r} yet; another process writes to this store."
            )
        sequence, served = self._standby[name]
        return served, {**describe(served), "standby": True, "snapshot": sequence}

    async def work(self, kind: str, name: str, requests: list[tuple[Any, bytes]]) -> list[Any]:
        """Predict, reveal or learn; returns one answer per request, which can be a `Refused`, when all events are on disk."""
        do = _WORK[kind]
        if len(requests) == 1:
            served = self.find(name)
            events, answers = do(served, requests, self.clock(), self.limits)
            if events:
                self._groups.add(served, events)
            return list(await self.confirmed(answers))
        answers = []
        size = max(1, min(SLICE, self.limits.pending))
        memory = self.models
        for start in range(0, len(requests), size):
            if start:
                await asyncio.sleep(0)
            served = self.find(name)
            if self.models is not memory:
                raise Refused(
                    503,
                    f"The batch was interrupted: the first {start} lines may or may not be recorded, the others are not.",
                    retry=True,
                )
            events, some = do(served, requests[start : start + size], self.clock(), self.limits)
            self._groups.add(served, events)
            answers += some
        return list(await self.confirmed(answers))

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
        number = 1 + max(self.names.values(), default=0)
        served = Served(number, name, algorithm, parameters, self.clock())
        served.remembered = self.limits.remembered
        self.names[name], self.models[name] = number, served
        self._groups.add_model(served)
        return True, await self.confirmed(describe(served))

    async def describe(self, name: str) -> dict[str, Any]:
        """Describe a model; from a snapshot while another process writes."""
        return dict(await self.confirmed(self._shown(name)[1]))

    async def describe_all(self) -> list[dict[str, Any]]:
        """Describe all models."""
        if self.state == "standby":
            return [{**describe(served), "standby": True} for _, served in self._standby.values()]
        self._check_ready()
        return list(await self.confirmed([{**describe(served), "standby": False} for served in self.models.values()]))

    async def model_bytes(self, name: str) -> bytes:
        """Content of the model file."""
        served, _ = self._shown(name)
        if not served.fitted:
            raise Refused(
                409,
                f"The model {name!r} has no file yet, because it has not learned anything. Send it an example first.",
            )
        header, tensors = packed_model(served)
        await self.confirmed(None)
        data: bytes = await asyncio.get_running_loop().run_in_executor(self._helper, to_bytes, header, tensors)
        return data

    async def insight(self, name: str, top: int) -> dict[str, Any]:
        """Learning curve, recent examples and largest weights, for the live page."""
        served, facts = self._shown(name)
        shown = {
            "curve": served.curve,
            "recent": recent_examples(served),
            "strongest": list(strongest(served, top)),
        }
        return dict(await self.confirmed({**facts, **shown}))

    # ---- standby ----

    async def _follow(self) -> None:
        """Read snapshots that are newer than those in memory."""

        def newer() -> dict[str, tuple[int, Served]]:
            models = {}
            for number, name in self.store.models():
                known = self._standby.get(name)
                snapshot = self.store.snapshot(number)
                if snapshot is not None and (known is None or snapshot.sequence > known[0]):
                    models[name] = snapshot.sequence, from_snapshot(number, snapshot.data)
            return models

        self._standby.update(await asyncio.get_running_loop().run_in_executor(self._helper, newer))

    # ---- news ----

    def subscribe(self, name: str) -> asyncio.Queue[Any]:
        """Make a queue that receives the events of a model once they are on disk."""
        self.find(name)
        return self.news.subscribe(name)

    async def past_events(self, name: str, after: int) -> list[Event]:
        """Up to a thousand events after a number, for a listener that reconnects."""
        number = self.find(name).number
        return await asyncio.get_running_loop().run_in_executor(
            self._helper, lambda: list(self.store.events(number, after, 1000))
        )


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
