"""Every item of the five lecture notes can be had from this library, as `lecture_notes.toml` says."""

import contextlib
import inspect
import io
import re
import tomllib
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

from docs import make_lecture_notes  # noqa: E402
from rosenblatt import certify  # noqa: E402
from rosenblatt.plots import figures  # noqa: E402
from rosenblatt.plots.figures.margins import _data  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
NOTES = tomllib.loads((ROOT / "tests/lecture_notes.toml").read_text(encoding="utf-8"))
ITEMS = NOTES["item"]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """An empty working directory for items that write files."""
    monkeypatch.chdir(tmp_path)
    yield
    plt.close("all")


def name_of(item):
    return f"{item['note']} {item['what']}"


def test_no_item_is_missing():
    """The numbers of items that were found in each note."""
    assert Counter(item["note"] for item in ITEMS) == {
        "000": 22,
        "001": 38,
        "002": 26,
        "003": 13,
        "004": 19,
        "extra": 1,
    }
    assert len({name_of(item) for item in ITEMS}) == 119
    for item in ITEMS:
        assert {"code", "figure", "page"} & set(item), f"{name_of(item)}: nothing says how to get it"
        assert ("code" in item) == ("output" in item), name_of(item)


@pytest.mark.parametrize("item", [item for item in ITEMS if "code" in item], ids=name_of)
def test_the_code_prints_its_output(item):
    printed = io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stdout(printed):
        warnings.simplefilter("error")
        exec(compile(item["code"], name_of(item), "exec"), {"__name__": "__main__"})
    lines = [line.rstrip() for line in printed.getvalue().splitlines()]
    assert lines == item["output"].splitlines()


@pytest.mark.parametrize("name", sorted({item["figure"] for item in ITEMS if "figure" in item}))
def test_the_figure_is_public_and_drawn(name):
    assert name in figures.__all__
    assert getattr(figures, name)().axes


def headings(page):
    """The anchors of a page: one for each heading."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#{1,3} (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-") for title in titles}


def test_the_pages_and_their_sections_exist():
    for item in (*ITEMS, *NOTES["term"]):
        if "page" in item:
            name, _, anchor = item["page"].partition("#")
            page = ROOT / "docs" / name
            assert page.exists(), item
            assert not anchor or anchor in headings(page), item


def test_the_page_of_the_documentation_is_up_to_date():
    """`python docs/make_lecture_notes.py` makes it."""
    assert make_lecture_notes.PAGE.read_text(encoding="utf-8") == make_lecture_notes.page()


# --- the figures themselves -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", figures.__all__)
def test_a_figure_can_be_found(name):
    """It has a gallery page, a section with a small picture, and a place in the list of the notes."""
    assert f"figures.{name}(" in (ROOT / f"examples/figures/plot_{name}.py").read_text(encoding="utf-8")
    assert name in headings(ROOT / "docs/figures.md")
    assert (ROOT / f"docs/_static/figures/{name}.png").stat().st_size < 60_000
    assert any(item.get("figure") == name for item in ITEMS)


@pytest.mark.parametrize("name", figures.__all__)
def test_a_figure_is_drawn_light_and_dark_as_svg_and_png(name, tmp_path):
    draw = getattr(figures, name)
    assert inspect.signature(draw).parameters["dark"].default is False
    before = dict(plt.rcParams)
    papers = set()
    for dark in (False, True):
        figure = draw(dark=dark)
        papers.add(matplotlib.colors.to_hex(figure.get_facecolor()))
        for ending in ("svg", "png"):
            file = tmp_path / f"{name}.{ending}"
            figure.savefig(file, dpi=40)
            assert file.stat().st_size > 2000
    assert papers == {"#ffffff", "#16181d"}
    assert dict(plt.rcParams) == before, "a figure must not change the settings of the user"


def test_the_separator_of_the_figures_has_the_largest_margin():
    direction = np.array([np.cos(np.radians(35)), np.sin(np.radians(35))])
    for gamma in (0.12, 0.5, 0.65, 0.75):
        X, y = _data(direction, gamma)
        low, high = certify(X, y, fit_intercept=False).margin
        assert low == pytest.approx(gamma, abs=1e-9)
        assert high == pytest.approx(gamma, abs=1e-9)


def test_the_running_example_ends_with_a_separator():
    titles = [ax.get_title() for ax in figures.running_example().axes]
    assert titles[1::2] == ["after it: 2 examples wrong", "after it: no examples wrong"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: figures.network(inputs=1), "`inputs` of network must be at least 2; got 1"),
        (lambda: figures.update(w=(1, 0), x=(1, 0)), "w must be wrong on x"),
        (lambda: figures.update(w=(0, 0), x=(1, 0)), "two vectors of two numbers, not zero"),
        (lambda: figures.cone(margin=0.9), "between 0.05 and 0.7; got 0.9"),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()
