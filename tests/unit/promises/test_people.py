"""People behind names: computed again from the seed, and asked what they typed."""

import base64
from dataclasses import replace
from datetime import datetime, timedelta

import polars as pl
import pytest

import coterie
from coterie.core import randomness
from coterie.methods.microaggregate import Microaggregate
from coterie.methods.suppress_rare import SuppressRare
from coterie.promises import judge
from coterie.promises._names import names_of
from coterie.promises.query_k_anonymity import QueryKAnonymity
from coterie.promises.user_k_anonymity import UserKAnonymity
from coterie.testing import queries_log
from tests.helpers.broken_methods import times_of_one_member
from tests.helpers.hand_made import case_of, check_of, log_of, run_of

RUN = run_of(11)
DAY = datetime(2020, 2, 3)
PEOPLE = "abcde"
NAMES = dict(zip(PEOPLE, names_of(RUN, PEOPLE, PEOPLE), strict=True))


def test_names_are_computed_as_releases_compute_them():
    """Without code in common; with a seed, and besides it what the run was."""
    release = coterie.anonymize(queries_log(), SuppressRare(k=2, users="pseudonym"), seed=3)
    said = release.record.subjects.drop_nulls("released").collect()
    everybody = queries_log().frame.select("user").drop_nulls().unique().collect()["user"].sort()
    named = dict(zip(everybody, names_of(release.record.run, everybody, everybody), strict=True))
    assert said.height
    assert all(named[user] == name for user, name in said.select("original", "released").iter_rows())


def test_a_name_that_is_taken_is_given_to_nobody():
    run = {**RUN, "parameters": {"k": 5}}
    first = names_of(run, ["a"], ())
    ids = pl.Series(["a", *first])
    again = names_of(run, ids, ids)
    naming = randomness.naming("m", {"k": 5}, [], "0" * 64)
    assert again == randomness.pseudonyms(11, ids, ids, naming).to_list()
    assert not set(again) & set(ids)


def test_names_on_earlier_groups_are_others():
    run = {**RUN, "parameters": {"k": 5}}
    naming = randomness.naming("m", {"k": 5}, [], "0" * 64, ("ab", "cd"))
    on_groups = names_of({**run, "groups_of": ["ab", "cd"]}, ["a"], ())
    assert on_groups == randomness.pseudonyms(11, pl.Series(["a"]), pl.Series([], dtype=pl.String), naming).to_list()
    assert on_groups != names_of({**run, "groups_of": []}, ["a"], ()) == names_of(run, ["a"], ())


def test_names_are_keyed_by_the_whole_run():
    run = {**RUN, "method": "microaggregate", "parameters": {"k": 5}}
    run["history"] = [{"name": "read"}, {"name": "normalize"}]
    others = [
        {**run, "parameters": {"k": 6}},
        {**run, "input_digest": "1" * 64},
        {**run, "method": "suppress_rare"},
        {**run, "history": [{"name": "read"}]},
        {**run, "seed": 12},
    ]
    names = [tuple(names_of(each, PEOPLE, ())) for each in (run, *others)]
    assert len(set(names)) == len(names)
    assert names_of({**run, "history": [{"name": "synth"}, {"name": "normalize"}]}, PEOPLE, ()) == list(names[0])


# --- names that link rows ------------------------------------------------------------------------


def _encoded(user):
    return "u_" + base64.b32encode(user.encode().ljust(10, b"\0")).decode().lower()


@pytest.mark.parametrize("users", ["pseudonym", "session"])
def test_names_made_from_ids_are_noticed(users):
    log = queries_log()
    release = coterie.anonymize(log, SuppressRare(k=2, users=users, attrs="drop"), seed=3)
    promise = QueryKAnonymity(k=2, users=users, attrs="drop")
    rows, run = release.to_polars(), release.record.run
    assert check_of(judge(case_of(rows, log, run=run), (promise,)), "seeded").status == "passed"
    names = rows["user"].drop_nulls().unique()
    forged = rows.with_columns(pl.col("user").replace({name: _encoded(name[2:12]) for name in names})).sort(
        log.shape.order
    )
    verdict = judge(case_of(forged, log, run=run), (promise,))
    assert check_of(verdict, "names").status == "passed", "they look random"
    assert check_of(verdict, "seeded").broken == len(names)
    assert judge(case_of(forged, log), (promise,)).exit_code == 3


