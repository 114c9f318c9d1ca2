"""The lab: an interactive page that shows how learners learn, served only to this computer, and as a notebook widget.

``rosenblatt lab`` opens the page; `Widget` shows it in Jupyter, marimo and VS Code and needs ``pip install rosenblatt[lab]``.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .server import serve
    from .widget import Widget

__all__ = ["Widget", "serve"]


def __getattr__(name: str) -> Any:
    """Load the widget or the server when it is first used."""
    if name == "Widget":
        from .widget import Widget

        return Widget
    if name == "serve":
        from .server import serve

        return serve
    raise AttributeError(f"module 'rosenblatt.lab' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
