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

from coterie.core.log import Log
from coterie.core.promise import Check
from coterie.core.shapes import COUNTS, SEQUENCES, TERMS, VISITS
from coterie.errors import ParameterError
from coterie.methods.private_counts import PrivateCounts
from coterie.methods.private_counts.tables import evidence_of, tables_of
from coterie.promises import judge, k_theta_affinity
from coterie.promises._names import names_of
from coterie.promises.cell_k_anonymity import CellKAnonymity
from coterie.promises.concept_k_anonymity import ConceptKAnonymity
from coterie.promises.differential_privacy import DifferentialPrivacy
from coterie.promises.document_k_anonymity import DocumentKAnonymity
from coterie.promises.k_theta_affinity import KThetaAffinity
from coterie.promises.none import None_
from coterie.promises.phrase_users import PhraseUsers
from coterie.promises.query_k_anonymity import QueryKAnonymity
from coterie.promises.record_k_anonymity import RecordKAnonymity
from coterie.promises.sequence_k_anonymity import SequenceKAnonymity
from coterie.promises.user_k_anonymity import UserKAnonymity
from coterie.promises.visit_k_anonymity import VisitKAnonymity
from coterie.promises.word_k_anonymity import WordKAnonymity
from coterie.text.words import digest_of, name_of_topics
from tests.helpers.hand_made import DIGEST, NAMES, case_of, log_of, run_of

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
    QueryKAnonymity(k=5, shape="VISITS"),
    QueryKAnonymity(k=2, users="session", attrs="keep", session_minutes=7, shape="VISITS"),
    QueryKAnonymity(k=5, users="pseudonym", attrs="drop", shape="VISITS"),
    QueryKAnonymity(k=30, times="hour", k_details=5, window="390d"),
    QueryKAnonymity(k=30, k_details=5, details="device,country", times="drop"),
    QueryKAnonymity(k=5, attrs="keep", details="device"),
    WordKAnonymity(k=5, details="device"),
    KThetaAffinity(k=5, window="390d"),
    ConceptKAnonymity(k=5, window="390d"),
    None_(details="device,country"),
    QueryKAnonymity(k=5, users="mini", link_queries=2, link_minutes=7, times="quarter", shape="VISITS"),
    QueryKAnonymity(k=5, users="day", times="week"),
    KThetaAffinity(k=5, users="mini", times="drop"),
    ConceptKAnonymity(k=5, users="day", times="month"),
    WordKAnonymity(k=5),
    WordKAnonymity(k=50, m=1, max_words=1, entities="detect", users="mini", times="hour", window="30d"),
    WordKAnonymity(k=5, m="all", attrs="drop"),
    None_(),
    None_(users="day", attrs="drop"),
    None_(users="mini", times="drop"),
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
    UserKAnonymity(k=4, times="month"),
    UserKAnonymity(k=4, times="hour"),
    UserKAnonymity(k=4, times="drop"),
    PhraseUsers(m=5),
    SequenceKAnonymity(k=5),
    SequenceKAnonymity(k=2, paths="exact", days=False, session_minutes=7),
    VisitKAnonymity(k=5),
    VisitKAnonymity(k=2, details="none"),
    VisitKAnonymity(k=2, details="method,status,bytes"),
    CellKAnonymity(k=5),
    CellKAnonymity(k=2, tables="pages,hours,browsers"),
    CellKAnonymity(k=2, tables="landing", session_minutes=7),
    RecordKAnonymity(k=5),
    RecordKAnonymity(k=2),
    RecordKAnonymity(k=5, visitors=False),
    DocumentKAnonymity(k=5, term_documents=3),
    DocumentKAnonymity(k=4, term_documents=2, owners=True),
    DocumentKAnonymity(k=4, term_documents=4, labels="wordnet"),
    DocumentKAnonymity(k=4, term_documents=4, labels="wordnet", owners=True),
    DifferentialPrivacy(epsilon=1.0),
    DifferentialPrivacy(epsilon=3.0, delta=1e-5, k=1, counts=0.0),
]


