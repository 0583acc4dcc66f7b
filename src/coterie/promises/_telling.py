"""Further columns that tell who a row came from: the user again, or values that stand for one user each.

Where everything that was logged is kept, nobody counts what accompanies a query. A column that is the user, or a hash
of the user, would then name everybody under a promise that says no row does. One odd row must not hide that: what
counts is how many rows and users have a value that one user alone has.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from coterie.core.log import Log
from coterie.core.promise import Case, Check
from coterie.promises._checks import judged, not_checked

_FEW = 5  # users with values of their own: so many may be chance in a small log, or somebody's odd device
_MOST_ALONE = 0.25  # of rows, and of users: usual details are far below it, whatever stands for users is far above
_SHORTEST_NAME = 3  # characters of a name that is looked for as a word inside of a value
_LONG_NAME = 6  # characters of a name that is looked for anywhere in it
_MOST_BY_CHANCE = 0.01  # of rows: a name of digits alone may also be a version, a size or a place
_NO_WORD = r"[^\p{L}\p{N}]+"


def telling(case: Case) -> Iterator[Check]:
    """No further detail names the user of its row, or stands for one; what was read from the log is looked at."""
    further = case.shape.further
    if not further or not case.shape.subject:
        return
    detail = (
        f"no further detail ({', '.join(further)}) is the user of its row or has that name in it, and values that one "
        f"user alone has are those of at most {_MOST_ALONE:.0%} of rows and users, or of fewer than {_FEW} users"
    ).replace("%", " %")
    if case.original is None:
        yield not_checked("telling", detail)
        return
    found = [_found(case, case.original, name) for name in further]
    yield judged(
        "telling",
        sum(_tells(each) for each in found),
        detail,
        fault="of them tell who a row came from; leave them out of --details, or use --attrs common",
        looked_at=len(further),
        how=f"one user alone has the value of {max(_alone(each) for each in found):.0%} of rows".replace("%", " %"),
        needs_original=True,
    )


def _tells(found: dict[str, int]) -> bool:
    several = found["own_users"] >= _FEW
    alone = _alone(found) > _MOST_ALONE or found["own_users"] > _MOST_ALONE * found["users"]
    numbered = found["numbered"] > _MOST_BY_CHANCE * found["rows"]
    return found["same"] > 0 or found["named"] > 0 or numbered or (several and alone)


def _alone(found: dict[str, int]) -> float:
    return found["alone"] / found["rows"] if found["rows"] else 0.0


def _found(case: Case, original: Log, name: str) -> dict[str, int]:
    """Of the rows with a value: how many are of what kind, how many users have them, and values of their own."""
    subject = original.shape.subject

    def by_value(rows: pl.LazyFrame) -> pl.LazyFrame:
        """The rows of each user, counted; all rows of a value are here."""
        known = rows.select(pl.col(subject).alias("user"), pl.col(name).alias("value")).drop_nulls()
        pairs = known.group_by("user", "value").len("n").with_columns(pl.col("n").cast(pl.Int64))
        # By chance a value has the name of somebody in it who has it, too ("chrome"); its rows are mostly of others.
        mostly = 2 * pl.col("n").filter(_named()).sum().over("value") > pl.col("n").sum().over("value")
        kinds = {
            "rows": pl.lit(True), "same": _plain("user") == _plain("value"), "alone": pl.len().over("value") == 1,
            "named": _named() & mostly & ~_of_digits(), "numbered": _named() & mostly & _of_digits(),
        }  # fmt: skip
        kind_of = pairs.with_columns(**kinds)
        return kind_of.group_by("user").agg(pl.col("n").filter(pl.col(kind)).sum().alias(kind) for kind in kinds)

    def by_user(rows: pl.LazyFrame) -> pl.LazyFrame:
        each = rows.group_by("user").agg(pl.all().sum())
        own = (pl.col("alone") > _MOST_ALONE * pl.col("rows")).cast(pl.Int64).sum().alias("own_users")
        return each.select(own, pl.len().cast(pl.Int64).alias("users"), pl.exclude("user").sum())

    of_users = case.engine.blocks(original.frame, by_value, [name])
    return case.engine.small(case.engine.blocks(of_users, by_user, ["user"])).sum().row(0, named=True)


def _named() -> pl.Expr:
    """Whether the name of the user stands in the value: as a word, or anywhere if it is long."""
    user, value = _words("user"), _words("value")
    length = user.str.len_chars()
    as_word = (" " + value + " ").str.contains(" " + user + " ", literal=True) & (length >= _SHORTEST_NAME)
    return as_word | (value.str.contains(user, literal=True) & (length >= _LONG_NAME))


def _of_digits() -> pl.Expr:
    return ~_words("user").str.contains(r"\p{L}")


def _plain(column: str) -> pl.Expr:
    return pl.col(column).str.strip_chars().str.to_lowercase()


def _words(column: str) -> pl.Expr:
    return pl.col(column).str.to_lowercase().str.replace_all(_NO_WORD, " ").str.strip_chars()
