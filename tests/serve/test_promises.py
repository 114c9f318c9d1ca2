"""The page of the service: each sentence that promises something names the tests that hold it, and these exist."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PAGE = (TESTS.parent / "docs/service.md").read_text()
NAMED = sorted(set(re.findall(r"`(test_\w+)`", PAGE)))
KNOWN = {
    name
    for folder in ("serve", "dask")
    for path in (TESTS / folder).glob("test_*.py")
    for name in re.findall(r"^def (test_\w+)\(", path.read_text(), re.MULTILINE)
}

NO_PROMISES = (
    "Each sentence of this page",
    "Restart a process when",
    "It contains raw examples",
    "[Large logs]",
)
"""Beginnings of sentences that only advise or point somewhere."""


def paragraphs():
    """Paragraphs, items of lists and rows of tables, after the introduction."""
    text = re.sub(r"```.*?```", "\n\n", PAGE[PAGE.index("\n## ") :], flags=re.DOTALL)
    for part in re.split(r"\n\s*\n|\n(?=- )|\n(?=\|)|\n(?=##+ )", text):
        yield " ".join(part.split())


def sentences(paragraph):
    if paragraph.startswith("|"):  # a row is about one thing
        return [paragraph]
    return re.split(r"(?<=[.?!])\s+(?=[A-Z*`0-9\[])", paragraph)


def promises(paragraph):
    """Sentences that promise something, and whether they or the next one name a test."""
    if (
        not paragraph
        or paragraph.startswith("#")
        or re.match(r"\| (address|value|file|request) \||\|-|.*\(see below\)", paragraph)
    ):
        return
    found = sentences(paragraph)
    for sentence, following in zip(found, [*found[1:], ""], strict=True):
        if not sentence.endswith(":") and not sentence.startswith(NO_PROMISES):
            yield sentence, "`test_" in sentence or "`test_" in following


@pytest.mark.parametrize("name", NAMED)
def test_a_test_that_the_page_names_exists(name):
    assert name in KNOWN


def test_each_promise_names_a_test():
    found = [promise for paragraph in paragraphs() for promise in promises(paragraph)]
    assert len(found) > 150
    assert [sentence for sentence, named in found if not named] == []


def test_a_sentence_without_a_test_is_found():
    held = "A is so. B is so (`test_b`). C is so. D: is so, too. E is so (`test_e`)."
    assert [named for _, named in promises(held)] == [True, True, False, True, True]
    assert [named for _, named in promises("| `x` | y |")] == [False]
    assert not list(promises("| `x` | y (see below) |"))
