"""The studio in a real browser: every step on four kinds of logs, for everybody's eyes and hands, and under attack.

Covers: apps/studio/cli.py
"""

import re
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from coterie import synth
from tests.browser.conftest import end, start

pytestmark = pytest.mark.browser
SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(2)>"


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """An AOL-like file, an access log and a broken one."""
    folder = tmp_path_factory.mktemp("logs")
    synth.write(folder / "aol.tsv", 60, 7)
    synth.write(folder / "access.log", 60, 7, "visits")
    (folder / "broken.tsv").write_bytes(b"\x00\x01zebra canary\tsecret words\n\xff\xfe\n")
    rows = [f"{i % 12},{query}" for i in range(60) for query in ("blue teapot", SCRIPT, f"private {i}")]
    (folder / "own.csv").write_text("cookie,q\n" + "\n".join(rows) + "\n")
    return folder


def _open(page, studio, path):
    page.goto(f"{studio.address}open")
    page.fill("#path", str(path))
    page.click("text=Open the log")


def _walk(page, tmp_path, method="suppress rare", k="3"):
    """From an open log to a folder that verifies."""
    page.wait_for_selector("text=Columns")
    page.click("text=How exposed")
    page.wait_for_selector(".three")
    assert page.locator(".figure").count() == 3
    page.click("text=Choose a protection →")
    page.click(f"a:text-is('{method}')")
    page.wait_for_url(f"**method={method.replace(' ', '_')}")
    page.fill("#p-k", k)
    page.keyboard.press("Tab")  # the form sends itself
    page.wait_for_selector("#result .promise")
    assert f"at least {k}" in page.inner_text("#result")
    assert "try=" in page.url
    page.click("text=Attack it")
    page.wait_for_selector("#attacks table", state="attached")
    page.wait_for_selector("text=Decide about this one")
    page.click("a:has-text('Compare')")
    page.fill("#most", "20")
    page.click("button:text-is('Compare')")
    page.wait_for_selector("circle.point", state="attached")
    assert page.locator("line.limit").count() == 1
    page.click("text=Decide about 1")
    tmp_path.mkdir(exist_ok=True)
    folder = tmp_path / "decision"
    page.fill("#purpose", f"Research {SCRIPT}")
    page.fill("#folder", str(folder))
    page.click("text=Write the folder")
    page.wait_for_selector("text=Read the report")
    page.click("text=Read the report")
    assert "at least" in page.inner_text("body")
    page.go_back()
    page.click("nav >> text=Verify")
    page.fill("#out", str(folder / "release.tsv"))
    page.click("text=Check it")
    page.wait_for_selector(".verdict .badge.kept")
    return folder


def test_every_step_on_the_made_up_log(page, studio, tmp_path):
    page.goto(f"{studio.address}open")
    page.fill("#users", "50")
    page.click("text=Make it")
    folder = _walk(page, tmp_path)
    assert (folder / "release.tsv.json").is_file()


def test_a_slider_that_does_nothing_is_hidden(page, studio):
    page.goto(f"{studio.address}open")
    page.fill("#users", "52")
    page.click("text=Make it")
    page.wait_for_selector("text=Columns")
    page.click("text=How exposed")
    page.wait_for_selector(".three")
    page.click("text=Choose a protection →")
    page.wait_for_selector("h2:text-is('suppress rare')")
    page.click("text=More settings")
    assert not page.is_visible("#p-link_queries")
    page.select_option("#p-users", "mini")
    assert page.is_visible("#p-link_queries")
    page.select_option("#p-users", "day")
    assert not page.is_visible("#p-link_queries")


def test_axe_finds_nothing(chromium, studio, tmp_path, axe):
    """On every kind of page, in light and in dark."""
    for scheme in ("light", "dark"):
        context = chromium.new_context(color_scheme=scheme)
        context.set_default_timeout(120_000)
        page = context.new_page()
        page.goto(f"{studio.address}open")
        page.fill("#users", "54" if scheme == "light" else "55")
        page.click("text=Make it")
        page.wait_for_selector("text=Columns")
        log = page.url.rpartition("/")[2]
        _walk(page, tmp_path / scheme)
        seen = [page.url, *(f"{studio.address}log/{log}{step}" for step in ("", "/risk", "/compare", "/decide"))]
        page.goto(f"{studio.address}log/{log}/compare")
        seen.append(page.locator("input[name=t]").first.evaluate(
            f"box => '{studio.address}log/{log}/choose?try=' + box.value"))  # fmt: skip
        for address in (*seen, f"{studio.address}open", f"{studio.address}verify", f"{studio.address}nothing"):
            page.goto(address)
            page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
            # Not as a script of the page, which its policy forbids: as the browser's own tools would.
            found = page.evaluate(f"async () => {{ {axe}; return (await window.axe.run(document)).violations }}")
            shown = [(each["id"], [node["html"][:150] for node in each["nodes"][:3]]) for each in found]
            assert shown == [], address
        context.close()


