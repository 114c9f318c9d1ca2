"""Run benchmarks, print them as tables, and keep them as JSON."""

import argparse
from pathlib import Path

from rich.console import Console

from . import commands, core, files, proofs
from .harness import Options, Row, environment, show, write

BENCHMARKS = {**core.BENCHMARKS, **proofs.BENCHMARKS, **files.BENCHMARKS, **commands.BENCHMARKS}
DEFAULT_FILE = Path(__file__).parent / "results" / "core.json"


def main() -> None:
    listing = "\n".join(f"  {name:20}{(run.__doc__ or '').splitlines()[0]}" for name, run in BENCHMARKS.items())
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        epilog=f"benchmarks:\n{listing}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="what to run; everything by default")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="where the real data sets are (FOLDER/mnist/*.gz)")
    parser.add_argument("--repeats", type=int, default=7, metavar="N", help="measurements of each side; default 7")
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows and 3 repeats; not to judge by")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE.json",
        help="where to keep the results; by default a full run goes to benchmarks/results/core.json, any other nowhere",
    )
    chosen = parser.parse_args()
    unknown = [name for name in chosen.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"NAME must be one of {', '.join(BENCHMARKS)}; got {', '.join(unknown)}")
    if chosen.repeats < 1:
        parser.error(f"--repeats must be at least 1; got {chosen.repeats}")

    options = Options(min(3, chosen.repeats) if chosen.quick else chosen.repeats, chosen.quick, chosen.data)
    console = Console()
    setting = environment(options)
    console.print(
        f"{setting['machine']['cpu']}, {setting['machine']['cores']} cores, load {setting['machine']['load_at_start']}"
    )
    if options.quick:
        console.print(
            "[bold]--quick: small sets that fit the processor's caches; do not judge by these numbers.[/bold]"
        )
    rows: list[Row] = []
    output = chosen.output or (None if chosen.names or options.quick else DEFAULT_FILE)
    try:
        for name in chosen.names or BENCHMARKS:
            rows += show(console, name, BENCHMARKS[name](options))
        setting["complete"] = True
    finally:  # what was measured before an error is kept, but never in place of a complete run
        if output is not None and (setting["complete"] or chosen.output):
            write(output, setting, rows)
            console.print(f"Kept in {output}")
    missed = [row.what for row in rows if row.met is False]
    judged = sum(row.met is not None for row in rows)
    console.print(f"{judged - len(missed)} of {judged} bars are met.", *(f"\n  missed: {what}" for what in missed))


if __name__ == "__main__":
    main()
