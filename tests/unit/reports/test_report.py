"""The report: what it must say, what it must never show, and that it is the same every time.

Covers: reports/__init__.py
"""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

import polars as pl
import pytest

from coterie.core.promise import Check
from coterie.core.scores import SCORES
from coterie.promises.query_k_anonymity import QueryKAnonymity
from coterie.promises.user_k_anonymity import UserKAnonymity
from coterie.reports import (
    RANDOM_READING,
    LogView,
    ReleaseView,
    merge,
    render,
    shown,
    state,
    value,
    verdict,
    with_own_labels,
)
from coterie.reports._charts import curves, slim
from coterie.reports.figures import Figures

EVIL = "<script>alert(\"1\")</script> & 'x' | `y` ![z](//q)"
SCHEMA = SCORES
FIGURES = Figures.collect()
PERCENT = {
    "exposure": ("exposed.mean", "exposed.median", "exposed.above_40", "channel.mean"),
    "linkage": ("after.half", "after.half.low", "after.half.high", "before.half", "bound"),
    "simattack": ("after.profiles.precision", "after.profiles.recall"),
    "witness": ("after.unique", "after.share"),
    "information_loss": ("per_user_capped.mean", "whole_log"),
    "release_share": ("rows", "queries", "events", "users"),
    "uniqueness": ("after.one_query", "after.two_queries", "after.profile"),
}
CHECKS = (
    Check(name="order", status="passed", detail="rows are sorted by released values only"),
    Check(
        name="crowd",
        status="passed",
        detail="at least 5 users behind each released query; 1,234 looked at",
        carries_promise=True,
        needs_original=True,
        largest_k=5,
    ),
)


def scores(share: float | None = 40.0, label: str | None = None) -> pl.DataFrame:
    rows: list[tuple[Any, ...]] = [(n, k, share, "%") for n, keys in PERCENT.items() for k in keys]
    rows += [
        ("release_share", "rows.count", None if share is None else 12345.0, "rows"),
        ("release_share", "queries.count", None if share is None else 678.0, "queries"),
        ("frequency", "query.overlap", 9.0, "of 10"),
        ("frequency", "word.overlap", 8.0, "of 10"),
    ]
    for kind in ("query", "word"):
        for rank in range(1, 11):
            rows.append(("frequency", f"{kind}.{rank}", 2.0 / rank, "%"))
            rows.append(("frequency", f"{kind}.{rank}.original", 1.0 / rank, "%"))
    table = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    if label is None:
        return table
    named = pl.when(pl.col("name") == "frequency").then(pl.format("{} {}", pl.lit(label), "key"))
    return table.with_columns(named.alias("label"))


def view(k: int = 5, **changes: Any) -> ReleaseView:
    plain = ReleaseView(
        label=f"suppress_rare k={k}",
        method="suppress_rare",
        params={"k": k, "users": "drop"},
        promises=(QueryKAnonymity(k=k),),
        checks=CHECKS,
        warnings=(),
        scores=scores(),
        largest_k=k,
    )
    return replace(plain, **changes)


@pytest.fixture(scope="module")
def log() -> LogView:
    keys = ("one_query", "two_queries", "profile")
    rows = [("uniqueness", f"before.{key}", 90.0 + i, "% of users") for i, key in enumerate(keys)]
    return LogView(
        rows=1234567,
        users=1000,
        queries=17142,
        days=None,
        bad_lines=3,
        steps=("normalize", "drop_empty"),
        shape="QUERIES",
        synthetic=True,
        exposure=pl.DataFrame(rows, schema=SCHEMA, orient="row"),
    )


@pytest.fixture(scope="module")
def page(log: LogView) -> str:
    return render(log, [view(2), view(5), view(10)], "html")


