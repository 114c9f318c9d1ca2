"""Stores over the years: earlier and later formats, retention, backups, checks."""

import re

import orjson
import pytest
import sqlalchemy as sa

from rosenblatt.serve import schema
from rosenblatt.serve.store import Snapshot, Store, StoreError
from tests.serve.processes import Server

FIRST_FORMAT = """
CREATE TABLE rosenblatt_about (format INTEGER NOT NULL, PRIMARY KEY (format));
CREATE TABLE rosenblatt_models (number INTEGER NOT NULL, name VARCHAR(64) NOT NULL, PRIMARY KEY (number), UNIQUE (name));
CREATE TABLE rosenblatt_events (model INTEGER NOT NULL, sequence BIGINT NOT NULL, kind VARCHAR(16) NOT NULL,
    time DOUBLE PRECISION NOT NULL, payload BYTES NOT NULL, PRIMARY KEY (model, sequence)) WITHOUT ROWID;
CREATE TABLE rosenblatt_snapshots (model INTEGER NOT NULL, sequence BIGINT NOT NULL, part INTEGER NOT NULL, data BYTES NOT NULL,
    PRIMARY KEY (model, sequence, part));
CREATE TABLE rosenblatt_tokens (name VARCHAR(64) NOT NULL, sha256 BYTES NOT NULL, rights VARCHAR(16) NOT NULL,
    created DOUBLE PRECISION NOT NULL, PRIMARY KEY (name));
CREATE TABLE rosenblatt_lease (id INTEGER NOT NULL, holder VARCHAR(64) NOT NULL, process VARCHAR(300) NOT NULL,
    beat BIGINT NOT NULL, PRIMARY KEY (id));
INSERT INTO rosenblatt_about VALUES (1);
INSERT INTO rosenblatt_models VALUES (1, 'old');
"""
"""The tables that the first format had, as its version made them."""


def executed(url, *statements):
    """Run SQL on a store, without any code of the service."""
    engine = sa.create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        results = [connection.execute(statement) for statement in statements]
        rows = results[-1].all() if results[-1].returns_rows else None
    engine.dispose()
    return rows


def make_first_format(url):
    """A store of the first format with a model, three events and a token."""
    sqlite = url.startswith("sqlite")
    text = FIRST_FORMAT.replace("BYTES", "BLOB" if sqlite else "BYTEA")
    text = text if sqlite else text.replace(" WITHOUT ROWID", "")
    example = b'{"requests":[{"id":"i","features":{"x":1},"label":"a"}],"ids":["i"],"predictions":[null]}'
    events = [
        ("create", orjson.dumps({"name": "old", "algorithm": "perceptron", "parameters": {}})),
        ("learn", example),
        ("expire", b"[]"),
    ]
    insert = sa.text("INSERT INTO rosenblatt_events VALUES (1, :n, :kind, 5.0, :payload)")
    rows = [insert.bindparams(n=n, kind=kind, payload=payload) for n, (kind, payload) in enumerate(events, 1)]
    token = sa.text("INSERT INTO rosenblatt_tokens VALUES ('t', :hash, 'learn', 1.0)").bindparams(hash=b"h" * 32)
    executed(url, *(sa.text(line) for line in re.split(r";\s*\n", text) if line.strip()), *rows, token)


def test_a_store_of_the_first_format_is_migrated(store):
    make_first_format(store)
    opened = Store(store)
    with pytest.raises(StoreError, match=r"run `rosenblatt store migrate`"):
        opened.check_format()
    assert opened.prepare() == 1
    assert opened.prepare() == schema.FORMAT
    opened.check_format()
    assert [(event.kind, event.token) for event in opened.events(1)] == [
        ("create", None),
        ("learn", None),
        ("expire", None),
    ]
    assert opened.tokens()[0][2:] == ("learn", 1.0, (), False, None, None, None)
    assert executed(store, sa.text("SELECT format FROM rosenblatt_about")) == [(schema.FORMAT,)]
    # a process of the first version that still runs can go on writing
    old = sa.text(
        "INSERT INTO rosenblatt_events (model, sequence, kind, time, payload) VALUES (1, 4, 'expire', 6.0, :p)"
    )
    executed(store, old.bindparams(p=b"[]"))
    opened.revoke_token("t")
    opened.close()
    with Server(store) as server:
        assert server.get("/v1/models/old")[1]["sequence"] == 4
        again = {"id": "i", "features": {"x": 1}, "label": "a"}
        assert server.post("/v1/models/old/learn", again)[1]["repeated"]


def test_a_migrated_store_has_the_tables_of_a_new_one(tmp_path):
    shapes = []
    for name in ("old", "new"):
        url = f"sqlite:///{tmp_path}/{name}.db"
        if name == "old":
            make_first_format(url)
        opened = Store(url)
        opened.prepare()
        opened.close()
        engine = sa.create_engine(url)
        looked = sa.inspect(engine)
        shapes.append({
            table: sorted((c["name"], str(c["type"]), c["nullable"]) for c in looked.get_columns(table))
            for table in looked.get_table_names()
        })  # fmt: skip
        engine.dispose()
    assert {table: {n for n, *_ in columns} for table, columns in shapes[0].items()} == {
        table: {n for n, *_ in columns} for table, columns in shapes[1].items()
    }
    assert shapes[0]["rosenblatt_events"][-1] == shapes[1]["rosenblatt_events"][-1]


def test_a_store_of_a_later_version_is_refused(store):
    opened = Store(store)
    opened.prepare()
    executed(store, sa.text(f"UPDATE rosenblatt_about SET format = {schema.FORMAT + 1}"))
    for use in (opened.prepare, opened.check_format):
        with pytest.raises(
            StoreError, match=f"has format {schema.FORMAT + 1}, and this version reads up to .* upgrade"
        ):
            use()
    opened.close()
    with Server(store, wait=None) as server:
        assert server.process.wait(60) == 1
        server._reader.join(5)
        assert "upgrade rosenblatt" in "".join(server.lines)


def test_parts_of_snapshots_that_were_replaced_are_removed_one_by_one(store, monkeypatch):
    """Removing a large snapshot at once would delay the events of that time."""
    monkeypatch.setattr("rosenblatt.serve.store.PART", 10)
    opened = Store(store)
    opened.prepare()
    assert opened.acquire(5.0)
    opened.append([], models=[(1, "m"), (2, "other")])

    def parts():
        with opened._read() as connection:
            return connection.execute(sa.select(sa.func.count()).select_from(schema.snapshots)).scalar()

    for model, sequence, keep in ((1, 3, ()), (2, 4, ()), (1, 5, (3,)), (1, 7, (5,))):
        before = parts()
        opened.append([], [Snapshot(model, sequence, b"x" * 45, keep=keep)])
        assert parts() >= before + 5  # nothing large was removed
    opened.append([], part=next(Snapshot(1, 9, b"y" * 45).parts()))  # is being written
    assert opened.snapshot_numbers(1) == [5, 7]
    count = parts()
    while opened.sweep_parts():
        count -= 1
        assert parts() == count
    assert count == 6 * 3 + 1
    assert (opened.snapshot_numbers(1), opened.snapshot_numbers(2)) == ([5, 7], [4])
    assert [opened.snapshot(1, n).data for n in (5, 7)] == [b"x" * 45] * 2
    opened.close()
