"""Threads that work ahead of the caller, with results in order; the caller works, too."""

import threading
import time

import pytest

from rosenblatt.data.streams import _in_order

THREADS = pytest.mark.parametrize("threads", [1, 2, 3, 5])


def slowly(unit):
    time.sleep(0.001 * (unit * 7 % 5))
    return unit * unit


def readers():
    return [thread for thread in threading.enumerate() if thread.name.startswith("rosenblatt-reader")]


@THREADS
@pytest.mark.parametrize("count", [0, 1, 2, 50])
def test_results_are_in_the_order_of_the_units(threads, count):
    assert list(_in_order(iter(range(count)), slowly, threads)) == [unit * unit for unit in range(count)]
    assert not readers()


@THREADS
def test_all_threads_and_the_caller_work(threads):
    workers = set()

    def work(unit):
        workers.add(threading.get_ident())
        time.sleep(0.002)
        return unit

    assert list(_in_order(iter(range(40)), work, threads)) == list(range(40))
    assert len(workers) == threads
    assert threading.get_ident() in workers


@THREADS
@pytest.mark.parametrize("where", ["work", "units"])
def test_an_error_is_raised_after_all_earlier_results(threads, where):
    def units():
        for unit in range(20):
            if where == "units" and unit == 13:
                raise OSError("the thirteenth")
            yield unit

    def work(unit):
        if where == "work" and unit == 13:
            raise OSError("the thirteenth")
        return slowly(unit)

    got = []
    with pytest.raises(OSError, match="the thirteenth"):
        got.extend(_in_order(units(), work, threads))
    assert got == [unit * unit for unit in range(13)]
    assert not readers()


@THREADS
def test_work_ahead_is_limited_and_stops_with_the_caller(threads):
    taken = []

    def units():
        for unit in range(1000):
            taken.append(unit)
            yield unit

    results = _in_order(units(), slowly, threads)
    for seen in range(5):
        assert next(results) == seen * seen
        time.sleep(0.02)
        assert len(taken) <= seen + 1 + threads + 1
    results.close()
    assert not readers()
    before = len(taken)
    time.sleep(0.02)
    assert len(taken) == before
