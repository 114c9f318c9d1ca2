"""Count the files of the package that one dense fit passes through: ``python tools/files_of_a_fit.py [--at-most 18]``.

The script runs ``Perceptron().fit(X, y)`` twice, with an empty folder for machine code, and lists

- the files of the package with a function that the second fit calls, and
- the files with a function that was compiled for the first one. This includes the implementations of overloads and the modules
  that the library generates in its folder for machine code; the text of the rule is in such a module.

The second fit calls what every fit calls. The first one calls the compiler as well, which no row passes through; with `--first`
its files are counted, too. Files that are only imported are not counted, nor are the generated `__init__` methods of data
classes, which have no file. A file whose overload is only asked whether it supports the types, and declines, is not counted.

Before the package was rearranged the counts were 25 and 28 (with `--first`), three of them generated. The number 36
of that time was counted by hand and includes files that are imported but run no function in this fit.

`PYTHONPATH` chooses the version of the package, as for ``PYTHONPATH=other/src python tools/files_of_a_fit.py``.
"""

import argparse
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any


class Recorder:
    """Profiler that records the files of all functions that are called or compiled."""

    def __init__(self, folders: tuple[Path, ...]) -> None:
        from numba.core import compiler

        self.folders = tuple(f"{folder}{os.sep}" for folder in folders)
        self.called: set[str] = set()
        self.compiled: set[str] = set()
        self._imports = 0
        self._begins_to_compile: dict[CodeType, str] = {
            compiler.CompilerBase.compile_extra.__code__: "func",
            compiler.run_frontend.__code__: "func",  # of functions that Numba itself inlines
        }

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        """Record one event of `sys.setprofile`."""
        code = frame.f_code
        if code.co_name == "<module>":
            self._imports += {"call": 1, "return": -1}.get(event, 0)
        elif event == "return" and code.co_filename.startswith(self.folders):
            if not self._imports and not _declines(frame, argument):
                self.called.add(code.co_filename)
        elif event == "call" and code in self._begins_to_compile:
            function: Callable[..., Any] = frame.f_locals[self._begins_to_compile[code]]
            if function.__code__.co_filename.startswith(self.folders):
                self.compiled.add(function.__code__.co_filename)


def _declines(frame: FrameType, returned: object) -> bool:
    """Whether an overload returned no implementation for these types."""
    caller = frame.f_back
    return returned is None and caller is not None and caller.f_code.co_filename.endswith(_TEMPLATES)


_TEMPLATES = str(Path("numba", "core", "typing", "templates.py"))


def files_of_a_fit(first: bool) -> tuple[list[tuple[str, str, str]], int]:
    """The floor, the path and the part (called, compiled) of every file, and the number of imported files.

    The fit is one of two classes in dense rows; `first`: with the files that only the first fit calls.
    """
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ROSENBLATT_CACHE_DIR"] = folder
        import numpy as np

        import rosenblatt

        learner = rosenblatt.Perceptron
        package, cache = Path(rosenblatt.__file__).parent, Path(folder).resolve()
        generator = np.random.default_rng(0)
        X = generator.normal(size=(40, 3))
        y = np.where(X @ [1.0, -2.0, 0.5] > 0, "yes", "no")
        recorder = Recorder((package, Path(folder), cache))
        threading.setprofile(recorder)
        sys.setprofile(recorder)
        try:
            learner().fit(X, y)
            if not first:
                recorder.called.clear()
                learner().fit(X, y)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
        found = []
        parts = {"called": recorder.called, "compiled": recorder.compiled}
        for name in set().union(*parts.values()):
            path = Path(name)
            inside = path.is_relative_to(package)
            relative = path.relative_to(package) if inside else Path(path.name)
            floor = (relative.parts[0] if len(relative.parts) > 1 else "(package)") if inside else "(generated)"
            found.append((floor, str(relative), ", ".join(part for part, names in parts.items() if name in names)))
        files = {getattr(module, "__file__", None) or "" for module in list(sys.modules.values())}
        imported = sum(file.startswith(recorder.folders) for file in files)
    return sorted(found), imported


def main() -> None:
    """Print the files by floor and their number; the exit code is 1 if there are more than allowed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--at-most", type=int, metavar="N", help="fail if there are more files than this")
    parser.add_argument("--first", action="store_true", help="count what only the first fit of a process calls, too")
    chosen = parser.parse_args()
    limit = chosen.at_most
    found, imported = files_of_a_fit(chosen.first)
    for floor, path, parts in found:
        print(f"{floor:12}  {path:44}  {parts}")
    generated = sum(floor == "(generated)" for floor, _, _ in found)
    print(f"{len(found)} files, {generated} of them generated ({imported} imported)")
    if limit is not None and len(found) > limit:
        sys.exit(f"One dense fit passes through {len(found)} files; at most {limit} are allowed")


if __name__ == "__main__":
    main()
