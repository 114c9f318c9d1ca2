"""Interleaved measurements, their ratios, and their output.

Ours and the peer alternate (ours, peer, ours, peer, …), so that other load on the machine affects both. Each pair gives one
ratio; a row reports the median ratio with its quartiles, and the bar is compared with this median. The ratio of
processor times is given, too: if the two differ for single-threaded work, the machine was busy.
"""

import dataclasses
import gc
import hashlib
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import rosenblatt

from . import machines

FASTER, SMALLER = "peer / ours", "ours / peer"
"""Kinds of ratios: times as fast as the peer (the bar is a minimum), or times as much as the peer (a maximum)."""

SOURCES = Path(rosenblatt.__file__).parent

PACKAGES = (
    "rosenblatt", "numpy", "scipy", "numba", "scikit-learn", "pyarrow", "river", "vowpalwabbit", "liblinear-official", "dask",
    "dask-ml", "pandas", "threadpoolctl", "python-crfsuite", "nltk",
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Options:
    """Extent of the measurements.

    Attributes
    ----------
    repeats : int
        Minimum number of pairs of measurements per row.
    quick : bool
        Use a tenth of the rows: only to check that everything runs.
    data : Path or None
        The folder with the real data sets.
    """

    repeats: int
    quick: bool
    data: Path | None

    @property
    def seconds(self) -> float:
        """Approximate total time for repeating short measurements."""
        return 0.5 if self.quick else 3.0

    def size(self, rows: int) -> int:
        """Number of rows to use: all, or a tenth if `quick`."""
        return rows // 10 if self.quick else rows


@dataclasses.dataclass
class Row:
    """One comparison, one number of ours without a peer, or only a `note` in its place."""

    what: str
    ours: str = ""
    peer: str = ""
    unit: str = "s"
    ours_median: float | None = None
    peer_median: float | None = None
    kind: str = FASTER
    ratio: float | None = None
    quartiles: tuple[float, float] | None = None
    cpu_ratio: float | None = None
    """The ratio of processor times, which other load disturbs less; it includes all threads."""
    bar: float | None = None
    bar_unit: str = "×"
    """Value to compare with the bar: the ratio (×), or our measurement in its unit."""
    met: bool | None = None
    note: str = ""
    ours_score: float | None = None
    peer_score: float | None = None
    """Accuracy on unseen rows, if measured."""
    ours_all: list[float] = dataclasses.field(default_factory=list)
    peer_all: list[float] = dataclasses.field(default_factory=list)
    benchmark: str = ""


Measure = Callable[[], float]


def compare(what: str, ours: Callable[[], Any], peer: Callable[[], Any], options: Options, /, **row: Any) -> Row:
    """Compare the wall and CPU time of two functions that do the same work."""
    ours_cpu: list[float] = []
    peer_cpu: list[float] = []
    made = measure(what, _timed(ours, ours_cpu), _timed(peer, peer_cpu), options, **row)
    made.cpu_ratio = float(np.median(_ratios(np.array(ours_cpu[1:]), np.array(peer_cpu[1:]), made.kind)))
    return made


def _timed(work: Callable[[], Any], cpu: list[float]) -> Measure:
    def timed() -> float:
        gc.collect()
        start, start_cpu = time.perf_counter(), processor_time()
        work()
        cpu.append(processor_time() - start_cpu)
        return time.perf_counter() - start

    return timed


def processor_time() -> float:
    """Processor time of this process, and of the processes that it has started and that have ended."""
    if sys.platform == "win32":
        return time.process_time()
    import resource

    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


def measure(what: str, ours: Measure, peer: Measure, options: Options, /, **row: Any) -> Row:
    """Alternate two measurements after one warm-up of each; short ones are repeated more often."""
    ours(), peer()
    pairs: list[tuple[float, float]] = []
    start = time.perf_counter()
    while len(pairs) < options.repeats or (
        len(pairs) < 5 * options.repeats and time.perf_counter() - start < options.seconds
    ):
        pairs.append((ours(), peer()))
    taken = np.array(pairs)
    made = Row(what, ours_all=taken[:, 0].tolist(), peer_all=taken[:, 1].tolist(), **row)
    made.ours_median, made.peer_median = np.median(taken, axis=0).tolist()
    low, median, high = np.percentile(_ratios(taken[:, 0], taken[:, 1], made.kind), (25, 50, 75)).tolist()
    made.ratio, made.quartiles = median, (low, high)
    if made.bar is not None:
        judged = median if made.bar_unit == "×" else float(np.median(taken[:, 0]))
        made.met = judged >= made.bar if made.kind == FASTER else judged <= made.bar
    return made


def _ratios(ours: NDArray[np.float64], peer: NDArray[np.float64], kind: str) -> NDArray[np.float64]:
    return peer / ours if kind == FASTER else ours / peer


# ---- environment ----


def environment(options: Options) -> dict[str, Any]:
    """The machine, the versions and the command of the measurements."""
    return {
        "command": _command(sys.argv[1:]),
        "made": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "repeats": options.repeats,
        "quick": options.quick,
        "machine": {
            "kind": machines.kind(),
            "cpu": machines.cpu(),
            "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
            "system": platform.platform(),
            "load_at_start": list(os.getloadavg()) if hasattr(os, "getloadavg") else None,
        },
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in PACKAGES}},
        "commit": _commit(),
        "sources": _digest(),
        "complete": False,
    }


