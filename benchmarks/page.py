"""Generate docs/benchmarks.md from benchmarks/results: python -m benchmarks page."""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from .harness import FASTER, amount

RESULTS = Path(__file__).parent / "results"
PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"

TITLES = {
    "peers": "Against other libraries, one pass",
    "core": "The core: fits, streams, memory",
    "files": "From files",
    "commands": "Whole commands",
    "proofs": "Certificates",
    "scaling": "On a Dask cluster",
}
OTHERS = ("accuracy", "libol", "freund_schapire", "service")
EDGE = 0.05
"""Ratios this close to 1 count as equal."""
SAME = 0.001
"""Accuracies this close count as equal."""

HEAD = """<!-- Made by `python -m benchmarks page` from benchmarks/results; do not edit. -->

# Benchmarks

All numbers on this page, with the single measurements, are in `benchmarks/results/*.json`. The page is generated from these
files, and a test fails if the two differ. `make bench` measures again and rewrites both. With `make bench DATA=folder` it uses
the real data sets in a folder; without it, some are replaced by generated rows. To run one group: `python -m benchmarks peers`.

**Method.** This library and the peer run alternately in one process, so that other load on the machine affects both. Each pair
gives one ratio; the tables show the median ratio and its quartiles. *2× as fast* means that the peer takes twice as long; below
1× we are slower. The ratio of processor times is less sensitive to other load. Where models can be compared, the tables show
their accuracies on unseen rows, because a faster fit of a worse model is no improvement.
"""

REMARKS = """The first fit of a process loads compiled code from disk, which scikit-learn does not need. The last weights
after one pass of a perceptron or of PA depend on the order of the examples; in practice use an average or AROW.
"""

NOT_MEASURED = """## Not measured

- **olpy** and **LIBOL**: neither is in a package registry (PyPI has no package of either name). The published results of
  LIBOL are compared above.
- **MOA**, **Spark ML** and **cuML**: made for other environments (a Java stream engine, a cluster, a GPU).
"""


def make() -> str:
    """The whole page."""
    kept = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULTS.glob("*.json"))}
    groups = {name: kept[name] for name in [*TITLES, *kept] if name in kept and name not in OTHERS}
    parts = [HEAD, _balance(groups), *("\n".join(_group(name, group)) for name, group in groups.items())]
    if "service" in kept:
        parts.append("\n".join(_service(kept["service"])))
    if "libol" in kept:
        parts.append("\n".join(_libol(kept["libol"])))
    if "freund_schapire" in kept:
        parts.append("\n".join(_freund_schapire(kept["freund_schapire"])))
    return "\n".join([*parts, NOT_MEASURED])


def write() -> None:
    """Write the page."""
    PAGE.write_text(make(), encoding="utf-8")
    print(f"Made {PAGE.relative_to(PAGE.parent.parent)}")


# ---- wins and losses ----


def _balance(groups: dict[str, Any]) -> str:
    """The numbers of rows where we are faster or slower, and every row where a peer is better or a bar is missed."""
    rows = [row for group in groups.values() for row in group["rows"] if row["ratio"] is not None]
    timed = [row for row in rows if row["unit"].startswith("s") and _is_foreign(row)]
    speeds = [_speed(row) for row in timed]
    ahead, behind = sum(speed > 1 + EDGE for speed in speeds), sum(speed < 1 - EDGE for speed in speeds)
    judged = [row for row in rows if row["met"] is not None]
    scored = [row for row in rows if row.get("ours_score") is not None]
    better = [row for row in scored if row["ours_score"] - row["peer_score"] > SAME]
    worse = [row for row in scored if row["peer_score"] - row["ours_score"] > SAME]
    slower = [(row, speed) for row, speed in zip(timed, speeds, strict=True) if speed < 1 - EDGE]
    missed = [row for row in judged if not row["met"]]
    return "\n".join([
        "## Wins and losses\n",
        f"- Of {len(timed)} timings we are faster in {ahead}, slower in {behind}; the others within {EDGE:.0%}.",
        f"- Of {len(scored)} pairs of models ours is better in {len(better)}, worse in {len(worse)}; the others within {SAME:g}.",
        f"- Of our {len(judged)} goals {len(judged) - len(missed)} are met.",
        *_listed("Where a peer is faster", (
            f"{row['what']}: {row['peer']} takes {speed:.2g} of the time of {row['ours']}" for row, speed in slower
        )),
        *_listed("Where a peer's model is better", (
            f"{row['what']}: {row['peer']} {row['peer_score']:.4f}, {row['ours']} {row['ours_score']:.4f}" for row in worse
        )),
        *_listed("Missed goals", (
            f"{row['what']}, {row['ours']} compared with {row['peer']}: {_reached(row)}, goal {_bar(row)}" for row in missed
        )),
        f"\n{REMARKS}",
    ])  # fmt: skip


