"""Python clients of the service: `Client`, and `AsyncClient` for programs with an event loop."""

import asyncio
import json
import os
import time
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, cast

import httpx

from rosenblatt.serve.answers import Event, Learned, ModelInfo, Prediction, Refusal, Score

T = TypeVar("T", Prediction, Learned, Score)

BATCH, BATCH_BYTES = 1000, 1 << 20
"""Number of lines, and of their bytes, of one request of many examples."""

_PAUSES = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)

LONGEST_WAIT = 120
"""Seconds for which a client waits when the service asks it to send less (429); if it has to wait longer, it raises."""


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


def _options(token: str | None, timeout: float) -> dict[str, Any]:
    token = token or os.environ.get("ROSENBLATT_TOKEN")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return {"headers": headers, "timeout": timeout}


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


def _batches(requests: Iterable[dict[str, Any]]) -> Iterator[tuple[list[dict[str, Any]], bytes]]:
    """Requests and their JSON lines, in parts of limited size."""
    batch: list[dict[str, Any]] = []
    lines: list[bytes] = []
    size = 0
    for request in requests:
        line = _body(request)
        if lines and (len(lines) == BATCH or size + len(line) > BATCH_BYTES):
            yield batch, b"\n".join(lines)
            batch, lines, size = [], [], 0
        batch.append(request)
        lines.append(line)
        size += len(line) + 1
    if lines:
        yield batch, b"\n".join(lines)


def _answers(batch: list[dict[str, Any]], content: bytes) -> Iterator[Any]:
    """Answers of a batch; those of refused requests get the id that was sent."""
    lines = content.removesuffix(b"\n").split(b"\n")  # not splitlines: text may contain other line ends
    for request, line in zip(batch, lines, strict=True):
        answer = json.loads(line)
        if "error" in answer and "id" in request:
            answer.setdefault("id", request["id"])
        yield answer


class Answers(list[T | Refusal], Generic[T]):
    """Answers to many requests, in their order."""

    @property
    def refused(self) -> list[Refusal]:
        """The answers of the requests that the service has refused, each with `error` and `id`."""
        return [answer for answer in self if "error" in answer]


class Work(Generic[T]):
    """Many requests of an `AsyncClient`: ``await`` it for all answers as `Answers`, or iterate over them with ``async for``."""

    def __init__(self, answers: AsyncIterator[T | Refusal]) -> None:
        self._answers: AsyncIterator[T | Refusal] = answers

    def __aiter__(self) -> AsyncIterator[T | Refusal]:
        return self._answers

    def __await__(self) -> Generator[Any, None, Answers[T]]:
        return self._all().__await__()

    async def _all(self) -> Answers[T]:
        return Answers([answer async for answer in self._answers])


def _predicting(examples: Iterable[Any]) -> Iterator[dict[str, Any]]:
    for example in examples:
        identity, features = example if isinstance(example, tuple) else (uuid.uuid4().hex, example)
        yield {"id": identity, "features": features}


def _scoring(examples: Iterable[Any], top: int, reasons: int) -> Iterator[dict[str, Any]]:
    for features in examples:
        yield {"features": features, **_asked(top, reasons)}


def _settings(algorithm: str, bits: int | None, parameters: dict[str, Any]) -> bytes:
    """The body that creates a model."""
    hashed = {} if bits is None else {"bits": bits}
    return _body({"algorithm": algorithm, "parameters": parameters, **hashed})


def _asked(top: int, reasons: int) -> dict[str, int]:
    """The members of a request for the best classes and for reasons."""
    return {name: count for name, count in (("top", top), ("reasons", reasons)) if count}


def _learning(examples: Iterable[Any]) -> Iterator[dict[str, Any]]:
    for example in examples:
        identity, features, label = example if len(example) == 3 else (uuid.uuid4().hex, *example)
        yield {"id": identity, "features": features, "label": label}


def _revealing(labels: Iterable[Any]) -> Iterator[dict[str, Any]]:
    for identity, label in labels:
        yield {"id": identity, "label": label}


