"""The HTTP interface as a plain ASGI application: a framework would take longer for a request than the learner does."""

import asyncio
import base64
import contextlib
import hashlib
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, MutableMapping
from importlib.resources import files
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote

import orjson

from rosenblatt.serve.access import Rates, check_model, check_origin, find_token, is_for, sees_examples
from rosenblatt.serve.events import asking
from rosenblatt.serve.examples import Refused
from rosenblatt.serve.hashing import checked_bits
from rosenblatt.serve.life import FIELDS as LIFE
from rosenblatt.serve.life import MOST_LISTED
from rosenblatt.serve.news import as_gap
from rosenblatt.serve.openapi import document
from rosenblatt.serve.requests import FIELDS, LinesReader, as_lines, check_fields, check_name, compact, looks_like_lines
from rosenblatt.serve.service import Service, SharedFile
from rosenblatt.serve.store import Token

log = logging.getLogger("rosenblatt.serve.requests")

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

JSON, LINES, TEXT = b"application/json", b"application/x-ndjson", b"text/plain; version=0.0.4; charset=utf-8"
_LINE_TYPES = (
    b"application/x-ndjson",
    b"application/ndjson",
    b"application/jsonl",
    b"application/x-jsonlines",
    b"application/jsonlines",
)


SMALL, MOST_HELD, MOST_HELD_BY = 1 << 16, 64 << 20, 32 << 20
"""Bytes of a body that needs no place, and of all larger bodies, in all and of one client, that are read or handled at a time."""

MOST_DOWNLOADS, MOST_DOWNLOADS_BY = 128, 32
"""Number of files of models that are sent at a time, in all and to one client."""


class Answer(NamedTuple):
    """Response to a request."""

    status: int
    body: bytes | SharedFile
    kind: bytes = JSON
    headers: tuple[tuple[bytes, bytes], ...] = ()