def _listed(heading: str, items: Iterable[str]) -> Iterator[str]:
    yield f"\n**{heading}**\n"
    yield "\n".join(f"- {item}" for item in items) or "- none"


def _is_foreign(row: dict[str, Any]) -> bool:
    """Whether the peer is another library for the same task, not a part of ours or a plain read of memory."""
    names = ("sklearn", "river", "VW", "LIBLINEAR", "Weka", "Dask", "SciPy", "pandas")
    return bool(row["peer"].startswith(names))


def _speed(row: dict[str, Any]) -> float:
    """How many times as fast we are."""
    return float(row["ratio"] if row["kind"] == FASTER else 1 / row["ratio"])


def _reached(row: dict[str, Any]) -> str:
    return f"{row['ratio']:.3g}×" if row["bar_unit"] == "×" else amount(row["ours_median"], row["unit"])


# ---- a group ----


def _group(name: str, kept: dict[str, Any]) -> Iterator[str]:
    yield f"## {TITLES.get(name, name.capitalize())}\n"
    yield from _setting(kept)
    benchmarks: dict[str, list[dict[str, Any]]] = {}
    for row in kept["rows"]:
        benchmarks.setdefault(row["benchmark"], []).append(row)
    for benchmark, rows in benchmarks.items():
        yield f"### {benchmark}\n"
        if benchmark in kept.get("about", {}):
            yield f"{kept['about'][benchmark]}\n"
        measured = [row for row in rows if row["ratio"] is not None]
        if measured:
            yield from _table(measured)
            yield ""
        if len(rows) > len(measured):
            yield from (f"- {row['what']}: {row['note']}" for row in rows if row["ratio"] is None)
            yield ""


def _table(rows: list[dict[str, Any]]) -> Iterator[str]:
    scored = any(row.get("ours_score") is not None for row in rows)
    head = ["what", "ours", "peer", "ratio (quartiles)", "by processor time"]
    head += ["accuracy, ours and peer"] * scored + ["goal"] * any(row["bar"] is not None for row in rows)
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        what = f"{row['what']}<br>*{row['note']}*" if row["note"] else row["what"]
        meaning = "as fast" if row["kind"] == FASTER else "of the peer's"
        low, high = row["quartiles"]
        cells = [
            what,
            f"{amount(row['ours_median'], row['unit'])}<br>{row['ours']}",
            f"{amount(row['peer_median'], row['unit'])}<br>{row['peer']}",
            f"**{row['ratio']:.3g}×** ({low:.3g} … {high:.3g})<br>{meaning}",
            "" if row["cpu_ratio"] is None else f"{row['cpu_ratio']:.3g}×",
        ]
        if scored:
            shown = row.get("ours_score") is not None
            cells.append(f"{row['ours_score']:.4f}, {row['peer_score']:.4f}" if shown else "")
        if len(head) > len(cells):
            cells.append("" if row["bar"] is None else f"{_bar(row)}: {'met' if row['met'] else '**missed**'}")
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _bar(row: dict[str, Any]) -> str:
    return f"{'≥' if row['kind'] == FASTER else '≤'} {row['bar']:g} {row['bar_unit']}"


def _setting(kept: dict[str, Any]) -> Iterator[str]:
    """The machine, the versions and the command."""
    machine, versions = kept["machine"], kept["versions"]
    named = ", ".join(f"{name} {version}" for name, version in versions.items() if version and name != "rosenblatt")
    load = " and ".join(f"{load[0]:.1f}" for load in (machine["load_at_start"], kept.get("load_at_end")) if load)
    yield f"`{kept['command']}` on {kept['made'][:10]}: {machine['cpu']}, {machine['cores']} cores, {machine['system']}; at least"
    yield f"{kept['repeats']} pairs per ratio; load before and after {load}; {named}; commit {kept['commit']}.\n"


# ---- groups with another format ----


