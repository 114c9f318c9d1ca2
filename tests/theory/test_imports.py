"""Importing the theory loads neither the learners nor scikit-learn, and the compiler only when it is needed."""

import subprocess
import sys


def test_importing_loads_only_what_is_needed():
    code = (
        "import sys; import rosenblatt.theory as t; t.bounds.block_novikoff(1, 1); t.margin([1], [[1]], [1]); "
        "print(sorted(m for m in ('sklearn', 'numba', 'flint', 'rosenblatt.learners') if m in sys.modules)); "
        "t.certify; print('sklearn' in sys.modules, 'rosenblatt.learners' in sys.modules); print(sorted(t.__all__) == dir(t))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split("\n")
    assert out[:3] == ["[]", "False False", "True"]