class Page(HTMLParser):
    """Tags that are open at the end, the tags that occur, and the text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in ("meta", "wbr", "br", "link", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_html_is_well_formed_and_loads_nothing(page: str) -> None:
    parsed = Page(page)
    assert parsed.open == []
    assert {tag for tag, _ in parsed.seen}.isdisjoint({"script", "link", "img", "iframe", "object"})
    for _, attrs in parsed.seen:
        assert not {"src", "srcset", "data", "xlink:href"} & set(attrs)
        assert (attrs.get("href") or "#").startswith("#")
        assert not any(name.startswith("on") for name in attrs)
    assert "http://" not in page
    assert "https://" not in page
    assert "@import" not in page
    assert not re.search(r"url\((?!#)", page)
    identifiers = [attrs["id"] for _, attrs in parsed.seen if "id" in attrs]
    assert len(identifiers) == len(set(identifiers))
    for _, attrs in parsed.seen:
        if (attrs.get("href") or "#") != "#":
            assert str(attrs["href"])[1:] in identifiers


@pytest.mark.parametrize("kind", ["html", "md", "json"])
def test_same_views_give_same_bytes(log: LogView, kind: Any) -> None:
    releases = [view(2), view(5, scores=scores(30.0, "text"))]
    assert render(log, releases, kind) == render(log, releases, kind)


def test_every_picture_has_a_text_and_a_table(page: str) -> None:
    pictures = [attrs for tag, attrs in Page(page).seen if tag == "svg" and "role" in attrs]
    assert len(pictures) == 14  # overview 3, over k 6, singled out 3, frequency 2
    assert all(attrs["role"] == "img" and attrs["aria-label"] for attrs in pictures)
    assert page.count("The numbers behind these pictures") == 4


def assert_rectangular(md: str, expected: int) -> None:
    """All lines of a table have the same length and the same number of cells."""
    tables = 0
    for first, second in pairwise(md.splitlines()):
        if first.startswith("|") and second.startswith("|"):
            tables += second.startswith("| ---")
            assert len(first) == len(second)
            assert len(re.findall(r"(?<!\\)\|", first)) == len(re.findall(r"(?<!\\)\|", second))
    assert tables == expected


def test_texts_of_the_log_are_escaped(log: LogView) -> None:
    evil = view(label=EVIL, warnings=(EVIL,), params={EVIL: EVIL}, scores=scores(40.0, EVIL))
    html = render(log, [evil, view(2)], "html")
    assert "<script" not in html
    assert Page(html).open == []
    assert EVIL in Page(html).text
    assert f"{EVIL} query.1" in Page(html).text
    md = render(log, [evil], "md")
    assert "<script" not in md.replace("\\<script", "")
    assert "![z](" not in md
    assert_rectangular(md, 8)  # three risks, checks, privacy, attacks, utility, two rankings, parameters


@pytest.mark.parametrize("kind", ["html", "md", "json"])
def test_shows_each_promise_check_and_limit(log: LogView, kind: Any) -> None:
    releases = [view(5), view(7, promises=(UserKAnonymity(k=7),), label="groups k=7")]
    text = render(log, releases, kind)
    text = Page(text).text if kind == "html" else text
    for release in releases:
        assert release.sentence in text
        assert release.label in text
        assert verdict(release, FIGURES) in text
        for check in release.checks:
            assert check.name in text
            assert check.detail in text
        for limit in release.limits:
            assert limit in text
    if kind != "json":
        assert "coterie verify FILE --original LOG" in text
        assert "Signature" in text


FAILED = replace(CHECKS[1], status="failed", detail="3 of 9 have fewer", broken=3)
SKIPPED = replace(CHECKS[1], status="not checked")
CASES = [
    (CHECKS, "kept", "All 2 checks passed; the promise holds up to k = 5."),
    ((CHECKS[0], FAILED), "broken", "1 of 2 checks failed"),
    ((CHECKS[0], SKIPPED), "not checked", "1 of 2 checks need the original log"),
    ((replace(CHECKS[0], status="not checked"), CHECKS[1]), "kept", "1 of 2 checks were made"),
    ((SKIPPED, FAILED), "broken", "must not be shared"),
    ((), "not checked", "no check was made of what it rests on"),
    (CHECKS[:1], "not checked", "no check was made of what it rests on"),
]


@pytest.mark.parametrize(("checks", "found", "words"), CASES)
def test_verdicts(checks: tuple[Check, ...], found: str, words: str) -> None:
    assert state(view(checks=checks)) == found
    assert words in verdict(view(checks=checks), FIGURES)


def test_a_failed_check_is_shown_as_broken_in_words(log: LogView) -> None:
    release = view(checks=(*CHECKS, FAILED), largest_k=2)
    text = Page(render(log, [release], "html")).text
    for words in ("Broken", "Failed", "3 of 9 have fewer", "must not be shared", "holds is 2"):
        assert words in text
    md = render(log, [release], "md")
    assert "✗ broken" in md
    assert "✗ failed" in md  # also where two checks have one name
    assert json.loads(render(log, [release], "json"))["releases"][0]["verdict"] == "broken"


@pytest.mark.parametrize("kind", ["html", "md", "json"])
def test_missing_scores_are_explained(log: LogView, kind: Any) -> None:
    public = scores().filter(
        ~pl.col("name").is_in(["exposure", "information_loss", "linkage", "simattack", "witness"])
        & ~pl.col("key").is_in(["events", "users"])
    )
    text = render(log, [view(scores=public)], kind)
    assert "--record DIR" in text
    assert "who became whom" in text
    assert "who became whom" not in render(log, [view()], kind)
    assert "Not measured: exposure, frequency." in render(
        log, [view(scores=scores().filter(~pl.col("name").is_in(["exposure", "frequency"])))], kind
    )
    nothing = render(log, [view(scores=scores().clear())], kind)
    assert "Not measured: frequency, release share, uniqueness." in nothing


@pytest.mark.parametrize("kind", ["html", "md"])
def test_figures_of_profiles_are_shown_where_they_were_measured(log: LogView, kind: Any) -> None:
    assert "Spread within groups" not in render(log, [view()], kind)
    assert "partition" not in render(log, [view()], kind)  # nor called missing
    measured = pl.DataFrame(
        [("homogeneity", "sse.ratio", 0.636, "× random"), ("partition_agreement", "jaccard_10", 0.25, "of 1")],
        schema=SCHEMA,
        orient="row",
    )
    text = render(log, [view(), view(scores=scores().vstack(measured))], kind)
    for words in ("Spread within groups", "0.636 × random", "Same 10 clusters, Jaccard", "0.250 of 1", "at random"):
        assert words in text
    assert "Other measures" not in text


@pytest.mark.parametrize("kind", ["html", "md"])
def test_what_profiles_foretell_and_disclose_is_shown_where_it_was_measured(log: LogView, kind: Any) -> None:
    assert "foretold" not in render(log, [view()], kind)
    assert "Main interest" not in render(log, [view()], kind)
    measured = pl.DataFrame(
        [("later_queries", "retained", 61.25, "%"), ("later_queries", "retained.low", 57.5, "%"),
         ("later_queries", "retained.high", 64.75, "%"), ("interest_disclosure", "right", 33.5, "% of users"),
         ("interest_disclosure", "majority", 12.25, "% of users")],
        schema=SCHEMA,
        orient="row",
    )  # fmt: skip
    text = render(log, [view(), view(scores=scores().vstack(measured))], kind)
    text = text.replace(' <small class="under">', " (").replace("64.8%</small>", "64.8%)")
    for words in ("Later searches foretold", "61.2% (57.5% to 64.8%)", "a stranger", "33.5%", "12.2%"):
        assert words in text
    assert "Other measures" not in text
    utility = text.index("How useful is it?")
    assert text.index("Main interest guessed") < utility < text.index("Later searches foretold")


@pytest.mark.parametrize("kind", ["html", "md", "json"])
def test_nothing_released_and_nothing_given(log: LogView, kind: Any) -> None:
    empty = scores(None).with_columns(value=pl.when(pl.col("key") == "rows.count").then(0.0).otherwise(None))
    release = view(scores=empty, largest_k=None)
    assert "Nothing was released" in render(log, [release], kind)
    assert "None" not in render(log, [release], kind)
    strange = scores().with_columns(value=pl.lit(float("nan")))
    assert "NaN" not in render(log, [view(scores=strange)], kind)
    bare = replace(log, exposure=log.exposure.clear(), synthetic=False, steps=())
    assert render(bare, [], kind)


def test_no_text_of_the_log_without_labels(log: LogView) -> None:
    hidden = Page(render(log, [view(2), view(scores=scores(40.0, "canary"))], "html")).text
    assert "canary" not in hidden
    assert "query 1" in hidden
    shown_ = view(scores=scores(40.0, "canary"))
    assert "canary query.1" in Page(render(log, [shown_], "html")).text
    assert "canary query.1" in render(log, [shown_], "md")
    assert "canary" not in render(log, [shown_], "json")


def test_json_has_the_four_columns_of_scores(log: LogView) -> None:
    data = json.loads(render(log, [view(5, scores=scores(40.0, "x"))], "json"))
    assert set(data) == {"log", "releases", "decision", "date", "sha256_without_date"}
    assert data["log"]["rows"] == 1234567
    assert data["log"]["exposure"][0]["key"] == "before.one_query"
    release = data["releases"][0]
    assert release["promises"][0]["name"] == "query_k_anonymity"
    assert {frozenset(score) for score in release["scores"]} == {frozenset({"name", "key", "value", "unit"})}
    assert list(release) == sorted(release)


def test_markdown_tables_are_rectangular(log: LogView) -> None:
    md = render(log, [view(k) for k in range(2, 12)], "md")
    assert_rectangular(md, 7 + 10 + 4 * 2)  # checks and figures stand in three tables each
    assert "1,234,567" in md


def test_many_releases_and_methods(log: LogView) -> None:
    groups = [view(k, method="groups", label=f"groups k={k}") for k in (2, 5, 10, 20)]
    html = render(log, [*(view(k) for k in (2, 5, 10, 20)), *groups], "html")
    assert "The first 4 releases are drawn." in html
    assert html.count('<table class="checks several">') == 2


def grouped(k: int, share: float, random: float) -> ReleaseView:
    changes: dict[str, Any] = {"method": "groups", "label": f"groups k={k}", "promises": (UserKAnonymity(k=k),)}
    return view(k, **changes, scores=scores(share), baseline=view(k, **changes, scores=scores(random)))


@pytest.mark.parametrize("several", [False, True])
def test_random_groups_stand_beside_each_figure(log: LogView, several: bool) -> None:
    releases = [grouped(3, 41.5, 51.5)] + ([grouped(5, 21.5, 31.5), view(5)] if several else [])
    md = render(log, releases, "md")
    assert md.count(RANDOM_READING) == 1
    rows = [line for line in md.splitlines() if line.startswith("| Exposure, mean over users")]
    cells = [text.strip() for row in rows for text in row.split("|")[2:-1]]
    assert cells == ["100.0%", "41.5%", "51.5%"] + (["21.5%", "31.5%", "100.0%", "40.0%"] if several else [])
    html = render(log, releases, "html")
    text = Page(html).text
    assert text.count(RANDOM_READING) == 1
    for number in cells[1:]:
        assert number in text
    assert "Random groups of the same k" in text
    for release, data in zip(releases, json.loads(render(log, releases, "json"))["releases"], strict=True):
        if release.baseline is None:
            assert data["random_groups"] is None
            continue
        found = {(s["name"], s["key"]): s["value"] for s in data["random_groups"]["scores"]}
        assert found["exposure", "exposed.mean"] == value(release.baseline, "exposure", "exposed.mean")
        assert data["random_groups"]["meaning"] == RANDOM_READING


@pytest.mark.parametrize("kind", ["html", "md"])
def test_methods_that_group_nobody_have_no_random_groups(log: LogView, kind: Any) -> None:
    assert "andom groups" not in render(log, [view(2), view(5)], kind)


def test_random_groups_are_a_dashed_line_over_k(log: LogView) -> None:
    pictures = [
        attrs["aria-label"]
        for tag, attrs in Page(render(log, [grouped(3, 41.5, 51.5), grouped(5, 21.5, 31.5)], "html")).seen
        if tag == "svg" and (attrs.get("aria-label") or "").startswith("Exposure, mean over users over k")
    ]
    assert pictures == [
        "Exposure, mean over users over k: groups k=3 41.5%; groups k=5 21.5%; "
        "Random groups k=3 51.5%; Random groups k=5 31.5%."
    ]
    drawn = curves(
        "Exposure", [("groups", 3, 1.0), ("groups", 5, 2.0), ("other", 3, 1.0), ("other", 5, 1.0)], ["other"]
    )
    assert drawn.svg.count('stroke-dasharray="4,3"') == 1
    assert [sign.dashed for sign in drawn.signs] == [False, True]


def test_measures_without_a_sentence_are_shown(log: LogView) -> None:
    more = pl.DataFrame([("my_measure", "found", 12.5, "%")], schema=SCHEMA, orient="row")
    release = view(scores=pl.concat([scores(), more]))
    for kind in ("html", "md"):
        text = render(log, [release], kind)
        assert "my_measure found" in text
        assert "12.5%" in text


@pytest.mark.parametrize("kind", ["html", "md"])
def test_attacks_have_intervals_and_the_original_beside_them(log: LogView, kind: Any) -> None:
    found = {"after.half": 12.5, "after.half.low": 10.0, "after.half.high": 15.25, "before.half": 99.0, "bound": 20.0}
    rows = pl.DataFrame([("linkage", k, v, "% of users") for k, v in found.items()], schema=SCHEMA, orient="row")
    text = Page(render(log, [view(scores=rows)], kind)).text
    assert ("12.5% (10.0% to 15.2%)" if kind == "md" else "12.5% 10.0% to 15.2%") in text
    for said in ("Attacks", "Found by half of their queries", "99.0%", "20.0%"):
        assert said in text
    nameless = pl.DataFrame([("linkage", "after.names", 0.0, "names")], schema=SCHEMA, orient="row")
    assert "no row of the release carries one" in render(log, [view(scores=nameless)], kind)


def test_numbers() -> None:
    percents = [33.716, 0.0, 0.01, 99.99, 100.0, None, float("inf")]
    texts = ["33.7%", "0.0%", "<0.1%", ">99.9%", "100.0%", "–", "–"]
    assert [shown(percent, "% of users") for percent in percents] == texts
    assert shown(1234567.0, "rows") == "1,234,567 rows"
    assert shown(7.0, "of 10") == "7 of 10"


def test_texts_are_merged_where_they_are_alike_and_numbers_never() -> None:
    releases = [view(2), view(5)]
    assert merge(releases, lambda r: ["9.2 % of rows"]) == [("9.2 % of rows", ())]
    texts = merge(releases, lambda r: [f"{r.k}.2 % of {1000 * (r.k or 0):,} rows"])
    assert texts == [("2.2 % of 2,000 rows", (releases[0].label,)), ("5.2 % of 5,000 rows", (releases[1].label,))]
    assert merge(releases, lambda r: [f"k = {r.k}"] if r.k == 5 else []) == [("k = 5", (releases[1].label,))]


def test_what_is_promised_for_several_k_is_said_once() -> None:
    releases = [view(2), view(5)]
    said = merge(releases, lambda r: [f"at least {r.k} users; {r.k}.5 and {r.k},000 stay"], for_any_k=True)
    assert [about for _, about in said] == [(releases[0].label,), (releases[1].label,)], "other numbers differ"
    assert merge(releases, lambda r: [f"at least {r.k} users"], for_any_k=True) == [("at least k users", ())]
    assert merge(releases[:1], lambda r: [f"at least {r.k} users"], for_any_k=True) == [("at least 2 users", ())]


@pytest.mark.parametrize("kind", ["html", "md"])
def test_at_most_four_releases_stand_side_by_side(log: LogView, kind: Any) -> None:
    """With random groups, each of which is a column of its own, it is two; each release stands in each table once."""
    grouped = [replace(view(k, label=f"groups k={k}"), baseline=view(k)) for k in (2, 3)]
    releases = [*(view(k) for k in range(2, 9)), *grouped]
    text = render(log, releases, kind)
    if kind == "html":
        heads = [re.findall(r"<th[^>]*>(.*?)</th>", head) for head in re.findall(r"<thead>(.*?)</thead>", text, re.S)]
        heads = [[re.sub("<[^>]*>", "", cell) for cell in head] for head in heads]
    else:
        lines = pairwise(text.splitlines())
        heads = [[cell.strip() for cell in one.split("|")[1:-1]] for one, two in lines if two.startswith("| ---")]
    for first, last in (("Figure", None), ("Check", -1)):
        tables = [head[1:last] for head in heads if head[0] == first]
        columns = [[name for name in head if name not in ("Original", "What was found")] for head in tables]
        assert {len(each) for each in columns} <= {1, 2, 3, 4}
        for release in releases:
            assert sum(release.label in each for each in columns) == len([c for c in columns if releases[0].label in c])


@pytest.mark.parametrize("kind", ["html", "md"])
def test_numbers_of_the_original_that_differ_stand_beside_the_release_they_are_about(log: LogView, kind: Any) -> None:
    """The same attack finds another share of the original where the log was prepared in another way."""
    found = [
        pl.DataFrame(
            [("linkage", "after.half", 12.5, "%"), ("linkage", "before.half", before, "%")], SCHEMA, orient="row"
        )
        for before in (91.4, 91.4, 66.1)
    ]
    alike = Page(render(log, [view(k, scores=each) for k, each in zip((2, 5), found, strict=False)], kind)).text
    assert "91.4%" in alike
    assert " original 91.4%" not in alike.partition("promised, and does it hold")[2]
    text = Page(render(log, [view(k, scores=each) for k, each in zip((2, 5, 10), found, strict=True)], kind)).text
    text = text.partition("promised, and does it hold")[2]
    assert "91.4% / " not in text
    assert "original 91.4%" in text
    assert "original 66.1%" in text


def test_no_two_releases_have_the_same_label() -> None:
    def own(*releases: ReleaseView) -> list[str]:
        return [release.label for release in with_own_labels(releases)]

    named = view(2).label
    assert own(view(2), view(5)) == [view(2).label, view(5).label]
    assert own(view(2), view(2)) == [named, f"{named} (2)"]
    files = [replace(view(2), file=name) for name in ("one.tsv", "two.tsv")]
    assert own(*files) == [f"{named} (one.tsv)", f"{named} (two.tsv)"]
    assert own(*files[::-1]) == [f"{named} (two.tsv)", f"{named} (one.tsv)"]  # whatever the order
    assert own(files[0], files[0]) == [f"{named} (one.tsv)", f"{named} (one.tsv) (2)"]
    one, other = (replace(view(2), params={"k": 2, "publish": kind}) for kind in ("queries", "phrases"))
    assert own(one, other, view(5)) == [f"{named} publish=queries", f"{named} publish=phrases", view(5).label]
    assert own(view(2, label=""), view(2, label="c")) == ["–", "c"]


def test_drawings_can_share_a_page() -> None:
    svg = '<svg xmlns="http://x"><g clip-path="url(#clip1)"><text aria-label="a&gt;">{}</text></g>'
    svg += '<defs><clipPath id="clip1"><path d="M1.23456,0"/></clipPath></defs></svg>'
    one, two = slim(svg.format("id=&quot;clip1")), slim(svg.format("other"))
    assert "http" not in one
    assert "aria-label" not in one
    assert "M1.23," in one
    name = re.findall(r'id="([^"]+)"', one)
    assert f"url(#{name[0]})" in one
    assert set(name).isdisjoint(re.findall(r'id="([^"]+)"', two))
    assert "id=&quot;clip1" in one
