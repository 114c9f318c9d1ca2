"""The online-learning service: predict at once, learn when the true label arrives, lose no acknowledged event.

`store` holds the event log, `learner` the models built from it, `service` connects them with group commit, `app` handles HTTP.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .answers import (
        Challenger,
        ClassScore,
        Event,
        EventLine,
        Learned,
        ModelInfo,
        Prediction,
        Reason,
        Refusal,
        Score,
    )
    from .client import Answers, AsyncClient, Client, ServiceError

__all__ = [
    "Answers", "AsyncClient", "Challenger", "ClassScore", "Client", "Event", "EventLine", "Learned", "ModelInfo",
    "Prediction", "Reason", "Refusal", "Score", "ServiceError",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Load the clients and the types of their answers when they are first used; the service itself does not need them."""
    if name not in __all__:
        raise AttributeError(f"module 'rosenblatt.serve' has no attribute {name!r}")
    from . import answers, client

    return getattr(client if hasattr(client, name) else answers, name)


def __dir__() -> list[str]:
    return sorted(__all__)