def _said(promise):
    yield f"# {promise!r}"
    yield f"{promise.name}, {promise.about}, {promise.headline}, {promise.releases}"
    yield f"linkage bound {promise.linkage_bound}, evidence {promise.evidence}"
    yield promise.sentence
    yield from (f"- {limit}" for limit in promise.limits)
    yield promise.foreign_sentence if promise.foreign_sentence != promise.sentence else ""


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
RUN = run_of(7)
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

WALKED = log_of(
    [
        {"user": user, "path": path, "time": AT + timedelta(minutes=minutes)}
        for user in "abc"
        for minutes, path in enumerate(("/dog", "/wolf", f"/own/{user}"))
    ],
    VISITS,
)
WALKS = [
    {"sequence": name, "position": place, "path": path, "time": DAY}
    for name in names_of(RUN, "012", ())
    for place, path in enumerate(("/dog", "/wolf"), start=1)
]
ASTRAY = [*WALKS[:4], {"sequence": NAMES[0], "position": 1, "path": "/own/a", "time": AT}]

AGENT, LINK = "Mozilla/5.0 (X11; Linux x86_64; rv:109.0) Gecko/20100101 Firefox/115.0", "http://ref.example/a?b"
SEEN = log_of(
    [
        {
            "user": user,
            "path": path,
            "time": AT,
            "status": 200,
            "agent": AGENT,
            "referrer": LINK,
            "address": f"10.0.0.{n}",
        }
        for n, user in enumerate("abc")
        for path in ("/dog", f"/own/{user}")
    ],
    VISITS,
)
SHORT = [
    {"path": path, "time": AT.replace(minute=0), "agent": "firefox", "referrer": "ref.example"}
    for path in ("/dog", "/own/*")
    for _ in "abc"
]
BECAME = pl.LazyFrame(
    {"row": [0, 2, 4, 1, 3, 5], "released_row": range(6)}, schema={"row": pl.UInt64, "released_row": pl.UInt32}
)
ODD = [
    {**SHORT[0], "status": 200},
    {**SHORT[0], "time": AT + timedelta(minutes=1)},
    *SHORT[2:5],
    {**SHORT[0], "path": "/cow"},
]
CELLS = [("pages", "/dog", 3), ("browsers", "firefox", 6), ("referrers", "ref.example", 6)]
COUNTED = [{"table": table, "item": item, "count": count} for table, item, count in CELLS]
MISCOUNTED = [COUNTED[0], COUNTED[0] | {"item": "/own/a", "count": 1}, COUNTED[1] | {"count": 7}, {"item": "no table"}]
TABLES = CellKAnonymity(k=3, tables="pages,browsers,referrers")
AS_ONE = {"agent": "firefox/115 (linux)", "referrer": "ref.example/a", "status": 200, "time": AT}
RECORDS = [{"path": path, **AS_ONE} for path in ("/dog", "/own/*") for _ in "abc"]
OWN = pl.LazyFrame({"row": range(6), "group": [0, 1] * 3}, schema={"row": pl.UInt64, "group": pl.UInt32})
BY_USER = pl.LazyFrame({"row": range(6), "group": [0, 0, 0, 0, 1, 1]}, schema={"row": pl.UInt64, "group": pl.UInt32})
WRITTEN = [
    {"doc": doc, "term": term, "weight": weight}
    for doc in "abc"
    for term, weight in (("dog", 0.5), ("wolf", 0.25), (f"own {doc}", 0.25))
]
CORPUS = log_of(WRITTEN, TERMS)
OWNED = Log(
    frame=CORPUS.frame.with_columns(pl.when(pl.col("doc") == "a").then(pl.lit("b")).otherwise("doc").alias("owner")),
    shape=TERMS,
)
VECTORS = [
    {"doc": name, "term": term, "weight": weight}
    for name in TRUE_NAMES
    for term, weight in (("dog", 0.5), ("wolf", 0.25))
]
CONCEPTS = [{"doc": name, "term": "canine (2)", "weight": 0.5} for name in TRUE_NAMES]
HEAVY = [*VECTORS[:4], {"doc": NAMES[0], "term": "own a", "weight": 0.12345}]
TWICE = [*VECTORS, VECTORS[0]]
NOISY = [{"item": item, "count": 40, "low": 30, "high": 50} for item in ("dog", "wolf")]
PRIVATE = PrivateCounts(epsilon=4.0, delta=1e-5, k=2)
COST = evidence_of(
    PRIVATE.stages, {stage.name: tables_of(PRIVATE.budget(stage)) for stage in PRIVATE.stages}, counted=10
)
DEAR = COST | {"private_stages": COST["private_stages"].with_columns(epsilon=pl.col("epsilon") * 2)}
UNFIT = [
    NOISY[0],
    NOISY[0],
    {"table": "days", "item": "cow", "count": 1},
    {"item": "wolf", "count": 9, "low": 1, "high": 60},
]


