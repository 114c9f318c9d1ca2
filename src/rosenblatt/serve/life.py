"""Requests that change or look up a model: clear, rename, aliases, labels, corrections, pending predictions, the challenger."""

import asyncio
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

import orjson

from rosenblatt.serve.access import check_model
from rosenblatt.serve.changes import MOST_ALIASES
from rosenblatt.serve.events import Outcome, Pending, Work
from rosenblatt.serve.examples import Refused, checked_id, checked_label, kind_of, shown
from rosenblatt.serve.insight import describe
from rosenblatt.serve.learner import Served
from rosenblatt.serve.requests import check_name
from rosenblatt.serve.store import Token
from rosenblatt.serve.teaching import LARGE

if TYPE_CHECKING:
    from rosenblatt.serve.service import Service

MOST_LISTED = 1000

FIELDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "clear": ((), ()),
    "rename": (("name",), ()),
    "alias": (("alias",), ()),
    "unalias": (("alias",), ()),
    "delete-label": (("label",), ()),
    "merge-label": (("label", "into"), ()),
    "correct": (("id", "label"), ("features",)),
    "challenger": ((), ("algorithm", "parameters")),
    "promote": ((), ("challenger",)),
    "probabilities": ((), ()),
}
"""Required and optional members of each request."""


def check_members(kind: str, request: Any) -> None:
    """Refuse a request that lacks a required member or has an unknown one."""
    required, optional = FIELDS[kind]
    wanted = ", ".join([*required, *(f"{name} (optional)" for name in optional)]) or "no members"
    if type(request) is not dict:
        raise Refused(422, f"The body must be a JSON object with {wanted}; got {kind_of(request)}.")
    for key in required:
        if key not in request:
            raise Refused(422, f"`{key}` is missing. The object has {wanted}.")
    for key in request:
        if key not in (*required, *optional):
            raise Refused(422, f"The object has {wanted}; got {key[:60]!r}.")


