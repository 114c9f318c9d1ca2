"""`rosenblatt lab`: an interactive page that shows how a perceptron learns."""

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
def lab(port: int, browser: bool) -> None:
    """Serve the interactive page, only to this computer, and open it.

    For example:
      rosenblatt lab
      rosenblatt lab --port 0 --no-browser
    """
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
