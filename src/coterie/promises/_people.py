"""People: who stands behind the names of a release, found out from the run's seed and the original.

Names in a release can be counted by anyone, and anyone can invent them. With the private run record a judge computes
the names again that people of the original must have got, with code of its own, and then looks at what these people
typed. Of the record only the seed and what the names are keyed by are taken; a wrong seed gives names that nobody has.

What can be seen is the share of a profile that strings of one person make up. A profile has as many rows as its people
have on average, and each gives to it in proportion to their rows; so one who alone typed much more of it than that is
not hidden among others, and a profile that is longer or shorter was made in another way. Chance is allowed for, as
methods choose among strings that people typed equally often. Where the run set a largest share, nobody may have given
more, and what was above it is due to the others, as far as they have rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil, floor

import numpy as np
import polars as pl

from coterie.core.log import Log
from coterie.core.promise import Case, Check, Kind, k_of, to_dict
from coterie.core.shapes import Shape
from coterie.promises._checks import Question, count, level_of, numbers
from coterie.promises._names import behind_names, is_known, needed_to_know, subjects_of, unlike_record
from coterie.promises._phrase_recount import TypedQueries, numbered, unlike_profiles
from coterie.text.hosts import host_labels, host_of
from coterie.text.language import language_in

_CHANCE = 3.0  # standard deviations
_MOST_EXCESS = 0.2  # of the strings of all profiles together
_MOST_OFF = 1.0  # rows that a profile may have more or fewer than its people have on average
_FEW_STRINGS = 50  # too few to tell somebody's own from chance
_FEW_TIMES = 20  # exact times too few to tell averages from what one person did
_LARGEST = {
    "group": pl.UInt32, "length": pl.Int64, "strings": pl.Int64, "excess": pl.Float64, "alone": pl.Boolean,
    "share": pl.Float64, "odd": pl.Boolean,
}  # fmt: skip
_AVERAGES = ("strange", "of_one", "exact", "own", "months", "given", "fine", "at_one", "beside_one")
_ADDED = ("untyped", "rows", *_AVERAGES)
_CUTS = {"week": ("1w", "1mo"), "quarter": ("1q", "1q")}
"""By the finest time, where that is not a day: what a time is cut to, and the first of a month."""
_FINER_THAN_MONTHS = ("week", "day", "hour")
_UNITS = {"week": "1w", "day": "1d", "hour": "1h"}
_OWN_TIMES = 0.25  # the share of exact times that may be one person's by chance
_OWN_CUTS = {"week": 0.1, "day": 0.2, "hour": 0.05}  # the same, beyond how often what is just before or after is


# --- profiles -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class _Groups:
    """The people behind each profile, what they typed, and the rows of each profile once."""

    people: pl.DataFrame
    """group, name, user; nobody where a name is nobody's."""
    typed: pl.LazyFrame
    """group, user and the columns of the original."""
    profiles: pl.LazyFrame
    """group and the columns of the release."""


def people(case: Case, profiles: pl.LazyFrame, *, made_of: Kind, times: str = "") -> Iterator[Check]:
    """The names behind each profile (subject, and what stands for its rows) are people, and it is made of all of them.

    `made_of`: what was typed is looked for in what its people typed, parts of it inside of that, concepts not at all.
    `times`: the finest time that is promised, where one is.
    """
    names = count(profiles.select(pl.len()))
    if case.original is None or not is_known(case):
        yield _names_alone(case, names)
        return
    groups = _groups(case, case.original, profiles)
    strangers = groups.people["user"].null_count()
    detail = "each name is that of one user of the original, as the run's seed and its record give it"
    known = Question("people", detail, "names are not, or are others in the record", original=True, carries=True)
    yield known.answered(strangers + unlike_record(case, groups.people, "user"), names)
    if made_of == "concepts":
        return
    if made_of == "text":
        yield from _made_of_text(case, case.original, groups, times)
    else:
        yield from _made_of_phrases(case, case.original, groups)


