"""A served model: its learner, the predictions that wait for their label, and the events that built it.

Every change of a model is an event. A request is checked, applied to the model, and becomes rows of the log; a restart applies
the same events again in the order of the log. The log holds only accepted events, so replaying needs no checks.
"""

import functools
import secrets
from collections import deque
from collections.abc import Iterable
from itertools import repeat
from operator import ne
from typing import Any

import orjson

from rosenblatt.serve.choice import new_estimator
from rosenblatt.serve.events import Event, Limits, Lines, Pending, Requests
from rosenblatt.serve.examples import LARGEST, Refused, checked_id, checked_label, expanded
from rosenblatt.serve.teaching import Taught
from rosenblatt.training.progressive import learn_records

POINTS, SHOWN, LONGEST_SHOWN = 256, 20, 4096
"""Maximum number of points of the learning curve, of recent examples, and of bytes of one of these, to keep."""

LEAP = 3600.0
"""Seconds. If the last event is so much later than the clock, its time was wrong, and time continues with the clock."""


def _answer(identity: str | None, prediction: Any, label: Any) -> dict[str, Any]:
    """Answer about a learned example."""
    return {"id": identity, "prediction": prediction, "label": label, "mistake": prediction != label, "repeated": False}


def _as_refused(error: Exception) -> Refused:
    """Convert an error of the learner: a conflict with earlier examples, such as another type of label or another width."""
    return error if isinstance(error, Refused) else Refused(409, str(error))


