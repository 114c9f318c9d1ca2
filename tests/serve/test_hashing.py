"""Models whose features are hashed: bounded, whatever names arrive."""

import pytest

from rosenblatt.model_file import container
from rosenblatt.serve.audit import differing
from rosenblatt.serve.events import Limits
from rosenblatt.serve.examples import Refused
from rosenblatt.serve.hashing import Hashed
from rosenblatt.serve.learner import Served
from rosenblatt.serve.snapshots import copy, from_snapshot
from tests.cli.helpers import call
from tests.serve.processes import Server
from tests.serve.test_learner import asked, run, traffic


def test_names_become_numbers_and_values_add_up():
    form = Hashed(4)
    found = form.expanded({f"n{k}": 1.0 for k in range(100)})
    assert set(found) == {f"#{k}" for k in range(16)}
    assert sum(found.values()) == 100
    assert form.expanded({"words": ["a", "a"]}) == form.expanded({"words=a": 2})
    with pytest.raises(Refused, match="must be an object"):
        form.expanded([1.0])


def test_a_hashed_model_stays_in_its_limit_and_is_replayed_with_the_same_bits():
    limits = Limits(weights=200)
    exact, hashed = Served(1, "m", "perceptron", {}, 5.0), Served(1, "m", "perceptron", {}, 5.0, bits=6)
    lines = [asked({"features": {f"name{n}": 1.0}, "label": "ab"[n % 2]}) for n in range(300)]
    assert any(isinstance(answer, Refused) for answer in exact.learn(lines, 6.0, limits)[1])
    assert not any(isinstance(answer, Refused) for answer in hashed.learn(lines, 6.0, limits)[1])
    assert hashed.features == 64

    served = Served(1, "m", "averaged-perceptron", {}, 5.0, bits=8)
    events, requests = [served.creation()], list(traffic(300))
    run(served, requests[:150], events)
    events += served.change("challenge", served.plan_challenger("perceptron", {}), 1150.0)
    data = container.to_bytes(*copy(served).packed())
    run(served, requests[150:], events, start=2000.0)
    again, resumed = Served.from_creation(events[0]), from_snapshot(1, data)
    for other in (again, resumed):
        for event in events:
            if event.sequence > other.sequence:
                other.apply(event, own=True)
        assert (other.differences, other.bits, differing(other, served)) == (0, 8, [])
    assert served.challenger.features <= 256


def test_bits_over_http(store):
    path = "/v1/models/m"
    with Server(store) as server:
        for wrong in (3, 25, "8", 1.5, True):
            assert server.post(path, {"bits": wrong})[0] == 422
        assert server.post(path, {"algorithm": "sequence-perceptron", "bits": 8})[0] == 422
        assert server.post(path, {"bits": 8})[1]["bits"] == 8
        assert server.post(path, {"bits": 8.0})[0] == 200
        assert server.post(path, {})[0] == 409
        server.post(f"{path}/learn", {"features": {"x": 1}, "label": "a"})
        server.post(f"{path}/learn", {"features": {"y": 1}, "label": "b"})
        assert server.post(f"{path}/score", {"features": {"x": 1}, "reasons": 1})[1]["reasons"][0]["feature"][0] == "#"
        server.kill()
    call("store", "check", "--store", store)
    assert "0 predictions differ" in call("replay", store).stdout
    call("replay", store, "--algorithm", "passive")
