"""Clients that send what no client should: they must not harm others, whatever they send."""

import asyncio
import contextlib
import json
import socket
import threading
import time
from pathlib import Path

import pytest

from rosenblatt.serve.store import Store, StoreError
from tests.serve.processes import Connection, Server
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
            for depth in (DEEP, b"[" * 1000 + b'"' + b" " * 3000 + b'"' + b"]" * 1000):
                assert server.post(f"/v1/models/m/{kind}", text % depth)[0] == 422
        server.post("/v1/models/m/reveal", {"id": "q", "label": "a"})
        before = server.get("/v1/models/m")[1]
        server.kill()
    with Server(store) as server:
        assert server.get("/v1/models/m")[1] == before


def test_after_an_unexpected_error_memory_is_what_is_on_disk(tmp_path, monkeypatch):
    """Any error in the middle of a batch, here of the learner itself."""
    from rosenblatt.serve.app import App
    from rosenblatt.serve.events import Limits
    from rosenblatt.serve.learner import Served
    from rosenblatt.serve.service import Service

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

    assert App is not None
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
    from rosenblatt.serve.events import Event

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


def test_list_features_count_for_the_limit_of_weights(service, model):
    statuses = [service.post(f"{model}/learn", {"features": [1.0] * 10_000, "label": f"c{n}"})[0] for n in range(102)]
    assert statuses == [200] * 100 + [409] * 2


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
    with Server(f"sqlite:///{tmp_path}/log.db", "--patience", 3) as server:
        server.post("/v1/models/m", {"algorithm": "perceptron"})
        for start in range(0, 150_000, 10_000):
            names = {f"a feature with a long name {n}": 1 for n in range(start, start + 10_000)}
            server.post("/v1/models/m/learn", {"features": names, "label": "ab"[start // 10_000 % 2]})
        size = len(server.get("/v1/models/m/model")[1])
        before = resident(server)
        clients = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(20)]
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
        for client in clients:
            client.close()


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


def test_batches_do_not_delay_single_requests(tmp_path):
    """Single requests are handled between the slices of batches, of which only one is handled at a time."""
    body = "\n".join(
        json.dumps({"features": {f"f{k}": (n * k) % 7 for k in range(20)}, "label": "ab"[n % 2]}) for n in range(5000)
    ).encode()

    async def run(port):
        times, stop = [], time.monotonic() + 2.5

        async def batches():
            connection = await Connection.open(port)
            while time.monotonic() < stop:
                status, _ = await connection.post(b"/v1/models/m/learn", body, b"application/x-ndjson")
                assert status == 200
            connection.close()

        async def singles():
            connection = await Connection.open(port)
            while time.monotonic() < stop:
                started = time.perf_counter()
                status, _ = await connection.post(b"/v1/models/m/learn", b'{"features":{"f1":1},"label":"a"}')
                assert status == 200
                times.append(time.perf_counter() - started)
                await asyncio.sleep(0.002)
            connection.close()

        await asyncio.gather(*(batches() for _ in range(8)), singles())
        return sorted(times)

    with Server(f"sqlite:///{tmp_path}/log.db") as server:
        server.post("/v1/models/m", {"algorithm": "perceptron"})
        times = asyncio.run(run(server.port))
    assert times[len(times) // 2] < 0.15, times[len(times) // 2]


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
    assert max(times) < 1.0, max(times)