def _made_of_phrases(case: Case, original: Log, groups: _Groups) -> Iterator[Check]:
    rows = _rows_of_profiles(groups.profiles, case.shape)
    strings = _phrases_of(TypedQueries.of(case, original), groups.people, rows)
    chosen = rows.lazy().join(strings, on=["group", "item"], how="left").collect(engine="streaming")
    untyped = int(chosen.filter(pl.col("users").is_null())["rows"].sum())
    yield _typed(case, untyped, int(chosen["rows"].sum()), ", as part of a query")
    yield _several(chosen)
    yield _shared_out(case, original, groups, chosen)


def _made_of_text(case: Case, original: Log, groups: _Groups, times: str) -> Iterator[Check]:
    """Each group is looked at by itself, wherever its rows are; what was found is put together here."""
    shape, before, max_share = case.shape, original.shape, _max_share(case)

    def look(typed: pl.LazyFrame, profiles: pl.LazyFrame) -> pl.LazyFrame:
        return _looked_at(typed, profiles, shape, before, max_share, times).lazy()

    found = case.engine.small(case.engine.blocks(groups.typed, look, ["group"], groups.profiles))
    of_groups, numbers = found.drop_nulls("length"), found.filter(pl.col("length").is_null()).sum()
    untyped, rows = numbers.select("untyped", "rows").row(0)
    yield _typed(case, int(untyped), int(rows))
    yield _shares(of_groups)
    yield from _averages(numbers.row(0, named=True), times)


def _looked_at(
    typed: pl.LazyFrame, profiles: pl.LazyFrame, shape: Shape, before: Shape, max_share: float, times: str
) -> pl.DataFrame:
    """A row for each group about shares, and a row with numbers that can be added up; the other columns are null."""
    theirs = typed.select("group", "user", pl.col(before.item).alias("item"))
    rows = _rows_of_profiles(profiles, shape)
    chosen = rows.lazy().join(_owned(theirs, "item"), on=["group", "item"], how="left").collect(engine="streaming")
    untyped = chosen.filter(pl.col("users").is_null())["rows"].sum()
    numbers = {
        "untyped": int(untyped),
        "rows": int(chosen["rows"].sum()),
        **_average_numbers(typed, profiles, shape, before, times),
    }
    added = pl.DataFrame({name: [number] for name, number in numbers.items()}, schema=dict.fromkeys(_ADDED, pl.Int64))
    largest = _largest(typed, chosen, max_share).select(pl.col(name).cast(dtype) for name, dtype in _LARGEST.items())
    return pl.concat([largest, added], how="diagonal").select(*_LARGEST, *_ADDED)


def _rows_of_profiles(profiles: pl.LazyFrame, shape: Shape) -> pl.DataFrame:
    """group, item, rows."""
    return profiles.group_by("group", pl.col(shape.item).alias("item")).len("rows").collect(engine="streaming")


def _typed(case: Case, untyped: int, rows: int, how: str = "") -> Check:
    detail = f"every {case.shape.item} of a profile was typed by somebody behind it{how}"
    return Question("typed", detail, "rows of profiles were not", original=True, carries=True).answered(untyped, rows)


def _names_alone(case: Case, names: int) -> Check:
    if case.original is not None:
        users = subjects_of(case, case.original).len()
        if names > users:
            detail = "no more names than users in the original"
            return Question("people", detail, "names are too many", original=True).answered(names - users, names)
    counted = Question("people", "k names were counted, not k people", carries=not case.foreign)
    return counted.open(needed_to_know(case))


def _groups(case: Case, original: Log, profiles: pl.LazyFrame) -> _Groups:
    subject, name = original.shape.subject, case.shape.subject
    known, first = behind_names(case, original, profiles, "user")
    behind = known.select("group", "user").drop_nulls().rename({"user": subject}).lazy()
    typed = case.engine.join(original.frame, behind, [subject])
    return _Groups(
        people=known,
        typed=case.engine.each(typed, lambda rows: rows.rename({subject: "user"})),
        profiles=case.engine.join(case.rows, first.rename({"name": name}), [name]),
    )


def _owned(typed: pl.LazyFrame, what: str) -> pl.LazyFrame:
    """group, what, users, owner: whether one of a group has something (group, user, what) or more, and the first."""
    each = typed.group_by("group", what).agg(pl.col("user").min().alias("owner"), pl.col("user").max().alias("last"))
    users = pl.when(pl.col("owner") == pl.col("last")).then(1).otherwise(2)
    return each.select("group", what, users.alias("users"), "owner")


