"""Recount: what requests of the original would say in a release, for the judge alone.

It shares no code with the model of pages or with the rooms that read hosts and agents: a host is cut out of a referrer
here, and ua-parser is asked here. What a released row says is one column for each detail, empty where it does not stay.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

import polars as pl

from coterie.core.log import Log
from coterie.core.shapes import Shape
from coterie.promises._checks import level_of

if TYPE_CHECKING:
    from ua_parser import Parser

PATH, WHO, ROW = "_path", "_who", "_row"
_OF = "_of"
_REST = "/*"  # how a prefix ends
_BOUNDS = {"_kind": pl.UInt32, "crowd": pl.UInt32, "rows": pl.UInt32}
_HOUR, _DAY = "hour", "day"
_COLUMNS = {"referrer": "referrer", "browser": "agent"}
_UNITS = {_HOUR: "1h", _DAY: "1d"}
_LONGEST_AGENT = 1_000  # what follows is not looked at
UNKNOWN = "other"
"""What stands for a browser, a system or a version that is not known."""
_NOT_IN_A_HOST = frozenset("\\:\"'<>()[]{}|^`,;=%&*!$+~")


def column_of(detail: str, shape: Shape) -> str:
    """The column in which a detail is released."""
    return shape.time if detail in _UNITS else _COLUMNS.get(detail, detail)


def said(rows: pl.LazyFrame, shape: Shape, details: Sequence[str]) -> pl.LazyFrame:
    """What released rows say: their path, and each detail."""
    values = {detail: pl.col(column_of(detail, shape)) for detail in details}
    if _HOUR in values and _DAY in values:
        is_day = level_of(shape) == _DAY
        values[_HOUR] = pl.when(~is_day).then(shape.time)
        values[_DAY] = pl.when(is_day).then(shape.time)
    return rows.select(pl.col(shape.item).alias(PATH), *(value.alias(detail) for detail, value in values.items()))


def had(original: Log, details: Sequence[str]) -> pl.LazyFrame:
    """What requests of the original could say: row, who, path and each detail, as fine as a release may have it."""
    shape, frame = original.shape, original.frame
    columns = [pl.col("row").alias(ROW), pl.col(shape.subject).alias(WHO), pl.col(shape.item).alias(PATH)]
    readers: Mapping[str, Callable[[str], str | None]] = {"referrer": host, "browser": family}
    for detail in details:
        column = pl.col(column_of(detail, shape))
        if detail in _UNITS:
            columns.append(column.dt.truncate(_UNITS[detail]).alias(detail))
        elif detail in readers:
            frame = with_reading(frame, column_of(detail, shape), f"_{detail}", readers[detail])
            columns.append(pl.col(f"_{detail}").alias(detail))
        else:
            columns.append(column.alias(detail))
    return frame.select(columns)


def with_reading(
    frame: pl.LazyFrame, column: str, name: str, read: Callable[[str], str | None]
) -> pl.LazyFrame:  # fmt: skip
    """Rows with what is read from a column; each text in it is read once."""
    texts = frame.select(column).drop_nulls().unique().collect(engine="streaming")
    readings = texts.with_columns(pl.Series(name, [read(text) for text in texts[column]], dtype=pl.String))
    return frame.join(readings.lazy(), on=column, how="left")


def host(referrer: str) -> str | None:
    """The host that a referrer names, in lower case; None where it names none."""
    scheme, slashes, rest = referrer.lower().partition("//")
    letters = scheme.removesuffix(":")
    absolute = slashes and (not scheme or (scheme.endswith(":") and _is_scheme(letters)))
    text = rest if absolute else referrer.lower()
    for mark in "/?#":
        text = text.partition(mark)[0]
    text = text.rpartition("@")[2]
    before, colon, port = text.rpartition(":")
    if colon and all(digit in "0123456789" for digit in port):
        text = before
    text = text.strip(". ")
    strange = any(letter in _NOT_IN_A_HOST or letter.isspace() for letter in text)
    return None if strange or not text else text


def _is_scheme(letters: str) -> bool:
    """Whether letters (of a lower-case text) can stand before `://`."""
    plain = "abcdefghijklmnopqrstuvwxyz"
    return letters[:1] in plain and letters != "" and all(letter in plain + "0123456789+.-" for letter in letters)


@cache
def _parser() -> Parser:
    from ua_parser import Parser, load_lazy_builtins
    from ua_parser.regex import Resolver

    return Parser(Resolver(load_lazy_builtins()))


def family(agent: str) -> str:
    """The family of the browser that an agent names."""
    found = _parser().parse_user_agent(agent[:_LONGEST_AGENT])
    return UNKNOWN if found is None else _told(found.family)


def browser_and_system(agent: str) -> tuple[str, str, str, str]:
    """Browser, its version, system and its version."""
    seen = agent[:_LONGEST_AGENT]
    browser, system = _parser().parse_user_agent(seen), _parser().parse_os(seen)
    numbers = [] if system is None else [number for number in (system.major, system.minor) if number]
    return (
        UNKNOWN if browser is None else _told(browser.family),
        UNKNOWN if browser is None else _told(browser.major or ""),
        UNKNOWN if system is None else _told(system.family),
        _told(".".join(numbers)),
    )


def _told(text: str) -> str:
    """A label in lower case and with single spaces, or what stands for none."""
    return " ".join(text.lower().split()) or UNKNOWN


def generalizes(wide: pl.Expr, path: pl.Expr) -> pl.Expr:
    """Whether one path stands for another: it is the same, or the same without `?...`, or a prefix by segments."""
    page = _page(path)
    prefix = wide.str.ends_with(_REST) & page.str.starts_with(wide.str.strip_suffix("*"))
    return (wide == path) | (wide == page) | prefix


def could_say(visits: pl.DataFrame, rows: pl.DataFrame, details: Sequence[str]) -> pl.DataFrame:
    """released, crowd, rows: how often each distinct row is released, and the visitors and requests it can mean.

    A detail that a row does not have can be any. So the last two are upper bounds: a request is counted for every row
    that can mean it.
    """
    kinds = rows.group_by(PATH, *details).agg(pl.len().alias("released")).with_row_index("_kind")
    levels = _levels(visits[PATH].unique(), kinds[PATH].unique())
    given = [pl.col(detail).is_not_null() for detail in details]
    meant = []
    for mask, alike in kinds.group_by(given or [pl.lit(True)]):
        present = [detail for detail, there in zip(details, mask, strict=False) if there]
        kept = visits.group_by(WHO, pl.col(PATH).alias(_OF), *present).agg(pl.len().alias("rows")).join(levels, on=_OF)
        kept = kept.join(alike.select("_kind", PATH, *present), on=[PATH, *present])
        crowd = pl.col(WHO).drop_nulls().n_unique().alias("crowd")
        meant.append(kept.group_by("_kind").agg(crowd, pl.col("rows").sum()))
    counted = pl.concat(meant) if meant else pl.DataFrame(schema=_BOUNDS)
    both = kinds.join(counted, on="_kind", how="left")
    return both.select("released", pl.col("crowd", "rows").fill_null(0))


def _levels(paths: pl.Series, released: pl.Series) -> pl.DataFrame:
    """_of, _path: which released paths stand for which of these."""
    table = paths.alias(_OF).to_frame().with_columns(_page(pl.col(_OF)).alias("_page"))
    segments = pl.col("_page").str.split("/")
    prefixes = released.filter(released.str.ends_with(_REST))
    depths = prefixes.str.count_matches("/", literal=True).unique().sort()
    levels = [pl.col(_OF), pl.col("_page")]
    for depth in depths:
        prefix = segments.list.head(depth).list.join("/") + _REST
        levels.append(pl.when(segments.list.len() > depth).then(prefix))
    reached = pl.concat([table.select(_OF, level.alias(PATH)) for level in levels]).drop_nulls().unique()
    return reached.join(released.to_frame(PATH), on=PATH, how="semi")


def _page(path: pl.Expr) -> pl.Expr:
    """A path without what follows the question mark."""
    return path.str.split_exact("?", 1).struct.field("field_0")
