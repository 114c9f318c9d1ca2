"""Imports that other libraries make on behalf of a command, and that it can do without.

When Numba first compiles or loads a function, it imports SciPy's linear algebra to see whether compiled code could call it. When
Arrow first turns a column into an array, it imports pandas to see whether values are a pandas series. Each takes about a tenth
of a second. Both libraries remember the answer, so it is enough to let each ask once while the module cannot be imported.
"""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any


@contextmanager
def unavailable(name: str) -> Iterator[None]:
    """Let the import of a module fail, as if it were not installed, unless it is loaded already."""

    def refuse(asked: str, *_: Any) -> None:
        if asked == name:
            raise ModuleNotFoundError(f"{name} is not loaded by the command line", name=name)

    finder: Any = SimpleNamespace(
        find_spec=refuse
    )  # None in sys.modules would be shorter, but Arrow takes it for pandas
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def numba_without_linear_algebra() -> None:
    """Load the part of Numba that every compiled function needs and that asks for SciPy's linear algebra."""
    with unavailable("scipy.linalg"):
        importlib.import_module("numba.np.arraymath")


def arrow_without_pandas() -> None:
    """Load Arrow, and let both its Python part and its C++ part ask for pandas."""
    with unavailable("pandas"):
        importlib.import_module("pyarrow").array([0]).to_numpy()