def test_every_step_on_a_file_like_aols(page, studio, tmp_path, logs):
    _open(page, studio, logs / "aol.tsv")
    assert "Read as aol" in page.inner_text(".lead") or page.wait_for_selector("text=Read as aol")
    _walk(page, tmp_path)


def test_every_step_on_an_access_log(page, studio, tmp_path, logs):
    _open(page, studio, logs / "access.log")
    page.wait_for_selector("text=Read as clf")
    _walk(page, tmp_path)


def test_every_step_on_a_table_of_which_one_column_was_named_by_menu(page, studio, tmp_path):
    rows = [f"{n % 12},{('blauer Schal', 'Mütze', f'nur {n}')[n % 3]},{1 + n % 3}" for n in range(180)]
    (tmp_path / "shop.csv").write_text("Wer,Suchbegriff,Position\n" + "\n".join(rows) + "\n")
    _open(page, studio, tmp_path / "shop.csv")
    page.wait_for_selector("text=Columns were guessed")
    page.reload()  # the note may come before the menus, while the page still fills itself
    assert page.input_value("#column-query") == "Suchbegriff"
    page.select_option("#column-user", "Wer")
    page.click("text=Read again")
    page.wait_for_selector("dt:text-is('Users') + dd:text-is('12')")
    _walk(page, tmp_path / "walk")


def test_a_broken_file_and_a_script_in_a_query(page, studio, logs):
    _open(page, studio, logs / "broken.tsv")
    page.wait_for_selector("text=that did not work")
    assert "canary" not in page.content()
    _open(page, studio, logs / "own.csv")
    page.wait_for_selector("text=Columns")
    assert "teapot" not in page.content()
    page.click("text=Show the values")
    page.wait_for_selector("text=blue teapot")
    assert page.locator("td:has-text('onerror=alert')").count() >= 1, "as text"
    page.click("text=Hide the values")
    page.wait_for_selector("text=Show the values")
    assert "teapot" not in page.content()


def test_dropping_a_file_with_a_script_in_its_name(page, studio, logs):
    page.goto(f"{studio.address}open")
    page.set_input_files("#files", {"name": f"..{SCRIPT}.tsv", "mimeType": "text/plain",
                                    "buffer": (logs / "aol.tsv").read_bytes()})  # fmt: skip
    page.click("text=Open the file")
    page.wait_for_selector("text=Columns")
    assert page.locator("main img").count() == 0


def test_stopping_reloading_and_two_tabs(page, chromium, studio):
    page.goto(f"{studio.address}open")
    page.fill("#users", "2000")
    page.click("text=Make it")
    page.wait_for_selector("text=Columns")
    page.click("text=How exposed")
    page.wait_for_selector("progress")
    address = page.url
    other = chromium.new_context().new_page()
    other.goto(address)
    other.wait_for_selector("progress, .three")
    page.reload()
    page.wait_for_selector("progress, .three")
    if page.locator("progress").count():
        page.click("text=Stop")
        page.wait_for_selector("text=stopped")
        other.wait_for_selector("text=stopped")
    other.context.close()
    page.go_back()
    page.wait_for_load_state()
    assert page.locator("h1").count() == 1


def test_what_goes_wrong_with_a_form_is_told(chromium, studio):
    """A form that is sent without leaving the page: the server is gone, or says why it does not do that."""
    page = chromium.new_context().new_page()
    page.set_default_timeout(120_000)
    page.goto(f"{studio.address}open")
    page.fill("#users", "56")
    page.click("text=Make it")
    page.wait_for_selector("text=Columns")
    page.goto(f"{page.url}/choose")
    page.route("**/try", lambda asked: asked.abort())
    page.click("text=Try it")
    page.wait_for_selector("text=The studio does not answer")
    page.unroute("**/try")
    page.evaluate("document.querySelector('form[data-live] [name=token]').value = 'x'")
    page.click("text=Try it")
    page.wait_for_selector("text=This form is not from a page of this studio")
    page.context.close()


def test_by_keyboard_alone(page, studio):
    page.goto(f"{studio.address}open")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "users":
            break
    page.keyboard.press("Control+A")
    page.keyboard.type("52")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Columns")
    assert "users=52" in page.content()


