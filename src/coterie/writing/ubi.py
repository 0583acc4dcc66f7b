"""User Behavior Insights: released rows as queries and clicks, one JSON object a line.

A row is a query, followed by its click where it has one. `query_id` is the number of the row in the release, and
`client_id` the released name, where there is one: no id of the log is left. Fields that hold free text beside the
query (`message`, names of objects) are not written, because no row of a release has them. Times are written as UTC,
since readers of UBI need a zone; how exact a time is stands in `query_attributes` and `event_attributes`.
"""

from __future__ import annotations

import polars as pl

from coterie.core.shapes import LEVEL, QUERIES

_ISO = "%Y-%m-%dT%H:%M:%SZ"


def ubi_lines(rows: pl.LazyFrame) -> pl.LazyFrame:
    """The lines of released rows of a search log."""
    given = rows.with_row_index("_number", 1).with_columns(pl.col(QUERIES.time).dt.strftime(_ISO))
    number = pl.format('"query_id":"{}"', "_number")
    who, when = _field("client_id", QUERIES.subject), _field("timestamp", QUERIES.time)
    exact = pl.format('"{}":"{}"', pl.lit(LEVEL), LEVEL) if LEVEL in rows.collect_schema() else pl.lit(None, pl.String)
    about = pl.concat_str(pl.lit(',"query_attributes":{'), exact, pl.lit("}")).fill_null("")
    query = pl.concat_str(pl.lit("{"), number, who, _field("user_query", QUERIES.item), when, about, pl.lit("}"))
    place = pl.format('"ordinal":{}', QUERIES.rank).fill_null("")
    named = pl.concat_str(pl.lit(',"object":{"object_id":'), _text(QUERIES.page), pl.lit("}"))
    thing = pl.when(pl.col(QUERIES.page).is_not_null()).then(named).otherwise(pl.lit(""))
    click = pl.concat_str(
        pl.lit('{"action_name":"click",'), number, who, when, pl.lit(',"event_attributes":{"position":{'), place,
        pl.lit("}"), thing, pl.concat_str(pl.lit(","), exact).fill_null(""), pl.lit("}}"),
    )  # fmt: skip
    clicked = pl.col(QUERIES.page).is_not_null() | pl.col(QUERIES.rank).is_not_null()
    lines = pl.concat_list(query, pl.when(clicked).then(click)).alias("line")
    return given.select(lines).explode("line").drop_nulls()


def _field(name: str, column: str) -> pl.Expr:
    """`,"name":"value"`, or nothing where there is no value."""
    written = pl.concat_str(pl.lit(f',"{name}":'), _text(column))
    return pl.when(pl.col(column).is_not_null()).then(written).otherwise(pl.lit(""))


def _text(column: str) -> pl.Expr:
    """A text as JSON."""
    inside = pl.struct(pl.col(column).alias("_")).struct.json_encode()  # {"_":"text"}
    return inside.str.strip_prefix('{"_":').str.strip_suffix("}")
