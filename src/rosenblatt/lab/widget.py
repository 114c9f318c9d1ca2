"""The lab as a notebook widget, for Jupyter, marimo and VS Code."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import sharing
from .bundle import STATIC, bundle
from .requests import RequestError, answer

try:
    import anywidget
    import traitlets
except ImportError:
    raise ImportError(
        "rosenblatt.lab.Widget needs anywidget, which is not installed. Install it with `pip install rosenblatt[lab]`."
    ) from None

FOLDER = STATIC


class Widget(anywidget.AnyWidget):
    """The lab in a notebook: the same page, connected to this kernel instead of a server.

    Parameters
    ----------
    X : array of shape (n_examples, n_features) or None, default=None
        Initial points; None for an example.
    y : array of shape (n_examples,) or None, default=None
        Labels of the points, with at most seven classes.
    algorithm : str, default="perceptron"
        Initial learner, by its name as in `rosenblatt.trace`.
    state : str, default=""
        Text copied with the Share button; replaces points.
    **parameters
        Parameters of the learner, and initial weights `init`.

    Attributes
    ----------
    state : str
        Current state; changes in the widget update it, and assigning to it updates the widget.

    Examples
    --------
    >>> from rosenblatt.lab import Widget  # doctest: +SKIP
    >>> Widget([[1, 1], [3, 2], [2, 3]], [-1, 1, -1], init=[-1, 0, 0])  # doctest: +SKIP
    """

    _esm = bundle(FOLDER, "widget")
    _css = (FOLDER / "lab.css").read_text(encoding="utf-8")
    state = traitlets.Unicode("").tag(sync=True)

    def __init__(
        self,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        algorithm: str = "perceptron",
        *,
        state: str = "",
        **parameters: Any,
    ) -> None:
        if (X is None) != (y is None):
            raise ValueError("`X` and `y` of Widget must be given together or not at all; got one. Label each point.")
        if X is not None:
            state = sharing.encode(_state(np.asarray(X, dtype=np.float64), np.asarray(y), algorithm, parameters))
        elif state:
            sharing.decode(state)
        super().__init__(state=state)
        self.on_msg(_receive)

    @property
    def points(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Current points and their labels."""
        data = sharing.decode(self.state)["data"] if self.state else {"preset": {"name": "separable", "options": {}}}
        if "preset" in data:
            made = answer("preset", data["preset"])
            return np.array(made["X"], dtype=np.float64), np.array(made["y"])
        return np.array(data["X"], dtype=np.float64), np.array([data["classes"][code] for code in data["codes"]])


def _state(X: Any, y: Any, algorithm: str, parameters: dict[str, Any]) -> dict[str, Any]:
    from rosenblatt.trace.run import find_learner

    from .runs import _problem

    name, _ = find_learner(algorithm)
    parameters = {
        key: value.tolist() if isinstance(value, np.ndarray | np.generic) else value
        for key, value in parameters.items()
    }
    _problem({"X": X.tolist(), "y": y.tolist(), "algorithm": name, "parameters": parameters})
    classes = sorted(set(y.tolist()))
    data = {
        "X": X.tolist(),
        "codes": [classes.index(label) for label in y.tolist()],
        "classes": classes,
        "features": None,
    }
    return {"v": 1, "data": data, "algorithm": name, "parameters": parameters, "frame": 0, "show": {}}


def _receive(widget: Any, content: Any, buffers: Any) -> None:
    """Answer a request of the page."""
    if not isinstance(content, dict) or "id" not in content:
        return
    try:
        said: dict[str, Any] = {"answer": answer(str(content.get("name")), content.get("body"))}
    except RequestError as error:
        said = {"error": str(error)}
    widget.send({"id": content["id"], **said})
