"""A log in the format of the service."""

import json
import random


def write_log(path, count):
    """Write a log: half of the examples are learned directly, half are predicted first and revealed later."""
    rng = random.Random(0)
    lines = [("create", {"name": "weather", "algorithm": "averaged-perceptron", "parameters": {}})]
    for number in range(count):
        wet = rng.random() < 0.5
        features = {"cloud": round(rng.random() + wet, 3), "sky": "grey" if wet else "blue"}
        label = "wet" if wet else "dry"
        if number % 2:
            request = {"features": features, "label": label}
            lines.append(("learn", {"requests": [request], "ids": [None], "predictions": ["dry"]}))
        else:
            request = {"id": str(number), "features": features}
            lines.append(("predict", {"requests": [request], "ids": [str(number)], "predictions": ["dry"]}))
            lines.append(("reveal", [[str(number), label]]))
    lines.append(("predict", {"requests": [{"id": "x", "features": {}}], "ids": ["x"], "predictions": ["dry"]}))
    events = [
        {"model": 1, "sequence": number + 1, "kind": kind, "time": 1.0 + number, "payload": payload}
        for number, (kind, payload) in enumerate(lines)
    ]
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    return path
