"""Build backend: hatchling's, which also asks for a compiler when a wheel is built.

A wheel contains the engine as machine code, which takes Numba to make and Zig's C compiler to link. An editable installation
needs neither: without a library, functions are compiled when they are first called.
"""

from typing import Any

from hatchling import build as hatchling_build

build_editable = hatchling_build.build_editable
build_sdist = hatchling_build.build_sdist
build_wheel = hatchling_build.build_wheel
get_requires_for_build_editable = hatchling_build.get_requires_for_build_editable
get_requires_for_build_sdist = hatchling_build.get_requires_for_build_sdist

COMPILER = ["numba>=0.61", "numpy>=2.0", "ziglang>=0.13"]


def get_requires_for_build_wheel(config_settings: dict[str, Any] | None = None) -> list[str]:
    """What hatchling needs, and the compiler."""
    return [*hatchling_build.get_requires_for_build_wheel(config_settings), *COMPILER]
