"""`rosenblatt compare`: compare all linear learners on the same data."""

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
@option.label
@option.format
@option.header
@option.types
@option.interactions
@option.standardize
@option.bits
@option.na
@option.words
@option.one_based
@option.threads
@option.seed
@option.as_json
@option.quiet
def compare(
    data: tuple[str, ...],
    repeats: int,
    passes: int,
    prefix: float,
    shuffle: bool,
    only: tuple[str, ...],
    plot: str | None,
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
    threads: int | None,
    seed: int,
    json: bool,
    quiet: bool,
) -> None:
    """Compare all linear learners on your data by the mistakes that they make before learning each example.

    Settings are chosen on the first examples, which are not scored. Mean and standard deviation are over the random orders.

    For example:
      rosenblatt compare spam.csv
      rosenblatt compare prices.csv --in-order --plot prices.png
      rosenblatt compare a9a.svm --only arow --only scw --repeats 50 --json
    """
    from rosenblatt.cli import _files
    from rosenblatt.experiments.comparison import CONTENDERS
    from rosenblatt.experiments.comparison import compare as measure
    from rosenblatt.model_file.atomic import check_output

    check_output(plot)
    if not 0 < prefix < 1:
        raise Usage(f"--prefix must be between 0 and 1; got {prefix:g}. It is the share for choosing settings.")
    chosen = [one for one in CONTENDERS if any(_plain(one.name).startswith(_plain(name)) for name in only)]
    if only and not chosen:
        known = ", ".join(one.name for one in CONTENDERS)
        raise Usage(f"--only must begin the name of a learner ({known}); got {', '.join(only)}. Check the spelling.")
    options = option.stream_options(format, label, header, bits, types, interactions, standardize, one_based, threads)
    options |= {"na": na, "word_weights": words or "log"}
    X, y, _ = _files.read_all(data, options)
    with _bar(quiet) as progress:
        result = measure(
            X, y, repeats=repeats, passes=passes, prefix=prefix, seed=seed, shuffle=shuffle, contenders=chosen or None,
            threads=threads, progress=progress,
        )  # fmt: skip
    if plot is not None:
        _draw(result, plot)
    if json:
        _files.emit(result.to_json())
        return
    click.echo(result.to_text())
    if not quiet:
        order = f"{result.repeats} shuffles" if shuffle else "in the given order"
        click.echo(
            f"{result.examples:,} examples of {len(result.classes)} classes with {result.features:,} features; {order}; settings "
            f"chosen on the first {result.examples - result.scored:,}, mistakes before learning counted on the other "
            f"{result.scored:,}.",
            err=True,
        )
        for reason in result.skipped:
            click.echo(f"left out: {reason}", err=True)


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
