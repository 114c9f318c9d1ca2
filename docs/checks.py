"""Checks for missing or broken parts of the documentation: each yields one sentence per problem.

The build reports each problem as a warning, which fails it. The tests run the checks that need no built pages.
"""

from __future__ import annotations

import html.parser
import importlib
import re
import types
import urllib.parse
from collections.abc import Container, Iterator
from pathlib import Path

import rosenblatt
from rosenblatt.cli import app as commands

DOCS = Path(__file__).resolve().parent
SOURCES = DOCS.parent / "src" / "rosenblatt"

# Sections of every page of a learner, in this order.
SECTIONS = ["Rule", "Use", "Its bound", "Departures", "On real data"]


def learner_pages() -> Iterator[str]:
    """Learners without a page, and pages that lack the source or a section."""
    for source in sorted((SOURCES / "learners").glob("[!_]*.py")):
        page = DOCS / "learners" / f"{source.stem}.md"
        if not page.exists():
            yield f"the learner {source.name} has no page: write docs/learners/{page.name}"
            continue
        text = page.read_text(encoding="utf-8")
        if f"src/rosenblatt/learners/{source.name}" not in text:
            yield f"docs/learners/{page.name} does not include src/rosenblatt/learners/{source.name}"
        headings = [heading for heading in re.findall(r"^## (.*)$", text, re.MULTILINE) if heading in SECTIONS]
        if headings != SECTIONS:
            yield f"docs/learners/{page.name} must have the sections {SECTIONS}; it has {headings}"


def command_pages() -> Iterator[str]:
    """Commands that are missing from the guide or the reference of the command line."""
    guide = (DOCS / "command_line.md").read_text(encoding="utf-8")
    reference = (DOCS / "command_reference.md").read_text(encoding="utf-8")
    for name, command in commands.commands.items():
        if f"| `{name}" not in guide:
            yield f"the command {name} is missing from the table in docs/command_line.md"
        for full in [f"{name} {sub}" for sub in getattr(command, "commands", {})] or [name]:
            if f"```{{command-help}} {full}\n" not in reference:
                yield f"the command {full} has no section in docs/command_reference.md"


def public_names(described: Container[str]) -> Iterator[str]:
    """Public names that are not among those described."""
    for name in rosenblatt.__all__:
        if f"rosenblatt.{name}" not in described:
            yield f"rosenblatt.{name} is public and missing from the pages in docs/api"
    for package in ("experiments", "plots", "plots.figures", "theory", "theory.bounds", "data", "datasets"):
        module = importlib.import_module(f"rosenblatt.{package}")
        for name in module.__all__:
            homes = f"rosenblatt.{package}.{name}", f"rosenblatt.{name}"
            if not isinstance(getattr(module, name), types.ModuleType) and not any(home in described for home in homes):
                yield f"rosenblatt.{package}.{name} is public and missing from the pages in docs/api"


class _Links(html.parser.HTMLParser):
    """Anchors, links and images of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Record anchors, links and images."""
        for name, value in attributes:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.links.add(value)


def links(root: Path) -> Iterator[str]:
    """Broken links among the pages below a folder."""
    pages = {page: _Links(page.read_text(encoding="utf-8")) for page in sorted(root.rglob("*.html"))}
    for page, parsed in pages.items():
        for link in sorted(parsed.links):
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            path = urllib.parse.unquote(parts.path)
            target = (page.parent / path).resolve() if path else page
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                yield f"{page.relative_to(root)} links to {link}, which does not exist"
            elif target in pages and parts.fragment and parts.fragment not in pages[target].anchors:
                yield f"{page.relative_to(root)} links to {link}, which has no such anchor"