def _phrases_of(typed: TypedQueries, people: pl.DataFrame, profiles: pl.DataFrame) -> pl.LazyFrame:
    """group, item, users, owner: for phrases of profiles (group, item), in the queries of which people they stand.

    `people` has group and user; `users` is 2 where there are more.
    """
    phrases = profiles["item"].unique()
    known = typed.people.to_frame("user").join(people.drop_nulls("user"), on="user", how="left", maintain_order="left")
    group = known["group"].cast(pl.Int64).fill_null(-1).to_numpy()
    texts = numbered(phrases, "phrase").rename({"text": "item"})
    wanted = profiles.select("group", "item").join(texts, on="item")
    pair = pl.col("group").cast(pl.Int64) * phrases.len() + pl.col("phrase")
    first, last = typed.owners_in(group, wanted.select(pair).to_series().to_numpy(), phrases)
    owners = wanted.select("group", "item").with_columns(
        pl.Series("users", np.where(first == last, 1, 2), dtype=pl.UInt32), pl.Series("owner", first)
    )
    return owners.filter(pl.col("owner") >= 0).lazy()


def _shared_out(case: Case, original: Log, groups: _Groups, chosen: pl.DataFrame) -> Check:
    """Profiles of phrases are the mean of what their people's queries are cut into."""
    detail = "a profile has the mean of its users' shares of phrases"
    shared = Question("shared", detail, "profiles have others", original=True, carries=True)
    m = next((number for promise in case.promised if (number := to_dict(promise).get("m"))), None)
    if m is None:
        return shared.open("the promise phrase_users beside this one")
    people = _parted(case, groups.people).drop_nulls()
    parts = people.select("group", "part").unique()
    chosen = chosen.join(parts, on="group").drop("group").rename({"part": "group"})
    people = people.select("user", group="part")
    typed = groups.typed.select("user", pl.col(original.shape.item).alias("item")).join(people.lazy(), on="user")
    spoken = language_in(case.run.get("parameters", {}))
    everything = TypedQueries.of(case, original)
    seed = case.run["seed"]
    return shared.answered(*unlike_profiles(chosen, typed, people, everything, m, spoken.stop_words, seed))


def _parted(case: Case, people: pl.DataFrame) -> pl.DataFrame:
    """group, user, part: groups that happen to have the same profile, told apart as the record tells them.

    The record is believed only where each part of a group is large enough to be one.
    """
    subjects = case.table("subjects", {"released": pl.String, "group": pl.UInt32}, nullable=("released", "group"))
    k = k_of(case.promised) or 0
    said = people.with_columns(said=pl.lit(None, pl.UInt32))
    if subjects is not None:
        numbers = subjects.drop_nulls("released").unique("released").select(name="released", said="group")
        said = people.join(numbers, on="name", how="left")
    whole = (pl.col("user").count().over("group", "said") < k).any().over("group")
    part = pl.struct("group", pl.when(~whole).then("said")).rank("dense")
    return said.select("group", "user", part=part.cast(pl.UInt32))


def _several(chosen: pl.DataFrame) -> Check:
    """No profile that stands in the queries of one user alone."""
    own = chosen.with_columns(pl.when(pl.col("users") == 1).then("owner").alias("owner"))
    rows = own.group_by("group", "owner").agg(pl.col("rows").sum())
    each = rows.with_columns((100 * pl.col("rows") / pl.col("rows").sum().over("group")).alias("share"))
    largest = each.group_by("group").agg(pl.col("share").filter(pl.col("owner").is_not_null()).max().fill_null(0))
    shares = largest["share"]
    several = Question(
        "shares", "no profile stands in the queries of one user alone", "profiles do", original=True, carries=True
    )
    return several.answered(int((shares == 100).sum()), shares.len(), how=_contributed("has", shares))


def _contributed(verb: str, shares: pl.Series) -> str:
    """How much of a profile one user alone contributed."""
    median, most = (0.0, 0.0) if shares.is_empty() else (float(shares.median()), float(shares.max()))  # type: ignore[arg-type]
    return f"the largest contributor alone {verb} {median:.0f} % of a profile in the median, {most:.0f} % at most"


