"""Parts of a library that an earlier build left in the cache folder: a change in a parser does not compile the loops again.

A part holds the object files of a group of functions that one process compiles. The name of its folder is a hash of everything
that the machine code depends on: the signatures, the modules of the engine that the group needs, this package, the platform, and
the versions of Numba and Python.
"""

import ast
import contextlib
import functools
import hashlib
import json
import shutil
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path

from rosenblatt.engine.entries import ENTRIES

ENGINE = Path(__file__).parent.with_name("engine")
KEPT_DAYS = 30

Wanted = list[tuple[str, str, str]]
"""What a group contains: (symbol, function, signature)."""


def folder_of(parts: Path, group: str, wanted: Wanted, system: str, levels: tuple[str, ...]) -> Path | None:
    """The folder of a part; None for step functions, which come from files outside of the engine.

    Parameters
    ----------
    parts : Path
        The folder of all parts.
    group : str
        The name of the group.
    wanted : list of (str, str, str)
        Symbol, function and signature of everything in it.
    system : str
        The operating system that the object files are for.
    levels : tuple of str
        The levels of processors.
    """
    if group == "steps":
        return None
    versions = [metadata.version("numba"), metadata.version("llvmlite"), metadata.version("numpy"), sys.version]
    digest = hashlib.sha256(json.dumps([group, wanted, system, levels, versions]).encode())
    own = [
        path for path in Path(__file__).parent.iterdir() if path.name in ("backend.py", "frontend.py", "signatures.py")
    ]
    for path in sorted([*own, *_modules({ENTRIES[name][0] for _, name, _ in wanted})]):
        digest.update(path.read_bytes())
    return parts / digest.hexdigest()[:24]


def load(folder: Path | None) -> dict[str, str] | None:
    """The symbols of a part, with the letters of their results; None if there is no such part."""
    if folder is None:
        return None
    try:
        text = (folder / "symbols.json").read_text(encoding="utf-8")
        folder.touch()
    except OSError:
        return None
    return dict(json.loads(text))


def save(folder: Path | None, symbols: dict[str, str], objects: list[Path]) -> None:
    """Keep a part for later builds, and remove parts that no build has used for a month. A build does not fail if it cannot."""
    if folder is None:
        return
    with contextlib.suppress(OSError):
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".") as made:
            for path in objects:
                shutil.copy(path, Path(made, path.name))
            Path(made, "symbols.json").write_text(json.dumps(symbols), encoding="utf-8")
            Path(made).rename(folder)  # complete or not at all; fails if another process was first
            Path(made).mkdir()  # for the end of the block
        for old in folder.parent.iterdir():
            if time.time() - old.stat().st_mtime > KEPT_DAYS * 24 * 3600:
                shutil.rmtree(old, ignore_errors=True)


def _modules(needed: set[str]) -> list[Path]:
    """The files of the engine that functions of these modules may depend on.

    A module that defines functions of other groups is left out if none of the needed ones imports it. Every other module counts,
    also if no import names it, because some code is generated.
    """
    reached = set(needed)
    waiting = list(needed)
    while waiting:
        found = _imports(waiting.pop()) - reached
        reached |= found
        waiting += found
    homes = {home for home, _ in ENTRIES.values()}
    modules = {".".join(path.relative_to(ENGINE).with_suffix("").parts): path for path in ENGINE.rglob("*.py")}
    free = homes | {name for name in modules if name.startswith("text.")}
    never = {"entries", "native", "cache", "compiling"}  # they find machine code and are not part of it
    return [path for name, path in modules.items() if name not in never and (name in reached or name not in free)]


@functools.cache
def _imports(module: str) -> set[str]:
    """The modules of the engine that a module of the engine imports."""
    path = ENGINE.joinpath(*module.split(".")).with_suffix(".py")
    if not path.exists():
        return set()
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ImportFrom):
            continue
        home = node.module or ""
        if node.level:
            parents = module.split(".")[: -node.level]
            home = ".".join([*parents, *filter(None, [home])])
        elif home.startswith("rosenblatt.engine"):
            home = home.removeprefix("rosenblatt.engine").lstrip(".")
        else:
            continue
        found |= {home} if home else set()
        found |= {f"{home}.{name.name}".lstrip(".") for name in node.names}  # a module of a package
    return {name for name in found if ENGINE.joinpath(*name.split(".")).with_suffix(".py").exists()}
