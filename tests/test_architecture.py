"""The page on the architecture names files and packages that exist, and names all packages."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src/rosenblatt"
TEXT = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
NAMED = set(re.findall(r"`((?:\w+/)+|(?:\w+/)*\w+\.py)`", TEXT))


def test_files_exist():
    assert len(NAMED) > 50
    assert sorted(name for name in NAMED if not (PACKAGE / name).exists()) == []


def test_packages_are_named():
    packages = {f"{path.parent.name}/" for path in PACKAGE.glob("*/__init__.py")}
    assert sorted(packages - NAMED) == []


def test_packages_are_drawn():
    """Every package that has a floor is in the picture."""
    picture = (ROOT / "docs/_static/house.svg").read_text(encoding="utf-8")
    drawn = re.findall(r'<text class="name"[^>]*>(\w+)</text>', picture)
    contract = (ROOT / "pyproject.toml").read_text(encoding="utf-8").split("layers = [", 1)[1].split("]", 1)[0]
    assert drawn == re.findall(r"\w+", contract)
