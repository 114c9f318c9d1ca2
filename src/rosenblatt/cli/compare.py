"""`rosenblatt compare`: compare all linear learners on the same data."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from rosenblatt.cli import _options as option
from rosenblatt.cli._errors import Usage, writing


def compare(
    data: option.DataFiles,
    repeats: Annotated[int, typer.Option("--repeats", "-n", min=1, help="Number of random orders.")] = 20,
    passes: Annotated[int, typer.Option("--passes", min=1, help="Passes over the data in each order.")] = 1,
    prefix: Annotated[
        float,
        typer.Option("--prefix", help="Share of the examples on which settings are chosen; the others are scored."),
    ] = 0.1,
    shuffle: Annotated[
        bool, typer.Option("--shuffle/--in-order", help="Shuffle, or keep the order of the data.")
    ] = True,
    only: Annotated[
        list[str],
        typer.Option(
            "--only",
            metavar="NAME",
            show_default=False,
            help="Compare only learners whose name begins so; can be given several times.",
        ),
    ] = [],  # noqa: B006
    plot: Annotated[
        str | None,
        typer.Option("--plot", metavar="FILE", show_default=False, help="Draw the result: .png, .svg or .pdf."),
    ] = None,
    label: option.Label = None,
    format: option.Format = None,  # noqa: A002
    header: option.Header = None,
    types: option.Types = [],  # noqa: B006
    interactions: option.Interactions = [],  # noqa: B006
    standardize: option.Standardize = False,
    bits: option.Bits = None,
    one_based: option.OneBased = None,
    threads: option.Threads = None,
    seed: option.Seed = 0,
    json: option.AsJson = False,
    quiet: option.Quiet = False,
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
    typer.echo(result.to_text())
    if not quiet:
        order = f"{result.repeats} shuffles" if shuffle else "in the given order"
        typer.echo(
            f"{result.examples:,} examples of {len(result.classes)} classes with {result.features:,} features; {order}; settings "
            f"chosen on the first {result.examples - result.scored:,}, mistakes before learning counted on the other "
            f"{result.scored:,}.",
            err=True,
        )
        for reason in result.skipped:
            typer.echo(f"left out: {reason}", err=True)


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
