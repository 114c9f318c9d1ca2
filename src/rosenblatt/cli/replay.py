"""`rosenblatt replay`: check the event log of the service, rebuild a model from it, or learn it with another rule."""

from typing import Any

import click

from rosenblatt.cli import _options as option
from rosenblatt.cli._errors import FAILED, Failure, Usage, writing


@option.command()
@click.argument(
    "log",
    type=option.FILE,
    metavar="LOG",
    help="A store (its address, or an SQLite file), or a log written by --export.",
)
@click.option("--model", metavar="NAME", help="Name of the model, if there are several.")
@option.algorithm("that of the log")
@option.settings
@click.option("--output", "-o", type=option.FILE, metavar="FILE", help="Write the resulting model.")
@click.option(
    "--export", type=option.FILE, metavar="FILE", help="Only write the events as JSON lines (.gz: compressed)."
)
@option.cluster
@option.shards
@option.mixing
@click.option(
    "--epochs",
    "-e",
    type=click.IntRange(min=1),
    default=10,
    help="With --dask: maximum number of passes over the examples.",
)
@option.as_json
def replay(
    log: str,
    model: str | None,
    algorithm: str | None,
    settings: tuple[str, ...],
    output: str | None,
    export: str | None,
    dask: str | None,
    shards: int | None,
    mixing: str | None,
    epochs: int,
    json: bool,
) -> None:
    """Replay the event log of the service: check it, rebuild a model from it, or try another rule.

    For example:
      rosenblatt replay spam.db
      rosenblatt replay spam.db --algorithm passive-aggressive
      rosenblatt replay spam.db --export spam.jsonl.gz
      rosenblatt replay spam.db --dask tcp://10.0.0.1:8786 --epochs 20 -o spam.model
    """
    from rosenblatt.model_file.atomic import check_output, replacing
    from rosenblatt.serve import replay as work
    from rosenblatt.serve.examples import Refused
    from rosenblatt.serve.store import StoreError, without_password

    check_output(output)
    option.check_cluster(dask, shards, mixing)
    try:
        events = work.open_log(log)
        name = _chosen(model, events.models, without_password(log))
        if export is not None:
            with writing(export), replacing(export) as draft, work.opened(draft, "wb", export.endswith(".gz")) as file:
                count = work.export(events, name, file)
            click.echo(f"{count} events of {name} written to {export}")
            return
        if dask is not None:
            _train(
                dask,
                events,
                name,
                algorithm,
                option.parsed_settings(settings),
                (shards, mixing or "uniform", epochs),
                output,
                json,
            )
            return
        served, facts = work.replay(events, name, algorithm, option.parsed_settings(settings))
    except StoreError as error:
        raise Failure(f"{without_password(log)}: {error}") from error
    except Refused as error:
        raise Usage(str(error)) from error
    if output is not None:
        if not served.fitted:
            raise Usage(f"{name} has learned nothing yet, so there is no model to write.")
        from rosenblatt.cli._files import save_model

        save_model(served.estimator, output)
    if json:
        from rosenblatt.cli._files import emit

        emit(facts)
    else:
        _print(facts)
    same_rule = algorithm is None and not settings
    if same_rule and (facts["differing_predictions"] or facts["gaps"]):
        raise click.exceptions.Exit(FAILED)


def _train(
    address: str,
    events: Any,
    name: str,
    algorithm: str | None,
    parameters: dict[str, Any],
    how: tuple[int | None, str, int],
    output: str | None,
    json: bool,
) -> None:
    """Train on the examples of a log on a cluster, for several epochs, instead of once in their order."""
    from rosenblatt.cli._files import emit, save_model
    from rosenblatt.cli._sequences import is_tagger
    from rosenblatt.dask import ClusterError, train
    from rosenblatt.dask._sources import source_of_pairs
    from rosenblatt.serve import replay as work
    from rosenblatt.serve.choice import new_estimator
    from rosenblatt.training.schedule import Schedule

    first, settings = work.created(events, name)
    if algorithm is not None or parameters:
        first, settings = algorithm or first, parameters
    shards, mixing, epochs = how
    estimator = new_estimator(first, {**settings, "max_iter": epochs})
    X = y = source = None
    if is_tagger(estimator):
        pairs = list(work.examples(events, name))
        X, y = [sentence for sentence, _ in pairs], [tags for _, tags in pairs]
    else:
        source = source_of_pairs(work.examples(events, name), shards)
    try:
        train(
            estimator,
            X,
            y,
            client=address,
            shards=shards,
            mixing=mixing or "uniform",
            source=source,
            progress=not json,
            schedule=Schedule.of(estimator),
        )
    except ClusterError as error:
        raise Failure(str(error)) from error
    if output is not None:
        save_model(estimator, output)
    done, tagger = estimator.history_, is_tagger(estimator)
    facts = {
        "model": name, "algorithm": type(estimator).__name__, "parameters": settings, "examples": done[0]["examples"],
        "classes": list(estimator._chain.tags if tagger else estimator.model_.classes),
        "features": estimator.n_features_ if tagger else estimator.n_features_in_, "shards": len(done[0]["shard_mixing"]),
        "epochs": [{key: value for key, value in epoch.items() if not key.startswith("shard_")} for epoch in done],
        "stopped": estimator.training_["run"]["stopped"], "weighted_mistakes": estimator.weighted_mistakes_,
    }  # fmt: skip
    if json:
        emit(facts)
        return
    for title in ("model", "algorithm", "examples", "features", "shards", "stopped"):
        click.echo(f"{title:<11} {facts[title]}")
    click.echo(f"{'mistakes':<11} {', '.join(str(epoch['mistakes']) for epoch in done)} in {len(done)} epochs")


def _chosen(model: str | None, models: dict[str, int], log: str) -> str:
    if model is None and len(models) == 1:
        return next(iter(models))
    if model is None or model not in models:
        if not models:
            raise Usage(f"There is no model in {log}. Name a store, or a log written by --export, that has one.")
        known = ", ".join(models)
        if model is None:
            raise Usage(f"{log} has several models: {known}. Choose one with --model.")
        raise Usage(f"--model must name one of the models in {log}: {known}; got {model!r}.")
    return model


def _print(facts: dict[str, object]) -> None:
    parameters = facts["parameters"]
    assert isinstance(parameters, dict)
    given = ", ".join(f"{name}={value}" for name, value in parameters.items())
    click.echo(f"model       {facts['model']}")
    click.echo(f"algorithm   {facts['algorithm']}{f' ({given})' if given else ''}")
    if facts["log_begins_after"]:
        click.echo(f"{'begins':<11} after event {facts['log_begins_after']:,}; the events before are not kept")
    for name in ("events", "examples", "mistakes"):
        click.echo(f"{name:<11} {facts[name]:,}")
    for title, name in (("accuracy", "accuracy"), ("as served", "logged_accuracy")):
        value = facts[name]
        click.echo(f"{title:<11} {'-' if value is None else f'{value:.2%}'}")
    click.echo(f"{'different':<11} {facts['differing_predictions']:,} predictions differ from the log")
    if facts["gaps"]:
        click.echo(f"{'gaps':<11} {facts['gaps']:,} places where events are missing")
    if facts["refused"]:
        click.echo(f"{'refused':<11} {facts['refused']:,} events that this rule cannot learn")
