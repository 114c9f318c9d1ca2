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
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine, make_url

from rosenblatt.serve import schema
from rosenblatt.serve.events import Event
from rosenblatt.serve.retention import Mark, Removal

RIGHTS = ("read", "learn", "admin")

PART = 1 << 20
"""Bytes of a part of a snapshot: a larger one would delay the events that are written after it."""

ROWS, READ = 5000, 4 << 20
"""Number of events that are read at a time, and about their bytes."""

DELETED, SWEPT = "~", 5000
"""The first character of the name of a deleted model, and the number of its events that one transaction removes."""

_FIRST, _END = 1_000_000, 2_000_000
"""Numbers of parts in the table: those of a snapshot that is written in several transactions start at the first, and a row with
the second plus their count marks its end. Parts with smaller numbers were written in one transaction."""


class StoreError(Exception):
    """The store failed: it is full, read-only or not reachable."""


class LeaseLost(StoreError):  # noqa: N818
    """Another process has the lease to write to this store."""


class Token(NamedTuple):
    """An access token without its secret text, of which only the hash is stored.

    Parameters
    ----------
    name, sha256, rights, created
        Name, hash, rights and time of creation.
    models : tuple of str
        Patterns of the names of the models that it is for; none for all models.
    examples : bool
        Whether it may read raw examples; one with the right to administer always may.
    expires : float or None
        Time after which it is refused.
    rate : float or None
        Maximum number of requests and lines per second; None for the one of the service.
    quota : int or None
        Maximum number of lines to predict, reveal or learn per day.
    """

    name: str
    sha256: bytes
    rights: str
    created: float
    models: tuple[str, ...] = ()
    examples: bool = False
    expires: float | None = None
    rate: float | None = None
    quota: int | None = None


Content = bytes | memoryview
"""Bytes, or memory that holds them."""


