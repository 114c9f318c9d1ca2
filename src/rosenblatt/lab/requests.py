"""Requests of the page: one function for each, from plain values to plain values.

The server and the widget both call `answer`.
"""

from collections.abc import Callable
from typing import Any

LARGEST_REQUEST = 4_000_000
"""Maximum size of a request in bytes."""

Answer = dict[str, Any]


class RequestError(ValueError):
    """The request cannot be answered; the message is for the user of the page."""


def answer(name: str, body: Any) -> Answer:
    """Answer one request.

    Parameters
    ----------
    name : str
        "catalogue", "preset", "csv", "run", "certify" or "export".
    body : dict
        Arguments of the request.

    Returns
    -------
    dict
        Values that can be written as JSON.
    """
    if name not in _REQUESTS:
        raise RequestError(f"A request must be one of {', '.join(_REQUESTS)}; got {name!r}. Reload the page.")
    if not isinstance(body, dict):
        raise RequestError(f"The body of a request must be a JSON object; got {type(body).__name__}. Reload the page.")
    try:
        return _REQUESTS[name](body)
    except RequestError:
        raise
    except (ValueError, TypeError, OverflowError) as error:
        raise RequestError(str(error)) from error


def _catalogue(body: Answer) -> Answer:
    from .catalogue import catalogue

    return catalogue()


def _preset(body: Answer) -> Answer:
    from .presets import make

    return make(body.get("name"), body.get("options") or {})


def _csv(body: Answer) -> Answer:
    from .csv_text import read

    return read(body.get("text"), body.get("label"), body.get("columns"), body.get("projection") is True)


def _run(body: Answer) -> Answer:
    from .runs import run

    return run(body)


def _certify(body: Answer) -> Answer:
    from .runs import certificate

    return certificate(body)


def _export(body: Answer) -> Answer:
    from .runs import export

    return export(body)


_REQUESTS: dict[str, Callable[[Answer], Answer]] = {
    "catalogue": _catalogue,
    "preset": _preset,
    "csv": _csv,
    "run": _run,
    "certify": _certify,
    "export": _export,
}
