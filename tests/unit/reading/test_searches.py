"""Access logs read as search logs."""

import json
from datetime import datetime
from urllib.parse import quote, quote_plus

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie
from coterie import jobs
from coterie.errors import InputError, ParameterError
from coterie.methods.suppress_rare import SuppressRare
from coterie.reading import searches as _searches
from coterie.reading.reading import Reading
from coterie.reading.searches import search_params
from coterie.writing.target import Target
from tests.helpers.examples import examples
from tests.helpers.tasks import how

GOOGLE = "https://www.google.com/search?q={}"


def line(path, visitor=1, minute=0, referrer="-"):
    time = f"[03/Feb/2020:{9 + minute // 60:02}:{minute % 60:02}:00 +0000]"
    return f'192.0.2.{visitor} - - {time} "GET {path} HTTP/1.1" 200 5 "{referrer}" "B/1"\n'


@pytest.fixture
def searched(write):
    """Reads lines as a search log."""

    def read(*lines, param="q", **options):
        return coterie.read(write("a.log", "".join(lines)), query_param=param, **options)

    return read


def queries(log):
    return log.to_polars()["query"].to_list()


def test_rows(searched):
    log = searched(line("/find?q=tea", visitor=3, minute=5), line("/tea"), line("/find?a=1&q=blue+teapot"))
    assert log.shape.name == "QUERIES"
    assert log.to_polars().rows() == [
        ("192.0.2.3 B/1", datetime(2020, 2, 3, 9, 5), "tea", None, None),
        ("192.0.2.1 B/1", datetime(2020, 2, 3, 9), "blue teapot", None, None),
    ]
    assert log.history[0].counts == {"lines": 3, "bad": 0, "searches": 2}
    assert log.history[0].notes == (
        "2 of 3 requests are searches, read from the parameter q. The others were left out.",
    )
    assert json.loads(log.reading) == {"query_param": "q"}


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/?q=tea", "tea"),
        ("/?q=blue+teapot", "blue teapot"),
        ("/?q=blue%20teapot&x", "blue teapot"),
        ("/?q=1%2B1%3D2%26more", "1+1=2&more"),
        ("/?q=caf%C3%A9", "café"),
        ("/?q=caf%c3%a9", "café"),
        ("/?q=%E8%8C%B6", "茶"),
        ("/?q=caf%E9", "café"),
        ("/?q=100%", "100%"),
        ("/?q=%zz+tea", "%zz tea"),
        ("/?q=a%09b%0Ac%00d", "a b c d"),
        ("/?q=++tea+%20", "tea"),
        ("/?q=tea#top", "tea"),
        ("/?q=a;b", "a;b"),
        ("/?x=1&amp;q=tea", "tea"),
        ("/find;jsessionid=7?q=tea", "tea"),
        ("/?q=a=b", "a=b"),
        ("/?q=&q=tea", "tea"),
        ("/?Q=tea", None),
        ("/?qq=tea", None),
        ("/?xq=tea", None),
        ("/q=tea", None),
        ("/?q=", None),
        ("/?q=+%20", None),
        ("/?q", None),
    ],
)
def test_values(searched, path, query):
    log = searched(line(path), line("/?q=other", visitor=9))
    assert queries(log) == ([] if query is None else [query]) + ["other"]


def test_bytes_of_an_older_encoding_are_told(searched):
    log = searched(line("/?q=caf%E9"), line("/?q=%FFx"), line("/?q=tea"))
    assert log.history[0].notes[1] == "Searches that are not UTF-8 and were read as Windows-1252: 2."
    assert "tea" not in " ".join(log.history[0].notes)


@settings(max_examples=examples(30))
@given(st.text(min_size=1, max_size=20))
def test_what_a_browser_writes_is_read_back(text):
    expected = " ".join(
        part for part in "".join(" " if ord(c) <= 32 or ord(c) == 127 else c for c in text).split(" ") if part
    )
    for written in (quote(text, safe=""), quote_plus(text)):
        decoded, legacy = _searches._decode(written)
        cleaned = dict(_searches.decoded(pl.Series(["", written])).select("raw", "query").iter_rows())[written]
        assert decoded == text
        assert not legacy
        assert cleaned.strip() == expected.strip()


def test_several_names(searched):
    lines = (line("/?s=tea"), line("/?q=coffee"), line("/?s=milk&q=honey"), line("/?find%5Bwords%5D=x"))
    assert queries(searched(*lines, param="s,q")) == ["tea", "coffee", "milk"]
    assert queries(searched(*lines, param="q,s")) == ["tea", "coffee", "honey"]
    assert queries(searched(*lines, param="find[words]")) == ["x"]


