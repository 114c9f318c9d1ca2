"""`rosenblatt lab`: the page where one meets the perceptron."""

from typing import Annotated

import typer

from rosenblatt.cli._errors import Failure


def lab(
    port: Annotated[
        int,
        typer.Option("--port", "-p", min=0, max=65535, help="Where to listen on this computer; 0 takes a free port."),
    ] = 8765,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Whether to open the page.")] = True,
) -> None:
    """Serve the interactive page on this computer alone, and open it.

    For example:
      rosenblatt lab
      rosenblatt lab --port 0 --no-browser
    """
    from rosenblatt.estimators.bases import with_sklearn

    with_sklearn()  # a run of the lab is the library's own `fit`, watched
    from rosenblatt.lab.server import Server, serve

    try:
        Server(port).server_close()
    except OSError as error:
        raise Failure(
            f"port {port} cannot be listened on: {error.strerror or error}. Choose another with --port, or 0 for any that is "
            "free."
        ) from error
    serve(port, browser)
