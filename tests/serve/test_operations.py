"""Failover, readiness, time, snapshots: what a team relies on that runs the service for long."""

import asyncio
import json
import os
import signal
import subprocess
import time
import uuid

import numpy as np
import orjson
import pytest

import rosenblatt
from rosenblatt.model_file import container
from rosenblatt.serve import service as service_module
from rosenblatt.serve import store as store_module
from rosenblatt.serve.clock import Clock
from rosenblatt.serve.events import Limits
from rosenblatt.serve.examples import Refused
from rosenblatt.serve.learner import Served
from rosenblatt.serve.service import Service
from rosenblatt.serve.snapshots import copy, from_snapshot, read_model
from rosenblatt.serve.store import Snapshot, Store
from tests.serve.crashes import differing, kills, offered
from tests.serve.processes import Server
from tests.serve.test_faults import wait_until
from tests.serve.test_learner import LIMITS, asked, run, same, traffic


@pytest.mark.parametrize(("algorithm", "parameters"), list(offered()), ids=str)
def test_every_learner_continues_from_a_snapshot_with_the_same_bits(algorithm, parameters):
    labels = ("spam", "ham") if algorithm == "parallel-perceptron" else ("spam", "ham", "work")
    requests = list(traffic(300, labels=labels))
    for seed, cut in enumerate((40, 130, 210)):
        served, events = Served(1, "m", algorithm, parameters, 5.0), []
        rng = np.random.default_rng(seed)
        for _kind, request in requests:  # values of all sizes, and names that appear late
            if "features" in request:
                request["features"]["length"] = float(rng.choice([-1.0, 0.3, 5.0]))
        run(served, requests[:cut], events)
        data = container.to_bytes(*copy(served).packed())
        run(served, requests[cut:], events, start=2000.0)
        resumed = from_snapshot(1, data)
        for event in events:
            if event.sequence > resumed.sequence:
                resumed.apply(event, own=True)
        assert resumed.differences == 0
        assert differing(served, resumed) == []


def test_ids_beyond_the_default_are_remembered_after_a_restart(tmp_path, monkeypatch):
    monkeypatch.setattr(Limits, "remembered", 50)  # the default
    limits = Limits(remembered=500)
    store = Store(f"{tmp_path}/log.db")
    store.prepare()
    store.acquire(5.0)
    served = Served(1, "m", "perceptron", {}, 1.0)
    served.remembered = limits.remembered
    events = [served.creation()]
    for n in range(300):
        events += served.learn([asked({"id": f"i{n}", "features": {"x": 1}, "label": "a"})], 2.0, limits)[0]
        if n == 200:
            snapshot = Snapshot(1, served.sequence, container.to_bytes(*copy(served).packed()))
    store.append(events, [snapshot], [(1, "m")])
    assert read_model(store, 1, limits, use_snapshot=False).remembered == limits.remembered
    again = read_model(store, 1, limits)
    assert again.remembered == limits.remembered
    assert again.learn([asked({"id": "i0", "features": {"x": 1}, "label": "a"})], 3.0, limits)[1][0]["repeated"]
    assert list(again.done) == list(served.done)
    store.close()


def test_a_clock_that_jumps_for_a_moment_expires_nothing():
    wall, steady = [1e9], [50.0]
    clock = Clock(lambda: wall[0], lambda: steady[0])

    def later(seconds, jump=0.0):
        steady[0] += seconds
        wall[0] += seconds + jump
        return clock()

    assert later(10) == pytest.approx(1e9 + 10)
    assert later(1, jump=1e8) == pytest.approx(1e9 + 11)
    assert later(3, jump=-1e8) == pytest.approx(1e9 + 14)
    assert later(1, jump=3600) == pytest.approx(1e9 + 15)
    assert later(30) == pytest.approx(1e9 + 45)
    assert later(31) == pytest.approx(1e9 + 76 + 3600)  # it stays like this, so it is right
    assert later(5, jump=0.01) == pytest.approx(1e9 + 81 + 3600.01)


