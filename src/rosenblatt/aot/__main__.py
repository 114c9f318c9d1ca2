"""``python -m rosenblatt.aot``: make the library in the cache folder, or at the path given.

With ``--background`` it is made at low priority by a process of its own, and this one ends at once; see `engine.native`.
"""

import contextlib
import os
import shutil
import sys
import tempfile
from pathlib import Path

from rosenblatt.aot.build import CannotBuild, build, find_linker, is_quick, this_platform
from rosenblatt.engine.cache import base_folder, building_lock, only_one
from rosenblatt.engine.native import FAILURE, FREE_THREADED, cached_file, start_building, works

INTERRUPTED = 130


def main() -> int:
    """Make the library unless there is one that works; the exit code is 0 if it is there."""
    arguments = sys.argv[1:]
    if arguments == ["--background"]:
        if line := start_building():
            print(line, file=sys.stderr)
        return 0
    behind = arguments == ["--behind"]
    target = None
    try:
        target = Path(arguments[0]) if arguments and not behind else cached_file()
        if (behind or not arguments) and works(target):
            return 0
        make(target, behind)
    except KeyboardInterrupt:
        print("rosenblatt: interrupted; no library was made", file=sys.stderr)
        return INTERRUPTED
    except (CannotBuild, OSError) as error:
        if behind and target is not None:
            with contextlib.suppress(OSError):
                target.with_name(FAILURE).write_text(f"{error}\n", encoding="utf-8")
        print(
            f"rosenblatt: no library was made; functions are compiled when they are first called. {error}",
            file=sys.stderr,
        )
        return 1
    return 0


def make(target: Path, behind: bool) -> None:
    """Make the library in a file. Only one process of a user at a time compiles for minutes."""
    if FREE_THREADED:
        raise CannotBuild("A Python without the GIL cannot load a library.")
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=target.parent):  # before anything is compiled
        pass
    find_linker(*this_platform())
    if behind and hasattr(os, "nice"):
        os.nice(19)
    folder = base_folder() / "parts"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if is_quick(folder, *this_platform()):
        build(target, *this_platform(), kept=folder)
        return
    with only_one(building_lock(), wait=not behind) as first:
        if not first or (target == cached_file() and works(target)):
            return
        for left in [*folder.glob(".*"), *target.parent.glob(".*.tmp")]:  # by a process that was killed
            shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink()
        build(target, *this_platform(), kept=folder, workers=1 if behind else None, scratch=folder)
        target.with_name(FAILURE).unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(main())
