"""The verifier catches broken methods and tampered files, and says what it could not check."""

import gzip
import json
import re
from dataclasses import replace

import polars as pl
import pytest

import coterie
from coterie.cli.console import who_is_counted
from coterie.core.promise import Case
from coterie.core.shapes import QUERIES
from coterie.errors import BrokenPromiseError, InputError, MissingError, ParameterError
from coterie.methods.allowlist import Allowlist
from coterie.methods.generalize import Generalize
from coterie.methods.generalize_users import GeneralizeUsers
from coterie.methods.suppress_rare import SuppressRare
from coterie.promises import judge, k_theta_affinity
from coterie.promises.query_k_anonymity import QueryKAnonymity
from coterie.promises.user_k_anonymity import UserKAnonymity
from coterie.testing import queries_log, visits_log
from tests.helpers.broken_methods import CAUGHT_BY, ReleasesRare, affine_log, concept_log


def _nobody_log():
    """Two people and rows without a user: three different values, two users."""
    return coterie.log(pl.DataFrame({
        "user": ["a", "b", None, "a", "b", "c"],
        "query": ["tea"] * 3 + ["maps"] * 3,
    }))  # fmt: skip


def _joint_log():
    """GET and 404 are common for the path, but only one visitor has both."""
    rows = [(f"v{n}", "GET", 200) for n in range(4)] + [(f"w{n}", "POST", 404) for n in range(4)] + [("x", "GET", 404)]
    return coterie.log(
        pl.DataFrame(rows, schema=["user", "method", "status"], orient="row").with_columns(path=pl.lit("/p"))
    )


LOGS = {
    "QUERIES": queries_log,
    "VISITS": visits_log,
    "NOBODY": _nobody_log,
    "JOINT": _joint_log,
    "AFFINE": affine_log,
    "CONCEPTS": concept_log,
    "PROFILES": lambda: coterie.prepare(coterie.read("synth:users=60,seed=5")),
}


def test_details_are_judged_together():
    rows = coterie.anonymize(_joint_log(), SuppressRare(k=3), seed=1).to_polars()
    assert set(rows.select("method", "status").rows()) == {("GET", 200), ("POST", 404), (None, None)}


def test_rows_without_a_user_count_as_nobody():
    rows = coterie.anonymize(_nobody_log(), SuppressRare(k=3), seed=1).to_polars()
    assert set(rows["query"]) == {"maps"}


def test_names_link_sessions_and_people_as_promised():
    for users, links in (("session", {("ann", 0): 2, ("ann", 1): 1}), ("pseudonym", {("ann",): 3})):
        release = coterie.anonymize(queries_log(), SuppressRare(k=3, users=users), seed=1)
        became = release.record.rows.collect().join(queries_log().frame.collect().select("row", "user"), on="row")
        names = release.to_polars()["user"]
        of_ann = [names[at] for at, user in became.select("released_row", "user").iter_rows() if user == "ann"]
        assert sorted(of_ann.count(name) for name in set(of_ann)) == sorted(links.values())
        assert coterie.verify(release, queries_log()).exit_code == 0


def test_an_item_must_not_be_null(release):
    rows = release.to_polars()
    holed = rows.with_columns(pl.when(pl.int_range(pl.len()) > 0).then("query").alias("query"))
    assert _failed(_verdict(release, holed)) == {"columns"}
    log = queries_log()
    with pytest.raises(InputError, match="no query"):
        coterie.anonymize(
            replace(log, frame=log.frame.with_columns(pl.lit(None, pl.String).alias("query"))),
            SuppressRare(k=3),
            prepare=(),
        )


@pytest.mark.parametrize("method", [Generalize(k=3), Generalize(k=3, size="queries"), GeneralizeUsers(k=3)])
def test_what_the_broken_ways_to_generalize_come_from_is_fine(method):
    release = coterie.anonymize(concept_log(), method, seed=1)
    assert coterie.verify(release, concept_log()).exit_code == 0
    assert release.to_polars().height


