"""The server process: uvicorn with the application, logging and shutdown."""

import asyncio
import contextlib
import gc
import logging
import signal
import ssl
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from rosenblatt.serve.access import is_loopback
from rosenblatt.serve.app import SMALL, App
from rosenblatt.serve.events import Limits
from rosenblatt.serve.examples import Refused
from rosenblatt.serve.records import opened
from rosenblatt.serve.requests import check_name
from rosenblatt.serve.retention import Policy
from rosenblatt.serve.service import Service
from rosenblatt.serve.store import Store, StoreError, Token
from rosenblatt.serve.tracing import Tracing, from_environment

_PLAIN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}


class JsonLines(logging.Formatter):
    """Write each log record as a JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a record as one line."""
        line: dict[str, Any] = {
            "time": record.created,
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        line |= {key: value for key, value in vars(record).items() if key not in _PLAIN}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return orjson.dumps(line, default=str).decode()


MOST_HEADER, MOST_CONNECTIONS, MOST_PIPELINED = 1 << 14, 4000, 16


class _Joined:
    """A transport that sends what is written in one step of the event loop at once.

    uvicorn writes the head and the body of an answer separately, which costs the server a second system call and the client a
    second wake-up: half of the time of a request that needs no disk. Long data are not held, so that the sender is told to wait
    if the client reads slowly.
    """

    def __init__(self, transport: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._parts: list[bytes] = []
        self._held = 0

    def write(self, data: bytes) -> None:
        """Send the data at the end of this step, or at once if there are many."""
        if not self._parts:
            self._loop.call_soon(self.flush)
        self._parts.append(data)
        self._held += len(data)
        if self._held >= SMALL:
            self.flush()

    def flush(self) -> None:
        """Send what was written."""
        parts, self._parts, self._held = self._parts, [], 0
        if parts and not self._transport.is_closing():
            self._transport.write(parts[0] if len(parts) == 1 else b"".join(parts))

    def close(self) -> None:
        """Close the connection after what was written is sent."""
        self.flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class _Protocol(HttpToolsProtocol):
    """A connection that limits what a client can send before it is asked for a token.

    It records since when the rest of a request is missing, or since when the client has not read; `_Server` disconnects clients
    that are too slow.
    """

    owing_since: float | None = None
    unread_since: float | None = None
    _header = _pipelined = 0
    _in_header = True
    _refused = False

    def connection_made(self, transport: Any) -> None:
        super().connection_made(_Joined(transport, self.loop))  # type: ignore[arg-type]
        self.active = self.owing_since = self.loop.time()
        if len(self.connections) > MOST_CONNECTIONS:
            _close_longest_idle(self.connections)

    def data_received(self, data: bytes) -> None:
        """Parse a part of a request; its line, its headers and the trailers of its body are limited together."""
        self.active = self.loop.time()
        if self._refused:
            return
        if self._in_header:
            self._header += len(data)
            if self._header > MOST_HEADER + len(data) or (self._header > MOST_HEADER and b"\r\n\r\n" not in data):
                self._refuse()
                return
        super().data_received(data)

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._refused:
            return
        self._header += len(name) + len(value)
        if self._header <= 4 * MOST_HEADER:
            super().on_header(name, value)
        else:
            self._refuse()

    def _refuse(self) -> None:
        self._refused = True
        if not self.transport.is_closing():
            self.transport.write(b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\n\r\n")
            self.transport.close()

    def on_message_begin(self) -> None:
        """Disconnect a client that sends more and more requests without waiting for answers."""
        if len(self.pipeline) >= MOST_PIPELINED or self._pipelined > 4 * MOST_HEADER:
            self._refused = True
            self.transport.abort()
        if self._refused:
            return
        super().on_message_begin()
        self._in_header, self._header = True, 0
        if self.owing_since is None:
            self.owing_since = self.loop.time()

    def on_headers_complete(self) -> None:
        if self._refused:
            return
        self._in_header = False
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if not self._refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        if self._refused:
            return
        self.owing_since = None
        self._pipelined = self._pipelined + self._header if self.pipeline else 0
        self._in_header, self._header = True, 0
        super().on_message_complete()

    def pause_writing(self) -> None:
        self.unread_since = self.loop.time()
        super().pause_writing()

    def resume_writing(self) -> None:
        self.unread_since = None
        super().resume_writing()

    @property
    def idle(self) -> bool:
        """Whether no request is being handled."""
        cycle: Any = self.cycle  # None before the first request
        return cycle is None or bool(cycle.response_complete)


def _close_longest_idle(connections: Any) -> None:
    """Close a tenth of the connections: those without a request, the longest idle ones first."""
    idle = sorted((connection for connection in connections if connection.idle), key=lambda one: one.active)
    for connection in idle[: MOST_CONNECTIONS // 10]:
        connection.transport.abort()


class _Server(uvicorn.Server):
    """Disconnect slow clients, and end the streams of listeners at shutdown."""

    def __init__(
        self, config: uvicorn.Config, service: Service, patience: float, tls: tuple[str, str] | None = None
    ) -> None:
        super().__init__(config)
        self._service, self._patience, self._tls = service, patience, tls
        self._tls_state = _state_of(tls)

    async def on_tick(self, counter: int) -> bool:
        if counter % 10 == 0:  # once a second
            latest = asyncio.get_running_loop().time() - self._patience
            for connection in tuple(self.server_state.connections):
                assert isinstance(connection, _Protocol)
                since = [time for time in (connection.unread_since, connection.owing_since) if time is not None]
                if since and min(since) < latest:
                    connection.transport.abort()
            self._renew_certificate()
        return await super().on_tick(counter)

    def _renew_certificate(self) -> None:
        """Read the certificate again if its files have changed; connections from now on use it."""
        state = _state_of(self._tls)
        if self._tls is None or self.config.ssl is None or state == self._tls_state:
            return
        log = logging.getLogger("rosenblatt.serve")
        self._tls_state = state
        try:
            _load_certificate(self._tls)  # both files are read and compared before the ones in use are replaced
            self.config.ssl.load_cert_chain(*self._tls)
            log.info("the certificate was read again")
        except ValueError as error:
            log.error("the new certificate cannot be used; the one before is kept", extra={"error": str(error)})

    def handle_exit(self, sig: int, frame: Any) -> None:
        self._service.draining.set()
        super().handle_exit(sig, frame)

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        for server in self.servers:
            for socket in server.sockets:
                host, port = socket.getsockname()[:2]
                logging.getLogger("rosenblatt.serve").info("listening", extra={"host": host, "port": port})


def _state_of(tls: tuple[str, str] | None) -> tuple[Any, ...]:
    """What changes when the files of a certificate are replaced."""
    states: list[Any] = []
    for path in tls or ():
        with contextlib.suppress(OSError):  # while they are replaced
            found = Path(path).stat()
            states.append((found.st_ino, found.st_size, found.st_mtime_ns))
    return tuple(states)


def _load_certificate(tls: tuple[str, str]) -> None:
    """Check that a certificate and its key can be used together."""
    try:
        for path in tls:
            Path(path).open("rb").close()  # the errors of ssl do not name the file
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(*tls, password=lambda: b"")
    except ssl.SSLError as error:
        raise ValueError(
            "--tls-cert and --tls-key must be a certificate in PEM and its private key without a password; "
            f"{tls[0]} and {tls[1]} are not ({error.reason or error})."
        ) from error
    except OSError as error:
        raise ValueError(f"--tls-cert and --tls-key must be files that can be read; {error}.") from error


def serve(
    url: str,
    *,
    host: str = "127.0.0.1",
    port: int = 8520,
    limits: Limits | None = None,
    snapshot_every: int = 20_000,
    log_level: str = "info",
    log_requests: bool = False,
    patience: float = 30.0,
    keep: Policy = Policy(),  # noqa: B008 - it cannot be changed
    tls: tuple[str, str] | None = None,
    otel: bool = False,
    models: Mapping[str, str] | None = None,
) -> None:
    """Run the service until it is stopped.

    Parameters
    ----------
    url : str
        Address of the store.
    host, port
        Address to listen on; without tokens in the store only loopback.
    limits : Limits
        Limits for requests of clients.
    snapshot_every : int
        Number of examples of a model between two snapshots.
    log_level, log_requests
        Amount of logging on standard error.
    patience : float
        Maximum time in seconds for a client to send a body.
    keep : Policy
        Which events are kept.
    tls : (str, str) or None
        Files with a certificate and its key, for HTTPS.
    otel : bool
        Whether to send spans with OpenTelemetry.
    models : mapping
        Files with which models begin that do not exist yet.
    """
    files = _read_files(models or {}, limits or Limits())
    tracing = from_environment() if otel else Tracing()
    if tls is not None:
        _load_certificate(tls)
    store = Store(url)
    try:
        store.prepare()
        tokens = store.tokens()
    except StoreError as error:
        raise OSError(f"the store {store.name} cannot be used: {error}") from error
    if not tokens and not is_loopback(host):
        raise ValueError(
            f"Without tokens the service listens on loopback only, such as 127.0.0.1; got --host {host}. Create a token first: "
            f"rosenblatt token add NAME --rights admin --store {store.name}"
        )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=log_level.upper(), handlers=[handler], force=True)
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    for kind in (signal.SIGTERM, signal.SIGINT):
        signal.signal(
            kind, lambda *_: None
        )  # uvicorn raises the signal again after the shutdown: this is not a failure
    with asyncio.Runner(loop_factory=_loop) as runner:
        runner.run(
            _serve(
                store,
                tokens,
                host,
                port,
                limits or Limits(),
                snapshot_every,
                log_requests,
                patience,
                keep,
                tls,
                tracing,
                files,
            )
        )


def _read_files(models: Mapping[str, str], limits: Limits) -> dict[str, bytes]:
    """The contents of the files with which models begin; a file that cannot be used is refused before the start."""
    files = {}
    for name, path in models.items():
        try:
            check_name(name)
            files[name] = Path(path).read_bytes()
            opened(files[name], limits)
        except Refused as error:
            raise ValueError(f"--model {name}={path}: {error}") from error
    return files


def _allow_connections() -> None:
    """Raise the number of files that this process may open, which is often 1024, as far as it may."""
    with contextlib.suppress(ImportError, OSError, ValueError):  # not every system has these limits
        import resource

        wanted = MOST_CONNECTIONS + 1000
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            most = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop


async def _serve(
    store: Store,
    tokens: list[Token],
    host: str,
    port: int,
    limits: Limits,
    snapshot_every: int,
    log_requests: bool,
    patience: float,
    keep: Policy,
    tls: tuple[str, str] | None,
    tracing: Tracing,
    models: dict[str, bytes],
) -> None:
    service = Service(
        store, limits, tokens=tokens, guarded=not is_loopback(host), snapshot_every=snapshot_every, keep=keep,
        tracing=tracing,
    )  # fmt: skip
    service.files = models
    sys.setswitchinterval(0.001)  # the event loop must not wait long for the writing thread
    _allow_connections()
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)  # requests make many small objects and no cycles
    config = uvicorn.Config(
        App(service, patience=patience, log_requests=log_requests),
        host=host,
        port=port,
        http=_Protocol,
        ws="none",
        proxy_headers=False,
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=20,
        backlog=1024,
        ssl_certfile=None if tls is None else tls[0],
        ssl_keyfile=None if tls is None else tls[1],
    )
    await _Server(config, service, patience, tls).serve()
