"""Whole tasks on files, through Python: several k, what may be written, files that Coterie did not make.

Covers: writing/files.py
"""

import io
import json
import os
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import coterie
from coterie import api, jobs, synth
from coterie.core.threads import Stages
from coterie.engines import local
from coterie.errors import BrokenPromiseError, InputError, MissingError, ParameterError
from coterie.methods.microaggregate import Microaggregate
from coterie.methods.suppress_rare import SuppressRare
from coterie.reading.reading import Reading
from coterie.testing import queries_log
from coterie.writing import files
from coterie.writing.target import Target
from tests.helpers.tasks import how

STEPS = ("normalize", "drop_empty")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    path = tmp_path_factory.mktemp("made") / "log.tsv"
    synth.write(path, 60, 7)
    return path.read_bytes()


@pytest.fixture
def log(tmp_path, made):
    """A log in a folder of its own."""
    path = tmp_path / "in" / "log.tsv"
    path.parent.mkdir()
    path.write_bytes(made)
    return path


@pytest.fixture
def safe(log, tmp_path):
    """A release of the log with its sidecar and its record."""
    path = tmp_path / "out" / "safe.tsv"
    path.parent.mkdir()
    _anonymize(log, path, record=tmp_path / "record")
    return path


def _anonymize(log, out, method="suppress_rare", *, ks=(3,), force=False, record=None, **more):
    to = Target(path=str(out), record=record, force=force).for_each(ks)
    return jobs.anonymize_files([str(log)], jobs.methods_for(method, {}, ks), to, **how(steps=STEPS, **more))


def _content(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# --- blocks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("given", "expected"), [(None, 4), (2, 2)])
def test_blocks_are_chosen_by_size_unless_given(log, monkeypatch, given, expected):
    """In Python as on the command line: it is `learn` that chooses."""
    monkeypatch.setattr(local, "_HELD_BYTES", -(-log.stat().st_size // 4))
    prepared = coterie.prepare(coterie.read(log))
    assert local.blocks_for(prepared, holds_rows=True) == 4
    assert local.blocks_for(queries_log(), holds_rows=True) == 1  # not from a file
    assert api.learn(prepared, [Microaggregate(k=3)], blocks=given).engine.number == expected


def test_compressed_files_count_as_what_is_in_them(tmp_path, made, monkeypatch):
    synth.write(tmp_path / "log.tsv.gz", 60, 7)
    monkeypatch.setattr(local, "_HELD_BYTES", (tmp_path / "log.tsv.gz").stat().st_size)
    assert local.blocks_for(coterie.read(tmp_path / "log.tsv.gz"), holds_rows=True) == 6


def test_chosen_blocks_do_not_change_the_file(log, tmp_path, monkeypatch):
    files = []
    for size in (1 << 30, 4_000):
        monkeypatch.setattr(local, "_HELD_BYTES", size)
        files.append(tmp_path / f"{size}.tsv")
        release = coterie.anonymize(coterie.prepare(coterie.read(log)), Microaggregate(k=3), seed=1)
        coterie.write(release, files[-1])
    assert files[0].read_bytes() == files[1].read_bytes()


# --- several k -------------------------------------------------------------------------------------


def test_several_k_from_one_reading(log, tmp_path):
    told = []
    progress = Stages(jobs.stages_of(jobs.methods_for("suppress_rare", {}, [2, 5])), lambda name, _: told.append(name))
    summaries = _anonymize(log, tmp_path / "out.{k}.tsv", ks=(2, 5), record=tmp_path / "record.{k}", progress=progress)
    stages = list(dict.fromkeys(name.partition(":")[0] for name in told))
    each = ("plan", "release", "verify", "write")
    assert stages == [f"{number}/10 {name}" for number, name in enumerate(("read", "learn", *each, *each), start=1)]
    assert [summary.headline for summary in summaries] == ["k = 2", "k = 5"]
    for summary in summaries:
        assert isinstance(summary, files.Summary)
        assert summary.rows == len(Path(summary.target).read_text().splitlines()) - 1
        assert summary.rows_read == len(log.read_text().splitlines()) - 1
        assert summary.checks > 5
        assert summary.steps == STEPS
    assert summaries[1].largest_k >= 5
    assert {path.name for path in tmp_path.iterdir()} == {
        "in", "out.2.tsv", "out.2.tsv.json", "out.5.tsv", "out.5.tsv.json", "record.2", "record.5",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"path": "out.tsv"}, "pattern for -o"),
        ({"path": "out.{k}.tsv", "sidecar": "side.json"}, "pattern for --sidecar"),
        ({"path": "out.{k}.tsv", "record": "record"}, "pattern for --record"),
        ({"path": "-"}, "pattern for -o"),
    ],
)
def test_several_k_need_patterns(given, message):
    with pytest.raises(ParameterError, match=message):
        Target(path=given.pop("path"), **given).for_each((2, 5))
    with pytest.raises(ParameterError, match="twice"):
        Target(path="out.{k}.tsv").for_each((5, 5))