def _catches(method, shape, check):
    with pytest.raises(BrokenPromiseError, match=rf"\b{re.escape(check)}: .*?(; \d+ looked at)?: \d+ "):
        coterie.anonymize(LOGS[shape](), method(k=3), seed=1)


@pytest.mark.parametrize(("method", "shape", "check"), CAUGHT_BY)
def test_a_broken_method_is_caught(method, shape, check):
    _catches(method, shape, check)


@pytest.mark.parametrize(("method", "shape", "check"), [each for each in CAUGHT_BY if each[1] == "AFFINE"])
def test_a_broken_method_is_caught_where_only_certificates_are_compared(method, shape, check, monkeypatch):
    monkeypatch.setattr(k_theta_affinity, "_SMALL_ITEMS", -1)
    _catches(method, shape, check)


def test_the_message_counts_who_is_concerned():
    # Of the tiny log only 'bread recipe' (4), 'maps' (4) and 'weather' (6) have several users.
    with pytest.raises(BrokenPromiseError, match=r"crowd\.query: .* 2 of 3 have fewer, which concerns 6 users"):
        coterie.anonymize(queries_log(), ReleasesRare(k=5), seed=1)


@pytest.fixture
def release():
    return coterie.anonymize(queries_log(), SuppressRare(k=3), seed=1)


def _verdict(release, frame):
    return judge(Case(rows=frame.lazy(), shape=release.log.shape, original=queries_log()), release.promises)


def _judged(frame, promise):
    return judge(Case(rows=frame.lazy(), shape=QUERIES), (promise,))


def _failed(verdict):
    return {check.name for check in verdict.broken}


def test_a_release_keeps_its_promise(release):
    verdict = coterie.verify(release, queries_log())
    assert verdict.exit_code == 0
    assert verdict.largest_k == 3
    assert {c.name for c in verdict.checks if c.needs_original} == {
        "ids", "crowd.query", "crowd.query.url.rank.time", "rows.query", "tuples.query",
    }  # fmt: skip


def test_file_order_is_caught(release):
    rows = release.to_polars()
    assert _failed(_verdict(release, rows)) == set()
    assert _failed(_verdict(release, rows.reverse())) == {"order"}
    swapped = pl.concat([rows[1:], rows[:1]])
    assert _failed(_verdict(release, swapped)) == {"order"}


def test_order_has_nulls_first_and_looks_at_every_column():
    promise = QueryKAnonymity(k=2, attrs="keep")
    schema = {name: QUERIES.schema[name] for name in QUERIES.released}
    ordered = [(None, None, "a", None, None), (None, None, "a", None, "u"), (None, None, "a", 1, None)]
    for rows, expected in ((ordered, 0), (ordered[::-1], 2), ([ordered[0], ordered[2], ordered[1]], 1)):
        frame = pl.DataFrame(rows, schema=schema, orient="row").lazy()
        check = next(c for c in _judged(frame, promise).checks if c.name == "order")
        assert check.broken == expected


def test_a_private_or_foreign_column_is_caught(release):
    rows = release.to_polars()
    assert _failed(_verdict(release, rows.with_row_index("row"))) == {"columns"}
    assert _failed(_verdict(release, rows.drop("rank"))) == {"columns"}
    assert _failed(_verdict(release, rows.with_columns(pl.col("rank").cast(pl.Int64)))) == {"columns"}


def test_without_the_original_the_promise_is_not_checkable(release):
    verdict = coterie.verify(release)
    assert verdict.exit_code == 3
    assert verdict.largest_k is None
    assert {check.name for check in verdict.unchecked} == {
        "ids",
        "crowd.query",
        "crowd.query.url.rank.time",
        "rows.query",
        "tuples.query",
    }


