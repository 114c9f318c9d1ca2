"""Completion of commands and options in the shell."""

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from rosenblatt.cli import app
from rosenblatt.cli._errors import Usage, writing

SCRIPTS = {
    "bash": ".bash_completions/rosenblatt.sh",
    "zsh": ".zfunc/_rosenblatt",
    "fish": ".config/fish/completions/rosenblatt.fish",
}
"""The file of the script in the home folder, for each shell. Fish reads its file by itself."""

START = {"bash": (".bashrc", ""), "zsh": (".zshrc", "autoload -Uz compinit && compinit\n")}
"""The file that a shell reads when it starts, and what it needs before the script."""


def show() -> None:
    """Print the script of the current shell."""
    click.echo(_script(_shell()))


def install() -> None:
    """Write the script of the current shell, and let the shell read it at its start."""
    shell = _shell()
    script = Path.home() / SCRIPTS[shell]
    with writing(script):
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_text(_script(shell) + "\n", encoding="utf-8")
    if shell in START:
        name, before = START[shell]
        start, line = Path.home() / name, f"source '{script}'"
        with writing(start):
            known = start.read_text(encoding="utf-8") if start.exists() else ""
            if line not in known.splitlines():
                with start.open("a", encoding="utf-8") as file:
                    file.write(f"\n{before}{line}\n")
    click.echo(f"Completion for {shell} is installed in {script}. Open a new terminal to use it.")


def _shell() -> str:
    given = os.environ.get("SHELL", "")
    shell = Path(given).name
    if shell not in SCRIPTS:
        raise Usage(
            f"Completion needs the shell {', '.join(SCRIPTS)}; the environment variable SHELL is {given!r}. "
            "Set it to the path of one of these shells."
        )
    return shell


def _script(shell: str) -> str:
    complete = get_completion_class(shell)
    assert complete is not None
    return complete(app, {}, "rosenblatt", "_ROSENBLATT_COMPLETE").source().strip()
