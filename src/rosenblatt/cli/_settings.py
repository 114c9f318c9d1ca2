"""Settings of a command in a TOML file, and the settings that result from options, environment and file."""

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from rosenblatt.cli._errors import Usage, reported

_SOURCES: dict[object, str] = {
    click.core.ParameterSource.COMMANDLINE: "option",
    click.core.ParameterSource.ENVIRONMENT: "environment",
    click.core.ParameterSource.DEFAULT_MAP: "file",
    click.core.ParameterSource.DEFAULT: "default",
}

_SHOWS = ("settings", "show_settings", "help")


def _options(context: click.Context) -> dict[str, click.Option]:
    """The options that a file may have, by their names without hyphens at the beginning."""
    parameters = context.command.params
    return {
        option.opts[0].lstrip("-"): option
        for option in parameters
        if isinstance(option, click.Option) and option.name not in _SHOWS
    }


def _read(context: click.Context, _: click.Parameter, path: str | None) -> str | None:
    """Use the values of a file as defaults."""
    if path is not None:
        reported(_use)(context, path)
    return path


def _use(context: click.Context, path: str) -> None:
    try:
        values = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Usage(f"{path} must be a TOML file, with lines such as port = 8520; {error}.") from error
    known = _options(context)
    found: dict[str, Any] = {}
    for key, value in values.items():
        name = key.replace("_", "-")
        if name not in known:
            raise Usage(f"{path} may have {', '.join(sorted(known))}; got {key!r}. Check the spelling.")
        if isinstance(value, dict) or (isinstance(value, list) and not known[name].multiple):
            raise Usage(f"{path}: {key} must be one value; got {type(value).__name__}.")
        found[str(known[name].name)] = value
    context.default_map = found


def show_settings(context: click.Context) -> None:
    """Print the settings as TOML with their sources, without passwords."""
    from rosenblatt.serve.store import without_password

    for name, option in _options(context).items():
        value = context.params[str(option.name)]
        source = context.get_parameter_source(str(option.name))
        if value is None or value == ():
            continue
        if isinstance(value, bool):
            text = str(value).lower()
        elif isinstance(value, str):
            text = _quoted(without_password(value))
        else:
            text = f"[{', '.join(map(_quoted, value))}]" if isinstance(value, tuple) else repr(value)
        click.echo(f"{name} = {text}  # {_SOURCES.get(source, 'unknown')}")


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def settings_file(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options `--settings FILE` and `--show-settings` to a command."""
    shown = click.option(
        "--show-settings", is_flag=True,
        help="Print the settings and where each is from, without passwords, and stop.",
    )  # fmt: skip
    file = click.option(
        "--settings", type=click.Path(readable=False), metavar="FILE", is_eager=True, expose_value=False, callback=_read,
        help="A TOML file with options, such as max-body = 1000000.",
    )  # fmt: skip
    return file(shown(command))