def _libol(kept: dict[str, Any]) -> Iterator[str]:
    yield "## Against the published comparison of LIBOL\n"
    yield from _setting(kept)
    yield "Mistake rates of one pass over svmguide3, mean of 20 orders, tuned as in the manual of LIBOL (table 3), and with"
    yield "our own conventions (a bias; a tie is a mistake).\n"
    yield "| rule | published | ours, LIBOL's conventions | ours | within 0.02 |"
    yield "|---|---|---|---|---|"
    for row in kept["published"]:
        rates = " | ".join(f"{row[side]['rate']:.4f} ± {row[side]['spread']:.4f}" for side in ("libol", "ours"))
        yield f"| {row['rule']} | {row['published']:.3f} | {rates} | {'yes' if row['within 0.02'] else '**no**'} |"
    yield "\nMistake rates of one pass: the learner chosen on the first tenth of a stream, and two peers with their defaults."
    yield "The best rate in each row is bold.\n"
    yield "| data | ours, chosen | rate | SGDClassifier(average=True) | VW |"
    yield "|---|---|---|---|---|"
    for row in kept["peers"]:
        rates = [row["ours"]["rate"], row["SGDClassifier(average=True)"], row["vw"]]
        cells = [f"**{rate:.4f}**" if rate == min(rates) else f"{rate:.4f}" for rate in rates]
        yield f"| {row['data']} | {row['ours']['name']} | {' | '.join(cells)} |"
    yield ""


def _service(kept: dict[str, Any]) -> Iterator[str]:
    yield "## The service\n"
    yield "Load generator and service run on the same machine; every answer is sent after its event is on disk.\n"
    yield "| command | measured | goal |"
    yield "|---|---|---|"
    for name, run in kept.items():
        yield f"| `{run['command']}` | {_SERVED[name.partition(',')[0]](run['result'])} |"
    yield ""


def _endurance(result: dict[str, Any]) -> str:
    memory = ", ".join(f"{megabytes}" for _, megabytes in result["events_and_megabytes"])
    return (
        f"{result['events']:,} events of single pairs: {memory} MB after each tenth; ready again after kill -9 in "
        f"{', '.join(map(str, result['seconds_to_ready']))} s | memory flat; ≤ 3 s for a million events"
    )


_SERVED: dict[str, Callable[[dict[str, Any]], str]] = {
    "pairs": lambda r: (
        f"{r['pairs_per_second']:,} pairs of predict and reveal per second, p50 {r['p50_ms']} ms, p99 {r['p99_ms']} ms | "
        "SQLite: ≥ 2,000, p99 ≤ 25 ms"
    ),
    "batches": lambda r: f"{r['examples_per_second']:,} examples per second, as JSON lines | SQLite: ≥ 100,000",
    "kill": lambda r: (
        f"{r['kills']} times kill -9: all {r['confirmed']:,} confirmed examples are in the log, weights equal bit for bit | "
        "200 times without a loss"
    ),
    "endurance": _endurance,
}


def _freund_schapire(kept: dict[str, Any]) -> Iterator[str]:
    yield "## Freund and Schapire's MNIST experiment\n"
    first = kept["degree 1"]
    yield f"`{first['command']}` on {first['made'][:10]}:"
    yield f"{first['cores']} cores, Python {first['python']}, NumPy {first['numpy']}."
    yield "Test error of the vote in percent, with that of the paper in brackets.\n"
    degrees = [value["results"] for name, value in kept.items() if name.startswith("degree ")]
    epochs = [result["epochs"] for result in degrees[0]]
    yield "| degree | " + " | ".join(f"T = {count:g}" for count in epochs) + " |"
    yield "|---|" + "---|" * len(epochs)
    for results in degrees:
        cells = [
            f"{one['errors']['vote']:.2f}" + (f" ({one['published_vote']})" if one["published_vote"] else "")
            for one in results
        ]
        yield f"| {results[0]['degree']} | {' | '.join(cells)} |"
    yield ""
    if "svc" in kept:
        results = kept["svc"]["results"]
        peer = results["SVC"]
        yield f"Compared with the `SVC` of scikit-learn, same kernel (`{kept['svc']['command']}`; one run on a busy machine):\n"
        yield "| | processor time | test error | times as fast |"
        yield "|---|---|---|---|"
        for name, one in results.items():
            times = f"{one['times_faster']['cpu']:.3g}×" if "times_faster" in one else ""
            better = " (better)" if one["error"] < peer["error"] else ""
            yield f"| {name} | {one['cpu']:.1f} s | {one['error']:.2f}%{better} | {times} |"
        yield ""
