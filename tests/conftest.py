"""Settings for all tests."""

from pathlib import Path

from hypothesis import settings

from tests.helpers import FAST

# The first call of a kernel compiles it, so the time of one example says nothing.
settings.register_profile("rosenblatt", deadline=None, max_examples=10 if FAST else 100)
settings.load_profile("rosenblatt")

LATE = ("dask", "lab", "cli", "serve")
"""Folders whose tests start processes: these find the kernels on disk if the others, which compile them, have come first."""


def pytest_collection_modifyitems(items):
    """Bring the tests into that order."""
    folders = {item: item.path.relative_to(Path(__file__).parent).parts[0] for item in items}
    items.sort(key=lambda item: LATE.index(folders[item]) + 1 if folders[item] in LATE else 0)