class _Stream:
    """Server-sent events over several connections: the number of the last one, and which to leave out."""

    def __init__(self, after: int | None) -> None:
        self.last = after
        self.alive = False
        self._greeted = False
        self._lines: list[str] = []

    @property
    def headers(self) -> dict[str, str]:
        """Headers of the next connection."""
        self._lines = []
        return {} if self.last is None else {"Last-Event-ID": str(self.last)}

    def take(self, line: str) -> Event | None:
        """Take a line; return an event when it is complete."""
        if line:
            self._lines.append(line)
            return None
        fields = dict(line.split(": ", 1) for line in self._lines if ": " in line and not line.startswith(":"))
        self._lines = []
        if "data" not in fields:
            return None
        self.alive = True
        event = cast(Event, {"kind": fields["event"], **json.loads(fields["data"])})
        if event["kind"] == "model":  # sent at the start of every connection
            greeted, self._greeted = self._greeted, True
            if self.last is None:
                self.last = event["sequence"]
            return None if greeted else event
        self.last = int(fields["id"])
        return event

    def failures(self, before: int) -> int:
        """Number of connections in a row that brought nothing, after one more has ended."""
        alive, self.alive = self.alive, False
        return 1 if alive else before + 1


def _should_retry(response: httpx.Response) -> bool:
    """Whether a request may succeed later: the service is not ready, a proxy has no service, or the rate was too high."""
    status = response.status_code
    if status == 503 and response.headers.get("content-type", "").startswith("application/json"):
        return b'"retry":true' in response.content
    return status in (502, 503, 504) or (status == 429 and _asked_wait(response) <= LONGEST_WAIT)


def _asked_wait(response: httpx.Response) -> int:
    """Seconds that the service asks a client to wait because its rate was too high."""
    seconds = response.headers.get("retry-after", "")
    return int(seconds) if response.status_code == 429 and seconds.isdecimal() else 0


class _Processes:
    """The addresses of the processes of a service; a request starts with the one that answered last."""

    def __init__(self, url: str | Sequence[str], retries: int) -> None:
        urls = [url] if isinstance(url, str) else list(url)
        if not urls:
            raise ValueError(
                "`url` of a client must be an address or several; got an empty list. Pass those of all processes."
            )
        self._urls, self._retries = [address.rstrip("/") for address in urls], retries

    def attempts(self) -> Iterator[tuple[str, float, bool]]:
        """Addresses to try, each with the seconds to wait before, and whether it is the last one."""
        urls = tuple(self._urls)
        for attempt in range(self._retries + 1):
            for place, address in enumerate(urls):
                pause = _PAUSES[min(attempt, len(_PAUSES)) - 1] if attempt and not place else 0.0
                yield address, pause, attempt == self._retries and place == len(urls) - 1

    def number(self, failures: int) -> str:
        """The address to try after some failures."""
        return self._urls[failures % len(self._urls)]

    def answered(self, address: str) -> None:
        """Start with this address from now on."""
        urls = self._urls
        place = urls.index(address)
        self._urls = urls[place:] + urls[:place]


