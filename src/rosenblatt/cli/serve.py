"""`rosenblatt serve` and `rosenblatt token`: the online-learning service and its access tokens."""

import click

from rosenblatt.cli import _options as option
from rosenblatt.cli._errors import Failure, Usage

store_url = click.option(
    "--store",
    metavar="URL",
    envvar="ROSENBLATT_STORE",
    show_envvar=True,
    default="sqlite:///rosenblatt.db",
    help="sqlite:///file.db or postgresql://user@host/database.",
)


@option.command()
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
@click.option("--max-classes", type=click.IntRange(min=2), default=10_000, help="Maximum number of classes of a model.")
@click.option(
    "--max-pending-bytes",
    type=click.IntRange(min=1024),
    default=64 << 20,
    help="Maximum bytes of the predictions of a model that wait for a label; then the oldest expire.",
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
    "--patience",
    type=click.FloatRange(min=0.1),
    default=30.0,
    help="Maximum seconds for a client to send its request.",
)
@click.option("--log-level", default="info", help="debug, info, warning or error.")
@click.option("--log-requests", is_flag=True, help="Log each request.")
def serve(
    store: str,
    host: str,
    port: int,
    max_body: int,
    max_features: int,
    max_pending: int,
    max_age: float,
    remember: int,
    max_models: int,
    max_weights: int,
    max_classes: int,
    max_pending_bytes: int,
    max_rate: float,
    snapshot_every: int,
    patience: float,
    log_level: str,
    log_requests: bool,
) -> None:
    """Serve models over HTTP that predict at once and learn when the true label arrives. No acknowledged event is lost.

    For example:
      rosenblatt serve --store sqlite:///spam.db
      rosenblatt token add team --rights learn --store sqlite:///spam.db
    """
    if log_level not in ("debug", "info", "warning", "error"):
        raise Usage(f"--log-level must be debug, info, warning or error; got {log_level!r}.")
    from rosenblatt.serve.events import Limits
    from rosenblatt.serve.server import serve as run

    limits = Limits(
        body=max_body, features=max_features, pending=max_pending, age=max_age, remembered=remember, models=max_models,
        weights=max_weights, classes=max_classes, pending_bytes=max_pending_bytes, rate=max_rate,
    )  # fmt: skip
    try:
        run(
            store, host=host, port=port, limits=limits, snapshot_every=snapshot_every, log_level=log_level,
            log_requests=log_requests, patience=patience,
        )  # fmt: skip
    except OSError as error:
        raise Failure(error.strerror or str(error)) from error


@click.group
def token() -> None:
    """Access tokens: rights to read, learn or administer."""


@token.command("add")
@click.argument("name", metavar="NAME", help="Name of its user.")
@click.option(
    "--rights", default="learn", help="read; learn: also predict, reveal and learn; admin: also create models."
)
@store_url
def add(name: str, rights: str, store: str) -> None:
    """Create a token and print it. It cannot be shown again: the store keeps only its hash."""
    if not 0 < len(name) <= 64:
        raise Usage("The name of a token must have 1 to 64 characters.")
    click.echo(_open(store).add_token(name, rights))


@token.command("list")
@store_url
def show(store: str) -> None:
    """List the tokens by name and rights."""
    for known in _open(store).tokens():
        click.echo(f"{known.rights:<6} {known.name}")


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