class Served(Taught):
    """A model in memory.

    Parameters
    ----------
    number : int
        Number of the model in the store.
    name, algorithm : str
        Name of the model and of its learner.
    parameters : dict
        Parameters of the learner.
    created : float
        Time of creation.
    """

    def __init__(self, number: int, name: str, algorithm: str, parameters: dict[str, Any], created: float) -> None:
        super().__init__(name, new_estimator(algorithm, parameters))
        self.number, self.algorithm, self.parameters = number, algorithm, parameters
        self.created = self.time = created
        self.sequence = self.snapshot_sequence = 0
        self.examples = self.mistakes = self.predictions = self.expired = self.differences = 0
        self.pending: dict[str, Pending] = {}
        self.pending_bytes = 0
        self.new_lines = self.new_bytes = 0  # since the last snapshot
        self.scored = 0
        self.done: dict[str, tuple[Any, Any] | None] = {}
        self.curve: list[tuple[int, int]] = []
        self.stride = 1
        self.recent: deque[tuple[float, str | None, Any, Any, bytes | None]] = deque(maxlen=SHOWN)
        self.remembered = Limits.remembered

    # ---- counts ----

    def _score(self, ids: Any, requests: Any, predictions: Any, labels: Any, time: float) -> None:
        """Count learned examples, one or many, and add points to the learning curve."""
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
        shown = (text if len(text) <= LONGEST_SHOWN else None for text in requests[last])
        self.recent.extend(zip(repeat(time), ids[last], predictions[last], labels[last], shown))

    def _remember(self, identity: str, outcome: tuple[Any, Any] | None) -> None:
        done = self.done
        done[identity] = outcome
        if len(done) > self.remembered:
            del done[next(iter(done))]

    # ---- requests ----

    def now(self, clock: float) -> float:
        """Time of the next event: that of the clock, but not before the last event unless that one is far in the future."""
        return clock if self.time - clock > LEAP else max(self.time, clock)

    def _event(self, kind: str, payload: bytes, time: float, lines: int = 1) -> Event:
        self._move_to(self.sequence + 1, time)
        self._count(lines, payload)
        return Event(self.number, self.sequence, kind, time, payload)

    def _move_to(self, sequence: int, time: float) -> None:
        if time < self.time:  # after a wrong clock: predictions dated in the future would never expire
            self.pending = {i: p._replace(time=min(p.time, time)) for i, p in self.pending.items()}
        self.sequence, self.time = sequence, time

    def _count(self, lines: int, payload: bytes) -> None:
        self.new_lines += lines
        self.new_bytes += len(payload)

    def creation(self) -> Event:
        """The first event, which creates the model."""
        settings = {"name": self.name, "algorithm": self.algorithm, "parameters": self.parameters}
        return self._event("create", orjson.dumps(settings), self.created)

    @classmethod
    def from_creation(cls, event: Event) -> "Served":
        """Make a model from its first event."""
        settings = orjson.loads(event.payload)
        served = cls(event.model, settings["name"], settings["algorithm"], settings["parameters"], event.time)
        served.sequence = event.sequence
        return served

    def expire(self, clock: float, limits: Limits, requests: Requests = ()) -> list[Event]:
        """Expire predictions that are too old, and as many of the oldest as needed to make room for those of `requests`."""
        pending = self.pending
        if not pending:
            return []
        now = self.now(clock)
        oldest = now - limits.age
        surplus = len(pending) + len(requests) - limits.pending
        bytes_over = self.pending_bytes + sum(len(text) for _, text in requests) - limits.pending_bytes
        if surplus <= 0 and bytes_over <= 0 and next(iter(pending.values())).time >= oldest:
            return []
        ids: list[str] = []
        for identity, prediction in pending.items():
            if prediction.time >= oldest and len(ids) >= surplus and bytes_over <= 0:
                break
            ids.append(identity)
            bytes_over -= prediction.size
        self._expire(ids)
        return [self._event("expire", orjson.dumps(ids), now, len(ids))]

    def _expire(self, ids: Iterable[str]) -> None:
        for identity in ids:
            self.pending_bytes -= self.pending.pop(identity).size
            self._remember(identity, None)
            self.expired += 1

    def predict(self, requests: Requests, clock: float, limits: Limits) -> tuple[list[Event], list[Any]]:
        """Predict; returns the events and one answer per request, which can be a `Refused`."""
        events = self.expire(clock, limits, requests)
        now, accepted = self.now(clock), Lines()
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
                        409, f"The id {identity!r} has been used before, and is revealed or expired. Use a new one."
                    )
                prediction = self.guess(features)
            except (Refused, ValueError, OverflowError) as refusal:
                answers.append(_as_refused(refusal))
                continue
            self._wait(identity, Pending(now, prediction, text))
            answers.append({"id": identity, "prediction": prediction, "repeated": False})
            accepted.add(text, answers[-1])
        if accepted:
            events.append(self._event("predict", accepted.payload(), now, len(accepted.texts)))
        return events, answers

    def _wait(self, identity: str, pending: Pending) -> None:
        self.pending[identity] = pending
        self.pending_bytes += pending.size
        self.predictions += 1

    def _predicted_before(self, identity: str, waiting: Pending, request: Any) -> dict[str, Any]:
        if orjson.loads(waiting.request)["features"] != request["features"]:
            raise Refused(409, f"The id {identity!r} already waits for its label, with other features. Use a new one.")
        return {"id": identity, "prediction": waiting.prediction, "repeated": True}

    def reveal(self, requests: Requests, clock: float, limits: Limits) -> tuple[list[Event], list[Any]]:
        """Learn the labels of earlier predictions."""
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
                self._check_room(features, label, limits)
                self._teach(features, label)
            except (Refused, ValueError, OverflowError) as refusal:
                answers.append(_as_refused(refusal))
                continue
            answers.append(self._revealed(identity, waiting, label, now))
            lines.append((identity, label))
        if lines:
            events.append(self._event("reveal", orjson.dumps(lines), now, len(lines)))
        return events, answers

    def _revealed(self, identity: str, waiting: Pending, label: Any, time: float) -> dict[str, Any]:
        del self.pending[identity]
        self.pending_bytes -= waiting.size
        prediction = waiting.prediction
        self._remember(identity, (label, prediction))
        self._score((identity,), (waiting.request,), (prediction,), (label,), time)
        return _answer(identity, prediction, label)

    def _revealed_before(self, identity: str, label: Any) -> dict[str, Any]:
        if identity not in self.done:
            raise Refused(
                404,
                f"No prediction with the id {identity!r} is known: it was never made, or too long ago. Predict first.",
            )
        outcome = self.done[identity]
        if outcome is None:
            raise Refused(
                410, f"The prediction {identity!r} expired before its label arrived. Use `learn` with its features."
            )
        known, prediction = outcome
        if known != label or type(known) is not type(label):
            raise Refused(
                409,
                f"The label of {identity!r} is {known!r} and cannot be changed; got {label!r}. Nothing was changed.",
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
        """Predict and learn labelled examples; one with an id is learned only once."""
        events = self.expire(clock, limits)
        now, accepted = self.now(clock), Lines()
        answers = self._learn_at_once(requests, limits)
        if answers is None:
            answers = [self._learn_line(request, text, limits) for request, text in requests]
        for answer, (_, text) in zip(answers, requests, strict=True):
            if type(answer) is dict and not answer["repeated"]:
                accepted.add(text, answer)
        if accepted:
            predictions, labels = accepted.column("prediction"), accepted.column("label")
            self._score(accepted.column("id"), accepted.texts, predictions, labels, now)
            events.append(self._event("learn", accepted.payload(), now, len(labels)))
        return events, answers

    def _learn_at_once(self, requests: Requests, limits: Limits) -> list[Any] | None:
        """Answers to simple examples: dicts of known features, known classes, no ids. None if there are other examples."""
        if len(requests) == 1:
            return None
        rows = [request["features"] for request, _ in requests]
        labels = [request["label"] for request, _ in requests]
        if any("id" in request for request, _ in requests):
            return None
        predictions = self._learn_rows(rows, labels, limits.features)
        if predictions is None:
            return None
        same = functools.cache(
            lambda prediction, label: _answer(None, prediction, label)
        )  # there are only few different classes
        return [
            Refused(409, str(prediction)) if isinstance(prediction, ValueError) else same(prediction, label)
            for prediction, label in zip(predictions, labels, strict=True)
        ]

    def _learn_rows(self, rows: list[Any], labels: list[Any], most: int) -> list[Any] | None:
        """Predictions for simple examples, which are learned; None if there are others, and nothing was done."""
        if (
            self._plain is None
            or not {dict}.issuperset(map(type, rows))
            or not {str}.issuperset(map(type, labels))  # 1, 1.0 and true are equal in Python but different labels
            or max(map(len, rows)) > most
        ):
            return None
        return learn_records(self._plain, rows, labels, LARGEST)

    def _learn_line(self, request: Any, text: bytes, limits: Limits) -> Any:
        """Answer to one example, which can be a `Refused`."""
        try:
            label, identity = checked_label(request["label"]), request.get("id")
            if identity is not None:
                identity = checked_id(identity)
                if identity in self.pending:
                    raise Refused(409, f"The id {identity!r} waits for its label. Use `reveal`, or another id.")
                if identity in self.done:
                    return self._revealed_before(identity, label)
            features = expanded(request["features"], limits.features, len(text))
            plain = self._plain if type(features) is dict and type(label) is str else None
            if plain is not None and self._room >= len(features) and label in plain.class_number:
                self._room -= len(features)
                prediction = plain.learn_one(features, label)
            else:
                self._check_room(features, label, limits)
                prediction = self._guess_and_teach(features, label)
        except (Refused, ValueError, OverflowError) as refusal:
            return _as_refused(refusal)
        if identity is not None:
            self._remember(identity, (label, prediction))
        return _answer(identity, prediction, label)

    # ---- replay ----

    def apply(self, event: Event, own: bool = False) -> None:
        """Apply an event of the log again.

        With `own` the model makes the predictions again instead of using those of the log; `differences` counts predictions
        that differ.
        """
        self._move_to(event.sequence, event.time)
        lines = orjson.loads(event.payload)
        self._count(1 if event.kind == "create" else len(lines["ids"] if type(lines) is dict else lines), event.payload)
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
            self._learn_again(lines["requests"], lines["ids"], lines["predictions"], event.time, own)
        elif event.kind == "expire":
            self._expire(lines)

    def _learn_again(self, requests: list[Any], ids: list[Any], given: list[Any], time: float, own: bool) -> None:
        rows, labels = [request["features"] for request in requests], [request["label"] for request in requests]
        predictions = self._learn_rows(rows, labels, 1 << 62) if len(rows) > 1 else None
        if predictions is None:
            labels = list(map(checked_label, labels))
            predictions = [self._guess_and_teach(expanded(x), label) for x, label in zip(rows, labels, strict=True)]
        elif wrong := next((p for p in predictions if isinstance(p, ValueError)), None):
            raise wrong
        if own:
            given = [self._compared(*pair) for pair in zip(predictions, given, strict=True)]
        for identity, label, prediction in zip(ids, labels, given, strict=True):
            if identity is not None:
                self._remember(identity, (label, prediction))
        texts = [b""] * (len(rows) - SHOWN) + [orjson.dumps(request) for request in requests[-SHOWN:]]
        self._score(ids, texts, given, labels, time)

    def _compared(self, prediction: Any, given: Any) -> Any:
        self.differences += prediction != given
        return prediction
