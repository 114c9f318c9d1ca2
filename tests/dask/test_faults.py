"""Workers are killed, stopped and added, the scheduler is lost: the result has the same bits, or there is a checkpoint."""

import collections
import contextlib
import io
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import rosenblatt as rb
import rosenblatt.dask as rd
from rosenblatt.dask import _awaiting, _cluster, _data, _fit, _sources, _training
from rosenblatt.data import BadData
from tests.cli.helpers import call, svmlight
from tests.forked import Forked
from tests.helpers import assert_same_model, blobs

distributed = pytest.importorskip("distributed")

X, Y = blobs(400, 6, seed=2)
SETTINGS = {"max_iter": 4, "tol": None, "shards": 12}


@pytest.fixture(scope="module")
def expected(client):
    return rd.AveragedPerceptron(**SETTINGS).fit(X, Y, client=client)


@pytest.fixture
def in_epoch(monkeypatch):
    """Call a function in the middle of an epoch, when some of its shards are done."""

    def plan(number, action):
        todo = [action]

        def update(bar, done, total, note=""):
            if bar.title == f"epoch {number}" and todo and 0 < done < total:
                todo.pop()()

        monkeypatch.setattr(_fit.Bar, "update", update)
        return todo

    return plan


def processes(client):
    return client.run(os.getpid)


WORKER = ("dask_worker", "--no-nanny", "--nthreads", "1", "--death-timeout", "60")


def start(place, program, *arguments, first=""):
    """Start a scheduler or a worker as a separate program; `first` is Python code that runs in it first."""
    module, arguments = f"distributed.cli.{program}", ["--scheduler-file", str(place), "--no-dashboard", *arguments]
    if not first:
        return Forked(module, arguments)
    folder = place.parent / f"{program} with another start"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(first)
    paths = [str(folder), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    return subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )


def connect(place):
    """A client of the scheduler.

    distributed waits 10 seconds for its thread and then fails with a bare ``assert``; on a machine that stands still for as long,
    the second attempt succeeds.
    """
    try:
        return distributed.Client(scheduler_file=str(place), timeout=60)
    except AssertionError:
        return distributed.Client(scheduler_file=str(place), timeout=60)


@contextlib.contextmanager
def machines(place, count, **first):
    """A scheduler and workers that are not restarted when they end; gives a client and the processes."""
    scheduler = start(place, "dask_scheduler", "--port", "0", first=first.get("scheduler", ""))
    workers = [start(place, *WORKER, first=first.get("worker", "")) for _ in range(count)]
    try:
        with connect(place) as client:
            client.wait_for_workers(count, timeout=60)
            yield client, scheduler, workers
    finally:
        for process in (scheduler, *workers):
            process.kill()
            process.wait()


def test_killing_a_worker_during_an_epoch_changes_nothing(client, expected, in_epoch):
    client.wait_for_workers(2)
    todo = in_epoch(2, lambda: os.kill(next(iter(processes(client).values())), signal.SIGKILL))
    made = rd.AveragedPerceptron(**SETTINGS).fit(X, Y, client=client)
    assert not todo
    assert_same_model(made, expected)
    client.wait_for_workers(2, timeout=60)


def test_killing_a_worker_that_reads_files_changes_nothing(client, in_epoch, tmp_path):
    files = [svmlight(tmp_path / f"{k}.svm", 200, seed=k) for k in range(3)]
    client.wait_for_workers(2)
    settings = {"max_iter": 3, "tol": None, "shards": 10, "shuffle": True}
    first = rd.PassiveAggressive(**settings).fit(files, client=client)
    todo = in_epoch(2, lambda: os.kill(list(processes(client).values())[-1], signal.SIGKILL))
    again = rd.PassiveAggressive(**settings).fit(files, client=client)
    assert not todo
    assert_same_model(again, first)
    client.wait_for_workers(2, timeout=60)


def test_a_hanging_worker_is_replaced(expected, in_epoch, monkeypatch, tmp_path):
    monkeypatch.setattr(_awaiting, "SILENCE", 5.0)
    with machines(tmp_path / "scheduler.json", 2) as (own, _, _):

        def stop():
            """Stop a worker that has finished a task: requests for its result get no answer."""
            done = {
                address
                for address, keys in own.has_what().items()
                if any(str(key).startswith("epoch-") for key in keys)
            }
            os.kill(processes(own)[done.pop()], signal.SIGSTOP)

        todo = in_epoch(2, stop)
        made = rd.AveragedPerceptron(**SETTINGS).fit(X, Y, client=own)
        assert not todo
        assert len(own.nthreads()) == 1
    assert_same_model(made, expected)


