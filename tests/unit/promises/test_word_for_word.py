"""All that promises say and all that judges tell, word for word and number for number.

Whoever changes a sentence changes it in `word_for_word.txt`, too: run this file as a script to write it again, and read
what changed before you commit it.
"""

import sys
from dataclasses import fields
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from coterie.core.promise import Check
from coterie.core.shapes import COUNTS, VISITS
from coterie.errors import ParameterError
from coterie.promises import judge, k_theta_affinity
from coterie.promises._people import names_of
from coterie.promises.concept_k_anonymity import ConceptKAnonymity
from coterie.promises.k_theta_affinity import KThetaAffinity
from coterie.promises.phrase_users import PhraseUsers
from coterie.promises.query_k_anonymity import QueryKAnonymity
from coterie.promises.user_k_anonymity import UserKAnonymity
from coterie.text.words import digest_of, name_of_topics
from tests.helpers.hand_made import DIGEST, NAMES, case_of, log_of

WORDS = Path(__file__).with_name("word_for_word.txt")
DAY = datetime(2020, 2, 3)
AT = DAY + timedelta(hours=9)
SHOWN = [field.name for field in fields(Check) if field.name not in ("name", "status", "detail")]

# --- what is promised ---------------------------------------------------------------------------

PROMISES = [
    QueryKAnonymity(k=5),
    QueryKAnonymity(k=5, users="session", attrs="keep"),
    QueryKAnonymity(k=5, users="session", session_minutes=1),
    QueryKAnonymity(k=5, users="session", session_minutes=60),
    QueryKAnonymity(k=5, users="session", session_minutes=7),
    QueryKAnonymity(k=5, users="pseudonym", attrs="drop"),
    KThetaAffinity(k=5),
    KThetaAffinity(k=5, theta=0.5, min_term_users=3, strict=True, function_words=DIGEST, attrs="drop"),
    KThetaAffinity(k=5, users="session", attrs="keep", session_minutes=7),
    ConceptKAnonymity(k=5),
    ConceptKAnonymity(k=5, size="queries", taxonomy=DIGEST, users="pseudonym", attrs="keep"),
    ConceptKAnonymity(k=5, users="session", attrs="drop", session_minutes=7),
    UserKAnonymity(k=5),
    UserKAnonymity(k=4, labels="wordnet", topics=DIGEST, topic_share=0.125),
    UserKAnonymity(k=4, labels=DIGEST, topics=DIGEST),
    UserKAnonymity(k=4, phrases=True),
    PhraseUsers(m=5),
]


def _said(promise):
    yield f"# {promise!r}"
    yield f"{promise.name}, {promise.about}, {promise.headline}, {promise.releases}"
    yield f"linkage bound {promise.linkage_bound}, evidence {promise.evidence}"
    yield promise.sentence
    yield from (f"- {limit}" for limit in promise.limits)
    yield getattr(promise, "foreign_sentence", "")


# --- what is judged -------------------------------------------------------------------------------

