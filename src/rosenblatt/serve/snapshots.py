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
from rosenblatt.model_file.container import from_bytes, to_bytes
from rosenblatt.serve.events import Limits, Pending
from rosenblatt.serve.learner import Served
from rosenblatt.serve.store import Store, StoreError

log = logging.getLogger("rosenblatt.serve")


@dataclasses.dataclass
class Copy:
    """Copy of a served model, which a thread can encode while the model learns."""

    estimator: Any
    state: dict[str, Any]
    pending: dict[str, Pending]
    done: dict[str, tuple[Any, Any] | None]

    def encoded(self) -> bytes:
        """Bytes of a model file. The copy is emptied: a large model must not be in memory more often than needed."""
        packed = self.packed()
        self.estimator = None
        return to_bytes(*packed)

    def packed(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Header and arrays of a model file."""
        state = {
            **self.state,
            "pending": [(i, p.time, p.prediction, orjson.Fragment(p.request)) for i, p in self.pending.items()],
            "done": [(i, *outcome) if outcome is not None else (i,) for i, outcome in self.done.items()],
        }
        header, tensors = packed_model(self.estimator)
        return header, {**tensors, "service": np.frombuffer(orjson.dumps(state), np.uint8)}


def copy(served: Served) -> Copy:
    """Copy a model quickly."""
    names = (
        "name", "algorithm", "parameters", "created", "sequence", "time", "examples", "mistakes", "predictions",
        "expired", "stride",
    )  # fmt: skip
    state = {**{name: getattr(served, name) for name in names}, "curve": list(served.curve)}
    return Copy(copied_estimator(served), state, dict(served.pending), dict(served.done))


def encoded_estimator(estimators: list[Any]) -> bytes:
    """Bytes of the model file of an estimator, which is taken from the list so that its memory is free sooner."""
    packed = packed_model(estimators.pop())
    return to_bytes(*packed)


def copied_estimator(served: Served) -> Any:
    """Copy the estimator; None if nothing was learned."""
    if not served.fitted:
        return None
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
    return deepcopy(served.estimator, known)


def packed_model(estimator: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and arrays of an estimator alone; None for one that has learned nothing."""
    return ({"kind": "unfitted"}, {}) if estimator is None else model_file.pack(estimator)


def from_snapshot(number: int, data: bytes, remembered: int = Limits.remembered) -> Served:
    """Restore a model from the bytes of a snapshot; `remembered` is the number of ids that it keeps from now on."""
    header, tensors = from_bytes(data, "The snapshot")
    state = orjson.loads(tensors.pop("service").tobytes())
    served = Served(number, state["name"], state["algorithm"], state["parameters"], state["created"])
    for name in ("sequence", "time", "examples", "mistakes", "predictions", "expired", "stride"):
        setattr(served, name, state[name])
    served.snapshot_sequence, served.remembered = served.sequence, remembered
    served.curve = [(examples, mistakes) for examples, mistakes in state["curve"]]
    served.pending = {i: Pending(time, given, orjson.dumps(x)) for i, time, given, x in state["pending"]}
    served.pending_bytes = sum(pending.size for pending in served.pending.values())
    served.done = {i: (outcome[0], outcome[1]) if outcome else None for i, *outcome in state["done"]}
    if header["kind"] != "unfitted":
        served.adopt(restore(Saved(header, tensors), "The snapshot"))
    return served


def read_model(
    store: Store, number: int, limits: Limits, use_snapshot: bool = True, stop: threading.Event | None = None
) -> Served:
    """Read a model from its newest snapshot and the events after it; `stop` ends this early with `StoreError`."""
    snapshot = store.snapshot(number) if use_snapshot else None
    served = None
    if snapshot is not None:
        try:
            served = from_snapshot(number, snapshot.data, limits.remembered)
        except model_file.BadModel as error:  # the log holds everything that the snapshot held
            log.warning("a snapshot is not readable; reading the log", extra={"model": number, "error": str(error)})
    for event in store.events(number, 0 if served is None else served.sequence):
        if stop is not None and stop.is_set():
            raise StoreError("reading was interrupted")
        if served is None:
            served = Served.from_creation(event)
            served.remembered = limits.remembered
        else:
            served.apply(event)
    if served is None:
        raise ValueError(f"the log has no events of the model {number}")
    return served
