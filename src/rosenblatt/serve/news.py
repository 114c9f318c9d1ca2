"""Clients that listen to the events of a model, and the messages to them."""

import asyncio
from itertools import islice
from typing import Any

import orjson

from rosenblatt.serve.events import Event
from rosenblatt.serve.examples import Refused
from rosenblatt.serve.learner import Served

MOST_LISTENERS, MOST_PER_CLIENT, MOST_WAITING, MOST_TOLD, LONGEST_TOLD = 1000, 100, 1000, 10, 4096


class News:
    """Listeners by model."""

    def __init__(self) -> None:
        self._listeners: dict[str, dict[asyncio.Queue[Any], str]] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._listeners

    def subscribe(self, name: str, client: str) -> asyncio.Queue[Any]:
        """Make a queue that receives messages and their numbers; None in it means that its reader is too slow."""
        clients = [known for queues in self._listeners.values() for known in queues.values()]
        if len(clients) >= MOST_LISTENERS or clients.count(client) >= MOST_PER_CLIENT:
            raise Refused(
                503,
                f"A client can listen to {MOST_PER_CLIENT} streams of events at a time, all clients to {MOST_LISTENERS}; this "
                "number is reached. Close others, or try again later.",
                retry=True,
            )
        queue: asyncio.Queue[Any] = asyncio.Queue(MOST_WAITING)
        self._listeners.setdefault(name, {})[queue] = client
        return queue

    def unsubscribe(self, name: str, queue: asyncio.Queue[Any]) -> None:
        """Remove a queue."""
        queues = self._listeners.get(name, {})
        queues.pop(queue, None)
        if not queues:
            self._listeners.pop(name, None)

    def publish(self, served: Served, event: Event) -> None:
        """Send an event to all listeners of its model."""
        queues = tuple(self._listeners.get(served.name, ()))
        if not queues:
            return
        counts = {"examples": served.examples, "mistakes": served.mistakes, "pending": len(served.pending)}
        message = as_message(event, counts)  # once for all of them
        for queue in queues:
            try:
                queue.put_nowait((event.sequence, message))
            except asyncio.QueueFull:
                self.unsubscribe(served.name, queue)
                queue.get_nowait()
                queue.put_nowait(None)


def as_message(event: Event, counts: dict[str, int]) -> bytes:
    """Convert an event to a server-sent event; of a batch only the first lines."""
    payload = orjson.loads(event.payload)
    news: dict[str, Any] = {"sequence": event.sequence, "time": event.time, **counts}
    if event.kind == "expire":
        news |= {"count": len(payload), "lines": [{"id": identity} for identity in payload[:MOST_TOLD]]}
    elif event.kind == "reveal":
        lines = [{"id": identity, "label": label} for identity, label in payload[:MOST_TOLD]]
        news |= {"count": len(payload), "lines": lines}
    elif event.kind in ("predict", "learn"):
        triples = zip(payload["requests"], payload["ids"], payload["predictions"], strict=True)
        lines = [
            {**request, "id": identity, "prediction": given} for request, identity, given in islice(triples, MOST_TOLD)
        ]
        for line in lines:
            if len(event.payload) > LONGEST_TOLD and len(orjson.dumps(line["features"])) > LONGEST_TOLD:
                line["features"] = None  # too long for a stream
        news |= {"count": len(payload["ids"]), "lines": lines}
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (event.sequence, event.kind.encode(), orjson.dumps(news))
