"""Make the page docs/lecture_notes.md from tests/lecture_notes.toml: python docs/make_lecture_notes.py."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
PAGE = DOCS / "lecture_notes.md"
LIST = DOCS.parent / "tests" / "lecture_notes.toml"

TITLES = {
    "000": "Linear Classification: The Perceptron (slides, E. Eaton)",
    "001": "Perceptron Learning (X. Su)",
    "002": "Lecture 5: Linear Classification (handwritten)",
    "003": "Perceptron (notes, N. Sharma)",
    "004": "Linear Classifiers: The Perceptron (slides, M. A. Zuluaga)",
    "extra": "Cited in the notes",
}

INTRODUCTION = """\
<!-- made by python docs/make_lecture_notes.py -->

# From your lecture notes

You know the perceptron from a lecture and look for a word, an example or a figure of it. This page lists everything in five
sets of lecture notes, and how to get it here: the [words](#words), the [worked examples](#worked-examples) digit for digit, and
[every item](#every-item) of each note. The tests run all of it.

See also the [figures for slides](figures.md), the [exercises](exercises.md) and the [history](history.md). `rosenblatt lab` shows
the worked examples step by step ([the lab](lab.md)).
"""


def page() -> str:
    """The page in Markdown."""
    notes = tomllib.loads(LIST.read_text(encoding="utf-8"))
    return "\n".join([INTRODUCTION, *_words(notes["term"]), *_worked(notes["item"]), *_items(notes["item"])]) + "\n"


def _words(terms: list[dict[str, Any]]) -> Iterator[str]:
    yield "## Words\n"
    yield "| word | page |\n|---|---|"
    for term in sorted(terms, key=lambda term: str(term["name"]).lower()):
        yield f"| {term['name']} | {_link(term['page'])} |"
    yield ""


def _worked(items: list[dict[str, Any]]) -> Iterator[str]:
    yield "## Worked examples\n"
    for item in items:
        if item.get("worked"):
            yield f"### {item['note']}, {item['place']}: {item['what']}\n"
            yield f"```py\n{item['code'].strip()}\n```\n\n```text\n{item['output'].rstrip()}\n```\n"


def _items(items: list[dict[str, Any]]) -> Iterator[str]:
    yield "## Every item\n"
    note = None
    for item in items:
        if item["note"] != note:
            note = item["note"]
            yield f"\n### {note}: {TITLES[note]}\n"
        ways = []
        if "figure" in item:
            ways.append(f"[figure](figures.md#{item['figure']})")
        if "page" in item:
            ways.append(_link(item["page"]))
        yield f"- **{item['what']}** ({item['place']})" + (f": {', '.join(ways)}" if ways else "")
        if "code" in item and not item.get("worked"):
            block = f"```py\n{item['code'].strip()}\n```\n\n```text\n{item['output'].rstrip()}\n```"
            yield "\n" + "\n".join(f"  {line}".rstrip() for line in block.splitlines()) + "\n"


def _link(page: str) -> str:
    name, _, anchor = page.partition("#")
    lines = (DOCS / name).read_text(encoding="utf-8").splitlines()
    titles = [line.lstrip("# ") for line in lines if line.startswith(("# ", "## ", "### "))]
    section = next((title for title in titles if _slug(title) == anchor), titles[0])
    return f"[{titles[0]}{'' if section == titles[0] else f': {section}'}]({page})"


def _slug(title: str) -> str:
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