# --- pages of results ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "further",
    ["/?q=tea&page=2", "/?page=2&q=tea", "/page/2/?q=tea", "/?q=tea&start=10", "/?q=tea&P=02", "/?q=tea&offset=20"],
)
def test_a_further_page_is_no_search(searched, further):
    log = searched(line("/?q=tea"), line(further, minute=29), line(further.replace("2", "3"), minute=58))
    assert queries(log) == ["tea"]
    assert log.history[0].notes[1] == "Requests for further results of the same search, which do not count: 2."
    assert log.history[0].counts["searches"] == 1


@pytest.mark.parametrize(
    ("path", "visitor", "minute"),
    [
        ("/?q=tea", 1, 1),  # asked again
        ("/?q=tea&page=0", 1, 1),
        ("/?q=tea&pages=2", 1, 1),
        ("/?q=tea&page=two", 1, 1),
        ("/?q=tea&page=2", 1, 31),  # too late
        ("/?q=tea&page=2", 2, 1),  # of somebody else
        ("/?q=teas&page=2", 1, 1),  # of another search
    ],
)
def test_other_requests_are(searched, path, visitor, minute):
    assert len(queries(searched(line("/?q=tea"), line(path, visitor, minute)))) == 2


def test_pages_follow_the_clock_and_not_the_file(searched):
    log = searched(line("/?q=tea&page=2", minute=5), line("/?q=tea", minute=3))
    assert log.to_polars()["time"].to_list() == [datetime(2020, 2, 3, 9, 3)]


def test_a_first_request_may_have_a_number(searched):
    assert queries(searched(line("/?q=tea&page=3"), line("/?q=tea&page=4", minute=1))) == ["tea"]


def test_nobody_pages(searched):
    nobody = [each.replace("192.0.2.1 ", "- ") for each in (line("/?q=tea"), line("/?q=tea&page=2", minute=1))]
    assert queries(searched(*nobody)) == ["tea", "tea"]


# --- referrers -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("referrer", "query"),
    [
        (GOOGLE.format("green+tea"), "green tea"),
        ("http://www.google.co.uk/url?sa=t&q=green%20tea", "green tea"),
        ("https://www.google.com/url?q=https%3A%2F%2Fsite.example%2F", None),
        ("https://mail.google.com/mail/?q=green+tea", None),
        ("https://google.example.com/?q=tea", None),
        ("https://notgoogle.com/?q=tea", None),
        ("https://www.bing.com/search?q=green+tea&form=X", "green tea"),
        ("https://duckduckgo.com/?q=green+tea", "green tea"),
        ("https://de.search.yahoo.com/search?p=green+tea", "green tea"),
        ("https://yandex.ru/search/?text=green+tea", "green tea"),
        ("http://www.baidu.com/s?wd=%E8%8C%B6", "茶"),
        ("https://site.example/?q=tea", None),
        ("-", None),
    ],
)
def test_search_engines(searched, referrer, query):
    lines = (line("/tea?token=1", referrer=referrer), line("/?q=other", referrer=GOOGLE.format("not+this")))
    rows = searched(*lines, param="q,referrer").to_polars().select("query", "url").rows()
    assert rows == ([] if query is None else [(query, "/tea")]) + [("other", None)]
    assert queries(searched(*lines)) == ["other"], "only where they are asked for"


def test_referrers_alone(searched):
    log = searched(line("/?q=other"), line("/tea", referrer=GOOGLE.format("tea")), param="referrer")
    assert queries(log) == ["tea"]
    assert log.history[0].notes[0].endswith("read from the referrers of search engines. The others were left out.")


# --- guessing ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("paths", "best"),
    [
        (["/?q=tea", "/?q=coffee", "/?s=a+b"], "q"),
        (["/?s=blue+tea", "/?s=tea", "/?id=7"], "s"),
        (["/?keywords=tea&p=17"], "keywords"),
        (["/?q=17", "/?q=18", "/?term=tea"], "term"),
        (["/?q=17%2C18", "/?search=%E8%8C%B6"], "search"),
        (["/?p=about", "/?p=contact", "/?p=home"], None),  # names of pages
        (["/?p=17"], None),
        (["/tea", "/?lang=en"], None),
    ],
)
def test_auto(searched, paths, best):
    lines = [line(path, minute=at) for at, path in enumerate(paths)]
    if best is None:
        with pytest.raises(InputError, match="No parameter of a usual name") as error:
            searched(*lines, param="auto")
        assert not any(word in str(error.value) for word in ("about", "17", "lang"))
        return
    log = searched(*lines, param="auto")
    assert f"read from the parameter {best}." in log.history[0].notes[0]
    assert queries(log) == queries(searched(*lines, param=best))
    assert json.loads(log.reading) == {"query_param": "auto"}


