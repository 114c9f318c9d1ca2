"""Settings for all tests."""

from pathlib import Path

import pytest
from hypothesis import settings

from tests.helpers import FAST

# The first call of a kernel compiles it, so the time of one example says nothing.
settings.register_profile("rosenblatt", deadline=None, max_examples=10 if FAST else 100)
settings.load_profile("rosenblatt")

LATE = ("lab", "cli", "dask", "serve")
"""Folders whose tests start processes: these find the kernels on disk if the others, which compile them, have come first."""

SLOW = ("cli", "dask", "serve", "test_bad_input.py", "test_docs.py")
"""What `make fast` leaves out as a whole: processes, clusters and servers, every fault with every learner, every page."""


def pytest_collection_modifyitems(items):
    """Mark the slow ones, and bring all into that order."""
    top = {item: item.path.relative_to(Path(__file__).parent).parts[0] for item in items}
    for item in items:
        if top[item] in SLOW:
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: LATE.index(top[item]) + 1 if top[item] in LATE else 0)
