"""Wait for tasks on a cluster; detect a lost scheduler, hanging workers and a cluster without workers."""

import asyncio
import queue
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import CancelledError
from concurrent.futures import wait as wait_for
from typing import Any

from rosenblatt._version import __version__

from ._errors import ClusterError, no_workers, scheduler_lost, scheduler_silent, seconds_without_workers
from ._internals import address_of, is_lost_result, loop_of, tend


class Lost(Exception):  # noqa: N818
    """A result that existed only on a worker was lost."""


SILENCE = 30.0
"""Seconds without a heartbeat after which a worker is removed from the cluster."""

LOOK = 0.25
"""Seconds between two checks of the cluster while waiting."""

UNANSWERED = 120.0
"""Seconds without an answer after which the scheduler counts as lost."""

RETRIES = 5
"""Number of attempts when results on workers are lost."""


def _asks_version() -> Callable[[], str]:
    """A function that returns the installed version; nested, so that it is sent by value and needs no installed library."""

    def version() -> str:
        try:
            from rosenblatt._version import __version__ as found
        except ImportError as error:
            return f"none ({error})"
        return found

    return version


def _check_version(who: str, answer: Any) -> None:
    """Raise if the answer is another version; a worker that was lost in the meantime gives no version."""
    if isinstance(answer, str) and answer != __version__:
        raise ClusterError(
            f"Every worker and the scheduler must have the version {__version__} of this library, as here; {who} has "
            f"{answer}. Install rosenblatt[dask]=={__version__} there."
        )


