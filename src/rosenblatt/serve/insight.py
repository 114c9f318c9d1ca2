"""Information about a model for clients."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np
import orjson

from rosenblatt.serve.learner import Recent, Served

MOST_CLASSES, BLOCK = 100, 1 << 14


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


def strongest(estimator: Any, top: int) -> Callable[[], list[dict[str, Any]]]:
    """A function that finds the features with the largest weights of each class, of the first hundred classes.

    It may run in a thread while a linear model learns; then some of the weights are those from before.
    """
    if hasattr(estimator, "_chain"):
        return lambda: _of_tags(estimator, top)
    model = getattr(estimator, "model_", None)
    if model is None or model.readout not in ("last", "average") or not model.n_features or len(model.classes) < 2:
        return list
    count = max(len(model.classes), 1)
    parts = [
        (w, np.broadcast_to(factor, count) if np.size(factor) == 1 else factor) for w, _, factor, _ in model.parts()
    ]
    return partial(_largest, parts, model.classes[:MOST_CLASSES], model.features, model.n_features, top)


def _of_tags(estimator: Any, top: int) -> list[dict[str, Any]]:
    largest: dict[Any, list[Any]] = {tag: [] for tag in estimator._chain.tags[:MOST_CLASSES]}
    for name, tag, weight in estimator.state_features():
        if weight > 0 and len(largest.get(tag, range(top))) < top:
            largest[tag].append([name, weight])
    return [{"class": tag, "features": features} for tag, features in largest.items()]


def _largest(
    parts: list[tuple[Any, Any]], classes: list[Any], names: Mapping[Any, int] | None, features: int, top: int
) -> list[dict[str, Any]]:
    """A block of features at a time: all weights of a large model would need as much memory again."""
    found: list[list[tuple[float, int]]] = [[] for _ in classes]
    for start in range(0, features, BLOCK):
        end = min(start + BLOCK, features)
        weights = sum(_scaled(w[start:end], factor, len(classes)) for w, factor in parts)
        count = min(top, end - start)
        heavy = np.argpartition(-weights, count - 1, axis=0)[:count]
        for k, best in enumerate(found):
            best += [(float(weights[n, k]), start + n) for n in heavy[:, k].tolist() if weights[n, k] > 0]
    chosen = [sorted(best, key=lambda one: (-one[0], one[1]))[:top] for best in found]
    listed = None if names is None else list(names)
    return [
        {"class": label, "features": [[str(n) if listed is None else listed[n], weight] for weight, n in best]}
        for label, best in zip(classes, chosen, strict=True)
    ]


def _scaled(w: Any, factor: Any, classes: int) -> Any:
    """Weights of each class, of which the first of two has those of the second with the other sign."""
    if w.ndim == 1:
        own = w * factor[0]
        return np.stack([-own, own], axis=1)
    return w[:, :classes] * factor[:classes]
