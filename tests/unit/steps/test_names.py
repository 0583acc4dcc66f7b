"""The step names: full names by a list, counted, left out or written as one word.

Covers: text/full_names.py.
"""

import hashlib
import json
from datetime import datetime
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import coterie
from coterie.cli.main import run as run_cli
from coterie.core.shapes import VISITS
from coterie.errors import InputError, NotCheckableError, ParameterError
from coterie.methods.suppress_rare import SuppressRare
from coterie.steps import digested_text, public_text, with_file_in
from coterie.steps.names import Names
from coterie.text import full_names
from coterie.text.full_names import has_name, names_joined
from tests.helpers.hand_made import log_of

DAY = datetime(2020, 2, 3)
JOINED = {
    "john smith": "john_smith",
    "john f kennedy photos": "john_f_kennedy photos",
    "john f. kennedy": "john_f._kennedy",
    "call robert brown and mary jones": "call robert_brown and mary_jones",
    "mary john smith": "mary_john_smith",
    "smith john": "smith john",
    "john": "john",
    "john the smith": "john the smith",
    "red shoes": "red shoes",
    "": "",
}


def _census(kind):
    return frozenset(full_names._census(kind))


def _plain(text):
    """The rule, word by word."""
    words = text.split(" ")
    first, last = _census("first"), _census("last")

    def letter(word):
        return word.rstrip(".").isalpha() and len(word.rstrip(".")) == 1 and len(word) <= 2

    inside = set()
    for at in range(len(words)):
        if words[at] in first and at + 1 < len(words) and words[at + 1] in last:
            inside.add(at + 1)
        if words[at] in first and at + 2 < len(words) and letter(words[at + 1]) and words[at + 2] in last:
            inside |= {at + 1, at + 2}
    return words[0] + "".join(("_" if at in inside else " ") + words[at] for at in range(1, len(words)))


def test_names_become_one_word():
    texts = pl.Series("query", list(JOINED))
    assert names_joined(texts).to_list() == list(JOINED.values())
    assert has_name(texts).to_list() == ["_" in joined for joined in JOINED.values()]
    assert names_joined(pl.Series("query", [None, "john smith"])).to_list() == [None, "john_smith"]
    assert has_name(pl.Series("query", [None], dtype=pl.String)).to_list() == [False]


@given(st.lists(st.lists(st.sampled_from(["john", "mary", "smith", "f", "f.", "maps", ""]), min_size=1, max_size=6)))
def test_it_is_the_plain_rule(lists):
    texts = [" ".join(words) for words in lists]
    joined = names_joined(pl.Series("query", texts, dtype=pl.String)).to_list()
    assert joined == [_plain(text) for text in texts]


@pytest.fixture
def own(tmp_path):
    path = tmp_path / "staff.txt"
    path.write_text("Ada  Weber\nada weber junior\n\nZoë\n", encoding="utf-8")
    return str(path)


def test_a_list_of_ones_own(own):
    cases = {
        "ada weber": "ada_weber",
        "ada weber ada weber": "ada_weber ada_weber",
        "ada weber junior": "ada_weber_junior",
        "xada weber": "xada weber",
        "zoë maps": "zoë maps",
        "john smith": "john smith",
        "": "",
    }
    texts = pl.Series("query", list(cases))
    assert names_joined(texts, own).to_list() == list(cases.values())
    assert has_name(texts, own).to_list() == [True, True, True, False, True, False, False]


def test_lists_that_are_none(tmp_path):
    empty, binary = tmp_path / "empty.txt", tmp_path / "binary.txt"
    empty.write_text("\n \n")
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="has no name in it"):
        has_name(pl.Series(["x"]), str(empty))
    with pytest.raises(InputError, match="is not UTF-8"):
        has_name(pl.Series(["x"]), str(binary))
    with pytest.raises(ParameterError, match="'listed' parameter of names"):
        Names(listed="no such file")


