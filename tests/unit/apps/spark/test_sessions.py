"""What can be said about a cluster without one; tests/spark has the others."""

import pytest

from coterie.apps.spark import sessions
from coterie.engines import clusters
from coterie.errors import InputError, InternalError, MissingError, ParameterError


@pytest.mark.parametrize("address", ["", "hdfs://x", "sparks://a:1", "host:7077"])
def test_an_address_is_of_a_known_kind(address):
    assert not sessions.takes(address)
    with pytest.raises(ParameterError, match="--engine is one of: spark://HOST:PORT"):
        clusters.cluster_at(address)


@pytest.mark.parametrize(
    "address", ["spark://127.0.0.1:1", "sc://127.0.0.1:1", "sc://127.0.0.1:1/;user_id=x", "spark://:x"]
)
def test_a_cluster_that_is_not_there(address):
    pytest.importorskip("pyspark")
    with pytest.raises(MissingError, match="No Spark cluster answers at"):
        sessions._refuse_silence(address, 1)


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyspark", None)
    monkeypatch.setitem(__import__("sys").modules, "pyspark.sql", None)
    with pytest.raises(MissingError, match=r"coterie\[spark\]"):
        sessions.session_at("spark://127.0.0.1:1")


@pytest.mark.parametrize(
    ("message", "kind", "sentence"),
    [
        (
            "... ModuleNotFoundError: No module named 'coterie' ...",
            InputError,
            "workers of the cluster have no coterie",
        ),
        ("ModuleNotFoundError: No module named 'polars'", InputError, "workers of the cluster have no polars"),
        ("[PYTHON_VERSION_MISMATCH] Python in worker has", InputError, "another version of Python"),
        ("[PATH_NOT_FOUND] Path does not exist: file:/secret", InputError, "finds no file at the path"),
        ("[CAST_INVALID_INPUT] The value 'canary' of the type", InternalError, "may hold values of the log"),
        ("coterie says: InputError: Not these.\n at x", InputError, "Not these."),
    ],
)
def test_errors_become_sentences_without_values(message, kind, sentence):
    error = sessions._sentence(message, "PySparkException", RuntimeError(message))
    assert isinstance(error, kind)
    assert sentence in str(error)
    assert "canary" not in str(error)
    assert "secret" not in str(error)


def test_settings_of_people_are_left_alone(tmp_path, monkeypatch):
    said = "--driver-memory 1g --conf spark.a.b=1 --conf 'spark.c=-X -Y' --conf=spark.d=2 pyspark-shell"
    (tmp_path / "spark-defaults.conf").write_text("# spark.no 1\nspark.e.f  2\n spark.g=3\n")
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", said)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert sessions._settings_elsewhere() == {"spark.a.b", "spark.c", "spark.d", "spark.e.f", "spark.g"}
    monkeypatch.delenv("SPARK_CONF_DIR")
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS")
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "nowhere"))
    assert sessions._settings_elsewhere() == set()