def _grouped(log, out, *, ks, record=None, force=False, **more):
    methods = jobs.methods_for("microaggregate", {"attrs": "drop"}, ks)
    to = Target(path=str(out), record=record, force=force).for_each(ks)
    return jobs.anonymize_files([str(log)], methods, to, **how(steps=STEPS, seed=1, **more))


def test_several_k_go_together_unless_they_are_to_be_compared(log, tmp_path):
    _, larger = _grouped(log, tmp_path / "out.{k}.tsv", ks=(2, 5), record=tmp_path / "record.{k}")
    assert any("Users are in the same groups as in an earlier release" in text for text in larger.warnings)
    groups = [_people(tmp_path / f"record.{k}") for k in (2, 5)]
    unions = groups[0].join(groups[1], on="original").group_by("group").agg(pl.col("group_right").n_unique())
    assert unions["group_right"].max() == 1
    others = _grouped(log, tmp_path / "alone.{k}.tsv", ks=(2, 5), independent=True, history="none")
    assert not any("earlier release" in text for each in others for text in each.warnings)
    assert (tmp_path / "alone.2.tsv").read_bytes() == (tmp_path / "out.2.tsv").read_bytes()
    assert (tmp_path / "alone.5.tsv").read_bytes() != (tmp_path / "out.5.tsv").read_bytes()


def _people(record):
    return pl.read_parquet(record / "subjects.parquet").select("original", "group")


def test_groups_of_a_record_are_used_again(log, tmp_path):
    record = tmp_path / "record"
    _grouped(log, tmp_path / "a.tsv", ks=(2,), record=record)
    _grouped(log, tmp_path / "b.{k}.tsv", ks=(2, 5), record=tmp_path / "b.{k}", groups_of=record)
    assert _people(record).equals(_people(tmp_path / "b.2"))
    assert (tmp_path / "a.tsv").read_bytes() != (tmp_path / "b.2.tsv").read_bytes()
    run = json.loads((tmp_path / "b.5" / "run.json").read_text())
    assert len(run["groups_of"]) == 2
    assert "groups_of" not in (tmp_path / "b.5.tsv.json").read_text()  # the public learn that, and no digest
    assert run["groups_of"][0] not in (tmp_path / "b.5.tsv.json").read_text()
    verdict = jobs.verify_file(str(tmp_path / "b.5.tsv"), [str(log)], record=tmp_path / "b.5")
    assert verdict.exit_code == 0


@pytest.mark.parametrize(
    ("name", "more", "message"),
    [
        ("suppress_rare", {}, "suppress_rare makes no groups of users, so it cannot use those of an earlier release"),
        ("affinity", {}, "affinity makes no groups"),
        ("microaggregate", {"independent": True}, "leave out one"),
    ],
)
def test_groups_that_cannot_be_used_are_refused_before_the_log_is_read(tmp_path, name, more, message):
    (tmp_path / "log.tsv").write_text("not a log")
    to = Target(path=str(tmp_path / "a.tsv")).for_each((3,))
    with pytest.raises(ParameterError, match=message):
        jobs.anonymize_files(
            [str(tmp_path / "log.tsv")],
            jobs.methods_for(name, {}, (3,)),
            to,
            **how(groups_of=tmp_path / "record", **more),
        )