@pytest.mark.parametrize("when", ["in an epoch", "before"])
def test_an_error_is_raised_if_all_workers_hang(in_epoch, monkeypatch, tmp_path, when):
    monkeypatch.setattr(_awaiting, "SILENCE", 2.0)
    monkeypatch.setattr(_awaiting, "seconds_without_workers", lambda: 1.0)
    monkeypatch.setenv("ROSENBLATT_DASK_TIMEOUT", "1")
    with machines(tmp_path / "scheduler.json", 1) as (own, _, (worker,)):
        todo = in_epoch(2, lambda: worker.send_signal(signal.SIGSTOP))
        if when == "before":
            todo.pop()()
        with pytest.raises(rd.ClusterError, match="had none within" if when == "before" else "lost all of its workers"):
            rd.AveragedPerceptron(**SETTINGS).fit(X, Y, client=own)
        assert not todo


def test_no_worker_is_removed_after_the_scheduler_was_stopped(monkeypatch, tmp_path):
    monkeypatch.setattr(_awaiting, "SILENCE", 2.0)
    with machines(tmp_path / "scheduler.json", 2) as (own, scheduler, _):
        awaiting = _awaiting.Awaiting(own)
        assert not awaiting.tend()
        scheduler.send_signal(signal.SIGSTOP)
        threading.Timer(3.0, scheduler.send_signal, (signal.SIGCONT,)).start()
        time.sleep(0.5)  # the scheduler then reads the next request together with messages of the workers
        for _ in range(8):
            assert not awaiting.tend()
            time.sleep(0.1)
        assert len(own.nthreads()) == 2


def test_a_scheduler_that_does_not_answer_is_an_error(in_epoch, monkeypatch, tmp_path):
    monkeypatch.setattr(_awaiting, "SILENCE", 2.0)
    monkeypatch.setattr(_awaiting, "UNANSWERED", 2.0)
    checkpoint = tmp_path / "run.model"
    with machines(tmp_path / "scheduler.json", 1) as (own, scheduler, _):
        todo = in_epoch(2, lambda: scheduler.send_signal(signal.SIGSTOP))
        try:
            with pytest.raises(
                rd.ClusterError,
                match=r"must answer; it has not for 2 seconds; 1 of .*run\.model holds the model after",
            ):
                rd.AveragedPerceptron(**SETTINGS).fit(X, Y, client=own, checkpoint=checkpoint)
        finally:
            scheduler.send_signal(signal.SIGCONT)
        assert not todo


def lazy_parts():
    """The same rows in 12 partitions that can be computed again."""
    import dask

    return [dask.delayed(lambda k: (X[k::12], Y[k::12]))(k) for k in range(12)]


@pytest.mark.parametrize("data", ["lazy partitions", "an array"])
def test_a_new_worker_continues_after_all_workers_are_lost(in_epoch, tmp_path, data):
    """Dask keeps waiting for the workers to which tasks were assigned; this library does not."""
    with machines(tmp_path / "scheduler.json", 2) as (own, _, workers):
        arguments = (lazy_parts(),) if data == "lazy partitions" else (X, Y)
        before = rd.AveragedPerceptron(**SETTINGS).fit(*arguments, client=own)

        def replace():
            for process in workers:
                process.kill()
            workers.append(start(tmp_path / "scheduler.json", *WORKER))

        todo = in_epoch(2, replace)
        made = rd.AveragedPerceptron(**SETTINGS).fit(*arguments, client=own)
        assert not todo
        for process in workers[:2]:
            process.wait()
    assert_same_model(made, before)


@pytest.mark.parametrize("data", ["lazy partitions", "an array", "files"])
def test_an_error_is_raised_if_all_workers_are_lost(in_epoch, monkeypatch, tmp_path, data):
    monkeypatch.setattr(_awaiting, "seconds_without_workers", lambda: 1.0)
    monkeypatch.setattr(_awaiting, "SILENCE", 3.0)
    files = [svmlight(tmp_path / f"{k}.svm", 200, seed=k) for k in range(3)]
    arguments = {"lazy partitions": (lazy_parts(),), "an array": (X, Y), "files": (files,)}[data]
    with machines(tmp_path / "scheduler.json", 2) as (own, _, workers):
        todo = in_epoch(2, lambda: [process.kill() for process in workers])
        with pytest.raises(rd.ClusterError, match=r"lost all of its workers, .*; 1 of at most 4 epochs were done"):
            rd.AveragedPerceptron(**SETTINGS).fit(*arguments, client=own)
        assert not todo


