"""What is said when a cluster is lost, and how long it is waited for."""

import os
from typing import Any

from ._internals import address_of


class ClusterError(RuntimeError):
    """The cluster cannot be reached, has no workers, or was lost on the way."""


def seconds_to_connect() -> float:
    """How long to wait for a scheduler: ``$ROSENBLATT_DASK_TIMEOUT`` seconds, else 10."""
    return float(os.environ.get("ROSENBLATT_DASK_TIMEOUT", "10"))


def seconds_without_workers() -> float:
    """How long to wait for another worker when all are gone."""
    return max(30.0, seconds_to_connect())


def no_workers(client: Any) -> ClusterError:
    """What is said when none has come."""
    return ClusterError(
        f"The cluster must have a worker; {address_of(client)} has lost all of its own, and none has come for "
        f"{seconds_without_workers():g} seconds."
    )


def scheduler_lost(client: Any) -> ClusterError:
    """What is said when a client has lost its scheduler."""
    return ClusterError(f"The scheduler at {address_of(client)} was lost")


def scheduler_silent(client: Any, seconds: float) -> ClusterError:
    """What is said when a scheduler is connected, but does not answer."""
    return ClusterError(f"The scheduler at {address_of(client)} must answer; it has not for {seconds:g} seconds")
