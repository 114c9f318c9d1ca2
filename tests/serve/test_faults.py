"""Faults: crashes, a full disk, a read-only or restarted store, a second process, shutdown under load."""

import asyncio
import json
import os
import subprocess
import threading
import time
import uuid

import pytest

from rosenblatt.serve.store import Store
from tests.serve.crashes import MODEL, SENTENCES, Load, audit, kills
from tests.serve.processes import Server


def wait_until(condition, seconds=60):
    """Wait for a change made by another process or thread."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "timeout"
        time.sleep(0.01)


def test_killing_the_service_at_random_times_loses_nothing(store):
    # The benchmark does it 500 times, with a standby and every learner.
    result = kills(store, 4, [("perceptron", {}), (SENTENCES, {})], count=1)
    assert result["least_confirmed"] > 20


def test_sigterm_under_load_drains_and_exits_0(store):
    load = Load()
    with Server(store) as server:
        server.post(f"/v1/models/{MODEL}", {"algorithm": "perceptron"})

        async def run():
            task = asyncio.create_task(load.run(server.port, 30.0))
            while load.requests <= 50:
                await asyncio.sleep(0.01)
            server.process.terminate()
            await task

        asyncio.run(run())
        assert server.stop() == 0
    result = audit(store, load)
    log = Store(store)
    assert log.snapshot(1).sequence == result["events"]  # so the next start has nothing to replay
    log.close()


def test_a_restart_of_postgresql_under_load_loses_nothing(postgres):
    store, load = postgres.database(f"t{uuid.uuid4().hex}"), Load()
    with Server(store) as server:
        server.post(f"/v1/models/{MODEL}", {"algorithm": "perceptron"})
        client = threading.Thread(target=lambda: asyncio.run(load.run(server.port, 60.0)))
        client.start()
        wait_until(lambda: load.requests > 50)
        postgres.stop("immediate")
        wait_until(lambda: load.refused > 0)
        server.wait_for("unavailable")
        assert server.get("/healthz")[0] == 200
        assert server.get("/readyz")[0] == 503
        postgres.start()
        server.wait_for("ready")
        confirmed = len(load.learned)
        wait_until(lambda: len(load.learned) > confirmed + 20)
        load.ended = True
        client.join()
        assert server.stop() == 0
    audit(store, load)


def can_mount():
    return (
        os.geteuid() == 0
        and subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode == 0
    )


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 3 MB."""
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(tmp_path)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("a small file system can only be mounted by root")
    yield tmp_path
    subprocess.run(["umount", "-l", str(tmp_path)], check=False)


def test_a_full_disk_loses_nothing(small_disk):
    store = f"sqlite:///{small_disk}/log.db"
    with Server(store) as server:
        server.post("/v1/models/m", {"algorithm": "perceptron"})
        confirmed, status = 0, 200
        while status == 200:
            body = {
                "id": f"i{confirmed}",
                "features": {f"f{n}": n / 7 for n in range(2000)},
                "label": "ab"[confirmed % 2],
            }
            status, answer = server.post("/v1/models/m/learn", body)
            confirmed += status == 200
            assert confirmed < 1000
        assert status == 503
        assert "full" in answer["error"]
        server.wait_for("unavailable")
        status, answer = server.post("/v1/models/m/learn", body)
        assert status == 503
        assert server.get("/healthz")[0] == 200
        subprocess.run(["mount", "-o", "remount,size=20m", str(small_disk)], check=True)
        server.wait_for("ready")
        facts = server.get("/v1/models/m")[1]
        assert facts["examples"] in (confirmed, confirmed + 1)
        assert server.post("/v1/models/m/learn", body)[0] == 200  # the failed request: learned exactly once
        assert server.get("/v1/models/m")[1]["examples"] == confirmed + 1
        assert server.stop() == 0
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)  # now read-only
    with Server(store, wait=None) as server:
        assert server.process.wait(60) == 1
        server._reader.join(5)
        assert "".join(server.lines).startswith("rosenblatt: the store")
    subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)
    with Server(store) as server:
        assert server.get("/v1/models/m")[1]["examples"] == confirmed + 1


def test_a_bad_store_gives_a_clear_error(tmp_path):
    (tmp_path / "text.db").write_text("this is no database, but long enough to be looked at" * 10)
    for store in (
        f"sqlite:///{tmp_path}/none/log.db",
        f"sqlite:///{tmp_path}/text.db",
        "postgresql://nobody@127.0.0.1:1/none",
        "mysql://x",
        "sqlite://",
    ):
        with Server(store, wait=None) as server:
            assert server.process.wait(60) in (1, 2)
            server._reader.join(5)
            said = "".join(server.lines)
            assert "Traceback" not in said
            assert said.startswith("rosenblatt: ")


