"""The list of a log's releases: who is warned of what, and which file is never written."""

import json
import os
import stat
from dataclasses import asdict
from pathlib import Path

import pytest

import coterie
from coterie import jobs, synth
from coterie.errors import BrokenPromiseError, CoterieError, InputError, MissingError, ParameterError
from coterie.methods.suppress_rare import SuppressRare
from coterie.testing import queries_log
from coterie.writing.history import History
from coterie.writing.target import Target
from tests.helpers.tasks import how

STEPS = ("normalize", "drop_empty")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    path = tmp_path_factory.mktemp("made") / "log.tsv"
    synth.write(path, 40, 7)
    return path.read_bytes()


@pytest.fixture
def log(tmp_path, made):
    path = tmp_path / "log.tsv"
    path.write_bytes(made)
    return path


def released(log, out, *, ks=(3,), params=(), **more):
    to = Target(path=str(out), record=more.pop("record", None)).for_each(ks)
    methods = jobs.methods_for("suppress_rare", {"users": "pseudonym", **dict(params)}, ks)
    return jobs.anonymize_files([str(log)], methods, to, **how(steps=STEPS, **{"seed": 1, **more}))


def listed(path):
    return json.loads(path.read_text())["releases"]


def test_it_lies_beside_the_log_and_nobody_else_reads_it(log, tmp_path):
    out = tmp_path / "safe.tsv"
    (first,) = released(log, out)
    path = tmp_path / "log.tsv.history.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    (entry,) = listed(path)
    assert entry.pop("date").startswith("20")
    assert entry.pop("rows") == json.loads((tmp_path / "safe.tsv.json").read_text())["rows_sha256"]
    assert entry == {
        "log": "log.tsv",
        "input_digest": coterie.read(log).digest,
        "method": "suppress_rare",
        "parameters": asdict(SuppressRare(k=3, users="pseudonym")),
        "prepare": list(STEPS),
        "headline": "k = 3",
        "released_sha256": json.loads((tmp_path / "safe.tsv.json").read_text())["sha256"],
        "groups": "",
        "groups_of": [],
    }
    assert not any("released" in warning and "before" in warning for warning in first.warnings)


def test_the_second_release_is_warned_of_in_private(log, tmp_path):
    released(log, tmp_path / "a.tsv")
    (second,) = released(log, tmp_path / "b.tsv", ks=(4,), record=tmp_path / "record")
    warning = second.warnings[-1]
    assert warning.startswith("This log was released once before, last on 20")
    assert "by suppress_rare (k = 3), as log.tsv.history.json lists." in warning
    assert "Publish one of them only." in warning
    assert json.loads((tmp_path / "record" / "run.json").read_text())["warnings"] == [warning]
    assert "before, last on" not in (tmp_path / "b.tsv.json").read_text()
    (third,) = released(log, tmp_path / "c.tsv", ks=(5,))
    assert third.warnings[-1].startswith("This log was released 2 times before, last on 20")


def test_several_k_are_several_releases(log, tmp_path):
    first, second = released(log, tmp_path / "out.{k}.tsv", ks=(3, 4))
    assert "before, last on" not in " ".join(first.warnings)
    assert "before, last on" in second.warnings[-1]


def test_the_same_rows_again_are_no_second_release(log, tmp_path):
    for out in ("a.tsv", "b.parquet"):
        (again,) = released(log, tmp_path / out)
        assert "before, last on" not in " ".join(again.warnings)
    assert len(listed(tmp_path / "log.tsv.history.json")) == 1


