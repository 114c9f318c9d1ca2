"""Hostile clients of the service, all at the same time: `python -m benchmarks.hostile PORT SECONDS`.

A process of its own at the lowest priority, because hostile clients have computers of their own. Those in the first list below
need a token with the right to learn, and to read examples; tokens are in the environment. Those in the second list need none, and
connect from other addresses of the loopback interface. Counts of the answers, by status, are printed as JSON.
"""

import asyncio
import contextlib
import json
import os
import random
import socket
import sys
import time

from tests.serve.processes import Connection

ROWS, NAMES = 20, 10_000
"""Examples and names in each, with which a model of 200,000 features begins."""

VICTIMS = {"flooded": "averaged-perceptron", "flooded-winnow": "winnow", "streamed": "perceptron"}
"""Models that are attacked, with their learners."""
VICTIMS |= {f"padded{n}": "perceptron" for n in range(7)}

LINES = b"application/x-ndjson"
NO_TOKEN, NOT_READ = "127.0.0.2", "127.0.0.3"
"""Addresses of clients without a token."""


def features(row: int) -> bytes:
    """10,000 features of an example."""
    return json.dumps({f"a long name of a feature {row}.{n}": 1 for n in range(NAMES)}).encode()


class Hostile:
    """Clients that attack a service until a time.

    Parameters
    ----------
    port : int
        Port of the service.
    seconds : float
        Duration.
    token : str
        Token with the right to learn and to read examples.
    slow : str
        Another one, for those who send slowly: if these keep a client from its share, it should be theirs.
    admin : str
        Token with which models are cleared, so that they can be flooded again.
    """

    def __init__(self, port: int, seconds: float, token: str, slow: str, admin: str) -> None:
        self.port, self.token, self.slow, self.admin = port, token, slow, admin
        self.stop = time.monotonic() + seconds
        self.answers: dict[str, int] = {}

    def _count(self, what: object) -> None:
        self.answers[str(what)] = self.answers.get(str(what), 0) + 1

    def _left(self, most: float) -> float:
        """Seconds until the end, or fewer."""
        return max(0.0, min(most, self.stop - time.monotonic()))

    async def run(self) -> None:
        """Run all of them."""
        deep = b'{"features":{"x":%s},"label":"a"}' % (b"[" * 1000 + b"]" * 1000)
        request = (
            b"%s /v1/models/%s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + self.token.encode() + b"\r\n"
        )
        slow = request % (b"POST", b"streamed/learn") + b"Content-Length: 8388608\r\n\r\n{"
        stream = request % (b"GET", b"streamed/events") + b"Last-Event-ID: 0\r\n\r\n"
        download = request % (b"GET", b"flooded/model") + b"\r\n"
        with_token = [
            self._posts(b"streamed/learn", [deep], pause=0.01),
            self._posts(b"streamed/predict", [b'{"features":{"x":1}}\n' + deep], LINES, 0.01),
            self._padded(), self._streamed(), self._flood("flooded"), self._flood("flooded-winnow"),
            *(self._unread(stream, 20.0) for _ in range(20)),
            *(self._unread(download, 20.0) for _ in range(32)),
            *(self._unread(slow, 60.0) for _ in range(9)),
        ]  # fmt: skip
        without_token = [
            self._endless(b"GET /livez HTTP/1.1\r\nX: ", b"x" * 65536),
            self._endless(b"GET /livez HTTP/1.1\r\n", b"X: 1\r\n" * 8000),
            *(self._pipelined(b"/x") for _ in range(50)),
            *(self._pipelined(b"/openapi.json") for _ in range(10)),
            self._idle(2000),
        ]
        await asyncio.gather(*with_token, *without_token)

    # ---- with a token ----

    async def _posts(
        self, path: bytes, bodies: list[bytes], kind: bytes = b"application/json", pause: float = 0.0
    ) -> None:
        """Post these bodies again and again."""
        while self._left(1.0):
            with contextlib.suppress(OSError, ValueError):
                connection = await Connection.open(self.port, self.token)
                while self._left(1.0):
                    for body in bodies:
                        await self._post(connection, path, body, kind)
                        await asyncio.sleep(pause)
            self._count("closed")
            await asyncio.sleep(0.05)

    async def _post(self, connection: Connection, path: bytes, body: bytes, kind: bytes) -> int:
        status, _ = await asyncio.wait_for(connection.post(b"/v1/models/" + path, body, kind), self._left(60.0) + 1.0)
        self._count(status)
        return status

    async def _padded(self) -> None:
        """A prediction of 7 MB every two seconds, on several models; none is revealed."""
        for number in range(1_000_000):
            with contextlib.suppress(OSError, ValueError):
                connection = await Connection.open(self.port, self.token)
                words = json.dumps(["w" * 900 + str(n % 10) for n in range(7500)]).encode()
                body = b'{"id":"%d.%d","features":{"x":%s}}' % (random.randrange(1 << 40), number, words)
                await self._post(connection, b"padded%d/predict" % (number % 7), body, b"application/json")
                connection.close()
            if not self._left(1.0):
                return
            await asyncio.sleep(self._left(2.0))

    async def _streamed(self) -> None:
        """40 examples of 7 MB in the log, for those who read the stream of events from its beginning."""
        words = json.dumps(["w" * 900] * 7500).encode()
        body = b'{"features":{"x":%s},"label":"a"}' % words
        for _ in range(40):
            if self._left(1.0):
                with contextlib.suppress(OSError, ValueError):
                    connection = await Connection.open(self.port, self.token)
                    await self._post(connection, b"streamed/learn", body, b"application/json")
                    connection.close()
                await asyncio.sleep(self._left(1.0))

    async def _flood(self, model: str) -> None:
        """New labels for a model that begins with 200,000 features; every minute it is cleared and begins again."""
        path = f"{model}/".encode()
        while self._left(1.0):
            with contextlib.suppress(OSError, ValueError):
                admin = await Connection.open(self.port, self.admin)
                await self._post(admin, path + b"clear", b"", b"application/json")
                for row in range(ROWS):
                    body = b'{"features":%s,"label":"%d"}' % (features(row), row % 2)
                    while (
                        self._left(1.0) and await self._post(admin, path + b"learn", body, b"application/json") == 503
                    ):
                        await asyncio.sleep(0.1)
                admin.close()
                connection = await Connection.open(self.port, self.token)
                again = time.monotonic() + 60.0
                for number in range(1_000_000):
                    if time.monotonic() > again or not self._left(1.0):
                        break
                    labels = (b'{"features":{"x":1},"label":"%d.%d"}' % (number, k) for k in range(100))
                    await self._post(connection, path + b"learn", b"\n".join(labels), LINES)
                    await asyncio.sleep(0.05)
                connection.close()
            await asyncio.sleep(0.05)

    async def _unread(self, request: bytes, seconds: float) -> None:
        """Send this, read nothing, and begin again after some time."""
        while self._left(1.0):
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1024)
                writer.transport.pause_reading()  # type: ignore[attr-defined]
                writer.write(request)
                await asyncio.sleep(self._left(seconds))
                writer.transport.abort()
            await asyncio.sleep(0.05)

    # ---- without a token ----

    async def _endless(self, start: bytes, more: bytes) -> None:
        """A request whose headers do not end."""
        while self._left(1.0):
            with contextlib.suppress(OSError, TimeoutError):
                _, writer = await asyncio.open_connection("127.0.0.1", self.port, local_addr=(NO_TOKEN, 0))
                writer.write(start)
                while self._left(1.0):
                    writer.write(more)
                    await asyncio.wait_for(writer.drain(), 5)
                writer.transport.abort()
            await asyncio.sleep(0.01)

    async def _pipelined(self, path: bytes) -> None:
        """Many requests on one connection, whose answers are not read."""
        requests = b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path * 1300
        loop = asyncio.get_running_loop()
        while self._left(1.0):
            with contextlib.suppress(OSError, TimeoutError), socket.socket() as client:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
                client.bind((NO_TOKEN, 0))
                client.setblocking(False)
                await loop.sock_connect(client, ("127.0.0.1", self.port))
                for _ in range(200):
                    await asyncio.wait_for(loop.sock_sendall(client, requests), 3)
                await asyncio.sleep(self._left(10.0))
            await asyncio.sleep(0.1)

    async def _idle(self, count: int) -> None:
        """Connections on which nothing is sent."""
        writers = []
        for _ in range(count):
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", self.port, local_addr=(NOT_READ, 0))
                writers.append(writer)
        await asyncio.sleep(self._left(1e9))
        for writer in writers:
            writer.transport.abort()


def main() -> None:
    """Attack the service at a port of this machine."""
    os.nice(19)
    tokens = (os.environ[name] for name in ("TOKEN", "SLOW", "ADMIN"))
    hostile = Hostile(int(sys.argv[1]), float(sys.argv[2]), *tokens)
    asyncio.run(hostile.run())
    print(json.dumps(dict(sorted(hostile.answers.items()))))


if __name__ == "__main__":
    main()
