"""What the Python clients do when text is unusual, connections break, and processes are replaced."""

import asyncio
import contextlib
import itertools
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

import rosenblatt
from rosenblatt.serve import client as client_module
from tests.serve.processes import Server, free_port
from tests.serve.test_faults import wait_until

LINE_ENDS = "a\u2028b\u2029c\u0085d"
"""Python takes these characters as line ends, JSON lines do not."""


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with Server(f"sqlite:///{tmp_path_factory.mktemp('store')}/log.db") as server:
        yield server


def test_labels_and_ids_may_contain_other_line_ends(service):
    with rosenblatt.Client(service.address) as client:
        client.create("ends", "perceptron")
        answers = client.learn_many("ends", [(f"{n}{LINE_ENDS}", {"x": n}, LINE_ENDS) for n in range(3)])
        assert [answer["id"] for answer in answers] == [f"{n}{LINE_ENDS}" for n in range(3)]
        assert client.score_many("ends", [{"x": 1}]) == [{"prediction": LINE_ENDS}]
        events = client.events("ends", after=1)
        assert next(events)["kind"] == "model"
        assert [line["label"] for line in next(events)["lines"]] == [LINE_ENDS] * 3

    async def run():
        async with rosenblatt.AsyncClient(service.address) as client:
            answers = await client.learn_many("ends", [({"x": 1}, LINE_ENDS)])
            assert answers[0]["label"] == LINE_ENDS
            events = client.events("ends", after=1)
            assert (await anext(events))["kind"] == "model"
            assert (await anext(events))["lines"][0]["label"] == LINE_ENDS

    asyncio.run(run())


def test_many_examples_are_learned_when_the_method_is_called(service):
    with rosenblatt.Client(service.address) as client:
        client.create("now", "perceptron")
        answers = client.learn_many("now", [({"x": 1}, "a"), ({"x": 2}, None), ("mine", {"x": [1]}, "b")])
        assert client.info("now")["examples"] == 1
        assert [("error" in answer) for answer in answers] == [False, True, True]
        assert [answer["id"] for answer in answers.refused][1] == "mine"
        assert answers.refused[0]["status"] == 422
        long = client.predict_many("now", ({"words": ["w" * 900] * 20} for _ in range(300)))  # five megabytes
        assert len(long) == 300
        assert client.score("now", {"x": 1}, top=1)["scores"] == [{"label": "a", "score": 0.0, "probability": None}]


def test_events_continue_on_a_new_connection(tmp_path):
    store, port = f"sqlite:///{tmp_path}/log.db", free_port()
    seen, ready = [], threading.Event()

    def listen():
        with rosenblatt.Client(f"http://127.0.0.1:{port}", retries=50) as client:
            for event in client.events("m"):
                seen.append(event)
                ready.set()
                if event.get("label") == "end" or any(line.get("label") == "end" for line in event.get("lines", ())):
                    return

    with Server(store, port=port) as server:
        server.post("/v1/models/m", {"algorithm": "perceptron"})
        listener = threading.Thread(target=listen)
        listener.start()
        assert ready.wait(20)
        server.post("/v1/models/m/learn", {"features": {"x": 1}, "label": "a"})
        server.kill()
    with Server(store, port=port) as server:
        for label in ("b", "c", "end"):
            server.post("/v1/models/m/learn", {"features": {"x": 1}, "label": label})
        listener.join(30)
    assert [event["kind"] for event in seen] == ["model", "learn", "learn", "learn", "learn"]
    assert [event["sequence"] for event in seen] == [1, 2, 3, 4, 5]


def test_a_client_of_several_processes_finds_the_one_that_writes(tmp_path):
    store = f"sqlite:///{tmp_path}/log.db"
    with socket.socket() as silent:  # nobody listens there
        silent.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with Server(store) as first, Server(store, wait="standby") as second:
            with rosenblatt.Client([nobody, second.address, first.address]) as client:
                client.create("m", "perceptron")
                assert client.learn("m", {"x": 1}, "a")["repeated"] is False
                first.kill()
                assert client.learn("m", {"x": 2}, "b")["repeated"] is False  # the failover is awaited
                assert client.info("m")["examples"] == 2
            with pytest.raises(ValueError, match="empty list"):
                rosenblatt.Client([])