class App:
    """The ASGI application.

    Parameters
    ----------
    service : Service
        Service that handles the requests.
    patience : float, default=30
        Maximum time in seconds for a client to send its request.
    log_requests : bool, default=False
        Whether to log each request.
    """

    def __init__(self, service: Service, *, patience: float = 30.0, log_requests: bool = False) -> None:
        self.service, self.patience, self.log_requests = service, patience, log_requests
        self._documents: dict[bool, bytes] = {}
        self._rates = Rates(service.limits.rate)
        self._held, self._downloads = Counter[str](), Counter[str]()
        self._page, self._policy = live_page()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
            return
        if scope["type"] != "http":
            return
        tracing = self.service.tracing
        if tracing.tracer is None:
            await self._handle(scope, receive, send)
        else:
            await tracing.request(self._handle, scope, receive, send)

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()
        path = scope["raw_path"].decode("ascii")
        parts = path.split("/")[1:]
        if "%" in path:
            parts = [unquote(part) for part in parts]  # after splitting: an encoded slash is part of a name
        scope["parts"] = parts
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        route, client = "other", (scope.get("client") or ("local",))[0]
        scope["held"] = scope["downloads"] = 0
        scope["token"] = None
        try:
            route, rights, allowed, handler = self._route(parts)
            scope["route"] = route
            if handler is None:
                raise Refused(404, "There is nothing at this address. See /openapi.json for the existing ones.")
            if method not in allowed:
                allow = (b"allow", ", ".join(sorted(allowed)).encode())
                answer = Answer(
                    405, _error("The method must be one of " + ", ".join(sorted(allowed)) + " here."), headers=(allow,)
                )
            else:
                headers = dict(scope["headers"])
                if not self.service.guarded:  # then it listens on loopback only
                    check_origin(headers)
                elif rights:
                    needed = "admin" if method != "GET" and rights == "read" and route != "score" else rights
                    try:
                        token = scope["token"] = find_token(self.service.tokens, headers, needed)
                    except Refused:
                        self._rates.check(client)  # also of attempts to guess a token
                        raise
                    client = token.name
                    asking.set(client)
                    if parts[0] == "v1" and len(parts) > 2:
                        check_model(token, parts[2])
                if rights:
                    scope["client_name"] = client
                    self._count(scope, 1)
                if route == "events" and scope["method"] != "HEAD":
                    await self._events(scope, headers, receive, send)
                    self.service.metrics.answered(route, 200, time.perf_counter() - started)
                    return
                answer = await handler(scope, headers, receive)
        except Refused as refusal:
            answer = _refusal(refusal)
        except _Gone:
            self._release(scope)
            return
        except Exception:
            log.exception("a request failed")
            answer = Answer(500, _error("Something went wrong inside the service; its log has the details."))
        try:
            await _send(send, answer)
        finally:
            self._release(scope)
        seconds = time.perf_counter() - started
        self.service.metrics.answered(route, answer.status, seconds)
        if self.log_requests:
            log.info(
                "request",
                extra={
                    "method": method,
                    "path": scope["path"][:200],
                    "client": client,
                    "status": answer.status,
                    "seconds": round(seconds, 6),
                },
            )

    def _count(self, scope: Scope, count: int) -> None:
        """Count requests or lines of a client, or refuse them."""
        token: Token | None = scope["token"]
        self._rates.check(scope["client_name"], count, None if token is None else token.rate)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        await self.service.start()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.service.close()
        await send({"type": "lifespan.shutdown.complete"})

    # ---- routes ----

    def _route(self, parts: list[str]) -> tuple[str, str, frozenset[str], Any]:
        """Name of a route, the right it needs, its methods and its handler."""
        if parts[:2] == ["v1", "models"]:
            count = len(parts)
            if count == 4 and parts[3] in FIELDS:
                return parts[3], "read" if parts[3] == "score" else "learn", _POST, self._work
            if count == 2:
                return "models", "read", _GET, self._models
            if count == 3 and parts[2]:
                return "model", "read", _ALL, self._model
            if count == 4 and parts[3] in LIFE and parts[3] != "challenger":
                return parts[3], "learn" if parts[3] == "correct" else "read", _POST, self._life
            if count == 4 and parts[3] == "challenger":
                return "challenger", "read", _POST_DELETE, self._life
            if count == 4 and parts[3] == "pending":
                return "pending", "read", _GET, self._pending
            if count == 5 and parts[3] == "examples" and parts[4]:
                return "examples", "read", _GET, self._example
            if count == 4 and parts[3] == "model":
                return "file", "read", _GET_PUT, self._file
            if count == 4 and parts[3] == "events":
                return "events", "read", _GET, self._no_events
            if count == 4 and parts[3] == "insight":
                return "insight", "read", _GET, self._insight
        elif len(parts) == 1:
            plain = {
                "": ("page", "", self._index), "healthz": ("healthz", "", self._health),
                "livez": ("livez", "", self._health),
                "readyz": ("readyz", "", self._ready), "openapi.json": ("openapi", "", self._openapi),
                "metrics": ("metrics", "read", self._metrics),
            }  # fmt: skip
            if parts[0] in plain:
                name, rights, handler = plain[parts[0]]
                return name, rights, _GET, handler
        elif parts == ["readyz", "reads"]:
            return "readyz", "", _GET, self._ready_for_reads
        return "other", "", frozenset(), None

    # ---- events ----

    async def _work(self, scope: Scope, headers: dict[bytes, bytes], receive: Receive) -> Answer:
        _, _, name, kind = scope["parts"]
        check_name(name)
        service = self.service
        find = service.find_to_read if kind == "score" else service.find
        find(name)
        body = await self._body(scope, headers, receive)
        media = headers.get(b"content-type", JSON).partition(b";")[0].strip().lower()
        if media not in _LINE_TYPES:
            try:
                request = orjson.loads(body)
            except orjson.JSONDecodeError as error:
                if not looks_like_lines(body):
                    raise Refused(
                        400, f"The body must be a JSON object, which it is not: {error}. Correct it, and send it again."
                    ) from error
            else:
                check_fields(kind, request)
                body = compact(request, body)
                if kind == "score":
                    return Answer(200, orjson.dumps(await service.score(name, request, body)))
                service.quotas.count(scope["token"], 1)
                return Answer(200, orjson.dumps(await service.work(kind, name, request, body)))
        more = body.count(b"\n")
        self._count(scope, more)
        if kind != "score":
            service.quotas.count(scope["token"], more + (not body.endswith(b"\n")))
        reader = LinesReader(kind, body)
        del body
        answers = await service.work_on_lines(kind, name, reader)
        if not answers:
            raise Refused(400, "The body must have at least one JSON line; got none.")
        return Answer(200, as_lines(reader.numbers, answers), LINES)

    def _hold(self, scope: Scope, size: int) -> None:
        """Take a place in memory for a body, or its first part, until the request is answered."""
        if size <= max(SMALL, scope["held"]):
            return
        client, held = scope["client_name"], scope["held"]
        others, own = self._held.total() - held, self._held[client] - held
        if (others and others + size > MOST_HELD) or (own and own + size > MOST_HELD_BY):
            raise Refused(
                503,
                f"The large bodies of a client may have {MOST_HELD_BY >> 20} MB in all at a time, those of all clients "
                f"{MOST_HELD >> 20} MB; this one exceeds that. Send it again when others are answered.",
                retry=True,
            )
        self._held[client] += size - held
        scope["held"] = size

    def _release(self, scope: Scope) -> None:
        for counts, count in ((self._held, scope["held"]), (self._downloads, scope["downloads"])):
            if count:
                counts[scope["client_name"]] -= count
                if not counts[scope["client_name"]]:
                    del counts[scope["client_name"]]

    async def _body(
        self, scope: Scope, headers: dict[bytes, bytes], receive: Receive, most: int | None = None
    ) -> bytes:
        """Read the whole body unless it is too large; the server disconnects slow clients."""
        most = self.service.limits.body if most is None else most
        length = headers.get(b"content-length", b"0")
        if length.isdigit():
            if int(length[:18]) > most:
                raise _too_large(most)
            if most > self.service.limits.body:  # of a file, which is refused now and not when most of it has arrived
                self._hold(scope, int(length))
        message = await receive()
        body: bytes = message.get("body", b"")
        if not message.get("more_body") and message["type"] == "http.request":
            if len(body) > most:
                raise _too_large(most)
            self._hold(scope, len(body))
            return body
        parts, size = [body], len(body)
        while message.get("more_body"):
            message = await receive()
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > most:
                raise _too_large(most)
            self._hold(scope, size)
        if message["type"] == "http.disconnect":
            raise _Gone
        return b"".join(parts)

    # ---- models ----

    async def _models(self, scope: Scope, headers: dict[bytes, bytes], receive: Receive) -> Answer:
        token = scope["token"]
        aside = [{"name": name, "reason": reason} for name, reason in self.service.aside.items() if is_for(token, name)]
        models = [model for model in await self.service.describe_all() if is_for(token, model["name"])]
        return Answer(200, orjson.dumps({"models": models, "set_aside": aside}))

    async def _model(self, scope: Scope, headers: dict[bytes, bytes], receive: Receive) -> Answer:
        name = scope["parts"][2]
        check_name(name)
        if scope["method"] in _GET:
            return Answer(200, orjson.dumps(await self.service.describe(name)))
        if scope["method"] == "DELETE":
            return Answer(200, orjson.dumps(await self.service.delete(name)))
        body = await self._body(scope, headers, receive)
        try:
            settings = orjson.loads(body) if body.strip() else {}
        except orjson.JSONDecodeError as error:
            raise Refused(400, f"The body must be a JSON object or empty; {error}.") from error
        if not isinstance(settings, dict):
            raise Refused(422, 'The body must be a JSON object, such as {"algorithm": "perceptron"}, or empty.')
        for key in settings:
            if key not in ("algorithm", "parameters", "bits"):
                raise Refused(422, f"A model has `algorithm`, `parameters` and `bits`; got {key[:60]!r}.")
        bits = checked_bits(settings.get("bits"))
        algorithm, parameters = settings.get("algorithm", "averaged-perceptron"), settings.get("parameters", {})
        if not isinstance(algorithm, str) or not isinstance(parameters, dict):
            raise Refused(
                422,
                "`algorithm` must be a name and `parameters` an object. Leave them out for the averaged perceptron.",
            )
        new, facts = await self.service.create(name, algorithm, parameters, bits)
        return Answer(201 if new else 200, orjson.dumps({**facts, "standby": False}))

    async def _life(self, scope: Scope, headers: dict[bytes, bytes], receive: Receive) -> Answer:
        """Change a model: clear, rename, aliases, labels, corrections, the challenger."""
        _, _, name, kind = scope["parts"]
        check_name(name)
        life = self.service.life
        if scope["method"] == "DELETE":
            return Answer(200, orjson.dumps(await life.dismiss(name)))
        self.service.find(name)
        body = await self._body(scope, headers, receive)
        try:
            request = orjson.loads(body) if body.strip() else {}
        except orjson.JSONDecodeError as error:
            raise Refused(400, f"The body must be a JSON object; {error}.") from error
        if kind == "correct":
            self.service.quotas.count(scope["token"], 1)
        return Answer(200, orjson.dumps(await life.change(kind, name, request, scope["token"])))

    async def _pending(self, scope: Scope, headers: dict[bytes, bytes], receive: Receive) -> Answer:
        name, asked = scope["parts"][2], _query(scope, "after", "limit")
        check_name(name)
        limit = asked.get("limit", "100")
        if not limit.isdecimal() or len(limit) > 9 or not 1 <= int(limit) <= MOST_LISTED:
            raise Refused(422, f"`limit` must be a whole number from 1 to {MOST_LISTED}; got {limit[:60]!r}.")
        raw = sees_examples(scope["token"])
        return Answer(200, orjson.dumps(await self.service.life.pending(name, asked.get("after"), int(limit), raw)))

    async def _example(self, scope: Scope, headers: dict[bytes, bytes], receive: Receive) -> Answer:
        _, _, name, _, identity = scope["parts"]
        check_name(name)
        raw = sees_examples(scope["token"])
        return Answer(200, orjson.dumps(await self.service.life.example(name, identity, raw)))

    async def _file(self, scope: Scope, headers: dict[bytes, bytes], receive: Receive) -> Answer:
        name = scope["parts"][2]
        check_name(name)
        if scope["method"] == "PUT":
            data = await self._body(scope, headers, receive, self.service.limits.upload)
            return Answer(201, orjson.dumps(await self.service.upload(name, data)))
        if self._downloads.total() >= MOST_DOWNLOADS or self._downloads[scope["client_name"]] >= MOST_DOWNLOADS_BY:
            raise Refused(
                503,
                f"At most {MOST_DOWNLOADS_BY} files are sent to a client at a time, {MOST_DOWNLOADS} in all. Try again later.",
                retry=True,
            )
        self._downloads[scope["client_name"]] += 1
        scope["downloads"] = 1
        if not sees_examples(scope["token"]) and self.service.find_to_read(name).keeps_examples:
            raise Refused(
                403, f"The file of {name!r} holds raw examples, and this token may not read them (--read-examples)."
            )
        file = await self.service.model_file(name)
        disposition = (b"content-disposition", f'attachment; filename="{name}.model"'.encode())
        return Answer(200, file, b"application/octet-stream", (disposition,))

    async def _insight(self, scope: Scope, headers: dict[bytes, bytes], receive: Receive) -> Answer:
        name = scope["parts"][2]
        check_name(name)
        found = await self.service.insight(name, 10, sees_examples(scope["token"]))
        return Answer(200, orjson.dumps({**found, "requests": self.service.metrics.times_of(FIELDS)}))

    # ---- the rest ----

    async def _index(self, scope: Scope, headers: dict[bytes, bytes], receive: Receive) -> Answer:
        kept_out = (b"content-security-policy", self._policy), (b"x-frame-options", b"DENY")
        return Answer(200, self._page, b"text/html; charset=utf-8", kept_out)

    async def _health(self, scope: Scope, headers: dict[bytes, bytes], receive: Receive) -> Answer:
        return Answer(200, orjson.dumps({"status": "alive", "state": self.service.state}))

    async def _ready(self, scope: Scope, headers: dict[bytes, bytes], receive: Receive) -> Answer:
        return self._readiness("events", self.service.why_not_ready())

    async def _ready_for_reads(self, scope: Scope, headers: dict[bytes, bytes], receive: Receive) -> Answer:
        return self._readiness("reads", self.service.why_not_ready_for_reads())

    def _readiness(self, what: str, reason: str) -> Answer:
        state = self.service.state
        if reason:
            raise Refused(503, f"The service does not accept {what} now: {reason}.", state=state, retry=True)
        return Answer(200, orjson.dumps({"status": "ready", "state": state, "set_aside": sorted(self.service.aside)}))

    async def _openapi(self, scope: Scope, headers: dict[bytes, bytes], receive: Receive) -> Answer:
        guarded = self.service.guarded
        if guarded not in self._documents:  # making it loads every learner, which can take long
            made = await asyncio.get_running_loop().run_in_executor(None, document, self.service.limits, guarded)
            self._documents[guarded] = orjson.dumps(made)
        return Answer(200, self._documents[guarded])

    async def _metrics(self, scope: Scope, headers: dict[bytes, bytes], receive: Receive) -> Answer:
        if scope["token"] is not None and scope["token"].models:
            raise Refused(403, "The metrics show all models; this needs a token that is for all of them.")
        return Answer(200, self.service.metrics.text(), TEXT)

    # ---- server-sent events ----

    async def _no_events(self, scope: Scope, headers: dict[bytes, bytes], receive: Receive) -> Answer:
        """Answer to a HEAD request, which has no stream."""
        check_name(scope["parts"][2])
        self.service.find(scope["parts"][2])
        return Answer(200, b"", b"text/event-stream")

    async def _events(self, scope: Scope, headers: dict[bytes, bytes], receive: Receive, send: Send) -> None:
        """Send the events of a model when they are on disk; `Last-Event-ID` continues after that event."""
        name, raw = scope["parts"][2], sees_examples(scope["token"])
        check_name(name)
        service = self.service
        listened = service.find(name).name  # `name` may be an alias
        queue, started = service.subscribe(name, scope["client_name"], raw), False
        gone = asyncio.create_task(_until_gone(receive))
        stop = asyncio.create_task(service.draining.wait())

        async def tell(message: bytes) -> None:
            if service.guarded:
                find_token(service.tokens, headers, "read")  # one that was revoked or has expired in the meantime
            await asyncio.wait_for(send(_chunk(message)), self.patience)

        async def tell_past(past: list[tuple[int, bytes]], sent: int) -> int:
            for sequence, message in past:
                if sequence > sent + 1:
                    await tell(as_gap(sent, sequence))
                await tell(message)
                sent = sequence
            return sent

        try:
            last = headers.get(b"last-event-id", b"")
            sent = int(last) if last.isdigit() and len(last) < 18 else None
            # Confirmed: a listener that reconnects after this event must not miss one that was not on disk yet.
            hello = {key: value for key, value in (await service.describe(name)).items() if key != "parameters"}
            past = [] if sent is None else await service.past_messages(name, sent, raw)
            await send({"type": "http.response.start", "status": 200, "headers": [
                (b"content-type", b"text/event-stream"), (b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"),
            ]})  # fmt: skip
            started = True
            await tell(b"event: model\ndata: " + orjson.dumps(hello) + b"\n\n")
            while sent is not None and past and not gone.done() and not stop.done():
                sent = await tell_past(past, sent)
                past = await service.past_messages(name, sent, raw)
            if sent is not None and sent < (start := service.begin_of_log(name)):
                await tell(as_gap(sent, start + 1))
                sent = start
            while not gone.done() and not stop.done():
                item = asyncio.create_task(queue.get())
                done, _ = await asyncio.wait({item, gone, stop}, timeout=2.0, return_when=asyncio.FIRST_COMPLETED)
                if item not in done:
                    item.cancel()
                    if not done:
                        await tell(b": still here\n\n")
                    continue
                if item.result() is None:
                    break  # too slow; a client that reconnects with Last-Event-ID gets the rest
                sequence, message = item.result()
                if sent is not None and sequence > sent + 1:  # written while those before were read
                    sent = await tell_past(await service.past_messages(name, sent, raw, sequence), sent)
                    if sequence > sent + 1:
                        await tell(as_gap(sent, sequence))
                if sent is None or sequence > sent:
                    await tell(message)
                    sent = sequence
            with contextlib.suppress(OSError):
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        except TimeoutError:
            pass  # the client does not read
        except Refused:
            if not started:
                raise
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            service.news.unsubscribe(listened, queue)
            gone.cancel()
            stop.cancel()


_GET_PUT = frozenset({"GET", "HEAD", "PUT"})
_POST_DELETE = frozenset({"POST", "DELETE"})
_GET, _POST, _ALL = frozenset({"GET", "HEAD"}), frozenset({"POST"}), frozenset({"GET", "HEAD", "POST", "DELETE"})


def live_page() -> tuple[bytes, bytes]:
    """The live page as one document, and the policy by which a browser runs its own script and no other."""
    folder = files("rosenblatt.serve").joinpath("page")
    page = folder.joinpath("index.html").read_text(encoding="utf-8")
    style, script = (folder.joinpath(name).read_text(encoding="utf-8") for name in ("live.css", "live.js"))
    page = page.replace("<style></style>", f"<style>{style}</style>").replace(
        "<script></script>", f"<script>{script}</script>"
    )
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script)]
    policy = (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'; connect-src 'self'; "
    )
    policy += "img-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    return page.encode(), policy.encode()


