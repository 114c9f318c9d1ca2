"""Rates of the store of the service with a large log: write, restart, back up, restore, check, and remove events.

    python benchmarks/store_rates.py [--megabytes 500] [--store postgresql://…/empty]

The results are in docs/large_logs.md. Two shapes of logs are measured: one example in each event, and 250 in each.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

import orjson

from rosenblatt.model_file import container
from rosenblatt.serve import audit, copies
from rosenblatt.serve.events import Limits
from rosenblatt.serve.learner import Served
from rosenblatt.serve.retention import MOST_REMOVED, PIECE, Removal
from rosenblatt.serve.snapshots import copy, read_model
from rosenblatt.serve.store import Snapshot, Store

WORDS = [f"word{n}" for n in range(5000)]


def requests(start, count):
    """Examples with twelve words each, about 170 bytes."""
    for n in range(start, start + count):
        words = [WORDS[(n * 7919 + k * k * 104729) % 5000] for k in range(12)]
        request = {"features": {"words": words, "length": n % 97}, "label": "spam" if n % 3 else "ham"}
        yield request, orjson.dumps(request)


def measured(work):
    """Result and seconds."""
    started = time.perf_counter()
    return work(), time.perf_counter() - started


def main():
    """Measure and print JSON lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=500)
    parser.add_argument("--store")
    options = parser.parse_args()
    for batch in (1, 250):
        with tempfile.TemporaryDirectory(dir=".") as folder:
            print(json.dumps(run(options.store or f"sqlite:///{folder}/log.db", folder, options.megabytes, batch)))


def run(url, folder, megabytes, batch):
    """Rates of one shape, in MB of events per second."""
    store = Store(url)
    store.prepare()
    store.acquire(5.0)
    served = Served(1, "m", "perceptron", {}, 1.0)
    store.append([served.creation()], [], [(1, "m")])
    written, at, spent, examples = 0, 0, 0.0, 0
    while written < megabytes * 1e6:
        group = []
        for _ in range(max(1, 2500 // batch)):
            group += served.learn(list(requests(at, batch)), 2.0 + at, Limits())[0]
            at += batch
        spent += measured(lambda group=group: store.append(group))[1]
        written += sum(len(event.payload) for event in group)
    examples = at
    mark, data = copy(served).mark, container.to_bytes(*copy(served).packed())
    mb = written / 1e6
    facts = {"batch": batch, "MB": round(mb), "events": served.sequence, "examples": examples, "write": mb / spent}
    facts["replay"] = mb / measured(lambda: read_model(store, 1, Limits(), use_snapshot=False))[1]
    facts["replay_examples"] = facts["replay"] * examples / mb
    store.append([], [Snapshot(1, mark.sequence, data, mark.time, mark.bytes)])
    facts["restart_seconds"] = measured(lambda: read_model(store, 1, Limits()))[1]
    reading = Store(url)
    facts["backup"] = mb / measured(lambda: copies.backup(reading, f"{folder}/b"))[1]
    reading.close()
    size = Path(f"{folder}/b").stat().st_size
    facts["file_per_byte"] = size / written
    source, target = Store(f"{folder}/b"), Store(f"sqlite:///{folder}/r.db")
    facts["restore"] = mb / measured(lambda: copies.restore(source, target))[1]
    checking = Store(f"{folder}/r.db")
    (result,), seconds = measured(lambda: list(audit.check(checking)))
    assert not result.problems
    facts["check"] = mb / seconds
    checking.close()
    source.close()
    started, after, slowest = time.perf_counter(), 0, 0.0
    rows = max(10, min(MOST_REMOVED, PIECE * mark.sequence // mark.bytes))
    while after < mark.sequence:
        slowest = max(slowest, measured(lambda after=after: store.cut(Removal(1, after, mark.sequence, rows)))[1])
        after += rows
    facts["remove"] = mb / (time.perf_counter() - started)
    facts["slowest_removal_ms"] = 1000 * slowest
    store.close()
    return {name: round(value, 3) if type(value) is float else value for name, value in facts.items()}


if __name__ == "__main__":
    main()
