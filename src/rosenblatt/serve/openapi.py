"""The OpenAPI document, written by hand and checked against the service by schemathesis."""

from typing import Any

from rosenblatt._version import __version__
from rosenblatt.estimators.parameters import SWITCH, Parameter, declarations, defaults
from rosenblatt.learners import find, names
from rosenblatt.serve.choice import range_of
from rosenblatt.serve.events import Limits
from rosenblatt.serve.examples import LARGEST, LONGEST_ID, LONGEST_LABEL, LONGEST_NAME, NAME
from rosenblatt.serve.scoring import MOST_REASONS, MOST_TOP

_ERROR = {"$ref": "#/components/schemas/Error"}
_LABEL = {"$ref": "#/components/schemas/Label"}
_FEATURES = {"$ref": "#/components/schemas/Features"}
_ID = {"$ref": "#/components/schemas/Id"}
_GUESS = {"anyOf": [_LABEL, {"type": "null"}], "description": "null before the first label."}


def _object(properties: dict[str, Any], required: list[str] | None = None, closed: bool = True) -> dict[str, Any]:
    wanted = list(properties) if required is None else required
    return {"type": "object", "properties": properties, "required": wanted, "additionalProperties": not closed}


def _answers(good: dict[str, Any], *errors: int) -> dict[str, Any]:
    meaning = {
        400: "Not JSON.", 401: "No token, or an unknown one.", 403: "The token lacks this right.", 404: "No such model or id.",
        409: "A conflict with an existing id, label or model.", 410: "The prediction has expired.",
        413: "The body is too large.", 422: "The request is not valid.",
        429: "More requests or lines per second than --max-rate.", 503: "No events are accepted now; try again.",
    }  # fmt: skip
    answers = dict(good)
    for status in dict.fromkeys((401, 403, 404, *errors, 429)):
        answer: dict[str, Any] = {"description": meaning[status], "content": {"application/json": {"schema": _ERROR}}}
        if status in (429, 503):
            answer["headers"] = {"Retry-After": {"schema": {"type": "integer"}}}
        answers[str(status)] = answer
    return answers


def _json(description: str, schema: dict[str, Any], lines: bool = False) -> dict[str, Any]:
    content: dict[str, Any] = {"application/json": {"schema": schema}}
    if lines:
        content["application/x-ndjson"] = {
            "schema": {
                "type": "string",
                "description": "One answer per line, in the same order; a refused one has `error`, `line` and `status`.",
            }
        }
    return {"description": description, "content": content}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _other(description: str, media: str) -> dict[str, Any]:
    return {"description": description, "content": {media: {"schema": {"type": "string"}}}}


def _event(kind: str, summary: str, description: str) -> dict[str, Any]:
    done = "Done." if kind == "score" else "Done, and on disk."
    return {
        "post": {
            "operationId": kind,
            "summary": summary,
            "description": description
            + " For many examples send JSON lines as `application/x-ndjson`. If a line cannot be read, the whole body is "
            "refused, and the answer lists the bad lines.",
            "requestBody": {
                "required": True,
                "content": {
                    "application/json": {"schema": {"$ref": f"#/components/schemas/{kind.capitalize()}"}},
                },
            },
            "responses": _answers(
                {"200": _json(done, {"$ref": f"#/components/schemas/{kind.capitalize()}Answer"}, lines=True)},
                400, 404, 409, 410, 413, 422, 503,
            ),
        },
        "parameters": [_NAME_PARAMETER],
    }  # fmt: skip


_NAME_PARAMETER = {
    "name": "name",
    "in": "path",
    "required": True,
    "schema": {"type": "string", "pattern": f"^{NAME.pattern}$", "maxLength": 64},
}


def _settings(algorithm: str) -> dict[str, Any] | None:
    """Parameters of a learner that have an effect on a stream; None if it cannot learn from streams."""
    learner = find(algorithm)
    try:
        learner.learn_one  # noqa: B018 - raises for learners that cannot learn from streams
    except AttributeError:
        return None
    properties = {
        name: schema | {"default": defaults(learner)[name], "description": parameter.about}
        for name, parameter in declarations(learner).items()
        if (schema := _schema(parameter)) is not None
    }
    return _object({"algorithm": {"const": algorithm}, "parameters": _object(properties, [])}, ["algorithm"])


