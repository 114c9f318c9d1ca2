"""The distributions contain the right files only, and declare the right dependencies."""

import ast
import importlib
import json
import os
import re
import runpy
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import rosenblatt
from rosenblatt import selftest

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
FOR_USERS = set(re.findall(r"\w+", EXTRAS["all"][0])) - {"rosenblatt"}
DISTRIBUTIONS = {
    "mpl_toolkits": "matplotlib",
    "sklearn": "scikit-learn",
    "flint": "python-flint",
    "opentelemetry": "opentelemetry-api",
    "prometheus_client": "prometheus-client",
}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The wheel and the source distribution, as built by any frontend."""
    folder = tmp_path_factory.mktemp("dist")
    code = "import sys, hatchling.build as b; b.build_wheel(sys.argv[1]); b.build_sdist(sys.argv[1])"
    # Without the compiled library, which takes minutes; `make build` makes and tests it.
    environment = {**os.environ, "ROSENBLATT_BUILD_FOR": "any"}
    subprocess.run(
        [sys.executable, "-c", code, str(folder)], cwd=ROOT, check=True, capture_output=True, env=environment
    )
    (wheel,), (source,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive, tarfile.open(source) as tar:
        inside = {name: archive.read(name) for name in archive.namelist()}
        return inside, [name.partition("/")[2] for name in tar.getnames()]


@pytest.fixture(scope="module")
def known_files():
    """The files of the repository that git does not ignore."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    try:
        listing = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("needs the git repository")
    return {name for name in listing.splitlines() if (ROOT / name).exists()}


def test_type_checkers_see_every_public_name(built):
    """The learners are found at run time; in the wheel a stub file lists them."""
    stub = built[0]["rosenblatt/__init__.pyi"].decode()
    listed = {
        name: f"{home}.{name}" for home, name in re.findall(r"^from (\S+) import (\w+) as \2$", stub, re.MULTILINE)
    }
    assert set(listed) == set(rosenblatt.__all__)
    for name, place in listed.items():
        module, _, attribute = place.rpartition(".")
        assert getattr(importlib.import_module(module), attribute) is getattr(rosenblatt, name)
    compile(stub, "__init__.pyi", "exec")


def test_the_wheel_holds_the_package_and_nothing_else(built, known_files):
    inside, _ = built
    package = {name for name in inside if ".dist-info/" not in name}
    stub = "rosenblatt/__init__.pyi"
    assert package == {stub, *(name.removeprefix("src/") for name in known_files if name.startswith("src/"))}
    for name in (
        "py.typed",
        "datasets/spam.csv.gz",
        "datasets/README.md",
        "lab/static/index.html",
        "serve/page/index.html",
    ):
        assert f"rosenblatt/{name}" in package


def test_the_source_distribution_holds_the_tracked_files_and_the_tests(built, known_files):
    _, names = built
    assert set(names) - {"PKG-INFO"} <= known_files
    needed = {"LICENSE", "README.md", "CITATION.cff", "SECURITY.md", "Makefile", "pyproject.toml", "tests/conftest.py"}
    assert needed <= set(names)


def test_the_metadata(built):
    inside, _ = built
    (metadata,) = (text.decode() for name, text in inside.items() if name.endswith("/METADATA"))
    assert f"\nVersion: {rosenblatt.__version__}\n" in metadata
    assert "\nLicense-Expression: BSD-3-Clause\n" in metadata
    assert "\nClassifier: Typing :: Typed\n" in metadata
    (entries,) = (text.decode() for name, text in inside.items() if name.endswith("/entry_points.txt"))
    assert "rosenblatt = rosenblatt.cli:main" in entries


def test_the_wheel_describes_its_library(tmp_path, monkeypatch):
    pytest.importorskip("numba", reason="wheels are built with Numba")
    hook = runpy.run_path(str(ROOT / "tools" / "build_hook.py"))
    from rosenblatt.aot import build
    from rosenblatt.engine.cache import SOURCES

    built_for = []

    def stub(target, system, architecture):
        built_for.append((system, architecture))
        target.write_bytes(b"machine code")

    monkeypatch.setattr(build, "build", stub)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name, value in (("ROSENBLATT_BUILD_FOR", "windows-x86_64"), ("PYTHONPATH", "")):
        monkeypatch.setenv(name, value)
    adding = hook["AddGeneratedFiles"](str(ROOT), {}, None, None, str(tmp_path), "wheel")
    data = {"force_include": {}, "extra_metadata": {}}
    adding.initialize("standard", data)
    included = {place: Path(path).read_bytes() for path, place in data["force_include"].items()}
    ((path, place),) = data["extra_metadata"].items()
    described = json.loads(Path(path).read_text(encoding="utf-8"))
    adding.finalize("standard", data, "")
    assert built_for == [("windows", "x86_64")]
    assert included["rosenblatt/engine/_native.pyd"] == b"machine code"
    assert (data["pure_python"], place) == (False, "library.json")
    assert data["tag"].startswith("cp311-abi3-")
    assert described["platform"] == "windows-x86_64"
    assert described["levels"] == ["x86-64-v2", "x86-64-v3"]
    assert described["sources"] == SOURCES
    assert described["made_by"].startswith("Numba ")


def test_the_self_test_reads_what_the_wheel_says(monkeypatch):
    facts = {"platform": "linux-x86_64", "levels": ["x86-64-v2"]}

    class Installed:
        def read_text(self, name):
            return json.dumps(facts) if name == "extra_metadata/library.json" else None

    monkeypatch.setattr(selftest.metadata, "distribution", lambda name: Installed())
    assert selftest.of_the_wheel() == facts


def test_the_citation_names_this_version():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.*)$", text, re.MULTILINE)[1] == rosenblatt.__version__


def plain(requirement):
    return re.match(r"[\w.-]+", requirement)[0].lower()


def test_every_library_that_is_imported_is_declared():
    declared = {plain(line) for line in PROJECT["dependencies"]}
    declared |= {plain(line) for extra in FOR_USERS for line in EXTRAS[extra]}
    # Part of Numba, imports for type checkers only, and libraries used only if the user has them.
    declared |= {"llvmlite", "_typeshed", "pandas", "polars", "river", "ziglang"}
    imported = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module]
            imported |= {name.partition(".")[0] for name in names}
    foreign = imported - sys.stdlib_module_names - {"rosenblatt"}
    assert {DISTRIBUTIONS.get(name, name) for name in foreign} <= declared


def test_the_extra_all_contains_every_extra_for_users():
    assert set(EXTRAS) - FOR_USERS == {"all", "dev", "bench", "docs"}


def test_the_self_test_reports_a_failure(monkeypatch, capsys):
    def broken():
        raise OSError("no such file")

    monkeypatch.setattr(selftest, "CHECKS", (selftest.files, selftest.learning, broken))
    assert selftest.main() == 1
    printed = capsys.readouterr().out
    assert re.search(r"files +works", printed)
    assert re.search(r"learning +works", printed)
    assert "FAILED: OSError: no such file" in printed