@pytest.mark.parametrize("users", ["pseudonym", "session"])
def test_names_alone_are_no_people(users):
    """Anyone can invent names: without the original and the record only names can be counted."""
    release = coterie.anonymize(queries_log(), SuppressRare(k=3, users=users), seed=1)
    assert coterie.verify(release).exit_code == 3
    assert coterie.verify(replace(release, record=None), queries_log()).exit_code == 3
    assert coterie.verify(release, queries_log()).exit_code == 0


def test_another_k_can_be_asked(release):
    assert coterie.verify(release, queries_log(), k=4).exit_code == 1
    assert coterie.verify(release, queries_log(), k=2).exit_code == 0
    with pytest.raises(ParameterError):
        coterie.verify(release, queries_log(), k=1)


@pytest.mark.parametrize("kind", ["tsv", "csv", "parquet", "jsonl", "tsv.gz", "jsonl.zst"])
def test_files(release, tmp_path, kind):
    path = tmp_path / f"safe.{kind}"
    coterie.write(release, path)
    assert coterie.verify(path, queries_log()).exit_code == 0
    assert coterie.verify(path).exit_code == 3


def _tamper(path, change):
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(change(lines)))
    return json.loads((path.parent / "safe.tsv.json").read_text())


@pytest.mark.parametrize(
    ("change", "caught"),
    [
        (lambda lines: lines[:-1], {"digest", "tuples.query"}),
        (lambda lines: [lines[0], *lines[:0:-1]], {"digest", "order"}),
        (lambda lines: [*lines, "2020-02-03 00:00:00\tday\tzzz rare\t\t\n"], {"digest", "crowd.query", "rows.query"}),
        (
            lambda lines: [
                f"user\t{lines[0]}",
                *("\t" + line for line in lines[1:]),
                "ann\t2020-02-03\tday\tweather\t\t\n",
            ],
            {"digest", "names", "ids", "canonical", "sidecar"},
        ),
        (lambda lines: [*lines, "2020-02-03 00:00:00\tday\tweather\t9\thttp://z.example\n"], {"tuples.query"}),
        (lambda lines: [*lines, "noon\tday\tweather\t\t\n"], {"digest", "readable"}),
        (lambda lines: [line.rstrip("\n") + "\tx\n" for line in lines], {"digest", "columns"}),
    ],
)  # fmt: skip
def test_a_tampered_file_is_caught(release, tmp_path, change, caught):
    path = tmp_path / "safe.tsv"
    coterie.write(release, path)
    _tamper(path, change)
    verdict = coterie.verify(path, queries_log())
    assert verdict.exit_code == 1
    assert caught <= _failed(verdict)


def test_a_forged_digest_does_not_help(release, tmp_path):
    path = tmp_path / "safe.tsv"
    coterie.write(release, path)
    sidecar = _tamper(path, lambda lines: [*lines, "2020-02-03 00:00:00\tday\tzzz rare\t\t\n"])
    from coterie.core.digests import digest_of_rows
    from coterie.reading.logs import read_release
    from coterie.writing.files import sha256

    frame, shape, *_ = read_release(path, release.log.shape)
    forged = {"sha256": sha256(path), "rows_sha256": digest_of_rows(frame.select(shape.released))}
    (tmp_path / "safe.tsv.json").write_text(json.dumps({**sidecar, **forged}))
    assert _failed(coterie.verify(path, queries_log())) == {
        "crowd.query",
        "rows.query",
        "tuples.query",
        "crowd.query.url.rank.time",
    }
    assert coterie.verify(path).exit_code == 3


def test_a_damaged_sidecar(release, tmp_path):
    path = tmp_path / "safe.tsv"
    coterie.write(release, path)
    good = json.loads((tmp_path / "safe.tsv.json").read_text())
    texts = ["", "[]", '{"promise": 1}']
    texts += [json.dumps({**good, key: value}) for key, value in (("promise", "x"), ("prepare", 5), ("shape", ["a"]))]
    for text in texts:
        (tmp_path / "safe.tsv.json").write_text(text)
        with pytest.raises(InputError, match="sidecar"):
            coterie.verify(path)


