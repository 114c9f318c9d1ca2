"""A model that is served: what it has learned, the predictions that wait for their truth, and the events that made it so.

Everything that changes a model is an event. A request is decided, done to the model, and gives rows for the log; a restart does
the same events again in the order of the log. The log holds only what was accepted, so doing an event again decides nothing.
"""

import dataclasses
import secrets
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from operator import ne
from typing import Any, NamedTuple

import numpy as np
import orjson

from rosenblatt import model_file
from rosenblatt._load import restore
from rosenblatt._progressive import Pupil
from rosenblatt.checks import is_real
from rosenblatt.learners import find
from rosenblatt.model import Model
from rosenblatt.model_file import Saved
from rosenblatt.serve.examples import LONGEST_LABEL, Refused, checked_id, checked_label, expanded

__all__ = ["Event", "Limits", "Pending", "Served", "new_estimator"]

SMALLEST = 1e-6
"""Rates and the like may lie between this and its inverse: a service has to go on, whatever it is given."""

POINTS, SHOWN = 256, 20
"""So many points of the learning curve are kept at most, and so many of the last examples."""


@dataclasses.dataclass(frozen=True)
class Limits:
    """How much clients may ask for.

    Parameters
    ----------
    body : int
        Bytes of a request.
    features : int
        Features of one example.
    pending : int
        Predictions of one model that wait for their label; the oldest expires when there are more.
    age : float
        Seconds after which a prediction expires.
    remembered : int
        Ids of one model that are remembered after they were revealed or have expired.
    models : int
        How many models there may be.
    weights : int
        Features times classes of one model.
    """

    body: int = 8 << 20
    features: int = 10_000
    pending: int = 100_000
    age: float = 7 * 86400.0
    remembered: int = 100_000
    models: int = 100
    weights: int = 50_000_000


class Event(NamedTuple):
    """A line of the log."""

    model: int
    sequence: int
    kind: str
    time: float
    payload: bytes


class Pending(NamedTuple):
    """A prediction that was given and whose truth is not known yet; the request is kept as it came, which takes least room."""

    time: float
    prediction: Any
    request: bytes


Requests = Sequence[tuple[Any, bytes]]
"""What clients ask for, parsed, and as it came."""


class _Lines:
    """Accepted requests, to be logged as they came: putting their text together is faster than writing them anew."""

    def __init__(self) -> None:
        self.texts: list[bytes] = []
        self.ids: list[str | None] = []
        self.predictions: list[Any] = []

    def __bool__(self) -> bool:
        return bool(self.texts)

    def add(self, text: bytes, identity: str | None, prediction: Any) -> None:
        self.texts.append(text)
        self.ids.append(identity)
        self.predictions.append(prediction)

    def payload(self) -> bytes:
        ids, predictions = orjson.dumps(self.ids), orjson.dumps(self.predictions)
        return b'{"requests":[%s],"ids":%s,"predictions":%s}' % (b",".join(self.texts), ids, predictions)


def _answer(identity: str | None, prediction: Any, label: Any) -> dict[str, Any]:
    """What is said about an example that was learned."""
    return {"id": identity, "prediction": prediction, "label": label, "mistake": prediction != label, "repeated": False}


def _as_refused(error: Exception) -> Refused:
    """What a learner refuses is a conflict with what it has learned before: another type of label, another width."""
    return error if isinstance(error, Refused) else Refused(409, str(error))


def range_of(field: dataclasses.Field[Any]) -> tuple[float, float] | None:
    """From where to where a parameter that must be greater than 0 may go in a service; None: it is not such a one."""
    return (SMALLEST, min(1 / SMALLEST, field.metadata["most"])) if field.metadata.get("positive") else None


