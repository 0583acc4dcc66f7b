"""Tamperings with releases of access logs: rows, walks, tables and records; see `tamperings.py`."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import polars as pl

import coterie
from coterie import api
from coterie.lab.microaggregate_visits.method import MicroaggregateVisits
from coterie.methods.common_visits import CommonVisits
from coterie.methods.count_visits import CountVisits
from coterie.methods.generalize_visits import GeneralizeVisits
from coterie.promises._names import names_of
from tests.attack.tamperings import SEED, Forgery, as_a_name, tampering, write_release

VISITORS = 80
LOG = "visits.log"
_ROW = pl.Series("row", [], dtype=pl.UInt64).dtype


def make_releases(folder: Path) -> None:
    """A release of each method for access logs."""
    from coterie import jobs

    jobs.write_synthetic(folder / LOG, VISITORS, seed=7, kind="visits")
    log = coterie.prepare(coterie.read(folder / LOG))
    for name, method in (
        ("visits.tsv", GeneralizeVisits(k=3)),
        ("walks.tsv", CommonVisits(k=3)),
        ("cells.tsv", CountVisits(k=3)),
        ("records.tsv", MicroaggregateVisits(k=3)),
    ):
        write_release(folder, name, api.anonymize_prepared(log, method, seed=SEED), LOG)


def _visits(f: Forgery) -> pl.DataFrame:
    """The released rows with the row of the original that each was (`row`), and what it had (`..._had`)."""
    became = pl.read_parquet(f.record / "rows.parquet").select("row", pl.col("released_row").cast(pl.UInt32))
    rows = f.rows.with_row_index("released_row").join(became, on="released_row", maintain_order="left")
    return rows.drop("released_row").join(f.original.drop("session", strict=False), on="row", suffix="_had")


def _put_visits(f: Forgery, rows: pl.DataFrame) -> None:
    """Write other rows, and let the record say which row of the original each was (`row`)."""
    shape = f.shape
    rows = rows.sort(shape.order, maintain_order=True)
    f.put(rows)
    became = pl.read_parquet(f.record / "rows.parquet")
    said = rows.select(pl.col("row").cast(became.schema["row"])).with_row_index("released_row")
    said.select(became.columns).cast(became.schema).write_parquet(f.record / "rows.parquet")


def _alone(f: Forgery) -> pl.DataFrame:
    """Rows of the original whose page one visitor alone asked for."""
    return f.original.filter(pl.col("user").n_unique().over("path") == 1).drop_nulls("user")


# --- rows -------------------------------------------------------------------------------------------


@tampering("visits.tsv")
def paths_of_one_visitor(f: Forgery) -> None:
    rows = _visits(f)
    rare = pl.col("row").is_in(_alone(f)["row"].implode())
    _put_visits(f, rows.with_columns(pl.when(rare).then("path_had").otherwise("path").alias("path")))


@tampering("visits.tsv")
def addresses_of_visitors(f: Forgery) -> None:
    rows = _visits(f)
    _put_visits(f, rows.with_columns(pl.col("address_had").alias("address")))


@tampering("visits.tsv")
def whole_agents(f: Forgery) -> None:
    rows = _visits(f)
    told = pl.when(pl.col("agent").is_not_null()).then("agent_had").alias("agent")
    _put_visits(f, rows.with_columns(told))


@tampering("visits.tsv")
def whole_referrers(f: Forgery) -> None:
    rows = _visits(f)
    told = pl.when(pl.col("referrer").is_not_null()).then("referrer_had").alias("referrer")
    _put_visits(f, rows.with_columns(told))


@tampering("visits.tsv")
def minutes_of_visits(f: Forgery) -> None:
    rows = _visits(f)
    _put_visits(f, rows.with_columns(pl.when(pl.col("time").is_not_null()).then("time_had").alias("time")))


@tampering("visits.tsv")
def an_hour_where_a_day_stands(f: Forgery) -> None:
    rows = _visits(f)
    hour = pl.col("time_had").dt.truncate("1h")
    level = pl.lit("hour").alias("time_level")
    _put_visits(f, rows.with_columns(pl.when(pl.col("time").is_not_null()).then(hour).alias("time"), level))


@tampering("visits.tsv")
def sizes_beside_pages(f: Forgery) -> None:
    rows = _visits(f)
    _put_visits(f, rows.with_columns(pl.col("bytes_had").alias("bytes")))


@tampering("visits.tsv")
def names_that_link_rows(f: Forgery) -> None:
    rows = _visits(f)
    names = pl.col("user_had").replace_strict(f.names, default=None)
    _put_visits(f, rows.with_columns(names.alias("user")))


@tampering("visits.tsv")
def a_visit_twice(f: Forgery) -> None:
    rows = _visits(f)
    _put_visits(f, pl.concat([rows, rows[:1]]))


@tampering("visits.tsv")
def a_path_of_one_visitor_said_to_be_of_others(f: Forgery) -> None:
    """Three rows of three visitors become a page that another one alone asked for."""
    rows = _visits(f)
    three = rows.drop_nulls("user_had").unique("user_had", maintain_order=True)["row"][:3]
    page = _alone(f).filter(~pl.col("row").is_in(three.implode()))["path"][0]
    told = pl.when(pl.col("row").is_in(three.implode())).then(pl.lit(page)).otherwise("path").alias("path")
    _put_visits(f, rows.with_columns(told))


@tampering("visits.tsv")
def hosts_of_other_rows(f: Forgery) -> None:
    rows = _visits(f)
    hosts = rows["referrer"].drop_nulls().unique().sort()
    _put_visits(
        f, rows.with_columns(pl.col("referrer").replace(dict(zip(hosts, reversed(hosts.to_list()), strict=True))))
    )


@tampering("visits.tsv")
def rows_of_a_kind_but_one(f: Forgery) -> None:
    rows = _visits(f)
    kind = ["path", "referrer", "agent", "time"]
    first = rows.select(kind)[0]
    same = pl.all_horizontal(pl.col(name).eq_missing(pl.lit(first[name][0], rows.schema[name])) for name in kind)
    _put_visits(f, pl.concat([rows.filter(same)[:1], rows.filter(~same)]))


@tampering("visits.tsv")
def a_record_that_says_nothing_of_a_row(f: Forgery) -> None:
    pl.read_parquet(f.record / "rows.parquet")[1:].write_parquet(f.record / "rows.parquet")


_VISITS_LEFT_OUT = (
    "Rows of `generalize_visits` that are alike may be missing all together, or without one of their details, as "
    "this hides more: only what is there is judged."
)


@tampering("visits.tsv", uncaught=_VISITS_LEFT_OUT)
def visits_left_out(f: Forgery) -> None:
    rows = _visits(f)
    _put_visits(f, rows.filter(pl.col("path") != rows["path"][0]))


# --- walks ------------------------------------------------------------------------------------------


def _put_walks(f: Forgery, walks: list[pl.DataFrame]) -> None:
    """Write walks (position, path, time) under the names that the run gives so many, in the order of pages and days."""
    walks = sorted(walks, key=lambda walk: ("\0".join(walk["path"]), str(walk["time"][0] or "")))
    names = names_of(f.run, map(str, range(len(walks))), f.original["user"].drop_nulls().unique())
    named = [walk.with_columns(pl.lit(name).alias("sequence")) for walk, name in zip(walks, names, strict=True)]
    f.put(pl.concat(named, how="diagonal_relaxed"))


def _walks(f: Forgery) -> list[pl.DataFrame]:
    rows = f.rows.sort("sequence", "position")
    return [walk.drop("sequence") for walk in rows.partition_by("sequence", maintain_order=True)]


def _walk(paths: list[str], day: object = None) -> pl.DataFrame:
    schema = {"position": pl.Int32, "path": pl.String, "time": pl.Datetime("us")}
    return pl.DataFrame([(at, path, day) for at, path in enumerate(paths, 1)], schema=schema, orient="row")


@tampering("walks.tsv")
def a_walk_of_one_visitor(f: Forgery) -> None:
    _put_walks(f, [*_walks(f), _walk([_alone(f)["path"][0]])])


@tampering("walks.tsv")
def a_walk_of_one_visitor_three_times(f: Forgery) -> None:
    _put_walks(f, [*_walks(f), *[_walk([_alone(f)["path"][0]])] * 3])


@tampering("walks.tsv")
def walks_joined(f: Forgery) -> None:
    first, second, *others = _walks(f)
    _put_walks(f, [_walk([*first["path"], *second["path"]]), *others])


@tampering("walks.tsv")
def walks_on_a_day_of_one_visitor(f: Forgery) -> None:
    walks = _walks(f)
    at = next(at for at, walk in enumerate(walks) if walk["time"][0] is None)
    day = f.original["time"].drop_nulls().min()
    assert day is not None
    walks[at] = _walk(walks[at]["path"].to_list(), day.replace(hour=0, minute=0, second=0, microsecond=0))
    _put_walks(f, walks)


@tampering("walks.tsv")
def walks_with_a_time(f: Forgery) -> None:
    f.put(f.rows.with_columns(pl.col("time") + timedelta(minutes=7)))


@tampering("walks.tsv")
def a_walk_more(f: Forgery) -> None:
    walks = _walks(f)
    _put_walks(f, [*walks, walks[0]])


@tampering("walks.tsv")
def a_walk_less(f: Forgery) -> None:
    _put_walks(f, _walks(f)[1:])


@tampering("walks.tsv")
def names_of_walks_that_are_encoded_visitors(f: Forgery) -> None:
    names, users = f.rows["sequence"].unique().sort(), f.original["user"].drop_nulls().unique().sort()
    encoded = {name: as_a_name(f"{users[at % len(users)][:6]}{at:04}") for at, name in enumerate(names)}
    f.put(f.rows.with_columns(pl.col("sequence").replace(encoded)))


@tampering("walks.tsv")
def two_walks_under_one_name(f: Forgery) -> None:
    names = f.rows["sequence"].unique().sort()
    f.put(f.rows.with_columns(pl.col("sequence").replace({names[0]: names[1]})))


@tampering("walks.tsv")
def positions_that_number_a_visitor(f: Forgery) -> None:
    f.put(f.rows.with_columns(pl.col("position") + 41))


@tampering("walks.tsv")
def a_page_of_one_visitor_in_a_walk(f: Forgery) -> None:
    long = next(at for at, walk in enumerate(_walks(f)) if walk.height > 1)
    walks = _walks(f)
    walks[long] = walks[long].with_columns(
        pl.when(pl.col("position") == 2).then(pl.lit(_alone(f)["path"][0])).otherwise("path").alias("path")
    )
    _put_walks(f, walks)


@tampering("walks.tsv")
def names_of_walks_exchanged(f: Forgery) -> None:
    names = f.rows["sequence"].unique().sort()
    f.put(f.rows.with_columns(pl.col("sequence").replace(dict(zip(names, reversed(names.to_list()), strict=True)))))


_WALKS_LEFT_OUT = (
    "A kind of walk may be missing from a release of `common_visits` with all its copies, where no other is cut "
    "otherwise for it: what is missing hides more."
)


@tampering("walks.tsv", uncaught=_WALKS_LEFT_OUT)
def walks_left_out(f: Forgery) -> None:
    """All walks of one page that is in no longer walk."""
    walks = _walks(f)
    longer = {path for walk in walks if walk.height > 1 for path in walk["path"]}
    page = next(walk["path"][0] for walk in walks if walk.height == 1 and walk["path"][0] not in longer)
    _put_walks(f, [walk for walk in walks if walk["path"].to_list() != [page]])


# --- tables -----------------------------------------------------------------------------------------


@tampering("cells.tsv")
def a_number_that_is_one_more(f: Forgery) -> None:
    f.put(f.rows.with_columns(pl.col("count") + (pl.int_range(pl.len()) == 0).cast(pl.Int64)))


@tampering("cells.tsv")
def a_page_of_one_visitor_in_a_table(f: Forgery) -> None:
    page = _alone(f)["path"][0]
    n = f.original.filter(pl.col("path") == page).height
    line = {"table": "pages", "item": page, "count": n}
    f.put(pl.concat([f.rows, pl.DataFrame([line], schema_overrides={"count": pl.Int64})], how="diagonal"))


@tampering("cells.tsv")
def totals_of_tables(f: Forgery) -> None:
    totals = f.rows.group_by("table").agg(pl.lit("total").alias("item"), pl.col("count").sum())
    f.put(pl.concat([f.rows, totals], how="diagonal"))


@tampering("cells.tsv")
def visitors_in_place_of_requests(f: Forgery) -> None:
    visitors = f.original.group_by(pl.col("path").alias("item")).agg(
        pl.col("user").n_unique().cast(pl.Int64).alias("n")
    )
    told = pl.when(pl.col("table") == "pages").then("n").otherwise("count").alias("count")
    f.put(f.rows.join(visitors, on="item", how="left", maintain_order="left").with_columns(told))


@tampering("cells.tsv")
def intervals_that_number_a_visitor(f: Forgery) -> None:
    f.put(f.rows.with_columns(pl.lit(4417749, pl.Int64).alias("low"), pl.lit(4417750, pl.Int64).alias("high")))


@tampering("cells.tsv")
def a_line_twice(f: Forgery) -> None:
    f.put(pl.concat([f.rows, f.rows[:1]]))


@tampering("cells.tsv")
def a_table_that_was_not_promised(f: Forgery) -> None:
    hours = f.original.group_by(pl.col("time").dt.strftime("%H").alias("item")).agg(
        pl.len().cast(pl.Int64).alias("count")
    )
    f.put(pl.concat([f.rows, hours.with_columns(pl.lit("hours").alias("table"))], how="diagonal"))


@tampering("cells.tsv")
def items_with_a_space_behind(f: Forgery) -> None:
    f.put(
        f.rows.with_columns(
            pl.col("item") + pl.when(pl.int_range(pl.len()) == 0).then(pl.lit(" ")).otherwise(pl.lit(""))
        )
    )


@tampering("cells.tsv")
def a_detail_beside_a_page(f: Forgery) -> None:
    users = f.original.group_by(pl.col("path").alias("item")).agg(pl.col("user").first())
    told = pl.when(pl.col("table") == "pages").then("user").otherwise("detail").alias("detail")
    f.put(f.rows.join(users, on="item", how="left", maintain_order="left").with_columns(told))


_NUMBERS_LEFT_OUT = (
    "Lines of tables may be missing where what is left out still comes from k visitors, as this hides more; which "
    "lines are there can be chosen."
)


@tampering("cells.tsv", uncaught=_NUMBERS_LEFT_OUT)
def numbers_left_out(f: Forgery) -> None:
    f.put(f.rows[1:])


# --- records ----------------------------------------------------------------------------------------


def _members(f: Forgery) -> pl.DataFrame:
    """The rows of the original with their group."""
    clusters = pl.read_parquet(f.record / "clusters.parquet")
    return f.original.join(clusters, on="row").sort("group", "row")


@tampering("records.tsv")
def addresses_beside_records(f: Forgery) -> None:
    f.put(f.rows.with_columns(pl.lit(f.original["address"][0]).alias("address")))


@tampering("records.tsv")
def paths_of_one_in_records(f: Forgery) -> None:
    """All copies of a cut path are the path of somebody behind them."""
    cut = f.rows["path"].drop_nulls().unique().sort()
    wide = next(path for path in cut if path.endswith("/*"))
    page = next(path for path in f.original["path"] if path.startswith(wide[:-1]))
    f.put(f.rows.with_columns(pl.col("path").replace({wide: page})))


@tampering("records.tsv")
def times_of_one_in_records(f: Forgery) -> None:
    f.put(f.rows.with_columns(pl.col("time") + timedelta(seconds=1)))


@tampering("records.tsv")
def sizes_that_number_a_visitor(f: Forgery) -> None:
    f.put(f.rows.with_columns(pl.col("bytes") // 10 * 10 + 7))


@tampering("records.tsv")
def agents_of_one_in_records(f: Forgery) -> None:
    agents = f.rows["agent"].drop_nulls().unique().sort()
    f.put(f.rows.with_columns(pl.col("agent").replace({agents[0]: f.original["agent"].drop_nulls()[0]})))


@tampering("records.tsv")
def names_beside_records(f: Forgery) -> None:
    f.put(f.rows.with_columns(pl.lit("u_" + "a" * 16).alias("user")))


@tampering("records.tsv")
def a_copy_less(f: Forgery) -> None:
    f.put(f.rows[1:])


@tampering("records.tsv")
def a_copy_more(f: Forgery) -> None:
    f.put(pl.concat([f.rows, f.rows[:1]]))


@tampering("records.tsv")
def groups_of_other_rows(f: Forgery) -> None:
    clusters = pl.read_parquet(f.record / "clusters.parquet")
    clusters.with_columns(pl.col("group").reverse()).write_parquet(f.record / "clusters.parquet")
    f.seal()


@tampering("records.tsv")
def a_group_of_one_visitor(f: Forgery) -> None:
    """Rows of one visitor who asked for one page become a group, as the paper would have it, and the record says so."""
    members = _members(f)
    own = members.group_by("user", "path").agg(pl.col("row")).sort(pl.col("row").list.len(), "user", "path")[-1]
    mine = own["row"][0]
    clusters = pl.read_parquet(f.record / "clusters.parquet")
    number = clusters["group"].max() + 1
    moved = pl.when(pl.col("row").is_in(mine.implode())).then(number).otherwise("group").cast(clusters.schema["group"])
    clusters.with_columns(moved.alias("group")).write_parquet(f.record / "clusters.parquet")
    f.seal()


@tampering("records.tsv")
def visitors_forgotten_in_the_promise(f: Forgery) -> None:
    f.edit_sidecar(lambda data: data["promises"][0].update(visitors=False))


_RECORDS_LEFT_OUT = (
    "A group of records may be missing from a release of `microaggregate_visits` and from its record: rows that "
    "found no group are left out, too (`leftovers = suppress`)."
)


@tampering("records.tsv", uncaught=_RECORDS_LEFT_OUT)
def records_left_out(f: Forgery) -> None:
    """All groups that gave one and the same record."""
    columns = [name for name in f.rows.columns if name != "user"]
    clusters = pl.read_parquet(f.record / "clusters.parquet")
    sizes = clusters.group_by("group").len().sort("group")
    copies = f.rows.group_by(columns).len().filter(pl.col("len") == pl.col("len").min()).sort(columns)
    members = _members(f)
    for group, size in sizes.iter_rows():
        paths = members.filter(pl.col("group") == group)["path"].unique()
        same = (
            copies.filter((pl.col("len") == size) & (pl.col("path") == paths[0])) if len(paths) == 1 else copies.clear()
        )
        own = members.filter(pl.col("group") == group)
        mean = own["time"].dt.epoch("s").sum() // own.height
        same = same.filter(pl.col("time").dt.epoch("s") == mean)
        if same.height == 1:
            kind = pl.all_horizontal(pl.col(n).eq_missing(pl.lit(same[n][0], same.schema[n])) for n in columns)
            f.put(f.rows.filter(~kind))
            clusters.filter(pl.col("group") != group).write_parquet(f.record / "clusters.parquet")
            return
    raise AssertionError("no group could be told")
