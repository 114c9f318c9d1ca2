"""Benchmarks of the service: kills, hostile clients, rates, restarts, failovers and memory.

All traffic stays on the loopback interface, and the load generators run on the same machine as the service.
"""

import asyncio
import dataclasses
import json
import math
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

from tests.serve.processes import Connection, Postgres, Server, postgres_programs

from .harness import FASTER, SMALLER, Options, Row

STORES = ("sqlite", "postgresql")
TITLES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}
ROUNDS, KILLS = 5, 52
"""Rounds on each store, each with a new log, and kills in each."""

FAILOVERS = {signal.SIGKILL: ("killed", 2.0), signal.SIGSTOP: ("without a sign of life", 8.0)}
"""How a process fails, in words, and the goal in seconds: on the same machine its end is seen, on another only its silence."""


def judged(what: str, ours: str, value: float, unit: str, bar: float, kind: str = SMALLER, note: str = "") -> Row:
    """One number and its goal: at most, or with FASTER at least."""
    met = value >= bar if kind == FASTER else value <= bar
    return Row(what, ours, unit=unit, ours_median=value, kind=kind, bar=bar, bar_unit=unit, met=met, note=note)


@dataclasses.dataclass
class Place:
    """A temporary folder and, if it is needed, a PostgreSQL server."""

    folder: Path
    database: Postgres | None

    def store(self, name: str) -> str:
        """The address of a new store."""
        return self.database.database(name) if self.database else f"sqlite:///{self.folder}/{name}.db"

    def copy(self, name: str, other: str) -> str:
        """The address of a copy of a store that nobody uses."""
        if self.database:
            self.database.sql(f'CREATE DATABASE "{other}" TEMPLATE "{name}"')
            return self.database.url.replace("/postgres", f"/{other}")
        shutil.copy(self.folder / f"{name}.db", self.folder / f"{other}.db")
        return f"sqlite:///{self.folder}/{other}.db"

    def __enter__(self) -> "Place":
        return self

    def __exit__(self, *_: object) -> None:
        if self.database:
            self.database.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def place(store: str = "sqlite") -> Place:
    """A place for stores of this kind."""
    return Place(Path(tempfile.mkdtemp(prefix="rosenblatt-bench-")), Postgres() if store == "postgresql" else None)


def missing(store: str) -> Row | None:
    """A row that says that PostgreSQL is not installed."""
    if store == "sqlite" or postgres_programs() is not None:
        return None
    return Row("PostgreSQL", note="PostgreSQL was not found; `apt-get install postgresql` installs it")


@dataclasses.dataclass
class Measured:
    """What clients have done."""

    count: int
    seconds: float
    times: list[float]
    refused: int = 0

    @property
    def rate(self) -> float:
        return self.count / self.seconds


def in_loop(work: Coroutine[Any, Any, Measured]) -> Measured:
    """Run it in the loop that is used by clients who are in a hurry."""
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)


def quantile(times: list[float], q: float) -> float:
    """The quantile of sorted times."""
    return times[min(len(times) - 1, int(q * len(times)))]


# ---- kills ----


def kills(options: Options) -> Iterator[Row]:
    """Kill -9 at random moments under load with all learners; every confirmed event must be in the log, with the same bits.

    In each round two processes serve one model for each learner and setting on a new store. At random moments, also while they
    start or take over, the leader, the standby, the database, or all of them are killed and started again.
    """
    rounds, times = (1, 6) if options.quick else (ROUNDS, KILLS)
    total, lost = 0, ""
    for number, store in enumerate(STORES):
        if nothing := missing(store):
            yield nothing
            continue
        counts: dict[str, int] = {}
        started = time.monotonic()
        for one in range(rounds):
            seed = 100 * number + one
            command = [sys.executable, "-m", "tests.serve.crashes", store, "--times", str(times), "--seed", str(seed)]
            done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                lost = (done.stderr.strip().splitlines() or ["no message"])[-1]
                yield Row(f"{TITLES[store]}, seed {seed}", "kill -9", met=False, note=lost[:300])
                continue
            result = json.loads(done.stdout)
            counts = {name: counts.get(name, 0) + result[name] for name in result}
            counts["learners"] = result["learners"]
        if counts:
            total += counts["kills"]
            minutes = (time.monotonic() - started) / 60
            victims = [name for name in ("leader", "standby", "database", "all") if name in counts]
            yield Row(
                TITLES[store], "kill -9", unit="kills", ours_median=counts["kills"], kind=FASTER,
                note=f"{', '.join(f'{counts[name]} of {name}' for name in victims)}; {counts['learners']} learners and settings, "
                f"{counts['confirmed']:,} confirmed examples, {minutes:.1f} minutes",
            )  # fmt: skip
    yield judged(
        "both stores, nothing lost and the same bits", "kill -9", 0 if lost else total, "kills", 12 if options.quick else 500,
        FASTER,
    )  # fmt: skip


