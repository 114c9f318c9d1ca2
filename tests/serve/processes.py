"""Real processes for tests: the service, PostgreSQL on a free port, and a client that is fast enough for load tests."""

import asyncio
import contextlib
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import deque
from pathlib import Path

import rosenblatt
from tests.forked import Forked

SOURCE = Path(rosenblatt.__file__).parent.parent
FORK = False
"""Whether services are forked from a process with all imports. The tests and the kills of the benchmarks set
this; the other benchmarks measure real starts."""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """`rosenblatt serve` as a separate process."""

    def __init__(self, store, *options, port=0, wait="ready", prefix=(), **popen):
        self.store, self.port, self.lines = store, port, deque(maxlen=2000)
        arguments = ["serve", "--store", store, "--port", str(port), *map(str, options)]
        if FORK and not prefix and not popen:
            self.process = Forked("rosenblatt.cli", arguments, read_errors=True)
        else:
            self.process = subprocess.Popen(
                [*prefix, sys.executable, "-m", "rosenblatt.cli", *arguments],
                stderr=subprocess.PIPE,
                text=True,
                env={**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONWARNINGS": "default"},
                **popen,
            )
        self.started = time.monotonic()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.ready = self.wait_for(wait) if wait else None

    def _read(self):
        for line in self.process.stderr:
            self.lines.append(line)
            if '"listening"' in line:
                self.port = json.loads(line)["port"]

    def wait_for(self, state, seconds=60):
        for _ in range(100 * seconds):  # counts iterations, not time: a busy machine may stop both
            if self.process.poll() is not None:
                raise RuntimeError("the service ended:\n" + "".join(self.lines))
            if self.port and self.state() == state:
                return time.monotonic() - self.started
            time.sleep(0.01)
        raise TimeoutError(f"not {state}: {self.state()}\n" + "".join(self.lines))

    def state(self):
        try:
            return self.get("/healthz")[1]["state"]
        except OSError:
            return None

    @property
    def address(self):
        return f"http://127.0.0.1:{self.port}"

    def request(self, method, path, body=None, token=None, kind="application/json", timeout=300):
        """Status and answer; JSON lines as a list."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"Content-Type": kind} if data is not None else {}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        request = urllib.request.Request(self.address + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                status, content, media = answer.status, answer.read(), answer.headers["Content-Type"]
        except urllib.error.HTTPError as error:
            with error:
                status, content, media = error.code, error.read(), error.headers["Content-Type"]
        if media == "application/json":
            return status, json.loads(content)
        if media == "application/x-ndjson":
            return status, [json.loads(line) for line in content.splitlines()]
        return status, content

    def get(self, path, **options):
        return self.request("GET", path, **options)

    def post(self, path, body=None, **options):
        return self.request("POST", path, b"" if body is None else body, **options)

    def cpu(self):
        """Seconds of processor time so far."""
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except FileNotFoundError:
            return None
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def kill(self):
        self.process.kill()
        self._end()

    def stop(self, seconds=30):
        """Ask the service to end; return the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(seconds)
        self._end()
        return code

    def _end(self):
        self.process.wait()
        self._reader.join(5)
        self.process.stderr.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.kill()
        elif not self.process.stderr.closed:
            self._end()


def postgres_programs():
    """The folder of the PostgreSQL programs on Debian, or None."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), reverse=True)
    if found:
        return found[0].parent
    path = shutil.which("initdb")
    return Path(path).resolve().parent if path else None


def _runs(pid):
    """Whether a process has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Postgres:
    """A temporary PostgreSQL server on loopback with its own folder."""

    def __init__(self):
        self.programs = postgres_programs()
        self.folder = Path(tempfile.mkdtemp(prefix="rosenblatt-pg-"))
        self.user = None
        if os.geteuid() == 0:  # it refuses to run as root
            names = {entry.pw_name for entry in pwd.getpwall()}
            self.user = "postgres" if "postgres" in names else "nobody"
            shutil.chown(self.folder, self.user)
        self.port = free_port()
        self._run("initdb", "-D", str(self.folder / "data"), "-U", "tester", "-A", "trust", "-E", "UTF8", "--no-sync")
        self.start()

    @property
    def url(self):
        return f"postgresql://tester@127.0.0.1:{self.port}/postgres"

    def _run(self, program, *arguments):
        command = [str(self.programs / program), *arguments]
        options = {"user": self.user, "group": pwd.getpwnam(self.user).pw_gid} if self.user else {}
        subprocess.run(
            command,
            check=True,
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=90,
            **options,
        )

    def start(self):
        settings = f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1 -c max_connections=50 -c shared_buffers=32MB"
        settings += " -c recovery_init_sync_method=syncfs"  # after a kill; each of a thousand files takes longer
        self._run(
            "pg_ctl", "-D", str(self.folder / "data"), "-l", str(self.folder / "log"), "-o", settings, "-w", "start"
        )

    def stop(self, mode="fast"):
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-m", mode, "-w", "stop")

    def kill(self):
        """Kill all its processes with signal 9."""
        lock = self.folder / "data/postmaster.pid"
        main = int(lock.read_text().split()[0])
        os.kill(main, signal.SIGSTOP)  # so that it starts no more
        parents = {}
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        pids = [main, *(pid for pid, parent in parents.items() if parent == main)]
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        while any(_runs(pid) for pid in pids):
            time.sleep(0.002)
        for file in (lock, *self.folder.glob(".s.PGSQL.*")):
            file.unlink()  # they are respected as long as the parent has not waited for the dead process

    def sql(self, text, database="postgres"):
        import psycopg

        with psycopg.connect(f"postgresql://tester@127.0.0.1:{self.port}/{database}", autocommit=True) as connection:
            cursor = connection.execute(text)
            return cursor.fetchall() if cursor.description else None

    def database(self, name):
        """The address of a new, empty database."""
        self.sql(f'CREATE DATABASE "{name}"')
        return f"postgresql://tester@127.0.0.1:{self.port}/{name}"

    def close(self):
        with contextlib.suppress(subprocess.SubprocessError):
            self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)


class Connection(asyncio.Protocol):
    """A keep-alive connection that sends one request at a time and stores the answer; a hundred times cheaper than urllib."""

    def __init__(self, token=None):
        self.buffer, self.waiting = b"", None
        self.headers = f"Authorization: Bearer {token}\r\n".encode() if token else b""

    @classmethod
    async def open(cls, port, token=None):
        _, self = await asyncio.get_running_loop().create_connection(lambda: cls(token), "127.0.0.1", port)
        return self

    def connection_made(self, transport):
        self.transport = transport

    def connection_lost(self, error):
        if self.waiting is not None and not self.waiting.done():
            self.waiting.set_exception(ConnectionResetError("the connection was lost"))

    def data_received(self, data):
        self.buffer = self.buffer + data if self.buffer else data
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        place = self.buffer.find(b"content-length: ", 0, end) + 16
        length = int(self.buffer[place : self.buffer.find(b"\r", place)])
        if len(self.buffer) >= end + 4 + length:
            status, body = int(self.buffer[9:12]), self.buffer[end + 4 : end + 4 + length]
            self.buffer = self.buffer[end + 4 + length :]
            self.waiting.set_result((status, body))

    async def post(self, path, body, kind=b"application/json"):
        if self.transport.is_closing():
            raise ConnectionResetError("the connection was lost")
        self.waiting = asyncio.get_running_loop().create_future()
        self.transport.write(
            b"POST %s HTTP/1.1\r\nHost: localhost\r\n%sContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s"
            % (path, self.headers, kind, len(body), body)
        )
        return await self.waiting

    def close(self):
        self.transport.close()
