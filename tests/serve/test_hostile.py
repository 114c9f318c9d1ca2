"""Clients that send what no client should: they must not harm others, whatever they send."""

import asyncio
import contextlib
import itertools
import json
import socket
import threading
import time
from pathlib import Path

import pytest

from rosenblatt.model.linear import Model
from rosenblatt.serve import groups as groups_module
from rosenblatt.serve import service as service_module
from rosenblatt.serve.events import Event, Limits
from rosenblatt.serve.learner import Served
from rosenblatt.serve.requests import LinesReader
from rosenblatt.serve.service import Service
from rosenblatt.serve.store import Store, StoreError, without_password
from tests.serve.processes import Server
from tests.serve.test_faults import wait_until


def resident(server):
    """Megabytes of memory of a process."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) // 1024


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    store = f"sqlite:///{tmp_path_factory.mktemp('store')}/log.db"
    with Server(store, "--patience", 2, "--max-pending-bytes", 1 << 20, "--max-weights", 1_000_000) as server:
        yield server


@pytest.fixture
def model(service, request):
    path = f"/v1/models/{request.node.name[:60].replace('[', '-').rstrip(']')}"
    assert service.post(path, {"algorithm": "perceptron"})[0] == 201
    return path


DEEP = b"[" * 1000 + b"]" * 1000


def test_deeply_nested_json_neither_breaks_a_batch_nor_the_store(tmp_path):
    store = f"sqlite:///{tmp_path}/log.db"
    with Server(store) as server:
        server.post("/v1/models/m", {"algorithm": "perceptron"})
        body = b'{"id":"q","features":{"x":1}}\n{"id":"r","features":{"x":' + DEEP + b"}}"
        status, _ = server.post("/v1/models/m/predict", body, kind="application/x-ndjson")
        assert status in (200, 422)
        for kind, text in (("predict", b'{"features":%s}'), ("learn", b'{"features":{"x":1},"label":%s}')):
            for depth in (DEEP, b"[" * 1000 + b'"' + b" " * 3000 + b'"' + b"]" * 1000, b'[{"a":' + DEEP + b"}]"):
                assert server.post(f"/v1/models/m/{kind}", text % depth)[0] == 422
        server.post("/v1/models/m/reveal", {"id": "q", "label": "a"})
        before = server.get("/v1/models/m")[1]
        server.kill()
    with Server(store) as server:
        assert server.get("/v1/models/m")[1] == before


def test_after_an_unexpected_error_memory_is_what_is_on_disk(tmp_path, monkeypatch):
    """Any error in the middle of a batch, here of the learner itself."""

    async def run():
        store = Store(f"sqlite:///{tmp_path}/log.db")
        store.prepare()
        service = Service(store, Limits())
        await service.start()
        while service.state != "ready":
            await asyncio.sleep(0.01)
        await service.create("m", "perceptron", {})
        await service.work("predict", "m", {"id": "a", "features": {"x": 1}}, b'{"id":"a","features":{"x":1}}')
        real = Served._teach

        def broken(self, x, label):
            real(self, x, label)
            raise MemoryError("none left")

        monkeypatch.setattr(Served, "_teach", broken)
        with pytest.raises(MemoryError):
            await service.work("reveal", "m", {"id": "a", "label": "b"}, b"")
        monkeypatch.setattr(Served, "_teach", real)
        while service.state != "ready":
            await asyncio.sleep(0.01)
        assert (await service.describe("m"))["pending"] == 1
        answer = await service.work("reveal", "m", {"id": "a", "label": "b"}, b"")
        assert answer["repeated"] is False
        assert (await service.describe("m"))["examples"] == 1
        await service.close()

    asyncio.run(run())


def test_a_model_that_cannot_be_rebuilt_is_set_aside(store):
    with Server(store) as server:
        for name in ("good", "bad"):
            server.post(f"/v1/models/{name}", {"algorithm": "perceptron"})
            server.post(f"/v1/models/{name}/learn", {"features": {"x": 1}, "label": "a"})
        server.kill()
    log = Store(store)
    assert log.acquire(5.0)
    numbers = {name: number for number, name in log.models()}
    log.append([Event(numbers["bad"], 3, "reveal", 1e10, b'[["never predicted","a"]]')])
    log.release()
    log.close()
    with Server(store) as server:
        assert server.post("/v1/models/good/learn", {"features": {"x": 1}, "label": "a"})[0] == 200
        status, answer = server.post("/v1/models/bad/learn", {"features": {"x": 1}, "label": "a"})
        assert status == 503
        assert "set aside" in answer["error"]
        assert server.post("/v1/models/bad", {"algorithm": "perceptron"})[0] == 503
        assert server.get("/readyz")[1]["set_aside"] == ["bad"]
        assert [entry["name"] for entry in server.get("/v1/models")[1]["set_aside"]] == ["bad"]
        assert b"rosenblatt_models_set_aside 1.0" in server.get("/metrics")[1]
        assert server.request("DELETE", "/v1/models/bad")[0] == 200
        assert server.post("/v1/models/bad", {"algorithm": "perceptron"})[0] == 201
        assert server.get("/readyz")[1]["set_aside"] == []


def test_endless_headers_are_cut_off(service):
    before = resident(service)
    for start, more in (
        (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: ", b"x" * 65536),
        (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n", b"X-Many: 1\r\n" * 6000),
        (b"GET /", b"x" * 65536),
        (b"POST /v1/models/none/learn HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"X-Trailer: 1\r\n" * 5000),
    ):
        with socket.create_connection(("127.0.0.1", service.port), timeout=10) as client:
            sent = 0
            with contextlib.suppress(OSError):
                client.sendall(start)
                while sent < 30 << 20:
                    client.sendall(more)
                    sent += len(more)
            assert sent < 30 << 20, start
    assert resident(service) - before < 30
    assert service.get("/healthz")[0] == 200


def test_requests_without_waiting_for_answers_are_limited(tmp_path):
    """A client that sends on and never reads is disconnected, and what it sent takes no memory."""
    with Server(f"sqlite:///{tmp_path}/log.db") as server:
        server.get("/openapi.json")
        before = resident(server)
        for path in (b"/x", b"/openapi.json"):
            many = b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path * 1300
            with contextlib.ExitStack() as connected:
                for _ in range(10):
                    client = connected.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=30))
                    with pytest.raises(OSError, match=r"reset|Broken pipe"):
                        client.sendall(many * 100)
                assert server.get("/livez")[0] == 200
        assert resident(server) - before < 100
        few = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n" * 8
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as client:
            client.sendall(few)
            answers = b""
            while answers.count(b"HTTP/1.1 200") < 8:
                answers += client.recv(65536)
        assert server.stop() == 0
        assert "Traceback" not in "".join(server.lines)


def part_of_a_body(server, size, token=None):
    """A client that has sent a part of a large body."""
    client = socket.create_connection(("127.0.0.1", server.port), timeout=30)
    head = f"POST /v1/models/m/learn HTTP/1.1\r\nHost: localhost\r\nContent-Length: {8 << 20}\r\n"
    client.sendall((head + (f"Authorization: Bearer {token}\r\n" if token else "") + "\r\n").encode() + b"{" * size)
    return client


LONG = b'{"features":{"x":1},"label":"a"}' + b" " * 70_000


def test_unfinished_bodies_do_not_lock_others_out(tmp_path):
    store = Store(f"sqlite:///{tmp_path}/log.db")
    store.prepare()
    greedy, other = store.add_token("greedy", "admin"), store.add_token("other", "admin")
    with Server(store.name) as server, contextlib.ExitStack() as connected:
        server.post("/v1/models/m", {"algorithm": "perceptron"}, token=greedy)
        for _ in range(20):  # only what has arrived counts
            connected.enter_context(part_of_a_body(server, 1, greedy))
        assert server.post("/v1/models/m/learn", LONG, token=greedy)[0] == 200
        for _ in range(6):  # a client has half of the memory
            connected.enter_context(part_of_a_body(server, (8 << 20) - 1, greedy))
        wait_until(lambda: server.post("/v1/models/m/learn", LONG, token=greedy)[0] == 503)
        assert server.post("/v1/models/m/learn", LONG, token=other)[0] == 200
    store.close()


def test_slow_readers_of_files_do_not_lock_others_out(tmp_path):
    store = Store(f"sqlite:///{tmp_path}/log.db")
    store.prepare()
    greedy, other = store.add_token("greedy", "admin"), store.add_token("other", "read")
    with Server(store.name) as server, contextlib.ExitStack() as connected:
        server.post("/v1/models/m", {"algorithm": "perceptron"}, token=greedy)
        for start in range(0, 250_000, 10_000):
            names = {f"a feature with a long name {n}": 1 for n in range(start, start + 10_000)}
            server.post("/v1/models/m/learn", {"features": names, "label": "ab"[start // 10_000 % 2]}, token=greedy)
        for _ in range(40):
            client = connected.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            head = f"GET /v1/models/m/model HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {greedy}\r\n\r\n"
            client.sendall(head.encode())
        wait_until(lambda: server.get("/v1/models/m/model", token=greedy)[0] == 503)
        assert server.get("/v1/models/m/model", token=other)[0] == 200
    store.close()


def test_pending_predictions_are_weighed(service, model):
    padding = b" " * (1 << 19)
    before = resident(service)
    for n in range(60):
        body = b'{"id":"i%d",%s"features":{"x":1}}' % (n, padding)
        assert service.post(f"{model}/predict", body)[0] == 200
    assert resident(service) - before < 60
    assert service.get(model)[1]["pending"] == 60  # the spaces are not stored
    words = ["w" * 900 + str(n) for n in range(200)]
    for n in range(10):
        assert service.post(f"{model}/predict", {"id": f"long{n}", "features": {"words": words}})[0] == 200
    facts = service.get(model)[1]
    assert facts["pending"] <= 6
    assert service.post(f"{model}/reveal", {"id": "i0", "label": "a"})[0] == 410
    assert service.post(f"{model}/reveal", {"id": "long9", "label": "a"})[0] == 200


def test_new_classes_are_bounded_and_quick(service, model):
    for label in ("a", "b"):
        service.post(f"{model}/learn", {"features": {f"f{n}": 1 for n in range(1000)}, "label": label})
    lines = [json.dumps({"features": {"f1": 1}, "label": f"new {n}"}) for n in range(400)]
    status, answers = service.post(f"{model}/learn", "\n".join(lines).encode(), kind="application/x-ndjson")
    assert status == 200
    assert [answer.get("status", 200) for answer in answers] == [200] * 100 + [409] * 300
    assert "--max-classes" in answers[100]["error"]


@pytest.mark.parametrize("algorithm", ["perceptron", "averaged-perceptron", "passive-aggressive", "arow"])
def test_new_classes_do_not_copy_all_weights(algorithm, monkeypatch):
    """Weights have columns in reserve, so all of them are copied a few times and not for each class."""
    copies, real = [], Model._reshape

    def counted(self, *arguments):
        copies.append(1)
        return real(self, *arguments)

    served = Served(1, "m", algorithm, {}, 0.0)
    monkeypatch.setattr(Model, "_reshape", counted)
    for n in range(400):
        request = {"features": {"x": 1, "y": 2}, "label": f"c{n}"}
        served.learn([(request, b"{}")], 1.0, Limits())
    assert len(served.classes) == 400
    assert 2 <= len(copies) <= 20


def test_list_features_count_for_the_limit_of_weights(service, model):
    answers = [service.post(f"{model}/learn", {"features": [1.0] * 10_000, "label": f"c{n}"}) for n in range(102)]
    assert [status for status, _ in answers] == [200] * 100 + [409] * 2
    assert "fewer features" in answers[-1][1]["error"]


@pytest.mark.parametrize("algorithm", ["kernel-perceptron", "voted-perceptron"])
def test_learners_that_store_examples_are_limited(service, algorithm):
    path = f"/v1/models/{algorithm}"
    parameters = {"max_support": 1 << 30} if algorithm == "voted-perceptron" else {}
    assert service.post(path, {"algorithm": algorithm, "parameters": parameters})[0] == 201
    lines = [json.dumps({"features": [n % 7 - 3.0] * 10_000, "label": "ab"[n // 7 % 2]}) for n in range(450)]
    statuses = [
        answer.get("status", 200)
        for start in range(0, 450, 50)
        for answer in service.post(
            f"{path}/learn", "\n".join(lines[start : start + 50]).encode(), kind="application/x-ndjson"
        )[1]
    ]
    assert statuses[-1] == 409
    assert statuses.count(200) >= 90, statuses.count(200)


def test_true_is_no_integer(service, model):
    assert service.post(f"{model}/learn", {"features": {"x": 1}, "label": 1})[0] == 200
    assert service.post(f"{model}/learn", {"features": {"x": 1}, "label": 0})[0] == 200
    status, answer = service.post(f"{model}/learn", {"features": {"x": 1}, "label": True})
    assert status == 409
    assert "of one type" in answer["error"]
    assert service.get(model)[1]["classes"] == [1, 0]


def test_slow_readers_of_a_large_file(tmp_path):
    with Server(f"sqlite:///{tmp_path}/log.db", "--patience", 3) as server, contextlib.ExitStack() as connected:
        server.post("/v1/models/m", {"algorithm": "perceptron"})
        for start in range(0, 150_000, 10_000):
            names = {f"a feature with a long name {n}": 1 for n in range(start, start + 10_000)}
            server.post("/v1/models/m/learn", {"features": names, "label": "ab"[start // 10_000 % 2]})
        size = len(server.get("/v1/models/m/model")[1])
        before = resident(server)
        clients = [connected.enter_context(socket.create_connection(("127.0.0.1", server.port))) for _ in range(20)]
        for client in clients:
            client.sendall(b"GET /v1/models/m/model HTTP/1.1\r\nHost: localhost\r\n\r\n")
        times = []
        for _ in range(30):
            started = time.perf_counter()
            assert server.post("/v1/models/m/score", {"features": {"x": 1}})[0] == 200
            times.append(time.perf_counter() - started)
            time.sleep(0.05)
        assert resident(server) - before < 5 * size >> 20
        assert server.get("/v1/models/m/model")[0] == 200  # a quick one


def test_idle_connections_do_not_lock_others_out(tmp_path, monkeypatch):
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 6000:
        pytest.skip("a process may open too few files for this test")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 6000), hard))
    with Server(f"sqlite:///{tmp_path}/log.db", "--patience", 60) as server:
        server.post("/v1/models/m", {"algorithm": "perceptron"})
        idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(4300)]
        assert server.post("/v1/models/m/learn", {"features": {"x": 1}, "label": "a"})[0] == 200
        for client in idle:
            client.close()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_rates_of_a_client_can_be_limited(tmp_path):
    with Server(f"sqlite:///{tmp_path}/log.db", "--max-rate", 2) as server:
        statuses = [server.post("/v1/models/m", {"algorithm": "perceptron"})[0] for _ in range(25)]
        assert statuses[:20] == [201] + [200] * 19
        assert statuses[-1] == 429


def test_batches_do_not_delay_single_requests(tmp_path, monkeypatch):
    """Batches take turns, and a single request waits for a slice of one of them, not for all of them."""
    applied, real = [], Served.learn

    def learn(self, requests, *arguments):
        applied.append((requests[0][0]["label"], len(requests)))
        return real(self, requests, *arguments)

    monkeypatch.setitem(service_module._WORK, "learn", learn)
    bodies = [b"\n".join([b'{"features":{"x":1},"label":"batch %d"}' % k] * 3000) for k in range(6)]

    async def run():
        store = Store(f"{tmp_path}/log.db")
        store.prepare()
        service = Service(store, Limits())
        await service.start()
        async with asyncio.timeout(60):
            while service.state != "ready":
                await asyncio.sleep(0.01)
            await service.create("m", "perceptron", {})
            applied.clear()
            batches = [
                asyncio.create_task(service.work_on_lines("learn", "m", LinesReader("learn", body))) for body in bodies
            ]
            while len(applied) < 15:
                await asyncio.sleep(0)
            before = len(applied)
            single = {"features": {"x": 1}, "label": "single"}
            await asyncio.create_task(service.work("learn", "m", single, json.dumps(single).encode()))
            assert applied.index(("single", 1)) - before <= 2
            assert all(len(answers) == 3000 for answers in await asyncio.gather(*batches))
        await service.close()

    asyncio.run(run())
    labels = [label for label, _ in applied if label != "single"]
    assert [label for label, _ in itertools.groupby(labels)] == [f"batch {k}" for k in range(6)]
    assert max(count for _, count in applied) <= 250


def test_groups_are_small_while_there_are_single_requests(tmp_path, monkeypatch):
    """A single request waits for two groups at most, so batches must not fill them."""
    sizes, real = [], Store.append

    def append(self, events, *arguments):
        sizes.append(sum(len(event.payload) for event in events))
        time.sleep(0.02)  # a disk that is slow enough for large groups
        return real(self, events, *arguments)

    monkeypatch.setattr(Store, "append", append)
    monkeypatch.setattr(groups_module, "SINGLES_FOR", 3600.0)
    body = b"\n".join([b'{"features":{"x":1},"label":"%s"}' % (b"long " * 30)] * 8000)

    async def run():
        store = Store(f"{tmp_path}/log.db")
        store.prepare()
        service = Service(store, Limits())
        await service.start()
        async with asyncio.timeout(60):
            while service.state != "ready":
                await asyncio.sleep(0.01)
            await service.create("m", "perceptron", {})
            for name in ("alone", "beside"):
                sizes.clear()
                await asyncio.gather(
                    *(service.work_on_lines("learn", "m", LinesReader("learn", body)) for _ in range(2))
                )
                largest[name] = max(sizes)
                await service.work("learn", "m", {"features": {"x": 1}, "label": "single"}, b"{}")
        await service.close()

    largest = {}
    asyncio.run(run())
    assert largest["alone"] > groups_module.ENOUGH
    assert largest["beside"] < 2 * groups_module.BESIDE_SINGLES


def test_many_listeners_of_one_client_leave_room_for_others(tmp_path):
    store = Store(f"sqlite:///{tmp_path}/log.db")
    store.prepare()
    greedy, other = store.add_token("greedy", "admin"), store.add_token("other", "admin")
    with Server(store.name) as server:
        server.post("/v1/models/m", {"algorithm": "perceptron"}, token=greedy)

        def listen(token):
            client = socket.create_connection(("127.0.0.1", server.port), timeout=10)
            head = f"GET /v1/models/m/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n"
            client.sendall(head.encode())
            return client, client.recv(12)

        clients = [listen(greedy) for _ in range(101)]
        assert [answer for _, answer in clients] == [b"HTTP/1.1 200"] * 100 + [b"HTTP/1.1 503"]
        clients.append(listen(other))
        assert clients[-1][1] == b"HTTP/1.1 200"
        store.revoke_token("other")  # the stream of a revoked token ends
        clients[-1][0].settimeout(30)
        text = b""
        while not text.endswith(b"\r\n0\r\n\r\n"):
            text += clients[-1][0].recv(65536)
        for client, _ in clients:
            client.close()
    store.close()


def test_a_listener_that_reconnects_late_misses_nothing(service, model):
    lines = b"\n".join([b'{"features":{"x":1},"label":"a"}'] * 2)
    for _ in range(1250):
        service.post(f"{model}/learn", lines, kind="application/x-ndjson")
    last = service.get(model)[1]["sequence"]
    with socket.create_connection(("127.0.0.1", service.port), timeout=20) as client:
        client.sendall(f"GET {model}/events HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: 1\r\n\r\n".encode())
        text = b""
        while b"id: %d\n" % last not in text:
            part = client.recv(1 << 20)
            assert part
            text += part
    seen = [int(line[4:]) for line in text.split(b"\n") if line.startswith(b"id: ")]
    assert seen == list(range(2, last + 1))


def test_head_and_frames(service, model):
    for path in ("/", "/healthz", "/v1/models", model, "/metrics", f"{model}/events"):
        with socket.create_connection(("127.0.0.1", service.port), timeout=10) as client:
            client.sendall(f"HEAD {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            answer = b""
            while part := client.recv(4096):
                answer += part
        assert answer.startswith(b"HTTP/1.1 200"), path
        assert answer.endswith(b"\r\n\r\n"), path
        assert path != "/" or b"frame-ancestors 'none'" in answer


def test_a_password_in_the_address_of_a_store_is_not_shown():
    for address in ("mysql://ann:secret@host/x", "postgresql://ann:sec:ret@h ost:port/x"):
        with pytest.raises(ValueError, match="--store takes") as error:
            Store(address)
        assert "secret" not in str(error.value), error.value
    for address in ("postgresql:/ann:secret@host/x", "postgresql://ann:sec@secret@127.0.0.1:1/x"):
        assert "secret" not in without_password(address)
        with pytest.raises((ValueError, StoreError)) as error:
            Store(address).prepare()
        assert "secret" not in str(error.value), error.value
        assert "%40" in str(error.value) or "--store takes" in str(error.value), error.value
    for address in ("postgresql://ann:secret@127.0.0.1:1/x", "postgresql://127.0.0.1:1/x?user=ann&password=secret"):
        store = Store(address)
        assert "secret" not in store.name
        with pytest.raises(StoreError, match="connection") as error:
            store.prepare()
        assert "secret" not in str(error.value)


def test_a_deleted_file_is_noticed(tmp_path):
    with Server(f"sqlite:///{tmp_path}/log.db") as server:
        server.post("/v1/models/m", {"algorithm": "perceptron"})
        for file in tmp_path.glob("log.db*"):
            file.rename(tmp_path / f"kept-{file.name}")
        status, answer = server.post("/v1/models/m/learn", {"features": {"x": 1}, "label": "a"})
        assert status == 503
        assert "does not exist" in answer["error"]
        server.wait_for("unavailable")
        assert not list(tmp_path.glob("log.db*"))
        for file in tmp_path.glob("kept-*"):
            file.rename(tmp_path / file.name.removeprefix("kept-"))
        server.wait_for("ready")
        assert server.post("/v1/models/m/learn", {"features": {"x": 1}, "label": "a"})[0] == 200


def test_a_large_model_does_not_stop_the_others(tmp_path):
    """While a snapshot of a large model is taken and its file is read, requests for others are answered."""
    with Server(f"sqlite:///{tmp_path}/log.db", "--snapshot-every", 10) as server:
        for name in ("large", "small"):
            server.post(f"/v1/models/{name}", {"algorithm": "perceptron"})
        for start in range(0, 300_000, 10_000):
            features = {f"f{n}": 1 for n in range(start, start + 10_000)}
            assert (
                server.post("/v1/models/large/learn", {"features": features, "label": "abcd"[start // 10_000 % 4]})[0]
                == 200
            )
        ended = threading.Event()
        reader = threading.Thread(target=lambda: (server.get("/v1/models/large/model"), ended.set()))
        reader.start()
        times = []
        while not ended.is_set():
            started = time.perf_counter()
            assert server.post("/v1/models/small/learn", {"features": {"x": 1}, "label": "a"})[0] == 200
            times.append(time.perf_counter() - started)
        reader.join()
        wait_until(lambda: server.get("/v1/models/large")[1]["snapshot"] > 10)
    assert max(times) < 5.0, max(times)
