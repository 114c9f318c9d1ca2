"""The page of the service: each promise names the tests that hold it, and these exist."""

import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PAGE = (HERE.parents[1] / "docs/service.md").read_text()
NAMED = sorted(set(re.findall(r"`(test_\w+)`", PAGE)))
TESTS = {
    name for path in HERE.glob("test_*.py") for name in re.findall(r"^def (test_\w+)\(", path.read_text(), re.MULTILINE)
}


@pytest.mark.parametrize("name", NAMED)
def test_a_test_that_the_page_names_exists(name):
    assert name in TESTS


def test_each_promise_names_a_test():
    sections = {part.partition("\n")[0]: part.partition("\n")[2] for part in PAGE.split("\n## ")[1:]}
    promises = [text for text in sections["Guarantees"].split("\n\n") if text.startswith("**")]
    promises += re.findall(
        r"^- (?:.|\n(?!- |\n|#))*", sections["Hostile clients"] + sections["Backup, import and check"], re.MULTILINE
    )
    assert len(promises) > 15
    for promise in promises:
        assert "`test_" in promise, f"no test is named for: {promise[:80]}"
