"""One safe door: a release made in Python has the defaults, the ledger and the list of releases of the command line."""

import json
import multiprocessing
import threading
from pathlib import Path
from unittest.mock import Mock

import polars as pl
import pytest
from click.testing import CliRunner

import coterie
from coterie import api
from coterie.cli.main import cli
from coterie.errors import CoterieError, InputError, MissingError, ParameterError, in_python, on_command_line
from coterie.synth import from_text
from coterie.writing.history import NOT_ACCOUNTED, History
from coterie.writing.sidecar import read_sidecar

PRIVATE = {"epsilon": 1.0, "delta": 1e-6}


def run(*arguments):
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


@pytest.fixture
def folder(tmp_path):
    """The same log twice, so that neither door sees what the other one did: `python` and `command`."""
    rows = [(f"u{n % 8}", query, f"2006-03-{1 + n % 9:02} 10:00:00") for n, query in enumerate(QUERIES)]
    frame = pl.DataFrame(rows, schema=["user", "query", "time"], orient="row")
    for door in ("python", "command"):
        (tmp_path / door).mkdir()
        frame.write_csv(tmp_path / door / "log.tsv", separator="\t")
    return tmp_path


QUERIES = [
    text
    for number in range(8)
    for text in ("Maps", "maps ", "weather", f"mail to kim.lee{number % 2}@mail.example", "tea  pots", f"own {number}")
]


def spent(log):
    return History(path=log.with_name(log.name + ".history.json"), log_name=log.name).read().spent


# --- differential privacy is accounted ---------------------------------------------------------------


def test_three_releases_in_python_are_in_the_ledger_that_the_command_line_shows(folder):
    log = folder / "python" / "log.tsv"
    for _ in range(3):
        coterie.anonymize(coterie.read(log), "private_counts", **PRIVATE)
    assert [entry.epsilon for entry in spent(log)] == [1.0, 1.0, 1.0]
    assert "3 runs: epsilon = 3, delta = 3e-06 in all." in run("ledger", "show", log).output
    coterie.write(coterie.anonymize(coterie.read(log), "private_counts", **PRIVATE), folder / "first.tsv")
    rare = coterie.anonymize(coterie.read(log), "suppress_rare", k=3)
    with pytest.warns(UserWarning, match="all runs on this log together have epsilon = 4"):
        coterie.write(rare, folder / "safe.tsv")


def test_the_entry_is_there_before_noise_is_drawn(folder, monkeypatch):
    log = folder / "python" / "log.tsv"
    listed = []

    def drawn(*_arguments, **_options):
        listed.append(len(spent(log)))
        raise KeyboardInterrupt

    monkeypatch.setattr(api, "learn", drawn)
    with pytest.raises(KeyboardInterrupt):
        coterie.anonymize(coterie.read(log), "private_counts", **PRIVATE)
    assert listed == [1]
    assert len(spent(log)) == 1


def test_what_is_refused_spends_nothing(folder):
    log = coterie.read(folder / "python" / "log.tsv")
    with pytest.raises(ParameterError, match="takes no seed"):
        coterie.anonymize(log, "private_counts", seed=1, **PRIVATE)
    with pytest.raises(ParameterError, match="lets one user decide"):
        coterie.anonymize(log, "private_counts", prepare="sample(subjects=3)", **PRIVATE)
    texts = coterie.log(pl.DataFrame({"doc": ["a", "b"], "text": ["maps tea", "tea pots"]}))
    with pytest.raises(InputError, match="private_counts works on QUERIES"):
        coterie.anonymize(texts, "private_counts", history=folder / "book.json", **PRIVATE)
    assert not list(folder.rglob("*.history.json"))
    assert not (folder / "book.json").exists()


