"""Connect to a cluster or start one on this machine."""

import contextlib
import importlib.util
import logging
import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from typing import Any

from ._awaiting import Awaiting
from ._errors import ClusterError, seconds_to_connect
from ._internals import address_of, send_at_once


def need_dask() -> None:
    """Raise an ImportError with installation advice if Dask is missing."""
    missing = [name for name in ("dask", "distributed") if importlib.util.find_spec(name) is None]
    if missing:
        raise ImportError(
            f"rosenblatt.dask needs Dask; {' and '.join(missing)} cannot be imported. Install it with "
            "`pip install rosenblatt[dask]`."
        )


@contextlib.contextmanager
def connected(client: Any = None) -> Iterator[Any]:
    """A client of a cluster; a client or cluster that is started here is also closed here.

    Parameters
    ----------
    client : distributed.Client, Cluster, str or None, default=None
        A client; a cluster; the address of a scheduler such as "tcp://10.0.0.1:8786"; "local" or "local:4" for processes on
        this machine, one for each core or four; None for the current client.

    Yields
    ------
    distributed.Client
        The client; there is at least one worker, and every worker and the scheduler have this library.
    """
    need_dask()
    import distributed

    if client is None and _in_task():
        with distributed.worker_client() as own:  # the task releases its thread to the tasks that it waits for
            _check_workers(own)
            yield own
        return
    if isinstance(client, distributed.deploy.Cluster):
        with distributed.Client(client) as own:
            _check_workers(own)
            yield own
        return
    if client is None:
        try:
            client = distributed.get_client()
        except ValueError:
            raise ClusterError(
                "Training on a cluster needs a client of one; none is in use. Make one, for instance with "
                "`from distributed import Client; client = Client()`, or pass client='local'."
            ) from None
    if not isinstance(client, str):
        if getattr(client, "status", "") != "running":
            raise ClusterError(
                f"The client must be connected to its scheduler; this one is {getattr(client, 'status', client)!r}. Make another."
            )
        _check_workers(client)
        yield client
        return
    if client == "local" or client.startswith("local:"):
        with _local(client) as own:
            _check_workers(own)
            yield own
        return
    with _remote(client) as own:
        _check_workers(own)
        yield own


def _in_task() -> bool:
    """Whether this code runs in a task on a worker."""
    from distributed import get_worker

    try:
        return bool(get_worker())
    except ValueError:
        return False


_CALM = {
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.monitor-interval": "500ms",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.tick.interval": "1s",
}
"""Less monitoring for workers on this machine. By default a worker profiles itself a hundred times a second; all monitoring
together took 8% of a core."""


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """Delay Ctrl-C, and block it permanently in all threads and processes that are started in this context.

    A terminal sends it to the workers, too, but only the client should handle it.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # its start would unblock interrupts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _local(address: str) -> Iterator[Any]:
    import dask
    from distributed import Client, LocalCluster

    count = address.partition(":")[2]
    if count and not (count.isdecimal() and int(count) > 0):
        raise ValueError(
            f"A cluster on this machine is called local or local:WORKERS, such as local:4; got {address!r}. Give a whole number."
        )
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise SystemExit(
            1
        )  # a worker that imports the script that is starting it; the parent process reports the error
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    with contextlib.ExitStack() as stack:
        stack.enter_context(dask.config.set(_CALM))
        try:
            with _interrupts_held():
                cluster = stack.enter_context(
                    LocalCluster(
                        n_workers=int(count or cores), threads_per_worker=1, processes=True, dashboard_address=":0",
                        silence_logs=logging.CRITICAL,  # errors are raised here
                    )
                )  # fmt: skip
        except RuntimeError as error:
            raise ClusterError(
                f"Workers must be able to start on this machine; they did not ({str(error).rstrip('.')}). Each of them imports "
                "the script that starts it: train under `if __name__ == '__main__':` there, so that only you do."
            ) from None
        yield send_at_once(stack.enter_context(Client(cluster, direct_to_workers=True)))


@contextlib.contextmanager
def _remote(address: str) -> Iterator[Any]:
    from distributed import Client

    seconds = seconds_to_connect()
    try:
        client = Client(address, timeout=seconds)
    except (OSError, TimeoutError, ValueError) as error:
        reason = "" if isinstance(error, TimeoutError) else f" ({str(error).splitlines()[0][:200]})"
        raise ClusterError(
            f"The scheduler must be reachable at an address such as tcp://10.0.0.1:8786; none answered at {address} within "
            f"{seconds:g} seconds{reason}. Start one with `dask scheduler`, or check the address and the firewall."
        ) from None
    with _silence():
        try:
            yield send_at_once(client)
        finally:
            client.close(timeout=5)


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Silence the logs of a client that was created here; errors are raised instead."""
    loggers = [logging.getLogger(name) for name in ("distributed", "distributed.client", "distributed.core")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


def _check_workers(client: Any) -> None:
    """Raise if there is no worker or one without this library; submit a task so that adaptive clusters start a worker."""
    awaiting, seconds = Awaiting(client), seconds_to_connect()

    def check() -> None:
        deadline = time.monotonic() + seconds
        asked = None
        while not (workers := awaiting.ask(client.nthreads)):
            if time.monotonic() > deadline:
                raise ClusterError(
                    f"The cluster must have a worker; {address_of(client)} had none within {seconds:g} seconds. Start "
                    f"some with `dask worker {address_of(client)}`."
                )
            asked = asked or client.submit(int, pure=False)
            time.sleep(0.05)
        awaiting.check_versions(workers)

    awaiting.insist("The workers could not be asked for their versions", check)
