"""Benchmarks of training on a cluster: a group of `python -m benchmarks`.

All run on real clusters of processes on this machine with one thread each, except for the simulation, which is computed from
rates measured here and stated properties of a network.
"""

import collections
import contextlib
import dataclasses
import functools
import gzip
import itertools
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import rosenblatt
import rosenblatt.dask as cluster_learners
from rosenblatt.dask._sources import MOST, SHARD_BYTES

from . import data as made_up
from .harness import SMALLER, Options, Row, measure

NONZEROS, FEATURES, SHARDS = 75, 1_000_000, 64
FEWER_FEATURES = 50_000
"""The same as in the other benchmarks of text."""
FILES = 8


# ---- data ----


def rows_of(seed: int, rows: int, features: int = FEATURES) -> Any:
    """Sparse rows with frequent and rare features, and labels with about 10% noise; the same rule for every seed."""
    rng = np.random.default_rng(seed)
    indices = np.sort((features * rng.random((rows, NONZEROS)) ** 2).astype(np.int32), axis=1)
    steps = np.arange(NONZEROS, dtype=np.int32)
    indices = np.minimum(np.maximum.accumulate(indices - steps, axis=1) + steps, features - NONZEROS + steps)
    values = rng.integers(5000, 15000, (rows, NONZEROS)) / 10000.0
    truth = np.random.default_rng(12345).standard_normal(features)
    scores = np.einsum("ij,ij->i", values, truth[indices])
    y = (scores + 0.3 * scores.std() * rng.standard_normal(rows) > 0).astype(np.int64)
    return indices, values, y


def write_file(path: str, seed: int, rows: int, features: int = FEATURES) -> int:
    """Write the rows of `rows_of` as svmlight text; a task."""
    names = [f"{j}:" for j in range(1, features + 1)]
    numbers = [f"{v / 10000:.4f}" for v in range(20000)]
    with Path(path).open("w") as file:
        for start in range(0, rows, 20_000):
            indices, values, y = rows_of(seed * 1000 + start // 20_000, min(20_000, rows - start), features)
            places = np.rint(values * 10000).astype(np.int64)
            for label, columns, numerals in zip(y.tolist(), indices.tolist(), places.tolist()):
                words = " ".join([names[j] + numbers[v] for j, v in zip(columns, numerals)])
                file.write(f"{2 * label - 1} {words}\n")
    return Path(path).stat().st_size


def text_files(client: Any, options: Options, folder: Path, features: int) -> list[str]:
    """Eight files of 2 GB in total."""
    rows = options.size(2000 * (1015 if features == FEATURES else 1090)) // FILES
    names = [str(folder / f"rows-{k}.svm") for k in range(FILES)]
    client.gather([client.submit(write_file, name, k, rows, features, pure=False) for k, name in enumerate(names)])
    return names


def in_memory(seed: int, rows: int) -> Any:
    """The rows of `rows_of` as a CSR matrix; a task."""
    from scipy.sparse import csr_array

    indices, values, y = rows_of(seed, rows)
    boundaries = np.arange(0, rows * NONZEROS + 1, NONZEROS, dtype=np.int64)
    return csr_array((values.ravel(), indices.ravel(), boundaries), shape=(rows, FEATURES)), y


def digits(folder: Path, part: str) -> Any:
    images, labels = (folder / "mnist" / f"{part}-{name}-ubyte.gz" for name in ("images-idx3", "labels-idx1"))
    pixels = np.frombuffer(gzip.decompress(images.read_bytes()), np.uint8, offset=16).reshape(-1, 784) / 255.0
    return pixels, np.frombuffer(gzip.decompress(labels.read_bytes()), np.uint8, offset=8).astype(np.int64)


# ---- clusters ----


def workers(count: int) -> Any:
    return cluster_learners.connected(f"local:{count}")


def timed_epochs(client: Any, X: Any, epochs: int, **options: Any) -> Any:
    """A perceptron after this number of epochs; the first, which may compile, is not counted."""
    return cluster_learners.train(rosenblatt.Perceptron(max_iter=epochs, tol=None), X, client=client, **options)


def seconds_of(model: Any) -> list[float]:
    return [epoch["seconds"] for epoch in model.history_[1:]]


def memory_of_worker(dask_worker: Any) -> tuple[int, int]:
    """Peak resident memory of a worker, and the size of its shards; runs on the worker."""
    import sys

    status = Path("/proc/self/status").read_text(encoding="utf-8")
    peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
    held = dask_worker.data
    return peak * 1024, sum(sys.getsizeof(held[key]) for key in list(held) if str(key).startswith("shard-"))


# ---- benchmarks ----


class Turns:
    """Let threads continue one after the other, in rounds."""

    def __init__(self, count: int) -> None:
        self._order = collections.deque(range(count))
        self._changed = threading.Condition()

    def await_mine(self, me: int) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._order[0] == me)

    def pass_on(self, me: int, last: bool = False) -> None:
        with self._changed:
            if last:
                self._order.remove(me)
            else:
                self._order.rotate(-1)
            self._changed.notify_all()


