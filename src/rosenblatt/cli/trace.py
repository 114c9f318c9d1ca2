"""`rosenblatt trace`: show every step of a run."""

from enum import StrEnum
from typing import Annotated, Any

import typer

from rosenblatt.cli import _options as option
from rosenblatt.cli._errors import Usage


class Form(StrEnum):
    """Output formats of a trace."""

    text = "text"
    markdown = "markdown"
    html = "html"
    json = "json"
    csv = "csv"


class OnZero(StrEnum):
    """Meanings of a score of exactly 0."""

    update = "update"
    positive = "positive"
    keep = "keep"


def trace(
    data: option.DataFiles,
    algorithm: option.Algorithm = None,
    epochs: Annotated[int, typer.Option("--epochs", "-e", min=1, help="Passes over the data.")] = 1,
    init: Annotated[
        str | None,
        typer.Option(
            "--init",
            metavar="W",
            show_default=False,
            help="Initial weights, the bias first: --init=-1,0,0; for several classes a row each, separated by semicolons.",
        ),
    ] = None,
    on_zero: Annotated[
        OnZero,
        typer.Option(
            "--on-zero",
            help="Meaning of a score of exactly 0: a mistake, a prediction of the second class, or never a mistake.",
        ),
    ] = OnZero.update,
    intercept: Annotated[bool, typer.Option("--intercept/--no-intercept", help="Whether there is a bias.")] = True,
    limit: Annotated[
        int,
        typer.Option(
            "--limit", min=4, help="Maximum number of steps; of a longer run the first, the last and some mistakes."
        ),
    ] = 200,
    to: Annotated[Form, typer.Option("--to", "-t", help="Output format.")] = Form.text,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE", show_default=False, help="Output file. Default: standard output."
        ),
    ] = None,
    settings: option.Settings = [],  # noqa: B006
    label: option.Label = None,
    format: option.Format = None,  # noqa: A002
    header: option.Header = None,
    types: option.Types = [],  # noqa: B006
    one_based: option.OneBased = None,
) -> None:
    """Show every step of a learner: score, label, mistake, weights before and after, and the two sides of the mistake bound.

    For example:
      rosenblatt trace points.csv --init=-1,0,0 --on-zero positive
      rosenblatt trace points.csv -a passive-aggressive --set C=0.5 --to html -o steps.html
    """
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
        on_zero=on_zero.value, limit=limit, **parameters,
    )  # fmt: skip
    written = getattr(run, f"to_{to.value}")()
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
