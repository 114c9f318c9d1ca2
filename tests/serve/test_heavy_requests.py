"""Requests that take long or need much memory: other requests do not wait for them, and all models share the memory."""

import asyncio
import contextlib
import json
import threading
import time

import numpy as np
import pytest

import rosenblatt
from rosenblatt.model.linear import Model
from rosenblatt.serve import groups as groups_module
from rosenblatt.serve import insight, learner, life, teaching
from rosenblatt.serve import service as service_module
from rosenblatt.serve.app import App
from rosenblatt.serve.clock import TRUST, Clock
from rosenblatt.serve.events import Event, Limits
from rosenblatt.serve.examples import Refused
from rosenblatt.serve.insight import strongest
from rosenblatt.serve.learner import Served
from rosenblatt.serve.requests import LinesReader
from rosenblatt.serve.service import Service
from rosenblatt.serve.store import Store

ONE = {"features": {"x": 1}, "label": "a"}


def asked(request):
    return request, json.dumps(request).encode()


def lines(requests):
    return LinesReader("learn", b"\n".join(json.dumps(request).encode() for request in requests))


@contextlib.asynccontextmanager
async def running(path, limits=None, **options):
    """A service on a store."""
    store = Store(f"{path}/log.db")
    store.prepare()
    service = Service(store, limits or Limits(), **options)
    await service.start()
    async with asyncio.timeout(60):
        while service.state != "ready":
            await asyncio.sleep(0.01)
        yield service
    await service.close()


def everything_is_large(monkeypatch):
    for module in (learner, life, teaching, service_module, groups_module):
        monkeypatch.setattr(module, "LARGE", 1)


async def get(app, path):
    """The status of a GET request."""
    sent = []

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "headers": [],
        "query_string": b"",
    }
    await app(scope, None, send)
    return sent[0]["status"]


