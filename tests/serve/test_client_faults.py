"""What the Python clients do when text is unusual, connections break, and processes are replaced."""

import asyncio
import socket
import threading

import pytest

import rosenblatt
from tests.serve.processes import Server, free_port

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
        assert client.score("now", {"x": 1}, top=1)["scores"] == [{"label": "a", "score": 0.0}]


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


def test_errors_are_public_names(service):
    with rosenblatt.Client(service.address) as client, pytest.raises(rosenblatt.ServiceError) as error:
        client.info("none")
    assert error.value.status == 404