TYPED = [{"user": "a", "query": query} for query in ("john smith", "john smith", "maps", "mary jones maps")]


@pytest.mark.parametrize(("found", "queries"), [
    ("drop", ["maps"]),
    ("join", ["john_smith", "john_smith", "maps", "mary_jones maps"]),
    ("count", ["john smith", "john smith", "maps", "mary jones maps"]),
])  # fmt: skip
def test_what_becomes_of_them(found, queries):
    log = Names(found=found)(log_of(TYPED))
    assert log.to_polars()["query"].sort().to_list() == queries
    step = log.history[-1]
    assert step.counts == {"queries": 2, "rows": 3}
    assert step.notes[0].startswith("names: 3 of 4 rows (2 different queries) have a full name by the list census, and")
    assert not any(word in step.notes[0] for word in ("john", "mary", "jones"))


def test_it_is_written_like_other_steps(own):
    log = coterie.prepare(log_of(TYPED), "names(found=join)")
    assert log.steps == ("names(found=join)",)
    assert coterie.prepare(log_of(TYPED), [Names(listed=own)]).steps[0].startswith("names(listed=")


def test_paths_of_access_logs_have_hardly_any():
    log = Names()(log_of([{"user": "a", "path": "/john smith"}, {"user": "a", "path": "/"}], VISITS))
    assert log.to_polars()["path"].to_list() == ["/john smith", "/"]
    assert "(0 different pages)" in log.history[-1].notes[0]


def test_where_a_list_of_ones_own_lies_is_not_told(tmp_path, monkeypatch):
    """The sidecar has nothing of the file; verify finds it beside the release, here, or elsewhere by the record."""
    home, out, record = tmp_path / "qz home", tmp_path / "out", tmp_path / "record"
    home.mkdir()
    out.mkdir()
    own = home / "patients.txt"
    own.write_text("kim lee\n")
    raw = log_of([{"user": user, "query": query, "time": DAY} for user in "abc" for query in ("tea", "kim lee shop")])
    log = coterie.prepare(raw, ["normalize", Names(listed=str(own))])
    coterie.write(coterie.anonymize(log, SuppressRare(k=3, users="day"), seed=1), out / "safe.tsv", record=record)
    told = json.loads((out / "safe.tsv.json").read_text())
    digest = hashlib.sha256(own.read_bytes()).hexdigest()
    assert told["prepare"] == ["normalize", 'names(listed="own list")']
    private = json.loads((record / "run.json").read_text())
    assert private["prepare"] == ["normalize", f'names(listed="own list sha256:{digest}")']
    assert not any(word in (out / "safe.tsv.json").read_text() for word in ("qz", "patients", digest))
    assert coterie.verify(out / "safe.tsv", raw, record=record).exit_code == 0
    assert coterie.load_release(out / "safe.tsv", record).log.steps == log.steps
    (out / "own list").write_text("somebody else\n")  # nothing but a name
    for folder in (home, out):  # where the file is, or one of that name: nobody knows whether it is the list
        monkeypatch.chdir(folder)
        with pytest.raises(NotCheckableError, match=r"run record \(record\).*verify with steps=STEPS") as needed:
            coterie.verify(out / "safe.tsv", raw)
        assert needed.value.exit_code == 3
    named = ["normalize", Names(listed=str(own))]
    assert coterie.verify(out / "safe.tsv", raw, steps=named).exit_code == 3  # names need the record
    monkeypatch.chdir(tmp_path)
    own.rename(out / "another name.txt")
    assert coterie.verify(out / "safe.tsv", raw, record=record).exit_code == 0
    (out / "another name.txt").write_text("somebody else\n")  # the record still is the record of this release
    with pytest.raises(InputError, match="must lie beside the release as it was"):
        coterie.verify(out / "safe.tsv", raw, record=record)
    own.write_text("somebody else\n")
    with pytest.raises(InputError, match="must lie beside the release as it was"):
        coterie.verify(out / "safe.tsv", raw, record=record)


