"""Kill the service repeatedly under load, then check that nothing that it had confirmed is missing."""

import asyncio
import contextlib
import json
import random
import time

import orjson

from rosenblatt.serve.audit import differing
from rosenblatt.serve.events import Limits
from rosenblatt.serve.learner import Served
from rosenblatt.serve.snapshots import read_model
from rosenblatt.serve.store import Store
from tests.serve.processes import Connection, Server

MODEL = "crash"


class Load:
    """Clients that predict, reveal and learn, record the confirmed requests, and repeat the others."""

    def __init__(self, seed=0, labels=("spam", "ham", "work")):
        self.labels = labels
        self.random, self.number = random.Random(seed), 0
        self.predicted, self.revealed, self.learned = {}, {}, {}
        self.unsure = []  # requests without an answer, to be repeated
        self.waiting = []
        self.requests = self.refused = 0
        self.ended = False

    def _features(self):
        rng = self.random
        return {
            "a": round(rng.gauss(0, 1), 3),
            "b": rng.uniform(-1, 1),
            "sender": rng.choice("xyz"),
            "words": [f"w{rng.randrange(40)}" for _ in range(4)],
        }

    def _label(self):
        return self.random.choice(self.labels)

    def next(self):
        """The next request: kind and JSON objects."""
        if self.unsure:
            return self.unsure.pop()
        self.number += 1
        choice = self.random.random()
        if choice < 0.4 and self.waiting:
            return "reveal", [
                {"id": self.waiting.pop(self.random.randrange(len(self.waiting))), "label": self._label()}
            ]
        if choice < 0.5:
            return "learn", [
                {"id": f"l{self.number}.{n}", "features": self._features(), "label": self._label()} for n in range(20)
            ]
        if choice < 0.6:
            return "learn", [{"id": f"l{self.number}", "features": self._features(), "label": self._label()}]
        return "predict", [{"id": f"p{self.number}", "features": self._features()}]

    def confirmed(self, kind, requests, answers):
        for request, answer in zip(requests, answers, strict=True):
            assert "error" not in answer, answer
            if kind == "predict":
                self.predicted[request["id"]] = answer["prediction"]
                self.waiting.append(request["id"])
            elif kind == "reveal":
                self.revealed[request["id"]] = request["label"]
                assert answer["prediction"] == self.predicted[request["id"]], (
                    "the scored prediction is not the one that was returned"
                )
            else:
                self.learned[request["id"]] = request["label"], answer["prediction"]

    async def client(self, port, stop):
        kind = requests = None
        try:
            connection = await Connection.open(port)
            while time.monotonic() < stop and not self.ended:
                kind, requests = self.next()
                lines = len(requests) > 1
                body = "\n".join(map(json.dumps, requests)).encode()
                media = b"application/x-ndjson" if lines else b"application/json"
                status, answer = await connection.post(f"/v1/models/{MODEL}/{kind}".encode(), body, media)
                self.requests += 1
                if status == 503:
                    self.refused += 1
                    self.unsure.append((kind, requests))
                    await asyncio.sleep(0.02)
                    continue
                assert status == 200, answer
                self.confirmed(kind, requests, [orjson.loads(line) for line in answer.splitlines()])
                kind = None
            connection.close()
        except OSError:
            if kind is not None:
                self.unsure.append((kind, requests))

    async def run(self, port, seconds, clients=8):
        stop = time.monotonic() + seconds
        await asyncio.gather(*(self.client(port, stop) for _ in range(clients)))


def crash_loop(store, times, seed=0, algorithm="perceptron"):
    """Kill the service this many times; raise an error if anything is lost, otherwise return counts."""
    rng, load = random.Random(seed), load_for(algorithm, seed)
    options = ("--snapshot-every", 300, "--log-level", "error")
    kills = early = 0
    with Server(store, *options[:2]) as server:
        assert server.post(f"/v1/models/{MODEL}", {"algorithm": algorithm})[0] == 201
        assert server.stop() == 0
    while kills < times:
        with Server(store, *options[:2], wait=None) as server:
            if rng.random() < 0.1:  # while it starts
                time.sleep(rng.uniform(0.0, 1.5))
                early += 1
            else:
                server.wait_for("ready")
                killer = asyncio.new_event_loop()
                with contextlib.closing(killer):
                    killer.run_until_complete(_under_load(server, load, rng.uniform(0.02, 0.5)))
            server.kill()
        kills += 1
    with Server(store, *options[:2]) as server:
        asyncio.run(load.run(server.port, 0.5))
        facts = server.get(f"/v1/models/{MODEL}")[1]
        server.kill()
    return {"kills": kills, "during_start": early, **audit(store, load), "accuracy": facts["accuracy"]}


