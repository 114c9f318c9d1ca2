"""Kill the service repeatedly under load, then check that nothing that it had confirmed is missing.

    python -m tests.serve.crashes sqlite|postgresql [--times 50] [--seed 0]

kills processes at random moments for all learners that the service offers at once, and prints counts as JSON.
"""

import argparse
import asyncio
import itertools
import json
import random
import tempfile
import threading
import time
from pathlib import Path

import orjson

from rosenblatt.learners import names
from rosenblatt.serve.audit import differing
from rosenblatt.serve.events import Limits
from rosenblatt.serve.examples import Refused
from rosenblatt.serve.learner import Served
from rosenblatt.serve.snapshots import read_model
from rosenblatt.serve.store import Store
from tests.serve import processes
from tests.serve.processes import Connection, Postgres, Server

MODEL = "crash"
SENTENCES = "sequence-perceptron"
OPTIONS = ("--snapshot-every", 300)


def offered():
    """Every learner for rows that the service offers, with settings that reach its special cases."""
    for name in names():
        try:
            Served(1, "m", name, {}, 0.0)
        except Refused:
            continue
        yield name, {}
    yield "winnow", {"balanced": True, "eta": 2.0}
    yield "winnow", {"eta": 3.0, "multiclass": "uniform"}
    yield "arow", {"covariance": "full"}


EVERY = [*offered(), (SENTENCES, {}), (SENTENCES, {"rule": "arow"})]
"""Every learner that the service offers."""


class Load:
    """Clients of one model that predict, reveal and learn, record the confirmed requests, and repeat the others."""

    def __init__(self, seed=0, algorithm="perceptron", parameters=None, model=MODEL):
        self.model, self.settings = model, {"algorithm": algorithm, "parameters": parameters or {}}
        self.labels = ("spam", "ham") if algorithm == "parallel-perceptron" else ("spam", "ham", "work")
        self.random, self.number = random.Random(seed), 0
        self.predicted, self.revealed, self.learned = {}, {}, {}
        self.truth = {}  # labels of predictions
        self.unsure = []  # requests without an answer, to be repeated
        self.waiting = []
        self.requests = self.refused = 0
        self.ended = False

    def _example(self):
        rng = self.random
        if self.settings["algorithm"] == SENTENCES:
            words = [rng.choice("uvwxyz") + str(rng.randrange(30)) for _ in range(rng.randint(1, 8))]
            return words, [{"u": "NOUN", "v": "VERB", "w": "DET"}.get(word[0], f"X{word[-1]}") for word in words]
        features = {
            "a": round(rng.gauss(0, 1), 3),
            "b": rng.uniform(-1, 1),
            "sender": rng.choice("xyz"),
            "words": [f"w{rng.randrange(40)}" for _ in range(4)],
        }
        return features, rng.choice(self.labels)

    def next(self):
        """The next request: kind and JSON objects."""
        if self.unsure:
            return self.unsure.pop()
        self.number += 1
        choice = self.random.random()
        if choice < 0.4 and self.waiting:
            identity = self.waiting.pop(self.random.randrange(len(self.waiting)))
            return "reveal", [{"id": identity, "label": self.truth.pop(identity)}]
        if choice < 0.6:
            requests = []
            for n in range(20 if choice < 0.5 else 1):
                features, label = self._example()
                requests.append({"id": f"l{self.number}.{n}", "features": features, "label": label})
            return "learn", requests
        features, label = self._example()
        self.truth[f"p{self.number}"] = label
        return "predict", [{"id": f"p{self.number}", "features": features}]

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

    async def client(self, port, stop, leave=False, pause=0.0):
        """Send requests on one connection until it is lost, or, with `leave`, until events are refused."""
        kind = requests = None
        try:
            connection = await Connection.open(port)
            while time.monotonic() < stop and not self.ended:
                kind, requests = self.next()
                lines = len(requests) > 1
                body = "\n".join(map(json.dumps, requests)).encode()
                media = b"application/x-ndjson" if lines else b"application/json"
                status, answer = await connection.post(f"/v1/models/{self.model}/{kind}".encode(), body, media)
                self.requests += 1
                if status == 503:
                    self.refused += 1
                    self.unsure.append((kind, requests))
                    kind = None
                    if leave:
                        break
                    await asyncio.sleep(0.02)
                    continue
                assert status == 200, answer
                self.confirmed(kind, requests, [orjson.loads(line) for line in answer.splitlines()])
                kind = None
                await asyncio.sleep(pause)
            connection.close()
        except OSError:
            if kind is not None:
                self.unsure.append((kind, requests))

    async def run(self, port, seconds, clients=8):
        """Clients of one process."""
        stop = time.monotonic() + seconds
        await asyncio.gather(*(self.client(port, stop) for _ in range(clients)))

    async def follow(self, ports):
        """A client of all processes, which uses the one that accepts events."""
        for number in itertools.count():
            if self.ended:
                return
            open_ports = ports()
            if open_ports:
                await self.client(open_ports[number % len(open_ports)], float("inf"), leave=True, pause=0.005)
            await asyncio.sleep(0.05)