def test_the_wait_begins_when_missing_workers_are_noticed(monkeypatch, tmp_path):
    """Not at the last check, which may have been long ago."""
    monkeypatch.setattr(_awaiting, "seconds_without_workers", lambda: 0.5)
    monkeypatch.setattr(_awaiting, "SILENCE", 1.0)
    with machines(tmp_path / "scheduler.json", 1) as (own, _, (worker,)):
        awaiting = _awaiting.Awaiting(own)
        awaiting.tend()
        worker.kill()
        while own.nthreads():
            time.sleep(0.05)
        time.sleep(1.0)  # longer than the patience and than the limit between two checks
        missed = time.monotonic()
        with pytest.raises(rd.ClusterError, match="lost all of its workers"):
            list(awaiting.each([own.submit(abs, -1)]))
        assert time.monotonic() - missed > 0.4


def _fails(error):
    raise error


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (RuntimeError("my own trouble"), RuntimeError, "my own trouble"),
        (KeyError("x"), KeyError, "x"),
        (
            FileNotFoundError(2, "No such file", "rows.npy"),
            rd.ClusterError,
            r"under the same names as here; .*rows\.npy",
        ),
    ],
    ids=["own", "key", "file"],
)
def test_errors_during_loading_are_reported(client, error, kind, message):
    import dask

    with pytest.raises(kind, match=message):
        rd.Perceptron().fit([dask.delayed(_fails)(error)], client=client)