def test_time_returns_from_the_future():
    """Events written while the clock was wrong do not stop time for ever."""
    served, limits, events = Served(1, "m", "perceptron", {}, 0.0), Limits(age=100.0), []
    events += served.predict([asked({"id": "a", "features": {"x": 1}})], 1e9, limits)[0]
    events += served.predict([asked({"id": "b", "features": {"x": 1}})], 1000.0, limits)[0]
    assert [event.time for event in events] == [1e9, 1000.0]
    assert list(served.pending) == ["a", "b"]
    events += served.expire(1101.0, limits)
    assert served.pending == {}
    assert served.pending_bytes == 0
    again = Served(1, "m", "perceptron", {}, 0.0)
    for event in events:
        again.apply(event)
    assert same(served, again)


def test_replaying_batches_gives_the_same_model():
    """Batches are replayed at once, also where they have ids, new features and classes, words and numbers as labels."""
    served, events = Served(1, "m", "perceptron", {}, 0.0), []
    rng = np.random.default_rng(0)
    for n in range(60):
        lines = []
        for k in range(20):
            x = {f"f{rng.integers(10)}": float(rng.normal()) for _ in range(4)}
            if n % 10 == 3 and k == 7:
                x |= {"words": ["free", "offer"], f"new {n}": 1}
            lines.append(asked({"id": f"{n}.{k}", "features": x, "label": "abc"[int(rng.integers(3))]}))
            if n % 7 == 0:
                del lines[-1][0]["id"]
        events += served.learn([(line, orjson.dumps(line)) for line, _ in lines], 5.0 + n, LIMITS)[0]
    for own in (False, True):
        again = Served(1, "m", "perceptron", {}, 0.0)
        for event in events:
            again.apply(event, own=own)
        assert again.differences == 0
        assert differing(served, again) == []
        assert [entry[1:4] for entry in again.recent] == [entry[1:4] for entry in served.recent]
    assert again.new_lines == 1200


def test_examples_of_batches_count_for_snapshots(tmp_path):
    with Server(f"sqlite:///{tmp_path}/log.db", "--snapshot-every", 1000) as server:
        server.post("/v1/models/m", {"algorithm": "perceptron"})
        body = b"\n".join([b'{"features":{"x":1},"label":"a"}'] * 2000)
        server.post("/v1/models/m/learn", body, kind="application/x-ndjson")
        wait_until(lambda: server.get("/v1/models/m")[1]["snapshot"] >= 5)


def test_bytes_of_events_count_for_snapshots(tmp_path, monkeypatch):
    """Few examples can be long, and a restart reads all of them again."""
    from rosenblatt.serve import groups

    monkeypatch.setattr(groups, "SNAPSHOT_BYTES", 100_000)

    async def test():
        store = Store(f"{tmp_path}/log.db")
        store.prepare()
        service = Service(store, LIMITS)
        await service.start()
        async with asyncio.timeout(60):
            while service.state != "ready":
                await asyncio.sleep(0.01)
            await service.create("m", "perceptron", {})
            for n in range(30):
                features = {f"a name of a feature {k}": n for k in range(300)}
                await service.work("learn", "m", *asked({"features": features, "label": "ab"[n % 2]}))
            while service.models["m"].snapshot_sequence == 0:
                await asyncio.sleep(0.01)
        await service.close()

    asyncio.run(test())


def test_one_model_without_a_snapshot_does_not_stop_the_others(tmp_path, monkeypatch):
    from rosenblatt.serve import groups

    real = groups._encoded

    def encoded(moment):
        if moment.state["name"] == "large":
            raise ValueError("header too large")
        return real(moment)

    monkeypatch.setattr(groups, "_encoded", encoded)

    async def test():
        store = Store(f"{tmp_path}/log.db")
        store.prepare()
        service = Service(store, LIMITS, snapshot_every=5)
        await service.start()
        async with asyncio.timeout(20):
            while service.state != "ready":
                await asyncio.sleep(0.01)
            for name in ("large", "small"):
                await service.create(name, "perceptron", {})
            while service.models["small"].snapshot_sequence == 0:
                for name in ("large", "small"):
                    await service.work("learn", name, *asked({"features": {"x": 1}, "label": "a"}))
        await service.work("learn", "small", *asked({"features": {"x": 1}, "label": "a"}))
        async with asyncio.timeout(20):
            await service.close()
        large, small = service.models["large"], service.models["small"]
        assert (large.snapshot_sequence, small.snapshot_sequence) == (0, small.sequence)

    asyncio.run(test())


