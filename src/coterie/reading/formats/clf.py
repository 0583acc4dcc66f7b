"""Common and combined access logs (Apache, nginx): one request per line -> VISITS.

The visitor is the logged name, or else address and agent together; a line with neither name nor address is nobody's. Of
a list of addresses (`X-Forwarded-For`: "client, proxy, proxy") the first is taken. Requests that are not requests
(`-`, nothing, the bytes of an encrypted connection) are kept with an empty path, which `drop_empty` removes. A zone is
turned to UTC. Accepted as well: a leading virtual host, IPv6, host names, masked addresses, names with spaces, escaped
quotes, which stay escaped, and trailing fields. How many lines are unusual is told. With `--query-param` searches are
read from the addresses of requests, and the log is a search log.
"""

from __future__ import annotations

import polars as pl

from coterie.core.shapes import TIME, VISITS
from coterie.reading.people import ADDRESS_AND_AGENT
from coterie.reading.sniff import lines_like
from coterie.reading.source import DAMAGE, Loaded, Remark, Source, breaks_to_spaces, reason, remark

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
_LEFT_OUT = "The page is empty there, and drop_empty leaves these lines out."
remarks = {
    "nobody": Remark("neither an address nor a name. Nobody is counted for them."),
    "proxies": Remark("a list of addresses, of which the first was taken. Whoever sends a request can say any."),
    "masked": Remark(
        "an address that looks masked. People who share it, and have the same agent, count as one visitor.", least=0.1
    ),
    "no_agent": Remark(
        "no referrer and no agent (common format). An address is a visitor there, and all who share it count as one."
    ),
    "no_request": Remark(f"no request, as of connections that ended early. {_LEFT_OUT}"),
    "no_words": Remark(
        f"no words in place of a request, but bytes of an encrypted connection or the like. {_LEFT_OUT}"
    ),
}

# Nearly all lines are usual ones: without a backslash, so that quotes tell where parts begin and end. Short
# patterns for these parts take a fifth of the time of the long one, which is for all other lines.
_PIECES = ("before", "request", "numbers", "referrer", "between", "agent", "after")
_BEFORE = r"(?P<address>[^ ,\[]+) - (?P<name>[^ \[\]]+) \[(?P<time>[^\]]+)\] $"
_PLAIN, _HOSTED = f"^{_BEFORE}", rf"^[^ ,\[]+ {_BEFORE}"
_USUAL_REQUEST = r"^(?P<method>[A-Z]+) (?P<path>[^ ]+) HTTP/[0-9.]+$"
_NUMBERS = r"^ (?P<status>[0-9]{3}) (?P<bytes>[0-9]+|-) ?$"
_ADDRESS = r"(?:\S+, )*(?:-|[^\s-]\S*)"
_NAME = r"|-|[^-].*?|-[^ ].*?"
_INSIDE = r'(?:[^"\\]|\\.)*'  # of quotes
# Identities (the second field) are out of use, so `-` tells them from an address after a host name.
_ANY = (
    rf"^(?:(?:\S+ )??(?P<address>{_ADDRESS}) - (?P<name>{_NAME})|(?P<other_address>{_ADDRESS}) \S+ "
    rf'(?P<other_name>{_NAME})) \[(?P<time>[^\]]+)\] "(?P<request>{_INSIDE})" (?P<status>[0-9]{{3}}|-) '
    rf'(?P<bytes>[0-9]+|-)(?: "(?P<referrer>{_INSIDE})" "(?P<agent>{_INSIDE})")?(?: .*)?$'
)
_REQUEST = r"^(?P<method>[A-Z][A-Z_-]*) (?P<path>\S.*?)(?: HTTP/[0-9.]+)?$"
_MASKED = r"(?i)^(?:[0-9.]+\.0|.*[.:][x*]+|[0-9a-f:]+::)$"
_TIME = "%d/%b/%Y:%H:%M:%S"
_WIDTH = 20  # characters of a time without its zone
_MINUTE = 60_000_000  # microseconds


signature = (lines_like(_ANY),)


def load(source: Source, options: object) -> Loaded:  # noqa: ARG001 (same for all formats)
    """Parse the lines of access logs."""
    line, given = pl.col("line"), pl.col("_fits")
    parts = _parts(source.lines().with_columns(breaks_to_spaces(line)))
    # What several columns are made of is computed once.
    values = parts.with_columns(
        pl.col("address").is_not_null().alias("_fits"),
        *map(_value, ("address", "name", "referrer", "agent")),
        pl.col("agent").is_null().alias("_no_agent"),
        _time(pl.col("time")).alias("time"),
        pl.col("status").cast(pl.Int16, strict=False).alias("_status"),
        (pl.col("path").is_null() & pl.col("address").is_not_null()).alias("_no_path"),
        pl.col("request").is_in(["", "-"]).alias("_no_request"),
    )
    garbled = source.damage(line)
    if source.damaged:  # bytes of an encrypted connection are no text, and do no harm where a request should be
        others = pl.concat_str("address", "name", "referrer", "agent", ignore_nulls=True)
        garbled &= ~pl.col("_no_path") | others.str.contains(DAMAGE, literal=True)
    address, name, agent = pl.col("address"), pl.col("name"), pl.col("agent")
    frame = values.select(
        "row",
        pl.coalesce(name, address + " " + agent, address).alias("user"),
        "address",
        "time",
        "method",
        pl.col("path").fill_null(""),
        pl.col("_status").alias("status"),
        pl.when(pl.col("bytes") == "-").then(0).otherwise(pl.col("bytes").cast(pl.Int64, strict=False)).alias("bytes"),
        "referrer",
        "agent",
        reason(
            encoding=garbled,
            columns=~given,
            time=pl.col("time").is_null(),
            status=(pl.col("status") != "-") & pl.col("_status").is_null(),
        ),
        remark(
            remarks,
            nobody=given & name.is_null() & address.is_null(),
            proxies=pl.col("_list"),
            masked=address.str.contains(_MASKED),
            no_agent=given & name.is_null() & pl.col("_no_agent"),
            no_request=pl.col("_no_path") & pl.col("_no_request"),
            no_words=pl.col("_no_path") & ~pl.col("_no_request"),
        ),
    )
    return Loaded(frame=frame, shape=shape, remarks=remarks, counted=ADDRESS_AND_AGENT)