class Snapshot(NamedTuple):
    """State of a model after an event.

    Parameters
    ----------
    model, sequence, data
        Number of the model, its last event, and the state.
    time, bytes
        Time of that event, and the bytes of all events until then.
    keep : tuple of int
        Older snapshots that stay; the others are removed.
    """

    model: int
    sequence: int
    data: Content
    time: float = 0.0
    bytes: int = 0
    keep: tuple[int, ...] = ()

    def parts(self) -> "Iterator[Part]":
        """The snapshot in parts that can be written one by one."""
        count = -(-len(self.data) // PART)
        for number in range(count):
            data = self.data[number * PART : (number + 1) * PART]
            yield Part(number, data, number + 1 == count, self._replace(data=b""))


class Part(NamedTuple):
    """Part of a snapshot; the snapshot `of` counts when its last part is there, and then replaces those before."""

    number: int
    data: Content
    last: bool
    of: Snapshot


@contextlib.contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except sa.exc.DBAPIError as error:
        raise StoreError(" ".join(str(error.orig).split())) from error
    except (sa.exc.SQLAlchemyError, sqlite3.Error, schema.WrongFormat) as error:
        raise StoreError(" ".join(str(error).split())) from error


_POSTGRES_OPTIONS = "-c statement_timeout=30000 -c lock_timeout=2000 -c idle_in_transaction_session_timeout=3000"
"""A process that is stopped inside a transaction must not keep the lock of the lease: the database ends the transaction."""


def without_password(url: str) -> str:
    """A URL as it can be shown."""
    url = re.sub(r"(\w:/*[^/?#@:]*):.*@", r"\1:***@", url)
    return re.sub(r"(?i)(password=)[^&]*", r"\1***", url)


def _is_locked(error: StoreError) -> bool:
    """Whether another process holds a lock that this one needs."""
    original = getattr(error.__cause__, "orig", None)
    return type(original).__name__ == "LockNotAvailable" or "database is locked" in str(original)


def _process(pid: int | None = None) -> str:
    """Identifier of a process, unique over computers and restarts, even if its number is used again.

    One that has ended and that its parent has not asked for yet has no start time, so it differs from itself when it ran.
    """
    pid = os.getpid() if pid is None else pid
    host, namespace, start = socket.gethostname(), "", ""
    with contextlib.suppress(OSError, IndexError):
        host += " " + Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        namespace = os.readlink("/proc/self/ns/pid")  # noqa: PTH115 - not a path
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        start = "" if fields[0] == "Z" else fields[19]
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
            if re.match(r"\w\w+(\+\w+)?:/(?!/)", url):
                raise ValueError("there is a slash too few")
            parsed = make_url(url if "://" in url else f"sqlite:///{url}")
        except (sa.exc.ArgumentError, ValueError) as error:  # a port that is no number gives the second
            raise ValueError(
                f"--store takes sqlite:///file.db or postgresql://user@host/database; got {without_password(url)!r}."
            ) from error
        if "@" in (parsed.host or ""):
            raise ValueError(
                "A name or password in --store must not have the characters @, / and :, which are written %40, %2F and %3A; got "
                f"{without_password(url)!r}."
            )
        kind = parsed.get_backend_name()
        if kind not in ("sqlite", "postgresql") or (kind == "sqlite" and parsed.database in (None, "", ":memory:")):
            raise ValueError(
                "--store takes sqlite:///file.db or postgresql://user@host/database; got "
                f"{without_password(url)!r}. The log must be kept on disk."
            )
        self.name = without_password(parsed.render_as_string(hide_password=True))
        self.file = Path(parsed.database) if kind == "sqlite" and parsed.database else None
        self._inode: tuple[int, int] | None = None
        self.sqlite = kind == "sqlite"
        self.holder = secrets.token_hex(16)
        self._seen: tuple[Any, float] | None = None
        self._connection: Connection | None = None
        self._frozen: Connection | None = None
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

    def prepare(self) -> int | None:
        """Create the tables, or bring those of an earlier version up to date; returns the format before."""
        with _explained():
            if self.sqlite:
                with contextlib.closing(self._writer.raw_connection()) as raw:
                    mode = raw.cursor().execute("PRAGMA journal_mode = WAL").fetchone()[0]
                if mode != "wal":
                    raise StoreError(f"the write-ahead log cannot be switched on (journal mode {mode})")
            with self._writer.begin() as connection:
                if not self.sqlite:
                    connection.execute(sa.text("SELECT pg_advisory_xact_lock(7267311958)"))
                return schema.migrate(connection)

    def finish_file(self) -> None:
        """Leave one SQLite file without a write-ahead log, to be copied or moved."""
        self._drop_connection()
        with _explained(), contextlib.closing(self._writer.raw_connection()) as raw:
            raw.cursor().execute("PRAGMA journal_mode = DELETE")

    def damage(self) -> list[str]:
        """Problems that SQLite finds in its file; PostgreSQL checks its pages itself."""
        if not self.sqlite:
            return []
        with self._read() as connection:
            found = connection.exec_driver_sql("PRAGMA quick_check(20)").scalars().all()
        return [] if list(found) == ["ok"] else list(found)

    def check_format(self) -> None:
        """Raise an error if this version cannot read the store as it is."""
        with self._read() as connection:
            schema.check(connection)

    def close(self) -> None:
        """Close the connections."""
        self._drop_connection()
        if self._frozen is not None:
            self._frozen.close()
            self._frozen = None
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
        if self.file is not None:
            found = self.file.stat()
            self._inode = found.st_dev, found.st_ino

    def _check_file(self) -> None:
        """Raise an error if the file of the store was deleted or replaced since the connection was made."""
        if self.file is None:
            return
        before = self._inode
        try:
            self._note_file()
        except OSError as error:
            raise StoreError(f"the file {self.file} does not exist, or no longer; put it back") from error
        if before not in (None, self._inode):
            self._drop_connection()
            raise StoreError(f"the file {self.file} was replaced by another one")

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
            row = connection.execute(sa.select(schema.lease).where(schema.lease.c.id == 1)).one_or_none()
            mine = {"holder": self.holder, "process": _process()}
            if row is None:
                connection.execute(schema.lease.insert().values(id=1, beat=1, **mine))
                return True
            state, now = (row.holder, row.beat), time.monotonic()
            if self._seen is None or self._seen[0] != state:
                self._seen = state, now
            free = row.holder in ("", self.holder) or _is_dead(row.process) or now - self._seen[1] >= patience
            if not free:
                return False
            won = connection.execute(
                schema.lease.update()
                .where(schema.lease.c.id == 1, schema.lease.c.holder == row.holder, schema.lease.c.beat == row.beat)
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
                schema.lease.update()
                .where(schema.lease.c.holder == self.holder)
                .values(holder="", beat=schema.lease.c.beat + 1)
            )

    # ---- write ----

    def append(
        self,
        events: Sequence[Event],
        snapshots: Sequence[Snapshot] = (),
        models: Sequence[tuple[int, str]] = (),
        part: Part | None = None,
        deleted: Sequence[int] = (),
        renamed: Sequence[tuple[int, str]] = (),
    ) -> None:
        """Write a group, all or nothing; an empty group renews the lease."""
        with self._write() as connection:
            self._renew(connection)
            for number in deleted:  # first, so that its name is free; its events are removed later, a few at a time
                gone = schema.models.update().where(schema.models.c.number == number)
                connection.execute(gone.values(name=f"{DELETED}{number}"))
            for number, name in renamed:
                connection.execute(schema.models.update().where(schema.models.c.number == number).values(name=name))
            if models:
                rows = [
                    {"number": number, "name": f"{DELETED}{number}" if number in deleted else name}
                    for number, name in models
                ]
                connection.execute(schema.models.insert(), rows)
            if events:
                self._insert(connection, events)
            for snapshot in snapshots:
                for piece in snapshot.parts():
                    self._keep(connection, piece)
            if part is not None:
                self._keep(connection, part)

    def _insert(self, connection: Connection, events: Sequence[Event]) -> None:
        """Insert many rows in one statement; row by row, this thread and the event loop would compete for the interpreter."""
        mark = "?" if self.sqlite else "%s"
        row = f"({', '.join([mark] * len(Event._fields))})"
        for start in range(0, len(events), _ROWS):
            some = events[start : start + _ROWS]
            values = tuple(itertools.chain.from_iterable(some))
            connection.exec_driver_sql(f"{_INSERT} {', '.join([row] * len(some))}", values)

    def _keep(self, connection: Connection, part: Part) -> None:
        of, table = part.of, schema.snapshots.c
        row = {"model": of.model, "sequence": of.sequence}
        if part.number == 0:  # of a snapshot that was not finished
            unfinished = (table.model == of.model) & (table.sequence == of.sequence)
            connection.execute(schema.snapshots.delete().where(unfinished))
        connection.execute(schema.snapshots.insert().values(**row, part=_FIRST + part.number, data=part.data))
        if part.last:
            connection.execute(schema.snapshots.insert().values(**row, part=_END + part.number + 1, data=b""))
            # The others do not count from now on. Only their last rows go now: `sweep_parts` removes the large ones later.
            for kept, small in ((schema.snapshots, table.part >= _END), (schema.marks, sa.true())):
                others = (kept.c.model == of.model) & kept.c.sequence.not_in((of.sequence, *of.keep))
                connection.execute(kept.delete().where(others & small))
            same = (schema.marks.c.model == of.model) & (schema.marks.c.sequence == of.sequence)
            connection.execute(schema.marks.delete().where(same))
            connection.execute(schema.marks.insert().values(**row, time=of.time, bytes=of.bytes))

    def cut(self, removal: Removal) -> None:
        """Remove events of a model, and the snapshots before that with which its log begins from now on."""
        with self._write() as connection:
            self._renew(connection)
            for table in (schema.snapshots, schema.marks):
                earlier = (table.c.model == removal.model) & (table.c.sequence < removal.until)
                connection.execute(table.delete().where(earlier))
            sequence, last = schema.events.c.sequence, min(removal.until, removal.after + removal.rows)
            some = (schema.events.c.model == removal.model) & (sequence > removal.after) & (sequence <= last)
            connection.execute(schema.events.delete().where(some))

    def sweep_parts(self) -> bool:
        """Remove a part of a snapshot that was replaced; returns whether there was one."""
        part, mark, last = schema.snapshots.c, schema.marks.c, schema.marks.alias().c
        newest = sa.select(sa.func.max(last.sequence)).where(last.model == part.model).scalar_subquery()
        counts = sa.exists().where((mark.model == part.model) & (mark.sequence == part.sequence))
        query = sa.select(part.model, part.sequence, part.part).where((part.sequence < newest) & ~counts).limit(1)
        with self._read() as connection:
            found = connection.execute(query).first()
        if found is None:
            return False
        with self._write() as connection:
            self._renew(connection)
            here = (part.model == found.model) & (part.sequence == found.sequence) & (part.part == found.part)
            connection.execute(schema.snapshots.delete().where(here))
        return True

    def sweep(self) -> bool:
        """Remove a few thousand events of a deleted model; returns whether there were any."""
        with self._read() as connection:
            query = sa.select(schema.models.c.number).where(schema.models.c.name.startswith(DELETED))
            for number in connection.execute(query).scalars().all():
                first = connection.execute(
                    sa.select(sa.func.min(schema.events.c.sequence)).where(schema.events.c.model == number)
                ).scalar()
                if first is not None:
                    break
            else:
                return False
        with self._write() as transaction:
            self._renew(transaction)
            for table in (schema.snapshots, schema.marks):
                transaction.execute(table.delete().where(table.c.model == number))
            some = (schema.events.c.model == number) & (schema.events.c.sequence < first + SWEPT)
            transaction.execute(schema.events.delete().where(some))
        return True

    # ---- read ----

    def freeze(self) -> None:
        """Read the store as it is now until it is closed, whatever is written in the meantime."""
        self._check_file()
        with _explained():
            self._frozen = self._reader.connect()
            if not self.sqlite:
                self._frozen.execution_options(isolation_level="REPEATABLE READ")
            self._frozen.begin()
            if not self.sqlite:
                for name in ("statement_timeout", "idle_in_transaction_session_timeout"):
                    self._frozen.execute(sa.text(f"SET LOCAL {name} = 0"))
            self._frozen.execute(sa.select(schema.about)).all()  # the first reading sets the moment

    @contextlib.contextmanager
    def _read(self) -> Iterator[Connection]:
        if self._frozen is not None:
            with _explained():
                yield self._frozen
            return
        self._check_file()
        with _explained(), self._reader.connect() as connection:
            yield connection

    def models(self) -> list[tuple[int, str]]:
        """Number and name of every model."""
        return [(number, name) for number, name, _ in self.heads()]

    def heads(self) -> list[tuple[int, str, int]]:
        """Number, name and last event of every model that was not deleted."""
        last, marked = _of_model(schema.events, sa.func.max), _of_model(schema.marks, sa.func.max)
        query = sa.select(schema.models.c.number, schema.models.c.name, last, marked).order_by(schema.models.c.number)
        with self._read() as connection:
            rows = connection.execute(query.where(~schema.models.c.name.startswith(DELETED))).all()
        return [(number, name, max(last or 0, marked or 0)) for number, name, last, marked in rows]

    def firsts(self) -> dict[int, int | None]:
        """First event of every model in the log; None if all of them were removed."""
        with self._read() as connection:
            rows = connection.execute(sa.select(schema.models.c.number, _of_model(schema.events, sa.func.min))).all()
        return {number: first for number, first in rows}  # noqa: C416 - rows are no pairs for mypy

    def marks(self) -> dict[int, list[Mark]]:
        """The complete snapshots of every model, the oldest first; those of the first format are not among them."""
        table = schema.marks.c
        with self._read() as connection:
            rows = connection.execute(sa.select(schema.marks).order_by(table.model, table.sequence)).all()
        found: dict[int, list[Mark]] = {}
        for model, *mark in rows:
            found.setdefault(model, []).append(Mark(*mark))
        return found

    def highest(self) -> int:
        """Highest number of a model, deleted ones included; 0 if there is none."""
        with self._read() as connection:
            return connection.execute(sa.select(sa.func.max(schema.models.c.number))).scalar() or 0

    def snapshot_numbers(self, model: int) -> list[int]:
        """Last events of the complete snapshots of a model, the oldest first."""
        table = schema.snapshots.c
        parts: dict[int, list[int]] = {}
        with self._read() as connection:
            for row in connection.execute(sa.select(table.sequence, table.part).where(table.model == model)):
                parts.setdefault(row.sequence, []).append(row.part)
        return sorted(
            sequence
            for sequence, numbers in parts.items()
            if max(numbers) < _FIRST or _END + len(numbers) - 1 in numbers
        )

    def snapshot(self, model: int, sequence: int | None = None) -> Snapshot | None:
        """A complete snapshot of a model: the newest one, or that after an event."""
        if sequence is None:
            complete = self.snapshot_numbers(model)
            if not complete:
                return None
            sequence = complete[-1]
        table = schema.snapshots.c
        query = sa.select(table.data).where(table.model == model, table.sequence == sequence).order_by(table.part)
        with self._read() as connection:
            data = b"".join(connection.execute(query).scalars())
        return Snapshot(model, sequence, data) if data else None

    def events(self, model: int, after: int = 0, most: int | None = None) -> Iterator[Event]:
        """Events of a model after a number, in order, read a part at a time."""
        while most is None or most > 0:
            found = self.some_events(model, after, ROWS if most is None else min(most, ROWS))
            yield from found
            if not found:
                return
            after = found[-1].sequence
            most = None if most is None else most - len(found)

    def some_events(self, model: int, after: int, most: int, size: int = READ) -> list[Event]:
        """The next events of a model: so many at most, and with so many bytes, but at least one if there is one."""
        table = schema.events.c
        here = (table.model == model) & (table.sequence > after)
        lengths = sa.select(table.sequence, sa.func.length(table.payload)).where(here)
        with self._read() as connection:
            last = 0
            for sequence, length in connection.execute(lengths.order_by(table.sequence).limit(most)):
                size -= length
                if last and size < 0:
                    break
                last = sequence
            query = sa.select(schema.events).where(here & (table.sequence <= last)).order_by(table.sequence)
            return [Event(*row) for row in connection.execute(query)] if last else []

    # ---- tokens ----

    def tokens(self) -> list[Token]:
        """All tokens."""
        with self._read() as connection:
            rows = connection.execute(sa.select(schema.tokens).order_by(schema.tokens.c.name)).mappings().all()
        return [
            Token(
                **{
                    **row,
                    "sha256": bytes(row["sha256"]),
                    "models": tuple(row["models"].split()),
                    "examples": bool(row["examples"]),
                }
            )
            for row in rows
        ]

    def add_token(self, name: str, rights: str, **limits: Any) -> str:
        """Make a token with these rights and limits (see `Token`) and return it; only its hash is stored."""
        if rights not in RIGHTS:
            raise ValueError(f"The rights of a token must be one of {', '.join(RIGHTS)}; got {rights!r}.")
        secret = f"rb_{secrets.token_urlsafe(32)}"
        token = Token(name, hashlib.sha256(secret.encode()).digest(), rights, time.time(), **limits)
        with _explained(), self._writer.begin() as connection:
            try:
                connection.execute(schema.tokens.insert().values(**_as_row(token)))
            except sa.exc.IntegrityError as error:
                raise ValueError(
                    f"There already is a token named {name!r}. Choose another name, or revoke it first."
                ) from error
        return secret

    def copy_tokens(self, tokens: Sequence[Token]) -> None:
        """Write tokens of another store."""
        if tokens:
            with self._write() as connection:
                self._renew(connection)
                connection.execute(schema.tokens.insert(), [_as_row(token) for token in tokens])

    def revoke_token(self, name: str) -> bool:
        """Remove a token; returns whether it existed."""
        with _explained(), self._writer.begin() as connection:
            connection.execute(schema.usage.delete().where(schema.usage.c.token == name))
            return connection.execute(schema.tokens.delete().where(schema.tokens.c.name == name)).rowcount == 1

    def usage(self, day: int) -> dict[str, int]:
        """Lines that each token has sent on a day, counted in days since 1970."""
        with self._read() as connection:
            rows = connection.execute(sa.select(schema.usage).where(schema.usage.c.day == day)).all()
        return {row.token: row.lines for row in rows}

    def keep_usage(self, day: int, lines: Mapping[str, int]) -> None:
        """Write the lines that tokens have sent on a day; those of earlier days are removed."""
        with self._write() as connection:
            self._renew(connection)
            table = schema.usage
            connection.execute(table.delete().where((table.c.day < day) | table.c.token.in_(list(lines))))
            connection.execute(table.insert(), [{"token": name, "day": day, "lines": n} for name, n in lines.items()])


def _as_row(token: Token) -> dict[str, Any]:
    return {**token._asdict(), "models": " ".join(token.models), "examples": int(token.examples)}


def _of_model(table: sa.Table, function: Any) -> Any:
    """The first or last event of a model in a table."""
    return sa.select(function(table.c.sequence)).where(table.c.model == schema.models.c.number).scalar_subquery()


_RENEW = (
    schema.lease.update()
    .where(schema.lease.c.id == 1, schema.lease.c.holder == sa.bindparam("me"))
    .values(beat=schema.lease.c.beat + 1)
)
_INSERT = f"INSERT INTO {schema.events.name} ({', '.join(Event._fields)}) VALUES"
_ROWS = 64
