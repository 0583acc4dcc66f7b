"""The documentation site: every page has its place, nothing comes from elsewhere, and broken links end the build."""

import importlib
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PARTS = ["Home", "Tutorial", "How-to", "Reference", "Explanation"]


@pytest.fixture
def build_site(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")
    return importlib.import_module("build_site")


def places(entries):
    """The pages of a navigation, at any depth."""
    for entry in entries:
        (place,) = entry.values()
        yield from [place] if isinstance(place, str) else places(place)


def test_every_page_has_one_place_in_the_navigation(build_site):
    nav = tomllib.loads((ROOT / "zensical.toml").read_text())["project"]["nav"]
    assert [next(iter(entry)) for entry in nav] == PARTS
    listed = list(places(nav))
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    single = {page for page in pages if not page.startswith("decisions/0")}  # these are reached from their list
    assert sorted(listed) == sorted(single | set(build_site.ROOT_PAGES.values()))


def test_links_of_pages_at_the_root_are_those_of_the_site(build_site, tmp_path):
    build_site.stage(tmp_path)
    text = (tmp_path / "docs" / "architecture.md").read_text()
    assert "(glossary.md)" in text
    assert "(decisions/README.md)" in text
    assert "](../" not in text
    assert "(architecture.md)" in (tmp_path / "docs" / "contributing.md").read_text()
    assert "(../architecture.md)" in (tmp_path / "docs" / "how_to" / "own_method.md").read_text()


@pytest.mark.parametrize(
    ("page", "fault"),
    [
        ('<script src="https://cdn.example/a.js"></script>', "loads https://cdn.example/a.js"),
        ('<link rel="stylesheet" href="//fonts.example/a.css">', "loads //fonts.example/a.css"),
        ('<img src="none.png">', "points at none.png"),
        ('<a href="none.html#x">x</a>', "points at none.html"),
        ('<a href="https://example.org">x</a><a href="#here">y</a><img src="data:,">', None),
    ],
)
def test_what_a_reader_without_a_network_would_miss_is_found(build_site, tmp_path, page, fault):
    (tmp_path / "index.html").write_text(page)
    found = build_site.faults(tmp_path)
    assert (fault is None and not found) or (len(found) == 1 and fault in found[0])


def test_styles_load_nothing(build_site, tmp_path):
    (tmp_path / "a.css").write_text("@import url('https://fonts.example/a');")
    assert build_site.faults(tmp_path) == ["a.css loads something from elsewhere"]


def test_the_site_is_built_and_loads_nothing_from_elsewhere(build_site, tmp_path):
    pytest.importorskip("zensical", reason="the site needs the extra docs: make site")
    site = tmp_path / "site"
    build_site.build(site)
    assert build_site.faults(site) == []
    assert (site / "search.js").stat().st_size > 100_000  # the index, which is read without a server
    tabs = re.findall(r'md-tabs__link">\s*([^<]+?)\s*<', (site / "index.html").read_text())
    assert tabs == PARTS
    assert "coterie.anonymize" in (site / "reference" / "python.html").read_text()


def test_a_broken_link_ends_the_build(build_site, tmp_path, monkeypatch):
    pytest.importorskip("zensical", reason="the site needs the extra docs: make site")
    whole = build_site.stage

    def broken(source):
        whole(source)
        (source / "docs" / "install.md").write_text("# Install\n\n[nowhere](nowhere.md)\n")

    monkeypatch.setattr(build_site, "stage", broken)
    with pytest.raises(SystemExit, match="page does not exist"):
        build_site.build(tmp_path / "site")
    assert not (tmp_path / "site").exists()
