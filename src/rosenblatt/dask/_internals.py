"""All uses of undocumented parts of Dask.

Any release of Dask may change them. `tests/dask/test_internals.py` calls every function on a real cluster, and fails with a
release that is not in `TRIED`.
"""

import asyncio
import time
from collections.abc import Sequence
from typing import Any

TRIED = ("2024.8.0", "2026.8.0")
"""Releases of dask and distributed with which that test has passed; the first is the oldest supported one."""

STAYS = "rosenblatt-stays"
"""Annotation of tasks that Dask must not move to another worker while their own worker is available."""


# ---- run by the scheduler ----


async def tend(silent: Sequence[str], dask_scheduler: Any) -> tuple[float, dict[str, float]]:
    """Remove workers from the cluster and release tasks that wait for lost workers.

    The scheduler itself removes a hanging worker only after five minutes. If there was no worker for a moment, a task that may
    run anywhere still waits for its preferred worker; so does a task with the annotation `STAYS`.

    Returns
    -------
    tuple of float and dict
        The time, and the time of the last message of each worker, both by the clock of the scheduler.
    """
    from distributed.metrics import time as clock

    stimulus = f"rosenblatt-{time.time()}"
    for address in silent:
        await dask_scheduler.remove_worker(address, stimulus_id=stimulus)
    stuck = [
        task
        for task in dask_scheduler.unrunnable
        if dask_scheduler.workers and (task.loose_restrictions or (task.annotations or {}).get(STAYS))
    ]
    for task in stuck:
        task.worker_restrictions = None
    dask_scheduler.transitions({task.key: "processing" for task in stuck}, stimulus_id=stimulus)
    return clock(), {address: worker.last_seen for address, worker in dask_scheduler.workers.items()}


def memory_of_workers(dask_scheduler: Any) -> dict[str, tuple[float, float]]:
    """The bytes that each worker may use, infinite without a limit, and the bytes of the results that it holds."""
    workers = dask_scheduler.workers.items()
    return {address: (worker.memory_limit or float("inf"), worker.nbytes) for address, worker in workers}


# ---- the client ----


def loop_of(client: Any) -> asyncio.AbstractEventLoop:
    """The event loop in which a client works."""
    loop: asyncio.AbstractEventLoop = client.loop.asyncio_loop
    return loop


def send_at_once(client: Any) -> Any:
    """Make a client send its messages at once; return the client.

    By default it sends every 10 ms, and each of the several messages at the start of an epoch would wait for the next one.
    """
    client.scheduler_comm.interval = 0.0
    return client


def address_of(client: Any) -> str:
    """The address of a client's scheduler, or "the given address" if it was never connected."""
    return getattr(getattr(client, "scheduler", None), "address", None) or "the given address"


# ---- values and errors ----


def kind_of_collection(value: Any) -> str:
    """The kind of a Dask collection: "array", "dataframe", "bag" or "delayed"; empty for other values."""
    package, _, rest = type(value).__module__.partition(".")
    module = rest.partition(".")[0]
    if package == "dask_expr" or (package == "dask" and module == "dataframe"):
        return "dataframe"
    return module if package == "dask" and module in ("array", "bag", "delayed") else ""


def example_of(frame: Any) -> Any:
    """A pandas data frame with the columns and types of a Dask dataframe and a few artificial rows."""
    return frame._meta_nonempty


def is_lost_result(error: BaseException | None) -> bool:
    """Whether a task failed because of the cluster, for example a lost worker, and not because of its own code."""
    return type(error).__module__.partition(".")[0] in ("distributed", "asyncio", "concurrent")