class Life:
    """Changes of the models of a service.

    Parameters
    ----------
    service : Service
        The service.
    """

    def __init__(self, service: "Service") -> None:
        self._service = service

    async def change(self, kind: str, name: str, request: Any, token: Token | None) -> dict[str, Any]:
        """Change a model as a request asks; returns the answer when the change is on disk."""
        check_members(kind, request)
        answers = {
            "clear": self._clear, "rename": self._rename, "alias": self._alias, "unalias": self._unalias,
            "delete-label": self._label, "merge-label": self._label, "correct": self._correct,
            "challenger": self._challenge, "promote": self._promote,
            "probabilities": self._probabilities,
        }  # fmt: skip
        return await answers[kind](await self._idle(name), request, token)

    def _change(self, served: Served, kind: str, payload: dict[str, Any]) -> Work:
        clock = self._service.clock()
        return lambda: (served.change(kind, payload, clock), None)

    def _apply(self, served: Served, kind: str, payload: dict[str, Any]) -> None:
        """Apply a change that was planned, and add its events to the group being collected."""
        self._service.at_once(served, self._change(served, kind, payload))

    async def _apply_slowly(self, served: Served, kind: str, payload: dict[str, Any]) -> None:
        """The same for a change that takes long if the model is large."""
        if served.whole_weight < LARGE:
            self._apply(served, kind, payload)
        else:
            await self._service.apart(served, self._change(served, kind, payload))

    async def _idle(self, name: str) -> Served:
        return await self._service.idle(self._service.find, name)

    async def _done(self, served: Served, **more: Any) -> dict[str, Any]:
        return dict(await self._service.confirmed({**describe(served), "standby": False, **more}))

    async def _clear(self, served: Served, request: Any, token: Token | None) -> dict[str, Any]:
        self._apply(served, "clear", {})
        return await self._done(served)

    # ---- names ----

    def _new_name(self, name: Any, token: Token | None) -> str:
        if type(name) is not str:
            raise Refused(422, f"A name must be a string; got {shown(name)}.")
        check_name(name)
        if token is not None:
            check_model(token, name)
        return name

    async def _rename(self, served: Served, request: Any, token: Token | None) -> dict[str, Any]:
        name, service = self._new_name(request["name"], token), self._service
        if name != served.name:
            self._check_free(name)
            self._apply(served, "rename", {"name": name})
            service.move(served, name)
        return await self._done(served)

    def _check_free(self, name: str) -> None:
        taken = name in self._service.models or name in self._service.aside or self._owner(name) is not None
        if taken:
            raise Refused(409, f"There already is a model or an alias {name!r}. Choose another name.")

    def _owner(self, alias: str) -> Served | None:
        return next((served for served in self._service.models.values() if alias in served.aliases), None)

    async def _alias(self, served: Served, request: Any, token: Token | None) -> dict[str, Any]:
        alias = self._new_name(request["alias"], token)
        while (owner := self._owner(alias)) is not None and owner.busy is not None:
            await self._idle(owner.name)
            served = await self._idle(served.name)
        if owner is not served:
            if len(served.aliases) >= MOST_ALIASES:
                raise Refused(409, f"A model may have at most {MOST_ALIASES} aliases. Remove one first.")
            if owner is not None:
                self._apply(owner, "alias", {"add": [], "remove": [alias]})
            else:
                self._check_free(alias)
            self._apply(served, "alias", {"add": [alias], "remove": []})
        return await self._done(served)

    async def _unalias(self, served: Served, request: Any, token: Token | None) -> dict[str, Any]:
        alias = self._new_name(request["alias"], token)
        if alias in served.aliases:
            self._apply(served, "alias", {"add": [], "remove": [alias]})
        return await self._done(served)

    # ---- labels ----

    async def _label(self, served: Served, request: Any, token: Token | None) -> dict[str, Any]:
        label, into = checked_label(request["label"]), request.get("into")  # of one token, where sentences are tagged
        payload = served.plan_label(label, None if into is None else checked_label(into))
        await self._apply_slowly(served, "label", payload)
        return await self._done(served)

    async def _correct(self, served: Served, request: Any, token: Token | None) -> dict[str, Any]:
        identity, label, service = checked_id(request["id"]), served.checked_label(request["label"]), self._service
        features = request.get("features")
        if features is None:
            features = await self._features(served, served.outcome(identity), identity)
            if await self._idle(served.name) is not served:
                raise Refused(503, "The models were read again in the meantime. Try again.", retry=True)
        try:
            payload = served.plan_correction(identity, label, features, service.limits)
        except (ValueError, OverflowError) as error:
            raise Refused(409, str(error)) from error
        before = served.outcome(identity)[0]
        if payload is not None:
            await self._apply_slowly(served, "correct", payload)
        answer = {"id": identity, "prediction": served.outcome(identity)[1], "label": label, "before": before}
        return dict(await service.confirmed({**answer, "repeated": payload is None}))

    async def _features(self, served: Served, outcome: Outcome, identity: str) -> Any:
        features = await self._logged(served, outcome[2], identity)
        if features is None:
            raise Refused(
                410, f"The features of {identity!r} are no longer in the log. Send `features` with the correction."
            )
        return features

    async def _logged(self, served: Served, sequence: int, identity: str) -> Any:
        """Features of an example, from the event of the log that has them; None if it is there no longer."""
        await self._service.confirmed(None)
        event = await self._service.event(served.number, sequence)
        lines = {} if event is None else await asyncio.to_thread(orjson.loads, event.payload)
        for known, request in zip(lines.get("ids", ()), lines.get("requests", ()), strict=False):
            if known == identity:
                return request["features"]
        return None

    # ---- look up ----

    async def example(self, name: str, identity: str, raw: bool) -> dict[str, Any]:
        """What is known about an id, with its features if `raw`."""
        served = await self._service.idle(self._service.find_to_read, name)
        waiting = served.pending.get(identity)
        if waiting is not None:
            return {"state": "pending", **_of_pending(identity, waiting, raw), "label": None}
        if identity not in served.done:
            raise Refused(
                404, f"No example with the id {identity[:60]!r} is known: it was never sent, or too long ago."
            )
        outcome = served.done[identity]
        if outcome is None:
            return {
                "state": "expired",
                "id": identity,
                "time": None,
                "prediction": None,
                "label": None,
                "features": None,
            }
        features = await self._logged(served, outcome[2], identity) if raw else None
        event = await self._service.event(served.number, outcome[2])
        time = None if event is None else event.time
        facts = {"id": identity, "time": time, "prediction": outcome[1], "label": outcome[0], "features": features}
        return {"state": "learned", **facts}

    async def pending(self, name: str, after: str | None, limit: int, raw: bool) -> dict[str, Any]:
        """Predictions that wait for their label, the oldest first; `after` continues after the last one of an answer."""
        served = await self._service.idle(self._service.find_to_read, name)
        listed = list(islice(_after(served.pending, after), limit + 1))
        shown = [_of_pending(identity, waiting, raw) for identity, waiting in listed[:limit]]
        last = listed[limit - 1] if len(listed) > limit else None
        following = None if last is None else f"{last[1].sequence}:{last[0]}"
        return dict(await self._service.confirmed({"pending": shown, "count": len(served.pending), "next": following}))

    # ---- probabilities ----

    async def _probabilities(self, served: Served, request: Any, token: Token | None) -> dict[str, Any]:
        payload = served.plan_probabilities()
        if payload is not None:
            self._apply(served, "probabilities", payload)
        return await self._done(served)

    # ---- champion and challenger ----

    async def _challenge(self, served: Served, request: Any, token: Token | None) -> dict[str, Any]:
        algorithm, parameters = request.get("algorithm", "averaged-perceptron"), request.get("parameters", {})
        if not isinstance(algorithm, str) or not isinstance(parameters, dict):
            raise Refused(422, "`algorithm` must be a name and `parameters` an object.")
        await self._service.prepare(algorithm, parameters)
        served = await self._idle(served.name)
        payload = served.plan_challenger(algorithm, parameters)
        if payload is not None:
            self._apply(served, "challenge", payload)
        return await self._done(served)

    async def dismiss(self, name: str) -> dict[str, Any]:
        """End the challenger."""
        served = await self._idle(name)
        self._apply(served, "dismiss", served.plan_dismissal("asked for"))
        return await self._done(served)

    async def _promote(self, served: Served, request: Any, token: Token | None) -> dict[str, Any]:
        number = request.get("challenger")
        if type(number) is float and number.is_integer():
            number = int(number)  # JSON does not distinguish 1 and 1.0
        if number is not None and type(number) is not int:
            raise Refused(422, "`challenger` must be the number of the challenger, as in the description of the model.")
        self._apply(served, "promote", served.plan_promotion(number))
        return await self._done(served)


def _after(pending: dict[str, Pending], after: str | None) -> Iterator[tuple[str, Pending]]:
    """Predictions after a place; if that one has its label already, none is left out."""
    if after is None:
        yield from pending.items()
        return
    number, mark, identity = after.partition(":")
    if not mark or not number.isdecimal() or len(number) > 18:
        raise Refused(422, "`after` must be the `next` of an earlier answer.")
    sequence, found = int(number), identity not in pending
    for known, waiting in pending.items():
        if waiting.sequence > sequence or (waiting.sequence == sequence and found):
            yield known, waiting
        found = found or known == identity


def _of_pending(identity: str, waiting: Pending, raw: bool) -> dict[str, Any]:
    features = orjson.loads(waiting.request)["features"] if raw else None
    return {"id": identity, "time": waiting.time, "prediction": waiting.prediction, "features": features}
