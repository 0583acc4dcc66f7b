"""Decide: one folder with the release, its sidecar, the report to sign, and what repeats it every night.

The release is the one that was tried, checked again from its file before it is written: the figures that were weighed
are those of what is signed. The report attacks what was written, with the seed of every report on this log. All of it
is made in a hidden folder beside the one that was asked for, and gets its name when it is complete: a decision that was
stopped leaves nothing. The private run record says who became whom: it goes, unless its owner asks for it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from coterie import api, jobs
from coterie.apps.studio import commands
from coterie.apps.studio.figures import lines_of
from coterie.apps.studio.plain import MADE_UP, Source, Wanted, Written
from coterie.core.digests import digest_of_rows
from coterie.core.files import Scratch, home_of
from coterie.core.log import Log, Release
from coterie.core.threads import Counted, share_of, stage_of
from coterie.errors import BrokenPromiseError, InputError
from coterie.jobs import report_files
from coterie.reading.places import is_elsewhere
from coterie.reports.about import read_about
from coterie.reports.decision import Sheet
from coterie.writing.history import History, for_the_operator
from coterie.writing.record import warned
from coterie.writing.targets import refuse_closed

if TYPE_CHECKING:
    from coterie.apps.studio.tasks import Bench

RELEASE, REPORT, PAPER, ABOUT, SETTINGS, COMMANDS, RECORD = (
    "release", "report.html", "report.pdf", "about.toml", "settings.toml", "commands.txt", "private-record"
)  # fmt: skip
Paper = Literal["printed", "no browser", "failed"]


def decide(bench: Bench, tell: Callable[..., None], wanted: Wanted) -> Written:
    """Write everything that a decision needs into a new folder."""
    place, source, keep_record = new_folder(wanted.folder), wanted.source, wanted.keep_record
    _, log = bench.read(source, tell)
    tell(_SAID["verify"], 0.02)
    release = _checked_again(bench, wanted.number, log)
    book = book_of(source, needed=False)
    hidden = Scratch(beside=place.parent)
    try:
        made = hidden.path / "decision"
        made.mkdir()
        out, record = made / f"{RELEASE}.{wanted.kind}", (made if keep_record else hidden.path) / RECORD
        tell(_SAID["write"], 0.1)
        warning = "" if book is None else book.warning(release, log.digest)
        digest = api.write(warned(release, warning), out, record=record)
        notes = [*release.warnings, *filter(None, [warning]), *for_the_operator(release)]
        (made / ABOUT).write_text(_about(wanted.about), encoding="utf-8")
        sheet = _report(source, made, out, record, tell, notes)
        tell("Printing the report", 0.95)
        paper = printed(made / REPORT, made / PAPER)
        (made / SETTINGS).write_text(commands.settings(source, wanted.offer, wanted.typed), encoding="utf-8")
        needs = needs_record(release)
        (made / COMMANDS).write_text(_commands(wanted, place, out.name, needs), encoding="utf-8")
        made.rename(place)
        if book is not None:
            book.add(release, log.digest, digest)
    finally:
        hidden.remove()
    return Written(
        folder=str(place),
        files=tuple(_files(out.name, sheet.recommended is not None, paper == "printed", keep_record, needs)),
        sentence=release.verdict.sentence,
        sha256=digest,
        notes=tuple(dict.fromkeys(notes)),
        report=str(place / REPORT),
        paper=paper,
        advice=sheet.advice,
        recommended=sheet.recommended is not None,
        weighed=lines_of(sheet),
    )


_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS = (
    "--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-extensions", "--no-pdf-header-footer",
)  # fmt: skip
_PATIENCE = 120  # seconds
_SHORT = 56  # letters of a folder in which Chromium can have a socket: the system allows 107 for its whole path
_SYSTEM = Path("/tmp")  # noqa: S108 (folders in it are private)
_SAID = {
    "read": "Reading the log again",
    "verify": "Checking the release that was tried once more",
    "write": "Writing the release",
    "measure": "Attacking what was written",
    "draw": "Writing the report",
}


def new_folder(text: str) -> Path:
    """A folder that is not there yet, or is empty."""
    if not text.strip() or "\0" in text:
        raise InputError("Say where to write: the name of a new folder.")
    try:
        place = Path(text.strip()).expanduser().resolve()
    except RuntimeError:
        raise InputError("There is no user of the name behind ~. Type the whole path of the folder.") from None
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise InputError(f"{place} is there already. Choose another folder.")
    refuse_closed(place.parent)
    return place


def needs_record(release: Release) -> bool:
    """Whether its promise can be checked only by who has its private record."""
    return any(promise.evidence for promise in release.promises)


def book_of(source: Source, *, needed: bool) -> History | None:
    """The list of a log's releases, which lies beside the log; none for logs that have no place beside them."""
    if source.paths[0].startswith(MADE_UP):
        return None
    if source.kept and not is_elsewhere(source.paths):
        files = jobs.files_of_paths(source.paths)
        book = History.of(home_of(files), None, needed=needed)
        if book is not None:
            book.refuse(files)
        return book
    if needed:
        raise InputError(
            "What such a release spends has to be listed beside the log, and there is no place beside this one: it was "
            "dropped into the studio, which keeps nothing, or it is no file of this machine. Open a file by its name."
        )
    return None


