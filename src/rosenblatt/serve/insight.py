"""Information about a model for clients."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import orjson

from rosenblatt.serve.learner import Served

MOST_CLASSES = 100


def describe(served: Served) -> dict[str, Any]:
    """Counts, classes and settings of the model."""
    return {
        "name": served.name,
        "algorithm": served.algorithm,
        "parameters": served.parameters,
        "created": served.created,
        "examples": served.examples,
        "mistakes": served.mistakes,
        "accuracy": 1.0 - served.mistakes / served.examples if served.examples else None,
        "predictions": served.predictions,
        "pending": len(served.pending),
        "expired": served.expired,
        "classes": served.classes,
        "features": served.features,
        "sequence": served.sequence,
        "snapshot": served.snapshot_sequence,
    }


def recent_examples(served: Served) -> list[dict[str, Any]]:
    """The examples learned last, the newest at the end."""
    return [
        {
            "time": time, "id": identity, "prediction": prediction, "label": label, "mistake": bool(prediction != label),
            "features": None if request is None else orjson.loads(request)["features"],
        }
        for time, identity, prediction, label, request in served.recent
    ]  # fmt: skip


def strongest(estimator: Any, top: int) -> Iterator[dict[str, Any]]:
    """Features with the largest weights of each class, of the first hundred classes."""
    model = getattr(estimator, "model_", None)
    if model is None or not hasattr(estimator, "coef_") or not model.n_features or len(model.classes) < 2:
        return
    coef, _ = model.coef()
    names = list(model.features) if model.features is not None else [str(n) for n in range(model.n_features)]
    rows = (
        [(model.classes[0], -coef[0]), (model.classes[1], coef[0])]
        if len(coef) == 1
        else zip(model.classes[:MOST_CLASSES], coef, strict=False)
    )
    for label, weights in rows:
        count = min(top, len(weights))
        heavy = np.argpartition(-weights, count - 1)[:count]
        heavy = heavy[np.argsort(-weights[heavy], kind="stable")]
        yield {"class": label, "features": [[names[n], float(weights[n])] for n in heavy if weights[n] > 0]}
