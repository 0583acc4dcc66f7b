"""Spark: the rows of a log live on a cluster, and polars works on them there."""
