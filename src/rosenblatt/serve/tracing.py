"""Spans of OpenTelemetry for requests, commits, snapshots and readings of the log; without `--otel` nothing is loaded."""

import contextlib
import os
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class Tracing:
    """The spans of a service.

    Parameters
    ----------
    tracer : Tracer or None, default=None
        A tracer of OpenTelemetry; None for no spans.
    """

    def __init__(self, tracer: Any = None) -> None:
        self.tracer = tracer

    def span(self, name: str, **attributes: Any) -> contextlib.AbstractContextManager[Any]:
        """A span for a block."""
        if self.tracer is None:
            return contextlib.nullcontext()
        span: contextlib.AbstractContextManager[Any] = self.tracer.start_as_current_span(
            f"rosenblatt.{name}", attributes={f"rosenblatt.{key}": value for key, value in attributes.items()}
        )
        return span

    async def request(
        self, handle: Callable[[Scope, Any, Send], Awaitable[None]], scope: Scope, receive: Any, send: Send
    ) -> None:
        """Handle a request in a span, which continues the trace of the client (`traceparent`)."""
        from opentelemetry.propagate import extract
        from opentelemetry.trace import SpanKind, Status, StatusCode

        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        status = 0

        async def noted(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        with self.tracer.start_as_current_span(scope["method"], extract(headers), SpanKind.SERVER) as span:
            await handle(scope, receive, noted)
            route, parts, token = scope.get("route", "other"), scope.get("parts", ()), scope.get("token")
            span.update_name(f"{scope['method']} {route}")
            span.set_attributes({
                "http.request.method": scope["method"], "http.route": route, "http.response.status_code": status,
            })  # fmt: skip
            if len(parts) > 2 and parts[0] == "v1":
                span.set_attribute("rosenblatt.model", parts[2][:64])
            if token is not None:
                span.set_attribute("rosenblatt.token", token.name)
            if status >= 500:
                span.set_status(Status(StatusCode.ERROR))


def from_environment() -> Tracing:
    """Send spans with OTLP over HTTP; the variables of OpenTelemetry, such as OTEL_EXPORTER_OTLP_ENDPOINT, are used."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    from rosenblatt._version import __version__

    name = os.environ.get("OTEL_SERVICE_NAME", "rosenblatt")
    provider = TracerProvider(resource=Resource.create({"service.name": name, "service.version": __version__}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return Tracing(provider.get_tracer("rosenblatt.serve", __version__))
