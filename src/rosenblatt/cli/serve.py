"""`rosenblatt serve` and `rosenblatt token`: the online-learning service and who may use it."""

from typing import Annotated

import typer

from rosenblatt.cli._errors import Failure, Usage

StoreUrl = Annotated[
    str,
    typer.Option(
        "--store",
        metavar="URL",
        envvar="ROSENBLATT_STORE",
        help="sqlite:///file.db or postgresql://user@host/database.",
    ),
]


def serve(
    store: StoreUrl = "sqlite:///rosenblatt.db",
    host: Annotated[
        str, typer.Option("--host", metavar="H", help="Where to listen; without tokens on loopback only.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", "-p", metavar="P", min=0, max=65535, help="The port; 0 takes a free one.")
    ] = 8520,
    max_body: Annotated[int, typer.Option("--max-body", min=1024, help="Bytes of a request.")] = 8 << 20,
    max_features: Annotated[int, typer.Option("--max-features", min=1, help="Features of one example.")] = 10_000,
    max_pending: Annotated[
        int,
        typer.Option(
            "--max-pending",
            min=1,
            help="Predictions of a model that may wait for their label; then the oldest expires.",
        ),
    ] = 100_000,
    max_age: Annotated[
        float, typer.Option("--max-age", min=0.001, help="Seconds after which a prediction expires.")
    ] = 7 * 86400.0,
    remember: Annotated[
        int, typer.Option("--remember", min=1, help="Ids of a model to remember after they were revealed.")
    ] = 100_000,
    max_models: Annotated[int, typer.Option("--max-models", min=1, help="How many models there may be.")] = 100,
    max_weights: Annotated[
        int, typer.Option("--max-weights", min=1, help="Features times classes of a model.")
    ] = 50_000_000,
    snapshot_every: Annotated[
        int, typer.Option("--snapshot-every", min=1, help="Events of a model between two snapshots.")
    ] = 20_000,
    patience: Annotated[
        float, typer.Option("--patience", min=0.1, help="Seconds that a client may take to send its request.")
    ] = 30.0,
    log_level: Annotated[str, typer.Option("--log-level", help="debug, info, warning or error.")] = "info",
    log_requests: Annotated[bool, typer.Option("--log-requests", help="Write a line for each request.")] = False,
) -> None:
    """Serve models over HTTP that predict now and learn when the truth arrives. Nothing acknowledged is ever lost.

    For example:
      rosenblatt serve --store sqlite:///spam.db
      rosenblatt token add team --rights learn --store sqlite:///spam.db
    """
    if log_level not in ("debug", "info", "warning", "error"):
        raise Usage(f"--log-level must be debug, info, warning or error; got {log_level!r}.")
    from rosenblatt.cli import _imports
    from rosenblatt.serve.events import Limits
    from rosenblatt.serve.server import serve as run

    _imports.numba_without_linear_algebra()
    limits = Limits(
        body=max_body, features=max_features, pending=max_pending, age=max_age, remembered=remember, models=max_models,
        weights=max_weights,
    )  # fmt: skip
    try:
        run(
            store, host=host, port=port, limits=limits, snapshot_every=snapshot_every, log_level=log_level,
            log_requests=log_requests, patience=patience,
        )  # fmt: skip
    except OSError as error:
        raise Failure(error.strerror or str(error)) from error


token = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Tokens of the service: who may read, learn or administer."
)


@token.command("add")
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Who it is for.")],
    rights: Annotated[
        str, typer.Option("--rights", help="read: look; learn: also predict, reveal, learn; admin: also make models.")
    ] = "learn",
    store: StoreUrl = "sqlite:///rosenblatt.db",
) -> None:
    """Make a token and print it. It is shown once; the store keeps a hash."""
    if not 0 < len(name) <= 64:
        raise Usage("The name of a token must have 1 to 64 characters.")
    typer.echo(_open(store).add_token(name, rights))


@token.command("list")
def show(store: StoreUrl = "sqlite:///rosenblatt.db") -> None:
    """List the tokens by name and rights."""
    for known in _open(store).tokens():
        typer.echo(f"{known.rights:<6} {known.name}")


@token.command("revoke")
def revoke(name: Annotated[str, typer.Argument(metavar="NAME")], store: StoreUrl = "sqlite:///rosenblatt.db") -> None:
    """Remove a token; a running service forgets it within seconds."""
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
