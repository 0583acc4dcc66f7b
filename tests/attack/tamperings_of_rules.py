"""Tamperings with releases of allowlist, with names for units and days, and with no promise; see `tamperings.py`."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl

import coterie
from coterie import api
from coterie.core.shapes import QUERIES
from coterie.methods.allowlist import Allowlist
from coterie.methods.suppress_rare import SuppressRare
from coterie.methods.unprotected import Unprotected
from tests.attack.tamperings import SEED, Forgery, tampering, write_release

LOG, DEVICES = "log.tsv", "devices.tsv"
_BESIDE = ("user", "time", "rank", "url")


def make_releases(folder: Path) -> None:
    """Releases of the log that `tamperings.make_releases` made."""
    log = coterie.prepare(coterie.read(folder / LOG))
    for name, method in (
        ("words.tsv", Allowlist(k=3)),
        ("found.tsv", Allowlist(k=3, words=1, entities="detect")),
        ("minis.tsv", SuppressRare(k=3, users="mini", times="month")),
        ("days.tsv", SuppressRare(k=3, users="day", window="60d")),
    ):
        write_release(folder, name, api.anonymize_prepared(log, method, seed=SEED), LOG)
    devices(folder / LOG, folder / DEVICES)
    detailed = coterie.prepare(coterie.read(folder / DEVICES, details="device,country=land"))
    write_release(
        folder, "devices.csv", api.anonymize_prepared(detailed, SuppressRare(k=4, k_details=2), seed=SEED), DEVICES
    )
    nothing = api.anonymize_prepared(log, Unprotected(users="day"), seed=SEED)
    coterie.write(nothing, folder / "nothing.tsv", record=folder / "record.nothing.tsv", promise="none")
    (folder / "nothing.tsv.log").write_text(LOG)


def devices(log: Path, to: Path) -> None:
    """The same log as a table with two columns more, in which people differ."""
    rows = coterie.read(log).to_polars().with_row_index("at")
    kind = pl.when(pl.col("at") % 3 == 0).then(pl.lit("phone")).otherwise(pl.lit("desk"))
    land = pl.when(pl.col("user").hash(1) % 4 == 0).then(pl.lit("fr")).otherwise(pl.lit("de"))
    rows.with_columns(kind.alias("device"), land.alias("land")).drop("at").write_csv(to, separator="\t")


@tampering("devices.csv")
def a_device_that_too_few_share(f: Forgery) -> None:
    rows = f.rows
    one = pl.int_range(pl.len()) == rows["device"].is_null().arg_true()[0]
    f.put(rows.with_columns(pl.when(one).then(pl.lit("phone")).otherwise("device").alias("device")))


@tampering("devices.csv")
def countries_exchanged(f: Forgery) -> None:
    f.put(f.rows.with_columns(pl.col("country").replace({"fr": "de", "de": "fr"})))


@tampering("devices.csv")
def details_that_the_sidecar_does_not_name(f: Forgery) -> None:
    f.edit_sidecar(lambda data: (data.update(details=[]), data["promises"][0].update(details="")))


@tampering("devices.csv")
def a_promise_that_is_silent_about_details(f: Forgery) -> None:
    f.edit_sidecar(lambda data: data["promises"][0].update(details=""))


@tampering("devices.csv")
def details_in_another_order(f: Forgery) -> None:
    f.edit_sidecar(lambda data: (data["details"].reverse(), data["promises"][0].update(details="country,device")))


@tampering("devices.csv")
def a_name_of_a_person_as_a_detail(f: Forgery) -> None:
    """The column of users under another name."""
    f.edit_sidecar(lambda data: data["reading"].update(details=["device=user", "country=land"]))
    f.put(f.rows.with_columns(device=pl.lit(f.original["user"][0])))


def _of_one_person(f: Forgery) -> pl.DataFrame:
    """Rows of queries that one person typed alone, with two words, with nothing beside them."""
    words = pl.col("query").str.split(" ").list.len()
    alone = f.original.filter((pl.col("user").n_unique().over("query") == 1) & (words == 2)).head(30)
    bare = [pl.lit(None, QUERIES.schema[name]).alias(name) for name in _BESIDE]
    return alone.select(QUERIES.released).with_columns(bare)


@tampering("words.tsv", "found.tsv")
def queries_of_rare_words(f: Forgery) -> None:
    f.put(pl.concat([f.rows, _of_one_person(f)], how="diagonal"))


@tampering("words.tsv")
def a_smaller_m_in_the_promise_alone(f: Forgery) -> None:
    f.edit_sidecar(lambda data: data["promises"][0].update(m=1))


@tampering("words.tsv")
def a_list_of_words_called_pairs(f: Forgery) -> None:
    """The release of a weaker rule under the promise of the stronger one."""
    log = coterie.prepare(coterie.read(f.log))
    f.put(api.anonymize_prepared(log, Allowlist(k=3, words=1), seed=SEED).to_polars())


@tampering("words.tsv")
def longer_queries_in_the_promise(f: Forgery) -> None:
    f.edit_sidecar(lambda data: (data["promises"][0].update(max_words=1), data["parameters"].update(max_words=1)))


@tampering("found.tsv")
def a_record_without_what_was_found(f: Forgery) -> None:
    (f.record / "entities.parquet").unlink()


@tampering("found.tsv")
def a_record_about_other_queries(f: Forgery) -> None:
    path = f.record / "entities.parquet"
    rows = pl.read_parquet(path)
    other = pl.DataFrame({"item": ["maps"], "written": ["weather"]}, schema=rows.schema)
    pl.concat([rows, other]).write_parquet(path)


_FOUND_BY_THE_RECORD = (
    "What a detector found (`allowlist` with `entities = detect`) is told by the record alone. Whoever takes it out of "
    "there gets the promise about words, which is checked all the same, and not that about names."
)


@tampering("found.tsv", uncaught=_FOUND_BY_THE_RECORD)
def an_empty_list_of_what_was_found(f: Forgery) -> None:
    path = f.record / "entities.parquet"
    pl.read_parquet(path).clear().write_parquet(path)


@tampering("minis.tsv", "days.tsv")
def two_units_under_one_name(f: Forgery) -> None:
    rows = f.rows
    one, other = rows["user"].drop_nulls().unique().sort()[:2]
    f.put(rows.with_columns(pl.col("user").replace({other: one})))


@tampering("minis.tsv", "days.tsv")
def names_exchanged_between_units(f: Forgery) -> None:
    rows = f.rows
    sizes = rows.drop_nulls("user").group_by("user").agg(pl.col("query").n_unique().alias("n")).sort("n", "user")
    one, other = sizes["user"][0], sizes["user"][-1]
    f.put(rows.with_columns(pl.col("user").replace({one: other, other: one})))


@tampering("minis.tsv")
def larger_units_in_the_sidecar(f: Forgery) -> None:
    f.edit_sidecar(lambda data: data["promises"][0].update(link_queries=1))
    f.edit_sidecar(lambda data: data["parameters"].update(link_queries=1))


@tampering("minis.tsv")
def days_in_place_of_months(f: Forgery) -> None:
    rows = f.rows
    later = pl.when(pl.int_range(pl.len()) == 0).then(pl.col("time").dt.offset_by("3d")).otherwise("time")
    timed = rows.drop_nulls("time")
    f.put(pl.concat([timed.with_columns(later), rows.filter(pl.col("time").is_null())]))


@tampering("days.tsv")
def a_window_that_is_not_kept(f: Forgery) -> None:
    f.edit_sidecar(lambda data: data["promises"][0].update(window="1d"))
    f.edit_sidecar(lambda data: data["parameters"].update(window="1d"))


@tampering("nothing.tsv")
def a_promise_in_place_of_none(f: Forgery) -> None:
    promise = {"name": "query_k_anonymity", "k": 5, "users": "day", "attrs": "keep", "sentence": "", "headline": "k"}
    f.edit_sidecar(lambda data: data.update(promises=[promise]))


@tampering("nothing.tsv")
def finer_times_than_said(f: Forgery) -> None:
    f.edit_sidecar(lambda data: data["promises"][0].update(times="month"))


@tampering("nothing.tsv")
def a_promise_of_none_that_holds(f: Forgery) -> None:
    """Exit code 3 stays 3, whatever the sidecar says of its checks."""
    f.edit_sidecar(lambda data: [check.update(status="passed") for check in data["checks"]])
    assert json.loads(f._side.read_text())["checks"]
