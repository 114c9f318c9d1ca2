"""Waiting for what was given to a cluster: a scheduler that is gone, workers that hang, and none at all are noticed."""

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
    """Something that only lay on a worker is gone."""


SILENCE = 30.0
"""A worker that has sent no sign of life for so many seconds is taken from the cluster."""

LOOK = 0.25
"""Who waits looks around every so many seconds."""

UNANSWERED = 120.0
"""A scheduler that has left a question open for so many seconds is taken for lost."""

RETRIES = 5
"""So often something is done again when what only lay on a worker was lost."""


def _asks_version() -> Callable[[], str]:
    """What tells the version where it is run: a function within one, so that it is sent whole; there may be no library."""

    def version() -> str:
        try:
            from rosenblatt._version import __version__ as found
        except ImportError as error:
            return f"none ({error})"
        return found

    return version


def _check_version(who: str, answer: Any) -> None:
    """Refuse another version; who was lost meanwhile gave none."""
    if isinstance(answer, str) and answer != __version__:
        raise ClusterError(
            f"Every worker and the scheduler must have the version {__version__} of this library, as here; {who} has "
            f"{answer}. Install rosenblatt[dask]=={__version__} there."
        )


class Awaiting:
    """Waits for tasks; notices when the scheduler is gone, and lets go of workers that hang."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self._next = self._had_workers = 0.0
        self._silent: dict[str, float] = {}
        self._versions: set[str] = set()

    def check(self, seconds: float = 0.0) -> None:
        """Raise if there is no scheduler any more; the client may notice some moments later than its futures."""
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
        """Let go of workers that hang, so that what they hold and were to do is done by others; whether there were any.

        A worker that only works sends its signs of life from another thread. Two looks in a row must find the same one to be the
        last, and long ago: where it was the scheduler that was asleep, what had come meanwhile is read between them. Where all
        are gone and none comes, there is nothing to wait for.
        """
        now = time.monotonic()
        if now < self._next:
            return False
        clock, seen = self.ask(self.client.run_on_scheduler, tend, [])
        if seen or now > self._next + SILENCE / 2:  # or nobody has looked for a while
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
        """What an attempt gives; it is made once more when something that lay on a worker is lost."""
        for _ in range(RETRIES):
            try:
                return attempt()
            except Lost as error:
                reason = error
        raise ClusterError(f"{what} in {RETRIES} attempts; the last one ended with: {reason}") from reason

    def each(self, futures: Collection[Any]) -> Iterator[Any]:
        """Futures as they finish."""
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
        """Raise what went wrong with a task that has ended."""
        from distributed import KilledWorker

        if future.status == "finished":
            return
        if future.status == "cancelled":
            self.check(2.0)
            raise Lost(future.key)
        error = future.exception()
        self.check_versions(self.ask(self.client.nthreads))  # who has come meanwhile may not know what it was to do
        if isinstance(error, KilledWorker):
            raise ClusterError(
                f"A task must not end its worker; {future.key} did so again and again, most likely for want of memory. Use more "
                "shards, so that each is smaller, or larger workers."
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

    def ask(self, method: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Call a method of the client that needs no one but the scheduler."""
        return self.end(self.begin(method, *arguments, **options), tended=False)

    def begin(self, method: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Let the client call one of its methods, without waiting for it."""
        self.check()

        async def exchanged() -> Any:
            return await method(*arguments, **options)

        return asyncio.run_coroutine_threadsafe(exchanged(), loop_of(self.client))

    def end(self, running: Any, tended: bool = True) -> Any:
        """What was begun, once it is done; meanwhile workers are tended, if it may be one of them that it waits for.

        Looks are counted, not seconds, so that those in which this process was itself asleep do not count.
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
