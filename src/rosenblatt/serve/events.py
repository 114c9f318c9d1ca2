"""Events of the log, the requests that become events, and their limits."""

import dataclasses
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple

import orjson


@dataclasses.dataclass(frozen=True)
class Limits:
    """Limits for requests of clients.

    Parameters
    ----------
    body : int
        Maximum number of bytes of a request.
    features : int
        Maximum number of features of an example.
    pending : int
        Maximum number of predictions of a model that wait for their label; beyond it the oldest expires.
    age : float
        Seconds after which a prediction expires.
    remembered : int
        Number of revealed or expired ids of a model to remember.
    models : int
        Maximum number of models.
    weights : int
        Maximum number of weights of a model: features times classes.
    memory : int
        Maximum number of bytes of the weights and names of all models together, also while some are copied to larger arrays.
    pending_bytes : int
        Maximum number of bytes of the predictions of all models that wait for their label; beyond it the oldest of the model with
        the most expire.
    classes : int
        Maximum number of classes of a model.
    new_classes : int
        Maximum number of classes that one request may add.
    names : int
        Maximum number of characters of the names of the features of a model.
    rate : float
        Maximum number of requests and lines per second of a client; 0 for no limit.
    upload : int
        Maximum number of bytes of the file of a model that is uploaded.
    """

    body: int = 8 << 20
    features: int = 10_000
    pending: int = 100_000
    age: float = 7 * 86400.0
    remembered: int = 100_000
    models: int = 100
    weights: int = 50_000_000
    memory: int = 128 << 20
    pending_bytes: int = 64 << 20
    classes: int = 1000
    new_classes: int = 100
    names: int = 16 << 20
    rate: float = 0.0
    upload: int = 256 << 20


class Event(NamedTuple):
    """A line of the log; `token` is the name of the token of the request that made it, None without one."""

    model: int
    sequence: int
    kind: str
    time: float
    payload: bytes
    token: str | None = None


asking: ContextVar[str | None] = ContextVar("asking", default=None)
"""Name of the token of the request that is being handled."""


Outcome = tuple[Any, Any, int]
"""Label and prediction of an id, and the number of the event that has its features."""


PENDING_BYTES = 300
"""About the bytes in memory of a prediction that waits for its label, without its request."""


class Pending(NamedTuple):
    """A prediction whose label is not known yet; the request is kept as raw text, which takes the least memory.

    `sequence` is the number of its event, and `shadow` the number and the prediction of the challenger, if there was one.
    """

    time: float
    prediction: Any
    request: bytes
    sequence: int = 0
    shadow: tuple[int, Any] | None = None

    @property
    def size(self) -> int:
        """About the number of bytes in memory."""
        return len(self.request) + PENDING_BYTES + (8 * len(self.prediction) if type(self.prediction) is list else 0)


Work = Callable[[], tuple[list[Event], Any]]
"""Work that changes a model: returns its events and a result."""

Requests = Sequence[tuple[Any, bytes]]
"""Requests of clients, each parsed and as raw text."""


class Lines:
    """Accepted requests and their answers. Requests are logged as raw text, which is faster than encoding them again."""

    def __init__(self) -> None:
        self.texts: list[bytes] = []
        self.answers: list[Any] = []

    def __bool__(self) -> bool:
        return bool(self.texts)

    def add(self, text: bytes, answer: Any) -> None:
        """Add a request and its answer."""
        self.texts.append(text)
        self.answers.append(answer)

    def column(self, name: str) -> list[Any]:
        """Values of one member in all answers."""
        return [answer[name] for answer in self.answers]

    def payload(self) -> bytes:
        """Content of the event."""
        ids, predictions = orjson.dumps(self.column("id")), orjson.dumps(self.column("prediction"))
        return b'{"requests":[%s],"ids":%s,"predictions":%s}' % (b",".join(self.texts), ids, predictions)
