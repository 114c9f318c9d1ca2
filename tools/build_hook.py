"""Add generated files to a wheel: the compiled library, and the list of public names for type checkers.

The library is made by `rosenblatt.aot` for the platform in ``ROSENBLATT_BUILD_FOR``, such as ``linux-aarch64``, else for this
machine. If it cannot be made here, the wheel is one for any platform, on which Numba compiles the functions when they are first
called; ``ROSENBLATT_BUILD_FOR=any`` asks for that.

`rosenblatt` finds its learners by their files, so that a new rule needs no entry in a list. Type checkers do not run this
search. They read ``__init__.pyi``, which the build makes from the names of the package. The repository contains
no such file, and the names have the type Any; ``python tools/build_hook.py`` writes one for an editor, and git ignores it.
"""

import importlib
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCES = Path(__file__).resolve().parent.parent / "src"

TAGS = {
    "linux-x86_64": "manylinux_2_17_x86_64.manylinux2014_x86_64",
    "linux-aarch64": "manylinux_2_17_aarch64.manylinux2014_aarch64",
    "macos-x86_64": "macosx_11_0_x86_64",
    "macos-aarch64": "macosx_11_0_arm64",
    "windows-x86_64": "win_amd64",
}
"""Tags of the wheels by platform; the library needs nothing newer, because Zig links it for these versions."""


def stub() -> str:
    """The text of ``rosenblatt/__init__.pyi``."""
    # Needs no dependency: importing the package loads nothing else.
    homes = importlib.import_module("rosenblatt")._homes()
    lines = [f"from rosenblatt.{home} import {name} as {name}" for name, home in sorted(homes.items())]
    return "\n".join([*lines, "", "__version__: str", f"__all__ = {sorted(homes)!r}", ""])


class AddGeneratedFiles(BuildHookInterface):  # type: ignore[type-arg]
    """Add the files to a wheel. An editable installation gets none, because they would soon be out of date."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the files to a temporary folder and include them."""
        if version == "editable":
            return
        self.folder = tempfile.TemporaryDirectory(prefix="rosenblatt-wheel-")
        sys.path.insert(0, str(SOURCES))
        os.environ["PYTHONPATH"] = os.pathsep.join([str(SOURCES), os.environ.get("PYTHONPATH", "")])  # for processes
        self._add("rosenblatt/__init__.pyi", stub().encode(), build_data)
        self._add_library(build_data)

    def _add(self, place: str, content: bytes, build_data: dict[str, Any]) -> None:
        path = Path(self.folder.name) / place.replace("/", "-")
        path.write_bytes(content)
        build_data["force_include"][str(path)] = place

    def _add_library(self, build_data: dict[str, Any]) -> None:
        from rosenblatt.aot import build

        asked = os.environ.get("ROSENBLATT_BUILD_FOR") or "-".join(build.this_platform())
        if asked == "any":
            return
        target = Path(self.folder.name) / "library"
        try:
            system, architecture = asked.split("-", 1)
            build.build(target, system, architecture)
        except build.CannotBuild as error:
            if os.environ.get("ROSENBLATT_BUILD_FOR"):
                raise
            self.app.display_warning(f"This wheel has no compiled library. {error}")
            return
        self._add(f"rosenblatt/engine/{build.file_name(asked)}", target.read_bytes(), build_data)
        described = {"platform": asked, **build.description(asked)}
        place = Path(self.folder.name) / "library.json"
        place.write_text(json.dumps(described, indent=1), encoding="utf-8")
        build_data["extra_metadata"][str(place)] = "library.json"
        build_data["pure_python"] = False
        build_data["tag"] = f"cp311-abi3-{build.platform_tag(asked, TAGS.get(asked))}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the temporary folder."""
        if version != "editable":
            self.folder.cleanup()


if __name__ == "__main__":
    sys.path.insert(0, str(SOURCES))
    (SOURCES / "rosenblatt" / "__init__.pyi").write_text(stub(), encoding="utf-8")
