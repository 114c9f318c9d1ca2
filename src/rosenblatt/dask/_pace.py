"""How fast workers learn, and when it pays to give shards of a slow one to others.

Dask gives tasks that have not begun to idle workers, but not these: to learn a shard takes a fraction of the time that sending it
takes. Sent once, it serves all epochs that follow.
"""

import collections
from collections.abc import Iterable, Mapping, Sequence

from ._partials import Note

__all__ = ["Pace", "lags", "pays", "seconds_of"]

WATCHED = 3
"""So many epochs a worker is watched. Its best one counts, so that nobody who was disturbed for a moment is called slow."""

LAG = 1.25
"""An epoch may take so many times as long as it would if all were done at once; beyond that shards are moved."""

BANDWIDTH = 1e8
"""Bytes a second that travel between workers, as Dask assumes before it has seen any."""

MESSAGES = 0.1
"""Seconds that moving takes, however little there is to move."""


class Pace:
    """How fast the workers were in the last epochs."""

    def __init__(self) -> None:
        self._seen: collections.deque[dict[str, float]] = collections.deque(maxlen=WATCHED)

    def note(self, notes: Iterable[Note], sizes: Sequence[int]) -> None:
        """Write down an epoch; `sizes`: the bytes of every shard."""
        work: dict[str, float] = {}
        seconds: dict[str, float] = {}
        for note in notes:
            address = note.place.partition(" ")[0]
            work[address] = work.get(address, 0.0) + sizes[note.shard]
            seconds[address] = seconds.get(address, 0.0) + note.seconds
        self._seen.append({address: work[address] / max(seconds[address], 1e-9) for address in work})

    def forget(self) -> None:
        """Begin to watch anew."""
        self._seen.clear()

    def speeds(self, workers: Mapping[str, int]) -> dict[str, float] | None:
        """Bytes a second of each worker with its threads; None while one of them has not been watched for long enough."""
        if len(self._seen) < WATCHED or any(workers.keys() - seen.keys() for seen in self._seen):
            return None
        return {address: threads * max(seen[address] for seen in self._seen) for address, threads in workers.items()}


def seconds_of(loads: Mapping[str, float], speeds: Mapping[str, float]) -> float:
    """How long an epoch takes if every worker learns so many bytes."""
    return max(loads.get(address, 0.0) / speed for address, speed in speeds.items())


def lags(loads: Mapping[str, float], speeds: Mapping[str, float]) -> bool:
    """Whether some workers are done long before others."""
    return seconds_of(loads, speeds) > LAG * sum(loads.values()) / sum(speeds.values())


def pays(saved: float, moved: float, done: int, left: int) -> bool:
    """Whether moving so many bytes is worth it.

    Parameters
    ----------
    saved : float
        Seconds that it saves in an epoch.
    moved : float
        The bytes.
    done, left : int
        Epochs so far, and how many there are at most to come. Nobody knows how many it will be: as many as so far, say, so that
        the seconds spent are never many more than those that were lost already.
    """
    return saved * min(done, left) >= MESSAGES + moved / BANDWIDTH
