"""Solr: lines of the request log that are searches -> QUERIES.

`... INFO  (qtp-7) [ x:shop] o.a.s.c.S.Request webapp=/solr path=/select params={q=blue+teapot&rows=10} hits=4 status=0
QTime=1`. The query is the parameter `q`, decoded. Left out are other lines of the
log, requests without a query or for everything (`*:*`), and those that shards send each other (`isShard`,
`distrib=false`), because they repeat a search. A log of Solr does not say who searched, unless the site sends it as a
parameter: name that one with `--user-field`. Times are those of the server, without a zone.
"""

from __future__ import annotations

import polars as pl

from coterie.core.shapes import QUERIES
from coterie.reading.reading import Reading
from coterie.reading.searches import decoded, value_of_param
from coterie.reading.sniff import sureness
from coterie.reading.source import Loaded, Source, fields, reason
from coterie.reading.values import as_time

shape = QUERIES
takes = ("user_field",)
expected = {
    "encoding": "text must be UTF-8",
    "columns": "a line of a request log: time, webapp=/solr path=/select params={...} status=0 QTime=1",
    "time": "YYYY-MM-DD HH:MM:SS.mmm",
}
sample = """\
2020-02-03 09:00:00.123 INFO  (qtp7-16) [c:shop s:shard1 r:core_node1 x:shop] o.a.s.c.S.Request webapp=/solr \
path=/select params={q=blue+teapot&fl=id&rows=10&user=u1} hits=4 status=0 QTime=1
2020-02-03 09:00:01.456 INFO  (qtp7-17) [ x:shop] o.a.s.c.S.Request [shop]  webapp=/solr path=/select \
params={q=quiet%20trains&user=u2} hits=0 status=0 QTime=3
"""
_REQUEST = r"\bpath=(/\S*) params=\{(.*)\} (?:hits=([0-9]+) )?status=(-?[0-9]+) QTime=[0-9]+"
_TIME = r"^\[?([0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9:]{8})[.,]?[0-9]*Z?\b"
_INNER = r"(?:^|&)(?:isShard=true|distrib=false)(?:&|$)"
_EVERYTHING = "*:*"
_USERS = ("user", "userid", "user_id", "uid", "client_id", "visitor", "session", "sessionid", "session_id")


# Other lines may stand among those of requests.
signature = (lambda head: 0.95 * bool(sureness(_REQUEST, [line for line in head.lines if "params={" in line])),)


def load(source: Source, options: Reading) -> Loaded:
    """Parse the requests that are searches."""
    line, nothing = pl.col("line"), pl.lit(None, pl.String)
    requests = source.lines().filter(line.str.contains("params={", literal=True))
    rows = fields(requests, ["path", "params", "hits", "status"], _REQUEST)
    rows = rows.with_columns(line.str.extract(_TIME).alias("_time"))
    params = pl.lit("?") + pl.col("params")
    user = value_of_param(params, [options.user_field]) if options.user_field else nothing
    rows = rows.with_columns(value_of_param(params, ["q"]).alias("raw"), user.alias("raw_user"))
    garbled = source.damage(line)
    wanted = pl.col("params").is_null() | (
        pl.col("raw").is_not_null() & (pl.col("raw") != _EVERYTHING) & ~pl.col("params").str.contains(_INNER)
    )
    kept = rows.filter(wanted | garbled).collect(engine="streaming")
    texts = decoded(pl.concat([kept["raw"], kept["raw_user"]]).drop_nulls().unique().alias("raw"))
    of_query = texts.select("raw", "query").lazy()
    of_user = texts.select(pl.col("raw").alias("raw_user"), pl.col("query").alias("user")).lazy()
    joined = kept.lazy().join(of_query, on="raw", how="left", maintain_order="left")
    joined = joined.join(of_user, on="raw_user", how="left", maintain_order="left")
    time = as_time(pl.col("_time"), pl.String())
    frame = joined.select(
        "row",
        "user",
        time.alias("time"),
        pl.col("query").fill_null(""),
        reason(encoding=garbled, columns=pl.col("params").is_null(), time=pl.col("_time").is_null() | time.is_null()),
    )
    return Loaded(frame=frame, shape=shape, notes=_notes(kept, options))


def _notes(kept: pl.DataFrame, options: Reading) -> tuple[str, ...]:
    if options.user_field is not None:
        return ()
    params = pl.lit("?") + pl.col("params")
    counts = kept.select(value_of_param(params, [name]).count().alias(name) for name in _USERS)
    named = [name for name, count in counts.row(0, named=True).items() if count and 2 * count > kept.height]
    there = f" Most requests have {' and '.join(named)}." if named else ""
    return (f"A log of Solr does not say who searched. Name the parameter that does: --user-field NAME.{there}",)
