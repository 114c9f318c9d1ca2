"""Settings of the documentation. `make docs` builds it; warnings are errors and nothing is fetched from the network."""

from __future__ import annotations

import importlib.metadata
import sys
import tomllib
from pathlib import Path

DOCS = Path(__file__).resolve().parent
PROJECT = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
sys.path.insert(0, str(DOCS.parent))

project = PROJECT["name"]
author = PROJECT["authors"][0]["name"]
project_copyright = author
release = version = importlib.metadata.version(project)

# MathJax is copied into the pages, so that formulas are displayed without a network.
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx-mathjax-offline",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "sphinxcontrib.bibtex",
    "docs.extensions",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

bibtex_bibfiles = ["references.bib"]
bibtex_reference_style = "author_year"

autodoc_typehints = "none"
numpydoc_class_members_toctree = False
numpydoc_show_inherited_class_members = False
# A docstring that lists parameters lists all of them (PR01), no others (PR02), and in their order (PR03).
numpydoc_validation_checks = {"PR01", "PR02", "PR03"}
numpydoc_validation_overrides = {
    # A docstring without a list describes the parameters in a sentence, or is a record of results with attributes.
    "PR01": [r"(?m)\A(?![\s\S]*^ *Parameters\n *-+$)"],
    # Learners take their parameters by name only; each has its own first and then those that all have.
    "PR03": [r"Whether to add a constant feature 1, whose weight is `intercept_`"],
}

html_theme = "furo"
html_title = f"{project} {release}"
html_theme_options = {"navigation_with_keys": True}
html_favicon = "_static/favicon.svg"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_js_files = ["copy.js"]

# Each build runs the examples that have changed since the last one; an error in an example ends the build.
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "reset_modules": ("matplotlib", "docs.gallery_style.gallery_style"),
    "doc_module": ("rosenblatt",),
    "reference_url": {"rosenblatt": None},
    "backreferences_dir": "gallery/backreferences",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 5,
    "image_srcset": ["2x"],
    "remove_config_comments": True,
}
