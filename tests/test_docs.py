"""Every Python block of the documentation runs, page by page and in order, and prints what the page says it prints.

A ``text`` block right after a ``python`` block is what that block prints. Without one, what it prints is not looked at.
"""

import contextlib
import io
import re
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("docs", "docs/learners", "docs/theory", "docs/decisions")
PAGES = [ROOT / "README.md", *(page for folder in FOLDERS for page in sorted((ROOT / folder).glob("*.md")))]
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)

# They draw, start a cluster, or compile rules of their own.
SLOW = {"docs/cluster.md", "docs/plots.md", "docs/quickstart.md", "docs/your_own_rule.md"}

# What the text of a page takes as given: data of the reader's own.
DIGITS = """
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, train_size=500, test_size=100, random_state=0)
stream = zip(X_train, y_train)
"""
GIVEN = {"docs/learners/kernel_perceptron.md": DIGITS, "docs/budgets.md": DIGITS}


def name_of(page):
    return page.relative_to(ROOT).as_posix()


def blocks_of(page):
    """The line, the code and the output of each Python block."""
    text = page.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        yield text.count("\n", 0, match.start(1)) + 1, match[1], match[2]


def parameters():
    for page in PAGES:
        if any(blocks_of(page)):
            name = name_of(page)
            yield pytest.param(page, id=name, marks=[pytest.mark.slow] if name in SLOW else [])


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A folder of its own, for pages that write files, and a matplotlib that opens no window."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    yield tmp_path
    with contextlib.suppress(ImportError):
        import matplotlib.pyplot as plt

        plt.close("all")


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("page", list(parameters()))
def test_page(page):
    namespace = {"__name__": "__main__"}
    exec(GIVEN.get(name_of(page), ""), namespace)
    for line, code, expected in blocks_of(page):
        # Under the page's own name and line numbers, so that a traceback leads there and a rule finds its source.
        compiled = compile("\n" * (line - 1) + code, str(page), "exec")
        printed = io.StringIO()
        with warnings.catch_warnings(), contextlib.redirect_stdout(printed):
            warnings.simplefilter("error")
            exec(compiled, namespace)
        if expected is not None:
            assert _trimmed(printed.getvalue()) == _trimmed(expected), f"{name_of(page)}, line {line}"


def _trimmed(text):
    return [line.rstrip() for line in text.strip("\n").splitlines()]


def test_every_learner_has_a_page():
    for source in sorted((ROOT / "src/rosenblatt/learners").glob("[!_]*.py")):
        assert (ROOT / f"docs/learners/{source.stem}.md").exists(), source.name
