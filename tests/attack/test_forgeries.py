"""What somebody gains who forges a record, a promise or a release: nothing that a judge believes."""

import stat

import polars as pl
import pytest

import coterie
from coterie import jobs
from coterie.core.log import Log, Step
from coterie.core.plan import Plan
from coterie.core.promise import Case
from coterie.core.shapes import COUNTS
from coterie.errors import ParameterError
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
    rows = pl.DataFrame({"item": ["maps"], "count": [4417749]}, schema=COUNTS.schema)
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
    from coterie.reports.views import release_view

    view = release_view(queries_log(), coterie.load_release(path), names=["release_share"])
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
