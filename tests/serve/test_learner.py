"""The log and its models: replaying the events gives the same model bit for bit."""

import asyncio
import random

import numpy as np
import orjson
import pytest

from rosenblatt.model_file import container
from rosenblatt.serve.choice import new_estimator
from rosenblatt.serve.events import Event, Limits
from rosenblatt.serve.examples import Refused, expanded
from rosenblatt.serve.groups import Groups
from rosenblatt.serve.insight import describe
from rosenblatt.serve.learner import Served
from rosenblatt.serve.news import News
from rosenblatt.serve.requests import read_lines
from rosenblatt.serve.retention import Policy, Retention
from rosenblatt.serve.schema import snapshots as _snapshots
from rosenblatt.serve.snapshots import copy, from_snapshot
from rosenblatt.serve.store import LeaseLost, Snapshot, Store, StoreError
from rosenblatt.serve.tracing import Tracing

LIMITS = Limits()


def asked(request):
    """A request in the form that the service uses: parsed and raw."""
    return request, orjson.dumps(request)


def traffic(count, seed=0, labels=("spam", "ham", "work")):
    """Predictions that are revealed late or never, and examples that are learned directly."""
    rng, waiting = random.Random(seed), []
    for n in range(count):
        x = {
            "length": rng.uniform(0, 2),
            "sender": rng.choice("abcdef"),
            "words": [rng.choice("uvwxyz") + str(rng.randrange(30)) for _ in range(5)],
        }
        label = labels[(len(x["words"][0]) + ord(x["sender"])) % len(labels)]
        if rng.random() < 0.3:
            yield "learn", {"features": x, "label": label}
        else:
            yield "predict", {"id": f"p{n}", "features": x}
            waiting.append((f"p{n}", label))
        if len(waiting) > 20:
            identity, label = waiting.pop(rng.randrange(len(waiting)))
            yield "reveal", {"id": identity, "label": label}


def run(served, requests, events, limits=LIMITS, start=1000.0):
    for n, (kind, request) in enumerate(requests):
        new, answers = getattr(served, kind)([asked(request)], start + n, limits)
        events.extend(new)
        assert isinstance(answers[0], dict) or answers[0].status == 410, answers[0].message


def packed_of_all(served):
    """Headers and arrays of a model and of its challenger, whose file can have its entries in another order."""
    header, tensors = copy(served).packed()
    if "challenger" in tensors:
        more, arrays = container.from_bytes(tensors.pop("challenger").tobytes(), "It")
        header, tensors = [header, more], {**tensors, **{f"challenger {name}": array for name, array in arrays.items()}}
    return header, tensors


def same(a, b):
    """Whether two served models are equal in every bit."""
    (header_a, tensors_a), (header_b, tensors_b) = packed_of_all(a), packed_of_all(b)
    return (
        header_a == header_b
        and tensors_a.keys() == tensors_b.keys()
        and all(tensors_a[name].tobytes() == tensors_b[name].tobytes() for name in tensors_a)
    )


@pytest.mark.parametrize("algorithm", ["perceptron", "averaged-perceptron", "voted-perceptron", "winnow"])
def test_replay_and_snapshots_give_the_same_bits(algorithm):
    parameters = {"balanced": True} if algorithm == "winnow" else {}
    served = Served(1, "m", algorithm, parameters, 5.0)
    events, limits = [], Limits(pending=18)
    requests = list(traffic(300))
    run(served, requests[:250], events, limits)
    data = container.to_bytes(*copy(served).packed())
    run(served, requests[250:], events, limits, 2000.0)
    assert served.expired > 0
    replayed = Served(1, "m", algorithm, parameters, 5.0)
    for event in events:
        replayed.apply(event)
    assert same(served, replayed)
    resumed = from_snapshot(1, data)
    for event in events:
        if event.sequence > resumed.sequence:
            resumed.apply(event)
    assert same(served, resumed)
    audited = Served(1, "m", algorithm, parameters, 5.0)
    for event in events:
        audited.apply(event, own=True)
    assert audited.differences == 0
    assert same(served, audited)


