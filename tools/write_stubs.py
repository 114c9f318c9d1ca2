"""Write the list of public names for type checkers and editors into the wheel when it is built.

`rosenblatt` finds its learners by their files, so that a new rule needs no entry in a list. Type checkers do not run this
search. They read ``__init__.pyi``, which the build makes from the names of the package. The repository contains
no such file, and the names have the type Any; ``python tools/write_stubs.py`` writes one for an editor, and git ignores it.
"""

import importlib
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCES = Path(__file__).resolve().parent.parent / "src"


def stub() -> str:
    """The text of ``rosenblatt/__init__.pyi``."""
    sys.path.insert(0, str(SOURCES))
    try:  # needs no dependency: importing the package loads nothing else
        homes = importlib.import_module("rosenblatt")._homes()
    finally:
        sys.path.remove(str(SOURCES))
    lines = [f"from rosenblatt.{home} import {name} as {name}" for name, home in sorted(homes.items())]
    return "\n".join([*lines, "", "__version__: str", f"__all__ = {sorted(homes)!r}", ""])


class WriteStubs(BuildHookInterface):  # type: ignore[type-arg]
    """Add the stub to the wheel. An editable installation gets none, because it would soon be out of date."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the stub to a temporary folder and include it."""
        if version == "editable":
            return
        self.folder = tempfile.TemporaryDirectory(prefix="rosenblatt-stubs-")
        path = Path(self.folder.name) / "__init__.pyi"
        path.write_text(stub(), encoding="utf-8")
        build_data["force_include"][str(path)] = "rosenblatt/__init__.pyi"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the temporary folder."""
        if version != "editable":
            self.folder.cleanup()


if __name__ == "__main__":
    (SOURCES / "rosenblatt" / "__init__.pyi").write_text(stub(), encoding="utf-8")
