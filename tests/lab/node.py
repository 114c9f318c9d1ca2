"""The lab's JavaScript engine in Node."""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from rosenblatt.lab.bundle import STATIC
from rosenblatt.lab.catalogue import catalogue

NODE = shutil.which("node")


def copy_engine(folder: Path) -> None:
    """Copy the modules into a folder in which Node takes them for ES modules."""
    shutil.copytree(STATIC / "engine", folder / "engine")
    shutil.copy(Path(__file__).with_name("engine.mjs"), folder)
    (folder / "package.json").write_text('{"type": "module"}')


def ask(requests: Iterable[tuple[str, Any]], described: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """The answers of the JavaScript engine, each ``{"answer": …}`` or ``{"error": …}``."""
    assert NODE is not None, "The tests of the lab's engine need Node; install it as nodejs"
    lines = "".join(json.dumps(one) + "\n" for one in [("start", described or catalogue()), *requests])
    with tempfile.TemporaryDirectory() as folder:
        copy_engine(Path(folder))
        done = subprocess.run(
            [NODE, "engine.mjs"], cwd=folder, input=lines, capture_output=True, text=True, timeout=300, check=False
        )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def same_csv(text: str, other: str) -> None:
    """The same table; numbers may differ by rounding, as those of two separators with the same margin do."""
    tables = [[line.split(",") for line in one.splitlines()] for one in (text, other)]
    assert tables[0][0] == tables[1][0]
    for row, expected in zip(*tables, strict=True):
        for cell, value in zip(row, expected, strict=True):
            assert cell == value or float(cell) == pytest.approx(float(value), rel=1e-9, abs=1e-9)
