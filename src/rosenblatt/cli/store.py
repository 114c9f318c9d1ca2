"""`rosenblatt store`: back up, restore, import, migrate and check the store of the service."""

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from rosenblatt.cli import _options as option
from rosenblatt.cli._errors import FAILED, Failure, Usage
from rosenblatt.cli.serve import store_url

if TYPE_CHECKING:
    from rosenblatt.serve.copies import Copied


@click.group
def store() -> None:
    """The store of the service: backup, restore, import, migrate, check."""


@store.command("backup")
@click.argument("file", type=option.FILE, metavar="FILE", help="A new file; an existing one is not overwritten.")
@store_url
@option.as_json
def backup(file: str, store: str, json: bool) -> None:
    """Copy a store, also while it is in use, to one file: models, events, snapshots and tokens of one moment.

    For example:
      rosenblatt store backup spam-2026-11-19.backup --store sqlite:///spam.db
    """
    from rosenblatt.model_file.atomic import check_output
    from rosenblatt.serve import copies

    check_output(file)
    with _using(store) as opened:
        _report(copies.backup(opened, file), f"written to {file}", json)


@store.command("restore")
@click.argument("file", type=option.FILE, metavar="FILE", help="A file written by `store backup`.")
@store_url
@option.as_json
def restore(file: str, store: str, json: bool) -> None:
    """Make a store from a backup; a store that has models or tokens is not overwritten.

    For example:
      rosenblatt store restore spam-2026-11-19.backup --store postgresql://learner@database/spam
    """
    from rosenblatt.serve import copies

    with _using(store) as opened, _using(file) as source:
        _report(copies.restore(source, opened), "restored", json)


@store.command("import")
@click.argument(
    "source", type=option.FILE, metavar="SOURCE",
    help="A file of events written by `replay --export`, a backup, or another store.",
)  # fmt: skip
@click.option("--model", metavar="NAME", multiple=True, help="Only this model; can be given several times.")
@click.option("--as", "new", metavar="NAME", help="Another name for the model, if it is only one.")
@store_url
@option.as_json
def import_(source: str, model: tuple[str, ...], new: str | None, store: str, json: bool) -> None:
    """Copy models with all their events to a store that no service is using.

    For example:
      rosenblatt store import spam.jsonl.gz --as spam-old --store sqlite:///spam.db
    """
    from rosenblatt.serve import copies, replay
    from rosenblatt.serve.store import without_password

    with _using(store) as target:
        log = replay.open_log(source)
        try:
            names = model or tuple(log.models)
            for name in names:
                if name not in log.models:
                    raise Usage(
                        f"--model must name a model in {without_password(source)} ({', '.join(log.models) or 'there is none'}); "
                        f"got {name}."
                    )
            if new is not None and len(names) != 1:
                raise Usage(f"--as names one model; got {len(names)}. Choose one with --model.")
            _report(copies.bring(log, target, {name: new or name for name in names}), "imported", json)
        finally:
            log.close()


@store.command("migrate")
@store_url
def migrate(store: str) -> None:
    """Bring a store of an earlier version up to date, as a start of the service does; the log is not rewritten."""
    from rosenblatt.serve.schema import FORMAT

    with _using(store) as opened:
        before = opened.prepare()
    if before is None:
        click.echo(f"{opened.name}: an empty store of format {FORMAT} was made")
    elif before == FORMAT:
        click.echo(f"{opened.name}: it has format {FORMAT} already")
    else:
        click.echo(f"{opened.name}: from format {before} to {FORMAT}")


@store.command("check")
@click.option("--model", metavar="NAME", help="Only this model.")
@store_url
@option.as_json
def check(model: str | None, store: str, json: bool) -> None:
    """Replay the log, also while it is in use: no event is missing, and predictions and snapshots come out bit for bit.

    For example:
      rosenblatt store check --store sqlite:///spam.db
    """
    from rosenblatt.serve import audit

    with _using(store) as opened:
        damage, found = opened.damage(), list(audit.check(opened, model))
    if model is not None and not found:
        raise Usage(f"--model must name a model of the store; got {model}.")
    if json:
        from rosenblatt.cli._files import emit

        emit({"damage": damage, "models": [result._asdict() for result in found]})
    else:
        for problem in damage:
            click.echo(f"damaged: {problem}")
        for result in found:
            begin = f", begins after event {result.begins_after:,}" if result.begins_after else ""
            click.echo(
                f"{'bad' if result.problems else 'ok':<4}{result.name}: {result.events:,} events, {result.examples:,} examples, "
                f"{result.snapshots} snapshots{begin}"
            )
            for problem in result.problems:
                click.echo(f"    {problem}")
    if damage or any(result.problems for result in found):
        raise click.exceptions.Exit(FAILED)


@contextlib.contextmanager
def _using(url: str) -> Iterator[Any]:
    """The store of an address, which is closed at the end; errors name it."""
    from rosenblatt.serve.examples import Refused
    from rosenblatt.serve.store import Store, StoreError

    opened = Store(url)
    try:
        yield opened
    except StoreError as error:
        raise Failure(f"{opened.name}: {error}") from error
    except Refused as error:
        raise Usage(str(error)) from error
    finally:
        opened.close()


def _report(copied: "Copied", what: str, json: bool) -> None:
    if json:
        from rosenblatt.cli._files import emit

        emit(copied._asdict())
        return
    tokens = f", {copied.tokens} tokens" if copied.tokens else ""
    click.echo(f"{copied.models} models, {copied.events:,} events ({copied.bytes / 1e6:,.1f} MB){tokens} {what}")
