"""`rosenblatt train`: train a model on files."""

import dataclasses
import shlex
import sys
import time
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import click

from rosenblatt.cli import _options as option
from rosenblatt.cli._errors import INTERRUPTED, Usage, go_on_unread, warn

if TYPE_CHECKING:
    from rosenblatt.training.history import Epoch, History
    from rosenblatt.training.schedule import Schedule

EPOCHS = 10
"""The largest number of epochs for learners that need all data."""

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
@option.algorithm(
    f"{option.ALGORITHM} with averaged weights; arow-regressor with --regression. auto compares all on a part of the data "
    "and takes the best"
)
@option.regression
@option.multilabel
@option.separator
@click.option(
    "--epochs",
    "-e",
    type=click.IntRange(min=1),
    help="Maximum number of passes over the data; with --resume, including earlier ones. Default: until the accuracy on a tenth "
    f"of the examples, which is set aside, no longer rises, at most {MOST_EPOCHS}; {EPOCHS} for learners that need all data.",
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
@option.ngrams
@option.char_ngrams
@option.weight
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
    help="Share of the examples that are not used for training; stop when the accuracy on them no longer rises, and keep the "
    "best epoch. Learners that need all data keep the last one, and pocket-perceptron the weights in its pocket. Default: 0 with "
    "--epochs, else 0.1.",
)
@click.option(
    "--split",
    metavar="time:COLUMN",
    help="Set the latest examples aside instead of random ones: those with the largest numbers or dates in this column.",
)
@click.option(
    "--cv",
    type=click.IntRange(2, 100),
    metavar="K",
    help="Also measure the accuracy by cross-validation: K times a model learns all but one of K parts and predicts this part.",
)
@click.option("--test", type=option.FILE, metavar="DATA", help="A file to test the trained model on.")
@click.option("--report", type=option.FILE, metavar="FILE.html", help="Write an HTML page with all results.")
@click.option("--resume", is_flag=True, help="Continue to train MODEL: an interrupted run, or with new data.")
@option.on_bad_rows
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
    regression: bool,
    multilabel: bool,
    separator: str | None,
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
    ngrams: tuple[int, int] | None,
    char_ngrams: tuple[int, int] | None,
    weight: str | None,
    bits: int | None,
    one_based: bool | None,
    seed: int,
    shuffle: bool,
    holdout: float | None,
    split: str | None,
    cv: int | None,
    test: str | None,
    report: str | None,
    resume: bool,
    on_bad_rows: str,
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
      rosenblatt train churn.csv -m churn.model --algorithm auto --cv 5
      rosenblatt train prices.csv -m up.model --split time:date
      rosenblatt train houses.csv -m price.model --label price --regression
      rosenblatt train articles.jsonl -m topics.model --label topics --multilabel
      rosenblatt train 'data/*.svm' -m big.model --dask tcp://10.0.0.1:8786
      rosenblatt train tagged.conll -m tagger.model --format conll
    """
    from rosenblatt.cli._files import warn_of_bad_rows
    from rosenblatt.cli._latest import time_column
    from rosenblatt.cli._session import AUTO, Session, learns_online, warning_of_majority
    from rosenblatt.cli._targets import ALGORITHM, epoch_lines, names_regressor, refuse, settings_of, shown
    from rosenblatt.data.sources import expand
    from rosenblatt.model_file.atomic import check_output
    from rosenblatt.training.evaluation import Evaluation, describe_strangers, describe_unseen

    check_output(model, report)
    go_on_unread("stdout")
    if report is not None and PurePath(report).suffix.lower() not in ("", ".html", ".htm"):
        raise Usage(f"--report writes an HTML page, whose name ends with .html; got {report}. Change the ending.")
    if format == "conll":
        from rosenblatt.cli import _sequences

        parameters = option.parsed_settings(settings, "sequence-perceptron")
        epochs = _epochs(parameters, epochs)
        option.check_cluster(dask, shards, mixing)
        _sequences.train(
            context,
            data,
            model,
            algorithm,
            epochs,
            parameters,
            label,
            bits,
            seed,
            shuffle,
            test,
            resume,
            json,
            quiet,
            (dask, shards, mixing),
        )
        return
    if test is not None:
        expand(test)
    option.check_cluster(dask, shards, mixing)
    if dask is not None and words == "tfidf":
        raise Usage(
            "--words on a cluster must be log or counts; got tfidf, whose counts need the rows in order. Choose log."
        )
    options = option.stream_options(format, label, header, bits, types, interactions, standardize, one_based, threads)
    if separator is not None and (not multilabel or not separator.strip()):
        raise Usage(
            f"--separator is a text, not blank, for --multilabel; got {separator!r}. Give --multilabel, or leave it out."
        )
    if multilabel:
        from rosenblatt.cli import _labels

        _labels.refuse(
            {
                "--regression": regression, "--resume": resume, "--dask": dask, "--positive": positive, "--classes": classes,
                "--split": split, "--cv": cv, "--holdout": holdout, "--report": report, "--no-shuffle": not shuffle,
            }
        )  # fmt: skip
        parameters = option.parsed_settings(settings, algorithm or option.ALGORITHM)
        epochs = _epochs(parameters, epochs)
        if algorithm is None:
            parameters = {**option.SETTINGS, **parameters}
        _labels.train(
            data, model, {**options, "na": na, **option.text_options(words, ngrams, char_ngrams), "weight": weight,
                          "on_bad_rows": on_bad_rows, "separator": separator or ","},
            algorithm or option.ALGORITHM, parameters, epochs, seed, test, threads, json, quiet,
        )  # fmt: skip
        return
    regression = regression or names_regressor(algorithm)
    if regression:
        refuse({"--dask": dask, "--positive": positive, "--classes": classes, "--split": split})
    named = algorithm or (ALGORITHM if regression else option.ALGORITHM)
    parameters = option.parsed_settings(settings, named, regression)
    for name, advice in NO_SETTINGS.items():
        if name in parameters and not (name == "random_state" and type(parameters[name]) is int):
            raise Usage(f"--set {name} has no effect in `train`; got {parameters[name]!r}. {advice}")
    if positive is not None:
        parameters["positive"] = positive
    epochs = _epochs(parameters, epochs)
    if on_bad_rows != "stop" and dask is not None:
        raise Usage(
            "--on-bad-rows skip is for one process; got it with --dask. Leave it out, or clean the files first."
        )
    if classes is not None and (resume or dask is not None):
        raise Usage(
            f"--classes is for a new model that is trained in one process; got it with {'--resume' if resume else '--dask'}. "
            "Leave it out."
        )
    if algorithm == AUTO:
        given = {
            "--resume": resume,
            "--dask": dask is not None,
            "--set": bool(settings),
            "--weight": weight is not None,
        }
        if any(given.values()):
            raise Usage(
                f"--algorithm auto chooses a learner and its parameters for a new model; got "
                f"{', '.join(name for name in given if given[name])}. Name a learner, or leave it out."
            )
    for name, value in (("--split", split), ("--cv", cv)):
        if value is not None and (resume or dask is not None):
            raise Usage(f"{name} is for a new model that is trained in one process; got it with --resume or --dask.")
    if split is not None:
        split = time_column(split)
        if on_bad_rows != "stop":
            raise Usage("--split counts all rows; got --on-bad-rows skip, which leaves some out. Clean the file first.")
        if epochs is not None and holdout is None:
            holdout = HELD_OUT
    relearns = False
    table: dict[str, Any] = {"na": na, "weight": weight, "on_bad_rows": on_bad_rows}
    table |= option.text_options(words, ngrams, char_ngrams)
    if (
        not resume
        and dask is None
        and holdout is None
        and epochs is None
        and (named == AUTO or learns_online(named, regression))
    ):
        holdout, epochs, relearns = HELD_OUT, MOST_EPOCHS, True
    session = Session(
        quiet=quiet,
        seed=seed,
        shuffle=shuffle,
        holdout=holdout or 0.0,
        classes=classes,
        relearns=relearns,
        regression=regression,
    )
    session.command = shlex.join(["rosenblatt", "train", *context.meta.get("typed", [])])
    if resume:
        session.resume(model, data, {**options, **table}, algorithm, parameters, epochs, _given(context))
    else:
        if regression:
            parameters = {**settings_of(named, standardize is not False), **parameters}
        elif algorithm is None:
            parameters = {**option.SETTINGS, **parameters}
        session.begin(
            data, {**options, **table}, named, parameters, epochs or EPOCHS, default=algorithm is None, split=split
        )
    if not quiet:
        click.echo(session.stream.describe(), err=True)
        if session.choice is not None:
            click.echo(session.choice.to_text(), err=True)
    started = time.monotonic()
    if dask is not None:
        session.learn_on(dask, shards, mixing, model, _epoch_lines(quiet))
    else:
        session.learn((epoch_lines if session.regression else _epoch_lines)(quiet))
    seconds = time.monotonic() - started
    session.save(model)
    if cv is not None:
        session.cross_validate(cv)
    if not quiet:
        warn_of_bad_rows(session.stream)
    facts = session.facts(model, seconds)
    if not quiet and (message := warning_of_majority(facts)):
        warn(message)
    evaluation = None
    if test is not None and session.history.stopped != "interrupted":
        evaluation = session.test(test, threads, on_bad_rows)
        facts["test"] = {"data": test, **evaluation.to_json()}
        if not quiet:
            if isinstance(evaluation, Evaluation) and (
                strangers := describe_strangers(evaluation.labels, facts["classes"])
            ):
                warn(strangers)
            if unseen := describe_unseen(evaluation.unseen):
                warn(unseen)
    if report is not None:
        from rosenblatt.cli._report import write_report

        write_report(report, session, facts, evaluation, test)
    if json:
        from rosenblatt.cli._files import emit

        emit(facts)
    elif not quiet and session.regression:
        click.echo(shown(facts, evaluation))
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
                f"{'epoch':>6}{'examples':>14}{'mistakes':>12}{'before learning':>17}"
                f"{'held out' if held else '':>10}{'seconds':>9}",
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
    from rosenblatt.cli._targets import set_aside

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
        how = "before the model learned all examples" if facts["relearned"] else "with the saved model"
        weighted = ", counted by weight" if facts["weighted"] else ""
        which = set_aside(facts) + (f", the latest by {facts['split']}" if "split" in facts else "")
        lines.append(f"held out   {facts['held_out_accuracy']:.2%} right on {which}, {how}{weighted}")
    if (cross := facts.get("cross_validation")) is not None:
        parts = f"{len(cross['folds'])} parts"
        lines.append(
            f"{parts:11}{cross['mean']:.2%} ± {cross['spread']:.2%} right, each part by a model that learned the others"
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
    for name in ("lucky", "readout_accuracy"):  # what a resumed run needs to know
        del facts[name]
    facts["accuracy"] = epoch.accuracy if epoch.examples else None
    facts["held_out_accuracy"] = epoch.held_out_accuracy
    return facts
