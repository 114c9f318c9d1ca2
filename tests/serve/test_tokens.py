"""Tokens: which models, until when, how much, and whose name is in the log."""

import json
import time

import orjson
import pytest
from click.testing import CliRunner

from rosenblatt.cli import app
from rosenblatt.serve.access import DAY, Quotas, Rates, find_token, is_for
from rosenblatt.serve.examples import Refused
from rosenblatt.serve.store import Store, Token
from tests.serve.processes import Server
from tests.serve.test_faults import wait_until

EXAMPLE = {"features": {"secret": 1}, "label": "a"}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    """A service with tokens of many kinds: the server, its store and the secrets by name."""
    store = Store(f"sqlite:///{tmp_path_factory.mktemp('tokens')}/log.db")
    store.prepare()
    made = {
        "boss": ("admin", {}),
        "reader": ("read", {}),
        "auditor": ("read", {"examples": True}),
        "writer": ("learn", {}),
        "spam": ("learn", {"models": ("spam-*", "m")}),
        "late": ("learn", {"expires": time.time() - 1}),
        "slow": ("learn", {"rate": 0.5}),
        "small": ("learn", {"quota": 5}),
    }
    secrets = {name: store.add_token(name, rights, **limits) for name, (rights, limits) in made.items()}
    with Server(store.name) as server:
        for name in ("m", "spam-1", "other"):
            assert server.post(f"/v1/models/{name}", {"algorithm": "perceptron"}, token=secrets["boss"])[0] == 201
        assert server.post("/v1/models/m/learn", EXAMPLE, token=secrets["writer"])[0] == 200
        yield server, store, secrets
    store.close()


def test_every_event_names_its_token(guarded):
    server, store, secrets = guarded
    body = b'{"features":{"x":1},"label":"a"}\n{"features":{"x":2},"label":"b"}'
    assert server.post("/v1/models/spam-1/learn", body, token=secrets["spam"], kind="application/x-ndjson")[0] == 200
    assert server.post("/v1/models/spam-1/predict", {"id": "p", "features": {}}, token=secrets["writer"])[0] == 200
    number = {name: number for number, name in store.models()}["spam-1"]
    assert [(event.kind, event.token) for event in store.events(number)] == [
        ("create", "boss"), ("learn", "spam"), ("predict", "writer"),
    ]  # fmt: skip


def test_a_token_is_for_its_models_only(guarded):
    server, _, secrets = guarded
    mine = secrets["spam"]
    assert server.get("/v1/models/spam-1", token=mine)[0] == 200
    for method, path, body in (
        ("GET", "/v1/models/other", None), ("GET", "/v1/models/other/events", None), ("GET", "/v1/models/none", None),
        ("POST", "/v1/models/other/learn", EXAMPLE), ("POST", "/v1/models/other/score", {"features": {}}),
        ("GET", "/v1/models/%6Fther/insight", None), ("GET", "/metrics", None),
    ):  # fmt: skip
        assert server.request(method, path, body, token=mine)[0] == 403, path
    assert {model["name"] for model in server.get("/v1/models", token=mine)[1]["models"]} == {"m", "spam-1"}
    assert is_for(None, "m")
    assert not is_for(Token("t", b"", "read", 0.0, models=("spam",)), "spam-1")


def test_raw_examples_need_their_own_right(guarded):
    server, _, secrets = guarded

    def seen(name):
        return server.get("/v1/models/m/insight", token=secrets[name])[1]["recent"][0]["features"]

    assert seen("reader") is None
    assert seen("writer") is None
    assert seen("auditor") == seen("boss") == {"secret": 1}
    assert b"secret" not in _stream(server, secrets["reader"])
    assert b'"secret":1' in _stream(server, secrets["auditor"])
    assert b'"token":"writer"' in _stream(server, secrets["reader"])
    assert server.post("/v1/models/kernel", {"algorithm": "kernel-perceptron"}, token=secrets["boss"])[0] == 201
    assert server.post("/v1/models/kernel/learn", EXAMPLE, token=secrets["boss"])[0] == 200
    assert server.get("/v1/models/kernel/model", token=secrets["reader"])[0] == 403
    assert server.get("/v1/models/kernel/model", token=secrets["auditor"])[0] == 200
    assert server.get("/v1/models/m/model", token=secrets["reader"])[0] == 200


