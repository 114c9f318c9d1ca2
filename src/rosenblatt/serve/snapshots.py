"""Served models as safetensors files, so that a restart need not do every event again; and reading them back."""

import logging
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


def copy(served: Served) -> Copy:
    """All of it as it is now, so that it can be written elsewhere while the model goes on."""
    header, tensors = packed_model(served)
    names = (
        "name", "algorithm", "parameters", "created", "sequence", "time", "examples", "mistakes", "predictions",
        "expired", "stride",
    )  # fmt: skip
    state = {**{name: getattr(served, name) for name in names}, "curve": list(served.curve)}
    return Copy(header, tensors, state, dict(served.pending), dict(served.done))


def packed_model(served: Served) -> tuple[dict[str, Any], dict[str, Any]]:
    """The estimator alone, in the same form."""
    if not served.fitted:
        return {"kind": "unfitted"}, {}
    served.estimator.n_features_in_ = served.features
    header, tensors = model_file.pack(served.estimator)
    return header, {name: np.array(tensor) for name, tensor in tensors.items()}


def from_snapshot(number: int, data: bytes) -> Served:
    """The model that a `Copy` describes, from the bytes of its file."""
    header, tensors = from_bytes(data, "The snapshot")
    state = orjson.loads(tensors.pop("service").tobytes())
    served = Served(number, state["name"], state["algorithm"], state["parameters"], state["created"])
    for name in ("sequence", "time", "examples", "mistakes", "predictions", "expired", "stride"):
        setattr(served, name, state[name])
    served.snapshot_sequence = served.sequence
    served.curve = [(examples, mistakes) for examples, mistakes in state["curve"]]
    served.pending = {i: Pending(time, given, orjson.dumps(x)) for i, time, given, x in state["pending"]}
    served.done = {i: (outcome[0], outcome[1]) if outcome else None for i, *outcome in state["done"]}
    if header["kind"] != "unfitted":
        served.adopt(restore(Saved(header, tensors), "The snapshot"))
    return served


def read_model(store: Store, number: int, limits: Limits, use_snapshot: bool = True) -> Served:
    """A model from its newest snapshot and the events after it."""
    snapshot = store.snapshot(number) if use_snapshot else None
    served = None
    if snapshot is not None:
        try:
            served = from_snapshot(number, snapshot.data)
        except model_file.BadModel as error:  # the log has everything that the snapshot had
            log.warning("a snapshot cannot be read; the whole log is", extra={"model": number, "error": str(error)})
    for event in store.events(number, 0 if served is None else served.sequence):
        if served is None:
            served = Served.from_creation(event)
            served.remembered = limits.remembered
        else:
            served.apply(event)
    if served is None:
        raise StoreError(f"the model {number} has no events")
    served.remembered = limits.remembered
    return served