def _query(scope: Scope, *allowed: str) -> dict[str, str]:
    """Parameters of the address."""
    try:
        pairs = parse_qsl(scope["query_string"].decode("ascii"), keep_blank_values=True, strict_parsing=True)
    except ValueError:
        pairs = [("", "")] if scope["query_string"] else []
    found = dict(pairs)
    if len(found) < len(pairs) or not set(found) <= set(allowed):
        raise Refused(422, f"The address may have the parameters {', '.join(allowed)}, each once.")
    return found


class _Gone(Exception):  # noqa: N818
    """The client has disconnected."""


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _chunk(body: bytes) -> dict[str, Any]:
    return {"type": "http.response.body", "body": body, "more_body": True}


async def _send(send: Send, answer: Answer) -> None:
    body = answer.body
    size = len(body) if isinstance(body, bytes) else body.size
    headers = [
        (b"content-type", answer.kind), (b"content-length", b"%d" % size), (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"), *answer.headers,
    ]  # fmt: skip
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    for start in range(0, size - SMALL, SMALL):  # each part is sent when the client has read those before it
        part = body[start : start + SMALL] if isinstance(body, bytes) else body.read(start, SMALL)
        await send({"type": "http.response.body", "body": part, "more_body": True})
    start = max(0, size - 1) // SMALL * SMALL
    part = body[start:] if isinstance(body, bytes) else body.read(start, SMALL)
    await send({"type": "http.response.body", "body": part})


def _error(message: str) -> bytes:
    return orjson.dumps({"error": message})


def _refusal(refusal: Refused) -> Answer:
    headers: tuple[tuple[bytes, bytes], ...] = ()
    if refusal.status == 503:
        headers = ((b"retry-after", b"1"),)
    elif refusal.status == 429:
        headers = ((b"retry-after", b"%d" % refusal.details["seconds"]),)
    elif refusal.status == 401:
        headers = ((b"www-authenticate", b"Bearer"),)
    return Answer(refusal.status, orjson.dumps(refusal.as_json()), headers=headers)


def _too_large(most: int) -> Refused:
    return Refused(413, f"The body may have at most {most} bytes; got more. Send it in several parts.")
