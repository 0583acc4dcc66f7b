"""Values of any sensible type -> the types of a shape. What cannot be converted becomes null."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from coterie.core.shapes import TIME
from coterie.reading.source import breaks_to_spaces

_PLAIN = "%Y-%m-%d %H:%M:%S"
_ZONED = "%Y-%m-%d %H:%M:%S%.f%#z"
_FORMATS = ("%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M", "%Y-%m-%d")
_CLOCKS = (" %H:%M:%S%.f", " %H:%M", "")
_DOTTED = r"^[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{4}(?: |$)"
_YEAR_FIRST = r"^[0-9]{4}/[0-9]{1,2}/[0-9]{1,2}(?: |$)"
_SLASHED = r"^[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}(?: |$)"
_MONTHS = 12
_OLDEST = 631_152_000  # 1990: smaller numbers of seconds are durations, and no times of logs
_FORMULA = r"^['=+\-@\t\r]"
_SAFE_FORMULA = r"^'['=+\-@\t\r]"
_NUMBER = r"^-?[0-9]+(?:\.[0-9]+)?$"
MOST_WEIGHT = 1e100
"""The largest weight of a term: sums of such numbers are still numbers."""
# Since 1970, by size: as seconds, 1e11 would be the year 5138; and so on.
_UNITS = ((1e11, 1), (1e14, 1e3), (1e17, 1e6), (float("inf"), 1e9))
# Numbers that are dates as people write them: 20060301 and 20060301123000.
_WRITTEN = ((19_000_101, 21_001_231), (19_000_101_000_000, 21_001_231_235_959))


def with_apostrophe(text: pl.Expr) -> pl.Expr:
    """Text that no spreadsheet takes for a formula: an apostrophe stands before what could be one."""
    return pl.when(text.str.contains(_FORMULA)).then(pl.lit("'") + text).otherwise(text).name.keep()


def without_apostrophe(text: pl.Expr) -> pl.Expr:
    """Text as it was before `with_apostrophe`."""
    safe = text.str.contains(_SAFE_FORMULA)
    return pl.when(safe).then(text.str.strip_prefix("'")).otherwise(text).name.keep()


def as_text(value: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Text; tabs and line breaks inside a value become spaces."""
    if dtype.is_float():  # pandas turns whole numbers with gaps into floats
        value = value.fill_nan(None)
        whole = value.cast(pl.Int64, strict=False)
        value = pl.when(whole == value).then(whole.cast(pl.String)).otherwise(value.cast(pl.String))
    elif dtype != pl.String:
        value = value.cast(pl.String, strict=False)
    return breaks_to_spaces(value)


def as_integer(value: pl.Expr, dtype: pl.DataType, target: Any) -> pl.Expr:
    """A whole number; text may have spaces around it, and a `.0` from pandas."""
    if dtype == pl.String:
        text = value.str.strip_chars()
        return pl.coalesce(
            text.cast(target, strict=False),
            text.str.extract(r"^([+-]?[0-9]+)\.0*$").cast(target, strict=False),
        )
    if not (dtype.is_numeric() or dtype == pl.Null):
        return pl.lit(None, dtype=target)
    whole = value.cast(target, strict=False)
    return whole if dtype.is_integer() else pl.when(whole == value).then(whole)


def as_weight(value: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """A number above 0, and none that sums could not hold."""
    if dtype == pl.String:
        value = value.str.strip_chars()
    elif not dtype.is_numeric():
        return pl.lit(None, dtype=pl.Float64)
    number = value.cast(pl.Float64, strict=False)
    return pl.when((number > 0) & (number <= MOST_WEIGHT)).then(number)


def as_time(value: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """A time without a zone; one with a zone is turned to UTC."""
    if isinstance(dtype, pl.Datetime):
        zoned = value.dt.convert_time_zone("UTC") if dtype.time_zone else value
        return zoned.dt.replace_time_zone(None).cast(TIME, strict=False)
    if dtype == pl.Date:
        return value.cast(TIME, strict=False)
    if dtype == pl.String:
        return _time_of_text(value)
    if dtype.is_numeric():
        return _time_of_number(value)
    return pl.lit(None, dtype=TIME)


def missing(value: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Whether a value says nothing, so that it need not be readable."""
    nothing = value.is_null()
    if dtype == pl.String:
        return nothing | (value.str.strip_chars() == "")
    return nothing | value.is_nan() if dtype.is_float() else nothing


def _time_of_text(value: pl.Expr) -> pl.Expr:
    plain = value.str.to_datetime(_PLAIN, time_unit="us", strict=False)
    # The other forms are tried on the values that are not plain: nulls cost next to nothing.
    other = pl.when(plain.is_null()).then(value.str.strip_chars().str.replace(r"[Tt]", " "))
    zoned = other.str.to_datetime(_ZONED, time_unit="us", strict=False, time_zone="UTC")
    number = pl.when(other.str.contains(_NUMBER)).then(other).cast(pl.Float64, strict=False)
    return pl.coalesce(
        plain,
        *(other.str.to_datetime(form, time_unit="us", strict=False) for form in _FORMATS),
        zoned.dt.replace_time_zone(None),
        _time_of_number(number),
        *_written_dates(other),
    )


def slashed(value: pl.Expr) -> pl.Expr:
    """Whether a text is a date with slashes, of which a single one need not show what is the day."""
    return value.str.strip_chars().str.replace(r"[Tt]", " ").str.contains(_SLASHED)


def _written_dates(value: pl.Expr) -> Iterator[pl.Expr]:
    """Dates as people write them: 31.12.2025, 2025/12/31, and with slashes where the column shows what is the day."""
    dotted = pl.when(value.str.contains(_DOTTED)).then(value)
    year_first = pl.when(value.str.contains(_YEAR_FIRST)).then(value)
    slashed = pl.when(value.str.contains(_SLASHED)).then(value)
    first, second = (
        slashed.str.extract(rf"^(?:[0-9]+/){{{n}}}([0-9]+)").cast(pl.Int32, strict=False).max() > _MONTHS
        for n in (0, 1)
    )
    day_first, month_first = pl.when(first & ~second).then(slashed), pl.when(second & ~first).then(slashed)
    days = ((dotted, "%d.%m.%Y"), (year_first, "%Y/%m/%d"), (day_first, "%d/%m/%Y"), (month_first, "%m/%d/%Y"))
    for text, day in days:
        yield from (text.str.to_datetime(day + clock, time_unit="us", strict=False) for clock in _CLOCKS)


def _time_of_number(value: pl.Expr) -> pl.Expr:
    """Seconds, milliseconds, microseconds or nanoseconds since 1970, by their size."""
    number = value.cast(pl.Float64)
    chain: Any = pl
    for low, high in _WRITTEN:
        chain = chain.when(number.is_between(low, high)).then(pl.lit(None, dtype=pl.Float64))
    for limit, unit in _UNITS:
        chain = chain.when(number.abs() < limit).then(number / unit)
    seconds: pl.Expr = chain.otherwise(pl.lit(None, dtype=pl.Float64))
    seconds = pl.when(seconds >= _OLDEST).then(seconds)
    return (seconds * 1_000_000).round().cast(pl.Int64, strict=False).cast(TIME)
