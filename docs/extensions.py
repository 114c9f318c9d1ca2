"""Directives that insert results and help texts into the pages, and checks that run during the build."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

import rosenblatt
from docs import checks
from rosenblatt import learners
from rosenblatt.cli import app as commands
from rosenblatt.experiments import CONTENDERS

RESULTS = Path(__file__).resolve().parent.parent / "benchmarks" / "results"
LOGGER = logging.getLogger(__name__)


# --- tables and texts that are made in each build --------------------------------------------------------------------


class _Table(SphinxDirective):
    """A table from files of results."""

    files: ClassVar[tuple[str, ...]] = ("libol.json",)
    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Create the table, and record its files, so that the page is built again when the numbers change."""
        results: dict[str, Any] = {}
        for name in self.files:
            path = RESULTS / name
            self.env.note_dependency(str(path))
            results |= json.loads(path.read_text(encoding="utf-8"))
        lines = list(self.lines(results, self.arguments[0]))
        if not lines:
            raise self.error(f"{self.files} have nothing about {self.arguments[0]!r}")
        return _parsed(self, lines, str(self.files))

    def lines(self, results: dict[str, Any], about: str) -> Iterator[str]:
        """The content, in Markdown."""
        raise NotImplementedError


class Measured(_Table):
    """``{measured} AROW``: a learner compared with the plain and the averaged perceptron."""

    files = ("libol.json", "accuracy.json")

    def lines(self, results: dict[str, Any], about: str) -> Iterator[str]:
        """A table of its accuracy, and, if the learner is part of the comparison, one of its mistakes."""
        beside = ["Perceptron()", "AveragedPerceptron()", *["scikit-learn's Perceptron()"] * (about == "Perceptron")]
        mine = [row for row in results["rows"] if row["learner"] == about]
        if not mine and about in {**learners.classes(), **learners.regressors()}:
            yield "Not measured yet: `python docs/compare_learners.py` does it."
        if not mine:
            return
        yield "Accuracy in percent on a held-out quarter: mean and standard deviation over ten splits, features scaled to"
        yield "[−1, 1] (`python docs/compare_learners.py`):"
        yield ""
        data = [name for name in results["data"] if any(name in row for row in mine)]
        yield from _head("", *data)
        for row in mine + [row for row in results["rows"] if row["setting"] in beside and row not in mine]:
            yield _row(f"`{row['setting']}`", *("{:.1f} ± {:.1f}".format(*row[name]) for name in data))
        measured = {entry["name"] for part in results["honest"] for entry in part["standings"]}
        contenders = [one.name for one in CONTENDERS if one.learner == about and one.name in measured]
        if contenders:
            yield ""
            yield "Fraction of mistakes made before learning in one pass, with parameters chosen on the first tenth"
            yield "(`python -m benchmarks.libol`; [Which learner when](/choosing.md) compares all learners):"
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
    """``{published} svmguide3``: comparison with the LIBOL manual; ``{published} vw``: with other libraries."""

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


class DefaultAccuracy(_Table):
    """``{default-accuracy} all``: test accuracy of the default command beside other libraries with their defaults."""

    files = ("default_accuracy.json",)

    def lines(self, results: dict[str, Any], about: str) -> Iterator[str]:
        """One line for each data set; the best is bold."""
        columns = list(results["rows"][0]["accuracy"])
        yield from _head("data", "rows", "classes", "largest class", *columns)
        for row in results["rows"]:
            best = max(row["accuracy"].values())
            shown = (f"{100 * row['accuracy'][name]:.1f}" for name in columns)
            cells = (f"**{cell}**" if cell == f"{100 * best:.1f}" else cell for cell in shown)
            yield _row(
                row["data"], f"{row['rows']:,}", f"{row['classes']}", f"{100 * row['largest class']:.1f}", *cells
            )
        yield ""
        versions = (f"{name} {results['versions'][name]}" for name in ("scikit-learn", "vowpalwabbit", "river"))
        yield f"`{results['command']}` on {results['made'][:10]}, with {', '.join(versions)}."


class FreundSchapire(_Table):
    """``{freund-schapire} vote``: test error on MNIST for each degree and number of epochs, with that of the paper."""

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


class Taggers(SphinxDirective):
    """``{taggers}``: quality, speed and size of taggers beside those of CRFsuite and NLTK, for each kind of machine."""

    def run(self) -> list[nodes.Node]:
        """Create the tables, and record the files, so that the page is built again when the numbers change."""
        paths = sorted(RESULTS.glob("*/sequences.json"))
        for path in paths:
            self.env.note_dependency(str(path))
        lines = list(taggers([json.loads(path.read_text(encoding="utf-8")) for path in paths]))
        return _parsed(self, lines, "sequences.json")


