"""What somebody finds who knows two pages and the day: in the log, in one with masked addresses, and in releases."""

import os
from collections import defaultdict
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie
from coterie import api
from coterie.core.log import Log, Step
from coterie.core.run import Run
from coterie.core.shapes import VISITS
from coterie.engines.local import Local
from coterie.errors import NotApplicableError
from coterie.lab.microaggregate_visits.method import MicroaggregateVisits
from coterie.measures.attacks import two_pages
from coterie.methods.common_visits import CommonVisits
from coterie.methods.count_visits import CountVisits
from coterie.methods.generalize_visits import GeneralizeVisits
from coterie.methods.suppress_rare import SuppressRare
from coterie.testing import queries_log
from tests.helpers.broken_walks import BareDays
from tests.helpers.examples import examples

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:109.0) Gecko/20100101 Firefox/115.0"
START = datetime(2020, 2, 3, 9)


def log_of(rows):
    """(address, agent, minutes, path, referrer) as an access log; a visitor is an address with an agent."""
    table = pl.DataFrame(
        [(f"{a} {agent}", a, START + timedelta(minutes=at), path, led, agent) for a, agent, at, path, led in rows],
        schema={name: VISITS.schema[name] for name in ("user", "address", "time", "path", "referrer", "agent")},
        orient="row",
    ).with_row_index("row")
    missing = [pl.lit(None, VISITS.schema[name]).alias(name) for name in VISITS.released if name not in table.columns]
    frame = table.with_columns(pl.col("row").cast(pl.UInt64), *missing).select("row", *VISITS.released)
    return Log(frame=frame.lazy(), shape=VISITS, history=(Step(name="read"),))


def scores(log, release, seed=5):
    found = coterie.measure(release, ["two_pages"], original=log, seed=seed)
    return dict(found.select("key", "value").iter_rows())


def site(people=40, common=("/", "/tea", "/cups")):
    """People who walk through common pages and then read pages of their own; a robot that reads all."""
    rows = []
    for n in range(people):
        address, day = f"192.0.{n // 8}.{n}", 1440 * (n % 3)
        walk = [*common, f"/own/{n}", f"/own/{n}/more"]
        rows += [(address, FIREFOX, day + at, path, None) for at, path in enumerate(walk)]
    return [*rows, *(("198.51.100.1", "Examplebot/1.0", at, f"/own/{at}", None) for at in range(people))]


def test_it_wins_on_the_log_and_finds_nobody_in_the_release():
    log = log_of(site())
    found = scores(log, coterie.anonymize(log, CommonVisits(k=5), seed=1))
    assert found["visitors"] == 40, "people, not the robot"
    assert found["before.singled_out"] > 50
    assert found["before.pages"] == 3, "of five pages two were known"
    assert found["masked.singled_out"] > 50
    assert found["after.singled_out"] == 0
    assert found["after.singled_out.high"] > 0
    assert found["after.pages"] is None


def test_rows_without_names_lead_nowhere_and_names_do():
    log = log_of(site(common=("/a", "/b", "/c", "/d")))
    loose = scores(log, coterie.anonymize(log, SuppressRare(k=5), seed=1))
    assert loose["after.names"] == 0
    assert loose["after.singled_out"] == loose["after.guessed"] == loose["released.guessed.people"] == 0
    linked = coterie.anonymize(log, SuppressRare(k=2, users="pseudonym"), seed=1)
    assert scores(log, linked)["after.guessed"] > 0


def test_bare_days_single_people_out():
    """The same walks with every day beside them: who came alone on a day is found."""
    rows = [
        (f"192.0.2.{n}", FIREFOX, 1440 * n + at, path, None) for n in range(6) for at, path in enumerate(["/a", "/b"])
    ]
    log = log_of(rows)
    release = coterie.anonymize(log, CommonVisits(k=3), seed=1)
    assert release.to_polars()["time"].null_count() == 12
    assert scores(log, release)["after.singled_out"] == 0
    method = BareDays(k=3)
    visits = method.learn(log, None)
    run = _run(log, method)
    bare = method.release(log, method.plan(visits, log, run), run)
    rows = bare.frame.select(release.log.shape.released).sort(release.log.shape.order)
    record = replace(release.record, subjects=bare.subjects, rows=None)
    broken = replace(release, log=replace(release.log, frame=rows), record=record)
    assert scores(log, broken)["after.singled_out"] == 100


def _run(log, method):
    return Run(seed=1, engine=Local(), naming=partial(api.naming_of, log, method))


def test_a_referrer_is_a_second_page():
    """A row that says both pages is as good as a name, where it is the only one."""
    rows = [(f"192.0.2.{n}", FIREFOX, at, path, led) for n in range(3) for at, path, led in [
        (0, f"/own/{n}", None), (1, "/tea", f"https://site.example/own/{n}"),
    ]]  # fmt: skip
    log = log_of(rows)
    release = coterie.anonymize(log, SuppressRare(k=3), seed=1)
    assert scores(log, release)["after.singled_out"] == 0
    kept = release.record.rows.collect().sort("released_row").join(log.frame.collect(), on="row", maintain_order="left")
    told = release.to_polars().with_columns(kept["referrer"])
    broken = replace(release, log=replace(release.log, frame=told.lazy()))
    assert scores(log, broken)["after.singled_out"] == 100


