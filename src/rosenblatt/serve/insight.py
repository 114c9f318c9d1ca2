"""Information about a model for clients."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import orjson

from rosenblatt.serve.learner import Recent, Served

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
        "accuracy": served.tally.accuracy,
        "window_accuracy": served.tally.accuracy_of_window,
        "baseline": served.tally.baseline,
        "drifts": served.tally.drifts,
        "predictions": served.predictions,
        "pending": len(served.pending),
        "expired": served.expired,
        "classes": served.classes,
        "features": served.features,
        "sequence": served.sequence,
        "snapshot": served.snapshot_sequence,
        "log_begins_after": served.begin,
        "corrections": served.corrections,
        "probabilities": served.judged,
        "bits": served.bits,
        "columns": None if served.records is None else served.records.columns,
        "aliases": served.aliases,
        "challenger": None if served.challenger is None else served.challenger.facts(),
    }


def of_page(served: Served, raw: bool) -> dict[str, Any]:
    """Everything that the live page shows, without the weights; with the features of examples if `raw`."""
    shadow = served.challenger
    return {
        **describe(served),
        "curve": [point._asdict() for point in served.tally.curve],
        "window": served.tally.facts_of_window(),
        "challenger_curve": []
        if shadow is None
        else [{**point._asdict(), "examples": shadow.since + point.examples} for point in shadow.tally.curve],
        "alarms": [alarm._asdict() for alarm in served.tally.alarms],
        "recent": _shown(served.recent, raw),
        "recent_mistakes": _shown(served.recent_mistakes, raw),
    }


def _shown(examples: Iterable[Recent], raw: bool) -> list[dict[str, Any]]:
    """Examples learned last, the newest at the end."""
    return [
        {
            "time": time, "id": identity, "prediction": prediction, "label": label, "mistake": bool(prediction != label),
            "features": None if request is None or not raw else orjson.loads(request)["features"],
        }
        for time, identity, prediction, label, request in examples
    ]  # fmt: skip


def strongest(estimator: Any, top: int) -> Iterator[dict[str, Any]]:
    """Features with the largest weights of each class, of the first hundred classes."""
    if hasattr(estimator, "_chain"):
        largest: dict[Any, list[Any]] = {tag: [] for tag in estimator._chain.tags[:MOST_CLASSES]}
        for name, tag, weight in estimator.state_features():
            if weight > 0 and len(largest.get(tag, range(top))) < top:
                largest[tag].append([name, weight])
        yield from ({"class": tag, "features": features} for tag, features in largest.items())
        return
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