def said(level, rows):
    """The same rows, each of which says how exact its time is."""
    return [row | ({"time_level": level} if row.get("time") else {}) for row in rows]


CASES = {
    "rows of visits": (case_of(said("hour", SHORT), SEEN, VISITS, evidence={"rows": BECAME}), VisitKAnonymity(k=3)),
    "rows of visits, too few": (
        case_of(said("hour", SHORT), SEEN, VISITS, evidence={"rows": BECAME}),
        VisitKAnonymity(k=4),
    ),
    "rows of visits, all wrong": (
        case_of(said("hour", ODD), SEEN, VISITS, evidence={"rows": BECAME}),
        VisitKAnonymity(k=2),
    ),
    "rows of visits, no record": (case_of(said("hour", ODD), SEEN, VISITS), VisitKAnonymity(k=3, details="day")),
    "rows of visits, no original": (case_of(said("hour", SHORT), None, VISITS), VisitKAnonymity(k=3)),
    "rows of visits, none": (case_of([], SEEN, VISITS, evidence={"rows": BECAME.clear()}), VisitKAnonymity(k=3)),
    "tables": (case_of(COUNTED, SEEN, COUNTS), TABLES),
    "tables, all wrong": (case_of(MISCOUNTED, SEEN, COUNTS), TABLES),
    "tables, no original": (case_of(COUNTED, None, COUNTS), TABLES),
    "tables, none": (case_of([], SEEN, COUNTS), TABLES),
    "tables of queries": (case_of(BARE, LOG), TABLES),
    "records": (case_of(RECORDS, SEEN, VISITS, evidence={"clusters": OWN}), RecordKAnonymity(k=3)),
    "records, too few": (case_of(RECORDS, SEEN, VISITS, evidence={"clusters": OWN}), RecordKAnonymity(k=4)),
    "records of one visitor": (case_of(RECORDS, SEEN, VISITS, evidence={"clusters": BY_USER}), RecordKAnonymity(k=2)),
    "records, the paper's rule": (
        case_of(RECORDS, SEEN, VISITS, evidence={"clusters": OWN}),
        RecordKAnonymity(k=3, visitors=False),
    ),
    "records, no record": (case_of(RECORDS, SEEN, VISITS), RecordKAnonymity(k=3)),
    "records, foreign": (
        case_of(RECORDS[1:], SEEN, VISITS, foreign=True),
        RecordKAnonymity.of_foreign({"k": 3}, named=False),
    ),
    "vectors": (case_of(VECTORS, CORPUS, TERMS, run=RUN), DocumentKAnonymity(k=3, term_documents=2)),
    "vectors, too few": (case_of(VECTORS, CORPUS, TERMS, run=RUN), DocumentKAnonymity(k=4, term_documents=4)),
    "vectors, all wrong": (case_of(HEAVY, CORPUS, TERMS, run=RUN), DocumentKAnonymity(k=2, term_documents=2)),
    "vectors, a term twice": (case_of(TWICE, CORPUS, TERMS, run=RUN), DocumentKAnonymity(k=2, term_documents=2)),
    "vectors of owners": (
        case_of(VECTORS, OWNED, TERMS, run=RUN),
        DocumentKAnonymity(k=3, term_documents=2, owners=True),
    ),
    "vectors of unknown owners": (
        case_of(VECTORS, CORPUS, TERMS, run=RUN),
        DocumentKAnonymity(k=3, term_documents=2, owners=True),
    ),
    "vectors of concepts": (
        case_of(CONCEPTS, CORPUS, TERMS, run=RUN),
        DocumentKAnonymity(k=3, term_documents=3, labels="wordnet"),
    ),
    "vectors, no record": (case_of(VECTORS, CORPUS, TERMS), DocumentKAnonymity(k=3, term_documents=2, owners=True)),
    "vectors, no original": (
        case_of(VECTORS, None, TERMS),
        DocumentKAnonymity(k=3, term_documents=3, labels="wordnet"),
    ),
    "vectors, foreign": (
        case_of(VECTORS, CORPUS, TERMS, foreign=True),
        DocumentKAnonymity.of_foreign({"k": 4}, named=True),
    ),
    "vectors, none": (case_of([], OWNED, TERMS, run=RUN), DocumentKAnonymity(k=3, term_documents=2)),
    "vectors of queries": (case_of(BARE, LOG), DocumentKAnonymity(k=3, term_documents=2)),
    "private": (case_of(NOISY, LOG, COUNTS, evidence=COST), DifferentialPrivacy(epsilon=4.0, delta=1e-5, k=2)),
    "private, too dear": (
        case_of(NOISY, LOG, COUNTS, evidence=DEAR),
        DifferentialPrivacy(epsilon=4.0, delta=1e-5, k=2),
    ),
    "private, all wrong": (
        case_of(UNFIT, LOG, COUNTS, evidence=COST),
        DifferentialPrivacy(epsilon=4.0, delta=1e-5, k=2, days="2020-02-03..2020-02-04"),
    ),
    "private, no record": (case_of(NOISY, LOG, COUNTS), DifferentialPrivacy(epsilon=4.0, k=3)),
    "private, no original": (case_of(NOISY, None, COUNTS), DifferentialPrivacy(epsilon=4.0, counts=0.0)),
    "private, none": (case_of([], LOG, COUNTS, evidence=COST), DifferentialPrivacy(epsilon=4.0, delta=1e-5, k=2)),
    "walks": (case_of(WALKS, WALKED, SEQUENCES, run=RUN), SequenceKAnonymity(k=3, paths="exact")),
    "walks, too few": (case_of(WALKS, WALKED, SEQUENCES), SequenceKAnonymity(k=4, paths="exact")),
    "walks, all wrong": (
        case_of(ASTRAY, WALKED, SEQUENCES, run=RUN),
        SequenceKAnonymity(k=3, paths="exact", days=False),
    ),
    "walks, broken": (case_of(WALKS[1:], WALKED, SEQUENCES), SequenceKAnonymity(k=3, paths="exact")),
    "walks, no original": (case_of(WALKS, None, SEQUENCES), SequenceKAnonymity(k=3)),
    "walks, none": (case_of([], WALKED, SEQUENCES), SequenceKAnonymity(k=3)),
    "walks of nobody": (
        case_of([], log_of([{"path": "/dog", "time": AT}], VISITS), SEQUENCES),
        SequenceKAnonymity(k=3, paths="exact"),
    ),
    "walks of queries": (case_of(BARE, LOG), SequenceKAnonymity(k=3)),
    "queries, fine": (case_of(BARE, LOG), QueryKAnonymity(k=2, attrs="drop")),
    "queries, too few": (case_of(BARE, LOG), QueryKAnonymity(k=4)),
    "queries, by name": (case_of(NAMED, LOG), QueryKAnonymity(k=2, users="pseudonym")),
    "queries, by name, with the record": (
        case_of(said("day", SHARED), LOG, run=RUN),
        QueryKAnonymity(k=2, users="pseudonym"),
    ),
    "queries, by session": (case_of(NAMED, LOG), QueryKAnonymity(k=2, users="session")),
    "queries, with details": (case_of(said("day", FULL), LOG), QueryKAnonymity(k=2, users="pseudonym")),
    "queries, all wrong": (case_of(said("day", WRONG), LOG), QueryKAnonymity(k=2)),
    "queries, details in spite of all": (case_of(WRONG, LOG), QueryKAnonymity(k=2, attrs="drop")),
    "queries, no original": (case_of(BARE), QueryKAnonymity(k=2)),
    "queries, no original but names": (case_of(said("day", FULL)), QueryKAnonymity(k=2, users="pseudonym")),
    "queries, no original but sessions": (case_of(NAMED), QueryKAnonymity(k=2, users="session", attrs="drop")),
    "queries, foreign": (case_of(WRONG, LOG, foreign=True), QueryKAnonymity.of_foreign({"k": 2}, named=True)),
    "queries, foreign, no original": (case_of(NAMED, foreign=True), QueryKAnonymity.of_foreign({"k": 2}, named=True)),
    "queries, none": (case_of([], LOG), QueryKAnonymity(k=2, users="pseudonym")),
    "visits": (case_of(VISITS_WRONG, VISITED, VISITS), QueryKAnonymity(k=2, shape="VISITS")),
    "visits, no original": (case_of(VISITS_WRONG, None, VISITS), QueryKAnonymity(k=2, shape="VISITS")),
    "counts": (
        case_of(COUNTS.completed(pl.LazyFrame({"item": ["dog"], "count": [3]})).collect(), LOG, COUNTS),
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
    "words": (case_of(RARE, ASKED), WordKAnonymity(k=2)),
    "words that were found, no record": (case_of(RARE, ASKED), WordKAnonymity(k=2, entities="detect", users="mini")),
    "words, no original": (case_of(RARE), WordKAnonymity(k=3, m=1, users="day", window="1d")),
    "nothing promised": (case_of(RARE, ASKED), None_(users="day")),
    "nothing promised, no original": (case_of(RARE), None_(attrs="drop", times="month")),
    "concepts": (case_of(said("day", CANINE), LOG), ConceptKAnonymity(k=3, users="pseudonym")),
    "concepts of sessions": (case_of(CANINE, LOG), ConceptKAnonymity(k=4, users="session", attrs="drop")),
    "concepts of queries": (case_of(CANINE, LOG), ConceptKAnonymity(k=3, size="queries", attrs="keep")),
    "concepts, none": (case_of([], LOG), ConceptKAnonymity(k=3, size="queries")),
    "concepts that are none": (case_of(BARE, LOG), ConceptKAnonymity(k=2, attrs="drop")),
    "concepts, no original": (case_of(said("day", CANINE)), ConceptKAnonymity(k=3, size="queries")),
    "concepts, no taxonomy": (
        case_of(said("day", CANINE), LOG),
        ConceptKAnonymity(k=3, taxonomy=DIGEST, users="session"),
    ),
    "concepts of queries, no taxonomy": (
        case_of(said("day", CANINE), LOG),
        ConceptKAnonymity(k=3, taxonomy=DIGEST, size="queries"),
    ),
    "profiles": (case_of(PROFILES, LOG), UserKAnonymity(k=3)),
    "profiles, times": (case_of(PROFILES, LOG), UserKAnonymity(k=3, times="month")),
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
    "profiles of labels, with the record": (case_of(SHARED, LOG, run=RUN), UserKAnonymity(k=3, labels="wordnet")),
    "profiles of own labels": (
        case_of(PROFILES, LOG, evidence={"labels": LABELS}),
        UserKAnonymity(k=3, labels=digest_of(["dog", "wolf"])),
    ),
    "profiles of unknown labels": (case_of(PROFILES, LOG), UserKAnonymity(k=3, labels=DIGEST)),
    "profiles, foreign": (case_of(WRONG, LOG, foreign=True), UserKAnonymity.of_foreign({"k": 3}, named=True)),
    "profiles of nobody": (
        case_of(COUNTS.completed(pl.LazyFrame({"item": ["dog"], "count": [3]})).collect(), LOG, COUNTS),
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
        type(promise)(**{fields(promise)[0].name: 0 if isinstance(promise, DifferentialPrivacy) else 1})


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
