"""The command line on a cluster, and what it says where something is wrong."""

import json
import os
import subprocess
import sys

import pytest


def _run(environment, *arguments, **others):
    command = [sys.executable, "-W", "ignore", "-m", "coterie", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **environment, **others}, check=False
    )


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    path = tmp_path_factory.mktemp("logs") / "log.tsv"
    subprocess.run([sys.executable, "-m", "coterie", "synth", "-o", path, "--users", "200", "--seed", "7"], check=True)
    return path


def test_the_same_file_as_without_an_engine(cluster, environment, log, tmp_path):
    run = ["anonymize", "suppress_rare", log, "--seed", "5", "--history", "none", "-o"]
    here = _run(environment, *run, tmp_path / "here.tsv")
    there = _run(environment, *run, tmp_path / "there.tsv", "--engine", cluster.address)
    assert (here.returncode, there.returncode) == (0, 0), there.stderr[-2000:]
    assert (tmp_path / "there.tsv").read_bytes() == (tmp_path / "here.tsv").read_bytes()


def test_who_is_counted_is_said_there_too(cluster, environment, tmp_path):
    """Warning, sentence and sidecar of a log that has sessions only, and a column that nobody named."""
    lines = "".join(f"s{n % 9}\ttea {n % 4}\t2020-02-03 09:00:00\tphone\n" for n in range(90))
    (tmp_path / "log.tsv").write_text("session_id\tsearch_term\tcreated_at\tdevice\n" + lines)
    run = ["anonymize", "suppress_rare", tmp_path / "log.tsv", "--k", "3", "--seed", "5", "--history", "none"]
    run += ["--details", "device", "-o"]
    here = _run(environment, *run, tmp_path / "here.tsv")
    there = _run(environment, *run, tmp_path / "there.tsv", "--engine", cluster.address)
    assert (here.returncode, there.returncode) == (0, 0), there.stderr[-2000:]
    said = " ".join(there.stderr.split())
    assert "k counts sessions, not people" in said
    assert "Columns were guessed" in said
    assert (tmp_path / "there.tsv").read_bytes() == (tmp_path / "here.tsv").read_bytes()
    sidecars = [json.loads((tmp_path / f"{name}.tsv.json").read_text()) for name in ("here", "there")]
    assert sidecars[0] == sidecars[1]
    assert sidecars[1]["reading"]["columns"]["user"] == "session_id"


def test_the_doctor(cluster, environment):
    done = _run(environment, "doctor", "--engine", cluster.address)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "work on rows gives the same answer as here" in done.stdout


@pytest.mark.parametrize(
    ("engine", "others", "sentence"),
    [
        ("spark://127.0.0.1:9", {}, "No Spark cluster answers at spark://127.0.0.1:9"),
        ("cluster", {}, "--engine is one of"),
        ("yarn", {"PATH": "/nonexistent", "JAVA_HOME": ""}, "Spark needs Java 17 or newer"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(environment, log, tmp_path, engine, others, sentence):
    target = tmp_path / "safe.tsv"
    done = _run(environment, "anonymize", "suppress_rare", log, "-o", target, "--engine", engine, **others)
    assert done.returncode == 2
    assert sentence in " ".join(done.stderr.split())
    assert not any(tmp_path.iterdir())


def test_a_method_of_one_machine_is_refused_before_anything_is_read(environment, tmp_path):
    nothing = tmp_path / "none.tsv"
    done = _run(
        environment, "anonymize", "generalize_users", nothing, "-o", tmp_path / "x.tsv", "--engine", "spark://h:1"
    )
    assert done.returncode == 2
    assert "generalize_users runs on one machine; leave out --engine." in " ".join(done.stderr.split())


def test_a_path_that_exists_is_not_replaced(cluster, environment, log, tmp_path):
    (tmp_path / "safe.tsv").write_text("mine")
    done = _run(
        environment, "anonymize", "suppress_rare", log, "-o", tmp_path / "safe.tsv", "--engine", cluster.address
    )
    assert done.returncode == 2
    assert (tmp_path / "safe.tsv").read_text() == "mine"


def test_a_dataframe_that_is_no_log(session):
    import coterie
    from coterie.errors import InputError

    with pytest.raises(InputError, match="none of them called 'query'"):
        coterie.log(session.createDataFrame([("a", "b")], "x string, y string"))
    with pytest.raises(InputError, match="not single values"):
        coterie.log(session.createDataFrame([("a", ["b"])], "user string, query array<string>"))


def test_connect(tmp_path):
    """The same code through Spark Connect, in a process of its own: a session of another kind."""
    code = """
import coterie, polars as pl
from pyspark.sql import SparkSession
from coterie.methods.suppress_rare import SuppressRare
if __name__ == "__main__":
    spark = SparkSession.builder.remote("local[1]").getOrCreate()
    rows = coterie.read("synth:users=100,seed=7").to_polars()
    table = spark.createDataFrame(rows.to_arrow(compat_level=pl.CompatLevel.oldest()))
    here, there = (coterie.anonymize(coterie.prepare(coterie.log(t)), SuppressRare(k=3), seed=5) for t in (rows, table))
    assert "connect" in type(table).__module__
    assert there.to_polars().equals(here.to_polars()) and there.verified == here.verified
    print("equal")
    spark.stop()
"""
    script = tmp_path / "connect.py"
    script.write_text(code)
    environment = {k: v for k, v in os.environ.items() if k != "PYSPARK_SUBMIT_ARGS"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", script], capture_output=True, text=True, check=False,
        env={**environment, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
    )  # fmt: skip
    assert done.stdout.strip().endswith("equal"), done.stderr[-3000:]


def test_a_dataframe_says_who_is_counted(session):
    import coterie

    rows = [(f"ip{n % 9}", f"tea {n % 4}") for n in range(90)]
    log = coterie.log(session.createDataFrame(rows, "client_ip string, q string"))
    assert log.settings["columns"] == {"query": "q", "user": "client_ip"}
    assert [text.partition(",")[0] for text in log.warnings] == ["k counts addresses"]
