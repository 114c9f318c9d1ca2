"""Predictions from memory that are not recorded: with scores, and with the features that led to them."""

from typing import Any

import numpy as np

from rosenblatt.serve.examples import Refused, shown
from rosenblatt.serve.teaching import Taught

MOST_TOP, MOST_REASONS = 1000, 1000


def scored(served: Taught, request: dict[str, Any], text: bytes, most: int) -> dict[str, Any]:
    """Predict an example; `top` asks for the best classes and their scores, `reasons` for the features that count most."""
    x = served.expanded(request["features"], most, len(text))
    top, reasons = wanted(served, request)
    prediction = served.guess(x)
    return {"prediction": prediction, **explained(served, x, prediction, top, reasons)}


def wanted(served: Taught, request: dict[str, Any]) -> tuple[int, int]:
    """How many classes and reasons a request asks for."""
    top, reasons = _count(request, "top", MOST_TOP), _count(request, "reasons", MOST_REASONS)
    if served.tags_sentences and top:
        raise Refused(
            409,
            "`top` must be 0 for a model of sequences, which compares whole sequences and not single tags. Leave it out.",
        )
    return top, reasons


def explained(served: Taught, x: Any, prediction: Any, top: int, reasons: int) -> dict[str, Any]:
    """The best classes with scores and probabilities, and the features that count most, as far as they are asked for."""
    answer: dict[str, Any] = {}
    if top:
        answer["scores"] = [] if prediction is None else _best(served, x, top)
    if reasons:
        found, bias = (None, None) if prediction is None else _reasons(served, x, prediction, reasons)
        answer["reasons"] = found
        if bias is not None:
            answer["bias"] = bias
    return answer


def _count(request: dict[str, Any], name: str, most: int) -> int:
    value = request.get(name, 0)
    if type(value) is float and value.is_integer():
        value = int(value)  # JSON does not distinguish 1 and 1.0
    if type(value) is not int or not 0 <= value <= most:
        raise Refused(422, f"`{name}` must be a whole number from 0 to {most}; got {shown(value)}. Leave it out for 0.")
    return value


def _best(served: Taught, x: Any, top: int) -> list[dict[str, Any]]:
    classes = served.classes
    if len(classes) < 2:
        return [{"label": classes[0], "score": 0.0, "probability": None}]
    scores = served.scores(x)
    found = served.probabilities(scores)
    shares: list[Any] = [None] * len(classes) if found is None else list(found)
    if scores.size == 1:
        scores = np.array([-scores[0], scores[0]])
        order = [1, 0] if scores[1] >= 0 else [0, 1]
    else:
        order = np.argsort(-scores, kind="stable").tolist()
    return [{"label": classes[k], "score": float(scores[k]), "probability": shares[k]} for k in order[:top]]


def _reasons(served: Taught, x: Any, prediction: Any, most: int) -> tuple[list[dict[str, Any]] | None, float | None]:
    """Features with the largest parts of the score of the predicted class, and the bias.

    Both are None for learners without one weight per feature; sentences have no bias.
    """
    if served.tags_sentences:
        reasons = served.estimator._explained(x, range(len(x)))
        return [
            {"token": token, "feature": name, "part": part}
            for token, parts in enumerate(reasons)
            for name, part in parts[:most]
            if part
        ], None
    model = getattr(served.estimator, "model_", None)
    if model is None or model.readout not in ("last", "average"):
        return None, None
    if len(model.classes) < 2:
        return [], None
    if type(x) is list:
        names, values, columns = [str(n) for n in range(len(x))], x, list(range(len(x)))
    else:
        known = model.features or {}
        names = [name for name in x if name in known]
        values, columns = [x[name] for name in names], [known[name] for name in names]
    number = model.class_number[prediction]
    weights, bias, sign = np.zeros(len(columns)), 0.0, 1.0 if number == 1 else -1.0
    for w, part_bias, factor, offset in model.parts():
        if w.ndim == 1:
            scale = float(np.ravel(factor)[0])
            weights += sign * scale * w[columns]
            bias += sign * (scale * float(np.ravel(part_bias)[0]) + float(np.ravel(offset)[0]))
        else:
            scale = float(factor) if np.ndim(factor) == 0 else float(factor[number])
            weights += scale * w[columns, number]
            bias += scale * float(part_bias[number]) + (
                float(offset) if np.ndim(offset) == 0 else float(offset[number])
            )
    parts = weights * np.array(values, np.float64)
    order = np.argsort(-np.abs(parts), kind="stable")[:most].tolist()
    return [
        {"feature": names[n], "value": values[n], "weight": float(weights[n]), "part": float(parts[n])}
        for n in order
        if parts[n]
    ], bias
