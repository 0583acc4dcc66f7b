"""What somebody gains who forges a record, a promise or a release: nothing that a judge believes."""

import stat
from datetime import datetime, timedelta
from functools import cache

import polars as pl
import pytest

import coterie
from coterie import jobs
from coterie.core.log import Log, Step
from coterie.core.plan import Plan
from coterie.core.promise import Case
from coterie.core.shapes import COUNTS
from coterie.errors import ParameterError
from coterie.methods.affinity import Affinity
from coterie.methods.generalize import Generalize
from coterie.methods.interest_microaggregate import InterestMicroaggregate
from coterie.methods.suppress_rare import SuppressRare
from coterie.promises import judge
from coterie.promises.query_k_anonymity import QueryKAnonymity
from coterie.promises.user_k_anonymity import UserKAnonymity
from coterie.testing import queries_log
from coterie.text.words import name_of_topics
from tests.helpers.hand_made import NAMES, case_of, check_of, log_of

TOPICS = pl.DataFrame({"topic": [0], "word": ["cancer"]})
ILL = ("a", "b", "c")


def _topics_check(became):
    """Three people with one sensitive topic share a profile, three others another; the record says `became`."""
    people = [*ILL, "d", "e", "f"]
    typed = log_of([{"user": user, "query": "cancer" if user in ILL else "maps"} for user in people])
    rows = [{"user": name, "query": "cancer" if at < 3 else "maps"} for at, name in enumerate(NAMES[:6])]
    promise = UserKAnonymity(k=3, topics=name_of_topics(TOPICS), topic_share=1.0)
    schema = {"original": pl.String, "released": pl.String}
    subjects = pl.DataFrame(became, schema=schema, orient="row").lazy()
    case = case_of(rows, typed, evidence={"topics": TOPICS.lazy(), "subjects": subjects})
    return check_of(judge(case, (promise,)), "topics")


HONEST = list(zip("abcdef", NAMES, strict=False))


@pytest.mark.parametrize(
    "became",
    [
        HONEST,
        [],
        HONEST[3:],
        [*HONEST, ("ghost", NAMES[6])],
        [(user, NAMES[3]) for user, _ in HONEST],
        [*HONEST, ("a", NAMES[7])],
        [(user, None) for user, _ in HONEST],
    ],
    ids=["honest", "empty", "the ill left out", "a ghost", "one name for all", "twice", "nobody released"],
)
def test_no_table_of_names_hides_who_shares_a_topic(became):
    check = _topics_check(became)
    assert check.status == "failed"
    assert check.carries_promise


class _Unjudged(QueryKAnonymity):
    """A promise whose judge looks at nothing."""

    def check(self, case):  # noqa: ARG002
        yield from ()


def test_a_promise_that_nobody_judged_is_not_kept():
    rows = coterie.anonymize(queries_log(), SuppressRare(k=2, attrs="drop"), seed=1).to_polars().lazy()
    case = Case(rows=rows, shape=queries_log().shape, original=queries_log())
    honest = QueryKAnonymity(k=2, attrs="drop")
    assert judge(case, (honest,)).exit_code == 0
    assert judge(case, (honest, _Unjudged(k=1000))).exit_code == 3
    assert judge(case, ()).exit_code == 1


def test_nothing_rides_along_in_a_column_that_no_judge_counts():
    """A user's number in the column of counts."""
    original = log_of([{"user": user, "query": "maps"} for user in ("4417749", "b", "c")])
    rows = COUNTS.completed(pl.LazyFrame({"item": ["maps"], "count": [4417749]})).collect()
    check = check_of(judge(Case(rows=rows.lazy(), shape=COUNTS, original=original), (QueryKAnonymity(k=2),)), "details")
    assert check.status == "failed"


def test_sessions_are_counted_again_unless_a_step_numbered_them():
    log = queries_log()
    one_session = pl.lit(0, pl.UInt32).alias("session")
    forged = Log(frame=log.frame.with_columns(one_session), shape=log.shape, history=(Step(name="read"),))
    release = coterie.anonymize(log, SuppressRare(k=3, users="session", attrs="drop"), seed=1)
    assert coterie.verify(release, forged).exit_code == 0, "by their times"
    linked = coterie.anonymize(log, SuppressRare(k=3, users="pseudonym", attrs="drop"), seed=1)
    promise = QueryKAnonymity(k=3, users="session", attrs="drop")
    case = Case(rows=linked.log.frame, shape=log.shape, original=forged)
    assert check_of(judge(case, (promise,)), "links").status == "failed"


def test_a_report_takes_k_from_what_was_judged(tmp_path):
    path = tmp_path / "safe.tsv"
    coterie.write(coterie.anonymize(queries_log(), SuppressRare(k=2), seed=1), path)
    sidecar = path.with_name("safe.tsv.json")
    sidecar.write_text(sidecar.read_text().replace('"parameters": {\n    "k": 2', '"parameters": {\n    "k": 500'))
    assert coterie.load_release(path).params["k"] == 500
    from coterie.measures.comparison import Comparison
    from coterie.reports.views import release_view

    view = release_view(Comparison.of(queries_log(), coterie.load_release(path), 1), names=["release_share"])
    assert view.k == 2


