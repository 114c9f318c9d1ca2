"""An installation from source makes its library once, in the background: who starts it, who waits, and what if it is killed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rosenblatt.engine.cache import only_one
from rosenblatt.engine.native import FAILURE, LIBRARY, cached_file

fcntl = pytest.importorskip("fcntl", reason="processes in the background are started on Linux and macOS")
pytest.importorskip("numba", reason="a library is made with Numba")

ROOT = Path(__file__).resolve().parent.parent


needs_library = pytest.mark.skipif(LIBRARY.module is None, reason="copies the compiled library; `make test` makes it")


def good_library():
    """The content of a library that can be loaded."""
    return Path(LIBRARY.module.__spec__.origin).read_bytes()


def environment(cache, **more):
    """The variables of a process with an empty cache folder and no library."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ROSENBLATT_")}
    return {**kept, "ROSENBLATT_CACHE_DIR": str(cache), **more}


def start(*arguments, env):
    return subprocess.Popen(
        [sys.executable, *map(str, arguments)], env=env, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )  # fmt: skip


def wait_for(reached, seconds=60):
    end = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture
def no_compiler(tmp_path):
    """Variables with which no C compiler is found, so that a build fails at once."""
    (tmp_path / "hide").mkdir()
    (tmp_path / "hide/ziglang.py").write_text("raise ImportError\n")
    (tmp_path / "hide/cc").write_text("")
    return environment(
        tmp_path / "cache",
        PATH=str(tmp_path / "hide"),
        PYTHONPATH=os.pathsep.join([str(tmp_path / "hide"), str(ROOT / "src")]),
        CC="",
    )


COMMAND = """
import pty, sys
sys.exit(pty.spawn([sys.executable, "-c", sys.argv[1]]))
"""
VERSION = """
import sys{}
from rosenblatt.cli import main
sys.argv = ["rosenblatt", "--version"]
main()
"""


def at_a_terminal(program, env):
    """What a program prints that runs at a terminal."""
    return start("-c", COMMAND, program, env=env).communicate()[0]


def test_a_command_that_compiled_starts_the_build_once_and_says_so(tmp_path, no_compiler):
    failed = tmp_path / "cache" / cached_file().parent.name / FAILURE
    assert "background" not in at_a_terminal(VERSION.format(""), no_compiler)  # it needed no compiler
    done = start("-c", VERSION.format(", numba"), env=no_compiler).communicate()
    assert "background" not in "".join(done)  # nobody sees it
    assert not failed.exists()
    first = at_a_terminal(VERSION.format(", numba"), no_compiler)
    assert first.count("compiled in the background") == 1
    assert "ROSENBLATT_LIBRARY=off" in first
    wait_for(failed.exists)
    wait_for(failed.read_text)
    assert "a C compiler is needed" in failed.read_text()
    assert "background" not in at_a_terminal(VERSION.format(", numba"), no_compiler)  # it failed before


@pytest.mark.parametrize("reason", ["off", "blocked", "building", pytest.param("made", marks=needs_library)])
def test_no_build_is_started_without_need(reason, tmp_path, no_compiler):
    env = dict(no_compiler)
    cache = tmp_path / "cache"
    file = cache / cached_file().parent.name / cached_file().name
    if reason == "off":
        env["ROSENBLATT_LIBRARY"] = "off"
    elif reason == "blocked":
        cache.write_text("not a folder")
    else:
        cache.mkdir()
        file.parent.mkdir()
        if reason == "made":
            file.write_bytes(good_library())
    with open(cache / "build.lock" if reason == "building" else os.devnull, "a") as lock:  # noqa: PTH123
        if reason == "building":
            fcntl.flock(lock, fcntl.LOCK_EX)
        out, error = start("-W", "ignore", "-m", "rosenblatt.aot", "--background", env=env).communicate()
    assert out + error == ""
    assert not file.with_name(FAILURE).exists()


