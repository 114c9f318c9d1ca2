"""`rosenblatt trace`: show every step of a run."""

from typing import Any

import click

from rosenblatt.cli import _options as option
from rosenblatt.cli._errors import Usage


@option.command()
@option.data_files
@option.algorithm("perceptron")
@click.option("--epochs", "-e", type=click.IntRange(min=1), default=1, help="Passes over the data.")
@click.option(
    "--init",
    metavar="W",
    help="Initial weights, the bias first: --init=-1,0,0; for several classes a row each, separated by semicolons.",
)
@click.option(
    "--on-zero",
    type=click.Choice(["update", "positive", "keep"]),
    default="update",
    help="Meaning of a score of exactly 0: a mistake, a prediction of the positive class, or never a mistake.",
)
@click.option("--intercept/--no-intercept", default=True, help="Whether there is a bias.")
@click.option(
    "--limit",
    type=click.IntRange(min=4),
    default=200,
    help="Maximum number of steps; of a longer run the first, the last and some mistakes.",
)
@click.option(
    "--columns",
    metavar="A,B,...",
    help="Columns of the table: notes (step, weights, score, correct, update), or some of step, epoch, example, x, label, "
    "weights, score, predicted, correct, update, after, average, survived, pocket, squeeze, cos_x, cos_x_after and cos_u. "
    "Default: those that apply.",
)
@click.option(
    "--to",
    "-t",
    type=click.Choice(["text", "markdown", "html", "json", "csv"]),
    default="text",
    help="Output format.",
)
@click.option("--output", "-o", type=option.FILE, metavar="FILE", help="Output file. Default: standard output.")
@option.settings
@option.positive
@option.classes
@option.label
@option.format
@option.header
@option.types
@option.one_based
@click.pass_context
def trace(
    context: click.Context,
    data: tuple[str, ...],
    algorithm: str | None,
    epochs: int,
    init: str | None,
    on_zero: str,
    intercept: bool,
    limit: int,
    columns: str | None,
    to: str,
    output: str | None,
    settings: tuple[str, ...],
    positive: str | None,
    classes: str | None,
    label: str | None,
    format: str | None,  # noqa: A002
    header: bool | None,
    types: tuple[str, ...],
    one_based: bool | None,
) -> None:
    """Show every step of a learner: score, label, mistake, weights before and after, and the two sides of the mistake bound.

    With --format conll, show for each sentence the table of Viterbi's algorithm and what is added to the weights of a tagger.

    For example:
      rosenblatt trace points.csv --init=-1,0,0 --on-zero positive
      rosenblatt trace points.csv --positive C1
      rosenblatt trace one.csv --classes 0,1,2 --init='-2,2,1;0,3,4;1,4,-2' --no-intercept
      rosenblatt trace points.csv -a passive-aggressive --set C=0.5 --to html -o steps.html
      rosenblatt trace short.conll --format conll --set templates=word
    """
    if format == "conll":
        from rosenblatt.cli import _sequences

        parameters = option.parsed_settings(settings, "sequence-perceptron")
        _sequences.trace(context, data, algorithm, epochs, parameters, label, limit, to, output)
        return
    from rosenblatt.estimators.bases import with_sklearn

    with_sklearn()  # a trace calls `fit`
    from rosenblatt.cli import _files
    from rosenblatt.learners import find
    from rosenblatt.trace import trace as run_trace

    options = option.stream_options(format, label, header, None, types, [], False, one_based, None)
    learner = find(algorithm or "perceptron")
    parameters = option.parsed_settings(settings, learner.__name__)
    X, y, names = _files.read_all(data, options)
    run = run_trace(
        _named(X, names), y, algorithm=learner.__name__, max_iter=epochs, init=_numbers(init), fit_intercept=intercept,
        on_zero=on_zero, limit=limit, positive=positive, classes=option.parsed_classes(classes, set(y.tolist())),
        **parameters,
    )  # fmt: skip
    if columns is not None and to in ("json", "csv"):
        raise Usage(f"--columns is for tables, which are text, markdown and html; got --to {to}. Leave it out.")
    chosen = {} if columns is None else {"columns": columns if columns == "notes" else columns.split(",")}
    written = getattr(run, f"to_{to}")(**chosen)
    with _files.output(output) as file:
        file.write(written if written.endswith("\n") else written + "\n")


def _numbers(text: str | None) -> Any:
    if text is None:
        return None
    try:
        rows = [[float(number) for number in row.split(",")] for row in text.split(";")]
    except ValueError:
        raise Usage(
            f"--init takes numbers separated by commas, the bias first, such as --init=-1,0,0; got {text!r}."
        ) from None
    return rows[0] if len(rows) == 1 else rows


def _named(X: Any, names: list[str]) -> Any:
    """Give names to the columns of a matrix."""
    import numpy as np

    if not isinstance(X, np.ndarray):
        X.columns = names
        return X

    class Named(np.ndarray):
        columns: list[str]

    named = X.view(Named)
    named.columns = names
    return named