def test_a_read_only_postgresql_store(postgres):
    name = f"t{uuid.uuid4().hex}"
    with Server(postgres.database(name)) as server:
        server.post("/v1/models/m", {"algorithm": "perceptron"})
        assert server.post("/v1/models/m/learn", {"features": {"x": 1}, "label": "a"})[0] == 200
        postgres.sql(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
        postgres.sql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
        status, _answer = server.post("/v1/models/m/learn", {"features": {"x": 2}, "label": "b"})
        assert status == 503
        postgres.sql(
            f'SET default_transaction_read_only = off; ALTER DATABASE "{name}" RESET default_transaction_read_only'
        )
        server.wait_for("ready")
        assert server.get("/v1/models/m")[1]["examples"] == 1


def test_a_second_process_waits_and_takes_over(store):
    load = Load()
    with Server(store) as first:
        first.post(f"/v1/models/{MODEL}", {"algorithm": "perceptron"})
        asyncio.run(load.run(first.port, 0.5))
        assert first.stop() == 0  # leaves a snapshot
    with Server(store) as first, Server(store, wait="standby") as second:
        status, answer = second.post(f"/v1/models/{MODEL}/learn", {"features": {"x": 1}, "label": "spam"})
        assert status == 503
        assert answer["state"] == "standby"
        wait_until(lambda: second.get(f"/v1/models/{MODEL}")[0] == 200)
        facts = second.get(f"/v1/models/{MODEL}")[1]
        assert facts["standby"] is True
        assert facts["examples"] == len(load.revealed) + len(load.learned)
        assert second.get(f"/v1/models/{MODEL}/model")[0] == 200
        asyncio.run(load.run(first.port, 0.5))
        first.kill()
        second.wait_for("ready")
        asyncio.run(load.run(second.port, 0.5))
        assert second.stop() == 0
    audit(store, load)


def test_a_process_that_lost_its_lease_cannot_write(store):
    """After a long pause the process still believes that it holds the lease."""
    import signal

    with Server(store) as first:
        first.post("/v1/models/m", {"algorithm": "perceptron"})
        first.process.send_signal(signal.SIGSTOP)
        taking = Store(store)
        assert taking.acquire(0.0)
        first.process.send_signal(signal.SIGCONT)
        status, answer = first.post("/v1/models/m/learn", {"features": {"x": 1}, "label": "a"})
        assert status == 503, answer
        first.wait_for("standby")
        assert [event.kind for event in taking.events(1)] == ["create"]
        taking.release()
        first.wait_for("ready")
        assert first.post("/v1/models/m/learn", {"features": {"x": 1}, "label": "a"})[0] == 200
        taking.close()


def test_tokens(tmp_path):
    store = Store(f"sqlite:///{tmp_path}/log.db")
    store.prepare()
    tokens = {rights: store.add_token(rights, rights) for rights in ("read", "learn", "admin")}
    assert all(token.encode() not in (tmp_path / "log.db").read_bytes() for token in tokens.values())
    with Server(store.name) as server:

        def attempts(method, path, body=None):
            return [
                server.request(method, path, body, token=token)[0] for token in (None, "rb_wrong", *tokens.values())
            ]

        assert attempts("POST", "/v1/models/m", {"algorithm": "perceptron"}) == [401, 401, 403, 403, 201]
        assert attempts("POST", "/v1/models/m/learn", {"features": {"x": 1}, "label": 1}) == [401, 401, 403, 200, 200]
        assert attempts("GET", "/v1/models/m") == [401, 401, 200, 200, 200]
        assert attempts("GET", "/metrics") == [401, 401, 200, 200, 200]
        assert attempts("GET", "/healthz") == [200] * 5
        store.revoke_token("learn")
        wait_until(lambda: server.get("/v1/models/m", token=tokens["learn"])[0] == 401)
    store.close()


def test_without_tokens_the_service_listens_on_loopback_only(tmp_path):
    with Server(f"sqlite:///{tmp_path}/log.db", "--host", "0.0.0.0", wait=None) as server:
        assert server.process.wait(60) == 2
        server._reader.join(5)
        assert "loopback only" in "".join(server.lines)


def test_logs_are_json_lines(tmp_path):
    with Server(f"sqlite:///{tmp_path}/log.db", "--log-requests") as server:
        server.get("/v1/models/none")
        assert server.stop() == 0
        records = [json.loads(line) for line in server.lines]
    assert {"listening", "ready", "request", "stopped"} <= {record["message"] for record in records}
    assert any(record.get("status") == 404 for record in records)
