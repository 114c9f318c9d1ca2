"""`rosenblatt compare`: compare all linear learners on the same data."""

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from rosenblatt.cli import _options as option
from rosenblatt.cli._errors import Usage, writing


@option.command()
@option.data_files
@click.option("--repeats", "-n", type=click.IntRange(min=1), default=20, help="Number of random orders.")
@click.option("--passes", type=click.IntRange(min=1), default=1, help="Passes over the data in each order.")
@click.option(
    "--prefix",
    type=float,
    default=0.1,
    help="Share of the examples on which settings are chosen; the others are scored.",
)
@click.option("--shuffle/--in-order", default=True, help="Shuffle, or keep the order of the data.")
@click.option(
    "--only",
    metavar="NAME",
    multiple=True,
    help="Compare only learners whose name begins so; can be given several times.",
)
@click.option("--plot", type=option.FILE, metavar="FILE", help="Draw the result: .png, .svg or .pdf.")
@option.regression
@option.label
@option.format
@option.header
@option.types
@option.interactions
@option.standardize
@option.bits
@option.na
@option.words
@option.ngrams
@option.char_ngrams
@option.one_based
@option.on_bad_rows
@option.threads
@option.seed
@option.as_json
@option.quiet
@click.pass_context
def compare(
    context: click.Context,
    data: tuple[str, ...],
    repeats: int,
    passes: int,
    prefix: float,
    shuffle: bool,
    only: tuple[str, ...],
    plot: str | None,
    regression: bool,
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
    bits: int | None,
    one_based: bool | None,
    on_bad_rows: str,
    threads: int | None,
    seed: int,
    json: bool,
    quiet: bool,
) -> None:
    """Compare all linear learners on your data by the mistakes that they make before learning each example.

    With --regression, the label is a number, and learners are compared by the mean absolute error.

    Settings are chosen on the first examples, which are not scored. Mean and standard deviation are over the random orders.

    For example:
      rosenblatt compare spam.csv
      rosenblatt compare prices.csv --in-order --plot prices.png
      rosenblatt compare a9a.svm --only arow --only scw --repeats 50 --json
    """
    from rosenblatt.cli import _files
    from rosenblatt.experiments.comparison import CONTENDERS, REGRESSORS
    from rosenblatt.experiments.comparison import compare as measure
    from rosenblatt.model_file.atomic import check_output

    check_output(plot)
    if not 0 < prefix < 1:
        raise Usage(f"--prefix must be between 0 and 1; got {prefix:g}. It is the share for choosing settings.")
    contenders = REGRESSORS if regression else CONTENDERS
    chosen = [one for one in contenders if any(_plain(one.name).startswith(_plain(name)) for name in only)]
    if only and not chosen:
        known = ", ".join(one.name for one in contenders)
        raise Usage(f"--only must begin the name of a learner ({known}); got {', '.join(only)}. Check the spelling.")
    options = option.stream_options(format, label, header, bits, types, interactions, standardize, one_based, threads)
    options |= {"na": na, **option.text_options(words, ngrams, char_ngrams), "on_bad_rows": on_bad_rows}
    X, y, _ = _files.read_all(data, {**options, "regression": regression})
    with _bar(quiet) as progress:
        result = measure(
            X, y, repeats=repeats, passes=passes, prefix=prefix, seed=seed, shuffle=shuffle, contenders=chosen or None,
            regression=regression, threads=threads, progress=progress,
        )  # fmt: skip
    if plot is not None:
        _draw(result, plot)
    commands = _commands(result, data, passes, context.params)
    if json:
        facts = result.to_json()
        for standing in facts["standings"]:
            standing["command"] = commands.get(standing["name"])
        _files.emit(facts)
        return
    click.echo(result.to_text())
    if not quiet:
        order = f"{result.repeats} shuffles" if shuffle else "in the given order"
        kinds, counted = ("", "errors") if regression else (f" of {len(result.classes)} classes", "mistakes")
        click.echo(
            f"{result.examples:,} examples{kinds} with {result.features:,} features; {order}; settings chosen on the first "
            f"{result.examples - result.scored:,}, {counted} before learning counted on the other {result.scored:,}.",
            err=True,
        )
        click.echo("\nTo train one of them with its settings, in the order of the table:", err=True)
        for command in commands.values():
            click.echo(f"  {command}", err=True)
        for reason in result.skipped:
            click.echo(f"left out: {reason}", err=True)


def _commands(result: Any, data: tuple[str, ...], passes: int, options: dict[str, Any]) -> dict[str, str]:
    """For each learner of the table the command that trains it with the settings that were chosen most often."""
    from rosenblatt.experiments.comparison import CONTENDERS, REGRESSORS

    reading: list[str] = []
    for name in ("label", "format", "types", "interactions", "na", "words", "bits", "on_bad_rows"):
        value = options[name] if options[name] != "stop" else None
        for one in value if isinstance(value, tuple) else () if value is None else (value,):
            reading += [f"--{name.replace('_', '-')}", str(one)]
    for name, yes, no in (
        ("header", "--header", "--no-header"),
        ("standardize", "--standardize", "--no-standardize"),
        ("one_based", "--one-based", "--zero-based"),
    ):
        if options[name] is not None:
            reading.append(yes if options[name] else no)
    for name, option_name in (("ngrams", "--ngrams"), ("char_ngrams", "--char-ngrams")):
        if options[name] is not None:
            reading += [option_name, "0" if options[name] == (0, 0) else "{}-{}".format(*options[name])]
    contenders = REGRESSORS if result.regression else CONTENDERS
    known, commands = {one.name: one for one in contenders}, {}
    for standing in result.standings:
        if (contender := known.get(standing.name)) is None:
            continue
        settings = {**contender.fixed, **standing.favourite}
        chosen = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
        words = [*data, "-m", "best.model", "-a", contender.learner, *chosen, "--epochs", str(passes), *reading]
        commands[standing.name] = shlex.join(["rosenblatt", "train", *words])
    return commands


def _plain(name: str) -> str:
    return "".join(character for character in name.lower() if character.isalnum())


@contextmanager
def _bar(quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """Progress bar over the runs; only on a terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("comparing"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task: Any = bar.add_task("comparing")
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _draw(result: Any, path: str) -> None:
    from matplotlib.figure import Figure

    from rosenblatt.plots import ComparisonDisplay

    figure = Figure(figsize=(7, 1.2 + 0.27 * len(result.standings)), layout="constrained")
    ComparisonDisplay(result).plot(ax=figure.subplots())
    with writing(path):
        figure.savefig(path, dpi=150)
