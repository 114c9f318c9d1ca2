"""Update the table of benchmarks in README.md from benchmarks/results: python docs/benchmark_table.py."""

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
BEGIN, END = "<!-- made by python docs/benchmark_table.py -->\n", "<!-- end -->"

# Benchmark, beginning of its row, and title in the table.
SHOWN = (
    ("dense", "200,000×100 float64, 5 epochs", "Perceptron, dense 200,000×100"),
    ("dense", "50,000×784 float64, 5 epochs", "Perceptron, dense 50,000×784"),
    ("sparse", "200,000×50,000 CSR, 75 non-zeros, 5 epochs", "Perceptron, sparse 200,000×50,000"),
    ("classes", "MNIST 60,000×784 dense, 5 epochs, one core each", "Perceptron, ten classes, MNIST dense"),
    ("classes", "MNIST 60,000×784 CSR, 5 epochs, one core each", "Perceptron, ten classes, MNIST sparse"),
    ("one-by-one", "20,000 examples, 20 features, dicts", "`learn_one`, dicts of 20 features"),
    ("one-by-one", "20,000 examples, 20 features, arrays", "`learn_one`, arrays of 20 features"),
    ("rule", "200,000×50,000 CSR, 5 epochs", "custom rule, sparse"),
    ("first-fit", "first fit, 1,000×20 dense", "first `fit` in a new process, 1,000×20"),
)


Rows = dict[tuple[str, str], dict[str, Any]]


def kinds() -> list[tuple[dict[str, Any], Rows]]:
    """For each kind of machine that has measured all rows of the table: its results of the core, and all its rows."""
    found = []
    for folder in sorted(path for path in (ROOT / "benchmarks/results").iterdir() if path.is_dir()):
        files = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}
        rows = {(row["benchmark"], row["what"]): row for file in files.values() for row in file.get("rows", [])}
        if all((benchmark, what) in rows for benchmark, what, _ in SHOWN):
            found.append((files["core"], rows))
    return found


def table() -> str:
    """The table in Markdown, with the kind of machine that was measured last."""
    core, found = max(kinds(), key=lambda one: str(one[0]["made"]))
    machine = core["machine"]
    lines = [f"Machine: {machine['kind']}, {machine['cores']} cores.", ""]
    lines += ["| benchmark | compared with | theirs | ours | ratio | goal |", "|---|---|---|---|---|---|"]
    for benchmark, what, title in SHOWN:
        row = found[benchmark, what]
        faster = row["kind"] == "peer / ours"
        low, high = row["quartiles"]
        goal = f"{row['bar']:g}×" if row["bar_unit"] == "×" else f"{row['bar']:g} {row['bar_unit']}"
        verdict = "met" if row["met"] else "**missed**"
        lines.append(
            f"| {title} | {row['peer']} | {_time(row['peer_median'])} | {_time(row['ours_median'])} "
            f"| {_factor(row['ratio'])}× {'as fast' if faster else 'as long'} ({_factor(low)} to {_factor(high)}) "
            f"| {'at least' if faster else 'at most'} {goal}: {verdict} |"
        )
    return "\n".join(lines) + "\n"


def _factor(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < 2 else f"{ratio:.1f}"


def _time(seconds: float) -> str:
    return f"{1000 * seconds:.0f} ms" if seconds < 1 else f"{seconds:.2f} s"


def main() -> None:
    """Replace the table in README.md."""
    text = README.read_text(encoding="utf-8")
    pattern = f"(?s)(?<={re.escape(BEGIN)}).*?(?={re.escape(END)})"
    README.write_text(re.sub(pattern, lambda _: f"\n{table()}\n", text), encoding="utf-8")


if __name__ == "__main__":
    main()
