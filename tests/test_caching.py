"""Compiled code is kept on disk, and code that calls something that has changed is compiled anew."""

import ast
import gc
import inspect
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import rosenblatt
from rosenblatt.engine import codegen, jit
from rosenblatt.engine.loop import passes_of
from rosenblatt.learners import arow, parallel_perceptron, perceptron, romma

ROOT = Path(__file__).parent.parent

PROGRAM = """
import numpy as np
from rosenblatt.dual.online import learn_block
scores, gram = np.zeros((1, 1)), np.ones((1, 1))
position, taus, seen = np.empty(1, np.int64), np.empty((1, 1)), np.empty((1, 1))
learn_block(scores, gram, np.array([1]), np.ones(1), 0, 0, position, taus, seen)
print(taus[0, 0], sum(learn_block.stats.cache_hits.values()), learn_block.stats.cache_path)
"""


@pytest.mark.slow
def test_a_changed_callee_in_another_file_is_compiled_anew(tmp_path):
    shutil.copytree(Path(rosenblatt.__file__).parent, tmp_path / "rosenblatt")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "ROSENBLATT_CACHE_DIR": str(tmp_path / "cache")}

    def run():
        made = subprocess.run(
            [sys.executable, "-c", PROGRAM], env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
        )
        step, hits, path = made.stdout.split()
        assert path.startswith(str(tmp_path / "cache"))
        return float(step), int(hits)

    assert run() == (1.0, 0)
    assert run() == (1.0, 1)
    callee = tmp_path / "rosenblatt" / "dual" / "schemes.py"
    source = callee.read_text(encoding="utf-8")
    changed = source.replace("tau[k] = sign", "tau[k] = 2.0 * sign")
    assert changed != source
    callee.write_text(changed, encoding="utf-8")
    assert run() == (2.0, 0)


RULES = """
import sys, rosenblatt
from tests.helpers import blobs
X, y = blobs()
for name in sys.argv[1:]:
    print(getattr(rosenblatt, name)(max_iter=2, tol=None, shuffle=False).fit(X, y).coef_.tolist())
"""


@pytest.mark.slow
def test_rules_compiled_by_two_processes_are_told_apart_by_a_third(tmp_path):
    environment = {**os.environ, "ROSENBLATT_CACHE_DIR": str(tmp_path)}

    def run(*names):
        command = [sys.executable, "-c", RULES, *names]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, cwd=ROOT)
        return done.stdout.splitlines()

    rules = ("Perceptron", "MarginPerceptron", "AROW")  # two rules of one kind, and one of another
    alone = [weights for rule in rules for weights in run(rule)]
    assert len(set(alone)) == len(rules)
    assert run(*rules) == alone


TYPES = """
import rosenblatt
from tests.helpers import blobs
X, y = blobs()
for dtype in ("float32", "float64"):
    print(rosenblatt.Perceptron(max_iter=2, tol=None).fit(X.astype(dtype), y).coef_.tolist())
"""


@pytest.mark.slow
def test_code_for_other_types_than_the_index_says_is_not_run(tmp_path):
    environment = {**os.environ, "ROSENBLATT_CACHE_DIR": str(tmp_path)}

    def run():
        command = [sys.executable, "-c", TYPES]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True, cwd=ROOT).stdout

    before = run()
    one, two = sorted(tmp_path.rglob("loop.Additive_rows-*.nbc"))
    code = one.read_bytes()
    shutil.copy(two, one)
    two.write_bytes(code)
    assert run() == before


def imported(path):
    """The modules of the package that a file imports, wherever in the file."""
    for statement in ast.walk(ast.parse(Path(path).read_text(encoding="utf-8"))):
        if isinstance(statement, ast.ImportFrom) and not statement.level:
            yield from (f"{statement.module}.{alias.name}" for alias in statement.names)
        elif isinstance(statement, ast.Import):
            yield from (alias.name for alias in statement.names)


def test_the_cache_key_covers_every_source_that_a_kernel_is_made_from():
    steps = [perceptron.step, arow.step, romma.step, parallel_perceptron.step]
    generated = [inspect.getfile(codegen.compile_step(step).__wrapped__) for step in steps]
    loops = [inspect.getfile(function.py_func) for step in steps for function in passes_of(codegen.kind_of_step(step))]
    engine = list(Path(codegen.__file__).parent.rglob("*.py"))
    assert {Path(path) for path in loops} <= set(engine)
    sources = generated + engine
    found = {name for path in sources for name in imported(path) if name.split(".")[0] == "rosenblatt"}
    assert {"rosenblatt.engine.state.Additive", "rosenblatt.engine.jit.uncollected"} <= found, (
        "else nothing was looked at"
    )
    assert {name for name in found if not name.startswith("rosenblatt.engine")} == set()


@pytest.mark.parametrize("running", [True, False])
def test_the_collector_runs_again_after_code_was_loaded_and_only_if_it_did(running):
    before = gc.isenabled()
    try:
        (gc.enable if running else gc.disable)()
        with jit.uncollected(), jit.uncollected():
            assert not gc.isenabled()
        assert gc.isenabled() == running
    finally:
        (gc.enable if before else gc.disable)()
