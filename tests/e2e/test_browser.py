"""The report in a real browser: it draws, on a screen and on paper. Needs Chromium.

Covers: demo.py
"""

import shutil
import subprocess

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = """
--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
--disable-component-update --disable-sync --hide-scrollbars
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    if CHROMIUM is None:
        pytest.skip("no Chromium here")
    from coterie.demo import run_demo

    folder = tmp_path_factory.mktemp("browser") / "demo"
    run_demo(folder, 200, lambda *_: None)
    return folder / "report.html"


def _browse(page, tmp_path, *flags):
    command = [CHROMIUM, *FLAGS.split(), f"--user-data-dir={tmp_path / 'profile'}", *flags, page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1200])
def test_a_screen(page, tmp_path, width):
    picture = tmp_path / "page.png"
    _browse(page, tmp_path, f"--screenshot={picture}", f"--window-size={width},2400")
    # An empty page of this size is a few kB.
    assert picture.stat().st_size > 60_000


@pytest.mark.slow
def test_paper(page, tmp_path):
    paper = tmp_path / "page.pdf"
    _browse(page, tmp_path, f"--print-to-pdf={paper}", "--no-pdf-header-footer")
    assert paper.read_bytes().startswith(b"%PDF")
    assert paper.stat().st_size > 40_000


@pytest.mark.slow
def test_the_browser_sees_the_whole_document(page, tmp_path):
    text = _browse(page, tmp_path, "--dump-dom").stdout
    for words in ("What was checked", "at least 5 different users", "<svg", "Signature"):
        assert words in text
