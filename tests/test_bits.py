"""Training gives the same bits as before, compared with records of an earlier version of the library in `bits.json`.

The file changes only when results are meant to change. Write it, with the installed library, by
``python -m tests.test_bits --write``.
"""

import json
import sys
from pathlib import Path

import pytest

import rosenblatt as rb
from tests.bit_cases import LEARNERS, OWN_RULES, cases, record

FILE = Path(__file__).with_name("bits.json")


def portable(learner):
    """The cases of a learner whose results do not depend on the kind of CPU."""
    return {name: case for name, case in cases(learner).items() if case.portable}


def quick(learner):
    """The same without types for which loops would be compiled only here; `tools/compare_bits.py` runs all cases."""
    return {
        name: case
        for name, case in portable(learner).items()
        if learner == "Perceptron" or (case.rows != "csr64" and (case.rows, case.dtype) != ("csr", "float32"))
    }


@pytest.fixture(scope="module")
def stored():
    return json.loads(FILE.read_text(encoding="utf-8"))


def test_every_learner_has_records(stored):
    public = {name for name in rb.__all__ if hasattr(getattr(rb, name), "fit")}
    assert set(LEARNERS) <= public, "bits.json has no record of a new learner"
    assert set(stored) == {*LEARNERS, *OWN_RULES}


@pytest.mark.parametrize("learner", [*LEARNERS, *OWN_RULES])
def test_training_gives_the_same_bits_as_before(learner, stored):
    assert list(portable(learner)) == list(stored[learner]), "bits.json has other cases"
    now = {name: record(learner, case) for name, case in quick(learner).items()}
    differences = {
        name: {key: (before[key], now[name].get(key)) for key in before if before[key] != now[name].get(key)}
        for name, before in stored[learner].items() if name in now
    }  # fmt: skip
    assert not any(differences.values()), f"each value as (before, now): {differences}"


def write():
    """Write the records of all cases, one per line."""
    parts = []
    for learner in [*LEARNERS, *OWN_RULES]:
        records = {name: record(learner, case) for name, case in portable(learner).items()}
        lines = [f"{json.dumps(name)}: {json.dumps(values)}" for name, values in records.items()]
        parts.append(f"{json.dumps(learner)}: {{\n" + ",\n".join(lines) + "\n}")
    FILE.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit("usage: python -m tests.test_bits --write")
    write()
