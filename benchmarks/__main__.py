"""Run benchmarks, print them as tables, save them as JSON, and generate the page of the documentation.

Without a name all benchmarks run, and each group is saved in benchmarks/results, in the folder of this kind of machine; `page`
only writes docs/benchmarks.md.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from . import (
    commands,
    core,
    default_accuracy,
    files,
    lab,
    machines,
    page,
    peers,
    probabilities,
    proofs,
    scaling,
    sequences,
    service,
)
from .harness import Options, Row, environment, show, write

GROUPS = {
    "core": core.BENCHMARKS,
    "peers": peers.BENCHMARKS,
    "files": files.BENCHMARKS,
    "commands": commands.BENCHMARKS,
    "proofs": proofs.BENCHMARKS,
    "scaling": scaling.BENCHMARKS,
    "sequences": sequences.BENCHMARKS,
    "lab": lab.BENCHMARKS,
    "service": service.BENCHMARKS,
}
TABLES = {"accuracy": default_accuracy, "probabilities": probabilities}
"""Groups whose results do not depend on the machine; they need the real data sets."""
BENCHMARKS = {name: run for group in GROUPS.values() for name, run in group.items()}


def about(run: object) -> str:
    """The first line of the docstring of a benchmark."""
    return (run.__doc__ or "").splitlines()[0]


def main() -> None:
    listing = "\n".join(
        f"{group}\n" + "\n".join(f"  {name:24}{about(run)}" for name, run in parts.items())
        for group, parts in GROUPS.items()
    )
    listing += "".join(f"\n{name}\n  {about(table)} It needs --data." for name, table in TABLES.items())
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        epilog=f"groups and their benchmarks:\n{listing}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="groups or benchmarks (default: all), or page")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="folder of the real data sets (FOLDER/mnist/*.gz)")
    parser.add_argument("--repeats", type=int, default=7, metavar="N", help="measurements of each side (default: 7)")
    parser.add_argument(
        "--quick", action="store_true", help="a tenth of the rows and 3 repeats, to check that everything runs"
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE.json",
        help="file for the results; by default only whole groups are saved, in the folder of this kind of machine",
    )
    chosen = parser.parse_args()
    if chosen.names == ["page"]:
        page.write()
        return
    everything = not chosen.names
    tables = [name for name in TABLES if name in chosen.names]
    if everything and chosen.data is not None and not chosen.quick:
        tables = list(TABLES)
    chosen.names = [name for name in chosen.names if name not in TABLES]
    unknown = [name for name in chosen.names if name not in {**BENCHMARKS, **GROUPS}]
    if unknown:
        names = ", ".join([*GROUPS, *TABLES, *BENCHMARKS])
        parser.error(f"NAME must be page or one of {names}; got {', '.join(unknown)}")
    if tables and chosen.data is None:
        parser.error(f"{tables[0]} needs the data sets; give their folder with --data")
    if chosen.repeats < 1:
        parser.error(f"--repeats must be at least 1; got {chosen.repeats}")

    for name in tables:
        TABLES[name].run(chosen.data, TABLES[name].RESULTS)
    if tables and not (everything or chosen.names):
        return
    options = Options(min(3, chosen.repeats) if chosen.quick else chosen.repeats, chosen.quick, chosen.data)
    console = Console()
    if options.quick:
        console.print("[bold]--quick: small data sets that fit in the CPU caches; do not use these numbers.[/bold]")
    if chosen.output is not None or any(name not in GROUPS for name in chosen.names):
        single = [one for name in chosen.names or BENCHMARKS for one in GROUPS.get(name, [name])]
        rows = _run(console, options, single, chosen.output, keep_parts=True)
    else:
        rows = []
        for group in chosen.names or GROUPS:
            target = None if options.quick else machines.folder() / f"{group}.json"
            rows += _run(console, options, list(GROUPS[group]), target, keep_parts=False)
        if not options.quick:
            page.write()
    missed = [row.what for row in rows if row.met is False]
    judged = sum(row.met is not None for row in rows)
    console.print(f"{judged - len(missed)} of {judged} bars are met.", *(f"\n  missed: {what}" for what in missed))


def _whatever_comes(name: str, rows: Iterator[Row]) -> Iterator[Row]:
    """The rows; if one cannot be made, a row with the error, so that the other benchmarks continue.

    A peer may fail, but the service, which has no peer, may not.
    """
    try:
        yield from rows
    except Exception as error:  # noqa: BLE001 - a peer may raise anything
        failed = False if name in service.BENCHMARKS else None
        yield Row(name, note=f"broke off: {' '.join(str(error).split())[:300] or type(error).__name__}", met=failed)


def _run(console: Console, options: Options, names: list[str], output: Path | None, *, keep_parts: bool) -> list[Row]:
    """Run benchmarks one after the other and save the results: complete ones, or also partial ones."""
    setting = environment(options)
    setting["about"] = {name: about(BENCHMARKS[name]) for name in names}
    machine = setting["machine"]
    console.print(f"{machine['kind']}: {machine['cpu']}, {machine['cores']} cores, load {machine['load_at_start']}")
    rows: list[Row] = []
    try:
        for name in names:
            rows += show(console, name, _whatever_comes(name, BENCHMARKS[name](options)))
        setting["complete"] = True
    finally:  # after an error, save partial results only if requested, and never over a complete run
        if output is not None and (setting["complete"] or keep_parts):
            write(output, setting, rows)
            console.print(f"Kept in {output}")
    return rows


if __name__ == "__main__":
    main()
