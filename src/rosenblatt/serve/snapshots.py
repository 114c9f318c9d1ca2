"""Snapshots of served models as safetensors files, so that a restart does not replay every event."""

import logging
import threading
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
import orjson

from rosenblatt import model_file
from rosenblatt.learners._load import restore
from rosenblatt.model_file import Saved
from rosenblatt.model_file.container import from_bytes
from rosenblatt.serve.events import Limits, Pending
from rosenblatt.serve.learner import Served
from rosenblatt.serve.store import Store, StoreError

log = logging.getLogger("rosenblatt.serve")


class Copy(NamedTuple):
    """Copy of a served model, which a thread can encode while the model learns."""

    estimator: Any
    state: dict[str, Any]
    pending: dict[str, Pending]
    done: dict[str, tuple[Any, Any] | None]

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


def copied_estimator(served: Served) -> Any:
    """Copy the estimator; None if nothing was learned."""
    if not served.fitted:
        return None
    served.estimator.n_features_in_ = served.features
    features = getattr(getattr(served.estimator, "model_", None), "features", None)
    known = {} if features is None else {id(features): features.copy()}  # otherwise each name would be looked at
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
