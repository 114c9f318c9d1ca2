"""`rosenblatt train`: train a model on files."""

import dataclasses
import shlex
import sys
import time
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import click

from rosenblatt.cli import _options as option
from rosenblatt.cli._errors import INTERRUPTED, Usage, warn

if TYPE_CHECKING:
    from rosenblatt.training.history import Epoch, History
    from rosenblatt.training.schedule import Schedule

ALGORITHM, EPOCHS = "averaged-perceptron", 10

HELD_OUT, MOST_EPOCHS = 0.1, 30
"""Without --epochs, training stops by itself: the share of examples set aside, and the largest number of epochs."""

NO_SETTINGS = {
    "early_stopping": "Give --holdout SHARE instead.",
    "validation_fraction": "Give --holdout SHARE instead.",
    "random_state": "Give --seed NUMBER instead.",
    "warm_start": "Give --resume instead.",
    "verbose": "Progress is shown unless --quiet is given.",
}
"""Parameters of learners that have no effect on the command line, and what to give instead."""


@option.command()
@option.data_files
@click.option("--model", "-m", type=option.FILE, metavar="MODEL", required=True, help="Model file to write.")
@option.algorithm
@click.option(
    "--epochs",
    "-e",
    type=click.IntRange(min=1),
    help="Maximum number of passes over the data; with --resume, including earlier ones. Default: until the accuracy on a tenth of "
    f"the examples, which is set aside, no longer rises, at most {MOST_EPOCHS}; {EPOCHS} for learners that need all data at once.",
)
@option.settings
@option.positive
@option.classes
@option.label
@option.format
@option.header
@option.types
@option.interactions
@option.standardize
@option.na
@option.words
@option.bits
@option.one_based
@option.seed
@click.option(
    "--shuffle/--no-shuffle",
    default=True,
    help="Shuffle the examples in each epoch: all of them if they fit into memory, else within each batch.",
)
@click.option(
    "--holdout",
    type=click.FloatRange(min=0.0, max=0.9),
    metavar="SHARE",
    help="Share of the examples that are not used for training; stop when the accuracy on them no longer rises, and keep the best "
    "epoch. Default: 0 with --epochs, else 0.1.",
)
@click.option("--test", type=option.FILE, metavar="DATA", help="A file to test the trained model on.")
@click.option("--report", type=option.FILE, metavar="FILE.html", help="Write an HTML page with all results.")
@click.option("--resume", is_flag=True, help="Continue to train MODEL: an interrupted run, or with new data.")
@option.threads
@option.cluster
@option.shards
@option.mixing
@option.as_json
@option.quiet
@click.pass_context
def train(
    context: click.Context,
    data: tuple[str, ...],
    model: str,
    algorithm: str | None,
    epochs: int | None,
    settings: tuple[str, ...],
    positive: str | None,
    classes: str | None,
    label: str | None,
    format: str | None,  # noqa: A002
    header: bool | None,
    types: tuple[str, ...],
    interactions: tuple[str, ...],
    standardize: bool | None,
    na: tuple[str, ...],
    words: str | None,
    bits: int | None,
    one_based: bool | None,
    seed: int,
    shuffle: bool,
    holdout: float | None,
    test: str | None,
    report: str | None,
    resume: bool,
    threads: int | None,
    dask: str | None,
    shards: int | None,
    mixing: str | None,
    json: bool,
    quiet: bool,
) -> None:
    """Train a model on a file, or on files larger than memory.

    Ctrl-C ends training, saves the model and exits with code 130; --resume continues.

    For example:
      rosenblatt train spam.csv -m spam.model
      rosenblatt train messages.tsv -m spam.model --label 0 --test new.tsv --report spam.html
      rosenblatt train 'day-*.svm.gz' -m big.model -a passive-aggressive --set C=0.1 --epochs 1 --bits 22
      rosenblatt train 'data/*.svm' -m big.model --dask tcp://10.0.0.1:8786
      rosenblatt train tagged.conll -m tagger.model --format conll
    """
    from rosenblatt.cli._examples import MANY
    from rosenblatt.cli._session import Session, learns_online
    from rosenblatt.data.sources import expand
    from rosenblatt.model_file.atomic import check_output
    from rosenblatt.training.evaluation import describe_strangers

    check_output(model, report)
    if report is not None and PurePath(report).suffix.lower() not in ("", ".html", ".htm"):
        raise Usage(f"--report writes an HTML page, whose name ends with .html; got {report}. Change the ending.")
    if format == "conll":
        from rosenblatt.cli import _sequences

        parameters = option.parsed_settings(settings, "sequence-perceptron")
        epochs = _epochs(parameters, epochs)
        _sequences.train(context, data, model, algorithm, epochs, parameters, seed, shuffle, test, resume, json, quiet)
        return
    if test is not None:
        expand(test)
    option.check_cluster(dask, shards, mixing)
    options = option.stream_options(format, label, header, bits, types, interactions, standardize, one_based, threads)
    parameters = option.parsed_settings(settings, algorithm or ALGORITHM)
    for name, advice in NO_SETTINGS.items():
        if name in parameters and not (name == "random_state" and type(parameters[name]) is int):
            raise Usage(f"--set {name} has no effect in `train`; got {parameters[name]!r}. {advice}")
    if positive is not None:
        parameters["positive"] = positive
    epochs = _epochs(parameters, epochs)
    if classes is not None and (resume or dask is not None):
        raise Usage(
            f"--classes is for a new model that is trained in one process; got it with {'--resume' if resume else '--dask'}. "
            "Leave it out."
        )
    table = {"na": na, "word_weights": words}
    if not resume and dask is None and holdout is None and epochs is None and learns_online(algorithm or ALGORITHM):
        holdout, epochs = HELD_OUT, MOST_EPOCHS
    session = Session(quiet=quiet, seed=seed, shuffle=shuffle, holdout=holdout or 0.0, classes=classes)
    session.command = shlex.join(["rosenblatt", "train", *context.meta.get("typed", [])])
    if resume:
        session.resume(model, data, {**options, **table}, algorithm, parameters, epochs, _given(context))
    else:
        table["word_weights"] = words or "log"
        session.begin(data, {**options, **table}, algorithm or ALGORITHM, parameters, epochs or EPOCHS)
    if not quiet:
        click.echo(session.stream.describe(), err=True)
    started = time.monotonic()
    if dask is not None:
        session.learn_on(dask, shards, mixing, model, _epoch_lines(quiet))
    else:
        session.learn(_epoch_lines(quiet))
    seconds = time.monotonic() - started
    session.save(model)
    column, largest = session.largest_number()
    if largest > 100 and not quiet:
        warn(
            f"column {column!r} has values of up to {largest:.3g}, and large values dominate the score. Leave out "
            f"--no-standardize, or the column: --types {column}=ignore."
        )
    facts = session.facts(model, seconds)
    if len(facts["classes"]) > MANY and not quiet:
        warn(
            f"the label has {len(facts['classes']):,} classes, and few examples of each may be seen. If it is a quantity, or the "
            "wrong column, name another with --label."
        )
    evaluation = None
    if test is not None and session.history.stopped != "interrupted":
        evaluation = session.test(test, threads)
        facts["test"] = {"data": test, **evaluation.to_json()}
        if (strangers := describe_strangers(evaluation.labels, facts["classes"])) and not quiet:
            warn(strangers)
    if report is not None:
        from rosenblatt.cli._report import write_report

        write_report(report, session, facts, evaluation, test)
    if json:
        from rosenblatt.cli._files import emit

        emit(facts)
    elif not quiet:
        _print(facts, evaluation)
    if session.history.stopped == "interrupted":
        further = "Continue with --resume." if session.online else f"{facts['algorithm']} cannot be resumed."
        warn(f"interrupted; {model} holds the model learned so far. {further}")
        raise click.exceptions.Exit(INTERRUPTED)
    if session.history.stopped == "read once" and session.schedule.max_iter > 1:
        warn("standard input did not fit into memory and could be read only once. Save it to a file for more epochs.")