def new_estimator(algorithm: str, parameters: dict[str, Any]) -> Any:
    """A learner for streams by its name, its parameters checked."""
    try:
        learner = find(algorithm)
    except ValueError as error:
        raise Refused(422, str(error)) from error
    try:
        streams = callable(learner.learn_one)
    except AttributeError as error:
        raise Refused(422, f"A service needs a learner that learns one example at a time. {error}.") from error
    fields = dataclasses.fields(learner) if dataclasses.is_dataclass(learner) else ()
    known = [field.name for field in fields] or learner._get_param_names()
    for name in parameters:
        if name not in known or not streams:
            raise Refused(
                422,
                f"`parameters` of {learner.__name__} may be {', '.join(known)}; got {name[:60]!r}. Check the spelling.",
            )
    for field in fields:
        value = parameters.get(field.name, field.default)
        limits = range_of(field)
        if limits is not None and is_real(value) and not limits[0] <= value <= limits[1]:
            raise Refused(
                422,
                f"`{field.name}` of {learner.__name__} must lie between {limits[0]:g} and {limits[1]:g} here; got {value!r}. "
                f"{field.metadata['positive']}",
            )
        if isinstance(field.default, bool) and type(value) is not bool and field.name != "shuffle":
            raise Refused(422, f"`{field.name}` of {learner.__name__} must be true or false; got {value!r}.")
    try:
        estimator = learner(**parameters)
        if hasattr(estimator, "_check_parameters"):
            estimator._check_parameters()
            estimator._check_stream_weights()
            estimator._check_can_move(estimator._new_model(None, np.float64))
    except (ValueError, TypeError) as error:
        raise Refused(422, str(error)) from error
    return estimator


