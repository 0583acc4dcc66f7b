"""Every step, with plain forms: what a page shows, what it must not show, and what happens to bad input.

Covers: apps/studio/pages.py, apps/studio/tasks.py, apps/studio/figures.py, apps/studio/server.py,
apps/studio/worker.py, apps/studio/plain.py
"""

import errno
import io
import json
import re
import socket
import subprocess
import sys
import tomllib
from html import unescape
from pathlib import Path

import pytest

from coterie import taxonomies
from coterie.apps.studio import decisions, fields, pages, picture, plain, server, tasks, worker
from coterie.core import registry
from coterie.errors import InputError
from coterie.measures import attacks
from coterie.taxonomies.build import build
from tests.helpers.studios import studio

CANARIES = ("zebra canary", "anna.canary@mail.example", "canary.example")
SCRIPT = "<script>alert(1)</script>"


def repr_short(text):
    return repr(text)[:20]


@pytest.fixture(scope="module")
def canaries(tmp_path_factory):
    """A hand-made log with canaries, a script in a query, and a line that cannot be read."""
    path = tmp_path_factory.mktemp("canaries") / "<img src=x onerror=alert(1)>.csv"
    rows = [
        f"{user},2020-02-0{1 + user % 9} 09:00:00,{query},,"
        for user in range(12)
        for query in ("blue teapot", "red kettle", SCRIPT, f"{CANARIES[0]} {user}", CANARIES[1])
    ]
    rows.append(f"7,2020-02-03 09:00:00,shop,1,http://{CANARIES[2]}/a")
    path.write_text("\n".join(["user,time,query,rank,url", *rows, "8,not a time,shop,1,"]) + "\n")
    return path


# --- open --------------------------------------------------------------------------------------------


def test_a_named_log(browser, opened, log_file):
    page = unescape(browser.get(f"/log/{opened}").text)
    assert "Read as <strong>aol</strong>" in page
    assert f"coterie inspect {log_file}" in page
    assert "Lines not readable" in page


def test_the_same_log_is_opened_once(browser, opened, log_file):
    assert browser.open(log_file) == opened


def test_a_made_up_log(browser):
    page = browser.follow(browser.post("/open", {"how": "synthetic", "users": "20"})).text
    assert "made up" in page
    assert "coterie inspect synth:users=20,seed=7" in page


def test_a_dropped_log_is_copied_and_called_by_its_name(browser, log_file):
    dropped = {"files": ("../../etc/my log.tsv", log_file.read_bytes())}
    page = browser.follow(browser.post("/open", {"how": "drop"}, files=dropped)).text
    assert "my log.tsv" in page
    # Nothing stands before the name but the tag, quote or space that it begins after; tokens may hold any letters.
    assert set(re.findall(r"([^\s>\"']*)my log\.tsv", unescape(page))) == {""}
    assert "Read as <strong>aol</strong>" in page
    source = list(browser.desk.logs.values())[-1].source
    assert browser.running.scratch.path in Path(source.paths[0]).parents
    assert not source.kept


@pytest.mark.parametrize(
    ("form", "says"),
    [
        ({"how": "name", "path": ""}, "Type where the log is"),
        ({"how": "name", "path": "-"}, "Name a file"),
        ({"how": "synthetic", "users": "1"}, "whole number from 2"),
        ({"how": "synthetic", "users": "many"}, "whole number from 2"),
        ({"how": "synthetic", "users": "9", "kind": "topics,users=9"}, "no such kind"),
        ({"how": "name", "path": "x", "columns": "user"}, "our name first"),
        ({"how": "drop"}, "No file came"),
        ({}, "Name a file, drop one"),
    ],
)
def test_bad_forms_are_answered_in_a_sentence(browser, form, says):
    answer = browser.post("/open", form)
    assert answer.status_code == 400
    assert says in unescape(answer.text)


@pytest.mark.parametrize("path", ["/no/such/file", "/etc/*.nothing", "\x00", "x" * 5000, "/dev/null"], ids=repr_short)
def test_a_log_that_is_not_there(browser, path):
    page = browser.follow(browser.post("/open", {"how": "name", "path": path}))
    assert page.status_code == 200
    assert "that did not work" in page.text
    assert "Read it in another way" in page.text