def test_auto_beside_others(searched):
    lines = (line("/tea", referrer=GOOGLE.format("tea")), line("/?lang=en"))
    assert queries(searched(*lines, param="auto,referrer")) == ["tea"]
    assert queries(searched(*lines, line("/?find=x", minute=3), param="auto,find")) == ["x"]


def test_what_inspect_suggests(write):
    lines = [line("/?q=tea+pot"), line("/?q=coffee", 2), line("/?utm=x&s=a+b"), line("/", referrer=GOOGLE.format("x"))]
    log = coterie.read(write("a.log", "".join(lines)))
    assert list(search_params(log).items()) == [("q", 2), ("s", 1), ("referrer", 1)]
    rows = [("search_params", "q", 2.0, "rows"), ("search_params", "s", 1.0, "rows"),
            ("search_params", "referrer", 1.0, "rows")]  # fmt: skip
    assert coterie.inspect(log).filter(pl.col("name") == "search_params").rows() == rows
    shown = jobs.inspect_logs([str(write("a.log", "".join(lines)))], steps=["default"], **how(for_people=True))
    assert shown.filter(pl.col("name") == "search_params").rows() == rows, "also where steps cut addresses"
    assert search_params(coterie.read("synth:users=20,seed=1")) == {}


# --- everything else -----------------------------------------------------------------------------


@pytest.mark.parametrize("param", ["", "q,", "a b", "q=1", "a&b", 'a"b', ",".join("abcdefghijk")])
def test_names_are_names(write, param):
    with pytest.raises(ParameterError, match="query_param takes up to 10 names"):
        coterie.read(write("a.log", line("/?q=tea")), query_param=param)


def test_nothing_found(searched):
    with pytest.raises(InputError, match="No request has a search in the parameter words"):
        searched(line("/?q=tea"), param="words")


def test_only_access_logs(write):
    with pytest.raises(InputError, match=r"reads searches from access logs\. This log is QUERIES"):
        coterie.read(write("a.tsv", "user\tquery\n1\ttea\n"), query_param="q")
    with pytest.raises(InputError, match="This log is QUERIES"):
        coterie.read("synth:users=20,seed=1", query_param="q")


def test_tables_of_visits(write):
    log = coterie.read(write("a.csv", "user,path\nkim,/?q=blue+tea\nlee,/\n"), query_param="q")
    assert log.to_polars().select("user", "query").rows() == [("kim", "blue tea")]


@pytest.fixture
def site(write):
    lines = [
        line(f"/?q={q}", visitor, minute) for visitor in range(1, 10) for minute, q in enumerate(["blue+tea", visitor])
    ]
    return write("site.log", "".join(lines))


def test_all_the_way(site, tmp_path):
    log = coterie.prepare(coterie.read(site, query_param="q"))
    release = coterie.anonymize(log, SuppressRare(k=5), seed=1)
    assert set(release.to_polars()["query"]) == {"blue tea"}
    out = tmp_path / "safe.tsv"
    coterie.write(release, out, record=tmp_path / "record")
    assert coterie.verify(out, coterie.read(site, query_param="q"), record=tmp_path / "record").exit_code == 0
    sidecar = json.loads(out.with_suffix(".tsv.json").read_text())
    assert sidecar["reading"] == {"query_param": "q", "counted": "address+agent"}
    assert "a person with two browsers counts twice" in sidecar["warnings"][0]
    assert jobs.verify_file(str(out), [str(site)]).exit_code == 0, "the sidecar tells how the original is read"
    with pytest.raises(InputError, match=r"is it another log, or are its searches meant \(query_param=NAME\)\?"):
        coterie.verify(out, coterie.read(site))
    with pytest.raises(InputError, match="query_param"):
        coterie.verify(out, coterie.read(site, query_param="auto"), record=tmp_path / "record")


def test_jobs(site, tmp_path):
    out = Target(path=str(tmp_path / "safe.tsv")).for_each([5])
    told = []
    (summary,) = jobs.anonymize_files(
        [str(site)], [SuppressRare(k=5)], out, **how(reading=Reading(query_param="q"), note=told.append, history="none")
    )
    assert (summary.rows, summary.rows_read, summary.subjects) == (9, 18, "users")
    assert told == ["18 of 18 requests are searches, read from the parameter q."]
    published = tmp_path / "theirs.tsv"
    published.write_text("query\n" + "blue tea\n" * 9)
    verdict = jobs.verify_file(
        str(published), [str(site)], reading=Reading(query_param="q"), promise="query_k_anonymity", k=5
    )
    assert verdict.exit_code == 0, "searches are read from the original alone"


def test_large_logs(site, monkeypatch):
    small = coterie.read(site, query_param="q").to_polars()
    monkeypatch.setattr("coterie.reading.source._SMALL", -1)
    assert coterie.read(site, query_param="q").to_polars().equals(small)
