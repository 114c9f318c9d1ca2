"""`rosenblatt store`: backups, restores, imports, checks."""

import json
import threading
import uuid

import pytest
import sqlalchemy as sa
from click.testing import CliRunner

from rosenblatt.cli import app
from rosenblatt.model_file import container
from rosenblatt.serve import audit
from rosenblatt.serve.learner import Served
from rosenblatt.serve.snapshots import copy, read_model
from rosenblatt.serve.store import Store
from tests.cli.helpers import call
from tests.serve.processes import Server
from tests.serve.test_faults import wait_until
from tests.serve.test_learner import LIMITS, asked
from tests.serve.test_retention import cut_all, filled
from tests.serve.test_stores import executed, make_first_format


@pytest.fixture
def other(request, store, tmp_path):
    """The address of an empty store of the other kind."""
    if store.startswith("sqlite"):
        return request.getfixturevalue("postgres").database(f"t{uuid.uuid4().hex}")
    return f"sqlite:///{tmp_path}/other.db"


def test_a_backup_of_a_store_in_use_is_one_moment_and_is_restored_elsewhere(store, other, tmp_path):
    file, stop = tmp_path / "b.backup", threading.Event()
    call("token", "add", "t", "--rights", "admin", "--models", "m*", "--quota", "1000000", "--store", store)
    secret = call("token", "add", "boss", "--rights", "admin", "--store", store).stdout.strip()
    with Server(store, "--snapshot-every", "100") as server:

        def load(name):
            server.post(f"/v1/models/{name}", {"algorithm": "perceptron"}, token=secret)
            while not stop.is_set():
                lines = b"\n".join(b'{"features":{"x%d":1},"label":"a"}' % (n % 9) for n in range(30))
                server.post(f"/v1/models/{name}/learn", lines, token=secret, kind="application/x-ndjson")

        threads = [threading.Thread(target=load, args=[name]) for name in ("m1", "m2")]
        for thread in threads:
            thread.start()
        for name in ("m1", "m2"):
            wait_until(lambda name=name: server.get(f"/v1/models/{name}", token=secret)[1].get("snapshot", 0) > 0)
        made = json.loads(call("store", "backup", file, "--store", store, "--json").stdout)
        assert call("store", "check", "--store", store).exit_code == 0  # also in use
        stop.set()
        for thread in threads:
            thread.join()
        assert "already" in call("store", "backup", file, "--store", store, code=2).stderr
    assert (made["models"], made["tokens"]) == (2, 2)
    assert sorted(path.name for path in tmp_path.glob("b.*")) == ["b.backup"]
    assert made == json.loads(call("store", "restore", file, "--store", other, "--json").stdout)
    for address in (f"{file}", other):
        found = json.loads(call("store", "check", "--store", address, "--json").stdout)
        assert (found["damage"], [result["problems"] for result in found["models"]]) == ([], [[], []])
        assert sum(result["events"] for result in found["models"]) == made["events"]
        assert all(result["snapshots"] == 1 for result in found["models"])
    for target, words in ((other, "has models or tokens" if "postgres" in other else "exists already"), (store, "")):
        assert words in call("store", "restore", file, "--store", target, code=2).stderr
    a, b = Store(str(file)), Store(other)
    assert a.tokens() == b.tokens()
    assert [event for number in (1, 2) for event in a.events(number)] == [
        event for number in (1, 2) for event in b.events(number)
    ]
    a.close()
    b.close()
    with Server(other) as server:
        assert server.get("/v1/models/m1", token=secret)[1]["examples"] % 30 == 0
        assert server.post("/v1/models/m1/learn", {"features": {"x": 1}, "label": "a"}, token=secret)[0] == 200


