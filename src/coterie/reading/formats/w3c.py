"""W3C extended access logs (IIS, CloudFront and others): `#Fields:` names the columns -> VISITS.

Fields are separated by spaces or tabs, `-` is a missing one, and times are in UTC. The visitor is the name
(`cs-username`), or else address (`c-ip`) and agent together; a line with neither name nor address is nobody's. The path
is `cs-uri-stem` with `cs-uri-query` behind a `?`. In agents and referrers `+` and `%20` stand for spaces, as servers
write them. `#Fields:` may come again with other fields, as it does when a server starts. With `--query-param` searches
are read from the addresses of requests, and the log is a search log.
"""

from __future__ import annotations

import polars as pl

from coterie.core.shapes import VISITS
from coterie.reading.people import ADDRESS_AND_AGENT
from coterie.reading.source import Loaded, Remark, Source, breaks_to_spaces, reason, remark
from coterie.reading.values import as_integer, as_time

shape = VISITS
expected = {
    "encoding": "text must be UTF-8",
    "columns": "as many fields as the last #Fields: line names",
    "time": "date and time: YYYY-MM-DD, HH:MM:SS",
    "status": "three digits",
}
sample = """\
#Software: Microsoft Internet Information Services 10.0
#Version: 1.0
#Fields: date time cs-method cs-uri-stem cs-uri-query cs-username c-ip cs(User-Agent) cs(Referer) sc-status sc-bytes
2020-02-03 09:00:00 GET /tea - - 192.0.2.7 Browser/1+(X11) https://ref.example/ 200 512
2020-02-03 09:00:01 GET /search q=trains&page=2 kim 192.0.2.8 Browser/2 - 304 0
"""
remarks = {
    "nobody": Remark("neither an address nor a name. Nobody is counted for them."),
    "no_agent": Remark("no agent. An address is a visitor there, and all who share it count as one."),
}
_FIELDS = "#Fields:"
_NAMES = {
    "date": ("date",), "clock": ("time",), "address": ("c-ip", "x-forwarded-for"), "name": ("cs-username",),
    "method": ("cs-method",), "stem": ("cs-uri-stem", "cs-uri"), "asked": ("cs-uri-query",),
    "status": ("sc-status",), "bytes": ("sc-bytes",), "agent": ("cs(user-agent)",), "referrer": ("cs(referer)",),
}  # fmt: skip
_MOST_FIELDS = 200


signature = (lambda head: float(any(line.startswith(_FIELDS) and "cs-uri" in line for line in head.lines)),)


def load(source: Source, options: object) -> Loaded:  # noqa: ARG001 (same for all formats)
    """Parse the lines, each by the last line before it that names fields."""
    line = pl.col("line")
    lines = source.lines().with_columns(
        pl.when(line.str.starts_with(_FIELDS)).then(line).forward_fill().alias("_fields")
    )
    kept = lines.filter(~line.str.starts_with("#") | source.damage(line))
    headers = kept.select(pl.col("_fields").unique()).collect(engine="streaming")["_fields"].to_list()
    parts = [_parts(kept.filter(pl.col("_fields").eq_missing(pl.lit(header, pl.String))), header) for header in headers]
    rows = pl.concat(parts) if parts else _parts(kept, None)
    address, name, agent = pl.col("address"), pl.col("name"), pl.col("agent")
    time = as_time(pl.concat_str("date", pl.lit(" "), "clock"), pl.String())
    status = as_integer(pl.col("status"), pl.String(), pl.Int16)
    path = pl.when(pl.col("asked").is_not_null()).then(pl.col("stem") + "?" + pl.col("asked")).otherwise("stem")
    frame = rows.select(
        "row",
        pl.coalesce(name, address + " " + agent, address).alias("user"),
        "address",
        time.alias("time"),
        "method",
        path.fill_null("").alias("path"),
        status.alias("status"),
        as_integer(pl.col("bytes"), pl.String(), pl.Int64).alias("bytes"),
        "referrer",
        "agent",
        reason(
            encoding=source.damage(line),
            columns=~pl.col("_fits"),
            time=pl.col("_timed") & time.is_null(),
            status=pl.col("status").is_not_null() & status.is_null(),
        ),
        remark(
            remarks,
            nobody=pl.col("_fits") & name.is_null() & address.is_null(),
            no_agent=pl.col("_fits") & name.is_null() & address.is_not_null() & agent.is_null(),
        ),
    ).sort("row")
    return Loaded(frame=frame, shape=shape, remarks=remarks, counted=ADDRESS_AND_AGENT)


def _parts(lines: pl.LazyFrame, header: str | None) -> pl.LazyFrame:
    """The values of lines under one header; `_fits`: whether there are as many as it names."""
    line = breaks_to_spaces(pl.col("line"), r"[\r\n]")
    names = [] if header is None else header.removeprefix(_FIELDS).lower().split()[:_MOST_FIELDS]
    mark = pl.when(line.str.contains("\t", literal=True)).then(line.str.split("\t")).otherwise(line.str.split(" "))
    rows = lines.with_columns(mark.alias("_values"))
    columns = []
    for ours, theirs in _NAMES.items():
        at = next((names.index(name) for name in theirs if name in names), None)
        value = pl.lit(None, pl.String) if at is None else pl.col("_values").list.get(at, null_on_oob=True)
        value = pl.when(~value.is_in(["-", ""])).then(value)
        if ours in ("agent", "referrer"):
            value = value.str.replace_all(r"\+|%20|%2520", " ")
        columns.append(value.alias(ours))
    fits = (pl.col("_values").list.len() == len(names)) & (len(names) > 0)
    timed = "date" in names or "time" in names
    return rows.select("row", "line", *columns, fits.alias("_fits"), pl.lit(timed).alias("_timed"))