def test_a_lease_is_renewed_while_the_log_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(service_module, "PATIENCE", 0.6)
    real = service_module.read_model

    def slowly(*arguments, **options):
        time.sleep(2.0)
        return real(*arguments, **options)

    async def test():
        services = []
        for _ in range(2):
            store = Store(f"{tmp_path}/log.db")
            store.prepare()
            services.append(Service(store, LIMITS))
        await services[0].start()
        async with asyncio.timeout(30):
            while services[0].state != "ready":
                await asyncio.sleep(0.01)
            await services[0].create("m", "perceptron", {})
            await services[0].close()
            monkeypatch.setattr(service_module, "read_model", slowly)
            store = Store(f"{tmp_path}/log.db")
            services[0] = Service(store, LIMITS)
            await services[0].start()
            await asyncio.sleep(0.3)
            monkeypatch.setattr("rosenblatt.serve.store._is_dead", lambda process: False)
            await services[1].start()
            states = []
            while services[0].state != "ready":
                states.append(services[1].state)
                await asyncio.sleep(0.05)
            assert len(states) > 20
            assert set(states) <= {"starting", "standby"}
            await services[0].work("learn", "m", *asked({"features": {"x": 1}, "label": "a"}))
        for service in services:
            await service.close()

    asyncio.run(test())


def test_a_process_that_takes_over_reads_the_log_once(tmp_path):
    """The standby that follows the log may wait while all of it is read; then there is nothing left to read."""
    store = Store(f"{tmp_path}/log.db")
    store.prepare()

    async def test():
        service = Service(store, LIMITS)
        async with asyncio.timeout(30):
            await service.start()
            while service.state != "ready":
                await asyncio.sleep(0.01)
            await service.create("m", "perceptron", {})
            await service._catch_up()
            assert service._following == {}
        await service.close()

    asyncio.run(test())


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="the state of processes is read from /proc")  # noqa: PTH110
def test_a_killed_process_is_dead_before_its_parent_asks_for_it():
    """In a container often nobody asks."""
    process = subprocess.Popen(["sleep", "60"])
    running = store_module._process(process.pid)
    assert not store_module._is_dead(running)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert store_module._is_dead(running)
    process.wait()


def examples_of(service, name):
    """Number of examples that a standby has read."""
    try:
        return service.find_to_read(name).examples
    except Refused:
        return None


def test_an_idle_standby_reads_no_model_again(tmp_path, monkeypatch):
    """A standby reads each model once, and then the events that follow."""
    read, real = [], service_module.read_model

    def counted(store, number, *arguments, **options):
        read.append(number)
        return real(store, number, *arguments, **options)

    async def test():
        services = []
        for _ in range(2):
            store = Store(f"{tmp_path}/log.db")
            store.prepare()
            services.append(Service(store, LIMITS))
        leader, standby = services
        async with asyncio.timeout(60):
            await leader.start()
            while leader.state != "ready":
                await asyncio.sleep(0.01)
            for name in ("a", "b"):
                await leader.create(name, "perceptron", {})
            monkeypatch.setattr(service_module, "read_model", counted)
            monkeypatch.setattr(service_module, "FOLLOW", 0.01)
            await standby.start()
            for n in range(1, 4):
                await leader.work("learn", "a", *asked({"features": {"x": 1}, "label": "a"}))
                while standby.state != "standby" or examples_of(standby, "a") != n:
                    await asyncio.sleep(0.01)
            assert sorted(read) == [1, 2]
        await standby.close()
        await leader.close()

    asyncio.run(test())


