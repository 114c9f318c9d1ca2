"""Clients that listen to the events of a model, and the messages to them."""

import asyncio
from itertools import islice
from typing import Any

import orjson

from rosenblatt.serve.events import Event
from rosenblatt.serve.examples import Refused
from rosenblatt.serve.learner import Served

MOST_LISTENERS, MOST_WAITING, MOST_TOLD = 100, 1000, 10


class News:
    """Listeners by model."""

    def __init__(self) -> None:
        self._listeners: dict[str, set[asyncio.Queue[Any]]] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._listeners

    def subscribe(self, name: str) -> asyncio.Queue[Any]:
        """Make a queue that receives events; None in it means that its reader is too slow."""
        if sum(map(len, self._listeners.values())) >= MOST_LISTENERS:
            raise Refused(
                503,
                f"At most {MOST_LISTENERS} clients can listen to events at a time; this number is reached. Try again later.",
                retry=True,
            )
        queue: asyncio.Queue[Any] = asyncio.Queue(MOST_WAITING)
        self._listeners.setdefault(name, set()).add(queue)
        return queue

    def unsubscribe(self, name: str, queue: asyncio.Queue[Any]) -> None:
        """Remove a queue."""
        queues = self._listeners.get(name, set())
        queues.discard(queue)
        if not queues:
            self._listeners.pop(name, None)

    def publish(self, served: Served, event: Event) -> None:
        """Send an event to all listeners of its model."""
        for queue in tuple(self._listeners.get(served.name, ())):
            try:
                queue.put_nowait((event, served.examples, served.mistakes, len(served.pending)))
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
        news |= {"count": len(payload["ids"]), "lines": lines}
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (event.sequence, event.kind.encode(), orjson.dumps(news))
