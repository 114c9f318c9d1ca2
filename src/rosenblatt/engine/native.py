"""The library of machine code: every function of the engine that Python calls, compiled when the package was built.

Where it is looked for, in this order:

1. in the package, as the wheels have it;
2. in the cache folder, where ``python -m rosenblatt.aot`` puts it for an installation from source;
3. nowhere: then Numba compiles each function when it is first called.

``ROSENBLATT_LIBRARY`` names another file, or is ``off``. ``ROSENBLATT_STRICT=1`` makes it an error to need Numba for anything but
a rule of the user's own. A library that cannot be loaded is reported once, and skipped.
"""

import importlib.machinery
import importlib.util
import os
import sys
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

NAME = "rosenblatt.engine._native"
FILE = "_native.abi3.so" if os.name != "nt" else "_native.pyd"

FAILURE = "failed.txt"
"""The file beside a library that says why a process in the background could not make it."""


class Library:
    """Functions and step functions of a loaded library; without one it has nothing.

    Parameters
    ----------
    module : module, default=None
        The extension module.
    strict : bool, default=False
        Whether a call that the library has no machine code for is an error.
    shipped : bool, default=True
        Whether the library came with the package. Otherwise the rules of the package may have been edited since it was made.
    """

    def __init__(self, module: Any = None, strict: bool = False, shipped: bool = True) -> None:
        self.module, self.strict, self.shipped = module, strict, shipped

    @property
    def level(self) -> str | None:
        """The level of processors whose machine code runs, such as ``x86-64-v3``; None without a library."""
        return None if self.module is None else str(self.module.level)

    def bind(self, name: str, otherwise: Callable[..., Any]) -> Any:
        """The function of this name, or None; it calls `otherwise` for types of arguments without machine code."""
        return None if self.module is None else self.module.bind(name, otherwise)

    def step(self, step: Callable[..., Any]) -> int | None:
        """The address of the machine code of a built-in step function, or None."""
        package, _, name = (step.__module__ or "").rpartition(".")  # None at a prompt
        if self.module is None or package != "rosenblatt.learners" or step.__qualname__ != "step":
            return None
        address, source = self.module.step(name) or (None, None)
        return address if self.shipped or source == hash_step(step) else None

    def missing(self, name: str, arguments: tuple[Any, ...]) -> None:
        """Raise an error if the library is to have machine code for everything."""
        if self.strict:
            raise TypeError(f"the library has no machine code of {name} for {_types(arguments)}")


def hash_step(step: Callable[..., Any]) -> str:
    """A short hash of the source of a step function and of all that it refers to."""
    import hashlib

    from .steps import step_source

    return hashlib.sha256((step_source(step) or "").encode()).hexdigest()[:16]


def _types(value: Any) -> str:
    """The types of arguments, for a message."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_types, value))})"
    return f"{value.dtype}{list(value.shape)}" if hasattr(value, "dtype") else type(value).__name__


def seal(content: bytes) -> bytes:
    """What follows the content of a library file on Linux, which would end a process that loads an incomplete one."""
    return b"rosenblatt" + zlib.crc32(content).to_bytes(4, "little")


def load_file(path: Path) -> Any:
    """Load a library from a file."""
    if sys.platform == "linux":
        content = path.read_bytes()
        if content[-14:] != seal(content[:-14]):
            raise ImportError("the file is damaged")
    loader = importlib.machinery.ExtensionFileLoader(NAME, str(path))
    specification = importlib.util.spec_from_file_location(NAME, path, loader=loader)
    assert specification is not None
    module = importlib.util.module_from_spec(specification)
    loader.exec_module(module)
    return module


def cached_file() -> Path:
    """Where an installation from source keeps its library."""
    from .cache import SOURCES, base_folder

    return base_folder() / f"library-{SOURCES}" / FILE


def start_building() -> str:
    """Start to make the library in the background; return a line that says so, or nothing if there is nothing to do.

    There is something to do if functions of the package are compiled one by one, as after an installation from a clone, and the
    library can be made: on Linux and macOS, with Numba, in a cache folder that can be written, if that did not fail before.
    """
    asked, file = os.environ.get("ROSENBLATT_LIBRARY", ""), cached_file()
    if LIBRARY.module is not None or asked or os.name == "nt" or os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        return ""
    if file.exists() or file.with_name(FAILURE).exists() or importlib.util.find_spec("numba") is None:
        return ""
    existing = next(folder for folder in file.parents if folder.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK) or not Path(__file__).parent.with_name("aot").is_dir():
        return ""
    from .cache import building_lock, only_one

    if building_lock().exists():
        with only_one(building_lock(), wait=False) as free:
            if not free:
                return ""
    import subprocess

    subprocess.Popen(
        [sys.executable, "-m", "rosenblatt.aot", "--behind"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    return (
        "rosenblatt: the other learners are compiled in the background, once, so that they start at once later. It takes some "
        "minutes of one core at low priority; ROSENBLATT_LIBRARY=off prevents it."
    )


def _find() -> Path | None:
    """The file of the library, or None."""
    shipped = Path(__file__).with_name(FILE)
    if shipped.exists():
        return shipped
    from .cache import is_private

    cached = cached_file()
    return cached if cached.exists() and is_private(cached) else None


def _load() -> Library:
    """Load the library, or report why it cannot be loaded."""
    asked = os.environ.get("ROSENBLATT_LIBRARY", "")
    if asked == "off" or os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        return Library()
    strict = os.environ.get("ROSENBLATT_STRICT", "0") != "0"
    path = Path(asked) if asked else _find()
    if path is None:
        if strict:
            raise ImportError("ROSENBLATT_STRICT=1 needs a compiled library; make one with: python -m rosenblatt.aot")
        return Library()
    shipped = path.parent == Path(__file__).parent
    try:
        module = load_file(path)
        if not shipped:
            from .cache import SOURCES

            if module.sources != SOURCES:
                raise ImportError("it was made from other sources")
        return Library(module, strict, shipped)
    except (ImportError, OSError) as error:
        if strict:
            raise
        warnings.warn(
            f"The compiled library {path} cannot be loaded ({error}). Functions are compiled by Numba instead, which takes "
            "seconds at the first call; reinstall rosenblatt to repair it.",
            RuntimeWarning,
            stacklevel=2,
        )
        sys.modules.pop(NAME, None)
        return Library()


LIBRARY = _load()
"""The library of this process."""
