"""Replay of the event log: to check it, to rebuild a model, or to try another rule."""

import base64
import functools
import gzip
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import orjson

from rosenblatt.serve.events import Event
from rosenblatt.serve.examples import Refused
from rosenblatt.serve.learner import Served
from rosenblatt.serve.snapshots import base_snapshot, from_snapshot
from rosenblatt.serve.store import Snapshot, Store, without_password
from rosenblatt.serve.teaching import Form

BASE = "base"
"""Kind of the line of an exported file with the snapshot with which the log begins."""


class Log:
    """Events by model, from a store or from an exported file.

    Parameters
    ----------
    models : dict
        Number of each model.
    events : callable
        Gives the events of a model after a number, in order.
    base : callable
        Gives the snapshot with which the log of a model begins, if events were removed; else None.
    store : Store or None
        The store.
    """

    def __init__(
        self,
        models: dict[str, int],
        events: Callable[[int, int], Iterator[Event]],
        base: Callable[[int], Snapshot | None],
        store: Store | None = None,
    ) -> None:
        self.models, self.store, self._events, self.base = models, store, events, base

    def events(self, model: int) -> Iterator[Event]:
        """Events of a model, from the beginning of its log."""
        base = self.base(model)
        return self._events(model, 0 if base is None else base.sequence)

    def close(self) -> None:
        """Close the store."""
        if self.store is not None:
            self.store.close()

    def begin(self, model: int) -> Served | None:
        """The model at the beginning of its log; None if the log begins with the creation of the model."""
        base = self.base(model)
        return None if base is None else from_snapshot(model, base.data, 1 << 62)


def open_log(source: str) -> Log:
    """Open the log of a store (its address, or an SQLite file), or a log written by `export`."""
    path = Path(source)
    if "://" not in source:
        try:
            with path.open("rb") as file:
                start = file.read(16)
        except OSError as error:
            error.filename = without_password(source)  # perhaps an address with a slash too few
            raise
        if not start.startswith(b"SQLite format 3"):
            return _open_file(path)
    store = Store(source)
    store.freeze()  # events can be removed while they are read
    models = {name: number for number, name in store.models()}
    return Log(models, store.events, functools.cache(functools.partial(base_snapshot, store)), store)


def _open_file(path: Path) -> Log:
    models: dict[str, int] = {}
    for event in _read(path):
        if event.kind in ("create", "rename", BASE):
            models = {name: number for name, number in models.items() if number != event.model}
            models[orjson.loads(event.payload)["name"]] = event.model

    def events(model: int, after: int) -> Iterator[Event]:
        return (e for e in _read(path) if e.model == model and e.kind != BASE and e.sequence > after)

    def base(model: int) -> Snapshot | None:
        found = next((event for event in _read(path) if event.model == model), None)
        if found is None or found.kind != BASE:
            return None
        fields = orjson.loads(found.payload)
        return Snapshot(model, found.sequence, base64.b64decode(fields["data"]), found.time, fields["bytes"])

    return Log(models, events, base)


def opened(path: Path, mode: str, compressed: bool) -> IO[bytes]:
    """Open a file of events."""
    return gzip.open(path, mode) if compressed else path.open(mode)  # type: ignore[return-value]


def _read(path: Path) -> Iterator[Event]:
    with opened(path, "rb", path.suffix == ".gz") as file:
        for number, line in enumerate(file, 1):
            try:
                fields = orjson.loads(line)
                yield Event(
                    fields["model"], fields["sequence"], fields["kind"], fields["time"], orjson.dumps(fields["payload"]),
                    fields.get("token"),
                )  # fmt: skip
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(
                    f"{path}, line {number}: an event must be a JSON object as written by `--export`; got {error}."
                ) from error


def export(log: Log, name: str, file: IO[bytes]) -> int:
    """Write the events of a model as JSON lines, and before them the snapshot with which its log begins; returns their number."""
    number, count = log.models[name], 0
    base = log.base(number)
    if base is not None:
        served = from_snapshot(number, base.data)
        payload = {"name": name, "bytes": served.bytes, "data": base64.b64encode(base.data).decode()}
        fields = Event(number, base.sequence, BASE, served.time, b"")._asdict() | {"payload": payload}
        file.write(orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE))
    for event in log.events(number):
        fields = {**event._asdict(), "payload": orjson.Fragment(event.payload)}
        file.write(orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE))
        count += 1
    return count


def created(log: Log, name: str) -> tuple[str, dict[str, Any]]:
    """Algorithm and parameters of a model."""
    begin = log.begin(log.models[name])
    if begin is not None:
        return begin.algorithm, begin.parameters
    settings = orjson.loads(next(iter(log.events(log.models[name]))).payload)
    return settings["algorithm"], settings["parameters"]