def test_the_record_whose_groups_are_used_is_never_replaced(log, tmp_path):
    record = tmp_path / "record"
    _grouped(log, tmp_path / "a.tsv", ks=(2,), record=record)
    before = _content(record)
    with pytest.raises(ParameterError, match="input"):
        _grouped(log, tmp_path / "b.tsv", ks=(2,), record=record, groups_of=record, force=True)
    assert _content(record) == before


def test_a_method_without_k_has_one_target():
    (target,) = Target(path="out.{k}.tsv").for_each([None])
    assert target.path == "out.{k}.tsv"


def test_a_k_that_cannot_be_kept_refuses_all(log, tmp_path):
    with pytest.raises(InputError, match="needs at least 1000 users"):
        _anonymize(log, tmp_path / "out.{k}.tsv", ks=(2, 1000))
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_a_taken_name_refuses_all_before_the_log_is_read(tmp_path):
    (tmp_path / "log.tsv").write_text("not a log")
    (tmp_path / "out.5.tsv").write_text("mine")
    with pytest.raises(ParameterError, match=r"out\.5\.tsv exists"):
        _anonymize(tmp_path / "log.tsv", tmp_path / "out.{k}.tsv", ks=(2, 5))
    assert {path.name for path in tmp_path.iterdir()} == {"log.tsv", "out.5.tsv"}


def test_two_releases_never_go_to_one_file(log, tmp_path):
    prepared, to = coterie.prepare(coterie.read(log)), Target(path=str(tmp_path / "out.tsv"))
    with pytest.raises(ParameterError, match="one file"):
        jobs.write_each(prepared, [SuppressRare(k=2), SuppressRare(k=3)], [to, to])
    out = Target(path="-", kind="tsv")
    with pytest.raises(ParameterError, match="one release only"):
        jobs.write_each(prepared, [SuppressRare(k=2), SuppressRare(k=3)], [out, out])


def test_what_was_written_before_a_failure_is_named(log, tmp_path, monkeypatch):
    write = jobs.write_and_list

    def fail_at_five(release, target, *more, **options):
        if "5" in Path(target.path).name:
            raise BrokenPromiseError("broken")
        return write(release, target, *more, **options)

    monkeypatch.setattr(jobs, "write_and_list", fail_at_five)
    with pytest.raises(BrokenPromiseError) as failure:
        _anonymize(log, tmp_path / "out.{k}.tsv", ks=(2, 5))
    assert failure.value.written == (str(tmp_path / "out.2.tsv"),)


def test_a_made_up_log_has_no_files(tmp_path):
    (summary,) = _anonymize("synth:users=30,seed=1", tmp_path / "out.tsv")
    assert summary.rows_read == 0


def test_bad_lines_are_noted(log, tmp_path):
    log.write_text(log.read_text() + "1\tqzqueryq\tqztimeq\t\t\n")
    notes = []
    _anonymize(log, tmp_path / "out.tsv", note=notes.append, history="none")
    assert ["They were left out." in note and "qz" not in note for note in notes] == [True]


# --- never replacing an input ----------------------------------------------------------------------


def _same(path, folder):
    return path


def _relative(path, folder):
    return Path(os.path.relpath(path))


def _by_link(path, folder):
    (folder / "link.tsv").symlink_to(path)
    return folder / "link.tsv"


def _by_hard_link(path, folder):
    (folder / "hard.tsv").hardlink_to(path)
    return folder / "hard.tsv"


def _by_linked_folder(path, folder):
    (folder / "folder").symlink_to(path.parent)
    return folder / "folder" / path.name


OTHER_NAMES = [_same, _relative, _by_link, _by_hard_link, _by_linked_folder]


@pytest.mark.parametrize("named", OTHER_NAMES)
@pytest.mark.parametrize("source", ["log.tsv", "*.tsv"])
def test_a_log_is_never_replaced(log, tmp_path, named, source):
    before, target = log.read_bytes(), named(log, tmp_path)
    with pytest.raises(ParameterError, match="never replaced"):
        _anonymize(log.parent / source, target, force=True)
    release = coterie.anonymize(coterie.prepare(coterie.read(log.parent / source)), SuppressRare(k=3))
    with pytest.raises(ParameterError, match="never replaced"):
        coterie.write(release, target, force=True)
    assert log.read_bytes() == before
    assert [path.name for path in log.parent.iterdir()] == ["log.tsv"]