def _schema(parameter: Parameter) -> dict[str, Any] | None:
    """Schema of a parameter; None if it has no effect on a stream, or if a schema cannot express the allowed values."""
    limits = range_of(parameter)
    if parameter.fit_only or parameter.none or parameter.other:
        return None
    if parameter.choices == SWITCH:
        return {"type": "boolean"}
    if parameter.choices:
        return {"enum": [word for word in parameter.choices if word != "keep"]}  # "keep" needs initial weights
    return None if limits is None else {"type": "number", "minimum": limits[0], "maximum": limits[1]}


def document(limits: Limits, guarded: bool) -> dict[str, Any]:
    """Make the document; `guarded` is whether this service needs tokens."""
    text = {"type": "string", "minLength": 1, "maxLength": LONGEST_ID}
    number = {"type": "number", "minimum": -LARGEST, "maximum": LARGEST}
    word = {"type": "string", "maxLength": LONGEST_NAME}
    learners = [settings for name in names() if (settings := _settings(name)) is not None]
    default = _settings("averaged-perceptron") or {}
    count = {"type": "integer", "minimum": 0}
    model = _object(
        {
            "name": {"type": "string"}, "algorithm": {"type": "string"}, "parameters": {"type": "object"},
            "created": {"type": "number"},
            "examples": count, "mistakes": count, "accuracy": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
            "predictions": count, "pending": count, "expired": count, "classes": {"type": "array", "items": _LABEL},
            "features": count, "sequence": count, "snapshot": count, "standby": {"type": "boolean"},
        },
        closed=False,
    )  # fmt: skip
    learned = {
        "id": {"anyOf": [_ID, {"type": "null"}]},
        "prediction": _GUESS,
        "label": _LABEL,
        "mistake": {"type": "boolean"},
    }
    learned["repeated"] = {"type": "boolean", "description": "True if it was already known and nothing has changed."}
    schemas = {
        "Error": _object({"error": {"type": "string"}}, closed=False),
        "Id": text,
        "Label": {
            "anyOf": [
                {"type": "string", "maxLength": LONGEST_LABEL},
                {"type": "integer", "minimum": -(2**53), "maximum": 2**53},
                {"type": "boolean"},
            ]
        },
        "Features": {
            "anyOf": [
                {
                    "type": "object",
                    "maxProperties": limits.features,
                    "propertyNames": {"maxLength": LONGEST_NAME},
                    "additionalProperties": {
                        "anyOf": [
                            number,
                            word,
                            {"type": "boolean"},
                            {"type": "null"},
                            {"type": "array", "items": word, "maxItems": limits.features},
                        ]
                    },
                },
                {"type": "array", "items": number, "minItems": 1, "maxItems": limits.features},
            ],
            "description": "Numbers by name; a string becomes the feature `name=value`, each word of a list `name=word`. "
            "Or a list of numbers.",
        },
        "Settings": {"anyOf": [_object({"parameters": default["properties"]["parameters"]}, []), *learners]},
        "Model": model,
        "Predict": _object({"id": {"anyOf": [_ID, {"type": "null"}]}, "features": _FEATURES}, ["features"]),
        "PredictAnswer": _object({"id": _ID, "prediction": _GUESS, "repeated": {"type": "boolean"}}),
        "Reveal": _object({"id": _ID, "label": _LABEL}),
        "RevealAnswer": _object(learned),
        "Learn": _object(
            {"id": {"anyOf": [_ID, {"type": "null"}]}, "features": _FEATURES, "label": _LABEL}, ["features", "label"]
        ),
        "LearnAnswer": _object(learned),
        "Score": _object(
            {
                "features": _FEATURES,
                "top": {"type": "integer", "minimum": 0, "maximum": MOST_TOP, "default": 0},
                "reasons": {"type": "integer", "minimum": 0, "maximum": MOST_REASONS, "default": 0},
            },
            ["features"],
        ),
        "ScoreAnswer": _object(
            {
                "prediction": _GUESS,
                "scores": _list(_object({"label": _LABEL, "score": {"type": "number"}})),
                "reasons": {
                    "anyOf": [
                        _list(
                            _object(
                                {"feature": {"type": "string"}, "value": {"type": "number"}, "part": {"type": "number"}}
                            )
                        ),
                        {"type": "null"},
                    ],
                    "description": "null for a learner that has not one weight per feature.",
                },
            },
            ["prediction"],
        ),
    }
    model_answer = {"$ref": "#/components/schemas/Model"}
    state = _object({"status": {"type": "string"}, "state": {"type": "string"}})
    ready = {
        "security": [],
        "responses": {
            "200": _json(
                "Ready.",
                _object({
                    "status": {"type": "string"}, "state": {"type": "string"},
                    "set_aside": {"type": "array", "items": {"type": "string"}, "description": "Models that cannot be read."},
                }),
            ),
            "503": {**_answers({}, 503)["503"]},
        },
    }  # fmt: skip
    paths: dict[str, Any] = {
        "/v1/models": {
            "get": {
                "operationId": "models",
                "summary": "All models.",
                "responses": _answers({"200": _json("The models.", _object({
                    "models": _list(model_answer),
                    "set_aside": _list(_object({"name": {"type": "string"}, "reason": {"type": "string"}})),
                }))}, 503),
            }
        },
        "/v1/models/{name}": {
            "parameters": [_NAME_PARAMETER],
            "get": {
                "operationId": "model",
                "summary": "Counts, accuracy and classes of a model.",
                "responses": _answers({"200": _json("The model.", model_answer)}, 404, 422, 503),
            },
            "post": {
                "operationId": "create",
                "summary": "Create a model. Repeating it with the same settings changes nothing.",
                "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Settings"}}}},
                "responses": _answers(
                    {"200": _json("The model exists.", model_answer), "201": _json("Created.", model_answer)},
                    400, 409, 413, 422, 503,
                ),
            },
        },
        "/v1/models/{name}/predict": _event(
            "predict", "Predict an example; its label can be revealed later.", "Without an id a new one is made."
        ),
        "/v1/models/{name}/reveal": _event(
            "reveal",
            "Send the true label of a prediction; the model learns it.",
            "An id can be revealed once; repeating it with the same label changes nothing, another label is refused.",
        ),
        "/v1/models/{name}/learn": _event(
            "learn", "Learn an example with a known label.", "With an id it is learned only once, even if it is sent again."
        ),
        "/v1/models/{name}/score": _event(
            "score",
            "Predict an example from memory, without a record; a standby answers too.",
            "Labels for it cannot be revealed. `top` asks for classes with their scores, `reasons` for the features with the "
            "largest parts of the score.",
        ),
        "/v1/models/{name}/model": {
            "parameters": [_NAME_PARAMETER],
            "get": {
                "operationId": "file",
                "summary": "The model as a file, for `rosenblatt.load`.",
                "responses": _answers(
                    {"200": _other("The file.", "application/octet-stream")},
                    404, 409, 422, 503,
                ),
            },
        },
        "/v1/models/{name}/insight": {
            "parameters": [_NAME_PARAMETER],
            "get": {
                "operationId": "insight",
                "summary": "The learning curve, recent examples and the features with the largest weights of each class.",
                "responses": _answers({"200": _json("The members of the model, and more.", model_answer)}, 404, 422, 503),
            },
        },
        "/healthz": {
            "get": {
                "operationId": "healthz",
                "summary": "Whether the process is running.",
                "security": [],
                "responses": {"200": _json("It is running.", state)},
            }
        },
        "/livez": {
            "get": {
                "operationId": "livez",
                "summary": "The same as /healthz, by the name that Kubernetes uses.",
                "security": [],
                "responses": {"200": _json("It is running.", state)},
            }
        },
        "/readyz": {"get": {"operationId": "readyz", "summary": "Whether events are accepted.", **ready}},
        "/readyz/reads": {
            "get": {"operationId": "readyzReads", "summary": "Whether scores and reads are answered, as by a standby.", **ready}
        },
        "/metrics": {
            "get": {
                "operationId": "metrics",
                "summary": "Metrics for Prometheus.",
                "responses": _answers({"200": _other("Text.", "text/plain")}),
            }
        },
    }  # fmt: skip
    paths["/v1/models/{name}/events"] = {
        "parameters": [_NAME_PARAMETER],
        "get": {
            "operationId": "events",
            "summary": "Server-sent events, each when it is on disk; `Last-Event-ID` continues after that event.",
            "responses": _answers(
                {"200": _other("A stream.", "text/event-stream")},
                404,
                422,
                503,
            ),
        },
    }
    whole: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "rosenblatt",
            "version": __version__,
            "description": "Predict at once, learn when the true label arrives, lose no acknowledged event.",
        },
        "paths": paths,
        "components": {"schemas": schemas},
    }
    if guarded:
        whole["security"] = [{"token": []}]
        whole["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    return whole