TYPED = [
    {"user": user, "query": query, "time": AT + timedelta(minutes=minutes), "url": url, "rank": rank}
    for user, query, minutes, url, rank in [
        ("a", "dog", 0, "x", 1),
        ("a", "zzqx", 25, None, None),
        ("a", "dog", 50, "x", 2),
        ("a", "wolf", 90, None, None),
        ("b", "dog", 0, "x", 1),
        ("c", "dog", 5, "y", 1),
        ("c", "wolf", 600, "y", 1),
        (None, "dog", 7, "x", 1),
    ]
]
LOG = log_of(TYPED)
PEOPLE = dict(zip("abc", NAMES, strict=False))
BARE = [{"query": row["query"]} for row in TYPED if row["query"] != "zzqx"]
NAMED = [{"user": PEOPLE.get(row["user"], NAMES[9]), "query": row["query"]} for row in TYPED if row["query"] != "zzqx"]
FULL = [
    {"user": PEOPLE.get(row["user"]), "query": row["query"], "time": DAY, "url": row["url"], "rank": row["rank"]}
    for row in TYPED
    if row["query"] != "zzqx"
]
WRONG = [*FULL, {"user": "a", "query": "dog", "time": AT, "rank": 7}, {"query": "cow", "url": "z"}]
VISITED = log_of(
    [
        {"user": user, "path": "/", "method": method, "status": status, "bytes": size, "agent": "browser"}
        for user, method, status, size in [("a", "GET", 200, 1), ("b", "GET", 200, 2), ("c", "PUT", 200, 2)]
    ],
    VISITS,
)
VISITS_WRONG = [
    {"path": "/", "method": "GET", "status": 200, "bytes": 1},
    {"path": "/", "status": 200, "agent": "browser"},
    {"path": "/", "method": "GET", "bytes": 1},
]
RING = {"p": "one two three four five six", "q": "one two three four five", "r": "two three four five six"}
ASKED = log_of(
    [{"user": user, "query": query} for user, query in RING.items()]
    + [{"user": user, "query": "weather"} for user in "abcd"]
    + [{"user": "e", "query": "zzz weather"}]
)
RELEASED = [{"query": query} for query in (*RING.values(), *["weather"] * 4)]
RARE = [*RELEASED, {"query": "zzz weather"}, {"query": "weather"}]
CERTIFICATE = pl.LazyFrame(
    [(item, by, user) for own, item in RING.items() for user, by in RING.items() if user != own],
    schema={"item": pl.String, "by": pl.String, "user": pl.String},
    orient="row",
)
CANINE = [{"user": row["user"], "query": "canine (2)", "time": row.get("time")} for row in FULL]
PROFILES = [{"user": name, "query": query} for name in NAMES[:3] for query in ("dog", "dog", "wolf")]
RUN = {"seed": 7}
TRUE_NAMES = names_of(RUN, "abc", ())
SHARED = [{"user": name, "query": query, "time": DAY} for name in TRUE_NAMES for query in ("dog", "dog", "wolf")]
OF_ONE = [{"user": name, "query": "zzqx", "url": "z", "rank": 9} for name in NAMES[:3]] + [
    {"user": name, "query": "cow", "time": AT} for name in TRUE_NAMES
]
TOO_MANY = [{"user": name, "query": "dog"} for name in NAMES[:5]]
TOPICS = pl.DataFrame({"topic": [0, 0, 1], "word": ["wolf", "cow", "zzqx"]})
SUBJECTS = pl.LazyFrame({"original": ["a", "c", "b"], "released": NAMES[:3]})
LABELS = pl.LazyFrame({"label": ["dog", "wolf"]})
AFFINE = {"k": 3, "theta": 0.5, "min_users": 2}

