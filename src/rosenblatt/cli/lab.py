"""`rosenblatt lab`: an interactive page that shows how a perceptron learns."""

import tempfile
from pathlib import Path

import click

from rosenblatt.cli import _options as option
from rosenblatt.cli._errors import Failure


@option.command()
@click.option(
    "--port",
    "-p",
    type=click.IntRange(min=0, max=65535),
    default=8765,
    help="Port on this computer; 0 chooses a free one.",
)
@click.option("--browser/--no-browser", default=True, help="Whether to open the page.")
@click.option(
    "--export",
    "export",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the whole page to one HTML file, which needs no server and no network, and do not serve it.",
)
def lab(port: int, browser: bool, export: Path | None) -> None:
    """Serve the interactive page, only to this computer, and open it.

    For example:
      rosenblatt lab
      rosenblatt lab --port 0 --no-browser
      rosenblatt lab --export lab.html
    """
    if export is not None:
        write_page(export)
        return
    from rosenblatt.estimators.bases import with_sklearn

    with_sklearn()  # a run of the lab calls `fit`
    from rosenblatt.lab.server import Server, serve

    try:
        Server(port).server_close()
    except OSError as error:
        raise Failure(
            f"port {port} cannot be used: {error.strerror or error}. Choose another one with --port, or 0 for any free one."
        ) from error
    serve(port, browser)


def write_page(path: Path) -> None:
    """Write the page to one file."""
    from rosenblatt.lab.bundle import one_file

    try:
        with tempfile.NamedTemporaryFile("wb", dir=path.parent, prefix=".", suffix=".tmp", delete=False) as file:
            file.write(one_file().encode())
        Path(file.name).chmod(0o644)  # a page for a web server must be readable
        Path(file.name).replace(path)
    except OSError as error:
        raise Failure(f"{path} cannot be written: {error.strerror or error}. Choose another file.") from error
    click.echo(f"The lab is in {path}: open it in a browser, or put it on any web server.")