def test_a_log_is_never_replaced_after_the_folder_was_changed(tmp_path, made, monkeypatch):
    """A compressed log is spooled, so that nothing else would notice."""
    synth.write(tmp_path / "log.tsv.gz", 60, 7)
    before = (tmp_path / "log.tsv.gz").read_bytes()
    monkeypatch.chdir(tmp_path)
    release = coterie.anonymize(coterie.prepare(coterie.read("log.tsv.gz")), SuppressRare(k=3))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    with pytest.raises(ParameterError, match="never replaced"):
        coterie.write(release, "../log.tsv.gz", force=True)
    assert (tmp_path / "log.tsv.gz").read_bytes() == before


def test_a_sidecar_never_replaces_the_log(log, tmp_path):
    log = log.rename(log.with_name("safe.tsv.json"))  # the name that the sidecar would have
    before = log.read_bytes()
    with pytest.raises(ParameterError, match="never replaced"):
        _anonymize(log, log.with_name("safe.tsv"), force=True)
    with pytest.raises(ParameterError, match="never replaced"):
        Target(path=str(tmp_path / "out.tsv"), sidecar=str(log), force=True).refuse([log])
    assert log.read_bytes() == before


def test_a_record_never_replaces_the_log(log, tmp_path):
    prepared = coterie.prepare(coterie.read(log))
    source = tmp_path / "in" / "rows.parquet"
    prepared.to_polars().write_parquet(source)
    before = source.read_bytes()
    with pytest.raises(ParameterError, match="never replaced"):
        _anonymize(source, tmp_path / "out.tsv", record=tmp_path / "in", force=True)
    release = coterie.anonymize(coterie.prepare(coterie.read(source)), SuppressRare(k=3))
    with pytest.raises(ParameterError, match="never replaced"):
        coterie.write(release, tmp_path / "out.tsv", record=tmp_path / "in", force=True)
    assert source.read_bytes() == before


def test_a_list_of_words_is_an_input_too(log, tmp_path):
    words = tmp_path / "words.tsv"
    words.write_text("the\n")
    methods = jobs.methods_for("affinity", {"function_words": str(words)}, [3])
    with pytest.raises(ParameterError, match="never replaced"):
        jobs.anonymize_files([str(log)], methods, Target(path=str(words), force=True).for_each([3]))
    assert words.read_text() == "the\n"


def test_a_file_is_not_written_twice(log, tmp_path):
    out = tmp_path / "rows.parquet"
    for target in (
        Target(path=str(out), sidecar=str(out)),
        Target(path=str(out), record=tmp_path),
        Target(path=str(tmp_path / "a.tsv"), sidecar=str(tmp_path / "run.json"), record=tmp_path),
    ):
        with pytest.raises(ParameterError, match="written twice"):
            replace(target, force=True).refuse([])


# --- released files --------------------------------------------------------------------------------


def test_verify_a_release_and_a_file_of_others(log, safe, tmp_path):
    verdict = jobs.verify_file(str(safe), [str(log)])
    assert verdict.exit_code == 0
    assert jobs.verify_file(str(safe)).exit_code == 3
    assert jobs.verify_file(str(safe), [str(log)], k=1000).exit_code == 1
    with pytest.raises(MissingError, match="no sidecar"):
        jobs.verify_file(str(log))
    theirs = jobs.verify_file(str(log), promise="query_k_anonymity", k=2)
    assert theirs.foreign
    assert theirs.exit_code == 1


def test_formats_of_a_foreign_file_and_of_its_original(tmp_path):
    theirs, original = tmp_path / "theirs.csv", tmp_path / "original.tsv"
    theirs.write_text("q\ntea\ntea\n")
    original.write_text("cookie\tsearch\n" + "".join(f"{n}\ttea\n" for n in range(4)))
    verdict = jobs.verify_file(
        str(theirs),
        [str(original)],
        reading=Reading(columns={"query": "q"}),
        original_reading=Reading(columns={"user": "cookie", "query": "search"}),
        promise="query_k_anonymity",
        k=3,
    )
    assert (verdict.exit_code, verdict.largest_k) == (0, 4)


