"""`rosenblatt lab`: an interactive page that shows how a perceptron learns."""

from typing import Annotated

import typer

from rosenblatt.cli._errors import Failure


def lab(
    port: Annotated[
        int,
        typer.Option("--port", "-p", min=0, max=65535, help="Port on this computer; 0 chooses a free one."),
    ] = 8765,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Whether to open the page.")] = True,
) -> None:
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
