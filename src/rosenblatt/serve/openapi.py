"""The OpenAPI document, written by hand and checked against the service by schemathesis."""

from typing import Any

from rosenblatt._version import __version__
from rosenblatt.estimators.parameters import SWITCH, Parameter, declarations, defaults
from rosenblatt.learners import find, names
from rosenblatt.serve.choice import range_of
from rosenblatt.serve.events import Limits
from rosenblatt.serve.examples import LARGEST, LONGEST_ID, LONGEST_LABEL, LONGEST_NAME, NAME
from rosenblatt.serve.hashing import FEWEST, MOST
from rosenblatt.serve.life import MOST_LISTED
from rosenblatt.serve.scoring import MOST_REASONS, MOST_TOP
from rosenblatt.serve.sentences import MOST_TOKENS

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
                "format": "binary",
                "description": "One answer per line, in the same order; a refused one has `error`, `line` and `status`.",
            }
        }
    return {"description": description, "content": content}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _other(description: str, media: str) -> dict[str, Any]:
    return {"description": description, "content": {media: {"schema": {"type": "string"}}}}


_SCORES: dict[str, Any] = {
    "type": "array",
    "items": _object({"label": _LABEL, "score": {"type": "number"}, "probability": {"type": ["number", "null"]}}),
    "description": "The best classes; `probability` is null for a model that has not learned to give probabilities.",
}
_REASONS: dict[str, Any] = {
    "anyOf": [
        _list(
            _object(
                {
                    "token": {"type": "integer", "description": "Its number, in a sentence."},
                    "feature": {"type": "string"},
                    "value": {"type": "number", "description": "Not in a sentence."},
                    "weight": {"type": "number", "description": "Not in a sentence."},
                    "part": {"type": "number", "description": "The value times the weight."},
                },
                ["feature", "part"],
            )
        ),
        {"type": "null"},
    ],
    "description": "null for a learner that has not one weight per feature.",
}
_BIAS = {
    "type": "number",
    "description": "With `reasons`: the part of the score that does not depend on features. The score is the sum of it and of "
    "the parts of all features.",
}


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
                    "application/x-ndjson": {
                        "schema": {"type": "string", "format": "binary", "description": f"On each line a {kind.capitalize()}."}
                    },
                },
            },
            "responses": _answers(
                {"200": _json(done, {"$ref": f"#/components/schemas/{kind.capitalize()}Answer"}, lines=True)},
                400, 404, 409, 410, 413, 422, 503,
            ),
        },
        "parameters": [_NAME_PARAMETER],
    }  # fmt: skip


