"""The method affinity on a hand-made log: what is released, what is proved, and what the verifier says about proofs."""

import json
from dataclasses import replace

import polars as pl
import pytest

import coterie
from coterie import api
from coterie.core.promise import Case
from coterie.errors import BrokenPromiseError, InputError, ParameterError
from coterie.methods.affinity import Affinity
from coterie.methods.suppress_rare import SuppressRare
from coterie.promises import judge, k_theta_affinity
from coterie.promises.k_theta_affinity import KThetaAffinity
from tests.helpers import affinity_reference as plain
from tests.helpers.broken_methods import affine_log, affine_queries

ROWS = [(None if user == "-" else user, None, query) for users, query in affine_queries() for user in users]


@pytest.fixture
def large(monkeypatch):
    """Nothing is small enough to compare all pairs."""
    monkeypatch.setattr(k_theta_affinity, "_SMALL_ITEMS", -1)


def _verdict(release, certificate):
    tables = {} if certificate is None else {"certificate": certificate}
    case = Case(rows=release.log.frame, shape=release.log.shape, original=affine_log(), evidence=tables)
    return judge(case, release.promises)


def test_the_cases_are_what_they_say():
    degree = plain.degrees(ROWS)
    release = coterie.anonymize(affine_log(), Affinity(k=3), seed=1)
    assert dict(release.record.tables["degrees"].collect().iter_rows()) == degree
    rare = {query for query, users in plain.users_of(ROWS).items() if len(users) < 3 <= degree[query]}
    assert {query.split(" ")[0].rstrip("0123456789") for query in rare} == {"cover", "ring"}
    assert len(rare) == 4


def test_degrees_serve_every_k():
    degree = plain.degrees(ROWS)
    log, methods = affine_log(), [Affinity(k=k) for k in (2, 3, 5, 8)]
    learnt = api.learn(log, methods, seed=1)
    for k, method in zip((2, 3, 5, 8), methods, strict=True):
        release = api.anonymize_prepared(learnt, method, seed=1)
        assert set(release.to_polars()["query"]) == {query for query, number in degree.items() if number >= k}


def test_one_plan_serves_several_k(monkeypatch):
    from coterie.methods.affinity import model as module

    calls = []
    original = module.affinity
    monkeypatch.setattr(module, "affinity", lambda *given: calls.append(1) or original(*given))
    log, methods = affine_log(), [Affinity(k=k) for k in (2, 3, 5)]
    learnt = api.learn(log, methods, seed=1)
    for method in methods:
        api.anonymize_prepared(learnt, method, seed=1)
    assert len(calls) == 1
    coterie.anonymize(log, Affinity(k=3), seed=1)
    assert len(calls) == 2


def test_it_releases_at_least_what_suppress_rare_does():
    for theta in (1.0, 0.9, 0.5):
        ours = coterie.anonymize(affine_log(), Affinity(k=3, theta=theta), seed=1).to_polars()
        plainly = coterie.anonymize(affine_log(), SuppressRare(k=3), seed=1).to_polars()
        assert set(plainly["query"]) <= set(ours["query"])


def test_a_k_above_max_degree_is_exact_too():
    release = coterie.anonymize(affine_log(), Affinity(k=7, max_degree=2), seed=1)
    assert set(release.to_polars()["query"]) == {q for q, degree in plain.degrees(ROWS).items() if degree >= 7}


def test_the_certificate_proves_it(large):
    release = coterie.anonymize(affine_log(), Affinity(k=3), seed=1)
    certificate = release.record.tables["certificate"].collect()
    # One hub covers the query of one user; the three of the ring need two others each.
    assert certificate.height == 1 + 3 * 2
    assert certificate["user"].null_count() == 1
    verdict = _verdict(release, certificate.lazy())
    assert verdict.exit_code == 0
    assert verdict.largest_k == 3


def test_without_a_certificate_a_large_release_is_not_checkable(large):
    release = coterie.anonymize(affine_log(), Affinity(k=3), seed=1)
    verdict = _verdict(release, None)
    assert verdict.exit_code == 3
    assert any("run record" in check.needs for check in verdict.unchecked)
    plainly = coterie.anonymize(affine_log(), Affinity(k=8), seed=1)  # all released queries have 8 users
    assert _verdict(plainly, None).exit_code == 0