class Awaiting:
    """Wait for tasks, detect a lost scheduler and remove hanging workers."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self._next = self._had_workers = 0.0
        self._silent: dict[str, float] = {}
        self._versions: set[str] = set()

    def check(self, seconds: float = 0.0) -> None:
        """Raise if the scheduler is lost; the client may notice this a moment later than its futures."""
        deadline = time.monotonic() + seconds
        while self.client.status == "running":
            if time.monotonic() >= deadline:
                return
            time.sleep(0.05)
        raise scheduler_lost(self.client)

    def check_versions(self, workers: Collection[str]) -> None:
        """Raise if the scheduler or one of these workers has another version of this library; each is asked once."""
        if not self._versions:
            answer = self.ask(self.client.run_on_scheduler, _asks_version())
            _check_version(f"the scheduler at {address_of(self.client)}", answer)
        if come := [address for address in workers if address not in self._versions]:
            answers = self.exchange(self.client.run, _asks_version(), workers=come, on_error="return")
            for address, answer in answers.items():
                _check_version(f"the worker at {address}", answer)
            self._versions.update(come)

    def tend(self) -> bool:
        """Remove hanging workers, so that other workers take over their tasks; return whether there were any.

        A busy worker still sends heartbeats, from another thread. A worker is removed only if two checks in a row find the same
        old heartbeat: if the scheduler itself was suspended, it reads the waiting heartbeats between the two checks. Raise if
        there has been no worker for too long.
        """
        now = time.monotonic()
        if now < self._next:
            return False
        clock, seen = self.ask(self.client.run_on_scheduler, tend, [])
        if seen or now > self._next + SILENCE / 2:  # or the last check was long ago
            self._had_workers = now
        elif now - self._had_workers > seconds_without_workers():
            raise no_workers(self.client)
        before, self._silent = self._silent, {one: when for one, when in seen.items() if clock - when > SILENCE}
        hanging = [address for address, when in self._silent.items() if before.get(address) == when]
        if hanging:
            self.ask(self.client.run_on_scheduler, tend, hanging)
        self._next = time.monotonic() + SILENCE / 10
        return bool(hanging)

    def insist(self, what: str, attempt: Callable[[], Any]) -> Any:
        """The result of `attempt`, which is repeated if a result on a worker is lost."""
        for _ in range(RETRIES):
            try:
                return attempt()
            except Lost as error:
                reason = error
        raise ClusterError(f"{what} in {RETRIES} attempts; the last one ended with: {reason}") from reason

    def each(self, futures: Collection[Any]) -> Iterator[Any]:
        """Yield futures as they finish."""
        done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        waiting = len(futures)
        for future in futures:
            future.add_done_callback(done.put)
        while waiting:
            try:
                future = done.get(timeout=LOOK)
            except queue.Empty:
                self.check()
                self.tend()
                continue
            waiting -= 1
            yield future

    def finished(self, future: Any) -> None:
        """Raise the error of a task that has ended without a result."""
        from distributed import KilledWorker

        if future.status == "finished":
            return
        if future.status == "cancelled":
            self.check(2.0)
            raise Lost(future.key)
        if future.status != "error":  # its worker ended after the task did, and Dask computes it again, perhaps never
            raise Lost(future.key)
        error = future.exception()
        self.check_versions(
            self.ask(self.client.nthreads)
        )  # a new worker with another version may have caused the error
        if isinstance(error, KilledWorker):
            raise ClusterError(
                f"A task must not kill its worker; {future.key} did so repeatedly, probably because of too little memory. Use "
                "more shards, so that each is smaller, or larger workers."
            ) from error
        if is_lost_result(error):
            raise Lost(str(error)) from error
        if isinstance(error, OSError):
            raise ClusterError(
                f"Every worker must be able to read the data, files under the same names as here; one could not ({error}). Put "
                "them where all machines see them"
            ) from error
        raise error

    def results(self, futures: Sequence[Any]) -> list[Any]:
        """Wait for tasks and fetch their results."""
        for future in self.each(futures):
            self.finished(future)
        return self.gather(futures)

    def gather(self, futures: Sequence[Any]) -> list[Any]:
        """Fetch the results of finished tasks."""
        return list(self.exchange(self.client.gather, list(futures)))

    def exchange(self, method: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Call a method of the client that communicates with workers, any of which may hang."""
        return self.end(self.begin(method, *arguments, **options))

    def ask(self, method: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Call a method of the client that communicates with the scheduler only."""
        return self.end(self.begin(method, *arguments, **options), tended=False)

    def begin(self, method: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Start a method of the client without waiting for it."""
        self.check()

        async def exchanged() -> Any:
            return await method(*arguments, **options)

        return asyncio.run_coroutine_threadsafe(exchanged(), loop_of(self.client))

    def end(self, running: Any, tended: bool = True) -> Any:
        """Wait for a call started by `begin` and return its result; with `tended`, remove hanging workers meanwhile.

        Checks are counted instead of seconds, so that time in which this process was suspended does not count.
        """
        looks = 0
        try:
            while not wait_for([running], timeout=LOOK).done:
                looks += 1
                self.check()
                if tended and self.tend():
                    raise Lost("a worker that hangs")
                if not tended and looks * LOOK > UNANSWERED:
                    raise scheduler_silent(self.client, UNANSWERED)
            return running.result()
        except (CancelledError, KeyError, OSError) as error:
            self.check()
            raise Lost(str(error)) from error
        finally:
            running.cancel()


class Fetching:
    """Fetch results while other tasks are still running; results that arrive during a transfer are fetched together."""

    def __init__(self, awaiting: Awaiting) -> None:
        self._awaiting = awaiting
        self._ready: list[Any] = []
        self._begun: list[tuple[list[str], Any]] = []

    def take(self, future: Any, last: bool) -> None:
        """Fetch a result now if no transfer is running or it is the last one; else keep it for the next transfer."""
        self._ready.append(future)
        if last or not self._begun or self._begun[-1][1].done():
            keys = [ready.key for ready in self._ready]
            self._begun.append((keys, self._awaiting.begin(self._awaiting.client.gather, self._ready)))
            self._ready = []

    def results(self) -> dict[str, Any]:
        """The fetched results, by the keys of the tasks."""
        fetched: dict[str, Any] = {}
        for keys, running in self._begun:
            fetched.update(zip(keys, self._awaiting.end(running), strict=True))
        return fetched
