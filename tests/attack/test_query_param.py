"""An access log read as a search log: nothing of addresses, tokens and other requests comes along with searches."""

import re

import pytest

import coterie
from coterie.methods.interest_microaggregate import InterestMicroaggregate
from coterie.methods.suppress_rare import SuppressRare

K = 4
SEARCHES = (
    "tea%00pot", "tea%0apot", "tea%09pot", "%e2%80%aetea", "%ff%fe", "%zz", "a" * 3000, "=cmd()", "%22quoted%22",
    "tea%2bpot", "%e2%80%a8x", "q%3d1%26sid%3d2", "%EF%BB%BFbom", "%ed%a0%80", "two+words", "map&sid=tok",
)  # fmt: skip
LINE = '192.0.2.{v} - - [12/Mar/2026:{hour}:{at:02}:0{v} +0000] "GET {path} HTTP/1.1" 200 5 "{referrer}" "B/{v}"\n'
TOLD = re.compile(r"tok|192\.0\.2|jsession|only|B/[0-9]|reset")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Everybody makes the same searches, with tokens of their own; one search and one page nobody else has."""
    lines = []
    for v in range(K + 1):
        for at, search in enumerate(SEARCHES):
            engine = f"https://www.google.com/search?q={search}&ei=tok{v}"
            lines.append(LINE.format(v=v, hour=10, at=at, path=f"/s?sid=tok{v}{at}&q={search}", referrer=engine))
        engine = f"https://www.google.com/search?q=only+{v}&ei=tok{v}"
        own = f"/reset/tok{v}x;jsessionid=S{v}?k=tok"
        lines.append(LINE.format(v=v, hour=11, at=0, path=own, referrer=engine))
    path = tmp_path_factory.mktemp("logs") / "access.log"
    path.write_text("".join(lines))
    return path


@pytest.mark.parametrize(
    "method", [SuppressRare(k=K), InterestMicroaggregate(k=K, phrase_users=K)], ids=["rows", "profiles"]
)
@pytest.mark.parametrize("param", ["q", "referrer", "q,referrer"])
def test_searches_come_alone(path, tmp_path, method, param):
    log = coterie.read(path, query_param=param)
    release = coterie.anonymize(coterie.prepare(log), method, seed=3)
    coterie.write(release, tmp_path / "safe.tsv", record=tmp_path / "record", history=None)
    text = (tmp_path / "safe.tsv").read_text()
    assert "two words" in text
    assert TOLD.findall(text) == []
    assert len(text.splitlines()) == text.count("\n") == release.to_polars().height + 1, "no search breaks a line"
    again = coterie.read(path, query_param=param)
    assert coterie.verify(tmp_path / "safe.tsv", again, record=tmp_path / "record").exit_code == 0
