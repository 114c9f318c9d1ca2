"""The benchmark page agrees with the stored measurements."""

import copy
import json

import pytest

pytest.importorskip("benchmarks.page", reason="needs the benchmarks' folder")

from benchmarks import page


def test_the_page_is_up_to_date():
    assert page.PAGE.read_text(encoding="utf-8") == page.make(), "run `python -m benchmarks page`"


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """A function that makes a page from modified results."""
    monkeypatch.setattr(page, "RESULTS", tmp_path)
    real = json.loads((page.PAGE.parent.parent / "benchmarks/results/core.json").read_text(encoding="utf-8"))
    row = next(row for row in real["rows"] if row["peer"] == "sklearn Perceptron" and row["kind"] == page.FASTER)
    row = {**row, "what": "a race", "bar": 2.0, "met": True, "ratio": 3.0, "ours_score": 0.9, "peer_score": 0.8}

    def make(**changes):
        facts = {**copy.deepcopy(real), "rows": [{**row, **changes}]}
        (tmp_path / "core.json").write_text(json.dumps(facts), encoding="utf-8")
        return page.make()

    return make


def losses(text, heading):
    return text.partition(f"**{heading}")[2].split("\n\n")[1]


def test_losses_are_in_the_summary_and_in_their_sections(kept):
    won, lost = kept(), kept(ratio=0.5, met=False, peer_score=0.95)
    assert "faster in 1, slower in 0" in won
    assert "faster in 0, slower in 1" in lost
    assert "better in 1, worse in 0" in won
    for heading in ("Where a peer is faster", "Where a peer's model", "Missed goals"):
        assert losses(won, heading) == "- none"
        assert losses(lost, heading).startswith("- a race")
    assert "**0.5×**" in lost
    assert "**missed**" in lost


def test_a_library_that_is_not_installed_is_named(kept):
    assert "- Weka: Weka was not found" in kept(what="Weka", ratio=None, note="Weka was not found")
