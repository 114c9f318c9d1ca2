"""Python clients of the service: `Client`, and `AsyncClient` for programs with an event loop."""

import asyncio
import itertools
import json
import os
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

BATCH = 1000
_PAUSES = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)


class ServiceError(Exception):
    """The service has refused a request.

    Attributes
    ----------
    status : int
        HTTP status.
    answer : dict
        Body of the response.
    """

    def __init__(self, status: int, answer: dict[str, Any]) -> None:
        super().__init__(f"{answer.get('error', 'The service has answered with an error.')} (status {status})")
        self.status, self.answer = status, answer


def _checked(response: httpx.Response) -> httpx.Response:
    if response.is_success:
        return response
    try:
        answer = response.json()
    except ValueError:
        answer = {"error": response.text[:500]}
    raise ServiceError(response.status_code, answer if isinstance(answer, dict) else {"error": str(answer)})


def _options(url: str, token: str | None, timeout: float) -> dict[str, Any]:
    token = token or os.environ.get("ROSENBLATT_TOKEN")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return {"base_url": url, "headers": headers, "timeout": timeout}


def _plain(value: Any) -> Any:
    """Convert numbers and arrays of NumPy for JSON."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"An example must contain only numbers, strings and lists of words; got {value!r}.")


def _body(thing: Any) -> bytes:
    return json.dumps(thing, default=_plain, allow_nan=False).encode()


def _path(model: str, *rest: str) -> str:
    from urllib.parse import quote

    return "/".join(["/v1/models", quote(model, safe=""), *rest])


def _lines(requests: Iterable[dict[str, Any]]) -> bytes:
    return b"\n".join(map(_body, requests))


def _batches(requests: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    requests = iter(requests)
    while batch := list(itertools.islice(requests, BATCH)):
        yield batch


def _predicting(examples: Iterable[Any]) -> Iterator[dict[str, Any]]:
    for example in examples:
        identity, features = example if isinstance(example, tuple) else (uuid.uuid4().hex, example)
        yield {"id": identity, "features": features}


def _learning(examples: Iterable[Any]) -> Iterator[dict[str, Any]]:
    for features, label in examples:
        yield {"id": uuid.uuid4().hex, "features": features, "label": label}


def _revealing(labels: Iterable[Any]) -> Iterator[dict[str, Any]]:
    for identity, label in labels:
        yield {"id": identity, "label": label}


def _event(lines: list[str]) -> dict[str, Any] | None:
    """Parse the lines of a server-sent event; the result includes its `kind`."""
    fields = dict(line.split(": ", 1) for line in lines if ": " in line and not line.startswith(":"))
    return {"kind": fields.get("event", "message"), **json.loads(fields["data"])} if "data" in fields else None


class Client:
    """Client of a service started by `rosenblatt serve`.

    Every example is sent with an id, so that a request can be repeated after a lost answer without being learned twice.

    Parameters
    ----------
    url : str, default="http://127.0.0.1:8520"
        Address of the service.
    token : str or None, default=None
        Access token; by default that of the environment variable ROSENBLATT_TOKEN.
    timeout : float, default=30
        Seconds to wait for an answer.
    retries : int, default=6
        Number of further attempts if the service is not reachable or not ready.

    Examples
    --------
    >>> with rosenblatt.Client() as client:  # doctest: +SKIP
    ...     client.create("spam", "averaged-perceptron")
    ...     guess = client.predict("spam", {"words": ["free", "offer"]})
    ...     client.reveal("spam", guess["id"], "spam")
    """

    def __init__(
        self, url: str = "http://127.0.0.1:8520", token: str | None = None, *, timeout: float = 30.0, retries: int = 6
    ) -> None:
        self._http = httpx.Client(**_options(url, token, timeout))
        self.retries = retries

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _ask(
        self, method: str, path: str, content: bytes | None = None, kind: str = "application/json"
    ) -> httpx.Response:
        headers = {"Content-Type": kind} if content is not None else {}
        for attempt in range(self.retries + 1):
            try:
                response = self._http.request(method, path, content=content, headers=headers)
                if response.status_code != 503 or attempt == self.retries:
                    return _checked(response)
            except httpx.TransportError:
                if attempt == self.retries:
                    raise
            time.sleep(_PAUSES[min(attempt, len(_PAUSES) - 1)])
        raise AssertionError("not reached")

    def create(self, model: str, algorithm: str = "averaged-perceptron", **parameters: Any) -> dict[str, Any]:
        """Create a model; this does nothing if the same model exists."""
        answer: dict[str, Any] = self._ask(
            "POST", _path(model), _body({"algorithm": algorithm, "parameters": parameters})
        ).json()
        return answer

    def predict(self, model: str, features: Any, id: str | None = None) -> dict[str, Any]:  # noqa: A002 - public name
        """Predict an example; returns a dict with `id` and `prediction`."""
        request = {"id": id or uuid.uuid4().hex, "features": features}
        answer: dict[str, Any] = self._ask("POST", _path(model, "predict"), _body(request)).json()
        return answer

    def reveal(self, model: str, id: str, label: Any) -> dict[str, Any]:  # noqa: A002
        """Send the true label of a prediction; the model learns it."""
        answer: dict[str, Any] = self._ask("POST", _path(model, "reveal"), _body({"id": id, "label": label})).json()
        return answer

    def learn(self, model: str, features: Any, label: Any, id: str | None = None) -> dict[str, Any]:  # noqa: A002
        """Learn an example with a known label."""
        request = {"id": id or uuid.uuid4().hex, "features": features, "label": label}
        answer: dict[str, Any] = self._ask("POST", _path(model, "learn"), _body(request)).json()
        return answer

    def _many(self, kind: str, model: str, requests: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        for batch in _batches(requests):
            response = self._ask("POST", _path(model, kind), _lines(batch), "application/x-ndjson")
            yield from map(json.loads, response.text.splitlines())

    def predict_many(self, model: str, examples: Iterable[Any]) -> Iterator[dict[str, Any]]:
        """Predict many examples, features or pairs (id, features). Answers have the same order; a refused one has `error`."""
        return self._many("predict", model, _predicting(examples))

    def reveal_many(self, model: str, labels: Iterable[tuple[str, Any]]) -> Iterator[dict[str, Any]]:
        """Reveal many pairs (id, label)."""
        return self._many("reveal", model, _revealing(labels))

    def learn_many(self, model: str, examples: Iterable[tuple[Any, Any]]) -> Iterator[dict[str, Any]]:
        """Learn many pairs (features, label)."""
        return self._many("learn", model, _learning(examples))

    def info(self, model: str) -> dict[str, Any]:
        """Return the counts of examples and mistakes, the accuracy, classes and more of a model."""
        answer: dict[str, Any] = self._ask("GET", _path(model)).json()
        return answer

    def models(self) -> list[dict[str, Any]]:
        """Return the info of all models."""
        answer: list[dict[str, Any]] = self._ask("GET", "/v1/models").json()["models"]
        return answer

    def download(self, model: str, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that `rosenblatt.load` reads."""
        Path(path).write_bytes(self._ask("GET", _path(model, "model")).content)

    def events(self, model: str, after: int | None = None) -> Iterator[dict[str, Any]]:
        """Iterate over the events of a model as they happen; `after` starts after that event."""
        headers = {} if after is None else {"Last-Event-ID": str(after)}
        with self._http.stream(
            "GET", _path(model, "events"), headers=headers, timeout=httpx.Timeout(30, read=60)
        ) as response:
            if not response.is_success:
                response.read()
            _checked(response)
            lines: list[str] = []
            for line in response.iter_lines():
                if line:
                    lines.append(line)
                elif (event := _event(lines)) is not None:
                    yield event
                    lines = []
                else:
                    lines = []


