"""The Python client, `rosenblatt replay`, and the OpenAPI document."""

import asyncio
import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import rosenblatt
from rosenblatt.serve.client import ServiceError
from rosenblatt.serve.store import Store
from tests.cli.helpers import call
from tests.serve.crashes import MODEL, Load
from tests.serve.processes import Server


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with Server(f"sqlite:///{tmp_path_factory.mktemp('store')}/log.db") as server:
        yield server


def test_client(service, tmp_path):
    with rosenblatt.Client(service.address) as client:
        client.create("a", "passive-aggressive", C=0.5)
        guess = client.predict("a", {"words": ["free", "offer"]})
        assert client.reveal("a", guess["id"], "spam")["mistake"]
        client.learn("a", {"words": ["meeting"]}, "ham")
        answers = list(
            client.learn_many("a", (({"x": n % 7, "even": n % 2}, "ham" if n % 2 else "spam") for n in range(2500)))
        )
        assert len(answers) == 2500
        guesses = list(client.predict_many("a", [{"even": 1}, ("my id", {"even": 0})]))
        assert guesses[1]["id"] == "my id"
        assert [answer["repeated"] for answer in client.reveal_many("a", [(g["id"], "ham") for g in guesses])] == [
            False,
            False,
        ]
        assert client.info("a")["examples"] == 2504
        assert [model["name"] for model in client.models()] == ["a"]
        client.download("a", tmp_path / "a.model")
        assert rosenblatt.load(tmp_path / "a.model").predict_one({"even": 1.0}) == guesses[0]["prediction"]
        with pytest.raises(ServiceError, match="is 'ham' and cannot be changed") as refusal:
            client.reveal("a", "my id", "spam")
        assert refusal.value.status == 409
        seen = []
        listener = threading.Thread(
            target=lambda: seen.extend(event for _, event in zip(range(3), client.events("a"), strict=False))
        )
        listener.start()
        while listener.is_alive():
            client.learn("a", {"x": 1}, "ham")
        assert [event["kind"] for event in seen] == ["model", "learn", "learn"]


def test_async_client(service, tmp_path):
    async def run():
        async with rosenblatt.AsyncClient(service.address) as client:
            await client.create("b", "perceptron")
            guesses = await asyncio.gather(*(client.predict("b", {"x": n}) for n in range(20)))
            await asyncio.gather(*(client.reveal("b", guess["id"], n % 2) for n, guess in enumerate(guesses)))
            await client.learn("b", {"x": 1}, 1)
            assert (
                len([answer async for answer in client.learn_many("b", (({"x": n}, n % 2) for n in range(1500)))])
                == 1500
            )
            await client.download("b", tmp_path / "b.model")
            assert (await client.info("b"))["examples"] == 1521
            assert "b" in [model["name"] for model in await client.models()]
            async for event in client.events("b"):
                assert event["kind"] == "model"
                break

    asyncio.run(run())


def test_the_client_waits_while_the_service_restarts(tmp_path):
    store = f"sqlite:///{tmp_path}/log.db"
    with Server(store) as server:
        server.post("/v1/models/m", {"algorithm": "perceptron"})
        port = server.port
        server.kill()
    again = threading.Timer(0.5, lambda: servers.append(Server(store, port=port, wait=None)))
    servers = []
    again.start()
    with rosenblatt.Client(f"http://127.0.0.1:{port}", retries=60) as client:
        assert client.learn("m", {"x": 1}, "a")["repeated"] is False
    assert servers[0].stop() == 0


def test_replay_checks_and_rebuilds_models_and_tries_other_learners(tmp_path):
    store = f"sqlite:///{tmp_path}/log.db"
    load = Load()
    with Server(store) as server:
        server.post(f"/v1/models/{MODEL}", {"algorithm": "perceptron"})
        asyncio.run(load.run(server.port, 0.7))
        (tmp_path / "served.model").write_bytes(server.get(f"/v1/models/{MODEL}/model")[1])
        facts = server.get(f"/v1/models/{MODEL}")[1]
        assert server.stop() == 0
    result = call("replay", tmp_path / "log.db", "-o", tmp_path / "again.model", "--json")
    found = json.loads(result.stdout)
    assert (found["mistakes"], found["examples"], found["differing_predictions"]) == (
        facts["mistakes"],
        facts["examples"],
        0,
    )
    assert found["logged_mistakes"] == facts["mistakes"]
    a, b = (rosenblatt.load(tmp_path / name) for name in ("served.model", "again.model"))
    assert a.coef_.tobytes() == b.coef_.tobytes()
    other = json.loads(call("replay", store, "--algorithm", "passive", "--set", "C=0.1", "--json").stdout)
    assert other["algorithm"] == "passive"
    assert other["logged_mistakes"] == facts["mistakes"]
    assert other["examples"] == facts["examples"]
    call("replay", store, "--export", tmp_path / "log.jsonl.gz")
    exported = json.loads(call("replay", tmp_path / "log.jsonl.gz", "--json").stdout)
    assert exported == found
    assert "as served" in call("replay", store).stdout
    assert "must name one of the models" in call("replay", store, "--model", "none", code=2).stderr
    changed = tmp_path / "changed.jsonl"
    call("replay", store, "--export", changed)
    text = changed.read_text().replace('"predictions":["spam"]', '"predictions":["forged"]', 1)
    changed.write_text(text)
    call("replay", changed, code=1)


def schemathesis(server, *options):
    server.get("/openapi.json")  # loads every learner; schemathesis waits only 10 seconds
    command = [
        sys.executable, "-m", "schemathesis.cli", "--config-file", Path(__file__).parent / "schemathesis.toml",
        "run", f"{server.address}/openapi.json", "--max-examples", "15",
        "--max-response-time", "240",  # the first model of a kind may need compilation
        "--exclude-path-regex", "events$", "--workers", "1", "--request-timeout", "240", "--no-color", "--seed", "1", *options,
    ]  # fmt: skip
    result = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert result.returncode == 0, result.stdout[-6000:] + result.stderr[-2000:]


def test_schemathesis_finds_no_errors(tmp_path):
    with Server(f"sqlite:///{tmp_path}/log.db") as server:
        schemathesis(server)


def test_schemathesis_finds_no_errors_with_tokens_on_postgresql(postgres):
    """PostgreSQL accepts less than SQLite, so this test sends requests with a token, which reach it."""
    store = Store(postgres.database("schemathesis"))
    store.prepare()
    token = store.add_token("tester", "admin")
    store.close()
    with Server(store.name) as server:
        schemathesis(server, "-H", f"Authorization: Bearer {token}")
