"""Waiting for what was given to a cluster: a scheduler that is gone, workers that hang, and none at all are noticed."""

import asyncio
import queue
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import CancelledError
from concurrent.futures import wait as wait_for
from typing import Any

from ._cluster import ClusterError, no_workers, seconds_without_workers

__all__ = ["SILENCE", "Awaiting", "Fetching", "Lost"]


class Lost(Exception):  # noqa: N818
    """Something that only lay on a worker is gone."""


SILENCE = 30.0
"""A worker that has sent no sign of life for so many seconds longer than others is taken from the cluster."""


async def _tend(silent: list[str], dask_scheduler: Any) -> None:
    """Take workers from the cluster, as the scheduler itself does, though only after five minutes; it runs there.

    And let tasks run anywhere that may: once no worker was left for a moment, Dask waits for those that they were meant for.
    """
    stimulus = f"rosenblatt-{time.time()}"
    for address in silent:
        await dask_scheduler.remove_worker(address, stimulus_id=stimulus)
    stuck = [task for task in dask_scheduler.unrunnable if task.loose_restrictions] if dask_scheduler.workers else []
    for task in stuck:
        task.worker_restrictions = None
    dask_scheduler.transitions({task.key: "processing" for task in stuck}, stimulus_id=stimulus)


class Awaiting:
    """Waits for tasks; notices when the scheduler is gone, and lets go of workers that hang."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self._next = self._had_workers = 0.0

    def check(self) -> None:
        """Raise if there is no scheduler any more."""
        if self.client.status != "running":
            raise ClusterError(f"The scheduler at {self._address()} was lost")

    def tend(self) -> bool:
        """Let go of workers that hang, so that what they hold and were to do is done by others; whether there were any.

        A worker that only works sends its signs of life from another thread. They are compared with those of the others, so that
        nobody is blamed for a scheduler that was asleep. Where all are gone and none comes, there is nothing to wait for.
        """
        now = time.monotonic()
        if now < self._next:
            return False
        seen = {
            address: facts["last_seen"]
            for address, facts in self.client.scheduler_info(n_workers=-1)["workers"].items()
        }
        if seen or now > self._next + SILENCE / 2:  # or nobody has looked for a while
            self._had_workers = now
        elif now - self._had_workers > seconds_without_workers():
            raise no_workers(self.client)
        self._next = now + SILENCE / 10
        silent = [address for address, when in seen.items() if max(seen.values()) - when > SILENCE]
        self.client.run_on_scheduler(_tend, silent)
        return bool(silent)

    def _address(self) -> str:
        scheduler = getattr(self.client, "scheduler", None)
        return str(getattr(scheduler, "address", None) or "the given address")

    def each(self, futures: Collection[Any]) -> Iterator[Any]:
        """Futures as they finish."""
        done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        waiting = len(futures)
        for future in futures:
            future.add_done_callback(done.put)
        while waiting:
            try:
                future = done.get(timeout=0.25)
            except queue.Empty:
                self.check()
                self.tend()
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
            raise Lost(future.key)
        error = future.exception()
        if isinstance(error, KilledWorker):
            raise ClusterError(
                f"A task must not end its worker; {future.key} did so again and again, most likely for want of memory. Use more "
                "shards, so that each is smaller, or larger workers."
            ) from error
        if type(error).__module__.partition(".")[0] in ("distributed", "asyncio", "concurrent"):
            raise Lost(str(error)) from error
        if isinstance(error, OSError):
            raise ClusterError(
                f"Every worker must be able to read the data, files under the same names as here; one could not ({error}). Put "
                "them where all machines see them"
            ) from error
        raise error

    def results(self, futures: Sequence[Any]) -> list[Any]:
        """What tasks gave."""
        for future in self.each(futures):
            self.finished(future)
        return self.gather(futures)

    def gather(self, futures: Sequence[Any]) -> list[Any]:
        """What finished tasks gave, fetched."""
        return list(self.exchange(self.client.gather, list(futures)))

    def exchange(self, method: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Call a method of the client that fetches from workers or sends to them; it may be one of them that hangs."""
        return self.end(self.begin(method, *arguments, **options))

    def begin(self, method: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Let the client call one of its methods, without waiting for it."""

        async def exchanged() -> Any:
            return await method(*arguments, **options)

        return asyncio.run_coroutine_threadsafe(exchanged(), self.client.loop.asyncio_loop)

    def end(self, running: Any) -> Any:
        """What was begun, once it is done."""
        try:
            while not wait_for([running], timeout=0.25).done:
                self.check()
                if self.tend():
                    raise Lost("a worker that hangs")
            return running.result()
        except (CancelledError, KeyError, OSError) as error:
            self.check()
            raise Lost(str(error)) from error
        finally:
            running.cancel()


class Fetching:
    """Fetches what tasks gave while others are still at work; what becomes ready meanwhile, all at once."""

    def __init__(self, awaiting: Awaiting) -> None:
        self._awaiting = awaiting
        self._ready: list[Any] = []
        self._begun: list[tuple[list[str], Any]] = []

    def take(self, future: Any, last: bool) -> None:
        """Fetch what a task gave, unless something is being fetched and it is not the last one."""
        self._ready.append(future)
        if last or not self._begun or self._begun[-1][1].done():
            keys = [ready.key for ready in self._ready]
            self._begun.append((keys, self._awaiting.begin(self._awaiting.client.gather, self._ready)))
            self._ready = []

    def results(self) -> dict[str, Any]:
        """What was fetched, by the names of the tasks."""
        fetched: dict[str, Any] = {}
        for keys, running in self._begun:
            fetched.update(zip(keys, self._awaiting.end(running), strict=True))
        return fetched
