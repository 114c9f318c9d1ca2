"""`rosenblatt demo`."""

import sys

from tests.cli.helpers import call, numbers

STEPS = ["train", "inspect", "certify", "compare", "trace"]


def test_the_demo(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = call("demo", "--words", 3, "--epochs", 2)
    shown = [line.split()[2] for line in result.stdout.splitlines() if line.startswith("$ rosenblatt")]
    assert shown == STEPS
    for part in ("accuracy", "for spam", "verified  yes", "most frequent class", "⟨w,u⟩"):
        assert part in result.stdout
    report = tmp_path / "rosenblatt-demo" / "report.html"
    assert str(report) in result.stdout
    assert "<svg" in report.read_text(encoding="utf-8")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rosenblatt-demo"], "it writes nothing else"


def test_a_failed_command_ends_the_demo(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "rosenblatt.cli.demo._tour", lambda words, epochs: [("why", "certify nowhere.csv"), ("", "lab")]
    )
    result = call("demo", "--folder", tmp_path / "there", code=1)
    assert "nowhere.csv: A file is needed" in result.stderr
    assert "the demo stopped" in result.stderr
    assert "$ rosenblatt lab" not in result.stdout


def test_a_report_without_matplotlib(tmp_path, monkeypatch):
    """It shows the same numbers as tables, and how to install matplotlib."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    path, page = numbers(tmp_path / "numbers.csv"), tmp_path / "report.html"
    call("train", path, "-m", tmp_path / "model", "--report", page, "-q")
    text = page.read_text(encoding="utf-8")
    assert "<svg" not in text
    assert "<th>for yes</th>" in text
    assert "predicted" in text
    assert "rosenblatt[plots]" in text