@pytest.mark.parametrize("algorithm", ["averaged-perceptron", "winnow"])
def test_new_classes_of_a_large_model_are_learned_beside_other_requests(tmp_path, monkeypatch, algorithm):
    """They are learned in a thread: `/livez` and requests for other models are answered before that has ended."""
    others, threads, real = threading.Event(), [], Served.learn

    def learn(self, requests, *arguments):
        if self.name == "large" and any(request["label"] == "new 0" for request, _ in requests):
            threads.append(threading.current_thread().name)
            assert others.wait(30), "no other request was answered"
        return real(self, requests, *arguments)

    monkeypatch.setitem(service_module._WORK, "learn", learn)

    async def run():
        async with running(tmp_path) as service:
            for name in ("large", "small"):
                await service.create(name, algorithm, {})
            for start in range(0, 50_000, 10_000):
                request = {
                    "features": {f"f{n}": 1 for n in range(start, start + 10_000)},
                    "label": "ab"[start // 10_000 % 2],
                }
                await service.work("learn", "large", *asked(request))
            many = [{"features": {"f1": 1}, "label": f"new {n}"} for n in range(20)]
            batch = asyncio.create_task(service.work_on_lines("learn", "large", lines(many)))
            while not threads:
                await asyncio.sleep(0.001)
            waits = asyncio.create_task(service.score("large", *asked({"features": {"f1": 1}})))
            assert await get(App(service), "/livez") == 200
            assert (await service.work("learn", "small", *asked(ONE)))["label"] == "a"
            assert not waits.done()
            others.set()
            answers = await batch
            assert all(answer["label"].startswith("new") for answer in answers)
            assert (await waits)["prediction"] is not None
            classes = (await service.describe("large"))["classes"]
            service.models["large"].snapshot_sequence = service.models["large"].sequence  # so that the log is read
        async with running(tmp_path) as service:
            assert (await service.describe("large"))["classes"] == classes
            assert len(classes) == 22
        assert threads[0].startswith("learner")

    asyncio.run(run())


def test_work_in_a_thread_is_kept_if_its_request_is_cancelled(tmp_path, monkeypatch):
    everything_is_large(monkeypatch)
    started, go_on, real = threading.Event(), threading.Event(), Served.learn

    def learn(self, requests, *arguments):
        started.set()
        go_on.wait(30)
        return real(self, requests, *arguments)

    async def run():
        async with running(tmp_path) as service:
            await service.create("m", "perceptron", {})
            await service.work("learn", "m", *asked(ONE))
            monkeypatch.setitem(service_module._WORK, "learn", learn)
            task = asyncio.create_task(service.work("learn", "m", *asked({**ONE, "label": "b"})))
            await asyncio.to_thread(started.wait, 30)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            assert service.models["m"].busy is not None
            asyncio.get_running_loop().call_later(0.05, go_on.set)
        log = Store(f"{tmp_path}/log.db")
        assert [event.kind for event in log.events(1)] == ["create", "learn", "learn"]
        assert log.snapshot(1).sequence == 3
        log.close()

    asyncio.run(run())


def test_models_that_are_used_by_threads_are_the_same_after_a_replay(tmp_path, monkeypatch):
    """All kinds of requests at once, each of them and each copy for a snapshot in a thread."""
    everything_is_large(monkeypatch)

    async def client(service, name, k):
        rng = np.random.default_rng(k)
        for n in range(12):
            x = {f"f{rng.integers(20)}": float(rng.normal()) for _ in range(4)}
            label = f"c{rng.integers(n + 1)}"
            await service.work("predict", name, *asked({"id": f"{k}-{n}", "features": x}))
            await service.work("reveal", name, *asked({"id": f"{k}-{n}", "label": label}))
            await service.work_on_lines("learn", name, lines([{"features": x, "label": label}] * 3))
            await service.score(name, *asked({"features": x, "top": 2}))
            with contextlib.suppress(Refused):
                await service.life.change("correct", name, {"id": f"{k}-{n}", "label": "c0"}, None)
            if n % 5 == 4:
                await service.insight(name, 3)
                await service.describe_all()
                await service.model_file(name)
                with contextlib.suppress(Refused):
                    await service.life.change("delete-label", name, {"label": label}, None)

    async def run():
        async with running(tmp_path, snapshot_every=7) as service:
            for name in ("averaged-perceptron", "winnow", "voted-perceptron"):
                await service.create(name, name, {})
            await service.life.change("challenger", "winnow", {"algorithm": "arow"}, None)
            await asyncio.gather(*(client(service, name, k) for name in tuple(service.models) for k in range(3)))
            assert all(served.snapshot_sequence > 1 for served in service.models.values())
            facts = await service.describe_all()
        async with running(tmp_path) as service:
            again = await service.describe_all()
        for one, other in zip(facts, again, strict=True):
            assert {**one, "snapshot": 0} == {**other, "snapshot": 0}

    asyncio.run(run())
    from rosenblatt.serve.replay import open_log, replay

    log = open_log(f"{tmp_path}/log.db")
    for name in log.models:
        _, found = replay(log, name)
        assert (found["differing_predictions"], found["gaps"]) == (0, 0), name
    log.close()


def test_a_copy_for_a_snapshot_delays_only_its_model(tmp_path, monkeypatch):
    started, go_on, real = threading.Event(), threading.Event(), groups_module.copy

    def copy(served):
        started.set()
        assert go_on.wait(30), "no other request was answered"
        return real(served)

    async def run():
        async with running(tmp_path, snapshot_every=5) as service:
            for name in ("large", "small"):
                await service.create(name, "perceptron", {})
            everything_is_large(monkeypatch)
            monkeypatch.setattr(groups_module, "copy", copy)

            async def learn():
                for _ in range(8):
                    await service.work("learn", "large", *asked(ONE))

            waits = asyncio.create_task(learn())
            await asyncio.to_thread(started.wait, 30)
            assert (await service.work("learn", "small", *asked(ONE)))["label"] == "a"
            assert not waits.done()
            go_on.set()
            await waits
            while service.models["large"].snapshot_sequence == 0:
                await asyncio.sleep(0.01)
            snapshot = await asyncio.to_thread(service.store.snapshot, 1)
            assert service.models["large"].sequence > snapshot.sequence

    asyncio.run(run())


# ---- memory ----


def test_the_weights_are_copied_once_for_all_new_classes_of_a_batch(monkeypatch):
    copies, real = [], Model._reshape

    def counted(self, *arguments):
        copies.append(1)
        return real(self, *arguments)

    monkeypatch.setattr(Model, "_reshape", counted)
    batch = [asked({"features": {"x": 1, "y": 2}, "label": f"c{n}"}) for n in range(90)]
    served, single = (Served(1, "m", "averaged-perceptron", {}, 0.0) for _ in range(2))
    served.learn(batch, 1.0, Limits())
    assert len(copies) <= 4
    for line in batch:
        single.learn([line], 1.0, Limits())
    assert len(copies) > 8
    for one, other in zip(served.estimator.model_.coef(), single.estimator.model_.coef(), strict=True):
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("balanced", [False, True])
def test_new_classes_compute_few_linked_weights_again(monkeypatch, balanced):
    """Only the weights that were changed since the last new class; the bits are those of computing all of them."""
    computed, everything, real = [], [], Model._relink

    def counted(self, state, rows=slice(None), with_bias=True):
        computed.append(rows.size if isinstance(rows, np.ndarray) else len(state.w))
        real(self, state, slice(None) if everything else rows, with_bias)

    monkeypatch.setattr(Model, "_relink", counted)

    def learned(mixed):
        rng = np.random.default_rng(3)
        model = rosenblatt.Winnow(balanced=balanced)
        for label in "ab":
            model.learn_one({f"f{n}": 1.0 for n in range(3000)}, label)
        computed.clear()
        for n in range(60):
            model.learn_one({f"f{k}": float(rng.normal()) for k in rng.integers(3000, size=5)}, f"c{n}")
            if mixed and n % 3 == 0:
                model.learn_one({f"f{k}": float(rng.normal()) for k in rng.integers(3000, size=5)}, f"c{n // 2}")
            if n % 10 == 9:
                with pytest.raises(ValueError, match="finite"):
                    model.learn_one({"f1": 1.0, "f2": np.inf}, "new")
        return model.model_.state.w[:, :62].tobytes() + model.model_.state.bias.tobytes()

    once = learned(False)
    assert sorted(computed)[len(computed) // 2] <= 10
    mixed = learned(True)
    everything.append(1)
    assert learned(False) == once
    assert learned(True) == mixed


@pytest.mark.parametrize(
    "algorithm", ["averaged-perceptron", "winnow", "arow", "kernel-perceptron", "sequence-perceptron"]
)
def test_the_memory_of_all_models_is_limited(tmp_path, algorithm):
    """New features, new classes and stored examples count, in all models together."""
    limits = Limits(memory=1 << (18 if algorithm == "kernel-perceptron" else 20))

    def example(n):
        if algorithm == "sequence-perceptron":
            return {"features": [f"w{n}-{k}" for k in range(50)], "label": [f"t{n % 9}"] * 50}
        return {"features": {f"f{n}-{k}": 1 for k in range(100)}, "label": f"c{n % 40}"}

    async def run():
        async with running(tmp_path, limits) as service:
            for name in ("a", "b"):
                await service.create(name, algorithm, {})
            refused = dict.fromkeys("ab", 0)
            for n in range(150):
                for name in "ab":
                    reader = lines([example(n)])
                    (answer,) = await service.work_on_lines("learn", name, reader)
                    if isinstance(answer, Refused):
                        refused[name] += answer.status == 409 and "--max-memory" in answer.message
                    assert service.weight() <= 1.1 * limits.memory
            assert min(refused.values()) > 0
            assert sum(refused.values()) + sum(served.examples for served in service.models.values()) == 300
            assert service.weight() > limits.memory / 8
            learned = {name: served.examples for name, served in service.models.items()}
            if algorithm not in (
                "kernel-perceptron",
                "sequence-perceptron",
            ):  # these count an example as if it were new
                await service.work("learn", "a", *asked(example(0)))
                learned["a"] += 1
        async with running(tmp_path, limits) as service:
            assert service.models["a"].examples == learned["a"]

    asyncio.run(run())


def test_the_estimate_of_memory_is_that_of_the_arrays():
    for algorithm in ("perceptron", "averaged-perceptron", "winnow", "arow", "alma", "parallel-perceptron"):
        served = Served(1, "m", algorithm, {}, 0.0)
        rng = np.random.default_rng(0)
        for n in range(200):
            model = getattr(served.estimator, "model_", None)
            x = {f"f{rng.integers(n + 1)}": 1.0 for _ in range(5)}
            label = f"c{rng.integers(n // 4 + 1)}" if algorithm != "parallel-perceptron" else "ab"[n % 2]
            if model is not None:
                count = len(model.classes) + (label not in model.class_number)
                wanted = model.nbytes_with(1 if count < 3 else count, len(model.features.keys() | x.keys()))
            served.learn([asked({"features": x, "label": label})], 1.0, Limits())
            if model is not None and n > 20:
                now = served.estimator.model_.nbytes
                assert now / 2 - 20_000 <= wanted <= 1.1 * now + 20_000


def test_pending_predictions_of_all_models_share_the_bytes(tmp_path):
    limits = Limits(pending_bytes=100_000)

    async def run():
        async with running(tmp_path, limits) as service:
            for name in ("greedy", "modest", "third"):
                await service.create(name, "perceptron", {})
            await service.work("predict", "modest", *asked({"id": "first", "features": {"x": 1}}))
            for n in range(60):
                for name in ("greedy", "third"):
                    text = {"id": f"i{n}", "features": {"words": ["w" * 500] * (20 if name == "greedy" else 2)}}
                    await service.work("predict", name, *asked(text))
                assert sum(served.pending_bytes for served in service.models.values()) <= 100_000
            assert (await service.work("reveal", "modest", *asked({"id": "first", "label": "a"})))["repeated"] is False
            assert service.models["greedy"].expired > 40
            pending = {name: list(served.pending) for name, served in service.models.items()}
        async with running(tmp_path, limits) as service:
            assert {name: list(served.pending) for name, served in service.models.items()} == pending

    asyncio.run(run())


def test_events_are_read_by_bytes(tmp_path):
    store = Store(f"{tmp_path}/log.db")
    store.prepare()
    assert store.acquire(5.0)
    sizes = [10, 600_000, 600_000, 20, 3_000_000, 5, 5]
    events = [Event(1, n, "clear", 0.0, b"{" + b" " * size + b"}") for n, size in enumerate(sizes, 1)]
    store.append(events, models=[(1, "m")])

    def parts(most=100):
        after, found = 0, []
        while some := store.some_events(1, after, most, 1 << 20):
            found.append([event.sequence for event in some])
            after = some[-1].sequence
        return found

    assert parts() == [[1, 2], [3, 4], [5], [6, 7]]
    assert parts(1) == [[n] for n in range(1, 8)]
    assert list(store.events(1)) == events
    assert list(store.events(1, 2, 3)) == events[2:5]
    store.close()


def test_listeners_that_resume_read_one_after_the_other(tmp_path, monkeypatch):
    reading, most, real = [], [], Store.some_events

    def some_events(self, *arguments):
        reading.append(1)
        most.append(len(reading))
        time.sleep(0.01)
        try:
            return real(self, *arguments)
        finally:
            reading.pop()

    async def run():
        async with running(tmp_path) as service:
            await service.create("m", "perceptron", {})
            for n in range(3):
                await service.work(
                    "learn", "m", *asked({"features": {"words": [f"{n} {k}" * 40 for k in range(8000)]}, "label": "a"})
                )
            monkeypatch.setattr(Store, "some_events", some_events)
            answers = await asyncio.gather(*(service.past_messages("m", 0, True) for _ in range(5)))
            assert all([number for number, _ in answer] == [1] for answer in answers)
            answer = await service.past_messages("m", 1, True)
            assert [number for number, _ in answer] == [2]
            assert len(answer[0][1]) < 1000  # features that are long are not told

    asyncio.run(run())
    assert max(most) == 1


# ---- insight ----


@pytest.mark.parametrize("algorithm", ["perceptron", "averaged-perceptron", "winnow", "alma"])
@pytest.mark.parametrize("classes", [2, 5])
def test_the_strongest_features_are_those_of_the_weights(algorithm, classes, monkeypatch):
    monkeypatch.setattr(insight, "BLOCK", 7)
    served, rng = Served(1, "m", algorithm, {}, 0.0), np.random.default_rng(1)
    for _ in range(200):
        x = {f"f{rng.integers(40)}": float(rng.normal()) for _ in range(6)}
        served.learn([asked({"features": x, "label": f"c{rng.integers(classes)}"})], 1.0, Limits())
    model = served.estimator.model_
    rows = np.vstack([-model.coef()[0], model.coef()[0]]) if classes == 2 else model.coef()[0]
    found = strongest(served.estimator, 4)()
    assert [entry["class"] for entry in found] == model.classes
    for entry, weights in zip(found, rows, strict=True):
        best = np.argsort(-weights, kind="stable")[:4]
        names = list(model.features)
        assert [name for name, _ in entry["features"]] == [names[n] for n in best if weights[n] > 0]
        np.testing.assert_allclose([weight for _, weight in entry["features"]], weights[best][weights[best] > 0])


def test_insight_does_not_copy_a_model_and_is_kept_for_a_second(tmp_path, monkeypatch):
    calls, real = [], service_module.strongest

    def counted(*arguments):
        calls.append(1)
        return real(*arguments)

    monkeypatch.setattr(service_module, "strongest", counted)
    monkeypatch.setattr(service_module, "copied_estimator", None)

    async def run():
        async with running(tmp_path) as service:
            await service.create("m", "averaged-perceptron", {})
            for label in "abb":
                await service.work("learn", "m", *asked({**ONE, "label": label}))
                shown = await service.insight("m", 3)
            assert shown["examples"] == 3
            service.models["m"].strongest = None
            assert (await service.insight("m", 3))["strongest"][0]["class"] == "a"

    asyncio.run(run())
    assert len(calls) <= 3


# ---- single requests and batches ----


def test_beside_single_requests_batches_are_handled_in_small_parts(tmp_path, monkeypatch):
    sizes, real = [], Served.learn

    def learn(self, requests, *arguments):
        sizes.append(len(requests))
        return real(self, requests, *arguments)

    monkeypatch.setitem(service_module._WORK, "learn", learn)
    monkeypatch.setattr(groups_module, "SINGLES_FOR", 3600.0)

    async def run():
        async with running(tmp_path) as service:
            await service.create("m", "perceptron", {})
            for _ in range(2):
                answers = await service.work_on_lines("learn", "m", lines([ONE] * 500))
                assert len(answers) == 500
                await service.work("learn", "m", *asked(ONE))

    asyncio.run(run())
    assert sizes[:2] == [250, 250]
    assert max(sizes[2:]) == service_module.BESIDE_SINGLES


# ---- time ----


def test_a_clock_that_is_wrong_at_the_start_expires_nothing(tmp_path):
    """It is 30 days ahead for the first seconds of the process."""
    wall, steady = [1e9], [50.0]

    def clock():
        return Clock(lambda: wall[0], lambda: steady[0])

    async def run():
        async with running(tmp_path, clock=clock()) as service:
            await service.create("m", "perceptron", {})
            await service.work("predict", "m", *asked({"id": "fresh", "features": {"x": 1}}))
            await service.work("predict", "m", *asked({"id": "late", "features": {"x": 1}}))
        wall[0] += 30 * 86400 + 10
        async with running(tmp_path, clock=clock()) as service:
            await service.work("predict", "m", *asked({"id": "other", "features": {"x": 1}}))
            for _ in range(2):
                assert list(service.models["m"].pending) == ["fresh", "late", "other"]
                steady[0] += 6
                wall[0] += 6 - 30 * 86400
                await service.work("predict", "m", *asked({"id": "other", "features": {"x": 1}}))
                wall[0] += 30 * 86400
            wall[0] -= 30 * 86400
            assert service.clock() == wall[0]
            assert (await service.work("reveal", "m", *asked({"id": "fresh", "label": "a"})))["repeated"] is False
        wall[0] += 30 * 86400  # now it is 30 days later
        async with running(tmp_path, clock=clock()) as service:
            assert "late" in service.models["m"].pending
            steady[0] += TRUST
            wall[0] += TRUST
            with pytest.raises(Refused, match="expired"):
                await service.work("reveal", "m", *asked({"id": "late", "label": "a"}))

    asyncio.run(run())