# ---- rates ----


def examples(count: int, features: int = 20, seed: int = 0) -> Iterator[tuple[dict[str, float], str]]:
    """Numeric examples with labels that depend on them."""
    rng = random.Random(seed)
    for _ in range(count):
        x = {f"f{n}": round(rng.gauss(0, 1), 4) for n in range(features)}
        yield x, "yes" if x["f0"] + x["f1"] > x["f2"] else "no"


async def pairs(port: int, seconds: float, connections: int) -> Measured:
    """Predict and reveal on this number of connections for this time."""
    pool = [(json.dumps(x), label) for x, label in examples(2000)]
    measured = Measured(0, 0.0, [])
    number, start = iter(range(1 << 60)), str(random.randrange(1 << 40))
    stop = time.perf_counter() + seconds

    async def timed(connection: Connection, path: bytes, body: str) -> None:
        now = time.perf_counter()
        status, answer = await connection.post(path, body.encode())
        assert status == 200, answer
        measured.times.append(time.perf_counter() - now)

    async def client() -> None:
        connection = await Connection.open(port)
        while time.perf_counter() < stop:
            n = next(number)
            features, label = pool[n % 2000]
            await timed(connection, b"/v1/models/bench/predict", f'{{"id":"{start}-{n}","features":{features}}}')
            await timed(connection, b"/v1/models/bench/reveal", f'{{"id":"{start}-{n}","label":"{label}"}}')
            measured.count += 1
        connection.close()

    began = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(connections)))
    measured.seconds = time.perf_counter() - began
    measured.times.sort()
    return measured


async def steady(port: int, seconds: float, token: str, rate: float = 50.0) -> Measured:
    """Predict and reveal at a fixed rate, whether or not earlier requests are answered: so a standstill delays many requests.

    The time of a pair begins when it was due. A request that is refused with 503, or whose connection is lost, is repeated.
    """
    pool = [(json.dumps(x), label) for x, label in examples(2000)]
    measured, free = Measured(0, 0.0, []), list[Connection]()
    start = str(random.randrange(1 << 40))

    async def ask(path: bytes, body: str, due: float) -> None:
        while True:
            try:
                connection = free.pop() if free else await Connection.open(port, token)
                status, answer = await asyncio.wait_for(connection.post(path, body.encode()), 60.0)
                free.append(connection)
            except OSError:
                status, answer = 503, b"no answer"
            if status == 200:
                measured.times.append(time.perf_counter() - due)
                return
            assert status == 503, answer
            measured.refused += 1
            await asyncio.sleep(0.1)

    async def pair(n: int, due: float) -> None:
        features, label = pool[n % 2000]
        await ask(b"/v1/models/bench/predict", f'{{"id":"{start}-{n}","features":{features}}}', due)
        await ask(b"/v1/models/bench/reveal", f'{{"id":"{start}-{n}","label":"{label}"}}', time.perf_counter())
        measured.count += 1

    began, tasks = time.perf_counter(), list[asyncio.Task[None]]()
    for n in range(int(rate * seconds)):
        due = began + n / rate
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        tasks.append(asyncio.create_task(pair(n, due)))
    await asyncio.gather(*tasks)
    measured.seconds = time.perf_counter() - began
    for connection in free:
        connection.close()
    measured.times.sort()
    return measured