class Cluster:
    """Processes on one store that are killed and started again.

    Parameters
    ----------
    store : str
        Address of the store.
    count : int
        Number of processes: the one that writes, and standbys.
    database : Postgres or None
        The database, if it is to be killed, too.
    """

    def __init__(self, store, count, database=None):
        self.store, self.database = store, database
        self.servers = [Server(store, *OPTIONS, wait=None) for _ in range(count)]

    def ports(self):
        return [server.port for server in self.servers if server.port]

    def leader(self, seconds=60):
        """Number of the process that accepts events; wait until there is one."""
        until = time.monotonic() + seconds
        while True:
            for number, server in enumerate(self.servers):
                if server.process.poll() is not None:
                    server._reader.join(5)
                    said = "".join(server.lines)
                    if not (
                        self.database and said.startswith("rosenblatt: the store")
                    ):  # it began while there was none
                        raise RuntimeError("a process ended by itself:\n" + said)
                    self.kill(number)
                elif server.port and server.state() == "ready":
                    return number
            assert time.monotonic() < until, f"no process accepts events: {[one.state() for one in self.servers]}"
            time.sleep(0.005)

    def kill(self, number):
        """Kill a process with signal 9 and start another one in its place."""
        self.servers[number].kill()
        self.servers[number] = Server(self.store, *OPTIONS, wait=None)

    def kill_all(self):
        """Kill everything at nearly the same time, as a power failure does."""
        for server in self.servers:
            server.process.kill()
        if self.database:
            self.database.kill()
            self.database.start()
        for number in range(len(self.servers)):
            self.kill(number)

    def close(self):
        for server in self.servers:
            server.kill()


def kills(store, times, learners=(("perceptron", {}),), *, count=2, database=None, seed=0):
    """Kill processes this many times while all these learners work; raise an error if anything is lost, else return counts.

    The moments are random: shortly after a process accepts events, or, every sixth time, at any time, so also while processes
    start, read the log, or take over.
    """
    rng = random.Random(seed)
    loads = [Load(seed, name, parameters, f"m{n}") for n, (name, parameters) in enumerate(learners)]
    victims = [*(["leader"] * 2), *(["standby"] if count > 1 else []), *(["database"] if database else []), "all"]
    killed, early, refused = dict.fromkeys(victims, 0), 0, []
    cluster = Cluster(store, count, database)

    async def work():
        await asyncio.gather(*(load.follow(cluster.ports) for load in loads))

    def worked():
        try:
            asyncio.run(work())
        except BaseException as error:  # noqa: BLE001 - shown by the thread that kills
            refused.append(error)

    clients = threading.Thread(target=worked)
    try:
        first = cluster.servers[cluster.leader()]
        for load in loads:
            assert first.post(f"/v1/models/{load.model}", load.settings)[0] == 201
        clients.start()
        leader, order = 0, []
        for _ in range(times):
            if rng.random() < 1 / 6:
                time.sleep(rng.uniform(0.0, 0.5))
                early += 1
            else:
                leader = cluster.leader()
                time.sleep(rng.uniform(0.02, 0.3))
            if refused:
                break
            order = order or rng.sample(victims, len(victims))
            victim = order.pop()
            killed[victim] += 1
            if victim == "all":
                cluster.kill_all()
            elif victim == "database":
                database.kill()
                database.start()
            else:
                cluster.kill(leader if victim == "leader" else 1 - leader)
        cluster.leader()
        time.sleep(0.1)
    finally:
        for load in loads:
            load.ended = True
        if clients.ident:
            clients.join()
        cluster.close()
    if refused:
        raise refused[0]
    results = [audit(store, load, load.model) for load in loads]
    totals = {name: sum(result[name] for result in results) for name in results[0]}
    least = min(result["confirmed"] for result in results)
    return {"kills": times, **killed, "at_any_time": early, "learners": len(loads), **totals, "least_confirmed": least}


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


def main():
    """Kill processes for all learners."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", choices=["sqlite", "postgresql"])
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    processes.FORK = True
    database = Postgres() if chosen.store == "postgresql" else None
    with tempfile.TemporaryDirectory(prefix="rosenblatt-kills-") as folder:
        try:
            store = database.database("kills") if database else f"sqlite:///{Path(folder)}/log.db"
            print(json.dumps(kills(store, chosen.times, EVERY, database=database, seed=chosen.seed)))
        finally:
            if database:
                database.close()


if __name__ == "__main__":
    main()