def _checked_again(bench: Bench, number: int, log: Log) -> Release:
    """The release that was tried, as it lies on disk, once its rows and its promise were checked anew."""
    path, record = bench.tried(number)
    release = api.load_release(path, record)
    verdict = api.verify(path, log, record=release.record)
    if verdict.exit_code:
        raise BrokenPromiseError("The release that was tried does not keep its promise, so nothing was written.")
    shape = release.log.shape
    rows = release.log.frame.select(shape.released)
    same = replace(log, frame=rows, shape=shape, resources=(log.resources, release.log.resources))
    return replace(release, log=same, path=None, sha256="", verified=digest_of_rows(rows))


def _report(source: Source, made: Path, out: Path, record: Path, tell: Callable[..., None], notes: list[str]) -> Sheet:
    """Write the page to sign; what it recommends."""
    sheets: list[Sheet] = []

    def progress(step: str, told: float | Counted | None = None) -> None:
        stage = stage_of(step)
        tell(_SAID.get(stage, stage), 0.15 if stage in ("read", "verify") else 0.15 + 0.8 * (share_of(told) or 0.0))

    broken = report_files(
        [str(out)],
        source.paths,
        jobs.Page(to=made / REPORT, about=read_about(made / ABOUT), weighed=sheets.append),
        reading=source.reading,
        records=[record],
        job=jobs.Job(progress=progress, note=notes.append),
    )
    if broken:
        raise InputError("The log changed while the release was checked. Open it again, and try once more.")
    return sheets[0]


def _about(about: Mapping[str, Any]) -> str:
    """What people wrote, for `coterie report --about`; thresholds are a table of their own, and come last."""
    said = {name: text for name, text in about.items() if text and name != "thresholds"}
    limits = about.get("thresholds")
    return commands.toml(said) + (f"\n[thresholds]\n{commands.toml(limits)}" if limits else "")


def printed(page: Path, to: Path) -> Paper:
    """A page as PDF, where there is a Chromium that can."""
    chromium = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if chromium is None:
        return "no browser"
    profile, alone = Scratch(), [] if os.getuid() else ["--no-sandbox"]  # which cannot be for root
    usual = Path(tempfile.gettempdir())
    elsewhere = Scratch(beside=_SYSTEM) if len(str(usual)) > _SHORT else None
    sockets = usual if elsewhere is None else elsewhere.path
    part = profile.path / to.name
    command = [chromium, *_FLAGS, *alone, f"--user-data-dir={profile.path}", f"--print-to-pdf={part}", page.as_uri()]
    surroundings = {**os.environ, "TMPDIR": str(sockets)}
    with suppress(OSError, subprocess.TimeoutExpired):
        subprocess.run(  # noqa: S603 (found, not typed)
            command, capture_output=True, timeout=_PATIENCE, check=False, env=surroundings
        )
    if not part.is_file() or not part.read_bytes().startswith(b"%PDF"):
        return "failed"
    shutil.copyfile(part, to)
    return "printed"


def _files(out: str, recommended: bool, paper: bool, keep_record: bool, needs: bool) -> list[tuple[str, str]]:
    """What is in the folder, and what each file is."""
    release = (
        "the release; as the report weighs it, it may be shared under the conditions that you wrote"
        if recommended
        else "the release, which the report does not recommend to share: read why before anybody gets it"
    )
    check = "; its promise cannot be checked without it" if needs else ""
    return [
        (out, release),
        (f"{out}.json", "its sidecar: the promise, the checks and the digest; it goes with the release"),
        (REPORT, "the page to read and sign"),
        *([(PAPER, "the same on paper")] if paper else []),
        (ABOUT, "what you wrote: purpose, recipient, reason"),
        (SETTINGS, "the settings, for a nightly job"),
        (COMMANDS, "the same from the command line"),
        *([(RECORD, f"who became whom: it undoes the release, so keep it to yourself{check}")] if keep_record else []),
    ]


def _commands(wanted: Wanted, place: Path, out: str, needs: bool) -> str:
    """What to type for the same, from the top: all of it works in a shell as it stands."""
    source, offer, kept = wanted.source, wanted.offer, wanted.keep_record
    again, record = f"again.{out.partition('.')[2]}", RECORD if kept else ""
    dropped = [] if source.kept else ["# The log was dropped into the studio: type where your own copy is.", ""]
    checked = "# Check the release again, as anybody can who has the log:"
    if needs:
        checked = "# Check the release again, which takes the log and the private record:"
    check = [checked, commands.verify(out, source, record=record if needs else "")]
    if needs and not kept:
        check = ["# The release can be checked only with its private record, which was not kept."]
    page = "# The page to sign once more:" if kept else "# A page without attacks; these need the private record:"
    return "\n".join(
        [
            commands.spelled(["cd", str(place)]),
            "",
            *dropped,
            "# Another release with the same settings, checked before it is written. What is drawn at random differs:",
            commands.anonymize_by(source, offer, again, SETTINGS),
            "",
            *check,
            "",
            page,
            commands.report(source, [out], "again.html", [record] if record else [], ABOUT),
            "",
            "# Every night at two, in a crontab. It ends with 0 if written, 1 if the promise would be broken, else 2:",
            commands.nightly(source, offer, place, again.partition(".")[2], SETTINGS),
            "",
            "# Two releases of one log can be laid side by side. For a log that grows, use: coterie append",
            "",
        ]
    )
