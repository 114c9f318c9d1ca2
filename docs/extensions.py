"""What the documentation takes from the product while it is built, and what fails the build."""

from __future__ import annotations

import html.parser
import importlib
import json
import re
import types
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import typer
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

import rosenblatt
from rosenblatt.cli import app as commands
from rosenblatt.experiments import CONTENDERS

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
RESULTS = ROOT / "benchmarks" / "results"
LOGGER = logging.getLogger(__name__)

# What every page of a learner has, in this order.
SECTIONS = ("Rule", "Use", "Its bound", "Departures", "On real data")


# --- tables and texts that are made anew in each build ---------------------------------------------------------------


class _Table(SphinxDirective):
    """A table from files of results."""

    files: ClassVar[tuple[str, ...]] = ("libol.json",)
    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """The table, with the files noted, so that a page is built again when its numbers change."""
        results: dict[str, Any] = {}
        for name in self.files:
            path = RESULTS / name
            self.env.note_dependency(str(path))
            results |= json.loads(path.read_text(encoding="utf-8"))
        lines = list(self.lines(results, self.arguments[0]))
        if not lines:
            raise self.error(f"{self.files} have nothing about {self.arguments[0]!r}")
        holder = nodes.Element()
        self.state.nested_parse(StringList(lines, source=str(self.files)), 0, holder)
        return holder.children

    def lines(self, results: dict[str, Any], about: str) -> Iterator[str]:
        """What to show, in Markdown."""
        raise NotImplementedError


class Measured(_Table):
    """``{measured} AROW``: how a learner does beside the plain and the averaged perceptron."""

    files = ("libol.json", "accuracy.json")

    def lines(self, results: dict[str, Any], about: str) -> Iterator[str]:
        """A table of its accuracy, and if it took part in the comparison one of its mistakes."""
        beside = ["Perceptron()", "AveragedPerceptron()", *["scikit-learn's Perceptron()"] * (about == "Perceptron")]
        mine = [row for row in results["rows"] if row["learner"] == about]
        if not mine:
            return
        yield "Accuracy in percent on a held-out quarter, mean and standard deviation of ten splits, features scaled to"
        yield "[−1, 1] (`python docs/compare_learners.py`):"
        yield ""
        data = [name for name in results["data"] if any(name in row for row in mine)]
        yield from _head("", *data)
        for row in mine + [row for row in results["rows"] if row["setting"] in beside and row not in mine]:
            yield _row(f"`{row['setting']}`", *("{:.1f} ± {:.1f}".format(*row[name]) for name in data))
        contenders = [contender.name for contender in CONTENDERS if contender.learner == about]
        if contenders:
            yield ""
            yield "Mistakes made before learning in one pass, as a share of the examples, settings chosen on the first tenth"
            yield "(`python -m benchmarks.libol`; all learners side by side are in [Which learner when](/choosing.md)):"
            yield ""
            beside = [name for name in ("averaged perceptron", "most frequent class") if name not in contenders]
            yield from _standings(results["honest"], contenders + beside)


class MistakeRates(_Table):
    """``{mistake-rates} shuffled`` or ``in order``: mistakes made before learning in one pass, of all learners."""

    def lines(self, results: dict[str, Any], about: str) -> Iterator[str]:
        """One line for each contender."""
        parts = [part for part in results["honest"] if part["shuffled"] == (about == "shuffled")]
        leading = next((part for part in parts if part["data"].startswith("a9a")), parts[0])
        yield from _standings(parts, [entry["name"] for entry in leading["standings"]])


def _standings(parts: list[dict[str, Any]], names: list[str]) -> Iterator[str]:
    yield from _head("", *(part["data"] for part in parts))
    for name in names:
        entries = [next(entry for entry in part["standings"] if entry["name"] == name) for part in parts]
        spreads = (f" ± {entry['spread']:.4f}" if len(entry["rates"]) > 1 else "" for entry in entries)
        yield _row(name, *(f"{entry['mean']:.4f}{spread}" for entry, spread in zip(entries, spreads, strict=True)))


class PublishedTable(_Table):
    """``{published} svmguide3`` beside the LIBOL manual's numbers, ``{published} vw`` beside other libraries."""

    def lines(self, results: dict[str, Any], about: str) -> Iterator[str]:
        """One line for each rule, or for each data set."""
        if about == "svmguide3":
            full = {"PA-I": "PA-I", "SOP": "second-order perceptron, full"}
            honest = {entry["name"]: entry["mean"] for entry in results["honest"][0]["standings"]}
            yield from _head("", "published", "as LIBOL", "with a bias", "chosen on a prefix")
            for row in results["published"]:
                name = full.get(row["rule"], row["rule"])
                name = f"{name}, full" if f"{name}, full" in honest else name
                cells = row["published"], row["libol"]["rate"], row["ours"]["rate"], honest[name]
                yield _row(row["rule"], *(f"{cell:.3f}" for cell in cells))
        elif about == "vw":
            yield from _head("", "ours, chosen on the first tenth", "ours, best afterwards", "averaged SGD", "VW")
            for row in results["peers"]:
                ours = (f"{row[key]['rate']:.4f} ({row[key]['name']})" for key in ("ours", "best afterwards"))
                yield _row(row["data"], *ours, *(f"{row[key]:.4f}" for key in ("SGDClassifier(average=True)", "vw")))


