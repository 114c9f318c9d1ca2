"""Generate docs/benchmarks.md from benchmarks/results: python -m benchmarks page."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from . import machines
from .harness import FASTER, amount

RESULTS = machines.RESULTS
PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"

TITLES = {
    "peers": "Against other libraries, one pass",
    "core": "The core: fits, streams, memory",
    "files": "From files",
    "commands": "Whole commands",
    "proofs": "Certificates",
    "scaling": "On a Dask cluster",
    "sequences": "Taggers of sequences",
    "lab": "The lab in a browser",
    "service": "The service",
}
EDGE = 0.05
"""Ratios this close to 1 count as equal."""
SAME = 0.001
"""Accuracies this close count as equal."""

HEAD = """<!-- Made by `python -m benchmarks page` from benchmarks/results; do not edit. -->

# Benchmarks

All numbers on this page, with the single measurements, are in `benchmarks/results`. The page is generated from these files, and
a test fails if the two differ. `make bench` measures again and rewrites both. With `make bench DATA=folder` it uses the real data
sets in a folder; without it, some are replaced by generated rows. To run one group: `python -m benchmarks peers`.

**Machines.** What is fast on one kind of processor can be slow on another, so each kind of machine has a folder of results of its
own and a column in the tables below: a run replaces only the results of its own kind.

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


Sets = dict[str, Any]
"""One thing for each kind of machine: a file of results, or a row."""


def make() -> str:
    """The whole page."""
    kinds = machines.kept(RESULTS)
    parts = [HEAD, *_balances(kinds)]
    names = dict.fromkeys([*TITLES, *(name for files in kinds.values() for name in files)])
    for name in names:
        sets = {kind: files[name] for kind, files in kinds.items() if name in files}
        if sets:
            parts.append("\n".join(_group(name, sets)))
    for name, section in (("libol", _libol), ("freund_schapire", _freund_schapire)):
        path = RESULTS / f"{name}.json"
        if path.exists():
            parts.append("\n".join(section(json.loads(path.read_text(encoding="utf-8")))))
    return "\n".join([*parts, NOT_MEASURED])


def write() -> None:
    """Write the page."""
    PAGE.write_text(make(), encoding="utf-8")
    print(f"Made {PAGE.relative_to(PAGE.parent.parent)}")


# ---- wins and losses ----


def _balances(kinds: dict[str, Sets]) -> Iterator[str]:
    yield "## Wins and losses\n"
    for kind, files in kinds.items():
        yield f"### {kind}\n"
        yield _balance(row for group in files.values() for row in group["rows"])
    yield REMARKS


def _balance(every: Iterable[dict[str, Any]]) -> str:
    """The numbers of rows where we are faster or slower, and every row where a peer is better or a bar is missed."""
    rows = list(every)
    timed = [row for row in rows if row["ratio"] is not None and row["unit"].startswith("s") and _is_foreign(row)]
    speeds = [_speed(row) for row in timed]
    ahead, behind = sum(speed > 1 + EDGE for speed in speeds), sum(speed < 1 - EDGE for speed in speeds)
    judged = [row for row in rows if row["met"] is not None]
    scored = [row for row in rows if row.get("ours_score") is not None]
    better = [row for row in scored if row["ours_score"] - row["peer_score"] > SAME]
    worse = [row for row in scored if row["peer_score"] - row["ours_score"] > SAME]
    slower = [(row, speed) for row, speed in zip(timed, speeds, strict=True) if speed < 1 - EDGE]
    missed = [row for row in judged if not row["met"]]
    return "\n".join([
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
            ", ".join(filter(None, (row["what"], _compared(row))))
            + (f": {row['note']}" if row["bar"] is None else f": {_reached(row)}, goal {_bar(row)}")
            for row in missed
        )),
        "",
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


def _compared(row: dict[str, Any]) -> str:
    return f"{row['ours']} compared with {row['peer']}" if row["peer"] else str(row["ours"])


def _reached(row: dict[str, Any]) -> str:
    return f"{row['ratio']:.3g}×" if row["bar_unit"] == "×" else amount(row["ours_median"], row["unit"])


# ---- a group ----


