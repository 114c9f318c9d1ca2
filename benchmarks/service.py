"""Speed and safety of the service: `python -m benchmarks.service pairs|batches|scores|restart|endurance|hostile|kill|mixed`.

`kill` kills the only process, `mixed` the leader, the standby and the database in turn; with `--algorithm every` both do so for
every learner that the service offers. `hostile` runs a normal client beside hostile ones.

All traffic stays on 127.0.0.1 and is limited in time or count. Results are printed as JSON; with --keep the last one of each kind
is saved in service.json of this kind of machine in benchmarks/results, which `python -m benchmarks page` reads.
"""

import argparse
import asyncio
import contextlib
import json
import random
import resource
import shutil
import tempfile
import time
from pathlib import Path

from tests.serve.processes import Connection, Postgres, Server

from . import machines
from .harness import Options, environment


def examples(count, features=20, seed=0):
    """Numeric examples with labels that depend on them."""
    rng = random.Random(seed)
    for _ in range(count):
        x = {f"f{n}": round(rng.gauss(0, 1), 4) for n in range(features)}
        yield x, "yes" if x["f0"] + x["f1"] > x["f2"] else "no"


async def pairs(port, seconds, connections, model=b"bench"):
    """Predict and reveal on this number of connections for this time; return the times of all requests."""
    pool = [(json.dumps(x), label) for x, label in examples(2000)]
    times, done, number = [], 0, iter(range(1 << 60))
    stop = time.perf_counter() + seconds
    start = str(random.randrange(1 << 40))

    async def client():
        nonlocal done
        connection = await Connection.open(port)
        predict, reveal = b"/v1/models/%s/predict" % model, b"/v1/models/%s/reveal" % model
        while (now := time.perf_counter()) < stop:
            n = next(number)
            features, label = pool[n % 2000]
            status, body = await connection.post(predict, f'{{"id":"{start}-{n}","features":{features}}}'.encode())
            assert status == 200, body
            middle = time.perf_counter()
            status, body = await connection.post(reveal, f'{{"id":"{start}-{n}","label":"{label}"}}'.encode())
            assert status == 200, body
            times.append(middle - now)
            times.append(time.perf_counter() - middle)
            done += 1
        connection.close()

    began = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(connections)))
    return done, time.perf_counter() - began, sorted(times)


async def batches(port, seconds, connections, model=b"bench", size=1000):
    """Learn batches as JSON lines for this time."""
    pool = [json.dumps({"features": x, "label": label}) for x, label in examples(5 * size)]
    bodies = ["\n".join(pool[k * size : (k + 1) * size]).encode() for k in range(5)]
    stop, done = time.perf_counter() + seconds, 0

    async def client(k):
        nonlocal done
        connection = await Connection.open(port)
        while time.perf_counter() < stop:
            status, body = await connection.post(
                b"/v1/models/%s/learn" % model, bodies[(k + done) % 5], b"application/x-ndjson"
            )
            assert status == 200, body[:300]
            done += 1
        connection.close()

    began = time.perf_counter()
    await asyncio.gather(*(client(k) for k in range(connections)))
    return done * size, time.perf_counter() - began


def run(coroutine):
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(coroutine)


def quantile(times, q):
    return times[min(len(times) - 1, int(q * len(times)))]


def measure_pairs(server, arguments):
    server.post("/v1/models/bench", {"algorithm": arguments.algorithm})
    run(pairs(server.port, 1.0, arguments.connections))
    before = server.cpu()
    count, seconds, times = run(pairs(server.port, arguments.seconds, arguments.connections))
    return {
        "server_cpu_us_per_pair": round(1e6 * (server.cpu() - before) / count),
        "pairs_per_second": round(count / seconds), "p50_ms": round(1e3 * quantile(times, 0.5), 2),
        "p99_ms": round(1e3 * quantile(times, 0.99), 2), "max_ms": round(1e3 * times[-1], 1), "pairs": count,
    }  # fmt: skip


def measure_batches(server, arguments):
    server.post("/v1/models/bench", {"algorithm": arguments.algorithm})
    run(batches(server.port, 1.0, arguments.connections))
    before = server.cpu()
    count, seconds = run(batches(server.port, arguments.seconds, arguments.connections))
    return {
        "server_cpu_us_per_example": round(1e6 * (server.cpu() - before) / count, 2),
        "examples_per_second": round(count / seconds),
        "examples": count,
    }


async def scores(port, seconds, connections, model=b"bench"):
    """Score examples, one per request, for this time."""
    bodies = [json.dumps({"features": x}).encode() for x, _ in examples(2000)]
    times, stop = [], time.perf_counter() + seconds

    async def client(k):
        connection = await Connection.open(port)
        while (now := time.perf_counter()) < stop:
            status, body = await connection.post(b"/v1/models/%s/score" % model, bodies[(k + len(times)) % 2000])
            assert status == 200, body
            times.append(time.perf_counter() - now)
        connection.close()

    began = time.perf_counter()
    await asyncio.gather(*(client(k) for k in range(connections)))
    return len(times), time.perf_counter() - began, sorted(times)


