"""Which events of the log are kept, and from which snapshot on.

Events are removed only until a snapshot that has been read again, so a model is always that snapshot and the events after it. To
have a snapshot at the right place, some older ones are kept beside the newest one.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from rosenblatt.serve.learner import Served

AT_LEAST = 60.0
"""Seconds for which ``snapshot`` keeps events: a listener that reconnects in this time misses nothing."""

PIECE, MOST_REMOVED = 1 << 20, 1000
"""Bytes and number of events that one transaction removes: those that are written at the same time have to wait for it."""

SMALLEST = 1 << 16
"""Bytes of events of a model below which no snapshot is taken to keep the log small."""

_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}
_BYTES = {"KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}


def seconds_of(text: str) -> float:
    """Parse a time such as ``30d`` or ``12h``."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhdw])", text.strip())
    if found is None or not float(found[1]):
        raise ValueError(f"A time is a number and one of s, m, h, d or w, such as 30d; got {text!r}.")
    return float(found[1]) * _SECONDS[found[2]]


class Policy(NamedTuple):
    """How long events are kept, or how many bytes of them; None for no such limit."""

    seconds: float | None = None
    size: float | None = None


def policy_of(text: str) -> Policy:
    """Parse ``all``, ``snapshot``, a time such as ``30d``, or a size such as ``10GB``."""
    if text == "all":
        return Policy()
    if text == "snapshot":
        return Policy(AT_LEAST)
    size = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]B)", text.strip())
    if size is not None and float(size[1]):
        return Policy(size=float(size[1]) * _BYTES[size[2]])
    try:
        return Policy(seconds_of(text))
    except ValueError:
        raise ValueError(
            f"--keep-events takes all, snapshot, a time such as 30d or 12h, or a size such as 500MB or 10GB; got {text!r}."
        ) from None


class Mark(NamedTuple):
    """A complete snapshot: its last event, the time of that event, and the bytes of all events until then."""

    sequence: int
    time: float
    bytes: int


class Removal(NamedTuple):
    """Events of a model to remove: at most `rows` after an event, up to the snapshot `until`."""

    model: int
    after: int
    until: int
    rows: int


class Retention:
    """The places where the logs of the models begin, and where they will begin.

    Parameters
    ----------
    policy : Policy
        What is kept.
    clock : callable
        Returns the time.

    Attributes
    ----------
    marks : dict
        The snapshots of each model, the oldest first.
    base : dict
        The last event before the log of a model; without an entry the log is whole.
    """

    def __init__(self, policy: Policy, clock: Callable[[], float]) -> None:
        self.policy, self._clock = policy, clock
        self.marks: dict[int, list[Mark]] = {}
        self.base: dict[int, int] = {}
        self._removed: dict[int, int] = {}

    def start(self, marks: Mapping[int, Iterable[Mark]], first: Mapping[int, int | None]) -> None:
        """Start with what the store has: its snapshots, and the first event of each model, None if there is none."""
        self.marks, self.base, self._removed = {}, {}, {}
        for number, known in marks.items():
            begin = first.get(number)
            whole = begin == 1
            fitting = [mark for mark in known if whole or begin is None or mark.sequence >= begin - 1]
            if begin is None:
                fitting = fitting[-1:]
            self.marks[number] = fitting
            if not whole and fitting:
                self.base[number] = fitting[0].sequence
                self._removed[number] = fitting[0].sequence if begin is None else begin - 1

    def forget(self, number: int) -> None:
        """Forget a model that was deleted."""
        for known in (self.marks, self.base, self._removed):
            known.pop(number, None)

    # ---- snapshots ----

    def wants(self, served: "Served", models: int) -> bool:
        """Whether a snapshot is due, so that the log can begin there later."""
        seconds, size = self.policy
        if (seconds is None and size is None) or served.sequence <= served.snapshot_sequence:
            return False
        known = self.marks.get(served.number)
        if seconds is not None:
            return self._clock() - (known[-1].time if known else served.created) >= seconds / 4
        assert size is not None
        return served.bytes - (known[-1].bytes if known else 0) >= max(SMALLEST, size / (4 * models))

    def keep(self, number: int, new: Mark, models: int) -> tuple[int, ...]:
        """The older snapshots that stay beside a new one: that with which the log begins, and about ten others at most."""
        seconds, size = self.policy
        known = self.marks.get(number, [])
        first = known[:1] if number in self.base else []
        if seconds is None and size is None:
            return tuple(mark.sequence for mark in first)
        kept = [*known, new]
        at = len(first)
        while at < len(kept) - 1:  # a snapshot is left out if its neighbours are close to each other
            before = kept[at - 1] if at else Mark(0, kept[0].time, 0)
            if seconds is not None:
                close = at > 0 and kept[at + 1].time - before.time < seconds / 4
            else:
                close = kept[at + 1].bytes - before.bytes < (size or 0.0) / (4 * models)
            if close:
                del kept[at]
            else:
                at += 1
        return tuple(mark.sequence for mark in kept[:-1])

    def added(self, number: int, new: Mark, kept: Iterable[int]) -> None:
        """A snapshot is on disk, and of the older ones only some."""
        stay = set(kept)
        self.marks[number] = [mark for mark in self.marks.get(number, []) if mark.sequence in stay] + [new]

    def lost(self, number: int, mark: Mark) -> None:
        """A snapshot cannot be read: the log cannot begin there."""
        self.marks[number] = [known for known in self.marks[number] if known != mark]

    # ---- events ----

    def next_cut(self, models: Iterable["Served"]) -> tuple["Served", Mark] | None:
        """A model whose log can begin later, and the snapshot with which it will begin."""
        seconds, size = self.policy
        models = list(models)
        if seconds is not None:
            latest = self._clock() - seconds
            for served in models:
                if fitting := [mark for mark in self._later(served) if mark.time <= latest]:
                    return served, fitting[-1]
        if size is not None and sum(map(self.kept_bytes, models)) > size:
            choices = [(served, later[0]) for served in models if (later := self._later(served))]
            return min(choices, key=lambda choice: choice[1].time, default=None)
        return None

    def _later(self, served: "Served") -> list[Mark]:
        base = self.base.get(served.number, 0)
        return [mark for mark in self.marks.get(served.number, ()) if mark.sequence > base]

    def kept_bytes(self, served: "Served") -> int:
        """Bytes of the events of a model after the beginning of its log."""
        known = self.marks.get(served.number)
        return served.bytes - (known[0].bytes if known and served.number in self.base else 0)

    def cut(self, served: "Served", mark: Mark) -> None:
        """Let the log of a model begin after a snapshot; its events until then can be removed."""
        number = served.number
        self._removed.setdefault(number, 0)
        self.base[number] = served.begin = mark.sequence
        self.marks[number] = [known for known in self.marks[number] if known.sequence >= mark.sequence]

    def began(self, served: "Served", mark: Mark) -> None:
        """A new model begins with a snapshot and not with an event."""
        self.marks[served.number] = [mark]
        self.base[served.number] = self._removed[served.number] = served.begin = mark.sequence

    def removal(self) -> Removal | None:
        """The next events to remove; None if there are none."""
        for number, until in self.base.items():
            after = self._removed.get(number, 0)
            if after < until:
                mark = self.marks[number][0]
                rows = PIECE * mark.sequence // max(1, mark.bytes)
                return Removal(number, after, until, max(10, min(MOST_REMOVED, rows)))
        return None

    def removed(self, step: Removal) -> None:
        """These events are removed."""
        if step.model in self._removed:
            self._removed[step.model] = min(step.until, step.after + step.rows)