def in_turns(runs: Sequence[tuple[Any, list[str]]], epochs: int, on_epoch: Callable[[int, int], None]) -> list[Any]:
    """Train on several clusters, each with its files, alternating after each epoch; return the models.

    `on_epoch` is called with the index of a cluster and its number of epochs so far, before the next cluster continues.
    """
    turns = Turns(len(runs))

    def train(me: int) -> Any:
        def ended(run: Any) -> None:
            on_epoch(me, len(run.done))
            turns.pass_on(me)
            turns.await_mine(me)

        client, names = runs[me]
        turns.await_mine(me)
        try:
            return timed_epochs(client, names, epochs, on_epoch=ended)
        finally:
            turns.pass_on(me, last=True)

    with ThreadPoolExecutor(len(runs)) as pool:
        return list(pool.map(train, range(len(runs))))


def spin(count: int) -> float:
    """Seconds for a loop that uses almost no memory; a task."""
    began = time.perf_counter()
    total = 0
    for number in range(count):
        total += number
    return time.perf_counter() - began


def spin_everywhere(client: Any) -> float:
    """Run loops on all workers at the same time; return the time of a loop divided by the number of workers."""
    addresses = list(client.nthreads())
    tasks = [client.submit(spin, 5_000_000, workers=[address], pure=False) for address in addresses]
    return max(client.gather(tasks)) / len(addresses)