def test_files_that_workers_cannot_read_are_named(client, tmp_path):
    """The client can read them, so the error must not say that the names are wrong."""
    data = tmp_path / "unseen.csv"
    data.write_text("a,label\n" + "".join(f"{k / 7:.3f},{k % 2}\n" for k in range(99)))

    def hide(name):
        def blind(path, *arguments, **options):
            if str(path) == name:
                raise FileNotFoundError(2, "No such file", name)
            return io.seen(path, *arguments, **options)

        io.seen, io.open = io.open, blind

    def show():
        io.open = io.seen

    client.run(hide, str(data))
    try:
        for shards, standardize in ((8, False), (1, False), (1, True)):
            reading = {"label": "label", "standardize": standardize}
            with pytest.raises(rd.ClusterError, match=r"under the same names as here; .*unseen\.csv"):
                rd.Perceptron(shards=shards).fit(data, reading=reading, client=client)
    finally:
        client.run(show)
    data.write_text(data.read_text().replace("\n1.000,1", "\n1.000,1,2"))
    with pytest.raises(BadData, match=r"unseen\.csv, line 9"):
        rd.Perceptron(shards=2).fit(data, reading={"label": "label"}, client=client)


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="interrupts cannot be held on Windows")
@pytest.mark.slow
def test_an_interrupt_from_the_terminal_saves_the_model(tmp_path):
    """Workers get it, too, but only the client reacts."""
    data, model = svmlight(tmp_path / "data.svm", 2000), tmp_path / "m.model"
    command = [
        sys.executable,
        "-m",
        "rosenblatt.cli",
        "train",
        data,
        "-m",
        model,
        "--dask",
        "local:2",
        "-q",
        "-e",
        "100000",
    ]
    running = subprocess.Popen(
        [*map(str, command), "--set", "tol=none"], start_new_session=True, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while not model.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(running.pid, signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130
    assert said.splitlines() == [
        f"rosenblatt: warning: interrupted; {model} holds the model learned so far. Continue with --resume."
    ]
    assert rb.load(model).n_iter_ >= 1


@pytest.fixture
def moves(monkeypatch):
    """Record all moves, and the number of shards on each worker afterwards, which may include replicas made by Dask."""
    real, seen = _data.Data._move, []

    def move(data, moved):
        real(data, moved)
        if moved:
            seen.append((set(moved.values()), collections.Counter(one for held in data.holders for one in held)))

    monkeypatch.setattr(_data.Data, "_move", move)
    return seen


def test_a_new_worker_gets_shards(client, expected, moves):
    cluster, before = client.cluster, []

    def grow(run):
        if len(run.done) == 1:
            before.extend(client.nthreads())
            moves.clear()
            cluster.scale(3)
            client.wait_for_workers(3, timeout=60)

    try:
        made = rd.train(rb.AveragedPerceptron(max_iter=4, tol=None), X, Y, shards=12, client=client, on_epoch=grow)
    finally:
        cluster.scale(2)
        while len(client.nthreads()) > 2:
            time.sleep(0.05)
    assert_same_model(made, expected)
    (new,) = moves[0][0] - set(before)
    assert moves[0][1][new] == 4


def test_dask_does_not_steal_tasks_that_must_stay(client):
    """Dask would steal such tasks: the first worker is idle, and by Dask's estimate they take longer than the transfer."""

    def part(number):
        time.sleep(0.1)
        return np.full(1_000_000, float(number))

    client.wait_for_workers(2)
    here, there = sorted(client.nthreads())
    data, names = _data.Data(client, None), [f"parcel-{number}" for number in range(12)]
    parts = data.submit(part, [(number,) for number in range(12)], names, [[here]] * 12, stay=True)
    distributed.wait(parts)
    moved = data.submit(_data.same, [(it,) for it in parts], names, [[there]] * 12, stay=True)
    distributed.wait(moved)
    assert set(client.who_has(moved).values()) == {(there,)}


def lame(seconds):
    """Slow down a worker by this time per shard; runs on the worker."""
    from rosenblatt.dask._shards import Shard

    at_ease = getattr(Shard, "at_ease", Shard.parts)

    def visits(self, *arguments):
        time.sleep(seconds)
        return at_ease(self, *arguments)

    Shard.at_ease, Shard.parts = at_ease, visits


def test_a_slow_worker_gives_shards_to_others(client, moves):
    client.wait_for_workers(2)
    slow, other = sorted(client.nthreads())

    def swap(run):
        if len(run.done) == 1:
            moves.clear()
        if len(run.done) == 9:
            client.run(lame, 0.0, workers=[slow])
            client.run(lame, 0.04, workers=[other])

    client.run(lame, 0.04, workers=[slow])
    try:
        made = rd.train(rb.AveragedPerceptron(max_iter=16, tol=None), X, Y, shards=12, client=client, on_epoch=swap)
    finally:
        client.run(lame, 0.0)
    (to_other, had), (to_slow, had_then) = moves
    assert (to_other, to_slow) == ({other}, {slow})
    assert had[other] >= 10
    assert had_then[slow] >= 10
    assert_same_model(made, rd.AveragedPerceptron(max_iter=16, tol=None, shards=12).fit(X, Y, client=client))


def test_losing_a_worker_while_it_receives_shards_changes_nothing(expected, monkeypatch, tmp_path):
    real, lost = _data.Data.submit, []
    with machines(tmp_path / "scheduler.json", 2) as (own, _, _):
        slow, other = sorted(own.nthreads())

        def submit(*arguments, stay=False, **options):
            if stay and not lost:
                lost.append(own.run(os.getpid, workers=[other])[other])
                os.kill(lost[0], signal.SIGKILL)
                own.run(lame, 0.0, workers=[slow])  # no longer slow
            return real(*arguments, stay=stay, **options)

        monkeypatch.setattr(_data.Data, "submit", submit)
        own.run(lame, 0.1, workers=[slow])
        made = rd.AveragedPerceptron(**SETTINGS).fit(X, Y, client=own)
        assert list(own.nthreads()) == [slow]
    assert lost
    assert_same_model(made, expected)


def test_an_unreachable_scheduler_is_an_error(monkeypatch):
    monkeypatch.setenv("ROSENBLATT_DASK_TIMEOUT", "0.5")
    began = time.monotonic()
    with pytest.raises(rd.ClusterError, match=r"none answered at tcp://127\.0\.0\.1:9 within 0\.5 seconds"):
        rd.Perceptron().fit(X, Y, client="tcp://127.0.0.1:9")
    with pytest.raises(rd.ClusterError, match="none answered at nonsense://x"):
        rd.Perceptron().fit(X, Y, client="nonsense://x")
    with pytest.raises(ValueError, match="local or local:WORKERS"):
        rd.Perceptron().fit(X, Y, client="local:many")
    assert time.monotonic() - began < 20


NO_LIBRARY = """
import sys

class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "rosenblatt":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Nothing())
"""

OTHER_VERSION = """
import rosenblatt

rosenblatt._version.__version__ = "0.0.1"
"""


@pytest.mark.parametrize("who", ["scheduler", "worker"])
def test_a_worker_or_scheduler_without_the_library_is_an_error(tmp_path, who):
    words = rf"the {who} at \S+ has none .*Install rosenblatt\[dask\]=="
    with (
        machines(tmp_path / "scheduler.json", 1, **{who: NO_LIBRARY}) as (own, _, _),
        pytest.raises(rd.ClusterError, match=words),
    ):
        rd.Perceptron(**SETTINGS).fit(X, Y, client=own)


def test_a_new_worker_with_another_version_is_an_error(tmp_path):
    place = tmp_path / "scheduler.json"
    with machines(place, 1) as (own, _, workers):

        def grow(run):
            if len(run.done) == 1:
                workers.append(start(place, *WORKER, first=OTHER_VERSION))
                own.wait_for_workers(2, timeout=60)

        with pytest.raises(rd.ClusterError, match=r"the worker at \S+ has 0\.0\.1\. .*; [12] of at most 4 epochs"):
            rd.train(rb.Perceptron(max_iter=4, tol=None), X, Y, shards=12, client=own, on_epoch=grow)


SCRIPT = """
import numpy as np
import rosenblatt.dask

X = np.random.default_rng(0).standard_normal((100, 3))
{guard}print(rosenblatt.dask.Perceptron(shards=2).fit(X, X[:, 0] > 0, client="local:1").score(X, X[:, 0] > 0))
"""


@pytest.mark.parametrize("guard", ["", "if __name__ == '__main__': "], ids=["unguarded", "guarded"])
def test_a_script_that_starts_workers(tmp_path, guard):
    """Each worker imports the script; where this would start workers again, one error explains how to avoid it."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(guard=guard))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120, check=False)
    if guard:
        assert float(done.stdout) > 0.9
    else:
        assert done.returncode == 1
        assert "train under `if __name__ == '__main__':`" in done.stderr.splitlines()[-1]
        assert done.stderr.count("Traceback") == 1


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (_cluster, "_check_workers"),
        (_sources, "_cut"),
        (_sources, "placed"),
        (_data.Data, "locate"),
        (_training.Trainer, "_learn"),
    ],
    ids=lambda it: it if isinstance(it, str) else "",
)
def test_losing_the_scheduler_at_any_time_is_an_error(monkeypatch, tmp_path, owner, name):
    """Also while files are split, and while shards are placed, located and loaded again."""
    real = getattr(owner, name)
    with machines(tmp_path / "scheduler.json", 1) as (own, scheduler, _):

        def lose(*arguments):
            scheduler.kill()
            scheduler.wait()
            if name == "_learn":
                raise _awaiting.Lost("what it was to give")
            return real(*arguments)

        monkeypatch.setattr(owner, name, lose)
        data = {"_cut": (svmlight(tmp_path / "data.svm", 500),), "placed": (lazy_parts(),)}.get(name, (X, Y))
        began = time.monotonic()
        with pytest.raises(rd.ClusterError, match=r"The scheduler at \S+ was lost"):
            rd.AveragedPerceptron(**SETTINGS).fit(*data, client=own)
        assert time.monotonic() - began < 15


def test_a_lost_scheduler_leaves_a_checkpoint(client, in_epoch, tmp_path):
    """The command resumes on another cluster with the same bits."""
    data = svmlight(tmp_path / "data.svm", 500)
    settings = ["--epochs", 5, "--set", "tol=None", "-a", "averaged", "--quiet"]
    here = client.scheduler.address
    call("train", data, "-m", tmp_path / "whole.model", "--dask", here, *settings)
    with machines(tmp_path / "scheduler.json", 1) as (other, scheduler, _):
        address = other.scheduler.address
        other.close()
        todo = in_epoch(3, scheduler.kill)
        result = call("train", data, "-m", tmp_path / "cut.model", "--dask", address, *settings, code=1)
        assert not todo
    assert f"The scheduler at {address} was lost; 2 of at most 5 epochs were done" in result.stderr
    assert "cut.model holds the model after 2 epoch(s)" in result.stderr
    assert rb.load(tmp_path / "cut.model").n_iter_ == 2
    call("train", data, "-m", tmp_path / "cut.model", "--resume", "--dask", here, "--quiet")
    whole, cut = rb.load(tmp_path / "whole.model"), rb.load(tmp_path / "cut.model")
    assert_same_model(cut, whole)
    assert np.array_equal(cut.mistakes_per_epoch_, whole.mistakes_per_epoch_)


def test_a_cluster_that_grows_with_its_tasks():
    with (
        distributed.LocalCluster(n_workers=0, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
        distributed.Client(cluster) as own,
    ):
        cluster.adapt(minimum=0, maximum=1)
        assert rd.Perceptron(max_iter=2, tol=None, shards=2).fit(X, Y, client=own).n_iter_ == 2