def test_an_interrupted_restore_shows_no_model(other, store, tmp_path, monkeypatch):
    filled(store)[0].close()
    call("store", "backup", tmp_path / "b", "--store", store)
    monkeypatch.setattr(Store, "copy_tokens", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        call("store", "restore", tmp_path / "b", "--store", other)
    if other.startswith("sqlite"):
        assert not list(tmp_path.glob("other*"))
    else:
        opened = Store(other)
        assert (opened.heads(), opened.tokens()) == ([], [])
        opened.holder = executed(other, sa.text("SELECT holder FROM rosenblatt_lease"))[0][0]
        assert opened.sweep()  # a service removes what is left
        opened.close()


def changed(store, text, **values):
    executed(store, sa.text(text).bindparams(**values))


def problems(store):
    opened = Store(store)
    (result,) = audit.check(opened)
    opened.close()
    return result.problems


def test_a_check_finds_what_is_wrong(store):
    opened, _, (first, second) = filled(store)
    assert problems(store) == []
    assert "ok  m: " in call("store", "check", "--store", store).stdout
    (event,) = opened.events(1, 9, 1)
    for payload, found in ((event.payload.replace(b'"predictions":["', b'"predictions":["un'), "has other predictions than"),
                           (b"{", "cannot be applied")):  # fmt: skip
        changed(store, "UPDATE rosenblatt_events SET payload = :p WHERE sequence = 10", p=payload)
        assert f"event 10 {found}" in problems(store)[0]
    changed(store, "UPDATE rosenblatt_events SET payload = :p WHERE sequence = 10", p=event.payload)
    stranger = Served(1, "m", "perceptron", {}, 1.0)  # a file that is in order, of another model
    stranger.learn([asked({"features": {"x": 1}, "label": "spam"})], 1.0, LIMITS)
    data = container.to_bytes(*copy(stranger).packed())
    part = f"sequence = {second.sequence} AND part < 2000000"
    changed(store, f"UPDATE rosenblatt_snapshots SET data = :d WHERE {part}", d=data)
    assert f"the snapshot after event {second.sequence} differs from the log in" in problems(store)[0]
    changed(store, f"UPDATE rosenblatt_snapshots SET data = :d WHERE {part}", d=second.data[:-1] + b"?")
    assert f"the snapshot after event {second.sequence} cannot be read" in problems(store)[0]
    assert "bad m" in call("store", "check", "--store", store, code=1).stdout
    changed(store, "DELETE FROM rosenblatt_events WHERE sequence = 30")
    assert problems(store)[-1] == "the events 30 to 30 are missing"
    cut_all(opened, first.sequence)
    changed(store, "DELETE FROM rosenblatt_snapshots")
    assert "there is no snapshot of the events before" in problems(store)[0]
    opened.close()


def test_sqlite_damage_is_found(tmp_path):
    store = f"sqlite:///{tmp_path}/log.db"
    opened = filled(store, count=2000)[0]
    opened.finish_file()
    opened.close()
    with (tmp_path / "log.db").open("r+b") as file:
        for page in range(10, 40):
            file.seek(4096 * page)
            file.write(b"\xff" * 16)
    assert call("store", "check", "--store", store, code=1)


@pytest.mark.parametrize("cut", [False, True])
def test_models_are_imported_from_files_and_stores(store, other, tmp_path, cut):
    opened, served, (first, _) = filled(store)
    if cut:
        cut_all(opened, first.sequence)
    opened.release()
    opened.close()
    file = tmp_path / "m.jsonl.gz"
    call("replay", store, "--export", file)
    call("store", "import", file, "--store", other)
    assert "already has a model 'm'" in call("store", "import", file, "--store", other, code=2).stderr
    call("store", "import", store, "--as", "again", "--model", "m", "--store", other)
    assert "--model must name" in call("store", "import", store, "--model", "x", "--store", other, code=2).stderr
    target = Store(other)
    assert [name for _, name, _ in target.heads()] == ["m", "again"]
    for number, name in ((1, "m"), (2, "again")):
        made = read_model(target, number, LIMITS)
        assert made.name == name
        made.sequence, made.name, made.time = served.sequence, "m", served.time
        assert audit.differing(made, served) == []
    target.close()
    found = json.loads(call("store", "check", "--store", other, "--json").stdout)
    assert [result["problems"] for result in found["models"]] == [[], []]
    assert {result["begins_after"] for result in found["models"]} == {first.sequence if cut else 0}
    with Server(other) as server:
        assert server.get("/v1/models/again")[1]["examples"] == served.examples
        assert "stop the service first" in call("store", "import", file, "--as", "c", "--store", other, code=1).stderr
        assert server.get("/v1/models/again")[0] == 200


def test_an_export_with_a_hole_is_not_imported(tmp_path):
    store, other = f"sqlite:///{tmp_path}/log.db", f"sqlite:///{tmp_path}/other.db"
    filled(store)[0].close()
    call("replay", store, "--export", tmp_path / "m.jsonl")
    lines = (tmp_path / "m.jsonl").read_text().splitlines()
    (tmp_path / "m.jsonl").write_text("\n".join(lines[:20] + lines[21:]))
    assert (
        "The events 21 to 21 of m are missing"
        in call("store", "import", tmp_path / "m.jsonl", "--store", other, code=2).stderr
    )
    opened = Store(other)
    assert opened.heads() == []
    opened.close()


def test_the_command_migrates(store):
    make_first_format(store)
    assert "run `rosenblatt store migrate`" in call("store", "check", "--store", store, code=1).stderr
    assert "from format 1 to 2" in call("store", "migrate", "--store", store).stdout
    assert "has format 2 already" in call("store", "migrate", "--store", store).stdout
    call("store", "check", "--store", store)


def test_no_command_prints_a_password(tmp_path):
    for address in (
        "postgresql://ann:secret@127.0.0.1:1/x",
        "postgresql:/ann:secret@127.0.0.1:1/x",
        "postgresql://ann:my@secret@127.0.0.1:1/x",
    ):
        for command in (
            ("replay", address),
            ("store", "import", address, "--store", f"sqlite:///{tmp_path}/new.db"),
            ("store", "check", "--store", address),
            ("token", "list", "--store", address),
            ("serve", "--store", address),
        ):
            done = CliRunner().invoke(app, command)
            assert done.exit_code in (1, 2), command
            assert "secret" not in done.output, command


def test_a_replay_of_several_models_says_what_to_choose(tmp_path):
    store = f"{tmp_path}/log.db"
    opened = Store(store)
    opened.prepare()
    opened.close()
    assert "no model in" in call("replay", store, code=2).stderr
    opened = Store(store)
    opened.acquire(5.0)
    for number, name in ((1, "a"), (2, "b")):
        opened.append([Served(number, name, "perceptron", {}, 0.0).creation()], models=[(number, name)])
    opened.close()
    assert "several models: a, b. Choose one with --model." in call("replay", store, code=2).stderr
    assert "must name one of the models" in call("replay", store, "--model", "c", code=2).stderr
    call("replay", store, "--model", "b")
