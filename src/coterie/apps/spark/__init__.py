"""Spark: the rows of a log live on a cluster, and polars works on them there.

Registered under the entry point group `coterie.engines`: see engines/clusters.py, which says what such a module has.
"""

from coterie.apps.spark.engine import examine
from coterie.apps.spark.reading import read_on_spark as read
from coterie.apps.spark.reading import spark_log as log
from coterie.apps.spark.sessions import ADDRESSES, session_for, takes

addresses = ADDRESSES

__all__ = ["addresses", "examine", "log", "read", "session_for", "takes"]
