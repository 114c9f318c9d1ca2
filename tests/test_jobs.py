"""Threads over rows: the results do not depend on their number."""

import threading

import joblib
import numpy as np
import pytest
from sklearn.base import clone

import rosenblatt as rb
from rosenblatt.model import scores
from rosenblatt.model.scores import in_row_threads
from tests.helpers import blobs, csr

JOBS = (2, 3, -1)


@pytest.fixture(autouse=True)
def many(monkeypatch):
    """More cores than one, and threads for the smallest inputs."""
    monkeypatch.setattr(scores, "_SMALL", 1)
    monkeypatch.setattr(scores, "cores", lambda: 2)
    monkeypatch.setattr(joblib.parallel, "cpu_count", lambda *_: 2)


@pytest.fixture
def used(monkeypatch):
    """The numbers of threads that were asked for."""
    numbers = []

    def noted(part, rows, work, jobs=None):
        numbers.append(jobs)
        in_row_threads(part, rows, work, jobs)

    monkeypatch.setattr("rosenblatt.model.linear.in_row_threads", noted)
    return numbers


@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("form", ["dense", "csr", "fortran"])
@pytest.mark.parametrize("name", ["Perceptron", "AveragedPerceptron", "VotedPerceptron", "ROMMA", "AROW"])
def test_scores_have_the_same_bits_for_any_number_of_threads(name, form, dtype, classes, used):
    X, y = blobs(classes=classes, n=501, features=13)
    X = {"dense": np.ascontiguousarray, "csr": csr, "fortran": np.asfortranarray}[form](X.astype(dtype))
    model = getattr(rb, name)(max_iter=2, tol=None).fit(X, y)
    alone = model.set_params(n_jobs=1)
    scores, labels, share = alone.decision_function(X), alone.predict(X), alone.score(X, y)
    used.clear()
    for jobs in JOBS:
        model.set_params(n_jobs=jobs)
        assert model.decision_function(X).tobytes() == scores.tobytes()
        assert (model.predict(X) == labels).all()
        assert model.score(X, y) == share
    assert set(used) == (set() if name == "VotedPerceptron" else {2, 3})


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("scheme", ["max", "ovr"])
@pytest.mark.parametrize(
    "learner", [rb.Perceptron(tol=None), rb.PocketPerceptron(), rb.BatchPerceptron(variant="line-search")], ids=repr
)
def test_a_fit_has_the_same_bits_for_any_number_of_threads(learner, scheme, classes):
    X, y = blobs(n=120, classes=classes)
    runs = [clone(learner).set_params(n_jobs=n, multiclass=scheme, max_iter=9).fit(X, y) for n in (1, *JOBS)]
    for run in runs[1:]:
        for ours, theirs in zip(run.model_.state, runs[0].model_.state, strict=True):
            assert ours.tobytes() == theirs.tobytes()
        assert (run.mistakes_per_epoch_ == runs[0].mistakes_per_epoch_).all()
        assert (run.n_iter_, run.converged_) == (runs[0].n_iter_, runs[0].converged_)


def test_the_first_bad_row_is_named(used):
    X, y = blobs(n=400)
    model = rb.Perceptron(n_jobs=3).fit(X, y)
    X[[390, 250, 130]] = np.nan
    used.clear()
    with pytest.raises(ValueError, match="row 130, feature 0 is NaN"):
        model.predict(X)
    assert used == [3]


@pytest.mark.parametrize("value", [0, 1.5, True, "all"])
def test_a_bad_value_is_refused(value):
    X, y = blobs(n=40)
    message = rf"^`n_jobs` of Perceptron must be None or a whole number other than 0; got {value!r}\. Larger values"
    with pytest.raises(ValueError, match=message):
        rb.Perceptron(n_jobs=value).fit(X, y)
    with pytest.raises(ValueError, match=message):
        rb.Perceptron().fit(X, y).set_params(n_jobs=value).predict(X)


def test_none_is_one_outside_of_a_context_of_joblib(used):
    X, y = blobs(n=400)
    model = rb.Perceptron().fit(X, y)
    used.clear()
    model.predict(X)
    with joblib.parallel_config("threading", n_jobs=2):
        model.predict(X)
        model.set_params(n_jobs=1).predict(X)
    assert used == [1, 2, 1]


# ---- ranges ----


@pytest.mark.parametrize(("rows", "jobs"), [(0, 2), (1, 2), (2, 2), (7, 3), (1000, 3), (10, 100)])
def test_ranges_cover_every_row_once(rows, jobs):
    visits = np.zeros(rows, np.int64)

    def part(start, stop):
        visits[start:stop] += 1

    in_row_threads(part, rows, 10**9, jobs)
    assert (visits == 1).all()


def test_the_caller_and_another_thread_work():
    both, workers = threading.Barrier(2, timeout=20), set()

    def part(start, stop):
        if threading.get_ident() not in workers:
            workers.add(threading.get_ident())
            both.wait()  # passes only if two threads are at work at once

    in_row_threads(part, 100, 10**9, 2)
    assert len(workers) == 2
    assert threading.get_ident() in workers


def test_little_work_is_done_by_the_caller_in_one_range(monkeypatch):
    monkeypatch.setattr(scores, "_SMALL", 1000)
    calls = []
    in_row_threads(lambda *part: calls.append((part, threading.get_ident())), 100, 999, 2)
    assert calls == [((0, 100), threading.get_ident())]


@pytest.mark.parametrize("own", [True, False], ids=["of the caller", "of another thread"])
def test_an_error_is_raised(own):
    me, both, began = threading.get_ident(), threading.Barrier(2, timeout=20), set()

    def part(start, stop):
        if threading.get_ident() not in began:
            began.add(threading.get_ident())
            both.wait()
            if (threading.get_ident() == me) == own:
                raise ZeroDivisionError("bad range")

    with pytest.raises(ZeroDivisionError, match="bad range"):
        in_row_threads(part, 1000, 10**9, 2)
