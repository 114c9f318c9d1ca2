"""The command line: one file for each command. Heavy libraries are imported inside the commands, so that it starts at once."""

import sys
import textwrap
from collections.abc import Callable

import typer

from rosenblatt.cli import certify, compare, demo, evaluate, inspect, lab, predict, replay, serve, stream, trace, train
from rosenblatt.cli._errors import reported

app = typer.Typer(
    name="rosenblatt",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # Rich would take longer to load than everything else that --help needs
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)


def _help(command: Callable[..., None]) -> str:
    """The docstring; its examples are kept as lines, which takes a mark that Typer knows."""
    summary, _, rest = (command.__doc__ or "").partition("\n")
    text = f"{summary}\n{textwrap.dedent(rest)}"
    return text.replace("\nFor example:\n", "\n\b\nFor example:\n")


def root(version: bool = typer.Option(False, "--version", help="Print the version and stop.")) -> None:
    """The perceptron family of online linear learners: train, predict and prove from the command line.

    For example:
      rosenblatt train spam.csv -m spam.model
      rosenblatt predict spam.model new.csv
    """
    if version:
        from rosenblatt._version import __version__

        typer.echo(f"rosenblatt {__version__}")
        raise typer.Exit


app.callback(invoke_without_command=True, help=_help(root))(root)
for command in (
    train.train, predict.predict, evaluate.evaluate, stream.stream, inspect.inspect, trace.trace, certify.certify,
    compare.compare, lab.lab, serve.serve, replay.replay, demo.demo,
):  # fmt: skip
    app.command(command.__name__, help=_help(command))(reported(command))
for information in serve.token.registered_commands:
    if information.callback is not None:
        information.callback = reported(information.callback)
app.add_typer(serve.token, name="token")


def main() -> None:
    """The command `rosenblatt`."""
    from rosenblatt.estimators.bases import without_sklearn

    without_sklearn()
    for output in (sys.stdout, sys.stderr):
        if hasattr(output, "reconfigure"):
            output.reconfigure(errors="backslashreplace")  # a label that the terminal cannot show is no reason to stop
    try:
        reported(app)()  # what Typer prints by itself, such as --help, can fail, too
    except typer.Exit as ended:
        sys.exit(ended.exit_code)
