"""The report in a real browser, which has to be Chromium: on screens of all sizes, on paper, by keyboard, in the dark.

Covers: reports/_html.py
"""

import json
from dataclasses import replace
from importlib.resources import files
from unicodedata import normalize

import pypdf
import pytest

import coterie
from coterie import measures
from coterie.core.promise import Check
from coterie.core.scores import score_table
from coterie.methods.microaggregate import Microaggregate
from coterie.methods.suppress_rare import SuppressRare
from coterie.promises.query_k_anonymity import QueryKAnonymity
from coterie.reports import LogView, ReleaseView, render
from coterie.reports.about import About
from tests.helpers.browser import CHROMIUM, browser

MEASURES = ["uniqueness", "personal_data", "linkage", "simattack", "release_share", "frequency", "exposure"]
HEADINGS = ["Context", "Data", "Identifiability", "Mitigation", "Governance"]
OUTLINE = (
    "[...document.querySelectorAll('h1, h2, h3, table caption, .paneltitle')].map(each => each.textContent.trim())"
)
SHAPE = """
JSON.stringify([...document.querySelectorAll('table')].map(table =>
  [table.rows.length, table.rows[0].cells.length, !!table.caption && !!table.caption.textContent.trim()]))
"""
# Texts of pictures that stand out of their picture, and elements beyond the right edge that nobody can scroll to.
CUT = """
[...document.querySelectorAll('.panel svg text')].filter(text => {
  const own = text.getBoundingClientRect(), all = text.closest('svg').getBoundingClientRect();
  return own.width && (own.left < all.left - 1.5 || own.right > all.right + 1.5 || text.textContent.includes('…'));
}).map(text => text.textContent)
"""
BEYOND = """
[...document.querySelectorAll('main *, header *, footer *')].filter(each =>
  each.getBoundingClientRect().right > document.documentElement.clientWidth + 1 && !each.closest('svg')
  && !each.closest('.unseen') && (PAPER || !each.closest('.scroll'))
).slice(0, 5).map(each => each.tagName + ' ' + each.textContent.slice(0, 40))
"""


# Tables that are wider than their frame, and cells whose text stands out of them; everything is unfolded.
TOO_WIDE = """
(() => {
  document.querySelectorAll('details').forEach(each => { each.open = true; });
  const wide = (each, room) => each.scrollWidth > room + 1;
  const tables = [...document.querySelectorAll('table')];
  const cells = tables.flatMap(table => [...table.querySelectorAll('th, td')].filter(cell => cell.clientWidth));
  const right = document.querySelector('main').getBoundingClientRect().right + 1;
  return [
    ...tables.filter(table => wide(table, table.parentElement.clientWidth) || wide(table.parentElement,
      table.parentElement.clientWidth) || table.getBoundingClientRect().right > right)
      .map(table => 'table ' + table.caption.textContent + ' ' + table.scrollWidth),
    ...cells.filter(cell => wide(cell, cell.clientWidth))
      .map(cell => 'cell ' + cell.closest('table').caption.textContent + ': ' + cell.textContent.slice(0, 40)),
  ].slice(0, 10);
})()
"""


def _scores(number):
    """A score for every figure that there is, as long as they get."""
    keys = {(each.measure, key): None for each in measures.weighed() for key in each.keys}
    for each in measures.figures():
        before = each.before if each.before.startswith("before.") else ""
        beside = [key for _, key in each.beside]
        ends = [f"{each.key}.{end}" for end in ("low", "high")]
        keys |= dict.fromkeys((each.measure, key) for key in (each.key, *ends, before, *beside) if key)
    rows = [(name, key, 58.0 + number / 10, "% points" if "excess" in key else "% of users") for name, key in keys]
    rows += [("frequency", f"{kind}.{i}{end}", 12.5, "%") for kind in ("query", "word") for i in range(1, 11)
             for end in ("", ".original")]  # fmt: skip
    rows += [("a_measure_of_some_package", "a.key.of_many_parts", 1234567.891, "searches per person and day")]
    return score_table(rows)