class FreundSchapire(_Table):
    """``{freund-schapire} vote``: test error on MNIST for each degree and number of epochs, beside the paper's."""

    files = ("freund_schapire.json",)

    def lines(self, results: dict[str, Any], about: str) -> Iterator[str]:
        """One line for each degree."""
        yield from _head("d", "T = 1", "paper", "T = 4", "paper", "T = 10", "paper")
        for key, part in results.items():
            if key.startswith("degree "):
                runs = {run["epochs"]: run for run in part["results"]}
                cells: list[str] = []
                for epochs in (1, 4, 10):
                    paper = runs[epochs]["published_vote"] if about == "vote" else None
                    cells += [f"{runs[epochs]['errors'][about]:.2f}", "" if paper is None else f"{paper:.1f}"]
                yield _row(key.removeprefix("degree "), *cells)


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _head(*cells: str) -> tuple[str, str]:
    return _row(*cells), _row(*("---" for _ in cells))


class CommandHelp(SphinxDirective):
    """``{command-help} train``: what ``rosenblatt train --help`` prints."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """The help as a block of text."""
        command: Any = typer.main.get_command(commands)
        context = command.context_class(command, info_name="rosenblatt", terminal_width=100)
        for word in self.arguments[0].split():
            found = command.get_command(context, word)
            if found is None:
                raise self.error(f"there is no command {self.arguments[0]!r}")
            command, context = found, found.context_class(found, parent=context, info_name=word, terminal_width=100)
        text = command.get_help(context)
        return [nodes.literal_block(text, text, language="text")]


# --- what fails the build --------------------------------------------------------------------------------------------


def check_learner_pages(app: Sphinx) -> None:
    """Warn, which fails the build, of a learner without a page, or a page that lacks its source or a section."""
    for source in sorted((ROOT / "src" / "rosenblatt" / "learners").glob("[!_]*.py")):
        page = DOCS / "learners" / f"{source.stem}.md"
        if not page.exists():
            LOGGER.warning("the learner %s has no page: write docs/learners/%s", source.name, page.name)
            continue
        text = page.read_text(encoding="utf-8")
        if f"src/rosenblatt/learners/{source.name}" not in text:
            LOGGER.warning("docs/learners/%s does not include src/rosenblatt/learners/%s", page.name, source.name)
        headings = [heading for heading in re.findall(r"^## (.*)$", text, re.MULTILINE) if heading in SECTIONS]
        if headings != list(SECTIONS):
            LOGGER.warning("docs/learners/%s must have the sections %s; it has %s", page.name, SECTIONS, headings)


def check_commands(app: Sphinx) -> None:
    """Warn of a command that the guide or the reference of the command line leaves out."""
    guide = (DOCS / "command_line.md").read_text(encoding="utf-8")
    reference = (DOCS / "command_reference.md").read_text(encoding="utf-8")
    group: Any = typer.main.get_command(commands)
    for name, command in group.commands.items():
        if f"| `{name}" not in guide:
            LOGGER.warning("the command %s is missing from the table in docs/command_line.md", name)
        for full in [f"{name} {sub}" for sub in getattr(command, "commands", {})] or [name]:
            if f"```{{command-help}} {full}\n" not in reference:
                LOGGER.warning("the command %s has no section in docs/command_reference.md", full)


def check_public_names(app: Sphinx, env: BuildEnvironment) -> None:
    """Warn of a public name that the reference leaves out."""
    described = env.domaindata["py"]["objects"]
    for name in rosenblatt.__all__:
        if f"rosenblatt.{name}" not in described:
            LOGGER.warning("rosenblatt.%s is public and missing from docs/api.md", name)
    for package in ("experiments", "plots", "theory", "theory.bounds", "data", "datasets"):
        module = importlib.import_module(f"rosenblatt.{package}")
        for name in module.__all__:
            homes = f"rosenblatt.{package}.{name}", f"rosenblatt.{name}"
            if not isinstance(getattr(module, name), types.ModuleType) and not any(home in described for home in homes):
                LOGGER.warning("rosenblatt.%s.%s is public and missing from docs/api.md", package, name)


class _Links(html.parser.HTMLParser):
    """The places of a page that can be linked to, and what it links to and shows."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Note them."""
        for name, value in attributes:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)


def check_links(app: Sphinx, exception: Exception | None) -> None:
    """Warn of links within the pages as they were written that lead nowhere."""
    if exception is not None or app.builder.format != "html":
        return
    root = Path(app.outdir)
    pages = {page: _Links(page.read_text(encoding="utf-8")) for page in sorted(root.rglob("*.html"))}
    for page, parsed in pages.items():
        for link in set(parsed.links):
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            path = urllib.parse.unquote(parts.path)
            target = page if not path else (page.parent / path).resolve()
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                LOGGER.warning("%s links to %s, which does not exist", page.relative_to(root), link)
            elif target in pages and parts.fragment and parts.fragment not in pages[target].anchors:
                LOGGER.warning("%s links to %s, which has no such place", page.relative_to(root), link)


def setup(app: Sphinx) -> dict[str, bool]:
    """Add all of it to the build."""
    app.add_directive("measured", Measured)
    app.add_directive("mistake-rates", MistakeRates)
    app.add_directive("published", PublishedTable)
    app.add_directive("freund-schapire", FreundSchapire)
    app.add_directive("command-help", CommandHelp)
    app.connect("builder-inited", check_learner_pages)
    app.connect("builder-inited", check_commands)
    app.connect("env-check-consistency", check_public_names)
    app.connect("build-finished", check_links)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