def examples(log: Log, name: str) -> Iterator[tuple[Any, Any]]:
    """Examples since the model was last cleared, as pairs (features, label), in the order in which their labels became known."""
    number = log.models[name]
    begin = log.begin(number)
    form = (begin or Served.from_creation(next(iter(log.events(number))))).form
    pending = {} if begin is None else begin.pending
    waiting: dict[str, Any] = {identity: orjson.loads(one.request)["features"] for identity, one in pending.items()}
    start = max((event.sequence for event in log.events(number) if event.kind == "clear"), default=0)
    for event in log.events(number):
        if event.sequence <= start:
            continue
        lines = orjson.loads(event.payload)
        if event.kind == "predict":
            waiting.update(zip(lines["ids"], (request["features"] for request in lines["requests"]), strict=True))
        elif event.kind == "reveal":
            for identity, label in lines:
                yield form.expanded(waiting.pop(identity)), label
        elif event.kind in ("learn", "correct"):
            for request in lines["requests"]:
                yield form.expanded(request["features"]), form.checked_label(request["label"])
        elif event.kind == "expire":
            for identity in lines:
                waiting.pop(identity, None)


def replay(
    log: Log, name: str, algorithm: str | None = None, parameters: dict[str, Any] | None = None
) -> tuple[Served, dict[str, Any]]:
    """Replay the events of a model.

    Parameters
    ----------
    log : Log
        The event log.
    name : str
        Name of the model.
    algorithm : str or None, default=None
        Another learner; None for the same one, whose predictions are then compared with those in the log.
    parameters : dict or None
        Its parameters.

    Returns
    -------
    served : Served
        The model.
    facts : dict
        Results of the replay.
    """
    begin = served = log.begin(log.models[name])
    after = 0 if begin is None else begin.sequence
    logged = {"examples": 0, "mistakes": 0}
    given: dict[str, Any] = {}
    refused = gaps = events = 0
    if begin is not None:
        given = {identity: waiting.prediction for identity, waiting in begin.pending.items()}
        if algorithm is not None or parameters:
            served = _other(begin, name, algorithm, parameters)
            served.pending = begin.pending
        else:
            logged = {"examples": begin.examples, "mistakes": begin.mistakes}
    for event in log.events(log.models[name]):
        events += 1
        if served is None:
            served = Served.from_creation(event)
            served.remembered = 1 << 62
            if algorithm is not None or parameters:
                served = _other(served, name, algorithm, parameters)
            continue
        gaps += event.sequence != served.sequence + 1
        _score_log(event, given, logged, served.form)
        if (algorithm is not None or parameters) and event.kind in ("challenge", "dismiss", "promote"):
            served.sequence = event.sequence
            continue
        try:
            served.apply(event, own=True)
        except (Refused, ValueError, KeyError) as error:
            if algorithm is None and not parameters:
                raise ValueError(f"The event {event.sequence} of {name} cannot be replayed: {error}.") from error
            refused += 1
            served.sequence = event.sequence
    if served is None:
        raise ValueError(f"The log has no events of a model {name!r}.")
    facts = {
        "model": name, "algorithm": served.algorithm, "parameters": served.parameters, "log_begins_after": after,
        "events": events, "gaps": gaps,
        "examples": served.examples, "mistakes": served.mistakes,
        "accuracy": 1 - served.mistakes / served.examples if served.examples else None,
        "logged_mistakes": logged["mistakes"],
        "logged_accuracy": 1 - logged["mistakes"] / logged["examples"] if logged["examples"] else None,
        "differing_predictions": served.differences, "refused": refused, "classes": served.classes,
    }  # fmt: skip
    return served, facts


def _other(known: Served, name: str, algorithm: str | None, parameters: dict[str, Any] | None) -> Served:
    """A model with another learner, which learns from the same event on."""
    served = Served(known.number, name, algorithm or known.algorithm, parameters or {}, known.created)
    served.sequence = known.sequence
    served.read_as(known.records)
    if served.tags_sentences != known.tags_sentences:
        raise ValueError(
            f"The examples of {name} are {'sentences' if known.tags_sentences else 'rows'}, which {served.algorithm} cannot "
            "learn. Use another algorithm."
        )
    return served


def _score_log(event: Event, given: dict[str, Any], logged: dict[str, int], form: Form) -> None:
    """Count examples and mistakes of the predictions in the log."""
    lines = orjson.loads(event.payload)
    if event.kind == "predict":
        given.update(zip(lines["ids"], lines["predictions"], strict=True))
    elif event.kind == "reveal":
        for identity, label in lines:
            logged["examples"] += 1
            logged["mistakes"] += given.pop(identity) != label
    elif event.kind == "learn":
        for request, prediction in zip(lines["requests"], lines["predictions"], strict=True):
            logged["examples"] += 1
            logged["mistakes"] += prediction != form.checked_label(request["label"])
    elif event.kind == "correct":
        for request, guess, known in zip(lines["requests"], lines["predictions"], lines["before"], strict=True):
            logged["mistakes"] += (guess != request["label"]) - (guess != known)
    elif event.kind == "clear":
        logged.update(examples=0, mistakes=0)
        given.clear()
    elif event.kind == "expire":
        for identity in lines:
            given.pop(identity, None)
