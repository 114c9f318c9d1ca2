"""Errors of a lost cluster, and timeouts."""

import os
from typing import Any

from ._internals import address_of


class ClusterError(RuntimeError):
    """The cluster cannot be reached, has no workers, or was lost during training."""


def seconds_to_connect() -> float:
    """Timeout for connecting to a scheduler: ``$ROSENBLATT_DASK_TIMEOUT`` seconds, else 10."""
    return float(os.environ.get("ROSENBLATT_DASK_TIMEOUT", "10"))


def seconds_without_workers() -> float:
    """Timeout for a new worker when all are lost."""
    return max(30.0, seconds_to_connect())


def no_workers(client: Any) -> ClusterError:
    """The error for a cluster that has lost all workers."""
    return ClusterError(
        f"The cluster must have a worker; {address_of(client)} has lost all of its workers, and no new one has connected for "
        f"{seconds_without_workers():g} seconds."
    )


def scheduler_lost(client: Any) -> ClusterError:
    """The error for a client that has lost its scheduler."""
    return ClusterError(f"The scheduler at {address_of(client)} was lost")


def scheduler_silent(client: Any, seconds: float) -> ClusterError:
    """The error for a scheduler that is connected but does not answer."""
    return ClusterError(f"The scheduler at {address_of(client)} must answer; it has not for {seconds:g} seconds")
