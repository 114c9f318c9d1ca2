"""Parts of the compiled library that later builds take from the cache folder."""

import shutil

import pytest

pytest.importorskip("numba")

from rosenblatt.aot import parts
from rosenblatt.aot.build import groups

LEVELS = ("x86-64-v2", "x86-64-v3")


def folders(tmp_path):
    return {group: parts.folder_of(tmp_path, group, wanted, "linux", LEVELS) for group, wanted in groups()}


@pytest.fixture
def engine(tmp_path, monkeypatch):
    """A copy of the engine's sources that a test may change."""
    copy = tmp_path / "engine"
    shutil.copytree(parts.ENGINE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(parts, "ENGINE", copy)
    parts._imports.cache_clear()
    yield copy
    parts._imports.cache_clear()


@pytest.mark.parametrize(
    ("changed", "compiled"),
    [
        ("text/vw.py", {"text"}),
        ("separation.py", {"separation"}),
        ("sequences.py", {"sequences", "text"}),  # templates of sentences use it
        ("entries.py", set()),
    ],
)
def test_a_change_compiles_the_groups_that_depend_on_it(engine, tmp_path, changed, compiled):
    before = folders(tmp_path)
    path = engine / changed
    path.write_text(path.read_text() + "# changed\n")
    after = folders(tmp_path)
    assert {group for group in before if before[group] != after[group]} == compiled


@pytest.mark.parametrize("changed", ["rows.py", "codegen.py", "additive.py", "state.py"])
def test_a_change_in_what_loops_share_compiles_all_loops(engine, tmp_path, changed):
    before = folders(tmp_path)
    path = engine / changed
    path.write_text(path.read_text() + "# changed\n")
    after = folders(tmp_path)
    assert {"Additive one", "Additive many", "Full many", "Committee many"} <= {
        g for g in before if before[g] != after[g]
    }


def test_another_signature_another_platform_and_other_levels_are_other_parts(tmp_path):
    wanted = [("rb_power_0", "power", "d2 d d q d2")]
    place = parts.folder_of(tmp_path, "dual", wanted, "linux", LEVELS)
    assert place != parts.folder_of(tmp_path, "dual", [("rb_power_0", "power", "f2 d d q d2")], "linux", LEVELS)
    assert place != parts.folder_of(tmp_path, "dual", wanted, "macos", LEVELS)
    assert place != parts.folder_of(tmp_path, "dual", wanted, "linux", LEVELS[:1])


def test_step_functions_are_always_compiled(tmp_path):
    assert parts.folder_of(tmp_path, "steps", [], "linux", LEVELS) is None
    assert parts.load(None) is None


def test_a_part_is_loaded_as_it_was_saved(tmp_path):
    made = tmp_path / "dual x86-64-v2.o"
    made.write_bytes(b"code")
    place = tmp_path / "parts" / "abc"
    assert parts.load(place) is None
    parts.save(place, {"rb_power_0": "q"}, [made])
    assert parts.load(place) == {"rb_power_0": "q"}
    assert (place / made.name).read_bytes() == b"code"
    parts.save(place, {"rb_power_0": "d"}, [made])  # as if another process had been first
    assert parts.load(place) == {"rb_power_0": "q"}
    assert [path.name for path in place.parent.iterdir()] == ["abc"]