def _stream(server, token):
    """The past events of a model, as a listener gets them."""
    import urllib.request

    headers = {"Authorization": f"Bearer {token}", "Last-Event-ID": "1"}
    request = urllib.request.Request(f"{server.address}/v1/models/m/events", headers=headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        read = b""
        while b"event: learn" not in read or not read.endswith(b"\n\n"):
            read += answer.read1()
    return read


def test_tokens_expire_and_have_rates_and_quotas(guarded):
    server, store, secrets = guarded
    status, answer = server.get("/v1/models/m", token=secrets["late"])
    assert (status, "expired" in answer["error"]) == (401, True)
    statuses = [server.get("/v1/models/m", token=secrets["slow"])[0] for _ in range(8)]
    assert statuses == [200] * 5 + [429] * 3  # ten seconds at once
    lines = b"\n".join([orjson.dumps(EXAMPLE)] * 3)
    assert server.post("/v1/models/m/learn", lines, token=secrets["small"], kind="application/x-ndjson")[0] == 200
    assert server.post("/v1/models/m/learn", lines, token=secrets["small"], kind="application/x-ndjson")[0] == 429
    assert server.post("/v1/models/m/learn", EXAMPLE, token=secrets["small"])[0] == 200
    assert server.post("/v1/models/m/score", {"features": {}}, token=secrets["small"])[0] == 200
    wait_until(lambda: store.usage(Quotas.today()) == {"small": 4})  # so that a restart does not begin anew
    with Server(store.name, wait="standby") as second:
        server.kill()
        second.wait_for("ready")
        assert second.post("/v1/models/m/learn", EXAMPLE, token=secrets["small"])[0] == 200
        status, answer = second.post("/v1/models/m/learn", EXAMPLE, token=secrets["small"])
        assert (status, "5 lines a day" in answer["error"]) == (429, True)


def test_a_quota_begins_anew_each_day(monkeypatch):
    now, quotas, token = [10 * DAY + 5], Quotas(), Token("t", b"", "learn", 0.0, quota=3)
    monkeypatch.setattr("rosenblatt.serve.access.time.time", lambda: now[0])
    quotas.start(10, {"t": 2})
    quotas.count(token, 1)
    with pytest.raises(Refused) as refused:
        quotas.count(token, 1)
    assert refused.value.details["seconds"] == DAY - 5 + 1
    assert quotas.changed() == {"t": 3}
    assert quotas.changed() == {}
    now[0] += DAY
    quotas.count(token, 3)
    assert (quotas.day, quotas.changed()) == (11, {"t": 3})


def test_the_rate_of_a_token_replaces_that_of_the_service():
    rates = Rates(1.0)
    for _ in range(20):
        rates.check("generous", 1, 1000.0)
    rates.check("unlimited", 10**6, None)
    with pytest.raises(Refused):
        rates.check("unlimited", 1, None)


def test_the_command_makes_lists_and_revokes_tokens(tmp_path):
    store = f"sqlite:///{tmp_path}/log.db"

    def run(*arguments):
        result = CliRunner().invoke(app, ["token", *arguments, "--store", store])
        return result.exit_code, result.output

    code, secret = run(
        "add", "bot", "--models", "spam-*", "--expires", "2d", "--rate", "5", "--quota", "10", "--read-examples"
    )
    assert code == 0
    opened = Store(store)
    token = find_token(opened.tokens(), {b"authorization": b"Bearer " + secret.strip().encode()}, "learn")
    opened.close()
    assert token[4:6] == (("spam-*",), True)
    assert (token.rate, token.quota) == (5.0, 10)
    assert token.expires == pytest.approx(time.time() + 2 * DAY, abs=60)
    listed = run("list")[1]
    assert "learn  bot (for spam-*, reads examples, expires" in listed
    assert "5 per second, 0 of 10 lines today)" in listed
    assert json.loads(run("list", "--json")[1])["tokens"][0]["quota"] == 10
    for wrong in (("--expires", "soon"), ("--models", "a b"), ("--rate", "0"), ("--quota", "x")):
        assert run("add", "other", *wrong)[0] == 2, wrong
    assert run("revoke", "bot")[0] == 0
    assert run("list") == (0, "")