def measure_scores(server, arguments):
    """Scores of a model that has learned; the same clients as for pairs."""
    server.post("/v1/models/bench", {"algorithm": arguments.algorithm})
    run(batches(server.port, 1.0, 4))
    run(scores(server.port, 1.0, arguments.connections))
    before = server.cpu()
    count, seconds, times = run(scores(server.port, arguments.seconds, arguments.connections))
    return {
        "server_cpu_us_per_score": round(1e6 * (server.cpu() - before) / count), "scores_per_second": round(count / seconds),
        "p50_ms": round(1e3 * quantile(times, 0.5), 2), "p99_ms": round(1e3 * quantile(times, 0.99), 2), "scores": count,
    }  # fmt: skip


def measure_restart(server, arguments):
    """Learn in batches, kill -9, and measure the time until the service is ready again."""
    server.post("/v1/models/bench", {"algorithm": arguments.algorithm})
    began = time.perf_counter()
    while (facts := server.get("/v1/models/bench")[1])["examples"] < arguments.events:
        run(batches(server.port, 1.0, 8))
    seconds = time.perf_counter() - began
    server.kill()
    with Server(server.store) as again:
        after = again.get("/v1/models/bench")[1]
        assert after["examples"] == facts["examples"]
        read = [json.loads(line) for line in again.lines if '"message":"read"' in line.replace(" ", "")]
        return {
            "examples": facts["examples"], "seconds_to_learn": round(seconds, 1),
            "after_snapshot": facts["sequence"] - facts["snapshot"],
            "seconds_to_ready": round(again.ready, 2), "of_these_to_read": read[-1]["seconds"] if read else None,
        }  # fmt: skip


def measure_hostile(server, arguments):
    """The latency of a normal client alone, and beside hostile clients of every kind; the memory of the service."""
    server.post("/v1/models/bench", {"algorithm": arguments.algorithm})
    server.post("/v1/models/victim", {"algorithm": "perceptron"})
    names = {f"a long name of a feature {n}": 1 for n in range(10_000)}
    for label in ("a", "b"):
        server.post("/v1/models/victim/learn", {"features": names, "label": label})
    _, _, quiet = run(pairs(server.port, 5.0, 2))
    statuses, most = run(_beside(server, arguments.seconds))
    times = statuses.pop("times")
    return {
        "quiet_p99_ms": round(1e3 * quantile(quiet, 0.99), 2), "p99_ms": round(1e3 * quantile(times, 0.99), 2),
        "megabytes": most, "answers": dict(sorted(statuses.items())), "seconds": arguments.seconds,
    }  # fmt: skip