def load_for(algorithm, seed=0):
    """Clients for this learner; some learn two classes only."""
    return Load(seed, ("spam", "ham")) if algorithm == "parallel-perceptron" else Load(seed)


def mixed_kills(store, times, database=None, seed=0, algorithm="perceptron"):
    """Kill the leader, the standby or the database this many times under load; then check that nothing was lost."""
    rng, load = random.Random(seed), load_for(algorithm, seed)
    options = ("--snapshot-every", 300)
    victims = ["leader", "standby", *(["database"] if database else [])]
    kills, failovers = dict.fromkeys(victims, 0), []
    leader = Server(store, *options)
    standby = Server(store, *options, wait="standby")
    try:
        assert leader.post(f"/v1/models/{MODEL}", {"algorithm": algorithm})[0] == 201
        for number in range(times):
            victim = victims[number % len(victims)]
            asyncio.run(_while_killing(victim, leader, standby, database, load, rng.uniform(0.02, 0.5)))
            kills[victim] += 1
            if victim == "leader":
                failovers.append(standby.wait_for("ready") - standby.killed_at)
                leader, standby = standby, Server(store, *options, wait="standby")
            elif victim == "standby":
                standby = Server(store, *options, wait="standby")
            else:
                database.start()
                leader.wait_for("ready")
        asyncio.run(load.run(leader.port, 0.3))
    finally:
        for server in (leader, standby):
            if server.process.poll() is None:
                server.kill()
    result = audit(store, load)
    return {"kills": kills, "longest_failover_seconds": round(max(failovers, default=0.0), 2), **result}


async def _while_killing(victim, leader, standby, database, load, seconds):
    """Run the load against the leader, and kill a process in the middle of it."""
    task = asyncio.create_task(load.run(leader.port, seconds + 0.1))
    await asyncio.sleep(seconds)
    if victim == "database":
        await asyncio.to_thread(database.stop, "immediate")
    else:
        process = {"leader": leader, "standby": standby}[victim]
        await asyncio.to_thread(process.kill)
        standby.killed_at = time.monotonic() - standby.started
    await task


async def _under_load(server, load, seconds):
    task = asyncio.create_task(load.run(server.port, 60.0))
    await asyncio.sleep(seconds)
    server.process.kill()
    await task


def audit(store, load, name=MODEL):
    """Check that every confirmed event is in the log once, and that every way to read the log gives the same model."""
    log = Store(store)
    numbers = {name: number for number, name in log.models()}
    events = list(log.events(numbers[name]))
    assert [event.sequence for event in events] == list(range(1, len(events) + 1)), "there are gaps in the log"
    predicted, revealed, learned = {}, {}, {}
    for event in events:
        lines = orjson.loads(event.payload)
        if event.kind == "predict":
            for identity, given in zip(lines["ids"], lines["predictions"], strict=True):
                assert identity not in predicted
                predicted[identity] = given
        elif event.kind == "reveal":
            for identity, label in lines:
                assert identity not in revealed
                revealed[identity] = label
        elif event.kind == "learn":
            for request, identity, given in zip(lines["requests"], lines["ids"], lines["predictions"], strict=True):
                assert identity not in learned
                learned[identity] = request["label"], given
    for confirmed, logged in ((load.predicted, predicted), (load.revealed, revealed), (load.learned, learned)):
        missing = [identity for identity in confirmed if identity not in logged]
        assert not missing, f"confirmed and lost: {missing[:5]}"
        assert all(logged[identity] == value for identity, value in confirmed.items())
    restarted = read_model(log, numbers[name], Limits())
    replayed = read_model(log, numbers[name], Limits(), use_snapshot=False)
    uninterrupted = run_again(events)
    log.close()
    for other in (replayed, uninterrupted):
        difference = differing(restarted, other)
        assert not difference, f"not the same bits: {difference}"
    return {
        "events": len(events),
        "confirmed": len(load.predicted) + len(load.revealed) + len(load.learned),
        "requests": load.requests,
    }


def run_again(events):
    """A run without interruptions: the same requests, processed again."""
    served = Served.from_creation(events[0])
    for event in events[1:]:
        lines = orjson.loads(event.payload)
        if event.kind == "expire":
            served.apply(event)
            continue
        if event.kind == "reveal":
            requests = [{"id": identity, "label": label} for identity, label in lines]
        else:
            requests = [
                {**request, "id": identity} for request, identity in zip(lines["requests"], lines["ids"], strict=True)
            ]
        made, answers = getattr(served, event.kind)(
            [(r, orjson.dumps(r)) for r in requests], event.time, Limits(age=1e18, pending=1 << 40)
        )
        assert len(made) == 1
        if event.kind != "reveal":
            assert [answer["prediction"] for answer in answers] == lines["predictions"]
    return served
