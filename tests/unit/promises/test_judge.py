"""Judging: the rules of every release first, then each promise by its own judge.

Covers: promises/__init__.py
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar

import polars as pl
import pytest

import coterie.promises
from coterie.core import registry
from coterie.core.log import Step
from coterie.core.params import params_of
from coterie.core.promise import Case, Check, Promise, from_dict, promise_class, to_dict, with_k
from coterie.core.shapes import COUNTS, QUERIES, VISITS
from coterie.errors import InputError, ParameterError, UnknownNameError
from coterie.promises import judge
from coterie.promises._names import names_of
from coterie.promises.concept_k_anonymity import ConceptKAnonymity
from coterie.promises.k_theta_affinity import KThetaAffinity
from coterie.promises.phrase_users import PhraseUsers
from coterie.promises.query_k_anonymity import QueryKAnonymity
from coterie.promises.sequence_k_anonymity import SequenceKAnonymity
from coterie.promises.user_k_anonymity import UserKAnonymity
from tests.helpers.hand_made import DIGEST, NAMES, case_of, check_of, frame_of, log_of, run_of

PROMISES = [
    QueryKAnonymity(k=5),
    QueryKAnonymity(k=2, users="session", attrs="keep"),
    KThetaAffinity(k=5, theta=0.5, strict=True, function_words=DIGEST, attrs="drop"),
    ConceptKAnonymity(k=5, size="queries", taxonomy=DIGEST, users="pseudonym"),
    UserKAnonymity(k=5),
    UserKAnonymity(k=5, labels="wordnet", topics=DIGEST, topic_share=0.1),
    UserKAnonymity(k=5, phrases=True),
    PhraseUsers(m=4),
    SequenceKAnonymity(k=5),
    SequenceKAnonymity(k=2, paths="exact", days=False, session_minutes=10),
]


@dataclass(frozen=True, kw_only=True)
class AtLeast(Promise):
    """A promise of somebody else: no count is below a number. It has no k."""

    least: int

    name: ClassVar[str] = "at_least"
    headline = "least"
    sentence = "No count is small."
    limits = ()
    releases = "counts"

    def __post_init__(self):
        """It takes any number."""

    def check(self, case: Case) -> Iterator[Check]:
        low, total = case.rows.select((pl.col("count") < self.least).sum(), pl.len()).collect().row(0)
        yield Check(
            name="counts",
            status="failed" if low else "passed",
            detail="no count is small",
            looked_at=total,
            broken=low,
            fault="are",
            carries_promise=True,
        )

    @classmethod
    def of_foreign(cls, values: Mapping[str, Any], *, named: bool) -> Promise:  # noqa: ARG003 (the protocol's)
        return cls(**values)


# --- values ------------------------------------------------------------------------------------


def test_every_promise_is_found_by_its_name():
    assert registry.names("promises") == [
        "cell_k_anonymity",
        "concept_k_anonymity",
        "differential_privacy",
        "document_k_anonymity",
        "k_theta_affinity",
        "none",
        "phrase_users",
        "query_k_anonymity",
        "record_k_anonymity",
        "sequence_k_anonymity",
        "user_k_anonymity",
        "visit_k_anonymity",
        "windowed_query_k_anonymity",
        "word_k_anonymity",
    ]
    for name in registry.names("promises"):
        assert promise_class(name).name == name
        assert isinstance(promise_class(name)(**({} if name == "none" else {_number(name): 3})), Promise)
    with pytest.raises(UnknownNameError, match="'query_k_anonymity'"):
        promise_class("query_k_anonimity")


@pytest.mark.parametrize("promise", PROMISES)
def test_a_promise_survives_the_sidecar(promise):
    assert from_dict(to_dict(promise)) == promise
    with pytest.raises(InputError, match="too many, or lacks one"):
        from_dict({**to_dict(promise), "other": 1})
    with pytest.raises(InputError, match="too many, or lacks one"):
        from_dict({"name": promise.name})


@pytest.mark.parametrize("promise", PROMISES)
def test_what_everybody_may_ask_of_a_promise(promise):
    number = _number(promise.name)
    assert promise.headline == f"{number} = {getattr(promise, number)}"
    assert str(getattr(promise, number)) in promise.sentence
    assert promise.limits[-1].startswith("The promise is about this release alone")
    assert len(set(promise.limits)) == len(promise.limits) >= 3
    for text in (promise.sentence, *promise.limits):
        assert text[0].isupper()
        assert text.endswith(".")
        assert not {"she", "her", "he", "his"} & set(text.lower().replace(".", "").split())
    assert promise.releases in ("text", "phrases", "concepts")


@pytest.mark.parametrize("name", [name for name in registry.names("promises") if name != "none"])
def test_every_field_has_its_range_and_its_sentence(name):
    cls = promise_class(name)
    params = {param.name: param.doc for param in params_of(cls)}
    number = _number(name)
    assert set(params) == set(asdict(cls(**{number: 2})))
    assert all(params.values())
    too_few = 0 if name == "differential_privacy" else 1  # which does not rest on k
    for wrong in (too_few, 2.5, True, "3"):
        with pytest.raises(ParameterError, match=f"'{number}' parameter"):
            cls(**{number: wrong})


def _number(name):
    """The number of a promise that must be given."""
    return "m" if name == "phrase_users" else "k"


@pytest.mark.parametrize(
    ("cls", "values"),
    [
        (KThetaAffinity, {"function_words": "klingon"}),
        (KThetaAffinity, {"function_words": "sha256:"}),
        (KThetaAffinity, {"function_words": ["the"]}),
        (KThetaAffinity, {"function_words": DIGEST + "0"}),
        (ConceptKAnonymity, {"taxonomy": "/home/somebody/tree.npz"}),
        (UserKAnonymity, {"labels": "mine"}),
        (UserKAnonymity, {"topics": "wordnet"}),
    ],
)
def test_lists_are_named_or_have_a_digest(cls, values):
    with pytest.raises(ParameterError, match=next(iter(values))):
        cls(k=2, **values)


def test_another_k():
    assert with_k((QueryKAnonymity(k=5), AtLeast(least=2)), 3) == (QueryKAnonymity(k=3), AtLeast(least=2))
    with pytest.raises(ParameterError, match="has no k"):
        with_k((AtLeast(least=2),), 3)


def test_nothing_here_knows_what_decides_or_applies():
    folder = Path(coterie.promises.__file__).parent
    rooms = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [f"coterie.{each.name}" for each in node.names] if node.module == "coterie" else [node.module]
            elif isinstance(node, ast.Import):
                names = [each.name for each in node.names]
            else:
                continue
            rooms |= {name.split(".")[1] for name in names if name.startswith("coterie.")}
    assert rooms <= {"core", "text", "taxonomies", "errors", "promises"}


# --- judging -----------------------------------------------------------------------------------

TEA = [{"user": user, "query": "tea"} for user in "abc"]
SHARED = [{"user": name, "query": "tea"} for name in NAMES[:3]]
RUN = run_of(7)
NAMED = [{"user": name, "query": "tea"} for name in names_of(RUN, "abc", ())]


def test_two_promises_are_judged_together():
    promises = (UserKAnonymity(k=3), QueryKAnonymity(k=2, users="pseudonym", attrs="keep"))
    verdict = judge(case_of(NAMED, log_of(TEA), run=RUN), promises)
    assert verdict.promises == promises
    assert verdict.exit_code == 0
    assert verdict.largest_k == 3
    by_promise = {check.name: check.promise for check in verdict.checks}
    assert by_promise == {
        **dict.fromkeys(("columns", "order", "ids", "identifying"), ""),
        **dict.fromkeys(("names", "people", "typed", "shares", "items", "profiles"), "user_k_anonymity"),
        **dict.fromkeys(("crowd.query", "rows.query", "tuples.query", "links", "seeded"), "query_k_anonymity"),
    }
    assert promises[0].sentence in verdict.sentence
    assert promises[1].sentence in verdict.sentence


def test_one_of_two_is_broken():
    promises = (UserKAnonymity(k=3), QueryKAnonymity(k=4, users="pseudonym", attrs="keep"))
    verdict = judge(case_of(SHARED, log_of(TEA)), promises)
    assert [(check.name, check.promise) for check in verdict.broken] == [("crowd.query", "query_k_anonymity")]


def test_the_same_check_is_kept_once_and_another_one_twice():
    same = judge(case_of(SHARED), (UserKAnonymity(k=2), UserKAnonymity(k=2)))
    assert len({check.name for check in same.checks}) == len(same.checks)
    other = judge(case_of(SHARED), (UserKAnonymity(k=2), UserKAnonymity(k=3)))
    assert [check.detail for check in other.checks if check.name == "profiles"] == [
        "each profile is shared by at least 2 subjects",
        "each profile is shared by at least 3 subjects",
    ]
    assert len(other.checks) == len(same.checks) + 1


def test_wrong_columns_are_the_only_thing_that_is_said():
    rows = frame_of(SHARED)
    for wrong in (rows.drop("rank"), rows.with_row_index("row"), rows.with_columns(pl.col("rank").cast(pl.Int64))):
        verdict = judge(case_of(wrong), (UserKAnonymity(k=3), AtLeast(least=1)))
        assert [check.name for check in verdict.checks] == ["columns"]
        assert verdict.exit_code == 1
        assert not verdict.foreign
    holed = rows.with_columns(pl.lit(None, pl.String).alias("query"))
    assert judge(case_of(holed), (UserKAnonymity(k=3),)).checks[0].broken == 3


def test_counts_without_subjects_and_a_promise_without_k():
    rows = COUNTS.completed(pl.LazyFrame({"item": ["maps", "tea"], "count": [7, 3]})).collect()
    verdict = judge(case_of(rows, log_of(TEA), COUNTS), (AtLeast(least=3),))
    assert [(check.name, check.status) for check in verdict.checks] == [
        ("columns", "passed"),
        ("order", "passed"),
        ("identifying", "passed"),
        ("counts", "passed"),
    ]
    assert verdict.exit_code == 0
    assert verdict.largest_k is None
    assert verdict.sentence == "No count is small."
    broken = judge(case_of(rows.reverse(), None, COUNTS), (AtLeast(least=4),))
    assert [(check.name, check.broken, check.looked_at) for check in broken.broken] == [
        ("order", 1, 2),
        ("counts", 1, 2),
    ]


def test_counts_can_promise_k_users_behind_each_item():
    rows = COUNTS.completed(pl.LazyFrame({"item": ["tea"], "count": [3]})).collect()
    assert judge(case_of(rows, log_of(TEA), COUNTS), (QueryKAnonymity(k=3, attrs="keep"),)).exit_code == 0
    few = judge(case_of(rows, log_of(TEA), COUNTS), (QueryKAnonymity(k=4, attrs="keep"),))
    assert [check.name for check in few.broken] == ["crowd.item"]
    ridden = judge(case_of(rows, log_of(TEA), COUNTS), (QueryKAnonymity(k=3, attrs="common"),))
    assert [check.name for check in ridden.broken] == ["details"], "nobody counted what stands in count"
    unseen = judge(case_of(rows, None, COUNTS), (QueryKAnonymity(k=3, users="pseudonym", attrs="keep"),))
    assert unseen.exit_code == 3


def test_profiles_need_somebody_to_be_of():
    rows = COUNTS.completed(pl.LazyFrame({"item": ["maps", "tea"], "count": [3, 3]})).collect()
    verdict = judge(case_of(rows, None, COUNTS), (UserKAnonymity(k=2),))
    assert [(check.name, check.broken) for check in verdict.broken] == [("profiles", 2)]


# --- rules -------------------------------------------------------------------------------------


def test_order_has_nulls_first():
    rows = [(None, None, "a", None, None), (None, None, "a", None, "u"), (None, None, "a", 1, None)]
    schema = {name: QUERIES.schema[name] for name in QUERIES.released}
    for order, broken in ((rows, 0), (rows[::-1], 2), ([rows[0], rows[2], rows[1]], 1)):
        frame = pl.DataFrame(order, schema=schema, orient="row")
        check = check_of(judge(case_of(frame), (QueryKAnonymity(k=2, attrs="keep"),)), "order")
        assert (check.broken, check.looked_at) == (broken, 3)


@pytest.mark.parametrize(
    ("name", "fine"),
    [
        ("u_abcdefghijklmnop", True),
        ("u_234567abcdefghij", True),
        ("u_abcdefghijklmno", False),
        ("u_abcdefghijklmnopq", False),
        ("u_abcdefghijklmno1", False),
        ("u_abcdefghijklmnoP", False),
        ("x_abcdefghijklmnop", False),
        ("u_abcdefghijklmnop\n", False),
        (" u_abcdefghijklmnop", False),
    ],
)
def test_names_are_random_ones(name, fine):
    rows = [{"user": name, "query": "tea"}]
    for promise in (UserKAnonymity(k=2), QueryKAnonymity(k=2, users="session"), KThetaAffinity(k=2, users="pseudonym")):
        check = check_of(judge(case_of(rows), (promise,)), "names")
        assert (check.status == "passed") is fine
        assert check.broken == (not fine)
    dropped = check_of(judge(case_of(rows), (QueryKAnonymity(k=2),)), "names")
    assert dropped.text == "no row says whose it is: 1 of 1 do"


def test_ids_are_compared_with_the_original():
    original = log_of([{"user": NAMES[0], "query": "tea"}, *TEA])
    check = check_of(judge(case_of(SHARED, original), (UserKAnonymity(k=3),)), "ids")
    assert (check.status, check.broken, check.text) == (
        "failed",
        1,
        "no original subject is named in the release: 1 are",
    )
    assert check_of(judge(case_of(SHARED), (UserKAnonymity(k=3),)), "ids").status == "not checked"


def test_identifying_columns_are_empty():
    rows = [{"path": "/"}, {"path": "/", "agent": "browser"}, {"path": "/", "address": "a", "agent": "b"}]
    check = check_of(judge(case_of(rows, None, VISITS), (QueryKAnonymity(k=2, attrs="keep"),)), "identifying")
    assert (check.broken, check.looked_at, check.carries_promise) == (2, 3, True)


# --- what accompanies queries --------------------------------------------------------------------


def test_a_day_is_a_day_and_not_an_hour():
    day = datetime(2020, 2, 3)
    for later, broken in (
        (timedelta(0), 0),
        (timedelta(days=1), 0),
        (timedelta(hours=1), 1),
        (timedelta(hours=12), 1),
        (timedelta(microseconds=1), 1),
    ):
        rows = [{"query": "tea", "time": day + later, "time_level": "day"}, {"query": "tea"}]
        check = check_of(judge(case_of(rows), (QueryKAnonymity(k=2),)), "times")
        assert (check.broken, check.looked_at) == (broken, 2)


def test_a_pause_of_more_than_half_an_hour_ends_a_session():
    start = datetime(2020, 2, 3, 9)
    promise = QueryKAnonymity(k=2, users="session", attrs="drop")
    for pause, sessions in ((timedelta(minutes=30), 1), (timedelta(minutes=30, seconds=1), 2)):
        typed = [{"user": user, "query": "tea", "time": start + n * pause} for user in "ab" for n in range(2)]
        for names in (1, 2):
            rows = [{"query": "tea", "user": NAMES[2 * who + n % names]} for who in range(2) for n in range(2)]
            check = check_of(judge(case_of(rows, log_of(typed)), (promise,)), "links")
            assert (check.status == "passed") is (names == sessions)
            assert check.looked_at == 2 * names


def test_sessions_that_were_numbered_are_taken_as_they_are():
    original = log_of([{"user": "a", "query": "tea"}, {"user": "a", "query": "tea"}, {"user": "b", "query": "tea"}])
    sessions = pl.Series("session", [0, 1, 0], pl.UInt32)
    numbered = original.then(original.frame.with_columns(sessions), Step(name="sessions"))
    unnumbered = replace(numbered, history=())
    rows = [{"query": "tea", "user": name} for name in NAMES[:3]]
    promise = QueryKAnonymity(k=2, users="session", attrs="keep")
    assert check_of(judge(case_of(rows, numbered), (promise,)), "links").status == "passed"
    for other in (original, unnumbered):  # where no step says so, nobody believes the numbers
        assert check_of(judge(case_of(rows, other), (promise,)), "links").broken == 3 - 1


def test_nothing_accompanies_a_query_where_that_is_promised():
    rows = [{"query": "tea", "rank": 1}, {"query": "tea", "time": datetime(2020, 2, 3)}, {"query": "tea"}]
    check = check_of(judge(case_of(rows), (QueryKAnonymity(k=2, attrs="drop"),)), "details")
    assert check.text == (
        "nothing accompanies a query but what was counted; time, rank, url must be empty: 2 of 3 rows have a value "
        "there"
    )
