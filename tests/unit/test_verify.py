"""The verifier catches broken methods and tampered files, and says what it could not check."""

import gzip
import json
import re
from dataclasses import replace

import polars as pl
import pytest

import coterie
from coterie.errors import BrokenPromiseError, InputError, MissingError, ParameterError
from coterie.methods.suppress_rare import SuppressRare
from coterie.promises import QueryKAnonymity, UserKAnonymity
from coterie.shapes import QUERIES
from coterie.testing import queries_log, visits_log
from coterie.verify import verify_rows
from tests.broken_methods import CAUGHT_BY, ReleasesRare

LOGS = {"QUERIES": queries_log, "VISITS": visits_log}


@pytest.mark.parametrize(("method", "shape", "check"), CAUGHT_BY)
def test_a_broken_method_is_caught(method, shape, check):
    with pytest.raises(BrokenPromiseError, match=rf"\b{re.escape(check)}: [^;]*(; \d+ looked at)?: \d+ "):
        coterie.anonymize(LOGS[shape](), method(k=3), seed=1)


def test_the_message_counts_who_is_concerned():
    # Of the tiny log only 'bread recipe' (4), 'maps' (4) and 'weather' (6) have several users.
    with pytest.raises(BrokenPromiseError, match=r"crowd\.query: .* 2 of 3 have fewer, which concerns 6 users"):
        coterie.anonymize(queries_log(), ReleasesRare(k=5), seed=1)


@pytest.fixture
def release():
    return coterie.anonymize(queries_log(), SuppressRare(k=3), seed=1)


def _verdict(release, frame):
    return verify_rows(frame.lazy(), QUERIES, release.promise, queries_log())


def _failed(verdict):
    return {check.name for check in verdict.broken}


def test_a_release_keeps_its_promise(release):
    verdict = coterie.verify(release, queries_log())
    assert verdict.exit_code == 0
    assert verdict.largest_k == 3
    assert {c.name for c in verdict.checks if c.needs_original} == {
        "ids", "crowd.query", "crowd.query.url", "rows.query", "rows.query.url",
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
        check = next(c for c in verify_rows(frame, QUERIES, promise).checks if c.name == "order")
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
        "crowd.query.url",
        "rows.query",
        "rows.query.url",
    }


def test_pseudonyms_make_the_promise_checkable_without_the_original():
    release = coterie.anonymize(queries_log(), SuppressRare(k=3, users="pseudonym"), seed=1)
    verdict = coterie.verify(release)
    assert verdict.exit_code == 0
    assert verdict.largest_k == 3
    linked = coterie.anonymize(queries_log(), SuppressRare(k=3, users="session"), seed=1)
    assert coterie.verify(linked).exit_code == 3


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
        (lambda lines: lines[:-1], {"digest"}),
        (lambda lines: [lines[0], *lines[:0:-1]], {"digest", "order"}),
        (lambda lines: [*lines, "\t2020-02-03 00:00:00\tzzz rare\t\t\n"], {"digest", "crowd.query", "rows.query"}),
        (lambda lines: [*lines, "ann\t2020-02-03 00:00:00\tweather\t\t\n"], {"digest", "names", "ids"}),
        (lambda lines: [*lines, "\t2020-02-03 00:00:00\tweather\t9\thttp://z.example\n"], {"crowd.query.url"}),
        (lambda lines: [*lines, "\tnoon\tweather\t\t\n"], {"digest", "readable"}),
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
    sidecar = _tamper(path, lambda lines: [*lines, "\t2020-02-03 00:00:00\tzzz rare\t\t\n"])
    from coterie.write import sha256

    (tmp_path / "safe.tsv.json").write_text(json.dumps({**sidecar, "sha256": sha256(path)}))
    assert _failed(coterie.verify(path, queries_log())) == {"crowd.query", "rows.query"}
    assert coterie.verify(path).exit_code == 3


def test_a_damaged_sidecar(release, tmp_path):
    path = tmp_path / "safe.tsv"
    coterie.write(release, path)
    for text in ("", "[]", '{"promise": 1}'):
        (tmp_path / "safe.tsv.json").write_text(text)
        with pytest.raises(InputError, match="sidecar"):
            coterie.verify(path)


def test_files_that_coterie_did_not_make(tmp_path):
    path = tmp_path / "foreign.csv"
    path.write_text("user,query\n1,Maps\n2,maps\n3,maps \n1,tea\n2,tea\n")
    verdict = coterie.verify(path, promise="query_k_anonymity", k=2)
    assert verdict.exit_code == 0
    assert verdict.largest_k == 2
    assert coterie.verify(path, promise="query_k_anonymity", k=3).exit_code == 1
    with pytest.raises(MissingError, match="--promise"):
        coterie.verify(path)


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


def test_equal_profiles():
    verdict = verify_rows(_profiles([3, 4]).lazy(), QUERIES, UserKAnonymity(k=3))
    assert verdict.exit_code == 0
    assert verdict.largest_k == 3
    assert verify_rows(_profiles([3, 2]).lazy(), QUERIES, UserKAnonymity(k=3)).exit_code == 1


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
    verdict = verify_rows(changed.lazy(), QUERIES, UserKAnonymity(k=3))
    assert verdict.exit_code == 1
    assert verdict.largest_k == 1


def test_a_repeated_row_breaks_a_profile():
    rows = _profiles([3])
    again = pl.concat([rows, rows[:1]]).sort(QUERIES.order)
    assert verify_rows(again.lazy(), QUERIES, UserKAnonymity(k=3)).exit_code == 1


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