@pytest.mark.parametrize("names", [["*.csv"], ["-"], ["theirs"]])
def test_foreign_files_that_no_single_path_names(tmp_path, monkeypatch, names):
    """A glob, standard input, and a file without an ending, with an original whose options they make no use of."""
    monkeypatch.chdir(tmp_path)
    for name in ("a.csv", "b.csv", "theirs"):
        Path(name).write_text("query\ntea\n")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"query\ntea\n")))
    Path("original.txt").write_text("".join(f"00:00:0{n}\tu{n}\t[tea]\t1 1\twww.tea.example/\n" for n in range(4)) * 2)
    reading = Reading(date="2024-03-07")
    verdict = jobs.verify_file(names[0], ["original.txt"], reading=reading, promise="query_k_anonymity", k=3)
    assert (verdict.exit_code, verdict.largest_k) == (0, 4)
    with pytest.raises(MissingError, match="Give an existing file"):
        jobs.verify_file("none.csv", ["original.txt"], reading=reading, promise="query_k_anonymity", k=3)


def test_what_only_the_original_makes_use_of_is_said_of_it(tmp_path):
    theirs, original = tmp_path / "theirs.csv", tmp_path / "original.txt"
    theirs.write_text("query\ntea\n")
    original.write_text("".join(f"00:00:0{n}\tu{n}\t[tea]\t1 1\twww.tea.example/\n" for n in range(4)))
    reading = Reading(date="2024-03-07")
    verdict = jobs.verify_file(str(theirs), [str(original)], reading=reading, promise="query_k_anonymity", k=3)
    assert verdict.foreign
    with pytest.raises(ParameterError, match="makes no use of --date"):
        jobs.verify_file(str(theirs), reading=reading, promise="query_k_anonymity", k=3)


def test_the_original_of_a_release_needs_no_options_of_its_own(tmp_path):
    original = tmp_path / "original.tsv"
    original.write_text("cookie\tsearch\n" + "".join(f"{n}\ttea\n" for n in range(4)))
    reading = Reading(columns={"user": "cookie", "query": "search"})
    _anonymize(original, tmp_path / "safe.tsv", reading=reading)
    assert jobs.verify_file(str(tmp_path / "safe.tsv"), [str(original)], reading=reading).exit_code == 0
    alone = jobs.verify_file(str(tmp_path / "safe.tsv"), [str(original)], original_reading=reading)
    assert alone.exit_code == 0


def test_an_original_that_makes_no_use_of_what_the_sidecar_says(tmp_path):
    """Such as the audit of a gate: it is a table, whatever the log was that the gate read."""
    log, audit, out = tmp_path / "log.txt", tmp_path / "audit.tsv", tmp_path / "safe.tsv"
    log.write_text("".join(f"00:00:0{n}\tu{n}\t[tea]\t1 1\twww.tea.example/\n" for n in range(4)))
    audit.write_text("user\ttime\tquery\n" + "".join(f"u{n}\t2024-03-07 00:00:0{n}\ttea\n" for n in range(4)))
    _anonymize(log, out, "windowed_counts", reading=Reading(date="2024-03-07"))
    page = jobs.Page(to=tmp_path / "page.md")
    jobs.report_files([str(out)], [str(audit)], page, names=["release_share"])
    assert page.to.is_file()
    assert set(jobs.measure_file(str(out), [str(audit)], names=["release_share"])["name"]) == {"release_share"}
    with pytest.raises(ParameterError, match="makes no use of --date"):
        jobs.measure_file(str(out), [str(audit)], reading=Reading(date="2024-03-07"), names=["release_share"])