def _max_share(case: Case) -> float:
    """The largest share of a profile that one person may give, as the run set it."""
    params = case.run.get("parameters")
    share = params.get("max_share") if isinstance(params, Mapping) else None
    return float(share) if isinstance(share, int | float) else 1.0


def _dues(sizes: pl.DataFrame, max_share: float) -> pl.DataFrame:
    """What is due of a profile to each of its people, from group, user and size: due, most, and their sum, `wanted`."""
    mean = pl.col("size").mean().over("group")
    share = pl.col("size") / pl.col("size").sum().over("group")
    if max_share >= 1:
        return sizes.with_columns((mean * share).alias("due"), mean.alias("most"), mean.alias("wanted"))
    parts = []
    for (_,), people in sizes.group_by("group", maintain_order=True):
        due, most = _limited(people["size"].to_list(), max_share)
        parts.append(people.with_columns(pl.Series("due", due), pl.lit(float(most)).alias("most")))
    limited = pl.concat([sizes.clear().with_columns(pl.lit(0.0).alias("due"), pl.lit(0.0).alias("most")), *parts])
    return limited.with_columns(pl.col("due").sum().over("group").alias("wanted"))


def _limited(sizes: list[int], max_share: float) -> tuple[list[float], int]:
    """What is due to people with so many rows if none may give more than a share, or an equal part; and that limit.

    The profile is as long as these have rows on average, or as long as it can be.
    """

    def most(length: int) -> int:
        return max(floor(length * max_share + 1e-9), ceil(length / len(sizes)))

    length = floor(sum(sizes) / len(sizes) + 0.5)
    while sum(min(size, most(length)) for size in sizes) < length:
        length -= 1
    due, left, rows = [0.0] * len(sizes), float(length), sum(sizes)
    for i in sorted(range(len(sizes)), key=lambda i: min(1.0, most(length) / sizes[i])):  # who is at the limit first
        due[i] = float(min(sizes[i], most(length), left * sizes[i] / rows))
        left, rows = left - due[i], rows - sizes[i]
    return due, most(length)


def _largest(typed: pl.LazyFrame, chosen: pl.DataFrame, max_share: float) -> pl.DataFrame:
    """Of each group: rows and strings of its profile, whether that is longer or shorter than its people's rows on
    average, and of the one who alone typed most of it how much that is, and how much too much."""
    sizes = _dues(typed.group_by("group", "user").len("size").collect(engine="streaming"), max_share)
    lengths = chosen.group_by("group").agg(pl.col("rows").sum().alias("length"), pl.len().alias("strings"))
    # Whoever makes a profile chooses its length, so what is due to each follows from what they typed, and not from it.
    lengths = lengths.join(sizes.group_by("group").agg(pl.col("wanted").first()), on="group", how="left")
    odd = ((pl.col("length") - pl.col("wanted")).abs() > _MOST_OFF).fill_null(True)
    alone = chosen.filter(pl.col("users") == 1).group_by("group", pl.col("owner").alias("user"))
    each = alone.agg(pl.len().alias("own"), pl.col("rows").sum().alias("own_rows"))
    each = each.join(sizes, on=["group", "user"]).join(lengths, on="group")
    excess = (pl.col("own") - 1 - pl.col("due")).clip(lower_bound=0)
    above = pl.col("own_rows") > pl.col("most") if max_share < 1 else pl.lit(False)
    each = each.with_columns(
        excess.alias("excess"), (above | (excess > _CHANCE * (pl.col("due") + 1).sqrt())).alias("alone"),
        (100 * pl.col("own_rows") / pl.col("length")).alias("share"),
    )  # fmt: skip
    largest = each.group_by("group").agg(pl.col("excess").max(), pl.col("alone").any(), pl.col("share").max())
    largest = lengths.join(largest, on="group", how="left").with_columns(odd.alias("odd"))
    return largest.fill_null(strategy="zero").with_columns(pl.col("alone").cast(pl.Boolean).fill_null(False))