class Copy(NamedTuple):
    """A served model at one moment."""

    header: dict[str, Any]
    tensors: dict[str, Any]
    state: dict[str, Any]
    pending: dict[str, Pending]
    done: dict[str, tuple[Any, Any] | None]

    def packed(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Everything as a header and arrays of a model file."""
        state = {
            **self.state,
            "pending": [(i, p.time, p.prediction, orjson.Fragment(p.request)) for i, p in self.pending.items()],
            "done": [(i, *outcome) if outcome is not None else (i,) for i, outcome in self.done.items()],
        }
        return self.header, {**self.tensors, "service": np.frombuffer(orjson.dumps(state), np.uint8)}


class Served:
    """One model in memory.

    Parameters
    ----------
    number : int
        Its number in the store.
    name, algorithm : str
        What it is called and how it learns.
    parameters : dict
        Those of the learner.
    created : float
        When.
    """

    def __init__(self, number: int, name: str, algorithm: str, parameters: dict[str, Any], created: float) -> None:
        self.number, self.name, self.algorithm, self.parameters = number, name, algorithm, parameters
        self.created = self.time = created
        self.sequence = self.snapshot_sequence = 0
        self.estimator = new_estimator(algorithm, parameters)
        self.examples = self.mistakes = self.predictions = self.expired = self.differences = 0
        self.pending: dict[str, Pending] = {}
        self.done: dict[str, tuple[Any, Any] | None] = {}
        self.curve: list[tuple[int, int]] = []
        self.stride = 1
        self.recent: deque[tuple[float, str | None, Any, Any, bytes]] = deque(maxlen=SHOWN)
        self.remembered = Limits.remembered
        self._room = 0
        self._adopt()

    def _adopt(self) -> None:
        self._averages = getattr(self.estimator, "_readout", None) == "average"
        self._apart = getattr(self.estimator, "_readout", "last") != "last"
        self._linear = hasattr(self.estimator, "_rule")
        self._weighted = getattr(self.estimator, "class_weight", None) is not None
        self._pupil: Pupil | None = None
        self._plain: Model | None = None  # where nothing stands between an example and the core model

    # ---- what the learner does ----

    def guess(self, x: Any) -> Any:
        """The class of an example, None before any label was seen."""
        estimator = self.estimator
        if type(x) is list:
            x = np.array(x, np.float64)
        if self._averages and type(x) is dict and (model := getattr(estimator, "model_", None)) is not None:
            # Forming the average of all features for one example would take time in proportion to their number.
            if self._pupil is None or self._pupil.model is not model:
                self._pupil = Pupil(model)
            return self._pupil.label(self._pupil.predict(model._row_table(x), 0))
        prediction = estimator.predict_one(x)
        return prediction.item() if isinstance(prediction, np.generic) else prediction

    def _teach(self, x: Any, label: Any) -> None:
        """Learn an example whose prediction is known already."""
        estimator = self.estimator
        if type(x) is list:
            x = np.array(x, np.float64)
        model = getattr(estimator, "model_", None) if self._apart else None
        if model is None:
            estimator.learn_one(x, label)
            return
        weights = estimator.class_weight
        model.teach(x, label, 1.0 if weights is None else float(weights.get(label, 1.0)))

    def _guess_and_teach(self, x: Any, label: Any) -> Any:
        if self._apart or type(x) is list or not self._linear:
            prediction = self.guess(x)
            self._teach(x, label)
            return prediction
        prediction = self.estimator.learn_one(x, label)
        if not self._weighted and self._plain is None:
            self._plain = self.estimator.model_
        return prediction

    def _check_room(self, x: Any, label: Any, most: int) -> None:
        """Refuse an example that would make the model too large. Counting is put off while there is room in any case."""
        model = getattr(self.estimator, "model_", None)
        if model is None or type(x) is list:
            return
        if self._room >= len(x) and label in model.class_number:
            self._room -= len(x)
            return
        known = model.features or ()
        classes = len(model.classes) + (label not in model.class_number)
        features = len(known) + sum(name not in known for name in x)
        if features * classes > most:
            raise Refused(
                409,
                f"The model `{self.name}` may have at most {most} weights (features times classes); this example would make it "
                f"{features} times {classes}. Use fewer features, or raise the limit of the service.",
            )
        self._room = most // max(classes, 1) - features

    def _score(self, ids: Any, requests: Any, predictions: Any, labels: Any, time: float) -> None:
        """Count examples that were learned, one or many, and note points of the curve on the way."""
        at, count = 0, len(labels)
        while at < count:
            end = min(count, at + self.stride - self.examples % self.stride)
            self.mistakes += sum(map(ne, predictions[at:end], labels[at:end]))
            self.examples += end - at
            at = end
            if self.examples % self.stride == 0:
                self.curve.append((self.examples, self.mistakes))
                if len(self.curve) > POINTS:
                    self.curve, self.stride = self.curve[1::2], 2 * self.stride
        last = slice(-SHOWN, None)
        self.recent.extend(zip(repeat(time), ids[last], predictions[last], labels[last], requests[last]))

    def _remember(self, identity: str, outcome: tuple[Any, Any] | None) -> None:
        done = self.done
        done[identity] = outcome
        if len(done) > self.remembered:
            del done[next(iter(done))]

    # ---- requests ----

    def now(self, clock: float) -> float:
        """The time of the next event: the clock's, but never before the last one."""
        return max(self.time, clock)

    def _event(self, kind: str, payload: bytes, time: float) -> Event:
        self.sequence, self.time = self.sequence + 1, time
        return Event(self.number, self.sequence, kind, time, payload)

    def creation(self) -> Event:
        """The first event: that there is such a model."""
        settings = {"name": self.name, "algorithm": self.algorithm, "parameters": self.parameters}
        return self._event("create", orjson.dumps(settings), self.created)

    @classmethod
    def from_creation(cls, event: Event) -> "Served":
        """The model that a first event makes."""
        settings = orjson.loads(event.payload)
        served = cls(event.model, settings["name"], settings["algorithm"], settings["parameters"], event.time)
        served.sequence = event.sequence
        return served

    def expire(self, clock: float, limits: Limits, room: int = 0) -> list[Event]:
        """Let predictions go that are too old, and so many of the oldest that there is room for others."""
        pending = self.pending
        if not pending:
            return []
        now = self.now(clock)
        oldest = now - limits.age
        if len(pending) + room <= limits.pending and next(iter(pending.values())).time >= oldest:
            return []
        surplus = len(pending) + room - limits.pending
        ids: list[str] = []
        for identity, prediction in pending.items():
            if prediction.time >= oldest and len(ids) >= surplus:
                break
            ids.append(identity)
        self._expire(ids)
        return [self._event("expire", orjson.dumps(ids), now)]

    def _expire(self, ids: Iterable[str]) -> None:
        for identity in ids:
            del self.pending[identity]
            self._remember(identity, None)
            self.expired += 1

    def predict(self, requests: Requests, clock: float, limits: Limits) -> tuple[list[Event], list[Any]]:
        """Predict; gives the events and one answer for each request, some of them Refused."""
        events = self.expire(clock, limits, len(requests))
        now, accepted = self.now(clock), _Lines()
        answers: list[Any] = []
        for request, text in requests:
            try:
                identity = request.get("id")
                features = expanded(request["features"], limits.features, len(text))
                identity = secrets.token_hex(12) if identity is None else checked_id(identity)
                waiting = self.pending.get(identity)
                if waiting is not None:
                    answers.append(self._predicted_before(identity, waiting, request))
                    continue
                if identity in self.done:
                    raise Refused(
                        409, f"The id {identity!r} has been used before, and is revealed or expired. Take a new one."
                    )
                prediction = self.guess(features)
            except (Refused, ValueError, OverflowError) as refusal:
                answers.append(_as_refused(refusal))
                continue
            self._wait(identity, Pending(now, prediction, text))
            accepted.add(text, identity, prediction)
            answers.append({"id": identity, "prediction": prediction, "repeated": False})
        if accepted:
            events.append(self._event("predict", accepted.payload(), now))
        return events, answers

    def _wait(self, identity: str, pending: Pending) -> None:
        self.pending[identity] = pending
        self.predictions += 1

    def _predicted_before(self, identity: str, waiting: Pending, request: Any) -> dict[str, Any]:
        if orjson.loads(waiting.request)["features"] != request["features"]:
            raise Refused(409, f"The id {identity!r} waits for its label already, with other features. Take a new one.")
        return {"id": identity, "prediction": waiting.prediction, "repeated": True}

    def reveal(self, requests: Requests, clock: float, limits: Limits) -> tuple[list[Event], list[Any]]:
        """Learn the truth about predictions that were given."""
        events = self.expire(clock, limits)
        now, lines = self.now(clock), []
        answers: list[Any] = []
        for request, _ in requests:
            try:
                identity, label = checked_id(request["id"]), checked_label(request["label"])
                waiting = self.pending.get(identity)
                if waiting is None:
                    answers.append(self._revealed_before(identity, label))
                    continue
                features = expanded(orjson.loads(waiting.request)["features"])
                self._check_room(features, label, limits.weights)
                self._teach(features, label)
            except (Refused, ValueError, OverflowError) as refusal:
                answers.append(_as_refused(refusal))
                continue
            answers.append(self._revealed(identity, waiting, label, now))
            lines.append((identity, label))
        if lines:
            events.append(self._event("reveal", orjson.dumps(lines), now))
        return events, answers

    def _revealed(self, identity: str, waiting: Pending, label: Any, time: float) -> dict[str, Any]:
        del self.pending[identity]
        prediction = waiting.prediction
        self._remember(identity, (label, prediction))
        self._score((identity,), (waiting.request,), (prediction,), (label,), time)
        return _answer(identity, prediction, label)

    def _revealed_before(self, identity: str, label: Any) -> dict[str, Any]:
        if identity not in self.done:
            raise Refused(
                404,
                f"No prediction with the id {identity!r} is known: it was never made, or so long ago that it is forgotten. "
                "Predict first.",
            )
        outcome = self.done[identity]
        if outcome is None:
            raise Refused(
                410, f"The prediction {identity!r} has expired before its label came. Use `learn` with its features."
            )
        known, prediction = outcome
        if known != label or type(known) is not type(label):
            raise Refused(
                409,
                f"The label of {identity!r} is {known!r} and stays so; got {label!r}. Nothing was changed.",
                label=known,
            )
        return {
            "id": identity,
            "prediction": prediction,
            "label": known,
            "mistake": bool(prediction != known),
            "repeated": True,
        }

    def learn(self, requests: Requests, clock: float, limits: Limits) -> tuple[list[Event], list[Any]]:
        """Predict and learn examples whose label is known; with an id only once."""
        events = self.expire(clock, limits)
        now, accepted = self.now(clock), _Lines()
        answers: list[Any] = []
        labels: list[Any] = []
        add_text, add_id, add_prediction = accepted.texts.append, accepted.ids.append, accepted.predictions.append
        for request, text in requests:  # of a batch each takes a few microseconds, so what is called here counts
            try:
                label, identity = request["label"], request.get("id")
                if type(label) is not str or len(label) > LONGEST_LABEL:
                    label = checked_label(label)
                if identity is not None:
                    identity = checked_id(identity)
                    if identity in self.pending:
                        raise Refused(409, f"The id {identity!r} waits for its label. Use `reveal`, or another id.")
                    if identity in self.done:
                        answers.append(self._revealed_before(identity, label))
                        continue
                features = expanded(request["features"], limits.features, len(text))
                if self._plain is not None and self._room >= len(features) and label in self._plain.class_number:
                    self._room -= len(features)
                    prediction = self._plain.learn_one(features, label)
                else:
                    self._check_room(features, label, limits.weights)
                    prediction = self._guess_and_teach(features, label)
            except (Refused, ValueError, OverflowError) as refusal:
                answers.append(_as_refused(refusal))
                continue
            if identity is not None:
                self._remember(identity, (label, prediction))
            answers.append(_answer(identity, prediction, label))
            add_text(text)
            add_id(identity)
            add_prediction(prediction)
            labels.append(label)
        if accepted:
            self._score(accepted.ids, accepted.texts, accepted.predictions, labels, now)
            events.append(self._event("learn", accepted.payload(), now))
        return events, answers

    # ---- the log, again ----

    def apply(self, event: Event, own: bool = False) -> None:
        """Do an event of the log again.

        With `own` the model makes its predictions anew instead of taking those of the log; `differences` counts where they
        disagree.
        """
        self.sequence, self.time = event.sequence, event.time
        lines = orjson.loads(event.payload)
        if event.kind == "predict":
            for request, identity, given in zip(lines["requests"], lines["ids"], lines["predictions"], strict=True):
                prediction = self._compared(self.guess(expanded(request["features"])), given) if own else given
                self._wait(identity, Pending(event.time, prediction, orjson.dumps(request)))
        elif event.kind == "reveal":
            for identity, label in lines:
                waiting = self.pending[identity]
                self._teach(expanded(orjson.loads(waiting.request)["features"]), label)
                self._revealed(identity, waiting, label, event.time)
        elif event.kind == "learn":
            for request, identity, given in zip(lines["requests"], lines["ids"], lines["predictions"], strict=True):
                label = checked_label(request["label"])
                prediction = self._guess_and_teach(expanded(request["features"]), label)
                prediction = self._compared(prediction, given) if own else given
                if identity is not None:
                    self._remember(identity, (label, prediction))
                self._score((identity,), (orjson.dumps(request),), (prediction,), (label,), event.time)
        elif event.kind == "expire":
            self._expire(lines)

    def _compared(self, prediction: Any, given: Any) -> Any:
        self.differences += prediction != given
        return prediction

    # ---- snapshots ----

    def copy(self) -> "Copy":
        """All of it as it is now, so that it can be written elsewhere while this goes on."""
        header, tensors = self.packed_model()
        state = {
            "name": self.name, "algorithm": self.algorithm, "parameters": self.parameters, "created": self.created,
            "sequence": self.sequence, "time": self.time, "examples": self.examples, "mistakes": self.mistakes,
            "predictions": self.predictions, "expired": self.expired, "curve": list(self.curve), "stride": self.stride,
        }  # fmt: skip
        return Copy(header, tensors, state, dict(self.pending), dict(self.done))

    def packed(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Everything as a header and arrays of a model file."""
        return self.copy().packed()

    def packed_model(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The estimator alone, in the same form."""
        if not self.fitted:
            return {"kind": "unfitted"}, {}
        self.estimator.n_features_in_ = self.features
        header, tensors = model_file.pack(self.estimator)
        return header, {name: np.array(tensor) for name, tensor in tensors.items()}

    @property
    def fitted(self) -> bool:
        """Whether anything was learned."""
        return hasattr(self.estimator, "model_") or hasattr(self.estimator, "_model")

    @classmethod
    def from_snapshot(cls, number: int, data: bytes) -> "Served":
        """The model that `packed` described."""
        header, tensors = model_file.from_bytes(data, "The snapshot")
        state = orjson.loads(tensors.pop("service").tobytes())
        served = cls(number, state["name"], state["algorithm"], state["parameters"], state["created"])
        for name in ("sequence", "time", "examples", "mistakes", "predictions", "expired", "stride"):
            setattr(served, name, state[name])
        served.snapshot_sequence = served.sequence
        served.curve = [(examples, mistakes) for examples, mistakes in state["curve"]]
        served.pending = {i: Pending(time, given, orjson.dumps(x)) for i, time, given, x in state["pending"]}
        served.done = {i: (outcome[0], outcome[1]) if outcome else None for i, *outcome in state["done"]}
        if header["kind"] != "unfitted":
            served.estimator = restore(Saved(header, tensors), "The snapshot")
            served._adopt()
        return served

    # ---- answers ----

    def recent_examples(self) -> list[dict[str, Any]]:
        """The last examples that were learned, the newest last."""
        return [
            {
                "time": time, "id": identity, "prediction": prediction, "label": label, "mistake": bool(prediction != label),
                "features": orjson.loads(request)["features"],
            }
            for time, identity, prediction, label, request in self.recent
        ]  # fmt: skip

    @property
    def classes(self) -> list[Any]:
        """The classes in the order of their arrival."""
        model = getattr(self.estimator, "model_", None)
        if model is not None:
            return list(model.classes)
        return [label.item() for label in getattr(self.estimator, "classes_", ())]

    @property
    def features(self) -> int:
        """How many features there are so far."""
        model = getattr(self.estimator, "model_", None)
        return int(getattr(self.estimator, "n_features_in_", 0) if model is None else model.n_features)

    def describe(self) -> dict[str, Any]:
        """What clients are told about the model."""
        return {
            "name": self.name,
            "algorithm": self.algorithm,
            "parameters": self.parameters,
            "created": self.created,
            "examples": self.examples,
            "mistakes": self.mistakes,
            "accuracy": 1.0 - self.mistakes / self.examples if self.examples else None,
            "predictions": self.predictions,
            "pending": len(self.pending),
            "expired": self.expired,
            "classes": self.classes,
            "features": self.features,
            "sequence": self.sequence,
            "snapshot": self.snapshot_sequence,
        }

    def strongest(self, top: int) -> Iterator[dict[str, Any]]:
        """The features that speak most for and against each class."""
        model = getattr(self.estimator, "model_", None)
        if model is None or not hasattr(self.estimator, "coef_") or not model.n_features or len(model.classes) < 2:
            return
        coef, _ = model.coef()
        names = list(model.features) if model.features is not None else [str(n) for n in range(model.n_features)]
        rows = (
            [(model.classes[0], -coef[0]), (model.classes[1], coef[0])]
            if len(coef) == 1
            else zip(model.classes, coef, strict=True)
        )
        for label, weights in rows:
            count = min(top, len(weights))
            heavy = np.argpartition(-weights, count - 1)[:count]
            heavy = heavy[np.argsort(-weights[heavy], kind="stable")]
            yield {"class": label, "features": [[names[n], float(weights[n])] for n in heavy if weights[n] > 0]}