@pytest.mark.parametrize("algorithm", ["perceptron", "averaged-perceptron", "PassiveAggressive"])
def test_batches_give_the_same_model_as_single_requests(algorithm):
    """With new features and classes, words, ids, and examples that are refused."""
    rng = random.Random(1)
    names = [f"f{n}" for n in range(8)]

    def example(n):
        x = {name: rng.gauss(0, 1) for name in rng.sample(names, 5)}
        request = {"features": x, "label": "yes" if sum(x.values()) > 0 else "no"}
        if n > 300 and n % 97 == 0:
            request["features"] = rng.choice([{"f1": 1e101}, {"f1": True}, {"word": "free"}, {"f2": [1]}, [1.0], {}])
        if n > 300 and n % 89 == 0:
            request["label"] = rng.choice(["new", 3, "x" * 300])
        if n > 300 and n % 150 == 0:
            request["id"] = f"id{n % 4}"
        return request

    requests = [asked(example(n)) for n in range(1500)]
    batched, single = (Served(1, "m", algorithm, {}, 5.0) for _ in range(2))
    answers, events = [], []
    for start in range(0, len(requests), 50):
        new, some = batched.learn(requests[start : start + 50], 7.0, LIMITS)
        answers += some
        events += new
    alone = [single.learn([request], 7.0, LIMITS)[1][0] for request in requests]

    def plain(answer):
        return answer.as_json() if isinstance(answer, Refused) else answer

    assert [plain(answer) for answer in answers] == [plain(answer) for answer in alone]
    assert sum(isinstance(answer, Refused) for answer in answers) > 5
    batched.sequence, batched.bytes = single.sequence, single.bytes
    numbered = {identity: outcome[2] for identity, outcome in batched.done.items()}
    single.done = {
        i: (*outcome[:2], numbered[i]) for i, outcome in single.done.items()
    }  # their events have other numbers
    assert same(batched, single)
    replayed = Served(1, "m", algorithm, {}, 5.0)
    for event in events:
        replayed.apply(event)
    replayed.sequence, replayed.bytes = single.sequence, single.bytes
    assert same(replayed, single)


LINE = b'{"features":{"x":1},"label":"a"}'


@pytest.mark.parametrize(
    ("body", "bad"),
    [
        # The right number of values, but not one per line.
        (b",".join([LINE] * 3) + b'\n{"features":[{}\n{}],"label":"c"}', [1, 2, 3]),
        (LINE + b'\n{"features":{"x":1},\n"label":"a"}', [2, 3]),
        (LINE + b"],[" + LINE, [1]),
        (LINE + b"\n[]\n" + LINE, [2]),
        (LINE + b'\n{"features":{}}', [2]),
        (LINE + b"\n\xff\n" + LINE, [2]),
    ],
)
def test_each_line_must_be_one_json_object(body, bad):
    with pytest.raises(Refused) as refusal:
        read_lines("learn", body)
    assert [line["line"] for line in refusal.value.details["lines"]] == bad


def test_blank_lines_and_all_line_ends_are_allowed():
    for body, numbers in (
        (LINE, [1]),
        (LINE + b"\n" + LINE + b"\n", [1, 2]),
        (LINE + b"\r\n" + LINE + b"\r\n", [1, 2]),
        (b"\n" + LINE + b"\n \n" + LINE + b"\n\n", [2, 4]),
        (b"\n \n", []),
        (b"", []),
    ):
        requests, found = read_lines("learn", body)
        assert list(found) == numbers
        assert all(request == orjson.loads(LINE) == orjson.loads(text) for request, text in requests)
        assert len(requests) == len(numbers)


def test_the_scored_prediction_is_the_one_that_was_returned():
    served = Served(1, "m", "perceptron", {}, 0.0)
    for label in ("a", "b"):
        served.learn([asked({"features": {label: 1}, "label": label})], 1.0, LIMITS)
    _, (given,) = served.predict([asked({"id": "x", "features": {"new": 1.0}})], 2.0, LIMITS)
    other = "b" if given["prediction"] == "a" else "a"
    for _ in range(5):
        served.learn([asked({"features": {"new": 1.0}, "label": other})], 3.0, LIMITS)
    assert served.guess({"new": 1.0}) == other
    _, (revealed,) = served.reveal([asked({"id": "x", "label": other})], 4.0, LIMITS)
    assert revealed["prediction"] == given["prediction"]
    assert revealed["mistake"] is True


