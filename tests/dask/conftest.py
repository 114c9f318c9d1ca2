"""One real cluster for all tests here: a scheduler and two workers, each in its own process with one thread."""

import warnings

import pytest


@pytest.fixture(scope="session")
def client():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client
        warnings.simplefilter("ignore", ResourceWarning)  # processes may end shortly after their streams