CASES = {
    "queries, fine": (case_of(BARE, LOG), QueryKAnonymity(k=2, attrs="drop")),
    "queries, too few": (case_of(BARE, LOG), QueryKAnonymity(k=4)),
    "queries, by name": (case_of(NAMED, LOG), QueryKAnonymity(k=2, users="pseudonym")),
    "queries, by name, with the record": (case_of(SHARED, LOG, run=RUN), QueryKAnonymity(k=2, users="pseudonym")),
    "queries, by session": (case_of(NAMED, LOG), QueryKAnonymity(k=2, users="session")),
    "queries, with details": (case_of(FULL, LOG), QueryKAnonymity(k=2, users="pseudonym")),
    "queries, all wrong": (case_of(WRONG, LOG), QueryKAnonymity(k=2)),
    "queries, details in spite of all": (case_of(WRONG, LOG), QueryKAnonymity(k=2, attrs="drop")),
    "queries, no original": (case_of(BARE), QueryKAnonymity(k=2)),
    "queries, no original but names": (case_of(FULL), QueryKAnonymity(k=2, users="pseudonym")),
    "queries, no original but sessions": (case_of(NAMED), QueryKAnonymity(k=2, users="session", attrs="drop")),
    "queries, foreign": (case_of(WRONG, LOG, foreign=True), QueryKAnonymity.of_foreign({"k": 2}, named=True)),
    "queries, foreign, no original": (case_of(NAMED, foreign=True), QueryKAnonymity.of_foreign({"k": 2}, named=True)),
    "queries, none": (case_of([], LOG), QueryKAnonymity(k=2, users="pseudonym")),
    "visits": (case_of(VISITS_WRONG, VISITED, VISITS), QueryKAnonymity(k=2)),
    "visits, no original": (case_of(VISITS_WRONG, None, VISITS), QueryKAnonymity(k=2)),
    "counts": (
        case_of(pl.DataFrame({"item": ["dog"], "count": [3]}, schema=COUNTS.schema), LOG, COUNTS),
        QueryKAnonymity(k=2),
    ),
    "wrong columns": (case_of(case_of(BARE).rows.collect().drop("rank", "url"), LOG), QueryKAnonymity(k=2)),
    "missing values": (
        case_of(case_of(BARE).rows.collect().with_columns(pl.lit(None, pl.String).alias("query"))),
        QueryKAnonymity(k=2),
    ),
    "affinity": (case_of(RELEASED, ASKED), KThetaAffinity(**AFFINE, strict=True)),
    "affinity, too few": (case_of(RARE, ASKED), KThetaAffinity(**(AFFINE | {"k": 4}), strict=True)),
    "affinity, of itself": (case_of(RELEASED[3:], ASKED), KThetaAffinity(**AFFINE)),
    "affinity, by certificate": (
        case_of(RELEASED, ASKED, evidence={"certificate": CERTIFICATE}),
        KThetaAffinity(**AFFINE),
    ),
    "affinity, no certificate": (case_of(RELEASED, ASKED), KThetaAffinity(**AFFINE, users="pseudonym")),
    "affinity, no words": (case_of(RELEASED, ASKED), KThetaAffinity(**AFFINE, function_words=DIGEST, strict=True)),
    "affinity, no original": (case_of(RELEASED), KThetaAffinity(**AFFINE, users="session")),
    "affinity, foreign": (
        case_of(RARE, ASKED, foreign=True),
        KThetaAffinity.of_foreign({"k": 3}, named=True),
    ),
    "affinity, none": (case_of([], ASKED), KThetaAffinity(**AFFINE)),
    "concepts": (case_of(CANINE, LOG), ConceptKAnonymity(k=3, users="pseudonym")),
    "concepts of sessions": (case_of(CANINE, LOG), ConceptKAnonymity(k=4, users="session", attrs="drop")),
    "concepts of queries": (case_of(CANINE, LOG), ConceptKAnonymity(k=3, size="queries", attrs="keep")),
    "concepts, none": (case_of([], LOG), ConceptKAnonymity(k=3, size="queries")),
    "concepts that are none": (case_of(BARE, LOG), ConceptKAnonymity(k=2, attrs="drop")),
    "concepts, no original": (case_of(CANINE), ConceptKAnonymity(k=3, size="queries")),
    "concepts, no taxonomy": (case_of(CANINE, LOG), ConceptKAnonymity(k=3, taxonomy=DIGEST, users="session")),
    "concepts of queries, no taxonomy": (
        case_of(CANINE, LOG),
        ConceptKAnonymity(k=3, taxonomy=DIGEST, size="queries"),
    ),
    "profiles": (case_of(PROFILES, LOG), UserKAnonymity(k=3)),
    "profiles, too few": (case_of([*PROFILES[:-1], *NAMED], LOG), UserKAnonymity(k=3)),
    "profiles, nameless": (case_of([*PROFILES, {"query": "cow"}], LOG), UserKAnonymity(k=3)),
    "profiles, with the record": (case_of(SHARED, LOG, run=RUN), UserKAnonymity(k=3)),
    "profiles of one person": (case_of(OF_ONE, LOG, run=RUN), UserKAnonymity(k=3)),
    "profiles, too many names": (case_of(TOO_MANY, LOG), UserKAnonymity(k=3)),
    "profiles, no original": (case_of(PROFILES), UserKAnonymity(k=3, topics=DIGEST)),
    "profiles, no topics": (case_of(PROFILES, LOG), UserKAnonymity(k=3, topics=DIGEST)),
    "profiles, with topics": (
        case_of(PROFILES, LOG, evidence={"topics": TOPICS.lazy(), "subjects": SUBJECTS}),
        UserKAnonymity(k=3, topics=name_of_topics(TOPICS)),
    ),
    "profiles, a topic of all": (
        case_of(PROFILES[:6], log_of(TYPED[3:7]), evidence={"topics": TOPICS.lazy(), "subjects": SUBJECTS}),
        UserKAnonymity(k=2, topics=name_of_topics(TOPICS), topic_share=1.0),
    ),
    "profiles of labels": (
        case_of([*PROFILES, {"user": NAMES[0], "query": "what was typed", "rank": 1}]),
        UserKAnonymity(k=3, labels="wordnet"),
    ),
    "profiles of own labels": (
        case_of(PROFILES, LOG, evidence={"labels": LABELS}),
        UserKAnonymity(k=3, labels=digest_of(["dog", "wolf"])),
    ),
    "profiles of unknown labels": (case_of(PROFILES, LOG), UserKAnonymity(k=3, labels=DIGEST)),
    "profiles, foreign": (case_of(WRONG, LOG, foreign=True), UserKAnonymity.of_foreign({"k": 3}, named=True)),
    "profiles of nobody": (
        case_of(pl.DataFrame({"item": ["dog"], "count": [3]}, schema=COUNTS.schema), LOG, COUNTS),
        UserKAnonymity(k=3),
    ),
}
WITH_RULES = ("queries, fine", "visits", "counts")  # elsewhere only those that are broken
LARGE = ("affinity, by certificate", "affinity, no certificate")