def test_a_field_that_appears_late_is_caught(tmp_path):
    frame = pl.DataFrame({"user": [str(n % 3) for n in range(6000)], "query": ["tea with milk"] * 6000})
    path = tmp_path / "safe.jsonl"
    coterie.write(coterie.anonymize(coterie.log(frame), SuppressRare(k=3), seed=1), path)
    lines = path.read_text().splitlines()
    lines[-1] = lines[-1][:-1] + ',"email":"x"}'
    path.write_text("\n".join(lines) + "\n")
    assert "columns" in _failed(coterie.verify(path, coterie.log(frame)))


def test_the_steps_of_the_original_can_be_said(tmp_path):
    path = tmp_path / "safe.tsv"
    frame = pl.DataFrame({"user": ["1", "2", "3"], "query": ["Tea", "tea", "TEA"]})
    coterie.write(coterie.anonymize(coterie.prepare(coterie.log(frame)), SuppressRare(k=3), seed=1), path)
    assert coterie.verify(path, coterie.log(frame)).exit_code == 0
    assert coterie.verify(path, coterie.log(frame), steps=[]).exit_code == 1


def test_files_that_coterie_did_not_make(tmp_path):
    path = tmp_path / "foreign.csv"
    path.write_text("user,query\n1,Maps\n2,maps\n3,maps \n1,tea\n2,tea\n")
    verdict = coterie.verify(path, promise="query_k_anonymity", k=2)
    assert verdict.exit_code == 0
    assert "random name" not in verdict.sentence
    assert "details" in {check.name for check in verdict.unchecked}
    assert verdict.largest_k == 2
    assert coterie.verify(path, promise="query_k_anonymity", k=3).exit_code == 1
    with pytest.raises(MissingError, match="promise="):
        coterie.verify(path)


def test_foreign_profiles_are_compared_as_published(tmp_path):
    """Normalizing would make two profiles of one person each look like one of two."""
    path = tmp_path / "foreign.csv"
    path.write_text("user,query\n1,Maps\n2,maps\n")
    assert coterie.verify(path, promise="user_k_anonymity", k=2).exit_code == 1
    path.write_text("user,query\n1,maps\n2,maps\n2,\n")
    assert coterie.verify(path, promise="user_k_anonymity", k=2).exit_code == 1
    path.write_text("user,query\n1,Maps\n2,Maps\n")
    typed = coterie.log(pl.DataFrame({"user": ["7", "8"], "query": ["MAPS", "tea"]}))
    assert coterie.verify(path, typed, promise="user_k_anonymity", k=2).exit_code == 0


def test_foreign_rows_without_users_need_the_original(tmp_path):
    path = tmp_path / "foreign.csv"
    path.write_text("query\nweather\nmaps\n")
    assert coterie.verify(path, promise="query_k_anonymity", k=3).exit_code == 3
    assert coterie.verify(path, queries_log(), promise="query_k_anonymity", k=3).exit_code == 0
    assert coterie.verify(path, queries_log(), promise="query_k_anonymity", k=5).largest_k == 4


def _profiles(sizes):
    """Users in groups of the given sizes with equal profiles."""
    rows = [
        (f"u_{'a' * 14}{chr(97 + group)}{chr(97 + member)}", None, f"q{item}", None, None)
        for group, size in enumerate(sizes)
        for member in range(size)
        for item in range(group, group + 3)
    ]
    schema = {name: QUERIES.schema[name] for name in QUERIES.released}
    return pl.DataFrame(rows, schema=schema, orient="row").sort(QUERIES.order)


def _equal(verdict):
    """The smallest number of equal profiles."""
    return next(check.largest_k for check in verdict.checks if check.name == "profiles")


def test_equal_profiles():
    assert _equal(_judged(_profiles([3, 4]), UserKAnonymity(k=3))) == 3
    assert _judged(_profiles([3, 2]), UserKAnonymity(k=3)).exit_code == 1