def test_a_record_that_was_not_written(own, tmp_path):
    raw = log_of([{"user": user, "query": "tea", "time": DAY} for user in "abc"])
    release = coterie.anonymize(coterie.prepare(raw, [Names(listed=str(own))]), SuppressRare(k=3), seed=1)
    coterie.write(release, tmp_path / "safe.tsv")
    assert coterie.verify(tmp_path / "safe.tsv", raw, record=release.record).exit_code == 0


def test_the_command_line_says_that_the_list_is_needed(own, tmp_path, monkeypatch, capsys):
    log, safe, record = tmp_path / "log.csv", tmp_path / "safe.tsv", tmp_path / "record"
    log.write_text("user,query\n" + "".join(f"{user},tea\n" for user in "abc"))
    steps = f'normalize,names(listed="{own}")'
    given = ("--k", "3", "--prepare", steps, "-o", safe, "--record", record, "-q")

    def run(*words):
        monkeypatch.setattr("sys.argv", ["coterie", *map(str, words)])
        return run_cli()

    assert run("anonymize", "suppress_rare", log, *given) == 0
    capsys.readouterr()
    assert run("verify", safe, "--original", log) == 3
    told = capsys.readouterr()
    assert "list of one's own" in told.err
    assert Path(own).name not in told.out + told.err
    assert run("verify", safe, "--original", log, "--record", record) == 0
    assert run("verify", safe, "--original", log, "--prepare", steps) == 0


def test_a_sidecar_that_tells_of_a_file_is_refused(own, tmp_path, monkeypatch):
    """Its name or its digest: whoever wrote that would choose which file of the reader is opened."""
    raw = log_of([{"user": user, "query": "tea", "time": DAY} for user in "abc"])
    safe, sidecar = tmp_path / "safe.tsv", tmp_path / "safe.tsv.json"
    log = coterie.prepare(raw, ["normalize", Names(listed=str(own))])
    coterie.write(coterie.anonymize(log, SuppressRare(k=3), seed=1), safe, record=tmp_path / "record")
    monkeypatch.chdir(Path(own).parent)
    for told in (log.steps[-1], f"names(listed={Path(own).name})", digested_text(log.steps[-1])):
        sidecar.write_text(json.dumps({**json.loads(sidecar.read_text()), "prepare": ["normalize", told]}))
        with pytest.raises(InputError, match=r"'prepare' \(item 2\) is not a step that is known here"):
            coterie.verify(safe, raw)
        with pytest.raises(InputError, match="The run record belongs to another release"):
            coterie.verify(safe, raw, record=tmp_path / "record")


def test_files_are_digested_only_where_there_is_a_digest_to_compare_with(own, monkeypatch):
    digested = digested_text(f'names(listed="{own}")')
    looked_at = []
    monkeypatch.setattr("coterie.steps._spelling._digest", lambda file: looked_at.append(file) or "")
    assert with_file_in('names(listed="own list")', Path(own).parent) == 'names(listed="own list")'
    assert with_file_in("normalize", Path(own).parent) == "normalize"
    assert not looked_at
    assert with_file_in(digested, Path(own).parent) == digested
    assert looked_at


def test_how_steps_are_shown(own):
    assert public_text("names(found=join)") == "names(found=join)"
    assert public_text("normalize") == "normalize"
    shown = public_text(f'names(listed="{own}", found=join)')
    assert shown == public_text(shown) == 'names(listed="own list", found=join)'
    assert public_text('names(listed="no such file.txt")') == 'names(listed="own list")'
    digested = digested_text(f'names(listed="{own}", found=join)')
    assert digested.startswith('names(listed="own list sha256:')
    assert digested_text(digested) == digested
    assert digested_text('names(listed="no such file.txt")') == 'names(listed="own list")'
    assert public_text(digested) == shown
