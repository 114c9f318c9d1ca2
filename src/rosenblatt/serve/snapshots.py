"""Snapshots of served models as safetensors files, so that a restart does not replay every event."""

import dataclasses
import logging
import threading
from copy import deepcopy
from typing import Any

import numpy as np
import orjson

from rosenblatt import model_file
from rosenblatt.learners._load import restore
from rosenblatt.model_file import Saved
from rosenblatt.model_file.container import from_bytes, to_buffer, to_bytes
from rosenblatt.serve.events import Limits, Outcome, Pending
from rosenblatt.serve.hashing import Hashed
from rosenblatt.serve.learner import Served, number_of_tags
from rosenblatt.serve.records import Records, take_names
from rosenblatt.serve.retention import Mark
from rosenblatt.serve.shadow import Shadow
from rosenblatt.serve.store import Content, Snapshot, Store, StoreError
from rosenblatt.serve.tally import Tally
from rosenblatt.serve.teaching import Taught

log = logging.getLogger("rosenblatt.serve")


@dataclasses.dataclass
class Copy:
    """Copy of a served model, which a thread can encode while the model learns."""

    estimator: Any
    state: dict[str, Any]
    pending: dict[str, Pending]
    done: dict[str, Outcome | None]
    challenger: Any = None

    @property
    def mark(self) -> Mark:
        """Its place in the log."""
        return Mark(self.state["sequence"], self.state["time"], self.state["bytes"])

    def encoded(self) -> memoryview:
        """Bytes of a model file. The copy is emptied: a large model must not be in memory more often than needed."""
        packed = self.packed()
        self.estimator = None
        return to_buffer(*packed)

    def packed(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Header and arrays of a model file."""
        state = {
            **self.state,
            "pending": [
                (i, p.time, p.prediction, orjson.Fragment(p.request), p.sequence, p.shadow)
                for i, p in self.pending.items()
            ],
            "done": [(i, *outcome) if outcome is not None else (i,) for i, outcome in self.done.items()],
        }
        header, tensors = packed_model(self.estimator)
        if "challenger" in self.state:
            tensors = {**tensors, "challenger": np.frombuffer(to_bytes(*packed_model(self.challenger)), np.uint8)}
        return header, {**tensors, "service": np.frombuffer(orjson.dumps(state), np.uint8)}


def copy(served: Served) -> Copy:
    """Copy a model quickly."""
    names = (
        "name", "algorithm", "parameters", "created", "sequence", "time", "predictions", "expired",
        "corrections", "aliases", "first", "bytes", "judged",
    )  # fmt: skip
    state = {**{name: getattr(served, name) for name in names}, "tally": served.tally.to_values()}
    state["encoder"] = None if served.records is None else served.records.saved
    shadow = served.challenger
    if shadow is not None:
        parts = {name: getattr(shadow, name) for name in _OF_SHADOW}
        state["challenger"] = {**parts, "tally": shadow.tally.to_values()}
    known = None if shadow is None else copied_estimator(shadow)
    return Copy(copied_estimator(served), state, dict(served.pending), dict(served.done), known)


_OF_SHADOW = ("number", "algorithm", "parameters", "since", "rival", "refused", "judged")


def _shadow(name: str, state: dict[str, Any], data: bytes, records: Records | Hashed | None) -> Shadow:
    """Restore a challenger."""
    shadow = Shadow(name, state["number"], state["algorithm"], state["parameters"], state["since"])
    shadow.rival, shadow.refused, shadow.tally = state["rival"], state["refused"], Tally.from_values(state["tally"])
    shadow.judged = state["judged"]
    shadow.read_as(records)
    header, tensors = from_bytes(data, "The snapshot")
    if header["kind"] != "unfitted":
        shadow.adopt(restore(Saved(header, tensors), "The snapshot"))
    return shadow


def encoded_estimator(estimators: list[Any], encoder: dict[str, Any] | None = None) -> memoryview:
    """Bytes of the model file of an estimator, which is taken from the list so that its memory is free sooner."""
    estimator = estimators.pop()
    if encoder is not None:
        take_names(estimator, encoder)
    packed = packed_model(estimator)
    return to_buffer(*packed)


def copied_estimator(served: Taught) -> Any:
    """Copy the estimator; None if nothing was learned."""
    if not served.fitted:
        return None
    if not served.tags_sentences:
        served.estimator.n_features_in_ = served.features
    model = getattr(served.estimator, "model_", None)
    known: dict[int, Any] = {}
    if model is not None:
        if model.features is not None:
            known[id(model.features)] = model.features.copy()  # otherwise each name would be looked at
        if not model.room_matters:  # arrays can be twice as large as what is in use
            for array in (model.state.w, model.state.v, model.state.u):
                if array.size:
                    part = array[: model.n_features]
                    known.setdefault(id(array), np.array(part if part.ndim == 1 else part[:, : model.vectors]))
    made = deepcopy(served.estimator, known)
    if served.calibration is not None:
        made.calibration_ = deepcopy(served.calibration)
    return made


def packed_model(estimator: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and arrays of an estimator alone; None for one that has learned nothing."""
    return ({"kind": "unfitted"}, {}) if estimator is None else model_file.pack(estimator)


def from_snapshot(number: int, data: Content, remembered: int = Limits.remembered) -> Served:
    """Restore a model from the bytes of a snapshot; `remembered` is the number of ids that it keeps from now on."""
    header, tensors = from_bytes(data, "The snapshot")
    state = orjson.loads(tensors.pop("service").tobytes())
    if "encoder" not in state:
        raise model_file.BadModel("The snapshot was written by an earlier version.")
    served = Served(number, state["name"], state["algorithm"], state["parameters"], state["created"])
    if state["encoder"] is not None:
        hashed = state["encoder"]["family"] == "hashed"
        served.read_as(Hashed(state["encoder"]["bits"]) if hashed else Records(state["encoder"]))
        served.bits = state["encoder"]["bits"] if hashed else None
    if "challenger" in state:
        file = tensors.pop("challenger").tobytes()
        served.challenger = _shadow(state["name"], state["challenger"], file, served.records)
    for name in ("sequence", "time", "predictions", "expired", "corrections", "aliases", "bytes", "judged"):
        setattr(served, name, state[name])
    served.first = state["first"][0], state["first"][1]
    served.snapshot_sequence, served.remembered = served.sequence, remembered
    served.tally = Tally.from_values(state["tally"])
    served.pending = {
        i: Pending(time, given, orjson.dumps(x), sequence, None if shadow is None else tuple(shadow))
        for i, time, given, x, sequence, shadow in state["pending"]
    }
    served.pending_bytes = sum(pending.size for pending in served.pending.values())
    if header["kind"] != "unfitted":
        served.adopt(restore(Saved(header, tensors), "The snapshot"))
    same = served.shared
    served.done = {
        i: (same(outcome[0]), same(outcome[1]), outcome[2]) if outcome else None for i, *outcome in state["done"]
    }
    served.done_tags = sum(map(number_of_tags, served.done.values()))
    return served


class Gap(ValueError):  # noqa: N818
    """Events are missing in the log; if some were removed while it was read, reading it again helps."""


def base_snapshot(store: Store, number: int) -> Snapshot | None:
    """The snapshot with which the log of a model begins, if events were removed; None if the log is whole."""
    first = store.firsts().get(number)
    if first == 1:
        return None
    numbers = store.snapshot_numbers(number)
    fitting = numbers[-1:] if first is None else [sequence for sequence in numbers if sequence >= first - 1][:1]
    snapshot = store.snapshot(number, fitting[0]) if fitting else None
    if snapshot is None:
        raise ValueError(
            f"its log begins with the event {first}, and there is no snapshot of the events before"
            if first
            else f"the log has no events of the model {number}"
        )
    return snapshot


def _beginning(store: Store, number: int, remembered: int) -> Served | None:
    """A model as it was where its log begins, if events were removed."""
    snapshot = base_snapshot(store, number)
    return None if snapshot is None else from_snapshot(number, snapshot.data, remembered)


def _newest(store: Store, number: int, remembered: int) -> Served | None:
    """The newest snapshot that can be read; None if there is none."""
    for sequence in reversed(store.snapshot_numbers(number)):
        snapshot = store.snapshot(number, sequence)
        try:
            if snapshot is not None:
                return from_snapshot(number, snapshot.data, remembered)
        except model_file.BadModel as error:  # an older one, or the log, may hold everything that it held
            log.warning("a snapshot is not readable; reading the log", extra={"model": number, "error": str(error)})
    return None


def read_model(
    store: Store, number: int, limits: Limits, use_snapshot: bool = True, stop: threading.Event | None = None
) -> Served:
    """Read a model from its newest snapshot and the events after it; `stop` ends this early with `StoreError`."""
    tries = 3  # events may be removed, and snapshots with them, while they are read
    while True:
        tries -= 1
        read = _newest if use_snapshot else _beginning
        try:
            return _continued(read(store, number, limits.remembered), store, number, limits, stop)
        except Gap:
            if not tries:
                raise


def _continued(
    served: Served | None, store: Store, number: int, limits: Limits, stop: threading.Event | None
) -> Served:
    for event in store.events(number, 0 if served is None else served.sequence):
        if stop is not None and stop.is_set():
            raise StoreError("reading was interrupted")
        if event.sequence != (1 if served is None else served.sequence + 1):
            expected = 1 if served is None else served.sequence + 1
            raise Gap(f"the events {expected} to {event.sequence - 1} are missing")
        if served is None:
            served = Served.from_creation(event)
            served.remembered = limits.remembered
        else:
            served.apply(event)
    if served is None:
        raise ValueError(f"the log has no events of the model {number}")
    return served