class Client:
    """Client of a service started by `rosenblatt serve`.

    Every example is sent with an id, so that a request can be repeated after a lost answer without being learned twice.

    Parameters
    ----------
    url : str or list of str, default="http://127.0.0.1:8520"
        Address of the service, or the addresses of all its processes; one that does not answer or is a standby is skipped.
    token : str or None, default=None
        Access token; by default that of the environment variable ROSENBLATT_TOKEN.
    timeout : float, default=30
        Seconds to wait for an answer.
    retries : int, default=12
        Number of further attempts if the service is not reachable or not ready; the default waits about 13 seconds, which is
        longer than a failover takes. If the service asks for a longer wait because of a rate (429), the client waits up to two
        minutes each time.

    Examples
    --------
    >>> with rosenblatt.Client() as client:  # doctest: +SKIP
    ...     client.create("spam", "averaged-perceptron")
    ...     guess = client.predict("spam", {"words": ["free", "offer"]})
    ...     client.reveal("spam", guess["id"], "spam")
    """

    def __init__(
        self,
        url: str | Sequence[str] = "http://127.0.0.1:8520",
        token: str | None = None,
        *,
        timeout: float = 30.0,
        retries: int = 12,
    ) -> None:
        self._http = httpx.Client(**_options(token, timeout))
        self._processes, self.retries = _Processes(url, retries), retries

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
        wait = 0
        for address, pause, last in self._processes.attempts():
            if pause:
                time.sleep(max(pause, wait))
                wait = 0
            try:
                response = self._http.request(method, address + path, content=content, headers=headers)
                if last or not _should_retry(response):
                    self._processes.answered(address)
                    return _checked(response)
                wait = max(wait, _asked_wait(response))
            except httpx.TransportError:
                if last:
                    raise
        raise AssertionError("not reached")

    def create(
        self, model: str, algorithm: str = "averaged-perceptron", *, bits: int | None = None, **parameters: Any
    ) -> ModelInfo:
        """Create a model; this does nothing if the same model exists. With `bits` the names of features are hashed."""
        answer: ModelInfo = self._ask("POST", _path(model), _settings(algorithm, bits, parameters)).json()
        return answer

    def delete(self, model: str) -> None:
        """Delete a model with all its events; it cannot be brought back. A model that does not exist is no error."""
        try:
            self._ask("DELETE", _path(model))
        except ServiceError as error:
            if error.status != 404:  # as when the answer to the first attempt was lost
                raise

    def predict(
        self, model: str, features: Any, id: str | None = None, *, top: int = 0, reasons: int = 0  # noqa: A002 - public name
    ) -> Prediction:  # fmt: skip
        """Predict an example; returns a dict with `id` and `prediction`, and what `top` and `reasons` ask for as in `score`."""
        request = {"id": id or uuid.uuid4().hex, "features": features, **_asked(top, reasons)}
        answer: Prediction = self._ask("POST", _path(model, "predict"), _body(request)).json()
        return answer

    def reveal(self, model: str, id: str, label: Any) -> Learned:  # noqa: A002
        """Send the true label of a prediction; the model learns it."""
        answer: Learned = self._ask("POST", _path(model, "reveal"), _body({"id": id, "label": label})).json()
        return answer

    def learn(self, model: str, features: Any, label: Any, id: str | None = None) -> Learned:  # noqa: A002
        """Learn an example with a known label."""
        request = {"id": id or uuid.uuid4().hex, "features": features, "label": label}
        answer: Learned = self._ask("POST", _path(model, "learn"), _body(request)).json()
        return answer

    def _many(self, kind: str, model: str, requests: Iterable[dict[str, Any]]) -> Answers[Any]:
        answers = Answers[Any]()
        for batch, lines in _batches(requests):
            answers += _answers(batch, self._ask("POST", _path(model, kind), lines, "application/x-ndjson").content)
        return answers

    def predict_many(self, model: str, examples: Iterable[Any]) -> Answers[Prediction]:
        """Predict many examples, features or pairs (id, features). Answers have the same order; a refused one has `error`."""
        return self._many("predict", model, _predicting(examples))

    def reveal_many(self, model: str, labels: Iterable[tuple[str, Any]]) -> Answers[Learned]:
        """Reveal many pairs (id, label)."""
        return self._many("reveal", model, _revealing(labels))

    def learn_many(self, model: str, examples: Iterable[tuple[Any, ...]]) -> Answers[Learned]:
        """Learn many pairs (features, label) or triples (id, features, label); `refused` of the result lists the refused ones."""
        return self._many("learn", model, _learning(examples))

    def score(self, model: str, features: Any, *, top: int = 0, reasons: int = 0) -> Score:
        """Predict without a record; with the scores of the best `top` classes, and the `reasons` features that count most."""
        request = {"features": features, **_asked(top, reasons)}
        answer: Score = self._ask("POST", _path(model, "score"), _body(request)).json()
        return answer

    def score_many(self, model: str, examples: Iterable[Any], *, top: int = 0, reasons: int = 0) -> Answers[Score]:
        """Predict many examples without a record."""
        return self._many("score", model, _scoring(examples, top, reasons))

    def info(self, model: str) -> ModelInfo:
        """Return the counts of examples and mistakes, the accuracy, classes and more of a model."""
        answer: ModelInfo = self._ask("GET", _path(model)).json()
        return answer

    def models(self) -> list[ModelInfo]:
        """Return the info of all models."""
        answer: list[ModelInfo] = self._ask("GET", "/v1/models").json()["models"]
        return answer

    def download(self, model: str, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that `rosenblatt.load` reads."""
        Path(path).write_bytes(self._ask("GET", _path(model, "model")).content)

    def events(self, model: str, after: int | None = None) -> Generator[Event, None, None]:
        """Iterate over the events of a model as they happen; `after` starts after that event.

        If the connection ends, it is made again, and the events since then follow. `close` of the result ends it.
        """
        stream, failures = _Stream(after), 0
        while True:
            address = self._processes.number(failures)
            try:
                with self._http.stream(
                    "GET", address + _path(model, "events"), headers=stream.headers, timeout=httpx.Timeout(30, read=60)
                ) as response:
                    if not response.is_success:
                        response.read()
                    if not _is_to_repeat(response, failures, self.retries):
                        _checked(response)
                        for line in _text_lines(response.iter_raw()):
                            if (event := stream.take(line)) is not None:
                                yield event
            except httpx.TransportError:
                if failures >= self.retries and not stream.alive:
                    raise
            failures = stream.failures(failures)
            time.sleep(_PAUSES[min(failures, len(_PAUSES)) - 1])


class AsyncClient:
    """`Client` for programs with an event loop: every method is awaited, streams are asynchronous iterators.

    Parameters
    ----------
    url, token, timeout, retries
        As for `Client`.
    """

    def __init__(
        self,
        url: str | Sequence[str] = "http://127.0.0.1:8520",
        token: str | None = None,
        *,
        timeout: float = 30.0,
        retries: int = 12,
    ) -> None:
        self._http = httpx.AsyncClient(**_options(token, timeout))
        self._processes, self.retries = _Processes(url, retries), retries

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
        wait = 0
        for address, pause, last in self._processes.attempts():
            if pause:
                await asyncio.sleep(max(pause, wait))
                wait = 0
            try:
                response = await self._http.request(method, address + path, content=content, headers=headers)
                if last or not _should_retry(response):
                    self._processes.answered(address)
                    return _checked(response)
                wait = max(wait, _asked_wait(response))
            except httpx.TransportError:
                if last:
                    raise
        raise AssertionError("not reached")

    async def create(
        self, model: str, algorithm: str = "averaged-perceptron", *, bits: int | None = None, **parameters: Any
    ) -> ModelInfo:
        """Create a model; this does nothing if the same model exists. With `bits` the names of features are hashed."""
        response = await self._ask("POST", _path(model), _settings(algorithm, bits, parameters))
        answer: ModelInfo = response.json()
        return answer

    async def delete(self, model: str) -> None:
        """Delete a model with all its events; it cannot be brought back. A model that does not exist is no error."""
        try:
            await self._ask("DELETE", _path(model))
        except ServiceError as error:
            if error.status != 404:
                raise

    async def predict(
        self, model: str, features: Any, id: str | None = None, *, top: int = 0, reasons: int = 0  # noqa: A002
    ) -> Prediction:  # fmt: skip
        """Predict an example; returns a dict with `id` and `prediction`, and what `top` and `reasons` ask for as in `score`."""
        request = {"id": id or uuid.uuid4().hex, "features": features, **_asked(top, reasons)}
        answer: Prediction = (await self._ask("POST", _path(model, "predict"), _body(request))).json()
        return answer

    async def reveal(self, model: str, id: str, label: Any) -> Learned:  # noqa: A002
        """Send the true label of a prediction; the model learns it."""
        answer: Learned = (await self._ask("POST", _path(model, "reveal"), _body({"id": id, "label": label}))).json()
        return answer

    async def learn(self, model: str, features: Any, label: Any, id: str | None = None) -> Learned:  # noqa: A002
        """Learn an example with a known label."""
        request = {"id": id or uuid.uuid4().hex, "features": features, "label": label}
        answer: Learned = (await self._ask("POST", _path(model, "learn"), _body(request))).json()
        return answer

    async def _many(self, kind: str, model: str, requests: Iterable[dict[str, Any]]) -> AsyncIterator[Any]:
        for batch, lines in _batches(requests):
            response = await self._ask("POST", _path(model, kind), lines, "application/x-ndjson")
            for answer in _answers(batch, response.content):
                yield answer

    def predict_many(self, model: str, examples: Iterable[Any]) -> Work[Prediction]:
        """Predict many examples, features or pairs (id, features)."""
        return Work(self._many("predict", model, _predicting(examples)))

    def reveal_many(self, model: str, labels: Iterable[tuple[str, Any]]) -> Work[Learned]:
        """Reveal many pairs (id, label)."""
        return Work(self._many("reveal", model, _revealing(labels)))

    def learn_many(self, model: str, examples: Iterable[tuple[Any, ...]]) -> Work[Learned]:
        """Learn many pairs (features, label) or triples (id, features, label)."""
        return Work(self._many("learn", model, _learning(examples)))

    async def score(self, model: str, features: Any, *, top: int = 0, reasons: int = 0) -> Score:
        """Predict without a record; with the scores of the best `top` classes, and the `reasons` features that count most."""
        request = {"features": features, **_asked(top, reasons)}
        answer: Score = (await self._ask("POST", _path(model, "score"), _body(request))).json()
        return answer

    def score_many(self, model: str, examples: Iterable[Any], *, top: int = 0, reasons: int = 0) -> Work[Score]:
        """Predict many examples without a record."""
        return Work(self._many("score", model, _scoring(examples, top, reasons)))

    async def info(self, model: str) -> ModelInfo:
        """Return the counts of examples and mistakes, the accuracy, classes and more of a model."""
        answer: ModelInfo = (await self._ask("GET", _path(model))).json()
        return answer

    async def models(self) -> list[ModelInfo]:
        """Return the info of all models."""
        answer: list[ModelInfo] = (await self._ask("GET", "/v1/models")).json()["models"]
        return answer

    async def download(self, model: str, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that `rosenblatt.load` reads."""
        content = (await self._ask("GET", _path(model, "model"))).content
        write: Callable[[bytes], int] = Path(path).write_bytes
        await asyncio.to_thread(write, content)

    async def events(self, model: str, after: int | None = None) -> AsyncGenerator[Event, None]:
        """Iterate over the events of a model as they happen; `after` starts after that event.

        If the connection ends, it is made again, and the events since then follow.
        """
        stream, failures = _Stream(after), 0
        while True:
            address = self._processes.number(failures)
            try:
                async with self._http.stream(
                    "GET", address + _path(model, "events"), headers=stream.headers, timeout=httpx.Timeout(30, read=60)
                ) as response:
                    if not response.is_success:
                        await response.aread()
                    if not _is_to_repeat(response, failures, self.retries):
                        _checked(response)
                        rest = b""
                        async for part in response.aiter_raw():
                            *lines, rest = (rest + part).split(b"\n")
                            for line in lines:
                                if (event := stream.take(line.decode())) is not None:
                                    yield event
            except httpx.TransportError:
                if failures >= self.retries and not stream.alive:
                    raise
            failures = stream.failures(failures)
            await asyncio.sleep(_PAUSES[min(failures, len(_PAUSES)) - 1])


def _is_to_repeat(response: httpx.Response, failures: int, retries: int) -> bool:
    return not response.is_success and failures < retries and _should_retry(response)


def _text_lines(parts: Iterator[bytes]) -> Iterator[str]:
    """Lines of a stream; only a line feed ends one, because JSON may contain other line ends of Unicode."""
    rest = b""
    for part in parts:
        *lines, rest = (rest + part).split(b"\n")
        for line in lines:
            yield line.decode()
