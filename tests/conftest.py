"""Settings for all tests."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

from rosenblatt.engine.native import cached_file

if cached_file().exists() and "ROSENBLATT_LIBRARY" not in os.environ:
    # Processes with a cache folder of their own use the same library; nothing that it should have is compiled instead.
    os.environ |= {"ROSENBLATT_LIBRARY": str(cached_file()), "ROSENBLATT_STRICT": "1"}

from tests.helpers import AVERAGED, FAST, LOOPS

# The first call of a kernel compiles it, so the time of a single example is meaningless. The same code runs the same examples;
# `--hypothesis-profile explore` draws new ones.
settings.register_profile("rosenblatt", deadline=None, max_examples=10 if FAST else 100, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=100, print_blob=True)
settings.load_profile("rosenblatt")

LATE = ("lab", "cli", "dask", "serve")
"""Folders whose tests start processes. They run last, when the other tests have compiled the kernels to the disk cache."""

SLOW = (
    "cli/test_commands.py",
    "cli/test_demo.py",
    "cli/test_train.py",
    "dask/test_faults.py",
    "dask/test_files.py",
    "dask/test_training.py",
    "serve/test_client.py",
    "serve/test_client_faults.py",
    "serve/test_faults.py",
    "serve/test_hostile.py",
    "serve/test_http.py",
    "serve/test_operations.py",
    "test_bad_input.py",
    "test_bits.py",
    "test_docs.py",
)
"""Files that `make fast` skips: processes, clusters and servers, every fault with every learner, every page. Some tests of every
folder of the package still run."""


EARLY = ("test_batches_of_rows_equal_single_rows", "test_batches_of_records_equal_single_records")
"""Tests that compile every kind of loop. They run first, with one learner of each kind, so that parallel processes compile
different loops and all other tests find them in the disk cache."""


def _needs_loops_in_float32(item):
    """Whether a test compiles additional loops for float32, which `make fast` skips."""
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    return "float32" in map(str, parameters.values()) and parameters.get("name") != "Perceptron"


def pytest_collection_modifyitems(items):
    """Mark the slow tests and sort all tests."""
    paths = {item: item.path.relative_to(Path(__file__).parent) for item in items}
    top = {item: path.parts[0] for item, path in paths.items()}
    for item in items:
        if paths[item].as_posix() in SLOW or _needs_loops_in_float32(item):
            item.add_marker(pytest.mark.slow)

    def place(item):
        if getattr(item, "originalname", None) in EARLY:
            return -2 if item.callspec.params["name"] in (*LOOPS, *AVERAGED) else -1
        return LATE.index(top[item]) + 1 if top[item] in LATE else 0

    items.sort(key=place)