def _change(
    kind: str, summary: str, members: dict[str, Any], required: list[str], answer: dict[str, Any], description: str = "",
    schema: dict[str, Any] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """A request that changes a model."""
    body = {
        "required": bool(required),
        "content": {"application/json": {"schema": schema or _object(members, required)}},
    }
    words = kind.split("-")
    return {
        "operationId": words[0] + "".join(word.capitalize() for word in words[1:]),
        "summary": summary,
        **({"description": description} if description else {}),
        "requestBody": body,
        "responses": _answers({"200": _json("Done, and on disk.", answer)}, 400, 404, 409, 410, 413, 422, 503),
    }


def _changes(model: dict[str, Any]) -> dict[str, Any]:
    """The addresses of requests that change a model or look up an example."""
    name = {"type": "string", "pattern": f"^{NAME.pattern}$", "maxLength": 64}
    count = {"type": "integer"}
    number = {"anyOf": [{**count, "minimum": 1, "maximum": 2**53}, {"type": "null"}]}
    known = {"prediction": _GUESS, "label": {"anyOf": [_LABEL, {"type": "null"}]}}
    time = {"type": ["number", "null"]}
    features = {"anyOf": [_FEATURES, {"type": "null"}], "description": "null if this token may not read examples."}
    example = {"id": _ID, "time": time, "prediction": _GUESS, "features": features}
    corrected = {"id": _ID, "prediction": _GUESS, "label": _LABEL, "before": _LABEL, "repeated": {"type": "boolean"}}
    posts = {
        "clear": _change("clear", "Forget everything that was learned; settings and name stay.", {}, [], model),
        "rename": _change("rename", "Give the model another name.", {"name": name}, ["name"], model),
        "alias": _change(
            "alias", "Give the model another name beside its own.", {"alias": name}, ["alias"], model,
            "An alias of another model is moved here in the same moment.",
        ),
        "unalias": _change("unalias", "Remove an alias.", {"alias": name}, ["alias"], model),
        "delete-label": _change("delete-label", "Remove a class.", {"label": _LABEL}, ["label"], model),
        "merge-label": _change(
            "merge-label", "Merge a class into another one.", {"label": _LABEL, "into": _LABEL}, ["label", "into"], model
        ),
        "correct": _change(
            "correct", "Correct a label that was revealed or learned.", {"id": _ID, "label": _LABEL, "features": features},
            ["id", "label"], _object(corrected),
            "The right label is learned as one more step; the wrong step is not undone. `features` are needed only if they are "
            "no longer in the log.",
        ),
        "challenger": _change(
            "challenger", "Start a challenger, which learns the same stream; its predictions are only counted.",
            {}, [], model, schema={"$ref": "#/components/schemas/ChallengerSettings"},
        ),
        "probabilities": _change("probabilities", "Learn to give probabilities from now on.", {}, [], model),
        "promote": _change(
            "promote", "Let the challenger answer from now on; the model before becomes the challenger.",
            {"challenger": number}, [], model,
        ),
    }  # fmt: skip
    paths: dict[str, Any] = {
        f"/v1/models/{{name}}/{kind}": {"parameters": [_NAME_PARAMETER], "post": post} for kind, post in posts.items()
    }
    paths["/v1/models/{name}/challenger"]["delete"] = {
        "operationId": "dismiss",
        "summary": "End the challenger.",
        "responses": _answers({"200": _json("Done, and on disk.", model)}, 404, 422, 503),
    }
    paths["/v1/models/{name}/pending"] = {
        "parameters": [_NAME_PARAMETER],
        "get": {
            "operationId": "pending",
            "summary": "Predictions that wait for their label, the oldest first.",
            "parameters": [
                {"name": "limit", "in": "query", "schema": {**count, "minimum": 1, "maximum": MOST_LISTED, "default": 100}},
                {"name": "after", "in": "query", "schema": {"type": "string", "pattern": "^[0-9]{1,18}:"},
                 "description": "`next` of an earlier answer."},
            ],
            "responses": _answers({"200": _json("The predictions.", _object({
                "pending": _list(_object(example)), "count": {"type": "integer"},
                "next": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            }))}, 404, 422, 503),
        },
    }  # fmt: skip
    paths["/v1/models/{name}/examples/{id}"] = {
        "parameters": [_NAME_PARAMETER, {"name": "id", "in": "path", "required": True, "schema": _ID}],
        "get": {
            "operationId": "example",
            "summary": "What is known about an id.",
            "responses": _answers({"200": _json("The example.", _object({
                "state": {"enum": ["pending", "learned", "expired"]}, **example, **known,
            }))}, 404, 422, 503),
        },
    }  # fmt: skip
    return paths


_NAME_PARAMETER = {
    "name": "name",
    "in": "path",
    "required": True,
    "schema": {"type": "string", "pattern": f"^{NAME.pattern}$", "maxLength": 64},
}


def _parameters_of(algorithm: str) -> dict[str, Any] | None:
    """Parameters of a learner that have an effect on a stream; None if it cannot learn from streams."""
    learner = find(algorithm, sequences=True)
    try:
        learner.learn_one  # noqa: B018 - raises for learners that cannot learn from streams
    except AttributeError:
        return None
    properties = {
        name: schema | {"default": defaults(learner)[name], "description": parameter.about}
        for name, parameter in declarations(learner).items()
        if (schema := _schema(parameter)) is not None
    }
    return _object(properties, [])


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


def _insight(model: dict[str, Any], count: dict[str, Any], share: dict[str, Any]) -> dict[str, Any]:
    """What the live page shows: the members of the model, and more."""
    seconds = {"type": "number"}
    some_share = {"type": "number", "minimum": 0, "maximum": 1}
    label = {"anyOf": [_LABEL, {"type": "null"}]}
    point = _object({"examples": count, "mistakes": count, "time": seconds, "recent": some_share})
    alarm = _object({"examples": count, "time": seconds, "before": some_share, "after": some_share})
    of_class = {
        "label": _LABEL,
        "examples": count,
        "predicted": count,
        "right": count,
        "precision": share,
        "recall": share,
    }
    confused = {"label": label, "prediction": label, "count": count}
    example = _object(
        {
            "time": seconds, "id": {"type": ["string", "null"]}, "prediction": label, "label": label,
            "mistake": {"type": "boolean"}, "features": {"anyOf": [_FEATURES, {"type": "null"}]},
        }
    )  # fmt: skip
    window = {
        "examples": count, "accuracy": share, "baseline": share, "classes": _list(_object(of_class)),
        "confusion": _list(_object(confused)),
    }  # fmt: skip
    largest = _object({"class": label, "features": _list(_list({"type": ["string", "number"]}))})
    requests = {"limits": _list(seconds), "routes": {"type": "object", "additionalProperties": _list(count)}}
    members = {
        "curve": _list(point), "challenger_curve": _list(point), "alarms": _list(alarm), "window": _object(window),
        "recent": _list(example), "recent_mistakes": _list(example), "strongest": _list(largest),
        "requests": {
            **_object(requests),
            "description": "Requests that were answered within each limit in seconds, and after the last one.",
        },
    }  # fmt: skip
    return _object({**model["properties"], **members}, closed=False)


def document(limits: Limits, guarded: bool) -> dict[str, Any]:
    """Make the document; `guarded` is whether this service needs tokens."""
    text = {"type": "string", "minLength": 1, "maxLength": LONGEST_ID}
    number = {"type": "number", "minimum": -LARGEST, "maximum": LARGEST}
    word = {"type": "string", "maxLength": LONGEST_NAME}
    string = {**word, "pattern": r"^[^\x00]*$"}
    tag = [
        {"type": "string", "maxLength": LONGEST_LABEL},
        {"type": "integer", "minimum": -(2**53), "maximum": 2**53},
        {"type": "boolean"},
    ]
    bits = {
        "anyOf": [{"type": "integer", "minimum": FEWEST, "maximum": MOST}, {"type": "null"}],
        "description": "Hash the names of features to so many bits.",
    }
    learners = {}
    for name in (*names(), "sequence-perceptron"):
        parameters = _parameters_of(name)
        if parameters is None:
            continue
        title = "".join(map(str.capitalize, name.split("-")))
        learners[f"{title}Parameters"] = parameters
        of_learner = {"$ref": f"#/components/schemas/{title}Parameters"}
        chosen = {"algorithm": {"const": name}, "parameters": of_learner}
        learners[f"{title}Challenger"] = _object(chosen, ["algorithm"])
        more = {} if name == "sequence-perceptron" else {"bits": bits}
        learners[f"{title}Settings"] = _object({**chosen, **more}, ["algorithm"])
    kinds = ("DefaultSettings", *(name for name in learners if name.endswith("Settings")))
    default = {"$ref": "#/components/schemas/AveragedPerceptronParameters"}
    count = {"type": "integer", "minimum": 0}
    share = {"type": ["number", "null"], "minimum": 0, "maximum": 1}
    model = _object(
        {
            "name": {"type": "string"}, "algorithm": {"type": "string"}, "parameters": {"type": "object"},
            "created": {"type": "number"},
            "examples": count, "mistakes": count, "accuracy": share,
            "corrections": count, "aliases": {"type": "array", "items": {"type": "string"}},
            "challenger": {"anyOf": [{"$ref": "#/components/schemas/Challenger"}, {"type": "null"}]},
            "window_accuracy": share, "baseline": share, "drifts": count,
            "predictions": count, "pending": count, "expired": count, "classes": {"type": "array", "items": _LABEL},
            "features": count, "sequence": count, "snapshot": count,
            "bits": {"type": ["integer", "null"]},
            "columns": {
                "type": ["object", "null"],
                "description": "Kinds of the columns of `features`, for a model that began with a file.",
            },
            "probabilities": {"type": "boolean", "description": "Whether the model learns to give probabilities."},
            "log_begins_after": {**count, "description": "Events up to this number are not kept (`--keep-events`)."},
            "standby": {"type": "boolean"},
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
    asked = {
        "top": {"type": "integer", "minimum": 0, "maximum": MOST_TOP, "default": 0},
        "reasons": {"type": "integer", "minimum": 0, "maximum": MOST_REASONS, "default": 0},
    }
    schemas = {
        "Error": _object({"error": {"type": "string"}}, closed=False),
        "Id": text,
        "Label": {
            "anyOf": [
                *tag,
                {
                    "type": "array",
                    "items": {"$ref": "#/components/schemas/Tag"},
                    "minItems": 1,
                    "maxItems": MOST_TOKENS,
                    "description": "Of a model of sequences: a tag for each token.",
                },
            ]
        },
        "Tag": {"anyOf": tag},
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
                {
                    "type": "array",
                    "items": {"$ref": "#/components/schemas/Token"},
                    "minItems": 1,
                    "maxItems": MOST_TOKENS,
                    "description": "The tokens of a sentence, for a model of sequences.",
                },
            ],
            "description": "Numbers by name; a string becomes the feature `name=value`, each word of a list `name=word`. "
            "Or a list of numbers. Of a model of sequences: a list of tokens.",
        },
        "Token": {
            "anyOf": [
                string,
                {"type": "array", "items": string, "maxItems": limits.features},
                {
                    "type": "object",
                    "maxProperties": limits.features,
                    "propertyNames": string,
                    "additionalProperties": {
                        "anyOf": [
                            number,
                            string,
                            {"type": "boolean"},
                            {"type": "array", "items": string, "maxItems": limits.features},
                        ]
                    },
                },
            ],
            "description": "A word; a string for each column of the templates; or, without templates, a list or an object of "
            "features.",
        },
        **learners,
        "DefaultSettings": _object({"parameters": default, "bits": bits}, []),
        "Settings": {"anyOf": [{"$ref": f"#/components/schemas/{kind}"} for kind in kinds]},
        "DefaultChallenger": _object({"parameters": default}, []),
        "ChallengerSettings": {
            "anyOf": [{"$ref": f"#/components/schemas/{kind.removesuffix('Settings')}Challenger"} for kind in kinds]
        },
        "Model": model,
        "Insight": _insight(model, count, share),
        "Challenger": _object(
            {
                "challenger": count,
                "algorithm": {"type": "string"},
                "parameters": {"type": "object"},
                "since": count,
                "examples": count,
                "mistakes": count,
                "accuracy": share,
                "window_accuracy": share,
                "model_accuracy": share,
                "refused": count,
            }
        ),
        "Predict": _object({"id": {"anyOf": [_ID, {"type": "null"}]}, "features": _FEATURES, **asked}, ["features"]),
        "PredictAnswer": _object(
            {
                "id": _ID,
                "prediction": _GUESS,
                "repeated": {"type": "boolean"},
                "scores": _SCORES,
                "reasons": _REASONS,
                "bias": _BIAS,
            },
            ["id", "prediction", "repeated"],
        ),
        "Reveal": _object({"id": _ID, "label": _LABEL}),
        "RevealAnswer": _object(learned),
        "Learn": _object(
            {"id": {"anyOf": [_ID, {"type": "null"}]}, "features": _FEATURES, "label": _LABEL}, ["features", "label"]
        ),
        "LearnAnswer": _object(learned),
        "Score": _object(
            {
                "features": _FEATURES,
                **asked,
            },
            ["features"],
        ),
        "ScoreAnswer": _object(
            {
                "prediction": _GUESS,
                "scores": _SCORES,
                "reasons": _REASONS,
                "bias": _BIAS,
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
            "delete": {
                "operationId": "delete",
                "summary": "Delete a model with all its events. It cannot be brought back.",
                "responses": _answers(
                    {"200": _json("Deleted.", _object({"name": {"type": "string"}, "deleted": {"type": "boolean"}}))},
                    404, 422, 503,
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
            "put": {
                "operationId": "upload",
                "summary": "Create a model that begins with a file of `rosenblatt train`. An existing one is not replaced.",
                "requestBody": {
                    "required": True,
                    "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
                },
                "responses": _answers({"201": _json("Created, and on disk.", model_answer)}, 409, 413, 422, 503),
            },
        },
        "/v1/models/{name}/insight": {
            "parameters": [_NAME_PARAMETER],
            "get": {
                "operationId": "insight",
                "summary": "The learning curve, recent examples and the features with the largest weights of each class.",
                "responses": _answers(
                    {"200": _json("The data of the live page.", {"$ref": "#/components/schemas/Insight"})}, 404, 422, 503
                ),
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
    paths |= _changes(model_answer)
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