def test_a_table_needs_a_ledger_and_gets_the_one_that_is_named(folder):
    table = pl.read_csv(folder / "python" / "log.tsv", separator="\t")
    with pytest.raises(ParameterError, match=r"Say where it is: history=PATH\.$"):
        coterie.anonymize(table, "private_counts", **PRIVATE)
    book = folder / "shop.history.json"
    release = coterie.anonymize(table, "private_counts", history=book, **PRIVATE)
    (entry,) = json.loads(book.read_text())["spent"]
    assert (entry["log"], entry["epsilon"]) == ("shop", 1.0)
    coterie.write(release, folder / "safe.tsv")
    assert [each["log"] for each in json.loads(book.read_text())["releases"]] == ["shop"]
    coterie.anonymize(table, "private_counts", history=book, log_name="other", **PRIVATE)
    assert [each["log"] for each in json.loads(book.read_text())["spent"]] == ["shop", "other"]


def test_without_a_ledger_there_is_a_warning_and_the_sidecar_says_so(folder):
    log = folder / "python" / "log.tsv"
    with pytest.warns(UserWarning, match="was not listed"):
        release = coterie.anonymize(coterie.read(log), "private_counts", history=None, **PRIVATE)
    coterie.write(release, folder / "safe.tsv")
    assert NOT_ACCOUNTED in read_sidecar(folder / "safe.tsv").warnings
    assert not coterie.verify(folder / "safe.tsv", coterie.read(log)).broken
    assert not list(folder.rglob("*.history.json"))
    accounted = coterie.anonymize(coterie.read(log), "private_counts", **PRIVATE)
    assert NOT_ACCOUNTED not in accounted.warnings


