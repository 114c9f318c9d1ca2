"""Stores and services for the tests, each made once."""

import uuid

import pytest

from tests.serve import processes
from tests.serve.processes import Postgres, Server, postgres_programs

processes.FORK = True


@pytest.fixture(scope="session")
def postgres():
    """A temporary PostgreSQL server."""
    if postgres_programs() is None:
        pytest.skip("PostgreSQL is not installed; `apt-get install postgresql` installs it")
    database = Postgres()
    yield database
    database.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request, tmp_path):
    """The address of an empty store."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/log.db"
    return request.getfixturevalue("postgres").database(f"t{uuid.uuid4().hex}")


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def server(request, tmp_path_factory):
    """A running service."""
    if request.param == "sqlite":
        address = f"sqlite:///{tmp_path_factory.mktemp('store')}/log.db"
    else:
        address = request.getfixturevalue("postgres").database(f"t{uuid.uuid4().hex}")
    with Server(address, "--max-body", 1 << 20, "--max-pending", 50, "--max-models", 60, "--patience", 2) as service:
        yield service
        assert service.stop() == 0
        assert not [line for line in service.lines if "Traceback" in line or '"error"' in line], "".join(service.lines)


@pytest.fixture
def model(server):
    """The path of a new model."""
    path = f"/v1/models/m{uuid.uuid4().hex[:12]}"
    assert server.post(path, {"algorithm": "perceptron"})[0] == 201
    return path
