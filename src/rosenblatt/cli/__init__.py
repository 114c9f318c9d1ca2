"""The command line: one file per command. Commands import heavy libraries themselves, to keep the start fast."""

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
    rich_markup_mode=None,  # loading Rich takes longer than everything else that --help needs
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)


def _help(command: Callable[..., None]) -> str:
    """Help text of a command: its docstring, with the mark that keeps Typer from joining the lines of the examples."""
    summary, _, rest = (command.__doc__ or "").partition("\n")
    text = f"{summary}\n{textwrap.dedent(rest)}"
    return text.replace("\nFor example:\n", "\n\b\nFor example:\n")


def root(version: bool = typer.Option(False, "--version", help="Print the version and stop.")) -> None:
    """The perceptron family of online linear learners on the command line.

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
    """Run the command `rosenblatt`."""
    from rosenblatt.estimators.bases import without_sklearn

    without_sklearn()
    for output in (sys.stdout, sys.stderr):
        if hasattr(output, "reconfigure"):
            output.reconfigure(errors="backslashreplace")  # do not fail on a label that the terminal cannot show
    try:
        reported(app)()  # printing --help can fail, too
    except typer.Exit as ended:
        sys.exit(ended.exit_code)