def test_a_broken_file_says_what_is_wrong_and_no_value(browser, tmp_path):
    path = tmp_path / "broken.tsv"
    path.write_text("zebra canary\tsecret words\n\x01\x02\n")
    number = browser.open(path)
    page = browser.get(f"/log/{number}").text
    assert "that did not work" in page
    assert "canary" not in page
    assert "secret words" not in page
    shown = browser.follow(browser.post(f"/log/{number}/show", {"what": "names"})).text
    assert "secret words" in shown, "the owner asked"
    assert "secret words" not in browser.follow(browser.post(f"/log/{number}/hide")).text


def test_columns_are_mapped_by_menus(browser, tmp_path):
    path = tmp_path / "own.csv"
    path.write_text("cookie,q\n" + "".join(f"{i % 6},blue teapot\n" for i in range(30)))
    first = browser.open(path, columns="user=cookie,query=q")
    page = unescape(browser.get(f"/log/{first}").text)
    assert 'name="column.user"' in page
    assert "--columns user=cookie,query=q" in page
    second = browser.follow(
        browser.post(f"/log/{first}/again", {"column.user": "cookie", "column.query": "q", "prepare": "none"})
    ).text
    assert "--prepare none" in second
    assert "<dt>Rows</dt><dd>30</dd>" in second
    assert "<dt>Users</dt><dd>6</dd>" in second


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A table of which only the query can be guessed."""
    path = tmp_path_factory.mktemp("shop") / "shop.csv"
    rows = [f"{n % 6},{1 + n % 9}.10.2025 09:05,{('blauer Schal', 'Mütze')[n % 2]}" for n in range(36)]
    path.write_text("Wer,Wann,Suchbegriff\n" + "\n".join(rows) + "\n")
    return path


def _chosen(page):
    """The column that each menu shows."""
    menus = re.findall(r'<select id="column-(\w+)".*?>(.*?)</select>', page, re.S)
    return {name: re.findall(r"<option[^>]* selected>([^<]*)", options) for name, options in menus}


def test_rows_that_were_left_out_are_told(browser, tmp_path):
    path = tmp_path / "log.tsv"
    path.write_text("user\tquery\n" + "".join(f"{n % 6}\ttea\n" for n in range(30)) + "1\t-\n2\t\n")
    page = browser.get(f"/log/{browser.open(path)}").text
    assert "<dt>Rows</dt><dd>30 <small>of the 32 read; the prepare steps left out 2</small></dd>" in page


def test_menus_show_what_was_guessed(browser, shop):
    first = browser.open(shop)
    page = browser.get(f"/log/{first}").text
    assert _chosen(page) == {"user": [], "time": [], "query": ["Suchbegriff"], "rank": [], "url": []}


def test_a_folder_is_written_after_one_column_was_named(browser, shop, tmp_path):
    """The rest stays guessed, as it is for who names columns by themselves, and what the page says can be typed."""
    log = browser.open(shop, columns="user=Wer,time=Wann")
    assert _chosen(browser.get(f"/log/{log}").text)["query"] == ["Suchbegriff"]
    attempt = browser.attempt(log, "suppress_rare", k="2")
    folder = tmp_path / "decision"
    where = browser.done(browser.post(f"/try/{attempt}/decide", {"folder": str(folder), "kind": "tsv", "record": "on"}))
    decision = browser.desk.decisions[int(where.rpartition("/")[2])]
    assert decision.written is not None, decision.job.error
    assert (folder / "release.tsv").is_file()


def test_bad_lines_are_counted_and_values_are_masked(browser, canaries):
    number = browser.open(canaries, allow_bad="on")
    page = browser.get(f"/log/{number}").text
    assert re.search(r"Lines not readable</dt><dd>1 ", page)
    assert "aaaa aaaaaa" in page
    assert not [each for each in ("teapot", *CANARIES) if each in page]
    shown = browser.follow(browser.post(f"/log/{number}/show", {"what": "rows"})).text
    assert "blue teapot" in shown
    assert SCRIPT not in shown
    assert "&lt;script&gt;alert(1)" in shown
    hidden = browser.follow(browser.post(f"/log/{number}/hide")).text
    assert "teapot" not in hidden


def test_a_script_in_the_name_of_a_file_is_text(browser, canaries):
    number = browser.open(canaries, allow_bad="on")
    for page in (browser.get(f"/log/{number}").text, browser.get("/open").text):
        assert "<img" not in page
        assert "&lt;img src=x onerror=alert(1)&gt;.csv" in page


# --- risk --------------------------------------------------------------------------------------------


def test_risk_has_three_numbers_and_personal_data(browser, canaries):
    number = browser.open(canaries, allow_bad="on")
    before = browser.get(f"/log/{number}/risk").text
    assert "Find out" in before
    page = browser.follow(browser.post(f"/log/{number}/risk")).text
    for risk in ("Singling out", "Linkability", "Inference"):
        assert f"<h2>{risk}</h2>" in page
    assert len(re.findall(r'<p class="figure">', page)) == 3
    assert re.search(r"Email</th><td class=\"n\">12<", page)
    assert not [each for each in ("teapot", *CANARIES) if each in page]


def test_of_a_large_log_some_people_are_attacked_and_the_page_says_so(browser, opened, monkeypatch):
    monkeypatch.setattr(attacks, "MANY", 20)
    monkeypatch.setattr(attacks, "SOME", 10)
    log = browser.desk.logs[opened]
    some = tasks.risk(tasks.Bench(browser.desk.folder), lambda *_: None, log.source)
    assert (some.people, some.some) == (20, 10)
    assert all(number.number is not None for number in some.numbers if number.risk != "linkability")
    former, log.risk = log.risk, some
    page = browser.get(f"/log/{opened}/risk").text
    assert "20 of 60 users, drawn at random" in page
    assert "that take long were tried on 10 of 60 users" in page
    log.risk = former


# --- choose ------------------------------------------------------------------------------------------


def test_methods_are_those_of_the_registry(browser, opened):
    page = browser.get(f"/log/{opened}/choose").text
    offered = re.findall(r"choose\?method=(\w+)", page)
    shape = browser.desk.logs[opened].opened.shape
    from coterie.core.shapes import SHAPES

    assert sorted(set(offered)) == [name for name in registry.methods_for(SHAPES[shape]) if name != "unprotected"]


def _hidden(page):
    return re.findall(r'<div class="field[^>]* hidden>\s*<label for="p-(\w+)">', page)


def test_a_choice_begins_with_what_is_stable_and_shows_what_does_something(browser, opened):
    page = browser.get(f"/log/{opened}/choose").text
    assert "<h2>suppress rare</h2>" in page
    assert _hidden(page) == ["link_queries", "link_minutes"]
    tried = browser.attempt(opened, "suppress_rare", k="3", users="mini")
    assert _hidden(browser.get(f"/log/{opened}/choose?try={tried}").text) == []


def test_a_release_is_tried_once(browser, opened):
    first = browser.attempt(opened, "suppress_rare", k="3")
    page = unescape(browser.get(f"/log/{opened}/choose?try={first}").text)
    assert "at least 3 different users" in page
    assert "coterie anonymize suppress_rare" in page
    assert "--k 3" in page
    assert browser.attempt(opened, "suppress_rare", k="3") == first
    assert browser.attempt(opened, "suppress_rare", k="4") != first
    assert set(tasks.quick_measures()).isdisjoint(tasks.attacking_measures())
    assert "composition" not in tasks.attacking_measures(), "there is no second release"


@pytest.mark.parametrize("k", ["1", "none", "1000000", "5 users"])
def test_a_method_that_refuses_says_why(browser, opened, k):
    attempt = browser.attempt(opened, "suppress_rare", k=k)
    page = browser.get(f"/log/{opened}/choose?try={attempt}").text
    assert "that did not work" in page
    assert re.search("whole number|needs at least", page)


def test_attacks_come_after_a_click_and_random_groups_are_grey(browser, opened):
    attempt = browser.attempt(opened, "microaggregate", k="4", publish="queries")
    before = browser.get(f"/log/{opened}/choose?try={attempt}").text
    assert "Attack it" in before
    assert "What an attacker learns" not in before
    page = browser.follow(browser.post(f"/try/{attempt}/attack")).text
    assert "What an attacker learns" in page
    assert '<th scope="col" class="n grey">Random groups</th>' in page
    shown = browser.desk.attempts[attempt].attacked.figures
    assert any(each.random_number is not None for each in shown)


def test_an_unknown_method_is_refused(browser, opened):
    for method in ("../../etc", "unprotected", "generalize_visits"):
        answer = browser.post(f"/log/{opened}/try", {"method": method})
        assert answer.status_code == 400, method
        assert "QUERIES" not in answer.text


# --- compare, decide, verify -------------------------------------------------------------------------


def test_compare_draws_up_to_four_and_thresholds(browser, opened):
    numbers = [browser.attempt(opened, "suppress_rare", k=str(k)) for k in (3, 4, 5, 6, 7)]
    asked = "&".join(f"t={number}" for number in numbers)
    page = browser.get(f"/log/{opened}/compare?{asked}&most=15&least=20").text
    assert len(re.findall(r'class="point', page)) == 4
    assert len(re.findall(r'<line class="limit"', page)) == 2
    assert "Only the first 4 are shown" in page
    assert 'role="img"' in page
    assert "The numbers behind this picture" in page
    assert browser.get(f"/log/{opened}/compare?t=x&x=nonsense&most=nan&least=%3Cscript%3E").status_code == 200


def test_compare_and_decide_without_releases(browser):
    number = int(browser.done(browser.post("/open", {"how": "synthetic", "users": "21"})).rpartition("/")[2])
    for step in ("compare", "decide"):
        assert "Nothing was tried yet" in browser.get(f"/log/{number}/{step}").text


def test_a_decision_is_a_folder_that_verifies(browser, opened, log_file, tmp_path):
    attempt = browser.attempt(opened, "suppress_rare", k="3")
    folder = tmp_path / "decision"
    form = {
        "folder": str(folder), "kind": "tsv", "purpose": f"Research {SCRIPT}", "recipient": "A lab", "reviewer": "B",
        "conditions": "None", "reason": "Enough", "next_review": "2030-01-31",
        "threshold.inference": "5",
    }  # fmt: skip
    where = browser.done(browser.post(f"/try/{attempt}/decide", form))
    page = browser.get(where).text
    assert "Read the report" in page, browser.desk.decisions[int(where.rpartition("/")[2])].job.error
    there = {path.name for path in folder.iterdir()}
    assert there >= {"release.tsv", "release.tsv.json", "report.html", "about.toml", "settings.toml", "commands.txt"}
    assert "private-record" not in there, "nobody asked for it"
    done = subprocess.run(
        [sys.executable, "-m", "coterie", "verify", str(folder / "release.tsv"), "--original", str(log_file)],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    report = browser.get(f"{where}/report")
    assert "sandbox" in report.headers["content-security-policy"]
    assert SCRIPT not in report.text
    about = tomllib.loads((folder / "about.toml").read_text())
    assert (about["recipient"], about["thresholds"]) == ("A lab", {"inference": 5.0})
    assert "A lab" in report.text
    assert "2030-01-31" in report.text
    again = browser.post(f"/try/{attempt}/decide", form)
    assert "there already" in browser.follow(again).text, "nothing is replaced"
    assert "Research" in browser.get(f"/log/{opened}/decide?try={attempt}").text, "what was typed is still there"
    checked = browser.follow(
        browser.post("/verify", {"out": str(folder / "release.tsv"), "original": str(opened)})
    ).text
    assert "Kept" in checked
    assert f"coterie verify {folder}/release.tsv" in checked


@pytest.mark.parametrize(
    ("form", "says"),
    [
        ({"kind": "tsv", "folder": ""}, "Say where to write"),
        ({"kind": "tsv", "folder": "~nosuchuser/x"}, "no user of the name"),
        ({"kind": "exe", "folder": "x"}, "A release is written as"),
        ({"kind": "tsv", "folder": "x", "threshold.inference": "many"}, "percentage from 0 to 100"),
    ],
)
def test_bad_decisions(browser, opened, form, says):
    attempt = browser.attempt(opened, "suppress_rare", k="3")
    answer = browser.post(f"/try/{attempt}/decide", form)
    assert answer.status_code == 400
    assert says in answer.text


def test_a_folder_that_cannot_be(browser, opened, log_file):
    attempt = browser.attempt(opened, "suppress_rare", k="3")
    for folder in ("/no/such/place/here", str(log_file), f"{log_file.parent}/nothing\0here"):
        page = browser.follow(browser.post(f"/try/{attempt}/decide", {"kind": "tsv", "folder": folder})).text
        assert "that did not work" in page


def test_a_forged_release_is_broken_and_one_of_others_is_judged(browser, opened, log_file, tmp_path):
    path = tmp_path / "others.csv"
    path.write_text("user,time,query,rank,url\n,,only one person typed this,,\n")
    form = {"original": str(opened), "promise": "query_k_anonymity", "k": "3"}
    page = browser.follow(browser.post("/verify", form, files={"files": ("others.csv", path.read_bytes())})).text
    assert "Broken" in page
    assert "must not be shared" in page
    assert "only one person typed this" not in page
    without = browser.follow(browser.post("/verify", files={"files": ("others.csv", path.read_bytes())})).text
    assert "no sidecar that says what is promised" in without
    assert browser.post("/verify", {}).status_code == 400
    assert browser.post("/verify", {"out": "x", "k": "-1"}).status_code == 400


def test_a_release_of_a_long_name_keeps_its_sidecar(browser, opened, tmp_path):
    attempt = browser.attempt(opened, "suppress_rare", k="3")
    tried = browser.desk.folder / "tried" / f"{attempt}.parquet"
    name = f"{'x' * 76}ease.parquet"
    files = [(name, tried.read_bytes()), (f"{name}.json", Path(f"{tried}.json").read_bytes())]
    page = browser.follow(browser.post("/verify", {"original": str(opened)}, files=[("files", each) for each in files]))
    assert "All " in page.text
    assert "is-kept" in page.text


def test_too_many_files_and_a_full_disk_are_told(browser, monkeypatch):
    many = [("files", (f"{i}.tsv", b"x")) for i in range(60)]
    answer = browser.post("/open", {"how": "drop"}, files=many)
    assert answer.status_code == 400
    assert "At most 50 files" in answer.text

    def full(_files):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(browser.desk, "keep", full)
    answer = browser.post("/open", {"how": "drop"}, files={"files": ("a.tsv", b"x")})
    assert answer.status_code == 507
    assert "The disk is full" in answer.text


def test_what_is_dropped_is_private(browser):
    browser.desk.keep([("a.tsv", io.BytesIO(b"1"))])
    for path in (browser.desk.folder / "dropped").rglob("*"):
        assert path.stat().st_mode & 0o077 == 0
    assert (browser.desk.folder / "dropped").stat().st_mode & 0o077 == 0


# --- the rest ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    ["/log/999", "/log/999/risk", "/log/999/choose", "/decision/9", "/decision/9/report", "/verify/9", "/job/9999",
     "/nothing", "/static/../app.py", "/static/%2e%2e/app.py", "/static/app.py", "/log/-1", "/log/1e3", "/log/x"],
)  # fmt: skip
def test_nothing_there(browser, path):
    answer = browser.get(path)
    assert answer.status_code == 404
    assert "class Studio" not in answer.text


def test_a_job_as_numbers_and_stopping_one_that_is_over(browser, opened):
    job = browser.desk.logs[opened].job
    said = json.loads(browser.get(f"/job/{job.id}").text)
    assert said["state"] == "done"
    assert browser.post(f"/job/{job.id}/stop", {"back": "//evil.example"}).headers["location"].endswith("/")
    assert job.state == "done"


def test_what_a_worker_says_is_text():
    page = pages.page(
        "message", base="/x", step="", log=None, token="t", before=len, upload=1, heading=SCRIPT, says=SCRIPT
    )
    assert SCRIPT not in page
    assert page.count("&lt;script&gt;") == 3


def test_labels_of_a_taxonomy_are_text(browser, tmp_path):
    """A tree of somebody else's with scripts for labels, in a release that is tried, decided, reported and verified."""
    tree = tmp_path / "<script>tree.npz"
    paths = ["kitchen", f"kitchen|{SCRIPT}", *(f"kitchen|{SCRIPT}|{word}" for word in ("teapot", "kettle"))]
    (tmp_path / "tree.tsv").write_text("".join(f"{path}\n" for path in paths))
    taxonomies.write(build([tmp_path / "tree.tsv"], name="tree", separator="|").tree, tree)
    log = tmp_path / "log.csv"
    log.write_text("user,query\n" + "".join(f"{i},{('teapot', 'kettle')[i % 2]}\n" for i in range(12)))
    opened = browser.open(log, columns="user=user,query=query", prepare="none")
    attempt = browser.attempt(opened, "generalize", taxonomy=str(tree), k="8")
    folder = tmp_path / "decision"
    where = browser.done(browser.post(f"/try/{attempt}/decide", {"folder": str(folder), "kind": "tsv"}))
    assert SCRIPT in (folder / "release.tsv").read_text(), "it must be there, or nothing is tested"
    assert SCRIPT not in (folder / "report.html").read_text()
    checked = browser.done(browser.post("/verify", {"out": str(folder / "release.tsv"), "original": str(opened)}))
    seen = [where, f"{where}/report", checked, *(f"/log/{opened}/{step}" for step in ("choose", "compare", "decide"))]
    for page in (browser.get(path).text for path in seen):
        assert "<script>tree" not in page
        assert SCRIPT not in page