def test_an_id_is_revealed_once():
    served = Served(1, "m", "perceptron", {}, 0.0)
    ask = lambda kind, **request: getattr(served, kind)([asked(request)], 1.0, LIMITS)  # noqa: E731
    events, (answer,) = ask("reveal", id="x", label="a")
    assert (events, answer.status) == ([], 404)
    ask("predict", id="x", features={"f": 1})
    events, (answer,) = ask("predict", id="x", features={"f": 1})
    assert events == []
    assert answer["repeated"]
    assert ask("predict", id="x", features={"f": 2})[1][0].status == 409
    ask("reveal", id="x", label="a")
    before = copy(served).packed()[1]["service"].tobytes()
    events, (answer,) = ask("reveal", id="x", label="a")
    assert events == []
    assert answer["repeated"]
    assert ask("reveal", id="x", label="b")[1][0].status == 409
    assert ask("predict", id="x", features={"f": 1})[1][0].status == 409
    assert copy(served).packed()[1]["service"].tobytes() == before
    events, (answer,) = ask("learn", id="x", features={"f": 1}, label="a")
    assert events == []
    assert answer["repeated"]


def test_predictions_expire_by_age_and_count():
    served = Served(1, "m", "perceptron", {}, 0.0)
    limits = Limits(pending=3, age=100.0, remembered=4)
    for n in range(5):
        served.predict([asked({"id": f"p{n}", "features": {"f": 1}})], float(n), limits)
    assert list(served.pending) == ["p2", "p3", "p4"]
    assert served.expired == 2
    assert served.reveal([asked({"id": "p0", "label": "a"})], 5.0, limits)[1][0].status == 410
    events, (answer,) = served.reveal([asked({"id": "p2", "label": "a"})], 103.5, limits)
    assert answer.status == 410
    assert [event.kind for event in events] == ["expire"]
    assert list(served.pending) == ["p4"]
    assert orjson.loads(events[0].payload) == ["p2", "p3"]


def test_events_keep_their_order_if_the_clock_goes_back():
    served = Served(1, "m", "perceptron", {}, 0.0)
    limits = Limits(age=100.0)
    times = []
    for n, clock in enumerate((50.0, 10.0, 60.0, -1000.0)):
        events, _ = served.predict([asked({"id": f"p{n}", "features": {"f": 1}})], clock, limits)
        times += [event.time for event in events]
    assert times == [50.0, 50.0, 60.0, 60.0]
    assert len(served.pending) == 4


def test_a_refused_example_changes_nothing():
    served = Served(1, "m", "perceptron", {}, 0.0)
    for label in ("a", "b", "a"):
        served.learn([asked({"features": {label: 1e90}, "label": label})], 1.0, LIMITS)
    before = copy(served).packed()
    for request in (
        {"features": {"a": 1.0}, "label": 3},
        {"features": [1.0, 2.0], "label": "a"},
        {"features": {"a": 1e101}, "label": "a"},
        {"features": {f"n{n}": 1 for n in range(10_001)}, "label": "a"},
    ):
        events, (answer,) = served.learn([asked(request)], 1.0, LIMITS)
        assert events == []
        assert isinstance(answer, Refused)
    after = copy(served).packed()
    assert all(before[1][name].tobytes() == after[1][name].tobytes() for name in before[1])


def test_a_model_may_not_grow_without_limit():
    served = Served(1, "m", "perceptron", {}, 0.0)
    limits = Limits(weights=100)
    answers = [served.learn([asked({"features": {f"f{n}": 1}, "label": n % 2})], 1.0, limits)[1][0] for n in range(60)]
    assert isinstance(answers[49], dict)
    assert answers[50].status == 409
    assert describe(served)["features"] == 50


def test_strings_and_words_become_features():
    features = {"n": 2, "sender": "ann", "words": ["free", "free", "now"], "new": True, "old": False, "none": None}
    assert expanded(features, 100) == {"n": 2, "sender=ann": 1, "words=free": 2, "words=now": 1, "new": 1, "old": 0}
    assert expanded([1, 2.5], 100) == [1, 2.5]
    for wrong in ("text", None, {"a": {"b": 1}}, {"a": [1]}, [], ["a"], [True], {"a": ["w"] * 101}, {"x" * 1001: 1}, 3):
        with pytest.raises(Refused):
            expanded(wrong, 100, 2000)


def test_algorithms_that_need_the_whole_set_are_refused():
    for algorithm, parameters in (
        ("pocket", {}),
        ("nonsense", {}),
        ("perceptron", {"C": 1}),
        ("passive", {"C": -1}),
        ("perceptron", {"on_zero": "keep"}),
    ):
        with pytest.raises(Refused) as refusal:
            new_estimator(algorithm, parameters)
        assert refusal.value.status == 422