FORGERIES = {
    "a line is missing": lambda c: c[:-1],
    "the user is the asker": lambda c: c.with_columns(pl.col("user").replace({"l": "k", "k": "l"})),
    "the user did not ask": lambda c: c.with_columns(pl.col("user").replace({"l": "a"})),
    "not affine": lambda c: c.with_columns(pl.lit("phone case").alias("by"), pl.lit(None).alias("user")),
    "no hub": lambda c: c.with_columns(pl.lit(None).alias("user")),
    "one line twice": lambda c: pl.concat([c[:-1], c[-2:-1]]),
    "covers herself": lambda c: c.with_columns(pl.col("item").alias("by")),
    "an unreleased query": lambda c: c.with_columns(pl.lit("phone case red hats").alias("by")),
    "nothing": lambda c: c.clear(),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_certificate_proves_nothing(name, large):
    release = coterie.anonymize(affine_log(), Affinity(k=3), seed=1)
    forged = FORGERIES[name](release.record.tables["certificate"].collect().sort("item", "by"))
    verdict = _verdict(release, forged.with_columns(pl.col("user").cast(pl.String)).lazy())
    assert [check.name for check in verdict.broken] == ["cover.query"]


def test_from_the_rows_alone_it_says_what_it_cannot_check():
    for users in ("drop", "pseudonym"):
        release = coterie.anonymize(affine_log(), Affinity(k=3, users=users), seed=1)
        verdict = coterie.verify(release)
        assert verdict.exit_code == 3
        assert "cover.query" in {check.name for check in verdict.unchecked}


def test_files_with_their_record(tmp_path, large):
    release = coterie.anonymize(affine_log(), Affinity(k=3), seed=1)
    path, record = tmp_path / "safe.tsv", tmp_path / "record"
    coterie.write(release, path, record=record)
    assert (record / "certificate.parquet").stat().st_mode & 0o777 == 0o600
    assert coterie.verify(path, affine_log()).exit_code == 3
    assert coterie.verify(path, affine_log(), record=record).exit_code == 0
    assert coterie.verify(path, affine_log(), record=record, k=2).exit_code == 0
    assert coterie.verify(path, affine_log(), record=record, k=4).exit_code == 1


def test_another_k_can_be_asked():
    release = coterie.anonymize(affine_log(), Affinity(k=2), seed=1)
    assert coterie.verify(release, affine_log()).largest_k == 2
    assert coterie.verify(release, affine_log(), k=3).exit_code == 1


def test_foreign_rows(tmp_path):
    path = tmp_path / "foreign.csv"
    path.write_text("query\nphone case\n" + " ".join(f"cover{n}" for n in range(6)) + "\n")
    name = KThetaAffinity.name
    assert coterie.verify(path, affine_log(), promise=name, k=3).exit_code == 1  # what covers it is not in the file
    path.write_text(path.read_text() + " ".join(f"cover{n}" for n in range(7)) + "\n")
    verdict = coterie.verify(path, affine_log(), promise=name, k=3)
    assert verdict.exit_code == 0
    assert verdict.largest_k == 7
    assert "affinity" in verdict.sentence
    assert coterie.verify(path, promise=name, k=3).exit_code == 3


def test_strict_releases_no_rare_word():
    loose, strict = (
        set(coterie.anonymize(affine_log(), Affinity(k=3, min_term_users=4, strict=s), seed=1).to_polars()["query"])
        for s in (False, True)
    )
    assert loose - strict == {"quiet trains"}
    assert strict <= loose


def test_a_broken_plan_raises(large):
    class Greedy(Affinity):
        """Releases everything."""

        def plan(self, learnt, log, run):
            everything = log.frame.select(pl.col("query").alias("item"), pl.lit(3, pl.UInt32).alias("degree")).unique()
            return replace(super().plan(learnt, log, run), table=everything)

    with pytest.raises(BrokenPromiseError, match=r"cover\.query"):
        coterie.anonymize(affine_log(), Greedy(k=3), seed=1)


@pytest.fixture
def own_words(tmp_path):
    """Words of the log as function words, in another spelling: the ring is then affine in fewer words."""
    path = tmp_path / "secret_folder" / "own.txt"
    path.parent.mkdir()
    path.write_text("Cover0 cover1\n\n  PHONE\n", encoding="utf-8-sig")
    return path


def test_function_words_of_ones_own(own_words, tmp_path, large):
    words = frozenset({"cover0", "cover1", "phone"})
    method = Affinity(k=3, function_words=str(own_words))
    release = coterie.anonymize(affine_log(), method, seed=1)
    degree = plain.degrees(ROWS, function_words=words)
    assert dict(release.record.tables["degrees"].collect().iter_rows()) == degree
    assert degree != plain.degrees(ROWS)
    path, record = tmp_path / "safe.tsv", tmp_path / "record"
    coterie.write(release, path, record=record)
    sidecar = json.loads((tmp_path / "safe.tsv.json").read_text())
    assert sidecar["parameters"]["function_words"] == "own.txt"
    assert sidecar["promises"][0]["function_words"].startswith("sha256:")
    assert "secret_folder" not in json.dumps(sidecar)
    assert not any(word in json.dumps(sidecar) for word in words - {"phone"})
    assert any("list of function words" in limit for limit in sidecar["limits"])
    assert coterie.verify(path, affine_log(), record=record).exit_code == 0
    assert set(pl.read_parquet(record / "function_words.parquet")["word"]) == words


@pytest.mark.parametrize("given", [None, ["cover0"], []])
def test_without_the_same_function_words_a_release_is_not_checkable(own_words, given):
    release = coterie.anonymize(affine_log(), Affinity(k=3, function_words=str(own_words)), seed=1)
    tables = dict(release.record.tables)
    del tables["function_words"]
    if given is not None:
        tables["function_words"] = pl.LazyFrame({"word": given}, schema={"word": pl.String})
    verdict = coterie.verify(replace(release, record=replace(release.record, tables=tables)), affine_log())
    assert verdict.exit_code == 3
    assert any("function words" in check.needs for check in verdict.unchecked)


def test_named_function_words_need_no_record(tmp_path):
    release = coterie.anonymize(affine_log(), Affinity(k=3, function_words="none"), seed=1)
    assert "function_words" not in release.record.tables
    coterie.write(release, tmp_path / "safe.tsv")
    assert coterie.verify(tmp_path / "safe.tsv", affine_log()).exit_code == 0


def test_a_file_of_function_words_that_is_none(tmp_path):
    with pytest.raises(ParameterError, match="'english', 'none' or the path of a file"):
        Affinity(function_words=str(tmp_path / "missing.txt"))
    for content, message in ((b" \n", "no function word"), (b"qz\xff", "not UTF-8")):
        (tmp_path / "words.txt").write_bytes(content)
        with pytest.raises(InputError, match=message) as error:
            coterie.anonymize(affine_log(), Affinity(k=3, function_words=str(tmp_path / "words.txt")))
        assert "qz" not in str(error.value)


def test_numbers_beyond_all_users_are_as_good_as_all_users():
    """No table is made for degrees, users and queries that cannot be."""
    huge = 10**20
    exact = coterie.anonymize(affine_log(), Affinity(k=3), seed=1).to_polars()
    for more in ({"max_degree": huge}, {"approximate": True, "v_max": huge}):
        assert coterie.anonymize(affine_log(), Affinity(k=3, **more), seed=1).to_polars().equals(exact)
    plainly = coterie.anonymize(affine_log(), SuppressRare(k=3), seed=1).to_polars()
    for more in ({"min_users": huge}, {"min_term_users": huge}):
        assert coterie.anonymize(affine_log(), Affinity(k=3, **more), seed=1).to_polars().equals(plainly)
    assert (
        coterie.anonymize(affine_log(), Affinity(k=3, min_term_users=huge, strict=True), seed=1).to_polars().is_empty()
    )


@pytest.mark.parametrize("damaged", ["klingon", "sha256:", ["the"], 3, None])
def test_a_promise_with_damaged_function_words_is_refused(tmp_path, damaged):
    path = tmp_path / "safe.tsv"
    coterie.write(coterie.anonymize(affine_log(), Affinity(k=3), seed=1), path)
    side = tmp_path / "safe.tsv.json"
    data = json.loads(side.read_text())
    data["promises"][0]["function_words"] = damaged
    side.write_text(json.dumps(data))
    with pytest.raises(InputError, match=r"function_words|promises"):
        coterie.verify(path, affine_log())
