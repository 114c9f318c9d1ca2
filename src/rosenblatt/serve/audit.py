"""Check of a store: that its log is complete, that it gives the predictions that were answered, and the snapshots in it."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson

from rosenblatt.model_file import BadModel
from rosenblatt.model_file.container import from_bytes, to_bytes
from rosenblatt.serve.learner import Served
from rosenblatt.serve.snapshots import base_snapshot, copy, from_snapshot
from rosenblatt.serve.store import Store

MOST = 20
"""Number of problems of a model after which the check of it ends."""


class Checked(NamedTuple):
    """Result for one model."""

    name: str
    begins_after: int
    events: int
    examples: int
    snapshots: int
    problems: list[str]


def differing(a: Served, b: Served) -> list[str]:
    """The parts of two served models that differ in any bit.

    Requests that wait are the same in any spelling, and of the ids that are remembered those count that both remember.
    """
    # A round trip through a file drops the position in the last table, which has no meaning between examples.
    a, b = (from_snapshot(1, to_bytes(*copy(served).packed()), 1 << 62) for served in (a, b))
    (header_a, tensors_a), (header_b, tensors_b) = copy(a).packed(), copy(b).packed()
    if header_a != header_b or tensors_a.keys() != tensors_b.keys():
        return ["the header"]
    if "challenger" in tensors_a:
        one, two = (from_bytes(tensors.pop("challenger").tobytes(), "It") for tensors in (tensors_a, tensors_b))
        if one[0] != two[0]:
            return ["the header of the challenger"]
        tensors_a |= {f"challenger {name}": tensor for name, tensor in one[1].items()}
        tensors_b |= {f"challenger {name}": tensor for name, tensor in two[1].items()}
    states = [orjson.loads(tensors.pop("service").tobytes()) for tensors in (tensors_a, tensors_b)]
    common = min(len(state["done"]) for state in states)
    for state in states:
        del state["bytes"]
        state["pending"] = [[i, when, given, x["features"], *rest] for i, when, given, x, *rest in state["pending"]]
        state["done"] = state["done"][len(state["done"]) - common :]
    parts = [key for key in states[0] if states[0][key] != states[1][key]]
    return parts + [name for name in tensors_a if tensors_a[name].tobytes() != tensors_b[name].tobytes()]


def check(store: Store, only: str | None = None) -> Iterator[Checked]:
    """Check the models of a store as it is at this moment; it may be in use."""
    store.freeze()
    store.check_format()
    for number, name, head in store.heads():
        if only in (None, name):
            yield _check_model(store, number, name, head)


def _check_model(store: Store, number: int, name: str, head: int) -> Checked:
    problems: list[str] = []
    try:
        base = base_snapshot(store, number)
        served = None if base is None else from_snapshot(number, base.data, 1 << 62)
    except ValueError as error:
        return Checked(name, 0, 0, 0, 0, [str(error)])
    begin, events = 0 if served is None else served.sequence, 0
    snapshots = store.snapshot_numbers(number)
    problems += [
        f"the snapshot after event {sequence} is not between the events of the log"
        for sequence in snapshots
        if not begin <= sequence <= head
    ]
    for event in store.events(number, begin):
        events += 1
        expected = 1 if served is None else served.sequence + 1
        if event.sequence != expected:
            problems.append(f"the events {expected} to {event.sequence - 1} are missing")
            break
        try:
            if served is None:
                served = Served.from_creation(event)
                served.remembered = 1 << 62
            else:
                before = served.differences
                served.apply(event, own=True)
                if served.differences > before:
                    problems.append(f"event {event.sequence} has other predictions than the model gives")
        except Exception as error:  # noqa: BLE001 - whatever is wrong in the log
            problems.append(f"event {event.sequence} cannot be applied: {str(error)[:300]}")
            break
        if served.sequence in snapshots:
            problems += _check_snapshot(store, served)
        if len(problems) >= MOST:
            break
    complete = served is not None and served.sequence >= head
    if not complete and not problems:
        problems.append(f"the log ends with event {0 if served is None else served.sequence} and not with {head}")
    return Checked(name, begin, events, 0 if served is None else served.examples, len(snapshots), problems)


def _check_snapshot(store: Store, served: Served) -> list[str]:
    where = f"the snapshot after event {served.sequence}"
    found: Any = store.snapshot(served.number, served.sequence)
    try:
        kept = from_snapshot(served.number, found.data, 1 << 62)
    except (BadModel, AttributeError) as error:
        return [f"{where} cannot be read: {str(error)[:300]}"]
    parts = differing(kept, served)
    return [f"{where} differs from the log in {', '.join(parts[:10])}"] if parts else []