async def batches(port: int, seconds: float, connections: int, size: int = 1000) -> Measured:
    """Learn batches as JSON lines for this time."""
    pool = [json.dumps({"features": x, "label": label}) for x, label in examples(5 * size)]
    bodies = ["\n".join(pool[k * size : (k + 1) * size]).encode() for k in range(5)]
    measured = Measured(0, 0.0, [])
    stop = time.perf_counter() + seconds

    async def client(k: int) -> None:
        connection = await Connection.open(port)
        while time.perf_counter() < stop:
            body = bodies[(k + measured.count // size) % 5]
            status, answer = await connection.post(b"/v1/models/bench/learn", body, b"application/x-ndjson")
            assert status == 200, answer[:300]
            measured.count += size
        connection.close()

    began = time.perf_counter()
    await asyncio.gather(*(client(k) for k in range(connections)))
    measured.seconds = time.perf_counter() - began
    return measured


async def scores(port: int, seconds: float, connections: int) -> Measured:
    """Score examples, one per request, for this time."""
    bodies = [json.dumps({"features": x}).encode() for x, _ in examples(2000)]
    measured = Measured(0, 0.0, [])
    stop = time.perf_counter() + seconds

    async def client(k: int) -> None:
        connection = await Connection.open(port)
        while time.perf_counter() < stop:
            status, answer = await connection.post(b"/v1/models/bench/score", bodies[(k + measured.count) % 2000])
            assert status == 200, answer
            measured.count += 1
        connection.close()

    began = time.perf_counter()
    await asyncio.gather(*(client(k) for k in range(connections)))
    measured.seconds = time.perf_counter() - began
    return measured


def rates(options: Options) -> Iterator[Row]:
    """Pairs of predict and reveal, batches, and scores, alternately, from 32 connections to one process on SQLite."""
    seconds = 1.0 if options.quick else 4.0
    paired, scored, learned = [], [], []
    with place() as here, Server(here.store("rates")) as server:
        server.post("/v1/models/bench", {"algorithm": "perceptron"})
        for work in (pairs, scores, batches):
            in_loop(work(server.port, 1.0, 32))
        for _ in range(options.repeats):
            paired.append(in_loop(pairs(server.port, seconds, 32)))
            scored.append(in_loop(scores(server.port, seconds, 32)))
            learned.append(in_loop(batches(server.port, seconds, 32)))
    rate = statistics.median(one.rate for one in paired)
    middle = 1e3 * statistics.median(quantile(one.times, 0.5) for one in paired)
    yield judged(
        "predict and reveal", "pairs", rate, "pairs/s", 2000, FASTER, f"half of the requests within {middle:.1f} ms"
    )
    worst = statistics.median(quantile(one.times, 0.99) for one in paired)
    yield judged("predict and reveal, 99% of the requests", "pairs", 1e3 * worst, "ms", 25)
    yield judged(
        "JSON lines, 1,000 in a request", "learn", statistics.median(one.rate for one in learned), "examples/s", 100_000, FASTER
    )  # fmt: skip
    ratios = sorted(one.rate / other.rate for one, other in zip(scored, paired, strict=True))
    low, ratio, high = statistics.quantiles(ratios, n=4)
    yield Row(
        "scores without a record", "score", "pairs", unit="/s", ours_median=statistics.median(one.rate for one in scored),
        peer_median=rate, kind=FASTER, ratio=ratio, quartiles=(low, high), bar=3.0, met=ratio >= 3.0,
    )  # fmt: skip


# ---- hostile clients ----


def hostile(options: Options) -> Iterator[Row]:
    """A normal client beside hostile ones of every kind for ten minutes: its times to answer, and the memory of the service.

    The hostile clients send nested JSON, headers without an end, thousands of requests before they read an answer, predictions of
    7 MB that are never revealed, new labels for models with 200,000 features, and bodies that do not end. They read files and
    streams of events slowly or not at all, and hold 2,000 idle connections. They have tokens of their own, or none.
    """
    from rosenblatt.serve.store import Store

    from .hostile import VICTIMS

    seconds = 10.0 if options.quick else 600.0
    with place() as here:
        address = here.store("hostile")
        store = Store(address)
        store.prepare()
        alice, slow = store.add_token("alice", "learn"), store.add_token("slow", "learn")
        mallory, admin = store.add_token("mallory", "learn", examples=True), store.add_token("admin", "admin")
        store.close()
        with Server(address) as server:
            for name, algorithm in {"bench": "perceptron", **VICTIMS}.items():
                assert server.post(f"/v1/models/{name}", {"algorithm": algorithm}, token=admin)[0] == 201
            in_loop(steady(server.port, 1.0, alice))
            quiet = in_loop(steady(server.port, max(5.0, seconds / 20), alice))
            attack = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.hostile", str(server.port), str(seconds)], stdout=subprocess.PIPE, text=True,
                cwd=Path(__file__).parents[1], env={**os.environ, "TOKEN": mallory, "SLOW": slow, "ADMIN": admin},
            )  # fmt: skip
            try:
                beside = in_loop(steady(server.port, seconds, alice))
                output, _ = attack.communicate(timeout=120)
            finally:
                attack.kill()
            memory = int(Path(f"/proc/{server.process.pid}/status").read_text().split("VmHWM:")[1].split()[0]) / 1024
            answers = json.loads(output)
            errors = [
                line for line in server.lines if "Traceback" in line or '"level":"error"' in line.replace(" ", "")
            ]
    worst, before = quantile(beside.times, 0.99), quantile(quiet.times, 0.99)
    ratio = worst / before
    yield Row(
        "99% of the requests of a normal client, 50 pairs per second", "beside hostile clients", "alone",
        ours_median=worst, peer_median=before,
        kind=SMALLER, ratio=ratio, quartiles=(ratio, ratio), bar=5.0, met=ratio <= 5.0,
        note=f"{beside.count:,} pairs in {beside.seconds:.0f} seconds, the slowest request {beside.times[-1]:.2f} s; "
        f"{beside.refused} requests got 503 or no answer and were repeated",
    )  # fmt: skip
    yield judged("most memory of the service", "beside hostile clients", memory, "MB", 600)
    wrong = sum(count for status, count in answers.items() if status.startswith("5") and status != "503")
    yield judged(
        "answers with 5xx other than 503", "hostile clients", wrong, "answers", 0,
        note=", ".join(f"{count} times {status}" for status, count in answers.items()),
    )  # fmt: skip
    if errors:
        yield Row(
            "the log of the service has errors", met=False, note=f"{len(errors)}, the first: {errors[0].strip()[:300]}"
        )


# ---- restart, memory ----


def ready_again(store: str, facts: dict[str, Any], times: int) -> list[float]:
    """Seconds from the start of a process until it accepts events, with the same counts as before; each is killed."""
    seconds = []
    for _ in range(times):
        with Server(store) as again:
            seconds.append(again.ready)
            after = again.get("/v1/models/bench")[1]
            assert {**after, "snapshot": 0} == {**facts, "snapshot": 0}, (facts, after)
            again.kill()
    return seconds


def restart(options: Options) -> Iterator[Row]:
    """Learn a million examples in batches on SQLite, kill -9, and start again; the time includes that of the imports."""
    count = options.size(1_000_000)
    with place() as here, Server(here.store("restart")) as server:
        server.post("/v1/models/bench", {"algorithm": "perceptron"})
        while (facts := server.get("/v1/models/bench")[1])["examples"] < count:
            in_loop(batches(server.port, 0.5, 8))
        server.kill()
        seconds = ready_again(server.store, facts, 3)
    yield judged(
        f"ready again after {count:,} examples in batches", "the slowest of 3 starts", max(seconds), "s", 3.0,
        note=f"{facts['sequence'] - facts['snapshot']} events after the last snapshot",
    )  # fmt: skip


def endurance(options: Options) -> Iterator[Row]:
    """Memory during a million events of single pairs on SQLite; then kill -9 and start again."""
    count = options.size(1_000_000)
    memory = []
    with place() as here, Server(here.store("endurance")) as server:
        server.post("/v1/models/bench", {"algorithm": "perceptron"})
        for step in range(1, 11):
            while (have := server.get("/v1/models/bench")[1]["sequence"]) < count * step // 10:
                in_loop(pairs(server.port, min(60.0, max(0.5, (count * step // 10 - have) / 6000)), 64))
            status = Path(f"/proc/{server.process.pid}/status").read_text()
            memory.append(int(status.split("VmRSS:")[1].split()[0]) // 1024)
        facts = server.get("/v1/models/bench")[1]
        server.kill()
        seconds = ready_again(server.store, facts, 3)
    after = ", ".join(map(str, memory))
    yield judged(
        "growth of memory from three tenths of the events to all", "single pairs", memory[-1] - memory[2], "MB", 50,
        note=f"{facts['sequence']:,} events; {after} MB after each tenth",
    )  # fmt: skip
    yield judged(f"ready again after {count:,} single events", "the slowest of 3 starts", max(seconds), "s", 3.0)


# ---- failover ----


def failover(options: Options) -> Iterator[Row]:
    """The time until a standby accepts events when the leader fails, also while both read a log for ten seconds.

    The leader is killed, which processes on the same machine notice, or frozen, which looks like another machine that cannot be
    reached any more. While the log is read, the time begins when the standby has read it, if that is later.
    """
    repeats = 1 if options.quick else 5
    for store in STORES:
        if nothing := missing(store):
            yield nothing
            continue
        with place(store) as here:
            for how, (word, bar) in FAILOVERS.items():
                times = [_over(here.store(f"f{how}.{n}"), how) for n in range(repeats)]
                yield judged(f"{TITLES[store]}: leader {word}", f"the slowest of {repeats}", max(times), "s", bar)
            alone = _long_log(here.store("long"), 5.0 if options.quick else 10.0)
            for how, (word, bar) in FAILOVERS.items():
                seconds, whole = _over_while_reading(here.copy("long", f"long{how}"), how)
                what = f"{TITLES[store]}: leader {word} while both read a long log"
                yield judged(
                    what,
                    "one failover",
                    seconds,
                    "s",
                    bar,
                    note=f"{whole:.1f} s from the failure; one process alone reads the log in {alone:.1f} s",
                )
            yield _both_at_once(here.copy("long", "once"), store, alone)


def _until(done: Callable[[], Any], seconds: float = 120.0) -> float:
    """The time when this has become true."""
    until = time.monotonic() + seconds
    while not done():
        if time.monotonic() > until:
            raise TimeoutError("no process has become ready")
        time.sleep(0.005)
    return time.monotonic()


def _fail(server: Server, how: signal.Signals) -> float:
    """Kill or freeze a process; return the time."""
    server.process.send_signal(how)
    failed = time.monotonic()
    if how == signal.SIGKILL:
        server.process.wait()  # otherwise its number is still that of a process
    return failed


def _over(store: str, how: signal.Signals) -> float:
    """Seconds from the failure of the leader until the standby accepts events."""
    with Server(store) as first, Server(store, wait="standby") as second:
        first.post("/v1/models/bench", {"algorithm": "perceptron"})
        first.post("/v1/models/bench/learn", {"features": {"x": 1}, "label": "a"})
        _until(lambda: second.get("/v1/models/bench")[0] == 200)
        time.sleep(random.uniform(0.5, 1.0))
        failed = _fail(first, how)
        seconds = _until(lambda: second.state() == "ready") - failed
        assert second.get("/v1/models/bench")[1]["examples"] == 1
        return seconds


def _long_log(store: str, seconds: float) -> float:
    """Make a log that takes so many seconds to read, without a snapshot; return the time that it takes."""
    from rosenblatt.serve.events import Limits
    from rosenblatt.serve.learner import Served
    from rosenblatt.serve.snapshots import read_model
    from rosenblatt.serve.store import Store

    log = Store(store)
    log.prepare()
    log.acquire(5.0)
    served = Served(1, "bench", "perceptron", {}, 1.0)
    log.append([served.creation()], [], [(1, "bench")])
    requests = [
        ({"features": x, "label": y}, json.dumps({"features": x, "label": y}).encode()) for x, y in examples(1000)
    ]
    taken, written = 0.0, 0
    while taken < seconds:
        for _ in range(math.ceil(written * (seconds / taken - 1)) if written else 10):
            log.append([event for request in requests for event in served.learn([request], 2.0, Limits())[0]])
            written += 1
        began = time.perf_counter()
        read_model(log, 1, Limits(), use_snapshot=False)
        taken = time.perf_counter() - began
    log.release()
    log.close()
    return taken


def _over_while_reading(store: str, how: signal.Signals) -> tuple[float, float]:
    """Seconds until the other process accepts events: since it has read the log, if that is later, and since the failure."""
    with Server(store, wait=None) as first:
        _until(lambda: first.port)
        time.sleep(0.3)  # it has the lease
        with Server(store, wait="standby") as second:
            assert first.state() not in ("ready", "standby"), f"the first process is {first.state()}, not reading"
            failed = _fail(first, how)
            read = _until(lambda: second.state() == "ready" or second.get("/readyz/reads")[0] == 200)
            ready = _until(lambda: second.state() == "ready")
            if how == signal.SIGSTOP:
                first.process.send_signal(signal.SIGCONT)
                _until(lambda: first.state() == "standby")
                time.sleep(1.0)
                assert second.state() == "ready", "the frozen process took the lease back"
            return ready - max(failed, min(read, ready)), ready - failed


def _both_at_once(store: str, title: str, alone: float) -> Row:
    """Start two processes together: one becomes ready, and stays so."""
    with Server(store, wait=None) as first, Server(store, wait=None) as second:
        both = (first, second)
        _until(lambda: "ready" in [server.state() for server in both])
        time.sleep(alone)
        ready = sum('"message":"ready"' in line for server in both for line in server.lines)
        states = sorted(str(server.state()) for server in both)
    return judged(
        f"{TITLES[title]}: two processes begin to read a long log at the same time", "takeovers after the first", ready - 1,
        "takeovers", 0, note=f"afterwards {states[0]} and {states[1]}",
    )  # fmt: skip


BENCHMARKS = {
    "service-kills": kills,
    "service-hostile": hostile,
    "service-rates": rates,
    "service-restart": restart,
    "service-failover": failover,
    "service-endurance": endurance,
}
