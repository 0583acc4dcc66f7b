"""Tests on a real cluster: `make test-spark` runs them, and nothing else does."""

import os
import sys

import pytest

collect_ignore_glob = [] if os.environ.get("COTERIE_SPARK") else ["test_*.py"]


def pytest_collection_modifyitems(items):
    for item in items:
        if "tests/spark/" in item.path.as_posix():
            item.add_marker(pytest.mark.spark)
            item.add_marker(pytest.mark.filterwarnings("ignore"))  # of Spark's own about the versions around it


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    """A master and two workers."""
    from tests.spark.cluster import Cluster

    with Cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def environment(cluster, tmp_path_factory):
    """What processes need that run on the cluster: this Python, loopback, little memory, where events are logged."""
    events = tmp_path_factory.mktemp("events")
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.executor.memory": "1g",
        "spark.sql.shuffle.partitions": "4",
        "spark.ui.enabled": "false",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"file://{events}",
        "spark.eventLog.compress": "false",
    }
    confs = " ".join(f"--conf {name}={value}" for name, value in settings.items())
    return {
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": f"--driver-memory 512m {confs} pyspark-shell",
        "SPARK_LOCAL_IP": "127.0.0.1",
        "EVENTS": str(events),
    }


@pytest.fixture(scope="session")
def session(cluster, environment):
    from coterie.apps.spark.sessions import session_at

    os.environ.update(environment)
    session = session_at(cluster.address)
    yield session
    session.stop()
