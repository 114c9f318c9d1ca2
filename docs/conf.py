"""Settings of the documentation. `make docs` builds it; warnings are errors and nothing is fetched from the network."""

from __future__ import annotations

import tomllib
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util import logging

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
LOGGER = logging.getLogger(__name__)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

project = PROJECT["name"]
author = PROJECT["authors"][0]["name"]
project_copyright = author
release = version = PROJECT["version"]

# The formulas are set by a MathJax that is copied into the pages, so that they read well without a network, too.
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx-mathjax-offline", "numpydoc"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

autodoc_typehints = "none"
numpydoc_class_members_toctree = False
numpydoc_show_inherited_class_members = False
# A docstring that lists parameters lists all of them (PR01), no others (PR02), and in their order (PR03).
numpydoc_validation_checks = {"PR01", "PR02", "PR03"}
numpydoc_validation_overrides = {
    # What lists none says it in a sentence, or is a record of results that lists its attributes.
    "PR01": [r"(?m)\A(?![\s\S]*^ *Parameters\n *-+$)"],
    # Learners take their parameters by name only; each has its own first and then those that all have.
    "PR03": [r"Whether to add a constant feature 1, whose weight is `intercept_`"],
}

html_theme = "furo"
html_title = f"{project} {release}"


def check_learner_pages(app: Sphinx) -> None:
    """Warn, which fails the build, of a learner without a page or a page without the learner's source."""
    for source in sorted((ROOT / "src" / "rosenblatt" / "learners").glob("[!_]*.py")):
        page = DOCS / "learners" / f"{source.stem}.md"
        if not page.exists():
            LOGGER.warning("the learner %s has no page: write docs/learners/%s", source.name, page.name)
        elif f"src/rosenblatt/learners/{source.name}" not in page.read_text(encoding="utf-8"):
            LOGGER.warning("docs/learners/%s does not include src/rosenblatt/learners/%s", page.name, source.name)


def setup(app: Sphinx) -> None:
    """Add the check to the build."""
    app.connect("builder-inited", check_learner_pages)
