"""Freund & Schapire's MNIST experiment (1999), and the speed of the kernel perceptron used for it.

    python benchmarks/freund_schapire.py table --data FOLDER                  d = 1..6, T = 0.1, 1, 2, 3, 4, 10
    python benchmarks/freund_schapire.py table --data FOLDER --degrees 2 3 --epochs 1 4
    python benchmarks/freund_schapire.py speed --data FOLDER                  training compared with the matrix products alone
    python benchmarks/freund_schapire.py svc --data FOLDER                    compared with scikit-learn's SVC

FOLDER holds MNIST's four idx files, gzipped. Ten one-vs-rest classes, kernel (1 + x·z)^d, pixels divided by 255 (the
paper does not say how it scaled them; undivided pixels give the same errors within 0.1, because 1 is small beside x·z
either way). The training set is put in one random order for all epochs: in the order of the file, which is grouped
by writer, the vote at T = 1 is worse (d = 2: 3.0 instead of 2.8).

"random" is the error of one weight vector drawn from the run, averaged over draws. Support vectors are the distinct
training examples used by any class; mistakes are the sum over all ten classes.

All results are in one JSON file: each degree of the table and each other command under its own name, with the
command that made it. A run replaces only the results that it measures again; a row of the table is saved immediately.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import resource
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rosenblatt.dual.functions import Polynomial
from rosenblatt.dual.machine import Machine
from rosenblatt.dual.online import TILE
from rosenblatt.dual.readouts import coefficients, decide, linear_scores, norms
from rosenblatt.dual.rows import Block
from rosenblatt.dual.training import BLOCK_SIZE, Epochs
from rosenblatt.engine.conventions import OnZero, Scheme
from rosenblatt.model.scores import predicted_classes

# Y. Freund, R. E. Schapire, "Large margin classification using the perceptron algorithm", Machine Learning 37, 1999.
PUBLISHED_VOTE = {
    1: {1: 8.5, 4: 8.2, 10: 8.1},
    2: {1: 2.8, 4: 2.1, 10: 1.8},
    3: {1: 2.3, 4: 1.7, 10: 1.6},
}
READOUTS = ("vote", "avg", "avg norm", "last", "last norm", "random", "random norm")
CLASSES = 10


def load(folder: Path) -> tuple[Any, Any, Any, Any]:
    """Training and test pixels in [0, 1] as float32, with their labels."""

    def read(name: str, header: int) -> Any:
        with gzip.open(folder / f"{name}.gz") as file:
            return np.frombuffer(file.read(), np.uint8, offset=header)

    def pixels(name: str) -> Any:
        return read(name, 16).reshape(-1, 784).astype(np.float32) / np.float32(255)

    return (
        pixels("train-images-idx3-ubyte"),
        read("train-labels-idx1-ubyte", 8).astype(np.int64),
        pixels("t10k-images-idx3-ubyte"),
        read("t10k-labels-idx1-ubyte", 8).astype(np.int64),
    )


def drawn_weights(machine: Machine, draws: int, rng: np.random.Generator) -> list[tuple[Any, Any]]:
    """Coefficients of the weight vectors at random times, plain and divided by their norms."""
    lengths = norms(machine)
    found = []
    for moment in rng.integers(machine.n_seen, size=draws):
        updates = int(np.searchsorted(machine.event_time.view, moment, side="right"))
        dual = np.zeros_like(machine.dual.view)
        np.add.at(dual, machine.event_row.view[:updates], machine.event_tau.view[:updates])
        length = lengths[updates - 1] if updates else np.ones(CLASSES)
        found.append((dual, dual / np.where(length > 0, length, 1.0)))
    return found


def errors(machine: Machine, kernel: Polynomial, test: Block, y: Any, draws: int, seed: int) -> dict[str, float]:
    """Test error in percent of every readout; the linear ones share one pass over the kernel values."""
    linear = {
        "avg": coefficients(machine, "average"),
        "avg norm": coefficients(machine, "average", normalize=True),
        "last": coefficients(machine, "last"),
        "last norm": coefficients(machine, "last", normalize=True),
    }
    drawn = drawn_weights(machine, draws, np.random.default_rng(seed))
    stacked = np.hstack([*linear.values(), *(dual for pair in drawn for dual in pair)])
    scores = linear_scores(machine, kernel, test, stacked).reshape(len(test), -1, CLASSES)
    wrong = [100 * float((predicted_classes(scores[:, j]) != y).mean()) for j in range(scores.shape[1])]
    random = np.array(wrong[len(linear) :]).reshape(draws, 2).mean(axis=0)
    votes = decide(machine, kernel, test, "vote")
    found = {"vote": 100 * float((predicted_classes(votes) != y).mean()), **dict(zip(linear, wrong, strict=False))}
    return {**found, "random": float(random[0]), "random norm": float(random[1])}


def run_degree(
    degree: int, epochs: list[float], data: tuple[Any, Any, Any, Any], seed: int, draws: int
) -> Iterator[Any]:
    """One run up to the largest number of epochs, evaluated at each requested number."""
    X, y, X_test, y_test = data
    machine, kernel, test = Machine(Scheme.OVR, OnZero.UPDATE, CLASSES), Polynomial(degree), Block.of(X_test)
    passes = Epochs(machine, kernel, Block.of(X), y, np.ones(len(y)))
    order = np.random.default_rng(seed).permutation(len(y))
    seconds = 0.0
    for wanted in sorted(epochs):
        start = time.perf_counter()
        while machine.n_seen < round(wanted * len(y)):
            place = machine.n_seen % len(y)
            passes.run(order[place : place + min(len(y) - place, round(wanted * len(y)) - machine.n_seen)])
        seconds += time.perf_counter() - start
        row = {
            "degree": degree,
            "epochs": wanted,
            "errors": errors(machine, kernel, test, y_test, draws, seed),
            "published_vote": PUBLISHED_VOTE.get(degree, {}).get(int(wanted) if wanted >= 1 else 0),
            "support_vectors": len(machine.rows),
            "mistakes": machine.n_mistakes,
            "train_seconds": round(seconds, 2),
        }
        print_row(row)
        yield row


def print_header() -> None:
    print(f"{'d':>2}{'T':>5}" + "".join(f"{name:>12}" for name in ("vote", "published", *READOUTS[1:])), end="")
    print(f"{'SupVec':>9}{'Mistakes':>10}{'train s':>9}")


def print_row(row: dict[str, Any]) -> None:
    found, published = row["errors"], row["published_vote"]
    print(f"{row['degree']:>2}{row['epochs']:>5g}{found['vote']:>12.2f}{published or '':>12}", end="")
    print("".join(f"{found[name]:>12.2f}" for name in READOUTS[1:]), end="")
    print(f"{row['support_vectors']:>9}{row['mistakes']:>10}{row['train_seconds']:>9.1f}", flush=True)


def table(arguments: argparse.Namespace) -> None:
    data = load(arguments.data)
    print_header()
    for degree in arguments.degrees:
        rows: list[Any] = []
        for row in run_degree(degree, arguments.epochs, data, arguments.seed, arguments.draws):
            rows.append(row)
            keep(arguments, f"degree {degree}", rows)


def bare_products(X: Any, support: Any, sizes: list[int]) -> None:
    """Compute only the inner products of every block with its support set and with itself."""
    kept = np.ascontiguousarray(X[support])
    for number, size in enumerate(sizes):
        block = X[number * BLOCK_SIZE : (number + 1) * BLOCK_SIZE]
        for first in range(0, size, TILE):
            block @ kept[first : min(first + TILE, size)].T
        block @ block.T


def timed(work: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """The result, and the wall and CPU seconds of all threads."""
    wall, cpu = time.perf_counter(), time.process_time()
    answer = work()
    return answer, {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}


def speed(arguments: argparse.Namespace) -> None:
    """Train d = 3, T = 1 with the estimator, alternating with the matrix products alone."""
    from rosenblatt.learners.kernel_perceptron import KernelPerceptron

    X, y, X_test, y_test = load(arguments.data)
    model = KernelPerceptron(degree=3, multiclass="ovr", readout="vote", max_iter=1, tol=None, shuffle=False)
    model.fit(X[:2000], y[:2000]).predict(X_test[:10])  # compile first
    order = np.random.default_rng(arguments.seed).permutation(len(y))
    X, y = X[order], y[order]
    before = resident()
    model.fit(X, y)
    memory = (peak() - before) / 1e6
    sizes = [int(size) for size in np.searchsorted(model.support_, np.arange(0, len(y), BLOCK_SIZE))]
    rounds = []
    for number in range(arguments.repeats):
        work = {"train": lambda: model.fit(X, y), "products": lambda: bare_products(X, model.support_, sizes)}
        # The second one finds warm caches, so they alternate.
        rounds.append({name: timed(work[name])[1] for name in (sorted(work) if number % 2 else sorted(work)[::-1])})
        train, bare = rounds[-1]["train"], rounds[-1]["products"]
        print(
            f"train {train['wall']:.2f} s, bare products {bare['wall']:.2f} s, ratio {train['wall'] / bare['wall']:.2f}, "
            f"by CPU time {train['cpu'] / bare['cpu']:.2f}",
            flush=True,
        )
    ratios = {
        clock: {
            "median": float(np.median([one["train"][clock] / one["products"][clock] for one in rounds])),
            "of_the_fastest": min(r["train"][clock] for r in rounds) / min(r["products"][clock] for r in rounds),
        }
        for clock in ("wall", "cpu")
    }
    start = time.perf_counter()
    error = 100 * float((model.predict(X_test) != y_test).mean())
    predict = time.perf_counter() - start
    for clock, found in ratios.items():
        print(f"{clock}: median ratio {found['median']:.2f}, of the fastest {found['of_the_fastest']:.2f} (bar 1.5)")
    print(f"memory beside the data {memory:.0f} MB (bar 1500); vote error {error:.2f} %, predicted in {predict:.2f} s")
    results = {"ratios": ratios, "rounds": rounds, "memory_mb": memory, "vote_error": error, "predict_seconds": predict}
    keep(arguments, "speed", results)


def svc(arguments: argparse.Namespace) -> None:
    """Compare with SVC on 20,000 digits, fit plus predict."""
    from sklearn.svm import SVC

    from rosenblatt.learners.kernel_perceptron import KernelPerceptron

    X, y, X_test, y_test = load(arguments.data)
    chosen = np.random.default_rng(arguments.seed).permutation(len(y))[:20_000]
    X, y = X[chosen], y[chosen]
    rivals = {
        f"KernelPerceptron, T={epochs}": KernelPerceptron(
            degree=3, multiclass="ovr", readout="vote", max_iter=epochs, tol=None
        )
        for epochs in (1, 4)
    }
    next(iter(rivals.values())).fit(X[:1000], y[:1000]).predict(X_test[:10])  # compile first
    result: dict[str, Any] = {}
    for name, model in {**rivals, "SVC": SVC(kernel="poly", degree=3)}.items():
        answers, taken = timed(lambda model=model: model.fit(X, y).predict(X_test))  # type: ignore[misc]
        error = 100 * float((answers != y_test).mean())
        result[name] = {**taken, "error": error}
        print(f"{name:>22}: {taken['wall']:7.2f} s, CPU {taken['cpu']:7.2f} s, error {error:.2f} %", flush=True)
    for name in rivals:
        faster = {clock: result["SVC"][clock] / result[name][clock] for clock in ("wall", "cpu")}
        result[name]["times_faster"] = faster
        print(
            f"{name}: {faster['wall']:.1f} times faster, by CPU time {faster['cpu']:.1f} "
            "(bar 10, to within 0.5 points of the error)"
        )
    keep(arguments, "svc", result)


def resident() -> float:
    """Bytes in use now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def peak() -> float:
    """Peak number of bytes in use."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def keep(arguments: argparse.Namespace, name: str, results: Any) -> None:
    """Save results in the file under their name, with the command and the machine."""
    options = {
        "table": ("degrees", "epochs", "seed", "draws"),
        "speed": ("seed", "repeats"),
        "svc": ("seed",),
    }[arguments.what]
    words = ["python", "benchmarks/freund_schapire.py", arguments.what, "--data", "FOLDER"]
    for option in options:
        value = getattr(arguments, option)
        words += [f"--{option}", *(f"{number:g}" for number in (value if isinstance(value, list) else [value]))]
    made = {
        "command": " ".join(words),
        "made": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "cores": os.cpu_count(),
        "load": os.getloadavg(),
        "results": results,
    }
    output: Path = arguments.output
    kept = json.loads(output.read_text()) if output.exists() else {}
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(dict(sorted({**kept, name: made}.items())), indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("table", "speed", "svc"))
    parser.add_argument("--data", type=Path, required=True, help="folder with MNIST's four idx files, gzipped")
    parser.add_argument("--degrees", type=int, nargs="+", default=[1, 2, 3, 4, 5, 6])
    parser.add_argument("--epochs", type=float, nargs="+", default=[0.1, 1, 2, 3, 4, 10])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--draws", type=int, default=10, help="weight vectors drawn for the random rows")
    parser.add_argument("--repeats", type=int, default=5, help="runs of `speed`")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "freund_schapire.json")
    arguments = parser.parse_args()
    {"table": table, "speed": speed, "svc": svc}[arguments.what](arguments)


if __name__ == "__main__":
    main()