@pytest.mark.parametrize("column", ["query", "time", "rank", "url"])
def test_one_altered_value_breaks_a_profile(column):
    rows = _profiles([3, 4])
    values = {"query": "other", "time": pl.lit("2020-02-03").str.to_datetime(), "rank": 1, "url": "u"}
    value = values[column] if isinstance(values[column], pl.Expr) else pl.lit(values[column])
    dtype = QUERIES.schema[column]
    changed = rows.with_row_index("at").with_columns(
        pl.when(pl.col("at") == 5).then(value.cast(dtype)).otherwise(pl.col(column)).alias(column)
    ).drop("at").sort(QUERIES.order)  # fmt: skip
    assert not changed.equals(rows)
    verdict = _judged(changed, UserKAnonymity(k=3))
    assert verdict.exit_code == 1
    assert _equal(verdict) == 1


@pytest.mark.parametrize("column", ["query", "time", "rank", "url"])
def test_one_altered_row_in_a_million_breaks_a_profile(column):
    rows, users = 200, 5_000
    letters = pl.Series([chr(97 + i) for i in range(20)])
    numbers = pl.DataFrame({"n": range(users)}).select(
        pl.concat_str(
            pl.lit("u_" + "a" * 12),
            *(pl.lit(letters).gather((pl.col("n") // 20**digit) % 20) for digit in range(3, -1, -1)),
        ).alias("user"),
        (pl.col("n") // 5).alias("group"),
    )
    profile = pl.DataFrame({"item": range(rows)}).select(
        pl.concat_str(pl.lit("q"), pl.col("item") % 90).alias("query"),
        (pl.datetime(2006, 3, 1) + pl.duration(minutes="item")).cast(QUERIES.schema["time"]).alias("time"),
        (pl.col("item") % 10).cast(pl.Int32).alias("rank"),
        pl.concat_str(pl.col("item") % 7, pl.lit(".org")).alias("url"),
    )
    release = numbers.join(profile, how="cross").with_columns(pl.format("{} {}", "query", "group").alias("query"))
    release = release.select(QUERIES.released).sort(QUERIES.order)
    assert release.height == 1_000_000
    assert _equal(_judged(release, UserKAnonymity(k=5))) == 5
    other = release.with_row_index("at").with_columns(
        pl.when(pl.col("at") == 654_321).then(pl.col(column).shift(-1)).otherwise(column).alias(column)
    ).drop("at").sort(QUERIES.order)  # fmt: skip
    assert not other.equals(release)
    assert _judged(other, UserKAnonymity(k=5)).exit_code == 1


def test_a_repeated_row_breaks_a_profile():
    rows = _profiles([3])
    again = pl.concat([rows, rows[:1]]).sort(QUERIES.order)
    assert _judged(again, UserKAnonymity(k=3)).exit_code == 1


def test_shapes_must_agree(release, tmp_path):
    path = tmp_path / "safe.tsv"
    coterie.write(release, path)
    with pytest.raises(InputError, match="shape"):
        coterie.verify(path, visits_log())


def test_nothing_released_is_nothing_broken():
    log = queries_log()
    rare = replace(log, frame=log.frame.filter(pl.col("query").str.len_chars() > 12))
    release = coterie.anonymize(rare, SuppressRare(k=3), seed=1)
    assert release.to_polars().height == 0
    assert coterie.verify(release, rare).exit_code == 0


def test_a_compressed_file_that_was_changed(release, tmp_path):
    path = tmp_path / "safe.tsv.gz"
    coterie.write(release, path)
    text = gzip.decompress(path.read_bytes())
    path.write_bytes(gzip.compress(text + b"\t2020-02-03 00:00:00\tzzz rare\t\t\n"))
    assert {"digest", "crowd.query"} <= _failed(coterie.verify(path, queries_log()))


def test_a_k_of_all_users_is_kept_and_one_more_refused():
    log = queries_log()  # of six users
    for record in (True, False):
        assert coterie.anonymize(log, SuppressRare(k=6), seed=1, record=record).to_polars().height > 0
        with pytest.raises(InputError, match="needs at least 7 users, and the log has 6"):
            coterie.anonymize(log, SuppressRare(k=7), seed=1, record=record)


@pytest.fixture
def few_words(tmp_path):
    """A written release of common words in which one person alone typed some queries."""
    rows = [(user, query) for user in "abcd" for query in ("red", "tea", "blue", "red tea")]
    rows += [("a", "tea red"), ("b", "blue tea"), ("c", "blue tea")]
    log = coterie.log(pl.DataFrame(rows, schema=["user", "query"], orient="row"))
    release = coterie.anonymize(log, Allowlist(k=3, words=1), seed=1)
    path = tmp_path / "safe.tsv"
    coterie.write(release, path)
    return path, log, json.loads((tmp_path / "safe.tsv.json").read_text())


def test_queries_of_one_person_are_counted_again(few_words):
    path, log, data = few_words
    said, *others = sorted(data["warnings"])
    assert said.startswith("Of 6 released queries 1 (16.7%) were typed by one person alone")
    for k in (None, 2):
        check = _check(coterie.verify(path, log, k=k), "alone.query")
        assert (check.status, check.looked_at) == ("passed", 6)
        assert check.how == "1 were typed by one person alone, 2 by fewer than 3"
    for forged in ([], [said.replace(" 1 (", " 0 (")], [said, said.replace(" 1 (", " 0 (")]):
        path.with_name("safe.tsv.json").write_text(json.dumps({**data, "warnings": [*others, *forged]}))
        verdict = coterie.verify(path, log)
        assert _check(verdict, "alone.query").status == "failed"
        assert verdict.exit_code == 1


def _check(verdict, name):
    return next(check for check in verdict.checks if check.name == name)


@pytest.mark.parametrize(("columns", "person"), [
    ({"user": "login", "query": "q"}, "login"),
    ({"user": "session_id", "query": "q"}, "session_id"),
])  # fmt: skip
def test_a_verdict_says_which_column_is_the_person(columns, person, tmp_path):
    rows = [(name, other, "tea") for name, other in zip("abcd", "wxyz", strict=True)]
    table = pl.DataFrame(rows, schema=["login", "session_id", "q"], orient="row")
    table.write_csv(tmp_path / "log.csv")
    log = coterie.read(tmp_path / "log.csv", columns=columns)
    coterie.write(coterie.anonymize(log, SuppressRare(k=3), seed=1), tmp_path / "safe.tsv")
    verdict = coterie.verify(tmp_path / "safe.tsv", log)
    assert verdict.person == person
    line = who_is_counted(verdict)
    assert line.endswith(f"each value of '{person}' in the log.")
    assert ("one of the sessions" in line) == (person == "session_id")
    foreign = coterie.verify(coterie.log(table.select(query="q", user="login")), log, promise="query_k_anonymity", k=3)
    assert foreign.person == person


def test_where_the_format_alone_says_who_is_counted():
    verdict = coterie.verify(coterie.anonymize(queries_log(), SuppressRare(k=3), seed=1), queries_log())
    assert who_is_counted(verdict) == "Counted as one person: what the format of the log calls its user."


def test_rows_without_a_name_are_no_name():
    """Counted by the names of a release alone: two names, and rows that have none."""
    rows = [{"user": name, "query": "tea", "url": "u"} for name in (None, "u_" + "a" * 16, "u_" + "b" * 16)]
    frame = QUERIES.completed(pl.LazyFrame(rows)).sort(QUERIES.order)
    promise = QueryKAnonymity(k=3, users="pseudonym")
    check = _check(judge(Case(rows=frame, shape=QUERIES), (promise,)), "crowd.query.url.rank.time")
    assert (check.broken, check.largest_k) == (1, 2)
