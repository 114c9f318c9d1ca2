"""The library of machine code: every function of the engine that Python calls, compiled when the package was built.

Where it is looked for, in this order:

1. in the package, as the wheels have it;
2. in the cache folder, where ``python -m rosenblatt.aot`` puts it for an installation from source;
3. nowhere: then Numba compiles each function when it is first called.

``ROSENBLATT_LIBRARY`` names another file, or is ``off``. ``ROSENBLATT_STRICT=1`` makes it an error to need Numba for anything but
a rule of the user's own. A library that cannot be loaded is reported, and the next place is tried; reading never raises anything.
"""

import importlib.machinery
import importlib.util
import os
import sys
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

NAME = "rosenblatt.engine._native"
FILE = "_native.abi3.so" if os.name != "nt" else "_native.pyd"

FAILURE = "failed.txt"
"""The file beside a library that says why a process in the background could not make it."""

FREE_THREADED = "free-threading" in sys.version
"""Whether this Python was built without the GIL: it can load no extension of the stable ABI, because objects differ."""

REPAIRS = {
    "shipped": "reinstall rosenblatt to repair it",
    "cached": "`python -m rosenblatt.aot` repairs it",
    "asked": "ROSENBLATT_LIBRARY names it",
}
"""What to do about a file that cannot be loaded, by the place where it was found."""


class Unsuited(ImportError):  # noqa: N818 - users see the message only
    """A sound library that cannot run here, so that no repair helps."""


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
    problems : tuple of str, default=()
        Files that could not be loaded, each with the reason.
    """

    def __init__(
        self, module: Any = None, strict: bool = False, shipped: bool = True, problems: tuple[str, ...] = ()
    ) -> None:
        self.module, self.strict, self.shipped, self.problems = module, strict, shipped, problems

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
    """Load a library from a file; raise an ImportError or OSError if that is not possible."""
    if FREE_THREADED:
        raise Unsuited("a Python without the GIL cannot load it")
    if sys.platform == "linux":
        content = path.read_bytes()
        if content[-14:] != seal(content[:-14]):
            raise ImportError("the file is damaged")
    loader = importlib.machinery.ExtensionFileLoader(NAME, str(path))
    specification = importlib.util.spec_from_file_location(NAME, path, loader=loader)
    assert specification is not None
    module = importlib.util.module_from_spec(specification)
    loader.exec_module(module)
    if not module.level:
        raise Unsuited("this processor lacks instructions that it uses")
    return module


def load_current(path: Path) -> Any:
    """The same, for a library that must be made from the sources of this package."""
    from .cache import SOURCES

    module = load_file(path)
    if module.sources != SOURCES:
        raise ImportError("it was made from other sources")
    return module


def works(path: Path) -> bool:
    """Whether a library in the cache folder belongs to this user and can be loaded."""
    from .cache import is_private

    try:
        return is_private(path) and bool(load_current(path))
    except (ImportError, OSError):
        return False


def cached_file() -> Path:
    """Where an installation from source keeps its library. Raises an OSError if there is no cache folder."""
    from .cache import SOURCES, base_folder

    return base_folder() / f"library-{SOURCES}" / FILE


def start_building() -> str:
    """Start to make the library in the background; return a line that says so, or nothing if there is nothing to do.

    There is something to do if functions of the package are compiled one by one, as after an installation from a clone, and the
    library can be made: on Linux and macOS, with Numba, in a cache folder that can be written, if that did not fail before.
    """
    if LIBRARY.module is not None or switched_off() or os.environ.get("ROSENBLATT_LIBRARY"):
        return ""
    if os.name == "nt" or FREE_THREADED or importlib.util.find_spec("numba") is None:
        return ""
    try:
        file = cached_file()
        if works(file) or file.with_name(FAILURE).exists():
            return ""
        existing = next(folder for folder in file.parents if folder.exists())
    except OSError:
        return ""
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


def switched_off() -> bool:
    """Whether a variable asks for no library."""
    return os.environ.get("ROSENBLATT_LIBRARY") == "off" or os.environ.get("NUMBA_DISABLE_JIT", "0") != "0"


def _candidates(asked: str) -> Iterator[tuple[str, Path]]:
    """Files to try in turn, each with the kind of its place."""
    if asked:
        yield "asked", Path(asked)
        return
    if FREE_THREADED:
        return
    shipped = Path(__file__).with_name(FILE)
    if shipped.exists():
        yield "shipped", shipped
    from .cache import is_private

    try:
        cached = cached_file()
        usable = cached.exists() and is_private(cached)
    except OSError:  # no home, or a folder that this user may not enter
        return
    if usable:
        yield "cached", cached


def _load() -> Library:
    """Load the library, and report files that cannot be loaded."""
    if switched_off():
        return Library()
    asked = os.environ.get("ROSENBLATT_LIBRARY", "")
    strict = os.environ.get("ROSENBLATT_STRICT", "0") != "0"
    problems, advice = [], []
    library = None
    for kind, path in _candidates(asked):
        try:
            module = load_file(path) if kind == "shipped" else load_current(path)
        except (ImportError, OSError) as error:
            sys.modules.pop(NAME, None)
            problems.append(f"{path} ({error})")
            advice += [] if isinstance(error, Unsuited) else [REPAIRS[kind]]
        else:
            library = Library(module, strict, kind == "shipped", tuple(problems))
            break
    if library is None and strict:
        found = f", but {' and '.join(problems)} cannot be loaded" if problems else "; there is none"
        raise ImportError(
            f"ROSENBLATT_STRICT=1 needs a compiled library{found}. Make one with: python -m rosenblatt.aot"
        )
    if problems:
        instead = "functions are compiled by Numba instead, which takes seconds at the first call"
        if library is not None:
            instead = f"{path} is used instead"
        _warn(f"The compiled library {' and '.join(problems)} cannot be loaded; {instead}.", *advice)
    if library is None:
        return Library(problems=tuple(problems))
    level = os.environ.get("ROSENBLATT_CPU_LEVEL")
    if level and level != library.level:
        known = ", ".join(library.module.levels.split())
        _warn(
            f"ROSENBLATT_CPU_LEVEL must be a level that the library has and this processor runs: {known}; got {level!r}. "
            f"{library.level} is used."
        )
    return library


def _warn(message: str, *advice: str) -> None:
    """Warn of something about the library."""
    said = "; ".join(advice)
    warnings.warn(f"{message} {said[:1].upper()}{said[1:]}{'.' if said else ''}".strip(), RuntimeWarning, stacklevel=3)


LIBRARY = _load()
"""The library of this process."""
