"""How fast workers learn, and when it pays to give shards of a slow one to others.

Dask gives tasks that have not begun to idle workers, but not these: to learn a shard takes a fraction of the time that sending it
takes. Sent once, it serves all epochs that follow.
"""

import collections
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ._partials import Note

WATCHED = 3
"""So many epochs a worker is watched. Its best one counts, so that nobody who was disturbed for a moment is called slow."""

LAG = 1.25
"""An epoch may take so many times as long as it would if all were done at once; beyond that shards are moved."""

GAIN = 1.1
"""And only if an epoch took more than so many times as long as it will: shards shall not wander because times vary."""

BANDWIDTH = 1e8
"""Bytes a second that travel between workers, as Dask assumes before it has seen any."""

MESSAGES = 0.1
"""Seconds that moving takes, however little there is to move."""


class Pace:
    """How fast the workers were in the last epochs.

    Attributes
    ----------
    epochs : int
        For how many epochs the shards have lain as they do.
    """

    def __init__(self) -> None:
        self._seen: collections.deque[dict[str, float]] = collections.deque(maxlen=WATCHED)
        self.epochs = 0
        self._patience = WATCHED

    def note(self, notes: Iterable[Note], sizes: Sequence[int]) -> None:
        """Write down an epoch; `sizes`: the bytes of every shard. Who had nothing to learn showed nothing."""
        work: dict[str, float] = {}
        seconds: dict[str, float] = {}
        for note in notes:
            address = note.place.partition(" ")[0]
            work[address] = work.get(address, 0.0) + sizes[note.shard]
            seconds[address] = seconds.get(address, 0.0) + note.seconds
        self._seen.append({address: done / max(seconds[address], 1e-9) for address, done in work.items() if done})
        self.epochs += 1

    def moved(self) -> None:
        """Begin to watch anew, each time twice as long: where speeds change all the time, shards do not follow all the time."""
        self._seen.clear()
        self.epochs = 0
        self._patience *= 2

    def speeds(self, workers: Iterable[str]) -> dict[str, float] | None:
        """Bytes a second of a thread of each worker; None while one of them has not been watched for long enough."""
        if self.epochs < self._patience or any(address not in seen for address in workers for seen in self._seen):
            return None
        return {address: max(seen[address] for seen in self._seen) for address in workers}


class Plan(NamedTuple):
    """Who learns what: for each worker its threads, the bytes a second of one of them, and the sizes of its shards."""

    threads: Mapping[str, int]
    speeds: Mapping[str, float]
    sizes: Mapping[str, Sequence[int]]

    def seconds(self) -> float:
        """How long an epoch takes: a shard is learned by one thread."""
        return max(
            -(-len(sizes) // self.threads[address]) * sum(sizes) / len(sizes) / self.speeds[address]
            for address, sizes in self.sizes.items()
            if sizes
        )

    def lags(self) -> bool:
        """Whether some workers are done long before others."""
        everybody = sum(self.threads[address] * speed for address, speed in self.speeds.items())
        return self.seconds() > LAG * sum(map(sum, self.sizes.values())) / everybody


def pays(before: float, after: float, moved: float, done: int, left: int) -> bool:
    """Whether moving so many bytes is worth it.

    Parameters
    ----------
    before, after : float
        Seconds that an epoch takes and would take.
    moved : float
        The bytes.
    done, left : int
        Epochs since shards were last moved, and how many there are at most to come. Nobody knows how many it will be: as many as
        so far, say, so that the seconds spent are never many more than those that were lost already.
    """
    return before > GAIN * after and (before - after) * min(done, left) >= MESSAGES + moved / BANDWIDTH
