"""A served model: its learner, the predictions that wait for their label, and the events that built it.

Every change of a model is an event. A request is checked, applied to the model, and becomes rows of the log; a restart applies
the same events again in the order of the log. The log holds only accepted events, so replaying needs no checks.
"""

import asyncio
import functools
import secrets
from collections import deque
from collections.abc import Iterable
from typing import Any

import orjson

from rosenblatt.serve.changes import CHANGES, Changes
from rosenblatt.serve.choice import new_estimator
from rosenblatt.serve.events import Event, Limits, Lines, Outcome, Pending, Requests, asking
from rosenblatt.serve.examples import Refused, checked_id, shown
from rosenblatt.serve.hashing import Hashed
from rosenblatt.serve.scoring import explained, wanted
from rosenblatt.serve.shadow import Shadow
from rosenblatt.serve.tally import Tally
from rosenblatt.serve.teaching import LARGE

SHOWN, LONGEST_SHOWN = 20, 4096
"""Maximum number of recent examples, and of bytes of one of these, to keep."""

Recent = tuple[float, str | None, Any, Any, bytes | None]
"""Time, id, prediction, label and text of an example; a long text is left out."""

LEAP = 3600.0
"""Seconds. If the last event is so much later than the clock, its time was wrong, and time continues with the clock."""


MOST_TAGS = 10_000_000
"""Maximum number of tags of remembered ids: of a model of sequences fewer ids are remembered if its sentences are long."""


def number_of_tags(outcome: Outcome | None) -> int:
    """How many tags the label and the prediction of an id have; 0 for labels that are no sequences."""
    label, prediction = (None, None) if outcome is None else outcome[:2]
    return len(label) + len(prediction or ()) if type(label) is list else 0


def _answer(identity: str | None, prediction: Any, label: Any) -> dict[str, Any]:
    """Answer about a learned example."""
    return {"id": identity, "prediction": prediction, "label": label, "mistake": prediction != label, "repeated": False}


def _as_refused(error: Exception) -> Refused:
    """Convert an error of the learner: a conflict with earlier examples, such as another type of label or another width."""
    return error if isinstance(error, Refused) else Refused(409, str(error))


class _Texts:
    """The text of each request, made when it is needed."""

    def __init__(self, requests: list[Any]) -> None:
        self._requests = requests

    def __getitem__(self, number: int) -> bytes:
        return orjson.dumps(self._requests[number])


def _size(lines: Any) -> int:
    """Number of examples of an event."""
    if type(lines) is list:
        return len(lines)
    return len(lines["ids"]) if "ids" in lines else 0


