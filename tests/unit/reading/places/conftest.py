"""Servers of databases and stores, each started once for the tests of this folder."""

import pytest

from tests.helpers import servers


@pytest.fixture(scope="session")
def postgresql():
    """The address of a PostgreSQL server."""
    with servers.postgresql() as address:
        yield address


@pytest.fixture(scope="session")
def _s3_server():
    with servers.s3() as environment:
        yield environment


@pytest.fixture
def s3(_s3_server, monkeypatch):
    """A store of S3's kind, in the environment."""
    for name, value in _s3_server.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(scope="session")
def _azure_server():
    with servers.azure() as environment:
        yield environment


@pytest.fixture
def azure(_azure_server, monkeypatch):
    """A store of Azure's kind, in the environment."""
    for name, value in _azure_server.items():
        monkeypatch.setenv(name, value)