@pytest.mark.parametrize(
    ("content", "name", "warned"), [(True, "other", True), (False, "mine", True), (False, "other", False)]
)
def test_a_log_is_known_by_its_name_or_by_its_content(log, tmp_path, made, content, name, warned):
    book = str(tmp_path / "book.json")
    released(log, tmp_path / "a.tsv", history=book, log_name="mine")
    later = tmp_path / "later.tsv"
    later.write_bytes(made if content else made[: made.rindex(b"\n", 0, len(made) // 2) + 1])
    (second,) = released(later, tmp_path / "b.tsv", ks=(4,), history=book, log_name=name)
    assert ("before, last on" in second.warnings[-1]) == warned
    assert ("book.json lists releases of mine." in second.warnings[-1]) == (not warned)
    assert [entry["log"] for entry in listed(tmp_path / "book.json")] == ["mine", name]


def test_none_is_wanted_and_none_is_needed(log, tmp_path):
    released(log, tmp_path / "a.tsv", history="none")
    released("synth:users=30,seed=1", tmp_path / "b.tsv")
    assert not list(tmp_path.glob("*.history.json"))


def test_a_log_that_is_no_file_needs_one(tmp_path):
    with pytest.raises(ParameterError, match=r"--history FILE.*--history none"):
        released("-", tmp_path / "a.tsv")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(ParameterError, match="not a file"):
        released(pipe, tmp_path / "a.tsv")


def test_nothing_is_listed_where_a_release_fails(log, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise BrokenPromiseError("broken")

    monkeypatch.setattr("coterie.jobs.write_and_list", fail)
    with pytest.raises(BrokenPromiseError):
        released(log, tmp_path / "a.tsv")
    assert not (tmp_path / "log.tsv.history.json").exists()


def test_what_cannot_be_written_later_is_refused_before_any_work(log, tmp_path, monkeypatch):
    def work(*_, **__):
        raise AssertionError("this is work")

    monkeypatch.setattr(jobs, "read_logs", work)
    with pytest.raises(MissingError, match="folder"):
        released(log, tmp_path / "a.tsv", history=str(tmp_path / "nowhere" / "book.json"))
    with pytest.raises(ParameterError, match="an input or another output"):
        released(log, tmp_path / "a.tsv", history=str(log))
    with pytest.raises(ParameterError, match="is a folder"):
        released(log, tmp_path / "a.tsv", history=str(tmp_path))
    (tmp_path / "damaged.json").write_text('{"format": 1, "releases": [{"log": 4417749}]}')
    with pytest.raises(InputError, match="is not a history of Coterie") as refused:
        released(log, tmp_path / "a.tsv", history=str(tmp_path / "damaged.json"))
    assert "4417749" not in str(refused.value)
    (closed := tmp_path / "closed").mkdir()
    monkeypatch.setattr(os, "access", lambda path, _: Path(path) != closed)
    with pytest.raises(InputError, match=r"nothing can be written to .*--history none"):
        released(log, tmp_path / "a.tsv", history=str(closed / "book.json"))


def test_its_owner_is_told_once_where_it_is(log, tmp_path):
    notes = []
    released(log, tmp_path / "a.tsv", note=notes.append)
    (told,) = [note for note in notes if "history.json" in note]
    assert told.startswith("log.tsv.history.json, beside the log, is the list of its releases.")
    notes.clear()
    released(log, tmp_path / "b.tsv", note=notes.append)
    released(log, tmp_path / "c.tsv", note=notes.append, history=str(tmp_path / "book.json"))
    released(log, tmp_path / "d.tsv", note=notes.append, history="none")
    assert not [note for note in notes if "history" in note]


@pytest.mark.parametrize("text", ["", "junk\n", "a\tb\n1\t2\n", "user\tquery\n1\ttea\n"])
def test_nobody_is_told_of_a_list_that_is_never_made(tmp_path, text):
    log, notes = tmp_path / "log.tsv", []
    log.write_text(text)
    with pytest.raises(CoterieError):
        released(log, tmp_path / "a.tsv", note=notes.append)
    assert not [note for note in notes if "history" in note]
    assert list(tmp_path.iterdir()) == [log]


def test_a_log_in_a_folder_that_cannot_be_written_is_released_with_a_warning(log, tmp_path, monkeypatch):
    folder, notes = tmp_path / "logs", []
    folder.mkdir()
    log = log.rename(folder / "log.tsv")
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != folder and access(path, mode))
    released(log, tmp_path / "a.tsv", note=notes.append)
    assert (tmp_path / "a.tsv").exists()
    assert [path.name for path in folder.iterdir()] == ["log.tsv"]
    assert [note for note in notes if "Nothing can be written to the folder of the log" in note]


def test_an_output_is_no_history(log, tmp_path):
    with pytest.raises(ParameterError, match="an input or another output"):
        released(log, tmp_path / "a.tsv", history=str(tmp_path / "a.tsv.json"))
    assert not (tmp_path / "a.tsv").exists()


def test_a_link_is_the_log_that_it_leads_to(log, tmp_path):
    """A second list beside the link would know of no other release, and of nothing that was spent."""
    link = tmp_path / "elsewhere" / "link.tsv"
    link.parent.mkdir()
    link.symlink_to(log)
    released(log, tmp_path / "a.tsv")
    (second,) = released(link, tmp_path / "b.tsv", ks=(4,))
    assert second.warnings[-1].startswith("This log was released once before")
    assert len(listed(tmp_path / "log.tsv.history.json")) == 2
    assert list(link.parent.iterdir()) == [link]


@pytest.mark.parametrize("name", ["log.tsv.history.json", "log.tsv.history"])
def test_no_output_replaces_a_list_of_releases(log, tmp_path, name):
    """Neither a release nor its sidecar, which has that name where the release is called `log.tsv.history`."""
    released(log, tmp_path / "a.tsv")
    before = (tmp_path / "log.tsv.history.json").read_bytes()
    release = coterie.anonymize(queries_log(), SuppressRare(k=3), seed=1)
    with pytest.raises(ParameterError, match=r"log.tsv.history.json .* list of a log's releases.*never replaced"):
        coterie.write(release, tmp_path / name, kind="tsv", force=True)
    assert (tmp_path / "log.tsv.history.json").read_bytes() == before


def test_a_pattern_means_the_logs(log, tmp_path):
    folder = tmp_path / "logs"
    folder.mkdir()
    log.rename(folder / "log.tsv")
    released(folder / "*.tsv", tmp_path / "a.tsv")
    assert (folder / "log.tsv.history.json").exists()
    released(folder / "*", tmp_path / "b.tsv", ks=(4,))
    assert len(listed(folder / "log.tsv.history.json")) == 2


def test_it_is_complete_or_as_it_was(log, tmp_path, monkeypatch):
    release = coterie.anonymize(coterie.prepare(coterie.read(log)), SuppressRare(k=3), seed=1)
    history = History(path=tmp_path / "book.json", log_name="mine")
    history.add(release, "00", "11")
    before = history.path.read_bytes()

    def fail(*_, **__):
        raise OSError("no")

    monkeypatch.setattr("coterie.writing.history.onto_the_disk", fail)
    other = coterie.anonymize(coterie.prepare(coterie.read(log)), SuppressRare(k=4), seed=1)
    with pytest.raises(InputError, match=r"book\.json could not be written, and is as it was"):
        history.add(other, "00", "11")
    assert history.path.read_bytes() == before
    assert not list(tmp_path.glob(".coterie*"))


# --- groups ----------------------------------------------------------------------------------------


def grouped(log, out, *, k=2, method="microaggregate", params=None, seed=1, **more):
    """One release in which users share profiles; returns what its history says of it."""
    to = Target(path=str(out), record=out.with_name(out.name + ".record")).for_each((k,))
    params = {**({"attrs": "drop"} if method == "microaggregate" else {}), **(params or {})}
    methods = jobs.methods_for(method, params, (k,))
    made = jobs.anonymize_files([str(log)], methods, to, **how(steps=STEPS, seed=seed, **more))
    return next((text for text in made[0].warnings if "before, last on" in text or "log.tsv.history" in text), "")


def test_a_release_on_other_groups_is_warned_of_and_shown_the_way(log, tmp_path):
    assert grouped(log, tmp_path / "a.tsv") == ""
    warning = grouped(log, tmp_path / "b.tsv", k=4)
    assert "k then holds for neither" in warning
    assert "--groups-of DIR, the run record of the earlier release" in warning
    assert "hardly anything that" not in warning


def test_a_release_on_the_same_groups_or_on_unions_adds_nothing(log, tmp_path):
    grouped(log, tmp_path / "a.tsv")
    record = tmp_path / "a.tsv.record"
    same = grouped(log, tmp_path / "b.tsv", seed=2, groups_of=record)
    assert "released once before" in same
    assert "and users are in the same groups as before. Whoever has all of them learns hardly anything" in same
    unions = grouped(log, tmp_path / "c.tsv", k=5, groups_of=record)
    assert "released 2 times before" in unions
    assert "unions of those of the other. Whoever has all of them learns hardly anything" in unions
    for warning in (same, unions):
        assert "k then holds for neither" not in warning
        assert "--groups-of" not in warning
    first, second, third = listed(tmp_path / "log.tsv.history.json")
    assert first["groups"] == second["groups"] != third["groups"]
    assert [each["groups_of"] for each in (first, second, third)] == [[], [first["groups"]], [first["groups"]]]
    run = json.loads((tmp_path / "c.tsv.record" / "run.json").read_text())
    assert (run["groups"], run["groups_of"]) == (third["groups"], third["groups_of"])
    assert run["warnings"] == [unions]


def test_whole_queries_after_phrases_tell_more_about_the_same_groups(log, tmp_path):
    phrases = {"publish": "phrases", "phrase_users": 3}
    grouped(log, tmp_path / "a.tsv", params=phrases)
    again = {"groups_of": tmp_path / "a.tsv.record", "seed": 2}
    assert "tells more about the same people" not in grouped(
        log, tmp_path / "b.tsv", params={**phrases, "phrase_users": 4}, **again
    )
    assert "tells more about the same people" in grouped(
        log, tmp_path / "c.tsv", params={**phrases, "phrase_users": 2}, **again
    )
    queries = grouped(log, tmp_path / "d.tsv", **again)
    assert "tells more about the same people" in queries
    assert "hardly anything" not in queries


def test_one_release_on_other_groups_spoils_those_that_follow(log, tmp_path):
    grouped(log, tmp_path / "a.tsv")
    grouped(log, tmp_path / "b.tsv", k=3)
    warning = grouped(log, tmp_path / "c.tsv", seed=2, groups_of=tmp_path / "a.tsv.record")
    assert "k then holds for neither" in warning


def test_unions_of_groups_that_were_never_released(log, tmp_path):
    """Two unions of the same small groups meet in one of these, and no listed release has groups so small."""
    grouped(log, tmp_path / "small.tsv", history="none")
    record = tmp_path / "small.tsv.record"
    grouped(log, tmp_path / "a.tsv", k=4, seed=1, groups_of=record)
    assert "k then holds for neither" in grouped(log, tmp_path / "b.tsv", k=4, seed=2, groups_of=record)
    (tmp_path / "log.tsv.history.json").unlink()
    grouped(log, tmp_path / "c.tsv", k=4, seed=3, groups_of=record)
    nested = grouped(log, tmp_path / "d.tsv", k=8, groups_of=tmp_path / "c.tsv.record")
    assert "learns hardly anything" in nested


def test_the_smaller_groups_may_come_last(log, tmp_path):
    grouped(log, tmp_path / "small.tsv", history="none")
    grouped(log, tmp_path / "a.tsv", k=4, groups_of=tmp_path / "small.tsv.record")
    assert "learns hardly anything" in grouped(log, tmp_path / "b.tsv", seed=2, groups_of=tmp_path / "small.tsv.record")


def test_a_release_without_groups_has_no_such_way(log, tmp_path):
    grouped(log, tmp_path / "a.tsv", method="suppress_rare")
    assert "--groups-of" not in grouped(log, tmp_path / "b.tsv")