@pytest.mark.parametrize("width", [360, 800, 1600])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_the_screen(chromium, studio, width, scheme):
    context = chromium.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    context.set_default_timeout(120_000)
    page = context.new_page()
    paths = ["open", "verify", "log/1", "log/1/risk", "log/1/choose", "log/1/compare", "log/1/decide"]
    for path in paths:
        page.goto(studio.address + path)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
    context.close()


def test_pages_can_be_read_without_scripts(chromium, studio):
    context = chromium.new_context(java_script_enabled=False)
    context.set_default_timeout(120_000)
    page = context.new_page()
    page.goto(f"{studio.address}open")
    page.fill("#users", "53")
    page.click("text=Make it")
    for _ in range(100):
        if page.locator("text=Columns").count():
            break
        time.sleep(0.3)
        page.reload()
    assert page.locator(".facts").count() == 1
    context.close()


# --- under attack ------------------------------------------------------------------------------------


def test_another_page_cannot_reach_it(chromium, studio, tmp_path):
    """A page of somebody else, who even knows the address: no form, no frame and no script of it works."""
    evil = tmp_path / "evil.html"
    to = studio.address
    evil.write_text(
        f"""<!doctype html><form id=f method=post action="{to}close"><input name=token value=x></form>
        <iframe name=frame src="{to}open"></iframe>
        <script>window.got = []; fetch("{to}open", {{credentials: "include"}})
        .then(r => r.text()).then(t => got.push(t), e => got.push("refused"));</script>"""
    )
    context = chromium.new_context()
    page = context.new_page()
    page.goto(evil.as_uri())
    page.wait_for_function("window.got.length > 0")
    assert page.evaluate("window.got") == ["refused"]
    frame = page.frame(name="frame")
    assert frame is None or "Open a log" not in frame.content()
    page.evaluate("document.getElementById('f').submit()")
    page.wait_for_selector("text=This address answers the browser of its owner only")
    assert httpx.get(f"{studio.address}open").status_code == 200, "it is still there"
    context.close()


def test_rebinding_and_traversal(studio):
    port = studio.origin.rpartition(":")[2]
    assert httpx.get(f"{studio.address}open", headers={"host": f"evil.example:{port}"}).status_code == 403
    for path in (
        "static/../../pages.py",
        "static/%2e%2e/pages.py",
        "static/..%2f..%2fpages.py",
        "..%2f..%2fetc/passwd",
    ):
        answer = httpx.get(studio.address + path)
        assert answer.status_code in (403, 404)
        assert "import" not in answer.text
    assert httpx.get(f"{studio.origin}/").status_code == 403


def test_fifty_at_once(studio):
    """All of them are answered, with the page that they asked for."""

    def ask(number):
        path = ("open", "verify", "log/1", "static/studio.js", "log/1/choose")[number % 5]
        return httpx.get(studio.address + path, timeout=60).status_code

    with ThreadPoolExecutor(50) as pool:
        assert set(pool.map(ask, range(200))) == {200}


def test_nothing_is_left_when_it_is_closed_or_killed(tmp_path, logs):
    import os
    import signal
    import tempfile
    from pathlib import Path

    from coterie.core.files import Scratch

    def left(pid):
        return list(Path(tempfile.gettempdir()).glob(f"coterie-{pid}-*"))

    closed = start(logs / "aol.tsv", cwd=tmp_path)
    assert httpx.get(f"{closed.address}open").status_code == 200
    assert left(closed.process.pid)
    assert end(closed) == 0
    assert not left(closed.process.pid)
    killed = start(logs / "aol.tsv", cwd=tmp_path)
    assert httpx.get(f"{killed.address}open").status_code == 200
    workers = _children(killed.process.pid)
    assert end(killed, signal.SIGKILL) == -signal.SIGKILL
    for _ in range(200):
        if not [pid for pid in workers if os.path.exists(f"/proc/{pid}")]:  # noqa: PTH110
            break
        time.sleep(0.1)
    assert not [pid for pid in workers if os.path.exists(f"/proc/{pid}")], "its worker ends with it"  # noqa: PTH110
    Scratch().remove()  # whoever comes next sweeps
    assert not left(killed.process.pid)


def _children(pid):
    from pathlib import Path

    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            stat = path.read_text()
        except OSError:
            continue
        if int(stat.rpartition(")")[2].split()[1]) == pid:
            found.append(int(re.match(r"\d+", stat)[0]))
    return found
