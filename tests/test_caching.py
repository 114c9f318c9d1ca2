"""Compiled code is cached on disk and compiled again when a function that it calls has changed."""

import ast
import gc
import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import rosenblatt
from rosenblatt.engine import codegen, jit
from rosenblatt.engine.loop import passes_of
from rosenblatt.learners import arow, parallel_perceptron, perceptron, romma
from tests.helpers import compiled_loops

ROOT = Path(__file__).parent.parent

PROGRAM = """
import numpy as np
from rosenblatt.data.svmlight import COLUMN_LIMIT, _arrays
from rosenblatt.engine.text.svmlight import parse_svmlight
text, settings = b"1 1:2 1:3" + 32 * b"\\n", np.array([0, COLUMN_LIMIT, 0, 0, 1])
arrays = _arrays(10)
parse_svmlight(np.frombuffer(text, np.uint8), 10, *arrays, settings, np.zeros(7, np.int64))
print(arrays[2][0], sum(parse_svmlight.stats.cache_hits.values()), parse_svmlight.stats.cache_path)
"""


@pytest.mark.slow
def test_a_change_in_a_called_function_of_another_file_recompiles(tmp_path):
    shutil.copytree(Path(rosenblatt.__file__).parent, tmp_path / "rosenblatt")
    cache = tmp_path / "cache"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "ROSENBLATT_CACHE_DIR": str(cache)}
    environment |= {"ROSENBLATT_LIBRARY": "off", "ROSENBLATT_STRICT": "0"}

    def run():
        made = subprocess.run(
            [sys.executable, "-c", PROGRAM], env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
        )
        value, hits, path = made.stdout.split()
        return float(value), int(hits), Path(path).relative_to(cache).parts[0]

    value, hits, folder = run()
    assert (value, hits) == (5.0, 0)
    assert run() == (5.0, 1, folder)
    callee = tmp_path / "rosenblatt" / "engine" / "text" / "columns.py"
    source = callee.read_text(encoding="utf-8")
    changed = source.replace("values[to - uint64(1)] += values[k]", "values[to - uint64(1)] -= values[k]")
    assert changed != source
    callee.write_text(changed, encoding="utf-8")
    value, hits, other = run()
    assert (value, hits) == (-1.0, 0)
    assert other != folder
    assert sorted(path.name for path in cache.iterdir()) == sorted([folder, other])


FITS = """
import sys, rosenblatt
from tests.helpers import blobs
X, y = blobs()
for argument in sys.argv[1:]:
    name, dtype = argument.split(":")
    print(getattr(rosenblatt, name)(max_iter=2, tol=None, shuffle=False).fit(X.astype(dtype), y).coef_.tolist())
"""


def fits(folder, *names):
    """Weights of some learners, each with its dtype, from a new process that caches compiled code in this folder."""
    environment = {**os.environ, "ROSENBLATT_CACHE_DIR": str(folder), "ROSENBLATT_LIBRARY": "off"}
    command = [sys.executable, "-c", FITS, *names]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, cwd=ROOT)
    return done.stdout.splitlines()


@pytest.mark.slow
def test_a_process_finds_the_rules_that_other_processes_compiled(tmp_path):
    """Two rules of one kind, and one of another. The loops are those of this process, so that only rules are compiled."""
    compiled_loops(tmp_path)
    rules = ("Perceptron:float64", "MarginPerceptron:float64", "AROW:float64")
    alone = [weights for rule in rules for weights in fits(tmp_path, rule)]
    assert len(set(alone)) == 3
    assert len(list(tmp_path.rglob("rule_step_*.py"))) == 3
    assert fits(tmp_path, *rules) == alone


@pytest.mark.slow
def test_code_cached_for_other_types_is_not_run(tmp_path):
    def run():
        return fits(tmp_path, "Perceptron:float32", "Perceptron:float64")

    before = run()
    one, two = sorted(tmp_path.rglob("loop.Additive_rows-*.nbc"))
    shutil.copy(two, one)
    assert run() == before


def imported(path):
    """The modules of the package that a file imports anywhere."""
    for statement in ast.walk(ast.parse(Path(path).read_text(encoding="utf-8"))):
        if isinstance(statement, ast.ImportFrom) and not statement.level:
            yield from (f"{statement.module}.{alias.name}" for alias in statement.names)
        elif isinstance(statement, ast.Import):
            yield from (alias.name for alias in statement.names)


def test_the_cache_key_covers_all_sources_of_the_kernels():
    steps = [perceptron.step, arow.step, romma.step, parallel_perceptron.step]
    generated = [inspect.getfile(codegen.compile_step(step).__wrapped__) for step in steps]
    loops = [inspect.getfile(function.py_func) for step in steps for function in passes_of(codegen.kind_of_step(step))]
    engine = list(Path(codegen.__file__).parent.rglob("*.py"))
    assert {Path(path) for path in loops} <= set(engine)
    sources = generated + engine
    found = {name for path in sources for name in imported(path) if name.split(".")[0] == "rosenblatt"}
    assert {"rosenblatt.engine.state.Additive", "rosenblatt.engine.jit.uncollected"} <= found, (
        "the test must find some modules"
    )
    assert {name for name in found if not name.startswith("rosenblatt.engine")} == set()


def test_compiled_code_is_in_the_engine_only():
    """The cache key is the hash of that folder, so code compiled elsewhere could be out of date. This includes templates."""
    package = Path(rosenblatt.__file__).parent
    compiler = re.compile(r"^\s*(import|from) (numba|llvmlite)\b", re.MULTILINE)
    found = {
        path.relative_to(package).parts[0] for path in package.rglob("*.py") if compiler.search(path.read_text("utf-8"))
    }
    assert found == {"engine", "aot"}


@pytest.mark.parametrize("running", [True, False])
def test_garbage_collection_is_restored_after_code_is_loaded(running):
    before = gc.isenabled()
    try:
        (gc.enable if running else gc.disable)()
        with jit.uncollected(), jit.uncollected():
            assert not gc.isenabled()
        assert gc.isenabled() == running
    finally:
        (gc.enable if before else gc.disable)()
