"""CONTRIBUTING.md lists the names that semantic versioning covers; no other name is public."""

import ast
import importlib
import re
from pathlib import Path

import pytest

import rosenblatt
from rosenblatt import learners

PACKAGE = Path(rosenblatt.__file__).parent
CONTRIBUTING = Path(__file__).parent.parent / "CONTRIBUTING.md"


def listed():
    """The modules of the table with their names; True for modules that also have learners."""
    rows = re.findall(r"^\| `(rosenblatt[\w.]*)` \| (.+) \|$", CONTRIBUTING.read_text(encoding="utf-8"), re.MULTILINE)
    return {module: (re.findall(r"`(\w+)`", names.partition("and ")[0]), "learner" in names) for module, names in rows}


MODULES = sorted(
    ".".join(["rosenblatt", *path.parent.relative_to(PACKAGE).parts]) for path in PACKAGE.rglob("__init__.py")
)


@pytest.mark.parametrize("module", MODULES)
def test_the_public_names_are_those_of_the_table(module):
    public = getattr(importlib.import_module(module), "__all__", None)
    if module not in listed():
        assert public is None
        return
    names, has_learners = listed()[module]
    assert len(set(names)) == len(names)
    ours = {learners.find(name).__name__ for name in learners.names()} | set(learners.regressors())
    assert set(public) - (ours if has_learners else set()) == set(names)
    if module == "rosenblatt":
        assert ours < set(public)
    for name in public:
        assert hasattr(importlib.import_module(module), name)


@pytest.mark.parametrize("module", ["rosenblatt.river", "rosenblatt.dask", "rosenblatt.lab", "rosenblatt.serve"])
def test_modules_that_load_on_first_use_list_their_public_names_once(module):
    found = importlib.import_module(module)
    for name in found.__all__:
        getattr(found, name)
    assert dir(found) == sorted(found.__all__)


def test_no_other_module_has_a_list_of_public_names():
    public = {PACKAGE.parent.joinpath(*module.split("."), "__init__.py") for module in listed()}
    found = {
        path
        for path in PACKAGE.rglob("*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    }
    assert found | {PACKAGE / "__init__.py"} == public, "the package makes its own list at run time"
