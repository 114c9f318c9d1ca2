"""The HTTP interface on both stores: its promises, and errors of clients."""

import asyncio
import contextlib
import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import rosenblatt
from rosenblatt.serve.server import _Joined


def lines(*objects):
    return "\n".join(json.dumps(thing) for thing in objects).encode()


def test_predict_reveal_learn(server, model):
    status, answer = server.post(
        f"{model}/predict", {"id": "a", "features": {"x": 1, "who": "ann", "words": ["hi", "you"]}}
    )
    assert (status, answer) == (200, {"id": "a", "prediction": None, "repeated": False})
    status, answer = server.post(f"{model}/reveal", {"id": "a", "label": "spam"})
    assert (status, answer["mistake"], answer["repeated"]) == (200, True, False)
    status, answer = server.post(f"{model}/learn", {"features": {"who": "bob"}, "label": "ham"})
    assert (status, answer["prediction"]) == (200, "spam")
    status, answer = server.post(f"{model}/predict", {"features": {"who": "ann"}})
    assert status == 200
    assert len(answer["id"]) == 24
    status, facts = server.get(model)
    assert (facts["examples"], facts["mistakes"], facts["pending"], facts["classes"]) == (2, 2, 1, ["spam", "ham"])
    assert facts["accuracy"] == 0.0
    assert facts["features"] == 5


def test_an_id_is_revealed_once(server, model):
    assert server.post(f"{model}/reveal", {"id": "a", "label": "x"})[0] == 404
    server.post(f"{model}/predict", {"id": "a", "features": {"x": 1}})
    assert server.post(f"{model}/reveal", {"id": "a", "label": "x"})[1]["repeated"] is False
    before = server.get(model)[1]
    status, answer = server.post(f"{model}/reveal", {"id": "a", "label": "x"})
    assert (status, answer["repeated"]) == (200, True)
    assert server.post(f"{model}/reveal", {"id": "a", "label": "y"})[0] == 409
    assert server.get(model)[1] == before


def test_two_clients_reveal_the_same_id_simultaneously(server, model):
    server.post(f"{model}/predict", {"id": "a", "features": {"x": 1}})
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda n: server.post(f"{model}/reveal", {"id": "a", "label": "xy"[n % 2]}), range(8)))
    first = [answer["label"] for status, answer in answers if status == 200 and not answer["repeated"]]
    assert len(first) == 1
    assert sorted(status for status, _ in answers) == [200] * 4 + [409] * 4
    assert all(answer["label"] == first[0] for _, answer in answers)
    assert server.get(model)[1]["examples"] == 1


def test_many_examples_in_one_request(server, model):
    kind = "application/x-ndjson"
    body = lines(*({"id": f"i{n}", "features": [n, 1.5]} for n in range(40)))
    status, answers = server.post(f"{model}/predict", body, kind=kind)
    assert status == 200
    assert [answer["id"] for answer in answers] == [f"i{n}" for n in range(40)]
    body = lines(*({"id": f"i{n}", "label": n % 3} for n in range(41)), {"id": "i0", "label": 7})
    status, answers = server.post(f"{model}/reveal", body, kind=kind)
    assert status == 200
    assert [answer.get("status", 200) for answer in answers] == [200] * 40 + [404, 409]
    assert [answer["line"] for answer in answers if "line" in answer] == [41, 42]
    body = lines(*({"features": [n, 0.5], "label": n % 3} for n in range(600))) + b"\n\n"
    status, answers = server.post(f"{model}/learn", body, kind=kind)
    assert len(answers) == 600
    assert server.get(model)[1]["examples"] == 640


def test_a_bad_line_is_named_and_no_line_is_processed(server, model):
    good = {"features": {"x": 1}, "label": "a"}
    body = lines(good) + b'\n{"features": {"x": NaN}, "label": 1}\n' + lines({"label": "a"}, good) + b"\nnonsense"
    status, answer = server.post(f"{model}/learn", body, kind="application/x-ndjson")
    assert status == 422
    assert [line["line"] for line in answer["lines"]] == [2, 3, 5]
    assert answer["done"] == 0
    assert "Nothing was done" in answer["error"]
    assert server.get(model)[1]["examples"] == 0


