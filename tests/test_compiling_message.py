"""The line that is printed while Numba compiles."""

import io
import time
from types import SimpleNamespace

import pytest

pytest.importorskip("numba")

from rosenblatt.engine import compiling


class Terminal(io.StringIO):
    def isatty(self):
        return True


def of_module(name):
    function = SimpleNamespace(__module__=name)
    return SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=function)})


@pytest.fixture
def said(monkeypatch):
    """What a new announcer prints to a terminal; it waits for a hundredth of a second."""
    monkeypatch.setattr(compiling, "PATIENCE", 0.01)
    terminal = Terminal()
    monkeypatch.setattr(compiling, "sys", SimpleNamespace(stderr=terminal))  # pytest exchanges sys.stderr itself
    return terminal


def wait_for_line(said):
    for _ in range(1000):
        if said.getvalue():
            return
        time.sleep(0.01)
    pytest.fail("no line was printed")


def test_a_long_compilation_is_announced_once(said):
    announcer = compiling._Announcer()
    for _ in range(2):
        announcer.on_start(of_module("rosenblatt.engine.loop"))
        announcer.on_start(of_module("rosenblatt.engine.rows"))  # a function that the first one calls
        announcer.on_end(of_module("rosenblatt.engine.rows"))
        wait_for_line(said)
        announcer.on_end(of_module("rosenblatt.engine.loop"))
    assert said.getvalue().count("compiling, once") == 1


def test_it_promises_nothing_if_the_code_is_not_kept(said, monkeypatch):
    monkeypatch.setattr(compiling, "is_kept", lambda: False)
    compiling._Announcer().say()
    assert said.getvalue() == "rosenblatt: compiling …\n"


def test_a_short_one_and_those_of_other_programs_are_not(said, monkeypatch):
    monkeypatch.setattr(compiling, "PATIENCE", 1000.0)
    announcer = compiling._Announcer()
    announcer.on_start(of_module("somebody.else"))
    assert announcer.timer is None
    announcer.on_end(of_module("somebody.else"))
    announcer.on_start(of_module("rosenblatt.engine.loop"))
    timer = announcer.timer
    announcer.on_end(of_module("rosenblatt.engine.loop"))
    timer.join(10)  # it was cancelled, so it ends at once
    assert not timer.is_alive()
    assert said.getvalue() == ""


def test_nothing_is_printed_where_no_one_reads(monkeypatch):
    monkeypatch.setattr(compiling, "sys", SimpleNamespace(stderr=io.StringIO()))
    announcer = compiling._Announcer()
    announcer.say()
    assert announcer.said
    assert compiling.sys.stderr.getvalue() == ""