def _group(name: str, sets: Sets) -> Iterator[str]:
    yield f"## {TITLES.get(name, name.capitalize())}\n"
    for kind, kept in sets.items():
        yield from _setting(kept, kind)
    benchmarks: dict[str, dict[tuple[str, ...], Sets]] = {}  # by name and by what is compared: the row of each kind
    for kind, kept in sets.items():
        seen: Counter[tuple[str, ...]] = Counter()  # some rows differ only in the one above them
        for row in kept["rows"]:
            key = (row["benchmark"], row["what"], row["ours"], row["peer"])
            seen[key] += 1
            benchmarks.setdefault(row["benchmark"], {}).setdefault((*key, str(seen[key])), {})[kind] = row
    for benchmark, rows in benchmarks.items():
        yield f"### {benchmark}\n"
        yield from (f"{about}\n" for about in dict.fromkeys(_abouts(benchmark, sets)))
        measured = [
            {kind: row for kind, row in of_kinds.items() if row["ours_median"] is not None}
            for of_kinds in rows.values()
        ]
        if any(measured):
            yield from _table([of_kinds for of_kinds in measured if of_kinds])
            yield ""
        notes = [
            f"- {row['what']}: {row['note']} ({kind})"
            for of_kinds in rows.values()
            for kind, row in of_kinds.items()
            if not _is_measured(row)
        ]
        if notes:
            yield from notes
            yield ""


def _is_measured(row: dict[str, Any]) -> bool:
    return row["ratio"] is not None or row["ours_median"] is not None


def _abouts(benchmark: str, sets: Sets) -> Iterator[str]:
    for kept in sets.values():
        if benchmark in kept.get("about", {}):
            yield kept["about"][benchmark]


def _table(rows: list[Sets]) -> Iterator[str]:
    """One column for each kind of machine."""
    kinds = list(dict.fromkeys(kind for of_kinds in rows for kind in of_kinds))
    head = ["what", "ours and peer", *kinds]
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for of_kinds in rows:
        any_row = next(iter(of_kinds.values()))
        cells = [any_row["what"], "<br>".join(filter(None, (any_row["ours"], any_row["peer"])))]
        cells += [_cell(of_kinds[kind]) if kind in of_kinds else "not measured" for kind in kinds]
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _cell(row: dict[str, Any]) -> str:
    """What one kind of machine measured."""
    lines = [f"**{amount(row['ours_median'], row['unit'])}**"]
    if not row["unit"]:  # scores, not times
        lines = [f"**{row['ours_median']:.4f}** and {row['peer_median']:.4f}"]
    elif row["ratio"] is not None:
        low, high = row["quartiles"]
        meaning = "as fast" if row["kind"] == FASTER else "of the peer's"
        lines = [
            f"**{row['ratio']:.3g}×** ({low:.3g} … {high:.3g}) {meaning}",
        ]
        if row["ours_median"] is not None:
            lines.append(f"{amount(row['ours_median'], row['unit'])} and {amount(row['peer_median'], row['unit'])}")
    if row["cpu_ratio"] is not None:
        lines.append(f"{row['cpu_ratio']:.3g}× by processor time")
    if row["unit"] and row.get("ours_score") is not None:
        lines.append(f"accuracy {row['ours_score']:.4f} and {row['peer_score']:.4f}")
    if row["bar"] is not None:
        lines.append(f"goal {_bar(row)}: {'met' if row['met'] else '**missed**'}")
    if row["note"]:
        lines.append(f"*{row['note']}*")
    return "<br>".join(lines)


def _bar(row: dict[str, Any]) -> str:
    return f"{'≥' if row['kind'] == FASTER else '≤'} {row['bar']:,.10g} {row['bar_unit']}".strip()


def _setting(kept: dict[str, Any], kind: str = "") -> Iterator[str]:
    """The kind of machine, the command, the machine and the versions."""
    machine, versions = kept["machine"], kept["versions"]
    named = ", ".join(f"{name} {version}" for name, version in versions.items() if version and name != "rosenblatt")
    load = " and ".join(f"{load[0]:.1f}" for load in (machine["load_at_start"], kept.get("load_at_end")) if load)
    yield (
        (f"**{kind}:** " if kind else "")
        + f"`{kept['command']}` on {kept['made'][:10]}: {machine['cpu']}, {machine['cores']} cores, {machine['system']}; at least"
    )
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