def _command(arguments: list[str]) -> str:
    """The command line without folders of this machine."""
    shown = [Path(argument).name if os.sep in argument else argument for argument in arguments]
    return " ".join(["python -m benchmarks", *shown])


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return getattr(sys.modules.get(name), "__version__", None)


def _digest() -> str:
    """A hash of the measured sources, because the commit does not identify uncommitted changes."""
    digest = hashlib.sha256()
    for path in sorted(SOURCES.rglob("*.py")):
        digest.update(path.relative_to(SOURCES).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _commit() -> str | None:
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


# ---- output ----


def write(path: Path, setting: dict[str, Any], rows: list[Row]) -> None:
    """Write all results with the single measurements."""
    setting = {**setting, "load_at_end": list(os.getloadavg()) if hasattr(os, "getloadavg") else None}
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({**setting, "rows": [dataclasses.asdict(row) for row in rows]}, indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def show(console: Console, name: str, rows: Iterator[Row]) -> list[Row]:
    """Measure one benchmark's rows and print them as a table."""
    table = Table(title=name, title_justify="left", title_style="bold", expand=True)
    table.add_column("what", ratio=4)
    for heading in ("ours", "peer"):
        table.add_column(heading, ratio=2)
    table.add_column("ratio (quartiles)", justify="right", ratio=2)
    for heading in ("by CPU time", "bar", "met"):
        table.add_column(heading, justify="right", ratio=1)
    made = []
    for row in rows:  # no spinner: its thread would disturb the measurement
        row.benchmark = name
        made.append(row)
        table.add_row(*_cells(row))
    console.print(table)
    return made


def _cells(row: Row) -> tuple[str, ...]:
    notes = [row.note] if row.note else []
    if row.ours_score is not None and row.peer_score is not None:
        notes.append(f"test accuracy {row.ours_score:.4f} and {row.peer_score:.4f}")
    what = f"{row.what}\n[dim]{'; '.join(notes)}[/dim]" if notes else row.what
    low, high = row.quartiles or (None, None)
    return (
        what,
        f"{amount(row.ours_median, row.unit)}\n[dim]{row.ours}[/dim]",
        "" if row.peer_median is None else f"{amount(row.peer_median, row.unit)}\n[dim]{row.peer}[/dim]",
        "" if row.ratio is None else f"{row.ratio:.3g}×\n[dim]{low:.3g} … {high:.3g}[/dim]",
        "" if row.cpu_ratio is None else f"{row.cpu_ratio:.3g}×",
        "" if row.bar is None else f"{'≥' if row.kind == FASTER else '≤'} {row.bar:,.10g} {row.bar_unit}",
        {True: "[green]yes[/green]", False: "[red]NO[/red]", None: "-"}[row.met],
    )


def amount(value: float | None, unit: str) -> str:
    """Format a measurement with its unit."""
    if value is None:
        return ""
    if unit == "s":
        return f"{value:.3f} s" if value >= 1 else f"{value * 1e3:.1f} ms"
    return f"{value:,.0f} {unit}" if abs(value) >= 1e4 else f"{value:.4g} {unit}"
