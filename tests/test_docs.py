"""Every Python and console block of the documentation runs, page by page and in order, and prints the output shown on the page.

A ``text`` block right after a ``python`` block is its expected output; without one, the output is not checked. In a
``console`` block a line that begins with ``$ `` is a command, and the following lines are its output; there ``...`` matches
anything. Blocks of type ``sh`` or ``py`` are not run: they install software, run forever, or need another machine.
"""

import contextlib
import csv
import doctest
import importlib
import io
import os
import re
import runpy
import shlex
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from docs import checks
from docs.benchmark_table import table
from rosenblatt import learners
from rosenblatt.datasets import load_spam
from tests.cli.helpers import call
from tests.serve.processes import Server

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted(path for path in (ROOT / "docs").rglob("*.md") if "gallery" not in path.parts)]
EXAMPLES = sorted((ROOT / "examples").rglob("plot_*.py"))
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```\n(?:\n```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
SERVICE = re.compile(r"(?:http://)?(?:127\.0\.0\.1|localhost):8520")

# Libraries used by a page for comparison; without them that page is skipped. `make test` installs both.
NEEDS = {"docs/migration/river.md": "river", "docs/migration/vowpal_wabbit.md": "vowpalwabbit"}

# Data that the pages assume the reader has.
DIGITS = """
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, train_size=500, test_size=100, random_state=0)
stream = zip(X_train, y_train)
"""
GIVEN = {"docs/learners/kernel_perceptron.md": DIGITS, "docs/budgets.md": DIGITS}
MAILS = {"README.md", "docs/command_line.md"}


def name_of(page):
    return page.relative_to(ROOT).as_posix()


def blocks_of(page):
    """Type, line, code and expected output of each block."""
    text = page.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        yield match[1], text.count("\n", 0, match.start(2)) + 1, match[2], match[3]