def test_a_sidecar_that_says_what_its_log_makes_no_use_of_is_refused(log, safe):
    """Only the audit of a gate has another format than what was read."""
    assert jobs.verify_file(str(safe), [str(log)], steps=STEPS).exit_code == 0
    side = safe.with_name("safe.tsv.json")
    data = json.loads(side.read_text())
    side.write_text(json.dumps({**data, "reading": {**data["reading"], "query_param": "q"}}))
    with pytest.raises(InputError, match=r"leave it out\. .* --query-param q: as safe\.tsv\.json says"):
        jobs.verify_file(str(safe), [str(log)], steps=STEPS)


def test_nothing_is_guessed_of_an_original(tmp_path):
    """Rows without their times, as they were read, are another log than rows with them."""
    log, out = tmp_path / "log.tsv", tmp_path / "safe.tsv"
    log.write_text("user\twhen\tquery\n" + "".join(f"u{n}\t2024-03-07 00:00:0{n}\ttea\n" for n in range(4)))
    _anonymize(log, out, reading=Reading(guess=False), record=tmp_path / "record")
    assert coterie.read(log).settings["columns"] == {"time": "when"}
    assert jobs.verify_file(str(out), [str(log)], record=tmp_path / "record").exit_code == 0


def test_measures_that_are_left_out_are_noted(log, safe, tmp_path):
    notes = []
    scores = jobs.measure_file(str(safe), [str(log)], **how(note=notes.append))
    assert "release_share" in set(scores["name"])
    assert "exposure" in notes[0]
    assert "--record DIR" in notes[0]
    assert any("f_beta" in note for note in notes[1:])
    notes.clear()
    asked = how(names=["exposure"], record=tmp_path / "record", note=notes.append)
    some = jobs.measure_file(str(safe), [str(log)], **asked)
    assert set(some["name"]) == {"exposure"}
    assert notes == []


def _change_a_row(path):
    """What somebody does who swaps one query; the sidecar stays as it was."""
    header, first, *rest = path.read_text().splitlines(keepends=True)
    cells = first.split("\t")
    cells[2] = "zz top secret"
    path.write_text(header + "".join(rest) + "\t".join(cells))


def test_a_report_does_not_believe_the_sidecar(log, safe, tmp_path):
    original = coterie.read(log)
    coterie.report([coterie.load_release(safe)], original=original, to=tmp_path / "before.json")
    assert json.loads((tmp_path / "before.json").read_text())["releases"][0]["verdict"] == "kept"
    _change_a_row(safe)
    coterie.report([coterie.load_release(safe)], original=original, to=tmp_path / "python.json")
    assert jobs.report_files([str(safe)], [str(log)], jobs.Page(to=tmp_path / "job.json")) == [str(safe)]
    for name in ("python.json", "job.json"):
        text = (tmp_path / name).read_text()
        assert json.loads(text)["releases"][0]["verdict"] == "broken"
        assert "secret" not in text
    page = coterie.report([coterie.load_release(safe)], original=original, to=tmp_path / "page.md").read_text()
    assert "checks passed; the promise holds" not in page


@pytest.mark.parametrize("named", OTHER_NAMES)
@pytest.mark.parametrize("which", ["log", "release", "sidecar", "record"])
def test_a_report_replaces_no_input(log, safe, tmp_path, named, which):
    log = log.rename(log.with_name("log.json"))
    releases = safe.rename(safe.with_name("safe.json"))
    sidecar = safe.with_name("safe.tsv.json").rename(safe.with_name("safe.json.json"))
    inputs = {"log": log, "release": releases, "sidecar": sidecar, "record": tmp_path / "record" / "run.json"}
    (tmp_path / "names").mkdir()
    target = named(inputs[which], tmp_path / "names")
    if target.suffix != ".json":
        target = target.rename(target.with_suffix(".json"))
    before = _content(tmp_path)
    with pytest.raises(ParameterError, match="never replaced"):
        jobs.report_files(
            [str(releases)],
            [str(log.parent / "*.json")],
            jobs.Page(to=target, force=True),
            records=[tmp_path / "record"],
        )
    if which != "record":  # Python does not know where a record came from
        reading = {"format": "aol"}
        release = coterie.anonymize(coterie.prepare(coterie.read(log, **reading)), SuppressRare(k=3))
        loaded = [release] if which == "log" else [coterie.load_release(releases)]
        with pytest.raises(ParameterError, match="never replaced"):
            coterie.report(loaded, original=coterie.read(log, **reading), to=target, force=True)
    assert _content(tmp_path) == before


