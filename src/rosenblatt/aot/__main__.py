"""``python -m rosenblatt.aot``: make the library in the cache folder, or at the path given."""

import sys
import tempfile
from pathlib import Path

from rosenblatt.aot.build import CannotBuild, build, this_platform
from rosenblatt.engine.native import cached_file


def main() -> int:
    """Make the library unless it exists; the exit code is 0 if it is there."""
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else cached_file()
    if target.exists() and len(sys.argv) == 1:
        return 0
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=target.parent):  # before anything is compiled
            pass
        build(target, *this_platform())
    except (CannotBuild, OSError) as error:
        print(
            f"rosenblatt: no library was made; functions are compiled when they are first called. {error}",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