def speedup(options: Options) -> Iterator[Row]:
    """2 workers of one thread compared with 1 worker of one thread: seconds for an epoch over 2 GB of svmlight text.

    Once with the features of the other benchmarks of text, and once with a million, whose weights take 8 MB per worker: more than
    the private cache of a core, so that the two workers also compete for the shared cache.

    Files are split into the default number of shards. All four clusters alternate, epoch by epoch, for several minutes, because
    other load on the same processor changes within a minute.
    """
    sets = (FEWER_FEATURES, FEATURES)
    epochs = 4 if options.quick else 61
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rosenblatt-bench-")))
        files = []
        with workers(2) as client:  # not the workers whose memory is measured
            for features in sets:
                (folder / str(features)).mkdir()
                files.append(text_files(client, options, folder / str(features), features))
        clients = [stack.enter_context(workers(count)) for _ in sets for count in (1, 2)]
        memory: list[dict[str, tuple[int, int]]] = [{} for _ in clients]
        spins: list[float] = []

        def on_epoch(which: int, done: int) -> None:
            memory[which].update(clients[which].run(memory_of_worker))
            if which == len(clients) - 1 and done > 1:
                spins.append(spin_everywhere(clients[0]) / spin_everywhere(clients[1]))

        models = in_turns([(client, files[number // 2]) for number, client in enumerate(clients)], epochs, on_epoch)
        sizes = [sum(Path(name).stat().st_size for name in names) for names in files]
    for number, features in enumerate(sets):
        one, two = 2 * number, 2 * number + 1
        shards = len(models[one].history_[0]["shard_mistakes"])
        what = f"{sizes[number] / 1e9:.2f} GB of svmlight text, {shards} shards, {features:,} features"
        yield from _speedup(what, models[one], models[two], list(memory[two].values()))
    yield Row(
        "for comparison: a loop in Python that hardly touches memory", "2 workers at once", "1 worker",
        ratio=float(np.median(spins)), quartiles=tuple(np.percentile(spins, (25, 75)).tolist()), ours_all=spins,
        note="the limit of this machine in the same minutes: 2 without other load on its cores",
    )  # fmt: skip


def _speedup(what: str, one: Any, two: Any, peaks: list[tuple[int, int]]) -> Iterator[Row]:
    alone, shared = seconds_of(one), seconds_of(two)
    learning = [[epoch["compute_seconds"] for epoch in model.history_[1:]] for model in (one, two)]
    overheads = [1 - busy / whole for busy, whole in zip(learning[1], shared, strict=True)]
    ratios = [a / b for a, b in zip(alone, shared, strict=True)]
    ratio = float(np.median(ratios))
    yield Row(
        what, "2 workers of one thread",
        "1 worker of one thread", ours_median=float(np.median(shared)), peer_median=float(np.median(alone)),
        ratio=ratio, quartiles=tuple(np.percentile(ratios, (25, 75)).tolist()), bar=1.7, met=ratio >= 1.7,
        note="wall time of an epoch, shards in memory; all take turns, epoch by epoch. The fastest epoch of one over the fastest "
        f"of the other: {min(alone) / min(shared):.2f}×", ours_all=shared, peer_all=alone,
    )  # fmt: skip
    parts = [a / b for a, b in zip(*learning, strict=True)]
    yield Row(
        "learning alone of such an epoch, on the busiest worker", "each of 2 workers at once", "1 worker",
        ours_median=float(np.median(learning[1])), peer_median=float(np.median(learning[0])), ratio=float(np.median(parts)),
        quartiles=tuple(np.percentile(parts, (25, 75)).tolist()), ours_all=learning[1], peer_all=learning[0],
        note="without scheduler, mixing and traffic",
    )  # fmt: skip
    yield _share("overhead of such an epoch: scheduler, mixing, traffic, waiting", overheads)
    above = [(peak - held) / 1e6 for peak, held in peaks]
    yield Row(
        "peak memory of a worker beyond its shards", "2 workers", "", unit="MB", ours_median=max(above), peer_median=0.0,
        kind=SMALLER, ratio=max(above) / 300, quartiles=(min(above) / 300, max(above) / 300), bar=300, bar_unit="MB",
        met=max(above) <= 300, ours_all=above,
        note="shards of " + ", ".join(f"{held / 1e6:.0f} MB" for _, held in peaks) + "; the limit is 300 MB",
    )  # fmt: skip


def _share(what: str, shares: list[float], bar: float | None = None) -> Row:
    """A share of the epoch in percent."""
    percent = [100 * share for share in shares]
    median = float(np.median(percent))
    low, high = np.percentile(percent, (25, 75)).tolist()
    return Row(
        what, "1 - busiest worker's learning / epoch", "", unit="%", ours_median=median, peer_median=100.0, kind=SMALLER,
        ratio=median / 100, quartiles=(low / 100, high / 100), bar=bar, bar_unit="%",
        met=None if bar is None else median <= bar, ours_all=percent,
    )  # fmt: skip


def overhead(options: Options) -> Iterator[Row]:
    """The part of an epoch for scheduler, mixing and communication: 64 shards, 1 million features, on 2 workers."""
    import dask

    rows = options.size(100_000)
    with workers(2) as client:
        parts = [dask.delayed(in_memory)(100 + k, rows) for k in range(SHARDS)]
        model = timed_epochs(client, parts, 4 if options.quick else 7)
    history = model.history_[1:]
    shares = [1 - epoch["compute_seconds"] / epoch["seconds"] for epoch in history]
    size = rows * NONZEROS * 12 / 1e6
    row = _share(
        f"{SHARDS} shards of {size:.0f} MB, {FEATURES:,} features: scheduler, mixing, traffic, waiting", shares, 10
    )
    row.note = (
        f"epochs of {np.median([e['seconds'] for e in history]):.2f} s, "
        f"{np.median([e['bytes_moved'] for e in history]) / 1e6:.1f} MB moved"
    )
    yield row


def adult(folder: Path) -> Any:
    """The training and test parts of a9a, with the same number of columns."""
    parts = [rosenblatt.read(folder / "a9a" / name) for name in ("a9a", "a9a.t")]
    width = max(X.shape[1] for X, _ in parts)
    for X, _ in parts:
        X.resize((X.shape[0], width))
    return parts


def accuracy(options: Options) -> Iterator[Row]:
    """Test errors after 10 epochs on 8 shards, compared with one machine; the limit is half a point more."""
    if options.data is None:
        yield Row("a9a and MNIST", note="not measured: name their folder with --data")
        return
    sets = {"a9a": adult(options.data), "MNIST": [digits(options.data, part) for part in ("train", "t10k")]}
    with workers(2) as client:
        for name, ((X, y), (test_X, test_y)) in sets.items():
            for learner in ("AveragedPerceptron", "Perceptron"):
                alone = getattr(rosenblatt, learner)(max_iter=10, tol=None).fit(X, y)
                serial = 100 * (1 - alone.score(test_X, test_y))
                errors = {}
                for mixing in ("uniform", "mistakes", "examples"):
                    made = getattr(cluster_learners, learner)(max_iter=10, tol=None, shards=8, mixing=mixing)
                    errors[mixing] = 100 * (1 - made.fit(X, y, client=client).to_local().score(test_X, test_y))
                ours, ratios = errors["uniform"], [error / serial for error in errors.values()]
                yield Row(
                    f"{name}, {learner}, 10 epochs, 8 shards", "test error, equal shares", "test error, one machine",
                    unit="%", ours_median=ours, peer_median=serial, kind=SMALLER, ratio=ours / serial,
                    quartiles=(min(ratios), max(ratios)), bar=round(serial + 0.5, 2), bar_unit="%",
                    met=ours <= serial + 0.5, note=", ".join(f"{mixing} {error:.2f}" for mixing, error in errors.items())
                    + "; in place of quartiles: the least and the largest of these",
                )  # fmt: skip


def per_epoch(options: Options) -> Iterator[Row]:
    """Test accuracy epoch by epoch on a9a: one machine, 1 worker and 2 workers with 8 shards."""
    if options.data is None:
        return
    (X, y), (test_X, test_y) = adult(options.data)
    curves: dict[str, list[float]] = {"one machine": []}
    for epochs in range(1, 11):
        alone = rosenblatt.AveragedPerceptron(max_iter=epochs, tol=None).fit(X, y)
        curves["one machine"].append(100 * alone.score(test_X, test_y))
    for count in (1, 2):
        with workers(count) as client:
            model = rosenblatt.AveragedPerceptron(max_iter=10, tol=None, n_iter_no_change=100)
            cluster_learners.train(model, X, y, client=client, shards=8, validation=(test_X, test_y))
            held = [100 * (1 - epoch["held_out_mistakes"] / epoch["held_out"]) for epoch in model.history_]
            curves[f"{count} worker{'s' * (count > 1)}, 8 shards"] = held
    for name, curve in curves.items():
        yield Row(f"a9a, AveragedPerceptron: {name}", note=" ".join(f"{value:.2f}" for value in curve), ours_all=curve)


def peers(options: Options) -> Iterator[Row]:
    """Against dask_ml's Incremental, which trains block after block: the same arrays, the same epochs, 2 workers."""
    import dask.array as da
    import sklearn.linear_model
    from dask_ml.wrappers import Incremental  # type: ignore[import-not-found]

    rows, features, epochs = options.size(1_000_000), 100, 10
    with workers(2) as client:
        blocks = 16
        X, y = _blocks(client, da, rows // blocks, blocks, features)

        def ours() -> None:
            cluster_learners.train(rosenblatt.Perceptron(max_iter=epochs, tol=None), X, y, client=client)

        def theirs(learner: Any) -> Callable[[], None]:
            def run() -> None:
                model = Incremental(learner(), shuffle_blocks=False, scoring="accuracy")
                for _ in range(epochs):
                    model.partial_fit(X, y, classes=[0, 1])

            return run

        for name, learner in (
            ("sklearn.linear_model.Perceptron", sklearn.linear_model.Perceptron),
            ("rosenblatt.Perceptron", rosenblatt.Perceptron),
        ):
            judged = name.startswith("sklearn")
            yield measure(
                f"{rows:,} × {features} in {blocks} blocks, {epochs} epochs",
                functools.partial(_clock, ours), functools.partial(_clock, theirs(learner)),
                dataclasses.replace(options, repeats=min(3, options.repeats)), ours="rosenblatt.dask, loading included",
                peer=f"Dask-ML's Incremental({name}())", bar=3.0 if judged else None,
                note="" if judged else "our compiled code in their sequence of blocks",
            )  # fmt: skip


def _clock(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _dense_block(seed: int, rows: int, features: int) -> Any:
    X, _ = made_up.dense(rows, features, seed)
    truth = np.random.default_rng(7).standard_normal(features)
    return X, (X @ truth + 0.2 * np.linalg.norm(truth) * np.random.default_rng(seed).standard_normal(rows) > 0).astype(
        int
    )


def _blocks(client: Any, da: Any, rows: int, blocks: int, features: int) -> Any:
    """Dask arrays on the workers."""
    import dask

    pairs = [dask.delayed(_dense_block, nout=2)(k, rows, features) for k in range(blocks)]
    X = da.concatenate([da.from_delayed(pair[0], (rows, features), float) for pair in pairs])
    y = da.concatenate([da.from_delayed(pair[1], (rows,), int) for pair in pairs])
    X, y = client.persist([X, y])
    from distributed import wait

    wait([X, y])
    return X, y


# ---- simulation ----


@dataclasses.dataclass(frozen=True)
class Network:
    """A stated network: latency of a message in seconds, bandwidth in bytes per second, scheduler time per task in seconds."""

    latency: float = 0.5e-3
    bandwidth: float = 1.25e9  # 10 Gbit/s
    task: float = 1e-3  # from Dask's documentation


CHANGED = 0.05
"""Share of the weights that an epoch changes if changes are sparse; stated, not measured."""


def epoch_seconds(
    workers_: int, text_bytes: float, features: float, changed: float, rate: float, mix: float, network: Network
) -> dict[str, float]:
    """Time of an epoch by its parts.

    Learning: the text's non-zeros (13.5 bytes each) over `rate` for each worker. Mixing: `mix` seconds per feature for each
    shard of a worker; shards have 64 MiB, with at most 4,096 shards, but at least one per worker. Traffic: sums go up a binary
    tree, and weights go down a tree in which each worker forwards them, with the client at the root; a level takes the latency
    plus the bytes over the bandwidth. Bytes: 8 per feature, or 12 per changed feature, whichever is less. The scheduler handles
    a task for every sixteen shards, or for every worker, and one for every sum.
    """
    shards = max(float(workers_), min(float(MOST), text_bytes / SHARD_BYTES))
    learning = text_bytes / 13.5 / (rate * workers_)
    mixing = mix * features * float(np.ceil(shards / workers_))
    levels = float(np.ceil(np.log2(workers_))) + 1.0
    level = network.latency + min(8.0 * features, 12.0 * changed * features) / network.bandwidth
    traffic = 2.0 * levels * level
    scheduling = 2.0 * max(float(workers_), shards / 16) * network.task
    total = learning + mixing + traffic + scheduling
    return {"learning": learning, "mixing": mixing, "traffic": traffic, "scheduling": scheduling, "total": total}


COUNTS = (1, 3, 10, 30, 100, 300, 1000)


def simulated(rate: float, mix: float) -> dict[tuple[float, float, bool], dict[int, dict[str, float]]]:
    """The parts of an epoch, by terabytes, features and whether changes are sent as sparse arrays, then by workers."""
    return {
        (terabytes, features, sparse): {
            count: epoch_seconds(count, terabytes * 1e12, features, CHANGED if sparse else 1.0, rate, mix, Network())
            for count in COUNTS
        }
        for terabytes, features, sparse in itertools.product((0.1, 1.0, 10.0), (1e6, 1e8), (False, True))
    }


def simulation(options: Options) -> Iterator[Row]:
    """Epochs up to 1,000 workers and 10 TB, from the rates measured here and the network stated in `Network`."""
    rate, mix = measured_rates(options)
    for (terabytes, features, sparse), rows in simulated(rate, mix).items():
        crossing = _crossing(terabytes, features, CHANGED if sparse else 1.0, rate, mix, Network())
        yield Row(
            f"{terabytes:g} TB, {features:,.0f} features, {'sparse' if sparse else 'dense'} changes",
            note="seconds of an epoch: "
            + ", ".join(f"{count}: {parts['total']:.3g}" for count, parts in rows.items())
            + f"; sending takes longer than learning from {crossing or 'more than 100,000'} workers",
            ours_all=[parts["total"] for parts in rows.values()],
        )


def _crossing(terabytes: float, features: float, share: float, rate: float, mix: float, network: Network) -> int | None:
    """The number of workers from which traffic takes longer than learning."""
    for count in np.unique(np.round(np.logspace(0, 5, 400)).astype(int)).tolist():
        parts = epoch_seconds(count, terabytes * 1e12, features, share, rate, mix, network)
        if parts["traffic"] > parts["learning"]:
            return int(count)
    return None


@functools.cache
def measured_rates(options: Options) -> tuple[float, float]:
    """Rates for the simulation: non-zeros learned per second, and seconds of mixing per feature of a shard."""
    from rosenblatt.dask._epochs import Order, Recipe, learn_shards
    from rosenblatt.dask._mixing import coordinates_of
    from rosenblatt.dask._shards import Shard
    from rosenblatt.engine.conventions import CSR
    from rosenblatt.training.schedule import Schedule

    rows = options.size(100_000)
    X, y = in_memory(1, rows)
    model = rosenblatt.Perceptron()._new_model(FEATURES, "float64")
    model.add_class(0, 1)
    recipe = Recipe.of(model)
    shard = Shard(CSR(X.indptr, X.indices.astype(np.int32), X.data), y, np.zeros(0), FEATURES, 0, "made up")
    start = [part.copy() for part in coordinates_of(model).start()]
    best, extra = np.inf, np.inf
    for k in range(6):
        order = Order(recipe, "rates", k, Schedule(1, seed=k), "uniform", False)
        began = time.perf_counter()
        partial = learn_shards([shard] * 8, range(8), start, [[]] * 0, order)
        passed = time.perf_counter() - began
        learned = sum(note.seconds for note in partial.notes)
        best, extra = min(best, learned / 8), min(extra, (passed - learned) / 8)
    return rows * NONZEROS / best, max(0.0, extra) / FEATURES


def rates(options: Options) -> Iterator[Row]:
    """The measured rates that the simulation uses."""
    rate, mix = measured_rates(options)
    yield Row("non-zero numbers learned a second, a million features", note=f"{rate:,.0f}", ours_all=[rate])
    yield Row("mixing, for each feature of a shard", note=f"{mix * 1e9:.2f} ns", ours_all=[mix])


BENCHMARKS: dict[str, Callable[[Options], Iterator[Row]]] = {
    "cluster-speedup": speedup,
    "cluster-overhead": overhead,
    "cluster-accuracy": accuracy,
    "cluster-epochs": per_epoch,
    "cluster-peers": peers,
    "cluster-rates": rates,
    "cluster-simulation": simulation,
}