def test_the_store_keeps_events_and_the_newest_snapshot(tmp_path):
    store = Store(f"sqlite:///{tmp_path}/log.db")
    store.prepare()
    assert store.acquire(5.0)
    served, events = Served(1, "m", "perceptron", {}, 0.0), []
    run(served, list(traffic(50)), events)
    store.append(events[:30], models=[(1, "m")])
    store.append(events[30:], [Snapshot(1, 40, b"a" * 10), Snapshot(1, 50, b"b" * (40 << 20))])
    assert store.models() == [(1, "m")]
    assert [tuple(event) for event in store.events(1)] == [tuple(event) for event in events]
    assert [event.sequence for event in store.events(1, after=10, most=7)] == list(range(11, 18))
    newest = store.snapshot(1)
    assert newest.sequence == 50
    assert newest.data == b"b" * (40 << 20)
    with pytest.raises(StoreError):
        store.append(events[:1])
    store.append([])
    store.close()


def test_a_snapshot_counts_when_all_its_parts_are_written(store):
    store = Store(store)
    store.prepare()
    assert store.acquire(5.0)
    store.append([], [Snapshot(1, 10, b"old" * 10)])
    parts = list(Snapshot(1, 20, b"new" * (3 << 18)).parts())
    assert len(parts) == 3
    for part in parts[:2]:
        store.append([], part=part)
        assert store.snapshot(1).data == b"old" * 10
    for part in parts:  # again from the start, as after a crash
        store.append([], part=part)
    assert store.snapshot(1) == Snapshot(1, 20, b"new" * (3 << 18))
    for number, data in enumerate((b"one", b"two")):  # as an earlier version wrote it
        with store._write() as connection:
            connection.execute(_snapshots.insert().values(model=2, sequence=7, part=number, data=data))
    assert store.snapshot(2) == Snapshot(2, 7, b"onetwo")
    store.close()


def test_a_group_may_delete_and_create_models_of_one_name(store):
    store = Store(store)
    store.prepare()
    assert store.acquire(5.0)
    store.append([], models=[(1, "m")])
    store.append([Event(n, 1, "create", 1.0, b"{}") for n in (2, 3)], models=[(2, "m"), (3, "m")], deleted=[1, 2])
    assert store.heads() == [(3, "m", 1)]
    assert store.highest() == 3
    assert store.sweep()
    assert not store.sweep()
    assert list(store.events(2)) == []
    store.close()


def test_only_the_holder_of_the_lease_writes(tmp_path):
    first, second = Store(f"{tmp_path}/log.db"), Store(f"{tmp_path}/log.db")
    first.prepare()
    second.prepare()
    assert first.acquire(60.0)
    assert not second.acquire(60.0)
    first.append([])
    assert second.acquire(0.0)  # as after a long silence
    with pytest.raises(LeaseLost):
        first.append([])
    second.append([])
    second.release()
    assert first.acquire(60.0)


def test_snapshots_are_model_files(tmp_path):
    import rosenblatt

    served, events = Served(1, "m", "averaged-perceptron", {}, 0.0), []
    run(served, list(traffic(100)), events)
    path = tmp_path / "m.model"
    path.write_bytes(container.to_bytes(*copy(served).packed()))
    loaded = rosenblatt.load(path)
    assert np.array_equal(loaded.coef_, served.estimator.coef_)
    path.write_bytes(container.to_bytes(*copy(served).packed())[:-1])
    with pytest.raises(ValueError, match="damaged"):
        rosenblatt.load(path)


@pytest.mark.parametrize("error", [StoreError("the disk is full"), RuntimeError("an unexpected error")])
def test_every_waiting_request_gets_the_error(error):
    async def write(*_):
        raise error

    async def run():
        groups = Groups(None, write, 1000, News(), None, Retention(Policy(), float), Tracing())
        groups.add_model(Served(1, "mails", "perceptron", {}, 0.0))
        answer = asyncio.ensure_future(groups.confirmed("done"))
        await asyncio.sleep(0)
        with pytest.raises(type(error)):
            await groups.commit({}, 1.0)
        groups.drop(Refused(503, "not confirmed"))
        async with asyncio.timeout(10):
            with pytest.raises(Refused, match="not confirmed"):
                await answer

    asyncio.run(run())
