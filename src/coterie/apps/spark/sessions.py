"""Sessions of Spark: found by an address, made where there is none, and what goes wrong in them, as sentences."""

from __future__ import annotations

import os
import re
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from coterie.apps.spark.parcels import ROWS_AT_ONCE
from coterie.engines.remote import said
from coterie.errors import CoterieError, InputError, InternalError, MissingError, ParameterError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CONNECT, _STANDALONE = "sc://", "spark://"
_SECONDS = 10  # that a cluster may take to answer at all
ADDRESSES = "spark://HOST:PORT, sc://HOST:PORT, yarn, k8s://..., local[N], or spark for the session that is active"
_JAVA = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""Java only moves parcels here: compiling its code twice costs more than that saves, and one thread cleans up."""
_OURS = {  # of sessions that are made here, unless their settings say otherwise
    "spark.executor.extraJavaOptions": _JAVA,
    "spark.driver.extraJavaOptions": f"{_JAVA} -Xms64m -Xmn48m -XX:MinHeapFreeRatio=10 -XX:MaxHeapFreeRatio=30",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.showConsoleProgress": "false",
    "spark.io.encryption.enabled": "true",  # shuffle files hold users and queries
    "spark.executorEnv.POLARS_MAX_THREADS": "1",  # a task has one processor
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(ROWS_AT_ONCE),
}


def takes(given: object) -> bool:
    """Whether an address is one of Spark, or whether a session or a table is its own."""
    if isinstance(given, str):
        return given.startswith((_CONNECT, _STANDALONE, "k8s://", "local")) or given in ("yarn", "spark")
    return type(given).__module__.startswith("pyspark.sql")


def session_at(address: str) -> SparkSession:
    """The session of an address as `--engine` has it; a sentence where there is none."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingError("Spark is not installed: pip install 'coterie[spark]'.") from None
    if address.startswith(_CONNECT):
        _refuse_silence(address, 15002)
        with translated():
            return SparkSession.builder.remote(address).getOrCreate()
    if active := SparkSession.getActiveSession():
        master = active.conf.get("spark.master", None)
        if address not in ("spark", master):
            raise ParameterError(
                f"A Spark session is active in this process, at {master} and not at {address}. Say 'spark' to use it, "
                f"or stop it first."
            )
        return active
    if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        raise MissingError(
            "Spark needs Java 17 or newer on this machine: install it (on Debian default-jre-headless) and set "
            "JAVA_HOME where it is not on the path; or use Spark Connect (sc://HOST:PORT), which needs none here."
        )
    if address.startswith(_STANDALONE):
        _refuse_silence(address, 7077)
    builder = SparkSession.builder.appName("coterie")
    builder = builder if address == "spark" else builder.master(address)
    said = _settings_elsewhere()
    for name, value in _OURS.items():
        builder = builder if name in said else builder.config(name, value)
    with translated():
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
    return session


def _settings_elsewhere() -> set[str]:
    """Names of settings that people made themselves: for `spark-submit`, or in the file of defaults."""
    texts = [os.environ.get("PYSPARK_SUBMIT_ARGS", "")]
    home = os.environ.get("SPARK_HOME")
    folder = os.environ.get("SPARK_CONF_DIR") or (str(Path(home) / "conf") if home else None)
    if folder is not None:
        with suppress(OSError):  # mostly there is none
            texts.append((Path(folder) / "spark-defaults.conf").read_text(encoding="utf-8", errors="replace"))
    return {name for text in texts for name in re.findall(r"(?m)(?:^|\bconf[ =]['\"]?)\s*(spark\.[\w.]+)", text)}


@contextmanager
def session_for(address: str) -> Iterator[SparkSession]:
    """The session of an address while it is needed; one that was made for this is stopped again."""
    before = _active()
    session = session_at(address)
    try:
        yield session
    finally:
        if address != "spark" and session is not before:
            with suppress(Exception):  # nothing more is wanted of it
                session.stop()


def _active() -> SparkSession | None:
    """The session that somebody made before in this process."""
    with suppress(ImportError):
        from pyspark.sql import SparkSession

        return SparkSession.getActiveSession()
    return None


def _refuse_silence(address: str, port: int) -> None:
    """Raise MissingError where nobody answers at an address."""
    place = address.partition("://")[2].partition("/")[0].partition(";")[0].split(",")[0]
    host, _, number = place.partition(":")
    try:
        socket.create_connection((host, int(number or port)), timeout=_SECONDS).close()
    except (OSError, ValueError):
        raise MissingError(
            f"No Spark cluster answers at {address}. Is it running, and can this machine reach it? Tried for up to "
            f"{_SECONDS} seconds."
        ) from None


@contextmanager
def translated() -> Iterator[None]:
    """Errors of Spark as sentences, without what they quote."""
    from pyspark.errors import PySparkException

    try:
        yield
    except CoterieError:
        raise
    except (PySparkException, RuntimeError, OSError) as error:
        raise _sentence(str(error), type(error).__name__, error) from None
    except Exception as error:  # of py4j, or of the network
        if type(error).__module__.partition(".")[0] not in ("py4j", "grpc"):
            raise
        raise _sentence(str(error), type(error).__name__, error) from None


def _sentence(message: str, kind: str, error: BaseException) -> CoterieError:
    if ours := said(message):
        return ours
    for package in ("coterie", "polars", "numba", "pyarrow", "numpy"):
        if f"No module named '{package}" in message:
            return InputError(
                f"The workers of the cluster have no {package}. Install coterie with its dependencies on all nodes, or "
                f"send an environment along (see docs/spark.md, packaging)."
            )
    if "PYTHON_VERSION_MISMATCH" in message or "different minor version" in message:
        return InputError(
            "The workers of the cluster have another version of Python than this machine. Use the same minor version "
            "(set PYSPARK_PYTHON, or send an environment along: docs/spark.md, packaging)."
        )
    if "PATH_NOT_FOUND" in message or "FILE_NOT_EXIST" in message:
        return InputError("The cluster finds no file at the path of the log. It must be one that all nodes can read.")
    condition = getattr(error, "getCondition", lambda: None)() or kind
    return InternalError(
        f"Spark failed ({condition}). Its message may hold values of the log, so it is not shown; the logs of the "
        f"driver have it."
    )