@pytest.fixture(scope="module")
def crowded(tmp_path_factory):
    """A page about twelve releases with all figures, half of them beside random groups; no two of a kind are alike."""
    check = Check(name="crowd.query.url.rank.time", status="passed", detail="at least 5 users share it whole",
                  looked_at=1_234_567, carries_promise=True, needs_original=True, how="104,000 bytes")  # fmt: skip
    failed = replace(check, name="sessions.of_one_person", status="failed", broken=1_234, fault="have fewer")
    releases = []
    for number in range(12):
        method = ("suppress_rare", "affinity", "interest_microaggregate", "microaggregate_documents")[number // 3]
        view = ReleaseView(
            label=f"{method} k={number + 2}, publish=phrases",
            method=method,
            params={"k": number + 2, "publish": "phrases", "taxonomy": "a_taxonomy_with_a_long_name"},
            promises=(QueryKAnonymity(k=number + 2),),
            checks=(replace(check, how=f"{number + 104:,} bytes"), failed),
            warnings=(f"Rows are linked by person, {number}.{number} % of them.",),
            scores=_scores(number),
            largest_k=number + 2,
            file=f"{method}.a-release-with-a-long-name.{number}.parquet",
            sha256="0123456789abcdef" * 4,
        )
        releases.append(replace(view, baseline=view) if number > 5 else view)
    log = LogView(rows=36_389_567, users=657_426, queries=10_154_742, days=92, bad_lines=3, steps=("normalize",),
                  shape="QUERIES", synthetic=False, exposure=score_table([]), digest="0123456789" * 6)  # fmt: skip
    path = tmp_path_factory.mktemp("crowded") / "report.html"
    path.write_text(render(log, releases, "html"), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    if CHROMIUM is None:
        pytest.skip("no Chromium here")
    log = coterie.prepare(coterie.read("synth:users=60,seed=7"))
    methods = [SuppressRare(k=3), SuppressRare(k=5), Microaggregate(k=3), Microaggregate(k=5)]
    releases = [coterie.anonymize(log, method, seed=7) for method in methods]
    path = tmp_path_factory.mktemp("browser") / "report.html"
    about = About(name="Searches of a library", purpose="Research", conditions="Not passed on")
    return coterie.report(releases, original=log, to=path, about=about, seed=7, names=MEASURES)


@pytest.fixture(scope="module")
def tab(page):
    with browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def outline(tab, page):
    tab.open(page)
    return tab.run(OUTLINE), json.loads(tab.run(SHAPE))


@pytest.mark.parametrize("width", [360, 500, 768, 1280, 1600])
def test_a_screen_shows_everything_and_scrolls_one_way(tab, page, outline, width):
    tab.open(page, width)
    assert tab.run("document.documentElement.scrollWidth") <= width
    assert tab.run(BEYOND.replace("PAPER", "false")) == []
    assert tab.run(CUT) == []
    assert (tab.run(OUTLINE), json.loads(tab.run(SHAPE))) == outline
    assert outline[0][2:4] == HEADINGS[:2]
    assert all(has_caption for _, _, has_caption in outline[1])


@pytest.mark.parametrize("which", ["page", "crowded"])
@pytest.mark.parametrize("paper", [False, True], ids=["screen", "paper"])
def test_no_table_is_wider_than_its_frame(tab, which, paper, request):
    """Nobody scrolls on a screen of 1280 pixels, and A4 shows all columns."""
    tab.open(request.getfixturevalue(which), 1280)
    if paper:
        tab.on_paper()
    assert tab.run("document.querySelectorAll('table').length") > 10
    assert tab.run(TOO_WIDE) == []


def test_paper_has_no_broken_table_and_no_cut_label(tab, page, tmp_path):
    tab.open(page)
    tab.on_paper()
    assert tab.run(BEYOND.replace("PAPER", "true")) == []
    assert tab.run(CUT) == []
    tab.open(page)
    tab.pdf(tmp_path / "page.pdf")
    pages = [normalize("NFKC", each.extract_text()) for each in pypdf.PdfReader(tmp_path / "page.pdf").pages]
    wanted = [*HEADINGS, "Searches of a library", "Signature", "ecommend"]
    assert [each for each in wanted if each not in pages[0]] == [], "the first page is the whole sheet"
    assert pages[1].strip().startswith("What was promised")
    sizes = {(round(float(each.mediabox.width)), round(float(each.mediabox.height))) for each in
             pypdf.PdfReader(tmp_path / "page.pdf").pages}  # fmt: skip
    assert sizes <= {(595, 842), (596, 842)}


def test_the_keyboard_reaches_the_sheet_and_all_that_scrolls(tab, page):
    tab.open(page, 360)
    tab.press("Tab")
    assert tab.run("document.activeElement.className") == "skip"
    assert tab.run("document.activeElement.getBoundingClientRect().left") >= 0
    tab.press("Enter")
    assert tab.run("document.activeElement.id") == "main"
    unreachable = (
        "[...document.querySelectorAll('.scroll')].filter(each => each.tabIndex !== 0 || !each.ariaLabel).length"
    )
    assert tab.run(unreachable) == 0


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (360, False), (1280, True), (360, True)])
def test_axe_finds_no_barrier(tab, page, width, dark):
    tab.open(page, width, dark=dark)
    tab.run("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    tab.run(files("axe_core_python").joinpath("axe.min.js").read_text(encoding="utf-8") + "; 0")
    found = json.loads(tab.run("axe.run(document).then(found => JSON.stringify(found.violations))"))
    barriers = [(each["id"], each["nodes"][0]["html"][:200], each["nodes"][0]["any"][:1]) for each in found]
    assert barriers == []


def test_pictures_of_a_screen_and_of_paper(tab, page, tmp_path):
    tab.open(page)
    tab.picture(tmp_path / "page.png")
    assert (tmp_path / "page.png").stat().st_size > 60_000  # an empty page of this size is a few kB
