"""The benchmark page agrees with the stored measurements, and each kind of machine keeps its own."""

import copy
import json

import numpy as np
import pytest

pytest.importorskip("benchmarks.page", reason="needs the benchmarks' folder")

from benchmarks import bare, core, data, machines, page
from benchmarks.harness import Options


def test_the_page_is_up_to_date():
    assert page.PAGE.read_text(encoding="utf-8") == page.make(), "run `python -m benchmarks page`"


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """A function that makes a page from modified results."""
    monkeypatch.setattr(page, "RESULTS", tmp_path)
    file = page.PAGE.parent.parent / "benchmarks/results/amd-epyc/core.json"
    real = json.loads(file.read_text(encoding="utf-8"))
    row = next(row for row in real["rows"] if row["peer"] == "sklearn Perceptron" and row["kind"] == page.FASTER)
    row = {**row, "what": "a race", "bar": 2.0, "met": True, "ratio": 3.0, "ours_score": 0.9, "peer_score": 0.8}

    def make(kind="AMD EPYC", **changes):
        facts = {**copy.deepcopy(real), "rows": [{**row, **changes}]}
        facts["machine"]["kind"] = kind
        folder = tmp_path / machines.folder(kind).name
        folder.mkdir(exist_ok=True)
        (folder / "core.json").write_text(json.dumps(facts), encoding="utf-8")
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
    assert "- Weka: Weka was not found" in kept(what="Weka", ratio=None, ours_median=None, note="Weka was not found")


def test_a_number_without_a_peer_is_shown_with_its_goal(kept):
    facts = {"ratio": None, "quartiles": None, "cpu_ratio": None, "peer": "", "peer_median": None, "ours": "pairs"}
    facts |= {"ours_score": None, "peer_score": None, "unit": "pairs/s", "bar_unit": "pairs/s", "bar": 2000.0}
    made = kept(**facts, ours_median=2440.0, met=True)
    assert "**2440 pairs/s**<br>goal ≥ 2,000 pairs/s: met" in made
    assert "Of our 1 goals 1 are met" in made
    missed = kept(**{**facts, "bar": 100_000.0}, ours_median=25_060.4, met=False)
    assert losses(missed, "Missed goals") == "- a race, pairs: 25,060 pairs/s, goal ≥ 100,000 pairs/s"


def test_a_benchmark_of_the_service_that_breaks_off_has_missed_its_goal(kept):
    from benchmarks import __main__ as command

    def breaks():
        raise OSError("nobody answers")
        yield

    assert [row.met for row in command._whatever_comes("service-rates", breaks())] == [False]
    assert [row.met for row in command._whatever_comes("weka", breaks())] == [None]
    facts = {"ratio": None, "ours_median": None, "bar": None, "met": False, "ours": "", "peer": ""}
    missed = kept(**facts, note="broke off: nobody answers")
    assert losses(missed, "Missed goals") == "- a race: broke off: nobody answers"


def test_kinds_of_machines_are_side_by_side(kept):
    kept(kind="Intel Xeon", ratio=0.5, met=False)
    text = kept(kind="AMD EPYC (family 26)")
    assert "| what | ours and peer | AMD EPYC (family 26) | Intel Xeon |" in text
    line = next(line for line in text.splitlines() if line.startswith("| a race |"))
    assert line.index("**3×**") < line.index("**0.5×**")
    assert line.index(": met") < line.index("**missed**")
    amd, intel = text.partition("### Intel Xeon\n")[::2]
    assert "faster in 1, slower in 0" in amd
    assert "faster in 0, slower in 1" in intel
    other = kept(kind="Intel Xeon", what="another race")
    assert "| a race |" in other
    assert other.count("not measured |") == 2


def test_rows_with_the_same_words_are_all_shown(kept, tmp_path):
    kept()
    file = tmp_path / "amd-epyc" / "core.json"
    facts = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**facts, "rows": facts["rows"] * 2}), encoding="utf-8")
    assert page.make().count("| a race |") == 2