def test_a_leader_that_stopped_inside_a_transaction_is_replaced(postgres):
    address = postgres.database(f"t{uuid.uuid4().hex}")
    first, second = Store(address), Store(address)
    first.prepare()
    assert first.acquire(60.0)
    with pytest.raises(Exception, match=r"terminat|closed|connection"), first._write() as connection:  # noqa: PT012
        first._renew(connection)  # and now it is stopped
        started = time.monotonic()
        while not second.acquire(1.0):
            time.sleep(0.1)
            assert time.monotonic() - started < 8
    second.append([])
    first.close()
    second.close()


def test_a_store_that_hangs_makes_the_service_not_ready(postgres):
    name = f"t{uuid.uuid4().hex}"
    with Server(postgres.database(name)) as server:
        server.post("/v1/models/m", {"algorithm": "perceptron"})
        assert server.get("/readyz")[0] == 200
        processes = [pid for (pid,) in postgres.sql(f"SELECT pid FROM pg_stat_activity WHERE datname = '{name}'")]
        try:
            for pid in processes:
                os.kill(pid, signal.SIGSTOP)
            started = time.monotonic()
            wait_until(lambda: server.get("/readyz")[0] == 503, 20)
            assert time.monotonic() - started < 10
            status, answer = server.post("/v1/models/m/learn", {"features": {"x": 1}, "label": "a"})
            assert status == 503
            assert "has not answered" in answer["error"]
            assert server.post("/v1/models/m/score", {"features": {"x": 1}})[0] == 200
        finally:
            for pid in processes:
                os.kill(pid, signal.SIGCONT)
        wait_until(lambda: server.get("/readyz")[0] == 200)
        assert server.post("/v1/models/m/learn", {"features": {"x": 1}, "label": "a"})[0] == 200


def test_a_standby_follows_the_log_and_answers_scores(store):
    with Server(store) as first, Server(store, wait="standby") as second:
        first.post("/v1/models/m", {"algorithm": "averaged-perceptron"})
        for n in range(30):
            x = {"a": n % 3, "b": n % 2, "who": "xyz"[n % 3]}
            first.post("/v1/models/m/learn", {"features": x, "label": ["no", "yes", "maybe"][n % 3]})
        last = first.get("/v1/models/m")[1]["sequence"]
        wait_until(lambda: second.get("/v1/models/m")[1].get("sequence") == last)
        body = {"features": {"a": 2, "b": 1, "who": "y"}, "top": 2, "reasons": 3}
        assert second.post("/v1/models/m/score", body) == first.post("/v1/models/m/score", body)
        assert [server.get("/readyz")[0] for server in (first, second)] == [200, 503]
        assert [server.get("/readyz/reads")[0] for server in (first, second)] == [200, 200]
        assert second.get("/livez")[0] == 200
        lines = b"\n".join([json.dumps({"features": {"a": n}}).encode() for n in range(600)])
        answers = [server.post("/v1/models/m/score", lines, kind="application/x-ndjson") for server in (first, second)]
        assert answers[0] == answers[1]
        assert len(answers[0][1]) == 600
        assert first.get("/v1/models/m")[1]["sequence"] == last  # scores are not recorded
        first.kill()
        second.wait_for("ready")
        assert second.get("/v1/models/m")[1]["sequence"] == last


