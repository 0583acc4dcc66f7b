"""The documentation site in a browser: its search works from files, without a server and without a network."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]


def test_the_search_of_the_site_works_from_files(chromium, tmp_path):
    pytest.importorskip("zensical", reason="the site needs the extra docs: make site")
    site = tmp_path / "site"
    subprocess.run([sys.executable, ROOT / "tools" / "build_site.py", site], check=True, stdout=subprocess.DEVNULL)
    context = chromium.new_context()
    page, asked = context.new_page(), []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((site / "tutorial" / "first_release.html").as_uri())
    page.get_by_role("button", name="Search").first.click()
    page.locator("input:visible").first.fill("attribution")
    page.get_by_text(re.compile(r"^\d+ results$")).wait_for(timeout=60_000)
    context.close()
    assert asked
    assert all(url.startswith(("file:", "data:", "blob:", "about:")) for url in asked)