class AsyncClient:
    """`Client` for programs with an event loop: every method is awaited, streams are asynchronous iterators.

    Parameters
    ----------
    url, token, timeout, retries
        As for `Client`.
    """

    def __init__(
        self, url: str = "http://127.0.0.1:8520", token: str | None = None, *, timeout: float = 30.0, retries: int = 6
    ) -> None:
        self._http = httpx.AsyncClient(**_options(url, token, timeout))
        self.retries = retries

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _ask(
        self, method: str, path: str, content: bytes | None = None, kind: str = "application/json"
    ) -> httpx.Response:
        headers = {"Content-Type": kind} if content is not None else {}
        for attempt in range(self.retries + 1):
            try:
                response = await self._http.request(method, path, content=content, headers=headers)
                if response.status_code != 503 or attempt == self.retries:
                    return _checked(response)
            except httpx.TransportError:
                if attempt == self.retries:
                    raise
            await asyncio.sleep(_PAUSES[min(attempt, len(_PAUSES) - 1)])
        raise AssertionError("not reached")

    async def create(self, model: str, algorithm: str = "averaged-perceptron", **parameters: Any) -> dict[str, Any]:
        """Create a model; this does nothing if the same model exists."""
        response = await self._ask("POST", _path(model), _body({"algorithm": algorithm, "parameters": parameters}))
        answer: dict[str, Any] = response.json()
        return answer

    async def predict(self, model: str, features: Any, id: str | None = None) -> dict[str, Any]:  # noqa: A002
        """Predict an example; returns a dict with `id` and `prediction`."""
        request = {"id": id or uuid.uuid4().hex, "features": features}
        answer: dict[str, Any] = (await self._ask("POST", _path(model, "predict"), _body(request))).json()
        return answer

    async def reveal(self, model: str, id: str, label: Any) -> dict[str, Any]:  # noqa: A002
        """Send the true label of a prediction; the model learns it."""
        answer: dict[str, Any] = (
            await self._ask("POST", _path(model, "reveal"), _body({"id": id, "label": label}))
        ).json()
        return answer

    async def learn(self, model: str, features: Any, label: Any, id: str | None = None) -> dict[str, Any]:  # noqa: A002
        """Learn an example with a known label."""
        request = {"id": id or uuid.uuid4().hex, "features": features, "label": label}
        answer: dict[str, Any] = (await self._ask("POST", _path(model, "learn"), _body(request))).json()
        return answer

    async def _many(self, kind: str, model: str, requests: Iterable[dict[str, Any]]) -> AsyncIterator[dict[str, Any]]:
        for batch in _batches(requests):
            response = await self._ask("POST", _path(model, kind), _lines(batch), "application/x-ndjson")
            for line in response.text.splitlines():
                yield json.loads(line)

    def predict_many(self, model: str, examples: Iterable[Any]) -> AsyncIterator[dict[str, Any]]:
        """Predict many examples, features or pairs (id, features)."""
        return self._many("predict", model, _predicting(examples))

    def reveal_many(self, model: str, labels: Iterable[tuple[str, Any]]) -> AsyncIterator[dict[str, Any]]:
        """Reveal many pairs (id, label)."""
        return self._many("reveal", model, _revealing(labels))

    def learn_many(self, model: str, examples: Iterable[tuple[Any, Any]]) -> AsyncIterator[dict[str, Any]]:
        """Learn many pairs (features, label)."""
        return self._many("learn", model, _learning(examples))

    async def info(self, model: str) -> dict[str, Any]:
        """Return the counts of examples and mistakes, the accuracy, classes and more of a model."""
        answer: dict[str, Any] = (await self._ask("GET", _path(model))).json()
        return answer

    async def models(self) -> list[dict[str, Any]]:
        """Return the info of all models."""
        answer: list[dict[str, Any]] = (await self._ask("GET", "/v1/models")).json()["models"]
        return answer

    async def download(self, model: str, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that `rosenblatt.load` reads."""
        content = (await self._ask("GET", _path(model, "model"))).content
        write: Callable[[bytes], int] = Path(path).write_bytes
        await asyncio.to_thread(write, content)

    async def events(self, model: str, after: int | None = None) -> AsyncIterator[dict[str, Any]]:
        """Iterate over the events of a model as they happen; `after` starts after that event."""
        headers = {} if after is None else {"Last-Event-ID": str(after)}
        options = {"headers": headers, "timeout": httpx.Timeout(30, read=60)}
        async with self._http.stream("GET", _path(model, "events"), **options) as response:  # type: ignore[arg-type]
            if not response.is_success:
                await response.aread()
            _checked(response)
            lines: list[str] = []
            async for line in response.aiter_lines():
                if line:
                    lines.append(line)
                    continue
                event, lines = _event(lines), []
                if event is not None:
                    yield event
