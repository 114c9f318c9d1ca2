"""Speed of the workers, and the decision to move shards from slow workers to others.

Dask's work stealing does not move these tasks, because learning a shard takes a fraction of the time of sending it. But a shard
is sent once and then used in all later epochs.
"""

import collections
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ._partials import Note

WATCHED = 3
"""Number of epochs over which a worker's speed is measured; the best one counts, so that short disturbances do not matter."""

LAG = 1.25
"""Shards are moved only if an epoch takes more than this multiple of its time with perfect balance."""

GAIN = 1.1
"""Minimum speedup of an epoch for which shards are moved, so that random variation of times does not move them."""

BANDWIDTH = 1e8
"""Bandwidth between workers in bytes per second, Dask's initial assumption."""

MESSAGES = 0.1
"""Fixed cost of a move in seconds."""


class Pace:
    """Speed of the workers in the last epochs.

    Attributes
    ----------
    epochs : int
        Number of epochs since shards were last moved.
    """

    def __init__(self) -> None:
        self._seen: collections.deque[dict[str, float]] = collections.deque(maxlen=WATCHED)
        self.epochs = 0
        self._patience = WATCHED

    def note(self, notes: Iterable[Note], sizes: Sequence[int]) -> None:
        """Record the speed of each worker in an epoch; `sizes` are the bytes of all shards. Workers without work are left out."""
        work: dict[str, float] = {}
        seconds: dict[str, float] = {}
        for note in notes:
            address = note.place.partition(" ")[0]
            work[address] = work.get(address, 0.0) + sizes[note.shard]
            seconds[address] = seconds.get(address, 0.0) + note.seconds
        self._seen.append({address: done / max(seconds[address], 1e-9) for address, done in work.items() if done})
        self.epochs += 1

    def moved(self) -> None:
        """Restart the measurement, with twice the waiting time, so that frequent changes of speed do not cause frequent moves."""
        self._seen.clear()
        self.epochs = 0
        self._patience *= 2

    def speeds(self, workers: Iterable[str]) -> dict[str, float] | None:
        """Bytes per second and thread of each worker; None while there are too few measurements."""
        if self.epochs < self._patience or any(address not in seen for address in workers for seen in self._seen):
            return None
        return {address: max(seen[address] for seen in self._seen) for address in workers}


class Plan(NamedTuple):
    """Distribution of work: for each worker its threads, bytes per second and thread, and the sizes of its shards."""

    threads: Mapping[str, int]
    speeds: Mapping[str, float]
    sizes: Mapping[str, Sequence[int]]

    def seconds(self) -> float:
        """Estimated duration of an epoch; one thread learns a shard."""
        return max(
            -(-len(sizes) // self.threads[address]) * sum(sizes) / len(sizes) / self.speeds[address]
            for address, sizes in self.sizes.items()
            if sizes
        )

    def lags(self) -> bool:
        """Whether some workers finish long before others."""
        everybody = sum(self.threads[address] * speed for address, speed in self.speeds.items())
        return self.seconds() > LAG * sum(map(sum, self.sizes.values())) / everybody


def pays(before: float, after: float, moved: float, done: int, left: int) -> bool:
    """Whether moving shards is worth the time.

    Parameters
    ----------
    before, after : float
        Seconds of an epoch now and after the move.
    moved : float
        Bytes to move.
    done, left : int
        Epochs since shards were last moved, and the maximum number of remaining epochs. The real number is unknown; it is
        estimated by `done`, so that a move never costs much more time than was already lost.
    """
    return before > GAIN * after and (before - after) * min(done, left) >= MESSAGES + moved / BANDWIDTH