def test_records_of_some_releases_find_them_in_any_order(log, safe, tmp_path):
    _anonymize(log, tmp_path / "out.{k}.tsv", ks=(2, 5), record=tmp_path / "private.{k}")
    outs, page = [str(tmp_path / f"out.{k}.tsv") for k in (2, 5)], tmp_path / "r.json"

    def reported(*ks):
        notes, records = [], [tmp_path / f"private.{k}" for k in ks]
        to = jobs.Page(to=page, force=True)
        jobs.report_files(outs, [str(log)], to, records=records, **how(note=notes.append))
        return [note for note in notes if note.startswith("Left out")], page.read_text()

    (said,), _ = reported()
    assert said.startswith("Left out, because")
    (said,), _ = reported(5)
    assert said.startswith(f"Left out for {outs[0]}, because")
    assert reported(5, 2)[1] == reported(2, 5)[1]
    assert reported(5, 2)[0] == []
    with pytest.raises(InputError, match="belongs to another release than those that were given"):
        jobs.report_files(outs[:1], [str(log)], jobs.Page(to=tmp_path / "x.json"), records=[tmp_path / "private.5"])
    assert not (tmp_path / "x.json").exists()


# --- other files -----------------------------------------------------------------------------------


def test_a_synthetic_log(tmp_path):
    path = tmp_path / "log.tsv"
    assert jobs.write_synthetic(path, 30) == len(path.read_text().splitlines()) - 1
    with pytest.raises(ParameterError, match="exists"):
        jobs.write_synthetic(path, 30)
    jobs.write_synthetic(path, 30, seed=8, force=True)
    with pytest.raises(ParameterError, match="name it"):
        jobs.write_synthetic(tmp_path / "log.parquet", 30)
    with pytest.raises(MissingError, match="does not exist"):
        jobs.write_synthetic(tmp_path / "no" / "log.tsv", 30)
    assert [each.name for each in tmp_path.iterdir()] == ["log.tsv"]


def test_a_taxonomy_never_replaces_its_source(tmp_path):
    source, packed = tmp_path / "table.npz", tmp_path / "tree.npz"
    source.write_text("Top/Pets/Dogs\nTop/Pets/Cats\n")
    with pytest.raises(ParameterError, match="never replaced"):
        jobs.build_taxonomy([str(tmp_path / "*.npz")], source, force=True)
    assert len(jobs.build_taxonomy([str(source)], packed).tree) == 4
    with pytest.raises(ParameterError, match="exists"):
        jobs.build_taxonomy([str(source)], packed)
    assert source.read_text().startswith("Top")


def test_a_picture_never_replaces_what_it_is_about(tmp_path):
    log = tmp_path / "log.svg"
    rows = [(f"u{n}", "phone case") for n in range(8)] + [("u8", "case phone case")]
    log.write_text("user,query\n" + "".join(f"{user},{query}\n" for user, query in rows))
    queries = tmp_path / "queries.html"
    queries.write_text("phone case\n")
    method = jobs.registry.method("affinity")()

    def explained(picture, force=False):
        asked = jobs.Asked(query_file=queries, picture=picture, force=force)
        return jobs.explain_files([str(log)], method, asked, steps=STEPS)

    for picture in (log, queries):
        with pytest.raises(ParameterError, match="never replaced"):
            explained(picture, force=True)
    assert "query" not in explained(tmp_path / "p.svg").table.columns
    assert "<svg" in (tmp_path / "p.svg").read_text()
    with pytest.raises(ParameterError, match="exists"):
        explained(tmp_path / "p.svg")
    assert jobs.explain_files([str(log)], method, jobs.Asked(), steps=STEPS).table is None


def test_inspect_and_coverage(log):
    assert {"log", "uniqueness"} <= set(jobs.inspect_logs([str(log)], steps=STEPS)["name"])
    assert set(jobs.taxonomy_coverage([str(log)], steps=STEPS)["name"]) == {"coverage"}
