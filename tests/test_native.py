"""The compiled library: the same bits as Numba's for every function and level, safe calls, and what happens without it."""

import json
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import rosenblatt
from rosenblatt import selftest
from rosenblatt.aot.signatures import catalogue, key, parse
from rosenblatt.engine import cache, native
from rosenblatt.engine.native import LIBRARY, cached_file, load_file, seal
from rosenblatt.experiments import CONTENDERS, compare
from tests.native_cases import GROUPS

ROOT = Path(__file__).resolve().parent.parent

pytestmark = pytest.mark.skipif(
    LIBRARY.module is None, reason="needs the compiled library; `make test` makes it where a C compiler is found"
)


def run(*arguments, check=True, **environment):
    """Run Python in a new process; variables set to None are removed."""
    variables = {**os.environ, "PYTHONWARNINGS": "default", **environment}
    variables = {name: value for name, value in variables.items() if value is not None}
    done = subprocess.run(
        [sys.executable, *map(str, arguments)], env=variables, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert not check or done.returncode == 0, done.stderr
    return done


# ---- bits ----


def cases(group, **environment):
    """What `tests.native_cases` prints: hashes by case, and the functions that were called."""
    *results, called = map(json.loads, run("-m", "tests.native_cases", group, **environment).stdout.splitlines())
    return dict(results), {tuple(call) for call in called}


def wanted():
    """Every function of the library with the types of its arguments."""
    return {(name, key(parse(signature))) for name, signatures in catalogue().items() for signature in signatures}


def test_the_library_has_every_function():
    assert set(LIBRARY.module.signatures()) == wanted()


def group_of(name):
    """The group of cases that call a function with all its types."""
    kind = name.partition("_")[0]
    if kind in ("check", "guess") or name in ("score_two", "score_many"):
        return "Additive"
    return kind if kind in GROUPS else "others"


@pytest.fixture(scope="module")
def unoptimized():
    """A folder for what Numba compiles without optimization: minutes, which are spent once for each version of the sources."""
    folder = cache.base_folder() / "unoptimized"
    folder.mkdir(parents=True, exist_ok=True)
    for other in folder.iterdir():
        if not other.name.startswith(cache.SOURCES):
            shutil.rmtree(other, ignore_errors=True)
    return str(folder)


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
def test_every_level_gives_the_bits_of_numba(group, unoptimized):
    # Without optimization Numba compiles in half the time; the order of all operations is fixed in the source.
    numba, _ = cases(
        group, ROSENBLATT_LIBRARY="off", ROSENBLATT_STRICT=None, NUMBA_OPT="0", ROSENBLATT_CACHE_DIR=unoptimized
    )
    assert len(numba) > 10
    best, called = cases(group)
    assert best == numba
    own = {call for call in wanted() if group_of(call[0]) == group}
    assert called >= own, "tests/native_cases.py must call every function with all its types"
    for level in ("x86-64-v2",) if LIBRARY.level == "x86-64-v3" else ():
        lower, _ = cases(group, ROSENBLATT_CPU_LEVEL=level)
        assert lower == numba


# ---- calls ----


def test_a_call_with_other_types_is_left_to_numba():
    seen = []
    add = LIBRARY.bind("add_packed", lambda *arguments: seen.append(arguments))
    total, places, values = np.zeros(8), np.array([1, 5]), np.array([2.0, 3.0])
    add(total, places, values)
    assert total.tolist() == [0, 2, 0, 0, 0, 3, 0, 0]
    assert not seen
    shifted = np.zeros(17, np.uint8)[1:].view(np.float64)
    strange = [
        (np.zeros((8, 2))[:, 0], places, values),  # not contiguous
        (shifted, places[:0], values[:0]),  # not aligned
        (total.astype(">f8"), places, values),
        (total.astype(np.complex128), places, values),
        (np.zeros((2, 2, 2, 2)), places, values),
        (total, places.astype(np.int16), values),
        (total, places.tolist(), values),
        (total, places, None),
        (total, places),
        (total, places, values, values),
        (),
        (total,) * 300,
        ((((total,),),), places, values),
    ]
    for arguments in strange:
        add(*arguments)
    assert len(seen) == len(strange)
    assert total.tolist() == [0, 2, 0, 0, 0, 3, 0, 0]


@pytest.mark.parametrize("number", [None, "a", 1.5, 2**70, object()])
def test_a_number_of_another_type_is_an_error(number):
    codes = LIBRARY.bind("last_record", lambda *_: None)
    with pytest.raises((TypeError, OverflowError)):
        codes(np.zeros(40, np.uint8), number, 44)


def test_an_empty_array_may_begin_anywhere():
    nothing = np.zeros(17, np.uint8)[1:1].view(np.float64)
    add = LIBRARY.bind("add_packed", None)
    add(np.zeros(1), np.zeros(0, np.int64), nothing)


# ---- without a library, or with a broken one ----

FIT = """
import sys, warnings
import numpy as np, rosenblatt
X, y = np.arange(20.0).reshape(10, 2) % 7, np.arange(10) % 2
print(rosenblatt.Perceptron(max_iter=3, tol=None).fit(X, y).coef_.tolist(), "numba" in sys.modules)
"""


@pytest.fixture(scope="module")
def answer():
    weights, _, numba = run("-c", FIT).stdout.rpartition(" ")
    assert numba == "False\n"
    return weights


def damaged(path, kind):
    """A copy of the library that cannot be loaded."""
    content = Path(LIBRARY.module.__spec__.origin).read_bytes()
    foreign = content[:18] + b"\xb7\x00" + content[20:-14]  # an ELF file for ARM
    text = b"not a library " * 1000
    content = {
        "empty": b"",
        "cut": content[: len(content) // 3],  # loading it would end the process
        "changed": content[:200_000] + b"changed" + content[200_007:],
        "other": text + seal(text),
        "foreign": foreign + seal(foreign),
    }[kind]
    path.unlink(missing_ok=True)  # it may be loaded
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("kind", ["empty", "cut", "changed", "other", "foreign", "missing", "folder"])
def test_a_library_that_cannot_be_loaded_is_named_once(kind, tmp_path, answer):
    path = tmp_path / "_native.abi3.so"
    if kind == "folder":
        path.mkdir()
    elif kind != "missing":
        damaged(path, kind)
    done = run("-c", FIT, ROSENBLATT_LIBRARY=str(path), ROSENBLATT_STRICT=None)
    assert done.stdout == f"{answer} True\n"
    assert done.stderr.count("RuntimeWarning") == 1
    assert str(path) in done.stderr
    assert "compiled by Numba instead" in done.stderr
    assert "ROSENBLATT_LIBRARY names it" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture
def places(tmp_path, monkeypatch):
    """Files that stand for the library of the package and the one in the cache folder; neither exists."""
    for name in ("ROSENBLATT_LIBRARY", "ROSENBLATT_STRICT", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ROSENBLATT_CACHE_DIR", str(tmp_path / "cache"))
    shipped = tmp_path / "engine" / native.FILE
    monkeypatch.setattr(native, "__file__", str(shipped.with_name("native.py")))
    for path in (shipped, cached_file()):
        path.parent.mkdir(parents=True)
    return shipped, cached_file()


def good(path):
    path.unlink(missing_ok=True)  # the old file may be loaded
    path.write_bytes(Path(LIBRARY.module.__spec__.origin).read_bytes())


def loaded():
    """The library that a new process would load, and its warnings."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        return native._load(), [str(one.message) for one in seen]


def test_after_a_damaged_file_of_the_package_the_one_in_the_cache_is_loaded(places):
    shipped, cached = places
    damaged(shipped, "changed")
    damaged(cached, "other")
    library, (said,) = loaded()
    assert library.module is None
    assert len(library.problems) == 2
    assert f"{shipped} (the file is damaged) and {cached} (" in said
    assert "compiled by Numba instead" in said
    assert said.endswith("Reinstall rosenblatt to repair it; `python -m rosenblatt.aot` repairs it.")
    good(cached)
    library, (said,) = loaded()
    assert library.module.__spec__.origin == str(cached)
    assert not library.shipped
    assert said == (
        f"The compiled library {shipped} (the file is damaged) cannot be loaded; {cached} is used instead. "
        "Reinstall rosenblatt to repair it."
    )


def test_a_good_file_of_the_package_is_loaded_without_a_word(places):
    good(places[0])
    damaged(places[1], "other")
    library, said = loaded()
    assert library.shipped
    assert said == []


@pytest.mark.parametrize("reason", ["no home", "a folder that cannot be entered"])
def test_reading_the_cache_raises_nothing(reason, places, monkeypatch):
    def home():
        raise RuntimeError("Could not determine home directory.")

    if reason == "no home":
        monkeypatch.delenv("ROSENBLATT_CACHE_DIR")
        monkeypatch.setattr(Path, "home", home)
    else:
        monkeypatch.setenv("ROSENBLATT_CACHE_DIR", "x" * 300)  # for root only the system's own limits
    library, said = loaded()
    assert library.module is None
    assert said == []
    monkeypatch.setattr(native, "LIBRARY", library)
    assert native.start_building() == ""
    with pytest.warns(
        RuntimeWarning, match=r"every process compiles again\. Name another folder in ROSENBLATT_CACHE_DIR"
    ):
        cache.cache_folder.__wrapped__()


def test_a_level_that_does_not_exist_is_named_and_the_best_one_runs(places, tmp_path, monkeypatch):
    monkeypatch.setenv("ROSENBLATT_STRICT", "1")
    levels = LIBRARY.module.levels.split()
    for asked in ("x86-64-v9", *levels):
        copy = tmp_path / asked  # Python initializes the library of a path once
        good(copy)
        monkeypatch.setenv("ROSENBLATT_LIBRARY", str(copy))
        monkeypatch.setenv("ROSENBLATT_CPU_LEVEL", asked)
        library, said = loaded()
        assert library.level == (asked if asked in levels else levels[-1])
        assert len(said) == (asked not in levels)
        if said:
            assert f"runs: {', '.join(levels)}; got 'x86-64-v9'. {levels[-1]} is used." in said[0]


def test_no_repair_is_advised_for_a_processor_that_cannot_run_a_library(places, monkeypatch):
    def refuse(path):
        raise native.Unsuited("this processor lacks instructions that it uses")

    good(places[0])
    monkeypatch.setattr(native, "load_file", refuse)
    _, (said,) = loaded()
    assert said.endswith(
        "this processor lacks instructions that it uses) cannot be loaded; functions are compiled by Numba "
        "instead, which takes seconds at the first call."
    )


def test_python_without_the_gil_loads_no_library(places, monkeypatch):
    good(places[1])
    monkeypatch.setattr(native, "FREE_THREADED", True)
    library, said = loaded()
    assert (library.module, said) == (None, [])
    monkeypatch.setenv("ROSENBLATT_LIBRARY", str(places[1]))
    assert "a Python without the GIL cannot load it" in loaded()[1][0]


def test_strict_names_the_files_that_cannot_be_loaded(places, monkeypatch):
    monkeypatch.setenv("ROSENBLATT_STRICT", "1")
    with pytest.raises(ImportError, match="needs a compiled library; there is none"):
        native._load()
    damaged(places[0], "empty")
    with pytest.raises(ImportError, match=r"engine.*the file is damaged\) cannot be loaded"):
        native._load()


def test_the_self_test_says_why_no_library_runs(places, monkeypatch):
    monkeypatch.setattr(native, "LIBRARY", native._load())
    assert selftest.library() == "not installed: Numba compiles each function at its first call"
    damaged(places[0], "empty")
    monkeypatch.setattr(native, "LIBRARY", loaded()[0])
    assert selftest.library().startswith(f"cannot be loaded: {places[0]} (the file is damaged). Numba compiles")
    good(places[0])
    monkeypatch.setattr(native, "LIBRARY", native._load())
    assert selftest.library() == f"compiled for {LIBRARY.level} by {LIBRARY.module.made_by}"
    monkeypatch.setattr(selftest, "of_the_wheel", lambda: {"platform": "linux-x86_64", "levels": ["one", "two"]})
    assert selftest.library().endswith("; the wheel for linux-x86_64 has one, two")
    monkeypatch.setattr(cache, "SOURCES", "0123456789abcdef")
    assert "The code of the engine has been changed since, without effect" in selftest.library()
    monkeypatch.setenv("ROSENBLATT_LIBRARY", "off")
    monkeypatch.setattr(native, "LIBRARY", native._load())
    assert selftest.library() == "switched off by a variable: Numba compiles each function at its first call"


def test_a_library_of_other_sources_is_not_used(tmp_path, answer):
    content = Path(LIBRARY.module.__spec__.origin).read_bytes()
    path = tmp_path / "_native.abi3.so"
    content = content[:-14].replace(LIBRARY.module.sources.encode(), b"0123456789abcdef")
    path.write_bytes(content + seal(content))
    done = run("-c", FIT, ROSENBLATT_LIBRARY=str(path), ROSENBLATT_STRICT=None)
    assert done.stdout == f"{answer} True\n"
    assert "made from other sources" in done.stderr


def test_strict_mode_makes_a_missing_library_an_error(tmp_path):
    done = run("-c", FIT, check=False, ROSENBLATT_LIBRARY=str(tmp_path / "none.so"), ROSENBLATT_STRICT="1")
    assert done.returncode == 1


@pytest.mark.skipif(os.name == "nt" or os.getuid() != 0, reason="needs root to give a file to another user")
def test_a_library_of_another_user_is_not_used(tmp_path):
    path = tmp_path / cached_file().parent.name / cached_file().name
    path.parent.mkdir()
    path.write_bytes(Path(LIBRARY.module.__spec__.origin).read_bytes())
    show = "from rosenblatt.engine.native import LIBRARY; print(LIBRARY.level)"
    environment = {"ROSENBLATT_LIBRARY": None, "ROSENBLATT_STRICT": None, "ROSENBLATT_CACHE_DIR": str(tmp_path)}
    assert run("-c", show, **environment).stdout == f"{LIBRARY.level}\n"
    os.chown(path, 12345, 12345)
    assert run("-c", show, **environment).stdout == "None\n"


def test_a_cache_folder_that_cannot_be_written_is_named_before_anything_is_compiled(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    done = run(
        "-m",
        "rosenblatt.aot",
        check=False,
        ROSENBLATT_CACHE_DIR=str(blocked),
        ROSENBLATT_LIBRARY=None,
        ROSENBLATT_STRICT=None,
    )
    assert done.returncode == 1
    assert "no library was made" in done.stderr
    assert "Traceback" not in done.stderr
    assert "functions," not in done.stderr


HIDE_NUMBA = """
import sys
class Hidden:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in ("numba", "llvmlite"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Hidden())
"""


def test_without_numba_built_in_rules_work_and_own_rules_say_what_to_install(tmp_path):
    program = tmp_path / "own.py"
    program.write_text(HIDE_NUMBA + FIT + "\n@rosenblatt.rule\ndef Own(margin):\n    return 1.0\nOwn().fit(X, y)\n")
    done = run(program, check=False, PYTHONPATH=str(ROOT / "src"))
    assert done.stdout.endswith("False\n")
    assert "A rule of your own is compiled by Numba, which is not installed" in done.stderr
    assert "pip install 'rosenblatt[rules]'" in done.stderr


def test_averages_of_float32_need_no_numba(monkeypatch):
    """The pass that predicts with the average is compiled for float64 only; the core models of these functions have no other."""
    monkeypatch.setattr(LIBRARY, "strict", True)
    X = np.random.default_rng(0).standard_normal((60, 4)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    parts = [(X[at : at + 20], y[at : at + 20]) for at in range(0, 60, 20)]
    assert rosenblatt.progressive(rosenblatt.AveragedPerceptron(), parts).examples == 60
    contenders = [one for one in CONTENDERS if "averaged" in one.name]
    assert contenders
    assert len(compare(X, y, contenders=contenders, repeats=1).standings) == len(contenders) + 1


def test_without_numba_and_without_a_library_the_error_says_what_to_install():
    done = run("-c", HIDE_NUMBA + FIT, check=False, ROSENBLATT_LIBRARY="off", ROSENBLATT_STRICT=None)
    assert "rosenblatt has no compiled library that runs on this machine" in done.stderr
    assert "pip install 'rosenblatt[rules]'" in done.stderr


# ---- what is imported ----

COMMAND = """
import sys
from rosenblatt.cli import main
sys.argv = ["rosenblatt", *sys.argv[1:]]
try:
    main()
except SystemExit as ended:
    assert not ended.code, ended.code
slow = ("numba", "llvmlite", "scipy", "sklearn", "pandas", "pyarrow", "importlib.metadata")
print("imported", *sorted(name for name in slow if name in sys.modules))
"""


@pytest.mark.parametrize("form", ["svm", "csv"])
def test_commands_import_only_what_they_need(form, tmp_path):
    lines = {
        "svm": [f"{2 * (k % 2) - 1} 1:{k} 2:1\n" for k in range(20)],
        "csv": ["a,b,label\n"] + [f"{k},1,{['no', 'yes'][k % 2]}\n" for k in range(20)],
    }
    data, model = tmp_path / f"some.{form}", tmp_path / "some.model"
    data.write_text("".join(lines[form]))
    expected = "imported pyarrow" if form == "csv" else "imported"
    for arguments in (["train", data, "-m", model, "--quiet"], ["predict", model, data], ["evaluate", model, data]):
        assert run("-c", COMMAND, *arguments).stdout.splitlines()[-1] == expected, arguments


def test_commands_print_warnings_as_lines_of_their_own(tmp_path):
    (tmp_path / "some.svm").write_text("1 1:1\n-1 2:1\n")
    arguments = ("train", tmp_path / "some.svm", "-m", tmp_path / "some.model", "--quiet")
    said = run("-c", COMMAND, *arguments, ROSENBLATT_CPU_LEVEL="x86-64-v9").stderr
    assert said.startswith("rosenblatt: warning: ROSENBLATT_CPU_LEVEL must be a level")
    assert said.count("\n") == 1
    broken = damaged(tmp_path / "_native.abi3.so", "empty")
    done = run("-m", "rosenblatt.cli", *arguments, check=False, ROSENBLATT_LIBRARY=str(broken), ROSENBLATT_STRICT="1")
    assert done.returncode == 1
    assert done.stderr.startswith("rosenblatt: ROSENBLATT_STRICT=1 needs a compiled library")
    assert "pip install" not in done.stderr


EXIT = """
import atexit, gc, sys
atexit.register(lambda: print(gc.get_freeze_count() > 10_000, gc.get_stats()[2]["collections"], sep=", "))
from rosenblatt.cli import main
sys.argv = ["rosenblatt", "train", *sys.argv[1:]]
main()
"""


def test_a_short_command_spends_no_time_on_cycles_of_objects(tmp_path):
    (tmp_path / "some.svm").write_text("1 1:1\n-1 2:1\n")
    arguments = (tmp_path / "some.svm", "-m", tmp_path / "some.model", "--quiet")
    assert run("-c", EXIT, *arguments).stdout == "True, 0\n"


def test_a_library_is_the_same_from_every_folder(tmp_path):
    copy = tmp_path / "copy.so"
    copy.write_bytes(Path(LIBRARY.module.__spec__.origin).read_bytes())
    assert load_file(copy).sources == LIBRARY.module.sources