def _shares(largest: pl.DataFrame) -> Check:
    """Nobody alone typed much more of a profile than their share of what its people typed."""
    broken = int((largest["alone"] | largest["odd"]).sum())
    excess_of_all, strings = float(largest["excess"].sum()), int(largest["strings"].sum())
    if strings >= _FEW_STRINGS and excess_of_all > _MOST_EXCESS * strings:
        broken = max(broken, int((largest["excess"] > 0).sum()))
    due = Question(
        "shares",
        "a profile is as long as its users' rows on average, and nobody alone typed much more of it than their share",
        "profiles are mostly one user's, or longer or shorter",
        original=True,
        carries=True,
    )
    return due.answered(broken, largest.height, how=_contributed("typed", largest["share"]))


def _average_numbers(
    typed: pl.LazyFrame, profiles: pl.LazyFrame, shape: Shape, before: Shape, times: str
) -> dict[str, int]:
    """How many rows of profiles have times, ranks or hosts, and of how many what cannot be an average, or is one's."""
    columns = {"time": shape.time, "rank": shape.rank, "host": shape.page}
    released = [_column(role, name) for role, name in columns.items()]
    rows = profiles.select("group", pl.col(shape.item).alias("item"), *released, level_of(shape).alias("level"))
    given = rows.filter(pl.any_horizontal(pl.col(*columns).is_not_null())).collect(engine="streaming")
    if given.is_empty():
        return dict.fromkeys(_AVERAGES, 0)
    had = typed.select(
        "group", "user", pl.col(before.item).alias("item"), _column("time", before.time),
        _column("rank", before.rank), _column("page", before.page),
    )  # fmt: skip
    limits = had.group_by("group").agg(
        pl.col("time").min().alias("from"), pl.col("time").max().alias("to"),
        pl.col("rank").min().alias("lowest"), pl.col("rank").max().alias("highest"),
    )  # fmt: skip
    day, month = pl.col("time").dt.truncate("1d").alias("day"), pl.col("time").dt.truncate("1mo").alias("month")
    coarse = pl.col("level").is_in(["month", "quarter"]).fill_null(False)
    coarse = pl.when(pl.col("time").is_not_null()).then(coarse)  # what has no time is neither a month nor finer
    given = given.with_columns(day, month, coarse.alias("whole_month"))
    given = given.join(limits.collect(engine="streaming"), on="group", how="left")
    by_time = ("by_time", ["group", "time"], had)
    if times == "hour":
        by_time = ("by_time", ["group", "item", "time"], had.with_columns(pl.col("time").dt.truncate("1h")))
    for crowd, key, owned in (
        ("by_day", ["group", "item", "day"], had.with_columns(day)),
        ("by_month", ["group", "item", "month"], had.with_columns(month)),
        ("by_item", ["group", "item"], had),
        by_time,
        ("by_rank", ["group", "rank"], had),
        ("by_host", ["group", "host"], _hosts(had)),
    ):
        wanted = given.lazy().select(key).drop_nulls().unique()
        owners = owned.join(wanted, on=key, how="semi").group_by(key).agg(pl.col("user").n_unique().alias(crowd))
        given = given.join(owners.collect(engine="streaming"), on=key, how="left")
    is_hour = (pl.col("level") == "hour").fill_null(False)
    exact, whole_month = (pl.col("time") != pl.col("day")) | is_hour, pl.col("whole_month")
    unit, whole = _CUTS.get(times, ("1d", "1mo"))
    earliest = pl.when(whole_month).then(pl.col("from").dt.truncate(whole)).otherwise(pl.col("from").dt.truncate(unit))
    strange = (
        ~pl.col("time").is_between(earliest, "to"), ~pl.col("rank").is_between("lowest", "highest"),
        pl.col("host").is_not_null() & (pl.col("by_host").fill_null(0) < 2),
        ~whole_month & (pl.col("by_item") == 1) & pl.lit(times in _FINER_THAN_MONTHS),
    )  # fmt: skip
    of_one = (
        exact & (pl.col("by_time") == 1), ~exact & ~whole_month & (pl.col("by_day") == 1), pl.col("by_rank") == 1,
    )  # fmt: skip
    return given.select(
        pl.any_horizontal(*(each.fill_null(False) for each in strange)).sum().alias("strange"),
        pl.any_horizontal(*(each.fill_null(False) for each in of_one)).sum().alias("of_one"),
        exact.sum().alias("exact"), (of_one[0] & pl.lit(times == "")).sum().alias("own"),  # an hour is no exact time
        (whole_month & (pl.col("by_month") == 1)).sum().alias("months"),
        pl.len().alias("given"),
    ).row(0, named=True) | _of_one_at(given, had, times)  # fmt: skip


