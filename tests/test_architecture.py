"""The page on the architecture names all packages; this page and the pages on decisions name only files that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src/rosenblatt"
PAGE = ROOT / "docs/architecture.md"
PAGES = [PAGE, *sorted((ROOT / "docs/decisions").glob("*.md"))]


def named(page):
    """The files and packages that a page names by their path."""
    return set(re.findall(r"`((?:\w+/)+|(?:\w+/)*\w+\.py)`", page.read_text(encoding="utf-8")))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_named_files_exist(page):
    assert sorted(name for name in named(page) if not (PACKAGE / name).exists()) == []


def test_all_packages_are_named():
    assert len(named(PAGE)) > 50
    packages = {f"{path.parent.name}/" for path in PACKAGE.glob("*/__init__.py")}
    assert sorted(packages - named(PAGE)) == []


def test_all_packages_are_in_the_diagram():
    """The diagram shows the packages of the import contract in the same order."""
    picture = (ROOT / "docs/_static/house.svg").read_text(encoding="utf-8")
    drawn = re.findall(r'<text class="name"[^>]*>(\w+)</text>', picture)
    contract = (ROOT / "pyproject.toml").read_text(encoding="utf-8").split("layers = [", 1)[1].split("]", 1)[0]
    beside = {"selftest", "aot", "datasets", "_version"}  # nothing depends on them
    assert drawn == [name for name in re.findall(r"\w+", contract) if name not in beside]
