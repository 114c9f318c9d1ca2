"""scikit-learn's own tests of its perceptron, passive-aggressive and SGD classifiers, run with our classes in place of theirs.

They are run from the installed package; nothing is copied. `expected.toml` lists every case that fails, with its reason.
"""

import subprocess
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

HERE = Path(__file__).parent
EXPECTED = tomllib.loads((HERE / "expected.toml").read_text(encoding="utf-8"))
OTHERS = "not Regressor and not regressor and not OneClass and not ocsvm and not sgd_reg"


@pytest.mark.slow
@pytest.mark.parametrize("module", EXPECTED)
def test_only_the_listed_tests_fail(module, tmp_path):
    report = tmp_path / "report.xml"
    done = subprocess.run(
        [
            sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "ignore", "--tb=no",
            "-c", str(HERE / "settings.ini"), "--rootdir", str(HERE.parent.parent),
            "-p", "tests.foreign.plugin", "-k", OTHERS, f"--junitxml={report}",
            "--pyargs", f"sklearn.linear_model.tests.{module}",
        ],
        cwd=HERE.parent.parent, capture_output=True, text=True, check=False,
    )  # fmt: skip
    cases = list(ET.parse(report).iter("testcase"))
    assert len(cases) >= 6, done.stdout + done.stderr
    failed = {
        case.attrib["name"] for case in cases if case.find("failure") is not None or case.find("error") is not None
    }
    listed = set(EXPECTED[module])
    matched = {name for case in failed for name in (case, case.partition("[")[0]) if name in listed}
    assert {case for case in failed if not {case, case.partition("[")[0]} & listed} == set(), "fail, and are not listed"
    assert listed - matched == set(), "are listed, and pass"