def test_nobody_is_in_a_log_that_is_made_up(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    release = coterie.anonymize(coterie.read("synth:users=30,seed=7"), "private_counts", **PRIVATE)
    coterie.write(release, tmp_path / "safe.tsv")
    assert NOT_ACCOUNTED not in release.warnings
    assert sorted(path.name for path in tmp_path.iterdir()) == ["safe.tsv", "safe.tsv.json"]


# --- a budget that is kept ----------------------------------------------------------------------------


def test_a_budget_in_the_history_is_enforced_by_both_doors(folder):
    log = folder / "python" / "log.tsv"
    kept = run("ledger", "budget", "2.5,1e-4", log)
    assert (kept.exit_code, kept.output.split(";")[0]) == (0, "Budget: epsilon = 2.5, delta = 0.0001")
    coterie.anonymize(coterie.read(log), "private_counts", **PRIVATE)
    done = run("anonymize", "private_counts", log, "-o", folder / "a.tsv", "--epsilon", 1, "--delta", 1e-6)
    assert done.exit_code == 0, done.exception
    with pytest.raises(ParameterError, match=r"epsilon of 2\.5 in all, 2 spent in 2 runs, 0\.5 left, 1 asked for"):
        coterie.anonymize(coterie.read(log), "private_counts", **PRIVATE)
    more = ("--epsilon", 1, "--delta", 1e-6, "--budget", "9,1e-2")
    refused = run("anonymize", "private_counts", log, "-o", folder / "b.tsv", *more)
    assert isinstance(refused.exception, ParameterError), "an option does not raise the budget that is kept"
    assert not (folder / "b.tsv").exists()
    shown = run("ledger", "show", log).output
    assert "Budget: epsilon = 2.5, delta = 0.0001; left: epsilon = 0.5, delta = 9.8e-05." in shown
    numbers = {row["key"]: row["value"] for row in json.loads(run("ledger", "show", log, "--json").output)}
    assert (numbers["budget.epsilon"], numbers["left.epsilon"]) == (2.5, 0.5)
    assert run("ledger", "budget", "3,1e-4", log).exit_code == 0, "the last one counts"
    coterie.anonymize(coterie.read(log), "private_counts", **PRIVATE)


def test_a_budget_holds_under_another_name_before_anything_was_spent(folder):
    log, book = folder / "python" / "log.tsv", folder / "book.json"
    assert run("ledger", "budget", "0.5,1e-4", log, "--history", book).exit_code == 0
    with pytest.raises(ParameterError, match=r"epsilon of 0\.5 in all, 0 spent"):
        coterie.anonymize(coterie.read(log), "private_counts", history=book, log_name="other", **PRIVATE)


@pytest.mark.parametrize(
    "names", [("a.tsv", "log.tsv"), ("log.tsv", "a.tsv"), ("z.tsv", "log.tsv"), ("log.tsv", "z.tsv")]
)
def test_a_budget_holds_whatever_is_read_beside_the_log_and_in_any_order(folder, names):
    """A run over two files spends of the people in both, so it is in the list of each that has a budget."""
    log, paths = folder / "python" / "log.tsv", [folder / "python" / name for name in names]
    for path in {*paths} - {log}:
        path.write_text("user\tquery\ttime\n" + "".join(f"w{n}\tsea\t2026-03-02 10:00:00\n" for n in range(9)))
    assert run("ledger", "budget", "2.5,1e-4", log).exit_code == 0
    coterie.anonymize(coterie.read(paths), "private_counts", **PRIVATE)
    done = run("anonymize", "private_counts", *paths, "-o", folder / "a.tsv", "--epsilon", 1, "--delta", 1e-6)
    assert done.exit_code == 0, done.exception
    assert [entry.epsilon for entry in spent(log)] == [1.0, 1.0]
    before = sorted(path.name for path in log.parent.iterdir())
    for read in (paths, paths[::-1], log):
        with pytest.raises(ParameterError, match=r"epsilon of 2\.5 in all, 2 spent in 2 runs"):
            coterie.anonymize(coterie.read(read), "private_counts", **PRIVATE)
    lists = [path for path in log.parent.iterdir() if path.name.endswith(".history.json")]
    assert {len(History(path=path, log_name="").read().spent) for path in lists} == {2}, (
        "what is refused spends nothing"
    )
    assert sorted(path.name for path in log.parent.iterdir()) == before


def test_the_same_files_in_another_order_have_one_list(folder):
    first, second = folder / "python" / "log.tsv", folder / "python" / "z.tsv"
    second.write_text("user\tquery\ttime\n")
    for paths in ((first, second), (second, first)):
        coterie.anonymize(coterie.read(paths), "private_counts", **PRIVATE)
        done = run("anonymize", "suppress_rare", *paths, "-o", folder / "a.tsv", "-k", 3, "--force")
        assert done.exit_code == 0, done.exception
    assert len(spent(first)) == 2
    assert [path.name for path in folder.rglob("*.history.json")] == ["log.tsv.history.json"]


def test_what_shares_a_name_or_its_bytes_is_one_log_over_any_number_of_steps(folder):
    """The same name with other bytes, and these bytes under another name: a chain of three, and one budget."""
    log, book = folder / "python" / "log.tsv", folder / "book.json"
    assert run("ledger", "budget", "2.5,1e-4", log, "--history", book).exit_code == 0
    again = {"columns": {"user": "user", "query": "query", "time": "time"}}
    coterie.anonymize(coterie.read(log), "private_counts", history=book, **PRIVATE)
    coterie.anonymize(coterie.read(log, **again), "private_counts", history=book, **PRIVATE)
    with pytest.raises(ParameterError, match="2 spent in 2 runs"):
        coterie.anonymize(coterie.read(log, **again), "private_counts", history=book, log_name="B", **PRIVATE)
    with pytest.raises(ParameterError, match="2 spent in 2 runs"):
        coterie.anonymize(coterie.read(log), "private_counts", history=book, log_name="C", **PRIVATE)


def test_a_release_that_the_list_lacks_is_named(folder, monkeypatch):
    release = coterie.anonymize(coterie.read(folder / "python" / "log.tsv"), "suppress_rare", k=3, seed=1)
    full = OSError(28, "No space left on device")
    monkeypatch.setattr("coterie.writing.history.onto_the_disk", Mock(side_effect=full))
    with pytest.raises(InputError, match=r"safe\.tsv is written, and the list of releases lacks it"):
        coterie.write(release, folder / "safe.tsv")
    assert (folder / "safe.tsv").exists()


def test_a_budget_is_that_of_one_log_and_outlives_what_is_listed_later(folder):
    log, book = folder / "python" / "log.tsv", folder / "book.json"
    assert run("ledger", "budget", "1,1e-4", log, "--history", book).exit_code == 0
    other = folder / "python" / "other.tsv"
    other.write_text((folder / "python" / "log.tsv").read_text() + "u9\tsea\t2006-03-01 10:00:00\n")
    for _ in range(2):
        coterie.anonymize(coterie.read(other), "private_counts", history=book, **PRIVATE)
    coterie.write(coterie.anonymize(coterie.read(other), "suppress_rare", k=3, history=book), folder / "safe.tsv")
    coterie.anonymize(coterie.read(log), "private_counts", history=book, **PRIVATE)
    for renamed in ("log.tsv", "copy.tsv"):  # the same bytes under another name are the same people
        copy = (folder / "python" / "log.tsv").read_bytes()
        (folder / renamed).write_bytes(copy)
        with pytest.raises(ParameterError, match="The budget of this log does not allow it"):
            coterie.anonymize(coterie.read(folder / renamed), "private_counts", history=book, **PRIVATE)


@pytest.mark.parametrize("text", ["", "4", "a,b", "0,1e-6", "inf,1e-6", "1,1", "1,nan"])
def test_a_budget_is_two_numbers(folder, text):
    log = folder / "python" / "log.tsv"
    assert isinstance(run("ledger", "budget", text, log).exception, ParameterError)
    assert not list(folder.rglob("*.history.json"))


def _spend(log, done):
    try:
        coterie.anonymize(coterie.read(log), "private_counts", **PRIVATE)
        done.put(1)
    except ParameterError:
        done.put(0)


def test_two_processes_cannot_both_spend_the_last_of_it(folder):
    log = folder / "python" / "log.tsv"
    run("ledger", "budget", "1.5,1e-4", log)
    context = multiprocessing.get_context("spawn")
    done = context.Queue()
    runs = [context.Process(target=_spend, args=(log, done)) for _ in range(2)]
    for each in runs:
        each.start()
    for each in runs:
        each.join()
    assert sorted(done.get() for _ in runs) == [0, 1]
    assert len(spent(log)) == 1


def test_nor_can_threads(folder):
    log = coterie.read(folder / "python" / "log.tsv")
    run("ledger", "budget", "2.5,1e-4", folder / "python" / "log.tsv")
    done = []

    def spend():
        try:
            coterie.anonymize(log, "private_counts", **PRIVATE)
            done.append(1)
        except ParameterError:
            done.append(0)

    threads = [threading.Thread(target=spend) for _ in range(5)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sum(done) == len(spent(folder / "python" / "log.tsv")) == 2


# --- bad input ----------------------------------------------------------------------------------------


def test_a_list_that_cannot_be_written_is_said_before_anything_is_drawn_or_written(folder, monkeypatch):
    log = coterie.read(folder / "python" / "log.tsv")
    release = coterie.anonymize(log, "suppress_rare", k=3)
    for method in ("private_counts", "suppress_rare"):
        given = PRIVATE if method == "private_counts" else {"k": 3}

        def do(history="usual", method=method, given=given):
            coterie.write(coterie.anonymize(log, method, history=history, **given), folder / "safe.tsv")

        with pytest.raises(MissingError, match="does not exist"):
            do(folder / "no" / "book.json")
        with pytest.raises(ParameterError, match="is a folder"):
            do(folder)
        (folder / "list.json").write_text("[]")
        with pytest.raises(InputError, match="is not a history of Coterie"):
            do(folder / "list.json")
        with pytest.raises(ParameterError, match="an input or another output"):
            do(folder / "python" / "log.tsv")
    with pytest.raises(ParameterError, match="an input or another output"):
        coterie.write(release, folder / "safe.tsv", history=folder / "safe.tsv.json")

    def fail(*_arguments, **_options):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("coterie.writing.history.onto_the_disk", fail)
    with pytest.raises(InputError, match="could not be written"):
        coterie.anonymize(log, "private_counts", **PRIVATE)
    monkeypatch.setattr("os.access", lambda path, _: Path(path) != folder / "python")
    assert sorted(path.name for path in folder.iterdir()) == ["command", "list.json", "python"]
    with pytest.warns(UserWarning, match=r"this release is not listed .*history=PATH"):
        coterie.write(release, folder / "safe.tsv")
    assert [path.name for path in (folder / "python").iterdir()] == ["log.tsv"]


# --- the same defaults --------------------------------------------------------------------------------


def test_a_log_that_was_not_prepared_is_prepared_as_the_command_line_would(folder):
    log = coterie.read(folder / "python" / "log.tsv")
    assert coterie.anonymize(log, "suppress_rare", k=3).log.steps == ("normalize", "drop_empty")
    assert coterie.anonymize(log, "microaggregate", k=3).log.steps == ("normalize", "drop_empty", "scrub")
    prepared = coterie.prepare(log, "normalize")
    assert coterie.anonymize(prepared, "microaggregate", k=3).log.steps == ("normalize",), "it was said"
    assert coterie.anonymize(prepared, "suppress_rare", k=3, prepare="scrub").log.steps == ("normalize", "scrub")
    for nothing in ((), "none"):
        as_it_is = coterie.anonymize(log, "suppress_rare", k=3, prepare=nothing, history=None)
        assert as_it_is.log.steps == ()
        coterie.write(as_it_is, folder / "as_it_is.tsv", force=True)
        assert read_sidecar(folder / "as_it_is.tsv").prepare == ()
    assert "Maps" in as_it_is.to_polars()["query"].to_list()
    assert "Maps" not in coterie.anonymize(log, "suppress_rare", k=3).to_polars()["query"].to_list()


JOBS = [
    ("suppress_rare", {"k": 3}, "tsv"),
    ("suppress_rare", {"k": 5, "users": "pseudonym"}, "parquet"),
    ("suppress_rare", {"k": 3, "attrs": "drop"}, "jsonl"),
    ("microaggregate", {"k": 3}, "tsv"),
    ("microaggregate", {"k": 2, "prepare": "normalize,drop_empty"}, "csv.gz"),
    ("semantic_microaggregate", {"k": 3}, "tsv"),
    ("interest_microaggregate", {"k": 3}, "tsv"),
    ("affinity", {"k": 3}, "tsv"),
    ("generalize_users", {"k": 3}, "tsv"),
    ("allowlist", {"k": 3, "prepare": "none"}, "tsv"),
]


@pytest.mark.parametrize(("method", "given", "kind"), JOBS, ids=lambda value: str(value))
def test_both_doors_write_the_same_bytes(folder, method, given, kind):
    """The release, its sidecar and its record; and the entry in the list of releases but for the second of its date."""
    options = [word for name, value in given.items() for word in (f"--{name}", value)]
    log, out = folder / "command" / "log.tsv", folder / "command" / f"safe.{kind}"
    record = ("--record", folder / "command" / "record")
    done = run("anonymize", method, log, "-o", out, "--seed", 7, *options, *record)
    assert done.exit_code == 0, done.exception
    release = coterie.anonymize(coterie.read(folder / "python" / "log.tsv"), method, seed=7, **given)
    coterie.write(release, folder / "python" / f"safe.{kind}", record=folder / "python" / "record")
    by_command, in_python = ([path for path in sorted((folder / door).rglob("*")) if path.is_file()]
                             for door in ("command", "python"))  # fmt: skip
    names = [path.relative_to(folder / "command").as_posix() for path in by_command]
    assert names == [path.relative_to(folder / "python").as_posix() for path in in_python]
    assert {f"safe.{kind}", f"safe.{kind}.json", "log.tsv.history.json", "record/run.json"} <= set(names)
    for name, one, other in zip(names, by_command, in_python, strict=True):
        if name == "log.tsv.history.json":
            assert _undated(one) == _undated(other)
        else:
            assert one.read_bytes() == other.read_bytes(), name


def _undated(path):
    file = json.loads(path.read_text())
    return [{key: value for key, value in each.items() if key != "date"} for each in file["releases"]]


def test_both_doors_keep_one_list_and_warn_of_a_second_release(folder):
    log = folder / "python" / "log.tsv"
    coterie.write(coterie.anonymize(coterie.read(log), "suppress_rare", k=3), folder / "a.tsv")
    record = ("--record", folder / "command" / "record")
    done = run("anonymize", "suppress_rare", log, "-o", folder / "b.tsv", "-k", 5, *record)
    assert done.exit_code == 0, done.exception
    assert "released once before" in (folder / "command" / "record" / "run.json").read_text()
    third = coterie.anonymize(coterie.read(log), "suppress_rare", k=3, attrs="drop")
    with pytest.warns(UserWarning, match="released 2 times before"):
        coterie.write(third, folder / "c.tsv", record=folder / "record")
    assert "released 2 times before" in (folder / "record" / "run.json").read_text()
    coterie.write(third, folder / "c.parquet")  # the same rows are no second release
    coterie.write(
        coterie.anonymize(coterie.read(log), "suppress_rare", k=5, attrs="drop"), folder / "d.tsv", history=None
    )
    assert len(_undated(log.with_name("log.tsv.history.json"))) == 3


def test_logs_of_several_files_and_of_folders_have_one_list_at_both_doors(folder):
    for door in ("python", "command"):
        inside = folder / door / "logs"
        inside.mkdir()
        (inside / "empty.tsv").write_text("")
        (folder / door / "log.tsv").rename(inside / "log.tsv")
    done = run("anonymize", "suppress_rare", folder / "command" / "logs" / "*.tsv", "-o", folder / "a.tsv", "-k", 3)
    assert done.exit_code == 0, done.exception
    release = coterie.anonymize(coterie.read(folder / "python" / "logs" / "*.tsv"), "suppress_rare", k=3)
    coterie.write(release, folder / "b.tsv")
    lists = [sorted(path.name for path in (folder / door).rglob("*.history.json")) for door in ("python", "command")]
    assert lists == [["empty.tsv.history.json"]] * 2


# --- errors name what was typed -----------------------------------------------------------------------


def test_measure_takes_one_name_and_the_release_first(folder):
    log = coterie.read(folder / "python" / "log.tsv")
    release = coterie.anonymize(log, "suppress_rare", k=3)
    scores = coterie.measure(release, ["mass"], original=log)
    assert coterie.measure(release, "mass", original=log).equals(scores)
    assert coterie.measure(release, "mass", log).equals(scores)
    with pytest.raises(InputError, match="This is a release, and a log is expected"):
        coterie.measure(release, original=release)
    with pytest.raises(InputError, match="A release is expected"):
        coterie.measure(log, original=log)
    for releases in (release, [release]):
        coterie.report(releases, original=log, to=folder / "r.json", names="mass", force=True)
        with pytest.raises(InputError, match=r"A release comes first, and its log after it: coterie\.report\(\["):
            coterie.report(log, releases, folder / "r.json")
    assert '"mass"' in (folder / "r.json").read_text()
    for old in ((log, release), (log, release, "mass"), (log, [release])):
        with pytest.raises(InputError, match=r"A release comes first, and its log after it: coterie\.measure\("):
            coterie.measure(*old)
    for missing in ((release,), (release, "mass"), (release, log)):
        with pytest.raises(InputError, match="The log that the release was made from is missing"):
            coterie.measure(*missing)


def test_a_release_in_memory_is_not_measured_against_another_log(folder):
    """As the command line refuses it: by the digests of files."""
    log = coterie.read(folder / "python" / "log.tsv")
    other = folder / "python" / "other.tsv"
    other.write_text("user\tquery\ttime\n" + "".join(f"w{n}\tsea\t2026-03-02 10:00:00\n" for n in range(9)))
    release = coterie.anonymize(log, "suppress_rare", k=3)
    with pytest.raises(InputError, match="made from other input files than the original"):
        coterie.measure(release, "mass", original=coterie.read(other))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda log, _: coterie.anonymize(log, "private_counts"), "population"),
        (lambda log, _: coterie.anonymize(log, "suppress_rare", k=3, blocks=0), "blocks must be a whole number"),
        (lambda _, out: coterie.write(_release(), out / "x.y"), "kind"),
        (lambda _, out: coterie.write(_release(), "-"), "kind"),
        (lambda _, out: coterie.write(_release(), out / "a.parquet", csv_safe=True), "csv_safe"),
        (lambda _, out: coterie.write(_release(), out / "a.tsv", promise="none"), "promise"),
        (lambda log, out: coterie.write(coterie.anonymize(log, "unprotected"), out / "a.tsv"), "promise='none'"),
        (lambda log, _: coterie.measure(_release(), "f_beta", original=_log()), "labels=FILE"),
        (lambda log, _: coterie.measure(_profiles(), "composition", original=_log()), "second=OUT"),
        (lambda log, _: coterie.log(pl.DataFrame({"a": [1], "b": [2]})), "columns="),
        (lambda log, _: coterie.log(pl.DataFrame({"q": ["a"], "u": ["b"]}), {"query": "z"}), 'columns={"query": "z"}'),
        (lambda log, _: coterie.read("no.csv", sql="SELECT 1"), "sql"),
        (lambda log, out: coterie.verify(out / "log.tsv", log), 'promise="query_k_anonymity", k=5'),
    ],
)
def test_errors_in_python_name_arguments(folder, call, says):
    out = folder / "python"
    with pytest.raises(CoterieError) as refused:
        call(coterie.read(out / "log.tsv"), out)
    assert says in str(refused.value)
    assert "--" not in str(refused.value)
    assert "in Python" not in str(refused.value)


