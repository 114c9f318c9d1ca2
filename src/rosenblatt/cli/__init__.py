"""The command line: one file for each command."""

import typer

from rosenblatt.cli import demo, lab

__all__ = ["app", "main"]

app = typer.Typer(
    name="rosenblatt",
    help="The perceptron family of online linear learners.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)
app.command("demo")(demo.demo)
app.command("lab")(lab.lab)


@app.callback(invoke_without_command=True)
def root(version: bool = typer.Option(False, "--version", help="Print the version and stop.")) -> None:
    """The perceptron family of online linear learners."""
    if version:
        from rosenblatt import __version__

        typer.echo(f"rosenblatt {__version__}")
        raise typer.Exit


def main() -> None:
    """The command `rosenblatt`."""
    app()
