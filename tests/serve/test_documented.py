"""Sentences of the page of the service that no other test holds."""

import asyncio
import contextlib
import json
import socket
import subprocess
import sys
import threading
import time
import urllib.request

import pytest

from rosenblatt.serve import groups as groups_module
from rosenblatt.serve import service as service_module
from rosenblatt.serve.events import Limits
from rosenblatt.serve.learner import Served
from rosenblatt.serve.retention import MOST_REMOVED, PIECE, Mark, Policy, Removal, Retention
from rosenblatt.serve.service import Service
from rosenblatt.serve.snapshots import copy
from rosenblatt.serve.store import Store
from tests.cli.helpers import call
from tests.serve.processes import Server
from tests.serve.test_faults import wait_until
from tests.serve.test_learner import LIMITS, asked
from tests.serve.test_retention import Simulated

LINES = "application/x-ndjson"


@contextlib.asynccontextmanager
async def ready(folder, **options):
    """A service in this process, with a model m."""
    store = Store(f"{folder}/log.db")
    store.prepare()
    service = Service(store, Limits(), **options)
    await service.start()
    async with asyncio.timeout(60):
        while service.state != "ready":
            await asyncio.sleep(0.01)
        await service.create("m", "perceptron", {})
        yield service
    await service.close()


# ---- requests ----


def test_features_are_objects_or_lists_of_one_length(server, model):
    learn = f"{model}/learn"
    assert server.post(learn, {"features": [1, 2.5], "label": "a"})[0] == 200
    status, answer = server.post(learn, {"features": [1, 2, 3], "label": "a"})
    assert (status, "2" in answer["error"]) == (409, True)
    assert server.post(learn, {"features": [0, 1], "label": "new"})[1]["label"] == "new"
    other = f"{model}-names"
    server.post(other, {"algorithm": "perceptron"})
    for n in range(3):
        assert server.post(f"{other}/learn", {"features": {f"new{n}": 1}, "label": f"class{n}"})[0] == 200
    assert server.get(other)[1]["classes"] == ["class0", "class1", "class2"]
    assert server.post(f"{other}/learn", {"features": {"x": 1}, "label": 1})[0] == 409  # labels are of one type
    server.request("DELETE", other)


def test_an_id_is_learned_once(server, model):
    request = {"id": "one", "features": {"x": 1}, "label": "a"}
    first, second = (server.post(f"{model}/learn", request)[1] for _ in range(2))
    assert (first["repeated"], second["repeated"]) == (False, True)
    assert server.get(model)[1]["examples"] == 1