async def _beside(server, seconds):
    stop, statuses, most = time.perf_counter() + seconds, {}, 0
    loop, port = asyncio.get_running_loop(), server.port

    async def posts(path, bodies, kind=b"application/json", pause=0.0):
        while time.perf_counter() < stop:
            try:
                connection = await Connection.open(port)
                for body in bodies:
                    status, _ = await connection.post(path, body, kind)
                    statuses[status] = statuses.get(status, 0) + 1
                    await asyncio.sleep(pause)
                    if time.perf_counter() > stop:
                        break
                connection.close()
            except (OSError, ValueError, RuntimeError):
                statuses["closed"] = statuses.get("closed", 0) + 1
                await asyncio.sleep(0.05)

    async def raw(start, more):
        while time.perf_counter() < stop:
            with contextlib.suppress(OSError, RuntimeError):
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(start)
                for _ in range(100):
                    writer.write(more)
                    await asyncio.wait_for(writer.drain(), 5)
                writer.close()
            await asyncio.sleep(0.01)

    async def slow_reader():
        while time.perf_counter() < stop:
            with contextlib.suppress(OSError, RuntimeError):
                _, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
                writer.write(b"GET /v1/models/victim/model HTTP/1.1\r\nHost: localhost\r\n\r\n")
                await asyncio.sleep(min(20.0, max(0.0, stop - time.perf_counter())))
                writer.close()

    async def idle():
        writers = []
        for _ in range(2000):
            with contextlib.suppress(OSError, RuntimeError):
                writers.append((await asyncio.open_connection("127.0.0.1", port))[1])
        await asyncio.sleep(max(0.0, stop - time.perf_counter()))
        for writer in writers:
            writer.close()

    async def watch():
        nonlocal most
        while time.perf_counter() < stop:
            status = await loop.run_in_executor(None, Path(f"/proc/{server.process.pid}/status").read_text)
            most = max(most, int(status.split("VmRSS:")[1].split()[0]) // 1024)
            await asyncio.sleep(0.2)

    deep = b'{"features":{"x":%s},"label":"a"}' % (b"[" * 1000 + b"]" * 1000)
    padded = [b'{%s"features":{"x":1}}' % (b" " * (7 << 20))]
    labels = [b"\n".join(b'{"features":{"x":1},"label":"%d.%d"}' % (n, k) for k in range(1000)) for n in range(1000)]
    hostile = [
        posts(b"/v1/models/victim/learn", [deep] * 100, pause=0.01),
        posts(b"/v1/models/victim/predict", [b'{"features":{"x":1}}\n' + deep], b"application/x-ndjson", 0.01),
        posts(b"/v1/models/victim/predict", padded, pause=0.05),
        posts(b"/v1/models/victim/learn", labels, b"application/x-ndjson", 0.05),
        raw(b"GET /healthz HTTP/1.1\r\nX: ", b"x" * 65536),
        raw(b"GET /healthz HTTP/1.1\r\n", b"X: 1\r\n" * 8000),
        *(slow_reader() for _ in range(20)),
        idle(), watch(),
    ]  # fmt: skip
    tasks = [asyncio.create_task(work) for work in hostile]
    await asyncio.sleep(1.0)
    _, _, statuses["times"] = await pairs(port, max(1.0, seconds - 2.0), 2)
    await asyncio.gather(*tasks)
    return statuses, most


def kills(what, arguments, folder, database):
    """Kill processes for one learner, or for every learner that the service offers."""
    from tests.serve.crashes import crash_loop, mixed_kills
    from tests.serve.test_operations import offered

    every = arguments.algorithm == "every"
    algorithms = sorted({name for name, _ in offered()}) if every else [arguments.algorithm]
    results = {}
    for number, algorithm in enumerate(algorithms):
        times = -(-arguments.times // len(algorithms))
        store = database.database(f"kill{number}") if database else f"sqlite:///{folder}/kill{number}.db"
        if what == "kill":
            results[algorithm] = crash_loop(store, times, seed=number, algorithm=algorithm)
        else:
            results[algorithm] = mixed_kills(store, times, database, seed=number, algorithm=algorithm)
    return {"learners": results} if every else results[arguments.algorithm]


def fill(server, events):
    """Fill the log with single events over many connections."""
    while (have := server.get("/v1/models/bench")[1]["sequence"]) < events:
        rate = 2000.0
        run(pairs(server.port, min(60.0, max(1.0, (events - have) / 2 / rate)), 64))


def measure_endurance(server, arguments):
    """Memory during many pairs; then kill -9, and the time until the service is ready again."""
    server.post("/v1/models/bench", {"algorithm": arguments.algorithm})
    memory = []
    for step in range(1, 11):
        fill(server, arguments.events * step // 10)
        status = Path(f"/proc/{server.process.pid}/status").read_text()
        megabytes = int(status.split("VmRSS:")[1].split()[0]) // 1024
        memory.append((server.get("/v1/models/bench")[1]["sequence"], megabytes))
    facts = server.get("/v1/models/bench")[1]
    server.kill()
    times = []
    for _ in range(3):
        with Server(server.store) as again:
            times.append(round(again.ready, 2))
            after = again.get("/v1/models/bench")[1]
            assert {**after, "snapshot": 0} == {**facts, "snapshot": 0}, (facts, after)
            again.kill()
    return {
        "events_and_megabytes": memory, "events": facts["sequence"], "after_snapshot": facts["sequence"] - facts["snapshot"],
        "seconds_to_ready": times,
    }  # fmt: skip


def keep(name, result):
    """Save a result next to those of other measurements."""
    setting = environment(Options(1, False, None))
    setting["command"] = setting["command"].replace("benchmarks", "benchmarks.service", 1)
    file = machines.folder() / "service.json"
    kept = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    facts = {key: setting[key] for key in ("command", "made", "machine", "commit")}
    kept[name] = {**facts, "versions": {"python": setting["versions"]["python"]}, "result": result}
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def main():
    """Run one measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "what", choices=["pairs", "batches", "scores", "restart", "endurance", "hostile", "kill", "mixed"]
    )
    parser.add_argument("--store", choices=["sqlite", "postgresql"], default="sqlite")
    parser.add_argument("--algorithm", default="perceptron")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--keep", action="store_true", help="save the result in benchmarks/results")
    parser.add_argument("--folder", help="folder of the SQLite file; by default a temporary one")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="rosenblatt-bench-", dir=arguments.folder))
    database = Postgres() if arguments.store == "postgresql" else None
    store = database.url if database else f"sqlite:///{folder}/log.db"
    try:
        if arguments.what in ("kill", "mixed"):
            result = kills(arguments.what, arguments, folder, database)
        else:
            with Server(store) as server:
                measure = {
                    "pairs": measure_pairs, "batches": measure_batches, "scores": measure_scores, "restart": measure_restart,
                    "endurance": measure_endurance, "hostile": measure_hostile,
                }  # fmt: skip
                result = measure[arguments.what](server, arguments)
        usage = resource.getrusage(resource.RUSAGE_SELF)
        result["client_cpu_seconds"] = round(usage.ru_utime + usage.ru_stime, 2)
        print(json.dumps({"what": arguments.what, "store": arguments.store, **result}))
        if arguments.keep:
            keep(f"{arguments.what}, {arguments.store}", result)
    finally:
        if database:
            database.close()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
