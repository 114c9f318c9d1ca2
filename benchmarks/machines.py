"""Kinds of machines: the results of each are in a folder of their own, so that a run on a new kind replaces no others."""

import json
import platform
import re
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
"""One folder for each kind of machine; beside them the files of accuracies, which do not depend on the machine."""

CPUINFO = Path("/proc/cpuinfo")


def fields(listing: str) -> dict[str, str]:
    """The fields of the first processor in the text of /proc/cpuinfo."""
    lines = (line.partition(":") for line in listing.strip().split("\n\n")[0].splitlines())
    return {name.strip(): value.strip() for name, _, value in lines}


def cpu() -> str:
    """The name of the processor."""
    known = fields(CPUINFO.read_text(encoding="utf-8")) if CPUINFO.exists() else {}
    return known.get("model name") or platform.processor() or platform.machine()


def kind(listing: str | None = None) -> str:
    """The kind of this machine, or of one with this text in /proc/cpuinfo: vendor, product line and family of its processor.

    Examples: "AMD EPYC (family 26)", "Intel Xeon". The family of Intel is left out if it is 6, that of nearly all its processors
    since 1995. Without such a text the operating system and the architecture: "Darwin arm64".
    """
    if listing is None:
        listing = CPUINFO.read_text(encoding="utf-8") if CPUINFO.exists() else ""
    known = fields(listing)
    name = re.sub(r"\((R|TM)\)", "", known.get("model name", ""), flags=re.IGNORECASE)
    line = re.search(r"\b(AMD|Intel)\b(?: (?!Processor|CPU)[A-Za-z]+\b)?", name)
    if line:
        family = known.get("cpu family", "")
        return line[0] if family in ("", "6") else f"{line[0]} (family {family})"
    if "CPU part" in known:
        return f"ARM (implementer {known.get('CPU implementer', 'unknown')}, part {known['CPU part']})"
    return f"{platform.system()} {platform.machine()}"


def folder(name: str | None = None) -> Path:
    """The folder of the results of a kind; of this machine by default."""
    return RESULTS / re.sub(r"[^a-z0-9]+", "-", (name or kind()).lower()).strip("-")


def kept(results: Path | None = None) -> dict[str, dict[str, Any]]:
    """All results: for each kind of machine, its files by name."""
    sets: dict[str, dict[str, Any]] = {}
    for path in sorted((results or RESULTS).glob("*/*.json")):
        sets.setdefault(path.parent.name, {})[path.stem] = json.loads(path.read_text(encoding="utf-8"))
    return {_title(name, files): files for name, files in sets.items()}


def _title(name: str, files: dict[str, Any]) -> str:
    """The kind in plain words, as one of the files says; else the name of the folder."""
    machines = [file.get("machine", {}) for file in files.values()]
    return next((machine["kind"] for machine in machines if "kind" in machine), name)
