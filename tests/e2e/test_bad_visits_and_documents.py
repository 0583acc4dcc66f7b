"""Odd access logs and documents on the command line: released and verified, or refused with a sentence and no file."""

import pytest

METHODS = ("generalize_visits", "common_visits", "count_visits", "microaggregate_visits")
AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:120.0) Gecko/20100101 Firefox/120.0"
PAGES = ("GET /a HTTP/1.1", "GET /b/c HTTP/1.1", "GET /b/d HTTP/1.1")
GARBAGE = ("-", "", r"\x16\x03\x01\x02\x00\x01\xfc\x03", "\x16\x03\x01\x02", "GET", "quit")


def _line(at, address="10.0.0.{}", request=None, rest=f' "-" "{AGENT}"'):
    request = PAGES[at % 3] if request is None else request
    return (
        f'{address.format(1 + at % 9)} - - [12/Mar/2026:{at % 24:02}:{at % 60:02}:00 +0000] "{request}" 200 {at}{rest}'
    )


LOGS = {
    "common format": ([_line(at, rest="") for at in range(90)], "no referrer and no agent"),
    "IPv6": ([_line(at, "2001:db8::{}") for at in range(90)], ""),
    "host names": ([_line(at, "pc{}.example.org") for at in range(90)], ""),
    "lists of proxies": (
        [_line(at, "10.0.0.{}, 192.168.1.1") for at in range(90)],
        "a list of addresses, of which the first was taken",
    ),
    "masked": ([_line(at, "10.0.{}.0") for at in range(90)], "an address that looks masked"),
    "garbage": (
        [_line(at, request=(*GARBAGE, *PAGES * 3)[at % 15]) for at in range(150)],
        "no words in place of a request",
    ),
}
REFUSED = {
    "nothing but garbage": ([_line(at, request=GARBAGE[at % 6]) for at in range(90)], "no rows left to anonymize"),
    "nobody": ([_line(at, "-", rest=' "-" "-"') for at in range(90)], "needs at least 3 visitors, and the log has 0"),
    "no lines of a log": (["hello world"] * 9, "none of the known formats fits"),
    "empty": ([], "is empty: there is no log to read"),
    "dashes": (['- - - [-] "-" - -'] * 9, "9 of 9 lines could not be read as clf"),
}


@pytest.fixture
def written(tmp_path):
    def write(lines):
        path = tmp_path / "access.log"
        path.write_text("".join(line + "\n" for line in lines), encoding="latin-1")
        return path

    return write


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", LOGS)
def test_an_odd_access_log(coterie, written, tmp_path, method, name):
    lines, told = LOGS[name]
    log, out, record = written(lines), tmp_path / "safe.tsv", tmp_path / "record"
    done = coterie("anonymize", method, log, "-o", out, "--k", 3, "--record", record)
    assert told in done.err.replace("\n  ", " ")
    assert "10.0.0" not in out.read_text()
    coterie("verify", out, "--original", log, "--record", record)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", REFUSED)
def test_an_access_log_that_is_none(coterie, written, tmp_path, method, name):
    lines, told = REFUSED[name]
    log = written(lines)
    done = coterie("anonymize", method, log, "-o", tmp_path / "safe.tsv", "--k", 3, "--record", tmp_path / "r", code=2)
    assert f"{told}" in " ".join(done.err.split())
    assert [path.name for path in tmp_path.iterdir()] == ["access.log"]


HOUSES = [f"The house number {at} and the garden, the river, a bridge and a boat." for at in range(7)]
FOREIGN = "Der Hund und die Katze schlafen im Garten hinter dem Haus, während es regnet und niemand ein Wort spricht."


def _folder(tmp_path, texts):
    folder = tmp_path / "texts"
    folder.mkdir()
    for at, text in enumerate(texts):
        (folder / f"{at}.txt").write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


@pytest.mark.parametrize(("texts", "told"), [
    ([], "is a folder, and no file in it is named as documents are"),
    (["", " \n"], "none of 2 documents has a word that is a noun of WordNet"),
    (HOUSES[:1], "needs at least 5 documents, and the log has 1"),
    ([bytes(range(256)) * 9] * 6, "6 of 6 documents could not be read as documents"),
    ([*HOUSES, b"\0\1\2" * 99], "1 of 8 documents could not be read"),
])  # fmt: skip
def test_documents_that_are_none(coterie, tmp_path, texts, told):
    folder, record = _folder(tmp_path, texts), tmp_path / "record"
    done = coterie(
        "anonymize", "microaggregate_documents", folder, "-o", tmp_path / "v.tsv", "--k", 5, "--record", record, code=2
    )
    assert told in " ".join(done.err.split())
    assert [path.name for path in tmp_path.iterdir()] == ["texts"]


@pytest.mark.parametrize(("more", "told"), [
    ("", "Documents without any noun of WordNet, which were left out: 1."),
    (FOREIGN, "so that their vectors say little: 1."),
    ("The garden of a caf\xe9.".encode("latin-1"), "read as Latin-1: 1."),
    (HOUSES[0], "Documents that have the same text as another one: 1."),
])  # fmt: skip
def test_odd_documents_are_counted(coterie, tmp_path, more, told):
    folder, out, record = _folder(tmp_path, [*HOUSES, more]), tmp_path / "v.tsv", tmp_path / "record"
    done = coterie("anonymize", "microaggregate_documents", folder, "-o", out, "--k", 5, "--record", record)
    assert told in " ".join(done.err.split())
    assert (tmp_path / "texts.history.json").is_file(), "the list of releases lies beside the folder"
    coterie("verify", out, "--original", folder, "--record", record)


def test_documents_that_cannot_be_read_are_left_out_where_that_is_allowed(coterie, tmp_path):
    folder, out, record = _folder(tmp_path, [*HOUSES, b"\0\1\2" * 99]), tmp_path / "v.tsv", tmp_path / "record"
    done = coterie(
        "anonymize", "microaggregate_documents", folder, "-o", out, "--k", 5, "--record", record, "--allow-bad"
    )
    assert "v.tsv: 7 documents with" in " ".join(done.err.split())