def test_head_works_wherever_get_does(server, model):
    server.post(f"{model}/learn", {"id": "one", "features": {"x": 1}, "label": "a"})
    name = model.rpartition("/")[2]
    paths = ["/", "/openapi.json"]
    paths += [path for path, kinds in server.get("/openapi.json")[1]["paths"].items() if "get" in kinds]
    assert len(paths) > 12
    for path in paths:
        address = path.replace("{name}", name).replace("{id}", "one")
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as client:
            client.sendall(f"HEAD {address} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            answer = b"".join(iter(lambda client=client: client.recv(65536), b""))
        head, _, body = answer.partition(b"\r\n\r\n")
        assert (path, head[:12], body) == (path, b"HTTP/1.1 200", b"")


def test_liveness_and_both_kinds_of_readiness(tmp_path):
    store = f"sqlite:///{tmp_path}/log.db"
    with Server(store) as first, Server(store, wait="standby") as second:
        assert [first.get(path)[0] for path in ("/livez", "/readyz", "/readyz/reads")] == [200] * 3
        wait_until(lambda: second.get("/readyz/reads")[0] == 200)
        assert second.get("/livez")[0] == 200
        status, answer = second.get("/readyz")
        assert (status, answer["state"]) == (503, "standby")
        assert answer["error"]


# ---- scores ----


def test_a_score_is_not_recorded(server, model):
    server.post(f"{model}/learn", {"features": {"x": 1}, "label": "a"})
    before = server.get(model)[1]
    assert server.post(f"{model}/score", {"features": {"x": 1}})[1]["prediction"] == "a"
    body = b'{"features":{"x":1}}\n{"features":{"x":2}}'
    assert len(server.post(f"{model}/score", body, kind=LINES)[1]) == 2
    assert server.get(model)[1] == before
    assert server.post(f"{model}/score", {"id": "one", "features": {"x": 1}})[0] == 422  # nothing can be revealed
    assert server.post(f"{model}/reveal", {"id": "one", "label": "a"})[0] == 404


def test_a_score_may_include_what_is_not_on_disk_yet(tmp_path, monkeypatch):
    held, real = threading.Event(), Store.append

    def append(self, events, *arguments):
        if any(event.kind == "learn" for event in events):
            assert held.wait(60)
        return real(self, events, *arguments)

    monkeypatch.setattr(Store, "append", append)

    async def run():
        async with ready(tmp_path) as service:
            learning = asyncio.create_task(service.work("learn", "m", *asked({"features": {"x": 1}, "label": "a"})))
            while (await service.score("m", {"features": {"x": 1}}, b""))["prediction"] is None:
                await asyncio.sleep(0.01)
            assert not learning.done()
            held.set()
            assert (await learning)["label"] == "a"

    asyncio.run(run())


def test_a_standby_reads_the_log_twice_a_second():
    assert service_module.FOLLOW <= 0.5


@pytest.mark.parametrize("algorithm", ["voted-perceptron", "kernel-perceptron", "parallel-perceptron"])
def test_learners_without_weights_of_features_give_no_reasons(algorithm):
    from rosenblatt.serve.scoring import scored

    served = Served(1, "m", algorithm, {}, 0.0)
    for label in ("a", "b"):
        served.learn([asked({"features": {label: 1}, "label": label})], 1.0, LIMITS)
    answer = scored(served, {"features": {"a": 1}, "reasons": 3}, b"", 100)
    assert answer["reasons"] is None
    assert answer["prediction"] in ("a", "b")


# ---- the life of a model ----


def test_a_cleared_model_keeps_its_names_settings_and_ids(server, model):
    alias = f"{model.rpartition('/')[2]}-alias"
    server.post(f"{model}/alias", {"alias": alias})
    server.post(f"{model}/learn", {"id": "done", "features": {"x": 1}, "label": "a"})
    server.post(f"{model}/predict", {"id": "waits", "features": {"x": 1}})
    server.post(f"{model}/challenger", {"algorithm": "arow"})
    facts = server.post(f"{model}/clear")[1]
    assert (facts["examples"], facts["mistakes"], facts["classes"], facts["features"]) == (0, 0, [], 0)
    assert (facts["pending"], facts["challenger"]) == (0, None)
    assert (facts["aliases"], facts["algorithm"]) == ([alias], "perceptron")
    assert server.post(f"{model}/reveal", {"id": "waits", "label": "a"})[0] == 410
    assert server.post(f"{model}/learn", {"id": "done", "features": {"x": 1}, "label": "a"})[1]["repeated"]


def test_streams_end_when_a_model_is_renamed(server, model):
    with urllib.request.urlopen(f"{server.address}{model}/events", timeout=60) as stream:
        assert stream.readline() == b"event: model\n"
        assert server.post(f"{model}/rename", {"name": f"{model.rpartition('/')[2]}-new"})[0] == 200
        assert stream.read() is not None  # to its end


def test_a_second_promotion_goes_back(server, model):
    server.post(f"{model}/challenger", {"algorithm": "arow"})
    for label in ("a", "b"):
        server.post(f"{model}/learn", {"features": {"x": 1}, "label": label})
    first, second = (server.post(f"{model}/promote")[1] for _ in range(2))
    assert (first["algorithm"], first["challenger"]["algorithm"]) == ("arow", "perceptron")
    assert (second["algorithm"], second["challenger"]["algorithm"]) == ("perceptron", "arow")


def test_a_deleted_label_can_arrive_again(server, model):
    for label in ("a", "b", "c"):
        server.post(f"{model}/learn", {"features": {label: 1}, "label": label})
    assert server.post(f"{model}/delete-label", {"label": "b"})[1]["classes"] == ["a", "c"]
    scores = server.post(f"{model}/score", {"features": {"b": 1}, "top": 5})[1]["scores"]
    assert {entry["label"] for entry in scores} == {"a", "c"}
    server.post(f"{model}/learn", {"features": {"b": 1}, "label": "b"})
    assert sorted(server.get(model)[1]["classes"]) == ["a", "b", "c"]


def test_a_token_for_an_alias_is_enough(tmp_path):
    store = Store(f"sqlite:///{tmp_path}/log.db")
    store.prepare()
    admin, token = store.add_token("admin", "admin"), store.add_token("user", "learn", models=("mail",))
    store.close()
    with Server(store.name) as server:
        server.post("/v1/models/m1", {"algorithm": "perceptron"}, token=admin)
        server.post("/v1/models/m1/alias", {"alias": "mail"}, token=admin)
        request = {"features": {"x": 1}, "label": "a"}
        assert server.post("/v1/models/mail/learn", request, token=token)[0] == 200
        assert server.post("/v1/models/m1/learn", request, token=token)[0] == 403
        assert server.post("/v1/models/m1/unalias", {"alias": "mail"}, token=admin)[1]["aliases"] == []
        assert server.post("/v1/models/mail/learn", request, token=token)[0] == 404


def test_rights_of_tokens(tmp_path):
    store = Store(f"sqlite:///{tmp_path}/log.db")
    store.prepare()
    tokens = [store.add_token(rights, rights) for rights in ("read", "learn", "admin")]
    store.close()
    with Server(store.name) as server:
        server.post("/v1/models/m", {"algorithm": "perceptron"}, token=tokens[2])
        example = {"id": "i", "features": {"x": 1}}
        for path, body, expected in (
            ("m/learn", {"features": {"x": 1}, "label": "a"}, [403, 200, 200]),
            ("m/score", {"features": {"x": 1}}, [200, 200, 200]),
            ("m/predict", example, [403, 200, 200]),
            ("m/reveal", {"id": "i", "label": "a"}, [403, 200, 200]),
            ("new", {"algorithm": "perceptron"}, [403, 403, 201]),
        ):
            found = [server.post(f"/v1/models/{path}", body, token=token)[0] for token in tokens]
            assert (path, found) == (path, expected)
        found = [server.request("DELETE", "/v1/models/new", token=token)[0] for token in tokens]
        assert found == [403, 403, 200]


# ---- limits ----


@pytest.mark.parametrize(("large", "times"), [(1 << 30, 25), (1, 100)])
def test_snapshots_take_a_part_of_the_time(tmp_path, monkeypatch, large, times):
    real, taken = groups_module._encoded, []

    def encoded(moment):
        started = time.monotonic()
        time.sleep(0.05)
        data = real(moment)
        taken.append((started, time.monotonic()))
        return data

    monkeypatch.setattr(groups_module, "_encoded", encoded)
    monkeypatch.setattr(groups_module, "BIG", large)

    async def run():
        async with ready(tmp_path, snapshot_every=1) as service:
            until = time.monotonic() + 0.5
            while time.monotonic() < until:
                await service.work("learn", "m", *asked({"features": {"x": 1}, "label": "a"}))
            assert len(taken) == 1
            pause = service._groups._not_before[service.models["m"].number] - taken[0][1]
            assert pause >= times * (taken[0][1] - taken[0][0])

    asyncio.run(run())


def test_weights_take_eight_bytes_for_each_feature_and_class():
    for algorithm, size in (("perceptron", 8), ("averaged-perceptron", 16)):
        served = Served(1, "m", algorithm, {}, 0.0)
        for n in range(8):
            x = {f"f{k}": 1.0 for k in range(1000)}
            served.learn([asked({"features": x, "label": "abcd"[n % 4]})], 1.0, LIMITS)
        _, arrays = copy(served).packed()
        weights = sum(array.nbytes for array in arrays.values() if array.ndim == 2 and 4 in array.shape)
        assert 4 * 1000 * size <= weights <= 4 * 1010 * size


# ---- the log ----


def test_events_are_removed_in_small_steps():
    for bytes_of_event, rows in ((100, MOST_REMOVED), (PIECE // 50, 50)):
        retention = Retention(Policy(size=1.0), lambda: 0.0)
        retention.start({1: [Mark(10_000, 1.0, 10_000 * bytes_of_event)]}, {1: 1})
        served = Served(1, "m", "perceptron", {}, 0.0)
        served.sequence = 10_000
        retention.cut(served, retention.marks[1][0])
        assert retention.removal() == Removal(1, 0, 10_000, rows)


def test_the_last_minute_is_kept_in_any_case():
    simulated = Simulated(Policy(60.0))  # "snapshot"
    for _ in range(500):
        simulated.pass_time(1.0)
        base = simulated.retention.base.get(1, 0)
        assert base == 0 or simulated.models[0].sequence - base >= 60
    assert base > 300


def test_removed_events_leave_space_for_new_ones(tmp_path):
    store, served = Store(f"{tmp_path}/log.db"), Served(1, "m", "perceptron", {}, 1.0)
    store.prepare()
    store.acquire(5.0)
    store.append([served.creation()], [], [(1, "m")])

    def grow():
        for _ in range(100):
            request = {"features": {"x": 1}, "label": "a" * 150}
            store.append([event for _ in range(50) for event in served.learn([asked(request)], 2.0, LIMITS)[0]])

    def size():
        return sum(path.stat().st_size for path in tmp_path.glob("log.db*"))

    grow()
    before, cut = size(), served.sequence
    assert before > 1_000_000
    for after in range(0, cut, 1000):
        store.cut(Removal(1, after, cut, 1000))
    assert size() >= before
    grow()
    assert size() < 1.25 * before
    store.close()


def test_an_export_has_the_delays_of_the_log(tmp_path):
    """Labels come between the same requests in a replay of an export, which has them one per line."""
    with Server(f"sqlite:///{tmp_path}/log.db") as server:
        server.post("/v1/models/m", {"algorithm": "perceptron"})
        for n in range(12):
            server.post("/v1/models/m/predict", {"id": f"p{n}", "features": {f"w{n % 3}": 1}})
            if n >= 4:
                server.post("/v1/models/m/reveal", {"id": f"p{n - 4}", "label": "ab"[n % 2]})
        assert server.stop() == 0
    store = f"sqlite:///{tmp_path}/log.db"
    call("replay", store, "--export", tmp_path / "log.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    kinds = [line["kind"] for line in lines if line.get("kind") in ("predict", "reveal")]
    assert kinds == ["predict"] * 4 + ["predict", "reveal"] * 8
    for other in ("perceptron", "passive"):
        results = [
            json.loads(call("replay", log, "--algorithm", other, "--json").stdout)
            for log in (store, tmp_path / "log.jsonl")
        ]
        assert results[0] == results[1]
        assert results[0]["examples"] == 8


# ---- packages ----


def test_without_its_option_no_package_of_opentelemetry_is_loaded():
    code = (
        "import sys, rosenblatt.serve.server, rosenblatt.serve.app; "
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