def test_names_of_sessions_that_a_step_numbered():
    log = coterie.prepare(queries_log(), "normalize,drop_empty,sessions(minutes=10)")
    release = coterie.anonymize(log, SuppressRare(k=2, users="session"), seed=3)
    assert check_of(release.verdict, "seeded").looked_at


# --- profiles ------------------------------------------------------------------------------------


def _log(queries_of):
    rows = [
        {"user": user, "query": query, "time": DAY + timedelta(minutes=7 * at + ord(user)), "rank": 1 + at % 3,
         "url": f"http://www.{user}.example/{at}"}
        for user, queries in queries_of.items()
        for at, query in enumerate(queries)
    ]  # fmt: skip
    return log_of(rows)


OWN = _log({user: [f"{user} {n}" for n in range(30)] for user in PEOPLE})
FAIR = [f"{user} {n}" for user in PEOPLE for n in range(6)]


def _profile(queries, run=RUN, **more):
    names = names_of(run, PEOPLE, PEOPLE)
    return [{"user": name, "query": query, **more} for name in names for query in queries]


def _check(name, rows, original=OWN, **more):
    return check_of(judge(case_of(rows, original, run=RUN, **more), (UserKAnonymity(k=5),)), name)


def test_a_profile_of_people():
    verdict = judge(case_of(_profile(FAIR), OWN, run=RUN), (UserKAnonymity(k=5),))
    assert verdict.exit_code == 0
    assert verdict.largest_k == 5
    how = "the largest contributor alone typed 20 % of a profile in the median, 20 % at most"
    assert check_of(verdict, "shares").how == how


def test_a_name_of_nobody():
    rows = [*_profile(FAIR)[:-30], *({"user": f"u_{'a' * 16}", "query": query} for query in FAIR)]
    assert _check("people", rows).broken == 1


def test_the_record_must_say_the_same():
    said = {"original": list(NAMES), "released": list(NAMES.values())}
    swapped = {"original": list(NAMES), "released": [*list(NAMES.values())[1:], NAMES["a"]]}
    short = {name: values[1:] for name, values in said.items()}
    for table, broken in ((said, 0), (swapped, 10), (short, 1)):
        check = _check("people", _profile(FAIR), evidence={"subjects": pl.LazyFrame(table)})
        assert check.broken == broken


def test_a_query_that_nobody_in_the_group_typed():
    more = log_of([*OWN.frame.drop("row").collect().to_dicts(), {"user": "f", "query": "of f"}])
    assert _check("typed", _profile([*FAIR, "of f"]), more).broken == 1
    assert _check("typed", _profile(FAIR), more).broken == 0


def test_one_history_under_many_names():
    check = _check("shares", _profile([f"a {n}" for n in range(30)]))
    assert (check.broken, check.looked_at) == (1, 1)
    assert check.carries_promise
    assert check.how.endswith("100 % of a profile in the median, 100 % at most")


def test_somebody_who_typed_most_may_give_most():
    log = _log({"a": [f"a {n}" for n in range(400)], **{user: [f"{user} 0"] for user in "bcde"}})
    assert _check("shares", _profile([*(f"a {n}" for n in range(80)), "b 0"]), log).status == "passed"


@pytest.mark.parametrize(
    ("more", "broken"),
    [
        ({"time": DAY}, 0),
        ({"time": DAY + timedelta(days=9)}, 30),
        ({"rank": 2}, 0),
        ({"rank": 4417749}, 30),
        ({"url": "example"}, 0),
        ({"url": "www.a.example"}, 30),
        ({"url": "http://www.a.example/3"}, 30),
    ],
)
def test_details_that_are_no_averages(more, broken):
    check = _check("averages", _profile(FAIR, **more))
    assert check.broken == broken


