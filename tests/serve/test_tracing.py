"""Spans of OpenTelemetry, gathered in memory."""

import asyncio

import orjson
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from rosenblatt.serve.app import App
from rosenblatt.serve.events import Limits
from rosenblatt.serve.service import Service
from rosenblatt.serve.store import Store
from rosenblatt.serve.tracing import Tracing
from tests.cli.helpers import call

TRACE = "0af7651916cd43dd8448eb211c80319c"


def test_requests_commits_and_snapshots_have_spans(tmp_path):
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))

    async def use():
        store = Store(f"{tmp_path}/log.db")
        store.prepare()
        service = Service(store, Limits(), tracing=Tracing(provider.get_tracer("test")))
        app = App(service)
        await service.start()
        while service.state != "ready":
            await asyncio.sleep(0.01)

        async def ask(method, path, body=b""):
            sent = []

            async def receive():
                return {"type": "http.request", "body": body}

            async def send(message):
                sent.append(message)

            headers = [(b"host", b"localhost"), (b"traceparent", f"00-{TRACE}-b7ad6b7169203331-01".encode())]
            scope = {"type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b"",
                     "headers": headers, "client": ("127.0.0.1", 1)}  # fmt: skip
            await app(scope, receive, send)
            return sent[0]["status"]

        assert await ask("POST", "/v1/models/m") == 201
        assert await ask("POST", "/v1/models/m/learn", orjson.dumps({"features": {"x": 1}, "label": "a"})) == 200
        assert await ask("GET", "/v1/models/none") == 404
        await service.close()

    asyncio.run(use())
    spans = {span.name: span for span in exporter.get_finished_spans()}
    assert {
        "rosenblatt.read_log",
        "rosenblatt.commit",
        "rosenblatt.snapshot",
        "POST model",
        "POST learn",
        "GET model",
    } <= set(spans)
    learn = spans["POST learn"]
    assert learn.attributes["rosenblatt.model"] == "m"
    assert learn.attributes["http.response.status_code"] == 200
    assert f"{learn.context.trace_id:032x}" == TRACE  # continues the trace of the client
    assert spans["GET model"].attributes["http.response.status_code"] == 404
    assert spans["rosenblatt.commit"].attributes["rosenblatt.events"] >= 1
    assert spans["rosenblatt.snapshot"].attributes["rosenblatt.model"] == "m"


def test_without_the_packages_the_option_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    done = call("serve", "--otel", "--store", tmp_path / "s.db", code=1)
    assert "pip install rosenblatt[all]" in done.stderr
