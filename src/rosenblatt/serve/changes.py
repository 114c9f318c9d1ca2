"""Changes of a served model other than examples: clear it, rename it, its labels, corrections, and its challenger.

Each change is planned first, which checks it and gives the payload of an event, and then applied; a replay applies the event.
"""

from typing import Any

import orjson

from rosenblatt.learners import OF_SEQUENCES
from rosenblatt.model.fewer_classes import without_class
from rosenblatt.serve.choice import canonical, new_estimator
from rosenblatt.serve.events import Event, Limits, Outcome, Pending
from rosenblatt.serve.examples import Refused, shown
from rosenblatt.serve.shadow import ERRORS, Shadow
from rosenblatt.serve.tally import Tally
from rosenblatt.serve.teaching import Taught

MOST_ALIASES = 20


class Changes(Taught):
    """The changes of a served model; `Served` has the state that they change."""

    algorithm: str
    parameters: dict[str, Any]
    sequence: int
    tally: Tally
    pending: dict[str, Pending]
    done: dict[str, Outcome | None]
    aliases: list[str]
    challenger: Shadow | None
    corrections: int

    def now(self, clock: float) -> float:
        """Time of the next event."""
        raise NotImplementedError

    def _event(self, kind: str, payload: bytes, time: float, lines: int = 1) -> Event:
        raise NotImplementedError

    def _forget_all(self) -> None:
        raise NotImplementedError

    def change(self, kind: str, payload: dict[str, Any], clock: float) -> list[Event]:
        """Apply a change that was planned; returns its events."""
        now = self.now(clock)
        _APPLY[kind](self, payload, self.sequence + 1)
        return [self._event(kind, orjson.dumps(payload), now, len(payload.get("ids", ())))]

    def change_again(self, kind: str, payload: dict[str, Any]) -> None:
        """Apply a change of the log."""
        _APPLY[kind](self, payload, self.sequence)

    # ---- clear, names ----

    def _clear(self, payload: dict[str, Any], sequence: int) -> None:
        self._forget_all()
        self.challenger, self.tally = None, Tally()
        self.calibration = None
        self.adopt(new_estimator(self.algorithm, self.parameters))

    def _rename(self, payload: dict[str, Any], sequence: int) -> None:
        self.name = payload["name"]

    def _alias(self, payload: dict[str, Any], sequence: int) -> None:
        self.aliases = [name for name in self.aliases if name not in payload["remove"]] + payload["add"]

    # ---- labels ----

    def plan_label(self, label: Any, into: Any) -> dict[str, Any]:
        """Check that a label can be removed or merged, without a change."""
        for name in (label,) if into is None else (label, into):
            if name not in self.classes or type(name) is not type(self.classes[0]):
                raise Refused(
                    404,
                    f"`{self.name}` has no class {shown(name)}; its classes are {', '.join(map(shown, self.classes[:20]))}.",
                )
        model = getattr(self.estimator, "model_", None)
        try:
            if model is None:
                raise ValueError(
                    "This learner tags sequences or keeps examples, so its classes cannot be removed or merged. Clear the model "
                    "instead."
                )
            without_class(model, label, into)
        except ValueError as error:
            raise Refused(409, str(error)) from error
        return {"remove": label, "into": into}

    def _label(self, payload: dict[str, Any], sequence: int) -> None:
        estimator = self.estimator
        estimator.model_ = without_class(estimator.model_, payload["remove"], payload["into"])
        self.adopt(estimator)
        shadow = self.challenger
        model = None if shadow is None else getattr(shadow.estimator, "model_", None)
        if shadow is None or model is None:
            return
        try:
            shadow.estimator.model_ = without_class(model, payload["remove"], payload["into"])
            shadow.adopt(shadow.estimator)
        except ValueError:
            return  # it has not seen the class, or cannot forget one

    # ---- probabilities ----

    def plan_probabilities(self) -> dict[str, Any] | None:
        """Check that the model can learn to give probabilities; None if it does already."""
        if self.judged:
            return None
        Taught("", new_estimator(self.algorithm, self.parameters)).judge()
        return {}

    def _judged(self, payload: dict[str, Any], sequence: int) -> None:
        self.judge()
        if self.challenger is not None:
            self.challenger.judged = True

    # ---- corrections ----

    def plan_correction(self, identity: str, label: Any, features: Any, limits: Limits) -> dict[str, Any] | None:
        """Check the correction of a label that was revealed or learned; None if it is the known label."""
        known, prediction, _ = self.outcome(identity)
        if known == label and type(known) is type(label):
            return None
        self.expect((label,), limits)
        self._check_room(self.expanded(features, limits.features), label, limits)
        request = {"id": identity, "features": features, "label": label}
        return {"requests": [request], "ids": [identity], "predictions": [prediction], "before": [known]}

    def outcome(self, identity: str) -> Outcome:
        """Label and prediction of an id, or a refusal."""
        if identity in self.pending:
            raise Refused(409, f"The id {identity!r} still waits for its label. Use `reveal`.")
        if identity not in self.done:
            raise Refused(404, f"No label for the id {identity!r} is known: it was never sent, or too long ago.")
        outcome = self.done[identity]
        if outcome is None:
            raise Refused(410, f"The prediction {identity!r} expired before its label arrived. Use `learn`.")
        return outcome

    def _correct(self, payload: dict[str, Any], sequence: int) -> None:
        for request in payload["requests"]:
            identity, label = request["id"], request["label"]
            known, prediction, where = self.outcome(identity)
            x = self.expanded(request["features"])
            self._teach(x, label)
            if self.challenger is not None:
                self.challenger.told(x, label, None, None, 0.0)
            self.tally.mistakes += (prediction != label) - (prediction != known)
            self.done[identity] = label, prediction, where
            self.corrections += 1

    # ---- champion and challenger ----

    def plan_challenger(self, algorithm: str, parameters: dict[str, Any]) -> dict[str, Any] | None:
        """Check the settings of a challenger; None if it is the one that exists."""
        algorithm, known = canonical(algorithm), self.challenger
        if known is not None:
            if (known.algorithm, known.parameters) == (algorithm, parameters):
                return None
            raise Refused(
                409,
                f"`{self.name}` already has the challenger {known.algorithm}, {known.parameters}. Promote or delete it first.",
            )
        kind = type(new_estimator(algorithm, parameters)).__name__ in OF_SEQUENCES
        if kind != self.tags_sentences:
            raise Refused(
                409,
                f"The examples of `{self.name}` are {'sentences' if self.tags_sentences else 'rows'}; {algorithm} cannot learn "
                "them. Use another challenger.",
            )
        return {"algorithm": algorithm, "parameters": parameters}

    def _challenge(self, payload: dict[str, Any], sequence: int) -> None:
        self.challenger = Shadow(self.name, sequence, payload["algorithm"], payload["parameters"], self.tally.examples)
        self.challenger.judged = self.judged
        self.challenger.read_as(self.records)

    def plan_dismissal(self, reason: str) -> dict[str, Any]:
        """Check that there is a challenger."""
        if self.challenger is None:
            raise Refused(404, f"`{self.name}` has no challenger.")
        return {"reason": reason}

    def _dismiss(self, payload: dict[str, Any], sequence: int) -> None:
        self.challenger = None

    def plan_promotion(self, number: int | None) -> dict[str, Any]:
        """Check that there is a challenger, with this number if one is given."""
        if self.challenger is None:
            raise Refused(404, f"`{self.name}` has no challenger.")
        if number not in (None, self.challenger.number):
            raise Refused(
                409,
                f"The challenger of `{self.name}` has the number {self.challenger.number}; got {number}. Look first.",
            )
        if not self.challenger.fitted:
            raise Refused(409, f"The challenger of `{self.name}` has not learned anything yet. Wait for examples.")
        return {"challenger": self.challenger.number}

    def _promote(self, payload: dict[str, Any], sequence: int) -> None:
        shadow = self.challenger
        assert shadow is not None
        mine = self.release(), self.algorithm, self.parameters
        self.adopt(shadow.release())
        self.algorithm, self.parameters = shadow.algorithm, shadow.parameters
        shadow.adopt(mine[0])
        shadow.algorithm, shadow.parameters = mine[1], mine[2]
        shadow.restart(sequence, self.tally.examples)

    def _shadow_fits(self, x: Any, label: Any, limits: Limits) -> str:
        """Why the challenger must be given up; empty if it may learn the example."""
        try:
            if self.challenger is not None:
                self.challenger.weight_of_all = self.weight_of_all
                self.challenger.check(x, label, limits)
        except ERRORS as refusal:
            return str(refusal)
        return ""


_APPLY = {
    "clear": Changes._clear, "rename": Changes._rename, "alias": Changes._alias, "label": Changes._label,
    "correct": Changes._correct, "challenge": Changes._challenge, "dismiss": Changes._dismiss,
    "promote": Changes._promote, "probabilities": Changes._judged,
}  # fmt: skip

CHANGES = frozenset(_APPLY)