@pytest.mark.parametrize(("times", "time", "level", "broken"), [
    ("day", DAY, "day", 30),  # each query is one person's, so it has at most its month
    ("day", DAY.replace(day=1), "month", 0),
    ("week", DAY.replace(day=1), "month", 0),
    ("week", DAY - timedelta(days=DAY.weekday()), "week", 30),
    ("hour", DAY.replace(hour=1), "hour", 30),
    ("month", DAY.replace(day=1), "month", 0),
    ("quarter", DAY.replace(month=1, day=1), "quarter", 0),
    ("month", DAY.replace(month=1, day=1), "month", 30),  # before anybody did anything
])  # fmt: skip
def test_a_query_of_one_person_has_at_most_its_month(times, time, level, broken):
    promise = UserKAnonymity(k=5, times=times)
    verdict = judge(case_of(_profile(FAIR, time=time, time_level=level), OWN, run=RUN), (promise,))
    assert check_of(verdict, "averages").broken == broken


def test_a_query_of_several_has_its_week():
    """A Monday before the first of them did anything."""
    monday = DAY - timedelta(days=DAY.weekday())
    late = OWN.frame.with_columns(pl.col("query").str.replace("^. ", ""), pl.col("time") + timedelta(days=2))
    for times, broken in (("week", 0), ("day", 30)):
        rows = _profile([str(n) for n in range(30)], time=monday, time_level=times)
        promise = UserKAnonymity(k=5, times=times)
        verdict = judge(case_of(rows, replace(OWN, frame=late), run=RUN), (promise,))
        assert check_of(verdict, "averages").broken == broken


@pytest.mark.parametrize(("times", "time", "said", "broken"), [
    ("drop", datetime(2020, 1, 1), {}, 1), ("drop", None, {}, 0),
    ("quarter", datetime(2020, 2, 1), {"time_level": "quarter"}, 1),
    ("quarter", datetime(2020, 4, 1), {"time_level": "quarter"}, 0),
    ("month", datetime(2020, 2, 3), {"time_level": "month"}, 1),
    ("month", datetime(2020, 2, 1, 0, 0, 1), {"time_level": "month"}, 1),
    ("month", datetime(2020, 2, 1), {"time_level": "month"}, 0),
    ("week", datetime(2020, 2, 4), {"time_level": "week"}, 1),
    ("week", datetime(2020, 2, 3), {"time_level": "week"}, 0),
    ("week", datetime(2020, 2, 1), {"time_level": "month"}, 0),
    ("day", datetime(2020, 2, 4, 1), {"time_level": "day"}, 1), ("day", datetime(2020, 2, 4), {"time_level": "day"}, 0),
    ("day", datetime(2020, 2, 4), {}, 1),  # and each says how exact it is
    ("hour", datetime(2020, 2, 4, 1, 1), {"time_level": "hour"}, 1),
    ("hour", datetime(2020, 2, 4, 1), {"time_level": "hour"}, 0),
])  # fmt: skip
def test_no_time_is_finer_than_promised(times, time, said, broken):
    """Without the original, too, and all of a promise: exit code 1."""
    rows = _profile(["tea"], time=time, **said)
    verdict = judge(case_of(rows), (UserKAnonymity(k=5, times=times),))
    assert check_of(verdict, "times").broken == 5 * broken
    assert (verdict.exit_code == 1) == bool(broken)


def test_exact_times_of_one_person():
    times = {row["query"]: row["time"] for row in OWN.frame.collect().to_dicts()}
    exact = [{**row, "time": times[row["query"]]} for row in _profile(FAIR)]
    assert _check("averages", exact).broken >= 20
    averaged = [{**row, "time": row["time"] + timedelta(seconds=20)} for row in exact]
    assert _check("averages", averaged).broken == 0


@pytest.fixture(scope="module")
def people_log():
    return coterie.prepare(coterie.read("synth:users=60,seed=5"))


