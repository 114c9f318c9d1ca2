"""The store: the event log, from which models can be rebuilt, snapshots for a faster start, tokens, and the lease to write.

SQLite and PostgreSQL use the same SQLAlchemy code. Every group of events is one transaction, which also renews the lease: a
process that has lost the lease cannot commit, whatever its clock shows.
"""

import contextlib
import hashlib
import itertools
import os
import re
import secrets
import socket
import sqlite3
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine, make_url

from rosenblatt.serve.events import Event

FORMAT = 1
RIGHTS = ("read", "learn", "admin")

_tables = sa.MetaData()
_about = sa.Table("rosenblatt_about", _tables, sa.Column("format", sa.Integer, primary_key=True))
_models = sa.Table(
    "rosenblatt_models",
    _tables,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("name", sa.String(64), unique=True, nullable=False),
)
_events = sa.Table(
    "rosenblatt_events",
    _tables,
    sa.Column("model", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("sequence", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("time", sa.Double, nullable=False),
    sa.Column("payload", sa.LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)
_snapshots = sa.Table(
    "rosenblatt_snapshots",
    _tables,
    sa.Column("model", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("sequence", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("part", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("data", sa.LargeBinary, nullable=False),
)
_tokens = sa.Table(
    "rosenblatt_tokens",
    _tables,
    sa.Column("name", sa.String(64), primary_key=True),
    sa.Column("sha256", sa.LargeBinary(32), nullable=False),
    sa.Column("rights", sa.String(16), nullable=False),
    sa.Column("created", sa.Double, nullable=False),
)
_lease = sa.Table(
    "rosenblatt_lease",
    _tables,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("holder", sa.String(64), nullable=False),
    sa.Column("process", sa.String(300), nullable=False),
    sa.Column("beat", sa.BigInteger, nullable=False),
)

_PART = 16 << 20


class StoreError(Exception):
    """The store failed: it is full, read-only or not reachable."""


class LeaseLost(StoreError):  # noqa: N818
    """Another process has the lease to write to this store."""


class Token(NamedTuple):
    """Name, rights and hash of an access token; the token itself is not stored."""

    name: str
    sha256: bytes
    rights: str
    created: float


class Snapshot(NamedTuple):
    """State of a model after an event."""

    model: int
    sequence: int
    data: bytes


@contextlib.contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except sa.exc.DBAPIError as error:
        raise StoreError(" ".join(str(error.orig).split())) from error
    except (sa.exc.SQLAlchemyError, sqlite3.Error) as error:
        raise StoreError(" ".join(str(error).split())) from error


_POSTGRES_OPTIONS = "-c statement_timeout=30000 -c lock_timeout=2000 -c idle_in_transaction_session_timeout=3000"
"""A process that is stopped inside a transaction must not keep the lock of the lease: the database ends the transaction."""


def without_password(url: str) -> str:
    """A URL as it can be shown."""
    url = re.sub(r"(//[^/?#@:]*):.*@", r"\1:***@", url)
    return re.sub(r"(?i)(password=)[^&]*", r"\1***", url)


def _is_locked(error: StoreError) -> bool:
    """Whether another process holds a lock that this one needs."""
    original = getattr(error.__cause__, "orig", None)
    return type(original).__name__ == "LockNotAvailable" or "database is locked" in str(original)


def _process(pid: int | None = None) -> str:
    """Identifier of a process, unique over computers and restarts, even if its number is used again."""
    pid = os.getpid() if pid is None else pid
    host, namespace, start = socket.gethostname(), "", ""
    with contextlib.suppress(OSError, IndexError):
        host += " " + Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        namespace = os.readlink("/proc/self/ns/pid")  # noqa: PTH115 - not a path
        start = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    return f"{host} {namespace} {pid} {start}"


def _is_dead(process: str) -> bool:
    """Whether a process is known to have ended; False for processes on other computers."""
    here, place = _process().split(" "), process.split(" ")
    if len(place) != len(here) or place[:-2] != here[:-2] or not place[-2].isdecimal():
        return False
    pid = int(place[-2])
    if place[-1]:
        return _process(pid) != process
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


class Store:
    """Store in a database.

    Parameters
    ----------
    url : str
        ``sqlite:///file.db`` or ``postgresql://user@host/database``; a plain path is an SQLite file.
    """

    def __init__(self, url: str) -> None:
        try:
            parsed = make_url(url if "://" in url else f"sqlite:///{url}")
        except sa.exc.ArgumentError as error:
            raise ValueError(
                f"--store takes sqlite:///file.db or postgresql://user@host/database; got {without_password(url)!r}."
            ) from error
        kind = parsed.get_backend_name()
        if kind not in ("sqlite", "postgresql") or (kind == "sqlite" and parsed.database in (None, "", ":memory:")):
            raise ValueError(
                "--store takes sqlite:///file.db or postgresql://user@host/database; got "
                f"{without_password(url)!r}. The log must be kept on disk."
            )
        self.name = without_password(parsed.render_as_string(hide_password=True))
        self._file = Path(parsed.database) if kind == "sqlite" and parsed.database else None
        self._inode: tuple[int, int] | None = None
        self.sqlite = kind == "sqlite"
        self.holder = secrets.token_hex(16)
        self._seen: tuple[Any, float] | None = None
        self._connection: Connection | None = None
        options: dict[str, Any] = {"poolclass": sa.pool.NullPool}
        if not self.sqlite:
            parsed = parsed.set(drivername="postgresql+psycopg")
            options["connect_args"] = {
                "connect_timeout": 5, "options": _POSTGRES_OPTIONS,
                "keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3, "tcp_user_timeout": 10000,
            }  # fmt: skip
        self._writer = self._engine(parsed, options, "BEGIN IMMEDIATE")
        self._reader = self._engine(parsed, options, "BEGIN")

    def _engine(self, url: sa.URL, options: dict[str, Any], begin: str) -> Engine:
        engine = sa.create_engine(url, **options)
        if self.sqlite:

            @sa.event.listens_for(engine, "connect")
            def connect(connection: Any, _: Any) -> None:
                connection.isolation_level = None  # SQLAlchemy issues BEGIN, not the driver
                cursor = connection.cursor()
                cursor.execute("PRAGMA busy_timeout = 10000")
                cursor.execute("PRAGMA synchronous = FULL")
                cursor.execute("PRAGMA cache_size = -32000")
                cursor.execute("PRAGMA journal_size_limit = 67108864")
                cursor.close()

            @sa.event.listens_for(engine, "begin")
            def start(connection: Connection) -> None:
                connection.exec_driver_sql(begin)

        return engine

    # ---- set up ----

    def prepare(self) -> None:
        """Create the tables if they do not exist."""
        with _explained():
            if self.sqlite:
                with contextlib.closing(self._writer.raw_connection()) as raw:
                    mode = raw.cursor().execute("PRAGMA journal_mode = WAL").fetchone()[0]
                if mode != "wal":
                    raise StoreError(f"the write-ahead log cannot be switched on (journal mode {mode})")
            with self._writer.begin() as connection:
                if not self.sqlite:
                    connection.execute(sa.text("SELECT pg_advisory_xact_lock(7267311958)"))
                _tables.create_all(connection)
                formats = connection.execute(sa.select(_about.c.format)).scalars().all()
                if not formats:
                    connection.execute(_about.insert().values(format=FORMAT))
                elif formats != [FORMAT]:
                    raise StoreError(f"it has format {formats}, and this version reads {FORMAT}; upgrade rosenblatt")

    def close(self) -> None:
        """Close the connections."""
        self._drop_connection()
        self._writer.dispose()
        self._reader.dispose()

    def _drop_connection(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(sa.exc.SQLAlchemyError):
                connection.invalidate()
                connection.close()

    @contextlib.contextmanager
    def _write(self) -> Iterator[Connection]:
        """Transaction of the writing process, on a connection that stays open."""
        with _explained():
            try:
                if self._connection is None:
                    self._check_file()
                    self._connection = self._writer.connect()
                with self._connection.begin():
                    yield self._connection
                self._check_file()  # what is written to a file without a name is lost
            except BaseException:
                self._drop_connection()
                raise

    def _note_file(self) -> None:
        if self._file is not None:
            found = self._file.stat()
            self._inode = found.st_dev, found.st_ino

    def _check_file(self) -> None:
        """Raise an error if the file of the store was deleted or replaced since the connection was made."""
        if self._file is None:
            return
        before = self._inode
        try:
            self._note_file()
        except OSError as error:
            raise StoreError(f"the file {self._file} does not exist, or no longer; put it back") from error
        if before not in (None, self._inode):
            self._drop_connection()
            raise StoreError(f"the file {self._file} was replaced by another one")

    # ---- the lease ----

    def acquire(self, patience: float) -> bool:
        """Try to get the lease: it is free, its holder has ended, or has not renewed it for `patience` seconds.

        This time is measured with the monotonic clock of this process between two renewals, so clocks need not agree.
        """
        try:
            return self._acquire(patience)
        except StoreError as error:
            if _is_locked(error):  # by the holder
                return False
            raise

    def _acquire(self, patience: float) -> bool:
        with self._write() as connection:
            row = connection.execute(sa.select(_lease).where(_lease.c.id == 1)).one_or_none()
            mine = {"holder": self.holder, "process": _process()}
            if row is None:
                connection.execute(_lease.insert().values(id=1, beat=1, **mine))
                return True
            state, now = (row.holder, row.beat), time.monotonic()
            if self._seen is None or self._seen[0] != state:
                self._seen = state, now
            free = row.holder in ("", self.holder) or _is_dead(row.process) or now - self._seen[1] >= patience
            if not free:
                return False
            won = connection.execute(
                _lease.update()
                .where(_lease.c.id == 1, _lease.c.holder == row.holder, _lease.c.beat == row.beat)
                .values(beat=row.beat + 1, **mine)
            )
            return won.rowcount == 1

    def _renew(self, connection: Connection) -> None:
        renewed = connection.execute(_RENEW, {"me": self.holder})
        if renewed.rowcount != 1:
            raise LeaseLost("another process has taken over this store")

    def release(self) -> None:
        """Give up the lease, so that another process does not have to wait."""
        with self._write() as connection:
            connection.execute(
                _lease.update().where(_lease.c.holder == self.holder).values(holder="", beat=_lease.c.beat + 1)
            )

    # ---- write ----

    def append(
        self, events: Sequence[Event], snapshots: Sequence[Snapshot] = (), models: Sequence[tuple[int, str]] = ()
    ) -> None:
        """Write a group, all or nothing; an empty group renews the lease."""
        with self._write() as connection:
            self._renew(connection)
            if models:
                connection.execute(_models.insert(), [{"number": number, "name": name} for number, name in models])
            if events:
                self._insert(connection, events)
            for snapshot in snapshots:
                self._keep(connection, snapshot)

    def _insert(self, connection: Connection, events: Sequence[Event]) -> None:
        """Insert many rows in one statement; row by row, this thread and the event loop would compete for the interpreter."""
        mark = "?" if self.sqlite else "%s"
        row = f"({', '.join([mark] * len(Event._fields))})"
        for start in range(0, len(events), _ROWS):
            some = events[start : start + _ROWS]
            values = tuple(itertools.chain.from_iterable(some))
            connection.exec_driver_sql(f"{_INSERT} {', '.join([row] * len(some))}", values)

    def _keep(self, connection: Connection, snapshot: Snapshot) -> None:
        connection.execute(_snapshots.delete().where(_snapshots.c.model == snapshot.model))
        parts = range(0, len(snapshot.data), _PART)
        rows = [
            {
                "model": snapshot.model,
                "sequence": snapshot.sequence,
                "part": part,
                "data": snapshot.data[at : at + _PART],
            }
            for part, at in enumerate(parts)
        ]
        connection.execute(_snapshots.insert(), rows)

    # ---- read ----

    @contextlib.contextmanager
    def _read(self) -> Iterator[Connection]:
        self._check_file()
        with _explained(), self._reader.connect() as connection:
            yield connection

    def models(self) -> list[tuple[int, str]]:
        """Number and name of every model."""
        with self._read() as connection:
            return [(row.number, row.name) for row in connection.execute(sa.select(_models).order_by(_models.c.number))]

    def heads(self) -> list[tuple[int, str, int]]:
        """Number, name and last event of every model."""
        last = sa.select(sa.func.max(_events.c.sequence)).where(_events.c.model == _models.c.number).scalar_subquery()
        query = sa.select(_models.c.number, _models.c.name, last.label("last")).order_by(_models.c.number)
        with self._read() as connection:
            return [(row.number, row.name, row.last or 0) for row in connection.execute(query)]

    def snapshot(self, model: int) -> Snapshot | None:
        """Newest snapshot of a model."""
        with self._read() as connection:
            query = sa.select(_snapshots.c.sequence, _snapshots.c.data).where(_snapshots.c.model == model)
            rows = connection.execute(query.order_by(_snapshots.c.part)).all()
        return Snapshot(model, rows[0].sequence, b"".join(row.data for row in rows)) if rows else None

    def events(self, model: int, after: int = 0, most: int | None = None) -> Iterator[Event]:
        """Events of a model after a number, in order, read a few thousand at a time."""
        while most is None or most > 0:
            size = 5000 if most is None else min(most, 5000)
            query = sa.select(_events).where(_events.c.model == model, _events.c.sequence > after)
            with self._read() as connection:
                rows = connection.execute(query.order_by(_events.c.sequence).limit(size)).all()
            for row in rows:
                yield Event(row.model, row.sequence, row.kind, row.time, row.payload)
            if len(rows) < size:
                return
            after = rows[-1].sequence
            most = None if most is None else most - size

    # ---- tokens ----

    def tokens(self) -> list[Token]:
        """All tokens."""
        with self._read() as connection:
            rows = connection.execute(sa.select(_tokens).order_by(_tokens.c.name))
            return [Token(row.name, bytes(row.sha256), row.rights, row.created) for row in rows]

    def add_token(self, name: str, rights: str) -> str:
        """Make a token with these rights and return it; only its hash is stored."""
        if rights not in RIGHTS:
            raise ValueError(f"The rights of a token must be one of {', '.join(RIGHTS)}; got {rights!r}.")
        secret = f"rb_{secrets.token_urlsafe(32)}"
        row = {
            "name": name,
            "sha256": hashlib.sha256(secret.encode()).digest(),
            "rights": rights,
            "created": time.time(),
        }
        with _explained(), self._writer.begin() as connection:
            try:
                connection.execute(_tokens.insert().values(**row))
            except sa.exc.IntegrityError as error:
                raise ValueError(
                    f"There already is a token named {name!r}. Choose another name, or revoke it first."
                ) from error
        return secret

    def revoke_token(self, name: str) -> bool:
        """Remove a token; returns whether it existed."""
        with _explained(), self._writer.begin() as connection:
            return connection.execute(_tokens.delete().where(_tokens.c.name == name)).rowcount == 1


_RENEW = _lease.update().where(_lease.c.id == 1, _lease.c.holder == sa.bindparam("me")).values(beat=_lease.c.beat + 1)
_INSERT = f"INSERT INTO {_events.name} ({', '.join(Event._fields)}) VALUES"
_ROWS = 64