def _told(name, monkeypatch):
    case, promise = CASES[name]
    if name in LARGE:
        monkeypatch.setattr(k_theta_affinity, "_SMALL_ITEMS", 3)
    verdict = judge(case, (promise,))
    yield f"## {name}: {verdict.exit_code}, {verdict.largest_k}, {verdict.foreign}"
    for check in verdict.checks:
        usual = Check(name="", status="passed", detail="")
        others = {key: getattr(check, key) for key in SHOWN if getattr(check, key) is not getattr(usual, key)}
        if check.promise or check.status != "passed" or name in WITH_RULES:
            words = ", ".join(f"{key}={value!r}" for key, value in others.items() if key != "promise")
            yield f"{check.name} {check.status}: {check.detail} [{words}]"


def _sections(text):
    parts = text.split("\n\n")
    return {part.partition("\n")[0].lstrip("# ").partition(": ")[0]: part.splitlines() for part in parts}


@pytest.fixture(scope="module")
def written():
    return _sections(WORDS.read_text(encoding="utf-8").rstrip("\n"))


@pytest.mark.parametrize("promise", PROMISES, ids=range(len(PROMISES)))
def test_what_is_promised(promise, written):
    assert "\n".join(_said(promise)).rstrip().splitlines() == written[repr(promise)]


@pytest.mark.parametrize("name", CASES)
def test_what_is_told(name, written, monkeypatch):
    assert list(_told(name, monkeypatch)) == written[name]


@pytest.mark.parametrize("promise", PROMISES, ids=range(len(PROMISES)))
def test_a_wrong_number_says_whose_it_is(promise):
    with pytest.raises(ParameterError, match=promise.name):
        type(promise)(**{fields(promise)[0].name: 1})


@pytest.mark.parametrize("cls", [QueryKAnonymity, KThetaAffinity])
def test_what_foreign_rows_are_asked_for(cls):
    for named, users in ((True, "pseudonym"), (False, "drop")):
        assert cls.of_foreign({"k": 4}, named=named) == cls(k=4, users=users, attrs="keep")


def test_nothing_else_is_written_down(written):
    assert len(written) == len(PROMISES) + len(CASES)


if __name__ == "__main__":
    with pytest.MonkeyPatch.context() as patch:
        texts = ["\n".join(_said(promise)).rstrip() for promise in PROMISES]
        for case_name in CASES:
            texts.append("\n".join(_told(case_name, patch)))
            patch.undo()
    WORDS.write_text("\n\n".join(texts) + "\n", encoding="utf-8")
    sys.exit()