def test_other_logs_have_no_pages():
    log = queries_log()
    with pytest.raises(NotApplicableError, match="this log is QUERIES"):
        coterie.measure(coterie.anonymize(log, SuppressRare(k=3), seed=1), ["two_pages"], original=log)


# --- masked addresses ----------------------------------------------------------------------------------


def masked_by_hand(address):
    """anonip's rule, by its own words: the last 12 bits of an IPv4 address are set to 0."""
    parts = [int(part) for part in address.split(".")]
    return f"{parts[0]}.{parts[1]}.{parts[2] & 0b11110000}.0"


@pytest.mark.parametrize("address", ["192.0.2.7", "10.255.255.255", "0.0.0.1", "203.0.113.16"])
def test_masks(address):
    assert two_pages.mask(address) == masked_by_hand(address)
    assert two_pages.mask(f"{address}, 10.0.0.1") == masked_by_hand(address)


def test_masks_of_other_addresses():
    assert two_pages.mask("2001:db8:1:2:3:4:5:6") == "2001:db8::"
    assert two_pages.mask("ffff:ffff:ffff:ffff::") == "ffff:ffff:fff0::"
    assert two_pages.mask("host.example") == "host.example"


# --- the attack against its plain version ----------------------------------------------------------------

PAGES = ["/", "/a", "/a/b", "/a/c", "/d"]
_visit = st.tuples(st.sampled_from("abcdef"), st.integers(0, 2), st.sampled_from(PAGES))


def plainly(clues, rows, names, whose_pages):
    """visitor: candidates, singled out, further pages; rows are (name, page, day or None)."""
    there = {page for _, page, _ in rows}

    def label(path):
        parts = path.split("/")
        ladder = [path, *("/".join([*parts[:n], "*"]) for n in range(len(parts) - 1, 0, -1))]
        return next((each for each in ladder if each in there), None)

    found = {}
    for visitor, day, one, two in clues:
        having = [
            {name for name, page, on in rows if page == label(known) and on in (None, day)} for known in (one, two)
        ]
        fits = having[0] & having[1]
        alone = len(fits) == 1 and fits <= names[visitor]
        under = {page for name, page, _ in rows if name in fits}
        further = {label(page) for page in whose_pages[visitor]} - {None, label(one), label(two)}
        found[visitor] = (len(fits), alone, len(under & further) if alone else 0)
    return found


@settings(max_examples=examples(60))
@given(st.lists(_visit, min_size=1, max_size=40), st.data())
def test_it_is_its_plain_version(visits, data):
    whose = defaultdict(set)
    for who, _, page in visits:
        whose[who].add(page)
    released = data.draw(
        st.lists(
            st.tuples(
                st.sampled_from("uvwxyz"), st.sampled_from([*PAGES, "/a/*", "/*"]), st.sampled_from([None, 0, 1, 2])
            ),
            max_size=40,
        )
    )
    names = {who: set(data.draw(st.sets(st.sampled_from("uvwxyz"), max_size=2))) for who in whose}
    clues = [
        (
            who,
            data.draw(st.integers(0, 2)),
            *data.draw(st.lists(st.sampled_from(PAGES), min_size=2, max_size=2, unique=True)),
        )
        for who in sorted(whose)
    ]
    found = two_pages.attack(
        pl.DataFrame(clues, schema=["visitor", "day", "one", "two"], orient="row"),
        pl.DataFrame([(who, page) for who, _, page in visits], schema=["visitor", "page"], orient="row"),
        pl.DataFrame(
            [(name, page, -(2**31) if day is None else day) for name, page, day in released],
            schema={"name": pl.String, "page": pl.String, "day": pl.Int32},
            orient="row",
        ),
        pl.DataFrame(
            [(who, name) for who, theirs in names.items() for name in theirs],
            schema={"original": pl.String, "released": pl.String},
            orient="row",
        ),
    )
    expected = plainly(clues, released, names, whose)
    assert {
        line[0]: line[1:] for line in found.select("visitor", "candidates", "singled_out", "read").iter_rows()
    } == expected


# --- on larger logs -----------------------------------------------------------------------------------------


def nobody_is_found(log, least):
    """The gate: nobody in a release, where more than a quarter are found in the log and with masked addresses."""
    methods = (
        CommonVisits(k=5), GeneralizeVisits(k=5), CountVisits(k=5), MicroaggregateVisits(k=5),
        MicroaggregateVisits(k=5, visitors=False),
    )  # fmt: skip
    for method in methods:
        found = scores(log, coterie.anonymize(log, method, seed=1))
        assert found["before.singled_out"] > least
        assert found["masked.singled_out"] > least
        assert found["after.singled_out"] == 0


def test_on_the_synthetic_log():
    log = coterie.read("synth:users=300,seed=7,kind=visits")
    nobody_is_found(coterie.prepare(log, "default,drop_bots,drop_assets"), 80)


@pytest.mark.parametrize(("file", "least"), [("access_semicomplete_2015.log.gz", 25), ("access_site_2010.log.gz", 25)])
def test_on_a_real_log(file, least):
    folder = os.environ.get("COTERIE_DATA")
    if not folder or not (Path(folder) / file).exists():
        pytest.skip("real logs are read from the folder in COTERIE_DATA, and this one is not there")
    log = coterie.prepare(coterie.read(Path(folder) / file, format="clf"), "default,drop_bots,drop_assets")
    nobody_is_found(log, least)
