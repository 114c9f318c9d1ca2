"""Replay of the event log: to check it, to rebuild a model, or to try another rule."""

import gzip
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import orjson

from rosenblatt.serve.events import Event
from rosenblatt.serve.examples import Refused, checked_label, expanded
from rosenblatt.serve.learner import Served
from rosenblatt.serve.store import Store


class Log:
    """Events by model, from a store or from an exported file."""

    def __init__(self, models: dict[str, int], events: Callable[[int], Iterator[Event]], store: Store | None) -> None:
        self.models, self.events, self.store = models, events, store


def open_log(source: str) -> Log:
    """Open the log of a store (its address, or an SQLite file), or a log written by `export`."""
    path = Path(source)
    if "://" not in source:
        with path.open("rb") as file:
            start = file.read(16)
        if not start.startswith(b"SQLite format 3"):
            return _open_file(path)
    store = Store(source)
    return Log({name: number for number, name in store.models()}, store.events, store)


def _open_file(path: Path) -> Log:
    models: dict[str, int] = {}
    for event in _read(path):
        if event.kind == "create":
            models[orjson.loads(event.payload)["name"]] = event.model
    return Log(models, lambda model: (event for event in _read(path) if event.model == model), None)


def opened(path: Path, mode: str, compressed: bool) -> IO[bytes]:
    """Open a file of events."""
    return gzip.open(path, mode) if compressed else path.open(mode)  # type: ignore[return-value]


def _read(path: Path) -> Iterator[Event]:
    with opened(path, "rb", path.suffix == ".gz") as file:
        for number, line in enumerate(file, 1):
            try:
                fields = orjson.loads(line)
                yield Event(
                    fields["model"], fields["sequence"], fields["kind"], fields["time"], orjson.dumps(fields["payload"])
                )
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(
                    f"{path}, line {number}: an event must be a JSON object as written by `--export`; got {error}."
                ) from error


def export(log: Log, name: str, file: IO[bytes]) -> int:
    """Write the events of a model as JSON lines; returns their number."""
    count = 0
    for event in log.events(log.models[name]):
        fields = {**event._asdict(), "payload": orjson.Fragment(event.payload)}
        file.write(orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE))
        count += 1
    return count


def created(log: Log, name: str) -> tuple[str, dict[str, Any]]:
    """Algorithm and parameters of a model."""
    settings = orjson.loads(next(iter(log.events(log.models[name]))).payload)
    return settings["algorithm"], settings["parameters"]


def examples(log: Log, name: str) -> Iterator[tuple[Any, Any]]:
    """Examples of a model as pairs (features, label), in the order in which their labels became known."""
    waiting: dict[str, Any] = {}
    for event in log.events(log.models[name]):
        lines = orjson.loads(event.payload)
        if event.kind == "predict":
            waiting.update(zip(lines["ids"], (request["features"] for request in lines["requests"]), strict=True))
        elif event.kind == "reveal":
            for identity, label in lines:
                yield expanded(waiting.pop(identity)), label
        elif event.kind == "learn":
            for request in lines["requests"]:
                yield expanded(request["features"]), checked_label(request["label"])
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
    served: Served | None = None
    logged = {"examples": 0, "mistakes": 0}
    given: dict[str, Any] = {}
    refused = gaps = events = 0
    for event in log.events(log.models[name]):
        events += 1
        if served is None:
            served = Served.from_creation(event)
            if algorithm is not None or parameters:
                served = Served(served.number, name, algorithm or served.algorithm, parameters or {}, event.time)
                served.sequence = event.sequence
            continue
        gaps += event.sequence != served.sequence + 1
        _score_log(event, given, logged)
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
        "model": name, "algorithm": served.algorithm, "parameters": served.parameters, "events": events, "gaps": gaps,
        "examples": served.examples, "mistakes": served.mistakes,
        "accuracy": 1 - served.mistakes / served.examples if served.examples else None,
        "logged_mistakes": logged["mistakes"],
        "logged_accuracy": 1 - logged["mistakes"] / logged["examples"] if logged["examples"] else None,
        "differing_predictions": served.differences, "refused": refused, "classes": served.classes,
    }  # fmt: skip
    return served, facts


def _score_log(event: Event, given: dict[str, Any], logged: dict[str, int]) -> None:
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
            logged["mistakes"] += prediction != checked_label(request["label"])
    elif event.kind == "expire":
        for identity in lines:
            given.pop(identity, None)