def taggers(results: list[dict[str, Any]]) -> Iterator[str]:
    """The tables in Markdown: one for each file of results."""
    if not results:
        yield "There are no results yet; `python -m benchmarks sequences --data FOLDER` measures them."
    for file in results:
        yield from _head(f"on {file['machine']['kind']}", "here", "the other", "ratio", "goal")
        for row in file["rows"]:
            if row["ratio"] is None:
                continue
            is_score = not row["unit"]
            shown = [f"{row[f'{side}_median']:.4f}" if is_score else _amount(row[f"{side}_median"], row["unit"])
                     for side in ("ours", "peer")]  # fmt: skip
            goal = "" if row["bar"] is None else f"{row['bar']:g} {row['bar_unit']}".strip()
            missed = " (missed)" if row["met"] is False else ""
            ratio = "" if is_score else f"{row['ratio']:.2g}×"
            yield _row(row["what"].replace("|", "\\|"), shown[0], f"{row['peer']} {shown[1]}", ratio, goal + missed)
        versions = (
            f"{name} {file['versions'][name]}" for name in ("python-crfsuite", "nltk") if name in file["versions"]
        )
        yield ""
        yield f"`{file['command']}` on {file['made'][:10]}, with {', '.join(versions)}."
        yield ""


def _amount(value: float, unit: str) -> str:
    return f"{value:.3g} {unit}"


def _parsed(directive: SphinxDirective, lines: list[str], source: str) -> list[nodes.Node]:
    """Parse lines of Markdown into nodes of the page."""
    holder = nodes.Element()
    directive.state.nested_parse(StringList(lines, source=source), 0, holder)
    children: list[nodes.Node] = holder.children
    return children


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _head(*cells: str) -> tuple[str, str]:
    return _row(*cells), _row(*("---" for _ in cells))


class Learners(SphinxDirective):
    """``{learners}``: a table of all learners, each with its page and the first sentence of its docstring."""

    def run(self) -> list[nodes.Node]:
        """One line for each learner."""
        lines = list(_head("learner", "in one sentence"))
        for name, module in {**learners.classes(), **learners.regressors()}.items():
            text = inspect.getdoc(getattr(rosenblatt, name)) or ""
            lines.append(
                _row(f"[`{name}`]({module}.md)", " ".join(text.partition("\n\n")[0].split()).removesuffix("."))
            )
        return _parsed(self, lines, "docs/extensions.py")


class LearnerReference(SphinxDirective):
    """``{learner-reference}``: the docstrings of all learners, and of the methods that only one of them has."""

    def run(self) -> list[nodes.Node]:
        """One class after the other."""
        lines = ["```{eval-rst}", ".. currentmodule:: rosenblatt", ""]
        for name in (*learners.classes(), *learners.regressors()):
            own = [one for one, value in vars(getattr(rosenblatt, name)).items() if _is_documented(one, value)]
            lines += [f".. autoclass:: {name}", *([f"   :members: {', '.join(own)}"] if own else [])]
        return _parsed(self, [*lines, "```"], "docs/extensions.py")


def _is_documented(name: str, value: Any) -> bool:
    """Whether this attribute of a class is a public method or property with a docstring."""
    return (
        not name.startswith("_")
        and bool(inspect.isfunction(value) or isinstance(value, property))
        and bool(value.__doc__)
    )


class CommandHelp(SphinxDirective):
    """``{command-help} train``: the output of ``rosenblatt train --help``."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """The help as a block of text."""
        command: Any = commands
        context = command.context_class(command, info_name="rosenblatt", terminal_width=100, **command.context_settings)
        for word in self.arguments[0].split():
            found = command.get_command(context, word)
            if found is None:
                raise self.error(f"there is no command {self.arguments[0]!r}")
            command, context = found, found.context_class(found, parent=context, info_name=word, terminal_width=100)
        text = command.get_help(context)
        return [nodes.literal_block(text, text, language="text")]


# --- checks that fail the build --------------------------------------------------------------------------------------


def _warn(problems: Iterator[str]) -> None:
    for problem in problems:
        LOGGER.warning(problem)


def before(app: Sphinx) -> None:
    """Check that every learner and command has a page."""
    _warn(checks.learner_pages())
    _warn(checks.command_pages())


def between(app: Sphinx, env: BuildEnvironment) -> None:
    """Check that every public name is described."""
    _warn(checks.public_names(env.domaindata["py"]["objects"]))


def after(app: Sphinx, exception: Exception | None) -> None:
    """Add the lab as a page that needs no server, and check the links of the written pages."""
    if exception is None and app.builder.format == "html":
        from rosenblatt.lab.bundle import one_file

        (Path(app.outdir) / "playground.html").write_text(one_file(), encoding="utf-8")
        _warn(checks.links(Path(app.outdir)))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives and checks."""
    app.add_directive("measured", Measured)
    app.add_directive("mistake-rates", MistakeRates)
    app.add_directive("published", PublishedTable)
    app.add_directive("default-accuracy", DefaultAccuracy)
    app.add_directive("freund-schapire", FreundSchapire)
    app.add_directive("taggers", Taggers)
    app.add_directive("learners", Learners)
    app.add_directive("learner-reference", LearnerReference)
    app.add_directive("command-help", CommandHelp)
    app.connect("builder-inited", before)
    app.connect("env-check-consistency", between)
    app.connect("build-finished", after)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
