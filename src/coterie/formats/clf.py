"""Common and combined access logs (Apache, nginx): one request per line -> VISITS.

The visitor is the logged name, or else address and agent together. Requests that are not requests
(TLS garbage, `-`) are kept with an empty path, which `drop_empty` removes. A zone is turned to UTC.
Accepted as well: a leading virtual host, address lists of proxies, masked addresses, names with
spaces, trailing fields.
"""

from __future__ import annotations

import polars as pl

from coterie.core.shapes import VISITS
from coterie.formats._source import Loaded, Source, breaks_to_spaces, fields, reason, sureness

shape = VISITS
expected = {
    "encoding": "text must be UTF-8",
    "columns": 'address, name, [time], "request", status, bytes',
    "time": "day/Mon/year:HH:MM:SS zone",
    "status": "three digits",
}
sample = """\
192.0.2.7 - - [03/Feb/2020:09:00:00 +0100] "GET /tea HTTP/1.1" 200 512 "http://ref.example/" "Browser/1"
192.0.2.8 - kim [03/Feb/2020:09:00:01 +0100] "POST /trains HTTP/1.1" 304 - "-" "Browser/2"
"""
_ADDRESS = r"((?:\S+, )*[^\s-]\S*)"
_QUOTED = r'"((?:[^"\\]|\\.)*)"'
# Identities (the second field) are out of use, so `-` tells them from an address after a host name.
_PATTERN = (
    rf"^(?:(?:\S+ )??{_ADDRESS} - (.*?)|{_ADDRESS} \S+ (.*?)) \[([^\]]+)\] "
    rf"{_QUOTED} ([0-9]{{3}}|-) ([0-9]+|-)(?: {_QUOTED} {_QUOTED})?(?: .*)?$"
)
_GROUPS = ("_address", "_name", "_other_address", "_other_name", "_time", "_request", "_status",
           "_bytes", "referrer", "agent")  # fmt: skip
_REQUEST = r"^([A-Z][A-Z_-]*) (\S.*?)(?: HTTP/[0-9.]+)?$"


def sniff(head: list[str]) -> float:
    """Lines with a date in brackets and a request in quotes."""
    return sureness(_PATTERN, head)


def load(source: Source, options: object) -> Loaded:  # noqa: ARG001 (same for all formats)
    """Parse the lines of access logs."""
    request = pl.col("_request").str.extract_groups(_REQUEST)
    parts = (
        fields(source.lines().with_columns(breaks_to_spaces(pl.col("line"))), _GROUPS, _PATTERN)
        .with_columns(
            pl.coalesce("_address", "_other_address").alias("address"),
            pl.coalesce("_name", "_other_name").alias("_name"),
            request.struct.rename_fields(["method", "path"]).alias("_request"),
        )
        .unnest("_request")
    )
    zoned = pl.col("_time").str.to_datetime("%d/%b/%Y:%H:%M:%S %z", time_unit="us", strict=False, time_zone="UTC")
    time = zoned.dt.replace_time_zone(None)
    status = pl.col("_status").cast(pl.Int16, strict=False)
    size = pl.when(pl.col("_bytes") == "-").then(pl.lit("0")).otherwise(pl.col("_bytes"))
    agent, name = _value("agent"), _value("_name")
    visitor = pl.concat_str([pl.col("address"), agent], separator=" ", ignore_nulls=True)
    frame = parts.select(
        "row",
        pl.coalesce(name, visitor).alias("user"),
        "address",
        time.alias("time"),
        "method",
        pl.col("path").fill_null(""),
        status.alias("status"),
        size.cast(pl.Int64, strict=False).alias("bytes"),
        _value("referrer").alias("referrer"),
        agent.alias("agent"),
        reason(
            encoding=source.damage(pl.col("line")),
            columns=pl.col("address").is_null(),
            time=time.is_null(),
            status=(pl.col("_status") != "-") & status.is_null(),
        ),
    )
    return Loaded(frame=frame, shape=shape)


def _value(column: str) -> pl.Expr:
    """A field in which `-` and nothing mean that it is missing."""
    return pl.when(~pl.col(column).is_in(["-", ""])).then(pl.col(column))