def _log():
    return coterie.log(from_text("synth:users=30,seed=1"))


def _release():
    return coterie.anonymize(_log(), "suppress_rare", k=3)


def _profiles():
    return coterie.anonymize(_log(), "microaggregate", k=3)


@pytest.mark.parametrize(
    ("typed", "python"),
    [
        ("Give it: --labels FILE.", "Give it: labels=FILE."),
        ("Give it: --second OUT --second-record DIR.", "Give it: second=OUT, second_record=DIR."),
        ("the file exists: --force (in Python: force=True).", "the file exists: force=True."),
        ("leave out --engine, or --query-param.", "leave out session, or query_param."),
        ("--columns query=q,user=u.id: no such", 'columns={"query": "q", "user": "u.id"}: no such'),
        ("--columns user=...: a log", 'columns={"user": "..."}: a log'),
        ("say --columns user=NAME.", 'say columns={"user": "NAME"}.'),
        ("--prepare normalize removes it", 'prepare="normalize" removes it'),
        ("check --format and --columns, or say --format table.", 'check format and columns, or say format="table".'),
        ("--terms 100.", "terms=100."),
        ("or user=a (in Python: columns={...})", "or user=a"),
        ("with --sql 'SELECT 1'", "with sql='SELECT 1'"),
        ("Leave out --history none (in Python: history=None).", "Leave out history=None."),
        ("-o - --to KIND (in Python: path '-' and a kind).", "path '-' and a kind."),
    ],
)
def test_options_become_arguments(typed, python):
    assert in_python(typed) == python


def test_those_who_type_commands_read_nothing_of_python():
    assert on_command_line("Take --force (in Python: force=True), or (not).") == "Take --force, or (not)."