def _epochs(parameters: dict[str, Any], epochs: int | None) -> int | None:
    """Number of epochs; ``--set max_iter`` is another form of --epochs."""
    if "max_iter" not in parameters:
        return epochs
    asked = parameters.pop("max_iter")
    if type(asked) is not int or asked < 1 or epochs not in (None, asked):
        raise Usage(
            f"--set max_iter must be a whole number of at least 1 and equal to --epochs, which has the same meaning; got "
            f"{asked!r}{'' if epochs is None else f' and {epochs}'}. Give only --epochs."
        )
    return asked


def _given(context: click.Context) -> list[str]:
    """Options on the command line among those that a resumed run keeps."""
    sources = {name: context.get_parameter_source(name) for name in ("seed", "shuffle", "holdout")}
    return [name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"]


def _epoch_lines(quiet: bool) -> Any:
    """Make a function that prints a line for an epoch, the first time with a heading."""
    if quiet:
        return lambda schedule, history: None
    printed = False

    def line(schedule: "Schedule", history: "History") -> None:
        nonlocal printed
        held = schedule.holdout > 0
        if not printed:
            click.echo(
                f"{'epoch':>6}{'examples':>14}{'mistakes':>12}{'before learning':>17}{'held out' if held else '':>10}{'seconds':>9}",
                err=True,
            )
            printed = True
        epoch: Epoch = history.done[-1]
        share = f"{epoch.held_out_accuracy:.2%}" if epoch.held_out_accuracy is not None else ""
        click.echo(
            f"{len(history.done):>6}{epoch.examples:>14,}{epoch.mistakes:>12,}{epoch.accuracy:>17.2%}{share:>10}{epoch.seconds:>9.2f}",
            err=True,
        )
        sys.stderr.flush()

    return line


def _print(facts: dict[str, Any], evaluation: Any) -> None:
    classes = facts["classes"]
    names = ", ".join(str(label) if len(str(label)) <= 30 else f"{str(label)[:29]}…" for label in classes[:6]) + (
        ", …" if len(classes) > 6 else ""
    )
    done = len(facts["epochs"])
    best = facts.get("best_epoch", done)
    kept = "" if best == done else f", and number {best} was the best"
    lines = [
        f"algorithm  {facts['algorithm']}",
        f"examples   {facts['examples']:,}"
        + (f", {facts['unlabelled']:,} without a label left out" if facts["unlabelled"] else ""),
        f"classes    {len(classes)}: {names}",
        f"features   {facts['features']:,}",
        f"epochs     {done} in {facts['seconds']:.2f} s, ended by: {facts['stopped']}{kept}",
    ]
    if facts.get("held_out_accuracy") is not None:
        held = facts["epochs"][best - 1]["held_out"]
        lines.append(
            f"held out   {facts['held_out_accuracy']:.2%} right on {held:,.10g} examples set aside, with the saved model"
        )
    if "training_accuracy" in facts:
        lines.append(f"training   {facts['training_accuracy']:.2%} right on the training data, with the saved model")
    elif done and facts["epochs"][0]["examples"]:
        lines.append(
            f"at first   {facts['epochs'][0]['accuracy']:.2%} right in the first epoch, before learning each example"
        )
    lines.append(f"model      {facts['model']}")
    click.echo("\n".join(lines))
    if evaluation is not None:
        click.echo(f"\nTest on {facts['test']['data']}\n{evaluation.to_text()}")


def as_epoch(epoch: "Epoch") -> dict[str, Any]:
    """Convert an epoch for --json."""
    facts = dataclasses.asdict(epoch)
    facts["accuracy"] = epoch.accuracy if epoch.examples else None
    facts["held_out_accuracy"] = epoch.held_out_accuracy
    return facts