def test_every_page_can_be_read_by_a_parser_and_has_labels(browser, opened):
    from html.parser import HTMLParser

    class Labels(HTMLParser):
        def __init__(self):
            super().__init__()
            self.inputs, self.labelled = [], set()

        def handle_starttag(self, tag, attributes):
            said = dict(attributes)
            if tag in ("input", "select", "textarea") and said.get("type") not in ("hidden", "checkbox"):
                self.inputs.append(said.get("id") if "aria-label" not in said else None)
            if tag == "label" and "for" in said:
                self.labelled.add(said["for"])

    for path in ("/open", f"/log/{opened}", f"/log/{opened}/choose", f"/log/{opened}/compare", "/verify"):
        labels = Labels()
        labels.feed(browser.get(path).text)
        assert {each for each in labels.inputs if each is not None} <= labels.labelled, path


def test_numbers_in_words():
    assert pages.shown(1234567, "") == "1,234,567"
    assert pages.share(1, 3000) == "<0.1%"
    assert pages.share(1, 0) == "–"
    assert [pages.duration(s) for s in (0.2, 80, 100, 6000)] == ["1 s", "80 s", "2 min", "1.7 h"]


def test_closing_removes_everything(log_file):
    with studio() as browser:
        number = browser.open(log_file)
        browser.attempt(number, "suppress_rare", k="3")
        folder = browser.running.scratch.path
        assert list((folder / "tried").iterdir())
        assert "closed" in browser.post("/close").text
    assert not folder.exists()


