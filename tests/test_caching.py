"""Compiled code is kept on disk, and code that calls something that has changed is compiled anew."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import rosenblatt

PROGRAM = """
import numpy as np
from rosenblatt.kernels.online import learn_block
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
    callee = tmp_path / "rosenblatt" / "kernels" / "schemes.py"
    source = callee.read_text(encoding="utf-8")
    changed = source.replace("tau[k] = sign", "tau[k] = 2.0 * sign")
    assert changed != source
    callee.write_text(changed, encoding="utf-8")
    assert run() == (2.0, 0)
