"""The server process: uvicorn with the application, logging and shutdown."""

import asyncio
import contextlib
import gc
import logging
import signal
import sys
from typing import Any

import orjson
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from rosenblatt.serve.access import is_loopback
from rosenblatt.serve.app import App
from rosenblatt.serve.events import Limits
from rosenblatt.serve.service import Service
from rosenblatt.serve.store import Store, StoreError, Token

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


MOST_HEADER, MOST_CONNECTIONS = 1 << 14, 4000


class _Protocol(HttpToolsProtocol):
    """A connection that limits what a client can send before it is asked for a token.

    It records since when the rest of a request is missing, or since when the client has not read; `_Server` disconnects clients
    that are too slow.
    """

    owing_since: float | None = None
    unread_since: float | None = None
    _header = 0
    _in_header = True

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.active = self.owing_since = self.loop.time()
        if len(self.connections) > MOST_CONNECTIONS:
            _close_longest_idle(self.connections)

    def data_received(self, data: bytes) -> None:
        """Parse a part of a request; its line, its headers and the trailers of its body are limited together."""
        self.active = self.loop.time()
        if self._in_header:
            self._header += len(data)
            if self._header > MOST_HEADER + len(data) or (self._header > MOST_HEADER and b"\r\n\r\n" not in data):
                self._refuse()
                return
        super().data_received(data)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._header += len(name) + len(value)
        if self._header <= 4 * MOST_HEADER:
            super().on_header(name, value)
        else:
            self._refuse()

    def _refuse(self) -> None:
        if not self.transport.is_closing():
            self.transport.write(b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\n\r\n")
            self.transport.close()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_header, self._header = True, 0
        if self.owing_since is None:
            self.owing_since = self.loop.time()

    def on_headers_complete(self) -> None:
        self._in_header = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self.owing_since = None
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

    def __init__(self, config: uvicorn.Config, service: Service, patience: float) -> None:
        super().__init__(config)
        self._service, self._patience = service, patience

    async def on_tick(self, counter: int) -> bool:
        if counter % 10 == 0:  # once a second
            latest = asyncio.get_running_loop().time() - self._patience
            for connection in tuple(self.server_state.connections):
                assert isinstance(connection, _Protocol)
                since = [time for time in (connection.unread_since, connection.owing_since) if time is not None]
                if since and min(since) < latest:
                    connection.transport.abort()
        return await super().on_tick(counter)

    def handle_exit(self, sig: int, frame: Any) -> None:
        self._service.draining.set()
        super().handle_exit(sig, frame)

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        for server in self.servers:
            for socket in server.sockets:
                host, port = socket.getsockname()[:2]
                logging.getLogger("rosenblatt.serve").info("listening", extra={"host": host, "port": port})


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
    """
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
        runner.run(_serve(store, tokens, host, port, limits or Limits(), snapshot_every, log_requests, patience))


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
) -> None:
    service = Service(store, limits, tokens=tokens, guarded=not is_loopback(host), snapshot_every=snapshot_every)
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
    )
    await _Server(config, service, patience).serve()
