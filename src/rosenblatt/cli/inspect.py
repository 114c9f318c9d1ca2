"""`rosenblatt inspect`: show the weights of a model."""

from typing import Any

import click

from rosenblatt.cli import _options as option
from rosenblatt.cli._errors import Usage


@option.command()
@option.model_file
@click.option("--top", "-n", type=click.IntRange(min=0), default=20, help="Number of features to show for each class.")
@click.option(
    "--feature",
    metavar="NAME",
    multiple=True,
    help="Show the weights of this feature instead; can be given several times.",
)
@option.as_json
@click.pass_context
def inspect(context: click.Context, model: str, top: int, feature: tuple[str, ...], json: bool) -> None:
    """Show the largest weights of a model for each class, its parameters and its training data.

    For example:
      rosenblatt inspect spam.model --top 10
      rosenblatt inspect spam.model --feature free --feature meeting
    """
    from rosenblatt.cli import _files, _labels, _sequences

    estimator = _files.load_model(model, taggers=True)
    if _sequences.is_tagger(estimator):
        _sequences.refuse(context, {"model", "top", "json"})
        _sequences.inspect(estimator, model, top, json)
        return
    several = _labels.is_multilabel(estimator)
    facts = _labels.describe(estimator, model) if several else describe(estimator, model)
    named: dict[str, Any] = {}
    if feature:
        named = {name: _weights_of(estimator, name) for name in feature}
        facts["weights"] = named
    elif _has_weights(estimator):
        facts["strongest"] = strongest(estimator, top)
    if json:
        _files.emit(facts)
        return
    for run in facts.get("runs", [])[1 if len(facts.get("runs", [])) < 2 else 0 :]:
        click.echo(f"{'run':<11} {run['date'] or 'unknown date'}, {run['examples']:,} examples: {run['command'] or ''}")
    for key in ("algorithm", "parameters", "trained on", "examples", "mistakes", "updates", "features", "written by"):
        if key in facts:
            click.echo(f"{key:<11} {_shown(facts[key])}")
    for key in ("classes", "labels"):
        if facts.get(key):
            click.echo(f"{key:<11} {', '.join(str(label) for label in facts[key])}")
    if feature:
        for name, weights in named.items():
            click.echo(f"\n{name}")
            for label, weight in weights.items():
                click.echo(f"  {weight:>+12.5g}  {label}")
    elif "strongest" not in facts:
        click.echo(f"\n{facts['algorithm']} has no weights of features: it is a sum over examples.")
    else:
        _print_strongest(facts["strongest"])


def _shown(value: Any) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, dict):
        return ", ".join(f"{name}={setting}" for name, setting in value.items()) or "defaults"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def describe(estimator: Any, path: str) -> dict[str, Any]:
    """Algorithm, parameters and training of a model."""
    from rosenblatt.model_file import read
    from rosenblatt.training.evaluation import class_labels

    defaults = type(estimator)().get_params()
    changed = {name: value for name, value in estimator.get_params().items() if value != defaults[name]}
    facts: dict[str, Any] = {
        "algorithm": type(estimator).__name__,
        "parameters": changed,
        "classes": class_labels(estimator),
        "features": estimator.n_features_in_,
        "mistakes": int(estimator.mistakes_),
        "updates": int(estimator.updates_),
        "written by": f"rosenblatt {read(path).library}",
    }
    training = getattr(estimator, "training_", None)
    if training:
        runs = training.get("runs", [{"data": training["data"]}])
        facts["trained on"] = list(dict.fromkeys(name for run in runs for name, _ in run["data"]))
        if "runs" in training:
            facts["runs"] = runs
        facts["examples"] = (training["run"]["done"] or [training["run"]["current"]])[0]["examples"]
        if "runs" in training:  # each set of files counts once, also if an interrupted run went on with it
            facts["examples"] = sum({str(run["data"]): run["examples"] for run in runs}.values())
    return facts


def strongest(estimator: Any, count: int) -> dict[str, list[list[Any]]]:
    """Features with the largest weights for each class; two classes share one weight vector."""
    import numpy as np

    rows, classes = _vectors(estimator)
    found = {}
    for label, weights in zip(classes, rows, strict=False):
        part = (
            np.argpartition(-weights, min(count, weights.size - 1))[: count + 1] if weights.size else np.zeros(0, int)
        )
        order = part[np.lexsort((part, -weights[part]))][:count]
        kept = [number for number in order.tolist() if weights[number] > 0]
        found[str(label)] = [[estimator.encoder_.feature_name(number), float(weights[number])] for number in kept]
    return found


def _print_strongest(found: dict[str, list[list[Any]]]) -> None:
    for label, features in found.items():
        click.echo(f"\nfor {label}")
        for name, weight in features:
            click.echo(f"  {weight:>+12.5g}  {name}")
        if not features:
            click.echo("  nothing")


def _weights_of(estimator: Any, name: str) -> dict[str, float]:
    if not _has_weights(estimator):
        raise Usage(
            f"{type(estimator).__name__} has no weights of features: it is a sum over examples. Leave --feature out."
        )
    number = estimator.encoder_.find(name)
    if number < 0:
        raise Usage(
            f"The model has no feature {name!r}. Use a name that `rosenblatt inspect` shows, such as column=value."
        )
    rows, classes = _vectors(estimator)
    return {str(label): float(weights[number]) for label, weights in zip(classes, rows, strict=False)}


def _has_weights(estimator: Any) -> bool:
    from rosenblatt.cli import _labels

    return _labels.has_weights(estimator) if _labels.is_multilabel(estimator) else hasattr(estimator, "coef_")


def _vectors(estimator: Any) -> tuple[list[Any], list[Any]]:
    """The weights of each class, and the classes; two classes, and the two directions of a regression, share one vector."""
    from rosenblatt.cli import _labels

    if _labels.is_multilabel(estimator):
        return _labels.vectors(estimator)
    coef = estimator.coef_
    if coef.ndim == 1:
        return [coef, -coef], ["larger targets", "smaller targets"]
    classes = estimator.classes_.tolist()
    return ([-coef[0], coef[0]] if len(classes) == 2 else list(coef)), classes