def test_a_stored_plan_is_private(tmp_path):
    folder = tmp_path / "plan"
    folder.mkdir(mode=0o755)
    Plan(table=pl.LazyFrame({"item": ["a"]}), evidence={"names": pl.LazyFrame({"x": [1]})}).write(folder)
    modes = {stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*") if path.is_file()}
    assert modes == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    with pytest.raises(ParameterError, match="not empty"):
        Plan(table=pl.LazyFrame({"item": ["a"]})).write(folder)


def test_a_run_of_one_k_can_be_repeated_from_its_record():
    log = coterie.prepare(coterie.read("synth:users=300,seed=5"))
    method = InterestMicroaggregate(k=5, dimensions=4, attrs="drop")
    (release,) = jobs.anonymize_each(log, [method])
    run = release.record.run
    assert run["seed"] == run["learning_seed"]
    assert coterie.anonymize(log, method, seed=run["seed"]).to_polars().equals(release.to_polars())


def test_what_a_release_knows_itself_is_not_taken_from_elsewhere():
    release = coterie.anonymize(queries_log(), SuppressRare(k=2), seed=1)
    for more in ({"promise": "user_k_anonymity"}, {"steps": []}, {"record": "elsewhere"}):
        with pytest.raises(ParameterError, match="knows its promises"):
            coterie.verify(release, queries_log(), **more)


# --- what accompanies a released query --------------------------------------------------------------


@cache
def _clicks():
    """Eight people who typed two queries in one week and clicked; the record of nobody."""
    rows = []
    for number in range(8):
        day = datetime(2020, 2, 3 + number % 2, 9, number)
        rows += [
            {"user": f"{number}", "query": "violin", "time": day, "url": "v.example", "rank": 1 + number // 6},
            {"user": f"{number}", "query": "cello", "time": day, "url": f"{'ab'[number % 2]}.example", "rank": 1},
            {"user": f"{number}", "query": "cello", "time": day + timedelta(days=30)},
        ]
    return coterie.prepare(log_of(rows), [])


@cache
def _released(method, attrs, users):
    return coterie.anonymize(_clicks(), method(k=3, attrs=attrs, users=users), seed=1)


def _user_number(rows, original):
    """Of each released row some user, by their number, so that all rows are told apart."""
    users = original["user"].cast(pl.Int32).to_list()
    return pl.Series([users[at % len(users)] for at in range(rows.height)], dtype=pl.Int32)


def _rank_is_the_user(rows, original):
    number = _user_number(rows, original).alias("rank")
    return rows.with_columns(pl.when(pl.col("url").is_not_null()).then(number).alias("rank"))


def _day_is_the_user(rows, original):
    return rows.with_columns((datetime(2000, 1, 1) + pl.duration(days=_user_number(rows, original))).alias("time"))


def _clicks_swapped(rows, _original):
    """The click of each row beside the day of another one of its query, and where a click was none."""
    clicks = pl.struct("url", "rank").reverse().over("query")
    return rows.with_columns(clicks.struct.field("url").alias("url"), clicks.struct.field("rank").alias("rank"))


def _one_user_only(rows, _original):
    """Of each query as many rows as one user had."""
    return rows.group_by("query", maintain_order=True).head(1)


def _a_row_twice(rows, _original):
    return pl.concat([rows[:1], rows[2:3], rows[2:]])


def _finer(rows, original):
    """Days instead of weeks, as the log has them."""
    exact = original.filter(pl.col("time") > datetime(2020, 3, 1)).with_columns(pl.col("time").dt.truncate("1d"))
    exact = exact.with_columns(time_level=pl.lit("day"))
    return pl.concat([rows.filter(pl.col("url").is_not_null()), exact.select(rows.columns)])


def _coarser(rows, _original):
    """Nothing false, but less than the rule keeps: which rows were made coarser could tell something."""
    return rows.with_columns(pl.when(pl.int_range(pl.len()) > 0).then("time").alias("time"))


FORGERIES = [_rank_is_the_user, _day_is_the_user, _clicks_swapped, _one_user_only, _a_row_twice, _finer, _coarser]


@pytest.mark.parametrize("forge", FORGERIES, ids=lambda forge: forge.__name__)
@pytest.mark.parametrize("users", ["drop", "pseudonym"])
@pytest.mark.parametrize("attrs", ["common", "keep"])
@pytest.mark.parametrize("method", [SuppressRare, Affinity, Generalize])
def test_rows_are_those_of_the_original_with_all_that_is_beside_them(method, attrs, users, forge):
    log, release = _clicks(), _released(method, attrs, users)
    assert release.verdict.exit_code == 0
    rows, original = release.to_polars(), log.to_polars()
    forged = forge(rows, original.with_columns(pl.lit(None, pl.String).alias("user")) if forge is _finer else original)
    shape = release.log.shape
    forged = forged.select(rows.columns).sort(shape.order)
    if forged.equals(rows):
        pytest.skip("this changes nothing here")
    case = Case(rows=forged.lazy(), shape=shape, original=log)
    assert judge(case, release.promises).exit_code == 1


def test_no_row_of_a_released_query_is_missing_where_nothing_is_beside_it():
    log = _clicks()
    release = coterie.anonymize(log, SuppressRare(k=3, attrs="drop"), seed=1)
    forged = _one_user_only(release.to_polars(), log.to_polars()).sort(log.shape.order)
    assert judge(Case(rows=forged.lazy(), shape=log.shape, original=log), release.promises).exit_code == 1


def test_names_do_not_swap_what_is_beside_their_queries():
    """Two names with the same queries exchange a click: each tuple has its users still, and the names lie."""
    log = _clicks()
    release = coterie.anonymize(log, SuppressRare(k=3, users="pseudonym"), seed=1)
    rows = release.to_polars()
    clicked = (pl.col("query") == "cello") & pl.col("url").is_not_null()
    other = rows.filter(clicked).sort("url", "user").with_columns(pl.col("user").reverse())
    forged = pl.concat([rows.filter(~clicked), other]).sort(release.log.shape.order)
    case = Case(rows=forged.lazy(), shape=release.log.shape, original=log)
    assert [check.name for check in judge(case, release.promises).broken] == ["links"]