@pytest.mark.parametrize("arguments", [(), ("--behind",)])
def test_a_damaged_library_in_the_cache_is_made_again(arguments, tmp_path, no_compiler):
    file = tmp_path / "cache" / cached_file().parent.name / cached_file().name
    file.parent.mkdir(parents=True)
    file.write_bytes(b"damaged")
    with start("-W", "ignore", "-m", "rosenblatt.aot", *arguments, env=no_compiler) as process:
        error = process.communicate()[1]
    assert process.returncode == 1
    assert "a C compiler is needed" in error  # so it has tried


def test_a_damaged_library_is_made_again_in_the_background(tmp_path, no_compiler):
    file = tmp_path / "cache" / cached_file().parent.name / cached_file().name
    file.parent.mkdir(parents=True)
    file.write_bytes(b"damaged")
    error = start("-W", "ignore", "-m", "rosenblatt.aot", "--background", env=no_compiler).communicate()[1]
    assert "compiled in the background" in error
    wait_for(file.with_name(FAILURE).exists)


@needs_library
def test_one_process_builds_and_the_other_waits_for_it(tmp_path):
    env = environment(tmp_path)
    library = tmp_path / cached_file().parent.name / cached_file().name
    with only_one(tmp_path / "build.lock", wait=False) as first:
        assert first
        second = start("-m", "rosenblatt.aot", env=env)
        assert "waiting for another process" in second.stderr.readline()
        third = start("-m", "rosenblatt.aot", "--behind", env=env)  # a process in the background does not wait
        assert third.communicate() == ("", "")
        assert third.returncode == 0
        library.write_bytes(good_library())
    assert second.communicate() == ("", "")  # it compiled nothing
    assert second.returncode == 0
    assert library.read_bytes() == good_library()


SLEEPING = """
import signal, sys, time
from rosenblatt.aot import build
from rosenblatt.aot.__main__ import main
def sleep(group, wanted):
    import os; open(os.path.join({folder!r}, f'worker-{{os.getpid()}}'), 'w').close(); time.sleep(1000)
build.front_end = sleep
if __name__ == '__main__':
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also where the parent ignores it, as in the background
    sys.exit(main())
"""


@pytest.mark.slow
def test_ctrl_c_ends_a_build_at_once_in_one_line(tmp_path):
    program = tmp_path / "build.py"
    program.write_text(SLEEPING.format(folder=str(tmp_path)))
    cache = tmp_path / "cache"
    with start(program, env=environment(cache, PYTHONPATH=str(ROOT / "src"))) as parent:
        wait_for(lambda: list(tmp_path.glob("worker-*")))
        parent.send_signal(signal.SIGINT)
        out, error = parent.communicate(timeout=30)
    assert (out, error) == ("", "rosenblatt: interrupted; no library was made\n")
    assert parent.returncode == 130
    assert list((cache / "parts").iterdir()) == []


@pytest.mark.slow
def test_a_killed_build_leaves_no_process_no_lock_and_no_files(tmp_path):
    program = tmp_path / "build.py"
    program.write_text(SLEEPING.format(folder=str(tmp_path)))
    cache = tmp_path / "cache"
    with start(program, env=environment(cache, PYTHONPATH=str(ROOT / "src"))) as parent:
        wait_for(lambda: list(tmp_path.glob("worker-*")))
        left = list((cache / "parts").glob(".*"))
        parent.kill()
    assert left
    time.sleep(0.1)  # for a worker that has just begun
    workers = [int(path.name.partition("-")[2]) for path in tmp_path.glob("worker-*")]

    def ended(worker):
        try:
            os.kill(worker, 0)
        except ProcessLookupError:
            return True
        status = Path(f"/proc/{worker}/stat")
        return status.exists() and status.read_text().rpartition(") ")[2].startswith("Z")

    wait_for(lambda: all(map(ended, workers)))
    with only_one(cache / "build.lock", wait=False) as free:
        assert free
    # The next build removes what was left.
    with start(program, env=environment(cache, PYTHONPATH=str(ROOT / "src"))) as again:
        wait_for(lambda: not any(path.exists() for path in left))
        again.kill()