def test_bad_numbers_are_refused(server, model):
    for text, expected in (
        (b'{"features":{"x":NaN},"label":"a"}', 400), (b'{"features":{"x":1e999},"label":"a"}', 400),
        (b'{"features":{"x":1e101},"label":"a"}', 422), (b'{"features":{"x":' + b"9" * 500 + b'},"label":"a"}', 400),
        (b'{"features":{"x":' + b"9" * 200 + b'},"label":"a"}', 422), (b'{"features":[1,"a"],"label":"a"}', 422),
        (b'{"features":{"x":1},"label":1.5}', 422), (b'{"features":{"x":1},"label":null}', 422), (b"{", 400), (b"", 400),
        (b"[]", 422), (b'{"features":{"x":{"y":1}},"label":"a"}', 422),
        (b'{"features":{"x":1},"label":"a","extra":1}', 422), (b"true", 422),
        (b"\xff\xfe", 400),
    ):  # fmt: skip
        status, answer = server.post(f"{model}/learn", text)
        assert (status, text) == (expected, text), answer
        said = answer["error"]
        assert not any(word in said for word in ("True", "False", "None", "dict", "JSON lines")), said
        assert answer["error"]
    assert server.get(model)[1]["examples"] == 0


def test_large_weights_do_not_break_a_model(server, model):
    for label in ("a", "b", "a", "b"):
        assert server.post(f"{model}/learn", {"features": {"x": 1e100}, "label": label})[0] == 200
    assert server.post(f"{model}/predict", {"features": {"x": -1e100}})[0] == 200
    assert server.post(f"{model}/learn", {"features": {"x": 1}, "label": 3})[0] == 409


def test_a_body_of_50_megabytes_is_refused(server, model):
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as client:
        client.sendall(f"POST {model}/learn HTTP/1.1\r\nHost: localhost\r\nContent-Length: {50 << 20}\r\n\r\n".encode())
        assert client.recv(12) == b"HTTP/1.1 413"
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as client:  # without a Content-Length
        client.sendall(f"POST {model}/learn HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        answer = b""
        try:
            for _ in range(50):
                client.sendall(b"100000\r\n" + b"x" * (1 << 20) + b"\r\n")
        except OSError:
            pass
        client.settimeout(10)
        try:
            answer = client.recv(12)
        except OSError:
            answer = b"HTTP/1.1 413"  # the answer was lost because we were still writing
        assert answer == b"HTTP/1.1 413"
    assert server.get(model)[0] == 200


def test_slow_and_silent_clients_do_not_delay_others(server, model):
    idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(50)]
    for n, client in enumerate(idle):
        if n % 2:
            client.sendall(f"POST {model}/learn HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{{".encode())
        elif n % 4:
            client.sendall(b"POST ")
    started = time.monotonic()
    assert server.post(f"{model}/learn", {"features": {"x": 1}, "label": "a"})[0] == 200
    assert time.monotonic() - started < 2.0  # the timeout of this service: the others did not wait
    for client in idle:  # each is closed after the timeout, at the next check
        client.settimeout(max(0.1, 6.5 - (time.monotonic() - started)))
        with contextlib.suppress(ConnectionResetError):
            assert client.recv(100) == b""
        client.close()


def test_predictions_expire_by_count(server, model):
    for n in range(52):
        server.post(f"{model}/predict", {"id": f"i{n}", "features": {"x": 1}})
    status, answer = server.post(f"{model}/reveal", {"id": "i0", "label": "a"})
    assert status == 410
    assert "expired" in answer["error"]
    facts = server.get(model)[1]
    assert (facts["pending"], facts["expired"]) == (50, 2)


def test_names_and_paths(server):
    for name in ("a/../b", "..", ".hidden", "a b", "x" * 65, "%00", "a;drop", "ä", "'", '"'):
        from urllib.parse import quote

        status, _ = server.post(f"/v1/models/{quote(name, safe='')}")
        assert status in (404, 422), name
    assert server.get("/v1/models/none")[0] == 404
    assert server.get("/nothing")[0] == 404
    assert server.request("DELETE", "/v1/models")[0] == 405


