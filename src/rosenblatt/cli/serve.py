"""`rosenblatt serve` and `rosenblatt token`: the online-learning service and its access tokens."""

import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import click

from rosenblatt.cli import _options as option
from rosenblatt.cli._errors import Failure, Usage
from rosenblatt.cli._settings import settings_file, show_settings

store_url = click.option(
    "--store",
    metavar="URL",
    envvar="ROSENBLATT_STORE",
    show_envvar=True,
    default="sqlite:///rosenblatt.db",
    help="sqlite:///file.db or postgresql://user@host/database.",
)


@option.command(context_settings={"auto_envvar_prefix": "ROSENBLATT"})
@settings_file
@store_url
@click.option("--host", metavar="H", default="127.0.0.1", help="Address to listen on; without tokens only loopback.")
@click.option(
    "--port",
    "-p",
    type=click.IntRange(min=0, max=65535),
    metavar="P",
    default=8520,
    help="Port; 0 chooses a free one.",
)
@click.option("--max-body", type=click.IntRange(min=1024), default=8 << 20, help="Maximum bytes of a request.")
@click.option("--max-features", type=click.IntRange(min=1), default=10_000, help="Maximum features per example.")
@click.option(
    "--max-pending",
    type=click.IntRange(min=1),
    default=100_000,
    help="Maximum number of predictions that wait for a label; then the oldest expires.",
)
@click.option(
    "--max-age",
    type=click.FloatRange(min=0.001),
    default=7 * 86400.0,
    help="Seconds after which a prediction expires.",
)
@click.option(
    "--remember", type=click.IntRange(min=1), default=100_000, help="Number of revealed ids of a model to remember."
)
@click.option("--max-models", type=click.IntRange(min=1), default=100, help="Maximum number of models.")
@click.option(
    "--max-weights",
    type=click.IntRange(min=1),
    default=50_000_000,
    help="Maximum number of weights: features times classes.",
)
@click.option(
    "--max-memory",
    type=click.IntRange(min=1 << 20),
    default=128 << 20,
    help="Maximum bytes of the weights and names of all models together.",
)
@click.option("--max-classes", type=click.IntRange(min=2), default=1000, help="Maximum number of classes of a model.")
@click.option(
    "--max-names",
    type=click.IntRange(min=1),
    default=16 << 20,
    help="Maximum characters of the names of all features of a model.",
)
@click.option(
    "--max-pending-bytes",
    type=click.IntRange(min=1024),
    default=64 << 20,
    help="Maximum bytes of the predictions of all models that wait for a label; then the oldest expire.",
)
@click.option(
    "--max-rate",
    type=click.FloatRange(min=0),
    default=0.0,
    help="Maximum requests and lines per second of a token, or of an address without tokens; 0: no limit.",
)
@click.option(
    "--snapshot-every",
    type=click.IntRange(min=1),
    default=20_000,
    help="Number of examples of a model between two snapshots.",
)
@click.option(
    "--keep-events",
    metavar="HOW",
    default="all",
    help="all; a time such as 30d; a size such as 10GB, of all models together; or snapshot: only what a restart needs.",
)
@click.option(
    "--patience",
    type=click.FloatRange(min=0.1),
    default=30.0,
    help="Maximum seconds for a client to send its request.",
)
@click.option(
    "--model",
    metavar="NAME=FILE",
    multiple=True,
    help="Let a model that does not exist yet begin with a file of `rosenblatt train`; can be given several times.",
)
@click.option(
    "--max-upload", type=click.IntRange(min=1024), default=256 << 20, help="Maximum bytes of an uploaded model."
)
@click.option(
    "--tls-cert",
    type=option.FILE,
    metavar="FILE",
    help="Certificate chain in PEM, for HTTPS; a renewed file is read without a restart.",
)
@click.option("--tls-key", type=option.FILE, metavar="FILE", help="Its private key in PEM.")
@click.option("--log-level", default="info", help="debug, info, warning or error.")
@click.option(
    "--otel",
    is_flag=True,
    help="Send spans with OpenTelemetry (rosenblatt[otel]), as its variables say, such as OTEL_EXPORTER_OTLP_ENDPOINT.",
)
@click.option("--log-requests", is_flag=True, help="Log each request.")
def serve(
    store: str, host: str, port: int, keep_events: str, tls_cert: str | None, tls_key: str | None, log_level: str,
    **options: Any,
) -> None:  # fmt: skip
    """Serve models over HTTP that predict at once and learn when the true label arrives. No acknowledged event is lost.

    Each option can also be given as an environment variable, such as ROSENBLATT_MAX_BODY for --max-body, or in the file
    --settings. Options come before variables, and these before the file.

    For example:
      rosenblatt serve --store sqlite:///spam.db
      rosenblatt serve --settings serve.toml
      rosenblatt token add team --rights learn --store sqlite:///spam.db
    """
    if options["show_settings"]:
        show_settings(click.get_current_context())
        return
    if log_level not in ("debug", "info", "warning", "error"):
        raise Usage(f"--log-level must be debug, info, warning or error; got {log_level!r}.")
    if (tls_cert is None) != (tls_key is None):
        given, missing = ("--tls-cert", "--tls-key") if tls_key is None else ("--tls-key", "--tls-cert")
        raise Usage(f"--tls-cert and --tls-key belong together; got only {given}. Give {missing}, too.")
    from rosenblatt.serve.events import Limits
    from rosenblatt.serve.retention import policy_of
    from rosenblatt.serve.server import serve as run

    limits = Limits(
        body=options["max_body"], features=options["max_features"], pending=options["max_pending"], age=options["max_age"],
        remembered=options["remember"], models=options["max_models"], weights=options["max_weights"],
        memory=options["max_memory"],
        classes=options["max_classes"], names=options["max_names"], pending_bytes=options["max_pending_bytes"],
        rate=options["max_rate"], upload=options["max_upload"],
    )  # fmt: skip
    models = dict(text.partition("=")[::2] for text in options["model"])
    if "" in models or "" in models.values():
        raise Usage(f"--model takes NAME=FILE, such as spam=spam.model; got {', '.join(options['model'])}.")
    try:
        keep = policy_of(keep_events)
    except ValueError as error:
        raise Usage(str(error)) from error
    tls = None if tls_cert is None or tls_key is None else (tls_cert, tls_key)
    try:
        run(
            store, host=host, port=port, limits=limits, snapshot_every=options["snapshot_every"], log_level=log_level,
            log_requests=options["log_requests"], patience=options["patience"], keep=keep, tls=tls,
            otel=options["otel"], models=models,
        )  # fmt: skip
    except OSError as error:
        raise Failure(error.strerror or str(error)) from error