def _of_one_at(given: pl.DataFrame, had: pl.LazyFrame, times: str) -> dict[str, int]:
    """How many hours (days, weeks) there are, at how many one person alone typed the query, but not just before or
    after, and the other way around.

    An average may fall on such an hour by chance, and as easily on the one before or after it. Who takes hours from
    one person hits them, and what is beside them no more often than before.
    """
    if times not in _UNITS:
        return {"fine": 0, "at_one": 0, "beside_one": 0}
    unit, key = _UNITS[times], ["group", "item", "time"]
    fine = given.lazy().filter(~pl.col("whole_month")).select(key).unique()
    users = had.select("user", "group", "item", pl.col("time").dt.truncate(unit)).group_by(key)
    one = users.agg(pl.col("user").n_unique().alias("users")).filter(pl.col("users") == 1)
    for name, by in (("at", "0h"), ("before", unit), ("after", f"-{unit}")):
        fine = fine.join(one.select("group", "item", pl.col("time").dt.offset_by(by), pl.lit(True).alias(name)),
                         on=key, how="left")  # fmt: skip
    at, beside = pl.col("at").is_not_null(), pl.col("before").is_not_null() | pl.col("after").is_not_null()
    found = fine.select(fine=pl.len(), at_one=(at & ~beside).sum(), beside_one=(beside & ~at).sum())
    return numbers(found).row(0, named=True)


def _averages(found: Mapping[str, int], times: str) -> Iterator[Check]:
    """Times, ranks and hosts are averages of what the people behind a profile had; how many come from one of them."""
    given = int(found["given"])
    if not given:
        return
    broken, months = int(found["strange"]), 100 * found["months"] / given
    if found["exact"] >= _FEW_TIMES and found["own"] > _OWN_TIMES * found["exact"]:
        broken = max(broken, int(found["own"]))
    at, beside = int(found["at_one"]), int(found["beside_one"])
    if at - beside > _CHANCE * (at + beside + 1) ** 0.5 + _OWN_CUTS.get(times, 0) * found["fine"]:
        broken = max(broken, at)
    detail = "times, ranks and hosts of a profile are averages over users behind it"
    if times in _FINER_THAN_MONTHS:
        detail += f", a query of one of them has at most its month, and others rarely the {times} of one of them"
    how = f"{100 * found['of_one'] / given:.0f} % of these rows have a day, time or rank that one of them alone had"
    how += f", {months:.0f} % a month in which one of them alone typed the query" if months else ""
    averages = Question("averages", detail, "rows have what is none", original=True, carries=True)
    yield averages.answered(broken, given, how=how)


def _column(role: str, name: str | None) -> pl.Expr:
    """What has a role in a shape; nothing where no column has it."""
    types = {"time": pl.Datetime("us"), "rank": pl.Int32()}
    return (pl.col(name) if name else pl.lit(None, types.get(role, pl.String()))).alias(role)


def _hosts(had: pl.LazyFrame) -> pl.LazyFrame:
    """group, user, host: the hosts of clicked pages, and whatever they end in."""
    pages = had.select("page").drop_nulls().unique().collect(engine="streaming")["page"].to_list()
    ends = [(page, _ends(page)) for page in pages]
    table = pl.LazyFrame(ends, schema={"page": pl.String, "host": pl.List(pl.String)}, orient="row").explode("host")
    return had.select("group", "user", "page").join(table.drop_nulls(), on="page").select("group", "user", "host")


def _ends(page: str) -> list[str]:
    labels = host_labels(host) if (host := host_of(page)) else []
    return [".".join(reversed(labels[:depth])) for depth in range(1, len(labels) + 1)]
