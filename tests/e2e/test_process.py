"""What only a real process shows: Ctrl-C, a full disk, start-up time's causes, a wheel in a clean place.

Covers: cli/errors.py
"""

import os
import signal
import subprocess
import sys
import time
import tomllib
from functools import partial
from pathlib import Path

import pytest

from coterie import synth

ROOT = Path(__file__).parents[2]


def _environment(tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir(exist_ok=True)
    return {**os.environ, "TMPDIR": str(scratch), "NO_COLOR": "1"}, scratch


@pytest.fixture(scope="module")
def long_log(tmp_path_factory):
    """A log that takes long enough to be interrupted."""
    path = tmp_path_factory.mktemp("long") / "log.tsv.gz"
    synth.write(path, 20_000, 7)
    return path


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_leaves_nothing(long_log, tmp_path, number):
    log = tmp_path / "log.tsv.gz"
    os.link(long_log, log)
    env, scratch = _environment(tmp_path)
    command = [sys.executable, "-m", "coterie", "anonymize", "suppress_rare", log, "-o", tmp_path / "safe.tsv"]
    # A shell that runs the tests in the background makes them, and what they start, ignore the signal.
    listen = partial(signal.signal, number, signal.SIG_DFL)
    process = subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True, preexec_fn=listen)
    deadline = time.monotonic() + 60
    while not any(scratch.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.05)  # rows are being spooled: the middle of the work
    process.send_signal(number)
    if number != signal.SIGINT:
        time.sleep(0.05)
        process.send_signal(number)  # somebody is in a hurry
    _, err = process.communicate(timeout=120)
    assert process.returncode == 128 + number
    assert "Nothing was written." in err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["log.tsv.gz", "scratch"]
    assert not list(scratch.iterdir())


@pytest.mark.parametrize("start", ["import runpy; runpy.run_module('coterie.__main__', run_name='__main__')",
                                   "from coterie.__main__ import main; main()"])  # fmt: skip
def test_ctrl_c_while_the_program_is_loaded(start):
    """The console script calls the same function as `python -m coterie`."""
    code = (
        "import builtins, os, signal\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "load = builtins.__import__\n"
        "def pressed(name, *more, **named):\n"
        "    if name == 'click': os.kill(os.getpid(), signal.SIGINT)\n"
        "    return load(name, *more, **named)\n"
        f"builtins.__import__ = pressed\n{start}"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "Interrupted. Nothing was written.\n")
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert declared == {"coterie": "coterie.__main__:main"}


@pytest.mark.parametrize("there", [0, 1, 2])
def test_a_signal_while_a_temporary_folder_is_removed(tmp_path, there):
    """The job ends before its next release, and says which ones are there."""
    synth.write(tmp_path / "log.tsv", 60, 7)
    code = (
        "import os, shutil, signal, sys\n"
        "from pathlib import Path\n"
        "signal.signal(signal.SIGTERM, signal.SIG_DFL)\n"
        "folder, there = Path(sys.argv.pop(1)), int(sys.argv.pop(1))\n"
        "remove = shutil.rmtree\n"
        "def rmtree(path, ignore_errors=False, **named):\n"
        "    if len(list(folder.glob('safe.*.tsv'))) == there:\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        "    remove(path, ignore_errors, **named)\n"
        "shutil.rmtree = rmtree\n"
        "import coterie.core.files as scratch\n"
        "owner = scratch.Scratch()\n"
        "import coterie.api as api\n"
        "read = api.read\n"
        "def reading(*given, **named):\n"
        "    global owner\n"
        "    owner = None\n"
        "    return read(*given, **named)\n"
        "api.read = reading\n"
        "from coterie.cli.main import main\n"
        "main()\n"
    )
    words = ["anonymize", "suppress_rare", tmp_path / "log.tsv", "-o", tmp_path / "safe.{k}.tsv", "--k", "2,3,4,5"]
    command = [sys.executable, "-c", code, tmp_path, there, *words]
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, env=_environment(tmp_path)[0]
    )
    written = [tmp_path / f"safe.{k}.tsv" for k in (2, 3)[:there]]
    assert sorted(tmp_path.glob("safe.*.tsv")) == written
    assert done.returncode == 128 + signal.SIGTERM
    said = " ".join(done.stderr.split())
    if there:
        assert f"Already written: {', '.join(map(str, written))}. Stopped. Nothing unfinished was written." in said
    else:
        assert "Stopped. Nothing was written." in said


def test_a_signal_that_is_ignored_stays_so():
    """`nohup coterie ...` goes on when the terminal is closed."""
    code = (
        "import signal, coterie.cli.main as c\n"
        "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "signal.signal(signal.SIGTERM, signal.SIG_DFL)\n"
        "c.run = lambda _: print(signal.getsignal(signal.SIGHUP).name, signal.getsignal(signal.SIGTERM).__name__)\n"
        "c.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "SIG_IGN stop\n"


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 200 kB; needs the right to mount."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", folder], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting a small file system is not allowed here")
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.mark.parametrize("name", ["safe.tsv", "safe.jsonl", "safe.csv.gz"])
def test_a_full_disk_leaves_nothing(small_disk, tmp_path, name):
    log = tmp_path / "log.tsv"
    synth.write(log, 3000, 7)
    env, _ = _environment(tmp_path)
    command = [sys.executable, "-m", "coterie", "anonymize", "suppress_rare", log, "-o", small_disk / name, "--k", "2"]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    assert "full" in done.stderr
    assert not list(small_disk.iterdir())


