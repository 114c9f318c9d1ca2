"""Processes that start quickly, forked from one that has already imported the library and loaded its machine code.

For tests that kill or stop a process, or need several. Tests of the start of a process itself, such as the modules
that it imports, use `subprocess`.
"""

import contextlib
import functools
import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
import warnings
from multiprocessing import reduction
from pathlib import Path

ROOT = Path(__file__).parents[1]


class _Descriptor:
    """A file descriptor that is passed to the new process."""

    def __init__(self, number):
        self.number = number

    def __getstate__(self):
        return reduction.DupFd(self.number)

    def __setstate__(self, handed_on):
        self.number = handed_on.detach()


def _run(module, arguments, environment, errors):
    """Run the program in this process."""
    os.environ.clear()
    os.environ.update(environment)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.dup2(nothing if errors is None else errors.number, 2)
    sys.stdin = sys.__stdin__ = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = sys.__stdout__ = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = sys.__stderr__ = os.fdopen(2, "w", buffering=1, encoding="utf-8", closefd=False)
    warnings.simplefilter("default")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = [module, *arguments]
    sys.modules.pop(module, None)
    runpy.run_module(module, run_name="__main__")


@functools.cache
def _context():
    """The process from which all others are forked; it imports `tests.warm`."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.warm"])
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([*sys.path, str(ROOT)])
    try:
        multiprocessing.forkserver.ensure_running()
    finally:
        os.environ.pop("PYTHONPATH")
        if before is not None:
            os.environ["PYTHONPATH"] = before
    return context


class Forked:
    """``python -m module arguments`` with the methods of `subprocess.Popen` that the tests use.

    Parameters
    ----------
    module : str
        The program.
    arguments : sequence of str
        Its arguments.
    read_errors : bool, default=False
        Whether `stderr` can be read; otherwise all output is discarded.
    """

    def __init__(self, module, arguments, read_errors=False):
        self.stderr, errors = None, None
        if read_errors:
            reader, writer = os.pipe()
            self.stderr, errors = os.fdopen(reader, encoding="utf-8"), _Descriptor(writer)
        arguments = [str(argument) for argument in arguments]
        self._process = _context().Process(target=_run, args=(module, arguments, dict(os.environ), errors), daemon=True)
        self._process.start()
        if read_errors:
            os.close(writer)

    @property
    def pid(self):
        return self._process.pid

    @property
    def returncode(self):
        return self._process.exitcode

    def poll(self):
        return self._process.exitcode

    def send_signal(self, number):
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):  # it has just ended; as in `subprocess`
                os.kill(self.pid, number)

    def terminate(self):
        self.send_signal(signal.SIGTERM)

    def kill(self):
        self.send_signal(signal.SIGKILL)

    def wait(self, timeout=None):
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired(self._process.name, timeout)
        return self._process.exitcode