@click.group
def token() -> None:
    """Access tokens: rights to read, learn or administer."""


@token.command("add")
@click.argument("name", metavar="NAME", help="Name of its user; it is written to the log with each event.")
@click.option(
    "--rights", default="learn", help="read; learn: also predict, reveal and learn; admin: also create models."
)
@click.option(
    "--models", metavar="PATTERN", multiple=True,
    help="Only for models with such a name, as in spam-*; can be given several times. Default: all models.",
)  # fmt: skip
@click.option("--read-examples", is_flag=True, help="Allow to read raw examples; admin always may.")
@click.option("--expires", metavar="TIME", help="Refuse it after this time, such as 90d or 12h.")
@click.option(
    "--rate", type=click.FloatRange(min=0, min_open=True), metavar="N",
    help="Maximum requests and lines per second. Default: --max-rate of the service.",
)  # fmt: skip
@click.option(
    "--quota", type=click.IntRange(min=1), metavar="N", help="Maximum lines per day (UTC) to predict, reveal or learn."
)
@store_url
def add(
    name: str, rights: str, models: tuple[str, ...], read_examples: bool, expires: str | None, rate: float | None,
    quota: int | None, store: str,
) -> None:  # fmt: skip
    """Create a token and print it. It cannot be shown again: the store keeps only its hash.

    For example:
      rosenblatt token add collector --rights learn --models 'spam-*' --expires 90d --quota 1000000
    """
    if not 0 < len(name) <= 64 or not name.isprintable():
        raise Usage("The name of a token must have 1 to 64 characters that can be printed.")
    for pattern in models:
        if re.fullmatch(r"[A-Za-z0-9._*?\[\]!-]{1,64}", pattern) is None:
            raise Usage(
                f"--models takes the name of a model, with * for any characters, such as spam-*; got {pattern!r}."
            )
    from rosenblatt.serve.retention import seconds_of

    until = None if expires is None else time.time() + seconds_of(expires)
    limits = {"models": models, "examples": read_examples, "expires": until, "rate": rate, "quota": quota}
    click.echo(_open(store).add_token(name, rights, **limits))


@token.command("list")
@store_url
@option.as_json
def show(store: str, json: bool) -> None:
    """List the tokens: name, rights, models, limits, and the lines sent today."""
    from rosenblatt.serve.access import Quotas

    opened = _open(store)
    used = opened.usage(Quotas.today())
    rows = [
        {
            "name": token.name, "rights": token.rights, "models": list(token.models), "created": token.created,
            "read_examples": token.examples or token.rights == "admin", "expires": token.expires, "rate": token.rate,
            "quota": token.quota, "used_today": used.get(token.name, 0),
        }
        for token in opened.tokens()
    ]  # fmt: skip
    if json:
        from rosenblatt.cli._files import emit

        emit({"tokens": rows})
        return
    for row in rows:
        click.echo(f"{row['rights']:<6} {row['name']}{_limits(row)}")


def _limits(token: Mapping[str, Any]) -> str:
    """The limits of a token, to follow its name."""
    parts = []
    if token["models"]:
        parts.append(f"for {' '.join(token['models'])}")
    if token["read_examples"] and token["rights"] != "admin":
        parts.append("reads examples")
    if token["expires"] is not None:
        done = "expired" if token["expires"] <= time.time() else "expires"
        parts.append(f"{done} {datetime.fromtimestamp(token['expires'], UTC):%Y-%m-%d %H:%M} UTC")
    if token["rate"] is not None:
        parts.append(f"{token['rate']:g} per second")
    if token["quota"] is not None:
        parts.append(f"{token['used_today']} of {token['quota']} lines today")
    return f" ({', '.join(parts)})" if parts else ""


@token.command("revoke")
@click.argument("name", metavar="NAME", help="Name of its user.")
@store_url
def revoke(name: str, store: str) -> None:
    """Remove a token; a running service refuses it within seconds."""
    if not _open(store).revoke_token(name):
        raise Usage(f"There is no token named {name!r}. See `rosenblatt token list`.")


def _open(url: str):  # type: ignore[no-untyped-def] # the store's module is heavy
    from rosenblatt.serve.store import Store, StoreError

    store = Store(url)
    try:
        store.prepare()
    except StoreError as error:
        raise Failure(f"the store {store.name} cannot be used: {error}") from error
    return store
