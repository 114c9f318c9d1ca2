"""The events of the log, what is decided about before they become some, and how much of it there may be."""

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson


@dataclasses.dataclass(frozen=True)
class Limits:
    """How much clients may ask for.

    Parameters
    ----------
    body : int
        Bytes of a request.
    features : int
        Features of one example.
    pending : int
        Predictions of one model that wait for their label; the oldest expires when there are more.
    age : float
        Seconds after which a prediction expires.
    remembered : int
        Ids of one model that are remembered after they were revealed or have expired.
    models : int
        How many models there may be.
    weights : int
        Features times classes of one model.
    """

    body: int = 8 << 20
    features: int = 10_000
    pending: int = 100_000
    age: float = 7 * 86400.0
    remembered: int = 100_000
    models: int = 100
    weights: int = 50_000_000


class Event(NamedTuple):
    """A line of the log."""

    model: int
    sequence: int
    kind: str
    time: float
    payload: bytes


class Pending(NamedTuple):
    """A prediction that was given and whose truth is not known yet; the request is kept as it came, which takes least room."""

    time: float
    prediction: Any
    request: bytes


Requests = Sequence[tuple[Any, bytes]]
"""What clients ask for, parsed, and as it came."""


class Lines:
    """Accepted requests and their answers, to be logged as they came: that is faster than writing them anew."""

    def __init__(self) -> None:
        self.texts: list[bytes] = []
        self.answers: list[Any] = []

    def __bool__(self) -> bool:
        return bool(self.texts)

    def add(self, text: bytes, answer: Any) -> None:
        """One more."""
        self.texts.append(text)
        self.answers.append(answer)

    def column(self, name: str) -> list[Any]:
        """One member of all answers."""
        return [answer[name] for answer in self.answers]

    def payload(self) -> bytes:
        """The event's content."""
        ids, predictions = orjson.dumps(self.column("id")), orjson.dumps(self.column("prediction"))
        return b'{"requests":[%s],"ids":%s,"predictions":%s}' % (b",".join(self.texts), ids, predictions)
