"""The undocumented parts of Dask that the library uses work in the installed release, and are used in one file only."""

import ast
import asyncio
import concurrent.futures
import tomllib
from pathlib import Path

import numpy as np
import pytest

import rosenblatt.dask
from rosenblatt.dask import _awaiting, _internals

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")

ROOT = Path(__file__).resolve().parents[2]
WAIT = 30.0


@pytest.fixture(scope="module")
def cluster():
    """Two workers of one thread each, in this process, whose memory may exceed the limit of a worker."""
    limits = {f"distributed.worker.memory.{name}": False for name in ("target", "spill", "pause", "terminate")}
    with (
        dask.config.set(limits),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=False,
            dashboard_address=":0",
            memory_limit="1 GiB",
            silence_logs=50,
        ) as cluster,
    ):
        yield cluster


@pytest.fixture
def own(cluster):
    with distributed.Client(cluster) as own:
        own.wait_for_workers(2, timeout=WAIT)
        yield own


def test_the_installed_release_is_in_the_list_of_tested_releases():
    words = "run tests/dask with this release; where they pass, add it to TRIED"
    assert {dask.__version__, distributed.__version__} <= set(_internals.TRIED), words


def test_the_oldest_allowed_release_is_in_the_list_of_tested_releases():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lowest = {needed.partition(">=")[2] for needed in project["optional-dependencies"]["dask"]}
    assert {f"{version}.0" for version in lowest} == {_internals.TRIED[0]}


def test_the_scheduler_reports_the_last_message_of_each_worker(own):
    clock, seen = own.run_on_scheduler(_internals.tend, [])
    assert seen.keys() == own.nthreads().keys()
    assert all(-1.0 < clock - when < WAIT for when in seen.values())


def test_tasks_are_released_when_their_worker_is_removed(cluster, own):
    gone = cluster.workers[0].address
    with dask.annotate(workers=[gone], allow_other_workers=False, **{_internals.STAYS: True}):
        task = own.submit(int, pure=False)
    bound = own.submit(int, workers=[gone], allow_other_workers=False, pure=False)
    assert [task.result(WAIT), bound.result(WAIT)] == [0, 0]
    _, seen = own.run_on_scheduler(_internals.tend, [gone])
    assert gone not in seen
    with dask.annotate(workers=[gone], allow_other_workers=False, **{_internals.STAYS: True}):
        waiting = own.submit(int, pure=False)
    other = own.submit(int, workers=[gone], allow_other_workers=False, pure=False)
    with pytest.raises(distributed.TimeoutError):
        waiting.result(0.3)
    own.run_on_scheduler(_internals.tend, [])
    assert waiting.result(WAIT) == 0
    assert other.status == "pending", "without the annotation a task waits for the removed worker"
    other.cancel()
    cluster.scale(3)  # the removed worker is not restarted


def test_the_scheduler_knows_the_memory_of_workers(own):
    place = min(own.nthreads())
    before = own.run_on_scheduler(_internals.memory_of_workers)
    held = own.scatter(np.ones(1 << 17), workers=[place])
    after = own.run_on_scheduler(_internals.memory_of_workers)
    assert {limit for limit, _ in after.values()} == {1 << 30}
    assert (1 << 20) <= after[place][1] - before[place][1] < (1 << 20) + 10_000
    del held


def test_a_coroutine_runs_in_the_loop_of_the_client(own):
    async def threads():
        return await own.nthreads()

    running = asyncio.run_coroutine_threadsafe(threads(), _internals.loop_of(own))
    assert running.result(WAIT) == own.nthreads()


def test_a_client_sends_at_once(own):
    assert own.scheduler_comm.interval > 0, "Dask must still use this attribute"
    assert _internals.send_at_once(own) is own
    assert own.scheduler_comm.interval == 0
    assert own.submit(int, pure=False).result(WAIT) == 0


def test_the_address_of_the_scheduler(cluster, own):
    assert _internals.address_of(own) == cluster.scheduler_address
    assert _internals.address_of(None) == "the given address"


def test_collections_are_recognised():
    import dask.array as da
    import dask.bag as db
    import dask.dataframe as dd
    import pandas as pd

    frame = dd.from_pandas(pd.DataFrame({"x": [1.0, 2.0], "n": [1, 2]}), npartitions=1)
    collections = [da.ones(3), frame, frame["x"], db.from_sequence([1]), dask.delayed(1), dask.delayed(int)()]
    kinds = ["array", "dataframe", "dataframe", "bag", "delayed", "delayed"]
    assert [_internals.kind_of_collection(one) for one in collections] == kinds
    assert [_internals.kind_of_collection(one) for one in (np.ones(3), frame.compute(), [1], None)] == [""] * 4
    example = _internals.example_of(frame)
    assert len(example) > 0
    assert example.dtypes.to_dict() == frame.dtypes.to_dict()


def fail():
    raise ZeroDivisionError("its own fault")


def test_errors_of_the_cluster_differ_from_errors_of_tasks(own):
    assert not _internals.is_lost_result(own.submit(fail, pure=False).exception(WAIT))
    pending = own.submit(int, workers=["tcp://192.0.2.1:1"], allow_other_workers=False, pure=False)
    pending.cancel()
    with pytest.raises(concurrent.futures.CancelledError) as cancelled:
        pending.result(WAIT)
    assert _internals.is_lost_result(cancelled.value)
    assert _internals.is_lost_result(distributed.comm.CommClosedError())


PUBLIC = {"dask", "dask.array", "distributed"}
"""Modules of Dask that other files import; all their used names are documented."""

INTERNAL = {"asyncio_loop", "loop", "scheduler", "scheduler_comm", "__module__"}
"""Attributes of clients and the module of a class: `_internals` has functions for them."""


def test_internals_are_used_in_one_file_only():
    found = []
    for path in sorted(Path(rosenblatt.dask.__file__).parent.glob("*.py")):
        if path.name == "_internals.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [one.name for one in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module or ""]
            found += [
                (path.name, name)
                for name in names
                if name.split(".")[0] in ("dask", "distributed") and name not in PUBLIC
            ]
            if isinstance(node, ast.Attribute):
                whose = ast.unparse(node.value)
                ours = whose.startswith(("type(estimator)", "base"))
                if (node.attr in INTERNAL and not ours) or whose == "dask_scheduler":
                    found.append((path.name, ast.unparse(node)))
    assert found == []


def test_a_result_that_is_lost_after_its_task_ended_is_not_waited_for(own):
    """Dask computes it again if it can; a task that is bound to a lost worker would never end."""
    task = own.submit(int, pure=False)
    assert task.result(WAIT) == 0
    task._state.lose()  # what the client does when the scheduler reports the loss
    with pytest.raises(_awaiting.Lost, match="int-"):
        _awaiting.Awaiting(own).finished(task)