@pytest.mark.parametrize(
    "algorithm", ["perceptron", "averaged-perceptron", "voted-perceptron", "alma", "kernel-perceptron"]
)
@pytest.mark.parametrize("labels", [("a", "b"), ("a", "b", "c")])
def test_scores_are_those_of_the_model(tmp_path, algorithm, labels):
    from rosenblatt.serve.scoring import scored

    served = Served(1, "m", algorithm, {}, 0.0)
    assert scored(served, {"features": {"x": 1}, "top": 3, "reasons": 3}, b"", 100) == {
        "prediction": None, "scores": [], "reasons": None,
    }  # fmt: skip
    rng = np.random.default_rng(0)
    for n in range(60):
        x = {f"f{k}": float(rng.normal()) for k in range(4)}
        served.learn([asked({"features": x, "label": labels[n % len(labels)]})], 1.0, LIMITS)
    path = tmp_path / "m.model"
    path.write_bytes(container.to_bytes(*copy(served).packed()))
    model = rosenblatt.load(path)
    for _ in range(10):
        x = {f"f{k}": float(rng.normal()) for k in range(4)}
        answer = scored(served, {"features": x, "top": 5, "reasons": 9}, b"", 100)
        assert answer["prediction"] == model.predict_one(x)
        row = np.array([[x[name] for name in (model.model_.features if hasattr(model, "model_") else sorted(x))]])
        scores = model.decision_function(row)[0]
        order = [(entry["label"], entry["score"]) for entry in answer["scores"]]
        if len(labels) == 2:
            assert dict(order)["b"] == pytest.approx(scores)
            assert dict(order)["a"] == pytest.approx(-scores)
        else:
            assert dict(order) == pytest.approx(dict(zip(model.classes_, scores, strict=True)))
        assert order[0][0] == answer["prediction"]
        if algorithm in ("perceptron", "averaged-perceptron", "alma"):
            number = list(model.classes_).index(answer["prediction"])
            bias = model.intercept_[0 if len(labels) == 2 else number] * (-1 if len(labels) == 2 and number == 0 else 1)
            assert sum(reason["part"] for reason in answer["reasons"]) + bias == pytest.approx(order[0][1])
            assert answer["bias"] == pytest.approx(bias)
            assert all(reason["part"] == reason["value"] * reason["weight"] for reason in answer["reasons"])
            assert {reason["value"] for reason in answer["reasons"]} <= set(x.values())
        else:
            assert answer["reasons"] is None
            assert "bias" not in answer


def test_killing_leader_standby_and_database_loses_nothing(postgres):
    learners = [("averaged-perceptron", {}), ("winnow", {})]
    result = kills(postgres.database(f"t{uuid.uuid4().hex}"), 5, learners, database=postgres)
    assert result["least_confirmed"] > 20
    assert min(result[victim] for victim in ("leader", "standby", "database", "all")) == 1


def test_a_deleted_model_is_gone_and_its_name_is_free(store):
    with Server(store) as first, Server(store, wait="standby") as second:
        for name in ("old", "kept"):
            first.post(f"/v1/models/{name}", {"algorithm": "perceptron"})
            first.post(f"/v1/models/{name}/learn", {"id": "a", "features": {"x": 1}, "label": "yes"})
        wait_until(lambda: second.get("/v1/models/old")[0] == 200)
        assert first.request("DELETE", "/v1/models/none")[0] == 404
        assert first.request("DELETE", "/v1/models/old") == (200, {"name": "old", "deleted": True})
        assert first.get("/v1/models/old")[0] == 404
        assert first.post("/v1/models/old/learn", {"features": {"x": 1}, "label": "yes"})[0] == 404
        wait_until(lambda: second.get("/v1/models/old")[0] == 404)
        assert first.post("/v1/models/old", {"algorithm": "winnow"})[0] == 201
        answer = first.post("/v1/models/old/learn", {"id": "a", "features": {"x": 1}, "label": 3})[1]
        assert answer["repeated"] is False
        log = Store(store)
        wait_until(lambda: not list(log.events(1)))  # the events are removed
        assert [name for _, name in log.models()] == ["kept", "old"]
        log.close()
        with rosenblatt.Client(first.address) as client:
            client.delete("old")
            client.delete("old")
        first.kill()
        second.wait_for("ready")
        assert [facts["name"] for facts in second.get("/v1/models")[1]["models"]] == ["kept"]
        second.post("/v1/models/new", {"algorithm": "perceptron"})
        second.kill()
    with Server(store) as server:
        assert {facts["name"]: facts["examples"] for facts in server.get("/v1/models")[1]["models"]} == {
            "kept": 1,
            "new": 0,
        }