class Served(Changes):
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
    bits : int or None, default=None
        Number of bits to which the names of features are hashed; None for all names.
    """

    def __init__(
        self,
        number: int,
        name: str,
        algorithm: str,
        parameters: dict[str, Any],
        created: float,
        bits: int | None = None,
    ) -> None:
        super().__init__(name, new_estimator(algorithm, parameters))
        self.bits = bits
        if bits is not None:
            self.read_as(Hashed(bits))
        self.number, self.algorithm, self.parameters = number, algorithm, parameters
        self.first = algorithm, parameters  # before a challenger was promoted
        self.created = self.time = created
        self.sequence = self.snapshot_sequence = 0
        self.predictions = self.expired = self.differences = self.corrections = 0
        self.aliases: list[str] = []
        self.challenger: Shadow | None = None
        self.tally = Tally()
        self.pending: dict[str, Pending] = {}
        self.pending_bytes = 0
        self.new_lines = self.new_bytes = 0  # since the last snapshot
        self.bytes = 0  # of all events
        self.begin = 0  # the event after which the log begins
        self.scored = 0
        self.deleted = False
        self.strongest: tuple[int, float, list[dict[str, Any]]] | None = (
            None  # of an event, and until when they are shown
        )
        self.busy: asyncio.Future[None] | None = None  # while it is used by a thread
        self.done: dict[str, Outcome | None] = {}
        self.done_tags = 0
        self.recent: deque[Recent] = deque(maxlen=SHOWN)
        self.recent_mistakes: deque[Recent] = deque(maxlen=SHOWN)
        self.remembered = Limits.remembered

    # ---- counts ----

    @property
    def examples(self) -> int:
        """Number of examples learned."""
        return self.tally.examples

    @property
    def mistakes(self) -> int:
        """Number of wrong predictions among them."""
        return self.tally.mistakes

    def _score(self, ids: Any, requests: Any, predictions: Any, labels: Any, time: float) -> None:
        """Count learned examples, one or many, and keep the last ones for the live page."""
        self.tally.add(predictions, labels, time)
        wrong = [n for n, (guess, label) in enumerate(zip(predictions, labels, strict=True)) if guess != label]
        count = len(labels)
        for kept, numbers in (
            (self.recent, range(max(0, count - SHOWN), count)),
            (self.recent_mistakes, wrong[-SHOWN:]),
        ):
            for n in numbers:
                text = requests[n] if len(requests[n]) <= LONGEST_SHOWN else None
                kept.append((time, ids[n], predictions[n], labels[n], text))

    def _alarms(self) -> list[Event]:
        """Events for listeners about new drifts; in a replay the alarms are found again, and these events change nothing."""
        return [self._event("drift", orjson.dumps(alarm._asdict()), alarm.time, 0) for alarm in self.tally.new_alarms()]

    def _remember(self, identity: str, outcome: Outcome | None) -> None:
        done = self.done
        done[identity] = outcome
        self.done_tags += number_of_tags(outcome)
        while len(done) > self.remembered or self.done_tags > MOST_TAGS:
            self.done_tags -= number_of_tags(done.pop(next(iter(done))))

    @property
    def whole_weight(self) -> int:
        """About the bytes of its weights and names, with those of its challenger."""
        return self.weight + (0 if self.challenger is None else self.challenger.weight)

    def takes_long(self, kind: str, requests: Requests) -> bool:
        """Whether requests may take so long that they are handled in a thread."""
        if self.whole_weight * len(requests) < LARGE:
            return False
        if kind == "predict":
            more = 0
        elif kind == "reveal":
            waiting = (self.pending.get(request["id"]) for request, _ in requests if type(request["id"]) is str)
            more = sum(len(pending.request) for pending in waiting if pending is not None) // 4
        else:
            more = sum(len(text) for _, text in requests) // 4  # a name takes four bytes at least
        if more and self.records is not None:
            more = 1 << 62  # texts make any number of features
        labels = [request.get("label") for request, _ in requests]
        shadow = self.challenger
        return self.is_heavy(labels, more) or (shadow is not None and shadow.is_heavy(labels, more))

    # ---- requests ----

    def now(self, clock: float) -> float:
        """Time of the next event: that of the clock, but not before the last event unless that one is far in the future."""
        return clock if self.time - clock > LEAP else max(self.time, clock)

    def _event(self, kind: str, payload: bytes, time: float, lines: int = 1) -> Event:
        self._move_to(self.sequence + 1, time)
        self._count(lines, payload)
        return Event(self.number, self.sequence, kind, time, payload, None if kind == "expire" else asking.get())

    def _move_to(self, sequence: int, time: float) -> None:
        if time < self.time:  # after a wrong clock: predictions dated in the future would never expire
            self.pending = {i: p._replace(time=min(p.time, time)) for i, p in self.pending.items()}
        self.sequence, self.time = sequence, time

    def _count(self, lines: int, payload: bytes) -> None:
        self.new_lines += lines
        self.new_bytes += len(payload)
        self.bytes += len(payload)

    def creation(self) -> Event:
        """The first event, which creates the model."""
        settings: dict[str, Any] = {"name": self.name, "algorithm": self.algorithm, "parameters": self.parameters}
        if self.bits is not None:
            settings["bits"] = self.bits
        return self._event("create", orjson.dumps(settings), self.created)

    def uploaded(self, facts: bytes) -> Event:
        """The event that says that the model began with a file; it changes nothing."""
        return self._event("upload", facts, self.created, 0)

    @classmethod
    def from_creation(cls, event: Event) -> "Served":
        """Make a model from its first event."""
        settings = orjson.loads(event.payload)
        given = settings["name"], settings["algorithm"], settings["parameters"]
        served = cls(event.model, *given, event.time, settings.get("bits"))
        served.sequence = event.sequence
        served._count(1, event.payload)
        return served

    def expire(self, clock: float, limits: Limits, requests: Requests = ()) -> list[Event]:
        """Expire predictions that are too old, and as many of the oldest as needed to make room for those of `requests`."""
        if not self.pending:
            return []
        surplus = len(self.pending) + len(requests) - limits.pending
        bytes_over = self.pending_bytes + sum(len(text) for _, text in requests) - limits.pending_bytes
        return self._expire_oldest(clock, self.now(clock) - limits.age, surplus, bytes_over)

    def expire_bytes(self, clock: float, count: int) -> list[Event]:
        """Expire the oldest predictions with so many bytes."""
        return self._expire_oldest(clock, float("-inf"), 0, count)

    def _expire_oldest(self, clock: float, oldest: float, surplus: int, bytes_over: int) -> list[Event]:
        pending = self.pending
        if surplus <= 0 and bytes_over <= 0 and next(iter(pending.values())).time >= oldest:
            return []
        ids: list[str] = []
        for identity, prediction in pending.items():
            if prediction.time >= oldest and len(ids) >= surplus and bytes_over <= 0:
                break
            ids.append(identity)
            bytes_over -= prediction.size
        self._expire(ids)
        return [self._event("expire", orjson.dumps(ids), self.now(clock), len(ids))]

    def _expire(self, ids: Iterable[str]) -> None:
        for identity in ids:
            self.pending_bytes -= self.pending.pop(identity).size
            self._remember(identity, None)
            self.expired += 1

    def _forget_all(self) -> None:
        self._expire(tuple(self.pending))
        self.recent.clear()
        self.recent_mistakes.clear()

    def predict(self, requests: Requests, clock: float, limits: Limits) -> tuple[list[Event], list[Any]]:
        """Predict; returns the events and one answer per request, which can be a `Refused`."""
        events = self.expire(clock, limits, requests)
        now, accepted = self.now(clock), Lines()
        answers: list[Any] = []
        for request, text in requests:
            try:
                identity = request.get("id")
                features = self.expanded(request["features"], limits.features, len(text))
                identity = secrets.token_hex(12) if identity is None else checked_id(identity)
                waiting = self.pending.get(identity)
                if waiting is not None:
                    answers.append(self._predicted_before(identity, waiting, request))
                    continue
                if identity in self.done:
                    raise Refused(
                        409, f"The id {identity!r} has been used before, and is revealed or expired. Use a new one."
                    )
                top, reasons = wanted(self, request)
                prediction = self.guess(features)
                more = explained(self, features, prediction, top, reasons) if top or reasons else {}
            except (Refused, ValueError, OverflowError) as refusal:
                answers.append(_as_refused(refusal))
                continue
            shadow = None if self.challenger is None else self.challenger.asked(features)
            self._wait(identity, Pending(now, prediction, text, self.sequence + 1, shadow))
            answers.append({"id": identity, "prediction": prediction, "repeated": False, **more})
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
        self.expect([request["label"] for request, _ in requests], limits)
        now, lines, unfit = self.now(clock), [], ""
        answers: list[Any] = []
        for request, _ in requests:
            try:
                identity, label = checked_id(request["id"]), self.checked_label(request["label"])
                waiting = self.pending.get(identity)
                if waiting is None:
                    answers.append(self._revealed_before(identity, label))
                    continue
                features = self.expanded(orjson.loads(waiting.request)["features"])
                self._check_room(features, label, limits)
                self._teach(features, label)
            except (Refused, ValueError, OverflowError) as refusal:
                answers.append(_as_refused(refusal))
                continue
            unfit = unfit or self._shadow_fits(features, label, limits)
            answers.append(self._revealed(identity, waiting, label, now, None if unfit else features))
            lines.append((identity, label))
        if lines:
            events += [self._event("reveal", orjson.dumps(lines), now, len(lines)), *self._give_up(unfit, clock)]
            events += self._alarms()
        return events, answers

    def _revealed(self, identity: str, waiting: Pending, label: Any, time: float, features: Any) -> dict[str, Any]:
        if self.challenger is not None and features is not None:
            self.challenger.told(features, label, waiting.shadow, waiting.prediction, time)
        del self.pending[identity]
        self.pending_bytes -= waiting.size
        prediction = waiting.prediction
        self._remember(identity, (label, prediction, waiting.sequence))
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
        known, prediction, _ = outcome
        if known != label or type(known) is not type(label):
            raise Refused(
                409,
                f"The label of {identity!r} is {shown(known)} and cannot be changed; got {shown(label)}. Nothing was changed.",
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
        self.expect([request["label"] for request, _ in requests], limits)
        answers = self._learn_at_once(requests, limits)
        if answers is None:
            answers = [self._learn_line(request, text, limits) for request, text in requests]
        for answer, (_, text) in zip(answers, requests, strict=True):
            if type(answer) is dict and not answer["repeated"]:
                accepted.add(text, answer)
        if accepted:
            predictions, labels = accepted.column("prediction"), accepted.column("label")
            unfit = ""
            if self.challenger is not None:
                good = [type(answer) is dict and not answer["repeated"] for answer in answers]
                rows = [request["features"] for (request, _), fine in zip(requests, good, strict=True) if fine]
                unfit = self._show(rows, labels, predictions, now, limits)
            self._score(accepted.column("id"), accepted.texts, predictions, labels, now)
            events += [self._event("learn", accepted.payload(), now, len(labels)), *self._give_up(unfit, clock)]
            events += self._alarms()
        return events, answers

    def _show(self, rows: list[Any], labels: list[Any], predictions: list[Any], now: float, limits: Limits) -> str:
        """Let the challenger learn examples; returns why it must be given up, if it would become too large."""
        for x, label in zip(rows, labels, strict=True):
            if unfit := self._shadow_fits(self.expanded(x), label, limits):
                return unfit
        if self.challenger is not None:
            self.challenger.shown(rows, labels, predictions, now)
        return ""

    def _give_up(self, unfit: str, clock: float) -> list[Event]:
        """End the challenger, if there is a reason."""
        return self.change("dismiss", {"reason": unfit}, clock) if unfit else []

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

    def _learn_line(self, request: Any, text: bytes, limits: Limits) -> Any:
        """Answer to one example, which can be a `Refused`."""
        try:
            label, identity = self.checked_label(request["label"]), request.get("id")
            if identity is not None:
                identity = checked_id(identity)
                if identity in self.pending:
                    raise Refused(409, f"The id {identity!r} waits for its label. Use `reveal`, or another id.")
                if identity in self.done:
                    return self._revealed_before(identity, label)
            features = self.expanded(request["features"], limits.features, len(text))
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
            self._remember(identity, (label, prediction, self.sequence + 1))
        return _answer(identity, prediction, label)

    # ---- replay ----

    def apply(self, event: Event, own: bool = False) -> None:
        """Apply an event of the log again.

        With `own` the model makes the predictions again instead of using those of the log; `differences` counts predictions
        that differ.
        """
        self._move_to(event.sequence, event.time)
        lines = orjson.loads(event.payload)
        self._count(_size(lines), event.payload)
        if event.kind == "predict":
            for request, identity, given in zip(lines["requests"], lines["ids"], lines["predictions"], strict=True):
                features = self.expanded(request["features"])
                prediction = self._compared(self.guess(features), given) if own else given
                shadow = None if self.challenger is None else self.challenger.asked(features)
                self._wait(identity, Pending(event.time, prediction, orjson.dumps(request), event.sequence, shadow))
        elif event.kind == "reveal":
            for identity, label in lines:
                waiting = self.pending[identity]
                features = self.expanded(orjson.loads(waiting.request)["features"])
                self._teach(features, label)
                self._revealed(identity, waiting, label, event.time, features)
        elif event.kind == "learn":
            self._learn_again(lines["requests"], lines["ids"], lines["predictions"], event.time, own)
        elif event.kind == "expire":
            self._expire(lines)
        elif event.kind in CHANGES:
            self.change_again(event.kind, lines)
        self.tally.new_alarms()  # their events follow in the log

    def _learn_again(self, requests: list[Any], ids: list[Any], given: list[Any], time: float, own: bool) -> None:
        rows, labels = [request["features"] for request in requests], [request["label"] for request in requests]
        predictions = self._learn_rows(rows, labels, 1 << 62) if len(rows) > 1 else None
        if predictions is None:
            labels = list(map(self.checked_label, labels))
            predictions = [
                self._guess_and_teach(self.expanded(x), label) for x, label in zip(rows, labels, strict=True)
            ]
        elif wrong := next((p for p in predictions if isinstance(p, ValueError)), None):
            raise wrong
        if own:
            given = [self._compared(*pair) for pair in zip(predictions, given, strict=True)]
        if self.challenger is not None:
            self.challenger.shown(rows, labels, given, time)
        for identity, label, prediction in zip(ids, labels, given, strict=True):
            if identity is not None:
                self._remember(identity, (label, prediction, self.sequence))
        self._score(ids, _Texts(requests), given, labels, time)

    def _compared(self, prediction: Any, given: Any) -> Any:
        self.differences += prediction != given
        return prediction
