"""Clients that listen to the events of a model, and the messages to them."""

import asyncio
from itertools import islice
from typing import Any

import orjson

from rosenblatt.serve.changes import CHANGES
from rosenblatt.serve.events import Event
from rosenblatt.serve.examples import Refused
from rosenblatt.serve.learner import Served

MOST_LISTENERS, MOST_PER_CLIENT, MOST_WAITING, MOST_TOLD, LONGEST_TOLD = 1000, 100, 1000, 10, 4096


class News:
    """Listeners by model."""

    def __init__(self) -> None:
        self._listeners: dict[str, dict[asyncio.Queue[Any], tuple[str, bool]]] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._listeners

    def subscribe(self, name: str, client: str, raw: bool = True) -> asyncio.Queue[Any]:
        """Make a queue that receives messages and their numbers, with raw examples if `raw`.

        None in it means that its reader is too slow.
        """
        clients = [known for queues in self._listeners.values() for known, _ in queues.values()]
        if len(clients) >= MOST_LISTENERS or clients.count(client) >= MOST_PER_CLIENT:
            raise Refused(
                503,
                f"A client can listen to {MOST_PER_CLIENT} streams of events at a time, all clients to {MOST_LISTENERS}; this "
                "number is reached. Close others, or try again later.",
                retry=True,
            )
        queue: asyncio.Queue[Any] = asyncio.Queue(MOST_WAITING)
        self._listeners.setdefault(name, {})[queue] = client, raw
        return queue

    def unsubscribe(self, name: str, queue: asyncio.Queue[Any]) -> None:
        """Remove a queue."""
        queues = self._listeners.get(name, {})
        queues.pop(queue, None)
        if not queues:
            self._listeners.pop(name, None)

    def end(self, name: str) -> None:
        """End the streams of a model that was deleted."""
        for queue in tuple(self._listeners.get(name, ())):
            self.unsubscribe(name, queue)
            if queue.full():
                queue.get_nowait()
            queue.put_nowait(None)

    def publish(self, served: Served, event: Event) -> None:
        """Send an event to all listeners of its model."""
        queues = tuple(self._listeners.get(served.name, {}).items())
        if not queues:
            return
        counts = {"examples": served.examples, "mistakes": served.mistakes, "pending": len(served.pending)}
        messages = {
            raw: as_message(event, counts, raw) for raw in {raw for _, (_, raw) in queues}
        }  # once for all of them
        for queue, (_, raw) in queues:
            try:
                queue.put_nowait((event.sequence, messages[raw]))
            except asyncio.QueueFull:
                self.unsubscribe(served.name, queue)
                queue.get_nowait()
                queue.put_nowait(None)


def as_gap(last: int, following: int) -> bytes:
    """A server-sent event about events between two others that were removed from the log (`--keep-events`)."""
    news = {
        "first": last + 1,
        "last": following - 1,
        "reason": "These events are not kept; the counts of the model are right.",
    }
    return b"id: %d\nevent: gap\ndata: %s\n\n" % (following - 1, orjson.dumps(news))


def as_message(event: Event, counts: dict[str, int], raw: bool = True) -> bytes:
    """Convert an event to a server-sent event, with features if `raw`; of a batch only the first lines."""
    payload = orjson.loads(event.payload)
    news: dict[str, Any] = {"sequence": event.sequence, "time": event.time, "token": event.token, **counts}
    if event.kind == "expire":
        news |= {"count": len(payload), "lines": [{"id": identity} for identity in payload[:MOST_TOLD]]}
    elif event.kind in ("drift", "upload") or event.kind in CHANGES:
        news |= payload
        if event.kind == "correct":
            news = {key: value for key, value in news.items() if key != "requests"}
            news["lines"] = [{"id": line["id"], "label": line["label"]} for line in payload["requests"]]
    elif event.kind == "reveal":
        lines = [{"id": identity, "label": label} for identity, label in payload[:MOST_TOLD]]
        news |= {"count": len(payload), "lines": lines}
    elif event.kind in ("predict", "learn"):
        triples = zip(payload["requests"], payload["ids"], payload["predictions"], strict=True)
        lines = [
            {**request, "id": identity, "prediction": given} for request, identity, given in islice(triples, MOST_TOLD)
        ]
        for line in lines:
            if not raw or (len(event.payload) > LONGEST_TOLD and len(orjson.dumps(line["features"])) > LONGEST_TOLD):
                line["features"] = None  # not allowed, or too long for a stream
        news |= {"count": len(payload["ids"]), "lines": lines}
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (event.sequence, event.kind.encode(), orjson.dumps(news))