CPUS = {
    "AMD EPYC (family 26)": "model name\t: AMD EPYC\ncpu family\t: 26",
    "AMD EPYC (family 25)": "cpu family\t: 25\nmodel name\t: AMD EPYC 7763 64-Core Processor",
    "AMD Ryzen (family 25)": "cpu family\t: 25\nmodel name\t: AMD Ryzen 9 7950X 16-Core Processor",
    "Intel Xeon": "cpu family\t: 6\nmodel name\t: Intel(R) Xeon(R) Platinum 8370C CPU\n\nmodel name\t: another",
    "Intel Core": "cpu family\t: 6\nmodel name\t: 12th Gen Intel(R) Core(TM) i7-12700",
    "Intel Xeon (family 19)": "cpu family\t: 19\nmodel name\t: Intel(R) Xeon(R) Processor",
    "Intel": "cpu family\t: 6\nmodel name\t: Intel(R) Processor",
    "ARM (implementer 0x41, part 0xd0c)": "CPU implementer\t: 0x41\nCPU part\t: 0xd0c",
}


@pytest.mark.parametrize("kind", CPUS)
def test_the_kind_of_a_machine(kind):
    assert machines.kind(CPUS[kind]) == kind


def test_an_unknown_processor_is_named_by_its_system(monkeypatch):
    monkeypatch.setattr(machines.platform, "system", lambda: "Darwin")
    monkeypatch.setattr(machines.platform, "machine", lambda: "arm64")
    assert machines.kind("") == "Darwin arm64"
    assert machines.folder("Darwin arm64").name == "darwin-arm64"


def test_a_run_writes_to_the_folder_of_its_kind(tmp_path, monkeypatch):
    from benchmarks import __main__ as command

    monkeypatch.setattr(machines, "RESULTS", tmp_path)
    monkeypatch.setattr(page, "write", lambda: None)

    def race(options):
        """No rows."""
        return iter([])

    monkeypatch.setattr(command, "GROUPS", {"core": {"race": race}})
    monkeypatch.setattr(command, "BENCHMARKS", {"race": race})
    other = machines.folder("another kind") / "core.json"
    other.parent.mkdir()
    other.write_text("{}", encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["benchmarks", "core"])
    command.main()
    written = json.loads((machines.folder() / "core.json").read_text(encoding="utf-8"))
    assert written["machine"]["kind"] == machines.kind()
    assert other.read_text(encoding="utf-8") == "{}"


# ---- bare loops in C ----


@pytest.fixture
def compiled():
    try:
        bare.library()
    except bare.NoCompilerError as error:
        pytest.skip(str(error))


@pytest.mark.usefixtures("compiled")
def test_the_bare_loop_does_what_ours_does():
    X, y = data.sparse(300, 9, 200)
    ours = core.fitting(core.rosenblatt.Perceptron, X, y)()
    assert bare.training("epoch_eight_slots", X, y, core.EPOCHS)() == ours.mistakes_ == core.looping(X, y)()
    assert abs(bare.training("epoch_one_sum", X, y, core.EPOCHS)() - ours.mistakes_) < 5
    some = np.random.default_rng(0).standard_normal((7, 13))
    assert bare.library().read_all(some.ravel(), some.size) == pytest.approx(some.sum())


@pytest.mark.parametrize("compiler", [None, "/bin/false"])
def test_without_a_compiler_a_row_says_so(compiler, monkeypatch):
    monkeypatch.setattr(bare, "library", bare.library.__wrapped__)
    monkeypatch.setattr(bare.shutil, "which", lambda name: compiler)
    rows = list(core.against_bare("a race", *data.sparse(20, 3, 10), Options(1, True, None)))
    assert [row.what for row in rows] == ["a race, a bare loop in C"]
    assert ("needs a C compiler" in rows[0].note) == (compiler is None)
    assert ("did not compile bare.c" in rows[0].note) == (compiler is not None)
