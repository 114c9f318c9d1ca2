"""The tables of a store, their format, and the changes that bring a store of an earlier version up to date."""

from collections.abc import Callable, Mapping

import sqlalchemy as sa
from sqlalchemy.engine import Connection

FORMAT = 2

tables = sa.MetaData()
about = sa.Table("rosenblatt_about", tables, sa.Column("format", sa.Integer, primary_key=True))
models = sa.Table(
    "rosenblatt_models",
    tables,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("name", sa.String(64), unique=True, nullable=False),
)
events = sa.Table(
    "rosenblatt_events",
    tables,
    sa.Column("model", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("sequence", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("time", sa.Double, nullable=False),
    sa.Column("payload", sa.LargeBinary, nullable=False),
    sa.Column("token", sa.String(64)),
    sqlite_with_rowid=False,
)
snapshots = sa.Table(
    "rosenblatt_snapshots",
    tables,
    sa.Column("model", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("sequence", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("part", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("data", sa.LargeBinary, nullable=False),
)
marks = sa.Table(  # of complete snapshots: the time, and the bytes of all events until then
    "rosenblatt_marks",
    tables,
    sa.Column("model", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("sequence", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("time", sa.Double, nullable=False),
    sa.Column("bytes", sa.BigInteger, nullable=False),
)
tokens = sa.Table(
    "rosenblatt_tokens",
    tables,
    sa.Column("name", sa.String(64), primary_key=True),
    sa.Column("sha256", sa.LargeBinary(32), nullable=False),
    sa.Column("rights", sa.String(16), nullable=False),
    sa.Column("created", sa.Double, nullable=False),
    sa.Column("models", sa.Text, nullable=False, server_default=""),
    sa.Column("examples", sa.Integer, nullable=False, server_default="0"),
    sa.Column("expires", sa.Double),
    sa.Column("rate", sa.Double),
    sa.Column("quota", sa.BigInteger),
)
usage = sa.Table(
    "rosenblatt_usage",
    tables,
    sa.Column("token", sa.String(64), primary_key=True),
    sa.Column("day", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("lines", sa.BigInteger, nullable=False),
)
lease = sa.Table(
    "rosenblatt_lease",
    tables,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("holder", sa.String(64), nullable=False),
    sa.Column("process", sa.String(300), nullable=False),
    sa.Column("beat", sa.BigInteger, nullable=False),
)


class WrongFormat(Exception):  # noqa: N818 - `store` makes a StoreError of it
    """The store has a format that this version cannot use."""


def _name_the_tokens(connection: Connection) -> None:
    """Events name the token of their request, and tokens have limits."""
    _add(connection, events.c.token)
    for column in (tokens.c.models, tokens.c.examples, tokens.c.expires, tokens.c.rate, tokens.c.quota):
        _add(connection, column)


def _add(connection: Connection, column: "sa.Column[object]") -> None:
    # Columns that may be left out: a process of the earlier version that still runs can go on writing.
    text = sa.schema.CreateColumn(column).compile(connection)
    connection.execute(sa.text(f"ALTER TABLE {column.table.name} ADD COLUMN {text}"))


MIGRATIONS: Mapping[int, Callable[[Connection], None]] = {1: _name_the_tokens}
"""By format: the change to the next one. New tables need none."""


def found(connection: Connection) -> int | None:
    """Format of a store; None for an empty database."""
    if not sa.inspect(connection).has_table(about.name):
        return None
    return connection.execute(sa.select(sa.func.max(about.c.format))).scalar()


def check(connection: Connection) -> None:
    """Raise `WrongFormat` for a store that must be migrated first, or that a later version has written."""
    format = found(connection)  # noqa: A001 - the word that users see
    if format is None:
        raise WrongFormat("it is not a store of `rosenblatt serve`; check the address")
    if format > FORMAT:
        raise WrongFormat(f"it has format {format}, and this version reads up to {FORMAT}; upgrade rosenblatt")
    if format < FORMAT:
        raise WrongFormat(
            f"it has format {format}, and this version reads {FORMAT}; run `rosenblatt store migrate` or start the service"
        )


def migrate(connection: Connection) -> int | None:
    """Create the tables, or bring those of an earlier version up to date; returns the format before, None if it was empty."""
    before = found(connection)
    if before is not None and before > FORMAT:
        raise WrongFormat(f"it has format {before}, and this version reads up to {FORMAT}; upgrade rosenblatt")
    for format in range(FORMAT if before is None else before, FORMAT):  # noqa: A001
        MIGRATIONS[format](connection)
    tables.create_all(connection)
    if before is None:
        connection.execute(about.insert().values(format=FORMAT))
    elif before < FORMAT:
        connection.execute(about.update().values(format=FORMAT))
    return before
