"""A studio in a process of its own, as its users start it, and Debian's Chromium to look at it."""

import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = """
--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
--disable-component-update --disable-sync --hide-scrollbars
"""


@dataclass
class Process:
    """A running studio."""

    process: subprocess.Popen
    address: str

    @property
    def origin(self):
        return re.match(r"http://127\.0\.0\.1:\d+", self.address)[0]


def start(*arguments, cwd):
    """`coterie studio` as people start it; it says where it is."""
    command = [sys.executable, "-m", "coterie", "studio", "--no-browser", *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=cwd)
    return Process(process, process.stdout.readline().strip())


def end(studio, number=signal.SIGINT):
    studio.process.send_signal(number)
    code = studio.process.wait(60)
    studio.process.stdout.close()
    return code


@pytest.fixture(scope="session")
def studio(tmp_path_factory):
    studio = start(cwd=tmp_path_factory.mktemp("cwd"))
    yield studio
    assert end(studio) == 0


@pytest.fixture(scope="session")
def chromium():
    if CHROMIUM is None:
        pytest.skip("no Chromium here")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS.split())
        yield browser
        browser.close()


@pytest.fixture
def page(chromium):
    """A page that fails the test if anything on it fails, or asks anybody but the studio."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(120_000)
    page, wrong = context.new_page(), []
    page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: (wrong.append("a script ran"), dialog.dismiss()))
    page.on("request", lambda asked: wrong.append(asked.url) if not _is_own(asked.url) else None)
    yield page
    context.close()
    assert not wrong


def _is_own(url):
    return url.startswith(("http://127.0.0.1:", "data:", "about:", "blob:"))


@pytest.fixture(scope="session")
def axe():
    """axe-core, which finds what people who do not see or cannot use a mouse would stumble over."""
    folder = os.environ.get("COTERIE_AXE", "")
    path = Path(folder) / "node_modules" / "axe-core" / "axe.min.js"
    if not path.is_file():
        pytest.skip("no axe-core here (make test-browser installs it where there is npm)")
    return path.read_text(encoding="utf-8")
