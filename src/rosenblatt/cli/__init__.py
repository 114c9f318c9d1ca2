"""The command line: one file per command, which is loaded when the command is called."""

import atexit
import gc
import importlib
import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import click

from rosenblatt._version import __version__
from rosenblatt.cli import _options as option
from rosenblatt.cli._errors import go_on_unread, reported, warn

NAMES = (
    "train", "predict", "tag", "evaluate", "stream", "inspect", "export", "trace", "certify", "compare", "lab", "serve", "replay",
    "demo", "token", "store",
)  # fmt: skip
"""The commands in the order of the help."""

FILES = {"token": "serve"}
"""Commands whose file has another name."""


class _Loaded(Mapping[str, click.Command]):
    """The commands by name. Each is loaded when it is looked up, because the files of all take longer than a short run."""

    def __getitem__(self, name: str) -> click.Command:
        if name not in NAMES:
            raise KeyError(name)
        command: click.Command = getattr(importlib.import_module(f"{__name__}.{FILES.get(name, name)}"), name)
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(NAMES)

    def __len__(self) -> int:
        return len(NAMES)


class _Group(click.Group):
    """The command `rosenblatt`, which prints the errors of its commands."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(NAMES)  # click would sort them

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands with the whole first sentence of their help, which click would cut to one line."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.commands[name].get_short_help_str(limit=1000)) for name in NAMES])

    def invoke(self, ctx: click.Context) -> Any:
        return reported(super().invoke)(ctx)


def _complete(context: click.Context, parameter: click.Parameter, asked: bool) -> None:
    """Show or install the completion and stop, if that is asked for."""
    if asked:
        from rosenblatt.cli import _completion

        reported(_completion.install if parameter.name == "install_completion" else _completion.show)()
        context.exit()


@option.command(
    "rosenblatt",
    cls=_Group,
    commands=_Loaded(),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120, "show_default": True},
)
@click.version_option(__version__, message="rosenblatt %(version)s", help="Print the version and stop.")
@click.option(
    "--install-completion",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_complete,
    help="Install completion for the current shell.",
)
@click.option(
    "--show-completion",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_complete,
    help="Show completion for the current shell, to copy it or customize the installation.",
)
def app() -> None:
    """The perceptron family of online linear learners on the command line.

    For example:
      rosenblatt train spam.csv -m spam.model
      rosenblatt predict spam.model new.csv
    """


def start_and_end_fast() -> None:
    """Save a fifth of the time of a short command; called before NumPy is loaded. See docs/decisions/starting_fast.md."""
    gc.set_threshold(10_000)  # imports make many objects and no garbage
    atexit.register(gc.freeze)  # the memory is freed in any case when the process ends
    # NumPy's threads for matrix products would use a core each for a while, waiting for the first product.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")


def main() -> None:
    """Run the command `rosenblatt`."""
    from rosenblatt.estimators.bases import without_sklearn

    start_and_end_fast()
    without_sklearn()
    warnings.showwarning = warn  # type: ignore[assignment]
    for output in (sys.stdout, sys.stderr):
        if hasattr(output, "reconfigure"):
            output.reconfigure(errors="backslashreplace")  # do not fail on a label that the terminal cannot show
    go_on_unread("stderr")
    try:
        reported(app)(prog_name="rosenblatt")  # printing --help can fail, too
    except click.exceptions.Exit as ended:
        sys.exit(ended.exit_code)
    finally:
        compile_the_rest()


def compile_the_rest() -> None:
    """If a command had to wait for a compiler, and somebody sees it, have the rest compiled, so that no other command waits."""
    if "numba" in sys.modules and sys.stderr.isatty():
        from rosenblatt.engine.native import start_building

        if line := start_building():
            click.echo(line, err=True)
