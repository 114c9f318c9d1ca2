"""Speed and crash safety of the service: `python -m benchmarks.service pairs|batches|endurance|kill`.

All traffic stays on 127.0.0.1 and is limited in time or count. Results are printed as JSON; with --keep the last one of each kind
is saved in service.json of this kind of machine in benchmarks/results, which `python -m benchmarks page` reads.
"""

import argparse
import asyncio
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
    parser.add_argument("what", choices=["pairs", "batches", "endurance", "kill"])
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
        if arguments.what == "kill":
            from tests.serve.crashes import crash_loop

            result = crash_loop(store, arguments.times)
        else:
            with Server(store) as server:
                measure = {"pairs": measure_pairs, "batches": measure_batches, "endurance": measure_endurance}
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
