"""The report in a real browser, which has to be Chromium: on screens of all sizes, on paper, by keyboard, in the dark.

Covers: reports/_html.py
"""

import json
from importlib.resources import files
from unicodedata import normalize

import pypdf
import pytest

import coterie
from coterie.methods.microaggregate import Microaggregate
from coterie.methods.suppress_rare import SuppressRare
from coterie.reports.about import About
from tests.helpers.browser import CHROMIUM, browser

pytestmark = pytest.mark.slow
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


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    if CHROMIUM is None:
        pytest.skip("no Chromium here")
    log = coterie.prepare(coterie.read("synth:users=60,seed=7"))
    methods = [SuppressRare(k=3), SuppressRare(k=5), Microaggregate(k=3), Microaggregate(k=5)]
    releases = [coterie.anonymize(log, method, seed=7) for method in methods]
    path = tmp_path_factory.mktemp("browser") / "report.html"
    about = About(name="Searches of a library", purpose="Research", conditions="Not passed on")
    return coterie.report(log, releases, path, about=about, seed=7, names=MEASURES)


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
