"""`rosenblatt serve` and `rosenblatt token`: the online-learning service and its access tokens."""

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
        str, typer.Option("--host", metavar="H", help="Address to listen on; without tokens only loopback.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", "-p", metavar="P", min=0, max=65535, help="Port; 0 chooses a free one.")
    ] = 8520,
    max_body: Annotated[int, typer.Option("--max-body", min=1024, help="Maximum bytes of a request.")] = 8 << 20,
    max_features: Annotated[int, typer.Option("--max-features", min=1, help="Maximum features per example.")] = 10_000,
    max_pending: Annotated[
        int,
        typer.Option(
            "--max-pending",
            min=1,
            help="Maximum number of predictions that wait for a label; then the oldest expires.",
        ),
    ] = 100_000,
    max_age: Annotated[
        float, typer.Option("--max-age", min=0.001, help="Seconds after which a prediction expires.")
    ] = 7 * 86400.0,
    remember: Annotated[
        int, typer.Option("--remember", min=1, help="Number of revealed ids of a model to remember.")
    ] = 100_000,
    max_models: Annotated[int, typer.Option("--max-models", min=1, help="Maximum number of models.")] = 100,
    max_weights: Annotated[
        int, typer.Option("--max-weights", min=1, help="Maximum number of weights: features times classes.")
    ] = 50_000_000,
    snapshot_every: Annotated[
        int, typer.Option("--snapshot-every", min=1, help="Number of events of a model between two snapshots.")
    ] = 20_000,
    patience: Annotated[
        float, typer.Option("--patience", min=0.1, help="Maximum seconds for a client to send its request.")
    ] = 30.0,
    log_level: Annotated[str, typer.Option("--log-level", help="debug, info, warning or error.")] = "info",
    log_requests: Annotated[bool, typer.Option("--log-requests", help="Log each request.")] = False,
) -> None:
    """Serve models over HTTP that predict at once and learn when the true label arrives. No acknowledged event is lost.

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
    no_args_is_help=True, rich_markup_mode=None, help="Access tokens: rights to read, learn or administer."
)


@token.command("add")
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of its user.")],
    rights: Annotated[
        str, typer.Option("--rights", help="read; learn: also predict, reveal and learn; admin: also create models.")
    ] = "learn",
    store: StoreUrl = "sqlite:///rosenblatt.db",
) -> None:
    """Create a token and print it. It cannot be shown again: the store keeps only its hash."""
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