def test_the_error_of_the_last_process_is_raised_if_none_answers():
    with socket.socket() as first, socket.socket() as second:  # nobody listens there
        urls = []
        for silent in (first, second):
            silent.bind(("127.0.0.1", 0))
            urls.append(f"http://127.0.0.1:{silent.getsockname()[1]}")
        with rosenblatt.Client(urls, retries=1) as client:
            with pytest.raises(httpx.ConnectError):
                client.info("m")
            with pytest.raises(httpx.ConnectError):
                next(client.events("m"))

        async def run():
            async with rosenblatt.AsyncClient(urls, retries=1) as client:
                with pytest.raises(httpx.ConnectError):
                    await client.info("m")
                with pytest.raises(httpx.ConnectError):
                    await anext(client.events("m"))

        asyncio.run(run())


@contextlib.contextmanager
def proxy(answers, address):
    """A proxy that gives these answers first, (status, headers, body), and then those of the service."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if answers:
                status, headers, content = answers.pop(0)
            else:
                answer = httpx.post(address + self.path, content=body, headers={"Content-Type": "application/json"})
                status, headers, content = answer.status_code, {"Content-Type": "application/json"}, answer.content
            self.send_response(status)
            for name, value in {"Content-Length": str(len(content)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_a_proxy_without_a_service_is_tried_again(service):
    html = {"Content-Type": "text/html"}
    answers = [(502, html, b"<h1>Bad Gateway</h1>"), (503, html, b"no backend"), (504, html, b"")]
    with proxy(answers, service.address) as address, rosenblatt.Client(address) as client:
        client.create("behind", "perceptron")
        assert not answers
        answers += [(503, {"Content-Type": "application/json"}, b'{"error":"set aside"}')] * 2
        with pytest.raises(rosenblatt.ServiceError, match="set aside"):  # this does not change in a moment
            client.learn("behind", {"x": 1}, "a")
        assert len(answers) == 1


def test_a_client_waits_as_long_as_the_service_asks(service, monkeypatch):
    waits = []
    monkeypatch.setattr(client_module.time, "sleep", waits.append)
    kind = {"Content-Type": "application/json"}
    answers = [(429, {**kind, "Retry-After": "90"}, b'{"error":"too many"}')]
    with proxy(answers, service.address) as address, rosenblatt.Client(address) as client:
        client.create("rated", "perceptron")
        assert waits == [90]
        answers.append((429, {**kind, "Retry-After": "40000"}, b'{"error":"tomorrow"}'))
        with pytest.raises(rosenblatt.ServiceError, match="tomorrow"):
            client.create("rated", "perceptron")
        assert waits == [90]


class Relay:
    """Passes connections on to a service, until they are cut."""

    def __init__(self, port):
        self._port, self._ends, self.greetings = port, [], 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                ends = self._listener.accept()[0], socket.create_connection(("127.0.0.1", self._port))
                self._ends += ends
                for one, other in (ends, ends[::-1]):
                    threading.Thread(target=self._pass_on, args=(one, other), daemon=True).start()

    def _pass_on(self, one, other):
        with contextlib.suppress(OSError):
            while part := one.recv(65536):
                other.sendall(part)
                self.greetings += part.count(b"event: model\n")

    def cut(self):
        ends, self._ends = self._ends, []
        for end in ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def close(self):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()


def test_events_of_a_quiet_model_survive_any_number_of_connections(service):
    """A connection that was answered is no failure, though it may bring no event for days."""
    relay, seen = Relay(service.port), []

    def listen():
        with rosenblatt.Client(relay.address, retries=2) as client:
            seen.extend(itertools.islice(client.events("quiet"), 2))

    service.post("/v1/models/quiet", {"algorithm": "perceptron"})
    listener = threading.Thread(target=listen)
    listener.start()
    for count in range(1, 6):
        wait_until(lambda count=count: relay.greetings >= count or not listener.is_alive())
        assert listener.is_alive(), relay.greetings
        relay.cut()
    service.post("/v1/models/quiet/learn", {"features": {"x": 1}, "label": "a"})
    listener.join(30)
    relay.close()
    assert [(event["kind"], event["sequence"]) for event in seen] == [("model", 1), ("learn", 2)]


def test_errors_are_public_names(service):
    with rosenblatt.Client(service.address) as client, pytest.raises(rosenblatt.ServiceError) as error:
        client.info("none")
    assert error.value.status == 404
