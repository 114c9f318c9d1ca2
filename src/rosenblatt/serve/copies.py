"""Copies of stores: backups, restores and imports.

Models are copied under a name that no service sees, a few thousand events at a time, and appear together in the last transaction.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import orjson

from rosenblatt.model_file.atomic import replacing
from rosenblatt.serve.events import Event
from rosenblatt.serve.replay import Log
from rosenblatt.serve.requests import check_name
from rosenblatt.serve.store import DELETED, Snapshot, Store, StoreError

PIECE, ROWS = 4 << 20, 5000
"""Bytes and number of events of one transaction."""

PATIENCE = 6.0
"""Seconds to wait for the lease of a process that has ended on another computer."""


class Copied(NamedTuple):
    """What was copied."""

    models: int
    events: int
    bytes: int
    tokens: int = 0


class Busy(StoreError):  # noqa: N818
    """Another process writes to the store."""


def own(store: Store) -> None:
    """Get the lease of a store, so that nothing else writes to it."""
    until = time.monotonic() + PATIENCE
    while not store.acquire(PATIENCE - 1):
        if time.monotonic() > until:
            raise Busy("another process writes to this store; stop the service first")
        time.sleep(0.25)


def backup(source: Store, path: str) -> Copied:
    """Copy a store, which may be in use, to a new SQLite file as it is at this moment."""
    _check_new(path)
    source.freeze()
    source.check_format()
    with replacing(path) as draft:
        target = Store(f"sqlite:///{draft}")
        try:
            return _restored(source, target)
        finally:
            target.close()


def restore(source: Store, target: Store) -> Copied:
    """Copy a backup to a new store; one that has models or tokens is not overwritten."""
    if source.file is None or not source.file.exists():
        raise ValueError(f"A backup is an SQLite file that exists; got {source.name}.")
    source.freeze()
    source.check_format()
    if target.file is None:
        return _restored(source, target)
    _check_new(str(target.file))
    with replacing(target.file) as draft:
        store = Store(f"sqlite:///{draft}")
        try:
            return _restored(source, store)
        finally:
            store.close()


def _restored(source: Store, target: Store) -> Copied:
    target.prepare()
    if target.highest() or target.tokens():
        raise ValueError(f"{target.name} has models or tokens; a restore does not overwrite them. Name an empty store.")
    done = _all(source, target)
    if target.sqlite:
        target.finish_file()
    return done


def _check_new(path: str) -> None:
    if Path(path).exists():
        raise ValueError(f"{path} exists already and is not overwritten. Choose another name, or move it away.")


def _all(source: Store, target: Store) -> Copied:
    """Copy all models and tokens to an empty store."""
    own(target)
    marks, events, size, names = source.marks(), 0, 0, []
    for number, name in source.models():
        snapshots = _of_store(source, number, {mark.sequence: mark._asdict() for mark in marks.get(number, ())})
        count, more = _model(target, number, snapshots, source.events(number))
        events, size = events + count, size + more
        names.append((number, name))
    tokens = source.tokens()
    target.copy_tokens(tokens)
    target.append([], renamed=names)
    target.release()
    return Copied(len(names), events, size, len(tokens))


def _of_store(source: Store, number: int, marks: Mapping[int, Mapping[str, float]]) -> Iterator[Snapshot]:
    """The snapshots of a model, the oldest first; those without a mark were written by an earlier version."""
    for sequence in source.snapshot_numbers(number):
        if sequence in marks:
            found = source.snapshot(number, sequence)
            assert found is not None
            yield found._replace(time=marks[sequence]["time"], bytes=int(marks[sequence]["bytes"]))


def _model(target: Store, number: int, snapshots: Iterable[Snapshot], events: Iterable[Event]) -> tuple[int, int]:
    """Copy a model under a name that no service sees; returns the number of its events and their bytes."""
    target.append([], models=[(number, f"{DELETED}{number}")])
    kept: list[int] = []
    for snapshot in snapshots:
        for part in snapshot._replace(model=number, keep=tuple(kept)).parts():
            target.append([], part=part)
        kept.append(snapshot.sequence)
    count = size = waiting = 0
    group: list[Event] = []
    for event in events:
        group.append(event._replace(model=number))
        waiting += len(event.payload)
        if waiting > PIECE or len(group) == ROWS:
            target.append(group)
            count, size, waiting, group = count + len(group), size + waiting, 0, []
    target.append(group)
    return count + len(group), size + waiting


def bring(log: Log, target: Store, names: Mapping[str, str]) -> Copied:
    """Copy models of a log to a store that no service uses; `names` gives the new name of each."""
    target.prepare()
    known = {name for _, name in target.models()}
    for name in names.values():
        check_name(name)
        if name in known:
            raise ValueError(
                f"{target.name} already has a model {name!r}. Give another name with --as, or delete it first."
            )
    own(target)
    try:
        number, done, events, size = target.highest(), [], 0, 0
        for name, new in names.items():
            number, base = number + 1, log.base(log.models[name])
            renamed = _Renamed(log, name, new)
            count, more = _model(target, number, () if base is None else (base,), renamed)
            events, size = events + count, size + more
            done.append((number, new))
        target.append([], renamed=done)
    finally:
        target.release()
    return Copied(len(done), events, size)


class _Renamed:
    """Events of a model, and after them one that gives it another name."""

    def __init__(self, log: Log, name: str, new: str) -> None:
        self._log, self._name, self._new = log, name, new

    def __iter__(self) -> Iterator[Event]:
        number = self._log.models[self._name]
        base = self._log.base(number)
        last, when = (0, 0.0) if base is None else (base.sequence, base.time)
        for event in self._log.events(number):
            if event.sequence != last + 1:
                raise ValueError(
                    f"The events {last + 1} to {event.sequence - 1} of {self._name} are missing; nothing was imported."
                )
            last, when = event.sequence, event.time
            yield event
        if not last:
            raise ValueError(f"The log has no events of {self._name}.")
        if self._new != self._name:
            yield Event(number, last + 1, "rename", when, orjson.dumps({"name": self._new}))
