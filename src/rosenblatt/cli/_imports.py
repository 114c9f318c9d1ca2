"""Avoid a slow import that the commands do not need.

When Arrow first turns a column into an array, it imports pandas to see whether values are a pandas series, which takes about a
tenth of a second. Arrow remembers the result, so it is enough to make this import fail the first time.
"""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any


@contextmanager
def unavailable(name: str) -> Iterator[None]:
    """Make the import of a module fail, as if it were not installed, unless it is already loaded."""

    def refuse(asked: str, *_: Any) -> None:
        if asked == name:
            raise ModuleNotFoundError(f"{name} is not loaded by the command line", name=name)

    finder: Any = SimpleNamespace(
        find_spec=refuse
    )  # None in sys.modules would be shorter, but Arrow would use None as pandas
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def arrow_without_pandas() -> None:
    """Load Arrow, so that both its Python part and its C++ part have tried to import pandas."""
    with unavailable("pandas"):
        importlib.import_module("pyarrow").array([0]).to_numpy()