def test_a_full_disk_for_scratch_files(small_disk, tmp_path):
    log = tmp_path / "log.tsv.gz"
    synth.write(log, 3000, 7)
    command = [sys.executable, "-m", "coterie", "anonymize", "suppress_rare", log, "-o", tmp_path / "safe.tsv"]
    env = {**os.environ, "TMPDIR": str(small_disk)}
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    assert "full" in done.stderr
    assert not list(small_disk.iterdir())
    assert not (tmp_path / "safe.tsv").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="no ulimit")
@pytest.mark.parametrize("words", ["synth -o big.tsv --users 2000", "demo -o made", "anonymize unprotected log.tsv "
                                   "--promise none -o safe.tsv --history none"])  # fmt: skip
def test_a_limit_on_files_is_named_and_leaves_nothing(tmp_path, words):
    synth.write(tmp_path / "log.tsv", 300, 7)
    env, _ = _environment(tmp_path)
    before = {path.name for path in tmp_path.iterdir()} | {"made"}
    limited = f"ulimit -f 20; exec {sys.executable} -m coterie {words}"
    done = subprocess.run(["bash", "-c", limited], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    assert "takes no file of that size" in done.stderr
    assert {path.name for path in tmp_path.iterdir()} <= before
    assert not (tmp_path / "made" / "log.tsv").exists()


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    folder = tmp_path_factory.mktemp("released")
    synth.write(folder / "log.tsv", 300, 7)
    command = [sys.executable, "-m", "coterie", "anonymize", "suppress_rare", "log.tsv", "-o", "safe.tsv", "-q"]
    subprocess.run(command, cwd=folder, check=True)
    return folder


@pytest.mark.parametrize(
    "words",
    [
        "--help",
        "verify --help",
        "methods",
        "inspect log.tsv -q",
        "verify safe.tsv --original log.tsv",  # a table, which another library writes
        "verify safe.tsv --original log.tsv -q --json",
        "anonymize suppress_rare log.tsv -o - --to csv -q",
    ],
)
def test_a_reader_that_has_enough_ends_it_as_it_ends_other_programs(released, words):
    """Neither done nor bad usage, nor a broken promise: what a shell says of `cat` before `head`."""
    process = subprocess.Popen([sys.executable, "-m", "coterie", *words.split()], cwd=released,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
    process.stdout.close()  # what `head` does
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) == 128 + signal.SIGPIPE, err
    assert b"rror" not in err


@pytest.mark.parametrize("words", [["--help"], ["anonymize", "--help"], ["verify", "--help"], ["nonsense"]])
def test_help_imports_nothing_heavy(words):
    code = (
        f"import sys; sys.argv = ['coterie', *{words!r}]\n"
        "import coterie.cli.main as c\n"
        "try: c.main()\n"
        "except SystemExit: pass\n"
        "heavy = ('polars', 'numpy', 'numba', 'rich', 'altair', 'pyarrow')\n"
        "print([m for m in heavy if m in sys.modules], sum(m.startswith('coterie.cli.') for m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy, commands = done.stdout.splitlines()[-1].rsplit(" ", 1)
    assert heavy == "[]"
    assert int(commands) <= 5  # main, errors, console; options and the command itself


def test_the_wheel_runs_in_a_clean_environment(tmp_path):
    """Build the wheel, put it alone into a new environment with the same dependencies, and use what it must bring.

    Not the demo: it would compile all kernels anew, which `make demo` shows to work.
    """
    built = subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path, ROOT],
        capture_output=True, text=True,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr[-2000:]
    (wheel,) = tmp_path.glob("*.whl")
    clean = tmp_path / "clean"
    subprocess.run([sys.executable, "-m", "venv", clean], check=True)
    install = [Path(sys.executable).parent / "uv", "pip", "install", "--quiet", "--python", clean / "bin/python"]
    with_pictures = f"{wheel}[charts]"
    done = subprocess.run([*install, "-c", ROOT / "constraints.txt", with_pictures], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}

    def run(*words):
        done = subprocess.run([clean / "bin/coterie", *words], cwd=tmp_path, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("synth", "-o", "log.tsv", "--users", "60")
    run("anonymize", "suppress_rare", "log.tsv", "-o", "safe.tsv", "-k", "5")
    run("anonymize", "regime:commission_2026", "log.tsv", "-o", "law.tsv")
    run("report", "safe.tsv", "--original", "log.tsv", "-o", "report.html", "--measures", "release_share")
    assert "</html>" in (tmp_path / "report.html").read_text()
    assert "82,115" in run("taxonomy", "show")
    studies = run("study", "--list")
    assert "quick " in studies
    assert "paper_000 " in studies


def test_a_report_shows_queries_with_control_characters(tmp_path):
    """The renderer of charts aborts on an escape character, and left the rows of the log in TMPDIR."""
    typed = [f"tea {character}red" for character in "\x00\x01\x08\x0b\x0c\x1b\x1f\x7f\x85\x9f\ufdd0\ufffe\uffff"]
    lines = [f"{user}\t{query}\t2006-03-01 12:00:00\t\t" for query in typed for user in range(1, 9)]
    log, safe, page = tmp_path / "log.tsv", tmp_path / "safe.tsv", tmp_path / "report.html"
    log.write_text("AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n" + "\n".join(lines) + "\n")
    env, scratch = _environment(tmp_path)
    for command in (
        ["anonymize", "suppress_rare", log, "-o", safe, "--k", "5"],
        ["report", safe, "--original", log, "-o", page, "--show-values"],
    ):
        done = subprocess.run([sys.executable, "-m", "coterie", *command], env=env, capture_output=True, check=False)
        assert done.returncode == 0, (command[0], done.returncode)
    assert "tea [U+001B]red" in page.read_text()
    assert not list(scratch.iterdir())