def test_parts_that_pages_rest_on():
    assert fields.percent_in("nan") is None
    assert fields.percent_in("12.5") == 12.5
    assert fields.number_in("٣") == 0
    assert picture.axes([], ("utility",)) == []
    assert plain.Source(paths=("a",)).key != plain.Source(paths=("a",), prepare="none").key
    assert worker.sentence_of(MemoryError()).startswith("There was not enough memory")
    assert "secret" not in worker.sentence_of(ValueError("secret"))
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(InputError, match="cannot be used"):
        server.prepare(port=taken.getsockname()[1])


def test_a_page_on_paper(tmp_path, monkeypatch):
    page, paper = tmp_path / "page.html", tmp_path / "page.pdf"
    page.write_text("<h1>To sign</h1>")
    monkeypatch.setattr(decisions.shutil, "which", lambda _name: None)
    assert decisions.printed(page, paper) == "no browser"
    broken = tmp_path / "chromium"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(decisions.shutil, "which", lambda _name: str(broken))
    assert decisions.printed(page, paper) == "failed"
    assert not paper.exists()


@pytest.mark.parametrize("long", [False, True])
def test_a_browser_that_prints_has_a_short_place_for_its_sockets(tmp_path, monkeypatch, long):
    folder = tmp_path / ("x" * 120 if long else "")
    folder.mkdir(exist_ok=True)
    page, paper, prints = tmp_path / "page.html", tmp_path / "page.pdf", tmp_path / "chromium"
    prints.write_text(
        """#!/bin/sh
        [ "${#TMPDIR}" -le 60 ] || exit 1
        for each; do case "$each" in --print-to-pdf=*) echo %PDF > "${each#--print-to-pdf=}";; esac; done
        """
    )
    prints.chmod(0o755)
    monkeypatch.setattr(decisions.shutil, "which", lambda _name: str(prints))
    monkeypatch.setattr(decisions.tempfile, "tempdir", str(folder) if long else "/tmp")  # noqa: S108 (short)
    assert decisions.printed(page, paper) == "printed"