def parameters():
    for page in PAGES:
        if any(blocks_of(page)):
            yield pytest.param(page, id=name_of(page))


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """An empty working directory, for pages that write files, and a matplotlib backend without windows."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setenv("COLUMNS", "120")
    yield tmp_path
    with contextlib.suppress(ImportError):
        import matplotlib.pyplot as plt

        plt.close("all")


def write_mails(folder):
    """Write the mails that ship with the package as two tables, and as one without labels."""
    rows = list(zip(*load_spam(), strict=True))
    for name, part, header in (
        ("spam.csv", rows[:1500], ("text", "label")),
        ("new.csv", rows[1500:], ("text", "label")),
        ("unread.csv", [(text,) for text, _ in rows[1500:1503]], ("text",)),
    ):
        with (folder / name).open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([header, *part])


@pytest.mark.parametrize("page", list(parameters()))
def test_the_blocks_of_a_page_print_their_output(page, elsewhere):
    name = name_of(page)
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    if name in MAILS:
        write_mails(elsewhere)
    namespace = {"__name__": "__main__"}
    exec(GIVEN.get(name, ""), namespace)
    with contextlib.ExitStack() as stack:
        address = None
        if any(SERVICE.search(code) for _, _, code, _ in blocks_of(page)):
            server = stack.enter_context(Server(f"sqlite:///{elsewhere}/spam.db"))
            address = f"http://127.0.0.1:{server.port}"
        for kind, line, source, expected in blocks_of(page):
            code = SERVICE.sub(address, source) if address else source
            if kind == "console":
                run_console(code, f"{name}, line {line}")
            else:
                printed = run_python(page, line, code, namespace)
                if expected is not None:
                    assert_same(printed, expected, f"{name}, line {line}")


def run_python(page, line, code, namespace):
    # With the page's name and line numbers, so that tracebacks point to the page and a rule finds its source.
    compiled = compile("\n" * (line - 1) + code, str(page), "exec")
    printed = io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stdout(printed):
        warnings.simplefilter("error")
        exec(compiled, namespace)
    return printed.getvalue()


def run_console(code, where):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "120"}
    for part in re.split(r"^\$ ", code, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        program, *arguments = shlex.split(command)
        if program == "rosenblatt" and not set(command) & set("|<>&;$`*#"):  # a new process would be slower
            done = call(*arguments)
        else:
            script = f'rosenblatt() {{ "{sys.executable}" -m rosenblatt.cli "$@"; }}\n{command}'
            done = subprocess.run(
                ["bash", "-c", script], capture_output=True, text=True, env=environment, timeout=600, check=False
            )
            assert done.returncode == 0, f"{where}: {command}\n{done.stderr + done.stdout}"
        shown = done.stderr + done.stdout
        if expected.strip():
            assert_same(shown, expected, f"{where}: {command}")


def assert_same(got, expected, where):
    got, expected = (
        "\n".join(line.rstrip() for line in text.strip("\n").splitlines()) + "\n" for text in (got, expected)
    )
    if "..." in expected:
        assert doctest.OutputChecker().check_output(expected, got, doctest.ELLIPSIS), f"{where} printed\n{got}"
    else:
        assert got == expected, where


# --- checks that the documentation build runs, too -----------------------------------------------------------------------


@pytest.mark.parametrize("check", [checks.learner_pages, checks.command_pages])
def test_the_checks_of_the_build_pass(check):
    assert list(check()) == []


def test_every_public_name_is_in_the_reference():
    text = "".join(page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs/api").glob("*.md")))
    described = set(re.findall(r"^\.\. auto\w+:: ((?:rosenblatt\.)?[\w.]+)$", text, re.MULTILINE))
    if "```{learner-reference}\n" in text:
        described |= {*learners.classes(), *learners.regressors()}
    described |= {f"rosenblatt.{name}" for name in described}
    assert [problem for problem in checks.public_names(described) if problem.count(".") == 1] == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("t[hu]*/*.md")), ids=lambda page: page.stem)
def test_every_tutorial_and_theory_page_has_a_picture(page):
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", page.read_text(encoding="utf-8"))
    assert pictures
    for picture in pictures:
        assert (page.parent / picture).stat().st_size < 100_000


def test_dead_links_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<a href="b.html#here">x</a> <a id="there" href="b.html#gone">x</a> <img src="c.png">'
    )
    (tmp_path / "b.html").write_text(
        '<h1 id="here">x</h1> <a href="a.html#there">x</a> <a href="https://example.org/">x</a>'
    )
    assert list(checks.links(tmp_path)) == [
        "a.html links to b.html#gone, which has no such anchor",
        "a.html links to c.png, which does not exist",
    ]


# --- README and other files outside the site ---------------------------------------------------------------------------


def test_readme_commands_exist():
    """The commands of the README that are too slow for a test are targets of the Makefile, and the demo command works."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    targets = {
        word
        for block in re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        for word in re.findall(r"make (\w+)", block)
    }
    assert targets == {"demo", "test"}
    dry = subprocess.run(["make", "--dry-run", *sorted(targets)], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "rosenblatt demo" in dry.stdout
    assert "pytest" in dry.stdout


def test_the_readme_table_is_up_to_date():
    """The benchmark table agrees with the results; `python docs/benchmark_table.py` updates it."""
    assert f"\n{table()}\n" in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_to_files_are_valid(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert (ROOT / link).exists(), f"{name} links to {link}"


# --- docstrings and examples -------------------------------------------------------------------------------------------


def modules_with_examples():
    for path in sorted((ROOT / "src").rglob("*.py")):
        if ">>> " in path.read_text(encoding="utf-8"):
            yield ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("name", list(modules_with_examples()))
def test_docstring_examples(name):
    """The examples in docstrings print the output shown."""
    module = importlib.import_module(name)
    assert doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).failed == 0


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_gallery_example_runs(path, capsys):
    """A gallery example runs without warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        runpy.run_path(str(path), run_name="__main__")
