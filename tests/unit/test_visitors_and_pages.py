"""An access log has visitors and pages: no message, sidecar or page about it speaks of users and queries."""

import json
import re
import sys
from dataclasses import replace

import pytest

import coterie
from coterie import jobs
from coterie.cli.main import run
from coterie.core.plan import Facts, enough_subjects
from coterie.core.shapes import QUERIES, VISITS
from coterie.errors import InputError, ParameterError
from coterie.methods.suppress_rare import SuppressRare
from coterie.promises.query_k_anonymity import QueryKAnonymity
from coterie.testing import queries_log, visits_log
from coterie.writing.sidecar import sidecar_path
from tests.helpers.tasks import how

SEARCHES = re.compile(r"(?i)(?<![\w.=-])(?:users?|quer(?:y|ies)|search(?:es|ed|er)?|typed)(?![\w=-]| =)")
ALLOWED = re.compile(
    r"In the research on query logs"
    r"|in what was searched for"
    r"|[^.\n]*(?:this log|the original) is VISITS"  # why a measure that is about queries was left out
)


def about_searches(text):
    return SEARCHES.findall(ALLOWED.sub("", text))


@pytest.fixture
def paths(tmp_path):
    lines = [
        f'192.0.2.{visitor} - - [03/Feb/2020:09:0{minute}:00 +0000] "GET {path} HTTP/1.1" 200 5 "-" "B/{visitor}"\n'
        for visitor in range(8)
        for minute, path in enumerate(["/", "/tea", f"/of/{visitor}"])
    ]
    log = tmp_path / "access.log"
    log.write_text("".join(lines))
    return log, tmp_path / "safe.tsv", tmp_path / "record"


def test_words_are_found():
    assert about_searches("A user typed a query; searches of users.") == ["user", "typed", "query", "searches", "users"]
    assert not about_searches("users = drop, query_k_anonymity, user=NAME, --user-field")


@pytest.mark.parametrize("users", ["drop", "session", "pseudonym"])
@pytest.mark.parametrize("attrs", ["common", "keep", "drop"])
def test_a_release(users, attrs):
    release = coterie.anonymize(visits_log(), SuppressRare(k=2, users=users, attrs=attrs), seed=1)
    (promise,) = release.promises
    said = [promise.sentence, *promise.limits, *(check.text for check in release.checks), *release.warnings]
    assert not about_searches(" ".join(said))
    assert "visitors" in promise.sentence
    broken = coterie.verify(release, visits_log(), k=5)
    assert ", which concerns 6 visitors" in next(check.text for check in broken.broken if check.concerns)
    assert broken.subjects == "visitors"


def test_the_command_line(paths, capsys, monkeypatch):
    log, out, record = map(str, paths)
    for arguments in (
        ["inspect", log],
        ["anonymize", "suppress_rare", log, "-o", out, "--record", record, "--k", "3"],
        ["anonymize", "suppress_rare", log, "-o", out, "--k", "3", "--json", "--force"],
        ["verify", out, "--original", log],
        ["verify", out, "--original", log, "--json"],
        ["verify", log, "--original", log, "--promise", "query_k_anonymity", "--k", "3"],
        ["anonymize", "suppress_rare", log, "-o", out, "--k", "99", "--force"],
    ):
        monkeypatch.setattr(sys, "argv", ["coterie", *arguments])
        run()
    told = capsys.readouterr()
    assert not about_searches((told.out + told.err).replace(log, ""))
    assert "needs at least 99 visitors" in told.err
    assert re.search(r"log +pages +10 +pages", told.out)
    assert re.search(r"uniqueness +one_page +[0-9.]+ +% of visitors", told.out)


@pytest.mark.parametrize("kind", ["md", "html", "json"])
def test_a_report(paths, tmp_path, kind):
    log, out, record = paths
    original = coterie.prepare(coterie.read(log))
    coterie.write(coterie.anonymize(original, SuppressRare(k=3), seed=1), out, record=record)
    jobs.report_files([str(out)], [str(log)], jobs.Page(to=tmp_path / f"page.{kind}"), records=[record], **how(seed=1))
    text = (tmp_path / f"page.{kind}").read_text()
    if kind == "json":
        data = json.loads(text)
        units = [score["unit"] for score in (*data["log"]["exposure"], *data["releases"][0]["scores"])]
        assert not about_searches(" ".join(units))
        assert data["log"]["users"] == 8, "keys are the same for every log"
        return
    shown = re.sub(r"<(style|title|svg).*?</\1>|<[^>]*>", " ", text, flags=re.DOTALL)
    assert not about_searches(shown)
    assert "visitors" in shown.lower()


def test_scores_have_keys_for_programs_and_for_people(paths):
    log, out, _ = paths
    coterie.write(coterie.anonymize(coterie.prepare(coterie.read(log)), SuppressRare(k=3), seed=1), out)
    scores = jobs.measure_file(str(out), [str(log)], names=["release_share"])
    assert {"queries", "queries.count"} <= set(scores["key"])
    assert "pages" in scores["unit"].to_list()
    shown = jobs.measure_file(str(out), [str(log)], names=["release_share"], **how(for_people=True))
    assert {"pages", "pages.count"} <= set(shown["key"])


def test_too_few():
    facts = Facts(subjects=1, rows=9, shape=VISITS)
    with pytest.raises(InputError, match=r"needs at least 3 visitors, and the log has 1\."):
        enough_subjects("any_method", 3, facts)
    with pytest.raises(InputError, match="needs at least 3 users"):
        enough_subjects("any_method", 3, replace(facts, shape=QUERIES))


def test_the_shape_is_part_of_the_promise():
    (promise,) = SuppressRare(k=3).promises(Facts(subjects=9, rows=9, shape=VISITS))
    assert promise == QueryKAnonymity(k=3, shape="VISITS")
    assert QueryKAnonymity(k=3).shape == "QUERIES"
    with pytest.raises(ParameterError, match="shape"):
        QueryKAnonymity(k=3, shape="TERMS")


def test_a_sidecar_says_the_nouns_of_its_shape(tmp_path):
    out = tmp_path / "safe.tsv"
    coterie.write(coterie.anonymize(queries_log(), SuppressRare(k=3), seed=1), out)
    data = json.loads(sidecar_path(out).read_text())
    forged = QueryKAnonymity(k=3, shape="VISITS")
    data["promises"][0] |= {"shape": "VISITS", "sentence": forged.sentence}
    sidecar_path(out).write_text(json.dumps({**data, "limits": list(forged.limits)}))
    assert [check.name for check in coterie.verify(out, queries_log()).broken] == ["sidecar"]