def _parts(lines: pl.LazyFrame) -> pl.LazyFrame:
    """The parts of each line as text; all null where it is no line of an access log."""
    line, usual, other = pl.col("line"), pl.col("_usual"), pl.col("_other").struct.field
    # Null stands for what need not be looked at, and costs next to nothing. Each stage is computed once.
    lines = _usual(lines.with_columns(pl.when(~line.str.contains("\\", literal=True)).then(line).alias("_text")))
    lines = lines.with_columns(pl.when(~usual).then(line).str.extract_groups(_ANY).alias("_other"))
    lines = lines.with_columns(
        pl.coalesce(other("address"), other("other_address")).alias("_addresses"),
        other("request").str.extract_groups(_REQUEST).alias("_requested"),
    )
    others = {
        **{name: other(name) for name in ("time", "status", "bytes", "referrer", "agent")},
        "address": pl.col("_addresses").str.extract("^([^, ]+)"),
        "name": pl.coalesce(other("name"), other("other_name")),
        "method": pl.col("_requested").struct.field("method"),
        "path": pl.col("_requested").struct.field("path"),
    }
    return lines.select(
        "row",
        "line",
        *(pl.when(usual).then(name).otherwise(part).alias(name) for name, part in others.items()),
        other("request"),
        pl.col("_addresses").str.contains(",", literal=True).alias("_list"),
    )


def _usual(lines: pl.LazyFrame) -> pl.LazyFrame:
    """Lines with their parts as usual lines have them, and whether they are such lines (`_usual`)."""
    piece = pl.col("_pieces").struct.field
    lines = lines.with_columns(
        pl.col("_text").str.splitn('"', len(_PIECES)).struct.rename_fields(list(_PIECES)).alias("_pieces")
    )
    lines = lines.with_columns(piece("before").str.extract_groups(_PLAIN).alias("_before"))
    named = pl.col("_before").struct.field("time").is_not_null()
    lines = lines.with_columns(
        pl.when(~named).then(piece("before")).str.extract_groups(_HOSTED).alias("_hosted"),
        piece("request").str.extract_groups(_USUAL_REQUEST).alias("_asked"),
        piece("numbers").str.extract_groups(_NUMBERS).alias("_answer"),
    )
    combined = (piece("between") == " ") & piece("after").str.contains("^(?: |$)")
    combined &= piece("numbers").str.ends_with(" ")
    begins = [
        pl.coalesce(pl.col("_before").struct.field(name), pl.col("_hosted").struct.field(name)).alias(name)
        for name in ("address", "name", "time")
    ]
    lines = lines.with_columns(
        *begins, pl.col("_asked", "_answer").struct.unnest(), piece("referrer"), piece("agent"),
        (piece("referrer").is_null() | combined).fill_null(False).alias("_quoted"),
    )  # fmt: skip
    every = pl.all_horizontal(pl.col(name).is_not_null() for name in ("time", "path", "status"))
    return lines.with_columns((pl.col("_quoted") & every).alias("_usual"))


def _time(text: pl.Expr) -> pl.Expr:
    """A time in UTC. Polars reads times without a zone several times as fast, so the zone is taken off afterwards."""
    zone = text.str.slice(_WIDTH)
    local = text.str.head(_WIDTH).str.to_datetime(_TIME, time_unit="us", strict=False)
    hours_minutes = zone.str.slice(1).cast(pl.Int64, strict=False)  # +0530 is 530
    whole = hours_minutes.abs()
    ahead = (whole // 100 * 60 + whole % 100) * hours_minutes.sign()
    usual = zone.str.contains(r"^ [+-][0-9]{2}[0-5][0-9]$")
    quick = pl.when(usual).then((local.cast(pl.Int64) - ahead * _MINUTE).cast(TIME))
    rest = pl.when(~usual | local.is_null()).then(text)
    slow = rest.str.to_datetime(f"{_TIME} %z", time_unit="us", strict=False, time_zone="UTC")
    return pl.coalesce(quick, slow.dt.replace_time_zone(None))


def _value(column: str) -> pl.Expr:
    """A field in which `-` and nothing mean that it is missing."""
    return pl.when(~pl.col(column).is_in(["-", ""])).then(pl.col(column)).alias(column)