def test_a_model_is_created_only_once(server, model):
    status, facts = server.post(model, {"algorithm": "perceptron"})
    assert status == 200
    assert facts["examples"] == 0
    assert server.post(model, {"algorithm": "winnow"})[0] == 409
    assert server.post(f"{model}x", {"algorithm": "pocket"})[0] == 422
    assert server.post(f"{model}x", {"algorithm": "perceptron", "parameters": {"nonsense": 1}})[0] == 422
    assert model.rpartition("/")[2] in [facts["name"] for facts in server.get("/v1/models")[1]["models"]]


def test_the_model_can_be_downloaded_as_a_file(server, model, tmp_path):
    assert server.get(f"{model}/model")[0] == 409
    for n in range(20):
        server.post(f"{model}/learn", {"features": {"x": n % 3, "y": n % 2}, "label": "ab"[n % 2]})
    path = tmp_path / "m.model"
    _status, data = server.get(f"{model}/model")
    path.write_bytes(data)
    loaded = rosenblatt.load(path)
    assert loaded.predict_one({"x": 1, "y": 1}) == "b"
    assert "predictions" in server.get(f"{model}/insight")[1]
    strongest = server.get(f"{model}/insight")[1]["strongest"]
    assert [entry["class"] for entry in strongest] == ["a", "b"]


def test_metrics_health_and_page(server, model):
    server.post(f"{model}/learn", {"features": {"x": 1}, "label": "a"})
    status, text = server.get("/metrics")
    assert status == 200
    name = model.rpartition("/")[2]
    assert f'rosenblatt_model_examples_total{{model="{name}"}} 1.0'.encode() in text
    assert b'rosenblatt_requests_total{route="learn",status="200"}' in text
    assert b"rosenblatt_ready 1.0" in text
    assert server.get("/healthz") == (200, {"status": "alive", "state": "ready"})
    assert server.get("/readyz")[0] == 200
    assert b"<title>" in server.get("/")[1]


def test_events_are_sent_when_they_are_on_disk(server, model):
    received, ready = [], threading.Event()

    def listen():
        with socket.create_connection(("127.0.0.1", server.port), timeout=20) as client:
            client.sendall(f"GET {model}/events HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            text = b""
            while b"event: reveal" not in text:
                part = client.recv(4096)
                if not part:
                    break
                text += part
                if b"event: model" in text:
                    ready.set()
            received.append(text)

    listener = threading.Thread(target=listen)
    listener.start()
    assert ready.wait(10)
    server.post(f"{model}/predict", {"id": "a", "features": {"x": 1}})
    server.post(f"{model}/reveal", {"id": "a", "label": "yes"})
    listener.join(20)
    assert b"event: predict" in received[0]
    assert b'"examples":1' in received[0]
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as client:  # again, from the first event on
        client.sendall(f"GET {model}/events HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: 1\r\n\r\n".encode())
        text = b""
        while b"event: reveal" not in text:
            part = client.recv(4096)
            assert part
            text += part
    assert text.index(b"id: 2") < text.index(b"id: 3")


def test_pages_of_other_origins_are_refused(server):
    for header in ("Host: evil.example", "Host: localhost\r\nOrigin: http://evil.example"):
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as client:
            client.sendall(f"POST /v1/models/evil HTTP/1.1\r\n{header}\r\nContent-Length: 0\r\n\r\n".encode())
            assert client.recv(12) == b"HTTP/1.1 403"


class Recorder:
    """A transport that remembers what is written to it."""

    def __init__(self):
        self.written = []

    def write(self, data):
        self.written.append(data)

    def close(self):
        self.written.append("close")

    def is_closing(self):
        return "close" in self.written


def test_head_and_body_of_an_answer_are_sent_at_once():
    async def run():
        transport = Recorder()
        joined = _Joined(transport, asyncio.get_running_loop())
        joined.write(b"head")
        joined.write(b"body")
        assert transport.written == []
        await asyncio.sleep(0)
        assert transport.written == [b"headbody"]
        joined.write(b"more")
        joined.close()
        assert joined.is_closing()
        await asyncio.sleep(0)
        assert transport.written == [b"headbody", b"more", "close"]

    asyncio.run(run())