@pytest.mark.parametrize(("times", "unit"), [("hour", "1h"), ("day", "1d"), ("week", "1w")])
def test_hours_and_days_of_one_person(people_log, times, unit):
    """A query that several typed has an average; not the hour of one of them, though it looks like one."""
    release = coterie.anonymize(people_log, Microaggregate(k=5, times=times), seed=1)
    subjects, promises = release.record.subjects, release.promises

    def averages(rows):
        return check_of(judge(case_of(rows, people_log, run=release.record.run), promises), "averages")

    rows = release.to_polars()
    assert averages(rows).status == "passed"
    assert f"others rarely the {times} of one of them" in averages(rows).detail
    forged = times_of_one_member(rows.lazy(), subjects, people_log, unit).collect().sort(release.log.shape.order)
    assert averages(forged).broken >= 20
    if times == "hour":  # half of them is enough
        some = pl.col("query").rank("dense") % 2 == 0
        part = times_of_one_member(rows.lazy().filter(some), subjects, people_log, unit).collect()
        mixed = pl.concat([rows.filter(~some), part.select(rows.columns)]).sort(release.log.shape.order)
        assert averages(mixed).broken >= 10


def test_hours_of_one_person_are_counted():
    several = OWN.frame.with_columns(pl.col("query").str.replace("^. ", ""))
    log = replace(OWN, frame=several.with_columns(pl.col("time") + pl.col("user").rank("dense") * timedelta(days=1)))
    rows = _profile([str(n) for n in range(30)], time=DAY + timedelta(days=2, hours=3), time_level="hour")
    promise = UserKAnonymity(k=5, times="hour")
    check = check_of(judge(case_of(rows, log, run=RUN), (promise,)), "averages")
    assert check.how.startswith("30 % of these rows have a day, time or rank that one of them alone had")


def test_a_largest_share():
    log = _log({"a": [f"a {n}" for n in range(140)], **{user: [f"{user} {n}" for n in range(15)] for user in "bcde"}})
    capped = {**RUN, "parameters": {"max_share": 0.2}}

    def shares(run, of_a, of_others):
        queries = [f"a {n}" for n in range(of_a)] + [f"{user} {n}" for user in "bcde" for n in range(of_others)]
        return check_of(judge(case_of(_profile(queries, run), log, run=run), (UserKAnonymity(k=5),)), "shares")

    assert shares(RUN, 28, 3).status == "passed"  # 40 rows on average, and 140 of 200 are those of a
    assert shares(capped, 28, 3).broken == 1
    assert shares(capped, 8, 8).status == "passed"
    assert shares(capped, 9, 8).broken == 1
    assert shares(capped, 4, 9).broken == 1
    assert shares(capped, 6, 6).broken == 1  # too short
    assert shares(RUN, 8, 8).broken == 0
    assert shares({**RUN, "parameters": {"max_share": "x"}}, 28, 3).status == "passed"


def test_a_profile_is_shorter_where_others_have_too_few_rows():
    log = _log({"a": [f"a {n}" for n in range(400)], **{user: [f"{user} 0"] for user in "bcde"}})
    queries = [*(f"{user} 0" for user in "bcde"), "a 0"]
    capped = {**RUN, "parameters": {"max_share": 0.3}}
    for run, broken in ((capped, 0), (RUN, 1)):
        verdict = judge(case_of(_profile(queries, run), log, run=run), (UserKAnonymity(k=5),))
        assert check_of(verdict, "shares").broken == broken


def test_months():
    month = DAY.replace(day=1)
    check = _check("averages", _profile(FAIR, time=month, time_level="month"))
    assert check.broken == 0
    assert check.how == (
        "0 % of these rows have a day, time or rank that one of them alone had, 100 % a month in which one of them "
        "alone typed the query"
    )
    assert _check("averages", _profile(FAIR, time=month - timedelta(days=31), time_level="month")).broken == 30
    assert _check("averages", _profile(FAIR, time=DAY - timedelta(days=1))).broken == 30
    assert _check("averages", _profile(FAIR, time=month + timedelta(hours=1))).broken == 30


def test_shares_of_one_person_are_counted():
    days = _check("averages", _profile(FAIR, time=DAY))
    assert days.how == "100 % of these rows have a day, time or rank that one of them alone had"


def test_a_release_of_groups_is_made_of_people():
    log = coterie.prepare(coterie.read("synth:users=60,seed=5"))
    release = coterie.anonymize(log, Microaggregate(k=5), seed=1)
    names = {"people", "typed", "shares", "averages"}
    assert {check.name for check in release.checks if check.status == "passed"} >= names
