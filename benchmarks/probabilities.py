"""Log loss and calibration error of probabilities before learning, beside VW's logistic regression.

Each example is predicted, and then learned, in the order of the file and once. rosenblatt reads the file as `rosenblatt stream`
does with default settings, and with two other learners; its probabilities are scores that an online scaling by Platt converts. VW
gets numbers as ``name:value`` and everything else as words, with ``--loss_function logistic --link logistic`` and the rest as it
comes. The same function judges both. `python -m benchmarks probabilities --data FOLDER` makes the table of the documentation.
"""

import csv
import json
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rosenblatt.model.calibration import Judgement

from .harness import Options, environment

RESULTS = Path(__file__).parent / "results" / "probabilities.json"

FILES = {
    "a9a": ("a9a/a9a", ()),
    "elec2": ("elec2/elec.csv", ("--label", "class")),
    "SMS": ("sms-spam/SMSSpamCollection", ("--label", "0", "--no-header")),
}
"""Each set: its file, and the options with which it is read."""

LEARNERS = {
    "rosenblatt stream": (),
    "… averaged-perceptron": ("-a", "averaged-perceptron"),
    "… passive-aggressive, averaged": ("-a", "passive-aggressive", "--set", "readout=average"),
}
PEER = "VW, logistic"
NEAR, CALIBRATED = 1.05, 0.03
"""The bars: a log loss of at most so many times that of VW, and a calibration error of at most this."""


def ours(path: Path, *options: str) -> dict[str, float]:
    """What `rosenblatt stream` reports."""
    command = [sys.executable, "-m", "rosenblatt.cli", "stream", str(path), "--json", "-q", *options]
    facts = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return {name: facts[name] for name in ("log_loss", "calibration_error", "accuracy")}


def lines(name: str, path: Path) -> Iterator[tuple[int, str]]:
    """The label, 0 or 1, and the features of each row as VW text."""
    with path.open(encoding="utf-8", newline="") as file:
        if name == "elec2":
            for record in csv.DictReader(file):
                yield int(record.pop("class")), " ".join(f"{key}:{value}" for key, value in record.items())
        elif name == "a9a":
            for line in file:
                label, _, features = line.strip().partition(" ")
                yield int(int(label) > 0), features
        else:
            for line in file:
                label, _, text = line.partition("\t")
                yield int(label == "spam"), " ".join(re.findall(r"\w+", text.lower()))


def vw(name: str, path: Path) -> dict[str, float]:
    """The same of VW."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from vowpalwabbit import Workspace

        workspace = Workspace("--loss_function logistic --link logistic --quiet")
    odds, codes = [], []
    for label, features in lines(name, path):
        odds.append(workspace.predict(f"| {features}"))
        codes.append(label)
        workspace.learn(f"{2 * label - 1} | {features}")
    workspace.finish()
    judgement, second = Judgement(), np.array(odds, np.float64)
    judgement.add(np.column_stack([1.0 - second, second]), np.array(codes))
    right = (second >= 0.5) == np.array(codes)
    return {
        "log_loss": judgement.log_loss,
        "calibration_error": judgement.calibration_error,
        "accuracy": float(right.mean()),
    }


def run(folder: Path, output: Path | None) -> None:
    """Measure, print and store; sets that are not in the folder are left out."""
    facts, rows = environment(Options(1, False, folder)), []
    print(f"{'data':8}{'learner':34}{'log loss':>10}{'calibration error':>20}{'accuracy':>10}")
    for name, (file, options) in FILES.items():
        if not (folder / file).exists():
            print(f"{name:8}{folder / file} was not found")
            continue
        found = {learner: ours(folder / file, *options, *chosen) for learner, chosen in LEARNERS.items()}
        found[PEER] = vw(name, folder / file)
        count = sum(1 for _ in lines(name, folder / file))
        rows.append({"data": name, "examples": count, "results": found})
        for learner, one in found.items():
            print(
                f"{name:8}{learner:34}{one['log_loss']:>10.4f}{one['calibration_error']:>20.4f}{one['accuracy']:>10.4f}",
                flush=True,
            )
    near = [row["data"] for row in rows if _ratio(row) <= NEAR]
    calibrated = [row["data"] for row in rows if _default(row)["calibration_error"] <= CALIBRATED]
    print(
        f"log loss at most {NEAR} × that of VW: {', '.join(near)}; calibration error at most {CALIBRATED}: {calibrated}"
    )
    if output is not None:
        output.write_text(json.dumps(facts | {"rows": rows, "complete": True}, indent=1) + "\n", encoding="utf-8")
        print(f"Kept in {output}")


def _default(row: dict[str, Any]) -> dict[str, float]:
    found: dict[str, float] = row["results"][next(iter(LEARNERS))]
    return found


def _ratio(row: dict[str, Any]) -> float:
    return _default(row)["log_loss"] / float(row["results"][PEER]["log_loss"])
